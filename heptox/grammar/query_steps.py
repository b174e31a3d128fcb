"""The steps of a path of a query: axis and names, without predicates."""

from __future__ import annotations

from typing import Final, cast

from lark import Token, Tree

from heptox.errors import Position
from heptox.grammar.query import Step
from heptox.grammar.query_outside import function_hint
from heptox.grammar.query_parts import Part, alternatives, function_name, is_call, is_rule, outside_token
from heptox.grammar.query_refusals import Refusals, RefusedError

_KIND_TESTS: Final = frozenset(("node", "comment", "element", "attribute", "processing-instruction", "document-node"))
_AXES: Final = {"child", "attribute", "descendant"}


class StepBuilder:
    """Makes steps, and refuses what is none in the fragment."""

    def __init__(self, refusals: Refusals) -> None:
        self.refusals = refusals

    def step(self, slash: Token, part: Part) -> Step:
        """The step after a slash."""
        deep = slash.type == "DOUBLE_SLASH"
        position = self.refusals.position(part)
        if is_rule(part, "axis_step"):
            axis = str(part.children[0]).removesuffix("::").rstrip()
            test = part.children[1]
            if axis not in _AXES or not (is_rule(test, "name_test") or is_call(test, "text")):
                raise self.refusals.refused(part, f"axis {axis}::", "steps go down: a, //a, @a")
            if axis == "attribute":
                part = Tree("attribute_test", [test], part.meta)
            else:
                deep, part = deep or axis == "descendant", test
        choice = alternatives(part)
        if is_rule(part, "exception"):
            return self._exception(part, position, deep=deep)
        if choice:
            names = tuple(name for member in choice for name in self._names_of(member))
            if len({member.data for member in choice}) > 1 or (len(names) > 1 and "*" in names):
                raise self.refusals.refused(
                    part, "a step that mixes names with attributes or wildcards", "write (a | b) or (@a | @b)"
                )
            attribute = choice[0].data == "attribute_test"
        elif is_call(part, "text") and len(part.children) == 1:
            names, attribute = ("text()",), False
        else:
            raise self.refused_step(part)
        if attribute:
            return Step("descendant-attribute" if deep else "attribute", names, position=position)
        return Step("descendant" if deep else "child", names, position=position)

    def _exception(self, part: Tree[Token], position: Position | None, *, deep: bool) -> Step:
        """A step to all children but those of some names."""
        if deep:
            raise self.refusals.refused(
                part, "(* except ...) after //", "only children can be excepted: $v/(* except (a | b))"
            )
        names = [child for child in part.children if isinstance(child, Token) and child.type == "NAME"]
        excluded = tuple(self.refusals.name(name, str(name)) for name in names)
        return Step("child", ("*",), excluded=excluded, position=position)

    def refused_step(self, part: Part) -> RefusedError:
        """Refuse a part that is no step; to be raised."""
        if isinstance(part, Token):
            what = {"CONTEXT_ITEM": "the step .", "VARIABLE": "a variable as a step"}.get(
                part.type, "a literal as a step"
            )
            return self.refusals.refused(part, what, "leave the step out" if part.type == "CONTEXT_ITEM" else None)
        if part.data == "call":
            return self.refused_call(part)
        if part.data in ("outside_construct", "computed", "inline_function", "variable_call"):
            return self.refusals.refused_token(outside_token(part))
        if part.data == "document":
            return self.refusals.refused(part, "the document node alone", "begin with /name or //name")
        if part.data == "parenthesised":
            return self.refusals.refused(
                part, "a parenthesised expression as a step", "only names can be alternatives: (a | b)"
            )
        return self.refusals.refused(part, "a constructor as a step")

    def refused_call(self, tree: Tree[Token]) -> RefusedError:
        """Refuse a function of which the fragment has no call here; to be raised."""
        name = function_name(tree)
        if name in _KIND_TESTS:
            return self.refusals.refused(tree, f"node test {name}()", "use a name, *, @* or text()")
        return self.refusals.refused(tree, f"function {name}()", function_hint(name))

    def _names_of(self, test: Tree[Token]) -> tuple[str, ...]:
        """The names of a ``name_test`` or ``attribute_test``."""
        attribute = test.data == "attribute_test"
        token = cast(Token, cast("Tree[Token]", test.children[0] if attribute else test).children[0])
        if token == "*":
            return ("*",)
        if "*" in token and not token.startswith("Q{"):
            return self.refusals.names_of(token, str(token), attribute=attribute)
        return (self.refusals.name(token, str(token), attribute=attribute),)

"""From the constructors of a query to the templates of a pattern."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NoReturn, TypeAlias

from heptox.errors import Position
from heptox.grammar import query as syntax
from heptox.grammar.branches import Branch, Located, few, known_tag, nodes_of
from heptox.grammar.function_terms import FunctionLowering, require_atomic
from heptox.grammar.locations import Location, has_text, refuse, require_value, tag_of, value_of
from heptox.grammar.path_resolution import PathResolver
from heptox.pattern import (
    TAG,
    AttributeItem,
    Content,
    ElementItem,
    LeafItem,
    Presence,
    Shape,
    Template,
    Term,
    Text,
)
from heptox.schema import ANYWHERE, TEXT

_Contents: TypeAlias = tuple[Branch, tuple[Content, ...]]


class ConstructorLowering:
    """What stands in the constructors of one query: literal text, slots and elements that are returned whole."""

    def __init__(self, paths: PathResolver, functions: FunctionLowering) -> None:
        self._paths = paths
        self._functions = functions
        self._tree = paths.tree

    def element(self, element: syntax.ElementConstructor, branch: Branch) -> Iterator[tuple[Branch, ElementItem]]:
        """The branches that say whether each element with text and attributes that a constructor gathers is there,
        each with the constructed element.
        """
        attributes = tuple(
            AttributeItem(attribute.name, tuple(self._attribute_part(part, branch) for part in attribute.parts))
            for attribute in element.attributes
        )
        for decided, content in self._contents(element.content, branch):
            yield decided, ElementItem(element.name, attributes, content)

    def _contents(self, items: Iterable[str | syntax.Expression], branch: Branch) -> list[_Contents]:
        contents: list[_Contents] = [(branch, ())]
        for item in items:
            self._paths.check()
            contents = few(
                (after, (*content, *more))
                for before, content in contents
                for after, more in self._content(item, before)
            )
        return contents

    def _attribute_part(self, part: str | syntax.Expression, branch: Branch) -> str | Term:
        if isinstance(part, str):
            return part
        if isinstance(part, syntax.StringLiteral):
            return part.value
        term = self.slot_term(part, branch, part.position)
        return "" if term is None else term.value if isinstance(term, Text) else term

    def _content(self, item: str | syntax.Expression, branch: Branch) -> Iterator[_Contents]:
        match item:
            case syntax.ElementConstructor():
                for decided, element in self.element(item, branch):
                    yield decided, (element,)
            case syntax.Sequence(items):
                if (
                    sum(
                        isinstance(part, syntax.Data | syntax.TagValue | syntax.StringLiteral | syntax.Function)
                        for part in items
                    )
                    > 1
                ):
                    refuse(
                        "HX3045",
                        "several values in one enclosed expression are outside the query fragment",
                        item.position,
                        "XQuery puts a space between them; enclose each by itself",
                    )
                yield from self._contents(items, branch)
            case syntax.PathExpression():
                yield from self._path_slot(item, branch)
            case _:
                yield branch, tuple(self._value_slot(item, branch))

    def _value_slot(self, item: str | syntax.Expression, branch: Branch) -> Iterator[Content]:
        match item:
            case str() | syntax.StringLiteral():
                yield item if isinstance(item, str) else item.value
            case syntax.NumberLiteral():
                message = "a number in a constructor is outside the query fragment"
                refuse("HX3045", message, item.position, "write it as text")
            case syntax.Conditional(_, syntax.ElementConstructor(name, (), (_,)), None):
                yield from self._guarded_slot("element", name, item, branch)
            case syntax.Conditional(_, syntax.AttributeConstructor(name), None):
                yield from self._guarded_slot("attribute", name, item, branch)
            case syntax.Data() | syntax.TagValue() | syntax.FunctionCall() | syntax.Switch() | syntax.Conditional():
                require_atomic(item)
                term = self.slot_term(item, branch, item.position)
                if term is not None:
                    yield term.value if isinstance(term, Text) else LeafItem("value", "", term)
            case syntax.AttributeConstructor(name, value):
                yield self._attribute_slot(name, value, branch, item.position)
            case syntax.TextConstructor(value):
                if isinstance(value, syntax.PathExpression):
                    value = syntax.Data(value, position=item.position)
                yield from self._value_slot(value, branch)
            case syntax.Flwor():
                yield from self._flwor_slot(item, branch)

    def _guarded_slot(self, shape: Shape, name: str, guard: syntax.Conditional, branch: Branch) -> Iterator[Content]:
        """An element or attribute that is there where its value is."""
        term = self._functions.term(guard, branch)
        if isinstance(term, Term):
            yield LeafItem(shape, name, term)
        elif term is not None:
            text = LeafItem("attribute", name, term)
            yield text if shape == "attribute" else ElementItem(name, (), (term.value,) if term.value else ())

    def _attribute_slot(
        self, name: str, value: syntax.Expression, branch: Branch, position: Position | None
    ) -> LeafItem:
        """A computed attribute, which is there, and empty, where its leaf is absent."""
        if isinstance(value, syntax.StringLiteral):
            return LeafItem("attribute", name, Text(value.value))
        term = self.slot_term(value, branch, position)
        shape: Shape = "attribute" if isinstance(term, Term) and term.path == (TAG,) else "constructed"
        return LeafItem(shape, name, Text("") if term is None else term)

    def _path_slot(self, path: syntax.PathExpression, branch: Branch) -> Iterator[_Contents]:
        """An element with text and attributes is gathered whole, and is there or not; any other leaf is a slot."""
        found = self._paths.resolve(path, branch)
        inside = self._inside(path, found, branch)
        if inside is not None:
            yield branch, (inside,)
            return
        location = self._single(path, found, branch)
        if location is None:
            yield branch, ()
            return
        bare = self.bare(branch, location)
        if location.text or not has_text(self._tree, location.absolute):
            slot = isinstance(bare, ElementItem)
            yield branch, (LeafItem("element", bare.name, value_of(self._tree, location)) if slot else bare,)
            return
        if self._tree.box(location.absolute) and known_tag(self._tree, branch, location) is None:
            refuse("HX3046", "a member of a box is not gathered in a constructor yet", path.position)
        term = value_of(self._tree, location)
        yield branch.having(*map(Presence, nodes_of(term))), (bare,)
        if not self._paths.guaranteed(location.node, term):
            yield from ((branch.having(*atoms), ()) for atoms in branch.absences(term))

    def _inside(self, path: syntax.PathExpression, found: list[Located], branch: Branch) -> LeafItem | None:
        """A path that leads into a copied subtree, which is the same on both sides, may repeat there as it likes."""
        if any(step.predicates for step in path.steps) or len(found) != 1 or found[0][0].leaves(branch):
            return None
        after, location = found[0]
        here = location.absolute
        whole = self._tree.whole_at(here)
        if whole is None or location.text:
            return None
        start = after.known_above(location.variable, branch)
        if any(self._tree.is_stop(whole[:length]) for length in range(len(branch.node(start)) + 1, len(whole) + 1)):
            return None
        return LeafItem(
            "copy", here[-1].removeprefix(ANYWHERE).lstrip("@"), Term(start, here[len(branch.node(start)) :])
        )

    def _flwor_slot(self, flwor: syntax.Flwor, branch: Branch) -> Iterator[Content]:
        """``for $x in $v/leaf return ...`` over a single-valued leaf: a slot that is there when the leaf is."""
        clause = flwor.clauses[0]
        plain = len(flwor.clauses) == 1 and isinstance(clause, syntax.For) and flwor.where is None
        if not plain:
            _refuse_nested(flwor.position)
        location = self.single(clause.source, branch)
        if location is None:
            return
        if location.text:
            _refuse_nested(flwor.position)  # the text node of an empty element is absent, its element is not
        term = value_of(self._tree, location)
        inner = branch.bound(clause.variable, location)
        result = flwor.result
        shape, name, value = self._leaf_shape(result, inner)
        if value != term:
            _refuse_nested(flwor.position)
        yield LeafItem(shape, name, term)

    def _leaf_shape(self, result: syntax.Expression, branch: Branch) -> tuple[Shape, str, Term | Text | None]:
        match result:
            case syntax.AttributeConstructor(name, value):
                return "attribute", name, self.slot_term(value, branch, result.position)
            case syntax.TextConstructor(value):
                return "text", "", self.slot_term(value, branch, result.position)
            case syntax.ElementConstructor(name, (), (syntax.Data() as value,)):
                return "element", name, self.slot_term(value, branch, result.position)
            case syntax.Data():
                return "value", "", self.slot_term(result, branch, result.position)
        _refuse_nested(result.position)

    def slot_term(self, value: syntax.Expression, branch: Branch, position: Position | None) -> Term | Text | None:
        """The one term of a value inside a constructor, ``None`` where the schema has no such leaf."""
        if isinstance(value, syntax.TagValue):
            location = self.single(value.argument, branch, leaf=False)
            return None if location is None else tag_of(self._tree, location)
        if isinstance(value, syntax.Function):
            return self._functions.term(value, branch)
        if isinstance(value, syntax.Data):
            value = value.argument
        if not isinstance(value, syntax.PathExpression):
            refuse("HX3045", "only a leaf's value can stand here", position, "write data($variable/leaf)")
        location = self.single(value, branch)
        if location is None:
            return None
        return value_of(self._tree, location)

    def single(self, path: syntax.PathExpression, branch: Branch, *, leaf: bool = True) -> Location | None:
        """The only node that a path in a constructor leads to, ``None`` where the schema has none."""
        return self._single(path, self._paths.resolve(path, branch), branch, leaf=leaf)

    def _single(
        self, path: syntax.PathExpression, found: list[Located], branch: Branch, *, leaf: bool = True
    ) -> Location | None:
        if any(step.predicates for step in path.steps):
            refuse("HX3046", "a predicate inside a constructor's path is not translated exactly yet", path.position)
        if not found:
            return None
        if len(found) > 1 and all(after.variables == branch.variables for after, _ in found):
            ends = dict.fromkeys(self._tree.written(location.absolute) for _, location in found)
            refuse(
                "HX3046",
                f"a path to alternatives ({', '.join(ends)}) in a constructor is not translated exactly yet",
                path.position,
                "write a path for each",
            )
        if len(found) > 1 or found[0][0].variables != branch.variables:
            where = self._tree.written(found[0][1].absolute)
            refuse(
                "HX3046",
                f"the path to {where} repeats in a constructor: not translated exactly yet",
                path.position,
                "ask with one more for variable",
            )
        after, location = found[0]
        if leaf:
            require_value(self._tree, location, path.position)
        if after.atoms != branch.atoms and not location.text:
            refuse("HX3046", "a tag inside a constructor's path is not translated exactly yet", path.position)
        return location

    def bare(self, branch: Branch, location: Location) -> Template:
        """The template of the node at a location, as it stands in the document."""
        term = location.term
        step = location.absolute[-1] if location.absolute else self._tree.root
        if location.text or step == TEXT:
            return LeafItem("text", "", value_of(self._tree, location))
        if step.startswith("@"):
            return LeafItem("attribute", step[1:], term)
        if has_text(self._tree, location.absolute):
            return self._whole(branch, location)
        if not self._tree.is_leaf(location.absolute):
            return LeafItem("copy", step.removeprefix(ANYWHERE), term)
        return ElementItem(step.removeprefix(ANYWHERE), (), (LeafItem("value", "", term),))

    def _whole(self, branch: Branch, location: Location) -> ElementItem:
        """An element with text and attributes, as it is."""
        here = location.absolute
        name = here[-1].removeprefix(ANYWHERE) if here else self._tree.root
        attributes = (attribute.name for attribute in self._tree.element(here).attributes)
        slots = (
            LeafItem("attribute", each, Term(location.variable, (*location.path, f"@{each}"))) for each in attributes
        )
        text = LeafItem("value", "", value_of(self._tree, location))
        tag = None if location.path else known_tag(self._tree, branch, location)
        return ElementItem(tag or name, (), (*slots, text))


def _refuse_nested(position: Position | None) -> NoReturn:
    refuse(
        "HX3046",
        "a nested for in a constructor gathers children of one node: not translated exactly yet",
        position,
        "ask with one more for variable outside the constructor",
    )

"""Selections and values as the texts of mappings have them, arrows and rules alike (``semantics.md`` section 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeVar

from lark import Token, Tree

from heptox.grammar.line_files import LineBuilder, SchemaPath, step_text
from heptox.grammar.parsing import subtrees
from heptox.grammar.query import Node
from heptox.pattern import Call, Constant, Leaf, StringJoin, ValueExpression, computed_step
from heptox.schema import Path, SelectionTest, is_selection, selection_step, written_step
from heptox.xml import NO_CHARACTER

_COMPARISONS: Final = ("=", "!=", "<", "<=", ">", ">=")
_SELECTION: Final = (
    'a selection compares a leaf with a string by = or !=, or asks whether it is there: [@a = "x" and b]'
)
_Statement = TypeVar("_Statement")


@dataclass(frozen=True, slots=True)
class ComputedValue(Node):
    """A value that is computed: a string, or a function of the ``leaves``, which are its paths in their order.

    ``lookup("FILE", x)`` is a call here; the table is read where the schemas are.
    """

    expression: ValueExpression
    leaves: tuple[SchemaPath, ...] = ()
    text: str = field(default="", compare=False, repr=False)

    def __str__(self) -> str:
        if self.text:
            return self.text
        return value_text(self.expression)

    @property
    def constant(self) -> str | None:
        """The string that it is, if it is one."""
        return self.expression.value if isinstance(self.expression, Constant) else None


def value_text(expression: ValueExpression, name: Callable[[str], str] = str) -> str:
    """An expression as it is written; ``name`` writes the steps of its paths.

    >>> value_text(Call("=", (Leaf(("$x", "code")), Constant("a"))))
    '$x/code = "a"'
    """
    found = written_step(computed_step(expression), name)
    return found[1:-1] if found.startswith("(") else found


def is_operation(expression: ValueExpression) -> bool:
    """Whether an expression is written with operators, or by ``if``, so that it ends where the text around it says."""
    return written_step(computed_step(expression), str).startswith(("(", "if "))


class ValueBuilder(LineBuilder[_Statement]):
    """Makes selections and values."""

    def _step(self, tree: Tree[Token]) -> str:
        return self._selected(step_text(tree), (part for part in subtrees(tree) if part.data == "predicate"))

    def _selected(self, name: str, predicates: Iterable[Tree[Token]]) -> str:
        """The step of an element with conditions."""
        tests = (self._test(test) for predicate in predicates for test in subtrees(predicate))
        return selection_step(name, tuple(test for test in tests if test is not None))

    def _test(self, tree: Tree[Token]) -> SelectionTest | None:
        tested, *right = subtrees(tree)
        path: Path = ()
        for part in subtrees(tested):
            if part.data != "path":
                self._refuse("HX3001", "a selection speaks of leaves of its node", part, _SELECTION)
                return None
            path = self._path(part).steps
            is_compared = tree.data != "negated" and len(tree.children) > 1
            if any(step.startswith("[") or (is_compared and is_selection(step)) for step in path):
                self._refuse("HX3001", "a condition inside a comparison", part, "write the conditions side by side")
        if tree.data == "negated":
            return SelectionTest("not", path)
        tokens = [*tree.children, *(token for part in right for token in part.children)]
        values = tuple(self._string(token) for token in tokens if isinstance(token, Token) and token.type == "STRING")
        if any(part.data not in ("string", "strings") for part in right):
            self._refuse("HX3001", "a selection compares a leaf with a string", right[0], _SELECTION)
            return None
        signs = [str(token) for token in tree.children if isinstance(token, Token) and token.type != "STRING"]
        if not signs:
            return SelectionTest("exists", path)
        if signs[0] == "=":
            return SelectionTest("=", path, values)
        if signs[0] == "!=" and len(values) == 1:
            return SelectionTest("!=", path, values)
        self._refuse("HX3001", f"{signs[0]} with {len(values)} values is no condition of a selection", tree, _SELECTION)
        return None

    def _string(self, token: Token | Tree[Token]) -> str:
        """The string that a literal stands for."""
        if unsaid := NO_CHARACTER.search(str(token)):
            message = f"U+{ord(unsaid[0]):04X} is no XML character: no value of a document has it"
            self._refuse("HX3001", message, token, "leave it out of the string")
        return str(token)[1:-1].replace('""', '"')

    def _computed(self, tree: Tree[Token]) -> ComputedValue:
        leaves: dict[Path, SchemaPath] = {}
        return ComputedValue(self._value(tree, leaves), tuple(leaves.values()), position=self._position(tree))

    def _value(self, tree: Tree[Token], leaves: dict[Path, SchemaPath]) -> ValueExpression:
        parts = list(subtrees(tree))
        match tree.data:
            case "path":
                path = self._path(tree)
                leaves.setdefault(path.steps, path)
                return Leaf(path.steps)
            case "variable" | "gathered":  # in rules: a leaf, or what stands below a node
                below = self._path(tree)
                path = SchemaPath((str(tree.children[0]), *below.steps), position=self._position(tree))
                leaves.setdefault(path.steps, path)
                return Leaf(path.steps)
            case "node":
                self._refuse("HX3001", "what a node is itself is no argument of a function", tree, "write $variable")
                return Constant("")
            case "self":
                return Leaf(())
            case "string":
                return Constant(self._string(tree.children[0]))
            case "number":
                return Constant(str(tree.children[0]))
            case "strings":
                self._refuse("HX3001", 'several strings stand only in a condition: [@a = ("x", "y")]', tree)
                return Constant("")
            case "operation":
                sign = next(str(token) for token in tree.children if isinstance(token, Token))
                sides = tuple(self._value(part, leaves) for part in parts)
                if sign in _COMPARISONS:  # which a number makes numeric
                    several = zip(parts, sides, strict=True)
                    sides = tuple(Call("xs:decimal", (one,)) if part.data == "number" else one for part, one in several)
                return Call("concat" if sign == "||" else sign, sides)
            case "conditional":
                values = (self._value(part, leaves) for part in parts if part.data != "nothing")
                return Call("if", tuple(values))
            case _:
                return self._call(tree, parts, leaves)

    def _call(self, tree: Tree[Token], parts: list[Tree[Token]], leaves: dict[Path, SchemaPath]) -> ValueExpression:
        name = str(tree.children[0])
        arguments = tuple(self._value(part, leaves) for part in parts)
        if name != "string-join":
            return Call(name, arguments)
        match arguments:
            case (Leaf(path), Constant(separator)):
                return StringJoin(path, separator)
            case (Leaf(path),):
                return StringJoin(path, "")
        self._refuse("HX3001", "string-join takes a path and a string", tree, 'write string-join(PATH, ", ")')
        return Constant("")

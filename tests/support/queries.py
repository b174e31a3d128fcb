"""Random queries of the fragment, as syntax trees, with variables bound where they are used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, TypeVar

from hypothesis import strategies as st

from heptox.grammar import Expression, syntax
from heptox.pattern import FUNCTIONS, Sign
from tests.support.query_functions import FunctionMaker

_Value = TypeVar("_Value")
_Operand: TypeAlias = syntax.PathExpression | syntax.Data | syntax.TagValue | syntax.StringLiteral
Axis: TypeAlias = Literal["child", "descendant", "attribute", "descendant-attribute"]

OPERATORS: Final[tuple[Sign, ...]] = ("=", "=", "=", "!=", "<", "<=", ">", ">=")
AXES: Final[tuple[Axis, ...]] = (
    "child",
    "child",
    "descendant",
    "descendant",
    "attribute",
    "descendant-attribute",
)

KEYWORDS: Final = (
    "for", "let", "in", "where", "order", "by", "return", "and", "or", "div", "eq", "is", "to", "if", "some", "every",
    "satisfies", "text", "attribute", "element", "empty", "exists", "not", "data", "union", "ascending", "declare",
    "switch", "function", "map", "child", "instance", "cast", "else", "comment", "node", "stable", "group", "count",
    "at",
)  # fmt: skip
"""Element names that look like keywords or functions."""

UNUSUAL_NAMES: Final = ("a-b", "a.b", "_x0020_", "é", "日本", "x1", "€")

STRINGS: Final = st.text(
    st.sampled_from("ab\"'&<>{}\n\t\r $;:()[]]")
    | st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"),
    max_size=6,
)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What queries are made of. ``numeric`` names attributes and elements whose values are numbers."""

    elements: Sequence[str]
    attributes: Sequence[str]
    strings: st.SearchStrategy[str]
    numeric: Sequence[str] = ()
    numbers: Sequence[str] = ("0", "1", "-2", "2.50", ".5", "5.", "1e1", "+3", "1.5E-1", "12345678901234567890")
    variables: Sequence[str] = ("$a", "$b", "$c")
    starts: Sequence[str] = ("/",)
    """Where paths begin that do not begin at variables."""


@dataclass(frozen=True, slots=True)
class _Scope:
    many: tuple[str, ...] = ()
    """Variables that may stand for several nodes."""
    single: tuple[str, ...] = ()
    in_predicate: bool = False
    depth: int = 3
    documents: Sequence[str] = ("/",)

    @property
    def starts(self) -> tuple[str, ...]:
        return (
            *self.documents,
            *self.single,
            *self.single,
            *self.many,
            *((".", ".", ".") if self.in_predicate else ()),
        )

    def deeper(self, **changes: object) -> _Scope:
        return replace(self, depth=self.depth - 1, **changes)  # type: ignore[arg-type]


def queries(vocabulary: Vocabulary) -> st.SearchStrategy[Expression]:
    """Whole queries."""
    made = st.composite(lambda draw: _Maker(draw, vocabulary).expression(_Scope(documents=vocabulary.starts)))()
    return made.filter(lambda expression: not any(syntax.absolute_elsewhere(expression)))


class _Maker:
    def __init__(self, draw: st.DrawFn, vocabulary: Vocabulary) -> None:
        self.draw = draw
        self.vocabulary = vocabulary

    def pick(self, values: Sequence[_Value]) -> _Value:
        return self.draw(st.sampled_from(values))

    def count(self, least: int, most: int) -> int:
        return self.draw(st.integers(least, most))

    def chance(self) -> bool:
        return self.draw(st.booleans())

    # -- expressions -------------------------------------------------------------------------------------------

    def expression(self, scope: _Scope) -> Expression:
        if scope.depth <= 0:
            return self.path(scope) if self.chance() else self.string()
        makers: tuple[Callable[[_Scope], Expression], ...] = (
            self.flwor,
            self.flwor,
            self.flwor,
            self.path,
            self.value,
            self.sequence,
            self.constructor,
        )
        return self.pick(makers)(scope)

    def value(self, scope: _Scope) -> Expression:
        if self.chance() and self.vocabulary.numbers:
            return syntax.NumberLiteral(self.pick(self.vocabulary.numbers))
        if scope.depth > 0 and not self.count(0, 4):
            inner = scope.deeper()
            return syntax.Conditional(self.condition(inner), self.element(inner), None)
        if scope.single and self.chance():
            return self.functions(scope).value()
        return self.operand(scope)

    def functions(self, scope: _Scope) -> FunctionMaker:
        """What makes functions of the values that there are."""
        inner = scope.deeper()

        def one_value() -> syntax.PathExpression | syntax.Data:
            value = self.one_value(scope)
            return value.argument if isinstance(value, syntax.TagValue) else value

        return FunctionMaker(self.pick, one_value, lambda: self.path(inner), self.string, lambda: self.condition(inner))

    def sequence(self, scope: _Scope) -> Expression:
        count = self.pick((0, 2, 3))
        return syntax.Sequence(tuple(self.expression(scope.deeper()) for _ in range(count)))

    def flwor(self, scope: _Scope) -> Expression:
        clauses: list[syntax.For | syntax.Let] = []
        inner = scope.deeper()
        for _ in range(self.count(1, 3)):
            variable = self.pick(self.vocabulary.variables)
            source = self.path(inner)
            others = tuple(name for name in inner.many if name != variable)
            singles = tuple(name for name in inner.single if name != variable)
            if self.count(0, 3):
                clauses.append(syntax.For(variable, source))
                inner = replace(inner, many=others, single=(*singles, variable))
            else:
                clauses.append(syntax.Let(variable, source))
                inner = replace(inner, many=(*others, variable), single=singles)
        where = self.condition(inner) if self.chance() else None
        order = tuple(self.order_key(inner) for _ in range(self.count(1, 2))) if not self.count(0, 4) else ()
        return syntax.Flwor(tuple(clauses), where, self.expression(inner), order)

    def order_key(self, scope: _Scope) -> syntax.OrderKey:
        variable = self.pick((*scope.single, *scope.many))
        step = syntax.Step("attribute", (self.pick(self.vocabulary.attributes),))
        path = syntax.PathExpression(variable, (step,) if self.chance() else ())
        return syntax.OrderKey(syntax.Data(path) if self.chance() else path, self.chance())

    # -- constructors ------------------------------------------------------------------------------------------

    def constructor(self, scope: _Scope) -> Expression:
        match self.count(0, 4):
            case 0:
                return syntax.AttributeConstructor(
                    self.pick(self.vocabulary.attributes), self.expression(scope.deeper())
                )
            case 1:
                return syntax.TextConstructor(self.expression(scope.deeper()))
            case _:
                return self.element(scope)

    def element(self, scope: _Scope) -> syntax.ElementConstructor:
        names = self.draw(st.lists(st.sampled_from(self.vocabulary.attributes), unique=True, max_size=2))
        attributes = tuple(syntax.DirectAttribute(name, self.parts(scope, nested=False)) for name in names)
        content = self.parts(scope, nested=scope.depth > 0)
        return syntax.ElementConstructor(self.pick(self.vocabulary.elements), attributes, content)

    def parts(self, scope: _Scope, *, nested: bool) -> tuple[str | Expression, ...]:
        parts: list[str | Expression] = []
        for _ in range(self.count(0, 3)):
            if self.chance() and not (parts and isinstance(parts[-1], str)):
                text = self.draw(self.vocabulary.strings)
                parts += [text] if text else []
            elif nested and self.chance():
                parts.append(self.element(scope.deeper()))
            else:
                parts.append(self.expression(scope.deeper()))
        return tuple(parts)

    # -- conditions --------------------------------------------------------------------------------------------

    def condition(self, scope: _Scope) -> syntax.Condition:
        if scope.depth > 0 and not self.count(0, 3):
            members = tuple(self.condition(scope.deeper()) for _ in range(self.count(2, 3)))
            if not any(isinstance(member, syntax.And) for member in members):
                return syntax.And(members)
            return syntax.Or(tuple(member for member in members if not isinstance(member, syntax.Or)) * 2)
        if scope.depth > 0 and (scope.single or scope.in_predicate) and not self.count(0, 4):
            return self.functions(scope).holds()
        if self.count(0, 2):
            return self.comparison(scope)
        if self.chance():
            return syntax.Empty(self.path(scope.deeper()))
        if not self.count(0, 3):
            return self.deep_equality(scope)
        return syntax.Exists(self.path(scope.deeper()), self.chance())

    def deep_equality(self, scope: _Scope) -> syntax.DeepEqual:
        """Of nodes, or of values; most often such that each is one at most."""
        many = not self.count(0, 3)
        starts = scope.single if scope.single and not many else scope.starts
        one = tuple(syntax.Step("attribute", (name,)) for name in self.vocabulary.attributes)
        other = tuple(syntax.Step("child", (name,)) for name in self.vocabulary.elements)
        left, right = (
            self.path(scope.deeper())
            if many or start in scope.documents
            else syntax.PathExpression(start, (self.pick((*one, *other)),))
            for start in (self.pick(starts), self.pick(starts))
        )
        return syntax.DeepEqual(left, right) if self.chance() else syntax.DeepEqual(*map(syntax.Data, (left, right)))

    def comparison(self, scope: _Scope) -> syntax.Comparison:
        operator = self.pick(OPERATORS)
        if FUNCTIONS and (scope.single or scope.in_predicate) and not self.count(0, 5):
            return self.by_function(scope)
        if self.vocabulary.numbers and (scope.single or scope.in_predicate) and not self.count(0, 5):
            return self.number_comparison(operator, scope)
        if self.vocabulary.numeric and not self.count(0, 3):
            left: syntax.Operand = self.numeric_path(scope)
            right: syntax.Operand = syntax.NumberLiteral(self.pick(self.vocabulary.numbers))
        else:
            left, right = self.operand(scope), self.operand(scope)
        return syntax.Comparison(operator, *((left, right) if self.chance() else (right, left)))

    def number_comparison(self, operator: Sign, scope: _Scope) -> syntax.Comparison:
        """``number()`` of what has one value at most, whatever the value is."""
        number = syntax.NumberLiteral(self.pick(self.vocabulary.numbers))
        sides = (syntax.NumberValue(self.one_value(scope)), number)
        return syntax.Comparison("=" if operator == "!=" else operator, *(sides if self.chance() else reversed(sides)))

    def by_function(self, scope: _Scope) -> syntax.Comparison:
        """A function of what has one value at most, and of the beginning of a string that is not empty."""
        function = FUNCTIONS[self.pick(tuple(FUNCTIONS))]
        value = self.draw(self.vocabulary.strings)[: self.count(1, 3)] or "a"
        return syntax.Comparison(function.name, self.one_value(scope), syntax.StringLiteral(value))

    def one_value(self, scope: _Scope) -> syntax.PathExpression | syntax.Data | syntax.TagValue:
        """What has one value at most."""
        start = self.pick((*scope.single, ".") if scope.in_predicate else scope.single)
        path = syntax.PathExpression(start)
        attribute = replace(path, steps=(syntax.Step("attribute", (self.pick(self.vocabulary.attributes),)),))
        arguments: tuple[syntax.PathExpression | syntax.Data | syntax.TagValue, ...] = (
            path,
            attribute,
            attribute,
            syntax.Data(attribute),
            syntax.TagValue(path),
        )
        return self.pick(arguments)

    def numeric_path(self, scope: _Scope) -> syntax.PathExpression:
        name = self.pick(self.vocabulary.numeric)
        attribute = name.startswith("@")
        axis = self.pick(AXES[4:] if attribute else AXES[:4])
        step = syntax.Step(axis, (name.removeprefix("@"),))
        return syntax.PathExpression(self.pick(scope.starts), (step,))

    # -- values and paths ----------------------------------------------------------------------------------------

    def operand(self, scope: _Scope) -> _Operand:
        match self.count(0, 5):
            case 0:
                return self.string()
            case 1:
                return syntax.Data(self.path(scope.deeper()))
            case 2 if scope.single or scope.in_predicate:
                starts = (*scope.single, ".") if scope.in_predicate else scope.single
                return syntax.TagValue(syntax.PathExpression(self.pick(starts)))
            case _:
                return self.path(scope.deeper())

    def string(self) -> syntax.StringLiteral:
        return syntax.StringLiteral(self.draw(self.vocabulary.strings))

    def path(self, scope: _Scope) -> syntax.PathExpression:
        start = self.pick(scope.starts)
        length = self.pick((1, 1, 1, 2, 2, 3) if start in scope.documents else (0, 0, 1, 1, 1, 2, 3))
        steps = tuple(
            self.step(scope, first=start in scope.documents and not place, last=place == length - 1)
            for place in range(length)
        )
        return syntax.PathExpression(start, steps)

    def step(self, scope: _Scope, *, first: bool, last: bool) -> syntax.Step:
        """A step; most often such that something can be found: ``//name`` first, attributes and text last."""
        usual = AXES[2:4] if first else AXES if last else AXES[:4]
        axis = self.pick(usual if self.count(0, 7) else AXES)
        predicates: tuple[syntax.Condition, ...] = ()
        if scope.depth > 0 and not self.count(0, 3):
            inside = scope.deeper(in_predicate=True)
            predicates = tuple(self.condition(inside) for _ in range(self.pick((1, 1, 2))))
        if axis in ("attribute", "descendant-attribute"):
            return syntax.Step(axis, self.names(self.vocabulary.attributes), predicates)
        if last and not self.count(0, 7):
            return syntax.Step(axis, ("text()",), predicates)
        if axis == "child" and not self.count(0, 9):
            excluded = self.draw(st.lists(st.sampled_from(self.vocabulary.elements), min_size=1, max_size=2))
            return syntax.Step(axis, ("*",), predicates, tuple(excluded))
        return syntax.Step(axis, self.names(self.vocabulary.elements), predicates)

    def names(self, names: Sequence[str]) -> tuple[str, ...]:
        if not self.count(0, 5):
            return ("*",)
        if not self.count(0, 4):
            return tuple(self.draw(st.lists(st.sampled_from(names), min_size=2, max_size=3)))
        return (self.pick(names),)

"""XPath expressions as values, and their text: the constructs of XPath 1.0, which later versions share.

A filter that is written with others is not changed: it is evaluated as it stands.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeAlias

from heptox.filtering.naming import printed_name


class Axis(StrEnum):
    """The axes of XPath that lead to elements, attributes and text."""

    CHILD = "child"
    DESCENDANT = "descendant"
    DESCENDANT_OR_SELF = "descendant-or-self"
    SELF = "self"
    ATTRIBUTE = "attribute"
    PARENT = "parent"
    ANCESTOR = "ancestor"
    ANCESTOR_OR_SELF = "ancestor-or-self"
    FOLLOWING_SIBLING = "following-sibling"
    PRECEDING_SIBLING = "preceding-sibling"
    FOLLOWING = "following"
    PRECEDING = "preceding"


DOWNWARD: Final = frozenset({Axis.CHILD, Axis.DESCENDANT, Axis.DESCENDANT_OR_SELF, Axis.SELF, Axis.ATTRIBUTE})
"""The axes that stay in the subtree of where they begin."""

ANY_ELEMENT: Final = "*"
ANY_NODE: Final = "node()"
NO_NODE: Final = "comment()"
"""The test that no node of a document fulfils."""


def is_name(test: str) -> bool:
    """Whether the test of a step is a name."""
    return test != ANY_ELEMENT and not test.endswith(")")


@dataclass(frozen=True, slots=True)
class Step:
    """A location step: ``test`` is an expanded name, ``*``, or a kind test such as ``text()``."""

    axis: Axis
    test: str
    predicates: tuple[Expression, ...] = ()

    @property
    def is_named(self) -> bool:
        """Whether the test is a name."""
        return is_name(self.test)

    @property
    def is_positional(self) -> bool:
        """Whether it depends on the position of a node which nodes are selected."""
        return any(map(may_be_positional, self.predicates))

    def __str__(self) -> str:
        predicates = "".join(f"[{predicate}]" for predicate in self.predicates)
        if self.test == ANY_NODE and self.axis in _SHORT:
            return f"{_SHORT[self.axis]}{predicates}" if not predicates else f"{self.axis.value}::node(){predicates}"
        axis = {Axis.CHILD: "", Axis.ATTRIBUTE: "@"}.get(self.axis, f"{self.axis.value}::")
        return f"{axis}{printed_name(self.test)}{predicates}"


def steps_along(tags: Iterable[str], predicates: Iterable[tuple[Expression, ...]]) -> tuple[Step, ...]:
    """The steps to children with these tags, each with its predicates."""
    return tuple(Step(Axis.CHILD, tag, each) for tag, each in zip(tags, predicates, strict=True))


_SHORT: Final = {Axis.SELF: ".", Axis.PARENT: ".."}
ANYWHERE: Final = Step(Axis.DESCENDANT_OR_SELF, ANY_NODE)
"""The step that ``//`` stands for."""


@dataclass(frozen=True, slots=True)
class LocationPath:
    """Steps, from the document where the path is ``absolute``, else from the context."""

    absolute: bool
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return print_steps(self.steps, absolute=self.absolute)


@dataclass(frozen=True, slots=True)
class Literal:
    """A string in its quotes, or a number; ``is_number`` says which."""

    text: str
    is_number: bool

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator with its operands: two, or one for the sign of a number."""

    symbol: str
    operands: tuple[Expression, ...]

    def __str__(self) -> str:
        texts = [f"({each})" if isinstance(each, Operation) else str(each) for each in self.operands]
        return f"{self.symbol}{texts[0]}" if len(texts) == 1 else f" {self.symbol} ".join(texts)


@dataclass(frozen=True, slots=True)
class Call:
    """A function called."""

    name: str
    arguments: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True, slots=True)
class Selection:
    """Nodes of an expression, of which predicates select some, and from which steps lead on."""

    origin: Expression
    predicates: tuple[Expression, ...]
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        predicates = "".join(f"[{predicate}]" for predicate in self.predicates)
        origin = f"({self.origin}){predicates}"
        return f"{origin}/{print_steps(self.steps, absolute=False)}" if self.steps else origin


Expression: TypeAlias = LocationPath | Literal | Operation | Call | Selection

UNION: Final = "|"
COMPARISONS: Final = frozenset({"=", "!=", "<", "<=", ">", ">="})
_OF_TRUTH: Final = frozenset({"and", "or", UNION}) | COMPARISONS
_TRUTH_FUNCTIONS: Final = frozenset({"not", "boolean", "contains", "starts-with", "true", "false", "lang"})
_STRING_FUNCTIONS: Final = frozenset(
    {"string", "concat", "substring", "substring-before", "substring-after", "normalize-space", "translate"}
    | {"name", "local-name", "namespace-uri"}
)


def print_steps(steps: tuple[Step, ...], *, absolute: bool) -> str:
    """The text of steps, ``//`` written short.

    >>> print_steps((ANYWHERE, Step(Axis.CHILD, "b")), absolute=True)
    '//b'
    """
    parts: list[str] = []
    before = "/" if absolute else ""
    for place, step in enumerate(steps):
        is_short = (
            step == ANYWHERE and (absolute or place > 0) and steps[place + 1 : place + 2] not in ((), (ANYWHERE,))
        )
        if is_short:
            before = "//"
            continue
        parts.append(f"{before}{_LONG_ANYWHERE if step == ANYWHERE else step}")
        before = "/"
    return "".join(parts) or before


_LONG_ANYWHERE: Final = "descendant-or-self::node()"


def may_be_positional(predicate: Expression) -> bool:
    """Whether a predicate may select by position: it asks for that, or its value may be a number."""
    return _asks_position(predicate) or not _is_condition(predicate)


def _asks_position(expression: Expression) -> bool:
    """Whether an expression itself, not a predicate in it, calls ``position`` or ``last``."""
    match expression:
        case Call(name="position" | "last"):
            return True
        case Call(arguments=inner) | Operation(operands=inner):
            return any(map(_asks_position, inner))
        case Selection(origin=origin):
            return _asks_position(origin)
        case _:
            return False


def _is_condition(expression: Expression) -> bool:
    """Whether an expression as a predicate is surely true or false, and no number."""
    match expression:
        case LocationPath():
            return True
        case Selection(origin=origin, steps=steps):
            return bool(steps) or _is_condition(origin)  # in XPath 3.1 it may be a number
        case Literal(is_number=is_number):
            return not is_number
        case Operation(symbol=symbol):
            return symbol in _OF_TRUTH
        case Call(name=name):
            return name in _TRUTH_FUNCTIONS or name in _STRING_FUNCTIONS


_OF_CONTEXT: Final = frozenset(
    {"string", "string-length", "normalize-space", "number", "name", "local-name", "namespace-uri"}
)
"""The functions that take the context, where they are given nothing."""


def from_document(expression: Expression) -> Expression:
    """The expression as it is meant where the context is the document: paths begin at ``/``.

    >>> step = Step(Axis.CHILD, "a")
    >>> print(from_document(Call("count", (LocationPath(False, (step,)),))))
    count(/a)
    """
    match expression:
        case LocationPath():
            return replace(expression, absolute=True)
        case Call(name="position" | "last"):
            return Literal("1", is_number=True)
        case Call(name=name, arguments=()) if name in _OF_CONTEXT:
            return replace(expression, arguments=(LocationPath(True, ()),))
        case Call():
            return replace(expression, arguments=tuple(map(from_document, expression.arguments)))
        case Operation():
            return replace(expression, operands=tuple(map(from_document, expression.operands)))
        case Selection():
            return replace(expression, origin=from_document(expression.origin))
        case _:
            return expression

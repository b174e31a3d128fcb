"""What the functions of queries take and give: untyped values, texts, numbers or truth.

XQuery raises a type error where a text stands for a number, or the other way round; a query that would always raise one
is refused when it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from heptox.grammar.query import (
    Conditional,
    Expression,
    FunctionCall,
    NumberLiteral,
    NumberValue,
    Operand,
    StringLiteral,
    Switch,
)

Kind: TypeAlias = Literal["untyped", "string", "number", "truth"]


@dataclass(frozen=True, slots=True)
class Signature:
    """The kinds of values that a function takes, ``None`` for any, and of the one that it gives.

    ``least`` arguments must be there; the last kind repeats where it ``repeats``. An absent value is ``""`` for a
    function of texts; others give nothing for it.
    """

    takes: tuple[Kind | None, ...]
    gives: Kind
    least: int
    repeats: bool = False

    def taken(self, place: int) -> Kind | None:
        """The kind of the argument at a place."""
        return self.takes[min(place, len(self.takes) - 1)]

    def has_arity(self, number: int) -> bool:
        """Whether it takes so many arguments."""
        return self.least <= number and (self.repeats or number <= len(self.takes))


def _of(*takes: Kind | None, gives: Kind, least: int | None = None, repeats: bool = False) -> Signature:
    return Signature(takes, gives, len(takes) if least is None else least, repeats)


OPERATORS: Final = frozenset({"+", "-", "*", "div", "idiv", "mod", "||"})
"""Those that compute."""

SIGNATURES: Final[Mapping[str, Signature]] = {
    "string": _of(None, gives="string"),
    "concat": _of(None, None, gives="string", repeats=True),
    **dict.fromkeys(("upper-case", "lower-case", "normalize-space"), _of("string", gives="string")),
    **dict.fromkeys(("substring-before", "substring-after"), _of("string", "string", gives="string")),
    "substring": _of("string", "number", "number", gives="string", least=2),
    "translate": _of("string", "string", "string", gives="string"),
    "string-length": _of("string", gives="number"),
    **dict.fromkeys(("contains", "starts-with", "ends-with"), _of("string", "string", gives="truth")),
    "not": _of("truth", gives="truth"),
    "xs:decimal": _of("untyped", gives="number"),
    **dict.fromkeys(("abs", "floor", "ceiling", "round"), _of("number", gives="number")),
    **dict.fromkeys(("+", "-", "*", "div", "idiv", "mod"), _of("number", "number", gives="number")),
}
"""The functions of the table, but ``string-join``, which alone takes what repeats."""
VALUES: Final = frozenset({"string-join", *SIGNATURES}) - {"not"} - OPERATORS
"""The functions that are written as calls, and stand for values."""


def kind_of(value: Operand | Expression) -> Kind:
    """What kind of value an expression gives."""
    match value:
        case FunctionCall("string-join") | StringLiteral() | Switch():
            return "string"
        case FunctionCall(function):
            return SIGNATURES[function].gives
        case Conditional(_, inner):
            return kind_of(inner)
        case NumberLiteral() | NumberValue():
            return "number"
        case _:
            return "untyped"

"""The operators by which queries compare values: of each what it means in Python, in SQL and in XQuery, in one table.

A **sign** compares two values, of which either may be a path's, by their order. A **function** asks something of the
one value of a path, and a string: ``starts-with($a/name, "A")``. It is false of the empty string and of
what is absent, which XQuery takes for it.

Whatever reads, prints, translates or evaluates comparisons looks an operator up here; a new function is a line of
:data:`Operator`, and one of :data:`OPERATORS`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, TypeGuard, TypeVar

Sign: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">="]
Operator: TypeAlias = Literal[Sign, "starts-with"]

_Either = TypeVar("_Either", Sign, Operator)
_FLIPPED: Final = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

_LESS, _EQUAL, _GREATER, _UNORDERED = "<", "=", ">", "NaN"
"""How one value may stand to another; ``NaN`` stands so to all numbers."""


@dataclass(frozen=True, slots=True)
class ComparisonOperator:
    """What an operator means.

    ``holds`` is its meaning for two values of one kind in Python, ``sql`` for two strings, or two numbers without NaN,
    in SQL. ``outcomes`` are the ways in which the left value may stand to the right one where a sign holds; functions
    have none, for they do not ask for an order.
    """

    name: Operator
    holds: Callable[[Any, Any], bool]
    sql: str
    outcomes: frozenset[str] = frozenset()

    @property
    def is_function(self) -> bool:
        """Whether it is written as a function, of a path with one value at most and a string."""
        return not self.outcomes

    @property
    def is_order(self) -> bool:
        """Whether it asks which of two values is less."""
        return (_LESS in self.outcomes) != (_GREATER in self.outcomes)

    @property
    def is_reflexive(self) -> bool:
        """Whether a sign holds between a value and itself."""
        return _EQUAL in self.outcomes

    def holds_for_some(self, left: Collection[str], right: Collection[str]) -> bool:
        """Whether a sign holds for some pair of strings: a general comparison by code points."""
        if not left or not right:
            return False
        return (
            (_EQUAL in self.outcomes and not set(left).isdisjoint(right))
            or (_LESS in self.outcomes and min(left) < max(right))
            or (_GREATER in self.outcomes and max(left) > min(right))
        )

    def outcomes_elsewhere(self, bound: Any, limit: Any) -> frozenset[str]:
        """How a value may stand to ``limit`` for which a sign holds with ``bound``, another value of the same kind.

        >>> sorted(OPERATORS["<="].outcomes_elsewhere("b", "c")), sorted(OPERATORS["<="].outcomes_elsewhere("b", "b"))
        (['<'], ['<', '='])
        """
        between = _EQUAL if bound == limit else _LESS if bound < limit else _GREATER
        if between == _EQUAL:
            return self.outcomes
        if self.outcomes <= {_EQUAL, between}:
            return frozenset({between})
        return frozenset({_LESS, _EQUAL, _GREATER, _UNORDERED})

    def xquery(self, left: str, right: str) -> str:
        """The comparison as XQuery writes it.

        >>> OPERATORS["!="].xquery("$a/name", '"Ann"')
        '$a/name != "Ann"'
        """
        return f"{self.name}({left}, {right})" if self.is_function else f"{left} {self.name} {right}"


OPERATORS: Final[Mapping[Operator, ComparisonOperator]] = {
    each.name: each
    for each in (
        ComparisonOperator("=", operator.eq, "{left} = {right}", frozenset({_EQUAL})),
        ComparisonOperator("!=", operator.ne, "{left} <> {right}", frozenset({_LESS, _GREATER, _UNORDERED})),
        ComparisonOperator("<", operator.lt, "{left} < {right}", frozenset({_LESS})),
        ComparisonOperator("<=", operator.le, "{left} <= {right}", frozenset({_LESS, _EQUAL})),
        ComparisonOperator(">", operator.gt, "{left} > {right}", frozenset({_GREATER})),
        ComparisonOperator(">=", operator.ge, "{left} >= {right}", frozenset({_GREATER, _EQUAL})),
        ComparisonOperator("starts-with", str.startswith, "substr({left}, 1, length({right})) = {right}"),
    )
}
"""All operators by their names in XQuery."""

FUNCTIONS: Final[Mapping[str, ComparisonOperator]] = {
    name: each for name, each in OPERATORS.items() if each.is_function
}
"""Those that are written as functions."""


def is_sign(name: Operator) -> TypeGuard[Sign]:
    """Whether an operator is a sign, which subscriptions have too."""
    return not OPERATORS[name].is_function


def flipped(sign: _Either) -> _Either:
    """The sign that says the same with its sides exchanged; a function has none."""
    return _FLIPPED[sign]  # type: ignore[return-value]

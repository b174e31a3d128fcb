"""Implication of comparisons: what the value tests of one node say of its value (:func:`heptox.pattern.holds`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from heptox.pattern import Number, Sign, Text, ValueTest, double, holds, literal

T = TypeVar("T", str, float)

_LOWER: Final = (">", ">=", "=")
_UPPER: Final = ("<", "<=", "=")


@dataclass(slots=True)
class _Interval(Generic[T]):
    """The values that some comparisons with constants of one kind leave. ``None`` is for no bound."""

    lower: T | None = None
    above_lower: bool = False
    upper: T | None = None
    below_upper: bool = False
    excluded: frozenset[T] = frozenset()

    def add(self, operator: Sign, constant: T) -> None:
        if operator == "!=":
            self.excluded |= {constant}
        strict = operator in ("<", ">")
        if operator in _LOWER and (self.lower is None or (constant, strict) > (self.lower, self.above_lower)):
            self.lower, self.above_lower = constant, strict
        if operator in _UPPER and (self.upper is None or (constant, not strict) < (self.upper, not self.below_upper)):
            self.upper, self.below_upper = constant, strict

    @property
    def bounded(self) -> bool:
        """Whether a value is compared with an order: it is then no NaN."""
        return self.lower is not None or self.upper is not None

    @property
    def only(self) -> T | None:
        """The one value that is left at most, if the bounds say which."""
        return self.lower if self.lower == self.upper else None

    @property
    def empty(self) -> bool:
        if self.lower is None or self.upper is None:
            return False
        if self.lower == self.upper:
            return self.above_lower or self.below_upper or self.lower in self.excluded
        return self.lower > self.upper

    def implies(self, operator: Sign, constant: T) -> bool:
        """Whether all values that are left compare so with a constant."""
        match operator:
            case "<":
                return self.upper is not None and (
                    self.upper < constant or (self.upper == constant and self._ends_below(constant))
                )
            case "<=":
                return self.upper is not None and self.upper <= constant
            case ">":
                return self.lower is not None and (
                    self.lower > constant or (self.lower == constant and self._begins_above(constant))
                )
            case ">=":
                return self.lower is not None and self.lower >= constant
            case "=":
                return self.implies("<=", constant) and self.implies(">=", constant)
            case "!=":
                return constant in self.excluded or self.implies("<", constant) or self.implies(">", constant)

    def _ends_below(self, constant: T) -> bool:
        return self.below_upper or constant in self.excluded

    def _begins_above(self, constant: T) -> bool:
        return self.above_lower or constant in self.excluded


class ValueConstraints:
    """What some value tests say of the one value that they all are of.

    >>> known = ValueConstraints([ValueTest(">=", Number("5")), ValueTest("<", Number("7.0"))])
    >>> [known.implies(ValueTest(*test)) for test in ((">", Number("4")), ("!=", Number("7")), ("=", Text("5")))]
    [True, True, False]
    """

    __slots__ = ("_impossible", "_numbers", "_texts", "_value")

    def __init__(self, tests: Iterable[ValueTest]) -> None:
        self._numbers: _Interval[float] = _Interval()
        self._texts: _Interval[str] = _Interval()
        tests = tuple(tests)
        for test in tests:
            if isinstance(test.constant, Text):
                self._texts.add(test.operator, test.constant.value)
            else:
                self._numbers.add(test.operator, _double(test.constant))
        equal = (test.constant.value for test in tests if test.operator == "=" and isinstance(test.constant, Text))
        self._value: str | None = next(equal, None)
        self._impossible = (
            self._numbers.empty
            or self._texts.empty
            or (self._value is not None and not all(holds(self._value, test.operator, test.constant) for test in tests))
        )

    @property
    def impossible(self) -> bool:
        """Whether it is seen that no value fulfils all the tests: every test is implied then."""
        return self._impossible

    @property
    def bounded(self) -> bool:
        """Whether the value is known, or is compared with an order: else ``!=`` is only implied by ``!=``."""
        return self._value is not None or self._numbers.bounded or self._texts.bounded

    def equal(self) -> Iterator[str | float]:
        """All constants for which ``=`` is implied, strings and doubles; of what is possible."""
        if self._value is None:
            found: tuple[str | float | None, ...] = self._texts.only, self._numbers.only
        else:
            found = self._value, double(self._value)
        return (constant for constant in found if constant is not None)

    def unequal(self) -> Iterator[str | float]:
        """All constants for which ``!=`` is implied, strings and doubles; of what is possible and not bounded."""
        yield from self._texts.excluded
        yield from self._numbers.excluded

    def implies(self, wanted: ValueTest) -> bool:
        """Whether a value of which they all hold surely fulfils another test. Yes is certain, no is not."""
        constant = wanted.constant
        if self._impossible:
            return True
        if self._value is not None:
            return holds(self._value, wanted.operator, constant)
        if isinstance(constant, Number):
            return self._numbers.implies(wanted.operator, _double(constant))
        return self._texts.implies(wanted.operator, constant.value)


def compared(constant: Text | Number) -> str | float:
    """A constant as values are compared with it: equal ones are equal, however they are written."""
    return _double(constant) if isinstance(constant, Number) else constant.value


def _double(constant: Number) -> float:
    return float(literal(constant.lexical))

"""What the values of a leaf have in common: their type, whether they are few, whether they are names.

Types are guessed with care: a wrong one refuses the next document, a missing one refuses nothing. A value with a
leading zero, and numbers that all have five digits, or all six, and so on (``20160404``), are codes, not integers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from typing import Final

from heptox.xml import NAME, NAME_TOKEN, XML_NAMESPACE, expanded_name

LEAST_TYPED: Final = 3
"""How many values have to be of a type before it is taken for the type of all."""

MOST_ENUMERATED: Final = 12
LEAST_ENUMERATED: Final = 30
LEAST_OF_EACH: Final = 3
"""An enumeration has at most so many values, of at least so many occurrences, each at least so often."""

MOST_DIGITS: Final = 18
"""Digits of a number: validators need not take more (XML Schema 1.0 part 2, 3.2.3)."""

_CODE_DIGITS: Final = 5
_LONGEST_TOKEN: Final = 64


@dataclass(frozen=True, slots=True)
class LeafType:
    """The type of a leaf: one of XML Schema, with the values that there are where these are enumerated.

    >>> LeafType("integer").allows("12"), LeafType("integer").allows("012"), LeafType("string", ("a", "b")).allows("c")
    (True, False, False)
    """

    name: str = "string"
    values: tuple[str, ...] = ()

    def allows(self, value: str) -> bool:
        """Whether a value is taken for one of the type."""
        return value in self.values if self.values else self.name == "string" or _CHECKS[self.name](value)


STRING: Final = LeafType()
XML_SPACE: Final = expanded_name(XML_NAMESPACE, "space")
XML_SPACE_TYPE: Final = LeafType("string", ("default", "preserve"))
"""The attribute ``xml:space``, and the type that it has in every schema where its values are of that (XML 1.0,
2.10)."""

_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]*")
_DECIMAL: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_DOUBLE: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?")
_DATE: Final = r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
_TIME: Final = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?"
_ZONE: Final = r"(?:Z|[+-](?:0[0-9]|1[0-3]):[0-5][0-9])?"
_DATES: Final = re.compile(_DATE + _ZONE)
_DATE_TIMES: Final = re.compile(f"{_DATE}T{_TIME}{_ZONE}")
_TIMES: Final = re.compile(_TIME + _ZONE)
_ADDRESS: Final = re.compile(r"(?:https?|ftp)://[A-Za-z0-9.-]+(?::[0-9]+)?(?:/[A-Za-z0-9._~!$&'()*+,;=:@/-]*)?")


def _number(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda value: pattern.fullmatch(value) is not None and sum(map(str.isdigit, value)) <= MOST_DIGITS


def _calendar(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    def check(value: str) -> bool:
        found = pattern.fullmatch(value)
        return found is not None and _is_day(*(int(found[part]) for part in ("year", "month", "day")))

    return check


def _is_day(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


_CHECKS: Final[Mapping[str, Callable[[str], bool]]] = {
    "boolean": frozenset(("true", "false")).__contains__,
    "integer": _number(_INTEGER),
    "decimal": _number(_DECIMAL),
    "double": _number(_DOUBLE),
    "date": _calendar(_DATES),
    "dateTime": _calendar(_DATE_TIMES),
    "time": lambda value: _TIMES.fullmatch(value) is not None,
    "anyURI": lambda value: _ADDRESS.fullmatch(value) is not None,
}
"""The types that are looked for, each with what is taken for a value of it; the narrower ones first."""

_ALL: Final = frozenset(_CHECKS)


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    """A pattern of names, compiled when one is first looked at: that takes long."""
    return re.compile(pattern)


def is_name(value: str) -> bool:
    """Whether a value may be that of an ``ID``.

    >>> is_name("f0_119"), is_name("119")
    (True, False)
    """
    return ":" not in value and _pattern(NAME).fullmatch(value) is not None


def is_token(value: str) -> bool:
    """Whether a value is one of an enumeration in a DTD (``NMTOKEN``)."""
    return len(value) <= _LONGEST_TOKEN and _pattern(NAME_TOKEN).fullmatch(value) is not None


@dataclass(slots=True)
class ValueStatistics:
    """What is known of the values of a leaf, of which no more than :data:`MOST_ENUMERATED` are kept.

    >>> statistics = ValueStatistics()
    >>> for value in ("1", "22", "-3"):
    ...     statistics.add(value)
    >>> statistics.type().name, statistics.count
    ('integer', 3)
    """

    count: int = 0
    types: frozenset[str] = _ALL
    distinct: dict[str, int] | None = field(default_factory=dict)
    shortest: int = 1 << 30
    longest: int = 0

    def add(self, value: str) -> None:
        """Take a value into account."""
        self.count += 1
        if self.types and not (self.distinct and value in self.distinct):
            self.types = frozenset(name for name in self.types if _CHECKS[name](value))
        self.shortest, self.longest = min(self.shortest, len(value)), max(self.longest, len(value))
        self._keep(value, 1)

    def _keep(self, value: str, times: int) -> None:
        if self.distinct is None:
            return
        self.distinct[value] = self.distinct.get(value, 0) + times
        if len(self.distinct) > MOST_ENUMERATED or not is_token(value):
            self.distinct = None

    def merge(self, other: ValueStatistics) -> None:
        """Take the values of another leaf into account."""
        self.count += other.count
        self.types &= other.types
        self.shortest, self.longest = min(self.shortest, other.shortest), max(self.longest, other.longest)
        if other.distinct is None:
            self.distinct = None
        for value, times in (other.distinct or {}).items():
            self._keep(value, times)

    def type(self) -> LeafType:
        """The type of the values, as far as there is evidence."""
        found = next((name for name in _CHECKS if name in self.types), None)
        if found == "integer" and self.shortest == self.longest >= _CODE_DIGITS:
            found = None
        if found is not None:
            return LeafType(found) if self.count >= LEAST_TYPED else STRING
        return LeafType("string", tuple(sorted(self.distinct))) if self._is_enumeration() and self.distinct else STRING

    def _is_enumeration(self) -> bool:
        return (
            self.distinct is not None
            and self.count >= LEAST_ENUMERATED
            and len(self.distinct) > 1
            and min(self.distinct.values()) >= LEAST_OF_EACH
            and not any(value[0].isdigit() for value in self.distinct)
        )


def attribute_type(name: str, values: ValueStatistics) -> LeafType:
    """The type of an attribute, by its name and its values."""
    if name == XML_SPACE:
        return XML_SPACE_TYPE if values.distinct and values.distinct.keys() <= set(XML_SPACE_TYPE.values) else STRING
    return values.type()


_WIDER: Final = (("integer", "decimal", "double"),)


def widened(old: LeafType, new: ValueStatistics) -> LeafType:
    """The least type that allows what a type allows, and other values too.

    >>> statistics = ValueStatistics()
    >>> statistics.add("1.5")
    >>> widened(LeafType("integer"), statistics).name, widened(LeafType("date"), statistics).name
    ('decimal', 'string')
    """
    if not new.count:
        return old
    if old.values:
        known = new.distinct is not None
        values = sorted({*old.values, *(new.distinct or ())})
        return (
            LeafType("string", tuple(values)) if known and len(values) <= len(old.values) + MOST_ENUMERATED else STRING
        )
    if old.name == "string" or old.name in new.types:
        return old
    chain = next((chain for chain in _WIDER if old.name in chain), ())
    return (
        next((LeafType(name) for name in chain[chain.index(old.name) :] if name in new.types), STRING)
        if chain
        else STRING
    )

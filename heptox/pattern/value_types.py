"""The types of function terms: values are strings in documents, and others while they are computed.

A decimal has at most 12 digits before its point and 12 after it, so that every engine computes with it exactly: what
has more is absent. In SQL it is a ``DECIMAL(24, 12)``. A double is only compared. A date, a time or both is a string of
the one form that XPath gives it; a year has four digits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Final, TypeAlias

from heptox.pattern.values import double

Value: TypeAlias = str | Decimal | float | bool

DIGITS: Final = 12
"""Digits of a decimal before its point at most, and after it."""
LIMIT: Final = Decimal(10) ** DIGITS


class Type(Enum):
    """What a function takes or gives; the last four are constants, as they stand in the expression."""

    STRING = "string"
    DECIMAL = "decimal"
    INTEGER = "integer"
    DOUBLE = "double"
    BOOLEAN = "boolean"
    DATE = "date"
    DATE_TIME = "dateTime"
    TIME = "time"
    ANY = "any value"
    PATTERN = "regular expression"
    REPLACEMENT = "replacement"
    PICTURE = "picture"
    DIGITS = "number of digits"

    @property
    def is_constant(self) -> bool:
        return self in (Type.PATTERN, Type.REPLACEMENT, Type.PICTURE, Type.DIGITS)

    @property
    def is_numeric(self) -> bool:
        return self in (Type.DECIMAL, Type.INTEGER, Type.DOUBLE)


@dataclass(frozen=True, slots=True)
class Cast:
    """How a string becomes a value of a type, and that a string again; neither fails, but the first may give nothing.

    ``template`` and ``written`` are the two in SQL.
    """

    name: str
    sql_type: str
    read: Callable[[str], Value | None]
    template: str
    string: Callable[[Value], str]
    written: str


def canonical(number: Decimal) -> str:
    """A decimal as XPath writes it.

    >>> canonical(Decimal("2.50")), canonical(Decimal("-0.0")), canonical(Decimal("1E+3"))
    ('2.5', '0', '1000')
    """
    if not number:
        return "0"
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def bounded(number: Decimal) -> Decimal | None:
    """The number, where it is a decimal of this module: none where it has too many digits.

    >>> bounded(Decimal("0.10")), bounded(Decimal("1e12")), bounded(Decimal("1e-13"))
    (Decimal('0.100000000000'), None, None)
    """
    if abs(number) >= LIMIT:
        return None
    fixed = number.quantize(_LEAST)
    return fixed + 0 if fixed == number else None


_LEAST: Final = Decimal(1).scaleb(-DIGITS)
_SPACE: Final = "[ \t\n\r]*"
_DECIMAL: Final = "[+-]?0*(?:[0-9]{1,12}(?:[.][0-9]{0,12}0*)?|[.][0-9]{1,12}0*)"
_INTEGER: Final = "[+-]?0*[0-9]{1,12}"
_DOUBLE: Final = "[+-]?(?:[0-9]+(?:[.][0-9]*)?|[.][0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?INF|NaN"


def _whole(pattern: str) -> str:
    return f"^{_SPACE}({pattern}){_SPACE}$"


def _reading(pattern: str) -> Callable[[str], Decimal | None]:
    form = re.compile(f"{_SPACE}({pattern}){_SPACE}")

    def read(value: str) -> Decimal | None:
        found = form.fullmatch(value)
        return bounded(Decimal(found[1])) if found else None

    return read


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _as_number(pattern: str, sql_type: str) -> str:
    return f"TRY_CAST(nullif(regexp_extract({{0}}, {_quoted(_whole(pattern))}, 1), '') AS {sql_type})"


_SQL_DECIMAL: Final = f"DECIMAL({2 * DIGITS}, {DIGITS})"
_AS_STRING: Final = "regexp_replace(CAST({0} AS STRING), '[.]?0+$', '')"


def _text(value: Value) -> str:
    return str(value)


def _number(value: Value) -> str:
    return canonical(value) if isinstance(value, Decimal) else repr(value)


CASTS: Final[Mapping[Type, Cast]] = {
    Type.DECIMAL: Cast(
        "xs:decimal", _SQL_DECIMAL, _reading(_DECIMAL), _as_number(_DECIMAL, _SQL_DECIMAL), _number, _AS_STRING
    ),
    Type.INTEGER: Cast(
        "xs:integer", _SQL_DECIMAL, _reading(_INTEGER), _as_number(_INTEGER, _SQL_DECIMAL), _number, _AS_STRING
    ),
    Type.DOUBLE: Cast("xs:double", "DOUBLE", double, _as_number(_DOUBLE, "DOUBLE"), _number, "CAST({0} AS STRING)"),
}
"""The types that strings are cast to, besides those that stay strings."""

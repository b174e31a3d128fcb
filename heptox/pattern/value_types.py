"""The types of function terms: values are strings in documents, and others while they are computed.

A decimal has at most 18 digits before its point and 12 after it, so that every engine computes with it exactly: what
has more is absent. In SQL it is a ``DECIMAL(30, 12)``. A double is only compared. A date, a time or both is a string of
the one form that XPath gives it; a year has four digits.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from enum import Enum
from typing import Final, TypeAlias

from heptox.pattern.values import double

Value: TypeAlias = str | Decimal | float | bool

WHOLE_DIGITS: Final = 18
"""Digits of a decimal before its point at most."""
DIGITS: Final = 12
"""Digits of a decimal after its point at most."""
SQL_DECIMAL: Final = f"DECIMAL({WHOLE_DIGITS + DIGITS}, {DIGITS})"


class Type(Enum):
    """What a function takes or gives; the last ones are constants."""

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
    DIVISOR = "number"

    @property
    def is_constant(self) -> bool:
        return self in (Type.PATTERN, Type.REPLACEMENT, Type.PICTURE, Type.DIGITS, Type.DIVISOR)

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


_WIDE: Final = Context(prec=60)
_LEAST: Final = Decimal(1).scaleb(-DIGITS)
_LIMIT: Final = Decimal(10) ** WHOLE_DIGITS


def canonical(number: Decimal) -> str:
    """A decimal as XPath writes it.

    >>> canonical(Decimal("2.50")), canonical(Decimal("-0.0")), canonical(Decimal("1E+3"))
    ('2.5', '0', '1000')
    """
    if not number:
        return "0"
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def bounded(number: Decimal, whole_limit: Decimal = _LIMIT) -> Decimal | None:
    """The number, where it is a decimal of this module: none where it has too many digits.

    >>> bounded(Decimal("0.10")), bounded(Decimal("1e18")), bounded(Decimal("1e-13"))
    (Decimal('0.100000000000'), None, None)
    """
    if number.copy_abs() >= whole_limit:
        return None
    fixed = number.quantize(_LEAST, context=_WIDE)
    return _WIDE.add(fixed, Decimal(0)) if fixed == number else None


_SPACE: Final = "[ \t\n\r]*"
_DECIMAL: Final = "[+-]?0*(?:[0-9]{1,18}(?:[.][0-9]{0,12}0*)?|[.][0-9]{1,12}0*)"
_INTEGER: Final = "[+-]?0*[0-9]{1,18}"
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


_AS_STRING: Final = "regexp_replace(CAST({0} AS STRING), '[.]?0+$', '')"


def _number(value: Value) -> str:
    return canonical(value) if isinstance(value, Decimal) else repr(value)


def _unit(value: str) -> Decimal | None:
    return Decimal(1).scaleb(-int(value)) if re.fullmatch("[0-9]|1[0-2]", value) else None


def reciprocal(value: str) -> Decimal | None:
    """What a decimal is multiplied with instead of being divided by a constant, where that is a decimal too.

    >>> reciprocal("100"), reciprocal("-2.5"), reciprocal("3")
    (Decimal('0.010000000000'), Decimal('-0.400000000000'), None)
    """
    divisor = _decimal(value)
    if not divisor:
        return None
    inverse = bounded(_WIDE.divide(Decimal(1), divisor))
    return inverse if inverse and _WIDE.multiply(inverse, divisor) == 1 else None


_YEAR: Final = "(?:[1-9][0-9][0-9][0-9]|0[1-9][0-9][0-9]|00[1-9][0-9]|000[1-9])"
_DATE: Final = f"({_YEAR}-[0-9][0-9]-[0-9][0-9])"
_TIME: Final = "((?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9])(?:[.](?:0+|([0-9]{0,5}[1-9])0*))?"
_ZONE: Final = "(Z|[+-](?:0[0-9]|1[0-3]):[0-5][0-9]|[+-]14:00)?"


def _temporal(name: str, date: bool, time: bool) -> Cast:
    """The cast to dates, times or both; a fraction of a second has six digits at most."""
    pattern = f"{_SPACE}{_DATE * date}{'T' * (date and time)}{_TIME * time}{_ZONE}{_SPACE}"
    form = re.compile(pattern)
    zone_group = date + 2 * time + 1

    def read(value: str) -> Value | None:
        found = form.fullmatch(value)
        if found is None or (date and not _is_date(found[1])):
            return None
        zone = found[zone_group] or ""
        fraction = found[zone_group - 1] if time else None
        hours = found[zone_group - 2] if time else ""
        day = found[1] if date else ""
        between = "T" if date and time else ""
        return day + between + hours + (f".{fraction}" if fraction else "") + ("Z" if zone[1:] == "00:00" else zone)

    def group(number: int) -> str:
        return f"regexp_extract({{0}}, '^{pattern}$', {number})"

    zone = f"regexp_replace({group(zone_group)}, '^[+-]00:00$', 'Z')"
    fraction = f"CASE WHEN {group(zone_group - 1)} = '' THEN '' ELSE concat('.', {group(zone_group - 1)}) END"
    parts = [*[group(1)] * date, *["'T'"] * (date and time), *[group(zone_group - 2), fraction] * time, zone]
    valid = f"TRY_CAST({group(1)} AS DATE) IS NOT NULL" if date else f"{group(1)} <> ''"
    return Cast(name, "STRING", read, f"CASE WHEN {valid} THEN concat({', '.join(parts)}) END", str, "{0}")


def _is_date(text: str) -> bool:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


_decimal: Final = _reading(_DECIMAL)

CASTS: Final[Mapping[Type, Cast]] = {
    Type.DECIMAL: Cast("xs:decimal", SQL_DECIMAL, _decimal, _as_number(_DECIMAL, SQL_DECIMAL), _number, _AS_STRING),
    Type.INTEGER: Cast(
        "xs:integer", SQL_DECIMAL, _reading(_INTEGER), _as_number(_INTEGER, SQL_DECIMAL), _number, _AS_STRING
    ),
    Type.DOUBLE: Cast("xs:double", "DOUBLE", double, _as_number(_DOUBLE, "DOUBLE"), _number, "CAST({0} AS STRING)"),
    Type.DATE: _temporal("xs:date", date=True, time=False),
    Type.DATE_TIME: _temporal("xs:dateTime", date=True, time=True),
    Type.TIME: _temporal("xs:time", date=False, time=True),
    Type.DIGITS: Cast("xs:integer", SQL_DECIMAL, _unit, "", _number, ""),
    Type.DIVISOR: Cast("xs:decimal", SQL_DECIMAL, reciprocal, "", _number, ""),
}
"""The types that strings are cast to; constants of the last two are the units, and the factors, that they stand for."""


@dataclass(frozen=True, slots=True)
class ValueFunction:
    """One form of a function: a name may have several, by the number of arguments or their types.

    ``meaning`` takes and gives values of the types of the signature. ``sql`` has ``{0}``, ``{1}`` for arguments, and
    is ``NULL`` where the meaning has no value, and where an argument is absent; ``spark`` is what Spark has instead.
    ``xquery`` is how the call is written where that is not ``name(arguments)``.

    * ``repeats``: the last two parameters stand for two or more arguments, from the left.
    * ``is_strict``: absent, or false, where an argument is absent; the others get ``None`` for it.
    * ``is_total``: it has a value for all arguments that there are.
    * ``propagates``: in XPath too it is empty, or false, for an empty argument.
    * ``takes_any``: in XPath its arguments may be of any type where it takes strings.
    """

    name: str
    parameters: tuple[Type, ...]
    result: Type
    meaning: Callable[..., Value | None]
    sql: str
    summary: str
    xquery: str | None = None
    repeats: bool = False
    is_strict: bool = True
    is_total: bool = True
    propagates: bool = False
    takes_any: bool = False
    spark: str | None = None

    @property
    def is_infix(self) -> bool:
        """Whether it is written between its arguments."""
        return self.xquery is not None and self.xquery.startswith("{0} ")

    def shown(self, arguments: Sequence[str]) -> str:
        """The call as XPath writes it, of arguments as they are written."""
        if self.xquery is None or self.xquery == "{0}":
            return f"{self.name}({', '.join(arguments)})"
        if self.repeats:
            return f" {self.name} ".join(arguments)
        return re.sub(r"\{(\d)\}", lambda found: arguments[int(found[1])], self.xquery)

    def parameter(self, place: int) -> Type:
        """The type of an argument, by its place."""
        return self.parameters[min(place, len(self.parameters) - 1)]

    def takes(self, number: int) -> bool:
        """Whether it can have so many arguments."""
        return number == len(self.parameters) or (self.repeats and number > len(self.parameters))

"""Functions of dates and times, which are strings in the one form that XPath gives them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Final

from heptox.pattern.operators import OPERATORS, Sign, is_sign
from heptox.pattern.value_types import SQL_DECIMAL, Type, ValueFunction

_DATE_PARTS: Final = {"Y": (1, 4), "M": (6, 2), "D": (9, 2)}
_TIME_PARTS: Final = {"H": (1, 2), "m": (4, 2), "s": (7, 2)}
_PLACES: Final[Mapping[Type, Mapping[str, tuple[int, int]]]] = {
    Type.DATE: _DATE_PARTS,
    Type.TIME: _TIME_PARTS,
    Type.DATE_TIME: _DATE_PARTS | {part: (place + 11, length) for part, (place, length) in _TIME_PARTS.items()},
}
"""Where the parts of a value stand, counted from 1, and how many digits they have."""
_SHORT: Final = ("Y", "M", "D", "H")
"""The parts that a picture may show without zeros before them."""
_NAMES: Final = {Type.DATE: "format-date", Type.TIME: "format-time", Type.DATE_TIME: "format-dateTime"}


def padded_component(part: str) -> str:
    """A part of a date in a picture, with all its digits.

    >>> padded_component("Y"), padded_component("D")
    ('[Y0001]', '[D01]')
    """
    return f"[{part}0001]" if part == "Y" else f"[{part}01]"


def _components(kind: Type) -> Iterator[tuple[str, int, int, bool]]:
    """What a picture may show, where it stands, and whether it is shown without zeros before it."""
    for part, (place, length) in _PLACES[kind].items():
        yield padded_component(part), place, length, False
        if part in _SHORT:
            yield f"[{part}]", place, length, True


@lru_cache(maxsize=256)
def picture_faults(function: str, picture: str) -> tuple[str, ...]:
    """What is wrong with the picture of a function that formats dates or times.

    >>> picture_faults("format-date", "[D01].[M01]. [MNn]")
    ('it has more than text and [Y0001], [Y], [M01], [M], [D01], [D]',)
    """
    kind = next(kind for kind, name in _NAMES.items() if name == function)
    known = [component for component, *_ in _components(kind)]
    rest = re.sub("|".join(map(re.escape, known)), "", picture)
    return (f"it has more than text and {', '.join(known)}",) if re.search(r"[\[\]]", rest) else ()


def _formatting(kind: Type) -> ValueFunction:
    components = tuple(_components(kind))

    def formatted(value: str, picture: str) -> str:
        for component, place, length, is_short in components:
            digits = value[place - 1 : place - 1 + length]
            picture = picture.replace(component, str(int(digits)) if is_short else digits)
        return picture

    template = "{1}"
    for component, place, length, is_short in components:
        digits = f"substr({{0}}, {place}, {length})"
        shown = f"CAST(CAST({digits} AS INTEGER) AS STRING)" if is_short else digits
        template = f"replace({template}, '{component}', {shown})"
    return ValueFunction(
        _NAMES[kind],
        (kind, Type.PICTURE),
        Type.STRING,
        formatted,
        template,
        f"written by a picture of {', '.join(component for component, *_ in components)} and text",
        propagates=True,
    )


def _cast(kind: Type) -> ValueFunction:
    name = f"xs:{kind.value}"
    summary = f"the {kind.value} that the string stands for, if it does; years have four digits"
    return ValueFunction(name, (kind,), kind, lambda value: value, "{0}", summary, "{0}", propagates=True)


_ZONE: Final = "(Z|[+-][0-9][0-9]:[0-9][0-9])$"


def _date_of(value: str) -> str:
    zone = re.search(_ZONE, value)
    return value[:10] + (zone[1] if zone else "")


def _part(name: str, part: str) -> ValueFunction:
    place, length = _DATE_PARTS[part]
    return ValueFunction(
        f"{name}-from-date",
        (Type.DATE,),
        Type.INTEGER,
        lambda value: Decimal(value[place - 1 : place - 1 + length]),
        f"CAST(substr({{0}}, {place}, {length}) AS {SQL_DECIMAL})",
        f"its {name}",
        propagates=True,
    )


# -- comparisons -------------------------------------------------------------------------------------------------

_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - the values have their own time zones, or none


def _moment(value: str, kind: Type) -> tuple[int, bool]:
    """Microseconds since 1970 in UTC, and whether the value says its time zone."""
    zone = re.search(_ZONE, value)
    local = value[: zone.start()] if zone else value
    text = {Type.DATE: f"{local}T00:00:00", Type.TIME: f"1970-01-01T{local}"}.get(kind, local)
    since = datetime.fromisoformat(text) - _EPOCH
    if zone and zone[1] != "Z":
        hours, minutes = int(zone[1][1:3]), int(zone[1][4:])
        since -= timedelta(hours=hours, minutes=minutes) * (-1 if zone[1][0] == "-" else 1)
    return since // timedelta(microseconds=1), zone is not None


def _compared(holds: Callable[[int, int], bool], kind: Type) -> Callable[[str, str], bool]:
    def compared(left: str, right: str) -> bool:
        (first, one_has), (second, other_has) = _moment(left, kind), _moment(right, kind)
        return one_has == other_has and holds(first, second)

    return compared


def _sql_moment(argument: str, kind: Type, days: str) -> str:
    """The microseconds in SQL: the argument's parts, the minutes of its time zone taken off."""

    def found(pattern: str) -> str:
        return f"coalesce(TRY_CAST(regexp_extract({argument}, '{pattern}', 1) AS BIGINT), 0)"

    parts = [f"CAST({days.format(argument)} AS BIGINT) * 86400000000"] * (kind is not Type.TIME)
    for part, factor in (("H", 3600), ("m", 60), ("s", 1)):
        if part in _PLACES[kind]:
            place, length = _PLACES[kind][part]
            parts.append(f"CAST(substr({argument}, {place}, {length}) AS BIGINT) * {factor}000000")
    if kind is not Type.DATE:
        fraction = f"rpad(regexp_extract({argument}, '[.]([0-9]+)', 1), 6, '0')"
        parts.append(f"CAST({fraction} AS BIGINT)")
    hours, minutes = found("([+-][0-9][0-9]):[0-9][0-9]$"), found("[+-][0-9][0-9]:([0-9][0-9])$")
    sign = f"CASE WHEN regexp_extract({argument}, '([+-])[0-9][0-9]:[0-9][0-9]$', 1) = '-' THEN -1 ELSE 1 END"
    return f"({' + '.join(parts)} - {hours} * 3600000000 - {sign} * {minutes} * 60000000)"


def _comparison(name: Sign, kind: Type) -> ValueFunction:
    zones = " = ".join(f"(regexp_extract({{{place}}}, '{_ZONE}', 1) = '')" for place in (0, 1))

    def template(days: str) -> str:
        left, right = (_sql_moment(f"{{{place}}}", kind, days) for place in (0, 1))
        return f"coalesce({OPERATORS[name].sql.format(left=left, right=right)} AND {zones}, FALSE)"

    return ValueFunction(
        name,
        (kind, kind),
        Type.BOOLEAN,
        _compared(OPERATORS[name].holds, kind),
        template("(CAST(substr({}, 1, 10) AS DATE) - DATE '1970-01-01')"),
        "compared as moments; false where only one of them has a time zone",
        f"{{0}} {name} {{1}}",
        propagates=True,
        spark=template("datediff(CAST(substr({}, 1, 10) AS DATE), DATE '1970-01-01')"),
    )


_COMPARISONS: Final = tuple(
    _comparison(name, kind) for name in OPERATORS if is_sign(name) for kind in (Type.DATE, Type.DATE_TIME, Type.TIME)
)

DATES: Final = (
    ValueFunction(
        "xs:date",
        (Type.DATE_TIME,),
        Type.DATE,
        _date_of,
        f"(substr({{0}}, 1, 10) || regexp_extract({{0}}, '{_ZONE}', 1))",
        "the date of a dateTime",
        propagates=True,
    ),
    _cast(Type.DATE),
    _cast(Type.DATE_TIME),
    ValueFunction(
        "xs:time",
        (Type.DATE_TIME,),
        Type.TIME,
        lambda value: value.partition("T")[2],
        "substr({0}, 12)",
        "the time of a dateTime",
        propagates=True,
    ),
    _cast(Type.TIME),
    *map(_formatting, _NAMES),
    *(_part(name, part) for name, part in (("year", "Y"), ("month", "M"), ("day", "D"))),
    *_COMPARISONS,
)

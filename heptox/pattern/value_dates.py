"""Functions of dates and times, which are strings in the one form that XPath gives them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Final

from heptox.pattern.value_types import Type, ValueFunction

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
        f"CAST(substr({{0}}, {place}, {length}) AS DECIMAL(24, 12))",
        f"its {name}",
        propagates=True,
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
)

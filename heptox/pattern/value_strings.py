"""Functions of strings that give strings, or count characters."""

from __future__ import annotations

import operator
import re
from decimal import Decimal
from typing import Final

from heptox.pattern.value_patterns import MOST_REPLACED, TOO_MUCH_REPLACED, replaced
from heptox.pattern.value_types import SQL_DECIMAL, Type, ValueFunction

_STRING: Final = Type.STRING
_INTEGER: Final = Type.INTEGER
_WHITE_SPACE: Final = " \t\n\r"


def _normalized(value: str) -> str:
    return re.sub(f"[{_WHITE_SPACE}]+", " ", value).strip(" ")


def _translated(value: str, of: str, to: str) -> str:
    images: dict[int, str] = {}
    for place, character in enumerate(of):
        images.setdefault(ord(character), to[place : place + 1])
    return value.translate(images)


def _substring(value: str, start: Decimal, length: Decimal | None = None) -> str:
    first = int(start)
    end = len(value) + 1 if length is None else first + int(length)
    return value[max(first, 1) - 1 : max(end - 1, 0)]


_LAST: Final = 2**31 - 1
"""The last place that a string of SQL can have, and the most that ``substr`` takes in Spark."""


def _place(number: str, least: int) -> str:
    """A number as a place. Not by greatest() and least(), which pass by what is null."""
    return (
        f"CASE WHEN {number} < {least} THEN {least} WHEN {number} > {_LAST} THEN {_LAST} ELSE CAST({number} AS INT) END"
    )


_FIRST: Final = _place("{1}", 1)
_COUNTED: Final = _place("CASE WHEN {1} < 1 THEN {1} + {2} - 1 ELSE {2} END", 0)


def _before(value: str, part: str) -> str:
    return value[: max(value.find(part), 0)]


def _after(value: str, part: str) -> str:
    return value.partition(part)[2] if part else value


def _replaced(error: str, made: str) -> str:
    """What a replacement makes, and an error where it could make too much."""
    is_too_much = f"(length({{0}}) + 1) * length({{2}}) > {MOST_REPLACED}"
    return f"CASE WHEN {is_too_much} THEN CAST({error}('{TOO_MUCH_REPLACED}') AS STRING) ELSE {made} END"


_LONGER_IN_UPPER_CASE: Final = "".join(
    character
    for first, last in ((0xDF, 0x3B0), (0x587, 0x587), (0x1E96, 0x1FFC), (0xFB00, 0xFB17))
    for character in map(chr, range(first, last + 1))
    if len(character.upper()) > 1
)
"""The letters that become several letters, as ``ß`` does: DuckDB puts one letter for another."""
_UPPER: Final = (
    f"CASE WHEN regexp_matches({{0}}, '[{_LONGER_IN_UPPER_CASE}]')"
    " THEN array_to_string(list_transform(string_split({0}, ''), lambda letter: coalesce("
    f"string_split('{' '.join(character.upper() for character in _LONGER_IN_UPPER_CASE)}', ' ')"
    f"[instr('{_LONGER_IN_UPPER_CASE}', letter)], upper(letter))), '') ELSE upper({{0}}) END"
)


_SIGMA: Final = "\N{GREEK SMALL LETTER SIGMA}"


def _lower(value: str) -> str:
    """Each letter by itself, as XPath has it: a sigma at the end of a word is none of its own."""
    return value.replace("Σ", _SIGMA).lower()


STRINGS: Final = (
    ValueFunction(
        "concat",
        (_STRING, _STRING),
        _STRING,
        operator.add,
        "({0} || {1})",
        "the strings one after the other; `||` means the same",
        repeats=True,
        takes_any=True,
    ),
    ValueFunction(
        "string", (_STRING,), _STRING, str, "{0}", "the string itself; of an element that holds others, all text in it"
    ),
    ValueFunction(
        "normalize-space",
        (_STRING,),
        _STRING,
        _normalized,
        f"trim(regexp_replace({{0}}, '[{_WHITE_SPACE}]+', ' ', 'g'))",
        "white space becomes one space, and none at the ends",
        spark=f"trim(regexp_replace({{0}}, '[{_WHITE_SPACE}]+', ' '))",
    ),
    ValueFunction(
        "translate",
        (_STRING, _STRING, _STRING),
        _STRING,
        _translated,
        "translate({0}, {1}, {2})",
        "each character of the second string replaced by the one at its place in the third, or left out",
    ),
    ValueFunction(
        "substring",
        (_STRING, _INTEGER),
        _STRING,
        _substring,
        f"substr({{0}}, {_FIRST})",
        "the characters from a place on, which count from 1",
    ),
    ValueFunction(
        "substring",
        (_STRING, _INTEGER, _INTEGER),
        _STRING,
        _substring,
        f"substr({{0}}, {_FIRST}, {_COUNTED})",
        "so many characters from a place on",
    ),
    ValueFunction(
        "substring-before",
        (_STRING, _STRING),
        _STRING,
        _before,
        "CASE WHEN instr({0}, {1}) = 0 THEN '' ELSE substr({0}, 1, instr({0}, {1}) - 1) END",
        "what stands before the first occurrence of the second string; empty where there is none",
    ),
    ValueFunction(
        "substring-after",
        (_STRING, _STRING),
        _STRING,
        _after,
        "CASE WHEN instr({0}, {1}) = 0 THEN '' ELSE substr({0}, instr({0}, {1}) + length({1})) END",
        "what stands after the first occurrence of the second string; empty where there is none",
    ),
    ValueFunction(
        "replace",
        (_STRING, Type.PATTERN, Type.REPLACEMENT),
        _STRING,
        replaced,
        _replaced("error", "regexp_replace({0}, {1}, {2}, 'g')"),
        "all that the regular expression finds replaced, with `$1` for what its first group found",
        spark=_replaced("raise_error", "regexp_replace({0}, {1}, {2})"),
    ),
    ValueFunction("upper-case", (_STRING,), _STRING, str.upper, _UPPER, "in upper case", spark="upper({0})"),
    ValueFunction(
        "lower-case",
        (_STRING,),
        _STRING,
        _lower,
        "lower(replace({0}, 'İ', 'i̇'))",
        "in lower case",
        spark=f"lower(replace({{0}}, 'Σ', '{_SIGMA}'))",
    ),
    ValueFunction(
        "string-length",
        (_STRING,),
        _INTEGER,
        lambda value: Decimal(len(value)),
        f"CAST(length({{0}}) AS {SQL_DECIMAL})",
        "how many characters it has",
    ),
)

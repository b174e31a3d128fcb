"""The functions of function terms, in one table: of each its signature, and its meaning in Python, SQL and XQuery 3.1.

What a function means is what XPath 3.1 says, with two rules above it: the value is **absent** where an argument is, and
where the function has none for its arguments, which is never an error. Conditions are true or false: one that compares
or tests what is absent is false. A new function is an entry of :data:`VALUE_FUNCTIONS`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from heptox.pattern.operators import OPERATORS
from heptox.pattern.value_types import Type, Value, bounded


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


_STRING: Final = Type.STRING
_BOOLEAN: Final = Type.BOOLEAN
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


_FIRST: Final = "CASE WHEN {1} < 1 THEN 1 ELSE CAST({1} AS BIGINT) END"
_COUNT: Final = "CASE WHEN {1} < 1 THEN {1} + {2} - 1 ELSE {2} END"
_COUNTED: Final = f"CASE WHEN {_COUNT} < 0 THEN 0 ELSE CAST({_COUNT} AS BIGINT) END"
# Not by greatest(), which passes by what is null.


def _before(value: str, part: str) -> str:
    return value[: max(value.find(part), 0)]


def _after(value: str, part: str) -> str:
    return value.partition(part)[2] if part else value


def _strings() -> tuple[ValueFunction, ...]:
    return (
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
        ValueFunction("upper-case", (_STRING,), _STRING, str.upper, "upper({0})", "in upper case"),
        ValueFunction("lower-case", (_STRING,), _STRING, str.lower, "lower({0})", "in lower case"),
        ValueFunction(
            "string-length",
            (_STRING,),
            _INTEGER,
            lambda value: Decimal(len(value)),
            "CAST(length({0}) AS DECIMAL(24, 12))",
            "how many characters it has",
        ),
    )


def _conditions() -> tuple[ValueFunction, ...]:
    return (
        ValueFunction(
            "contains",
            (_STRING, _STRING),
            _BOOLEAN,
            operator.contains,
            "coalesce(contains({0}, {1}), FALSE)",
            "whether the second string stands in the first",
        ),
        ValueFunction(
            "starts-with",
            (_STRING, _STRING),
            _BOOLEAN,
            str.startswith,
            f"coalesce({OPERATORS['starts-with'].sql.format(left='{0}', right='{1}')}, FALSE)",
            "whether the first string starts with the second",
        ),
        ValueFunction(
            "ends-with",
            (_STRING, _STRING),
            _BOOLEAN,
            str.endswith,
            "coalesce(ends_with({0}, {1}), FALSE)",
            "whether the first string ends with the second",
            spark="coalesce(endswith({0}, {1}), FALSE)",
        ),
        ValueFunction(
            "exists",
            (Type.ANY,),
            _BOOLEAN,
            lambda value: value is not None,
            "({0} IS NOT NULL)",
            "whether there is a value",
            is_strict=False,
            propagates=True,
        ),
        ValueFunction("not", (_BOOLEAN,), _BOOLEAN, operator.not_, "(NOT {0})", "whether the condition does not hold"),
        ValueFunction(
            "and",
            (_BOOLEAN, _BOOLEAN),
            _BOOLEAN,
            operator.and_,
            "({0} AND {1})",
            "whether all conditions hold",
            xquery="{0} and {1}",
            repeats=True,
        ),
        ValueFunction(
            "or",
            (_BOOLEAN, _BOOLEAN),
            _BOOLEAN,
            operator.or_,
            "({0} OR {1})",
            "whether some condition holds",
            xquery="{0} or {1}",
            repeats=True,
        ),
        ValueFunction(
            "if",
            (_BOOLEAN, Type.ANY),
            Type.ANY,
            lambda condition, value: value if condition else None,
            "CASE WHEN {0} THEN {1} END",
            "the value where the condition holds, else none",
            xquery="if ({0}) then {1} else ()",
            is_strict=False,
            is_total=False,
        ),
        ValueFunction(
            "if",
            (_BOOLEAN, Type.ANY, Type.ANY),
            Type.ANY,
            lambda condition, value, other: value if condition else other,
            "CASE WHEN {0} THEN {1} ELSE {2} END",
            "the first value where the condition holds, else the second",
            xquery="if ({0}) then {1} else {2}",
            is_strict=False,
        ),
    )


_NOT_A_NUMBER: Final = {
    "=": " AND NOT isnan({0})",
    "!=": " OR isnan({0})",
    "<": " AND NOT isnan({1})",
    "<=": " AND NOT isnan({1})",
    ">": " AND NOT isnan({0})",
    ">=": " AND NOT isnan({0})",
}
"""What is to be added where SQL takes ``NaN`` for a number greater than all others, and equal to itself."""


def _comparisons() -> tuple[ValueFunction, ...]:
    return tuple(
        ValueFunction(
            name,
            (kind, kind),
            _BOOLEAN,
            each.holds,
            f"coalesce({each.sql.format(left='{0}', right='{1}')}"
            f"{_NOT_A_NUMBER[name] if kind is Type.DOUBLE else ''}, FALSE)",
            "compared as numbers where one side is a number, else as strings, by codepoints",
            xquery=f"{{0}} {name} {{1}}",
            propagates=True,
        )
        for name, each in OPERATORS.items()
        if not each.is_function
        for kind in (_STRING, Type.DECIMAL, Type.DOUBLE)
    )


def _casts() -> tuple[ValueFunction, ...]:
    return (
        ValueFunction(
            "xs:decimal",
            (Type.DECIMAL,),
            Type.DECIMAL,
            lambda value: value,
            "{0}",
            "the decimal that the string stands for, if it does",
            xquery="{0}",
            propagates=True,
        ),
        ValueFunction(
            "xs:integer",
            (Type.DECIMAL,),
            _INTEGER,
            lambda value: bounded(Decimal(int(value))),
            "CAST(CASE WHEN {0} < 0 THEN -floor(-{0}) ELSE floor({0}) END AS DECIMAL(24, 12))",
            "the decimal without what stands after its point",
            propagates=True,
        ),
        ValueFunction(
            "xs:integer",
            (_INTEGER,),
            _INTEGER,
            lambda value: value,
            "{0}",
            "the integer that the string stands for, if it does",
            xquery="{0}",
            propagates=True,
        ),
    )


def _by_name(entries: tuple[ValueFunction, ...]) -> dict[str, tuple[ValueFunction, ...]]:
    names = dict.fromkeys(entry.name for entry in entries)
    return {name: tuple(entry for entry in entries if entry.name == name) for name in names}


def _all() -> tuple[ValueFunction, ...]:
    return (*_strings(), *_conditions(), *_comparisons(), *_casts())


VALUE_FUNCTIONS: Final[Mapping[str, tuple[ValueFunction, ...]]] = _by_name(_all())
"""The forms of all functions by their names in XPath."""

SIGNS: Final = frozenset(name for name, each in OPERATORS.items() if not each.is_function)


def form_of(name: str, types: tuple[Type, ...]) -> ValueFunction | None:
    """The form of a function for arguments of these types; ``None`` where no form has so many.

    Numbers are compared with each other as decimals, and with anything else as doubles; other values as strings. Of
    other functions it is the first form that takes the arguments as they are, else the last.
    """
    forms = [form for form in VALUE_FUNCTIONS.get(name, ()) if form.takes(len(types))]
    if not forms:
        return None
    if name in SIGNS:
        kind = compared_type(types)
        return next((form for form in forms if form.parameters[0] is kind), forms[-1])
    as_they_are = (form for form in forms if all(fits(form.parameter(place), one) for place, one in enumerate(types)))
    return next(as_they_are, forms[-1])


def compared_type(types: tuple[Type, ...]) -> Type:
    """The type as which values of two types are compared."""
    if all(one in (Type.DECIMAL, Type.INTEGER) for one in types):
        return Type.DECIMAL
    if any(one.is_numeric for one in types):
        return Type.DOUBLE
    return next((one for one in types if one is not _STRING), _STRING)


def fits(parameter: Type, argument: Type) -> bool:
    """Whether a parameter takes a value of a type as it is."""
    return parameter in (argument, Type.ANY) or (parameter is Type.DECIMAL and argument is Type.INTEGER)

"""Conditions: comparisons, tests of strings, and the choice between two values."""

from __future__ import annotations

import operator
from typing import Final

from heptox.pattern.operators import OPERATORS
from heptox.pattern.value_patterns import compiled
from heptox.pattern.value_types import Type, ValueFunction

_STRING: Final = Type.STRING
_BOOLEAN: Final = Type.BOOLEAN


_TESTS: Final = (
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
        "matches",
        (_STRING, Type.PATTERN),
        _BOOLEAN,
        lambda value, pattern: compiled(pattern).search(value) is not None,
        "coalesce(regexp_matches({0}, {1}), FALSE)",
        "whether the regular expression finds something in the string",
        spark="coalesce(regexp_like({0}, {1}), FALSE)",
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
    "!=": " OR (isnan({0}) AND {1} IS NOT NULL)",
    "<": " AND NOT isnan({1})",
    "<=": " AND NOT isnan({1})",
    ">": " AND NOT isnan({0})",
    ">=": " AND NOT isnan({0})",
}
"""What is to be added where SQL takes ``NaN`` for a number greater than all others, and equal to itself."""


_COMPARISONS: Final = tuple(
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

CONDITIONS: Final = (*_TESTS, *_COMPARISONS)

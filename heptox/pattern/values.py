"""How XQuery compares values: untyped text with numbers as doubles, with other text by codepoints."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final, TypeAlias

from heptox.pattern.model import Number, Operator, Text

Numeric: TypeAlias = Decimal | float
"""``xs:integer`` and ``xs:decimal`` as ``Decimal``, ``xs:double`` as ``float``."""

COMPARE: Final[Mapping[Operator, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
"""What each operator means for two values of one kind."""

_FLIPPED: Final[Mapping[Operator, Operator]] = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_DOUBLE: Final = re.compile(
    r"[ \t\n\r]*(?:([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|([+-]?INF)|NaN)[ \t\n\r]*"
)


def flipped(comparison: Operator) -> Operator:
    """The operator that says the same with its sides exchanged."""
    return _FLIPPED[comparison]


def double(value: str) -> float | None:
    """The ``xs:double`` that an untyped value stands for; ``None`` where it stands for none.

    >>> double(" 1e3 "), double("1_000"), double("INF")
    (1000.0, None, inf)
    """
    found = _DOUBLE.fullmatch(value)
    if not found:
        return None
    number, infinity = found.groups()
    return float(number) if number else float(infinity.lower()) if infinity else math.nan


def literal(lexical: str) -> Numeric:
    """The value of a numeric literal: ``xs:double`` with an exponent, else exact."""
    return float(lexical) if "e" in lexical.lower() else Decimal(lexical)


def holds(left: str, comparison: Operator, right: Text | Number) -> bool:
    """Whether an untyped value compares so with a literal; a value that is no number, compared with one, does not.

    >>> holds("12", ">", Number("5")), holds("12", ">", Text("5")), holds("twelve", "!=", Number("5"))
    (True, False, False)
    """
    if isinstance(right, Text):
        return COMPARE[comparison](left, right.value)
    value = double(left)
    return value is not None and COMPARE[comparison](value, float(literal(right.lexical)))

"""How XQuery compares values: untyped text with numbers as doubles, with other text by codepoints."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Final, TypeAlias

from heptox.pattern.model import Number, Text
from heptox.pattern.operators import OPERATORS, Operator

Numeric: TypeAlias = Decimal | float
"""``xs:integer`` and ``xs:decimal`` as ``Decimal``, ``xs:double`` as ``float``."""

_DOUBLE: Final = re.compile(
    r"[ \t\n\r]*(?:([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|([+-]?INF)|NaN)[ \t\n\r]*"
)


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
        return OPERATORS[comparison].holds(left, right.value)
    value = double(left)
    return value is not None and OPERATORS[comparison].holds(value, float(literal(right.lexical)))

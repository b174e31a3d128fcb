"""Functions of decimals, which are exact or have no value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import nan
from typing import Final

from heptox.pattern.value_types import CASTS, DIGITS, SQL_DECIMAL, Type, ValueFunction, bounded
from heptox.pattern.values import double

_STRING: Final = Type.STRING

_CASTS: Final = (
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
        Type.INTEGER,
        lambda value: bounded(Decimal(int(value))),
        f"CAST(CASE WHEN {{0}} < 0 THEN -floor(-{{0}}) ELSE floor({{0}}) END AS {SQL_DECIMAL})",
        "the decimal without what stands after its point",
        propagates=True,
    ),
    ValueFunction(
        "xs:integer",
        (Type.INTEGER,),
        Type.INTEGER,
        lambda value: value,
        "{0}",
        "the integer that the string stands for, if it does",
        xquery="{0}",
        propagates=True,
    ),
)

_FACTOR: Final = "DECIMAL(24, 12)"
_FACTOR_LIMIT: Final = Decimal(10) ** 12
_EXACT: Final = Context(prec=100)
_DOUBLED_UNIT: Final = "({1} + {1})"


def _product(left: Decimal, right: Decimal) -> Decimal | None:
    are_factors = left.copy_abs() < _FACTOR_LIMIT and right.copy_abs() < _FACTOR_LIMIT
    return bounded(_EXACT.multiply(left, right), _FACTOR_LIMIT) if are_factors else None


def _rounded(value: Decimal, unit: Decimal) -> Decimal | None:
    """The multiple of a unit that is nearest; of two the greater one."""
    doubled = _EXACT.divide(_EXACT.add(_EXACT.add(value, value), unit), unit + unit)
    return bounded(_EXACT.multiply(doubled.to_integral_value(ROUND_FLOOR), unit))


def _quotient(left: Decimal, right: Decimal) -> Decimal | None:
    if not right or left.copy_abs() >= _FACTOR_LIMIT or right.copy_abs() >= _FACTOR_LIMIT:
        return None
    top, bottom = (int(_EXACT.scaleb(each, DIGITS)) for each in (left, right))
    top, bottom = (-top, -bottom) if bottom < 0 else (top, bottom)
    rounded = (2 * top * 10**DIGITS + bottom) // (2 * bottom)
    return bounded(_EXACT.scaleb(Decimal(rounded), -DIGITS), _FACTOR_LIMIT)


def _both(duckdb: str, spark: str) -> tuple[str, str]:
    """A template in which both arguments have names, for they are long, and each engine's own form of it."""
    factors = [f"TRY_CAST({{{place}}} AS {_FACTOR})" for place in range(2)]
    return (
        f"list_transform([{{'a': {factors[0]}, 'b': {factors[1]}}}], lambda operands: {duckdb})[1]",
        f"transform(array(struct({factors[0]} AS a, {factors[1]} AS b)), operands -> {spark})[0]",
    )


# The one factor's digits before and after the point are multiplied one after the other, so that 38 digits are enough.
_FRACTION: Final = "CAST(operands.b % 1 AS DECIMAL(12, 12))"
_WHOLE: Final = f"CAST(operands.b - {_FRACTION} AS DECIMAL(12, 0))"
_PRODUCT: Final = (
    f"CASE WHEN CAST(operands.a * {_FRACTION} AS {_FACTOR}) = operands.a * {_FRACTION}"
    f" THEN TRY_CAST(operands.a * {_WHOLE} + CAST(operands.a * {_FRACTION} AS {_FACTOR}) AS {_FACTOR}) END"
)
_PRODUCTS: Final = _both(_PRODUCT, _PRODUCT)

# A quotient of integers, which a remainder makes exact.
_SIGNED: Final = "CASE WHEN operands.b < 0 THEN -operands.{0} ELSE operands.{0} END"
_TOP: Final = f"CAST(({_SIGNED.format('a')}) * CAST('1000000000000' AS DECIMAL(13, 0)) AS DECIMAL(24, 0))"
_BOTTOM: Final = f"CAST(({_SIGNED.format('b')}) * CAST('1000000000000' AS DECIMAL(13, 0)) AS DECIMAL(24, 0))"
_DIVIDEND: Final = f"({_TOP} * CAST('2000000000000' AS DECIMAL(13, 0)) + {_BOTTOM})"
_DIVISOR: Final = f"({_BOTTOM} + {_BOTTOM})"
_EVEN: Final = f"({_DIVIDEND} - (({_DIVIDEND} % {_DIVISOR}) + {_DIVISOR}) % {_DIVISOR})"


def _quotients() -> tuple[str, str]:
    least = "CAST('0.000000000001' AS DECIMAL(12, 12))"
    form = f"CASE WHEN operands.b <> 0 THEN TRY_CAST({{0}} * {least} AS {SQL_DECIMAL}) END"
    whole = "TRY_CAST({0} AS DECIMAL(24, 0))"
    return _both(
        form.format(whole.format(f"CAST({_EVEN} AS HUGEINT) // CAST({_DIVISOR} AS HUGEINT)")),
        form.format(whole.format(f"try_divide({_EVEN}, {_DIVISOR})")),
    )


_QUOTIENTS: Final = _quotients()
_TWICE: Final = "({0} + {0} + {1})"


def _arithmetic(
    name: str, meaning: Callable[..., Decimal | None], duckdb: str, summary: str, spark: str | None = None
) -> Iterator[ValueFunction]:
    """The forms of an operator that gives an integer for integers."""
    for kind in (Type.INTEGER, Type.DECIMAL):
        written = f"{{0}} {name} {{1}}"
        yield ValueFunction(
            name, (kind, kind), kind, meaning, duckdb, summary, written, is_total=False, propagates=True, spark=spark
        )


_ARITHMETIC: Final = (
    *_arithmetic(
        "+",
        lambda left, right: bounded(_EXACT.add(left, right)),
        f"TRY_CAST({{0}} + {{1}} AS {SQL_DECIMAL})",
        "the sum",
    ),
    *_arithmetic(
        "-",
        lambda left, right: bounded(_EXACT.subtract(left, right)),
        f"TRY_CAST({{0}} - {{1}} AS {SQL_DECIMAL})",
        "the difference",
    ),
    *_arithmetic("*", _product, _PRODUCTS[0], "the product", _PRODUCTS[1]),
    ValueFunction(
        "div",
        (Type.DECIMAL, Type.DIVISOR),
        Type.DECIMAL,
        _product,
        _PRODUCTS[0],
        "the quotient by a number whose reciprocal is a decimal, such as 100 or 4",
        xquery="{0} div {1}",
        is_total=False,
        propagates=True,
        spark=_PRODUCTS[1],
    ),
    ValueFunction(
        "div",
        (Type.DECIMAL, Type.DECIMAL),
        Type.DECIMAL,
        _quotient,
        _QUOTIENTS[0],
        "the quotient, rounded to 12 digits after the point; none by 0, nor with over 12 digits before the point",
        xquery="round({0} div {1}[. != 0], 12)",
        is_total=False,
        propagates=True,
        spark=_QUOTIENTS[1],
    ),
    ValueFunction(
        "round",
        (Type.DECIMAL,),
        Type.DECIMAL,
        lambda value: _rounded(value, Decimal(1)),
        f"TRY_CAST(floor({{0}} + CAST('0.5' AS DECIMAL(12, 12))) AS {SQL_DECIMAL})",
        "the nearest whole number, of two the greater one",
        is_total=False,
        propagates=True,
    ),
    ValueFunction(
        "round",
        (Type.DECIMAL, Type.DIGITS),
        Type.DECIMAL,
        _rounded,
        f"TRY_CAST(({_TWICE} - (({_TWICE} % {_DOUBLED_UNIT}) + {_DOUBLED_UNIT}) % {_DOUBLED_UNIT})"
        f" * CAST('0.5' AS DECIMAL(1, 1)) AS {SQL_DECIMAL})",
        "rounded to so many digits after the point, from 0 to 12",
        is_total=False,
        propagates=True,
    ),
    ValueFunction(
        "abs", (Type.DECIMAL,), Type.DECIMAL, Decimal.copy_abs, "abs({0})", "without its sign", propagates=True
    ),
    ValueFunction(
        "floor",
        (Type.DECIMAL,),
        Type.DECIMAL,
        lambda value: bounded(value.to_integral_value(ROUND_FLOOR)),
        f"TRY_CAST(floor({{0}}) AS {SQL_DECIMAL})",
        "the greatest whole number that is not greater",
        is_total=False,
        propagates=True,
    ),
    ValueFunction(
        "ceiling",
        (Type.DECIMAL,),
        Type.DECIMAL,
        lambda value: bounded(value.to_integral_value(ROUND_CEILING)),
        f"TRY_CAST(ceil({{0}}) AS {SQL_DECIMAL})",
        "the least whole number that is not less",
        is_total=False,
        propagates=True,
    ),
    ValueFunction(
        "number",
        (_STRING,),
        Type.DOUBLE,
        lambda value: nan if (found := double(value)) is None else found,
        f"coalesce({CASTS[Type.DOUBLE].template}, CASE WHEN {{0}} IS NOT NULL THEN CAST('NaN' AS DOUBLE) END)",
        "the number to compare that the string stands for, else one that equals none",
    ),
)

NUMBERS: Final = (*_CASTS, *_ARITHMETIC)

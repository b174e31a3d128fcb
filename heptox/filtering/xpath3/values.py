"""Items of XPath 3.1: what they are as text, as truth values and as numbers, how they compare, and how they are cast.

Dates, times and durations are those of elementpath; nothing here depends on the locale or the time zone of the
machine: strings are compared by their code points, and a date without a time zone is in UTC.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from copy import copy
from decimal import ROUND_HALF_DOWN, Context, Decimal
from functools import partial
from typing import Any, Final, TypeAlias

from elementpath.datatypes import (
    AbstractDateTime,
    Date,
    DateTime,
    DayTimeDuration,
    Duration,
    Time,
    Timezone,
    YearMonthDuration,
)
from elementpath.xpath_nodes import DocumentNode, ElementNode, XPathNode

Items: TypeAlias = list[Any]
"""A sequence: nodes of elementpath, values of Python, :class:`Untyped`, dates and durations, and functions."""


class EvaluationError(Exception):
    """An expression has no value: a dynamic error, or what is not evaluated."""


class UnsupportedError(EvaluationError):
    """A value is asked for that is not known here, whatever the document."""


class Untyped(str):
    """The value of a node: text without a type."""

    __slots__ = ()


# -- nodes and text -----------------------------------------------------------------------------------------------


SPENDING: Final[ContextVar[Callable[[int], None]]] = ContextVar("SPENDING", default=lambda _: None)
"""What counts the steps of the evaluation that goes on."""

_CHARACTERS_OF_STEP: Final = 64


def node_text(node: XPathNode) -> str:
    """The string value of a node."""
    if isinstance(node, ElementNode):
        text = "".join(node.value.itertext())  # type: ignore[attr-defined]  # an element of lxml
        SPENDING.get()(len(text) // _CHARACTERS_OF_STEP)
        return text
    if isinstance(node, DocumentNode):
        return "".join(map(node_text, node.children))
    return str(node.value)


def atomized(items: Iterable[Any]) -> Items:
    """The values of items: what nodes hold is untyped."""
    return [Untyped(node_text(item)) if isinstance(item, XPathNode) else _atomic(item) for item in items]


def _atomic(item: Any) -> Any:
    if not isinstance(item, _ATOMIC):
        raise EvaluationError("a function has no value")
    return item


def text_of(item: Any) -> str:
    """An item as ``string()`` writes it.

    >>> [text_of(each) for each in (True, 1e7, 0.25, Decimal("1.50"), -0.0, 1e-7)]
    ['true', '1.0E7', '0.25', '1.5', '-0', '1.0E-7']
    """
    match item:
        case XPathNode():
            return node_text(item)
        case str():
            return str(item)
        case bool():
            return "true" if item else "false"
        case int():
            return str(item)
        case Decimal():
            return _plain(item)
        case float():
            return _double_text(item)
        case AbstractDateTime() | Duration():
            return str(item)
        case _:
            raise EvaluationError("a function has no text")


def _plain(value: Decimal) -> str:
    text = format(value, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in {"-0", ""} else text


def _double_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "INF" if value > 0 else "-INF"
    if not value:
        return "-0" if math.copysign(1, value) < 0 else "0"
    exact = Decimal(repr(value))
    if 1e-6 <= abs(value) < 1e6:
        return _plain(exact)
    sign, digits, exponent = exact.normalize().as_tuple()
    first, *others = map(str, digits)
    return f"{'-' if sign else ''}{first}.{''.join(others) or '0'}E{int(exponent) + len(digits) - 1}"


def truth(items: Items) -> bool:
    """The effective boolean value."""
    if not items:
        return False
    first = items[0]
    if isinstance(first, XPathNode):
        return True
    if len(items) > 1:
        raise EvaluationError("several values have no truth value")
    if isinstance(first, float) and math.isnan(first):
        return False
    if isinstance(first, str | int | float | Decimal):
        return bool(first)
    raise EvaluationError("a value of its type has no truth value")


def single(items: Items) -> Any:
    """The one value of items, ``None`` where there is none."""
    values = atomized(items)
    if len(values) > 1:
        raise EvaluationError("there are several values where one is needed")
    return values[0] if values else None


# -- types --------------------------------------------------------------------------------------------------------

_ATOMIC: Final = (str, bool, int, float, Decimal, AbstractDateTime, Duration)
Number: TypeAlias = int | float | Decimal


def is_number(value: object) -> bool:
    """Whether a value is a number."""
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not isinstance(value, Untyped)


TYPES: Final[dict[str, Callable[[Any], bool]]] = {
    "anyAtomicType": lambda value: isinstance(value, _ATOMIC),
    "untypedAtomic": lambda value: isinstance(value, Untyped),
    "string": _is_text,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "decimal": lambda value: isinstance(value, int | Decimal) and not isinstance(value, bool),
    "double": lambda value: isinstance(value, float),
    "date": lambda value: isinstance(value, Date),
    "dateTime": lambda value: isinstance(value, DateTime),
    "time": lambda value: isinstance(value, Time),
    "duration": lambda value: isinstance(value, Duration),
    "dayTimeDuration": lambda value: isinstance(value, DayTimeDuration),
    "yearMonthDuration": lambda value: isinstance(value, YearMonthDuration),
}
"""The atomic types, without the prefix ``xs``, and which values are of them."""

_BLANK: Final = " \t\n\r"
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_DECIMAL: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)")
_DOUBLE: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_EARLY: Final = re.compile(r"-|0000")
_NAMED: Final = {"INF": math.inf, "+INF": math.inf, "-INF": -math.inf, "NaN": math.nan}
_MOST_DIGITS: Final = 1_000
CALCULATING: Final = Context(prec=3 * _MOST_DIGITS)
"""How decimal numbers are calculated with: exactly."""
_MOST: Final = 10**_MOST_DIGITS
_FRACTION: Final = 18


def to_double(value: Any) -> float:
    """A value cast to ``xs:double``."""
    if isinstance(value, str):
        text = value.strip(_BLANK)
        if text in _NAMED:
            return _NAMED[text]
        if _DOUBLE.fullmatch(text):
            return float(text)
        raise EvaluationError(f"{_shown(value)} is no number")
    if isinstance(value, int | float | Decimal):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    raise EvaluationError("a value of its type is no number")


def _to_decimal(value: Any) -> Decimal:
    if isinstance(value, str):
        text = value.strip(_BLANK)
        if _DECIMAL.fullmatch(text):
            return Decimal(text)
        raise EvaluationError(f"{_shown(value)} is no decimal number")
    if isinstance(value, float) and not math.isfinite(value):
        raise EvaluationError(f"{_double_text(value)} is no decimal number")
    if isinstance(value, int | float | Decimal):
        return Decimal(value)
    raise EvaluationError("a value of its type is no decimal number")


def _to_integer(value: Any) -> int:
    if isinstance(value, str):
        text = value.strip(_BLANK)
        if _INTEGER.fullmatch(text) and len(text) < _MOST_DIGITS:
            return int(text)
        raise EvaluationError(f"{_shown(value)} is no integer")
    return int(_to_decimal(value))


def _to_boolean(value: Any) -> bool:
    if isinstance(value, str):
        found = {"true": True, "1": True, "false": False, "0": False}.get(value.strip(_BLANK))
        if found is None:
            raise EvaluationError(f"{_shown(value)} is no truth value")
        return found
    if isinstance(value, int | float | Decimal):
        return bool(value) and value == value  # NaN is false
    raise EvaluationError("a value of its type is no truth value")


def _to_date(kind: Any, value: Any) -> Any:
    if type(value) is kind:
        return value
    if not isinstance(value, str):
        raise UnsupportedError(f"a value of another type is not cast to xs:{_name(kind)}")
    text = value.strip(_BLANK)
    if issubclass(kind, Date | DateTime) and _EARLY.match(text):
        raise UnsupportedError("a date before the year 1 is not known")
    try:
        return kind.fromstring(text)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        raise EvaluationError(f"{_shown(value)} is no xs:{_name(kind)}") from None


def _name(kind: type) -> str:
    return kind.__name__[0].lower() + kind.__name__[1:]


def _shown(text: str) -> str:
    return repr(str(text[:40]))


CASTS: Final[dict[str, Callable[[Any], Any]]] = {
    "string": text_of,
    "untypedAtomic": lambda value: Untyped(text_of(value)),
    "boolean": _to_boolean,
    "integer": _to_integer,
    "decimal": _to_decimal,
    "double": to_double,
    "date": partial(_to_date, Date),
    "dateTime": partial(_to_date, DateTime),
    "time": partial(_to_date, Time),
    "dayTimeDuration": partial(_to_date, DayTimeDuration),
    "yearMonthDuration": partial(_to_date, YearMonthDuration),
}
"""The types that values are cast to."""


def number_or_nan(value: Any) -> float:
    """As the function ``number`` has it."""
    try:
        return math.nan if value is None else to_double(value)
    except EvaluationError:
        return math.nan


# -- comparisons --------------------------------------------------------------------------------------------------

_OPERATORS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
GENERAL: Final = {"=": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
"""The operators that compare sequences, and those that compare values."""


def compare(symbol: str, one: Any, other: Any) -> bool:
    """Two values compared by an operator such as ``eq``; untyped ones are strings."""
    compared = _OPERATORS[symbol]
    if isinstance(one, str) and isinstance(other, str):
        return compared(str(one), str(other))
    if is_number(one) and is_number(other):
        if isinstance(one, float) or isinstance(other, float):
            return compared(to_double(one), to_double(other))
        return compared(one, other)
    if isinstance(one, bool) and isinstance(other, bool):
        return compared(one, other)
    for kind in (Date, DateTime, Time, DayTimeDuration, YearMonthDuration):
        if isinstance(one, kind) and isinstance(other, kind):
            return bool(compared(_zoned(one), _zoned(other)))
    if isinstance(one, Duration) and isinstance(other, Duration):
        raise UnsupportedError("durations of different types are not compared")
    raise EvaluationError(f"{_kind(one)} and {_kind(other)} cannot be compared")


def compare_any(symbol: str, ones: Items, others: Items) -> bool:
    """Whether any of some values and any of others compare so; what is untyped takes the type of the other."""
    by = GENERAL[symbol]
    return any(_compare_general(by, one, other) for one in ones for other in others)


def _compare_general(symbol: str, one: Any, other: Any) -> bool:
    if isinstance(one, Untyped):
        one = _as_other(one, other)
    elif isinstance(other, Untyped):
        other = _as_other(other, one)
    return compare(symbol, one, other)


def _as_other(value: Untyped, other: Any) -> Any:
    if isinstance(other, str):
        return value
    if is_number(other):
        return to_double(value)
    for name in ("boolean", "date", "dateTime", "time", "dayTimeDuration", "yearMonthDuration"):
        if TYPES[name](other):
            return CASTS[name](value)
    raise EvaluationError(f"text and {_kind(other)} cannot be compared")


def _kind(value: Any) -> str:
    names = [name for name, is_of in TYPES.items() if name not in {"anyAtomicType", "duration"} and is_of(value)]
    return f"xs:{names[0]}" if names else "a function"


def type_name(value: Any) -> str:
    """The type of a value, without its prefix; what is untyped is a string."""
    return "string" if isinstance(value, str) else _kind(value).removeprefix("xs:")


def _zoned(value: Any) -> Any:
    if isinstance(value, AbstractDateTime) and value.tzinfo is None:
        value = copy(value)
        value.tzinfo = Timezone.fromstring("Z")
    return value


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal to ``distinct-values``: those of no common type are not, and NaN is NaN."""
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one) and math.isnan(other):
        return True
    try:
        return compare("eq", one, other)
    except UnsupportedError:
        raise
    except EvaluationError:
        return False


# -- arithmetic ---------------------------------------------------------------------------------------------------


def calculate(symbol: str, one: Any, other: Any) -> Any:
    """Two values put together by an arithmetic operator; what is untyped is ``xs:double``."""
    one, other = (to_double(each) if isinstance(each, Untyped) else each for each in (one, other))
    if not (is_number(one) and is_number(other)):
        return _calculate_time(symbol, one, other)
    if isinstance(one, float) or isinstance(other, float):
        return _DOUBLES[symbol](to_double(one), to_double(other))
    if symbol in {"div", "idiv", "mod"} and not other:
        raise EvaluationError("a number is divided by zero")
    found = _EXACT[symbol](one, other)
    if abs(found) > _MOST or (isinstance(found, Decimal) and int(found.as_tuple().exponent) < -_MOST_DIGITS):
        raise EvaluationError(f"a number has more than {_MOST_DIGITS} digits")
    return found


def _divide_exact(number: Any, divisor: Any) -> Decimal:
    one, other = Decimal(number), Decimal(divisor)
    places = max(_FRACTION, other.adjusted(), *(-int(each.as_tuple().exponent) for each in (one, other)))
    return (one / other).quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_DOWN)


def _mod_exact(one: Any, other: Any) -> Any:
    found = Decimal(one) % Decimal(other)  # its sign is that of the first
    return found if isinstance(one, Decimal) or isinstance(other, Decimal) else int(found)


def _divide_doubles(one: float, other: float) -> float:
    if other:
        return one / other
    if not one or math.isnan(one) or math.isnan(other):
        return math.nan
    return math.copysign(math.inf, math.copysign(1, one) * math.copysign(1, other))


def _divide_doubles_whole(one: float, other: float) -> int:
    found = _divide_doubles(one, other)
    if not other or not math.isfinite(one) or not math.isfinite(found):
        raise EvaluationError("a number cannot be divided so")
    return int(found)


def _mod_doubles(one: float, other: float) -> float:
    if not other or math.isinf(one):
        return math.nan
    return math.fmod(one, other)


_EXACT: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "div": _divide_exact,
    "idiv": lambda one, other: int(Decimal(one) // Decimal(other)),
    "mod": _mod_exact,
}
_DOUBLES: Final[dict[str, Callable[[float, float], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "div": _divide_doubles,
    "idiv": _divide_doubles_whole,
    "mod": _mod_doubles,
}


def _calculate_time(symbol: str, one: Any, other: Any) -> Any:
    raise UnsupportedError(f"{_kind(one)} {symbol} {_kind(other)} is not calculated")

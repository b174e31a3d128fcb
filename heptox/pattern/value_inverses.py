"""Inverses of function terms that are known without being declared (``semantics.md`` sections 2 and 8)."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import Final

from heptox.pattern.value_dates import padded_component
from heptox.pattern.value_expression import Call, Constant, Leaf, Lookup, ValueExpression, leaf_paths
from heptox.pattern.value_meaning import evaluate_expression, known_form
from heptox.pattern.value_types import CASTS, Type, reciprocal
from heptox.schema import Path

VALUE: Final = Leaf(())
"""The value of a function term, in its inverse: ``.``, as the inverse of an arrow has it."""


def inverse(expression: ValueExpression, of: Path) -> ValueExpression | None:
    """The leaf as an expression over the value, :data:`VALUE`; ``None`` where no inverse is known.

    It has no value where the form of the value says that no leaf gives it. A decimal comes back as XPath writes it,
    however the leaf had it: :func:`is_one_to_one` tells.

    >>> inverse(Call("+", (Leaf(("price",)), Constant("5"))), ("price",))
    Call(function='-', arguments=(Leaf(path=()), Constant(value='5')))
    """
    return _leaf(expression, of, VALUE) if leaf_paths(expression) == (of,) else None


def is_one_to_one(expression: ValueExpression, of: Path) -> bool:
    """Whether different strings at a leaf give different values, and the inverse gives back the string itself.

    A decimal may be written in several ways: ``xs:decimal(price)`` is 2 for ``2`` and ``2.0``.
    """
    if inverse(expression, of) is None:
        return False
    match expression:
        case Call("concat", arguments):
            return all(isinstance(each, Constant) or is_one_to_one(each, of) for each in arguments)
        case Call("translate", (argument, _, _)) | Lookup(argument):
            return is_one_to_one(argument, of)
    return isinstance(expression, Leaf)


def preimage(expression: ValueExpression, of: Path, value: str) -> str | None:
    """What the leaf is where the expression, whose inverse is known, has a value; ``None`` where it never has it.

    >>> price = Call("*", (Leaf(("price",)), Constant("3")))
    >>> preimage(price, ("price",), "6"), preimage(price, ("price",), "1"), preimage(price, ("price",), "6.0")
    ('2', None, None)
    """
    back = inverse(expression, of)
    if back is None:
        raise LookupError("no inverse is known")
    found = evaluate_expression(back, lambda _: value, lambda _: ())
    if found is None or evaluate_expression(expression, lambda _: found, lambda _: ()) != value:
        return None
    return found


def _leaf(expression: ValueExpression, of: Path, value: ValueExpression) -> ValueExpression | None:
    """The leaf, where the expression has the value."""
    match expression:
        case Leaf(path) if path == of:
            return value
        case Call("concat", arguments):
            return _inside(arguments, of, value)
        case Call("+", (Constant() as number, argument)) | Call("+", (argument, Constant() as number)):
            return _leaf(argument, of, Call("-", (value, number)))
        case Call("-", (Constant() as number, argument)):
            return _leaf(argument, of, Call("-", (number, value)))
        case Call("-", (argument, Constant() as number)):
            return _leaf(argument, of, Call("+", (value, number)))
        case Call("*", (Constant(factor), argument)) | Call("*", (argument, Constant(factor))):
            return None if _is_zero(factor) else _leaf(argument, of, _divided(value, factor))
        case Call("div", (argument, Constant(divisor) as number)) if reciprocal(divisor) is not None:
            return _leaf(argument, of, Call("*", (value, number)))
        case Call("xs:decimal" | "xs:integer" as name, (argument,)):
            is_cast = name == "xs:decimal" or known_form(expression).parameters == (Type.INTEGER,)
            return _leaf(argument, of, Call(name, (value,))) if is_cast else None
        case Call("format-date", (argument, Constant(picture))):
            found = _date(value, picture)
            return None if found is None else _leaf(argument, of, found)
        case Call("xs:date", (argument,)) if known_form(expression).parameters == (Type.DATE,):
            return _leaf(argument, of, Call("xs:date", (value,)))
        case Call("translate", (argument, Constant(before), Constant(after))) if _is_permutation(before, after):
            return _leaf(argument, of, Call("translate", (value, Constant(after), Constant(before))))
        case Lookup(argument, _, None) if (back := expression.turned(value)) is not None:
            return _leaf(argument, of, back)
    return None


def _inside(arguments: tuple[ValueExpression, ...], of: Path, value: ValueExpression) -> ValueExpression | None:
    """The leaf between the constants of a ``concat``."""
    places = [place for place, each in enumerate(arguments) if not isinstance(each, Constant)]
    if len(places) != 1:
        return None
    before, after = (
        "".join(each.value for each in some if isinstance(each, Constant))
        for some in (arguments[: places[0]], arguments[places[0] :])
    )
    length = Call("string-length", (value,))
    conditions = [
        *[Call("starts-with", (value, Constant(before)))] * bool(before),
        *[Call("ends-with", (value, Constant(after)))] * bool(after),
        *[Call(">=", (length, Call("xs:integer", (Constant(str(len(before + after))),))))] * bool(before and after),
    ]
    if not conditions:
        return _leaf(arguments[places[0]], of, value)
    start = Constant(str(len(before) + 1))
    count = Call("-", (length, Constant(str(len(before + after)))))
    part = Call("substring", (value, start, count) if after else (value, start))
    condition = conditions[0] if len(conditions) == 1 else Call("and", tuple(conditions))
    return _leaf(arguments[places[0]], of, Call("if", (condition, part)))


def _date(value: ValueExpression, picture: str) -> ValueExpression | None:
    """The date that a picture shows whole, each part once and with all its digits."""
    widths = {padded_component(part): width for part, width in (("Y", 4), ("M", 2), ("D", 2))}
    shown = re.findall(r"\[[^]]*\]|[^\[]", picture)
    if sorted(each for each in shown if len(each) > 1) != sorted(widths):
        return None
    ends = list(accumulate(widths.get(each, 1) for each in shown))
    year, month, day = (
        Call("substring", (value, Constant(str(ends[shown.index(each)] - width + 1)), Constant(str(width))))
        for each, width in widths.items()
    )
    found = Call("xs:date", (Call("concat", (year, Constant("-"), month, Constant("-"), day)),))
    return Call("if", (Call("=", (Call("format-date", (found, Constant(picture))), value)), found))


def _divided(value: ValueExpression, factor: str) -> ValueExpression:
    """The one decimal that gives the value when it is multiplied with a factor."""
    quotient = Call("div", (value, Constant(factor)))
    if reciprocal(factor) is not None:
        return quotient
    product = Call("*", (quotient, Constant(factor)))
    return Call("if", (Call("=", (product, Call("xs:decimal", (value,)))), quotient))


def _is_zero(number: str) -> bool:
    return not CASTS[Type.DECIMAL].read(number)


def _is_permutation(before: str, after: str) -> bool:
    """Whether each of some characters becomes one of them, and no two the same."""
    return len(set(before)) == len(before) and sorted(before) == sorted(after)

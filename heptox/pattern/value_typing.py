"""The types of function terms: which form of a function is meant, what is cast, and what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from heptox.errors import Fault, near_names
from heptox.pattern.value_dates import picture_faults
from heptox.pattern.value_expression import Call, Constant, Lookup, ValueExpression, parts
from heptox.pattern.value_functions import SIGNS, VALUE_FUNCTIONS, fits, form_of
from heptox.pattern.value_patterns import pattern_faults, replacement_faults
from heptox.pattern.value_types import CASTS, Type, ValueFunction, reciprocal


@lru_cache(maxsize=4096)
def result_type(expression: ValueExpression) -> Type:
    """The type of an expression before it becomes a string; an expression is one of strings where it is not known."""
    if not isinstance(expression, Call):
        return Type.STRING
    form = form_of_call(expression)
    if form is None:
        return Type.STRING
    if form.result is not Type.ANY:
        return form.result
    branches = {result_type(branch) for branch in expression.arguments[1:]}
    if len(branches) == 1:
        return branches.pop()
    return Type.DECIMAL if branches == {Type.DECIMAL, Type.INTEGER} else Type.STRING


@lru_cache(maxsize=4096)
def form_of_call(call: Call) -> ValueFunction | None:
    """The form of the function that is called; ``None`` where the table has none."""
    match call:
        case Call("div", (dividend, Constant(divisor))) if reciprocal(divisor) is not None:
            return form_of(call.function, (result_type(dividend), Type.DIVISOR))
        case Call("+" | "-" | "*", arguments):
            return form_of(call.function, tuple(map(_operand_type, arguments)))
    return form_of(call.function, tuple(map(result_type, call.arguments)))


def _operand_type(argument: ValueExpression) -> Type:
    is_integer = isinstance(argument, Constant) and CASTS[Type.INTEGER].read(argument.value) is not None
    return Type.INTEGER if is_integer else result_type(argument)


def argument_types(call: Call, form: ValueFunction) -> tuple[Type, ...]:
    """The type of each argument of a call when the function gets it."""
    if form.result is Type.ANY:  # both branches of a condition become what the condition gives
        return (Type.BOOLEAN, *[result_type(call)] * (len(call.arguments) - 1))
    return tuple(
        result_type(argument) if form.parameter(place) is Type.ANY else form.parameter(place)
        for place, argument in enumerate(call.arguments)
    )


def is_cast(argument: ValueExpression, wanted: Type) -> bool:
    """Whether an argument is a string that has to be cast to be of a type."""
    return wanted in CASTS and result_type(argument) is Type.STRING


# -- faults ------------------------------------------------------------------------------------------------------


def expression_faults(expression: ValueExpression) -> list[Fault]:
    """What is wrong with an expression by the table of functions: nothing, or faults without positions.

    >>> from heptox.pattern.value_expression import Leaf
    >>> [str(fault) for fault in expression_faults(Call("uppercase", (Leaf(("name",)),)))]
    ['HX4071 uppercase is no function that values can be computed by (did you mean upper-case?)']
    """
    calls = (part for part in parts(expression) if isinstance(part, Call))
    faults = [fault for call in calls for fault in _call_faults(call)]
    lookups = (part for part in parts(expression) if isinstance(part, Lookup))
    faults += [
        Fault("HX4073", f"lookup takes strings, not the type {result_type(inner).value}")
        for lookup in lookups
        for inner in (lookup.argument, lookup.other)
        if inner is not None and not _becomes(inner, Type.STRING)
    ]
    return faults


def _call_faults(call: Call) -> Iterator[Fault]:
    forms = VALUE_FUNCTIONS.get(call.function)
    if forms is None:
        near = near_names(call.function, VALUE_FUNCTIONS)
        hint = f"did you mean {' or '.join(near)}?" if near else "docs/functions.md has the table"
        yield Fault("HX4071", f"{call.function} is no function that values can be computed by", hint=hint)
        return
    form = form_of_call(call)
    if form is None:
        numbers = sorted({len(each.parameters) for each in forms})
        more = " or more" if any(each.repeats for each in forms) else ""
        wanted = " or ".join(map(str, numbers)) + more
        written = ", ".join(kind.value for kind in forms[-1].parameters)
        hint = f"write {call.function}({written})"
        yield Fault("HX4072", f"{call.function} takes {wanted} arguments, not {len(call.arguments)}", hint=hint)
        return
    if call.function in SIGNS and Type.BOOLEAN in map(result_type, call.arguments):
        yield Fault("HX4073", f"a condition cannot be compared by {call.function}", hint="use and, or, not")
        return
    for number, (argument, kind) in enumerate(zip(call.arguments, argument_types(call, form), strict=True), 1):
        yield from _argument_faults(call.function, number, argument, kind)
    yield from _pattern_faults(call)


def _argument_faults(function: str, number: int, argument: ValueExpression, wanted: Type) -> Iterator[Fault]:
    where = f"argument {number} of {function}"
    if isinstance(argument, Constant) and wanted in CASTS:
        if CASTS[wanted].read(argument.value) is None:
            yield Fault("HX4073", f'{where}, "{argument.value}", is no {wanted.value}')
    elif wanted.is_constant:
        if not isinstance(argument, Constant):
            yield Fault("HX4073", f"{where} is no constant", hint=f"a {wanted.value} is written in the expression")
    elif not _becomes(argument, wanted):
        yield Fault(
            "HX4073", f"{where} is of type {result_type(argument).value}, not {wanted.value}", hint=_HINTS.get(wanted)
        )


def _pattern_faults(call: Call) -> Iterator[Fault]:
    match call:
        case Call("replace", (_, Constant(pattern), Constant(replacement))):
            faults = replacement_faults(pattern, replacement)
        case Call("matches", (_, Constant(pattern))):
            faults = pattern_faults(pattern)
        case Call("format-date" | "format-dateTime" | "format-time" as name, (_, Constant(picture))):
            for fault in picture_faults(name, picture):
                message = f"{picture} is no picture that all engines read alike: {fault}"
                yield Fault("HX4074", message, hint="a picture is written as [Y0001]-[M01]-[D01] or [H01]:[m01]:[s01]")
            return
        case _:
            return
    for fault in faults:
        message = f"{pattern} is no regular expression that all engines read alike: {fault}"
        yield Fault(
            "HX4074", message, hint="they read characters, ., [a-z], \\d, \\s, (?:...), |, ^, $ and quantifiers"
        )


_HINTS: Final = {
    Type.INTEGER: "xs:integer(...) leaves out what stands after the point",
    Type.BOOLEAN: "a condition compares or tests values",
}


def _becomes(argument: ValueExpression, wanted: Type) -> bool:
    """Whether a value of the argument's type is one of the type that is wanted, or is cast to it."""
    given = result_type(argument)
    if fits(wanted, given):
        return True
    if wanted is Type.STRING:
        return given in CASTS and given is not Type.DOUBLE
    if wanted is Type.DOUBLE:
        return given in (Type.STRING, Type.DECIMAL, Type.INTEGER)
    return wanted in CASTS and given is Type.STRING

"""Which functions of the table queries call, and the types of values in a query.

XQuery raises a type error where a text stands for a number, or the other way round: a query that would always raise one
is refused when it is read.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from heptox.grammar.query import (
    Conditional,
    Expression,
    FunctionCall,
    NumberLiteral,
    NumberValue,
    Operand,
    StringLiteral,
    Switch,
)
from heptox.pattern import CASTS, SIGNS, VALUE_FUNCTIONS, Call, Constant, Type, ValueFunction, form_of

OPERATORS: Final = frozenset(
    name for name, forms in VALUE_FUNCTIONS.items() if forms[0].is_infix and forms[0].result is not Type.BOOLEAN
)
"""The functions that are written between their arguments, and compute."""
_CONDITIONS: Final = {"number", "exists", "not", "and", "or", "if", *SIGNS}
"""Those that queries say as conditions, and by ``if``."""
CALLED: Final = (frozenset(VALUE_FUNCTIONS) | {"string-join", "string"}) - OPERATORS - _CONDITIONS
"""The functions that are written as calls, and stand for values."""


def type_of(value: Operand | Expression) -> Type | None:
    """The type of the value that an expression gives, ``None`` for untyped ones."""
    match value:
        case FunctionCall("string-join" | "string") | StringLiteral() | Switch():
            return Type.STRING
        case FunctionCall("not"):
            return Type.BOOLEAN
        case FunctionCall(function, arguments):
            form = form_in_query(function, tuple(map(type_of, arguments)), arguments)
            return None if form is None else form.result
        case Conditional(_, inner, otherwise):
            types = {type_of(inner)} if otherwise is None else {type_of(inner), type_of(otherwise)}
            return next(iter(types)) if len(types) == 1 else common_type(types)
        case NumberLiteral(lexical):
            return Type.DOUBLE if "e" in lexical.lower() else Type.DECIMAL if "." in lexical else Type.INTEGER
        case NumberValue():
            return Type.DOUBLE
        case _:
            return None


def may_fail(call: FunctionCall) -> bool:
    """Whether XQuery raises an error for some values of a call, which is of a cast of texts; here it has no value."""
    return (
        call.function.startswith("xs:")
        and type_of(call.arguments[0]) in (None, Type.STRING)
        and not isinstance(call.arguments[0], StringLiteral)
    )


def common_type(types: Collection[Type | None]) -> Type | None:
    """The type of what has one of several types; ``ANY`` where they are not used alike."""
    numbers = {Type.DECIMAL, Type.INTEGER}
    if {*types} <= numbers:
        return Type.DECIMAL
    return Type.STRING if {*types} <= {None, Type.STRING} else Type.ANY


def decimal_literal(number: str) -> Call | None:
    """A number literal as the decimal that functions compute with, if it is one."""
    cast = CASTS[Type.DECIMAL]
    value = cast.read(number)
    return None if value is None else Call(cast.name, (Constant(cast.string(value)),))


def form_in_query(
    name: str, types: tuple[Type | None, ...], arguments: tuple[Operand | Expression, ...]
) -> ValueFunction | None:
    """The form of a function that takes arguments of some types as XQuery has it, without unwritten casts."""
    if name.startswith("xs:"):
        known = tuple(one or Type.STRING for one in types)
        return form_of(name, known) if len(known) == 1 and Type.BOOLEAN not in known else None
    for form in VALUE_FUNCTIONS.get(name, ()):
        if name == "div" and form.parameters[1] is not Type.DIVISOR:
            continue  # it is rounded, as XQuery's is not
        if form.takes(len(types)) and all(
            _takes(form, form.parameter(place), one, argument)
            for place, (one, argument) in enumerate(zip(types, arguments, strict=True))
        ):
            return form
    return None


def _takes(form: ValueFunction, parameter: Type, given: Type | None, argument: Operand | Expression) -> bool:
    if parameter in (Type.DIGITS, Type.DIVISOR):
        return isinstance(argument, NumberLiteral) and (parameter is Type.DIVISOR or given is Type.INTEGER)
    if parameter.is_constant:
        return isinstance(argument, StringLiteral)
    if parameter is Type.STRING:
        return given in (None, Type.STRING) or form.takes_any
    if parameter is Type.DECIMAL:
        return given in (Type.DECIMAL, Type.INTEGER)
    return parameter in (given, Type.ANY)

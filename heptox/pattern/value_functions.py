"""The functions of function terms, in one table: of each its signature, and its meaning in Python, SQL and XQuery 3.1.

What a function means is what XPath 3.1 says, with two rules above it: the value is **absent** where an argument is, and
where the function has none for its arguments, which is never an error. Conditions are true or false: one that compares
or tests what is absent is false. A new function is an entry of the module that has its kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from heptox.pattern.operators import OPERATORS
from heptox.pattern.value_conditions import CONDITIONS
from heptox.pattern.value_dates import DATES
from heptox.pattern.value_numbers import NUMBERS
from heptox.pattern.value_strings import STRINGS
from heptox.pattern.value_types import Type, ValueFunction


def _by_name(entries: tuple[ValueFunction, ...]) -> dict[str, tuple[ValueFunction, ...]]:
    names = dict.fromkeys(entry.name for entry in entries)
    return {name: tuple(entry for entry in entries if entry.name == name) for name in names}


VALUE_FUNCTIONS: Final[Mapping[str, tuple[ValueFunction, ...]]] = _by_name((*STRINGS, *NUMBERS, *CONDITIONS, *DATES))
"""The forms of all functions by their names in XPath."""

SIGNS: Final = frozenset(name for name, each in OPERATORS.items() if not each.is_function)


def form_of(name: str, types: tuple[Type, ...]) -> ValueFunction | None:
    """The form of a function for arguments of these types; ``None`` where no form has so many.

    Numbers are compared with each other as decimals, and with anything else as doubles; other values as strings. Of
    other functions it is the form of just these types, else the last one that takes the most arguments as they are.
    """
    forms = [form for form in VALUE_FUNCTIONS.get(name, ()) if form.takes(len(types))]
    if not forms:
        return None
    if name in SIGNS:
        kind = compared_type(types)
        return next((form for form in forms if form.parameters[0] is kind), forms[-1])
    return max(
        reversed(forms), key=lambda form: _closeness([form.parameter(place) for place in range(len(types))], types)
    )


def _closeness(parameters: Sequence[Type], types: Sequence[Type]) -> tuple[bool, int]:
    return list(parameters) == list(types), sum(map(fits, parameters, types))


def compared_type(types: tuple[Type, ...]) -> Type:
    """The type as which values of two types are compared."""
    if all(one in (Type.DECIMAL, Type.INTEGER) for one in types):
        return Type.DECIMAL
    if any(one.is_numeric for one in types):
        return Type.DOUBLE
    return next((one for one in types if one is not Type.STRING), Type.STRING)


def fits(parameter: Type, argument: Type) -> bool:
    """Whether a parameter takes a value of a type as it is."""
    return parameter in (argument, Type.ANY) or (parameter is Type.DECIMAL and argument is Type.INTEGER)

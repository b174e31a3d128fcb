"""Function terms: values that are computed from the leaves of one node (``semantics.md`` sections 2 and 8).

A function term is the term of a **computed leaf**: a step that is written below a node like that of an attribute, and
holds the expression in one form. So what knows terms knows function terms: two of them are equal when their expressions
are, and others may be anything.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, TypeAlias

from heptox.pattern.operators import OPERATORS
from heptox.schema import COMPUTED, Path


@dataclass(frozen=True, slots=True)
class Leaf:
    """The value of the single-valued leaf at ``path`` below the node; the empty path is the node's own text."""

    path: Path


@dataclass(frozen=True, slots=True)
class Constant:
    """A string, or a number as it is written."""

    value: str


@dataclass(frozen=True, slots=True)
class StringJoin:
    """The values at ``path`` below the node, which may repeat and whose steps may be selections, in document order,
    with ``separator`` between them; absent where there are none.
    """

    path: Path
    separator: str


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the table, applied."""

    function: str
    arguments: tuple[ValueExpression, ...]


@dataclass(frozen=True, slots=True)
class Lookup:
    """The value that a table of codes has for the argument; ``other`` for one that it does not have, else absent.

    ``table`` is what the file of the table is called, if it has one; ``backwards`` it has the values first.
    """

    argument: ValueExpression
    codes: tuple[tuple[str, str], ...]
    other: ValueExpression | None = None
    table: str = ""
    backwards: bool = False

    def turned(self, argument: ValueExpression) -> Lookup | None:
        """Of a value its code, where no two codes of the table stand for one value."""
        values = tuple((value, code) for code, value in self.codes)
        if len(dict(values)) < len(values):
            return None
        return Lookup(argument, values, None, self.table, not self.backwards)


ValueExpression: TypeAlias = Leaf | Constant | StringJoin | Call | Lookup


NO_VALUE: Final = Call("if", (Call("=", (Constant("false"), Constant("true"))), Constant("")))
"""What is always absent."""


def computed_step(expression: ValueExpression) -> str:
    """The step of a computed leaf.

    >>> computed_step(Call("upper-case", (Leaf(("name",)),)))
    '=["call","upper-case",[["leaf",["name"]]]]'
    """
    return COMPUTED + json.dumps(_written(expression), ensure_ascii=False, separators=(",", ":"))


def value_expression(path: Path) -> ValueExpression | None:
    """The expression of a computed leaf, by the path that ends in it; ``None`` for any other leaf.

    >>> value_expression(("item", computed_step(Constant("text"))))
    Constant(value='text')
    """
    return _read(path[-1]) if path and path[-1].startswith(COMPUTED) else None


def is_computed(path: Path) -> bool:
    """Whether a leaf is a computed one."""
    return path != () and path[-1][0] == COMPUTED


def constant_step(value: str) -> str:
    """The step of the computed leaf that always has one value."""
    return computed_step(Constant(value))


def is_constant(path: Path) -> bool:
    """Whether a leaf is one that always has the same value."""
    return isinstance(value_expression(path), Constant)


def parts(expression: ValueExpression) -> Iterator[ValueExpression]:
    """The expression, and all that it is made of."""
    yield expression
    match expression:
        case Call():
            below = expression.arguments
        case Lookup(argument, _, other):
            below = (argument,) if other is None else (argument, other)
        case _:
            below = ()
    for part in below:
        yield from parts(part)


def computed_parts(path: Path) -> Iterator[ValueExpression]:
    """All that a computed leaf is made of; nothing of any other leaf."""
    expression = value_expression(path)
    return iter(()) if expression is None else parts(expression)


def leaf_paths(expression: ValueExpression) -> tuple[Path, ...]:
    """The paths of the leaves that an expression speaks of, each once; those that repeat too."""
    return tuple(dict.fromkeys(part.path for part in parts(expression) if isinstance(part, Leaf | StringJoin)))


def substituted(expression: ValueExpression, image: Callable[[Leaf | StringJoin], ValueExpression]) -> ValueExpression:
    """The expression with what it says of leaves replaced."""
    match expression:
        case Leaf() | StringJoin():
            return image(expression)
        case Call(function, arguments):
            return Call(function, tuple(substituted(argument, image) for argument in arguments))
        case Lookup(argument, _, other):
            fallback = None if other is None else substituted(other, image)
            return replace(expression, argument=substituted(argument, image), other=fallback)
        case Constant():
            return expression


def without_absent(expression: ValueExpression) -> ValueExpression:
    """The expression, what is always absent where it compares with that.

    >>> without_absent(Call("=", (Leaf(("name",)), NO_VALUE))) == NO_VALUE
    True
    """
    if not isinstance(expression, Call):
        return expression
    arguments = tuple(map(without_absent, expression.arguments))
    compares = expression.function in OPERATORS
    return NO_VALUE if compares and NO_VALUE in arguments else Call(expression.function, arguments)


def with_table_names(expression: ValueExpression, name: Callable[[str], str]) -> ValueExpression:
    """The expression with other names for its tables of codes."""
    match expression:
        case Call(function, arguments):
            return Call(function, tuple(with_table_names(argument, name) for argument in arguments))
        case Lookup(argument, _, other, table):
            fallback = None if other is None else with_table_names(other, name)
            return replace(expression, argument=with_table_names(argument, name), other=fallback, table=name(table))
        case _:
            return expression


def _written(expression: ValueExpression) -> list[Any]:
    match expression:
        case Leaf(path):
            return ["leaf", path]
        case Constant(value):
            return ["constant", value]
        case StringJoin(path, separator):
            return ["string-join", path, separator]
        case Call(function, arguments):
            return ["call", function, [_written(argument) for argument in arguments]]
        case Lookup(argument, codes, other, table, backwards):
            name = "code-of" if backwards else "lookup"
            return [name, _written(argument), codes, other and _written(other), table]


@lru_cache(maxsize=4096)
def _read(step: str) -> ValueExpression:
    return _expression(json.loads(step.removeprefix(COMPUTED)))


@lru_cache(maxsize=128)
def _codes(codes: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """The same codes once, however many functions look up in them."""
    return codes


def _expression(written: list[Any]) -> ValueExpression:
    match written:
        case ["leaf", path]:
            return Leaf(tuple(path))
        case ["constant", value]:
            return Constant(value)
        case ["string-join", path, separator]:
            return StringJoin(tuple(path), separator)
        case ["call", function, arguments]:
            return Call(function, tuple(map(_expression, arguments)))
        case ["lookup" | "code-of" as name, argument, codes, other, table]:
            pairs = _codes(tuple((code, value) for code, value in codes))
            return Lookup(_expression(argument), pairs, other and _expression(other), table, name == "code-of")
    raise ValueError("no function term")

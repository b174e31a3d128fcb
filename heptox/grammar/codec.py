"""The query model as plain lists and strings, for peers to exchange; text is for people (``semantics.md`` section 7).

A node becomes a list of its class's name and its fields in order; positions stay at home. Decoding checks every field
against the syntax tree's own types, so what comes out is as good as what the parser gives.
"""

from __future__ import annotations

import types
from dataclasses import fields
from functools import cache
from typing import Any, Final, Literal, NoReturn, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

from heptox.checks import Check, no_check
from heptox.errors import Fault, GrammarError
from heptox.grammar import query as syntax
from heptox.grammar.query_parser import parse_query
from heptox.grammar.query_printer import print_query
from heptox.printable import on_one_line

Encoded: TypeAlias = bool | str | list["Encoded"] | None
"""What an expression is encoded to: nested lists of strings, booleans and nothing."""

MOST_DEPTH: Final = 200
"""How deep an encoded expression may nest."""

MOST_SHOWN: Final = 40
"""Characters of an unknown word that a refusal names: an operator, say, or a node of a newer peer."""

_CLASSES: Final[dict[str, type]] = {
    name: value
    for name, value in vars(syntax).items()
    if isinstance(value, type) and issubclass(value, syntax.Node) and value is not syntax.Node
}


def encode_query(expression: syntax.Expression) -> Encoded:
    """The expression as nested lists.

    >>> encode_query(syntax.Data(syntax.PathExpression("$x")))
    ['Data', ['PathExpression', '$x', []]]
    """
    return _encode(expression)


def decode_query(encoded: object, check: Check = no_check) -> syntax.Expression:
    """The expression behind nested lists; ``check`` is called again and again.

    Raises :class:`GrammarError` (HX3049) where they are none, naming the place by its indices, and where they hold what
    no text says (a variable that is not bound, a name that is none).

    >>> decode_query(["Data", ["PathExpression", "/", [["Step", "descendant", ["a"], [], []]]]]).argument.start
    '/'
    """
    expression = cast(syntax.Expression, _decode(encoded, syntax.Expression, (), check))
    if not _is_written(expression, check):
        raise GrammarError(Fault("HX3049", "encoded query: no text says this"))
    return expression


def _is_written(expression: syntax.Expression, check: Check) -> bool:
    """Whether the expression is what its own text is read as: lists can be put together that no text stands for."""
    try:
        return parse_query(print_query(expression), check=check) == expression
    except (GrammarError, IndexError, ValueError, RecursionError):
        return False


def _encode(value: object) -> Encoded:
    if isinstance(value, syntax.Node):
        name = type(value).__name__
        return [name, *[_encode(getattr(value, part)) for part in _parts(name)]]
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    if value is None or isinstance(value, bool | str):
        return value
    raise TypeError(f"a syntax tree holds no {type(value).__name__}")


@cache
def _parts(name: str) -> dict[str, Any]:
    """The fields of a class of the syntax tree, without the position, and their types."""
    hints = get_type_hints(_CLASSES[name], vars(syntax))
    return {field.name: hints[field.name] for field in fields(_CLASSES[name]) if field.name != "position"}


def _decode(value: object, hint: Any, place: tuple[int, ...], check: Check) -> object:
    if len(place) > MOST_DEPTH:
        _refuse(f"it nests deeper than {MOST_DEPTH}", ())
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    if isinstance(value, list):
        if value and isinstance(value[0], str) and _CLASSES.get(value[0]) in options:
            return _node(value, value[0], place, check)
        for option in options:
            if get_origin(option) is tuple:
                return tuple(
                    _decode(item, get_args(option)[0], (*place, index), check) for index, item in enumerate(value)
                )
        if value and isinstance(value[0], str):
            _refuse(f"unexpected {on_one_line(value[0][:MOST_SHOWN])}", place)
    elif value is None or isinstance(value, bool | str):
        literals = {literal for option in options if get_origin(option) is Literal for literal in get_args(option)}
        if type(value) in options or value in literals:
            return value
        if isinstance(value, str) and any(isinstance(literal, str) for literal in literals):
            _refuse(f"unknown {on_one_line(value[:MOST_SHOWN])}", place)
    _refuse(f"unexpected {type(value).__name__}", place)


def _node(value: list[object], name: str, place: tuple[int, ...], check: Check) -> object:
    check()
    wanted = _parts(name)
    if len(value) != len(wanted) + 1:
        _refuse(f"{name} has {len(wanted)} parts, not {len(value) - 1}", place)
    parts = [
        _decode(part, hint, (*place, index), check)
        for index, (part, hint) in enumerate(zip(value[1:], wanted.values(), strict=True), start=1)
    ]
    return _CLASSES[name](*parts)


def _refuse(message: str, place: tuple[int, ...]) -> NoReturn:
    where = "".join(f"[{index}]" for index in place) or "the top"
    raise GrammarError(Fault("HX3049", f"encoded query at {where}: {message}"))

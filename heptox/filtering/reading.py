"""The text of a filter, read as an XPath expression by elementpath's parsers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from elementpath import XPath1Parser, XPath2Parser
from elementpath.exceptions import ElementPathError
from lxml import etree

from heptox.errors import Fault, GrammarError, Position
from heptox.filtering.expression import (
    ANY_ELEMENT,
    ANY_NODE,
    ANYWHERE,
    COMPARISONS,
    NO_NODE,
    UNION,
    Axis,
    Call,
    Expression,
    Literal,
    LocationPath,
    Operation,
    Selection,
    Step,
)

if TYPE_CHECKING:
    from elementpath import XPathToken

_MOST_NESTED: Final = 100
_AXES: Final = frozenset(axis.value for axis in Axis)
_BINARY: Final = COMPARISONS | {"and", "or", "+", "-", "*", "div", "mod", UNION}
_CHAINED: Final = frozenset({"and", "or", UNION})


_FILTERED_SHORT_STEP: Final = re.compile(r"\.\s*\[")
_SHORT_STEPS_HINT: Final = "predicates stand behind parent::node() and self::node(), not behind .. and ."


class Version(StrEnum):
    """The versions of XPath that filters may be written in."""

    ONE = "1.0"
    THREE = "3.1"


class _OutsideError(Exception):
    """An expression has a construct that XPath 1.0 does not know, or that is not looked into."""


class _TooDeepError(_OutsideError):
    """An expression is nested too deeply to be looked into."""


def read_filter(text: str, version: Version = Version.ONE, position: Position | None = None) -> Expression | None:
    """The expression of a filter; ``None`` for one with constructs that only later versions than XPath 1.0 have.

    ``position`` is where the text begins. Raises :class:`GrammarError` (HX3001) with the place of what is wrong, HX3003
    for what is nested too deeply, HX3060 for the namespace axis, HX3062 for a variable, which nothing would give a
    value, and HX3063 for a construct of XPath 3.1 that filters cannot have, by its name.

    >>> print(read_filter("/a[b='x']//c/.."))
    /a[b = 'x']//c/..
    """
    begin = position or Position(1, 1)
    try:
        token = _parsed(text, begin) if version is Version.ONE else _parsed_3(text, begin)
    except GrammarError:
        if version is Version.ONE and _continues(text, begin):
            return None
        raise
    if version is Version.ONE:
        _refuse_variables(token, text, begin)
    try:
        expression = _expression(token, 0)
    except _OutsideError as error:
        if version is not Version.ONE:
            return None
        if isinstance(error, _TooDeepError):
            raise _fault(text, begin, 0, "is nested too deeply", "HX3003") from None
        # all else of XPath 1.0 is known
        raise _fault(text, begin, 0, "has the namespace axis; documents have no namespaces", "HX3060") from None
    if version is Version.ONE and not _compiles(text):
        hint = _SHORT_STEPS_HINT if _FILTERED_SHORT_STEP.search(text) else None
        raise _fault(text, begin, 0, "is no XPath 1.0", hint=hint)
    return expression


def _parsed(text: str, begin: Position) -> XPathToken:
    try:
        return XPath1Parser().parse(text)
    except ElementPathError as error:
        raise _syntax_fault(text, begin, error) from None
    except RecursionError:
        raise _fault(text, begin, 0, "is nested too deeply", "HX3003") from None


def _parsed_3(text: str, begin: Position) -> XPathToken:
    # It takes long to load, and is seldom asked for.
    from heptox.filtering.xpath3_parsing import RefusedError, UnboundError, parse

    try:
        token = parse(text)
    except ElementPathError as error:
        raise _syntax_fault(text, begin, error) from None
    except RefusedError as error:
        message = f"{error.construct} is not among what filters of XPath 3.1 may have"
        raise _fault(text, begin, error.offset, message, "HX3063") from None
    except UnboundError as error:
        raise _fault(text, begin, error.offset, str(error), "HX3062") from None
    except RecursionError:
        raise _fault(text, begin, 0, "is nested too deeply", "HX3003") from None
    return token


def _syntax_fault(text: str, begin: Position, error: ElementPathError) -> GrammarError:
    place = error.token.span[0] if error.token is not None else 0
    if error.token is not None and error.token.symbol == "(end)":
        place = len(text.rstrip())
    return _fault(text, begin, place, _reason(error))


def _reason(error: ElementPathError) -> str:
    """What elementpath says is wrong, without the code and the place that it says before."""
    return error.message.partition("] ")[2] or error.message


def _fault(
    text: str, begin: Position, offset: int, message: str, code: str = "HX3001", hint: str | None = None
) -> GrammarError:
    line = text.count("\n", 0, offset)
    column = offset - (text.rfind("\n", 0, offset) + 1) + 1
    place = Position(begin.line + line, column if line else begin.column + offset, begin.file)
    return GrammarError(Fault(code, message, place, f"{text}\n{' ' * offset}^" if "\n" not in text else text, hint))


def _tokens(token: XPathToken) -> Iterator[XPathToken]:
    waiting = [token]
    while waiting:
        token = waiting.pop()
        yield token
        waiting += list(token)


def _refuse_variables(token: XPathToken, text: str, begin: Position) -> None:
    for each in _tokens(token):
        if each.symbol == "$":
            raise _fault(text, begin, each.span[0], "a filter has no variables", "HX3062")


def _continues(text: str, begin: Position) -> bool:
    """Whether a text is XPath 1.0 with steps behind parentheses or calls, which elementpath reads in XPath 2.0 only."""
    if not _compiles(text):
        return False
    try:
        token = XPath2Parser(compatibility_mode=True).parse(text)
    except (ElementPathError, RecursionError):
        return False
    _refuse_variables(token, text, begin)
    return all(each.label != "function" or each.symbol in XPath1Parser.symbol_table for each in _tokens(token))


def _compiles(text: str) -> bool:
    """Whether the library that evaluates filters understands one."""
    try:
        etree.XPath(text)
    except etree.XPathSyntaxError:
        return False
    return True


# -- from tokens to expressions -----------------------------------------------------------------------------------


def _expression(token: XPathToken, depth: int) -> Expression:
    if depth > _MOST_NESTED:
        raise _TooDeepError
    symbol = token.symbol
    if symbol in {"(string)", "(integer)", "(decimal)", "(float)"}:
        return _literal(token)
    if symbol == "(":
        if len(token) != 1:
            raise _OutsideError
        return _expression(token[0], depth + 1)
    if symbol in _CHAINED and len(token) == 2:
        return Operation(symbol, tuple(_expression(each, depth + 1) for each in _chain(token)))
    if (symbol in _BINARY and len(token) == 2) or (symbol == "-" and len(token) == 1):
        return Operation(symbol, tuple(_expression(each, depth + 1) for each in token))
    if token.label == "function":
        return Call(symbol, tuple(_expression(each, depth + 1) for each in token))
    return _path(token, depth)


def _chain(token: XPathToken) -> list[XPathToken]:
    """The operands of an operator that stands between more than two of them, however many."""
    found: list[XPathToken] = []
    symbol = token.symbol
    while token.symbol == symbol and len(token) == 2:
        found.append(token[1])
        token = token[0]
    return [token, *reversed(found)]


def _literal(token: XPathToken) -> Literal:
    if token.symbol != "(string)":
        return Literal(token.parser.source[slice(*token.span)], is_number=True)
    value = str(token.value)
    if '"' in value and "'" in value:
        raise _OutsideError
    return Literal(f"'{value}'" if "'" not in value else f'"{value}"', is_number=False)


def _path(token: XPathToken, depth: int) -> LocationPath | Selection:
    """A path: what stands before its last ``/``, if anything, and the steps behind."""
    if depth > _MOST_NESTED:
        raise _TooDeepError
    if token.symbol in {"/", "//"}:
        return _slashes(token, depth)
    if token.symbol == "[" and not _is_step(token):
        origin = _path(token[0], depth + 1) if token[0].symbol == "[" else _selection(token[0], depth)
        if not isinstance(origin, Selection) or origin.steps:
            raise _OutsideError
        return Selection(origin.origin, (*origin.predicates, _expression(token[1], depth + 1)), ())
    if token.symbol == "(" or token.label == "function":
        return _selection(token, depth)
    return LocationPath(False, _steps(token, depth))


def _slashes(token: XPathToken, depth: int) -> LocationPath | Selection:
    """A path whose last part stands behind a ``/`` or ``//``; it may have very many."""
    behind: list[tuple[Step, ...]] = []
    while token.symbol in {"/", "//"} and len(token) == 2:
        behind.append(_between(token) + _steps(token[1], depth))
        token = token[0]
    if token.symbol in {"/", "//"}:
        first = _steps(token[0], depth) if len(token) else ()
        before: LocationPath | Selection = LocationPath(True, _between(token) + first)
    else:
        before = _path(token, depth + 1)
    return _continued(before, tuple(step for steps in reversed(behind) for step in steps))


def _between(token: XPathToken) -> tuple[Step, ...]:
    return (ANYWHERE,) if token.symbol == "//" else ()


def _selection(token: XPathToken, depth: int) -> Selection:
    return Selection(_expression(token, depth + 1), (), ())


def _continued(before: LocationPath | Selection, steps: tuple[Step, ...]) -> LocationPath | Selection:
    if isinstance(before, Selection):
        return Selection(before.origin, before.predicates, before.steps + steps)
    return LocationPath(before.absolute, before.steps + steps)


def _is_step(token: XPathToken) -> bool:
    """Whether predicates stand behind a step, and not behind an expression in parentheses or a call."""
    while token.symbol == "[":
        token = token[0]
    return token.symbol != "(" and token.label != "function"


def _steps(token: XPathToken, depth: int) -> tuple[Step, ...]:
    """The step that a token is, in a path whose tokens lie in each other from the right."""
    if token.symbol == "/" and len(token) == 2:
        return _steps(token[0], depth) + _steps(token[1], depth)
    predicates: list[Expression] = []
    while token.symbol == "[":
        predicates.insert(0, _expression(token[1], depth + 1))
        token = token[0]
    axis, test = _axis_and_test(token)
    return (Step(axis, test, tuple(predicates)),)


def _axis_and_test(token: XPathToken) -> tuple[Axis, str]:
    symbol = token.symbol
    if symbol == "." and not len(token):
        return Axis.SELF, ANY_NODE
    if symbol == "..":
        return Axis.PARENT, ANY_NODE
    if symbol == "@":
        return Axis.ATTRIBUTE, _test(token[0])
    if symbol in _AXES and len(token) == 1:
        return Axis(symbol), _test(token[0])
    return Axis.CHILD, _test(token)


def _test(token: XPathToken) -> str:
    if token.symbol == "(name)":
        return str(token.value)
    if token.symbol == "*" and not len(token):
        return ANY_ELEMENT
    if token.symbol in {"text", "node"} and not len(token):
        return f"{token.symbol}()"
    if token.symbol in {"comment", "processing-instruction"}:
        return NO_NODE  # documents have neither (see :mod:`heptox.xml`)
    raise _OutsideError

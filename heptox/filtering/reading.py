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
from heptox.xml import NO_PREFIXES, Prefixes, expanded_name

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


class _WildcardError(_OutsideError):
    """An expression asks for all names of a namespace."""


class _TooDeepError(_OutsideError):
    """An expression is nested too deeply to be looked into."""


def read_filter(
    text: str,
    version: Version = Version.ONE,
    position: Position | None = None,
    prefixes: Prefixes = NO_PREFIXES,
) -> Expression | None:
    """The expression of a filter; ``None`` for one with constructs that only later versions than XPath 1.0 have, or
    that ask for all names of a namespace.

    ``position`` is where the text begins, ``prefixes`` what its names stand for. Raises :class:`GrammarError` (HX3001)
    with the place of what is wrong, HX3003 for what is nested too deeply, HX3060 for the namespace axis, HX3062 for a
    variable, which nothing would give a value, HX3063 for a construct of XPath 3.1 that filters cannot have, by its
    name, and HX3066 for a prefix that is not bound.

    >>> print(read_filter("/a[b='x']//c/.."))
    /a[b = 'x']//c/..
    """
    begin = position or Position(1, 1)
    try:
        token = _parsed(text, begin, prefixes) if version is Version.ONE else _parsed_3(text, begin, prefixes)
    except GrammarError:
        if version is Version.ONE and _continues(text, begin, prefixes):
            return None
        raise
    if version is Version.ONE:
        _refuse_variables(token, text, begin)
    try:
        expression = _Expressions(prefixes).expression(token, 0)
    except _OutsideError as error:
        if version is not Version.ONE:
            return None
        if isinstance(error, _WildcardError) and _compiles(text, prefixes):
            return None
        if isinstance(error, _TooDeepError):
            raise _fault(text, begin, 0, "is nested too deeply", "HX3003") from None
        # all else of XPath 1.0 is known
        raise _fault(text, begin, 0, "has the namespace axis; ask for namespace-uri()", "HX3060") from None
    if version is Version.ONE and not _compiles(text, prefixes):
        hint = _SHORT_STEPS_HINT if _FILTERED_SHORT_STEP.search(text) else None
        raise _fault(text, begin, 0, "is no XPath 1.0", hint=hint)
    return expression


def _bound(prefixes: Prefixes) -> dict[str, str]:
    """The prefixes as parsers take them: names without one are seen to here."""
    return {prefix: namespace for prefix, namespace in prefixes.namespaces.items() if prefix}


def _parsed(text: str, begin: Position, prefixes: Prefixes) -> XPathToken:
    try:
        return XPath1Parser(namespaces=_bound(prefixes)).parse(text)
    except ElementPathError as error:
        raise _syntax_fault(text, begin, error) from None
    except RecursionError:
        raise _fault(text, begin, 0, "is nested too deeply", "HX3003") from None


def _parsed_3(text: str, begin: Position, prefixes: Prefixes) -> XPathToken:
    if prefixes.namespaces.get(""):
        message = "names without prefix have a namespace, which filters of XPath 3.1 cannot say"
        raise _fault(text, begin, 0, message, "HX3063", "bind a prefix to it, and write that")
    # It takes long to load, and is seldom asked for.
    from heptox.filtering.xpath3_parsing import RefusedError, UnboundError, parse

    try:
        token = parse(text, _bound(prefixes))
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
    reason = _reason(error)
    if unbound := _UNBOUND.match(reason):
        place = text.rfind(unbound[1], 0, place + 1)
        message = f"the prefix {unbound[1]} is not bound"
        return _fault(text, begin, place, message, "HX3066", "bind it with --namespace, or a line that declares it")
    return _fault(text, begin, place, reason)


_UNBOUND: Final = re.compile(r"prefix '([^']*)' is not declared")


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


def _continues(text: str, begin: Position, prefixes: Prefixes) -> bool:
    """Whether a text is XPath 1.0 with steps behind parentheses or calls, which elementpath reads in XPath 2.0 only."""
    if not _compiles(text, prefixes):
        return False
    try:
        token = XPath2Parser(namespaces=_bound(prefixes), compatibility_mode=True).parse(text)
    except (ElementPathError, RecursionError):
        return False
    _refuse_variables(token, text, begin)
    return all(each.label != "function" or each.symbol in XPath1Parser.symbol_table for each in _tokens(token))


def _compiles(text: str, prefixes: Prefixes) -> bool:
    """Whether the library that evaluates filters understands one."""
    try:
        etree.XPath(text, namespaces=_bound(prefixes))
    except etree.XPathSyntaxError:
        return False
    return True


# -- from tokens to expressions -----------------------------------------------------------------------------------


class _Expressions:
    """Makes expressions of tokens; ``prefixes`` say what names stand for."""

    def __init__(self, prefixes: Prefixes) -> None:
        self._prefixes = prefixes

    def expression(self, token: XPathToken, depth: int) -> Expression:
        if depth > _MOST_NESTED:
            raise _TooDeepError
        symbol = token.symbol
        if symbol in {"(string)", "(integer)", "(decimal)", "(float)"}:
            return _literal(token)
        if symbol == "(":
            if len(token) != 1:
                raise _OutsideError
            return self.expression(token[0], depth + 1)
        if symbol in _CHAINED and len(token) == 2:
            return Operation(symbol, tuple(self.expression(each, depth + 1) for each in _chain(token)))
        if (symbol in _BINARY and len(token) == 2) or (symbol == "-" and len(token) == 1):
            return Operation(symbol, tuple(self.expression(each, depth + 1) for each in token))
        if token.label == "function":
            return Call(symbol, tuple(self.expression(each, depth + 1) for each in token))
        return self._path(token, depth)

    def _path(self, token: XPathToken, depth: int) -> LocationPath | Selection:
        """A path: what stands before its last ``/``, if anything, and the steps behind."""
        if depth > _MOST_NESTED:
            raise _TooDeepError
        if token.symbol in {"/", "//"}:
            return self._slashes(token, depth)
        if token.symbol == "[" and not _is_step(token):
            origin = self._path(token[0], depth + 1) if token[0].symbol == "[" else self._selection(token[0], depth)
            if not isinstance(origin, Selection) or origin.steps:
                raise _OutsideError
            return Selection(origin.origin, (*origin.predicates, self.expression(token[1], depth + 1)), ())
        if token.symbol == "(" or token.label == "function":
            return self._selection(token, depth)
        return LocationPath(False, self._steps(token, depth))

    def _slashes(self, token: XPathToken, depth: int) -> LocationPath | Selection:
        """A path whose last part stands behind a ``/`` or ``//``; it may have very many."""
        behind: list[tuple[Step, ...]] = []
        while token.symbol in {"/", "//"} and len(token) == 2:
            behind.append(_between(token) + self._steps(token[1], depth))
            token = token[0]
        if token.symbol in {"/", "//"}:
            first = self._steps(token[0], depth) if len(token) else ()
            before: LocationPath | Selection = LocationPath(True, _between(token) + first)
        else:
            before = self._path(token, depth + 1)
        return _continued(before, tuple(step for steps in reversed(behind) for step in steps))

    def _selection(self, token: XPathToken, depth: int) -> Selection:
        return Selection(self.expression(token, depth + 1), (), ())

    def _steps(self, token: XPathToken, depth: int) -> tuple[Step, ...]:
        """The step that a token is, in a path whose tokens lie in each other from the right."""
        if token.symbol == "/" and len(token) == 2:
            return self._steps(token[0], depth) + self._steps(token[1], depth)
        predicates: list[Expression] = []
        while token.symbol == "[":
            predicates.insert(0, self.expression(token[1], depth + 1))
            token = token[0]
        axis, test = self._axis_and_test(token)
        return (Step(axis, test, tuple(predicates)),)

    def _axis_and_test(self, token: XPathToken) -> tuple[Axis, str]:
        symbol = token.symbol
        if symbol == "." and not len(token):
            return Axis.SELF, ANY_NODE
        if symbol == "..":
            return Axis.PARENT, ANY_NODE
        if symbol == "@":
            return Axis.ATTRIBUTE, self._test(token[0], attribute=True)
        if symbol in _AXES and len(token) == 1:
            return Axis(symbol), self._test(token[0], attribute=symbol == Axis.ATTRIBUTE)
        return Axis.CHILD, self._test(token)

    def _test(self, token: XPathToken, *, attribute: bool = False) -> str:
        if token.symbol == "(name)":
            return self._prefixes.expanded(str(token.value), attribute=attribute)
        if token.symbol in (":", "Q{") and len(token) == 2:
            before, local = str(token[0].value), str(token[1].value)
            if token[0].symbol == "*" or token[1].symbol == "*":
                raise _WildcardError
            if token.symbol == "Q{":
                return expanded_name(" ".join(before.split()), local)
            return self._prefixes.expanded(f"{before}:{local}", attribute=attribute)
        if token.symbol == "*" and not len(token):
            return ANY_ELEMENT
        if token.symbol in {"text", "node"} and not len(token):
            return f"{token.symbol}()"
        if token.symbol in {"comment", "processing-instruction"}:
            return NO_NODE  # documents have neither (see :mod:`heptox.xml`)
        raise _OutsideError


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


def _between(token: XPathToken) -> tuple[Step, ...]:
    return (ANYWHERE,) if token.symbol == "//" else ()


def _continued(before: LocationPath | Selection, steps: tuple[Step, ...]) -> LocationPath | Selection:
    if isinstance(before, Selection):
        return Selection(before.origin, before.predicates, before.steps + steps)
    return LocationPath(before.absolute, before.steps + steps)


def _is_step(token: XPathToken) -> bool:
    """Whether predicates stand behind a step, and not behind an expression in parentheses or a call."""
    while token.symbol == "[":
        token = token[0]
    return token.symbol != "(" and token.label != "function"

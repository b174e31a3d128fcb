"""The plain spellings of subscriptions, read ten times faster than the grammar reads them.

A million subscriptions are read one by one (``matching.md``: a regular expression takes 2 to 10 microseconds for one,
the grammar 36 to 125). What is not plain (other letters than ASCII in names, comments, anything wrong) is left to the
grammar, so nothing here decides that a subscription is wrong.
"""

from __future__ import annotations

import re
from typing import Final, cast

from heptox.grammar.alternatives import (
    TRUE,
    Alternatives,
    BelowLeafError,
    Conjunction,
    TooManyAlternativesError,
    all_of,
    both,
    either,
    from_the_root,
    patterns,
    there_is,
)
from heptox.pattern import TEXT, Axis, Number, Sign, Text, TreePattern, ValueTest, flipped
from heptox.xml import NO_PREFIXES, Prefixes, UnboundPrefixError

_TOKENS: Final = re.compile(
    r"""[ \t\r\n]*(
    //? | \[ | \] | \( | \)
    | @?(?:[A-Za-z_][-.\w]*:|Q\{[^\s{}&]*\})?[A-Za-z_][-.\w]*(?:\(\))? | @?\*
    | "[^"\x00-\x1f\ud800-\udfff\ufffe\uffff]*" | '[^'\x00-\x1f\ud800-\udfff\ufffe\uffff]*'
    | -?\.?[0-9](?:[eE][+-]?[0-9]|[\w.])*
    | [<>!]?=|[<>]
    | .)""",
    re.VERBOSE | re.ASCII | re.DOTALL,
)
_NUMBER: Final = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_FIRST_OF_TEST: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz@*")
_FIRST_OF_CONSTANT: Final = frozenset("\"'-.0123456789")
_QUOTES: Final = frozenset("\"'")
_OPERATORS: Final = frozenset(("=", "!=", "<", "<=", ">", ">="))
_DEEPEST: Final = 30
_END: Final = ""


class _NotPlainError(Exception):
    """The grammar is to read this."""


def scan_subscription(text: str, prefixes: Prefixes = NO_PREFIXES) -> tuple[TreePattern, ...] | None:
    """The patterns of a subscription in a plain spelling; ``None`` for any other, and for one that is wrong.

    ``prefixes`` say what its names stand for.

    >>> print(*scan_subscription("//a[@b='1']"))
    //a[@b[. = "1"]]
    """
    scanner = _Scanner(text, prefixes)
    try:
        found = scanner.condition(relative=False, depth=0)
    except (_NotPlainError, BelowLeafError, TooManyAlternativesError, UnboundPrefixError):
        return None
    return patterns(found) if scanner.token == _END else None


class _Scanner:
    """Reads tokens from left to right; ``token`` is the one to be read next."""

    __slots__ = ("_expands", "_next", "_prefixes", "token")

    def __init__(self, text: str, prefixes: Prefixes) -> None:
        self._prefixes = prefixes
        self._expands = ":" in text or "{" in text or "" in prefixes.namespaces
        tokens = _TOKENS.findall(text.rstrip(" \t\r\n"))
        tokens.append(_END)
        tokens.append(_END)  # so that the last can be taken
        self._next = iter(tokens).__next__
        self.token: str = self._next()

    def condition(self, *, relative: bool, depth: int) -> Alternatives:
        found = self._conjunction(relative, depth)
        if self.token != "or":
            return found
        alternatives = [found]
        while self.token == "or":
            self._take()
            alternatives.append(self._conjunction(relative, depth))
        return either(alternatives)

    def _take(self) -> str:
        taken, self.token = self.token, self._next()
        return taken

    def _conjunction(self, relative: bool, depth: int) -> Alternatives:
        found = self._comparison(relative, depth)
        if self.token != "and":
            return found
        conditions = [found]
        while self.token == "and":
            self._take()
            conditions.append(self._comparison(relative, depth))
        return all_of(conditions)

    def _comparison(self, relative: bool, depth: int) -> Alternatives:
        if depth > _DEEPEST:
            raise _NotPlainError
        if self.token == "(":
            self._take()
            found = self.condition(relative=relative, depth=depth + 1)
            if self._take() != ")" or self.token in _OPERATORS:
                raise _NotPlainError
            return found
        if self.token[:1] in _FIRST_OF_CONSTANT and self.token != ".":
            constant, operator = self._constant(), self._operator()
            return self._path(relative, depth, (ValueTest(flipped(operator), constant),))
        return self._path(relative, depth, ())

    def _path(self, relative: bool, depth: int, values: tuple[ValueTest, ...]) -> Alternatives:
        axis = self.token
        absolute = axis == "/" or axis == "//"
        if not relative and not absolute:
            raise _NotPlainError
        steps: list[tuple[Axis, str, Alternatives]] = []
        if absolute or axis == ".":
            self._take()
        if absolute:
            steps.append(self._step(cast(Axis, axis), depth))
        elif axis != ".":
            steps.append(self._step("/", depth))
        while (axis := self.token) == "/" or axis == "//":
            self._take()
            steps.append(self._step(cast(Axis, axis), depth + len(steps)))
        if self.token in _OPERATORS:
            if values:
                raise _NotPlainError
            values = (ValueTest(self._operator(), self._constant()),)
        found: Alternatives = (Conjunction(own=values),) if values else TRUE
        for axis, test, condition in reversed(steps):
            found = there_is(axis, test, both(condition, found))
        return from_the_root(found) if absolute else found

    def _step(self, axis: Axis, depth: int) -> tuple[Axis, str, Alternatives]:
        if depth > _DEEPEST:
            raise _NotPlainError
        test = self._take()
        if test[:1] not in _FIRST_OF_TEST or test == "@" or (test[-1] == ")" and test != "text()"):
            raise _NotPlainError
        if self._expands:
            test = self._expanded(test)
        if self.token != "[":
            return axis, test, TRUE
        conditions = []
        while self.token == "[":
            self._take()
            conditions.append(self.condition(relative=True, depth=depth + 1))
            if self._take() != "]":
                raise _NotPlainError
        return axis, test, all_of(conditions)

    def _expanded(self, test: str) -> str:
        if test[-1] == "*" or test == TEXT:
            return test
        if test[0] == "@":
            return "@" + self._prefixes.expanded(test[1:], attribute=True)
        return self._prefixes.expanded(test)

    def _operator(self) -> Sign:
        if self.token not in _OPERATORS:
            raise _NotPlainError
        return cast(Sign, self._take())

    def _constant(self) -> Text | Number:
        token = self._take()
        if token[:1] in _QUOTES and len(token) > 1:
            return Text(token[1:-1])
        if not _NUMBER.fullmatch(token):
            raise _NotPlainError
        return Number(token)

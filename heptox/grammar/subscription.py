"""Subscriptions: conditions on one document, written in XPath. ``subscription.lark`` is the specification.

Most texts are read by :mod:`heptox.grammar.subscription_scanner`, which knows the plain spellings; whatever it does not
know is read by the grammar, which also says what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, cast

from lark import Token, Tree

from heptox.errors import Fault, GrammarError, Position
from heptox.grammar.alternatives import (
    MOST_ALTERNATIVES,
    TRUE,
    Alternatives,
    BelowLeafError,
    Conjunction,
    TooManyAlternativesError,
    both,
    either,
    from_the_root,
    patterns,
    there_is,
)
from heptox.grammar.parsing import DEEPEST, fault_at, offset_position, parse_text, position_of
from heptox.grammar.subscription_outside import outside_construct
from heptox.grammar.subscription_scanner import scan_subscription
from heptox.pattern import ANY_ATTRIBUTE, Axis, Number, Sign, Text, TreePattern, ValueTest, flipped, printed_test
from heptox.xml import NO_CHARACTER, NO_PREFIXES, Prefixes, UnboundPrefixError

_SHOWN: Final = 200
_NAME: Final = re.compile(r"(?:Q\{[^{}]*\})?[^@)\s}]*\Z")
"""A name, before which are the sign of attributes, comments, white space."""


def parse_subscription(
    text: str, file: str | None = None, first_line: int = 1, prefixes: Prefixes = NO_PREFIXES
) -> tuple[TreePattern, ...]:
    """The tree patterns that a subscription stands for, one of which a document is to match: several with ``or``.

    A document matches as it would fulfil the XPath expression as a condition (its effective boolean value at the
    document node, XPath 2.0 and later), but a value that is no number, compared with one, does not match where XPath
    would raise an error. ``file`` and ``first_line`` say where the text comes from.

    Raises :class:`GrammarError` with a position: HX3001 text that is no XPath, HX3003 nested too deeply, HX3060 a
    construct outside the language, by its name, HX3061 more than 256 alternatives, HX3066 a prefix that is not bound.

    >>> for pattern in parse_subscription("/a[b = 5 or @c]//d"): print(pattern)
    /a[b[. = 5]][.//d]
    /a[@c][.//d]
    >>> print(*parse_subscription("//p:a[@b]", prefixes=Prefixes.of({"p": "urn:p"})))
    //Q{urn:p}a[@b]
    """
    return scan_subscription(text, prefixes) or parse_by_grammar(text, file, first_line, prefixes)


def parse_by_grammar(
    text: str, file: str | None = None, first_line: int = 1, prefixes: Prefixes = NO_PREFIXES
) -> tuple[TreePattern, ...]:
    """As :func:`parse_subscription`, by the grammar alone."""
    return _Builder(text, file, first_line, prefixes).build(_read(text, file, first_line))


def without_prefixes(text: str, prefixes: Prefixes, file: str | None = None, first_line: int = 1) -> str:
    """The text of a subscription with names that mean the same everywhere: ``Q{namespace}local`` for those in
    namespaces. A text without such names stays as it is.

    Raises :class:`GrammarError` as :func:`parse_subscription`.

    >>> without_prefixes("//p:a[@b = 'p:a']", Prefixes.of({"p": "urn:p"}))
    "//Q{urn:p}a[@b = 'p:a']"
    """
    if ":" not in text and "Q{" not in text and not prefixes.namespaces.get(""):
        return text
    if scan_subscription(text, prefixes) is None:
        parse_by_grammar(text, file, first_line, prefixes)  # says what is wrong
    return _renamed(text, lambda name, attribute: printed_test(prefixes.expanded(name, attribute=attribute)))


def with_prefixes(text: str, prefixes: Prefixes) -> str:
    """The text of a subscription, as :func:`without_prefixes` has it, with the prefixes that there are: for people.

    What is no subscription stays as it is.

    >>> with_prefixes("//Q{urn:p}a[@b]", Prefixes.of({"p": "urn:p"}))
    '//p:a[@b]'
    """
    if "Q{" not in text and not prefixes.namespaces.get(""):
        return text
    try:
        return _renamed(
            text,
            lambda name, attribute: prefixes.written(
                NO_PREFIXES.expanded(name, attribute=attribute), attribute=attribute
            ),
        )
    except (GrammarError, UnboundPrefixError):
        return text


def _renamed(text: str, renamed: Callable[[str, bool], str]) -> str:
    """The text with other names; ``renamed`` is given each, and whether it is that of an attribute."""
    parts: list[str] = []
    end = 0
    tree = _read(text)
    for token in tree.scan_values(lambda value: isinstance(value, Token) and value.type in ("NAME", "ATTRIBUTE")):
        name = _test(str(token)).removeprefix("@")
        attribute = token.type == "ATTRIBUTE"
        other = name if name == "*" else renamed(name, attribute)
        if other != name:
            parts += text[end : token.start_pos], "@" if attribute else "", other
            end = token.end_pos or 0
    return "".join((*parts, text[end:]))


def _read(text: str, file: str | None = None, first_line: int = 1) -> Tree[Token]:
    if found := NO_CHARACTER.search(text):
        position = offset_position(text, found.start(), file, first_line)
        raise GrammarError(fault_at("HX3001", f"U+{ord(found[0]):04X} is no XML character", text, position))
    try:
        return parse_text("subscription.lark", text, file, first_line=first_line)
    except GrammarError as error:
        if outside := outside_construct(text):
            position = offset_position(text, outside.offset, file, first_line)
            raise GrammarError(_outside_fault(outside.name, text, position, outside.hint, first_line)) from error
        raise


class _Builder:
    """Makes patterns of what the grammar read."""

    def __init__(self, text: str, file: str | None, first_line: int, prefixes: Prefixes) -> None:
        self._text = text
        self._file = file
        self._first_line = first_line
        self._prefixes = prefixes

    def build(self, tree: Tree[Token]) -> tuple[TreePattern, ...]:
        condition = _tree(tree.children[0])
        self._check_steps(condition)
        for operand in self._top_operands(condition):
            if operand.data != "absolute":
                raise self._refused(operand, "a path that does not begin at the document", "begin with / or //")
        try:
            return patterns(self._condition(condition))
        except TooManyAlternativesError:
            fault = Fault(
                "HX3061",
                f"the subscription stands for more than {MOST_ALTERNATIVES} alternatives",
                position_of(condition, self._file, self._first_line),
                self._text[:_SHOWN],
                "write several subscriptions",
            )
            raise GrammarError(fault) from None

    def _check_steps(self, condition: Tree[Token]) -> None:
        """No node of a pattern is more than :data:`DEEPEST` below the document node."""
        waiting = [(condition, 0)]
        while waiting:
            part, depth = waiting.pop()
            if depth > DEEPEST:
                position = position_of(part, self._file, self._first_line)
                hint = f"at most {DEEPEST} steps below each other"
                raise GrammarError(
                    fault_at("HX3003", "nested too deeply", self._text, position, hint, self._first_line)
                )
            for below in part.children:
                if isinstance(below, Tree):
                    depth += below.data == "step"
                    waiting.append((below, depth))

    def _top_operands(self, condition: Tree[Token]) -> list[Tree[Token]]:
        """The paths that ask about the document node."""
        if condition.data in ("absolute", "relative", "from_here"):
            return [condition]
        below = (part for part in condition.children if isinstance(part, Tree) and part.data != "constant")
        return [operand for part in below for operand in self._top_operands(part)]

    def _condition(self, tree: Tree[Token]) -> Alternatives:
        match tree.data:
            case "disjunction":
                return either([self._condition(_tree(part)) for part in tree.children])
            case "conjunction":
                found = TRUE
                for part in tree.children:
                    found = both(found, self._condition(_tree(part)))
                return found
            case "comparison" if len(tree.children) > 1:
                return self._comparison(tree)
            case "comparison":
                return self._condition(_tree(tree.children[0]))
            case "constant":
                written = "".join(map(str, tree.children))
                hint = "a document matches or not, wherever" if written[0] not in "'\"" else "compare a path with it"
                raise self._refused(tree, f"the constant {written} as a condition", hint)
            case _:
                return self._path(tree, ())

    def _comparison(self, tree: Tree[Token]) -> Alternatives:
        left, operator, right = tree.children
        sign = cast(Sign, str(operator))
        left, right = _plain(_tree(left)), _plain(_tree(right))
        if left.data == "constant":
            left, right, sign = right, left, flipped(sign)
        if right.data != "constant":
            raise self._refused(tree, "a comparison of two paths", "compare a path with a string or a number")
        if left.data not in ("absolute", "relative", "from_here"):
            raise self._refused(tree, "a comparison of something else than a path", "compare a path with a constant")
        return self._path(left, (ValueTest(sign, _constant(right)),))

    def _path(self, tree: Tree[Token], values: tuple[ValueTest, ...]) -> Alternatives:
        parts = tree.children
        if tree.data == "relative":
            parts = [Token("AXIS", "/"), *parts]
        elif tree.data == "from_here":
            parts = parts[1:]
        found: Alternatives = (Conjunction(own=values),)
        steps = [(_tree(step), cast(Axis, str(axis))) for axis, step in zip(parts[::2], parts[1::2], strict=True)]
        for step, axis in reversed(steps):
            found = self._step(axis, step, found)
        return from_the_root(found) if tree.data == "absolute" else found

    def _step(self, axis: Axis, step: Tree[Token], after: Alternatives) -> Alternatives:
        test, *predicates = step.children
        assert isinstance(test, Token)
        name = _test(str(test))
        expanded = self._expanded(test, name)
        found = TRUE
        for predicate in predicates:
            found = both(found, self._condition(_tree(_tree(predicate).children[0])))
        try:
            return there_is(axis, expanded, both(found, after))
        except BelowLeafError:
            raise self._refused(step, f"something below {name}", "nothing lies below attributes and text") from None

    def _expanded(self, token: Token, test: str) -> str:
        """A node test with the expanded name."""
        attribute = token.type == "ATTRIBUTE"
        if token.type not in ("NAME", "ATTRIBUTE") or test == ANY_ATTRIBUTE:
            return test
        try:
            name = self._prefixes.expanded(test.removeprefix("@"), attribute=attribute)
        except UnboundPrefixError as error:
            known = ", ".join(prefix for prefix in self._prefixes.namespaces if prefix not in ("", "xml"))
            hint = "bind it, or write Q{namespace}name" + (f"; bound here: {known}" if known else "")
            position = position_of(token, self._file, self._first_line)
            message = f"the prefix {error} is not bound"
            raise GrammarError(fault_at("HX3066", message, self._text, position, hint, self._first_line)) from None
        return f"@{name}" if attribute else name

    def _refused(self, part: Tree[Token], construct: str, hint: str) -> GrammarError:
        position = position_of(part, self._file, self._first_line)
        return GrammarError(_outside_fault(construct, self._text, position, hint, self._first_line))


def _test(written: str) -> str:
    """A node test without the white space and comments that may stand in it."""
    if written[0] == "@":
        found = _NAME.search(written)
        assert found is not None  # it may be empty
        return "@" + found[0]
    return "text()" if written.endswith(")") else written


def _plain(tree: Tree[Token]) -> Tree[Token]:
    """A tree without the levels that hold nothing else."""
    while tree.data in ("disjunction", "conjunction", "comparison") and len(tree.children) == 1:
        tree = _tree(tree.children[0])
    return tree


def _tree(part: Tree[Token] | Token) -> Tree[Token]:
    assert isinstance(part, Tree)
    return part


def _constant(tree: Tree[Token]) -> Text | Number:
    *sign, literal = map(str, tree.children)
    if literal[0] in "'\"":
        return Text(literal[1:-1].replace(literal[0] * 2, literal[0]))
    return Number(("-" if sign == ["-"] else "") + literal)


def _outside_fault(construct: str, text: str, position: Position | None, hint: str | None, first_line: int) -> Fault:
    return fault_at("HX3060", f"{construct} is outside the subscription language", text, position, hint, first_line)

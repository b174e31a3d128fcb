"""The frame that all grammars of heptox share: load a grammar file, parse a text with it, and say well what went wrong.

A grammar file is the specification of its language, so it names its terminals for people: an error message reads a
terminal's name as words. ``NAME`` reads *a name*, ``FOR_KEYWORD`` as *'for'*, a terminal that is a plain string as
that string. Terminals that begin with ``OUTSIDE_`` are read only to be refused by name and are never suggested.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from typing import Final, cast

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput
from lark.lexer import PatternStr

from heptox.checks import Check, no_check
from heptox.errors import Fault, GrammarError, Position, near_names
from heptox.grammar.kept_parser import kept_parser

DEEPEST: Final = 200
"""How many levels of syntax may lie within each other; more could exhaust the stack."""

OUTSIDE: Final = "OUTSIDE_"
_KEYWORD: Final = "_KEYWORD"
_MOST_SUGGESTIONS: Final = 10
_LONGEST_EXCERPT: Final = 100
_LONGEST_WORD: Final = 40


_BEYOND_ASCII: Final = re.compile(r"(?:\\u[0-9A-F]{4}|\\U[0-9A-F]{8})(?:-(?:\\u[0-9A-F]{4}|\\U[0-9A-F]{8}))?")
"""A character or a range in a class of a grammar file: only classes of characters that are allowed have such."""


@cache
def load_grammar(name: str, start: str = "start", *, plain: bool = False) -> Lark:
    """The LALR parser for the grammar file ``name`` (``query.lark``) beside this module, built once in a process.

    One that is ``plain`` reads texts in ASCII, as the other does: it is ready in a tenth of the time, for most of that
    goes into the classes of characters that names may have.
    """
    grammar = (files("heptox.grammar") / name).read_text(encoding="utf-8")
    return kept_parser(_BEYOND_ASCII.sub("", grammar) if plain else grammar, start)


def parse_text(
    grammar: str,
    text: str,
    file: str | None = None,
    *,
    start: str = "start",
    first_line: int = 1,
    outside: Callable[[Token], Fault] | None = None,
    check: Check = no_check,
) -> Tree[Token]:
    """Parse ``text`` from the rule ``start`` of the grammar file ``grammar``.

    ``file`` and ``first_line`` say where the text comes from; use them with :func:`position_of` as well. Where reading
    fails after an ``OUTSIDE_`` token, that construct is the reason, and ``outside`` says its fault. ``check`` is called
    again and again.

    Raises :class:`GrammarError`: HX3001 with position, excerpt and what was expected; HX3003 for too deep a nesting.
    """
    parser = load_grammar(grammar, start, plain=text.isascii())
    try:
        tree = _parsed(parser, text, check)
    except UnexpectedInput as error:
        refused = _first_outside(error) if outside else None
        if outside and refused:
            raise GrammarError(outside(refused)) from error
        raise GrammarError(_syntax_fault(parser, error, text, file, first_line)) from error
    _check_depth(tree, text, file, first_line)
    return tree


def _parsed(parser: Lark, text: str, check: Check) -> Tree[Token]:
    interactive = parser.parse_interactive(text)
    try:
        for _ in interactive.iter_parse():
            check()
    except UnexpectedInput as error:
        error.interactive_parser = interactive  # as the next step sets it: what was read so far
        raise
    return cast("Tree[Token]", interactive.resume_parse())  # type: ignore[no-untyped-call]


def position_of(node: Tree[Token] | Token, file: str | None = None, first_line: int = 1) -> Position | None:
    """Where a token or a tree begins; ``None`` for a tree without tokens."""
    place = node if isinstance(node, Token) else node.meta
    line, column = getattr(place, "line", None), getattr(place, "column", None)
    if line is None or column is None:
        return None
    return Position(line + first_line - 1, column, file)


def subtrees(tree: Tree[Token]) -> Iterator[Tree[Token]]:
    """The children of a tree that are no tokens."""
    return (child for child in tree.children if isinstance(child, Tree))


def excerpt_at(text: str, position: Position, first_line: int = 1) -> str:
    """The line of ``text`` at ``position`` with a caret below the place.

    >>> print(excerpt_at("for $x on //a", Position(1, 8)))
    for $x on //a
           ^
    """
    lines = text.split("\n")
    number = position.line - first_line
    line = lines[number].rstrip("\r") if 0 <= number < len(lines) else ""
    offset = position.column - 1
    if len(line) > _LONGEST_EXCERPT:
        begin = max(0, offset - _LONGEST_EXCERPT // 2)
        line, offset = line[begin : begin + _LONGEST_EXCERPT], offset - begin
    before = "".join("\t" if character == "\t" else " " for character in line[:offset].ljust(offset))
    return f"{line}\n{before}^"


def fault_at(
    code: str, message: str, text: str, position: Position | None, hint: str | None = None, first_line: int = 1
) -> Fault:
    """A fault at ``position`` of ``text``, with the excerpt there."""
    excerpt = excerpt_at(text, position, first_line) if position else None
    return Fault(code, message, position, excerpt, hint)


def offset_position(text: str, offset: int, file: str | None = None, first_line: int = 1) -> Position:
    """The position of the character at ``offset`` of ``text``."""
    line_start = text.rfind("\n", 0, offset) + 1
    return Position(text.count("\n", 0, offset) + first_line, offset - line_start + 1, file)


def _syntax_fault(parser: Lark, error: UnexpectedInput, text: str, file: str | None, first_line: int) -> Fault:
    at_end = getattr(getattr(error, "token", None), "type", None) == "$END"
    offset = error.pos_in_stream
    if at_end or offset is None:
        offset = len(text.rstrip())
    position = offset_position(text, offset, file, first_line)
    match = re.compile(r"[^\W\d][\w.-]*|\S|\s").match(text, offset)
    found = match.group() if match and not at_end else None
    if found in ("'", '"') and found not in text[offset + 1 :]:
        return fault_at("HX3001", "a string is not closed", text, position, None, first_line)
    if text[offset - 1 : offset + 1] == "(:":
        hint = "comments end with :) and may be nested three deep"
        return fault_at("HX3001", "a comment is not closed", text, position, hint, first_line)
    message = f"unexpected {_quoted(found)}" if found else "the text ends too early"
    return fault_at("HX3001", message, text, position, _expectation(parser, error, found), first_line)


def _first_outside(error: UnexpectedInput) -> Token | None:
    """The first ``OUTSIDE_`` token among what was read before the error."""
    interactive = getattr(error, "interactive_parser", None)
    waiting: list[object] = list(reversed(interactive.parser_state.value_stack)) if interactive is not None else []
    while waiting:
        value = waiting.pop()
        if isinstance(value, Token) and value.type.startswith(OUTSIDE):
            return value
        if isinstance(value, Tree | list):
            waiting.extend(reversed(value.children if isinstance(value, Tree) else value))
    return None


def _quoted(found: str) -> str:
    if len(found) > _LONGEST_WORD:
        found = f"{found[:_LONGEST_WORD]}..."
    return "end of line" if found == "\n" else f"'{found}'" if found != "'" else '"\'"'


def _expectation(parser: Lark, error: UnexpectedInput, found: str | None) -> str | None:
    interactive = getattr(error, "interactive_parser", None)
    accepted: set[str] = interactive.accepts() if interactive is not None else set()
    words = sorted(
        {_words(parser, name) for name in accepted if not name.startswith(OUTSIDE)},
        key=lambda word: (word.startswith("'"), word),
    )
    if not words:
        return None
    if near := found and len(found) > 2 and near_names(f"'{found.lower()}'", words, cutoff=0.75):
        return f"did you mean {near[0]}?"
    if len(words) > _MOST_SUGGESTIONS:
        words = [*words[:_MOST_SUGGESTIONS], "..."]
    return "expected " + (" or ".join(words) if len(words) <= 2 else "one of " + ", ".join(words))


def _words(parser: Lark, name: str) -> str:
    """A terminal in the words of a reader."""
    if name == "$END":
        return "the end"
    pattern = parser.get_terminal(name).pattern
    if isinstance(pattern, PatternStr):
        return f"'{pattern.value}'" if pattern.value != "'" else '"\'"'
    if name.endswith(_KEYWORD):
        return f"'{name.removesuffix(_KEYWORD).lower().replace('_', ' ').strip()}'"
    words = name.lower().replace("_", " ")
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def _check_depth(tree: Tree[Token], text: str, file: str | None, first_line: int) -> None:
    waiting = [(tree, 1)]
    while waiting:
        node, depth = waiting.pop()
        if depth > DEEPEST:
            position = position_of(node, file, first_line)
            hint = f"at most {DEEPEST} levels of syntax"
            raise GrammarError(fault_at("HX3003", "nested too deeply", text, position, hint, first_line))
        waiting.extend((child, depth + 1) for child in node.children if isinstance(child, Tree))

"""Regular expressions that XPath 3.1, RE2 (DuckDB) and Java (Spark) take for the same.

They have characters, ``.``, classes such as ``[a-z]`` and ``[^0-9]``, the escapes ``\\d`` and ``\\s``, groups, ``|``,
``^`` and ``$`` for the ends of the string, and quantifiers, greedy or not. Here RE2 evaluates them, in time that is in
proportion to the text, and not Python's own engine, which a stranger's pattern could stop. Left out is what engines
read differently, and what makes some of them take very long: what repeats without a bound inside of what does,
quantifiers of what may be empty, references to groups, ``\\w``, categories, and groups that are captured inside of
what repeats.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import re2

from heptox.errors import Fault, StoreError

LONGEST: Final = 500
"""Characters of a regular expression at most."""
MOST_REPLACED: Final = 2**24
"""Characters that a replacement of all characters of a value may make: what would make more is refused, in Python and
in SQL alike."""
TOO_MUCH_REPLACED: Final = f"replace could make a value of over {MOST_REPLACED:,} characters"
MOST_TIMES: Final = 200
"""The greatest number in a quantifier, and of quantifiers in each other multiplied."""

_SPECIAL: Final = frozenset("\\.[]{}()*+?^$|")
_NAMED: Final = {"n": "\n", "r": "\r", "t": "\t"}
_QUANTIFIER: Final = re.compile(r"(?:[?*+]|\{([0-9]{1,3})(,?)([0-9]{1,3})?\})(\??)")


class PatternError(ValueError):
    """A regular expression, or a replacement, that not all engines read alike."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression for RE2 and Java, with what is known of it."""

    shared: str
    may_be_empty: bool = False
    is_unbounded: bool = False
    times: int = 1
    groups: int = 0

    def then(self, other: Pattern, between: str = "") -> Pattern:
        """One after the other, or one of them with ``|`` between."""
        may_be_empty = self.may_be_empty or other.may_be_empty if between else self.may_be_empty and other.may_be_empty
        return Pattern(
            self.shared + between + other.shared,
            may_be_empty,
            self.is_unbounded or other.is_unbounded,
            max(self.times, other.times),
            self.groups + other.groups,
        )


_EMPTY: Final = Pattern("", may_be_empty=True)
_ESCAPES: Final = {"d": Pattern(r"\p{Nd}"), "s": Pattern(r" \t\n\r")}


@lru_cache(maxsize=256)
def read_pattern(text: str) -> Pattern:
    """A regular expression of XPath; raises :class:`PatternError`.

    >>> read_pattern("^[0-9]+$").shared
    '^[0-9]+\\\\z'
    """
    if len(text) > LONGEST:
        raise PatternError(f"it has over {LONGEST} characters")
    reader = _Reader(text)
    found = reader.alternatives()
    if reader.place < len(text):
        raise PatternError(f"{text[reader.place]} is not open")
    return found


@lru_cache(maxsize=256)
def compiled(text: str) -> Any:
    """A regular expression of XPath for RE2, which takes time in proportion to the text."""
    return re2.compile(read_pattern(text).shared)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0

    def next(self, number: int = 1) -> str:
        return self.text[self.place : self.place + number]

    def take(self) -> str:
        self.place += 1
        if self.place > len(self.text):
            raise PatternError("it ends too early")
        return self.text[self.place - 1]

    def alternatives(self) -> Pattern:
        found = self.sequence()
        while self.next() == "|":
            self.place += 1
            found = found.then(self.sequence(), "|")
        return found

    def sequence(self) -> Pattern:
        found = _EMPTY
        while self.next() not in ("", "|", ")"):
            found = found.then(self.quantified())
        return found

    def quantified(self) -> Pattern:
        atom = self.atom()
        quantifier = _QUANTIFIER.match(self.text, self.place)
        if quantifier is None:
            return atom
        self.place = quantifier.end()
        least, most = _times(quantifier)
        if atom.may_be_empty:
            raise PatternError("what may be empty is repeated")
        if most is None and atom.is_unbounded:
            raise PatternError("what is repeated without a bound is repeated again")
        is_group = atom.shared.startswith("(") and not atom.shared.startswith("(?:")
        if atom.groups > is_group and most != 1:
            raise PatternError("a group stands inside of what is repeated (use (?:...) there)")
        times = atom.times * (most or 1)
        if times > MOST_TIMES or least > (MOST_TIMES if most is None else most):
            raise PatternError(f"{quantifier[0]} repeats too often")
        return Pattern(
            atom.shared + quantifier[0],
            least == 0,
            atom.is_unbounded or most is None,
            times,
            atom.groups,
        )

    def atom(self) -> Pattern:
        character = self.take()
        match character:
            case ".":
                return Pattern(r"[^\n\r]")
            case "^":
                return Pattern("^", may_be_empty=True)
            case "$":
                return Pattern(r"\z", may_be_empty=True)
            case "[":
                return self.character_class()
            case "(":
                return self.group()
            case "\\":
                escaped = self.escaped()
                in_class = escaped is _ESCAPES["s"]
                return Pattern(f"[{escaped.shared}]") if in_class else escaped
        if character in _SPECIAL:
            raise PatternError(f"{character} stands for itself as \\{character} only")
        return _literal(character)

    def group(self) -> Pattern:
        capturing = self.next() != "?"
        if not capturing and self.next(2) != "?:":
            raise PatternError(f"({self.next(2)} begins what not all have")
        self.place += 0 if capturing else 2
        inner = self.alternatives()
        if self.take() != ")":
            raise PatternError("( is not closed")
        opening = "(" if capturing else "(?:"
        return Pattern(
            f"{opening}{inner.shared})",
            inner.may_be_empty,
            inner.is_unbounded,
            inner.times,
            inner.groups + capturing,
        )

    def escaped(self) -> Pattern:
        character = self.take()
        if character in _ESCAPES:
            return _ESCAPES[character]
        if character in _NAMED:
            return _literal(_NAMED[character])
        if character in _SPECIAL or character == "-":
            return _literal(character)
        raise PatternError(f"\\{character} is no escape that all have")

    def character_class(self) -> Pattern:
        negated = self.next() == "^"
        self.place += negated
        members: list[Pattern] = []
        while self.next() != "]" or not members:
            members.append(self.member())
        self.place += 1
        opening = "[^" if negated else "["
        return Pattern(f"{opening}{''.join(member.shared for member in members)}]")

    def member(self) -> Pattern:
        """A character, a range or an escape in a class."""
        first = self.class_character()
        if self.next() != "-" or self.next(2) == "-]" or first in _ESCAPES.values():
            return first
        self.place += 1
        last = self.class_character()
        if last in _ESCAPES.values() or _character(first) > _character(last):
            raise PatternError("a range in a class goes from a character to a later one")
        return Pattern(f"{first.shared}-{last.shared}")

    def class_character(self) -> Pattern:
        character = self.take()
        if character == "\\":
            return self.escaped()
        if character in "[]":
            raise PatternError(f"{character} stands for itself in a class as \\{character} only")
        return _literal(character)


def _times(quantifier: re.Match[str]) -> tuple[int, int | None]:
    """How often something stands at least, and at most."""
    if quantifier[1] is None:
        return {"?": (0, 1), "*": (0, None), "+": (1, None)}[quantifier[0][0]]
    least = int(quantifier[1])
    return least, least if not quantifier[2] else int(quantifier[3]) if quantifier[3] else None


def _literal(character: str) -> Pattern:
    text = (
        f"\\{character}" if character.isascii() and not character.isalnum() and character.isprintable() else character
    )
    text = " " if character == " " else text
    return Pattern(text)


def _character(literal: Pattern) -> str:
    return literal.shared[-1]


# -- replacements ------------------------------------------------------------------------------------------------

_PART: Final = re.compile(r"\\([\\$])|\$([0-9])(?![0-9])|([^\\$])", re.DOTALL)


@lru_cache(maxsize=256)
def read_replacement(text: str) -> tuple[str | int, ...]:
    """A replacement of XPath: characters, and numbers of groups; raises :class:`PatternError`.

    >>> read_replacement(r"\\$$1")
    ('$', 1)
    """
    parts: list[str | int] = []
    place = 0
    while place < len(text):
        found = _PART.match(text, place)
        if found is None:
            raise PatternError("in a replacement, $ stands before one digit, and \\ before \\ or $")
        parts.append(int(found[2]) if found[2] else found[1] or found[3])
        place = found.end()
    return tuple(parts)


def pattern_faults(pattern: str) -> list[str]:
    """What is wrong with a regular expression."""
    try:
        read_pattern(pattern)
    except PatternError as error:
        return [str(error)]
    return []


def replacement_faults(pattern: str, replacement: str) -> list[str]:
    """What is wrong with a regular expression, and a replacement of what it finds."""
    try:
        read = read_pattern(pattern)
        groups = [part for part in read_replacement(replacement) if isinstance(part, int)]
    except PatternError as error:
        return [str(error)]
    if read.may_be_empty:
        return ["it may find the empty string"]
    return [f"${number} is no group of it" for number in groups if number > read.groups]


def _written(text: str, group: Callable[[int], str], literal: Callable[[str], str]) -> str:
    return "".join(group(part) if isinstance(part, int) else literal(part) for part in read_replacement(text))


def replacement_for_re2(text: str) -> str:
    """A replacement of XPath as RE2 has it."""
    return _written(text, lambda number: f"\\{number}", lambda part: "\\\\" if part == "\\" else part)


def replacement_for_java(text: str) -> str:
    """A replacement of XPath as Java has it."""
    return _written(text, lambda number: f"${number}", lambda part: f"\\{part}" if part in "\\$0123456789" else part)


def replaced(value: str, pattern: str, replacement: str) -> str:
    """The value with all that a regular expression finds replaced.

    Raises :class:`StoreError` (HX6019) where that could be more than :data:`MOST_REPLACED` characters.

    >>> replaced("2003-12-25", "([0-9]+)-([0-9]+)-([0-9]+)", "$3.$2.$1")
    '25.12.2003'
    """
    if (len(value) + 1) * len(replacement_for_re2(replacement)) > MOST_REPLACED:
        hint = "replace in shorter values, or by a shorter string"
        raise StoreError(Fault("HX6019", TOO_MUCH_REPLACED, hint=hint))
    parts = read_replacement(replacement)

    def text(found: Any) -> str:
        return "".join((found.group(part) or "") if isinstance(part, int) else part for part in parts)

    made: str = compiled(pattern).sub(text, value)
    return made

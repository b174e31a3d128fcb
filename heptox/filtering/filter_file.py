"""Files of filters: one XPath a line, and before it, if wanted, whose it is and how urgent."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from heptox.errors import Fault, GrammarError, InputError, Position
from heptox.grammar import declared_prefixes
from heptox.xml import Prefixes, file_name, read_text

_NAME: Final = re.compile(r"\w[\w.@+-]{0,99}")
_PRIORITY: Final = re.compile(r"[+-]?\d{1,9}")


@dataclass(frozen=True, slots=True)
class FilterLine:
    """A filter of a file: the number of its line, its text and where that begins, and the ``subscriber`` whose it is.

    Those of higher ``priority`` are evaluated first.
    """

    number: int
    text: str
    position: Position
    subscriber: str
    priority: int = 0


@dataclass(frozen=True, slots=True)
class FilterFile:
    """The filters of a file, the prefixes that it declares for them, and what is wrong with lines that are none."""

    lines: list[FilterLine]
    prefixes: Prefixes
    faults: list[Fault]


def read_filter_file(path: str) -> FilterFile:
    """The filters of a file in UTF-8.

    A line is ``XPATH``, ``SUBSCRIBER<tab>XPATH``, or ``SUBSCRIBER<tab>PRIORITY<tab>XPATH``; a filter whose subscriber
    is not said has the number of its line for one. Empty lines and those that begin with ``#`` are left out. The first
    lines may declare namespaces: ``declare namespace p = "urn:p";``. What the filters mean is not looked at, lines that
    are no filters are faults (HX9202).

    Raises :class:`InputError` when the file cannot be read, :class:`GrammarError` for a wrong declaration.
    """
    file = file_name(path)
    lines: list[FilterLine] = []
    faults: list[Fault] = []
    read = ((number, line.rstrip(" ")) for number, line in enumerate(read_text(path).split("\n"), 1))
    kept = [(number, text) for number, text in read if text.strip() and not text.lstrip().startswith("#")]
    prefixes, rest = declared_prefixes(kept, file)
    for number, text in rest:
        try:
            lines.append(_line(number, text, file))
        except (GrammarError, InputError) as error:
            faults += error.faults
    return FilterFile(lines, prefixes, faults)


def _line(number: int, text: str, file: str) -> FilterLine:
    *before, expression = text.split("\t") if text.count("\t") <= 2 else text.split("\t", 2)
    column = len(text) - len(expression) + 1
    if not expression.strip():
        raise _fault(number, column, file, "there is no filter behind the tab")
    if not before:
        return FilterLine(number, text, Position(number, 1, file), str(number))
    if not _NAME.fullmatch(before[0]):
        hint = "letters, digits and _ . @ + - , at most 100, the first a letter or digit"
        raise _fault(number, 1, file, f"{before[0]!r} is no name of a subscriber", hint)
    priority = 0
    if len(before) > 1:
        if not _PRIORITY.fullmatch(before[1]):
            raise _fault(
                number,
                len(before[0]) + 2,
                file,
                f"{before[1]!r} is no priority",
                "an integer of at most nine digits, 0 by default",
            )
        priority = int(before[1])
    return FilterLine(number, expression, Position(number, column, file), before[0], priority)


def _fault(number: int, column: int, file: str, message: str, hint: str | None = None) -> InputError:
    return InputError(Fault("HX9202", message, Position(number, column, file), hint=hint))

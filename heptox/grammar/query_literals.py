"""The value of literal text in a query: doubled quotes and braces, and references to characters."""

from __future__ import annotations

import re
from typing import Final

from heptox.xml import NO_CHARACTER

_REFERENCE: Final = re.compile(r"&(?:#([0-9]+)|#x([0-9A-Fa-f]+)|(lt|gt|amp|quot|apos));|&")
_ENTITIES: Final = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_MARK: Final = "\ufffe"
"""No XML character: it stands for the second half of a doubled one, so that offsets stay true."""


def literal_value(raw: str, doubled: str) -> tuple[str, tuple[int, ...]]:
    """The value of literal text, and the offsets of the references in it that are malformed.

    ``doubled`` are the characters that are written twice to stand for themselves.

    >>> literal_value("a{{b&#x41;&lt;", "{}"), literal_value("&nbsp;", "")
    (('a{bA<', ()), ('', (0,)))
    """
    for twice in doubled:
        raw = raw.replace(twice * 2, twice + _MARK)
    pieces: list[str] = []
    malformed: list[int] = []
    end = 0
    for found in _REFERENCE.finditer(raw):
        pieces.append(raw[end : found.start()])
        end = found.end()
        character = _character(found)
        if character is None:
            malformed.append(found.start())
        else:
            pieces.append(character)
    pieces.append(raw[end:])
    return ("".join(pieces).replace(_MARK, ""), ()) if not malformed else ("", tuple(malformed))


def _character(reference: re.Match[str]) -> str | None:
    """The character that a reference stands for, ``None`` when it is none."""
    decimal, hexadecimal, name = reference.groups()
    if name:
        return _ENTITIES[name]
    if not decimal and not hexadecimal:
        return None
    digits = (decimal or hexadecimal).lstrip("0")
    code = int(digits or "0", 10 if decimal else 16) if len(digits) <= len("1114111") else 0
    return chr(code) if 0 < code <= 0x10FFFF and not NO_CHARACTER.match(chr(code)) else None

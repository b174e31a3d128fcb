"""The texts that a DTD is made of: files and the replacement texts of entities, where they stand, and their bounds."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from stat import S_ISREG
from typing import Final, NamedTuple

from heptox.errors import Fault, InputError, Position, SchemaError
from heptox.schema.catalogues import CATALOGUE, Catalogues, ExternalIdentifier, beside, path_of
from heptox.xml import NO_CHARACTER, decode_dtd, file_name, read_bytes, unreadable

MOST_FILES: Final = 1000
"""Files of which a DTD is made at most."""
MOST_BYTES: Final = 16 << 20
"""Bytes and characters of all texts of a DTD together, entities not expanded."""
LEAST_EXPANDED: Final = 2 << 20
"""Characters to which the parameter entities of any DTD, and entities in its defaults, may expand."""
AMPLIFICATION: Final = 8
"""How many times the characters of a larger DTD they may expand to. DocBook 4.5 takes three."""
REFERENCE_COST: Final = 100
"""Characters that a reference counts besides what it stands for."""
MOST_NESTED: Final = 100
"""Parameter entities that are open inside each other at most."""
_TEXT_DECLARATION: Final = re.compile(r"\A\ufeff?(?:<\?xml[ \t\n][^>]*\?>)?")


class Place(NamedTuple):
    """Where something stands in a text."""

    source: Source
    offset: int


@dataclass(eq=False)
class Source:
    """A text with declarations: of a file, or what an entity stands for that is referred to at ``reference``.

    ``path`` is the file where that is known, and ``file`` what messages call it.
    """

    text: str
    file: str | None = None
    path: Path | None = None
    reference: Place | None = None

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(found.end() for found in re.finditer("\n", self.text))]

    def position(self, offset: int) -> Position:
        """The position of a character; of one in the text of an internal entity, that of the reference."""
        if self.reference is not None:
            return self.reference.source.position(self.reference.offset)
        line = bisect_right(self._starts, offset)
        return Position(line, offset - self._starts[line - 1] + 1, self.file)

    def line(self, offset: int) -> str | None:
        """The line in which a position is, shortened."""
        if self.reference is not None:
            return self.reference.source.line(self.reference.offset)
        start = self._starts[bisect_right(self._starts, offset) - 1]
        end = self.text.find("\n", start)
        return self.text[start : end if end >= 0 else len(self.text)].strip()[:120] or None

    def fault(self, code: str, message: str, offset: int, hint: str | None = None) -> Fault:
        """A fault at a character of the text."""
        return Fault(code, message, self.position(offset), self.line(offset), hint)

    @property
    def start(self) -> int:
        """Where declarations begin: behind a text declaration."""
        found = _TEXT_DECLARATION.match(self.text)
        return found.end() if found and self.reference is None else 0


class DtdLimitError(Exception):
    """A DTD exceeds a limit; its argument says which."""


@dataclass(slots=True)
class Spending:
    """What the texts of a DTD have cost so far.

    Raises :class:`DtdLimitError` beyond :data:`MOST_FILES`, :data:`MOST_BYTES` or what entities may expand to.
    """

    files: int = 0
    read: int = 0
    expanded: int = 0

    def file(self, size: int) -> None:
        self.files += 1
        self.read += size
        if self.files > MOST_FILES:
            raise DtdLimitError(f"the DTD has more than {MOST_FILES:,} files")
        if self.read > MOST_BYTES:
            raise DtdLimitError(f"the DTD has more than {MOST_BYTES:,} characters")

    def reference(self, size: int) -> None:
        self.expanded += size + REFERENCE_COST
        if self.expanded > max(LEAST_EXPANDED, AMPLIFICATION * self.read):
            raise DtdLimitError(f"its entities expand to {self.expanded:,} characters: the amplification is too large")


@dataclass(slots=True)
class Files:
    """The files that a DTD may read: those in ``folder`` and below, and those that catalogues name.

    Without ``folder`` no file is read unless a catalogue of the user names it.
    """

    folder: Path | None = None
    catalogues: Catalogues = field(default_factory=Catalogues)
    spending: Spending = field(default_factory=Spending)

    @classmethod
    def of(cls, path: Path | None, catalogues: Sequence[str | os.PathLike[str]]) -> Files:
        """The files for the DTD in the file ``path``, with catalogues that the user names."""
        folder = None if path is None else path.parent
        named = tuple(Path(os.fspath(each)) for each in catalogues)
        return cls(folder, Catalogues(named, beside(folder)))

    def read(self, what: str, identifier: ExternalIdentifier, declared: Place) -> Source:
        """The text of an external entity, ``what``, that is declared at a place.

        Raises :class:`SchemaError` (HX2002) when there is none that may be read.
        """
        path, looked_at = self._find(identifier)
        if path is not None:
            try:
                return self.source(path)
            except InputError as error:
                if error.faults[0].code != "HX1001":
                    raise
                looked_at.append(f"{file_name(path)}: {error.reason}")
        message = f"{what} is external ({identifier})"
        if not looked_at and self.folder is None:
            hint = "write its declarations into the DTD; other files and the network are not read"
        else:
            hint = f"looked at {', '.join(looked_at)}" if looked_at else "the network is not asked"
            hint += f"; a catalogue, such as {CATALOGUE} beside the DTD, can name its file"
        raise SchemaError(declared.source.fault("HX2002", message, declared.offset, hint))

    def source(self, path: Path) -> Source:
        """The text of a file; raises :class:`InputError` as :func:`heptox.xml.read_dtd_text`."""
        name = file_name(path)
        try:
            mode = path.stat().st_mode
        except (OSError, ValueError) as error:
            raise unreadable(name, error) from None
        if not S_ISREG(mode):
            raise InputError(Fault("HX1001", "cannot be read: it is no file", file=name))
        data = read_bytes(path, maximum_size=MOST_BYTES, only_regular=True)
        self.spending.file(len(data))
        return Source(decode_dtd(data, name), name, path)

    def _find(self, identifier: ExternalIdentifier) -> tuple[Path | None, list[str]]:
        """The file that an identifier means, and else where it was looked for."""
        named = self.catalogues.find(identifier)
        if named is not None:
            return named, []
        looked_at = list(self.catalogues.looked_at)
        base = identifier.base.parent if identifier.base else None
        path = path_of(identifier.system)
        if path is None or not identifier.system or self.folder is None or base is None:
            return None, looked_at
        path = base / path
        if not _is_below(path, self.folder):
            return None, [f"{file_name(path)}: outside of the DTD's folder", *looked_at]
        return path, looked_at


def _is_below(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):
        return False


@dataclass(eq=False, slots=True)
class ParameterEntity:
    """A parameter entity: its replacement text, or its external identifier; ``declared`` is where that stands."""

    name: str
    declared: Place
    text: str | None = None
    external: ExternalIdentifier | None = None
    source: Source | None = None
    """What was read of an external one."""
    tokens: list[Token] | None = None
    """Its replacement text as a part of declarations, once it has been one."""


class Token(NamedTuple):
    """A token of a declaration.

    ``kind`` is ``name`` (of any characters of names), ``literal``, ``hash`` (a keyword behind ``#``), ``reference`` (to
    a parameter entity), ``end`` for the end of the text, else the sign itself. ``spaced``: white space is before it.
    """

    kind: str
    value: str
    offset: int
    spaced: bool


_TOKEN: Final = re.compile(
    r"""(?P<space>[ \t\r\n]+)|(?P<literal>"[^"]*"|'[^']*')|%(?P<reference>[^ \t\r\n%"'()|,?*+><#;&\[\]=]+);"""
    r"""|(?P<hash>\#[A-Za-z]*)|(?P<name>[^ \t\r\n%"'()|,?*+><#;&\[\]=]+)|(?P<sign>.)""",
    re.DOTALL,
)


def tokens_of(text: str, start: int = 0, *, ends: str = "") -> list[Token]:
    """The tokens of a text, up to and with the first that is one of ``ends``; the last is of kind ``end`` otherwise.

    >>> [token.value for token in tokens_of("<!ELEMENT a (b, %c;)*>", 9, ends=">")]
    ['a', '(', 'b', ',', 'c', ')', '*', '>']
    """
    found: list[Token] = []
    spaced = False
    for match in _TOKEN.finditer(text, start):
        kind = match.lastgroup or ""
        if kind == "space":
            spaced = True
            continue
        value = match[kind]
        if kind == "sign":
            kind = value
        found.append(Token(kind, value, match.start(), spaced))
        spaced = False
        if kind in ends and ends:
            return found
    found.append(Token("end", "", len(text), spaced))
    return found


def illegal_character(text: str) -> tuple[int, str] | None:
    """Where a text has its first character that XML cannot hold, and which it is."""
    found = NO_CHARACTER.search(text)
    return (found.start(), f"U+{ord(found[0]):04X}") if found else None

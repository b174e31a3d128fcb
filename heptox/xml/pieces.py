"""Documents of any size as trees of their parts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from lxml import etree

from heptox.errors import Fault, InputError, Position
from heptox.xml.events import Readable, StartHandler, XmlReader
from heptox.xml.files import MAXIMUM_SIZE
from heptox.xml.scopes import NamespaceError, NamespaceScopes
from heptox.xml.trees import PARSING, XmlElement, new_parser, syntax_fault
from heptox.xml.writing import escaped_text, start_tag

PIECE: Final = 1 << 15
"""About how many bytes a :class:`PieceReader` reads before it cuts, where it may."""


@dataclass(frozen=True, slots=True)
class Outline:
    """Where a document may be cut: between the children of an element, as this says for each expanded name of a child.

    ``None`` is said of children that are to stay whole. Of names that are not there nothing is asked: elements of them
    may be cut anywhere.
    """

    below: Mapping[str, Outline | None]


_ANYTHING: Final = Outline({})


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a document as a tree, from one cut to the next.

    ``begun`` are the elements, from the root down, that began before; of these there are only the names here, and what
    they declare. ``open`` are those that go on behind. ``begin`` is where the part begins. Where nothing so far is in a
    namespace, it is no ``named`` one.
    """

    root: XmlElement
    begun: tuple[XmlElement, ...]
    open: tuple[XmlElement, ...]
    begin: Position
    named: bool = False


class PieceTooLargeError(Exception):
    """More of a document would have to be held as one :class:`Piece` than may be."""


class PieceReader:
    """Reads a document as trees of its parts, one after the other, and keeps nothing of those that have gone.

    What a document is stays as everywhere here. Each part is limited as :func:`parse_document` limits documents; how
    large a document is altogether is not, unless the caller says so.

    >>> from heptox.xml import write_element
    >>> from io import BytesIO
    >>> outline = Outline({"a": Outline({"b": None})})
    >>> reader = PieceReader(BytesIO(b"<a><b>x</b><b>y</b></a>" + b" " * 2000), outline, size=4)
    >>> [write_element(piece.root) for piece in reader.read(5000)]
    ['<a><b>x</b><b>y</b></a>']
    """

    def __init__(
        self,
        source: Readable,
        outline: Outline,
        file: str | None = None,
        *,
        size: int = PIECE,
        maximum_size: int = sys.maxsize,
    ) -> None:
        self._file = file
        self._size = size
        self._source = _BufferedSource(source)
        self._reader = XmlReader(self._source, file, maximum_size=maximum_size, as_written=True)
        self._parser = new_parser(None)
        self._written: _Markup | None = None
        self._scopes = NamespaceScopes()
        self._named = False
        self._outlines = [outline]
        self._names: list[str] = []
        self._tags: list[_Tag] = []
        self._whole: str | None = None
        self._may_cut = False
        self._cut: _Cut | None = None
        self._last = _Cut((), b"", Position(1, 1, file))

    @property
    def path(self) -> tuple[str, ...]:
        """The expanded names of the elements that are open, the root first, down to one that has to stay whole."""
        return (*self._names, self._whole) if self._whole else tuple(self._names)

    def read(self, most: int) -> Iterator[Piece]:
        """The parts in their order.

        Raises :class:`InputError` as :meth:`XmlReader.read`, and :class:`PieceTooLargeError` where more than ``most``
        bytes, or characters, would have to be held for one part.
        """
        for _ in self._reader.read(self._first, lambda _: None, lambda _: None, at_once=self._size):
            if self._cut is not None:
                yield self._piece(self._cut)
                self._cut = None
            if len(self._source.kept) + (self._written.length if self._written else 0) > most:
                raise PieceTooLargeError
            self._may_cut = True
        yield self._piece(_Cut((), self._taken(None), self._reader.position))

    # what the reader reports

    def _first(self, name: str, attributes: list[str]) -> None:
        """The start tag of the root; what follows is reported to other handlers."""
        self._source.take(self._reader.offset)
        self._last = _Cut((), b"", self._reader.position)
        start, end = self._handlers()
        if self._reader.is_literal:
            self._reader.tell(start, end, None)
        else:
            self._source.keeps = False
            written = self._written = _Markup()

            def written_start(name: str, attributes: list[str]) -> None:
                start(name, attributes)
                written.start(name, attributes)

            def written_end(name: str) -> None:
                end(name)
                written.end(name)

            self._reader.tell(written_start, written_end, written.text)
            written.start(name, attributes)
        self._may_cut = False
        start(name, attributes)

    def _handlers(self) -> tuple[StartHandler, Callable[[str], None]]:
        """What follows the elements that are open. It is called for each tag, so all that it needs is at hand."""
        outlines, names, tags, scopes = self._outlines, self._names, self._tags, self._scopes
        inside = 0

        def start(written: str, attributes: list[str]) -> None:
            nonlocal inside
            name = written
            if attributes or ":" in written or not scopes.is_empty:
                name = self._expanded(len(names) + inside + 1, written, attributes)
            if inside:
                inside += 1
                return
            if self._may_cut:
                self._cut_here()
            outline = outlines[-1].below.get(name, _ANYTHING)
            if outline is None:
                inside = 1
                self._whole = name
            else:
                outlines.append(outline)
                names.append(name)
                declared = () if scopes.is_empty else scopes.declared_at(len(names))
                tags.append(_Tag(start_tag(written, [*declared]), written))

        def end(_: str) -> None:
            nonlocal inside
            if not scopes.is_empty:
                scopes.end(len(names) + inside)
            if not inside:
                outlines.pop()
                names.pop()
                tags.pop()
                return
            inside -= 1
            if not inside:
                self._whole = None

        return start, end

    def _expanded(self, depth: int, name: str, attributes: list[str]) -> str:
        try:
            expanded, others = self._scopes.start(depth, name, attributes)
        except NamespaceError as error:
            raise error.at(self._reader.position) from None
        self._named = self._named or not self._scopes.is_empty or any(one[0] == "{" for one in others)
        return expanded

    # pieces

    def _cut_here(self) -> None:
        """Before an element whose parent may be cut."""
        self._may_cut = False
        reader = self._reader
        self._cut = _Cut(tuple(self._tags), self._taken(reader.offset), reader.position)

    def _taken(self, offset: int | None) -> bytes:
        return self._source.take(offset) if self._written is None else self._written.take()

    def _piece(self, cut: _Cut) -> Piece:
        last, self._last = self._last, cut
        before = "".join(tag.start for tag in last.tags).encode()
        after = "".join(f"</{tag.name}>" for tag in reversed(cut.tags)).encode()
        try:
            root = self._tree(before + cut.before + after)
        except InputError as error:
            raise InputError(_moved(fault, last.position, len(before)) for fault in error.faults) from None
        begun, open_ = _line(root, len(last.tags), 0), _line(root, len(cut.tags), -1)
        return Piece(root, begun, open_, last.position, self._named)

    def _tree(self, data: bytes) -> XmlElement:
        try:
            with PARSING:
                root = etree.fromstring(data, self._parser)
        except etree.XMLSyntaxError as error:
            raise InputError(syntax_fault(error, self._parser, data, None, self._file)) from None
        return root


class _Tag(NamedTuple):
    """The start tag of an element that is open, with what it declares, and its name as it is written."""

    start: str
    name: str


@dataclass(frozen=True, slots=True)
class _Cut:
    """Where a document is cut: the elements that are open, what stands between the cut before and this one, and the
    place."""

    tags: tuple[_Tag, ...]
    before: bytes
    position: Position


class LiteralSource:
    """What a document means, as a source in UTF-8 in which nothing is declared: entities and defaults are in place.

    >>> from io import BytesIO
    >>> LiteralSource(BytesIO(b"<!DOCTYPE a [<!ENTITY e '<b/>'>]><a>&e;</a>")).read(100)
    b'<a><b></b></a>'
    """

    def __init__(self, source: Readable, file: str | None = None, *, maximum_size: int = MAXIMUM_SIZE) -> None:
        self._markup = _Markup()
        reader = XmlReader(source, file, maximum_size=maximum_size, as_written=True)
        self._blocks = reader.read(self._markup.start, self._markup.end, self._markup.text)
        self._waiting = bytearray()

    def read(self, size: int, /) -> bytes:
        """As :meth:`Readable.read`. Raises :class:`InputError` as :meth:`XmlReader.read`."""
        while len(self._waiting) < size and next(self._blocks, None) is not None:
            self._waiting += self._markup.take()
        data = bytes(self._waiting[:size])
        del self._waiting[:size]
        return data


class _BufferedSource:
    """A source that keeps what was read of it until that is taken."""

    def __init__(self, source: Readable) -> None:
        self.kept = bytearray()
        self.keeps = True
        self._source = source
        self._taken = 0

    def read(self, size: int, /) -> bytes:
        data = self._source.read(size)
        if self.keeps:
            self.kept += data
        return data

    def take(self, offset: int | None) -> bytes:
        """What is kept before an offset of the source."""
        length = len(self.kept) if offset is None else offset - self._taken
        taken = bytes(self.kept[:length])
        del self.kept[:length]
        self._taken += length
        return taken


class _Markup:
    """The text of a document whose parts are reported, in UTF-8: all that it declares has been put in its place."""

    def __init__(self) -> None:
        self.length = 0
        self._parts: list[str] = []

    def start(self, name: str, attributes: list[str]) -> None:
        self._add(start_tag(name, attributes))

    def end(self, name: str) -> None:
        self._add(f"</{name}>")

    def text(self, part: str) -> None:
        self._add(escaped_text(part))

    def take(self) -> bytes:
        """What has come since it was asked last."""
        taken = "".join(self._parts).encode()
        self._parts.clear()
        self.length = 0
        return taken

    def _add(self, part: str) -> None:
        self._parts.append(part)
        self.length += len(part)


def _line(root: XmlElement, length: int, place: int) -> tuple[XmlElement, ...]:
    """The first or last element of each level, from the root down, so many."""
    line = [root] if length else []
    while len(line) < length:
        line.append(line[-1][place])
    return tuple(line)


def _moved(fault: Fault, begin: Position, before: int) -> Fault:
    """A fault of a text that begins elsewhere, behind so many bytes."""
    position = fault.position
    if position is None:
        return fault
    column = position.column + (max(begin.column - 1 - before, 0) if position.line == 1 else 0)
    return replace(fault, position=Position(position.line + begin.line - 1, column, position.file))

"""The chunker: a document is read once, as a stream, and comes out as chunks, each with what its filters need.

Subtrees are copied as ranges of bytes; of the elements above and beside them there are the start tags. Each chunk is a
well-formed document. A large document is cut besides: a chunk comes in several pieces then, one after the other, each
with the start tags of the elements that are open.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from heptox.errors import DisseminationError, Fault
from heptox.filtering.schema_steps import SchemaSteps, TagPath
from heptox.pattern import printed_test
from heptox.xml import LiteralSource, NamespaceError, NamespaceScopes, Readable, XmlReader, start_tag

MOST_HELD: Final = 1 << 28
"""How many bytes one chunk may have that cannot be cut, or one piece of those that can, unless the caller says
otherwise: a tree takes some ten times as much memory."""

PIECE: Final = 1 << 23
"""From how many bytes on a document is cut, unless the caller says otherwise."""


TOO_LARGE_HINT: Final = "let more be held, or leave out filters that look at much of a document at once"

_BLOCK: Final = 1 << 18
_MOST_TAGS: Final = 10_000
"""How many tags below an element are kept in mind."""


@dataclass(frozen=True, slots=True)
class Projection:
    """What one chunk has of a document.

    ``whole`` are the tag paths of the elements that are copied, ``bare`` of those with their start tag only. Between
    elements at ``units``, none of which begins another, the chunk may be cut; without any it is never cut. Where the
    elements at ``marked`` paths begin is reported with the chunk.
    """

    whole: frozenset[TagPath]
    bare: frozenset[TagPath] = frozenset()
    units: frozenset[TagPath] = frozenset()
    marked: frozenset[TagPath] = frozenset()


@dataclass(frozen=True, slots=True)
class ChunkText:
    """A chunk of a document, or a piece of one, in UTF-8: ``number`` is that of its projection.

    ``begins`` has, for each marked tag path, where its elements begin in the document, in bytes.
    """

    number: int
    data: bytes
    begins: Mapping[TagPath, array[int]] = field(default_factory=dict)


class DocumentTooLargeError(DisseminationError):
    """More of a document would have to be held at once than may be (HX9201)."""


class OutsideSchemaError(Exception):
    """An element stands where the schema does not allow it; ``fault`` (HX9204) says which and where."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault


class _NotLiteralError(Exception):
    """A document is in another encoding, or declares what has a say in what it means."""


@dataclass(slots=True, eq=False)
class _Trie:
    """The tag paths of all projections: the projections that copy the elements at a path, and so on."""

    children: dict[str, _Trie] = field(default_factory=dict)
    whole: list[int] = field(default_factory=list)
    bare: list[int] = field(default_factory=list)
    marked: list[tuple[int, TagPath]] = field(default_factory=list)
    is_unit: bool = False

    def at(self, path: TagPath) -> _Trie:
        node = self
        for tag in path:
            node = node.children.setdefault(tag, _Trie())
        return node


def _trie(projections: Sequence[Projection]) -> _Trie:
    root = _Trie()
    for number, projection in enumerate(projections):
        for path in projection.whole:
            root.at(path).whole.append(number)
        for path in projection.bare:
            root.at(path).bare.append(number)
        for path in projection.marked:
            root.at(path).marked.append((number, path))
        for path in projection.units:
            root.at(path).is_unit = True
    return root


@dataclass(slots=True, eq=False)
class _State:
    """What is done with elements that are reached by the same tags, as far as these matter.

    ``copying`` are the projections in whose copied subtrees the elements stand. What they begin to copy here, and what
    they have bare, is given by ``begins`` and ``bare``; an element that is ``quiet`` is nothing to any of them.
    """

    tag: str | None
    node: _Trie | None
    copying: frozenset[int]
    begins: tuple[int, ...] = ()
    bare: tuple[int, ...] = ()
    marked: tuple[tuple[int, TagPath], ...] = ()
    is_unit: bool = False
    quiet: bool = True
    is_open: bool = False
    """Whether its start tag may be needed, for itself or for what stands in it."""
    after: dict[str, _State] = field(default_factory=dict)


class Chunker:
    """Cuts documents up as projections say; where ``schema`` is given, documents are checked against it on the way.

    A document is cut into pieces of about ``size`` bytes of it, never if that is ``None``.

    >>> from io import BytesIO
    >>> whole = frozenset({("a", "b", "c")})
    >>> chunker = Chunker([Projection(whole, bare=frozenset({("a", "d")}))])
    >>> for chunks in chunker.read(BytesIO(b"<a x='1'><b><c>1</c>2</b><d y='3'>4</d></a>")):
    ...     print(chunks[0].data.decode())
    <a x="1"><b><c>1</c>2</b><d y="3"></d></a>
    """

    def __init__(
        self,
        projections: Sequence[Projection],
        schema: SchemaSteps | None = None,
        *,
        size: int | None = None,
        most_held: int = MOST_HELD,
    ) -> None:
        self._projections = tuple(projections)
        self._schema = schema
        self._size = size
        self._most_held = most_held
        self._start = _State(None, _trie(projections), frozenset())
        self._quiet: dict[tuple[str, frozenset[int]], _State] = {}
        self.attributes: set[str] = set()
        """The names of attributes without a prefix, as far as they were met."""
        self._uncut = [number for number, each in enumerate(self._projections) if not each.units]

    def read(self, source: Readable, file: str | None = None) -> Iterator[tuple[ChunkText, ...]]:
        """The chunks of a document: those that are cut come again and again, those that are not with the last ones.

        ``source`` can be read again from its beginning, if it has a method ``seek``; a document in another encoding
        than UTF-8, or with declarations, is read twice as far as its root.

        Raises :class:`InputError` as :meth:`XmlReader.read`, :class:`OutsideSchemaError`, and
        :class:`DocumentTooLargeError` where a chunk or a piece becomes larger than may be.
        """
        try:
            yield from _Reading(self, source, file).chunks()
        except _NotLiteralError:
            source.seek(0)  # type: ignore[attr-defined]
            yield from _Reading(self, LiteralSource(source, file, maximum_size=sys.maxsize), file).chunks()

    @property
    def projections(self) -> tuple[Projection, ...]:
        """What the chunks have of a document."""
        return self._projections

    def after(self, state: _State, tag: str, reading: _Reading) -> _State:
        """The state of an element below one in another state."""
        if self._schema is not None and not self._schema.allows(state.tag, tag):
            raise OutsideSchemaError(reading.outside(state.tag, tag))
        node = state.node.children.get(tag) if state.node is not None else None
        if state.tag is None and self._uncut:
            # a chunk that is never cut is a document, even where nothing that it asks for is there
            node = replace(node or _Trie(), bare=[*(node.bare if node else ()), *self._uncut])
        if node is None:
            found = self._quiet_state(tag if self._schema is not None else "", state.copying)
        else:
            begins = tuple(number for number in node.whole if number not in state.copying)
            copying = state.copying.union(begins)
            bare = tuple(number for number in dict.fromkeys(node.bare) if number not in copying)
            is_open = bool(bare or node.children)
            marked = tuple(node.marked)
            found = _State(tag, node, copying, begins, bare, marked, node.is_unit, quiet=False, is_open=is_open)
        if len(state.after) < _MOST_TAGS:
            state.after[tag] = found
        return found

    def _quiet_state(self, tag: str, copying: frozenset[int]) -> _State:
        """The one state of all elements with a tag that are nothing to any projection, however deep they stand."""
        return self._quiet.setdefault((tag, copying), _State(tag, None, copying))


class _Chunk:
    """A chunk, or a piece of one, as it is written: ``depth`` is how many of the open elements' tags it has.

    ``since`` is from where on a range of the document belongs to it that has not been copied yet, -1 for none.
    """

    __slots__ = ("begins", "depth", "length", "parts", "since")

    def __init__(self, marked: Iterable[TagPath]) -> None:
        self.parts: list[bytes] = []
        self.length = 0
        self.depth = 0
        self.since = -1
        self.begins = {path: array("q") for path in marked}

    def add(self, part: bytes) -> None:
        self.parts.append(part)
        self.length += len(part)

    def taken(self, marked: Iterable[TagPath]) -> tuple[bytes, dict[TagPath, array[int]]]:
        data, begins = b"".join(self.parts), self.begins
        self.parts, self.length = [], 0
        self.begins = {path: array("q") for path in marked}
        return data, begins


class _Window:
    """A source of which that is kept which may still be copied."""

    def __init__(self, source: Readable) -> None:
        self._source = source
        self._kept = bytearray()
        self._begin = 0

    def read(self, size: int, /) -> bytes:
        data = self._source.read(size)
        self._kept += data
        return data

    def between(self, begin: int, end: int) -> bytes:
        return bytes(self._kept[begin - self._begin : end - self._begin])

    def forget(self, end: int) -> None:
        """Keep nothing of what stands before a place."""
        del self._kept[: end - self._begin]
        self._begin = end


class _Reading:
    """One document on its way through a chunker."""

    def __init__(self, chunker: Chunker, source: Readable, file: str | None) -> None:
        self._chunker = chunker
        self._file = file
        self._window = _Window(source)
        self._reader = XmlReader(self._window, file, maximum_size=sys.maxsize, as_written=True)
        self._chunks = [_Chunk(projection.marked) for projection in chunker.projections]
        self._cut = [number for number, each in enumerate(chunker.projections) if each.units]
        self._scopes = NamespaceScopes()
        self._tags: list[bytes] = []
        """The start tags of the open elements that have a place in the tries."""
        self._names: list[str] = []
        self._pending: tuple[int, ...] = ()
        """The chunks whose range goes on although the element has ended: behind it, if its sibling is copied too."""
        self._open_units = 0
        self._wants_cut = False
        self._last_cut = 0
        self._ready: list[ChunkText] = []

    def chunks(self) -> Iterator[tuple[ChunkText, ...]]:
        size = self._chunker._size
        read = 0
        # it can be cut once in each block
        at_once = _BLOCK if size is None else min(size, _BLOCK)
        for read in self._reader.read(self._first, lambda _: None, lambda _: None, at_once=at_once):
            if self._ready:
                yield tuple(self._ready)
                self._ready.clear()
            self._copy_so_far(self._reader.offset)
            self._wants_cut = size is not None and read - self._last_cut >= size
        self._settle(read)
        for number in range(len(self._chunks)):
            self._finish(number)
        yield tuple(self._ready)

    def outside(self, parent: str | None, tag: str) -> Fault:
        """What to say of an element that the schema does not allow. Validity is not asked: filters need to know which
        elements may be where, and the tables that say what is copied of an element know that anyway."""
        tag, parent = printed_test(tag), None if parent is None else printed_test(parent)
        where = f"below {parent}" if parent is not None else "as the root"
        return Fault("HX9204", f"the schema has no {tag} {where}", self._reader.position)

    # -- what the reader reports --------------------------------------------------------------------------------------

    def _first(self, name: str, attributes: list[str]) -> None:
        """The start tag of the root; what follows is reported to other handlers."""
        if not self._reader.is_literal:
            raise _NotLiteralError
        start, end = self._handlers()
        self._reader.tell(start, end, None)
        start(name, attributes)

    def _handlers(self) -> tuple[Callable[[str, list[str]], None], Callable[[str], None]]:
        """What follows the open elements. It is called for each tag, so all that it needs is at hand."""
        stack = [self._chunker._start]
        after, reader, known, scopes = self._chunker.after, self._reader, self._chunker.attributes, self._scopes

        def start(name: str, attributes: list[str]) -> None:
            state = stack[-1]
            tag = name
            if ":" in name or not scopes.is_empty or (attributes and not known.issuperset(attributes[::2])):
                tag = self._expanded(len(stack), name, attributes)
            state = state.after.get(tag) or after(state, tag, self)
            stack.append(state)
            if state.quiet and not self._pending:
                return
            if self._pending and state.begins != self._pending:
                self._settle(reader.offset)
            if self._wants_cut and not self._open_units:
                self._cut_here(reader.offset)
            if not state.quiet:
                self._open(state, name, attributes)

        def end(_: str) -> None:
            state = stack.pop()
            if not scopes.is_empty:
                scopes.end(len(stack))
            if self._pending:
                self._settle(reader.offset)
            if not state.quiet:
                self._close(state)

        return start, end

    def _expanded(self, depth: int, name: str, attributes: list[str]) -> str:
        """The expanded name of an element at a depth; the names of its attributes are looked at, and kept in mind where
        they can stand for nothing else."""
        try:
            tag, _ = self._scopes.start(depth, name, attributes)
        except NamespaceError as error:
            raise error.at(self._reader.position) from None
        known = self._chunker.attributes
        known.update(one for one in attributes[::2] if ":" not in one and one != "xmlns" and len(known) < _MOST_TAGS)
        return tag

    def _open(self, state: _State, name: str, attributes: list[str]) -> None:
        """An element that is something to a chunk: one that is copied, or bare, or above such."""
        if state.begins:
            self._begin(state)
        for number, path in state.marked:
            self._chunks[number].begins[path].append(self._reader.offset)
        if state.is_open:
            self._tags.append(start_tag(name, attributes).encode())
            self._names.append(name)
            for number in state.bare:
                self._write_open(self._chunks[number])
        self._open_units += state.is_unit

    def _begin(self, state: _State) -> None:
        if self._pending:
            self._pending = ()
            return
        offset = self._reader.offset
        for number in state.begins:
            chunk = self._chunks[number]
            self._write_open(chunk)
            chunk.since = offset

    def _close(self, state: _State) -> None:
        self._pending = state.begins
        self._open_units -= state.is_unit
        if not state.is_open:
            return
        self._tags.pop()
        name = self._names.pop()
        depth = len(self._tags)
        for chunk in self._chunks:
            if chunk.depth > depth:
                chunk.add(f"</{name}>".encode())
                chunk.depth = depth

    def _write_open(self, chunk: _Chunk) -> None:
        """Write the start tags of all open elements."""
        depth = len(self._tags)
        if chunk.depth < depth:
            for tag in self._tags[chunk.depth :]:
                chunk.add(tag)
            chunk.depth = depth

    # -- ranges -------------------------------------------------------------------------------------------------------

    def _settle(self, offset: int) -> None:
        """End the ranges that went on behind their elements."""
        for number in self._pending:
            chunk = self._chunks[number]
            chunk.add(self._window.between(chunk.since, offset))
            chunk.since = -1
        self._pending = ()

    def _copy_so_far(self, offset: int) -> None:
        """Copy what is surely part of the ranges, and keep no more of the source than is needed."""
        for number, chunk in enumerate(self._chunks):
            if chunk.since >= 0:
                chunk.add(self._window.between(chunk.since, offset))
                chunk.since = offset
            if chunk.length > self._chunker._most_held:
                self._refuse(number)
        self._window.forget(offset)

    def _refuse(self, number: int) -> None:
        cannot = "a piece of a chunk" if self._chunker.projections[number].units else "a chunk that cannot be cut"
        message = f"{cannot} would have more than {self._chunker._most_held} bytes"
        raise DocumentTooLargeError(Fault("HX9201", message, file=self._file, hint=TOO_LARGE_HINT))

    # -- cuts ---------------------------------------------------------------------------------------------------------

    def _cut_here(self, offset: int) -> None:
        """Before an element that stands in no unit."""
        self._settle(offset)
        for number in self._cut:
            self._finish(number)
        self._wants_cut = False
        self._last_cut = offset

    def _finish(self, number: int) -> None:
        chunk = self._chunks[number]
        if not chunk.parts:
            return
        for name in reversed(self._names[: chunk.depth]):
            chunk.add(f"</{name}>".encode())
        chunk.depth = 0
        data, begins = chunk.taken(self._chunker.projections[number].marked)
        self._ready.append(ChunkText(number, data, begins))

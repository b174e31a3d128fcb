"""The text of documents at rest: compressed pieces, from which elements are cut."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import Lock
from typing import Final

import duckdb
import zstandard
from cachetools import LRUCache

CHUNK: Final = 1 << 18
"""How many bytes a piece has; the last piece of a document has what is left."""
CACHE: Final = 1 << 26
"""How many bytes of pieces that were read are kept at hand."""
AHEAD: Final = 15
"""How many pieces are read at once beyond one that follows another which was read."""

_LEVEL: Final = 1


class ChunkWriter:
    """Cuts a text that comes in parts of any length into pieces."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._waiting = 0
        self._start = 0

    def add(self, part: bytes) -> Iterator[tuple[int, bytes]]:
        """Where the pieces begin that are now complete, and the pieces."""
        self._parts.append(part)
        self._waiting += len(part)
        if self._waiting >= CHUNK:
            yield from self._cut(CHUNK)

    def end(self) -> Iterator[tuple[int, bytes]]:
        """The last piece, none of an empty text."""
        yield from self._cut(1)

    def _cut(self, least: int) -> Iterator[tuple[int, bytes]]:
        text = b"".join(self._parts)
        place = 0
        while len(text) - place >= least:
            piece = text[place : place + CHUNK]
            yield self._start, piece
            place += len(piece)
            self._start += len(piece)
        self._parts = [text[place:]]
        self._waiting = len(text) - place


def cut_out(starts: Sequence[int], piece: Callable[[int], bytes], node: int, stop: int) -> bytes:
    """What stands from ``node`` to before ``stop`` in a text of which there are pieces that begin at ``starts``.

    >>> cut_out([0, 3, 6], [b"abc", b"def", b"g"].__getitem__, 2, 7)
    b'cdefg'
    """
    number = bisect_right(starts, node) - 1
    found = piece(number)[node - starts[number] : stop - starts[number]]
    if len(found) == stop - node:
        return found
    following = range(number + 1, bisect_left(starts, stop))
    return b"".join([found, *(piece(number)[: stop - starts[number]] for number in following)])


def place(doc: int, start: int) -> int:
    """A number for a piece: by an index of one column DuckDB reads one piece, else it would read thousands."""
    return (doc << 40) + start


def compressed(doc: int, pieces: Iterable[tuple[int, bytes]]) -> list[tuple[int, int, bytes]]:
    """The pieces as they are kept: where they begin, their places, their texts."""
    compress = zstandard.ZstdCompressor(level=_LEVEL).compress
    return [(start, place(doc, start), compress(piece)) for start, piece in pieces]


class ChunkReader:
    """Cuts out of the texts of documents. Threads may share it: the pieces of a document never change."""

    def __init__(self) -> None:
        self._pieces: LRUCache[tuple[int, int], bytes] = LRUCache(CACHE, getsizeof=len)
        self._starts: dict[int, list[int]] = {}
        self._lock = Lock()

    def read(self, cursor: duckdb.DuckDBPyConnection, doc: int, node: int, stop: int) -> bytes:
        """The text of a document from the byte ``node`` to before the byte ``stop``.

        Raises ``KeyError`` for a document that the cursor does not see.
        """
        starts = self._starts.get(doc)
        if starts is None:
            starts = self._starts_of(cursor, doc)
        return cut_out(starts, lambda number: self._piece(cursor, doc, starts, number), node, stop)

    def forget(self, doc: int) -> None:
        """Let go of what is at hand of a document."""
        with self._lock:
            self._starts.pop(doc, None)
            for key in [key for key in self._pieces if key[0] == doc]:
                del self._pieces[key]

    def _starts_of(self, cursor: duckdb.DuckDBPyConnection, doc: int) -> list[int]:
        rows = cursor.execute("SELECT start FROM chunks WHERE doc = ? ORDER BY start", [doc]).fetchall()
        if not rows:
            raise KeyError(doc)
        starts = self._starts[doc] = [start for (start,) in rows]
        return starts

    def _piece(self, cursor: duckdb.DuckDBPyConnection, doc: int, starts: list[int], number: int) -> bytes:
        with self._lock:
            found = self._pieces.get((doc, number))
        return found or self._read(cursor, doc, starts, number)

    def _read(self, cursor: duckdb.DuckDBPyConnection, doc: int, starts: list[int], number: int) -> bytes:
        """A piece that is not at hand, and some after it where pieces are read one after the other."""
        last = number + AHEAD if (doc, number - 1) in self._pieces else number
        between = [place(doc, starts[number]), place(doc, starts[min(last, len(starts) - 1)])]
        query = "SELECT data FROM chunks WHERE place BETWEEN ? AND ? ORDER BY place"
        if between[0] == between[1]:
            query, between = "SELECT data FROM chunks WHERE place = ?", between[:1]
        rows = cursor.execute(query, between).fetchall()
        if not rows:
            raise KeyError(doc)
        decompress = zstandard.ZstdDecompressor().decompress
        pieces = [decompress(data) for (data,) in rows]
        with self._lock:
            self._pieces.update(((doc, each), piece) for each, piece in enumerate(pieces, number))
        return pieces[0]

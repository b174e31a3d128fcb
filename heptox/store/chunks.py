"""The text of documents at rest: compressed pieces, from which elements are cut."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from threading import Lock
from typing import Final

import duckdb
import zstandard

CHUNK: Final = 1 << 18
"""How many characters a piece has; the last piece of a document has what is left."""
CACHE: Final = 1 << 26
"""How many characters of pieces that were read are kept at hand."""

_LEVEL: Final = 1


class ChunkWriter:
    """Cuts a text that comes in parts of any length into pieces."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._waiting = 0
        self._start = 0

    def add(self, part: str) -> Iterator[tuple[int, str]]:
        """Where the pieces begin that are now complete, and the pieces."""
        self._parts.append(part)
        self._waiting += len(part)
        if self._waiting >= CHUNK:
            yield from self._cut(CHUNK)

    def end(self) -> Iterator[tuple[int, str]]:
        """The last piece, none of an empty text."""
        yield from self._cut(1)

    def _cut(self, least: int) -> Iterator[tuple[int, str]]:
        text = "".join(self._parts)
        place = 0
        while len(text) - place >= least:
            piece = text[place : place + CHUNK]
            yield self._start, piece
            place += len(piece)
            self._start += len(piece)
        self._parts = [text[place:]]
        self._waiting = len(text) - place


def compressed(pieces: Iterable[tuple[int, str]]) -> list[tuple[int, bytes]]:
    """The pieces as they are kept."""
    compress = zstandard.ZstdCompressor(level=_LEVEL).compress
    return [(start, compress(piece.encode())) for start, piece in pieces]


class ChunkReader:
    """Cuts out of the texts of documents. Threads may share it: the pieces of a document never change."""

    def __init__(self) -> None:
        self._pieces: OrderedDict[tuple[int, int], str] = OrderedDict()
        self._starts: dict[int, list[int]] = {}
        self._held = 0
        self._lock = Lock()

    def text(self, cursor: duckdb.DuckDBPyConnection, doc: int, node: int, stop: int) -> str:
        """The characters of a document from ``node`` to before ``stop``.

        Raises ``KeyError`` for a document that the cursor does not see.
        """
        starts = self._starts.get(doc)
        if starts is None:
            starts = self._starts_of(cursor, doc)
        number = bisect_right(starts, node) - 1
        start = starts[number]
        piece = self._piece(cursor, doc, start)
        found = piece[node - start : stop - start]
        if stop <= start + len(piece):
            return found
        parts = [found]
        for start in starts[number + 1 : bisect_right(starts, stop - 1)]:
            piece = self._piece(cursor, doc, start)
            parts.append(piece[: stop - start])
        return "".join(parts)

    def forget(self, doc: int) -> None:
        """Let go of what is at hand of a document."""
        with self._lock:
            self._starts.pop(doc, None)
            for key in [key for key in self._pieces if key[0] == doc]:
                self._held -= len(self._pieces.pop(key))

    def _starts_of(self, cursor: duckdb.DuckDBPyConnection, doc: int) -> list[int]:
        rows = cursor.execute("SELECT start FROM chunks WHERE doc = ? ORDER BY start", [doc]).fetchall()
        if not rows:
            raise KeyError(doc)
        starts = self._starts[doc] = [start for (start,) in rows]
        return starts

    def _piece(self, cursor: duckdb.DuckDBPyConnection, doc: int, start: int) -> str:
        key = doc, start
        with self._lock:
            if (piece := self._pieces.get(key)) is not None:
                self._pieces.move_to_end(key)
                return piece
        rows = cursor.execute("SELECT data FROM chunks WHERE doc = ? AND start = ?", [doc, start]).fetchall()
        if not rows:
            raise KeyError(doc)
        piece = zstandard.ZstdDecompressor().decompress(rows[0][0]).decode()
        with self._lock:
            if key not in self._pieces:
                self._pieces[key] = piece
                self._held += len(piece)
            while self._held > CACHE:
                self._held -= len(self._pieces.popitem(last=False)[1])
        return piece

"""The rows and the pieces of text of a document that is loaded, inserted while it is read."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Final

import pyarrow as pa

from heptox.store.chunks import ChunkWriter, compressed
from heptox.store.connection import Cursor
from heptox.store.markup import Markup
from heptox.store.places import Places
from heptox.store.shredding import MisfitError, Shredder

BATCH: Final = 1 << 23
"""After how many bytes of a document's text its rows are inserted."""
_CHUNK_TYPES: Final = (pa.int64(), pa.int64(), pa.large_binary())


class Intake:
    """Makes rows and pieces of the blocks of a document, and inserts them.

    Another thread does it, and alone uses the cursor, while the next block is read. When the block of this context
    manager ends, none does. ``length`` is that of the text, ``rows`` how many there are; they mean nothing when the
    document is not ``regular``.
    """

    def __init__(self, cursor: Cursor, doc: int, places: Places) -> None:
        self.length = 0
        self.rows = 0
        self.regular = True
        self._cursor = cursor
        self._doc = doc
        self._shredder = Shredder(places)
        self._types = list(places.types)
        self._tables = [relation.table for relation in places.catalogue.relations]
        self._writer = ChunkWriter()
        self._batches: dict[str, list[pa.RecordBatch]] = {}
        self._chunks: list[tuple[int, bytes]] = []
        self._inserted = 0
        self._worker = ThreadPoolExecutor(1)
        self._under_way: Future[None] | None = None

    def __enter__(self) -> Intake:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._worker.shutdown()

    def add(self, block: Markup) -> None:
        """Take the next block, once the one before it is done with."""
        self._wait()
        self._under_way = self._worker.submit(self._take, block)

    def end(self) -> None:
        """Insert what is left."""
        self._wait()
        self._chunks.extend(self._writer.end())
        self._insert()

    @property
    def white(self) -> bool:
        """Whether white space stands among elements where the schema has no text."""
        return self._shredder.white

    @property
    def instance(self) -> list[str]:
        """The elements, by their names, that have attributes besides those of the schema, which any may have."""
        return [self._types[kind] for kind in sorted(self._shredder.instance)]

    def _wait(self) -> None:
        if self._under_way is not None:
            self._under_way.result()

    def _take(self, block: Markup) -> None:
        self.length += len(block.text)
        self._chunks.extend(self._writer.add(block.text))
        if self.regular:
            try:
                self._add_rows(self._shredder.rows(block))
            except MisfitError:
                self.regular = False
        if self.length - self._inserted >= BATCH:
            self._insert()

    def _add_rows(self, batches: Iterable[tuple[int, pa.RecordBatch]]) -> None:
        for relation, rows in batches:
            self.rows += rows.num_rows
            self._batches.setdefault(self._tables[relation], []).append(rows)

    def _insert(self) -> None:
        if self._chunks:
            columns = zip(*compressed(self._doc, self._chunks), strict=True)
            arrays = [pa.array(column, kind) for column, kind in zip(columns, _CHUNK_TYPES, strict=True)]
            self._batches["chunks"] = [pa.RecordBatch.from_arrays(arrays, ["start", "place", "data"])]
        for table, found in self._batches.items():
            columns = pa.Table.from_batches(found)
            doc = pa.repeat(pa.scalar(self._doc, pa.int32()), columns.num_rows)
            # a view, which SQL would need, would be kept until the transaction ends, with all that it shows
            self._cursor.from_arrow(columns.add_column(0, "doc", doc)).insert_into(table)
        self._batches, self._chunks, self._inserted = {}, [], self.length

"""The table of what documents have besides their texts (:mod:`heptox.store.asides`)."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Final

import pyarrow as pa
from cachetools import LRUCache

from heptox.store.asides import Aside, Asides
from heptox.store.connection import Cursor, rows_of
from heptox.store.written_names import WrittenNames

ASIDES: Final = (
    "doc INTEGER NOT NULL, turn BIGINT NOT NULL, place BIGINT NOT NULL, data VARCHAR NOT NULL, leaf VARCHAR NOT NULL"
)
"""The columns of their table."""
_TYPES: Final = (pa.int32(), pa.int64(), pa.int64(), pa.large_string(), pa.large_string())
_DOCUMENTS: Final = 64
"""Of how many documents what they have is kept at hand."""


class AsidesReader:
    """Reads what documents have besides their texts, which never changes. Threads may share it."""

    def __init__(self, names: WrittenNames) -> None:
        self._names = names
        self._lock = Lock()
        self._found: LRUCache[int, Asides] = LRUCache(_DOCUMENTS)

    def read(self, cursor: Cursor, doc: int) -> Asides:
        """What a document has, which the cursor sees."""
        with self._lock:
            found = self._found.get(doc)
        if found is None:
            rows = rows_of(cursor, "SELECT place, data, leaf FROM asides WHERE doc = ? ORDER BY turn", [doc])
            found = Asides((Aside(*row) for row in rows), self._names)
            with self._lock:
                self._found[doc] = found
        return found


def keep_asides(cursor: Cursor, doc: int, asides: Sequence[Aside]) -> None:
    """Insert what a document has besides its text."""
    if not asides:
        return
    rows = [(doc, turn, aside.place, aside.data, aside.leaf) for turn, aside in enumerate(asides)]
    columns = [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), _TYPES, strict=True)]
    cursor.from_arrow(pa.Table.from_arrays(columns, ["doc", "turn", "place", "data", "leaf"])).insert_into("asides")

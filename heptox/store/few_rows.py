"""Statements that have few rows: to begin to read by Arrow takes longer than to find them."""

from __future__ import annotations

from threading import Lock
from typing import Final

import duckdb
import pyarrow as pa
from cachetools import LRUCache

from heptox.store.columnar import FEW
from heptox.store.connection import Cursor

_REMEMBERED: Final = 256
"""Statements of which it is known how many rows they had the last time."""


class FewRows:
    """What had fewer than :data:`FEW` rows the last time is fetched as values. For several threads."""

    def __init__(self) -> None:
        self._parsed = LRUCache[str, duckdb.Statement](_REMEMBERED)
        self._lock = Lock()

    def rows(self, cursor: Cursor, statement: str) -> list[pa.RecordBatch] | None:
        """All rows of a statement, in columns of the types of the values; ``None`` where it had, or has, many."""
        with self._lock:
            parsed = self._parsed.get(statement)
        if parsed is None:
            return None
        found = cursor.execute(parsed).fetchmany(FEW)
        if len(found) >= FEW:
            cursor.abort()  # what is read of it, not the transaction
            return None
        columns = enumerate(zip(*found, strict=True))
        return [pa.RecordBatch.from_pydict({str(place): values for place, values in columns})] if found else []

    def had(self, cursor: Cursor, statement: str, count: int) -> None:
        """Remember how many rows a statement had that was read to its end."""
        parsed = cursor.extract_statements(statement)[0] if count < FEW else None
        with self._lock:
            if parsed is None:
                self._parsed.pop(statement, None)
            else:
                self._parsed[statement] = parsed

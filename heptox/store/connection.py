"""Connections to DuckDB databases, one in a process for each file, and what is said where one fails."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import gettempdir
from threading import Lock
from typing import Any, Final, TypeAlias

import duckdb
import numpy as np
import pyarrow as pa

from heptox.doors import without
from heptox.errors import Fault, StoreError

MEMORY: Final = 320
"""Megabytes that DuckDB may use for a store in a file, unless the caller says otherwise."""

Cursor: TypeAlias = duckdb.DuckDBPyConnection
Value: TypeAlias = int | str | bool | datetime

_open_files: set[Path] = set()
_opening = Lock()
_LOCK_HOLDER: Final = re.compile(r"lock is held in .*\(PID (\d+)\)")


with without("pandas"):
    # Arrow imports it, where it is installed, when it first meets an array of numpy: 40 MB that nothing here uses, and
    # seconds for the first query of a daemon that is busy. It looks once.
    pa.array(np.zeros(1)).to_numpy(zero_copy_only=False)


def connected(path: Path | None, memory: int | None, threads: int) -> Cursor:
    """A connection to a database in a file or in memory; raises :class:`StoreError` as :meth:`Store.open`."""
    settings: dict[str, str | bool | int | float | list[str]] = {
        "threads": threads,
        "async_threads": 0,
        "arrow_large_buffer_size": True,
        "enable_external_access": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "python_enable_replacements": False,
        "temp_directory": f"{path}.tmp" if path else str(Path(gettempdir(), f"heptox-{os.getpid()}.tmp")),
    }
    if path is not None or memory is not None:
        settings["memory_limit"] = f"{memory or MEMORY}MB"
    if path is None:
        return duckdb.connect(":memory:", config=settings)
    with _opening:
        if path.resolve() in _open_files:
            raise StoreError(Fault("HX6013", "the store is open in this process already", file=str(path)))
        try:
            connection = duckdb.connect(str(path), config=settings)
        except duckdb.Error as error:
            raise StoreError(_opening_fault(error, path)) from None
        _open_files.add(path.resolve())
    return connection


def disconnect(connection: Cursor, path: Path | None) -> None:
    """Close a connection, so that its file can be opened again."""
    connection.close()
    if path is not None:
        with _opening:
            _open_files.discard(path.resolve())


def _opening_fault(error: duckdb.Error, path: Path) -> Fault:
    if held := _LOCK_HOLDER.search(str(error)):
        hint = "a store is open in one process at a time"
        return Fault("HX6013", f"process {held[1]} has the store open", hint=hint, file=str(path))
    return Fault("HX6014", f"cannot be opened as a store: {_first_line(error)}", file=str(path))


@contextmanager
def database_faults(
    code: str, what: str, *, hint: str | None = None, file: str | None = None, streamed: bool = False
) -> Iterator[None]:
    """Raise what the database says of a failure as a :class:`StoreError` that says ``what`` cannot be done.

    With ``streamed``, also what it says while rows are read as Arrow's.
    """
    try:
        yield
    except (duckdb.Error, OSError, pa.ArrowException) as error:
        if not (streamed or isinstance(error, duckdb.Error)):
            raise
        raise StoreError(Fault(code, f"{what}: {_first_line(error)}", hint=hint, file=file)) from error


def readable(path: Path | None) -> AbstractContextManager[None]:
    """Report (HX6014) a file that turns out to be damaged as one that is no store."""
    return database_faults("HX6014", "cannot be read", file=str(path) if path else None)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def rows_of(cursor: Cursor, statement: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
    """Execute a statement to its end: a result that is not fetched keeps the cursor from the next."""
    return cursor.execute(statement, values).fetchall()

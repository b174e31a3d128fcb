"""A DuckDB database for matching: statements with a deadline, tables of Arrow, errors with codes."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

from heptox.errors import DisseminationError, Fault

SECONDS: Final = 600.0
"""How long a statement may take, unless the caller says otherwise."""
MEMORY: Final = 2048
"""Megabytes that DuckDB may use, unless the caller says otherwise."""
THREADS: Final = 2


class Engine:
    """A database in memory, or in a file of its own.

    Joins are carried out in the order in which a statement writes them: DuckDB's own order has taken minutes where that
    takes a second (``matching.md``).

    Raises :class:`DisseminationError`: HX9021 where the file cannot be used, HX9022 where a statement is not ready
    after ``seconds``.
    """

    def __init__(
        self, file: Path | None = None, *, memory: int = MEMORY, threads: int = THREADS, seconds: float = SECONDS
    ) -> None:
        self.seconds = seconds
        self._file = file
        settings: dict[str, str | bool | int | float | list[str]] = {"memory_limit": f"{memory}MB", "threads": threads}
        try:
            self.connection = duckdb.connect(":memory:" if file is None else str(file), config=settings)
        except duckdb.Error as error:
            message = str(error).partition("\n")[0]
            raise DisseminationError(
                Fault(
                    "HX9021", f"cannot be opened: {message}", file=str(file), hint="close it, or rebuild it elsewhere"
                )
            ) from None
        # Rows come in the order that is asked for; to keep that of insertion costs memory.
        self.connection.execute("SET preserve_insertion_order = false")
        self.connection.execute("SET disabled_optimizers = 'join_order'")

    def close(self) -> None:
        self.connection.close()

    def run(self, statement: str, *parameters: object) -> None:
        """Carry out a statement."""
        with self._deadline():
            self.connection.execute(statement, list(parameters))

    def rows(self, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
        """What a statement finds."""
        with self._deadline():
            return self.connection.execute(statement, list(parameters)).fetchall()

    def one(self, statement: str, *parameters: object) -> Any:
        """The only value that a statement finds."""
        return self.rows(statement, *parameters)[0][0]

    def columns(self, statement: str, *parameters: object) -> dict[str, Any]:
        """What a statement finds, as arrays of numpy by column; nulls are masked."""
        with self._deadline():
            return self.connection.execute(statement, list(parameters)).fetchnumpy()

    def arrow(self, statement: str) -> pa.Table:
        """What a statement finds, as a table of Arrow."""
        with self._deadline():
            return self.connection.sql(statement).to_arrow_table()

    def table(self, name: str, rows: pa.Table) -> None:
        """Make a temporary table of ``rows``, in place of the one of that name."""
        with self.registered(rows) as given:
            self.run(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT * FROM {given}")

    @contextmanager
    def registered(self, rows: pa.Table) -> Iterator[str]:
        """A name under which statements see ``rows``."""
        self.connection.register("given_rows", rows)
        try:
            yield "given_rows"
        finally:
            self.connection.unregister("given_rows")

    def insert(self, name: str, rows: pa.Table, columns: Sequence[str] | None = None) -> None:
        """Add rows to a table."""
        with self.registered(rows) as given:
            self.run(f"INSERT INTO {name} SELECT {', '.join(columns or rows.schema.names)} FROM {given}")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is done inside is done, or nothing."""
        self.connection.execute("BEGIN")
        try:
            yield
        except BaseException:
            with suppress(duckdb.Error):
                self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    @contextmanager
    def _deadline(self) -> Iterator[None]:
        timer = threading.Timer(self.seconds, self.connection.interrupt)
        timer.daemon = True
        timer.start()
        try:
            yield
        except duckdb.InterruptException:
            message = f"a statement was not ready after {self.seconds:g} s"
            hint = "match fewer documents at once, or with another plan"
            raise DisseminationError(Fault("HX9022", message, hint=hint)) from None
        finally:
            timer.cancel()

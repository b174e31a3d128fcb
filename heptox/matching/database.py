"""An SQLite file that survives ``kill -9`` and power cuts: WAL, every commit synced, commits made in groups.

A writer waits until its change is on the disk. Of changes that come at the same time, one thread commits all:
each is carried out or refused by itself, and the disk is waited for once.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Generic, TypeVar, cast

from heptox.errors import DisseminationError, Fault

_Value = TypeVar("_Value")

BUSY_SECONDS: Final = 5.0
"""How long a lock of another process is waited for."""
GROUP: Final = 1000
"""Changes in one commit, at most."""
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT})
_IN_USE: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
_UNWRITABLE: Final = frozenset(
    {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_AUTH,
        sqlite3.SQLITE_TOOBIG,
        sqlite3.SQLITE_NOLFS,
        sqlite3.SQLITE_NOMEM,
    }
)


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A kind of files: what messages call it, how it is marked, and the statements that make its tables.

    ``application`` marks files of the kind, ``version`` is that of the ``schema``. ``upgrades`` has for each older
    version the statements that lead to the next one. ``remedy`` is what to do about a file that is damaged.
    """

    name: str
    application: int
    version: int
    schema: str
    remedy: str
    upgrades: Mapping[int, str] = field(default_factory=dict)


class _Change(Generic[_Value]):
    """A change that somebody waits for."""

    __slots__ = ("apply", "done", "error", "value")

    def __init__(self, apply: Callable[[sqlite3.Connection], _Value]) -> None:
        self.apply = apply
        self.done = False
        self.error: BaseException | None = None
        self.value: _Value | None = None

    def fail(self, error: BaseException) -> None:
        self.error, self.done = error, True


class Database:
    """One file, opened by one process that writes; any number of threads may use it. A context manager."""

    def __init__(self, file: Path, file_format: FileFormat, busy: float = BUSY_SECONDS) -> None:
        """Open ``file``, or make it, readable by its owner only.

        Raises :class:`DisseminationError`: HX9050 for a file that is none or damaged, HX9051 for one of a newer
        version, HX9052 when another process keeps it, HX9053 when it cannot be written.
        """
        self.file = file
        self._format = file_format
        self._waiting: deque[_Change[Any]] = deque()
        self._writing = threading.Lock()
        self._reading = threading.Lock()
        with self._faults():
            if not file.exists():
                _make(file, file_format)
            self._writer = _connect(file, busy)
            try:
                self._prepare(file_format)
                self._reader = _connect(file, busy)
                self._reader.execute("PRAGMA query_only = ON")
            except BaseException:
                self._writer.close()
                raise

    def _prepare(self, wanted: FileFormat) -> None:
        writer = self._writer
        found: int = writer.execute("PRAGMA user_version").fetchone()[0]
        mark: int = writer.execute("PRAGMA application_id").fetchone()[0]
        if mark != wanted.application:
            raise DisseminationError(Fault("HX9050", f"is no {wanted.name}", hint=wanted.remedy, file=str(self.file)))
        if found > wanted.version:
            message = f"was written by a newer heptox: its version is {found}, this heptox reads up to {wanted.version}"
            raise DisseminationError(Fault("HX9051", message, hint="install that one", file=str(self.file)))
        for older in range(found, wanted.version):
            marks = f"PRAGMA user_version = {older + 1};"
            writer.executescript(f"BEGIN IMMEDIATE; {wanted.upgrades.get(older, '')} {marks} COMMIT;")
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("PRAGMA synchronous = FULL")
        writer.execute("PRAGMA foreign_keys = OFF")
        writer.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT}")

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; what is written is on the disk already."""
        with self._writing, self._reading, suppress(sqlite3.Error):
            self._reader.close()
            self._writer.close()

    def write(self, apply: Callable[[sqlite3.Connection], _Value]) -> _Value:
        """Carry out a change in a transaction, and give what it gives once it is on the disk.

        What ``apply`` raises is raised here, and nothing of the change is done then. Raises
        :class:`DisseminationError` (HX9050, HX9052, HX9053) when the file does not take it.
        """
        change = _Change(apply)
        self._waiting.append(change)
        with self._writing:
            while not change.done:  # somebody else may have done it while we waited for the lock
                self._commit()
        if change.error is not None:
            raise change.error
        return cast(_Value, change.value)

    def _commit(self) -> None:
        """Carry out the changes that wait, and commit them."""
        group = [self._waiting.popleft() for _ in range(min(len(self._waiting), GROUP))]
        writer = self._writer
        try:
            with self._faults():
                writer.execute("BEGIN IMMEDIATE")
                alone = len(group) == 1
                for change in group:
                    self._apply(change, alone)
                writer.execute("COMMIT")
        except BaseException as error:
            with suppress(sqlite3.Error):
                if writer.in_transaction:
                    writer.execute("ROLLBACK")
            for change in group:
                change.fail(change.error or error)
            if not isinstance(error, Exception):
                raise
        for change in group:
            change.done = True

    def _apply(self, change: _Change[Any], alone: bool) -> None:
        """Carry out one change; when it refuses, the others go on."""
        writer = self._writer
        if alone:
            change.value = change.apply(writer)
            return
        writer.execute("SAVEPOINT change")
        try:
            change.value = change.apply(writer)
        except (sqlite3.Error, Exception) as error:
            if isinstance(error, sqlite3.Error) and not isinstance(error, sqlite3.ProgrammingError):
                raise  # the file takes nothing: it may have ended the transaction by itself
            writer.execute("ROLLBACK TO change")
            change.error = error
        writer.execute("RELEASE change")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """What is committed, as it is at one moment; no writer waits for a reader.

        Raises as :meth:`write`.
        """
        with self._reading, self._faults():
            self._reader.execute("BEGIN")
            try:
                yield self._reader
            finally:
                with suppress(sqlite3.Error):
                    self._reader.execute("ROLLBACK")

    def problems(self) -> list[str]:
        """What SQLite finds wrong with the whole file; empty when nothing is."""
        with self.reading() as reader:
            found = [str(row[0]) for row in reader.execute("PRAGMA integrity_check(20)")]
        return [] if found == ["ok"] else found

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Raise what SQLite and the system refuse as errors of heptox."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._fault(error) from error
        except OSError as error:
            message = f"cannot be used: {error.strerror or error}"
            raise DisseminationError(Fault("HX9053", message, file=str(self.file))) from None

    def _fault(self, error: sqlite3.Error) -> Exception:
        primary = getattr(error, "sqlite_errorcode", 0) & 0xFF
        file = str(self.file)
        if primary in _IN_USE:
            hint = "end the program that keeps it; it is safe to try again"
            return DisseminationError(Fault("HX9052", "is in use by another process", hint=hint, file=file))
        if primary in _UNWRITABLE:
            hint = "make room or mend the permissions; nothing that was acknowledged is lost"
            return DisseminationError(Fault("HX9053", f"cannot be written: {error}", hint=hint, file=file))
        if primary in _DAMAGED or primary == sqlite3.SQLITE_ERROR:
            return DisseminationError(Fault("HX9050", f"is damaged: {error}", hint=self._format.remedy, file=file))
        return error


_WAL_LIMIT: Final = 64 * 1024 * 1024
"""Bytes that the WAL is cut to when it was larger for a while."""


def _make(file: Path, made_as: FileFormat) -> None:
    """Make a file that is not there, for its owner only; SQLite gives what it makes beside it the same permissions.

    It gets its name when it is whole: so a file that is empty was not left by a crash, and is none.
    """
    descriptor, made = tempfile.mkstemp(prefix=f"{file.name}.", dir=file.parent)
    os.close(descriptor)
    try:
        with closing(sqlite3.connect(made, isolation_level=None)) as connection:
            marks = f"PRAGMA application_id = {made_as.application}; PRAGMA user_version = {made_as.version};"
            connection.executescript(f"PRAGMA synchronous = FULL; BEGIN IMMEDIATE; {made_as.schema} {marks} COMMIT;")
        with suppress(FileExistsError):
            file.hardlink_to(made)
    finally:
        Path(made).unlink()
    descriptor = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _connect(file: Path, busy: float) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=busy, isolation_level=None, check_same_thread=False)
    with closing(connection.cursor()) as cursor:
        cursor.execute("PRAGMA temp_store = MEMORY")
    return connection

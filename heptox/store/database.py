"""Documents at rest: the relations of a schema and the texts of its documents, in one DuckDB database.

The tables: those of the catalogue, with the number ``doc`` of the document before their columns; ``documents``, one row
for each document; ``chunks``, their texts in pieces; ``asides``, what they have besides; ``store``, one row that says
of which schema the store is. A document is loaded, replaced or removed in one transaction: whatever happens, it is
there whole or not at all, and a reader sees meanwhile the state before.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from io import BytesIO
from pathlib import Path
from tempfile import SpooledTemporaryFile
from threading import Lock
from types import TracebackType
from typing import IO, Final, Literal, TypeAlias
from weakref import WeakSet

import duckdb
import pyarrow as pa

from heptox.errors import Fault, Position, StoreError
from heptox.garbage import uncollected
from heptox.schema import EdgeValidator, SchemaGraph, parse_schema
from heptox.store.aside_table import ASIDES, AsidesReader, keep_asides
from heptox.store.asides import instance_aside
from heptox.store.canonical import CanonicalReader, Form
from heptox.store.chunks import ChunkReader
from heptox.store.connection import Cursor, connected, database_faults, disconnect, readable, rows_of
from heptox.store.few_rows import FewRows
from heptox.store.intake import BATCH, Intake
from heptox.store.markup import Markup, Names, markup
from heptox.store.places import Places
from heptox.store.projection import Projection, TooLongError, projected, whole_elements
from heptox.store.relations import Catalogue
from heptox.xml import XmlReader, unreadable

FORMAT: Final = 4
"""The version of what is in a store file; one of another version is refused."""
THREADS: Final = 2
"""Threads that DuckDB uses for a store, unless the caller says otherwise."""
MOST_IN_MEMORY: Final = 64 * 1024 * 1024
"""Bytes of a document that is read into memory as a whole."""

Source: TypeAlias = Path | bytes | IO[bytes]

_CLOSING_SECONDS: Final = 5.0
"""How long a statement has to end that is interrupted when the store is closed."""


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document at rest.

    ``doc`` is its number, never used again; ``size`` is in bytes, as it was read, ``length`` that of its text in
    the store. One that is not ``regular`` does not fit its schema: it has no ``rows``, and ``misfits`` are the first
    of the ``misfit_count`` places (HX6020). One that fits may be ``white``: white space stands among its elements where
    the schema has no text. ``has_asides`` says whether something is kept besides its text. ``digest`` is the SHA-256 of
    its bytes.
    """

    doc: int
    name: str
    size: int
    length: int
    rows: int
    regular: bool
    white: bool
    has_asides: bool
    misfits: tuple[Fault, ...]
    misfit_count: int
    digest: str
    loaded: datetime


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """What the documents are between two changes: whether all of them fit the schema, and whether some are white, or
    have something besides their texts."""

    regular: bool
    white: bool
    has_asides: bool

    @property
    def is_plain(self) -> bool:
        """Whether a statement may give all of an answer."""
        return self.regular and not self.has_asides


@dataclass(frozen=True, slots=True)
class Loaded:
    """The outcome for a document that was to be loaded; ``held`` when the same was there already."""

    document: StoredDocument
    outcome: Literal["loaded", "replaced", "held"]
    seconds: float


class Store:
    """The documents of one schema. A context manager that closes the store.

    Threads may share it; each takes a :meth:`cursor` of its own. One document is loaded at a time.
    """

    def __init__(self, connection: Cursor, catalogue: Catalogue, path: Path | None) -> None:
        self.catalogue = catalogue
        self.path = path
        self._connection = connection
        self._chunks = ChunkReader()
        self._cursors: WeakSet[Cursor] = WeakSet()
        self._readers: set[pa.RecordBatchReader] = set()
        self._few = FewRows()
        self.asides = AsidesReader(catalogue.names)
        self._is_closed = False
        self._writing = Lock()
        self._reading = Lock()
        self._tables = [relation.table for relation in catalogue.relations]
        self.state: State | None = self._looked()
        """The state now, ``None`` while it changes: what is read while it stays the same is of one moment."""

    @classmethod
    def open(cls, path: Path | None, graph: SchemaGraph, *, memory: int | None = None, threads: int = THREADS) -> Store:
        """The store in a file, which is made when there is none; with ``None`` one in memory, gone when it is closed.

        ``memory`` is how many megabytes DuckDB may use (:data:`MEMORY`, or most of the machine's for one in memory).

        Raises :class:`StoreError`: HX6012 when the file keeps documents of another
        schema, HX6013 when another process has it open, or this one, HX6014 when it is no store or cannot be opened.
        Raises ``ValueError`` for a file and a graph without the text of its DTD.
        """
        if path is not None and graph.text is None:
            raise ValueError("the schema graph has no DTD to keep in the store")
        catalogue = Catalogue(graph)
        connection = connected(path, memory, threads)
        try:
            with readable(path):
                _prepare(connection, catalogue, path)
        except BaseException:
            disconnect(connection, path)
            raise
        return cls(connection, catalogue, path)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the store and its cursors, once a load that is under way has ended. Unfinished answers cannot go on."""
        with self._writing:
            self._is_closed = True
            for reader in list(self._readers):  # which would keep the database open
                reader.close()
            for cursor in list(self._cursors):
                self._close(cursor)
            disconnect(self._connection, self.path)

    def _close(self, cursor: Cursor) -> None:
        """Close a cursor, in which another thread may have a statement under way."""
        deadline = time.monotonic() + _CLOSING_SECONDS
        while True:
            try:
                cursor.close()
                return
            except duckdb.Error:
                if time.monotonic() > deadline:
                    return
            with suppress(duckdb.Error):  # it may have ended meanwhile
                cursor.interrupt()
            time.sleep(0.01)

    @cached_property
    def _places(self) -> Places:
        return Places(self.catalogue)

    @cached_property
    def _form(self) -> Form:
        names = Names(self._places.types, self._places.attributes)
        return Form.of(self.catalogue, names)

    # -- reading -----------------------------------------------------------------------------------------------------

    def cursor(self) -> Cursor:
        """A cursor for queries, to be used by one thread. What it reads in one transaction is of one moment."""
        cursor = self._connection.cursor()
        self._cursors.add(cursor)
        return cursor

    def found(self, cursor: Cursor, statement: str, rows: int) -> Iterator[pa.RecordBatch]:
        """The rows of a query's statement, as :meth:`batches`; the columns of a few have the types of their values."""
        few = self._few.rows(cursor, statement)
        if few is not None:
            yield from few
            return
        count = 0
        for batch in self.batches(cursor, statement, rows):
            count += len(batch)
            yield batch
        self._few.had(cursor, statement, count)

    def batches(self, cursor: Cursor, statement: str, rows: int) -> Iterator[pa.RecordBatch]:
        """The rows of a statement, so many at a time; raises what the database and Arrow raise."""
        reader = cursor.sql(statement).to_arrow_reader(rows)
        self._readers.add(reader)
        try:
            yield from reader
        finally:
            self._readers.discard(reader)
            reader.close()

    def documents(self) -> tuple[StoredDocument, ...]:
        """The documents, in the order in which they were loaded.

        Raises :class:`StoreError` (HX6014) when the file is damaged.
        """
        with self._lent_cursor() as cursor:
            return _documents(cursor, "ORDER BY doc")

    def text(self, doc: int, node: int, stop: int, cursor: Cursor | None = None) -> str:
        """A document's text from the byte ``node`` to before the byte ``stop``: an element, if they are its.

        ``cursor`` is the one by which they were found; in its transaction also a document can be read that was removed
        since. Raises :class:`StoreError` (HX6015) when the document is not held.
        """
        try:
            if cursor is not None:
                return self._chunks.read(cursor, doc, node, stop).decode()
            with self._lent_cursor() as lent:
                return self._chunks.read(lent, doc, node, stop).decode()
        except KeyError:
            raise StoreError(Fault("HX6015", f"no document number {doc} is held")) from None

    def whole(
        self,
        doc: int,
        name: str,
        length: int,
        cursor: Cursor,
        *,
        reader: str,
        reason: str,
        projection: Projection | None = None,
    ) -> bytes:
        """The text of a document for ``reader``, which has it in memory, since it is for ``reason`` not in statements.

        Of a document that fits the schema only what a ``projection`` needs is read.

        Raises :class:`StoreError` (HX6008) when that is over :data:`MOST_IN_MEMORY` bytes.
        """
        parts = []
        read = 0
        try:
            for part in self._parts(doc, length, cursor, projection):
                read += len(part)
                if read > MOST_IN_MEMORY:
                    raise TooLongError
                parts.append(part)
        except TooLongError:
            message = f"{reader} reads over {MOST_IN_MEMORY:,} bytes of {name}"
            raise StoreError(Fault("HX6008", message, hint=reason)) from None
        return b"".join(parts)

    def _parts(self, doc: int, length: int, cursor: Cursor, projection: Projection | None) -> Iterator[bytes]:
        if projection is None:
            yield from self._pieces(doc, length, cursor)
            return
        blocks = (self._marked(text) for text in whole_elements(self._pieces(doc, length, cursor), MOST_IN_MEMORY))
        yield from projected(blocks, self.catalogue.graph, self._places.types, projection)

    def _marked(self, text: bytes) -> Markup:
        found = markup(text, self._form.names)
        assert found is not None  # this is how documents are kept
        return found

    def _pieces(self, doc: int, length: int, cursor: Cursor) -> Iterator[bytes]:
        for node in range(0, length, BATCH):
            yield self._chunks.read(cursor, doc, node, min(node + BATCH, length))

    @contextmanager
    def _lent_cursor(self) -> Iterator[Cursor]:
        with self._reading, readable(self.path):
            if self._is_closed:
                raise StoreError(Fault("HX6014", "the store is closed", file=str(self.path) if self.path else None))
            yield self._connection

    # -- writing -----------------------------------------------------------------------------------------------------

    def load(
        self,
        name: str,
        source: Source,
        *,
        replace: bool = False,
        progress: Callable[[int], None] | None = None,
        check: Callable[[StoredDocument], None] | None = None,
    ) -> Loaded:
        """Load a document under a name; nothing is changed when the same bytes are held under it already.

        A document that does not fit its schema is kept, see :class:`StoredDocument`. ``progress`` is called with
        how many bytes have been read, ``check`` with what is about to be kept; what it raises is raised, and nothing
        kept.

        Raises :class:`InputError` as :class:`heptox.xml.XmlReader` for what is no document, and :class:`StoreError`:
        HX6011 when another document is held under the name, unless ``replace`` says to replace it, HX6016 when the disk
        or the memory is full. The store is then as it was.
        """
        began = time.perf_counter()
        with self._writing, _opened(source) as file:
            with self._lent_cursor() as cursor:
                held = next(iter(_documents(cursor, "WHERE name = ?", name)), None)
            if held is not None:
                if _digest(file) == held.digest:
                    return Loaded(held, "held", time.perf_counter() - began)
                if not replace:
                    hint = "replace it, or give this one another name"
                    raise StoreError(Fault("HX6011", f"another document {name} is held", hint=hint))
                file.seek(0)
            with uncollected(), self._transaction() as cursor:
                if held is not None:
                    self._delete(cursor, held.doc)
                document = self._take(cursor, name, file, progress)
                if check is not None:
                    check(document)
            if held is not None:
                self._chunks.forget(held.doc)
        return Loaded(document, "replaced" if held else "loaded", time.perf_counter() - began)

    def remove(self, name: str) -> StoredDocument:
        """Remove a document, which is returned.

        Raises :class:`StoreError`: HX6015 when there is none of that name, HX6016 when it cannot be removed.
        """
        with self._writing, self._transaction() as cursor:
            held = next(iter(_documents(cursor, "WHERE name = ?", name)), None)
            if held is None:
                raise StoreError(Fault("HX6015", f"no document {name} is held"))
            self._delete(cursor, held.doc)
        self._chunks.forget(held.doc)
        return held

    @contextmanager
    def _transaction(self) -> Iterator[Cursor]:
        cursor = self._connection.cursor()
        try:
            with database_faults("HX6016", "the store cannot be written"):
                rows_of(cursor, "BEGIN")
                yield cursor
                self.state = None
                rows_of(cursor, "COMMIT")
        finally:
            cursor.close()  # which rolls back what is not committed
            if self.state is None:
                self.state = self._looked()

    def _looked(self) -> State:
        with self._lent_cursor() as cursor:
            found = rows_of(cursor, "SELECT DISTINCT regular, white, asides FROM documents")
        return State(all(row[0] for row in found), any(row[1] for row in found), any(row[2] for row in found))

    def _take(
        self, cursor: Cursor, name: str, source: IO[bytes], progress: Callable[[int], None] | None
    ) -> StoredDocument:
        doc = rows_of(cursor, "SELECT nextval('numbers')")[0][0]
        file = _Measured(source, progress)
        with Intake(cursor, doc, self._places) as intake:
            reader = CanonicalReader(self._form, XmlReader(file, name, keeps_prefixes=True), keeps_asides=True)
            for block in reader.blocks():
                intake.add(block)
            intake.end()
        asides = reader.asides
        if intake.regular and intake.instance:
            asides = [instance_aside(intake.instance), *asides]
        keep_asides(cursor, doc, asides)
        misfits = None
        if not intake.regular:
            self._delete(cursor, doc, rows_only=True)
            misfits = _misfits(source, name, self.catalogue.schema)
        document = StoredDocument(
            doc,
            name,
            file.size,
            intake.length,
            intake.rows if intake.regular else 0,
            intake.regular,
            intake.regular and intake.white,
            bool(asides),
            () if misfits is None else tuple(misfits.faults),
            0 if misfits is None else misfits.count,
            file.digest.hexdigest(),
            datetime.now(UTC).replace(tzinfo=None),
        )
        _insert_document(cursor, document)
        return document

    def _delete(self, cursor: Cursor, doc: int, *, rows_only: bool = False) -> None:
        for table in self._tables if rows_only else [*self._tables, "chunks", "asides", "documents"]:
            rows_of(cursor, f"DELETE FROM {table} WHERE doc = ?", [doc])


def _misfits(source: IO[bytes], name: str, schema: SchemaGraph) -> EdgeValidator:
    """What keeps a document from having rows, which is read once more for that."""
    source.seek(0)
    again = XmlReader(source, name)
    found = EdgeValidator(schema, lambda: again.position, "HX6020")
    for _ in again.read(found.start, found.end, found.text):
        pass
    return found


# -- rows --------------------------------------------------------------------------------------------------------

_CHUNKS: Final = "doc INTEGER NOT NULL, start BIGINT NOT NULL, place BIGINT NOT NULL, data BLOB NOT NULL"


# -- sources -----------------------------------------------------------------------------------------------------


class _Measured:
    """A source that is read once: how much, and the digest of it."""

    def __init__(self, file: IO[bytes], progress: Callable[[int], None] | None) -> None:
        self.size = 0
        self.digest = hashlib.sha256()
        self._file = file
        self._progress = progress

    def read(self, size: int) -> bytes:
        if self._progress is not None:
            self._progress(self.size)
        block = self._file.read(size)
        self.size += len(block)
        self.digest.update(block)
        return block


@contextmanager
def _opened(source: Source) -> Iterator[IO[bytes]]:
    if isinstance(source, bytes):
        yield BytesIO(source)
    elif isinstance(source, Path):
        try:
            file = source.open("rb")
        except (OSError, ValueError) as error:
            raise unreadable(str(source), error) from None
        with file:
            yield _rewindable(file)
    else:
        yield _rewindable(source)


def _rewindable(file: IO[bytes]) -> IO[bytes]:
    """The source, or a copy of it that can be read twice."""
    if file.seekable():
        return file
    copy = SpooledTemporaryFile(max_size=BATCH)  # noqa: SIM115  # it goes with its last user
    while block := file.read(BATCH):
        copy.write(block)
    copy.seek(0)
    return copy


def _digest(file: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while block := file.read(1 << 20):
        digest.update(block)
    return digest.hexdigest()


# -- documents ---------------------------------------------------------------------------------------------------

_DOCUMENTS: Final = """
    doc INTEGER NOT NULL, name VARCHAR NOT NULL, size BIGINT NOT NULL, length BIGINT NOT NULL, rows BIGINT NOT NULL,
    regular BOOLEAN NOT NULL, white BOOLEAN NOT NULL, asides BOOLEAN NOT NULL, misfits VARCHAR NOT NULL,
    misfit_count BIGINT NOT NULL, digest VARCHAR NOT NULL, loaded TIMESTAMP NOT NULL
"""


def _documents(cursor: Cursor, clause: str, *values: str) -> tuple[StoredDocument, ...]:
    rows = rows_of(cursor, f"SELECT * FROM documents {clause}", values)
    return tuple(
        StoredDocument(
            doc, name, size, length, held, regular, white, beside, _read_misfits(name, misfits), count, digest, loaded
        )
        for doc, name, size, length, held, regular, white, beside, misfits, count, digest, loaded in rows
    )


def _insert_document(cursor: Cursor, document: StoredDocument) -> None:
    misfits = [
        [fault.message, fault.position.line, fault.position.column] for fault in document.misfits if fault.position
    ]
    rows_of(
        cursor,
        "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            document.doc,
            document.name,
            document.size,
            document.length,
            document.rows,
            document.regular,
            document.white,
            document.has_asides,
            json.dumps(misfits),
            document.misfit_count,
            document.digest,
            document.loaded,
        ],
    )


def _read_misfits(name: str, text: str) -> tuple[Fault, ...]:
    return tuple(Fault("HX6020", message, Position(line, column, name)) for message, line, column in json.loads(text))


def _prepare(connection: Cursor, catalogue: Catalogue, path: Path | None) -> None:
    """Make the tables of a new store; look whether one that is there is of the schema."""
    file = str(path) if path else None
    try:
        ((version, root, text),) = rows_of(connection, "SELECT format, root, schema FROM store")
    except duckdb.CatalogException:
        if rows_of(connection, "SELECT table_name FROM duckdb_tables()"):
            raise StoreError(Fault("HX6014", "the file is a database, but no store", file=file)) from None
        _make(connection, catalogue)
        return
    if version != FORMAT:
        message = f"the store has format {version}, which is not the one of this version ({FORMAT})"
        raise StoreError(Fault("HX6014", message, file=file, hint="load the documents into a new store"))
    graph = catalogue.schema
    if (root, text) != (graph.root, graph.text) and parse_schema(text, root) != graph:
        message = f"the store keeps documents of another schema, with the root {root}"
        raise StoreError(Fault("HX6012", message, file=file, hint="use another store for this schema"))


def _make(connection: Cursor, catalogue: Catalogue) -> None:
    graph = catalogue.schema
    rows_of(connection, "BEGIN")
    rows_of(connection, "CREATE TABLE store (format INTEGER NOT NULL, root VARCHAR NOT NULL, schema VARCHAR NOT NULL)")
    rows_of(connection, "INSERT INTO store VALUES (?, ?, ?)", [FORMAT, graph.root, graph.text or ""])
    rows_of(connection, "CREATE SEQUENCE numbers")
    rows_of(connection, f"CREATE TABLE documents ({_DOCUMENTS})")
    rows_of(connection, f"CREATE TABLE chunks ({_CHUNKS})")
    rows_of(connection, f"CREATE TABLE asides ({ASIDES})")
    rows_of(connection, "CREATE INDEX chunks_by_place ON chunks (place)")
    for relation in catalogue.relations:
        columns = "".join(f", {column.name} {column.type}" for column in relation.columns)
        rows_of(
            connection,
            f"CREATE TABLE {relation.table} (doc INTEGER NOT NULL, node BIGINT NOT NULL, stop BIGINT NOT NULL, "
            f"parent BIGINT NOT NULL, path INTEGER NOT NULL{columns})",
        )
    rows_of(connection, "COMMIT")

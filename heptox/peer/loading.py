"""Loading documents: read, checked against the peer's schema, put on the disk, and into the store that is asked.

The files in ``documents/`` are what a peer holds; the store is made from them, and can be made anew at any time.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

# Not its names: DuckDB is loaded when they are asked for, and who only speaks to a daemon starts without it.
from heptox import store as stores
from heptox.errors import Fault, HeptoxError, InputError, SchemaError, StoreError
from heptox.peer.folder import STORE, Outcome, PeerFolder
from heptox.schema import SchemaGraph, conform
from heptox.xmlio import parse_document

if TYPE_CHECKING:
    from heptox.store import Store

LOG: Final = logging.getLogger(__name__)
MEMORY: Final = 256
"""Megabytes that DuckDB may use for a peer's store."""
THREADS: Final = 2
"""Threads that DuckDB uses for a peer's store."""
_USELESS: Final = frozenset({"HX6012", "HX6014"})
"""The codes of a store file that is of no use: of another schema, of another version, damaged."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A document that is on the disk: its name, and whether it is ``new``, was ``held`` before or ``replaced`` another.

    ``faults`` (HX2007) say why it is not valid for the peer's schema; it is kept all the same.
    """

    name: str
    outcome: Outcome
    faults: tuple[Fault, ...] = ()


def loaded_fields(loaded: Loaded) -> dict[str, str | int]:
    """What the audit log says of a document."""
    return {"document": loaded.name, "outcome": loaded.outcome, "faults": len(loaded.faults)}


class DocumentLoader:
    """Loads documents into one peer's folder and its store; the caller holds the folder's lock."""

    def __init__(self, folder: PeerFolder, store: Store) -> None:
        self._folder = folder
        self._store = store

    def load(
        self,
        name: str,
        data: bytes,
        *,
        replacing: bool = False,
        file: str | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Loaded:
        """Load the document ``data`` as ``name``; messages call it ``file``. ``progress`` is told the bytes done.

        Raises :class:`InputError` with positions when it is no XML or not safe to read, :class:`PeerError` as
        :meth:`PeerFolder.keep_document`, :class:`StoreError` (HX6016) when the store cannot be written. Nothing is
        changed then.
        """
        faults = _checked(data, file or name, self._store.catalogue.graph)
        with self._folder.keep_document(name, data, replacing=replacing) as (kept, outcome):
            self._store.load(kept, data, replace=True, progress=progress)
        return Loaded(kept, outcome, faults)


def open_store(folder: PeerFolder) -> Store:
    """The store of a peer, whose folder the caller has locked; it may be behind its documents: :func:`update_store`.

    One that is of no use is removed, and made anew. Raises :class:`StoreError` as :meth:`heptox.store.Store.open`.
    """
    graph = folder.schema()
    shutil.rmtree(folder.path / f"{STORE}.tmp", ignore_errors=True)
    try:
        return _opened(folder.path / STORE, graph)
    except StoreError as error:
        if not _USELESS & {fault.code for fault in error.faults}:
            raise
        LOG.warning("the store is made anew from the documents: %s", "; ".join(map(str, error.faults)))
    for name in (STORE, f"{STORE}.wal"):
        (folder.path / name).unlink(missing_ok=True)
    return _opened(folder.path / STORE, graph)


def _opened(path: Path, graph: SchemaGraph) -> Store:
    store = stores.Store.open(path, graph, memory=MEMORY, threads=THREADS)
    try:
        store.documents()  # which a file may be too damaged for that can be opened
    except BaseException:
        store.close()
        raise
    return store


def update_store(store: Store, folder: PeerFolder) -> tuple[list[str], list[str]]:
    """Bring the store of a peer up to date with its documents: whose bytes are as they were are not read as XML.

    The names of those that were read, and of those that are gone.
    Raises :class:`InputError` with the faults of all that cannot be read; the others are in the store then.
    """
    held = {document.name: document.digest for document in store.documents()}
    files = folder.document_files()
    loaded: list[str] = []
    removed = sorted(held.keys() - {file.name for file in files})
    for name in removed:
        store.remove(name)
    faults: list[Fault] = []
    for file in files:
        try:
            if _digest(file) != held.get(file.name):
                data = file.read_bytes()
                parse_document(data, str(file))
                store.load(file.name, data, replace=True)
                loaded.append(file.name)
        except OSError as error:
            faults.append(Fault("HX1001", f"cannot be read: {error.strerror or error}", file=str(file)))
        except HeptoxError as error:
            faults.extend(error.faults)
    if faults:
        raise InputError(faults)
    return loaded, removed


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _checked(data: bytes, file: str, schema: SchemaGraph) -> tuple[Fault, ...]:
    """What is wrong with a document for its schema; raises :class:`InputError` when it cannot be read."""
    document = parse_document(data, file)
    try:
        conform(document, schema)
    except SchemaError as error:
        return error.faults
    return ()

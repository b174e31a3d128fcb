"""Loading documents: read, checked against the peer's schema, put on the disk, and into the store that is asked.

The files in ``documents/`` are what a peer holds; the store is made from them, and can be made anew at any time.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

# Not its names: DuckDB is loaded when they are asked for, and who only speaks to a daemon starts without it.
from heptox import store as stores
from heptox.errors import Fault, HeptoxError, InputError, SchemaError, StoreError
from heptox.peer.folder.audit import AuditLog
from heptox.peer.folder.exports import EXPORTS, Export, Exports, export_file, file_digest, remove_stale, sets_in_force
from heptox.peer.folder.files import keep_reserve, release_reserve
from heptox.peer.folder.folder import STORE, PeerFolder
from heptox.peer.models.control import Loaded
from heptox.schema import DocumentChecker, SchemaGraph, changes_to_admit, document_checker, other_schema_fault
from heptox.xml import parse_document

if TYPE_CHECKING:
    from heptox.store import Store

LOG: Final = logging.getLogger(__name__)
MEMORY: Final = 256
"""Megabytes that DuckDB may use for a peer's store."""
THREADS: Final = 2
"""Threads that DuckDB uses for a peer's store."""
_CHANGES: Final = 5
"""Changes of a schema that are named where a document is refused."""
_NO_ROOM: Final = frozenset({"HX6016", "HX7050"})
"""The codes of what a full disk, among others, keeps from being written."""
_USELESS: Final = frozenset({"HX6012", "HX6014"})
"""The codes of a store file that is of no use: of another schema, of another version, damaged."""


def loaded_fields(loaded: Loaded) -> dict[str, str | int]:
    """What the audit log says of a document."""
    return {"document": loaded.name, "outcome": loaded.outcome, "faults": len(loaded.faults)}


class DocumentLoader:
    """Loads documents into one peer's folder, its store and what others see of it, if that is open.

    The caller holds the folder's lock. What is not open is brought up to date when it is opened. What is done is
    written to the ``audit`` log, unless the caller does that.
    """

    def __init__(
        self, folder: PeerFolder, store: Store, exports: Exports | None = None, audit: AuditLog | None = None
    ) -> None:
        self._folder = folder
        self._store = store
        self._exports = exports or Exports({})
        self._audit = audit

    @cached_property
    def _checker(self) -> DocumentChecker:
        return document_checker(self._folder.schema_file, self._folder.settings.root)

    def load(
        self,
        name: str,
        data: bytes,
        *,
        replacing: bool = False,
        file: str | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Loaded:
        """Load the document ``data`` as ``name``; messages call it ``file``. ``progress`` gets the bytes done.

        Raises :class:`InputError` with positions when it is no XML or not safe to read, :class:`SchemaError` when its
        root element is not that of the peer's schema (HX2013), or, where the peer's validation is strict, when it is
        not valid for it (HX2007, and HX7111 with the least change that would admit it), :class:`PeerError` as
        :meth:`PeerFolder.keep_document`, :class:`StoreError` (HX6016) when the store cannot be written. Nothing is
        changed then.
        """
        faults = self._checked(data, file or name)
        kept = ""
        try:
            with self._folder.keep_document(name, data, replacing=replacing) as (kept, outcome):
                self._load(kept, data, progress)
        except BaseException:
            if kept:  # else nothing was begun
                self._exports.follow(self._folder.document_file(kept))
            raise
        loaded = Loaded(kept, outcome, faults)
        if self._audit is not None:
            self._audit.write_synced("loaded", **loaded_fields(loaded))
        return loaded

    def _checked(self, data: bytes, file: str) -> tuple[Fault, ...]:
        """What is wrong with a document for its schema; raises as :meth:`load` for one that is refused."""
        document = parse_document(data, file)
        if (other := other_schema_fault(document, self._store.catalogue.schema.root)) is not None:
            raise SchemaError(other)
        found = self._checker.faults_of(data, file)
        if not found.is_valid and self._folder.settings.validation == "strict":
            raise SchemaError([*found.faults, self._refusal(found.count, data, file)])
        return found.faults

    def _refusal(self, count: int, data: bytes, file: str) -> Fault:
        """That a document is refused, which is not valid at some places, and what would admit it."""
        changes = changes_to_admit(self._folder.schema_file, (data, file))
        few = "; ".join(changes[:_CHANGES]) + (f"; and {more} more" if (more := len(changes) - _CHANGES) > 0 else "")
        schema = f"a schema with these changes would admit it: {few}; or " if changes else ""
        places = "one place" if count == 1 else f"{count:,} places"
        hint = f'{schema}validation = "lax" in peer.toml keeps it as it is'
        return Fault("HX7111", f"is refused: it is not valid for the peer's schema at {places}", file=file, hint=hint)

    def remove(self, name: str) -> str:
        """Hold a document no longer: neither on the disk, nor in the stores; the name that it went by.

        A store is written for that, too: on a full disk the reserve of the folder is used. Raises :class:`PeerError` as
        :meth:`PeerFolder.drop_document`, :class:`StoreError` (HX6016) when the store cannot be written; nothing is
        changed then.
        """
        try:
            removed = self._remove(name)
        except HeptoxError as error:
            if not _NO_ROOM & {fault.code for fault in error.faults} or not release_reserve(self._folder.path):
                raise
            try:
                removed = self._remove(name)
            finally:
                keep_reserve(self._folder.path)
        if self._audit is not None:
            self._audit.write_synced("removed", document=removed)
        return removed

    def _remove(self, name: str) -> str:
        with self._folder.drop_document(name) as kept:
            if any(document.name == kept for document in self._store.documents()):  # else the store was behind
                self._store.remove(kept)
        self._exports.follow(self._folder.document_file(kept))
        return kept

    def _load(self, name: str, data: bytes, progress: Callable[[int], None] | None) -> None:
        """Load a document into the stores; into the peer's own last, for what others see can follow a failure."""
        self._store.load(name, data, replace=True, progress=progress, check=lambda _: self._exports.load(name, data))
        self._exports.load(name, data)  # nothing is checked of what the store held before


def open_store(folder: PeerFolder) -> Store:
    """The store of a peer, whose folder the caller has locked; it may be behind its documents: :func:`update_store`.

    One that is of no use is removed, and made anew. Raises :class:`StoreError` as :meth:`heptox.store.Store.open`.
    """
    keep_reserve(folder.path)
    return _usable(folder.path / STORE, folder.schema())


def open_exports(folder: PeerFolder) -> Exports:
    """What others see of a peer's documents, by its export policy; it may be behind them: :meth:`Exports.update`.

    The caller has locked the folder. Stores that the policy does not need any more are removed. Raises as
    :func:`open_store`, and :class:`StoreError` (HX6016) when they cannot be written.
    """
    sets = sets_in_force(folder.settings.hide)
    assert sets is not None  # else the folder could not be opened
    try:
        remove_stale(folder.path, sets)
    except OSError as error:
        message = f"cannot be used: {error.strerror or error}"
        raise StoreError(Fault("HX6016", message, file=str(folder.path / EXPORTS))) from None
    graph = folder.schema()
    with ExitStack() as opened:
        exports = {}
        for paths in sets:
            hiding = stores.Hiding(graph, paths)
            store = opened.enter_context(_usable(export_file(folder.path, paths), hiding.graph))
            exports[paths] = Export(hiding, store)
        opened.pop_all()
    return Exports(exports)


def _usable(path: Path, graph: SchemaGraph) -> Store:
    """The store in a file; one that is of no use is removed, and made anew."""
    shutil.rmtree(path.with_name(f"{path.name}.tmp"), ignore_errors=True)
    try:
        return _opened(path, graph)
    except StoreError as error:
        if not _USELESS & {fault.code for fault in error.faults}:
            raise
        LOG.warning("the store is made anew from the documents: %s", error.summary)
    for file in (path, path.with_name(f"{path.name}.wal")):
        file.unlink(missing_ok=True)
    return _opened(path, graph)


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
    Documents with the root of another schema, which were there before such were refused, are held as they are.
    Raises :class:`InputError` with the faults of all that cannot be read; the others are in the store then.
    """
    held = {document.name: document.digest for document in store.documents()}
    folder.check_documents(len(held))
    files = folder.document_files()
    loaded: list[str] = []
    removed = sorted(held.keys() - {file.name for file in files})
    for name in removed:
        store.remove(name)
    faults: list[Fault] = []
    for file in files:
        try:
            if file_digest(file) != held.get(file.name):
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


def open_audit(folder: PeerFolder) -> AuditLog:
    """The audit log of a peer, whose folder the caller has locked."""
    return AuditLog(folder.path, folder.settings.audit_megabytes)

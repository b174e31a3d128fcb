"""What an administrator does to a peer, whether its daemon runs or not.

A running daemon does it itself, asked through its control API; else it is done to the folder under its lock. Results
are JSON objects, the same either way.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Protocol

# Not its names: DuckDB is loaded when they are asked for, and who only speaks to a daemon starts without it.
from heptox import store as stores
from heptox.errors import Fault, HeptoxError, PeerError, StoreError
from heptox.peer.acquainting import Proposal, acquaint, acquaintance_fields, offered_names, own_addresses, schema_key
from heptox.peer.audit import AuditLog
from heptox.peer.client import Client, ControlAddress
from heptox.peer.doctor import Finding, Level, examine_folder
from heptox.peer.exports import file_digest, policy_to_json
from heptox.peer.faults import fault_to_json
from heptox.peer.files import LOCK, holder, is_locked, wait_until_ended, wait_until_unlocked
from heptox.peer.folder import SETTINGS, STORE, Acquaintance, PeerFolder
from heptox.peer.loading import MEMORY, THREADS, DocumentLoader, Loaded, loaded_fields, open_store
from heptox.peer.messages import PeerId
from heptox.peer.offers import Offer
from heptox.xml import parse_document

STOP_SECONDS: Final = 10.0
"""How long a daemon may take to end."""


class Loader(Protocol):
    """Loads one document after the other."""

    def load(
        self,
        name: str,
        data: bytes,
        *,
        replacing: bool = False,
        file: str | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> dict[str, Any]:
        """Load one document, which ``file`` names in messages; raises :class:`HeptoxError` when it is refused.

        ``progress`` gets now and then how many of its bytes are done.
        Gives its ``name``, the ``outcome`` (``new``, ``held`` or ``replaced``), and the ``faults`` of one that is kept
        although it is not valid for the schema.
        """
        ...

    def remove(self, name: str) -> dict[str, Any]:
        """Remove a document, and give the ``name`` that it went by; raises :class:`HeptoxError`."""
        ...


@contextmanager
def document_loading(path: Path) -> Iterator[Loader]:
    """Load documents into the peer in the folder ``path``; raises :class:`PeerError` when it is none or is in use."""
    client = Client.running(path)
    if client is not None:
        with client:
            yield client
    else:
        folder = PeerFolder.open(path)
        with folder.locked(), open_store(folder) as store, open_audit(folder) as audit:
            yield _FolderLoader(DocumentLoader(folder, store), audit)


def open_audit(folder: PeerFolder) -> AuditLog:
    """The audit log of a peer, whose folder the caller has locked."""
    return AuditLog(folder.path, folder.settings.audit_megabytes)


class _FolderLoader:
    def __init__(self, loader: DocumentLoader, audit: AuditLog) -> None:
        self._loader = loader
        self._audit = audit

    def load(
        self,
        name: str,
        data: bytes,
        *,
        replacing: bool = False,
        file: str | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> dict[str, Any]:
        loaded = self._loader.load(name, data, replacing=replacing, file=file, progress=progress)
        self._audit.write_synced("loaded", **loaded_fields(loaded))
        return loaded_to_json(loaded)

    def remove(self, name: str) -> dict[str, Any]:
        removed = self._loader.remove(name)
        self._audit.write_synced("removed", document=removed)
        return {"name": removed}


def add_acquaintance(path: Path, proposal: Proposal) -> dict[str, Any]:
    """Make an acquaintance of the peer in the folder ``path``; raises :class:`PeerError` when it cannot be made."""
    client = Client.running(path)
    if client is not None:
        with client:
            return client.acquaint(proposal.to_json())
    folder = PeerFolder.open(path)
    with folder.locked(), open_audit(folder) as audit:
        made = acquaint(folder, folder.requests(), proposal)
        audit.write_synced("acquainted", **acquaintance_fields(made))
    return {**acquaintance_to_json(made), "connected": False, "fault": ""}


def stop_peer(path: Path) -> None:
    """End the daemon of the peer in the folder ``path``; when this returns, it has given its folder free, and its
    process has ended where that can be seen: on this machine, on Linux. There it is killed when it does not answer, or
    takes too long.

    Raises :class:`PeerError`: HX7055 when it does not run, HX7051 when it takes too long to end.
    """
    with ExitStack() as opened:
        address = ControlAddress.read(path)
        # before it ends, and its number goes to another
        process = holder(path / LOCK, address.process) if address and is_locked(path / LOCK) else None
        if process is not None:
            opened.callback(os.close, process)
        deadline = time.monotonic() + STOP_SECONDS
        try:
            with Client.connect(path) as client:
                client.stop()
        except PeerError:
            if process is None:
                raise
            _signal(process, signal.SIGTERM)  # its event loop may stand still
        ended = wait_until_unlocked(path / LOCK, deadline - time.monotonic())
        if process is not None and not (ended and wait_until_ended(process, deadline - time.monotonic())):
            _signal(process, signal.SIGKILL)
            ended = wait_until_ended(process, STOP_SECONDS)
    if not ended:
        raise PeerError(Fault("HX7051", f"its daemon still runs after {STOP_SECONDS:g} seconds", file=str(path)))


def _signal(process: int, number: signal.Signals) -> None:
    """Send a signal to the process of a descriptor, if it still lives."""
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(process, number)


def peer_status(path: Path) -> dict[str, Any]:
    """Who the peer in the folder ``path`` is, what it holds and whom it knows; ``running``: whether its daemon runs.

    ``schema`` is what a query for this peer calls its schema (:func:`heptox.peer.acquainting.schema_key`).
    """
    client = Client.running(path)
    if client is not None:
        with client:
            return client.status()
    folder = PeerFolder.open(path)
    offers = folder.requests().waiting()
    names = offered_names(offers, folder.acquaintances())
    return {
        "name": folder.settings.name,
        "peer_id": folder.identity.peer_id,
        "root": folder.settings.root,
        "schema": schema_key(folder.schema()),
        "policy": folder.settings.policy,
        "hidden": policy_to_json(folder.settings.hide),
        "timeout": folder.settings.timeout,
        "running": False,
        "addresses": [],
        "documents": len(folder.document_files()),
        "acquaintances": [
            {**acquaintance_to_json(acquaintance), "connected": False, "fault": ""}
            for acquaintance in folder.acquaintances()
        ],
        "requests": [request_to_json(peer, offer, names[peer]) for peer, offer in offers.items()],
        "queries": [],
    }


def examine_peer(path: Path) -> list[dict[str, Any]]:
    """What is wrong with the peer in the folder ``path``, as JSON objects with ``subject``, ``level``, ``message``,
    ``advice``; acquaintances are only looked for when its daemon runs.

    Raises :class:`PeerError` (HX7050) when it is no peer's folder.
    """
    client = Client.running(path)
    if client is not None:
        with client:
            return client.doctor()
    if not (path / SETTINGS).is_file():
        PeerFolder.open(path)  # which says so
    held = is_locked(path / LOCK)
    findings = examine_folder(path)
    if held:
        message = "the folder is in use, but no daemon answers"
        advice = f"wait if it starts, ends or loads; else end the process that holds it (`fuser {path / LOCK}`)"
        findings.append(Finding("daemon", Level.FAULT, message, advice))
    else:
        findings += examine_store(path)
        advice = f"start it with `heptox peer start {path}`"
        message = "it does not run: acquaintances are not looked for"
        findings.append(Finding("daemon", Level.WARNING, message, advice))
    return [finding.to_json() for finding in findings]


def examine_store(path: Path) -> Iterator[Finding]:
    """What the next start of the daemon will do about the store of the peer in the folder ``path``."""
    try:
        folder = PeerFolder.open(path)
        if not (path / STORE).exists():
            if folder.document_files():
                yield Finding("store", Level.OK, "there is none: it is made when the daemon starts")
            return
        with folder.locked(), stores.Store.open(path / STORE, folder.schema(), memory=MEMORY, threads=THREADS) as store:
            held = {document.name: document.digest for document in store.documents()}
            count = len(held)
            folder.check_documents(count)
    except StoreError as error:
        message = f"it is of no use: {error.summary}"
        advice = "nothing is lost: it is made anew from the documents when the daemon starts, or remove it"
        yield Finding("store", Level.WARNING, message, advice)
        return
    except PeerError as error:
        if all(fault.code != "HX7051" for fault in error.faults):
            yield Finding("documents", Level.FAULT, str(error), "the daemon does not start without it")
        return
    except HeptoxError:
        return  # what is wrong is reported of the folder, or somebody uses it now
    changed = [file for file in folder.document_files() if held.pop(file.name, "") != _digest(file)]
    for file in changed:
        try:
            parse_document(file.read_bytes(), str(file))
        except OSError:
            continue  # which is reported of the folder
        except HeptoxError as error:
            advice = f"the daemon does not start with it: mend it, or take it out of {file.parent.name}"
            yield Finding("documents", Level.FAULT, str(error), advice)
    if changed or held:
        message = f"{len(changed)} documents are new or changed, {len(held)} are gone: seen to when the daemon starts"
        yield Finding("store", Level.OK, f"it is behind: {message}")
    else:
        yield Finding("store", Level.OK, f"{count} documents")


def _digest(file: Path) -> str:
    try:
        return file_digest(file)
    except OSError:
        return "?"


def acquaintance_to_json(acquaintance: Acquaintance) -> dict[str, Any]:
    """An acquaintance as a JSON object."""
    return {
        "name": acquaintance.name,
        "peer_id": acquaintance.peer_id,
        "address": str(acquaintance.address),
        "side": acquaintance.side,
        "standing": acquaintance.standing,
        "reason": acquaintance.reason,
        "version": acquaintance.version,
    }


def request_to_json(peer: PeerId, offer: Offer, name: str) -> dict[str, Any]:
    """An offer that waits, as an acquaintance to be, which goes by ``name``; ``files`` are the mapping's, as text."""
    return {
        "name": name,
        "digest": offer.digest(peer),
        "peer_id": peer,
        "address": str(next(iter(own_addresses(peer, offer)), "")),
        "side": offer.side.other,
        "standing": "offered",
        "reason": "",
        "version": offer.version,
        "connected": False,
        "fault": "",
        "mapping": offer.files.mapping,
        "files": {file: content.decode(errors="replace") for file, content in offer.files.files.items()},
    }


def peer_documents(path: Path) -> list[dict[str, Any]]:
    """The documents that the peer in the folder ``path`` holds, by name, as :func:`document_to_json`."""
    client = Client.running(path)
    if client is not None:
        with client:
            return client.documents()
    return [document_to_json(file, None) for file in PeerFolder.open(path).document_files()]


def document_to_json(file: Path, fits: bool | None) -> dict[str, Any]:
    """A document at rest as a JSON object: when it was written (UTC), and whether all of it has a place in the schema.

    That is ``None`` where it is not known.
    """
    found = file.stat()
    loaded = datetime.fromtimestamp(found.st_mtime, UTC).isoformat(timespec="seconds")
    return {"name": file.name, "bytes": found.st_size, "fits": fits, "loaded": loaded}


def loaded_to_json(loaded: Loaded) -> dict[str, Any]:
    """The outcome of loading a document as a JSON object."""
    return {
        "name": loaded.name,
        "outcome": loaded.outcome,
        "faults": [fault_to_json(fault) for fault in loaded.faults],
    }

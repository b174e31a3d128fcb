"""What an administrator does to a peer, whether its daemon runs or not.

A running daemon does it itself, asked through its control API; else it is done to the folder under its lock. Results
are the same either way.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias

# Not its names: DuckDB is loaded when they are asked for, and who only speaks to a daemon starts without it.
from heptox import store as stores
from heptox.errors import Fault, HeptoxError, PeerError, StoreError
from heptox.peer.acquaintance.acquainting import (
    Proposal,
    acquaint,
    acquaintance_fields,
    offered_names,
    request_models,
    schema_key,
)
from heptox.peer.control.client import Client
from heptox.peer.control.doctor import examine_folder
from heptox.peer.control.endpoint import ControlAddress
from heptox.peer.folder.exports import file_digest
from heptox.peer.folder.files import LOCK, holder, is_locked, wait_until_ended, wait_until_unlocked
from heptox.peer.folder.folder import SETTINGS, STORE, PeerFolder
from heptox.peer.folder.loading import MEMORY, THREADS, DocumentLoader, open_audit, open_store
from heptox.peer.models.control import (
    AcquaintanceRequest,
    DocumentModel,
    Finding,
    KnownModel,
    Level,
    StatusModel,
)
from heptox.xml import parse_document

STOP_SECONDS: Final = 10.0
"""How long a daemon may take to end."""


Loader: TypeAlias = "Client | DocumentLoader"
"""Loads one document after the other, and removes them, as :class:`Client` says."""


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
            yield DocumentLoader(folder, store, audit=audit)


def add_acquaintance(path: Path, proposal: Proposal) -> KnownModel:
    """Make an acquaintance of the peer in the folder ``path``; raises :class:`PeerError` when it cannot be made."""
    client = Client.running(path)
    if client is not None:
        with client:
            return client.acquaint(AcquaintanceRequest.of(proposal))
    folder = PeerFolder.open(path)
    with folder.locked(), open_audit(folder) as audit:
        made = acquaint(folder, folder.requests(), proposal)
        audit.write_synced("acquainted", **acquaintance_fields(made))
    return KnownModel.of(made, connected=False, fault="")


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


def peer_status(path: Path) -> StatusModel:
    """Who the peer in the folder ``path`` is, what it holds and whom it knows; ``running``: whether its daemon runs.

    ``schema`` is what a query for this peer calls its schema (:func:`heptox.peer.acquaintance.acquainting.schema_key`).
    """
    client = Client.running(path)
    if client is not None:
        with client:
            return client.status()
    folder = PeerFolder.open(path)
    offers = folder.requests().waiting()
    acquaintances = folder.acquaintances()
    return StatusModel.of(
        folder.settings,
        peer_id=folder.identity.peer_id,
        schema_key=schema_key(folder.schema()),
        documents=len(folder.document_files()),
        acquaintances=tuple(KnownModel.of(one, connected=False, fault="") for one in acquaintances),
        requests=request_models(offers, offered_names(offers, acquaintances)),
    )


def examine_peer(path: Path) -> list[Finding]:
    """What is wrong with the peer in the folder ``path``; acquaintances are only looked for when its daemon runs.

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
    return findings


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


def peer_documents(path: Path) -> list[DocumentModel]:
    """The documents that the peer in the folder ``path`` holds, by name."""
    client = Client.running(path)
    if client is not None:
        with client:
            return client.documents()
    return [DocumentModel.of(file, None) for file in PeerFolder.open(path).document_files()]

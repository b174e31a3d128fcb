"""Peers as processes, for tests: their folders, their daemons, and waiting for a condition."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Literal

from heptox.demo import DTDS, HOSPITAL, records
from heptox.peer import (
    Client,
    ControlAddress,
    ItemLine,
    KnownModel,
    PeerFolder,
    QuestionRequest,
    ReceiptLast,
    ReceiptModel,
    add_acquaintance,
    document_loading,
    propose,
)
from heptox.settings import peer_settings_text
from tests.support.forking import Forked
from tools import daemons as processes
from tools.daemons import DEADLINE, HEPTOX, Daemon, files_of, log_of, memory_of, work_of

__all__ = [
    "DEADLINE",
    "HEPTOX",
    "Daemon",
    "acquaint",
    "ask",
    "begun",
    "daemon",
    "daemons",
    "ended",
    "files_of",
    "frozen",
    "heptox",
    "hospital_peer",
    "log_of",
    "memory_of",
    "process_of",
    "starting",
    "wait_until",
    "work_of",
]


def hospital_peer(
    path: Path, hospital: str, patients: int = 20, seed: int = 5, *, feed: Literal["schema", "anything"] = "schema"
) -> Path:
    """The folder of a new peer with the schema of a hospital, and records of some patients unless that is 0.

    It publishes documents of its schema, or ``anything``.
    """
    made = PeerFolder.create(path, HOSPITAL / DTDS[hospital])
    (path / "peer.toml").write_text(peer_settings_text(replace(made.settings, feed=feed)))
    if patients:
        with document_loading(path) as loader:
            loader.load("records.xml", records(hospital, patients, seed).encode())
    return path


def starting(
    folder: Path, log: IO[str] | int = subprocess.DEVNULL, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """A daemon that starts, and prints to a pipe."""
    return Forked(["peer", "start", folder], environment, stdout=subprocess.PIPE, stderr=log)


def daemon(folder: Path) -> AbstractContextManager[Daemon]:
    """Run ``heptox peer start`` on ``folder`` for as long as the block lasts."""
    return processes.daemon(folder, beginning=starting)


def daemons(*folders: Path) -> AbstractContextManager[tuple[Daemon, ...]]:
    """Run a daemon on each folder for as long as the block lasts; they start side by side."""
    return processes.daemons(*folders, beginning=starting)


def acquaint(one: Path, other: Daemon, arrows: str) -> KnownModel:
    """Make ``other`` an acquaintance of the peer in the folder ``one``, by a mapping of the hospitals."""
    return add_acquaintance(one, propose(other.address, HOSPITAL / arrows, name=other.folder.name))


def heptox(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    return ended(begun(*arguments))


def begun(*arguments: str | Path) -> subprocess.Popen[str]:
    """A command in a process of its own, under way."""
    return Forked(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def ended(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    """How a command ended; it is killed when it does not end in time."""
    try:
        out, err = process.communicate(timeout=DEADLINE)
    finally:
        process.kill()
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def ask(folder: Path, query: str, **more: Any) -> tuple[list[ItemLine], ReceiptModel]:
    """Ask a running peer; all items with their origins, and the receipt."""
    with Client.connect(folder) as client:
        parts = list(client.query(QuestionRequest(query=query, **more)))
    return [part for part in parts if isinstance(part, ItemLine)], received(parts)


def received(parts: Sequence[ItemLine | ReceiptLast]) -> ReceiptModel:
    """The receipt, which comes last."""
    assert isinstance(parts[-1], ReceiptLast)
    return parts[-1].receipt


def process_of(folder: Path) -> int:
    """The process id of the daemon on ``folder``."""
    address = ControlAddress.read(folder)
    assert address
    return address.process


@contextmanager
def frozen(folder: Path) -> Iterator[int]:
    """Stop a daemon where it is; it goes on after the block, if it still lives."""
    process = process_of(folder)
    os.kill(process, signal.SIGSTOP)
    try:
        yield process
    finally:
        os.kill(process, signal.SIGCONT)


def wait_until(condition: Callable[[], bool], seconds: float = DEADLINE) -> None:
    """Look again and again until a condition holds; fails after some seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)

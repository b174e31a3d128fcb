"""Peers as processes, for tests: their folders, their daemons, and waiting for a condition."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from heptox.demo import DTDS, HOSPITAL, records
from heptox.peer import Client, ControlAddress, PeerFolder, add_acquaintance, document_loading, propose

DEADLINE: Final = 60.0
"""Seconds after which what should have happened has not."""
HEPTOX: Final = (sys.executable, "-m", "heptox")


@dataclass(frozen=True, slots=True)
class Daemon:
    """A running daemon, and the multiaddress that it printed."""

    folder: Path
    process: subprocess.Popen[str]
    address: str

    def end(self, number: signal.Signals) -> int:
        """Send a signal, and wait for the exit code."""
        self.process.send_signal(number)
        return self.process.wait(DEADLINE)

    @property
    def peer_id(self) -> str:
        return self.address.rpartition("/")[2]

    def client(self) -> Client:
        return Client.connect(self.folder)


@contextmanager
def daemon(folder: Path) -> Iterator[Daemon]:
    """Run ``heptox peer start`` on ``folder`` for as long as the block lasts."""
    with daemons(folder) as (running,):
        yield running


@contextmanager
def daemons(*folders: Path) -> Iterator[tuple[Daemon, ...]]:
    """Run a daemon on each folder for as long as the block lasts; they start side by side."""
    with ExitStack() as stack:
        processes = [stack.enter_context(_process(folder)) for folder in folders]
        yield tuple(
            Daemon(folder, process, _printed(folder, process))
            for folder, process in zip(folders, processes, strict=True)
        )


@contextmanager
def _process(folder: Path) -> Iterator[subprocess.Popen[str]]:
    command = [*HEPTOX, "peer", "start", str(folder)]
    with log_of(folder).open("a") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def log_of(folder: Path) -> Path:
    """What the daemons on ``folder`` have logged."""
    return folder / "daemon.log"


def _printed(folder: Path, process: subprocess.Popen[str]) -> str:
    assert process.stdout
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        assert selector.select(DEADLINE), "the daemon is silent"
    address = process.stdout.readline().strip()
    assert address, log_of(folder).read_text()
    return address


def hospital_peer(path: Path, hospital: str, patients: int = 20, seed: int = 5) -> Path:
    """The folder of a new peer with the schema of a hospital, and records of some patients unless that is 0."""
    PeerFolder.create(path, HOSPITAL / DTDS[hospital])
    if patients:
        with document_loading(path) as loader:
            loader.load("records.xml", records(hospital, patients, seed).encode())
    return path


def acquaint(one: Path, other: Daemon, arrows: str) -> dict[str, Any]:
    """Make ``other`` an acquaintance of the peer in the folder ``one``, by a mapping of the hospitals."""
    return add_acquaintance(one, propose(other.address, HOSPITAL / arrows, name=other.folder.name))


def heptox(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    return ended(begun(*arguments))


def begun(*arguments: str | Path) -> subprocess.Popen[str]:
    """A command in a process of its own, under way."""
    command = [*HEPTOX, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    """How a command ended; it is killed when it does not end in time."""
    try:
        out, err = process.communicate(timeout=DEADLINE)
    finally:
        process.kill()
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def ask(folder: Path, query: str, **more: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Ask a running peer; all items with their origins, and the receipt."""
    with Client.connect(folder) as client:
        parts = list(client.query({"query": query, **more}))
    return parts[:-1], parts[-1]["receipt"]


def process_of(folder: Path) -> int:
    """The process id of the daemon on ``folder``."""
    address = ControlAddress.read(folder)
    assert address
    return address.process


def memory_of(process: int) -> int:
    """Bytes of memory that a process has."""
    pages = Path(f"/proc/{process}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def files_of(process: int) -> int:
    """How many files, sockets among them, a process has open."""
    return sum(1 for _ in Path(f"/proc/{process}/fd").iterdir())


def work_of(process: int) -> float:
    """Seconds that a process has worked so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def frozen(folder: Path) -> Iterator[int]:
    """Stop a daemon where it is; it goes on after the block, if it still lives."""
    process = process_of(folder)
    os.kill(process, signal.SIGSTOP)
    try:
        yield process
    finally:
        os.kill(process, signal.SIGCONT)


def wait_until(condition: Callable[[], bool]) -> None:
    """Look again and again until a condition holds; fails after :data:`DEADLINE`."""
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)

"""Peers as processes, for tests and benchmarks: their daemons, and what these use up."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, TypeAlias

from heptox.peer import Client

DEADLINE: Final = 300.0
"""Seconds after which what should have happened has not."""
HEPTOX: Final = (sys.executable, "-m", "heptox")

Beginning: TypeAlias = Callable[[Path, IO[str], Mapping[str, str] | None], subprocess.Popen[str]]
"""What begins the daemon of a folder: it prints to a pipe, logs to a file, and has an environment."""


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


def begun(folder: Path, log: IO[str], environment: Mapping[str, str] | None) -> subprocess.Popen[str]:
    """``heptox peer start`` on a folder."""
    command = [*HEPTOX, "peer", "start", str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)


@contextmanager
def daemon(
    folder: Path, environment: Mapping[str, str] | None = None, *, beginning: Beginning = begun
) -> Iterator[Daemon]:
    """Run ``heptox peer start`` on ``folder``, in another ``environment`` perhaps, for as long as the block lasts."""
    with daemons(folder, environment=environment, beginning=beginning) as (running,):
        yield running


@contextmanager
def daemons(
    *folders: Path, environment: Mapping[str, str] | None = None, beginning: Beginning = begun
) -> Iterator[tuple[Daemon, ...]]:
    """Run a daemon on each folder for as long as the block lasts; they start side by side."""
    with ExitStack() as stack:
        processes = [stack.enter_context(_process(folder, environment, beginning)) for folder in folders]
        yield tuple(
            Daemon(folder, process, _printed(folder, process))
            for folder, process in zip(folders, processes, strict=True)
        )


@contextmanager
def _process(
    folder: Path, environment: Mapping[str, str] | None, beginning: Beginning
) -> Iterator[subprocess.Popen[str]]:
    with log_of(folder).open("a") as log:
        process = beginning(folder, log, environment)
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

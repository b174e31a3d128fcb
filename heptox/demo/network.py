"""The hospitals as a network: three peers in three processes on this machine, and the questions put to them."""

from __future__ import annotations

import os
import selectors
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import IO, Final

from heptox.demo.records import records
from heptox.errors import Fault, PeerError
from heptox.peer import (
    Client,
    ItemLine,
    PeerFolder,
    QuestionRequest,
    ReceiptLast,
    add_acquaintance,
    document_loading,
    propose,
)

HOSPITAL: Final = Path(__file__).parent / "hospital"
START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 10.0
QUERY_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Hospital:
    """One peer of the demonstration: its name, its folder's name, and the schema of its records."""

    name: str
    folder: str
    schema: str


@dataclass(frozen=True, slots=True)
class Question:
    """A query of the demonstration, who asks it, and what it wants to know."""

    title: str
    asker: Hospital
    file: str

    @property
    def text(self) -> str:
        return (HOSPITAL / "queries" / self.file).read_text(encoding="utf-8")


MONTREAL: Final = Hospital("Montreal General", "montreal", "mongenhosp")
BOSTON: Final = Hospital("Massachusetts General", "boston", "massgeneral")
ST_LUKE: Final = Hospital("St Luke", "stluke", "stluke")
HOSPITALS: Final = (MONTREAL, BOSTON, ST_LUKE)

ACQUAINTED: Final = ((MONTREAL, BOSTON, "montreal-boston.arrows"), (ST_LUKE, BOSTON, "stluke-boston.arrows"))
"""Who knows whom, by which mapping: St Luke is known to Boston only."""

QUESTIONS: Final = (
    Question("the report's Example 1, asked in Montreal", MONTREAL, "example1.xq"),
    Question("the report's Example 2, asked in Boston", BOSTON, "example2.xq"),
    Question("a question of our own, asked in Montreal", MONTREAL, "treatments.xq"),
)


@dataclass(frozen=True, slots=True)
class Network:
    """The running peers; their folders lie side by side in ``folder``."""

    folder: Path

    def path(self, hospital: Hospital) -> Path:
        """The folder of a hospital's peer."""
        return self.folder / hospital.folder

    def ask(self, question: Question) -> Iterator[ItemLine | ReceiptLast]:
        """Ask a question at its asker's peer: the items, the receipt last."""
        with Client.connect(self.path(question.asker)) as client:
            yield from client.query(QuestionRequest(query=question.text, timeout=QUERY_SECONDS, explain=True))

    def addresses(self, hospital: Hospital) -> tuple[str, ...]:
        """Where a hospital's peer listens."""
        with Client.connect(self.path(hospital)) as client:
            return client.status().addresses


@contextmanager
def network(patients: int, seed: int, *, keep: bool = False) -> Iterator[Network]:
    """Start the peers with generated records, and make them acquainted; afterwards end them and remove their folders.

    With ``keep`` they stay when the block ends well.

    Raises :class:`PeerError` (HX7065) when a peer does not start in time.
    """
    folder = Path(mkdtemp(prefix="heptox-demo-"))
    with ExitStack() as cleaning:
        cleaning.callback(shutil.rmtree, folder, ignore_errors=True)
        made = Network(folder)
        for hospital in HOSPITALS:
            _prepare(made.path(hospital), hospital, patients, seed)
        processes: list[subprocess.Popen[bytes]] = []
        cleaning.callback(_end, processes)
        processes.extend(_start(made.path(hospital)) for hospital in HOSPITALS)
        for hospital, process in zip(HOSPITALS, processes, strict=True):
            _wait_until_serving(process, made.path(hospital))
        for source, target, arrows in ACQUAINTED:
            _acquaint(made, source, target, arrows)
            _acquaint(made, target, source, arrows)
        yield made
        if keep:
            cleaning.pop_all()


def _prepare(path: Path, hospital: Hospital, patients: int, seed: int) -> None:
    PeerFolder.create(path, HOSPITAL / f"{hospital.schema}.dtd", hospital.name)
    with document_loading(path) as loader:
        loader.load("records.xml", records(hospital.folder, patients, seed).encode())


def _start(path: Path) -> subprocess.Popen[bytes]:
    with _log(path).open("wb") as log:
        # A session of its own: an interrupt at the keyboard reaches the demonstration, which ends the peers in order.
        return subprocess.Popen(
            [sys.executable, "-m", "heptox", "peer", "start", str(path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )


def _end(processes: list[subprocess.Popen[bytes]]) -> None:
    """Ask all daemons to end, and make those end that do not."""
    try:
        for process in processes:
            process.terminate()
        for process in processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(STOP_SECONDS)
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _wait_until_serving(process: subprocess.Popen[bytes], path: Path) -> None:
    assert process.stdout is not None
    if not _first_line(process.stdout, START_SECONDS):
        said = " ".join(_log(path).read_text(errors="replace").split())[-400:]
        raise PeerError(Fault("HX7065", f"the peer {path.name} did not start: {said or 'it is silent'}"))


def _first_line(stream: IO[bytes], seconds: float) -> bytes:
    """What is written to ``stream`` up to the first line end; nothing when that does not come in time."""
    deadline, line = time.monotonic() + seconds, b""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while not line.endswith(b"\n"):
            if not selector.select(max(0.0, deadline - time.monotonic())):
                return b""
            if not (piece := os.read(stream.fileno(), 4096)):
                return b""
            line += piece
    return line


def _log(path: Path) -> Path:
    return path / "daemon.log"


def _acquaint(made: Network, one: Hospital, other: Hospital, arrows: str) -> None:
    for address in made.addresses(other):
        add_acquaintance(made.path(one), propose(address, HOSPITAL / arrows, name=other.name))

"""Load on a peer, kills at random moments, and what is looked at after each."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, Final

from heptox.demo import HOSPITAL
from heptox.peer import AcquaintanceRequest, Client, ItemLine, PeerFolder, Proposal, QuestionRequest
from heptox.peer.wire.address import PeerAddress
from heptox.peer.wire.identity import Identity
from heptox.peer.wire.mapping_files import MappingFiles
from heptox.settings import Hide, peer_settings_text
from tests.kills.attack import Attack, LostError, Step
from tests.kills.ledger import Register
from tests.peer.daemons import Daemon, acquaint, ask, daemon, hospital_peer

ARROWS: Final = "montreal-boston.arrows"
OWN: Final = "for $p in //Patient return data($p/Name)"
THEIRS: Final = "//Patient"
"""What the neighbour asks, in its words: the names of all who were admitted."""
DOCUMENTS: Final = 12
ACQUAINTANCES: Final = 6
MOST_PATIENTS: Final = 3000
ENDS: Final = ("answered", "failed", "timed out", "cancelled")


@dataclass(slots=True)
class Answered:
    """What the neighbour has got of its queries: ids of those of which it saw anything, and an end."""

    seen: set[str] = field(default_factory=set)
    ended: set[str] = field(default_factory=set)


class Siege(Attack):
    """A peer in ``folder`` with a neighbour that is left alone; ``figures`` tell what was done to it, ``answered`` what
    the neighbour has got."""

    most_acknowledged = 40
    most_seconds = 0.1

    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(folder, seed)
        made = PeerFolder.open(self._folder)
        settings = replace(made.settings, hide=(Hide(("Patient/MedCrNo",)),), audit_megabytes=1)
        (self._folder / "peer.toml").write_text(peer_settings_text(settings))
        self._neighbour = hospital_peer(folder / "neighbour", "boston", 0)
        self._documents = Register[bytes]()
        self._acquaintances = Register[str]()
        self.answered = Answered()
        self._mapping = MappingFiles.pack(HOSPITAL / ARROWS)
        self._peers = [Identity.generate().peer_id for _ in range(ACQUAINTANCES)]
        self._versions = iter(range(1, 1_000_000))

    @contextmanager
    def laid(self) -> Iterator[None]:
        """Let the neighbour run for as long as the block lasts, an acquaintance of the peer."""
        with daemon(self._neighbour) as neighbour:
            with daemon(self._folder) as besieged:
                acquaint(self._folder, neighbour, ARROWS)
                acquaint(self._neighbour, besieged, ARROWS)
                digest = self._held_acquaintances()[neighbour.folder.name]
                self._acquaintances.acknowledged[neighbour.folder.name] = digest
                self._acquaintances.counts[neighbour.folder.name, "acquainted"] = 1
                besieged.end(signal.SIGKILL)
            yield

    def _acknowledged(self) -> int:
        return self._documents.counts.total() + self._acquaintances.counts.total()

    # -- load --------------------------------------------------------------------------------------------------------

    def _steps(self) -> Sequence[Step]:
        return [
            *(self._changing_documents(number, 2) for number in range(2)),
            self._change_acquaintance,
            self._ask,
            self._ask,
        ]

    def _changing_documents(self, worker: int, workers: int) -> Step:
        names = [f"d{number}.xml" for number in range(worker, DOCUMENTS, workers)]

        def change(client: Client, random: Random) -> None:
            name = random.choice(names)
            if name in self._documents.acknowledged and random.random() < 0.3:
                with self._documents.changing(name, "removed", None):
                    client.remove(name)
            else:
                data = self._hospital(name, random)
                with self._documents.changing(name, "loaded", data):
                    client.load(name, data, replacing=True)

        return change

    def _hospital(self, name: str, random: Random) -> bytes:
        """A document about patients whose names nobody else ever has."""
        number, version = int(random.paretovariate(0.4)), next(self._versions)
        patients = [f"{name} {version} {patient}" for patient in range(min(number, MOST_PATIENTS))]
        told = (
            f"<Patient ID='{one.replace(' ', '-')}'><MedCrNo>{index}</MedCrNo><Name>{one}</Name><Hist/></Patient>"
            for index, one in enumerate(patients)
        )
        admitted = (
            f"<Admission PatRef='{one.replace(' ', '-')}'><Problem>Coronary</Problem><AdmDate>1</AdmDate></Admission>"
            for one in patients
        )
        return f"<MonGenHosp>{''.join(told)}{''.join(admitted)}</MonGenHosp>".encode()

    def _change_acquaintance(self, client: Client, random: Random) -> None:
        number = random.randrange(ACQUAINTANCES)
        name = f"a{number}"
        if name in self._acquaintances.acknowledged and random.random() < 0.5:
            with self._acquaintances.changing(name, "ended", None):
                client.withdraw(name)
            return
        told = self._mapping.files[self._mapping.mapping] + f"\n# {next(self._versions)}\n".encode()
        files = replace(self._mapping, files={**self._mapping.files, self._mapping.mapping: told})
        address = PeerAddress.parse(f"/ip4/127.0.0.1/tcp/1/p2p/{self._peers[number]}")
        with self._acquaintances.changing(name, "acquainted", files.digest):
            client.acquaint(AcquaintanceRequest.of(Proposal(address, files, name=name)))

    def _ask(self, _: Client, __: Random) -> None:
        """Let the neighbour ask, and note of which queries it got what."""
        parts, receipt = ask(self._neighbour, THEIRS, hops=1)
        for line in receipt.lines[1:]:
            if line.status in ("answered", "unreachable") and (line.items or line.status == "answered"):
                self.answered.seen.add(receipt.query)
            if line.status == "answered":
                self.answered.ended.add(receipt.query)
        self.figures["items that the neighbour got"] += len(parts)

    # -- what is looked at -------------------------------------------------------------------------------------------

    def _look_at_files(self) -> None:
        """The peer does: what is wrong with them keeps it from starting."""

    def look(self, besieged: Daemon) -> None:
        held = {file.name: file.read_bytes() for file in (self._folder / "documents").iterdir()}
        wrong = self._documents.settle(held)
        wrong += self._acquaintances.settle(self._held_acquaintances())
        wrong += self._unanswered(besieged, held)
        wrong += self._unlogged()
        if wrong:
            raise LostError("\n".join(wrong))
        self.figures["looks"] += 1
        for register in (self._documents, self._acquaintances):
            for state in ("counts", "cut_off"):
                for what in {what for _, what in getattr(register, state)}:
                    number = sum(count for (_, one), count in getattr(register, state).items() if one == what)
                    self.figures[f"{what}, {'acknowledged' if state == 'counts' else 'cut off'}"] = number
        self.figures["queries of which the neighbour saw something"] = len(self.answered.seen)
        self.figures["queries of which the neighbour saw the end"] = len(self.answered.ended)

    def _held_acquaintances(self) -> Mapping[str, str]:
        known = PeerFolder.open(self._folder).acquaintances()
        return {one.name: MappingFiles.read(one.mapping).digest for one in known}

    def _unanswered(self, besieged: Daemon, held: Mapping[str, bytes]) -> list[str]:
        """What is wrong with the answers to its own user and to its neighbour."""
        expected = {name for data in held.values() for name in _names(data)}
        with besieged.client() as client:
            parts = [part for part in client.query(QuestionRequest(query=OWN, hops=0)) if isinstance(part, ItemLine)]
            documents = {one.name: one.bytes for one in client.documents()}
        own = [part.item.strip('"') for part in parts]
        parts, receipt = ask(self._neighbour, THEIRS, hops=1)
        theirs = [part.item.removeprefix("<Patient>").removesuffix("</Patient>") for part in parts]
        is_whole = all(line.complete for line in receipt.lines)
        wrong = [] if is_whole else [f"the neighbour's answer is not complete: {receipt}"]
        for asker, found in (("its own user", own), ("its neighbour", theirs)):
            if sorted(found) != sorted(expected):
                some = sorted(expected ^ set(found))[:5]
                wrong.append(f"{asker} got {len(found)} names, not {len(expected)}; such as {some}")
        if documents != {name: len(data) for name, data in held.items()}:
            wrong.append(f"it tells of other documents than it has: {documents}")
        return wrong

    def _unlogged(self) -> list[str]:
        """What is wrong with the audit log."""
        lines = self._audit_lines()
        wrong = [f"a line of the audit log is none: {line[:200]!r}" for line in lines if not _is_event(line)]
        events = [json.loads(line) for line in lines if _is_event(line)]
        asked = {event["query"] for event in events if event["event"] == "asked"}
        ended = {event["query"] for event in events if event["event"] in ENDS}
        wrong += [f"query {query} was answered, but is not in the log" for query in self.answered.seen - asked]
        wrong += [f"query {query} has ended, but not in the log" for query in self.answered.ended - ended]
        written = Counter((event["document"], event["event"]) for event in events if "document" in event)
        wrong += self._documents.miscounted(written)
        written = Counter((one["name"], one["event"]) for one in events if one["event"] in ("acquainted", "ended"))
        wrong += self._acquaintances.miscounted(written)
        self.figures["lines of the audit log"] = len(lines)
        self.figures["ends of the audit log that were torn"] = _torn(self._folder)
        self.figures["files of the audit log"] = len(list(self._folder.glob("audit*.log")))
        return wrong

    def _audit_lines(self) -> list[bytes]:
        files = [*sorted(self._folder.glob("audit-*.log")), self._folder / "audit.log"]
        return [line for file in files for line in file.read_bytes().splitlines(keepends=True)]


def _names(data: bytes) -> list[str]:
    return [piece.partition("</Name>")[0] for piece in data.decode().split("<Name>")[1:]]


def _is_event(line: bytes) -> bool:
    try:
        value: Any = json.loads(line)
    except ValueError:
        return False
    return isinstance(value, dict) and "event" in value and line.endswith(b"\n")


def _torn(folder: Path) -> int:
    file = folder / "audit.torn"
    return file.read_bytes().count(b"\n") if file.exists() else 0

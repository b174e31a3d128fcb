"""Networks of real peers in several processes: their plan, their life, and what they are asked."""

from __future__ import annotations

import json
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from heptox.cluster import SCHEMAS, XMARK, Edge, neighbours
from heptox.grammar import print_query
from heptox.peer import PeerFolder
from heptox.translate import Direction
from tests.cluster.workload import asked
from tests.support.forking import Forked

SECONDS: Final = 600.0
"""The deadline of a query: far more than any needs."""
DEADLINE: Final = 1200.0
"""Seconds after which the processes are ended, and the test has failed."""

Path_: TypeAlias = tuple[str, ...]


class Line(NamedTuple):
    """What became of a query at the end of a path."""

    status: str
    complete: bool
    beyond: bool
    items: frozenset[str]


@dataclass(frozen=True)
class Plan:
    """Who knows whom: ``schemas`` of the peers by name, ``known`` the mappings to the acquaintances of each."""

    schemas: dict[str, str]
    known: dict[str, dict[str, tuple[Edge, Direction]]]

    @classmethod
    def of(cls, peers: int, least: int) -> Plan:
        """As many peers of every schema, each with the acquaintances that are least known among those it can have."""
        names = list(SCHEMAS)
        schemas = {f"{names[number % len(names)]}-{number}": names[number % len(names)] for number in range(peers)}
        known: dict[str, dict[str, tuple[Edge, Direction]]] = {peer: {} for peer in schemas}
        for peer in sorted(schemas, key=lambda peer: len(list(neighbours(schemas[peer])))):
            ways = {there: (edge, to) for edge, to, there in neighbours(schemas[peer])}
            while len(known[peer]) < least:
                used = Counter(schemas[other] for other in known[peer])
                candidates = [other for other in schemas if schemas[other] in ways and other not in known[peer]]
                other = min(candidates, key=lambda other: (len(known[other]), used[schemas[other]]))
                edge, to = ways[schemas[other]]
                back = Direction.TARGET if to is Direction.SOURCE else Direction.SOURCE
                known[peer][other], known[other][peer] = (edge, to), (edge, back)
        return cls(schemas, known)

    def reached(self, peer: str, hops: int) -> set[str]:
        """The peers that are so near."""
        found = {peer}
        for _ in range(hops):
            found |= {other for near in found for other in self.known[near]}
        return found


class Process:
    """A process with several peers."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._process = Forked(folders, module="tests.peer.hosting", stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def tell(self, **command: Any) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        assert line, "the process has ended, by itself or because it was late"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> None:
        """Let it come to its end, which is that of its commands."""
        self._process.communicate()


def _kill(processes: Iterable[Process]) -> None:
    for process in processes:
        process.kill()


@dataclass(frozen=True)
class Network:
    """The peers at work, each in the process that ``where`` tells."""

    plan: Plan
    folder: Path
    processes: tuple[Process, ...]
    where: dict[str, Process]

    @classmethod
    @contextmanager
    def running(cls, plan: Plan, folder: Path, text: Callable[[str], str], processes: int) -> Iterator[Network]:
        """The peers of a plan, in so many processes, each with the document that ``text`` gives for its name."""
        peers = list(plan.schemas)
        for peer, schema in plan.schemas.items():
            PeerFolder.create(folder / peer, XMARK / f"{schema}.dtd", root=SCHEMAS[schema])
            document = folder / peer / "documents" / "auctions.xml"
            document.write_text(text(peer), encoding="utf-8")  # the store is made of it at the start
        with ExitStack() as stack:
            groups = [peers[start::processes] for start in range(processes)]
            running = tuple(Process([folder / peer for peer in group]) for group in groups)
            late = threading.Timer(DEADLINE, _kill, [running])
            late.start()
            stack.callback(late.cancel)
            for process in running:
                stack.callback(process.end)
            where = {peer: process for process, group in zip(running, groups, strict=True) for peer in group}
            network = cls(plan, folder, running, where)
            network._acquaint()
            yield network

    def _acquaint(self) -> None:
        addresses = {Path(folder).name: one for said in self._heard() for folder, one in said["addresses"].items()}
        for process in self.processes:
            process.tell(
                acquaint=[
                    {
                        "folder": str(self.folder / peer),
                        "address": addresses[other],
                        "mapping": str(edge.file),
                        "side": "target" if to is Direction.SOURCE else "source",
                        "name": other,
                    }
                    for peer, home in self.where.items()
                    if home is process
                    for other, (edge, to) in self.plan.known[peer].items()
                ]
            )
        assert sum(said["acquainted"] for said in self._heard()) == sum(map(len, self.plan.known.values()))
        for process in self.processes:
            process.tell(agree=True)
        self._heard()

    def _heard(self) -> list[dict[str, Any]]:
        return [process.hear() for process in self.processes]

    def delay(self, seed: int) -> None:
        """Let everything take another time from now on."""
        for number, process in enumerate(self.processes):
            process.tell(delays=f"{seed} {number}")
        self._heard()

    def ask(self, questions: Iterable[tuple[str, str]], hops: int) -> dict[tuple[str, str], dict[str, Any]]:
        """What comes of queries, each by its asker and its name, that are asked at once."""
        asked_there: dict[Process, list[tuple[str, str]]] = {}
        for asker, name in questions:
            asked_there.setdefault(self.where[asker], []).append((asker, name))
        for process, several in asked_there.items():
            wanted = [
                {"folder": str(self.folder / asker), "query": print_query(asked(name, self.plan.schemas[asker]))}
                for asker, name in several
            ]
            process.tell(ask=wanted, hops=hops, seconds=SECONDS)
        return {
            question: answer
            for process, several in asked_there.items()
            for question, answer in zip(several, process.hear()["answers"], strict=True)
        }


def lines(answer: dict[str, Any]) -> dict[Path_, Line]:
    """What came along each path; an item comes once along each."""
    items = {tuple(part["path"]): part["items"] for part in answer["items"]}
    assert all(len(set(several)) == len(several) for several in items.values())
    found = {
        tuple(line["path"]): Line(
            line["status"], line["complete"], line["beyond"], frozenset(items.pop(tuple(line["path"]), ()))
        )
        for line in answer["lines"]
    }
    assert not items, "items came of which the receipt does not speak"
    assert {tuple(line["path"]): line["items"] for line in answer["lines"]} == {
        path: len(line.items) for path, line in found.items()
    }
    return found

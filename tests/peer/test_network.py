"""A network of 64 peers under ten schemas in several processes: the answer is that of all paths, at any timing."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import pytest

from heptox.cluster import QUERIES, SCHEMAS, XMARK, Edge, auction_document, neighbours
from heptox.errors import HeptoxError
from heptox.grammar import Expression, print_query
from heptox.peer import PeerFolder, Status
from heptox.store import evaluate
from heptox.translate import Direction, Translation, translate
from heptox.xmlio import parse_document
from tests.cluster.workload import asked, mapping

PEERS: Final = 64
PROCESSES: Final = 4
ACQUAINTANCES: Final = 4
"""The least that a peer has."""
PEOPLE: Final = 12
HOPS: Final = 3
RUNS: Final = 10
ASKERS: Final = ("auction-20", "nested-13", "split-9")
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


class WithoutNetwork:
    """The answer of a network, by composing translations over all paths and evaluating at the end of each."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._translations: dict[tuple[Edge, Direction, str], Translation | None] = {}
        self._items: dict[tuple[str, str], frozenset[str]] = {}
        self._documents = {peer: parse_document(text(peer, schema)) for peer, schema in plan.schemas.items()}

    def answer(self, asker: str, name: str) -> dict[Path_, Line]:
        return dict(self._along((asker,), asked(name, self._plan.schemas[asker]), HOPS))

    def _along(self, path: Path_, expression: Expression, hops: int) -> Iterator[tuple[Path_, Line]]:
        ahead = [(other, way) for other, way in self._plan.known[path[-1]].items() if other not in path]
        yield path, Line(Status.ANSWERED, True, not hops and bool(ahead), self._found(path[-1], expression))
        for other, (edge, to) in ahead if hops else ():
            translation = self._translated(edge, to, expression)
            if translation is None:
                yield (*path, other), Line(Status.REFUSED, False, True, frozenset())
            elif translation.empty:
                yield (*path, other), Line(Status.NOTHING, True, True, frozenset())
            else:
                yield from self._along((*path, other), translation.query, hops - 1)

    def _translated(self, edge: Edge, to: Direction, expression: Expression) -> Translation | None:
        key = (edge, to, print_query(expression))
        if key not in self._translations:
            try:
                self._translations[key] = translate(mapping(edge), expression, to)
            except HeptoxError:
                self._translations[key] = None
        return self._translations[key]

    def _found(self, peer: str, expression: Expression) -> frozenset[str]:
        key = (peer, print_query(expression))
        if key not in self._items:
            self._items[key] = frozenset(evaluate(expression, [self._documents[peer]]))
        return self._items[key]


def text(peer: str, schema: str) -> str:
    """The document of a peer: other people and auctions than those of any other."""
    return "".join(auction_document(schema, PEOPLE, seed=int(peer.rpartition("-")[2])))


class Process:
    """A process with several peers."""

    def __init__(self, folders: Sequence[Path]) -> None:
        command = [sys.executable, "-m", "tests.peer.hosting", *map(str, folders)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

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
    def running(cls, plan: Plan, folder: Path) -> Iterator[Network]:
        peers = list(plan.schemas)
        for peer, schema in plan.schemas.items():
            PeerFolder.create(folder / peer, XMARK / f"{schema}.dtd", root=SCHEMAS[schema])
            document = folder / peer / "documents" / "auctions.xml"
            document.write_text(text(peer, schema), encoding="utf-8")  # the store is made of it at the start
        with ExitStack() as stack:
            groups = [peers[start::PROCESSES] for start in range(PROCESSES)]
            processes = tuple(Process([folder / peer for peer in group]) for group in groups)
            late = threading.Timer(DEADLINE, _kill, [processes])
            late.start()
            stack.callback(late.cancel)
            for process in processes:
                stack.callback(process.end)
            where = {peer: process for process, group in zip(processes, groups, strict=True) for peer in group}
            network = cls(plan, folder, processes, where)
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

    def ask(self, questions: Iterable[tuple[str, str]]) -> dict[tuple[str, str], dict[str, Any]]:
        """What comes of queries, each by its asker and its name, that are asked at once."""
        asked_there: dict[Process, list[tuple[str, str]]] = {}
        for asker, name in questions:
            asked_there.setdefault(self.where[asker], []).append((asker, name))
        for process, several in asked_there.items():
            wanted = [
                {"folder": str(self.folder / asker), "query": print_query(asked(name, self.plan.schemas[asker]))}
                for asker, name in several
            ]
            process.tell(ask=wanted, hops=HOPS, seconds=SECONDS)
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


@pytest.fixture(scope="module")
def plan() -> Plan:
    return Plan.of(PEERS, ACQUAINTANCES)


def test_the_network_is_one_of_all_schemas_with_many_acquaintances(plan: Plan) -> None:
    assert len(plan.schemas) == PEERS
    assert set(plan.schemas.values()) == set(SCHEMAS)
    assert all(len(known) >= ACQUAINTANCES for known in plan.known.values())
    assert all(peer in plan.known[other] for peer, known in plan.known.items() for other in known)
    assert all(plan.reached(asker, PEERS) == set(plan.schemas) for asker in ASKERS)
    assert all(other not in plan.known[one] for one, other in combinations(ASKERS, 2))


def test_every_answer_is_that_of_all_paths_whatever_the_timing(plan: Plan, tmp_path: Path) -> None:
    without = WithoutNetwork(plan)
    expected = {(asker, name): without.answer(asker, name) for asker in ASKERS for name in QUERIES}
    _assert_that_much_is_asked(expected.values())
    orders: dict[tuple[str, str], set[tuple[Path_, ...]]] = {question: set() for question in expected}
    with Network.running(plan, tmp_path) as network:
        for seed in range(RUNS):
            network.delay(seed)
            for question, answer in network.ask(expected).items():
                reasons = {line["reason"] for line in answer["lines"] if not line["complete"]}
                assert _different(lines(answer), expected[question]) == {}, (seed, question, reasons)
                assert answer["distinct"] == len(items(expected[question].values())), (seed, question)
                orders[question].add(tuple(tuple(part["path"]) for part in answer["items"]))
    # Or else all runs would have been one.
    assert all(len(several) == RUNS for question, several in orders.items() if len(items_paths(expected[question])) > 9)


def _different(found: dict[Path_, Line], expected: dict[Path_, Line]) -> dict[Path_, tuple[Line | None, Line | None]]:
    """What came along each path beside what should have come, where these differ."""
    pairs = {path: (found.get(path), expected.get(path)) for path in found.keys() | expected.keys()}
    return {path: pair for path, pair in pairs.items() if pair[0] != pair[1]}


def _assert_that_much_is_asked(answers: Iterable[dict[Path_, Line]]) -> None:
    """The answers come along many paths, and much of them from far away and along several paths."""
    for answer in answers:
        assert len(answer) > 50
        assert len({path[-1] for path in answer}) > 20
        assert len({path[-1] for path in answer}) < len(answer), "no peer is reached along two paths"
        assert all(line.complete for line in answer.values())
        assert items(answer.values())
        far = items(line for path, line in answer.items() if len(path) > 2)
        near = items(line for path, line in answer.items() if len(path) <= 2)
        assert len(far - near) > len(near)


def items(found: Iterable[Line]) -> set[str]:
    return {item for line in found for item in line.items}


def items_paths(answer: dict[Path_, Line]) -> list[Path_]:
    return [path for path, line in answer.items() if line.items]

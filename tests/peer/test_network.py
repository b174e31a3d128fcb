"""A network of 14 peers, or 32, under ten schemas in several processes: its answer is that of all paths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Final

import pytest

from heptox.cluster import QUERIES, SCHEMAS, Edge, auction_document
from heptox.errors import HeptoxError
from heptox.grammar import Expression, print_query
from heptox.peer import Status
from heptox.store import evaluate
from heptox.translate import Direction, Loss, Translation, translate
from heptox.xml import parse_document
from tests.cluster.workload import asked, mapping
from tests.peer.real_network import Line, Network, Path_, Plan, lines
from tests.support.budget import usually

PEERS: Final = usually(14, 32)
PROCESSES: Final = usually(2, 4)
ACQUAINTANCES: Final = usually(3, 4)
"""The least that a peer has."""
PEOPLE: Final = usually(6, 12)
HOPS: Final = usually(4, 3)
RUNS: Final = 2
ASKERS: Final = usually(("nested-3",), ("auction-20", "nested-13"))
ASKED: Final = usually(tuple(QUERIES)[::8], tuple(QUERIES))


class WithoutNetwork:
    """The answer of a network, by composing translations over all paths and evaluating at the end of each."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._translations: dict[tuple[Edge, Direction, str], Translation | None] = {}
        self._items: dict[tuple[str, str], frozenset[str]] = {}
        self._documents = {peer: parse_document(text(peer)) for peer in plan.schemas}

    def answer(self, asker: str, name: str) -> dict[Path_, Line]:
        return dict(self._along((asker,), asked(name, self._plan.schemas[asker]), HOPS))

    def _along(
        self, path: Path_, expression: Expression, hops: int, *, has_all: bool = True
    ) -> Iterator[tuple[Path_, Line]]:
        ahead = [(other, way) for other, way in self._plan.known[path[-1]].items() if other not in path]
        yield path, Line(Status.ANSWERED, has_all, not hops and bool(ahead), self._found(path[-1], expression))
        for other, (edge, to) in ahead if hops else ():
            translation = self._translated(edge, to, expression)
            if translation is None:
                yield (*path, other), Line(Status.REFUSED, False, True, frozenset())
            elif translation.empty:
                yield (*path, other), Line(Status.NOTHING, not _losses(translation), True, frozenset())
            else:
                has_all = not _losses(translation)
                yield from self._along((*path, other), translation.query, hops - 1, has_all=has_all)

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


def _losses(translation: Translation) -> list[Loss]:
    return [loss for loss in translation.losses if not loss.is_remark]


def text(peer: str) -> str:
    """The document of a peer: other people and auctions than those of any other."""
    schema, _, number = peer.rpartition("-")
    return "".join(auction_document(schema, PEOPLE, seed=int(number)))


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
    expected = {(asker, name): without.answer(asker, name) for asker in ASKERS for name in ASKED}
    _assert_that_much_is_asked(expected.values())
    orders: dict[tuple[str, str], set[tuple[Path_, ...]]] = {question: set() for question in expected}
    with Network.running(plan, tmp_path, text, PROCESSES) as network:
        for seed in range(RUNS):
            network.delay(seed)
            for question, answer in network.ask(expected, HOPS).items():
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
        assert len({path[-1] for path in answer}) > PEERS // 2
        assert len({path[-1] for path in answer}) < len(answer), "no peer is reached along two paths"
        assert all(Status(line.status).complete for line in answer.values())
        assert items(answer.values())
        far = items(line for path, line in answer.items() if len(path) > 2)
        near = items(line for path, line in answer.items() if len(path) <= 2)
        assert len(far - near) > len(near)


def items(found: Iterable[Line]) -> set[str]:
    return {item for line in found for item in line.items}


def items_paths(answer: dict[Path_, Line]) -> list[Path_]:
    return [path for path, line in answer.items() if line.items]

"""The emulation of a network: queries spread and answers return in supersteps of virtual time (``cluster.md``).

What is translated and evaluated depends on the query and the schema alone. It is therefore done once for all peers: a
translation for each mapping and query, and one statement for each query that answers it for all peers of its schema.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping as Table
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Protocol, TypeAlias

from heptox.cluster.emulated import (
    Body,
    Conditions,
    ItemsArrived,
    Observation,
    Parcel,
    QueryArrived,
    QueryEnded,
    QueryFacts,
)
from heptox.cluster.network import Network
from heptox.cluster.outcome import Superstep
from heptox.cluster.plan import Plan
from heptox.cluster.progress import NEVER, Progress
from heptox.cluster.queries import KnownQuery, Queries, Request, Result, asked_query
from heptox.cluster.workload import Edge
from heptox.errors import ClusterError, Fault
from heptox.mapping import Mapping
from heptox.peer import Asked, ReceiptLine, peers_of

Path: TypeAlias = tuple[int, ...]


class Engine(Protocol):
    """Where the work of an emulation is done."""

    def begin(self, parcels: list[tuple[int, Parcel]]) -> None:
        """Let something be under way to the peers of some networks."""

    def advance(self, end: int, known: QueryFacts, asked: set[Body]) -> Progress:
        """Let all peers work until before ``end``."""

    def translate(self, requests: list[Request]) -> list[Result]:
        """Make translations."""

    def evaluate(self, queries: list[tuple[Body, KnownQuery]]) -> dict[Body, float]:
        """Have queries answered for all peers under their schemas; seconds that each would take a peer."""

    def interpret(self, pairs: Table[int, list[tuple[Body, KnownQuery]]]) -> dict[tuple[int, Body], frozenset[int]]:
        """The marks of the items of queries at some peers, by interpreting them on the documents."""


@dataclass(frozen=True, slots=True)
class Question:
    """A query that is asked: ``id`` names it in the network ``world``, ``body`` is its number."""

    id: str
    name: str
    asker: int
    world: int
    body: Body


@dataclass(slots=True)
class Answer:
    """What came of a question: the lines of the receipt, and by path when it was reached and what came from it."""

    question: Question
    lines: dict[Path, ReceiptLine] = field(default_factory=dict)
    reached: dict[Path, int] = field(default_factory=dict)
    came: dict[Path, list[tuple[int, tuple[int, ...]]]] = field(default_factory=dict)
    concluded: int | None = None
    complete: bool = False

    def marks(self, path: Path) -> set[int]:
        """The marks of the items that came along a path."""
        return {item for _, items in self.came.get(path, ()) for item in items}


@dataclass(slots=True)
class EmulationResult:
    """The result of an emulation, as it was observed."""

    answers: tuple[Answer, ...]
    supersteps: list[Superstep] = field(default_factory=list)
    messages: Counter[str] = field(default_factory=Counter)
    bytes: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    seconds: Counter[str] = field(default_factory=Counter)


def questions_of(plan: Plan, network: Network, queries: Queries, mappings: Table[Edge, Mapping]) -> list[Question]:
    """The questions: each of the queries at each of the askers, which are drawn from the seed.

    Raises :class:`ClusterError` (HX8041) when there are fewer such peers than are to ask, or they have no words for it.
    """
    schema = plan.schemas[0] if plan.schemas[0] in network.schemas else network.schemas[0]
    candidates = [peer for peer, own in enumerate(network.schemas) if own == schema]
    if len(candidates) < plan.askers:
        message = f"{plan.askers} peers under {schema} are to ask, there are {len(candidates)}"
        raise ClusterError(Fault("HX8041", message, hint="take more peers or fewer askers"))
    askers = sorted(Random(f"{plan.seed} askers").sample(candidates, plan.askers))
    pairs = [(name, asker) for name in plan.queries for asker in askers]
    return [
        Question(
            f"{name} of {network.name(asker)}",
            name,
            asker,
            0 if plan.together else world,
            queries.add(asked_query(name, schema, mappings)),
        )
        for world, (name, asker) in enumerate(pairs)
    ]


def spread(
    conditions: Conditions,
    questions: list[Question],
    queries: Queries,
    engine: Engine,
    report: Callable[[Superstep, int], None] | None = None,
) -> EmulationResult:
    """Let questions spread through a network until all have ended and nothing is under way.

    ``report`` is called with each superstep, and how many of the questions have ended.
    """
    return _Emulation(conditions, questions, queries, engine).run(report)


class _Emulation:
    def __init__(self, conditions: Conditions, questions: list[Question], queries: Queries, engine: Engine) -> None:
        self._conditions = conditions
        self._questions = questions
        self._queries = queries
        self._engine = engine
        self._crossings = conditions.network.crossings()
        self._delay = conditions.network.least_delay
        self._result = EmulationResult(tuple(map(Answer, questions)))
        self._answers = {(answer.question.world, answer.question.id): answer for answer in self._result.answers}

    def run(self, report: Callable[[Superstep, int], None] | None) -> EmulationResult:
        plan = self._conditions.plan
        self._engine.begin([(each.world, _asking(each, plan)) for each in self._questions])
        asks = {(each.body, plan.hops > 0) for each in self._questions}
        begin = 0
        while True:
            started = time.perf_counter()
            translations, statements = self._learn(asks)
            end = begin + self._delay
            with self._timed("peers at work"):
                progress = self._engine.advance(end, self._queries.table(), {body for body, _ in asks})
            self._hear(progress.observations)
            asks = progress.asks
            superstep = Superstep(
                begin / 1000, progress.peers, progress.events, progress.messages.total(), translations, statements,
                time.perf_counter() - started,
            )  # fmt: skip
            self._result.supersteps.append(superstep)
            self._result.messages += progress.messages
            self._result.bytes += progress.bytes
            self._result.lost += progress.lost
            ended = sum(answer.concluded is not None for answer in self._result.answers)
            if report is not None:
                report(superstep, ended)
            begin = min(progress.next_parcel, progress.next_due)
            if progress.next_parcel == NEVER and (ended == len(self._questions) or begin == NEVER):
                return self._result

    def _learn(self, asks: set[tuple[Body, bool]]) -> tuple[int, int]:
        """Have translated and evaluated what is asked for the first time: how many of each."""
        requests = self._queries.requests({body for body, goes_on in asks if goes_on}, self._crossings)
        if requests:
            with self._timed("translation"):
                for request, result in zip(requests, self._engine.translate(requests), strict=True):
                    self._queries.learn(request, result)
        new = sorted({body for body, _ in asks} - self._queries.evaluation.keys())
        if new:
            with self._timed("statements"):
                found = self._engine.evaluate([(body, self._queries.known[body]) for body in new])
                self._queries.evaluation.update(found)
        return len(requests), len(new)

    def _hear(self, observations: list[tuple[int, Observation]]) -> None:
        for world, one in observations:
            match one:
                case QueryArrived(query, path, at):
                    self._answers[world, query].reached[path] = at
                case ItemsArrived(query, path, at, items):
                    self._answers[world, query].came.setdefault(path, []).append((at, items))
                case QueryEnded(receipt, at):
                    answer = self._answers[world, receipt.query]
                    answer.concluded, answer.complete = at, receipt.complete
                    answer.lines = {tuple(map(int, peers_of(line.path))): line for line in receipt.lines}

    @contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self._result.seconds[part] += time.perf_counter() - began  # type: ignore[assignment]


def _asking(question: Question, plan: Plan) -> Parcel:
    text = f"{question.body}"
    asked = Asked(question.id, question.body, text, plan.hops, plan.timeout, plan.budget)
    return Parcel(question.asker, 0, question.asker, 0, "", asked)

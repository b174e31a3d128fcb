"""A plan is carried out: its network is made, its questions are asked, what came is checked and reported."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from heptox.cluster.checking import ExpectedAnswers, check_answers, expected_answers
from heptox.cluster.emulated import Conditions
from heptox.cluster.emulation import Answer, Engine, Path, Question, questions_of, spread
from heptox.cluster.machine import memory_in_use, processor
from heptox.cluster.network import Network, make_network
from heptox.cluster.outcome import Outcome, PathOutcome, QueryOutcome, Superstep, Times
from heptox.cluster.plan import Plan
from heptox.cluster.queries import Queries, load_mappings, load_schemas
from heptox.cluster.workload import Edge
from heptox.mapping import Mapping as SchemaMapping
from heptox.peer import Status

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Report = Callable[[str], None]
"""Hears what is being done, in a few words."""


@dataclass(frozen=True, slots=True)
class PreparedEmulation:
    """A plan with all that follows from it without any work: the network, and the askers with their queries."""

    conditions: Conditions
    questions: list[Question]
    queries: Queries
    mappings: Mapping[Edge, SchemaMapping]


def prepare(plan: Plan) -> PreparedEmulation:
    """Make the network of a plan and the questions that are asked in it.

    Raises :class:`ClusterError`: HX8041 and HX8042 as :func:`heptox.cluster.make_network`, and HX8041 for questions
    that cannot be asked.
    """
    network = make_network(plan)
    plan = replace(plan, peers=len(network.schemas), schemas=tuple(dict.fromkeys(network.schemas)))  # a file may differ
    mappings = load_mappings(link.edge for links in network.links for link in links)
    queries = Queries(plan)
    questions = questions_of(plan, network, queries, mappings)
    conditions = Conditions(plan, network, frozenset(question.asker for question in questions))
    return PreparedEmulation(conditions, questions, queries, mappings)


def emulate(prepared: PreparedEmulation, spark: SparkSession, report: Report = lambda _: None) -> Outcome:
    """Carry out a plan on Spark, once, and check all that comes of it.

    What fails comes as Spark raises it; :func:`heptox.cluster.spark_faults` reports that as errors of heptox.
    """
    from heptox.cluster.engine import SparkEngine

    clock = _Clock()
    schemas = prepared.conditions.network.schemas
    report(f"making the documents of {len(schemas):,} peers")
    with SparkEngine(spark, prepared.conditions, prepared.mappings, load_schemas(schemas)) as engine:
        clock.part("documents")
        return carried_out(prepared, engine, report, clock)


class _Clock:
    """Measures the parts of the work."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.memory = 0
        self._last = time.perf_counter()

    def part(self, name: str) -> None:
        """The part of that name has ended now."""
        now = time.perf_counter()
        self.seconds[name] = now - self._last
        self._last = now
        self.look()

    def skip(self) -> None:
        """What has been done since the last part is measured elsewhere."""
        self._last = time.perf_counter()

    def look(self) -> None:
        self.memory = max(self.memory, memory_in_use())


def carried_out(
    prepared: PreparedEmulation, engine: Engine, report: Report = lambda _: None, clock: _Clock | None = None
) -> Outcome:
    """Ask the questions of a plan on an engine, check what comes, and report the outcome."""
    conditions, questions, queries = prepared.conditions, prepared.questions, prepared.queries
    clock = clock or _Clock()

    def hear(superstep: Superstep, ended: int) -> None:
        clock.look()
        report(
            f"at {superstep.begin:,.0f} ms: {superstep.messages:,} messages, {ended} of {len(questions)} queries done"
        )

    emulated = spread(conditions, questions, queries, engine, hear)
    clock.skip()  # the parts of the supersteps are reported with them
    report("checking the answers")
    expected = expected_answers(conditions, emulated, queries, engine)
    check = check_answers(conditions, emulated, expected)
    clock.part("check")
    seconds = {**clock.seconds, **emulated.seconds}
    return Outcome(
        plan=conditions.plan.value(),
        network=conditions.network.outcome(),
        queries=tuple(
            _query(answer, expected[answer.question.world, answer.question.id], conditions.network, queries)
            for answer in emulated.answers
        ),
        supersteps=tuple(emulated.supersteps),
        messages=dict(sorted(emulated.messages.items())),
        bytes=dict(sorted(emulated.bytes.items())),
        lost=emulated.lost,
        departures=_departures(conditions),
        check=check,
        times=Times(seconds, clock.memory, processor()),
    )


def _departures(conditions: Conditions) -> int:
    return sum(conditions.absence(peer) is not None for peer in range(len(conditions.network.schemas)))


def _query(answer: Answer, expected: ExpectedAnswers, network: Network, queries: Queries) -> QueryOutcome:
    question = answer.question
    paths = tuple(_path(answer, path, expected, network, queries) for path in sorted(answer.lines))
    items = {item for path in answer.came for item in answer.marks(path)}
    concluded = 0.0 if answer.concluded is None else answer.concluded / 1000
    return QueryOutcome(
        question.name, question.asker, paths, len(items), len(expected.all_items()), answer.complete, concluded
    )


def _path(answer: Answer, path: Path, expected: ExpectedAnswers, network: Network, queries: Queries) -> PathOutcome:
    line = answer.lines[path]
    came = [at / 1000 for at, items in answer.came.get(path, ()) if items]
    reached = answer.reached.get(path)
    body = expected.paths[path][1] if path in expected.paths else -1
    return PathOutcome(
        path,
        line.status,
        line.items,
        line.beyond,
        line.reason,
        None if reached is None else reached / 1000,
        min(came, default=None),
        max(came, default=None),
        sum(_translations(path, expected, network, queries)) * 1000,
        queries.evaluation.get(body, 0.0) * 1000,
    )


def _translations(path: Path, expected: ExpectedAnswers, network: Network, queries: Queries) -> list[float]:
    """Seconds of each translation along a path."""
    seconds = []
    for length in range(1, len(path)):
        body = expected.paths.get(path[:length], (Status.NOTHING, -1))[1]
        link = next(link for link in network.links[path[length - 1]] if link.peer == path[length])
        seconds.append(queries.seconds.get((link.edge, link.to, body), 0.0))
    return seconds

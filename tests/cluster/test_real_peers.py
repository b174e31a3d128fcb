"""What is emulated is what is deployed: peers over libp2p answer as the same peers on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from heptox.cluster import emulate, make_network, planned, prepare
from heptox.cluster.documents import document_maker
from heptox.cluster.outcome import Outcome
from tests.peer.real_network import Network, Plan, lines
from tests.support.budget import usually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROCESSES: Final = 2
PLAN: Final = planned({"peers": usually(6, 16), "hops": 2, "queries": ["Q1", "Q5", *usually((), ("Q10",))], "seed": 5})


def test_real_peers_answer_as_emulated_ones(spark: SparkSession, tmp_path: Path) -> None:
    outcome = emulate(prepare(PLAN), spark)
    assert outcome.check.passed, outcome.check.faults
    network = make_network(PLAN)
    names = [network.name(peer) for peer in range(PLAN.peers)]
    plan = Plan(
        dict(zip(names, network.schemas, strict=True)),
        {
            names[peer]: {names[link.peer]: (link.edge, link.to) for link in links}
            for peer, links in enumerate(network.links)
        },
    )

    def text(name: str) -> str:
        schema, _, number = name.rpartition("-")
        return document_maker(schema, PLAN.people, PLAN.seed)(int(number))

    questions = {(names[query.asker], query.name): query for query in outcome.queries}
    with Network.running(plan, tmp_path, text, PROCESSES) as real:
        answers = real.ask(questions, PLAN.hops)
    compared = 0
    for question, query in questions.items():
        found = lines(answers[question])
        emulated = {tuple(names[peer] for peer in path.path): path for path in query.paths}
        assert found.keys() == emulated.keys()
        for way, line in found.items():
            path = emulated[way]
            assert (line.status, line.beyond, len(line.items)) == (path.status, path.beyond, path.items), (
                question,
                way,
            )
            compared += 1
        assert answers[question]["distinct"] == query.items
    assert compared > usually(10, 30)
    assert _messages(outcome) >= usually(30, 100)


def _messages(outcome: Outcome) -> int:
    return sum(outcome.messages.values())

"""Emulations: the answer is that of all paths; nothing depends on the order of work; what is lost is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings as hypothesis_settings, strategies as st

from heptox.cluster.outcome import Outcome
from heptox.peer import Status
from tests.cluster.emulating import emulated
from tests.support.budget import tries

FEW: dict[str, Any] = {"peers": 12, "schemas": 6, "hops": 3, "people": 2}


def deterministic(outcome: Outcome) -> Outcome:
    """An outcome without what is measured."""
    queries = tuple(
        replace(query, paths=tuple(replace(path, translation=0, evaluation=0) for path in query.paths))
        for query in outcome.queries
    )
    return replace(outcome, queries=queries, supersteps=tuple(replace(step, seconds=0) for step in outcome.supersteps))


def test_every_path_is_answered_and_the_check_agrees() -> None:
    outcome = emulated(**FEW, queries=["Q1", "Q5", "Q9"])
    assert outcome.check.passed, outcome.check.faults
    assert [query.complete for query in outcome.queries] == [True, True, True]
    assert all(query.items == query.expected > 0 for query in outcome.queries)
    assert sum(len(query.paths) for query in outcome.queries) == outcome.check.paths > 60
    assert outcome.messages["query"] == outcome.messages["end"]
    assert outcome.lost == 0 and outcome.departures == 0


def test_times_are_those_of_links_and_processors() -> None:
    outcome = emulated(peers=2, schemas=2, hops=1, people=2, delay_ms=50, translate_ms=3, evaluate_ms=7)
    own, other = outcome.queries[0].paths
    assert (own.arrived, own.first) == (0, 10)
    assert other.arrived == pytest.approx(53, abs=1)  # translated, and on the way
    assert other.first == pytest.approx(53 + 7 + 50, abs=1)
    slower = emulated(peers=2, schemas=2, hops=1, people=2, delay_ms=50, bandwidth_mbit=0.1, slow=1, slow_factor=10)
    assert slower.queries[0].paths[0].first == 100
    assert (slower.queries[0].paths[1].first or 0) > 30 + 70 + 100


@pytest.mark.parametrize("chance", [1, 2, 3])
@pytest.mark.parametrize("disturbed", [{}, {"loss": 0.05}, {"churn": 0.5, "away_ms": 200}])
def test_nothing_depends_on_the_order_of_work_or_on_work_that_is_done_twice(
    chance: int, disturbed: dict[str, Any]
) -> None:
    plan = {**FEW, "queries": ["Q1", "Q3"], **disturbed}
    assert deterministic(emulated(chance=chance, **plan)) == deterministic(emulated(chance=0, **plan))


@hypothesis_settings(max_examples=tries(25), deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from([0, 0.02, 0.3]),
    st.sampled_from([0, 0.3, 1]),
    st.sampled_from([0, 0.5]),
    st.sampled_from([0.0, 0.8]),
    st.booleans(),
    st.sampled_from([0.4, 60.0]),
)
def test_what_is_lost_is_told(
    seed: int, loss: float, churn: float, slow: float, spread: float, together: bool, timeout: float
) -> None:
    outcome = emulated(
        **FEW, seed=seed, queries=["Q1", "Q6"], askers=2, loss=loss, churn=churn, slow=slow, delay_spread=spread,
        together=together, timeout=timeout,
    )  # fmt: skip
    assert outcome.check.passed, outcome.check.faults
    for query in outcome.queries:
        assert query.items <= query.expected
        assert query.complete or any(not path.status.complete for path in query.paths)
        assert not query.complete or query.items == query.expected


def test_losses_and_churn_do_lose_answers() -> None:
    calm = emulated(**FEW)
    lossy = emulated(**FEW, loss=0.2)
    leaving = emulated(**FEW, churn=0.7, churn_ms=200)
    assert lossy.lost > 0 and leaving.departures > 3
    for outcome in (lossy, leaving):
        assert outcome.check.passed, outcome.check.faults
        assert 0 < outcome.queries[0].items < calm.queries[0].items
        assert not outcome.queries[0].complete
        assert {path.status for path in outcome.queries[0].paths} >= {Status.ANSWERED, Status.UNREACHABLE}


def test_queries_that_are_asked_together_share_processors_and_links() -> None:
    plan = {**FEW, "queries": ["Q1", "Q2", "Q5"]}
    apart, together = emulated(**plan), emulated(**plan, together=True)
    assert [query.items for query in apart.queries] == [query.items for query in together.queries]
    assert max(query.concluded for query in together.queries) > max(query.concluded for query in apart.queries)

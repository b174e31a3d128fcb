"""The law of delivery, on random networks to which things happen; and that who breaks it is caught."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from heptox.feed import CatchUp, catch_up, receptions
from tests.fuzz.trial import Size, trial
from tests.support.budget import tries
from tests.support.feeds.delivery import Trial
from tests.support.feeds.making import METHODS, Happening, Step, random_scenario, random_world

SEEDS = st.integers(0, 1 << 32)


@settings(max_examples=tries(60))
@given(SEEDS)
def test_each_document_comes_once_to_all_that_count_and_to_none_that_it_does_not_match(seed: int) -> None:
    random = Random(seed)
    verdict = Trial(random_world(random), random_scenario(random, 60, is_calm=False)).verdict()
    assert not verdict.faults


@settings(max_examples=tries(12))
@given(SEEDS)
def test_where_nothing_fails_all_methods_deliver_what_matches_and_nothing_else(seed: int) -> None:
    random = Random(seed)
    world, scenario = random_world(random), random_scenario(random, 50, is_calm=True)
    verdicts = [Trial(world, replace(scenario, method=method)).verdict() for method in METHODS]
    assert not any(verdict.faults for verdict in verdicts)
    assert len({verdict.owed for verdict in verdicts}) == 1


@settings(max_examples=tries(20))
@given(SEEDS, st.integers(1, 5), st.booleans())
def test_who_asks_for_everything_loses_nothing(seed: int, budget: int, is_calm: bool) -> None:
    random = Random(seed)
    world, scenario = random_world(random), random_scenario(random, 40, is_calm=is_calm)
    small = replace(scenario.budget, subscriptions=budget)
    many = tuple(Step(Happening.SUBSCRIBE, random.randrange(99), place) for place in range(2 * budget))
    assert not Trial(world, replace(scenario, budget=small, steps=(*many, *scenario.steps))).verdict().faults


def test_a_trial_counts_what_it_has_judged() -> None:
    outcome = trial(1, Size(queries=60, documents=20, of="feeds"))
    assert not outcome.broken
    assert outcome.counts["cases"] == 20 and 0 < outcome.counts["calm"] < 20
    assert outcome.counts["deliveries owed"] > 200
    assert outcome.counts["times that everything was asked for"] > 0


class Forgetful(CatchUp):
    """A question that does not ask for what was missed."""

    def __init__(self, publisher: str, feed: str, since: int | None, *rest: Any, **more: Any) -> None:  # noqa: ARG002
        super().__init__(publisher, feed, None, *rest, **more)


def test_who_does_not_ask_for_what_was_missed_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catch_up, "CatchUp", Forgetful)
    faults: list[str] = []
    for seed in range(5):
        random = Random(seed)
        faults += Trial(random_world(random), random_scenario(random, 60, is_calm=False)).verdict().faults
    assert {fault.partition(":")[0] for fault in faults} == {"lost"}


def test_for_whom_the_news_of_a_feed_count_again_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receptions.Receptions, "is_kept", lambda *_: False)
    faults: list[str] = []
    for seed in (68, 143):  # of 300
        random = Random(seed)
        faults += Trial(random_world(random), random_scenario(random, 60, is_calm=False)).verdict().faults
    assert {fault.partition(":")[0] for fault in faults} == {"not wanted"}

"""One trial: scenarios in one world, judged; of those that go wrong, the steps that are needed for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Final

from tests.support.checking import Outcome
from tests.support.feeds.delivery import Trial
from tests.support.feeds.making import Scenario, Step, World, random_scenario, random_world

CALM: Final = 0.3
"""The share of scenarios in which nothing fails."""


def check_delivery(random: Random, steps: int, scenarios: int, outcome: Outcome) -> None:
    """Let scenarios of so many steps happen; each is a case."""
    world = random_world(random)
    for _ in range(scenarios):
        scenario = random_scenario(random, steps, is_calm=random.random() < CALM)
        verdict = Trial(world, scenario).verdict()
        outcome.counts["cases"] += 1
        outcome.counts["calm"] += scenario.is_calm
        outcome.counts["deliveries owed"] += verdict.owed
        outcome.counts["delivered"] += verdict.delivered
        outcome.counts["times that everything was asked for"] += verdict.everything
        if verdict.faults:
            least = shrunk(scenario, lambda fewer: bool(Trial(world, fewer).verdict().faults))
            outcome.broken.append(explained(world, least))


def shrunk(scenario: Scenario, is_wrong: Callable[[Scenario], bool]) -> Scenario:
    """A scenario that goes wrong too, with as few steps as leaving some out finds."""
    length = len(scenario.steps)
    while length:
        place = 0
        while place < len(scenario.steps):
            fewer = replace(scenario, steps=_without(scenario.steps, place, length))
            if is_wrong(fewer):
                scenario = fewer
            else:
                place += length
        length //= 2
    return scenario


def _without(steps: Sequence[Step], place: int, length: int) -> tuple[Step, ...]:
    return (*steps[:place], *steps[place + length :])


def explained(world: World, scenario: Scenario) -> str:
    """A scenario that goes wrong, what of the world it chooses, and the faults."""
    trial = Trial(world, scenario)
    return "\n".join(("delivery", str(scenario), *trial.verdict().faults))

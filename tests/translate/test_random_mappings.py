"""Definition 1 on random mappings, queries and documents, and on mappings that were thought out to be difficult.

Saxon judges. What is refused by name counts neither way; a last test holds that enough is answered.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from random import Random
from typing import Final

import pytest

from heptox.translate import Direction
from tests.fuzz.trial import Size, trial
from tests.support.budget import tries
from tests.support.checking import SIDES, Outcome, check
from tests.support.definition import pairs
from tests.support.fixtures import FIXTURES
from tests.support.random_mappings import problem, random_documents
from tests.translate.test_counterexamples import sections

TRIALS: Final = range(tries(75))
"""The first ones of ``python -m tests.fuzz``."""

CASES: Final = sorted((FIXTURES / "definition").glob("*.txt"))


@cache
def outcome_of(number: int) -> Outcome:
    return trial(number, Size())


@pytest.mark.parametrize("number", TRIALS)
def test_random_mappings(number: int) -> None:
    assert outcome_of(number).broken == []


def test_enough_is_asked_and_answered() -> None:
    """At least three quarters are translated, and answers are no rare accident."""
    whole: Counter[str] = sum((outcome_of(number).counts for number in TRIALS), Counter())
    assert whole["refused"] < whole["asked"] / 4, whole
    assert whole["given up"] < whole["asked"] / 25, whole
    assert whole["answers to source"] > 4 * len(TRIALS), whole
    assert whole["answers to target"] > 5 * len(TRIALS), whole
    assert whole["answers together"] > 2 * len(TRIALS), whole
    assert whole["cases there and back"] > len(TRIALS) * Size().documents / 2, whole


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_difficult_mappings(path: Path) -> None:
    """Every query of a case is translated, and right on random documents besides those given."""
    parts, outcome, random = sections(path), Outcome(), Random(path.stem)
    given = problem(parts["source"], parts["target"], parts["arrows"] + "\n")
    texts = {to: random_documents(random, given, 60, side=to) for to in Direction}
    texts[Direction.SOURCE] += parts["documents"].splitlines()
    instances = {to: pairs(given.mapping, documents, to) for to, documents in texts.items()}
    answered = 0
    for line in parts["queries"].splitlines():
        side, _, query = line.partition(": ")
        outcome.counts.clear()
        check(given, query, SIDES[side], instances[SIDES[side]], outcome)
        assert outcome.counts["refused"] == outcome.counts["given up"] == 0, query
        assert outcome.counts["answers to source"] or SIDES[side] is Direction.TARGET, query
        answered += outcome.counts["answers to target"]
    assert answered or "over source" not in parts["queries"]
    assert outcome.broken == []

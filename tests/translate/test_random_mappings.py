"""Definition 1 on random mappings, queries and documents, and on mappings that were thought out to be difficult.

Saxon judges. What is refused by name counts neither way; a last test holds that enough is answered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from random import Random
from typing import Final

import pytest

from heptox.errors import HeptoxError
from heptox.grammar import Expression, lower, parse_query, print_query
from heptox.translate import Direction, Translation, translate
from tests.support.definition import Pair, pairs
from tests.support.fixtures import FIXTURES
from tests.support.random_mappings import Problem, QueryMaker, problem, random_documents, random_problem
from tests.support.saxon import answer_set
from tests.translate.test_counterexamples import sections

SEEDS: Final = range(75)
QUERIES: Final = 6
DOCUMENTS: Final = 7
PATIENCE: Final = 800
"""How often a translation may ask whether to go on, half a second or so; a count, so that every run is the same."""

CASES: Final = sorted((FIXTURES / "definition").glob("*.txt"))


@dataclass
class Outcome:
    """How often something happened in one problem, and what broke Definition 1."""

    counts: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)


class GivenUpError(Exception):
    """A translation takes too long for a test."""


def patience() -> Callable[[], None]:
    """What a translation asks while it goes on, and what stops it when it has asked too often."""
    asked = count(1)

    def check() -> None:
        if next(asked) > PATIENCE:
            raise GivenUpError

    return check


def translated(given: Problem, query: Expression, to: Direction, outcome: Outcome) -> Translation | None:
    """The translation, ``None`` where it is refused or takes too long; what is printed must be read again."""
    outcome.counts["asked"] += 1
    try:
        translation = translate(given.mapping, query, to, patience())
    except HeptoxError:
        outcome.counts["refused"] += 1
        return None
    except GivenUpError:
        outcome.counts["given up"] += 1
        return None
    again = parse_query(translation.text)
    assert again == translation.query, translation.text
    if "=>" not in given.arrows:  # what is copied is an item only to those who know the mapping
        lower(again, given.mapping.source if to is Direction.SOURCE else given.mapping.target)
    return translation


def tell(given: Problem, kind: str, texts: tuple[str, ...], pair: Pair) -> str:
    return "\n".join((kind, str(given), *texts, pair.source, pair.image))


def check_over_target(given: Problem, query: str, instances: list[Pair], outcome: Outcome) -> None:
    """Backward equality, and the round trip where nothing was lost on the way."""
    expression = parse_query(query)
    there = translated(given, expression, Direction.SOURCE, outcome)
    if there is None:
        return
    back = translated(given, there.query, Direction.TARGET, outcome) if not there.losses and not there.empty else None
    for pair in instances:
        expected = answer_set(print_query(expression), pair.image)
        outcome.counts["answers backward"] += bool(expected)
        if answer_set(there.text, pair.source) != expected:
            outcome.broken.append(tell(given, "backward", (query, there.text), pair))
        if back is not None:
            outcome.counts["answers there and back"] += bool(expected)
            if answer_set(back.text, pair.image) != expected:
                outcome.broken.append(tell(given, "round trip", (query, there.text, back.text), pair))


def check_over_source(given: Problem, query: str, instances: list[Pair], outcome: Outcome) -> None:
    """Forward soundness."""
    expression = parse_query(query)
    there = translated(given, expression, Direction.TARGET, outcome)
    if there is None:
        return
    for pair in instances:
        answer = answer_set(there.text, pair.image)
        outcome.counts["answers forward"] += bool(answer)
        if not answer <= answer_set(print_query(expression), pair.source):
            outcome.broken.append(tell(given, "forward", (query, there.text), pair))


CHECKS: Final = {"over target": check_over_target, "over source": check_over_source}


@cache
def outcome_of(seed: int) -> Outcome:
    random, outcome = Random(seed), Outcome()
    given = random_problem(random)
    instances = pairs(given.mapping, random_documents(random, given, DOCUMENTS))
    over_target, over_source = QueryMaker.of_target(random, given), QueryMaker.of_source(random, given)
    for _ in range(QUERIES):
        check_over_target(given, over_target.query(), instances, outcome)
        check_over_source(given, over_source.query(), instances, outcome)
    return outcome


@pytest.mark.parametrize("seed", SEEDS)
def test_random_mappings(seed: int) -> None:
    assert outcome_of(seed).broken == []


def test_enough_is_asked_and_answered() -> None:
    """At least three quarters are translated, and answers are no rare accident."""
    whole: Counter[str] = sum((outcome_of(seed).counts for seed in SEEDS), Counter())
    assert whole["refused"] < whole["asked"] / 4, whole
    assert whole["given up"] < whole["asked"] / 25, whole
    assert whole["answers backward"] > len(SEEDS) * QUERIES, whole
    assert whole["answers there and back"] > len(SEEDS) * QUERIES / 3, whole
    assert whole["answers forward"] > len(SEEDS) * QUERIES / 2, whole


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_difficult_mappings(path: Path) -> None:
    """Every query of a case is translated, and right on random documents besides those given."""
    parts, outcome, random = sections(path), Outcome(), Random(path.stem)
    given = problem(parts["source"], parts["target"], parts["arrows"] + "\n")
    texts = [*parts["documents"].splitlines(), *random_documents(random, given, 60)]
    instances = pairs(given.mapping, texts)
    for line in parts["queries"].splitlines():
        side, _, query = line.partition(": ")
        outcome.counts.clear()
        CHECKS[side](given, query, instances, outcome)
        assert outcome.counts["refused"] == outcome.counts["given up"] == 0, query
        assert any(number for name, number in outcome.counts.items() if name.startswith("answers")), query
    assert outcome.broken == []

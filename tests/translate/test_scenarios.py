"""Whole scenarios: schemas made from one another by random transformations, with an exchange known without a mapping.

Exchange makes what the transformations make of documents; translations keep Definition 1, and paths of them section 9.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from random import Random
from typing import Final

import pytest

from heptox.mapping import exchange
from heptox.translate import Direction
from heptox.xml import parse_document, write_document
from tests.mapping.building import text_set
from tests.support.budget import tries, usually
from tests.support.checking import Outcome, check
from tests.support.definition import Pair, pairs
from tests.support.random_mappings import QueryMaker, random_documents
from tests.support.scenarios import ScenarioPath, check_path, random_path, random_scenario
from tests.support.scenarios.transformations import TRANSFORMATIONS

EXCHANGED: Final = range(300)
EXCHANGED_AT_ONCE: Final = 50
SEEDS: Final = range(tries(40))
PATHS: Final = range(usually(12, 24))
QUERIES: Final = 4
DOCUMENTS: Final = 6

PHENOMENA: Final = (
    "missing", "keyed", "several", "glued", "nodes without a value", "box nodes without a tag",
    "escaped tags", "documents without lists", "images without lists",
)  # fmt: skip


@cache
def exchanged(first: int) -> tuple[Counter[str], list[str]]:
    """What happened in some scenarios, and where exchange makes something else than the transformations."""
    seen: Counter[str] = Counter()
    broken = []
    for seed in EXCHANGED[first : first + EXCHANGED_AT_ONCE]:
        random = Random(seed)
        scenario = random_scenario(random)
        seen.update(scenario.names)
        for document in random_documents(random, scenario.problem, DOCUMENTS):
            expected = scenario.expected(document, seen)
            if expected is None:
                continue
            made = write_document(exchange(scenario.problem.mapping, parse_document(document)).root)
            seen["documents without lists"] += len(parse_document(document).root) == 0
            seen["images without lists"] += len(parse_document(expected).root) == 0
            if text_set(made) != text_set(expected):
                broken.append(f"seed {seed}: {scenario}\n{document}\nexpected {expected}\nmade {made}")
    return seen, broken


@pytest.mark.parametrize("first", EXCHANGED[::EXCHANGED_AT_ONCE])
def test_exchange_makes_what_the_transformations_make(first: int) -> None:
    assert exchanged(first)[1] == []


def test_every_transformation_is_made_and_much_happens_to_documents() -> None:
    seen: Counter[str] = sum((exchanged(first)[0] for first in EXCHANGED[::EXCHANGED_AT_ONCE]), Counter())
    assert [each.__name__ for each in TRANSFORMATIONS if seen[each.__name__] < 8] == []
    assert [each for each in PHENOMENA if seen[each] < 12] == []


@cache
def outcome_of(seed: int) -> Outcome:
    random, outcome = Random(f"definition {seed}"), Outcome()
    scenario = random_scenario(random)
    given = scenario.problem
    found = ((text, scenario.expected(text)) for text in random_documents(random, given, DOCUMENTS))
    expected = [Pair(text, image) for text, image in found if image is not None]
    there = random_documents(random, given, DOCUMENTS, side=Direction.TARGET)
    for to, instances in zip(Direction, (expected, pairs(given.mapping, there, Direction.TARGET)), strict=True):
        maker = QueryMaker.asking(random, given, to)
        for _ in range(QUERIES):
            check(given, maker.query(), to, instances, outcome)
    return outcome


@pytest.mark.parametrize("seed", SEEDS)
def test_definition_1(seed: int) -> None:
    assert outcome_of(seed).broken == []


def test_enough_is_asked_and_answered() -> None:
    whole: Counter[str] = sum((outcome_of(seed).counts for seed in SEEDS), Counter())
    assert whole["refused"] < whole["asked"] / 6, whole
    assert whole["given up"] < whole["asked"] / 25, whole
    assert whole["answers to source"] > len(SEEDS) * QUERIES, whole
    assert whole["answers to target"] > len(SEEDS) * QUERIES, whole


@cache
def path_of(seed: int) -> tuple[ScenarioPath, Outcome, Outcome]:
    """A path of three hops, mostly, with what came of queries asked at its first schema and at its last."""
    random = Random(f"path {seed}")
    path = random_path(random, random.choice((2, 3, 3, 3)))
    found = Outcome(), Outcome()
    for turned, outcome in enumerate(found):
        documents = path.documents(random, DOCUMENTS, turned=bool(turned))
        queries = path.queries(random, turned=bool(turned))
        for _ in range(QUERIES):
            check_path(path, queries.query(), documents, outcome, turned=bool(turned))
    return path, *found


@pytest.mark.parametrize("seed", PATHS)
def test_paths_promise_what_their_hops_promise(seed: int) -> None:
    _, onwards, back = path_of(seed)
    assert onwards.broken == back.broken == []


def test_paths_are_answered_from_end_to_end() -> None:
    """Against all rules, along all, and mixed; many images on the way are valid for the next hop."""
    whole: Counter[str] = Counter()
    for path, *outcomes in map(path_of, PATHS):
        whole["three hops"] += len(path.scenarios) == 3
        whole["mixed"] += 0 < path.valley < len(path.scenarios)
        for outcome in outcomes:
            whole += outcome.counts
    assert whole["refused"] + whole["given up"] < whole["asked"] / 4, whole
    assert whole["documents promised all along"] > whole["documents"] / 4, whole
    assert whole["answers to source"] > len(PATHS), whole
    assert whole["answers to target"] > len(PATHS), whole
    assert whole["three hops"] > len(PATHS) / 2, whole
    assert whole["mixed"] > len(PATHS) / 4, whole

"""One trial: a random mapping problem, documents and queries over both of its schemas, judged by Definition 1."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.support.checking import Outcome, check_over_source, check_over_target
from tests.support.definition import pairs
from tests.support.random_mappings import QueryMaker, random_documents, random_problem


@dataclass(frozen=True, slots=True)
class Size:
    """How many queries over each side a trial asks, and on how many documents each is judged."""

    queries: int = 6
    documents: int = 7


def trial(number: int, size: Size) -> Outcome:
    """What came of trial ``number``; equal numbers and sizes are equal trials."""
    random, outcome = Random(number), Outcome()
    given = random_problem(random)
    instances = pairs(given.mapping, random_documents(random, given, size.documents))
    over_target, over_source = QueryMaker.of_target(random, given), QueryMaker.of_source(random, given)
    for _ in range(size.queries):
        check_over_target(given, over_target.query(), instances, outcome)
        check_over_source(given, over_source.query(), instances, outcome)
    return outcome

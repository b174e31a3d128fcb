"""Decisions of routing compared with the judges, very many at a time: what is counted, and what differs."""

from __future__ import annotations

from random import Random

from heptox.dissemination import LinearPath
from heptox.dissemination.routing import Overlaps, advertised, covers_any_document, shortest_counterexample
from heptox.schema import SchemaGraph
from tests.support.checking import Outcome
from tests.support.matching.making import random_schema
from tests.support.routing.judging import Trie, accepts, judged
from tests.support.routing.making import loosened, random_paths

SHOWN = 50
"""One decision of so many is asked for its counterexample or witness too."""


def check_covering(random: Random, generals: int, specials: int, outcome: Outcome) -> None:
    """Each of some general paths with each of some special ones, over all documents."""
    paths = random_paths(random, specials)
    trie = Trie.of(paths)
    for general in [loosened(random, random.choice(paths)) for _ in range(generals)]:
        pairs = list(judged(general, trie))
        outcome.counts["cases"] += len(pairs)
        outcome.counts["covered"] += sum(covers for _, covers in pairs)
        outcome.broken += [
            f"covering: {general} covers {special}: {covers}"
            for special, covers in pairs
            if covers_any_document(general, special) != covers
        ]
        for special, covers in random.sample(pairs, len(pairs) // SHOWN):
            _check_counterexample(general, special, covers, outcome)


def _check_counterexample(general: LinearPath, special: LinearPath, covers: bool, outcome: Outcome) -> None:
    found = shortest_counterexample(general, special)
    outcome.counts["counterexamples"] += found is not None
    if found is None:
        wrong = not covers
    else:
        word = [*found.elements, found.leaf] if found.leaf else list(found.elements)
        met = any(accepts(general, word[:length]) for length in range(1, len(word) + 1))
        wrong = covers or met or not accepts(special, word)
    if wrong:
        outcome.broken.append(f"counterexample: {general} covers {special}: {covers}, but {found}")


def check_overlap(random: Random, paths: int, outcome: Outcome) -> None:
    """Some paths with a random schema."""
    schema = random_schema(random)
    overlaps = Overlaps(advertised(schema))
    judge = _schema_judge(schema)
    for path in random_paths(random, paths):
        expected = judge(path)
        outcome.counts["cases"] += 1
        outcome.counts["overlapping"] += expected
        witness = overlaps.witness(path)
        if overlaps.path(path) != expected or (witness is not None) != expected:
            outcome.broken.append(f"overlap: {path} with {schema.text}: {expected}, but {witness}")
        elif witness and not accepts(path, [*witness.elements, *filter(None, (witness.leaf,))]):
            outcome.broken.append(f"witness: {path} with {schema.text}: {witness}")


def _schema_judge(schema: SchemaGraph):  # type: ignore[no-untyped-def]
    raise NotImplementedError

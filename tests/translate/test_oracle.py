"""Definition 1 against slow and obvious oracles: exchange by nested loops, and all documents within a bound.

A query on the image that nested loops make answers what its translation answers on the document, in both directions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Final

import pytest

from heptox.errors import HeptoxError
from heptox.grammar import parse_query, print_query
from heptox.mapping import Mapping, selects_or_computes
from heptox.translate import Direction, translate
from tests.support.budget import tries
from tests.support.definition import image_of, making, same_items
from tests.support.fixtures import FIXTURES
from tests.support.oracle import Bound, Grammar, by_the_letter, small_documents
from tests.support.random_mappings import Problem, QueryMaker, problem, random_documents, random_problem
from tests.support.saxon import answer_sets
from tests.translate.test_counterexamples import sections

SEEDS: Final = range(tries(40))
CASES: Final = sorted((FIXTURES / "oracle").glob("*.txt"))
QUERIES: Final = 12
"""How many queries over each side are translated in each case, besides those that it names."""


def judged(given: Problem, to: Direction, documents: Sequence[str], queries: Sequence[str]) -> Counter[str]:
    """How often something happened; wrong translations under the texts that show them."""
    counts = Counter[str]()
    made = making(given.mapping, to)
    kept = tuple(document for document in documents if image_of(made, document) is not None)
    images = tuple(by_the_letter(made, document).text for document in kept)
    counts["documents"] += len(kept)
    for text in queries:
        query = parse_query(text)
        try:
            translation = translate(given.mapping, query, to)
        except HeptoxError:
            counts["refused"] += 1
            continue
        counts["translated"] += 1
        if translation.returns_invented:
            continue
        expected, answered = answer_sets(print_query(query), images), answer_sets(translation.text, kept)
        counts["answered"] += any(expected)
        for place, (right, answer) in enumerate(zip(expected, answered, strict=True)):
            if not same_items(answer, right):
                counts[told(given, to, print_query(query), translation.text, kept[place], images[place])] += 1
                break
    return counts


def told(given: Problem, *texts: str) -> str:
    return "\n".join((str(given), *texts))


HAPPENS: Final = {"documents", "refused", "translated", "answered"}


# -- random problems ---------------------------------------------------------------------------------------------------


def _selects_or_computes(given: Problem) -> bool:
    """Whether there is what the oracle does not know: selections, constants, functions."""
    return any(map(selects_or_computes, (*given.mapping.rules, *given.mapping.mirrored().rules)))


@cache
def random_outcome(seed: int, to: Direction) -> Counter[str]:
    random = Random(f"oracle {seed}")
    given = next(each for each in iter(lambda: random_problem(random), None) if not _selects_or_computes(each))
    maker = QueryMaker.asking(random, given, to)
    return judged(given, to, random_documents(random, given, 8, side=to), [maker.query() for _ in range(6)])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("to", Direction)
def test_images_by_nested_loops(to: Direction, seed: int) -> None:
    assert random_outcome(seed, to).keys() <= HAPPENS


@pytest.mark.parametrize("to", Direction)
def test_enough_is_answered(to: Direction) -> None:
    whole: Counter[str] = sum((random_outcome(seed, to) for seed in SEEDS), Counter())
    assert whole["translated"] > 4 * len(SEEDS), whole
    assert whole["answered"] > len(SEEDS), whole


# -- all small documents -----------------------------------------------------------------------------------------------


def bound(text: str) -> Bound:
    """A bound as a case has it: ``repeats 2``, ``times a 1``, ``values k x y``, ``order z``, one a line."""
    repeats, times, values, ordered = 2, dict[str, int](), dict[str, tuple[str, ...]](), set[str]()
    for line in text.splitlines():
        match line.split():
            case ["repeats", number]:
                repeats = int(number)
            case ["times", name, number]:
                times[name] = int(number)
            case ["values", name, *found]:
                values[name] = tuple("" if value == "''" else value for value in found)
            case ["order", name]:
                ordered.add(name)
            case _:
                raise ValueError(line)
    return Bound(values=values, repeats=repeats, of=times, ordered=frozenset(ordered))


@cache
def case_outcome(path: Path, to: Direction) -> Counter[str]:
    """A tiny mapping: all documents of the source within its bound, many random ones of the target."""
    parts = sections(path)
    given = problem(parts["source"], parts["target"], f"{parts['arrows']}\n")
    if to is Direction.SOURCE:
        documents, named = small_documents(given.mapping, bound(parts["bound"])), []
    else:
        documents = random_documents(Random(path.stem), given, 150, 24, side=to)
        named = [line.removeprefix("over source: ") for line in parts["queries"].splitlines()]
    return judged(given, to, documents, [*named, *sampled(making(given.mapping, to), path.stem)])


def sampled(made: Mapping, seed: str) -> list[str]:
    queries = [str(query) for query in Grammar(made.target).queries()]
    return queries if len(queries) <= QUERIES else Random(seed).sample(queries, QUERIES)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
@pytest.mark.parametrize("to", Direction)
def test_small_mappings(to: Direction, path: Path) -> None:
    counts = case_outcome(path, to)
    assert counts.keys() <= HAPPENS
    assert counts["translated"] > (8 * counts["refused"] if to is Direction.SOURCE else 0)


@pytest.mark.parametrize("to", Direction)
def test_enough_is_answered_of_small_mappings(to: Direction) -> None:
    whole: Counter[str] = sum((case_outcome(path, to) for path in CASES), Counter())
    assert whole["documents"] > (5000 if to is Direction.SOURCE else 2000), whole
    assert whole["answered"] > whole["translated"] / 2, whole

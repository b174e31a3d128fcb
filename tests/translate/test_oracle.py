"""Definition 1 against slow and obvious oracles: exchange by nested loops, certain answers by all small preimages.

Backward, a query on the image that nested loops make answers what its translation answers on the document.

Forward, every document within a bound is made, and those with one image are put together. What a query answers on all
of them is no less than its certain answers, so a translation that answers more is wrong. A translation that answers
less may be right: what is certain of an image only because there is nothing else in it, no query of the fragment can
say. So it is compared with what is certain of all images that hold a given one, and with small queries that are sound.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from random import Random
from typing import Final

import pytest

from heptox.errors import HeptoxError, TranslationError
from heptox.grammar import parse_query, print_query
from heptox.translate import Direction, translate
from tests.support.fixtures import FIXTURES
from tests.support.oracle import Answers, Bound, Grammar, World, by_the_letter, small_documents
from tests.support.random_mappings import Problem, QueryMaker, problem, random_documents, random_problem
from tests.support.saxon import answer_sets
from tests.translate.test_counterexamples import sections

SEEDS: Final = range(40)
CASES: Final = sorted((FIXTURES / "oracle").glob("*.txt"))
QUERIES: Final = 12
"""How many queries over the source are translated in each case, besides those that it names."""
SMALL: Final = 90
"""How many queries over the target compete with their translations."""

# -- backward ----------------------------------------------------------------------------------------------------------


@cache
def backward_of(seed: int) -> Counter[str]:
    """How often something happened in one random problem; wrong translations under the texts that show them."""
    random, counts = Random(f"oracle {seed}"), Counter[str]()
    given = random_problem(random)
    documents = tuple(random_documents(random, given, 8))
    images = tuple(by_the_letter(given.mapping, document).text for document in documents)
    maker = QueryMaker.of_target(random, given)
    for _ in range(6):
        query = parse_query(maker.query())
        try:
            translation = translate(given.mapping, query, Direction.SOURCE)
        except HeptoxError:
            counts["refused"] += 1
            continue
        counts["translated"] += 1
        expected, answered = answer_sets(print_query(query), images), answer_sets(translation.text, documents)
        counts["answered"] += any(expected)
        for place, (right, answer) in enumerate(zip(expected, answered, strict=True)):
            if answer != right:
                counts[told(given, print_query(query), translation.text, documents[place], images[place])] += 1
    return counts


@pytest.mark.parametrize("seed", SEEDS)
def test_backward_on_images_by_nested_loops(seed: int) -> None:
    assert backward_of(seed).keys() <= {"refused", "translated", "answered"}


def test_enough_is_answered_backward() -> None:
    whole: Counter[str] = sum(map(backward_of, SEEDS), Counter())
    assert whole["translated"] > 4 * len(SEEDS), whole
    assert whole["answered"] > 2 * len(SEEDS), whole


def told(given: Problem, *texts: str) -> str:
    return "\n".join((str(given), *texts))


# -- forward -----------------------------------------------------------------------------------------------------------


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


@dataclass
class Masks:
    """Answers as sets of pairs (place, item), each a number with one bit for a pair: quick to compare."""

    places: dict[tuple[int, str], int] = field(default_factory=dict)

    def of(self, answers: Answers) -> int:
        pairs = chain.from_iterable(((place, item) for item in answer) for place, answer in enumerate(answers))
        return sum(1 << self.places.setdefault(pair, len(self.places)) for pair in pairs)


@dataclass(frozen=True)
class Case:
    """A tiny mapping with all its small documents; ``inner`` are the images of the smallest ones."""

    name: str
    given: Problem
    world: World
    inner: World
    masks: Masks = field(default_factory=Masks)

    @classmethod
    def of(cls, name: str, given: Problem, outer: Bound, inner: Bound) -> Case:
        world, smallest = (World.of(given.mapping, small_documents(given.mapping, each)) for each in (outer, inner))
        return cls(name, given, world, smallest)

    @cached_property
    def holding(self) -> tuple[tuple[int, ...], ...]:
        return self.world.holding(self.inner.images)

    @cached_property
    def larger(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Random documents beyond the bound, with more values, and their images."""
        documents = tuple(random_documents(Random(self.name), self.given, 150, 24))
        return documents, tuple(by_the_letter(self.given.mapping, document).text for document in documents)

    def small_queries(self, number: int) -> dict[int, str]:
        """Queries over the target by what they answer on the images; of those that answer the same the first."""
        queries = sampled(Grammar(self.given.mapping.target), number, self.name)
        found: dict[int, str] = {}
        for query in queries:
            found.setdefault(self.masks.of(self.world.on_images(query)), query)
        return found

    def source_queries(self, number: int) -> list[str]:
        return sampled(Grammar(self.given.mapping.source), number, self.name)

    def is_sound(self, small: str, query: str) -> bool:
        """Whether a query over the target is sound for one over the source beyond the bound too, as far as is seen."""
        documents, images = self.larger
        both = zip(answer_sets(small, images), answer_sets(query, documents), strict=True)
        return all(answer <= allowed for answer, allowed in both)

    def check(self, query: str, competing: dict[int, str]) -> tuple[Counter[str], str | None]:
        """What the translation of a query over the source is worth, and where it falls short of what is certain."""
        try:
            translation = translate(self.given.mapping, parse_query(query), Direction.TARGET)
        except TranslationError:
            return Counter(refused=1), None
        answers, certain = self.world.on_images(translation.text), self.world.certain(query)
        for image, answer, allowed in zip(self.world.texts, answers, certain, strict=True):
            assert answer <= allowed, told(self.given, query, translation.text, image)
        counts = Counter(translated=1, answered=any(answers), certain=answers == certain)
        due = self.world.certain_whatever_else(query, self.holding)
        for image, answer, all_due in zip(self.inner.texts, self.inner.on_images(translation.text), due, strict=True):
            if answer != all_due:
                return counts, told(self.given, query, translation.text, image, f"certain: {sorted(all_due)}")
        mine, most = self.masks.of(answers), self.masks.of(certain)
        for mask, small in competing.items():
            if not mask & ~most and mask & ~mine and self.is_sound(small, query):
                return counts, told(self.given, query, translation.text, f"certain: {small}")
        return counts, None


def case_of(path: Path) -> tuple[Case, dict[str, list[str]]]:
    """A case and the queries that it names; those under ``by cases`` have a query behind them that answers more."""
    parts = sections(path)
    given = problem(parts["source"], parts["target"], f"{parts['arrows']}\n")
    named: dict[str, list[str]] = {"over source": [], "by cases": []}
    for line in parts["queries"].splitlines():
        kind, _, query = line.partition(": ")
        named[kind].append(query)
    return Case.of(path.stem, given, bound(parts["bound"]), bound(parts["inner"])), named


@cache
def forward_of(path: Path) -> tuple[Counter[str], list[str]]:
    """How often something happened in a case, and the translations that are not what is certain."""
    case, named = case_of(path)
    competing = case.small_queries(SMALL)
    whole, short = Counter(documents=len(case.world.documents), images=len(case.world.images)), list[str]()
    for query in dict.fromkeys((*named["over source"], *case.source_queries(QUERIES))):
        if not any(line.startswith(f"{query} ==> ") for line in named["by cases"]):
            counts, falls_short = case.check(query, competing)
            whole += counts
            short += [falls_short] if falls_short else []
    return whole, short


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_forward_is_what_is_certain(path: Path) -> None:
    """Sound on every image; of the smallest images all that is certain; and no small sound query answers more."""
    counts, short = forward_of(path)
    assert short == []
    assert counts["translated"] > 8 * counts["refused"]
    assert counts["certain"] > counts["translated"] / 4


BY_CASES: Final = [
    (path, line.removeprefix("by cases: "))
    for path in CASES
    for line in sections(path)["queries"].splitlines()
    if line.startswith("by cases: ")
]


@pytest.mark.parametrize(("path", "line"), BY_CASES, ids=[line for _, line in BY_CASES])
def test_what_only_a_distinction_of_cases_shows_to_be_certain(path: Path, line: str) -> None:
    """It is left out; what is answered is sound.

    Of two unlike values one is unlike a third, whichever it is; a value that is no tag of a box is unlike the tag that
    an element has, whichever it is.
    """
    case, _ = case_of(path)
    query, _, certain = line.partition(" ==> ")
    _, falls_short = case.check(query, {case.masks.of(case.world.on_images(certain)): certain})
    assert falls_short


def test_enough_is_answered_forward() -> None:
    whole: Counter[str] = sum((forward_of(path)[0] for path in CASES), Counter())
    assert whole["documents"] > 5000, whole
    assert whole["images"] > 1000, whole
    assert whole["answered"] > whole["translated"] / 2, whole


def sampled(grammar: Grammar, number: int, seed: str) -> list[str]:
    queries = [str(query) for query in grammar.queries()]
    return queries if len(queries) <= number else Random(seed).sample(queries, number)

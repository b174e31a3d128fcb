"""Queries in a publisher's words: their answers, and the patterns that are told to others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Final

import pytest
from hypothesis import given, settings, strategies as st

from heptox.demo import records
from heptox.errors import HeptoxError, StoreError
from heptox.grammar import Expression, parse_query, print_query
from heptox.mapping import Mapping, exchange, load_mapping
from heptox.matching import MemoryMatcher
from heptox.rewriting import TranslatedQuery, translate_query, untranslated_query
from heptox.schema import SchemaTree
from heptox.store import evaluate
from heptox.translate import Direction, Hop
from heptox.verification import Vocabulary, random_query
from heptox.xml import Document, parse_document
from tests.support.budget import tries

HOSPITALS: Final = Path(__file__).parents[2] / "examples" / "hospital"
VALUES: Final = ("Coronary", "Pulmonary", "Heparin", "Fever", "12/25/2003", "12/01/2003", "p1", "1")


@cache
def montreal_boston() -> Mapping:
    return load_mapping(HOSPITALS / "montreal-boston.arrows")


@cache
def documents() -> list[tuple[Document, Document]]:
    """Records of Montreal, with their images in Boston."""
    found = [parse_document(records("montreal", patients, patients)) for patients in range(7)]
    return [(one, exchange(montreal_boston(), one)) for one in found]


def answered(query: Expression, document: Document) -> frozenset[str] | None:
    """The answers of a random query, or none where it is an error: ``starts-with()`` of several values."""
    try:
        return frozenset(evaluate(query, [document]))
    except StoreError as error:
        assert {fault.code for fault in error.faults} == {"HX6004"}
        return None


def matches(found: TranslatedQuery, document: Document) -> bool:
    """Whether one of the patterns matches."""
    if not found.patterns:
        return False
    matcher = MemoryMatcher()
    matcher.add(1, found.patterns)
    return bool(len(matcher.match(document)))


def faults(found: TranslatedQuery, document: Document, expected: frozenset[str]) -> Iterator[str]:
    """What is wrong with a translated query on a valid document."""
    answers = frozenset(evaluate(found.query, [document]))
    if answers != expected:
        yield f"{answers} for {expected}"
    if found.matches(document) != bool(expected):
        yield "it has an answer, or none"
    matched = matches(found, document)
    if expected and not matched:
        yield "the patterns leave an answer out"
    if found.exact and matched and not expected:
        yield "the patterns are not exact"


@settings(max_examples=tries(60))
@given(st.randoms(use_true_random=False))
def test_answers_are_those_on_the_image_and_the_patterns_leave_none_out(random: Random) -> None:
    query = random_query(random, Vocabulary(montreal_boston().target, values=VALUES))
    try:
        found = translate_query([Hop(montreal_boston(), Direction.SOURCE)], query)
    except HeptoxError:
        return
    for one, image in documents():
        expected = answered(query, image)
        assert expected is None or not list(faults(found, one, expected)), print_query(query)


@settings(max_examples=tries(60))
@given(st.randoms(use_true_random=False))
def test_the_patterns_of_a_query_over_the_same_schema_leave_no_answer_out(random: Random) -> None:
    tree = SchemaTree(montreal_boston().source.graph)
    query = random_query(random, Vocabulary(tree, values=VALUES))
    found = untranslated_query(tree.graph, query)
    assert found.query is query
    for one, _ in documents():
        expected = answered(query, one)
        assert expected is None or not list(faults(found, one, expected)), print_query(query)


def random_translated(random: Random) -> TranslatedQuery:
    query = random_query(random, Vocabulary(montreal_boston().target, values=VALUES))
    return translate_query([Hop(montreal_boston(), Direction.SOURCE)], query)


def random_untranslated(random: Random) -> TranslatedQuery:
    graph = montreal_boston().source.graph
    return untranslated_query(graph, random_query(random, Vocabulary(SchemaTree(graph), values=VALUES)))


@pytest.mark.parametrize("translated", [True, False])
def test_random_queries_are_of_all_kinds(translated: bool) -> None:
    random = Random(4)
    counts: Counter[str] = Counter()
    for _ in range(100):
        try:
            found = random_translated(random) if translated else random_untranslated(random)
        except HeptoxError:
            continue
        counts["exact"] += found.exact
        counts["nothing"] += not found.patterns
        for one, _ in documents():
            counts["answered"] += found.matches(one)
            counts["unanswered"] += not found.matches(one)
    assert all(counts[kind] > 5 for kind in ("exact", "nothing", "answered", "unanswered")), counts


@pytest.mark.parametrize(
    ("text", "patterns", "exact"),
    [
        ("//Patient/Name", "/MonGenHosp[Patient]", True),
        ("//Admission[Problem = 'Coronary']/AdmDate", '/MonGenHosp[Admission[Problem[. = "Coronary"]]]', True),
        ("for $a in //Admission, $b in //Admission where $a/AdmDate < $b/AdmDate return $a/Problem", None, False),
        ("//Patient", "/MonGenHosp[Patient]", True),
        ("//Patient[starts-with(Name, 'A')]/MedCrNo", "/MonGenHosp[Patient[MedCrNo]]", False),
        ("//Patient[upper-case(Name) = 'A' and MedCrNo]/Name", "/MonGenHosp[Patient[MedCrNo]]", False),
        ("for $p in //Patient where empty($p/MedCrNo) return $p/Name", None, False),
    ],
)
def test_what_patterns_cannot_say_is_looked_through(text: str, patterns: str | None, exact: bool) -> None:
    found = untranslated_query(montreal_boston().source.graph, parse_query(text))
    assert found.patterns and found.exact == exact
    if patterns is not None:
        assert found.text == patterns

"""In a large schema ``//name`` is looked for where arrows lead alone: that is where images have something."""

from __future__ import annotations

from random import Random
from unittest import mock

import pytest
from hypothesis import given, settings, strategies as st

from heptox.errors import HeptoxError
from heptox.grammar import Expression, parse_query
from heptox.mapping import Mapping
from heptox.store import evaluate
from heptox.translate import Direction, Translation, translate
from heptox.xml import parse_document
from tests.support.budget import tries
from tests.support.random_mappings import Problem, QueryMaker, problem, random_documents, random_problem


@given(st.integers(0, 1_000_000), st.sampled_from(Direction))
@settings(max_examples=tries(40))
def test_translations_are_the_same_as_those_that_look_everywhere(seed: int, to: Direction) -> None:
    random = Random(seed)
    drawn = random_problem(random)
    maker = QueryMaker.asking(random, drawn, to)
    for query in [parse_query(maker.query()) for _ in range(4)]:
        _check_same(drawn, query, to)


SOURCE = """<!ELEMENT s (a*, b*)> <!ELEMENT a (w, m, c)> <!ELEMENT w (#PCDATA)> <!ELEMENT m (#PCDATA | w)*>
<!ELEMENT c (#PCDATA)> <!ATTLIST c u CDATA #IMPLIED> <!ATTLIST a id ID #IMPLIED>
<!ELEMENT b (#PCDATA)> <!ATTLIST b ref IDREF #REQUIRED>"""
TARGET = """<!ELEMENT t (p*)> <!ELEMENT p (w, c, k*)> <!ELEMENT w (#PCDATA)> <!ELEMENT c (#PCDATA)>
<!ELEMENT k (#PCDATA)>"""
ARROWS = "each a -> p\na/w -> p/w\na/c -> p/c\na/@id -> p/k\neach a -> p/k\n"


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("//text()", 2),
        ("//a//text()", 2),
        ("//a[.//text()]/w", 2),
        ("for $a in //a where empty(//b[@ref = $a/@id]) return data($a/w)", 1),
    ],
)
def test_what_is_asked_for_anywhere_is_the_same_as_when_looked_for_everywhere(asked: str, found: int) -> None:
    translated = _check_same(problem(SOURCE, TARGET, ARROWS), parse_query(asked), Direction.TARGET)
    assert translated is not None
    assert len(translated.pattern.members) == found


def _check_same(given: Problem, query: Expression, to: Direction) -> Translation | None:
    """The same text; where cases are told apart that need not be, the same answers from random documents."""
    everywhere = _translated(given.mapping, query, to)
    if everywhere is None:
        return None
    knowledge, model = "heptox.translate.knowledge", "heptox.translate.model"
    with mock.patch(f"{knowledge}.MOST_TYPES", 0), mock.patch(f"{model}.MOST_SECONDS", 60):  # however slow this is
        found = _translated(given.mapping, query, to)
    assert found is not None
    if found.query != everywhere.query:
        texts = random_documents(Random(0), given, 30, side=to)
        assert texts
        for document in map(parse_document, texts):
            assert set(evaluate(found.query, [document])) == set(evaluate(everywhere.query, [document]))
    assert found.losses or not everywhere.losses
    return found


def _translated(mapping: Mapping, query: Expression, to: Direction) -> Translation | None:
    """A translation, ``None`` where it is refused: more may be, where it is looked everywhere."""
    try:
        return translate(mapping, query, to)
    except HeptoxError:
        return None

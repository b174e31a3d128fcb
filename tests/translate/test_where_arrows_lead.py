"""In a large schema ``//name`` is looked for where arrows lead alone: that is where images have something."""

from __future__ import annotations

from random import Random
from unittest import mock

from hypothesis import given, settings, strategies as st

from heptox.errors import HeptoxError
from heptox.grammar import Expression, parse_query
from heptox.mapping import Mapping
from heptox.translate import Direction, Translation, translate
from tests.support.budget import tries
from tests.support.random_mappings import QueryMaker, random_problem


@given(st.integers(0, 1_000_000), st.sampled_from(Direction))
@settings(max_examples=tries(40))
def test_translations_are_the_same_as_those_that_look_everywhere(seed: int, to: Direction) -> None:
    random = Random(seed)
    problem = random_problem(random)
    maker = QueryMaker.asking(random, problem, to)
    for query in [parse_query(maker.query()) for _ in range(4)]:
        everywhere = _translated(problem.mapping, query, to)
        if everywhere is None:
            continue
        with mock.patch("heptox.translate.knowledge.MOST_TYPES", 0):
            found = _translated(problem.mapping, query, to)
        assert found is not None
        assert found.query == everywhere.query
        assert found.losses or not everywhere.losses


def _translated(mapping: Mapping, query: Expression, to: Direction) -> Translation | None:
    """A translation, ``None`` where it is refused: more may be, where it is looked everywhere."""
    try:
        return translate(mapping, query, to)
    except HeptoxError:
        return None

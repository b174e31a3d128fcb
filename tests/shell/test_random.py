"""Shells around random queries, over random mappings: what is computed of the translated cores is what the query comes
to on the image.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import example, given, settings, strategies as st

from heptox.errors import HeptoxError
from heptox.grammar import parse_query, print_query, syntax
from heptox.mapping import Mapping
from heptox.shell import Split, split, with_schema
from heptox.store import evaluate
from heptox.translate import Direction, Translation, translate
from heptox.xml import parse_document
from tests.support import shells
from tests.support.checking import GivenUpError, patience
from tests.support.definition import making, pairs, same_items
from tests.support.random_mappings import QueryMaker, random_documents, random_problem
from tests.support.saxon import XQueryError, evaluate_module

SHELLS = (
    "count(({0}))",
    "<n>{{count(({0})), sum(({0})), avg(({0})), min(({0})), max(({0}))}}</n>",
    "<w>{{for $heard in ({0}) return <i>{{$heard}}</i>}}</w>",
    "for $heard in ({0}) return <i>{{$heard}}</i>",
    "let $heard := ({0}) return <n>{{count($heard), count(distinct-values($heard ! string(.)))}}</n>",
    "if (exists(({0}))) then 'some' else 'none'",
)


def around(random: Random, query: str) -> Iterator[str]:
    """The query in a shell, and with the places of its matches, which nothing of the fragment has."""
    yield random.choice(SHELLS).format(query)
    if query.startswith("/"):
        yield f"for $heard in {query} group by $said := string($heard) return <g>{{$said, count($heard)}}</g>"
    if query.startswith("for ") and " return " in query and not query.startswith("("):
        clauses, _, item = query.rpartition(" return ")
        yield f"{clauses} order by count(//*) return {item}"


def translated(mapping: Mapping, found: Split, to: Direction) -> dict[syntax.Expression, Translation]:
    tree = making(mapping, to).target
    asked = {core.counted: with_schema(core.counted, tree, frozenset()) for core in found.cores}
    return {core: translate(mapping, said, to, patience()) for core, said in asked.items()}


def computed(found: Split, cores: dict[syntax.Expression, Translation], document: str) -> list[str]:
    held = [parse_document(document)]
    return shells.computed(found, {"peer": lambda query: evaluate(query, held)}, lambda counted: cores[counted].query)


@pytest.mark.hypothesis
@example(3175, Direction.SOURCE)  # spaces between values
@example(3145, Direction.SOURCE)  # a node that several others make, whole
@settings(max_examples=50)
@given(st.integers(0, 2**31), st.sampled_from(Direction))
def test_shells_of_translated_cores_are_those_of_the_image(seed: int, to: Direction) -> None:
    random = Random(seed)
    problem = random_problem(random)
    maker = QueryMaker.asking(random, problem, to)
    instances = pairs(problem.mapping, random_documents(random, problem, 4, side=to), to)
    for _ in range(3):
        query = print_query(parse_query(maker.query()))
        for shell in around(random, query):
            try:
                found = split(shell)
                cores = translated(problem.mapping, found, to)
            except (HeptoxError, GivenUpError):
                continue
            if any(translation.returns_invented for translation in cores.values()):
                continue
            for pair in instances:
                try:
                    expected = evaluate_module(shell, pair.image)
                except XQueryError:
                    continue
                answer = computed(found, cores, pair.document)
                alike = len(answer) == len(expected) and same_items(frozenset(answer), frozenset(expected))
                assert alike, (seed, to, shell, answer, expected, found.text, pair)

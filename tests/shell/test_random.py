"""Shells around random queries, over random mappings: what is computed of the translated cores is what the query comes
to on the image.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from heptox.errors import HeptoxError
from heptox.grammar import counted_query, parse_query, print_query
from heptox.mapping import Mapping
from heptox.shell import CoreAnswers, Split, answers_document, split, with_schema
from heptox.store import evaluate
from heptox.translate import Direction, Translation, translate
from heptox.xml import parse_document
from tests.support.checking import GivenUpError, patience
from tests.support.definition import making, pairs, same_items
from tests.support.random_mappings import QueryMaker, random_documents, random_problem
from tests.support.saxon import XQueryError, evaluate_module

SHELLS = (
    "count(({}))",
    "<w>{{for $heard in ({}) return <i>{{$heard}}</i>}}</w>",
    "for $heard in ({}) return <i>{{$heard}}</i>",
    "let $heard := ({}) return <n>{{count($heard), count(distinct-values($heard ! string(.)))}}</n>",
    "if (exists(({}))) then 'some' else 'none'",
)


def shells(random: Random, query: str) -> Iterator[str]:
    """The query in a shell, and with the places of its matches, which nothing of the fragment has."""
    yield random.choice(SHELLS).format(query)
    if query.startswith("for ") and " return " in query and not query.startswith("("):
        clauses, _, item = query.rpartition(" return ")
        yield f"{clauses} order by count(//*) return {item}"


def translated(mapping: Mapping, found: Split, to: Direction) -> dict[str, Translation]:
    tree = making(mapping, to).target
    return {
        core.variable: translate(mapping, with_schema(counted_query(core.query), tree, frozenset()), to, patience())
        for core in found.cores
    }


def computed(found: Split, cores: dict[str, Translation], document: str) -> list[str]:
    gathered = {}
    for variable, translation in cores.items():
        answers = CoreAnswers()
        answers.add(("peer",), evaluate(translation.query, [parse_document(document)]))
        gathered[variable] = answers.gathered(variable)
    return evaluate_module(found.text, answers_document(gathered))


@pytest.mark.hypothesis
@settings(max_examples=50)
@given(st.integers(0, 2**31), st.sampled_from(Direction))
def test_shells_of_translated_cores_are_those_of_the_image(seed: int, to: Direction) -> None:
    random = Random(seed)
    problem = random_problem(random)
    maker = QueryMaker.asking(random, problem, to)
    instances = pairs(problem.mapping, random_documents(random, problem, 4, side=to), to)
    for _ in range(3):
        query = print_query(parse_query(maker.query()))
        for shell in shells(random, query):
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

"""Items count once for each match in the asker's document, whatever makes its nodes."""

from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from heptox.grammar import counted_query, parse_query, print_query
from heptox.store import evaluate
from heptox.translate import Direction
from heptox.xml import parse_document
from tests.support import saxon
from tests.support.checking import Outcome, check_counts
from tests.support.counting import counted
from tests.support.definition import pairs
from tests.support.random_mappings import QueryMaker, random_documents, random_problem


@pytest.mark.hypothesis
@settings(max_examples=60)
@given(st.integers(0, 2**31), st.sampled_from(Direction))
def test_translated_items_count_as_those_of_the_image(seed: int, to: Direction) -> None:
    random, outcome = Random(seed), Outcome()
    problem = random_problem(random)
    maker = QueryMaker.asking(random, problem, to)
    instances = pairs(problem.mapping, random_documents(random, problem, 4, side=to), to)
    for _ in range(3):
        check_counts(problem, maker.query(), to, instances, outcome)
    assert not outcome.broken, outcome.broken[0]


@pytest.mark.parametrize(
    ("query", "document", "items"),
    [
        ("//p", "<a><p/><p/><q><p/></q></a>", 3),
        ("for $p in //p, $n in $p/n where $p/k return data($n)", "<a><p><k/><k/><n>1</n><n>1</n></p><p/></a>", 2),
        ("(//p/n, //p/n)", "<a><p><n>1</n></p></a>", 2),
        ("for $p in //p return <r>{$p/n}</r>", "<a><p><n>1</n><n>1</n></p><p/></a>", 2),
        ("//p/@k", "<a><p k='1'/><p k='1'/><p/></a>", 2),
        ("for $p in //p return text {data($p/n)}", "<a><p><n>1</n></p><p/></a>", 1),
    ],
)  # fmt: skip
def test_each_match_counts_once(query: str, document: str, items: int) -> None:
    asked = print_query(counted_query(parse_query(query)))
    assert (
        counted(saxon.evaluate(asked, document))
        == items
        == counted(evaluate(parse_query(asked), [parse_document(document)]))
    )

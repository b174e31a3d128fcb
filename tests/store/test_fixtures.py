"""Queries on a small hospital, with their answers as one reads them."""

from __future__ import annotations

import pytest

from heptox.grammar import parse_query, print_query
from heptox.store import evaluate
from heptox.xml import read_document
from tests.support import saxon
from tests.support.fixtures import FIXTURES, cases

MONTREAL = FIXTURES / "queries" / "montreal.xml"


@pytest.mark.parametrize(("query", "answer"), cases("queries/montreal.xq"))
def test_answers(query: str, answer: str) -> None:
    expression = parse_query(query)
    items = list(evaluate(expression, [read_document(MONTREAL)]))
    assert "\n".join(items) == answer
    assert items == saxon.evaluate(print_query(expression), MONTREAL.read_text(encoding="utf-8"))

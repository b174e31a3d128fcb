"""A peer's own work for a query: what it brings, and what it may hold meanwhile."""

from __future__ import annotations

import pytest
import trio

from heptox.errors import StoreError
from heptox.grammar import encode_query, parse_query
from heptox.peer.answering import LEAST_HELD, Answering
from heptox.xmlio import parse_document
from tests.peer.networks import run

DOCUMENT = parse_document("<r>" + "".join(f"<a><b>{number}</b></a>" for number in range(300)) + "</r>")
ORDERED = "for $a in //a, $b in //a order by $a/b return data($b)"


def items(query: str, budget: int) -> int:
    """How many items a query brings."""
    found = 0

    async def test() -> None:
        nonlocal found
        answering = Answering(evaluations=1)
        answering.documents = (DOCUMENT,)
        async for batch in answering.evaluate("q", encode_query(parse_query(query)), (), budget):
            found += len(batch)
            await trio.lowlevel.checkpoint()

    run(test)
    return found


@pytest.mark.parametrize(
    ("query", "code"),
    [(ORDERED, "HX6006"), ("<r>{for $a in //a, $b in //a, $c in //b return <s/>}</r>", "HX6007")],
)
def test_an_evaluation_holds_no_more_than_the_budget_of_its_query(query: str, code: str) -> None:
    with pytest.raises(StoreError) as error:
        items(query, LEAST_HELD)
    assert [fault.code for fault in error.value.faults] == [code]


def test_a_small_budget_is_enough_to_work_with() -> None:
    assert items("for $a in //a order by $a/b return $a", 1) == 300
    assert items(ORDERED, 64 * LEAST_HELD) == 300 * 300

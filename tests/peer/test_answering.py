"""A peer's own work for a query: what it brings, and what it may hold meanwhile."""

from __future__ import annotations

from contextlib import aclosing

import pytest
import trio

from heptox.errors import GrammarError, StoreError
from heptox.grammar import encode_query, parse_query
from heptox.peer import Body
from heptox.peer.answering import LEAST_HELD, Answering
from heptox.schema import parse_dtd
from heptox.store import Store
from tests.peer.networks import run

SCHEMA = parse_dtd("<!ELEMENT r (a*)><!ELEMENT a (b)><!ELEMENT b (#PCDATA)>", "r")
PARTS = "".join(f"<a><b>{number}</b></a>" for number in range(300))
VALID = f"<r>{PARTS}</r>".encode()
ODD = f"<r>{PARTS}<c/></r>".encode()
"""A document that does not fit the schema: it is interpreted."""
ORDERED = "for $a in //a, $b in //a order by $a/b return data($b)"
LARGE = "<r>{for $a in //a, $b in //a return <s>{$a}</s>}</r>"


def items(query: str, budget: int, document: bytes) -> int:
    """How many items a query brings."""
    return len(items_of(encode_query(parse_query(query)), budget, document))


def items_of(body: Body, budget: int, document: bytes) -> list[str]:
    """The items that the query in a body brings."""
    found: list[str] = []

    async def test() -> None:
        with Store.open(None, SCHEMA) as store:
            store.load("one", document)
            answering = Answering(1, store)
            async for batch in answering.evaluate("q", body, (), budget):
                found.extend(batch)
                await trio.lowlevel.checkpoint()
            await answering.ended()

    run(test)
    return found


@pytest.mark.parametrize(
    ("query", "document", "code"),
    [(ORDERED, ODD, "HX6006"), (LARGE, ODD, "HX6007"), (LARGE, VALID, "HX6007")],
)
def test_an_evaluation_holds_no_more_than_the_budget_of_its_query(query: str, document: bytes, code: str) -> None:
    with pytest.raises(StoreError) as error:
        items(query, LEAST_HELD, document)
    assert [fault.code for fault in error.value.faults] == [code]


@pytest.mark.parametrize("document", [VALID, ODD])
def test_a_small_budget_is_enough_to_work_with(document: bytes) -> None:
    assert items("for $a in //a order by $a/b return $a", 1, document) == 300
    assert items(ORDERED, 64 * LEAST_HELD, document) == 300 * 300


def test_an_answer_is_of_the_documents_at_its_first_item_and_ends_when_it_is_left() -> None:
    async def test() -> None:
        with Store.open(None, SCHEMA) as store:
            store.load("one", VALID)
            answering = Answering(2, store)
            query = encode_query(parse_query("//a/b"))
            async with aclosing(answering.evaluate("q", query, (), LEAST_HELD)) as batches:
                found = [*await anext(batches)]
                store.load("one", b"<r><a><b>x</b></a></r>", replace=True)
                found += [item async for batch in batches for item in batch]
            assert found == [f"<b>{number}</b>" for number in range(300)]
            left = answering.evaluate("q", query, (), LEAST_HELD)
            assert await anext(left) == ("<b>x</b>",)
            await left.aclose()
            await answering.ended()

    run(test)


def test_a_body_may_be_the_text_of_the_query() -> None:
    text = "for $a in //a where $a/b > 297 return data($a/b)"
    assert items_of(text, LEAST_HELD, VALID) == ['"298"', '"299"']
    assert items_of(text, LEAST_HELD, VALID) == items_of(encode_query(parse_query(text)), LEAST_HELD, VALID)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("", "HX3001"),
        ("//a[", "HX3001"),
        ("count(//a)", "HX3002"),
        ("(" * 100_000, "HX3001"),
        ("for $a in //a return " * 300 + "$a", "HX3003"),
        ("$a", "HX3004"),
        (["Query"], "HX3049"),
        ({"text": "//a"}, "HX3049"),
        (None, "HX3049"),
    ],
)
def test_a_body_that_is_no_query_is_refused(body: Body, code: str) -> None:
    with pytest.raises(GrammarError) as error:
        items_of(body, LEAST_HELD, VALID)
    assert error.value.faults[0].code == code

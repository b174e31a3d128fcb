"""A peer's own work for a query: what it brings, and what it may hold meanwhile."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, aclosing
from threading import Event, Thread

import pytest
import trio

from heptox.errors import StoreError
from heptox.grammar import encode_query, parse_query
from heptox.peer.answering import FOR_ONE, LEAST_HELD, Answering, _Batches
from heptox.peer.messages import Hop
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
    found = 0

    async def test() -> None:
        nonlocal found
        with Store.open(None, SCHEMA) as store:
            store.load("one", document)
            answering = Answering(1, store)
            async for batch in answering.evaluate("q", encode_query(parse_query(query)), (), budget):
                found += len(batch)
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


def test_a_neighbour_that_takes_nothing_keeps_nobody_else_from_being_answered() -> None:
    async def test() -> None:
        with Store.open(None, SCHEMA) as store:
            store.load("one", VALID)
            answering = Answering(2, store)
            query = encode_query(parse_query("//a/b"))

            def evaluation(neighbour: str) -> AsyncGenerator[tuple[str, ...], None]:
                return answering.evaluate("q", query, (Hop(neighbour, ""), Hop("us", "")), LEAST_HELD)

            async with AsyncExitStack() as stack:
                for _ in range(FOR_ONE):
                    begun = await stack.enter_async_context(aclosing(evaluation("slow")))
                    assert await anext(begun)
                waiting = evaluation("slow")
                with trio.move_on_after(0.05) as scope:
                    await anext(waiting)
                assert scope.cancelled_caught
                assert await anext(evaluation("other"))
            assert await anext(evaluation("slow"))  # the places are free again
            await answering.ended()

    run(test)


def test_a_thread_that_begins_when_nobody_waits_any_more_does_nothing() -> None:
    began, go_on, closed = Event(), Event(), Event()

    def items() -> Generator[str, None, None]:
        try:
            while True:
                yield "item"
        finally:
            began.set()
            go_on.wait(10)
            closed.set()

    batches = _Batches(items(), Event())
    assert set(batches.take()) == {"item"}
    closing = Thread(target=batches.close)
    closing.start()
    assert began.wait(10)
    late: list[tuple[str, ...]] = []
    taking = Thread(target=lambda: late.append(batches.take()))
    taking.start()
    go_on.set()
    for thread in (closing, taking):
        thread.join(10)
    assert late == [()]
    assert closed.is_set()

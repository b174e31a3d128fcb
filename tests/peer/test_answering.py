"""A peer's own work for a query: what it brings, and what it may hold meanwhile."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

import pytest
import trio
import trio.testing

from heptox.demo import HOSPITAL
from heptox.errors import GrammarError, PeerError, StoreError
from heptox.grammar import encode_query, parse_query
from heptox.mapping import load_mapping
from heptox.peer import Acquaintance, Body, Side, Status, Translated, Untranslated, answering as module
from heptox.peer.acquaintance.register import Known
from heptox.peer.answering import FOR_ONE, LEAST_HELD, TRANSLATIONS, Answering, _Batches
from heptox.peer.query import translating
from heptox.peer.query.result_cache import ResultCache
from heptox.peer.query.shares import KEPT, NEIGHBOURS, Shares
from heptox.peer.query.translating import translated
from heptox.peer.wire.address import PeerAddress
from heptox.peer.wire.identity import Identity
from heptox.peer.wire.mapping_files import MappingFiles
from heptox.peer.wire.messages import Hop, HopPath
from heptox.schema import parse_dtd
from heptox.store import Store, plan_query
from heptox.store.index import index_bytes
from heptox.translate import Direction, model, translate
from tests.peer.networks import run, until
from tests.peer.worded_peers import one_section

SCHEMA = parse_dtd("<!ELEMENT r (a*)><!ELEMENT a (b)><!ELEMENT b (#PCDATA)>", "r")
PARTS = "".join(f"<a><b>{number}</b></a>" for number in range(300))
VALID = f"<r>{PARTS}</r>".encode()
ODD = f"<r>{PARTS}<c/></r>".encode()
"""A document that does not fit the schema: it is interpreted."""
ORDERED = "for $a in //a, $b in //a order by $a/b return data($b)"
AGAIN = "//b[" + " or ".join(["'x' = //a/b"] * 2000) + "]"
"""What is compared is the same everywhere, and kept: once for each time that it stands there."""
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
    [(ORDERED, ODD, "HX6006"), (AGAIN, ODD, "HX6006"), (LARGE, ODD, "HX6007"), (LARGE, VALID, "HX6007")],
)
def test_an_evaluation_holds_no_more_than_the_budget_of_its_query(query: str, document: bytes, code: str) -> None:
    with pytest.raises(StoreError) as error:
        items(query, LEAST_HELD, document)
    assert [fault.code for fault in error.value.faults] == [code]


def test_evaluations_for_one_neighbour_hold_so_much_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A document that is interpreted is in memory while nobody takes the items."""
    monkeypatch.setattr("heptox.store.allowance._STEP", 0)
    monkeypatch.setattr(module, "HELD_FOR_ONE", 3 * index_bytes(ODD) + 10_000)
    monkeypatch.setattr(module, "BATCH_ITEMS", 1)
    body = encode_query(parse_query("//a"))
    greedy, other = (Hop(name, "") for name in ("greedy", "other"))
    me = Hop("me", "")

    async def test() -> None:
        with Store.open(None, SCHEMA) as store:
            store.load("one", ODD)
            answering = Answering(1, store)
            answering.neighbours = named("greedy", "other")

            async def begun(*path: Hop) -> AsyncGenerator[tuple[str, ...], None]:
                items = answering.evaluate("q", body, path, LEAST_HELD)
                assert await anext(items)
                return items

            unread = [await begun(greedy, me) for _ in range(3)]
            with pytest.raises(StoreError, match="HX6019"):
                await begun(greedy, me)
            others = [await begun(*path) for path in [(other, me), *[(me,)] * 4]]
            await unread[0].aclose()
            for items in (await begun(greedy, me), *unread[1:], *others):
                await items.aclose()
            await answering.ended()

    run(test)


def test_what_is_kept_for_those_who_hold_little_is_held_by_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever keys strangers have, and acquaintances that hold much."""
    monkeypatch.setattr("heptox.store.allowance._STEP", 0)
    one = index_bytes(ODD) + 5_000
    monkeypatch.setattr(module, "HELD_FOR_ONE", 3 * one)
    monkeypatch.setattr(module, "HELD_FOR_NEIGHBOURS", 6 * one)
    monkeypatch.setattr(module, "HELD_LITTLE", one)
    monkeypatch.setattr(module, "HELD_KEPT", one)
    monkeypatch.setattr(module, "BATCH_ITEMS", 1)
    body = encode_query(parse_query("//a"))

    async def test() -> None:
        with Store.open(None, SCHEMA) as store:
            store.load("one", ODD)
            answering = Answering(1, store)
            answering.neighbours = named("greedy", "friend")

            async def begun(*neighbours: str) -> None:
                for neighbour in neighbours:
                    items = answering.evaluate("q", body, (Hop(neighbour, ""), Hop("me", "")), LEAST_HELD)
                    await stack.enter_async_context(aclosing(items))
                    assert await anext(items)

            async with AsyncExitStack() as stack:
                await begun("key 1", "key 2", "key 3")
                with pytest.raises(StoreError, match="HX6019"):
                    await begun("key 4")
                await begun("greedy", "greedy")
                with pytest.raises(StoreError, match="HX6019"):
                    await begun("greedy")
                await begun("friend")
            await answering.ended()

    run(test)


@pytest.mark.parametrize("document", [VALID, ODD])
def test_large_items_come_one_after_the_other(document: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a batch are held at a time: 256 items of megabytes would be gigabytes."""
    monkeypatch.setattr(module, "BATCH_CHARACTERS", 20)

    async def test() -> None:
        with Store.open(None, SCHEMA) as store:
            store.load("one", document)
            answering = Answering(1, store)
            body = encode_query(parse_query("for $a in //a return <s>{$a}{$a}</s>"))
            sizes = [len(batch) async for batch in answering.evaluate("q", body, (), 10**6)]
            assert sizes == [1] * 300
            await answering.ended()

    run(test)


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
        ("(" * 60_000, "HX3001"),
        ("//a" * 100_000, "HX3009"),
        (["Sequence", [["StringLiteral", "a"]] * 60_000], "HX3009"),
        (["StringLiteral", "a" * 300_000], "HX3009"),
        ("/a" * 40_000, "HX3009"),
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


def test_what_is_remembered_is_bounded_and_what_was_not_used_for_longest_goes_first() -> None:
    remembered = ResultCache[str](10)
    for key in ("a", "b"):
        remembered.put(key, key.upper(), 5)
    assert remembered.get("a") == "A"
    remembered.put("c", "C", 5)
    remembered.put("too large", "", 11)
    assert [remembered.get(key) for key in ("a", "b", "c", "too large")] == ["A", None, "C", None]
    remembered.put("d", "D", 10)
    assert len(remembered) == 1


class Translator:
    """What translates in place of the real one: it counts, and stands still while its gate is closed."""

    def __init__(self) -> None:
        self.begun: list[Any] = []
        self.gate = Event()
        self.gate.set()
        self._lock = Lock()

    def __call__(self, mapping: Any, expression: Any, direction: Any, check: Any, *, in_parts: bool) -> Any:
        with self._lock:
            self.begun.append(mapping)
        while not self.gate.wait(0.01):
            check()
        return self.real(mapping, expression, direction, check, in_parts=in_parts)

    real = staticmethod(translate)


@pytest.fixture
def translator(monkeypatch: pytest.MonkeyPatch) -> Translator:
    made = Translator()
    monkeypatch.setattr(translating, "translate", made)
    return made


def known(*arrows: str) -> dict[str, Known]:
    """Acquaintances of a peer that is at the source of all these mappings, by peer id."""
    found = {}
    for file in arrows:
        peer = Identity.generate().peer_id
        address = PeerAddress.parse(f"/ip4/127.0.0.1/tcp/1/p2p/{peer}")
        found[peer] = with_mapping(Acquaintance("it", address, Side.SOURCE, Path(file)), HOSPITAL / file)
    return found


def named(*names: str) -> dict[str, Known]:
    """Acquaintances of these names, which stand for their peer ids."""
    (one,) = known(TO_BOSTON).values()
    return dict.fromkeys(names, one)


def with_mapping(acquaintance: Acquaintance, file: Path) -> Known:
    return Known(acquaintance, MappingFiles.pack(file), load_mapping(file))


BODY = encode_query(parse_query("//Patient/Name"))
UNKNOWN = encode_query(parse_query("//Treat/Doc"))
TO_BOSTON = "montreal-boston.arrows"


def test_a_query_is_translated_once_for_all_neighbours_with_equal_mappings(translator: Translator) -> None:
    async def test() -> None:
        with Store.open(None, SCHEMA) as store:
            answering = Answering(1, store)
            answering.neighbours = known(TO_BOSTON, TO_BOSTON)
            results: list[Translated | Untranslated] = []

            async def ask(peer: str, body: Any, task: str) -> None:
                results.append(await answering.translate("q", (), peer, body, task))

            async with trio.open_nursery() as nursery:
                for number, peer in enumerate([*answering.neighbours] * 4):
                    nursery.start_soon(ask, peer, BODY, f"task {number}")
                    nursery.start_soon(ask, peer, UNKNOWN, f"task {number + 8}")
            assert len(translator.begun) == 2
            assert {result.task for result in results} == {f"task {number}" for number in range(16)}
            bodies = [result.body for result in results if isinstance(result, Translated)]
            assert bodies == [bodies[0]] * 8
            losses = [(result.status, bool(result.losses)) for result in results if isinstance(result, Untranslated)]
            assert losses == [(Status.NOTHING, True)] * 8

    run(test)


def test_another_mapping_to_the_same_neighbour_translates_anew(translator: Translator, tmp_path: Path) -> None:
    async def test() -> None:
        with Store.open(None, SCHEMA) as store:
            answering = Answering(1, store)
            answering.neighbours = known(TO_BOSTON)
            ((peer, first),) = answering.neighbours.items()
            before = await answering.translate("q", (), peer, BODY, "task")
            lines = (HOSPITAL / TO_BOSTON).read_text(encoding="utf-8").splitlines()
            for file in HOSPITAL.glob("*.dtd"):
                (tmp_path / file.name).write_bytes(file.read_bytes())
            fewer = tmp_path / "fewer.arrows"
            fewer.write_text("\n".join(line for line in lines if "Name" not in line), encoding="utf-8")
            answering.neighbours = {peer: with_mapping(first.acquaintance, fewer)}
            after = await answering.translate("q", (), peer, BODY, "task")
            answering.neighbours = {peer: first}
            again = await answering.translate("q", (), peer, BODY, "task")
            assert isinstance(before, Translated) and isinstance(after, Untranslated)
            assert again == before
            assert len(translator.begun) == 2

    run(test)


@pytest.mark.parametrize(("section", "is_translated"), [("along", False), ("against", True)])
def test_rules_of_one_section_translate_in_their_direction(section: str, is_translated: bool, tmp_path: Path) -> None:
    """This peer is at the source: its queries are unfolded over the rules that make documents of the source."""

    async def test() -> None:
        with Store.open(None, SCHEMA) as store:
            answering = Answering(1, store)
            ((peer, first),) = known(TO_BOSTON).items()
            answering.neighbours = {peer: with_mapping(first.acquaintance, one_section(tmp_path, section))}
            found = await answering.translate("q", (), peer, BODY, "task")
            if is_translated:
                assert isinstance(found, Translated)
            else:
                assert isinstance(found, Untranslated) and found.status is Status.REFUSED
                assert "it serves one direction" in found.reason and "HX4024" in found.reason

    run(test)


def test_a_translation_that_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "MOST_SECONDS", -1.0)
    found = translated(load_mapping(HOSPITAL / TO_BOSTON), Direction.TARGET, BODY)
    assert isinstance(found, Untranslated) and found.status is Status.REFUSED
    assert "HX5009 to translate it takes longer than -1 seconds" in found.reason


def test_who_waits_for_a_translation_makes_it_when_its_maker_is_cancelled(translator: Translator) -> None:
    async def test() -> None:
        with Store.open(None, SCHEMA) as store:
            answering = Answering(1, store)
            answering.neighbours = known(TO_BOSTON)
            (peer,) = answering.neighbours
            results: list[Translated | Untranslated] = []

            async def ask(scope: trio.CancelScope, task: str) -> None:
                with scope:
                    results.append(await answering.translate("q", (), peer, BODY, task))

            translator.gate.clear()
            scopes = [trio.CancelScope() for _ in range(3)]
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ask, scopes[0], "first")
                await until(lambda: translator.begun)
                nursery.start_soon(ask, scopes[1], "second")
                nursery.start_soon(ask, scopes[2], "third")
                await trio.testing.wait_all_tasks_blocked()
                scopes[1].cancel()  # one that waits
                scopes[0].cancel()  # the one that others wait for
                await until(lambda: len(translator.begun) == 2)
                translator.gate.set()
            assert [result.task for result in results] == ["third"]
            assert (await answering.translate("q", (), peer, BODY, "later")).task == "later"
            assert len(translator.begun) == 2

    run(test)


def test_a_translation_waits_behind_nothing_of_another_neighbour(translator: Translator) -> None:
    async def test() -> None:
        with Store.open(None, SCHEMA) as store:
            answering = Answering(1, store)
            peer = "greedy"
            answering.neighbours = named(peer, "other")
            greedy, other = ((Hop(name, ""), Hop("us", "")) for name in ("greedy", "other"))
            translator.gate.clear()
            async with trio.open_nursery() as nursery:
                for body in (UNKNOWN, encode_query(parse_query("//Patient")), BODY):
                    nursery.start_soon(answering.translate, "q", greedy, peer, body, "task")
                await until(lambda: len(translator.begun) == TRANSLATIONS)
                nursery.start_soon(answering.translate, "q", other, peer, BODY, "task")
                await until(lambda: len(translator.begun) == TRANSLATIONS + 1)
                translator.gate.set()

    run(test)


def test_a_query_that_comes_again_has_its_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[Any] = []

    def counted(*arguments: Any) -> Any:
        planned.append(arguments)
        return plan_query(*arguments)

    monkeypatch.setattr(module, "plan_query", counted)

    async def test() -> None:
        with Store.open(None, SCHEMA) as store:
            store.load("one", VALID)
            answering = Answering(1, store)
            for wanted in ("//a/b", "//a", "//a/b", "//a"):
                body = encode_query(parse_query(wanted))
                found = [item async for batch in answering.evaluate("q", body, (), LEAST_HELD) for item in batch]
                assert len(found) == 300
            store.load("one", b"<r><a><b>x</b></a></r>", replace=True)
            assert [batch async for batch in answering.evaluate("q", body, (), LEAST_HELD)] == [("<a><b>x</b></a>",)]
            assert len(planned) == 2


def test_a_neighbour_that_takes_nothing_keeps_nobody_else_from_being_answered() -> None:
    async def test() -> None:
        with Store.open(None, SCHEMA) as store:
            store.load("one", VALID)
            answering = Answering(2, store)
            answering.neighbours = named("slow", "other")
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


def test_the_own_user_may_leave_any_number_of_answers_unread() -> None:
    async def test() -> None:
        with Store.open(None, SCHEMA) as store:
            store.load("one", VALID)
            answering = Answering(2, store)
            query = encode_query(parse_query("//a/b"))
            async with AsyncExitStack() as stack:
                for _ in range(2 * FOR_ONE):
                    asked = answering.evaluate("q", query, (Hop("us", ""),), LEAST_HELD)
                    assert await anext(await stack.enter_async_context(aclosing(asked)))
            await answering.ended()

    run(test)


ENDLESS = "for $a in //a, $b in //a, $c in //a where $a/b < $b/b and $b/b < $c/b and $c/b < $a/b return <r/>"


def test_whoever_asks_for_much_waits_behind_nobody_but_itself() -> None:
    def path(neighbour: str) -> HopPath:
        return (Hop(neighbour, ""), Hop("us", "")) if neighbour else (Hop("us", ""),)

    async def test() -> None:
        with Store.open(None, SCHEMA) as store:
            store.load("odd", ODD)
            answering = Answering(2, store)
            answering.neighbours = named("greedy", "other")

            async def ask(neighbour: str, query: str) -> list[str]:
                asked = answering.evaluate("q", encode_query(parse_query(query)), path(neighbour), LEAST_HELD)
                return [item async for batch in asked for item in batch]

            async with trio.open_nursery() as nursery:
                for _ in range(2 * FOR_ONE):
                    nursery.start_soon(ask, "greedy", ENDLESS)
                await trio.testing.wait_all_tasks_blocked(0.2)
                for asker in ("", "other"):
                    assert len(await ask(asker, "//b")) == 300
                nursery.cancel_scope.cancel()
            await answering.ended()

    run(test)


def test_many_keys_of_strangers_keep_no_acquaintance_from_being_answered() -> None:
    async def test() -> None:
        with Store.open(None, SCHEMA) as store:
            store.load("odd", ODD)
            answering = Answering(1, store)
            answering.neighbours = named("friend")

            async def ask(neighbour: str, query: str) -> list[str]:
                path = (Hop(neighbour, ""), Hop("us", ""))
                asked = answering.evaluate("q", encode_query(parse_query(query)), path, LEAST_HELD)
                return [item async for batch in asked for item in batch]

            async with trio.open_nursery() as nursery:
                for key in range(NEIGHBOURS + KEPT):
                    nursery.start_soon(ask, f"key {key}", ENDLESS)
                await trio.testing.wait_all_tasks_blocked(0.2)
                assert len(await ask("friend", "//b")) == 300
                nursery.cancel_scope.cancel()
            await answering.ended()

    run(test)


def test_who_has_used_little_waits_for_no_others_however_many_work_is_done_for() -> None:
    async def test() -> None:
        shares, go_on = Shares(2, lambda asker: asker.startswith("little")), Event()
        begun: list[None] = []

        def work() -> None:
            begun.append(None)
            go_on.wait(240)

        async with trio.open_nursery() as nursery:
            for number in range(2 * NEIGHBOURS):
                nursery.start_soon(shares.run, f"much {number % NEIGHBOURS}", work)
            await until(lambda: len(begun) == 2 * NEIGHBOURS)
            for number in range(KEPT - 1):
                assert await shares.run("little", lambda: "done") == "done"
                for _ in range(2):  # one thread is kept for each
                    nursery.start_soon(shares.run, f"little {number}", work)
            await until(lambda: len(begun) == 2 * NEIGHBOURS + KEPT - 1)
            nursery.start_soon(shares.run, "much", work)
            await trio.testing.wait_all_tasks_blocked(0.05)
            assert len(begun) == 2 * NEIGHBOURS + KEPT - 1
            assert await shares.run("little", lambda: "done") == "done"
            go_on.set()
        await shares.ended()

    run(test)


def test_what_a_neighbour_has_used_up_is_refused_by_name_and_costs_nobody_else() -> None:
    async def test() -> None:
        with Store.open(None, SCHEMA) as store:
            store.load("odd", ODD)
            answering = Answering(1, store, seconds=0.5)
            ((asked, mapping),) = known(TO_BOSTON).items()
            answering.neighbours = {asked: mapping, "greedy": mapping, "other": mapping}

            async def ask(neighbour: str, query: str = "//b") -> int:
                path = (Hop(neighbour, ""), Hop("us", "")) if neighbour else (Hop("us", ""),)
                batches = answering.evaluate("q", encode_query(parse_query(query)), path, LEAST_HELD)
                return sum([len(batch) async for batch in batches])

            async def translated_for(neighbour: str) -> Translated | Untranslated:
                return await answering.translate("q", (Hop(neighbour, ""), Hop("us", "")), asked, BODY, "task")

            async def refused(work: Callable[[], Awaitable[Any]]) -> None:
                with pytest.raises(PeerError) as error:
                    await work()
                assert [fault.code for fault in error.value.faults] == ["HX7106"]

            await refused(lambda: ask("greedy", ENDLESS))
            await refused(lambda: translated_for("greedy"))
            with pytest.raises(PeerError):
                answering.admit("greedy")
            for asker in ("", "other", "a stranger"):
                answering.admit(asker)
                assert await ask(asker) == 300
            assert isinstance(await translated_for("other"), Translated), "a refusal is not remembered"
            await refused(lambda: ask("a stranger", ENDLESS))
            with pytest.raises(PeerError):  # a new key gives nobody more
                answering.admit("another stranger")
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
            go_on.wait(240)
            closed.set()

    batches = _Batches(items(), Event())
    assert set(batches.take()) == {"item"}
    closing = Thread(target=batches.close)
    closing.start()
    assert began.wait(240)
    late: list[tuple[str, ...]] = []
    taking = Thread(target=lambda: late.append(batches.take()))
    taking.start()
    go_on.set()
    for thread in (closing, taking):
        thread.join(240)
    assert late == [()]
    assert closed.is_set()

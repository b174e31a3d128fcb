"""Large documents and messages that are costly to decode: the event loop only moves bytes meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any, Final

import cbor2
import pytest
import trio

from heptox.demo import records
from heptox.errors import HeptoxError, PeerError
from heptox.matching import MOST_NODES
from heptox.peer import PeerFolder, Standing, SubscriptionEntry, SubscriptionsRequest
from heptox.peer.acquaintance.acquainting import schema_key
from heptox.peer.record.stalls import STALL
from heptox.peer.wire.mapping_requests import PROTOCOL as MAPPING
from heptox.peer.wire.messages import Answers, End, Error, Hop, Query, ReceiptLine, Status
from heptox.peer.wire.offers import PROTOCOL
from heptox.peer.wire.stream import MessageStream
from heptox.xml import MOST_ATTRIBUTES
from tests.hostile.attacks import Bounds, Friend, no_harm
from tests.hostile.test_offers import boston_peer, run, stranger
from tests.peer.daemons import Daemon, acquaint, ask, daemon, hospital_peer, wait_until
from tests.peer.hostile import hostile

MEGABYTE: Final = 2**20
STEP: Final = 2 * STALL
"""Seconds of a slow machine's processor: one of half the speed takes twice as long for the same step."""
GROWTH: Final = 700 * MEGABYTE
QUERY: Final = "//Patient"
MESSAGE: Final = MEGABYTE - 1024

MANY: Final = MOST_NODES - 10
ATTRIBUTES: Final = b" ".join(b'b%d="1"' % number for number in range(MOST_ATTRIBUTES))
DOCUMENTS: Final = {
    "many siblings": b"<r>" + b"<a/>" * MANY + b"</r>",
    "many texts": b"<r>" + b"<a>12</a>" * MANY + b"</r>",
    "many attributes": b"<r>" + (b"<a " + ATTRIBUTES + b"/>") * 400 + b"</r>",
    "deep": b"<r>" + (b"<a>" * 250 + b"</a>" * 250) * (MANY // 250) + b"</r>",
}
REFUSED: Final = {
    "too many siblings": b"<r>" + b"<a/>" * (12 * MEGABYTE) + b"</r>",
    "too many attributes": b"<r " + b" ".join(b'b%d="1"' % number for number in range(200_000)) + b"/>",
    "too deep": b"<a>" * 200_000 + b"</a>" * 200_000,
    "entities": b'<!DOCTYPE r [<!ENTITY e "<a/><a/><a/><a/>">]><r>' + b"&e;" * 500_000 + b"</r>",
}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Daemon, Daemon]]:
    """A publisher of anything, and a neighbour that wants some of it."""
    path = tmp_path_factory.mktemp("stalls")
    publisher = boston_peer(path / "boston", policy="open", feed="anything", query_seconds=SECONDS)
    subscriber = hospital_peer(path / "montreal", "montreal", 3)
    with daemon(publisher) as one, daemon(subscriber) as other:
        acquaint(subscriber, one, "montreal-boston.arrows")
        with other.client() as client:
            wait_until(lambda: bool(client.feeds().neighbours))
            client.subscribe(
                SubscriptionsRequest(
                    subscriptions=(
                        SubscriptionEntry(name="some", xpath="//a[b]"),
                        SubscriptionEntry(name="end", xpath="/end"),
                    )
                )
            )
        with one.client() as client:
            client.publish("first.xml", b"<end/>")
        yield one, other


def received(to: Daemon) -> int:
    with to.client() as client:
        return int(client.subscription("end").backlog)


@pytest.mark.parametrize("data", DOCUMENTS.values(), ids=DOCUMENTS)
def test_a_large_document_is_matched_beside_the_event_loop(pair: tuple[Daemon, Daemon], data: bytes) -> None:
    publisher, subscriber = pair
    before = received(subscriber)

    def attack() -> None:
        with publisher.client() as client:
            client.publish("large.xml", data)
            client.publish("last.xml", b"<end>%d</end>" % before)

    with no_harm(publisher, subscriber, query=QUERY, bounds=Bounds(step=STEP, growth=GROWTH)):
        attack()
        wait_until(lambda: received(subscriber) > before)


@pytest.mark.parametrize("data", REFUSED.values(), ids=REFUSED)
def test_a_document_beyond_the_bounds_is_refused_by_name(pair: tuple[Daemon, Daemon], data: bytes) -> None:
    refused: list[str] = []

    def attack() -> None:
        with pair[0].client() as client, suppress(HeptoxError):
            try:
                client.publish("large.xml", data)
            except HeptoxError as error:
                refused.extend(fault.code for fault in error.faults)

    with no_harm(pair[0], query=QUERY, bounds=Bounds(step=STEP, growth=GROWTH)):
        attack()
    assert refused in (["HX1006"], ["HX1002"])


# -- messages --------------------------------------------------------------------------------------------------------

ENVELOPE: Final = {"version": 1, "kind": "offer"}
MESSAGES: Final = {
    "many values": cbor2.dumps({**ENVELOPE, "files": [1] * MESSAGE}),
    "many maps": cbor2.dumps({**ENVELOPE, "files": [{}] * (MESSAGE // 2)}),
    "many keys": cbor2.dumps({f"{number:x}": 0 for number in range(100_000)}),
    "deep": b"\x81" * MESSAGE + b"\x00",
    "deep again and again": b"\x99\x0a\x00" + (b"\x81" * 198 + b"\x01") * 2560,
    "half a message": cbor2.dumps({**ENVELOPE, "files": [1] * MESSAGE})[: MESSAGE // 2],
    "a declared length": b"\x9b" + (2**62).to_bytes(8, "big"),
    "a long text": cbor2.dumps({**ENVELOPE, "name": "\u202e" * (MESSAGE // 3)}),
}


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES)
def test_what_strangers_send_is_bounded_before_it_is_decoded(pair: tuple[Daemon, Daemon], message: bytes) -> None:
    async def attack() -> None:
        async with stranger(pair[0]) as made:
            for protocol in (PROTOCOL, MAPPING):
                for _ in range(3):
                    with suppress(PeerError):
                        await made.transport.call(made.asked, protocol, message)

    with no_harm(pair[0], query=QUERY, bounds=Bounds(step=STEP, growth=100 * MEGABYTE)):
        run(attack)


# -- queries ---------------------------------------------------------------------------------------------------------

SECONDS: Final = 2
"""Seconds of the processor that queries of one neighbour may take in a minute."""
NARROW: Final = '//Admission/Coronary[@ID = "b1002"]/@ID'
COSTLY: Final = (
    "for $a in //Date, $b in //Date, $c in //Date where $a < $b and $b < $c and $c < $a return <r/>",
    "for $a in //Progress, $b in //Progress where deep-equal($a, $b) and $a/@PatRef != $b/@PatRef return <r/>",
    "//*[.//* = .//*]//*[.//Date = .//Desc]",
)
LARGE: Final = "for $a in //Progress, $b in //Progress return <r>{$a}{$b}</r>"
SHORT: Final = (
    "/*/*/*/*", "//*//*//*", "//*[//*[//*[//*]]]", "for $a in //*, $b in //*, $c in //*, $d in //* return <a/>",
    f"({','.join(['/*/*/*/*'] * 60)})", f"//Patient[{' or '.join(['. = /*/*/*/*'] * 40)}]",
    "for $a in /*/*/*, $b in /*/*/*, $c in /*/*/* where $a/@ID = $b/@ID and $b/@ID = $c/@ID return <a/>",
)  # fmt: skip
"""Queries of few characters that stand for many: what they cost is their translation."""


async def become_acquainted(attacked: Daemon, *seeds: bytes) -> None:
    """Let those with these keys become acquaintances, who go by the beginnings of them."""
    for seed in seeds:
        async with stranger(attacked, seed) as made:
            assert (await made.make(made.offer(name=seed[:6].decode()))).standing is Standing.AGREED


def test_costly_queries_of_one_neighbour_cost_others_nothing_and_itself_its_budget(pair: tuple[Daemon, Daemon]) -> None:
    """By an acquaintance that asks for much at once, again and again, or takes nothing; until it is refused."""
    attacked, schema = pair[0], schema_key(PeerFolder.open(pair[0].folder).schema())
    with attacked.client() as client:
        client.load("large.xml", records("boston", 2000, 1).encode())
    seeds = b"greedy" + bytes(26), b"friend" + bytes(26)
    reasons = list[str]()

    async def attack() -> None:
        async with hostile(0, seed=seeds[0]) as greedy, trio.open_nursery() as nursery:
            peer = await greedy.reach(attacked.address)

            async def ask(text: str, **more: Any) -> None:
                *_, end = await greedy.ask(greedy.query(peer, text, schema, **more))
                reasons.append(end.receipt[0].reason if isinstance(end, End) else getattr(end, "reason", ""))

            begun = [await greedy.begin(greedy.query(peer, LARGE, schema)) for _ in range(2)]  # nobody takes the items
            for text in SHORT:
                nursery.start_soon(partial(ask, text, hops=1))
            for text in 2 * COSTLY:
                nursery.start_soon(ask, text)
            while not any("HX7106" in reason for reason in reasons):
                await ask("//Desc[. = 'x']")
            for stream in begun:
                stream.abort()

    run(partial(become_acquainted, attacked, *seeds))
    bounds = Bounds(step=STEP, growth=GROWTH)
    with no_harm(attacked, query=NARROW, bounds=bounds, friend=Friend(seeds[1], schema)):
        run(attack)


# -- answers ---------------------------------------------------------------------------------------------------------

MANY_ITEMS: Final = 200_000
MANY_LINES: Final = 2_000


def very_many(query: Query) -> tuple[Answers, End]:
    """Items that are short, and a receipt of very many lines."""
    items = tuple(map(str, range(MANY_ITEMS)))
    own = ReceiptLine(query.path, Status.ANSWERED, MANY_ITEMS)
    behind = (
        ReceiptLine((*query.path, Hop(f"peer {number}", "behind")), Status.FAILED, 0, ("a",) * 20)
        for number in range(MANY_LINES)
    )
    return Answers(query.query, query.path, items), End(query.query, (own, *behind))


def test_answers_and_receipts_that_are_very_long_are_taken_a_little_at_a_time(pair: tuple[Daemon, Daemon]) -> None:
    """By an acquaintance that is asked, for the own user and for another acquaintance."""
    attacked, schema = pair[0], schema_key(PeerFolder.open(pair[0].folder).schema())
    seeds = b"mallory" + bytes(25), b"asking" + bytes(26)
    came = list[int]()

    async def answer(stream: MessageStream, query: Query) -> None:
        for message in very_many(query):
            stream.post(message)
        await stream.close()

    async def attack() -> None:
        async with hostile(0, answer, seed=seeds[0]) as answering, hostile(0, seed=seeds[1]) as asking:
            await answering.reach(attacked.address)
            peer = await asking.reach(attacked.address)
            items, _ = await trio.to_thread.run_sync(lambda: ask(attacked.folder, QUERY, hops=2))
            came.append(len(items))
            *answers, end = await asking.ask(asking.query(peer, QUERY, schema, hops=2, budget=2**26))
            came.append(sum(len(one.items) for one in answers if isinstance(one, Answers)))
            assert isinstance(end, End | Error)

    run(partial(become_acquainted, attacked, *seeds))
    with no_harm(attacked, query=QUERY, bounds=Bounds(step=STEP, growth=GROWTH)):
        run(attack)
    assert min(came) > MANY_ITEMS / 2

"""A daemon under attack from several sides, watched each second: at random (`python -m tests.fuzz --of handlers` goes
on for longer), and by what is costly, odd, too long, or too many."""

from __future__ import annotations

import re
import secrets
import socket
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from random import Random
from typing import Final

import pytest
import trio

from heptox.codec import pack
from heptox.errors import HeptoxError, PeerError
from heptox.feed import FeedDocument, Publish, Subscribe
from heptox.grammar import encode_query, parse_query
from heptox.peer import ControlAddress, Standing
from heptox.peer.wire.feed_wire import PART, encode_feed
from heptox.peer.wire.messages import Hop, Query
from heptox.peer.wire.offers import PROTOCOL as OFFER, Withdrawal, encode_call
from heptox.peer.wire.transport import FEED
from tests.fuzz.handlers.campaign import BY_THE_PROCESSOR, Report, attack
from tests.fuzz.handlers.neighbour import attacker
from tests.fuzz.handlers.offering import NAMES, ODD
from tests.fuzz.handlers.target import QUERY, agree, key_of
from tests.hostile.attacks import MEGABYTE, Bounds
from tests.hostile.test_control_bytes import HEALTH, HOST, SESSION
from tests.hostile.test_offers import GOOD, Stranger, both, packed, run, stranger
from tests.hostile.victims import Victim, harmless, linked
from tests.peer.daemons import files_of, log_of, memory_of, wait_until
from tests.support.budget import usually

FIXED: Final = (7, 8)
"""Seeds of every run; a long one draws another."""
SHORT: Final = 20
"""Conversations of a trial of each kind."""


# -- at random --------------------------------------------------------------------------------------------------------


def test_what_comes_at_random_does_no_harm(victim: Victim) -> None:
    numbers = usually(FIXED, (*FIXED, secrets.randbelow(10**9)))
    print(f"python -m tests.fuzz --of handlers --cases 1 --conversations {SHORT} --first {numbers[-1]}")
    report = Report()
    attack(report, victim.daemon, victim.target, victim.friend, numbers, BY_THE_PROCESSOR, SHORT)
    assert report.broken == []
    assert report.trials == len(numbers)


# -- names of files in offers -----------------------------------------------------------------------------------------


def test_files_of_offers_have_names_that_lead_nowhere(victim: Victim) -> None:
    here = victim.target.folder.parent
    before = set(here.rglob("*"))

    async def offer_all() -> None:
        async with stranger(victim.daemon) as made:
            for name in NAMES:
                for files, mapping in (
                    ({**GOOD.files, name: b"<!ELEMENT a ANY>"}, GOOD.mapping),
                    ({**GOOD.files, name: GOOD.files[GOOD.mapping]}, name),
                    (
                        packed(f'source "{name}"\ntarget "s.dtd"\na -> a\n', s="<!ELEMENT a ANY>").files,
                        "mapping.arrows",
                    ),
                ):
                    with suppress(PeerError):  # names that none can have are answered by a reset
                        await made.transport.call(made.asked, OFFER, named_offer(made, files, mapping))

    harmless(victim, lambda: run(offer_all))
    with victim.target.client() as client:  # the last offer with a name that can be waits
        (waits,) = client.status().requests
        client.accept(waits.peer_id)
    made = [file.relative_to(victim.target.folder) for file in set(here.rglob("*")) - before]
    assert all(re.fullmatch(r"[\w. -]+", part) for file in made for part in file.parts), made
    with victim.target.client() as client:
        client.withdraw(waits.peer_id)


def named_offer(made: Stranger, files: object, mapping: str) -> bytes:
    good = made.offer()
    said = {"name": "names", "addresses": list(good.addresses), "side": "source", "schema": good.schema, "number": 0}
    return pack("offer", {**said, "files": files, "mapping": mapping, "agreed": False})


# -- what declarations cost -------------------------------------------------------------------------------------------


def test_odd_declarations_cost_the_owner_nothing(victim: Victim) -> None:
    async def offer() -> None:
        async with stranger(victim.daemon) as made:
            for odd in ODD:
                schema = f"<!ELEMENT r (a*)><!ELEMENT a (#PCDATA)>\n{odd}"
                reply = await made.make(made.offer(both(schema, "r/a -> r/a\n"), name="odd"))
                assert reply.standing is Standing.REFUSED

    harmless(victim, lambda: run(offer))


# -- HTTP that goes on after its end ----------------------------------------------------------------------------------

CLOSING: Final = b"Connection: close\r\n\r\n"
ENDS: Final = {
    "a refusal": b"GET /status HTTP/1.1\r\n" + HOST + CLOSING,
    "too much": SESSION + b"Content-Length: 99999999\r\n\r\n",
    "no request": b"\x00\r\n\r\n",
    "an older version": b"GET /healthz HTTP/1.0\r\n" + HOST + b"\r\n",
    "half a body": SESSION + b"Content-Length: 10\r\n" + CLOSING + b"{",
    "a page": b"GET /console/ HTTP/1.1\r\n" + HOST + CLOSING,
}
AFTERWARDS: Final = (HEALTH + b"\r\n", b"\x00" * 100_000, b"0\r\n\r\n" * 1000, SESSION + b"Content-Length: 5\r\n\r\n[]")


def test_what_comes_behind_the_end_of_a_connection_is_its_own_end_only(victim: Victim) -> None:
    def go_on(end: bytes, afterwards: bytes) -> None:
        with suppress(OSError), connected(victim) as connection:
            connection.sendall(end + afterwards)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass
        with suppress(OSError), connected(victim) as connection:
            connection.sendall(end)
            connection.recv(1)
            connection.sendall(afterwards)
            connection.sendall(afterwards)

    def go_on_everywhere() -> None:
        with ThreadPoolExecutor(24) as pool:
            for end in ENDS.values():
                pool.map(partial(go_on, end), AFTERWARDS)

    harmless(victim, go_on_everywhere)


def connected(victim: Victim) -> socket.socket:
    address = ControlAddress.read(victim.target.folder)
    assert address
    made = socket.create_connection(("127.0.0.1", int(address.url.rpartition(":")[2])))
    made.settimeout(10)
    return made


# -- an acquaintance that publishes -----------------------------------------------------------------------------------


def received(victim: Victim) -> int:
    """The documents of which a subscription of the owner was notified."""
    with victim.target.client() as client:
        return int(client.subscription("kept").backlog)


LARGE: Final[dict[str, Callable[[], bytes]]] = {
    "one text": lambda: b"<r>" + b"x" * (12 * MEGABYTE) + b"</r>",
    "comments": lambda: b"<r>" + b"<!---->" * 400_000 + b"</r>",
    "names": lambda: b"<r>" + b"".join(b"<a%x/>" % number for number in range(100_000)) + b"</r>",
    "namespaces": lambda: b"<r>" + b"".join(b'<n:a xmlns:n="u%d"/>' % number for number in range(50_000)) + b"</r>",
    "one attribute": lambda: b'<r a="' + b"&#65;" * (4 * MEGABYTE) + b'"/>',
    "attributes": lambda: b"<r " + b" ".join(b'a%d="1"' % number for number in range(200_000)) + b"/>",
    "one tag": lambda: b"<r" + b" " * (12 * MEGABYTE) + b"/>",
    "a fault behind many lines": lambda: b"<r>" + b"\n" * (12 * MEGABYTE) + b"<a></b>",
}


def test_large_documents_of_an_acquaintance_are_taken_beside_the_loop(victim: Victim) -> None:
    before = received(victim)

    async def publish() -> None:
        async with linked(victim) as made:
            for document in LARGE.values():
                await made.publish(document())
            await made.publish(b"<Patient/>")
            while await trio.to_thread.run_sync(received, victim) == before:
                await trio.sleep(0.05)

    harmless(victim, lambda: run(publish), growth=700 * MEGABYTE)


def test_documents_that_are_announced_and_never_come_cost_nothing(victim: Victim) -> None:
    before = memory_of(victim.daemon.process.pid)

    async def begin_only() -> None:
        for _ in range(3):
            async with linked(victim) as made:
                document = FeedDocument(made.made.peer, "feed", 1, "1.xml", "1", b"x" * (4 * PART))
                first, *parts = encode_feed(Publish(document))
                await made.say_bytes(first)
                for part in parts[:-1]:
                    await made.say_bytes(part)
                for _ in range(300):
                    await made.say_bytes(pack("part", {"data": b"x"}))

    harmless(victim, lambda: run(begin_only))
    assert memory_of(victim.daemon.process.pid) - before < 64 * MEGABYTE


@pytest.mark.parametrize(
    "text", ["//a" * 20_000, "//a[" * 8000 + "b" + "]" * 8000, "(" * 20_000 + "//a" + ")" * 20_000]
)
def test_subscriptions_that_are_long_are_refused_beside_the_loop(victim: Victim, text: str) -> None:
    async def subscribe() -> None:
        async with linked(victim) as made:
            await made.say(Subscribe(2, text))
            await made.ended.wait()

    harmless(victim, lambda: run(subscribe))


# -- lines of the log -------------------------------------------------------------------------------------------------

NASTY: Final = (
    "\x1b[2J\x1b]0;owned\x07\r\n2026-01-01T00:00:00.000Z ERROR heptox: forged\u202e\u2028\x00\x9b" + "x" * 20_000
)
LINE: Final = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (DEBUG|INFO|WARNING|ERROR) [\w.]+: [^\x00-\x1f\x7f-\x9f]*"
)


def test_what_others_say_is_one_short_line_of_the_log(victim: Victim) -> None:
    log = log_of(victim.target.folder)
    before = log.stat().st_size

    async def say_all() -> None:
        seed = key_of(secrets.token_hex(), victim.target)
        async with attacker(victim.target, seed, Random(0), Counter()) as who:
            assert await agree(who.made, victim.target, "talker")
            path = (Hop(who.own, "talker"), Hop(who.target.peer_id, "x"))
            body = encode_query(parse_query(QUERY))
            for text in (NASTY, "x" * 200, "\N{GRINNING FACE}" * 200, "%s %n %(message)s {0}"):
                for protocol, message in (
                    (OFFER, encode_call(Withdrawal(text))),
                    (OFFER, pack("offer", {"name": text, "addresses": [text] * 8, "mapping": text})),
                    (FEED, pack("subscribe", {"number": 1, "text": text, "hops": 1, "merged": False})),
                    (FEED, pack(text[:50], {})),
                ):
                    with suppress(PeerError):
                        await who.made.transport.call(who.target.peer_id, protocol, message)
                with suppress(PeerError):
                    await who.made.transport._opened(who.target.peer_id, text[:800])
                query = Query(text[:200], who.own, body, path, 0, 1000, 1000, schema=text)
                stream = await who.made.transport.open(who.target.peer_id)
                with suppress(PeerError):
                    stream.post(query)
                    await stream.receive()
                stream.abort()
        with victim.target.client() as client, suppress(HeptoxError):
            client.withdraw(who.own)

    harmless(victim, lambda: run(say_all))
    with log.open(encoding="utf-8", newline="\n") as lines:
        lines.seek(before)
        for line in lines.read().rstrip("\n").split("\n"):
            assert LINE.fullmatch(line), line
            assert len(line) < 5000


# -- many keys --------------------------------------------------------------------------------------------------------


def test_many_keys_leave_nothing_behind(victim: Victim) -> None:
    pid = victim.daemon.process.pid
    files = files_of(pid)

    async def come_and_go(number: int) -> None:
        async def one() -> None:
            async with limiter, stranger(victim.daemon) as made:
                with suppress(PeerError):
                    await made.make(made.offer(packed("x"), name=f"key {made.peer}"))
                with suppress(PeerError):
                    stream = await made.transport.open(made.asked)
                    await stream.receive()

        limiter = trio.CapacityLimiter(10)
        async with trio.open_nursery() as nursery:
            for _ in range(number):
                nursery.start_soon(one)

    run(lambda: come_and_go(20))
    harmless(victim, lambda: run(lambda: come_and_go(50)), growth=24 * MEGABYTE)
    wait_until(lambda: files_of(pid) <= files + 10)


# -- connections that are held ----------------------------------------------------------------------------------------

SECURED: Final = b"\x13/multistream/1.0.0\n\x07/noise\n"
HELD: Final = (b"", b"\x13", SECURED, SECURED + b"\x00\x20" + bytes(32), SECURED + b"\xff\xff" + bytes(1000))
HELD_REQUESTS: Final = (b"", b"GET", HEALTH, HEALTH + b"\r\n", SESSION + b"Content-Length: 100\r\n\r\n{")


def test_connections_that_are_held_hold_nobody_up(victim: Victim) -> None:
    pid = victim.daemon.process.pid
    files, port = files_of(pid), int(victim.target.address.split("/")[4])

    def hold() -> None:
        with ExitStack() as stack:
            for number in range(300):
                with suppress(OSError):
                    source = (f"127.0.0.{1 + number % 6}", 0)
                    held = socket.create_connection(("127.0.0.1", port), source_address=source)
                    stack.enter_context(held).sendall(HELD[number % len(HELD)])
                if number < 100:
                    with suppress(OSError):
                        stack.enter_context(connected(victim)).sendall(HELD_REQUESTS[number % len(HELD_REQUESTS)])
            status = victim.target.client()
            with status:
                assert status.status().peer_id

    harmless(victim, hold, growth=40 * MEGABYTE)
    wait_until(lambda: files_of(pid) <= files + 10)


def test_a_campaign_says_what_is_out_of_bounds(victim: Victim) -> None:
    report = Report()
    attack(report, victim.daemon, victim.target, victim.friend, (), Bounds(growth=-(2.0**40)))
    assert report.broken[0][1].startswith("memory: ")

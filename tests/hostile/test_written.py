"""What neighbours have a peer write: its folder grows by no more than a budget, however often they do something."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Final

import pytest

from heptox.errors import PeerError
from heptox.grammar import encode_query, parse_query
from heptox.peer.wire.identity import Identity
from heptox.peer.wire.mapping_requests import PROTOCOL as MAPPING
from heptox.peer.wire.messages import Error, Hop, Query
from heptox.peer.wire.offers import PROTOCOL as OFFER, Withdrawal, encode_call
from heptox.peer.wire.standing import Standing
from heptox.peer.wire.stream import MessageStream
from tests.hostile.test_offers import Stranger, attacked, boston_peer, packed, stranger
from tests.peer.daemons import Daemon, daemon
from tests.peer.hostile import write_raw

BUDGET: Final = 128 * 1024
"""Bytes that a peer writes at most because of what one neighbour does again and again."""
SERVED: Final = 2 * 1024
"""Bytes that it writes at most about one query of its owner."""
NAME: Final = "neighbour"
LONG: Final = "because " * 2000

Attack = Callable[[Stranger], Awaitable[None]]
"""What an acquaintance does again and again."""


async def withdraw_and_offer(neighbour: Stranger) -> None:
    for number in range(300):
        call = Withdrawal(f"{number} {LONG}")
        await neighbour.transport.call(neighbour.asked, OFFER, encode_call(call))
        await neighbour.make(neighbour.offer(name=NAME))


async def withdraw_for_other_reasons(neighbour: Stranger) -> None:
    for number in range(200):
        call = Withdrawal(f"{number} {LONG}")
        await neighbour.transport.call(neighbour.asked, OFFER, encode_call(call))


async def move_to_and_fro(neighbour: Stranger) -> None:
    for number in range(300):
        await neighbour.make(neighbour.offer(name=NAME, address=f"/ip4/127.0.0.1/tcp/{1 + number % 2}"))


async def offer_what_has_faults(neighbour: Stranger) -> None:
    for number in range(100):
        files = packed(f'source "{number} {LONG}.dtd"\ntarget "s.dtd"\na -> a\n', s="<!ELEMENT a (#PCDATA)>")
        assert (await neighbour.make(neighbour.offer(files, NAME))).standing is Standing.REFUSED


async def ask_what_is_refused(neighbour: Stranger) -> None:
    body = encode_query(parse_query("//Patient"))
    path = (Hop(neighbour.peer, NAME), Hop(neighbour.asked, "boston"))
    for number in range(300):
        stream = await neighbour.transport.open(neighbour.asked)
        stream.post(Query(f"query-{number}", neighbour.peer, body, path, 0, 30_000, 2**20, schema="another"))
        assert isinstance(await stream.receive(), Error)
        await stream.close()


def call_rubbish(protocol: str) -> Attack:
    async def attack(neighbour: Stranger) -> None:
        for number in range(200):
            with suppress(PeerError):
                await neighbour.transport.call(neighbour.asked, protocol, b"\xff" * (number + 1))

    return attack


async def ask_rubbish(neighbour: Stranger) -> None:
    for number in range(200):
        stream = await neighbour.transport.open(neighbour.asked)
        assert isinstance(stream, MessageStream)
        with suppress(PeerError):
            await write_raw(stream, number.to_bytes(4, "big") + b"\xff" * number)
            await stream.receive()
        stream.abort()


async def break_the_link(neighbour: Stranger) -> None:
    for number in range(200):
        link = await neighbour.transport.open_feed(neighbour.asked)
        with suppress(PeerError):
            link.post(b"\xff" * (number + 1))
            while True:
                await link.receive()
        link.abort()


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with daemon(boston_peer(tmp_path_factory.mktemp("written") / "boston", policy="open", offers=1000)) as running:
        yield running


@pytest.mark.parametrize(
    "attack",
    [
        withdraw_and_offer,
        withdraw_for_other_reasons,
        move_to_and_fro,
        offer_what_has_faults,
        ask_what_is_refused,
        pytest.param(call_rubbish(OFFER), id="rubbish as a call"),
        pytest.param(call_rubbish(MAPPING), id="rubbish as a request"),
        ask_rubbish,
        break_the_link,
    ],
)
def test_what_a_neighbour_does_again_and_again_is_written_within_a_budget(victim: Daemon, attack: Attack) -> None:
    seeds = (secrets.token_bytes(32) for _ in range(10_000))
    seed = next(seed for seed in seeds if Identity(seed).peer_id < victim.peer_id)  # it is the one that opens links
    before = written(victim)

    async def attack_as_acquaintance() -> None:
        async with stranger(victim, seed) as neighbour:
            assert (await neighbour.make(neighbour.offer(name=NAME))).standing is Standing.AGREED
            await attack(neighbour)

    _, rounds = attacked(victim, attack_as_acquaintance)
    assert written(victim) - before < BUDGET + rounds * SERVED


def written(peer: Daemon) -> int:
    """Bytes in all the files of a peer's folder."""
    return sum(file.stat().st_size for file in peer.folder.rglob("*") if file.is_file())

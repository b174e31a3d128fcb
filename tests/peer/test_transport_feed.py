"""What every transport promises about streams of feeds, told to each of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing

from heptox.codec import MESSAGE_LIMIT
from heptox.errors import PeerError
from heptox.feed import FeedDocument, Message, Publish
from heptox.matching import MOST_PUBLISHED
from heptox.peer.wire.feed_wire import FeedDecoder, encode_feed
from heptox.peer.wire.messages import UNREAD, Error, Status
from heptox.peer.wire.transport import ByteMessages, FeedHandler, TransportLimits
from tests.peer.networks import Libp2p, Memory, Network, run, until
from tests.peer.test_transport import answer_and_end, assert_answers, code
from tests.support.admission import Rules


@pytest.fixture(params=[Memory, Libp2p])
def network(request: pytest.FixtureRequest) -> Network:
    make: Callable[[], Network] = request.param
    return make()


class Taken:
    """Takes a stream and leaves it to the test."""

    def __init__(self) -> None:
        self._streams: list[ByteMessages] = []

    async def __call__(self, stream: ByteMessages) -> None:
        self._streams.append(stream)
        await stream.closed()

    async def stream(self) -> ByteMessages:
        await until(lambda: self._streams)
        return self._streams.pop()


@asynccontextmanager
async def link(
    network: Network, limits: TransportLimits | None = None
) -> AsyncIterator[tuple[ByteMessages, ByteMessages, Any, Any]]:
    """A stream as both its ends see it, and the transports of both."""
    taken = Taken()
    async with network.peer(on_feed=taken, limits=limits) as there, network.peer(limits=limits) as here:
        await here.dial(there.peer, there.addresses)
        ours = await here.open_feed(there.peer)
        ours.post(b"first")
        theirs = await taken.stream()
        assert await theirs.receive() == b"first"
        yield ours, theirs, here, there


async def lost(stream: ByteMessages) -> str:
    """The code of the error that ends a stream."""
    with pytest.raises(PeerError) as error:
        while True:
            await stream.receive()
    return code(error)


def test_messages_come_in_order_both_ways(network: Network) -> None:
    async def test() -> None:
        async def pour(stream: ByteMessages) -> None:
            for number in range(1000):
                stream.post(str(number).encode() * 100)
                await stream.settle()

        async def take(stream: ByteMessages) -> None:
            for number in range(1000):
                assert await stream.receive() == str(number).encode() * 100

        async with link(network) as (ours, theirs, here, there):
            assert (ours.neighbour, theirs.neighbour) == (there.peer, here.peer)
            async with trio.open_nursery() as nursery:
                for stream in (ours, theirs):
                    nursery.start_soon(pour, stream)
                    nursery.start_soon(take, stream)

    run(test)


def test_messages_of_every_size_come_through(network: Network) -> None:
    async def test() -> None:
        async with link(network) as (ours, theirs, _, _):
            sent = [b"x" * size for size in (0, 1, 65_528, 65_529, 70_000, MESSAGE_LIMIT)]
            with pytest.raises(PeerError) as error:
                ours.post(b"x" * (MESSAGE_LIMIT + 1))
            assert code(error) == "HX7004"
            for data in sent:
                ours.post(data)
            assert [await theirs.receive() for _ in sent] == sent
            await ours.settle(0)

    run(test)


def test_a_slow_reader_slows_the_writer(network: Network) -> None:
    async def test() -> None:
        settled = 0

        async def pour(stream: ByteMessages) -> None:
            nonlocal settled
            for number in range(500):
                stream.post(number.to_bytes(2, "big") * 10_000)
                await stream.settle()
                settled += 1

        async with link(network) as (ours, theirs, _, _), trio.open_nursery() as nursery:
            nursery.start_soon(pour, ours)
            await until(lambda: settled)
            await trio.testing.wait_all_tasks_blocked(0.05)
            assert settled < 100
            for number in range(500):
                assert await theirs.receive() == number.to_bytes(2, "big") * 10_000
            await until(lambda: settled == 500)

    run(test)


def test_whoever_settles_says_how_much_may_wait(network: Network) -> None:
    async def test() -> None:
        async with link(network) as (ours, theirs, _, _):
            for _ in range(100):
                ours.post(b"x" * 20_000)
            await ours.settle(100 * 20_000)
            with trio.move_on_after(0.05) as waiting:
                await ours.settle(0)
            assert waiting.cancelled_caught
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ours.settle, 0)
                for _ in range(100):
                    await theirs.receive()

    run(test)


def test_a_peer_that_is_killed_is_noticed_after_what_came(network: Network) -> None:
    async def test() -> None:
        async with link(network) as (ours, theirs, _, there):
            for _ in range(100):
                ours.post(b"x" * 20_000)
            theirs.post(b"the last")
            assert await ours.receive() == b"the last"
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ours.settle, 0)
                await network.kill(there)
                assert await lost(ours) == "HX7011"
            await ours.closed()
            ours.post(b"to nobody")
            await ours.settle(0)

    run(test)


def test_a_stream_that_is_dropped_is_lost_at_both_ends(network: Network) -> None:
    async def test() -> None:
        async with link(network) as (ours, theirs, here, there):
            ours.abort()
            ours.abort()
            assert await lost(ours) == await lost(theirs) == "HX7011"
            await theirs.closed()
            await until(lambda: not there._inbound.streams)
            again = await here.open_feed(there.peer)
            again.post(b"again")

    run(test)


@pytest.mark.parametrize(
    ("garbage", "expected"),
    [
        (b"\xff" * 100, "HX7004"),
        ((8).to_bytes(4, "big") + b"\xff" * 8, "HX7004"),
        ((1).to_bytes(4, "big") + b"\x00", "HX7002"),
        ((5).to_bytes(4, "big") + bytes(5), "HX7002"),
    ],
)
def test_garbage_costs_its_sender_the_stream_alone(network: Network, garbage: bytes, expected: str) -> None:
    async def test() -> None:
        async with link(network) as (ours, theirs, here, there):
            await ours._bytes.write(garbage)  # type: ignore[attr-defined]
            assert await lost(theirs) == expected
            assert await lost(ours) == "HX7011"
            await until(lambda: not there._inbound.streams)
            assert here.connected(there.peer)
            await here.open_feed(there.peer)

    run(test)


def test_a_peer_that_takes_nothing_is_given_up(network: Network) -> None:
    async def test() -> None:
        async with link(network, TransportLimits(stall=0.2)) as (ours, _, here, there):
            for _ in range(100):
                ours.post(b"x" * 20_000)
            await ours.settle(0)
            assert await lost(ours) == "HX7011"
            assert here.connected(there.peer)

    run(test)


def test_a_long_document_comes_through_whole(network: Network) -> None:
    async def test() -> None:
        received: list[Message] = []

        async def take(stream: ByteMessages) -> None:
            decoder = FeedDecoder()
            while not received:
                message = decoder.take(await stream.receive())
                if message is not None:
                    received.append(message)

        data = bytes(range(256)) * (MOST_PUBLISHED // 256)
        document = FeedDocument("P", "feed", 1, "long.xml", "id", data)
        async with link(network) as (ours, theirs, _, _), trio.open_nursery() as nursery:
            nursery.start_soon(take, theirs)
            for each in encode_feed(Publish(document)):
                ours.post(each)
            await ours.settle(0)
        assert received == [Publish(document)]

    run(test)


@pytest.mark.parametrize("leaving", ["raising", "returning"])
def test_a_handler_that_leaves_ends_its_own_stream_alone(network: Network, leaving: str) -> None:
    async def leave(stream: ByteMessages) -> None:
        await stream.receive()
        if leaving == "raising":
            raise ValueError("a mistake in a handler")

    async def test() -> None:
        async with network.peer(answer_and_end, on_feed=leave) as there, network.peer() as here:
            await here.dial(there.peer, there.addresses)
            for _ in range(2):
                stream = await here.open_feed(there.peer)
                stream.post(b"first")
                assert await lost(stream) == "HX7011"
            await assert_answers(here, there)

    run(test)


def test_only_whom_denial_lets_in_has_a_link(network: Network) -> None:
    async def test() -> None:
        taken = Taken()
        there = network.transport()
        async with network.peer() as friend, network.peer() as stranger:

            def denial(peer: str) -> Error | None:
                return None if peer == friend.peer else Error(UNREAD, Status.DENIED, "no acquaintance")

            async with there.serving(answer_and_end, admission=Rules(denial), on_feed=taken):
                for here in (stranger, friend):
                    await here.dial(there.peer, there.addresses)
                for _ in range(3):
                    stream = await stranger.open_feed(there.peer)
                    stream.post(b"x" * 100_000)
                    assert await lost(stream) == "HX7011"
                await until(lambda: not there._inbound.streams)
                stream = await friend.open_feed(there.peer)
                stream.post(b"first")
                assert await (await taken.stream()).receive() == b"first"

    run(test)


def test_streams_of_one_peer_are_bounded_and_their_places_given_back(network: Network) -> None:
    async def test() -> None:
        taken = Taken()
        limits = TransportLimits(streams=1)
        async with network.peer(on_feed=taken, limits=limits) as there, network.peer() as here:
            await here.dial(there.peer, there.addresses)
            for _ in range(3):
                stream = await here.open_feed(there.peer)
                stream.post(b"first")
                await (await taken.stream()).receive()
                with pytest.raises(PeerError):
                    await (await here.open_feed(there.peer)).receive()
                stream.abort()
                await until(lambda: not there._inbound.streams)  # type: ignore[attr-defined]

    run(test)


def test_whoever_does_not_speak_the_protocol_is_told_by_name(network: Network) -> None:
    async def test() -> None:
        async with network.peer() as there, network.peer() as here:
            with pytest.raises(PeerError) as error:
                await here.open_feed(there.peer)
            assert code(error) == "HX7010"
            await here.dial(there.peer, there.addresses)
            with pytest.raises(PeerError) as error:
                await here.open_feed(there.peer)
            assert code(error) == "HX7010"

    run(test)


def test_questions_are_answered_beside_a_link_that_is_full(network: Network) -> None:
    async def test() -> None:
        handler: FeedHandler = Taken()
        async with network.peer(answer_and_end, on_feed=handler) as there, network.peer() as here:
            await here.dial(there.peer, there.addresses)
            stream = await here.open_feed(there.peer)
            for _ in range(100):
                stream.post(b"x" * 100_000)
            await trio.testing.wait_all_tasks_blocked(0.05)
            await assert_answers(here, there)

    run(test)

"""The faults of libp2p 0.8.1 that a peer would die of, each shown not to bite: the numbers are those of
``peers.md``."""

from __future__ import annotations

import logging
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest
import trio
import trio.testing
from libp2p.custom_types import TProtocol
from libp2p.io.exceptions import IOException
from libp2p.protocol_muxer.exceptions import MultiselectClientError
from libp2p.protocol_muxer.multiselect_client import MultiselectClient
from libp2p.protocol_muxer.multiselect_communicator import MultiselectCommunicator
from libp2p.stream_muxer.yamux import yamux
from trio.testing import MockClock

from heptox.errors import PeerError
from heptox.peer.wire.address import Listening
from heptox.peer.wire.libp2p import Libp2pTransport
from heptox.peer.wire.messages import Error, Message, Query
from heptox.peer.wire.muxer import BUFFER_LIMIT, BoundedStream, BoundedYamux
from heptox.peer.wire.transport import Stream, TransportLimits
from tests.peer.networks import DEADLINE, END, QUERY, Libp2p, answers, everything, run, until
from tests.support.admission import Rules

HERE = "/ip4/127.0.0.1/tcp/0"


async def answer(stream: Stream) -> None:
    assert isinstance(await stream.receive(), Query)
    stream.post(answers("one"))
    stream.post(END)
    await stream.close()


async def assert_answers(asker: Any, asked: Any) -> None:
    stream = await asker.open(asked.peer)
    stream.post(QUERY)
    assert await everything(stream) == [answers("one"), END]


def muxer_of(transport: Any) -> BoundedYamux:
    """The multiplexer of a transport's only connection."""
    (connection,) = transport._swarm.get_connections()
    assert isinstance(connection.muxed_conn, BoundedYamux)
    return connection.muxed_conn


@asynccontextmanager
async def tcp(transport: Any) -> AsyncIterator[trio.SocketStream]:
    """A bare TCP connection to where a transport listens."""
    endpoint = Listening.parse(transport.addresses[0].partition("/p2p/")[0])
    async with await trio.open_tcp_stream(endpoint.host, endpoint.port) as stream:
        yield stream


def test_1_places_of_inbound_connections_are_given_back() -> None:
    async def test() -> None:
        network = Libp2p()
        limits = TransportLimits(connections=5)
        async with network.peer(answer, limits=limits) as asked:
            for _ in range(15):
                async with trio.open_nursery() as nursery:
                    for _ in range(4):
                        nursery.start_soon(reconnect, network, asked)
            await until(lambda: not asked._swarm.inbound)  # type: ignore[attr-defined]

    async def reconnect(network: Libp2p, asked: Any) -> None:
        async with network.peer() as asker:
            await asker.dial(asked.peer, asked.addresses)
            await assert_answers(asker, asked)
            await asker.disconnect(asked.peer)

    run(test)


def test_1_a_daemon_takes_more_connections_in_its_life_than_at_once() -> None:
    async def test() -> None:
        network = Libp2p()
        async with network.peer(answer) as asked, network.peer() as asker:
            for _ in range(300):
                await asker.dial(asked.peer, asked.addresses)
                for connection in asker._swarm.get_connections():  # type: ignore[attr-defined]
                    asker._nursery.start_soon(connection.close)  # type: ignore[attr-defined]
                await until(lambda: not asker.connected(asked.peer))
            await asker.dial(asked.peer, asked.addresses)
            await assert_answers(asker, asked)

    run(test)


def test_2_nothing_that_is_raised_while_a_stream_is_taken_ends_the_swarm() -> None:
    async def test() -> None:
        async def handler(stream: Stream) -> None:
            message = await stream.receive()
            assert isinstance(message, Query)
            if message.query == "raise":
                raise ValueError("a mistake in a handler")
            if message.query == "q":
                stream.post(answers("one"))
                stream.post(END)
                await stream.close()

        def denial(peer: str) -> Error | None:
            if mistaken:
                raise ValueError(f"a mistake about {peer}")
            return None

        network, mistaken = Libp2p(), False
        asked = network.transport()
        async with asked.serving(handler, admission=Rules(denial)), network.peer() as asker:
            await asker.dial(asked.peer, asked.addresses)
            for query in ("raise", "return"):
                stream = await asker.open(asked.peer)
                stream.post(replace(QUERY, query=query))
                with pytest.raises(PeerError, match="HX7011"):  # whoever waits is not left hanging
                    await stream.receive()
                await assert_answers(asker, asked)
            mistaken = True
            with pytest.raises(PeerError, match="HX701"):
                await assert_answers(asker, asked)
            mistaken = False
            await assert_answers(asker, asked)
            await until(lambda: not asked._inbound.streams)

    run(test)


def test_3_a_cancelled_write_is_finished() -> None:
    written: list[bytes] = []
    half = trio.Event()

    class Slow:
        """A connection that takes half of a frame, and the rest when it is told to."""

        is_initiator = True

        async def write(self, data: bytes) -> None:
            written.append(data[: len(data) // 2])
            half.set()
            await trio.sleep(0.01)
            written.append(data[len(data) // 2 :])

        async def close(self) -> None:
            pass

    async def test() -> None:
        muxer = BoundedYamux(Slow(), None, TransportLimits())  # type: ignore[arg-type]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(muxer._write_frame, b"x" * 100)
            await half.wait()
            nursery.cancel_scope.cancel()
        assert b"".join(written) == b"x" * 100
        await muxer._write_frame(b"y" * 10)
        assert b"".join(written) == b"x" * 100 + b"y" * 10

    run(test)


def test_3_a_dropped_writer_leaves_its_connection_in_order() -> None:
    async def test() -> None:
        async def pour(stream: Stream) -> None:
            message = await stream.receive()
            assert isinstance(message, Query)
            if message.query == "q":
                await answer_now(stream)
                return
            for number in range(2000):
                stream.post(answers(f"{number:010000}"))
                await stream.settle()

        async def answer_now(stream: Stream) -> None:
            stream.post(answers("one"))
            stream.post(END)
            await stream.close()

        async with Libp2p().pair(pour) as (asker, asked):
            for _ in range(10):
                stream = await asker.open(asked.peer)
                stream.post(replace(QUERY, query="flood"))
                await stream.receive()
                stream.abort()
                await assert_answers(asker, asked)
            assert len(asker._swarm.get_connections()) == 1  # type: ignore[attr-defined]

    run(test)


def test_3_a_write_that_is_stuck_is_ended_by_closing_its_connection() -> None:
    closed = trio.Event()

    class Stuck:
        is_initiator = True

        async def write(self, data: bytes) -> None:
            assert data
            await closed.wait()
            raise trio.ClosedResourceError

        async def read(self, size: int) -> bytes:
            assert size
            await closed.wait()
            return b""

        async def close(self) -> None:
            closed.set()

    async def test() -> None:
        muxer = BoundedYamux(Stuck(), None, TransportLimits(stall=0.1))  # type: ignore[arg-type]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(muxer.start)
            await muxer.event_started.wait()
            with pytest.raises(trio.ClosedResourceError):
                await muxer._write_frame(b"x" * 100)
            await muxer.event_closed.wait()

    run(test)


def test_4_a_receive_that_is_cancelled_again_and_again_loses_no_byte() -> None:
    async def test() -> None:
        async def pour(stream: Stream) -> None:
            await stream.receive()
            for number in range(200):
                stream.post(answers(f"{number:05000}"))
                await trio.lowlevel.checkpoint()
            stream.post(END)
            await stream.close()

        async with Libp2p().pair(pour) as (asker, asked):
            stream = await asker.open(asked.peer)
            stream.post(QUERY)
            received: list[Message] = []
            cancelled = 0
            while not received or received[-1] != END:
                with trio.CancelScope() as scope:
                    asker._nursery.start_soon(cancel_soon, scope)  # type: ignore[attr-defined]
                    received.append(await stream.receive())
                cancelled += scope.cancelled_caught
            assert received == [*(answers(f"{number:05000}") for number in range(200)), END]
            assert cancelled

    async def cancel_soon(scope: trio.CancelScope) -> None:
        await trio.lowlevel.checkpoint()
        scope.cancel()

    run(test)


SERVING = """
import trio
from heptox.peer.wire.libp2p import Libp2pTransport
from tests.peer.networks import answers

async def stay(stream):
    await stream.receive()
    stream.post(answers("one"))
    await trio.sleep_forever()

async def main():
    transport = Libp2pTransport(bytes([9]) * 32, "/ip4/127.0.0.1/tcp/0")
    async with transport.serving(stay):
        print(transport.addresses[0], flush=True)
        await trio.sleep_forever()

trio.run(main)
"""


def test_5_a_killed_process_is_told_from_an_end() -> None:
    async def test() -> None:
        losses: list[str] = []
        command = [sys.executable, "-c", SERVING]
        process = await trio.lowlevel.open_process(command, stdout=subprocess.PIPE)
        try:
            assert process.stdout is not None
            address = b""
            while not address.endswith(b"\n"):
                address += await process.stdout.receive_some()
            text = address.decode().strip()
            peer = text.rpartition("/")[2]
            async with Libp2p().peer(on_loss=losses.append) as asker:
                await asker.dial(peer, (text,))
                stream = await asker.open(peer)
                stream.post(QUERY)
                assert await stream.receive() == answers("one")
                process.send_signal(signal.SIGKILL)
                with pytest.raises(PeerError, match="HX7011"):
                    await stream.receive()
                await until(lambda: losses)
                assert losses == [peer]
        finally:
            process.kill()
            await process.wait()

    run(test)


def test_6_what_was_sent_is_read_though_its_sender_closes_everything_at_once() -> None:
    async def test() -> None:
        received: list[Message] = []

        async def read_slowly(stream: Stream) -> None:
            while not received or received[-1] != END:
                received.append(await stream.receive())
                await trio.sleep(0.001)

        network = Libp2p()
        async with network.peer(read_slowly) as slow:
            async with network.peer() as leaving:
                await leaving.dial(slow.peer, slow.addresses)
                stream = await leaving.open(slow.peer)
                for number in range(100):
                    stream.post(answers(f"{number:05000}"))
                stream.post(END)
                await stream.close()
                await leaving.disconnect(slow.peer)
            await until(lambda: received[-1:] == [END])
        assert received == [*(answers(f"{number:05000}") for number in range(100)), END]

    run(test)


def test_7_a_neighbour_that_reads_nothing_for_a_while_is_waited_for() -> None:
    clock = MockClock(rate=1)

    async def test() -> None:
        async def pour(stream: Stream) -> None:
            await stream.receive()
            for number in range(100):
                stream.post(answers(f"{number:020000}"))
            stream.post(END)
            await stream.close()

        async with Libp2p().pair(pour) as (asker, asked):
            stream = await asker.open(asked.peer)
            stream.post(QUERY)
            received: list[Message] = [await stream.receive()]
            (sending,) = muxer_of(asked).streams.values()
            assert isinstance(sending, BoundedStream)
            await until(lambda: sending.send_window == 0)
            await trio.testing.wait_all_tasks_blocked(0.05)
            clock.jump(12)  # libp2p itself gives up after five seconds
            await trio.testing.wait_all_tasks_blocked(0.05)
            received += await everything(stream)
            assert received == [*(answers(f"{number:020000}") for number in range(100)), END]

    run(test, clock)


def test_7_a_neighbour_that_reads_nothing_for_too_long_loses_the_stream() -> None:
    async def test() -> None:
        codes: list[str] = []

        async def pour(stream: Stream) -> None:
            await stream.receive()
            for number in range(100):
                stream.post(answers(f"{number:020000}"))
            await stream.settle()
            try:
                await stream.receive()
            except PeerError as error:
                codes.append(error.faults[0].code)

        async with Libp2p().pair(pour, limits=TransportLimits(stall=0.2)) as (asker, asked):
            stream = await asker.open(asked.peer)
            stream.post(QUERY)
            await until(lambda: codes)
            assert codes == ["HX7011"]
            assert asker.connected(asked.peer)

    run(test)


def test_8_a_neighbour_that_ignores_the_window_loses_its_connection() -> None:
    async def test() -> None:
        losses: list[str] = []

        async def hold(stream: Stream) -> None:
            assert await stream.receive() == QUERY
            await trio.sleep_forever()

        network = Libp2p()
        async with network.peer(hold, losses.append) as asked, network.peer() as flooding, network.peer() as other:
            await flooding.dial(asked.peer, asked.addresses)
            stream = await flooding.open(asked.peer)
            stream.post(QUERY)
            muxer, victim = muxer_of(flooding), muxer_of(asked)
            (number,) = muxer.streams
            frame = struct.pack(yamux.YAMUX_HEADER_FORMAT, 0, yamux.TYPE_DATA, 0, number, 60_000) + bytes(60_000)
            biggest = 0
            while not losses:
                with trio.move_on_after(0.01), suppress(IOException):  # it is closed at some time
                    await muxer._write_frame(frame)
                biggest = max([biggest, *map(len, victim.stream_buffers.values())])
            assert biggest <= BUFFER_LIMIT
            assert losses == [flooding.peer]
            await other.dial(asked.peer, asked.addresses)

    run(test)


def test_8_the_window_does_not_grow() -> None:
    async def test() -> None:
        async def pour(stream: Stream) -> None:
            await stream.receive()
            for number in range(500):
                stream.post(answers(f"{number:010000}"))
            stream.post(END)
            await stream.close()

        async with Libp2p().pair(pour) as (asker, asked):
            stream = await asker.open(asked.peer)
            stream.post(QUERY)
            (inner,) = muxer_of(asker).streams.values()
            assert len(await everything(stream)) == 501
            assert inner.target_recv_window <= 256 * 1024
            assert not muxer_of(asker).event_shutting_down.is_set()

    run(test)


def test_9_a_frozen_neighbour_is_noticed() -> None:
    class Silent:
        def send_nowait(self, data: bytes) -> None:
            assert data

    async def test() -> None:
        losses: list[str] = []
        limits = TransportLimits(keep_alive=0.2)
        network = Libp2p()
        async with network.peer(answer) as frozen, network.peer(on_loss=losses.append, limits=limits) as asker:
            await asker.dial(frozen.peer, frozen.addresses)
            await assert_answers(asker, frozen)
            muxer_of(frozen)._control = Silent()  # type: ignore[assignment]
            await until(lambda: losses)
            assert losses == [frozen.peer]

    run(test)


def test_9_signs_of_life_keep_a_connection() -> None:
    async def test() -> None:
        async with Libp2p().pair(answer, limits=TransportLimits(keep_alive=0.02)) as (asker, asked):
            muxer = muxer_of(asker)
            await until(lambda: muxer._ping_id > 10)
            await assert_answers(asker, asked)

    run(test)


def test_10_a_neighbour_that_was_not_there_is_reached_when_it_is() -> None:
    async def test() -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        late = Libp2pTransport(bytes([7]) * 32, f"/ip4/127.0.0.1/tcp/{port}")
        addresses = (f"/ip4/127.0.0.1/tcp/1/p2p/{late.peer}", f"/ip4/127.0.0.1/tcp/{port}/p2p/{late.peer}")
        async with Libp2p().peer() as asker:
            for _ in range(3):
                with pytest.raises(PeerError, match="HX7010"):
                    await asker.dial(late.peer, addresses)
            async with late.serving(answer):
                await asker.dial(late.peer, addresses)
                await assert_answers(asker, late)

    run(test)


def test_11_a_port_that_is_taken_is_not_shared() -> None:
    async def test() -> None:
        async with Libp2p().peer() as first:
            address = first.addresses[0].partition("/p2p/")[0]
            second = Libp2pTransport(bytes([7]) * 32, address)
            with pytest.raises(BaseExceptionGroup) as group:
                async with second.serving(answer):
                    pass
            assert group.group_contains(PeerError, match="HX7062")

    run(test)


def test_12_plain_text_is_not_spoken() -> None:
    def line(text: str) -> bytes:
        data = text.encode() + b"\n"
        return bytes([len(data)]) + data

    async def test() -> None:
        async with Libp2p().peer() as asked, tcp(asked) as stream:
            await stream.send_all(line("/multistream/1.0.0") + line("/plaintext/2.0.0"))
            received = b""
            while len(received) < len(line("/multistream/1.0.0") + line("na")):
                received += await stream.receive_some()
            assert received == line("/multistream/1.0.0") + line("na")

    run(test)


def test_12_somebody_else_at_the_address_is_not_taken_for_the_neighbour() -> None:
    async def test() -> None:
        network = Libp2p()
        expected = Libp2pTransport(bytes([8]) * 32)
        async with network.pair(answer) as (asker, asked):
            await asker.disconnect(asked.peer)
            address = asked.addresses[0].replace(asked.peer, expected.peer)
            with pytest.raises(PeerError, match="HX7010"):
                await asker.dial(expected.peer, (address,))
            with pytest.raises(PeerError, match="HX7054"):
                await asker.dial(expected.peer, asked.addresses)
            assert not asker.connected(expected.peer)

    run(test)


RUBBISH = (b"", b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 5000, b"\x13/multistream/1.0.0\n\x00\x00")


@pytest.mark.parametrize("rubbish", RUBBISH)
def test_strangers_with_rubbish_do_no_harm(rubbish: bytes) -> None:
    async def test() -> None:
        network = Libp2p()
        limits = TransportLimits(dial=0.3)
        async with network.peer(answer, limits=limits) as asked, network.peer() as asker:
            for _ in range(5):
                async with tcp(asked) as stream:
                    await stream.send_all(rubbish)
            async with tcp(asked) as silent:
                await asker.dial(asked.peer, asked.addresses)
                await assert_answers(asker, asked)
                while await silent.receive_some():  # it is closed after a while, by the other side
                    pass

    run(test)


def test_13_bursts_and_messages_of_megabytes_all_arrive() -> None:
    async def test() -> None:
        sent = [answers(f"{number}" * size) for number in (1, 2, 3) for size in (2_000_000, *[100] * 500)]

        async def burst(stream: Stream) -> None:
            await stream.receive()
            for message in sent:
                stream.post(message)
            stream.post(END)
            await stream.close()

        async with Libp2p().pair(burst) as (asker, asked):
            stream = await asker.open(asked.peer)
            stream.post(QUERY)
            assert await everything(stream) == [*sent, END]

    run(test)


@pytest.mark.parametrize("protocol", ["/meshsub/1.1.0", "/floodsub/1.0.0", "/ipfs/id/1.0.0", "/ipfs/ping/1.0.0"])
def test_13_no_other_protocol_is_spoken_than_our_own(protocol: str) -> None:
    async def test() -> None:
        async with Libp2p().pair(answer) as (asker, asked):
            (connection,) = asker._swarm.get_connections()  # type: ignore[attr-defined]
            stream = await connection.new_stream()
            with pytest.raises(MultiselectClientError):
                await MultiselectClient().select_one_of([TProtocol(protocol)], MultiselectCommunicator(stream))
            await assert_answers(asker, asked)

    run(test)


def test_14_all_connections_are_closed_at_once_though_their_ends_are_stuck() -> None:
    clock = MockClock(rate=0)
    closing: list[float] = []

    class Stuck:
        """A connection whose polite end takes a second."""

        def __init__(self) -> None:
            self.muxed_conn = self.secured_conn = self

        async def close(self) -> None:
            closing.append(trio.current_time())
            await trio.sleep(1)

    async def test() -> None:
        clock.autojump_threshold = 0
        transport = Libp2pTransport(bytes([7]) * 32)
        begun = trio.current_time()
        await transport._close_connections([Stuck() for _ in range(20)])  # type: ignore[misc]
        assert trio.current_time() - begun < 3, "not one after the other"
        assert len(closing) == 40, "each with its socket"

    run(test, clock)


def test_14_what_strangers_do_is_not_logged_at_their_speed(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with Libp2p().peer(answer) as asked:
            for rubbish in RUBBISH * 5:
                async with tcp(asked) as stream:
                    await stream.send_all(rubbish)
            await until(lambda: not asked._swarm.inbound)  # type: ignore[attr-defined]

    caplog.set_level(logging.WARNING)
    run(test)
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.parametrize("limits", [TransportLimits(connections=2), TransportLimits(connections_per_address=2)])
def test_connections_of_strangers_are_bounded_and_the_oldest_makes_room(limits: TransportLimits) -> None:
    async def test() -> None:
        network = Libp2p()
        async with (
            network.peer(answer, limits=limits) as asked,
            network.peer() as first,
            network.peer() as second,
            network.peer() as third,
        ):
            for asker in (first, second, third):
                await asker.dial(asked.peer, asked.addresses)
                await assert_answers(asker, asked)
            await until(lambda: not first.connected(asked.peer))
            await until(lambda: not asked.connected(first.peer))
            assert asked._swarm.inbound == 2  # type: ignore[attr-defined]
            for asker in (second, third):
                await assert_answers(asker, asked)

    run(test)


def test_strangers_take_no_place_of_an_acquaintance() -> None:
    async def test() -> None:
        network = Libp2p()
        asked = network.transport(TransportLimits(connections=1))
        async with (
            network.peer() as friend,
            asked.serving(answer, admission=Rules(acquainted=lambda peer: peer == friend.peer)),
        ):
            await friend.dial(asked.peer, asked.addresses)
            for _ in range(3):
                async with network.peer() as stranger:
                    await stranger.dial(asked.peer, asked.addresses)
                    await assert_answers(stranger, asked)
            await assert_answers(friend, asked)

    run(test)


def test_of_the_connections_of_one_acquaintance_the_oldest_makes_room() -> None:
    async def test() -> None:
        network = Libp2p()
        asked = network.transport(TransportLimits(connections_per_acquaintance=2))
        async with (
            network.peer() as friend,
            asked.serving(answer, admission=Rules(acquainted=lambda _: True)),
        ):
            await friend.dial(asked.peer, asked.addresses)
            many = [Libp2pTransport(bytes([201]) * 32) for _ in range(3)]
            async with many[0].serving(answer), many[1].serving(answer), many[2].serving(answer):
                for asker in many:
                    await asker.dial(asked.peer, asked.addresses)
                await until(lambda: not many[0].connected(asked.peer))
                for kept in (friend, *many[1:]):
                    await assert_answers(kept, asked)

    run(test)


def test_of_those_who_have_not_said_who_they_are_the_oldest_makes_room() -> None:
    async def test() -> None:
        network = Libp2p()
        limits = TransportLimits(handshakes=2, dial=DEADLINE)  # no deadline of a handshake makes room
        async with (
            network.peer(answer, limits=limits) as asked,
            network.peer() as asker,
            tcp(asked) as first,
            tcp(asked),
        ):
            await until(lambda: asked._swarm.inbound == 2)  # type: ignore[attr-defined]
            await asker.dial(asked.peer, asked.addresses)
            await assert_answers(asker, asked)
            while await first.receive_some():  # it is closed, by the other side
                pass

    run(test)


def test_nothing_is_left_of_streams_that_ended() -> None:
    async def test() -> None:
        async with Libp2p().pair(answer) as (asker, asked):
            for _ in range(30):
                await assert_answers(asker, asked)
            for muxer in (muxer_of(asker), muxer_of(asked)):
                await until(lambda: not muxer.streams)  # noqa: B023
                assert not muxer.stream_buffers
                assert not muxer.stream_events

    run(test)


def test_who_has_left_listens_no_more() -> None:
    async def test() -> None:
        network = Libp2p()
        async with network.peer(answer) as asked:
            address = asked.addresses[0].partition("/p2p/")[0]
            async with tcp(asked):
                pass
        endpoint = Listening.parse(address)
        with pytest.raises(OSError, match="all attempts to connect"):
            await trio.open_tcp_stream(endpoint.host, endpoint.port)
        again = Libp2pTransport(bytes([7]) * 32, address)
        async with again.serving(answer), network.peer() as asker:
            await asker.dial(again.peer, again.addresses)
            await assert_answers(asker, again)

    run(test)


@pytest.mark.parametrize("seed", [b"", bytes(31), bytes(64)])
def test_a_key_that_is_none_is_refused(seed: bytes) -> None:
    with pytest.raises(PeerError, match="HX7053"):
        Libp2pTransport(seed, HERE)


def test_addresses_that_are_none_are_refused_all_at_once() -> None:
    with pytest.raises(PeerError) as error:
        Libp2pTransport(bytes([1]) * 32, "/ip4/127.0.0.1/udp/1", HERE, "here")
    assert [fault.code for fault in error.value.faults] == ["HX7054", "HX7054"]

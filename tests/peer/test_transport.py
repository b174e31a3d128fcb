"""What every transport promises, told to each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
import trio
import trio.testing

from heptox.codec import MESSAGE_LIMIT
from heptox.errors import PeerError
from heptox.peer.wire.frames import Assembler
from heptox.peer.wire.messages import UNREAD, Cancel, Error, Message, Query, Status, encode
from heptox.peer.wire.stream import MessageStream
from heptox.peer.wire.transport import Stream, TransportLimits
from tests.peer.networks import DEADLINE, END, QUERY, Libp2p, Memory, Network, answers, everything, run, until
from tests.support.admission import Rules


@pytest.fixture(params=[Memory, Libp2p])
def network(request: pytest.FixtureRequest) -> Network:
    make: Callable[[], Network] = request.param
    return make()


async def answer_and_end(stream: Stream) -> None:
    """Answer each query with two items."""
    assert isinstance(await stream.receive(), Query)
    stream.post(answers("one"))
    stream.post(answers("two"))
    stream.post(END)
    await stream.close()


async def stay(stream: Stream) -> None:
    """Answer with one item, and then nothing more."""
    await stream.receive()
    stream.post(answers("one"))
    await trio.sleep_forever()


async def assert_answers(asker: object, asked: object) -> None:
    stream = await asker.open(asked.peer)  # type: ignore[attr-defined]
    stream.post(QUERY)
    assert await everything(stream) == [answers("one"), answers("two"), END]


def code(error: pytest.ExceptionInfo[PeerError]) -> str:
    return error.value.faults[0].code


def test_a_question_is_answered_to_its_end(network: Network) -> None:
    async def test() -> None:
        seen: list[Message] = []

        async def handler(stream: Stream) -> None:
            assert stream.neighbour == asker.peer
            seen.append(await stream.receive())
            stream.post(answers("one"))
            stream.post(answers("two"))
            stream.post(END)
            await stream.close()

        async with network.pair(handler) as (asker, asked):
            assert asker.connected(asked.peer)
            assert asked.connected(asker.peer)
            for _ in range(3):
                await assert_answers(asker, asked)
        assert seen == [QUERY] * 3

    run(test)


def test_an_end_is_acknowledged_before_its_stream_closes(network: Network) -> None:
    async def test() -> None:
        closed: list[bool] = []

        async def handler(stream: Stream) -> None:
            for _ in range(5):
                stream.post(answers("one"))
            stream.post(END)
            await stream.close()
            closed.append(True)

        async with network.pair(handler) as (asker, asked):
            stream = await asker.open(asked.peer)
            stream.post(QUERY)
            assert await stream.receive() == answers("one")
            await trio.testing.wait_all_tasks_blocked(0.05)
            assert not closed, "nobody has read the end yet"
            assert await everything(stream) == [*[answers("one")] * 4, END]
            await until(lambda: closed)

    run(test)


def test_what_was_sent_before_the_end_arrives_though_the_sender_leaves_at_once(network: Network) -> None:
    async def test() -> None:
        received: list[Message] = []
        opened: trio.Event = trio.Event()

        async def read(stream: Stream) -> None:
            opened.set()
            while len(received) < 201:
                received.append(await stream.receive())
                await trio.sleep(0)

        async with network.peer(read) as slow:
            async with network.peer() as leaving:
                await leaving.dial(slow.peer, slow.addresses)
                stream = await leaving.open(slow.peer)
                for number in range(200):
                    stream.post(answers(str(number) * 1000))
                stream.post(END)
                await stream.close()
            await until(lambda: len(received) == 201)
        assert received == [*(answers(str(number) * 1000) for number in range(200)), END]

    run(test)


def test_a_slow_reader_slows_the_writer(network: Network) -> None:
    async def test() -> None:
        posted = 0
        held_up = trio.Event()

        async def pour(stream: Stream) -> None:
            nonlocal posted
            await stream.receive()
            for number in range(1000):
                stream.post(answers(f"{number:010000}"))
                posted += 1
                with trio.move_on_after(0.3) as waiting:
                    await stream.settle()
                if waiting.cancelled_caught:
                    held_up.set()
                    await stream.settle()
            stream.post(END)
            await stream.close()

        async with network.pair(pour) as (asker, asked):
            stream = await asker.open(asked.peer)
            stream.post(QUERY)
            await held_up.wait()
            assert posted < 500
            received = await everything(stream)
        assert received == [*(answers(f"{number:010000}") for number in range(1000)), END]

    run(test)


def test_a_peer_that_is_lost_is_told_after_what_came(network: Network) -> None:
    async def test() -> None:
        losses: list[str] = []
        async with network.pair(stay, losses.append) as (asker, asked):
            streams = [await asker.open(asked.peer) for _ in range(3)]
            for stream in streams:
                stream.post(QUERY)
                assert await stream.receive() == answers("one")
            await network.kill(asked)
            for stream in streams:
                with pytest.raises(PeerError) as error:
                    await stream.receive()
                assert code(error) == "HX7011"
            await until(lambda: losses)
            assert losses == [asked.peer]
            assert not asker.connected(asked.peer)
            with pytest.raises(PeerError) as error:
                await asker.open(asked.peer)
            assert code(error) == "HX7010"
            with pytest.raises(PeerError) as error:
                await asker.dial(asked.peer, (f"/memory/{asked.peer}",) if "peer-" in asked.peer else ())
            assert code(error) == "HX7010"

    run(test)


def test_a_connection_is_closed_and_made_again(network: Network) -> None:
    async def test() -> None:
        losses: list[str] = []
        async with network.pair(answer_and_end, losses.append) as (asker, asked):
            for times in range(1, 4):
                await assert_answers(asker, asked)
                await asker.disconnect(asked.peer)
                await until(lambda: len(losses) == times and not asked.connected(asker.peer))  # noqa: B023
                assert not asker.connected(asked.peer)
                await asker.dial(asked.peer, asked.addresses)

    run(test)


@pytest.mark.parametrize("leaving", ["raising", "returning"])
def test_a_handler_that_leaves_harms_only_its_own_stream(network: Network, leaving: str) -> None:
    async def test() -> None:
        times = 0

        async def handler(stream: Stream) -> None:
            nonlocal times
            times += 1
            if times > 1:
                await answer_and_end(stream)
            elif leaving == "raising":
                raise ValueError("a mistake in a handler")

        async with network.pair(handler) as (asker, asked):
            stream = await asker.open(asked.peer)
            stream.post(QUERY)
            with pytest.raises(PeerError) as error:
                await stream.receive()
            assert code(error) == "HX7011"
            await assert_answers(asker, asked)

    run(test)


def wrong_version() -> bytes:
    return encode(QUERY).replace(b"\x67version\x01", b"\x67version\x07")


def key_twice(length: int) -> bytes:
    """A map with two equal keys of so many control characters."""
    key = b"\x7a" + length.to_bytes(4, "big") + b"\x01" * length + b"\x01"
    return b"\xa2" + key + key


@pytest.mark.parametrize(
    ("garbage", "expected"),
    [
        (b"\xff" * 100, "HX7002"),
        (wrong_version(), "HX7003"),
        (b"", "HX7002"),
        (b"\x81" * 200_000, "HX7002"),
        (key_twice(2_000_000), "HX7002"),
    ],
)
def test_a_question_that_cannot_be_read_is_refused_by_name_and_costs_its_stream_alone(
    network: Network, garbage: bytes, expected: str
) -> None:
    async def test() -> None:
        codes: list[str] = []

        async def handler(stream: Stream) -> None:
            try:
                await answer_and_end(stream)
            except PeerError as error:
                codes.append(error.faults[0].code)

        async with network.pair(handler) as (asker, asked):
            stream = await asker.open(asked.peer)
            assert isinstance(stream, MessageStream)
            stream._queue(garbage)
            refusal = await stream.receive()
            assert isinstance(refusal, Error)
            assert (refusal.query, refusal.status, refusal.reason.split()[0]) == (UNREAD, Status.FAILED, expected)
            assert len(refusal.reason) < 400
            await until(lambda: codes)
            assert codes == [expected]
            await stream.closed()
            await until(lambda: not asked._inbound.streams)  # type: ignore[attr-defined]
            await assert_answers(asker, asked)

    run(test)


def test_garbage_after_a_question_costs_its_sender_the_stream_and_nothing_else(network: Network) -> None:
    async def test() -> None:
        codes: list[str] = []

        async def handler(stream: Stream) -> None:
            await stream.receive()
            try:
                await stream.receive()
            except PeerError as error:
                codes.append(error.faults[0].code)

        async with network.pair(handler) as (asker, asked):
            stream = await asker.open(asked.peer)
            assert isinstance(stream, MessageStream)
            stream.post(QUERY)
            stream._queue(b"")
            with pytest.raises(PeerError) as error:
                await stream.receive()
            assert code(error) == "HX7011"
            await until(lambda: codes)
            assert codes == ["HX7002"]

    run(test)


def test_who_sends_garbage_and_stays_is_dropped(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        limits = TransportLimits(dial=0.3)
        async with network.pair(answer_and_end, limits=limits) as (asker, asked):
            stream = await asker.open(asked.peer)
            assert isinstance(stream, MessageStream)
            monkeypatch.setattr(stream, "_take", lambda _: trio.lowlevel.checkpoint())
            stream._queue(b"")
            await until(lambda: asked._inbound.streams)  # type: ignore[attr-defined]
            await until(lambda: not asked._inbound.streams)  # type: ignore[attr-defined]
            await assert_answers(asker, asked)

    run(test)


def test_streams_of_one_peer_are_bounded(network: Network) -> None:
    async def test() -> None:
        limits = TransportLimits(streams=2)
        async with network.pair(stay, limits=limits) as (asker, asked):
            streams = []
            for _ in range(2):
                stream = await asker.open(asked.peer)
                stream.post(QUERY)
                assert await stream.receive() == answers("one")
                streams.append(stream)
            with pytest.raises(PeerError):
                await assert_answers(asker, asked)
            assert asker.connected(asked.peer)

    run(test)


@pytest.mark.parametrize("acquainted", [False, True])
def test_streams_of_strangers_are_bounded_and_the_oldest_makes_room(network: Network, acquainted: bool) -> None:
    async def test() -> None:
        asked = network.transport(TransportLimits(inbound=2))
        async with (
            asked.serving(stay, admission=Rules(acquainted=lambda _: acquainted)),
            network.peer() as one,
            network.peer() as other,
        ):
            streams = []
            for asker in (one, one, other):
                await asker.dial(asked.peer, asked.addresses)
                streams.append(await asker.open(asked.peer))
                streams[-1].post(QUERY)
                assert await streams[-1].receive() == answers("one")
            await until(lambda: asked._inbound.streams.total() == 2 + acquainted)
            if not acquainted:
                with pytest.raises(PeerError, match="HX7011"):
                    await streams[0].receive()

    run(test)


DENIED = Error(UNREAD, Status.DENIED, "no acquaintance")


@pytest.mark.parametrize("size", [1, MESSAGE_LIMIT - 1000])
def test_a_stranger_is_told_so_and_nothing_of_it_is_read(
    network: Network, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test() -> None:
        async with network.peer() as friend, network.peer() as stranger:
            asked = network.transport(TransportLimits(refusals=1))

            def denial(peer: str) -> Error | None:
                return None if peer == friend.peer else DENIED

            async with asked.serving(answer_and_end, admission=Rules(denial)):
                for asker in (friend, stranger):
                    await asker.dial(asked.peer, asked.addresses)
                fed = 0
                feed = Assembler.feed

                def counting(assembler: Assembler, data: bytes) -> Iterator[bytes]:
                    nonlocal fed
                    fed += len(data)
                    return feed(assembler, data)

                monkeypatch.setattr(Assembler, "feed", counting)
                for _ in range(3):
                    stream = await stranger.open(asked.peer)
                    stream.post(answers("x" * size))
                    assert await stream.receive() == DENIED
                    await stream.close()
                    await until(lambda: not asked._inbound.streams)
                assert fed < 1000, "only the refusals are read"
                await assert_answers(friend, asked)

    run(test)


def test_streams_of_a_stranger_take_no_place_of_another_nor_of_a_friend(network: Network) -> None:
    async def test() -> None:
        async with network.peer() as friend, network.peer() as flooding, network.peer() as stranger:
            asked = network.transport(TransportLimits(refusals=2, call=DEADLINE))
            callers: list[str] = []
            go_on = trio.Event()

            def denial(peer: str) -> Error | None:
                return None if peer == friend.peer else DENIED

            async def slowly(caller: str, message: bytes) -> bytes:
                callers.append(caller)
                await go_on.wait()
                return await echo(caller, message)

            async def call() -> None:
                assert await stranger.call(asked.peer, CALL, b"1") == stranger.peer.encode() + b" 1"

            async def flood() -> None:
                with suppress(PeerError):  # it makes room for the next one
                    await flooding.call(asked.peer, CALL, b"1")

            async with asked.serving(answer_and_end, admission=Rules(denial), calls={CALL: slowly}):
                for asker in (friend, flooding, stranger):
                    await asker.dial(asked.peer, asked.addresses)
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(call)
                    await until(lambda: callers)
                    for number in range(5):
                        nursery.start_soon(flood)
                        await until(lambda: len(callers) == number + 2)  # noqa: B023
                    await until(lambda: asked._inbound.streams[flooding.peer] == 1)
                    await assert_answers(friend, asked)
                    go_on.set()
                await until(lambda: not asked._inbound.streams)

    run(test)


def test_places_of_streams_are_given_back(network: Network) -> None:
    async def test() -> None:
        async with network.pair(answer_and_end, limits=TransportLimits(streams=2)) as (asker, asked):
            for _ in range(20):
                await assert_answers(asker, asked)
                await until(lambda: not asked._inbound.streams)  # type: ignore[attr-defined]

    run(test)


def test_many_streams_share_a_connection(network: Network) -> None:
    async def test() -> None:
        async with network.pair(answer_and_end) as (asker, asked), trio.open_nursery() as nursery:
            for _ in range(50):
                nursery.start_soon(assert_answers, asker, asked)

    run(test)


def test_both_sides_ask_over_one_connection(network: Network) -> None:
    async def test() -> None:
        async with network.peer(answer_and_end) as one, network.peer(answer_and_end) as two:
            await one.dial(two.peer, two.addresses)
            await until(lambda: two.connected(one.peer))
            await two.dial(one.peer, ())  # it is connected: no address is needed
            async with trio.open_nursery() as nursery:
                for _ in range(10):
                    nursery.start_soon(assert_answers, one, two)
                    nursery.start_soon(assert_answers, two, one)

    run(test)


def test_both_sides_dial_at_once(network: Network) -> None:
    async def test() -> None:
        losses: list[str] = []
        async with network.peer(answer_and_end) as one, network.peer(answer_and_end, losses.append) as two:
            async with trio.open_nursery() as nursery:
                for _ in range(3):
                    nursery.start_soon(one.dial, two.peer, two.addresses)
                    nursery.start_soon(two.dial, one.peer, one.addresses)
            await assert_answers(one, two)
            await assert_answers(two, one)
            await two.disconnect(one.peer)
            await until(lambda: losses)
            assert losses == [one.peer]
            assert not two.connected(one.peer)

    run(test)


def test_a_cancel_arrives_and_ends_the_stream(network: Network) -> None:
    async def test() -> None:
        seen: list[Message] = []

        async def handler(stream: Stream) -> None:
            seen.append(await stream.receive())
            for _ in range(100):
                stream.post(answers("x" * 10_000))
            seen.append(await stream.receive())
            await stream.close()
            seen.append(END)

        async with network.pair(handler) as (asker, asked):
            stream = await asker.open(asked.peer)
            stream.post(QUERY)
            await stream.receive()
            stream.post(Cancel("q"))
            await stream.close()
            await until(lambda: len(seen) == 3)
            assert seen == [QUERY, Cancel("q"), END]
            with pytest.raises(PeerError):
                await stream.receive()

    run(test)


def test_an_error_ends_a_stream_as_an_end_does(network: Network) -> None:
    async def test() -> None:
        async def handler(stream: Stream) -> None:
            stream.post(Error("q", Status.DENIED, "no"))
            stream.post(answers("after the end"))
            await stream.close()

        async with network.pair(handler) as (asker, asked):
            stream = await asker.open(asked.peer)
            stream.post(QUERY)
            assert await stream.receive() == Error("q", Status.DENIED, "no")
            with pytest.raises(PeerError) as error:
                await stream.receive()
            assert code(error) == "HX7011"

    run(test)


def test_a_cancelled_receive_loses_nothing(network: Network) -> None:
    async def test() -> None:
        async def handler(stream: Stream) -> None:
            await stream.receive()
            for number in range(300):
                stream.post(answers(str(number)))
                await trio.sleep(0)
            stream.post(END)
            await stream.close()

        async with network.pair(handler) as (asker, asked):
            stream = await asker.open(asked.peer)
            stream.post(QUERY)
            received: list[Message] = []
            while not received or received[-1] != END:
                with trio.move_on_after(0.0005):
                    received.append(await stream.receive())
            assert received == [*(answers(str(number)) for number in range(300)), END]

    run(test)


def test_messages_of_every_size_come_through(network: Network) -> None:
    async def test() -> None:
        async def echo(stream: Stream) -> None:
            for _ in range(4):
                stream.post(await stream.receive())
            stream.post(END)
            await stream.close()

        async with network.pair(echo) as (asker, asked):
            stream = await asker.open(asked.peer)
            sent = [answers("x" * size) for size in (0, 65_000, 70_000, MESSAGE_LIMIT - 1000)]
            with pytest.raises(PeerError) as error:
                stream.post(answers("x" * MESSAGE_LIMIT))
            assert code(error) == "HX7004"
            for message in sent:
                stream.post(message)
            assert await everything(stream) == [*sent, END]

    run(test)


def test_an_aborted_stream_is_lost_for_the_other_side(network: Network) -> None:
    async def test() -> None:
        codes: list[str] = []

        async def handler(stream: Stream) -> None:
            await stream.receive()
            try:
                await stream.receive()
            except PeerError as error:
                codes.append(error.faults[0].code)

        async with network.pair(handler) as (asker, asked):
            stream = await asker.open(asked.peer)
            stream.post(QUERY)
            await trio.testing.wait_all_tasks_blocked(0.01)
            stream.abort()
            stream.abort()
            await until(lambda: codes)
            assert codes == ["HX7011"]
            with pytest.raises(PeerError):
                await stream.receive()

    run(test)


def test_what_cannot_be_dialled_is_refused_by_name(network: Network) -> None:
    async def test() -> None:
        async with network.peer() as one, network.peer() as two:
            for neighbour, addresses, expected in (
                (one.peer, one.addresses, "HX7012"),
                (two.peer, ("nonsense",), "HX7054"),
                (two.peer, (), "HX7010"),
            ):
                with pytest.raises(PeerError) as error:
                    await one.dial(neighbour, addresses)
                assert code(error) == expected
            with pytest.raises(PeerError) as error:
                await one.open(two.peer)
            assert code(error) == "HX7010"

    run(test)


def test_a_transport_that_leaves_loses_all_its_streams(network: Network) -> None:
    async def test() -> None:
        losses: list[str] = []
        async with network.peer(on_loss=losses.append) as asker:
            async with network.peer(stay) as asked:
                await asker.dial(asked.peer, asked.addresses)
                stream = await asker.open(asked.peer)
                stream.post(QUERY)
                assert await stream.receive() == answers("one")
            with pytest.raises(PeerError) as error:
                await stream.receive()
            assert code(error) == "HX7011"
            await until(lambda: losses)
            assert losses == [asked.peer]

    run(test)


CALL = "/heptox/test/1"


async def echo(neighbour: str, message: bytes) -> bytes:
    return neighbour.encode() + b" " + message


@pytest.mark.parametrize("size", [0, 10, 1_000_000])
def test_a_call_is_answered_with_one_message(network: Network, size: int) -> None:
    async def test() -> None:
        async with network.peer(calls={CALL: echo}) as asked, network.peer() as asker:
            await asker.dial(asked.peer, asked.addresses)
            for _ in range(3):
                assert await asker.call(asked.peer, CALL, b"x" * size) == asker.peer.encode() + b" " + b"x" * size

    run(test)


def test_a_call_that_is_not_answered_is_told(network: Network) -> None:
    async def refuse(neighbour: str, message: bytes) -> bytes:
        raise ValueError(neighbour, message)

    async def silence(neighbour: str, message: bytes) -> bytes:  # noqa: ARG001
        await trio.sleep(DEADLINE)
        return b""

    async def test() -> None:
        calls = {CALL: echo, "/refuse": refuse, "/silence": silence}
        limits = TransportLimits(call=0.2)
        async with network.peer(calls=calls, limits=limits) as asked, network.peer(limits=limits) as asker:
            with pytest.raises(PeerError) as error:
                await asker.call(asked.peer, CALL, b"")
            assert code(error) == "HX7010"
            await asker.dial(asked.peer, asked.addresses)
            for protocol, expected in (("/refuse", "HX7011"), ("/silence", "HX7011"), ("/unknown", "HX7010")):
                with pytest.raises(PeerError) as error:
                    await asker.call(asked.peer, protocol, b"")
                assert code(error) == expected
            assert await asker.call(asked.peer, CALL, b"1") == asker.peer.encode() + b" 1"

    run(test)


def test_a_stranger_may_call_though_it_may_not_ask(network: Network) -> None:
    async def test() -> None:
        asked = network.transport(TransportLimits(refusals=2))
        denial = Error(UNREAD, Status.DENIED, "no")
        async with (
            asked.serving(answer_and_end, admission=Rules(lambda _: denial), calls={CALL: echo}),
            network.peer() as asker,
        ):
            await asker.dial(asked.peer, asked.addresses)
            for _ in range(5):
                assert await asker.call(asked.peer, CALL, b"1") == asker.peer.encode() + b" 1"
                await until(lambda: not asked._inbound.streams)
            stream = await asker.open(asked.peer)
            stream.post(QUERY)
            assert await stream.receive() == denial


def test_a_connection_is_told_at_both_ends_once_and_counts(network: Network) -> None:
    async def test() -> None:
        one, other = network.transport(), network.transport()
        gained: list[tuple[str, str]] = []

        async def nothing(stream: Stream) -> None:
            await stream.close()

        async with (
            one.serving(nothing, on_gain=lambda peer: gained.append(("one", peer))),
            other.serving(nothing, on_gain=lambda peer: gained.append(("other", peer))),
        ):
            assert one.connections == other.connections == 0
            for _ in range(2):
                await one.dial(other.peer, other.addresses)
            await until(lambda: len(gained) > 1)
            assert sorted(gained) == [("one", other.peer), ("other", one.peer)]
            assert one.connections == other.connections == 1
            await one.disconnect(other.peer)
            await until(lambda: one.connections == other.connections == 0)

    run(test)

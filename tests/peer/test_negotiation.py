"""Agreeing on a stream's protocol: with libp2p's own client, with one that does not wait, and in few frames."""

from __future__ import annotations

import struct

import pytest
from libp2p.custom_types import TProtocol
from libp2p.network.stream.net_stream import NetStream
from libp2p.protocol_muxer.exceptions import MultiselectClientError, MultiselectCommunicatorError
from libp2p.protocol_muxer.multiselect_client import MultiselectClient
from libp2p.protocol_muxer.multiselect_communicator import MultiselectCommunicator
from libp2p.stream_muxer.yamux import yamux

from heptox.peer.wire import negotiation
from heptox.peer.wire.libp2p import PROTOCOL, Libp2pTransport
from heptox.peer.wire.messages import Query
from heptox.peer.wire.muxer import WINDOW, BoundedYamux, MuxedBytes
from heptox.peer.wire.negotiation import LINE_LIMIT, MULTISTREAM, Negotiator
from heptox.peer.wire.stream import MessageStream
from heptox.peer.wire.transport import Stream, Transport, TransportLimits
from tests.peer.networks import END, QUERY, Libp2p, answers, everything, run
from tests.support.framing import frames


async def answer(stream: Stream) -> None:
    assert isinstance(await stream.receive(), Query)
    stream.post(answers("one"))
    stream.post(END)
    await stream.close()


async def opened(asker: Transport) -> NetStream:
    """A new stream on the asker's only connection, with nothing said on it."""
    assert isinstance(asker, Libp2pTransport)
    (connection,) = asker._swarm.get_connections()
    stream = await connection.new_stream()
    assert isinstance(stream, NetStream)
    return stream


def test_libp2p_s_own_client_agrees_and_is_told_what_is_not_spoken() -> None:
    async def test() -> None:
        async with Libp2p().pair(answer) as (asker, asked):
            assert isinstance(asker, Libp2pTransport) and asker._nursery
            stream = await opened(asker)
            with pytest.raises(MultiselectClientError):
                await MultiselectClient().select_one_of([TProtocol("/other/1")], MultiselectCommunicator(stream))
            stream = await opened(asker)
            names = [TProtocol("/other/1"), TProtocol(PROTOCOL)]
            await MultiselectClient().select_one_of(names, MultiselectCommunicator(stream))
            limits = TransportLimits()
            talk = MessageStream(asked.peer, MuxedBytes(asked.peer, stream, limits), limits, asker._nursery)
            talk.post(QUERY)
            assert await everything(talk) == [answers("one"), END]

    run(test)


def test_a_client_that_does_not_wait_for_the_agreement_is_answered() -> None:
    async def test() -> None:
        async with Libp2p().pair(answer) as (asker, asked):
            assert isinstance(asker, Libp2pTransport) and asker._nursery
            stream = await opened(asker)
            lines = negotiation._line(MULTISTREAM) + negotiation._line(PROTOCOL)
            await stream.write(lines + b"".join(frames(QUERY)))
            content = MuxedBytes(asked.peer, stream, TransportLimits())
            negotiator = Negotiator(content)
            assert [await negotiator.read(), await negotiator.read()] == [MULTISTREAM, PROTOCOL]
            negotiator.end()
            talk = MessageStream(asked.peer, content, TransportLimits(), asker._nursery)
            assert await everything(talk) == [answers("one"), END]

    run(test)


def test_an_exchange_says_nothing_about_windows_before_much_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    granted: list[int] = []
    write = BoundedYamux._write_frame

    async def counted(self: BoundedYamux, data: bytes) -> None:
        _, kind, flags, _, increment = struct.unpack(yamux.YAMUX_HEADER_FORMAT, data[: yamux.HEADER_SIZE])
        if kind == yamux.TYPE_WINDOW_UPDATE and not flags:
            granted.append(increment)
        await write(self, data)

    monkeypatch.setattr(BoundedYamux, "_write_frame", counted)
    size = 40_000

    async def much(stream: Stream) -> None:
        await stream.receive()
        for _ in range(50):
            stream.post(answers("x" * size))
            await stream.settle()
        stream.post(END)
        await stream.close()

    async def test() -> None:
        async with Libp2p().pair(answer) as (asker, asked):
            stream = await asker.open(asked.peer)
            stream.post(QUERY)
            assert await everything(stream) == [answers("one"), END]
        assert not granted
        async with Libp2p().pair(much) as (asker, asked):
            stream = await asker.open(asked.peer)
            stream.post(QUERY)
            assert len(await everything(stream)) == 51
        assert all(increment >= WINDOW // 2 for increment in granted)
        assert 50 * size - WINDOW // 2 <= sum(granted) <= 51 * size

    run(test)


class Bytes(MuxedBytes):
    """A stream that brings some pieces."""

    def __init__(self, *pieces: bytes) -> None:
        self._ahead = b""
        self.pieces = list(pieces)

    async def read(self) -> bytes:
        return self.pieces.pop(0) if self.pieces else b""


@pytest.mark.parametrize(
    "pieces",
    [
        (),
        (b"\x05ab",),
        (b"\x00",),
        (b"\x03abc",),
        (b"\xff\xff\xff\x01",),
        (struct.pack("BB", (LINE_LIMIT + 1) & 127 | 128, (LINE_LIMIT + 1) >> 7), b"x" * LINE_LIMIT + b"\n"),
    ],
)
def test_what_is_no_line_is_refused(pieces: tuple[bytes, ...]) -> None:
    async def test() -> None:
        with pytest.raises(MultiselectCommunicatorError):
            await Negotiator(Bytes(*pieces)).read()

    run(test)


def test_lines_come_in_pieces_of_any_size() -> None:
    async def test() -> None:
        long = "/" + "x" * 300
        wire = negotiation._line(MULTISTREAM) + negotiation._line(long)
        for size in (1, 2, 7, len(wire)):
            pieces = [wire[start : start + size] for start in range(0, len(wire), size)]
            negotiator = Negotiator(Bytes(*pieces))
            assert [await negotiator.read(), await negotiator.read()] == [MULTISTREAM, long]

    run(test)

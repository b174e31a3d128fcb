"""What a peer needs from the network: neighbours that can be dialled, and one stream of messages for each question.

:class:`Transport` is the contract; ``memory.py`` and ``libp2p.py`` keep it, under one suite of tests. Streams of
messages are the same in both (``stream.py``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from heptox.peer.wire.messages import Error, Message, PeerId

FEED: Final = "/heptox/feed/2"
"""The protocol of the links between brokers, which feeds come on."""
OLD_FEED: Final = "/heptox/feed/1"
"""That of before feeds were signed. It is negotiated only to say so of who speaks it."""


@dataclass(frozen=True, slots=True)
class TransportLimits:
    """What strangers and neighbours may use up.

    ``streams`` inbound streams of one peer at a time; ``inbound`` of all strangers that may ask, ``refusals`` of those
    that are being refused; ``handshakes`` inbound connections of which it is not known yet who makes
    them, ``handshakes_per_address`` from one host; ``connections`` inbound connections of strangers,
    ``connections_per_address`` from one host, ``connections_per_acquaintance`` of each acquaintance;
    ``outbox`` bytes that wait in one stream before :meth:`Stream.settle` holds its caller up; ``stall`` seconds that a
    neighbour may take none of the bytes it is sent before the stream is reset; ``acknowledge`` seconds to wait for the
    acknowledgement of an end; ``call`` seconds that a call may take; ``dial`` seconds for reaching a neighbour, opening
    a stream or refusing one; ``keep_alive`` seconds between signs of life that a neighbour is asked for.
    """

    streams: int = 128
    inbound: int = 1024
    refusals: int = 64
    handshakes: int = 128
    handshakes_per_address: int = 64
    connections: int = 250
    connections_per_address: int = 64
    connections_per_acquaintance: int = 4
    outbox: int = 256 * 1024
    stall: float = 30.0
    acknowledge: float = 60.0
    call: float = 20.0
    dial: float = 5.0
    keep_alive: float = 10.0


class Stream(Protocol):
    """Messages to and from one neighbour about one question, in order, each way.

    A stream ends by :meth:`post` of an ``End`` or ``Error``: it is acknowledged by the other side before the stream
    closes, and nothing can be posted after it. The other side's :meth:`receive` returns it as the last message.
    """

    @property
    def neighbour(self) -> PeerId:
        """Who is at the other end, as the transport has authenticated it."""
        ...

    def post(self, message: Message, data: bytes | None = None) -> None:
        """Queue a message; never waits. What is posted to a stream that is closed or lost is dropped. ``data`` is the
        message encoded, where that was done before.

        Raises :class:`PeerError` (HX7002, HX7004) when the message cannot be encoded; the stream is as before.
        """
        ...

    async def settle(self) -> None:
        """Wait until the queue is short (``TransportLimits.outbox``): this is how a slow reader slows the writer.

        Returns at once for a stream that is closed or lost.
        """
        ...

    async def receive(self) -> Message:
        """The next message; cancelling it loses nothing.

        Raises :class:`PeerError`: HX7011 when the stream is lost or closed, HX7002 to HX7004 for garbage (the stream is
        then reset, the connection stays). A neighbour that begins an inbound stream with garbage gets an error before.
        """
        ...

    async def close(self) -> None:
        """Send what was posted (an end waits for its acknowledgement), then close; idempotent."""
        ...

    def abort(self) -> None:
        """Drop the stream with whatever is queued; the other side's :meth:`receive` raises HX7011. Idempotent."""
        ...


class ByteMessages(Protocol):
    """Messages, each some bytes, to and from one neighbour, in order each way, for as long as the stream stands."""

    @property
    def neighbour(self) -> PeerId:
        """Who is at the other end, as the transport has authenticated it."""
        ...

    def post(self, data: bytes) -> None:
        """Queue a message; never waits. What is posted to a stream that is lost or dropped goes nowhere.

        Raises :class:`PeerError` (HX7004) for a message longer than ``wire.MESSAGE_LIMIT``; the stream is as before.
        """
        ...

    async def settle(self, most: int | None = None) -> None:
        """Wait until no more than ``most`` bytes are queued (``TransportLimits.outbox`` unless given).

        Returns at once for a stream that is lost or dropped.
        """
        ...

    async def receive(self) -> bytes:
        """The next message; cancelling it loses nothing.

        Raises :class:`PeerError`: HX7011 when the stream is lost or dropped, HX7002 and HX7004 for garbage (the stream
        is then reset, the connection stays).
        """
        ...

    def abort(self) -> None:
        """Drop the stream with whatever is queued; the other side's :meth:`receive` raises HX7011. Idempotent."""
        ...

    async def closed(self) -> None:
        """Wait until the stream has ended, in whichever way."""
        ...


StreamHandler: TypeAlias = Callable[[Stream], Awaitable[None]]
"""Called for each inbound stream, in a task of its own; when it returns or raises, the stream is aborted if still
open."""

FeedHandler: TypeAlias = Callable[[ByteMessages], Awaitable[None]]
"""Called for each inbound stream of :data:`FEED`, in a task of its own; when it returns or raises, the stream is
aborted."""

GainHandler: TypeAlias = Callable[[PeerId], None]
"""Called when the first connection to a peer stands."""

LossHandler: TypeAlias = Callable[[PeerId], None]
"""Called when the last connection to a peer is gone; its streams raise HX7011 by themselves."""


DenialHandler: TypeAlias = Callable[[PeerId], None]
"""Called when a peer was refused a stream."""


class Admission(Protocol):
    """Who may come in. Asked for each inbound connection, stream and call."""

    def denial(self, neighbour: PeerId) -> Error | None:
        """What a peer gets that may open no stream; ``None`` for one that may."""
        ...

    def acquainted(self, neighbour: PeerId) -> bool:
        """Whether a peer is an acquaintance: its connections and streams have places of their own, which no stranger
        takes."""
        ...


class OpenToStrangers:
    """Everybody may open streams, and all are strangers."""

    def denial(self, neighbour: PeerId) -> Error | None:  # noqa: ARG002
        return None

    def acquainted(self, neighbour: PeerId) -> bool:  # noqa: ARG002
        return False


CallHandler: TypeAlias = Callable[[PeerId, bytes], Awaitable[bytes]]
"""Answers a message of a peer, known or a stranger, with a message; when it raises, the caller gets no answer."""
Calls: TypeAlias = Mapping[str, CallHandler]
"""Who answers the calls of each protocol."""


class Transport(Protocol):
    """The network as one peer sees it. All methods run under trio."""

    @property
    def peer(self) -> PeerId:
        """This peer's own id."""
        ...

    @property
    def addresses(self) -> tuple[str, ...]:
        """The multiaddresses it listens at, each with its peer id; empty before :meth:`serving` is entered."""
        ...

    def serving(
        self,
        on_stream: StreamHandler,
        on_loss: LossHandler | None = None,
        calls: Calls | None = None,
        on_gain: GainHandler | None = None,
        on_denial: DenialHandler | None = None,
        on_feed: FeedHandler | None = None,
        admission: Admission | None = None,
    ) -> AbstractAsyncContextManager[None]:
        """Listen while the context is open; leaving it closes every stream and connection.

        Whom ``admission`` denies streams gets an error on its stream, which ends with it: no message of it is read. Its
        streams of :data:`FEED` are reset. It may make calls all the same. Without ``on_feed`` that protocol is not
        spoken; ``admission`` is :class:`OpenToStrangers` unless given.

        Raises :class:`PeerError` (HX7062) when it cannot listen at its address.
        """
        ...

    async def dial(self, neighbour: PeerId, addresses: tuple[str, ...]) -> None:
        """Reach a neighbour at one of its multiaddresses; nothing happens when it is connected already.

        Raises :class:`PeerError`: HX7010 when it cannot be reached, HX7012 for its own peer id, HX7054 for an address
        that is none.
        """
        ...

    @property
    def connections(self) -> int:
        """How many peers are connected."""
        ...

    def connected(self, neighbour: PeerId) -> bool:
        """Whether a connection to the neighbour stands."""
        ...

    def host(self, neighbour: PeerId) -> str | None:
        """The IP address at the other end of the connection to a neighbour; ``None`` where there is none."""
        ...

    async def open(self, neighbour: PeerId) -> Stream:
        """A new stream to a connected neighbour; raises :class:`PeerError` (HX7010) when there is no connection."""
        ...

    async def open_feed(self, neighbour: PeerId) -> ByteMessages:
        """A new stream of :data:`FEED` to a connected neighbour.

        Raises :class:`PeerError` (HX7010) when there is no connection or it does not speak the protocol.
        """
        ...

    async def disconnect(self, neighbour: PeerId) -> None:
        """Close the connection to a neighbour, if any."""
        ...

    async def call(self, neighbour: PeerId, protocol: str, message: bytes) -> bytes:
        """Send a connected neighbour one message under a protocol of its own; what it answers, one message too.

        Raises :class:`PeerError`: HX7010 when there is no connection or it does not speak the protocol, HX7011 when
        it does not answer, HX7002 to HX7004 for garbage.
        """
        ...

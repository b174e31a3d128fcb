"""A transport without a network: peers of one process, as :class:`heptox.peer.wire.transport.Transport` has it."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import trio

from heptox.errors import Fault, PeerError
from heptox.peer.wire.frames import FRAME_LIMIT
from heptox.peer.wire.messages import Error, PeerId
from heptox.peer.wire.stream import (
    ByteMessageStream,
    InboundStreams,
    MessageStream,
    answer_call,
    handle_stream,
    make_call,
    refuse_stream,
)
from heptox.peer.wire.transport import (
    FEED,
    Admission,
    ByteMessages,
    CallHandler,
    Calls,
    DenialHandler,
    FeedHandler,
    GainHandler,
    LossHandler,
    OpenToStrangers,
    Stream,
    StreamHandler,
    TransportLimits,
)

_Stream = TypeVar("_Stream", MessageStream, ByteMessageStream)

_log = logging.getLogger(__name__)

WINDOW: int = 4
"""Frames that may wait between two peers on one stream, each way."""


@dataclass(slots=True)
class MemoryNetwork:
    """The peers that can reach each other."""

    _serving: dict[PeerId, MemoryTransport] = field(default_factory=dict)

    def transport(self, peer: PeerId, limits: TransportLimits | None = None) -> MemoryTransport:
        """A transport for one more peer."""
        return MemoryTransport(self, peer, limits or TransportLimits())

    def kill(self, peer: PeerId) -> None:
        """End a peer at once, as ``kill -9`` does: nothing that was not delivered yet arrives."""
        self._serving[peer].vanish()


class MemoryTransport:
    """A :class:`heptox.peer.wire.transport.Transport` over memory."""

    def __init__(self, network: MemoryNetwork, peer: PeerId, limits: TransportLimits) -> None:
        self._network = network
        self._peer = peer
        self._limits = limits
        self._nursery: trio.Nursery | None = None
        self._on_stream: StreamHandler | None = None
        self._on_loss: LossHandler | None = None
        self._on_gain: GainHandler | None = None
        self._on_denial: DenialHandler | None = None
        self._on_feed: FeedHandler | None = None
        self._ends: dict[PeerId, list[_End]] = {}
        self._admission: Admission = OpenToStrangers()
        self._calls: Calls = {}
        self._inbound = InboundStreams(limits)

    @property
    def peer(self) -> PeerId:
        return self._peer

    @property
    def addresses(self) -> tuple[str, ...]:
        return (_address(self._peer),) if self._nursery else ()

    @asynccontextmanager
    async def serving(
        self,
        on_stream: StreamHandler,
        on_loss: LossHandler | None = None,
        calls: Calls | None = None,
        on_gain: GainHandler | None = None,
        on_denial: DenialHandler | None = None,
        on_feed: FeedHandler | None = None,
        admission: Admission | None = None,
    ) -> AsyncIterator[None]:
        if self._peer in self._network._serving:
            raise PeerError(Fault("HX7062", f"{_address(self._peer)} is taken"))
        self._on_stream, self._on_loss, self._calls = on_stream, on_loss, calls or {}
        self._admission = self._inbound.admission = admission or OpenToStrangers()
        self._on_gain, self._on_denial, self._on_feed = on_gain, on_denial, on_feed
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            self._network._serving[self._peer] = self
            try:
                yield
            finally:
                self.vanish()
                nursery.cancel_scope.cancel()

    async def dial(self, neighbour: PeerId, addresses: tuple[str, ...]) -> None:
        await trio.lowlevel.checkpoint()
        if neighbour == self._peer:
            raise PeerError(Fault("HX7012", f"{neighbour} is this peer itself"))
        wrong = [address for address in addresses if not address.startswith("/memory/")]
        if wrong:
            raise PeerError([Fault("HX7054", f"{address!r} is no address to use") for address in wrong])
        if self.connected(neighbour):
            return
        other = self._network._serving.get(neighbour)
        if other is None or _address(neighbour) not in addresses:
            raise PeerError(Fault("HX7010", f"{neighbour} cannot be reached at {', '.join(addresses) or 'no address'}"))
        self._gain(neighbour)
        other._gain(self._peer)

    @property
    def connections(self) -> int:
        return len(self._ends)

    def connected(self, neighbour: PeerId) -> bool:
        return neighbour in self._ends

    def host(self, neighbour: PeerId) -> str | None:  # noqa: ARG002
        return None

    async def open(self, neighbour: PeerId) -> Stream:
        await trio.lowlevel.checkpoint()
        other = self._connected(neighbour)
        ours, theirs = _pair(self._limits, neighbour)
        stream = self._start(neighbour, ours)
        other._accept(self._peer, theirs)
        return stream

    async def open_feed(self, neighbour: PeerId) -> ByteMessages:
        await trio.lowlevel.checkpoint()
        other = self._connected(neighbour)
        if other._on_feed is None:
            raise PeerError(Fault("HX7010", f"{neighbour} opens no stream: it does not speak {FEED}"))
        ours, theirs = _pair(self._limits, neighbour)
        stream = self._start_feed(neighbour, ours)
        other._accept_feed(self._peer, theirs, other._on_feed)
        return stream

    async def call(self, neighbour: PeerId, protocol: str, message: bytes) -> bytes:
        await trio.lowlevel.checkpoint()
        other = self._connected(neighbour)
        if protocol not in other._calls:
            raise PeerError(Fault("HX7010", f"{neighbour} opens no stream: it does not speak {protocol}"))
        ours, theirs = _pair(self._limits, neighbour)
        self._ends[neighbour].append(ours)
        other._accept_call(self._peer, theirs, other._calls[protocol])
        try:
            return await make_call(neighbour, ours, message, self._limits.call)
        finally:
            self._forget(neighbour, ours)

    def _connected(self, neighbour: PeerId) -> MemoryTransport:
        other = self._network._serving.get(neighbour)
        if neighbour not in self._ends or other is None:
            raise PeerError(Fault("HX7010", f"there is no connection to {neighbour}"))
        return other

    async def disconnect(self, neighbour: PeerId) -> None:
        await trio.lowlevel.checkpoint()
        other = self._network._serving.get(neighbour)
        self._lose(neighbour)
        if other is not None:
            other._lose(self._peer)

    def vanish(self) -> None:
        """Stop at once; the neighbours lose their connections."""
        self._network._serving.pop(self._peer, None)
        for neighbour in tuple(self._ends):
            self._lose(neighbour)
            other = self._network._serving.get(neighbour)
            if other is not None:
                other._lose(self._peer)
        if self._nursery is not None:
            self._nursery.cancel_scope.cancel()
            self._nursery = None

    # -- inside ------------------------------------------------------------------------------------------------------

    def _start(self, neighbour: PeerId, end: _End, *, inbound: bool = False) -> MessageStream:
        assert self._nursery is not None
        forget = self._hold(neighbour, end)
        return MessageStream(neighbour, end, self._limits, self._nursery, forget, inbound=inbound)

    def _start_feed(self, neighbour: PeerId, end: _End) -> ByteMessageStream:
        assert self._nursery is not None
        return ByteMessageStream(neighbour, end, self._limits, self._nursery, self._hold(neighbour, end))

    def _hold(self, neighbour: PeerId, end: _End) -> Callable[[], None]:
        """Let an end be lost with the connection; what is returned is to be called when it is there no more."""
        self._ends[neighbour].append(end)
        return partial(self._forget, neighbour, end)

    def _forget(self, neighbour: PeerId, end: _End) -> None:
        if end in self._ends.get(neighbour, ()):
            self._ends[neighbour].remove(end)

    def _accept(self, neighbour: PeerId, end: _End) -> None:
        denial = self._admission.denial(neighbour)
        scope = trio.CancelScope()
        if not self._inbound.enter(neighbour, scope, "", denied=denial is not None):
            end.drop()
            return
        assert self._nursery is not None
        if denial is not None:
            self._ends[neighbour].append(end)
            self._nursery.start_soon(self._refuse, neighbour, end, denial, scope)
        else:
            assert self._on_stream is not None
            stream = self._start(neighbour, end, inbound=True)
            self._nursery.start_soon(self._handle, self._on_stream, stream, scope)

    def _accept_feed(self, neighbour: PeerId, end: _End, handler: FeedHandler) -> None:
        denied = self._admission.denial(neighbour) is not None
        scope = trio.CancelScope()
        if denied or not self._inbound.enter(neighbour, scope, "", denied=False):
            end.drop()
            return
        assert self._nursery is not None
        self._nursery.start_soon(self._handle, handler, self._start_feed(neighbour, end), scope)

    def _accept_call(self, neighbour: PeerId, end: _End, handler: CallHandler) -> None:
        denied = self._admission.denial(neighbour) is not None
        scope = trio.CancelScope()
        if not self._inbound.enter(neighbour, scope, "", denied=denied):
            end.drop()
            return
        assert self._nursery is not None
        self._ends[neighbour].append(end)
        self._nursery.start_soon(self._answer, neighbour, end, handler, scope)

    async def _answer(self, neighbour: PeerId, end: _End, handler: CallHandler, scope: trio.CancelScope) -> None:
        try:
            with scope:
                await answer_call(handler, neighbour, end, self._limits.call)
        finally:
            self._forget(neighbour, end)
            self._inbound.leave(neighbour, scope)

    async def _handle(
        self, handler: Callable[[_Stream], Awaitable[None]], stream: _Stream, scope: trio.CancelScope
    ) -> None:
        try:
            with scope:
                await handle_stream(handler, stream)
        finally:
            self._inbound.leave(stream.neighbour, scope)

    async def _refuse(self, neighbour: PeerId, end: _End, denial: Error, scope: trio.CancelScope) -> None:
        try:
            if self._on_denial is not None:
                self._on_denial(neighbour)
            with scope:
                await refuse_stream(end, denial, self._limits.dial)
        finally:
            self._forget(neighbour, end)
            self._inbound.leave(neighbour, scope)

    def _gain(self, neighbour: PeerId) -> None:
        if neighbour not in self._ends:
            self._ends[neighbour] = []
            if self._on_gain is not None:
                self._on_gain(neighbour)

    def _lose(self, neighbour: PeerId) -> None:
        ends = self._ends.pop(neighbour, None)
        if ends is None:
            return
        for end in ends:
            end.drop()
        if self._on_loss is not None and self._nursery is not None:
            self._on_loss(neighbour)


class _End:
    """One end of a stream of bytes: ``_sent`` leads to the other end, ``_came`` from it."""

    def __init__(
        self,
        neighbour: PeerId,
        limits: TransportLimits,
        sent: trio.MemorySendChannel[bytes],
        came: trio.MemoryReceiveChannel[bytes],
    ) -> None:
        self._neighbour = neighbour
        self._limits = limits
        self._sent = sent
        self._came = came
        self.other: _End | None = None

    async def read(self) -> bytes:
        try:
            return await self._came.receive()
        except (trio.EndOfChannel, trio.ClosedResourceError):
            return b""

    async def write(self, data: bytes) -> None:
        assert len(data) <= FRAME_LIMIT
        try:
            with trio.fail_after(self._limits.stall):
                await self._sent.send(data)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise PeerError(Fault("HX7011", f"the stream to {self._neighbour} is lost")) from None
        except trio.TooSlowError:
            self.drop()
            raise PeerError(Fault("HX7011", f"{self._neighbour} takes nothing of what it is sent")) from None

    async def close(self) -> None:
        await trio.lowlevel.checkpoint()
        self._sent.close()

    async def reset(self) -> None:
        await trio.lowlevel.checkpoint()
        self.drop()

    def drop(self) -> None:
        """Close both directions at both ends; what waits in them is gone."""
        for end in (self, self.other):
            if end is not None:
                end._sent.close()
                end._came.close()


def _pair(limits: TransportLimits, neighbour: PeerId) -> tuple[_End, _End]:
    there_sent, there_came = trio.open_memory_channel[bytes](WINDOW)
    back_sent, back_came = trio.open_memory_channel[bytes](WINDOW)
    ours = _End(neighbour, limits, there_sent, back_came)
    theirs = _End(neighbour, limits, back_sent, there_came)
    ours.other, theirs.other = theirs, ours
    return ours, theirs


def _address(peer: PeerId) -> str:
    return f"/memory/{peer}"

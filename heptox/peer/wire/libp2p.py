"""The transport of deployed peers: libp2p over TCP, secured by noise, multiplexed by yamux.

A stream of heptox is a libp2p stream of the protocol :data:`PROTOCOL`; feeds and calls have protocols of their own. A
peer is its Ed25519 key. libp2p's host, with what it says of itself to everybody (identify), is left out: a swarm is all
that is needed.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import trio
from libp2p.abc import IMuxedConn, INetConn, INetStream, INetwork, INotifee
from libp2p.custom_types import TProtocol
from libp2p.network.stream.net_stream import NetStream
from libp2p.peer.id import ID
from libp2p.protocol_muxer.multiselect import Multiselect
from libp2p.stream_muxer.yamux.yamux import Yamux
from libp2p.tools.anyio_service import background_trio_service
from multiaddr import Multiaddr  # type: ignore[import-untyped]

from heptox.errors import Fault, PeerError
from heptox.peer.process.supervision import note_failure
from heptox.peer.wire.address import Listening, PeerAddress
from heptox.peer.wire.identity import is_peer_id
from heptox.peer.wire.messages import Error, PeerId
from heptox.peer.wire.muxer import MuxedBytes, close_socket
from heptox.peer.wire.negotiation import Negotiator
from heptox.peer.wire.stream import (
    ByteMessageStream,
    InboundStreams,
    MessageStream,
    answer_call,
    handle_stream,
    make_call,
    refuse_stream,
)
from heptox.peer.wire.swarm import new_swarm
from heptox.peer.wire.transport import (
    FEED,
    Admission,
    ByteMessages,
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

PROTOCOL: Final = "/heptox/query/1"

_log = logging.getLogger(__name__)


class Libp2pTransport:
    """A :class:`heptox.peer.wire.transport.Transport` over libp2p.

    ``seed`` is the peer's Ed25519 private key (32 bytes), ``listen`` the addresses to listen at, such as
    ``/ip4/127.0.0.1/tcp/0``. Raises :class:`PeerError`: HX7053 for a seed that is none, HX7054 for addresses that are
    none.
    """

    def __init__(self, seed: bytes, *listen: str, limits: TransportLimits | None = None) -> None:
        self._limits = limits or TransportLimits()
        self._listen = _parsed_all(listen)
        self._swarm = new_swarm(seed, self._limits)
        self._peer: PeerId = self._swarm.get_peer_id().to_base58()
        self._nursery: trio.Nursery | None = None
        self._on_stream: StreamHandler | None = None
        self._on_loss: LossHandler | None = None
        self._on_gain: GainHandler | None = None
        self._on_denial: DenialHandler | None = None
        self._on_feed: FeedHandler | None = None
        self._admission: Admission = OpenToStrangers()
        self._calls: Calls = {}
        self._inbound = InboundStreams(self._limits)
        self._dials: dict[PeerId, _Dial] = {}
        self._connected: set[PeerId] = set()
        self._protocols = Multiselect({TProtocol(PROTOCOL): None})

    @property
    def peer(self) -> PeerId:
        return self._peer

    @property
    def addresses(self) -> tuple[str, ...]:
        listeners = self._swarm.listeners.values()
        return tuple(f"{address}/p2p/{self._peer}" for listener in listeners for address in listener.get_addrs())

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
        _quieten()
        self._on_stream, self._on_loss, self._calls = on_stream, on_loss, calls or {}
        self._admission = self._inbound.admission = self._swarm.admission = admission or OpenToStrangers()
        self._on_gain, self._on_denial, self._on_feed = on_gain, on_denial, on_feed
        spoken = (PROTOCOL, *self._calls) if on_feed is None else (PROTOCOL, FEED, *self._calls)
        self._protocols = Multiselect({TProtocol(name): None for name in spoken})
        self._swarm.set_stream_handler(self._accept)
        self._swarm.register_notifee(_Connections(self._gained, self._lost))
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            try:
                async with background_trio_service(self._swarm):
                    try:
                        await self._listen_all()
                        yield
                    finally:
                        self._on_loss = None
                        with trio.CancelScope(shield=True):
                            await self._close_listeners()
                            await self._close_connections(self._swarm.get_connections())
            finally:
                self._nursery = None
                nursery.cancel_scope.cancel()

    async def _listen_all(self) -> None:
        faults: list[Fault] = []
        for endpoint in self._listen:
            trouble = endpoint.trouble()
            taken = trouble is not None and trouble.errno == errno.EADDRINUSE
            if taken or not await self._swarm.listen(Multiaddr(str(endpoint))):
                why = "the address is in use" if taken else trouble and trouble.strerror
                message = f"{endpoint} cannot be listened at{f': {why}' if why else ''}"
                hint = "port 0 takes a free one; the file address in the peer's folder keeps the one that it took"
                faults.append(Fault("HX7062", message, hint=hint))
        if faults:
            raise PeerError(faults)

    async def _close_listeners(self) -> None:
        """Listen no more: libp2p's listeners would stay as long as the process."""
        for listener in self._swarm.listeners.values():
            await listener.close()

    # -- connections -------------------------------------------------------------------------------------------------

    async def dial(self, neighbour: PeerId, addresses: tuple[str, ...]) -> None:
        if neighbour == self._peer:
            raise PeerError(Fault("HX7012", f"{neighbour} is this peer itself"))
        endpoints = _endpoints_of(neighbour, addresses)
        await trio.lowlevel.checkpoint()
        if self.connected(neighbour):
            return
        # One dial at a time for each neighbour, and in a task of its own: a task that waits for it may be cancelled.
        dial = self._dials.get(neighbour)
        if dial is None:
            assert self._nursery is not None, "dial before serving"
            dial = self._dials[neighbour] = _Dial()
            self._nursery.start_soon(self._dial, neighbour, endpoints, dial)
        await dial.done.wait()
        if dial.reason is not None:
            raise PeerError(Fault("HX7010", f"{neighbour} cannot be reached: {dial.reason}"))

    async def _dial(self, neighbour: PeerId, endpoints: tuple[Listening, ...], dial: _Dial) -> None:
        reasons = []
        try:
            for endpoint in endpoints:
                try:
                    with trio.fail_after(self._limits.dial):
                        # Not by way of the peer store: that forgets addresses, remembers failures, and tries only one.
                        await self._swarm.dial_addr(Multiaddr(str(endpoint)), ID.from_base58(neighbour))
                    return
                except trio.TooSlowError:
                    reasons.append(f"{endpoint} does not answer")
                except Exception as error:  # libp2p raises many things here, and every one of them means: not reached
                    reasons.append(f"{endpoint}: {_innermost(error)}")
            dial.reason = "; ".join(reasons) or "no address is known"
        finally:
            del self._dials[neighbour]
            dial.done.set()

    @property
    def connections(self) -> int:
        return len(self._connected)

    def connected(self, neighbour: PeerId) -> bool:
        return is_peer_id(neighbour) and bool(self._connections(neighbour))

    def host(self, neighbour: PeerId) -> str | None:
        if not self.connected(neighbour):
            return None
        return _host(self._connections(neighbour)[-1].muxed_conn)

    def _connections(self, neighbour: PeerId) -> list[INetConn]:
        connections = self._swarm.get_connections(ID.from_base58(neighbour))
        return [connection for connection in connections if not connection.is_closed]

    async def disconnect(self, neighbour: PeerId) -> None:
        await trio.lowlevel.checkpoint()
        if self.connected(neighbour):
            await self._close_connections(self._connections(neighbour))

    async def _close_connections(self, connections: list[INetConn]) -> None:
        """Close all at once, the sockets first: a polite end would wait behind a writer that is stuck."""
        async with trio.open_nursery() as nursery:
            for connection in connections:
                nursery.start_soon(_close_connection, connection)

    def _gained(self, neighbour: PeerId) -> None:
        if neighbour not in self._connected:
            self._connected.add(neighbour)
            if self._on_gain is not None:
                self._on_gain(neighbour)

    def _lost(self, neighbour: PeerId) -> None:
        if neighbour in self._connected and not self._connections(neighbour):
            self._connected.discard(neighbour)
            if self._on_loss is not None:
                self._on_loss(neighbour)

    # -- streams -----------------------------------------------------------------------------------------------------

    async def open(self, neighbour: PeerId) -> Stream:
        content = await self._opened(neighbour, PROTOCOL)
        assert self._nursery is not None
        return MessageStream(neighbour, content, self._limits, self._nursery)

    async def open_feed(self, neighbour: PeerId) -> ByteMessages:
        content = await self._opened(neighbour, FEED)
        assert self._nursery is not None
        return ByteMessageStream(neighbour, content, self._limits, self._nursery)

    async def call(self, neighbour: PeerId, protocol: str, message: bytes) -> bytes:
        return await make_call(neighbour, await self._opened(neighbour, protocol), message, self._limits.call)

    async def _opened(self, neighbour: PeerId, protocol: str) -> MuxedBytes:
        await trio.lowlevel.checkpoint()
        if not self.connected(neighbour) or self._nursery is None:
            raise PeerError(Fault("HX7010", f"there is no connection to {neighbour}"))
        connection = self._connections(neighbour)[-1]
        stream: NetStream | None = None
        try:
            with trio.fail_after(self._limits.dial):
                opened = await connection.new_stream()
                assert isinstance(opened, NetStream)
                stream = opened
                content = MuxedBytes(neighbour, stream, self._limits)
                await Negotiator(content).select(protocol)
        except BaseException as error:
            if stream is not None:
                await MuxedBytes(neighbour, stream, self._limits).reset()
            if not isinstance(error, Exception):
                raise
            raise PeerError(Fault("HX7010", f"{neighbour} opens no stream: {_innermost(error)}")) from None
        return content

    async def _accept(self, stream: INetStream) -> None:
        """Take an inbound stream. Nothing may be raised from here: it would end the whole swarm."""
        assert isinstance(stream, NetStream)
        neighbour = stream.muxed_conn.peer_id.to_base58()
        content = MuxedBytes(neighbour, stream, self._limits)
        try:
            denial = self._admission.denial(neighbour)
            scope, host = trio.CancelScope(), _host(stream.muxed_conn) or ""
            if not self._inbound.enter(neighbour, scope, host, denied=denial is not None):
                await content.reset()
                return
            try:
                with scope:
                    protocol = await self._negotiated(content)
                    if protocol is not None:
                        await self._serve(protocol, neighbour, content, denial)
                        return
                await content.reset()
            finally:
                self._inbound.leave(neighbour, scope)
        except Exception:
            note_failure("stream")
            await content.reset()

    async def _serve(self, protocol: str, neighbour: PeerId, content: MuxedBytes, denial: Error | None) -> None:
        if protocol in self._calls:
            await answer_call(self._calls[protocol], neighbour, content, self._limits.call)
        elif protocol == FEED:
            await self._serve_feed(neighbour, content, denial)
        elif denial is not None:
            if self._on_denial is not None:
                self._on_denial(neighbour)
            await refuse_stream(content, denial, self._limits.dial)
        elif self._nursery is not None and self._on_stream is not None:
            messages = MessageStream(neighbour, content, self._limits, self._nursery, inbound=True)
            await handle_stream(self._on_stream, messages)

    async def _serve_feed(self, neighbour: PeerId, content: MuxedBytes, denial: Error | None) -> None:
        if denial is not None or self._nursery is None or self._on_feed is None:
            await content.reset()
            return
        await handle_stream(self._on_feed, ByteMessageStream(neighbour, content, self._limits, self._nursery))

    async def _negotiated(self, content: MuxedBytes) -> str | None:
        try:
            with trio.move_on_after(self._limits.dial):
                negotiator = Negotiator(content)
                protocol, _ = await self._protocols.negotiate(negotiator)
                negotiator.end()
                return protocol
        except Exception as error:  # whatever a stranger says instead
            _log.info("a stream was not negotiated: %s", error)
        return None


def _host(connection: IMuxedConn) -> str | None:
    """The IP address at the other end."""
    assert isinstance(connection, Yamux)
    remote = connection.get_remote_address()
    return remote[0] if remote else None


def _notified(handler: LossHandler, connection: INetConn) -> None:
    try:
        handler(connection.muxed_conn.peer_id.to_base58())
    except Exception:  # which would end the whole swarm
        note_failure("connection")


class _Dial:
    """A dial under way; ``reason`` says why it has failed, if it has."""

    def __init__(self) -> None:
        self.done = trio.Event()
        self.reason: str | None = None


class _Connections(INotifee):
    """Reports peers whose first connection was made, and whose last connection may be gone."""

    def __init__(self, gained: LossHandler, lost: LossHandler) -> None:
        self._gained = gained
        self._lost = lost

    async def connected(self, network: INetwork, conn: INetConn) -> None:  # noqa: ARG002
        _notified(self._gained, conn)

    async def disconnected(self, network: INetwork, conn: INetConn) -> None:  # noqa: ARG002
        _notified(self._lost, conn)

    async def opened_stream(self, network: INetwork, stream: INetStream) -> None:
        pass

    async def closed_stream(self, network: INetwork, stream: INetStream) -> None:
        pass

    async def listen(self, network: INetwork, multiaddr: Multiaddr) -> None:
        pass

    async def listen_close(self, network: INetwork, multiaddr: Multiaddr) -> None:
        pass


async def _close_connection(connection: INetConn) -> None:
    await close_socket(connection.muxed_conn)
    try:
        await connection.close()
    except Exception:  # closing what is broken already
        return


def _parsed_all(addresses: tuple[str, ...]) -> tuple[Listening, ...]:
    parsed: list[Listening] = []
    faults: list[Fault] = []
    for address in addresses:
        try:
            parsed.append(Listening.parse(address))
        except PeerError as error:
            faults.extend(error.faults)
    if faults:
        raise PeerError(faults)
    return tuple(parsed)


def _endpoints_of(neighbour: PeerId, addresses: tuple[str, ...]) -> tuple[Listening, ...]:
    endpoints: list[Listening] = []
    faults: list[Fault] = []
    for address in addresses:
        try:
            parsed = PeerAddress.parse(address)
        except PeerError as error:
            faults.extend(error.faults)
            continue
        if parsed.peer_id != neighbour:
            faults.append(Fault("HX7054", f"{address} is the address of another peer", hint=f"one of {neighbour}"))
        endpoints.append(parsed.endpoint)
    if faults:
        raise PeerError(faults)
    return tuple(endpoints)


def _innermost(error: BaseException) -> str:
    """What has really happened, under the wrappings."""
    while True:
        if isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        elif error.__cause__ is not None:
            error = error.__cause__
        else:
            break
    reason = error.strerror if isinstance(error, OSError) else None
    return reason or str(error) or type(error).__name__


def _quieten() -> None:
    """libp2p logs what strangers do, at their speed; it is heard no more, and heptox logs what matters itself."""
    logger = logging.getLogger("libp2p")
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())

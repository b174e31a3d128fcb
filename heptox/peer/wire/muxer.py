"""Yamux with limits: the multiplexer of libp2p 0.8.1, held to what it promises.

Four things are put right. A frame is written whole, no matter who is cancelled meanwhile: half a frame would wedge the
connection. A write that is stuck is ended by closing the connection, from outside. The task that reads never waits for
a write, so two peers that write at once cannot block each other. And a neighbour that ignores the receive window, or
shows no sign of life, loses its connection; a task that reads from a stream of a connection that ends is always woken.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Awaitable, Callable
from typing import Final

import libp2p.stream_muxer.yamux.yamux as yamux
import trio
from libp2p.abc import IMuxedConn, ISecureConn
from libp2p.network.stream.net_stream import NetStream
from libp2p.peer.id import ID
from libp2p.stream_muxer.muxer_multistream import MuxerMultistream
from libp2p.stream_muxer.yamux.yamux import Yamux, YamuxStream

from heptox.errors import Fault, PeerError
from heptox.peer.process.supervision import contained
from heptox.peer.wire.frames import FRAME_LIMIT
from heptox.peer.wire.messages import PeerId
from heptox.peer.wire.transport import TransportLimits

WINDOW: Final = 256 * 1024
"""Bytes that a neighbour may send on one stream before we have read any; it never grows."""
BUFFER_LIMIT: Final = 2 * WINDOW
"""Bytes that may wait on one stream: credit that libp2p grants twice now and then fits in, breaking the rules does
not."""
CONTROL_LIMIT: Final = 1024
"""Answers to pings and to new streams that may wait to be written."""

_log = logging.getLogger(__name__)

_LOOK: Final = 0.25
"""Seconds after which a writer that waits looks whether its stream is still there."""


class BoundedStream(YamuxStream):
    """A stream that says when its neighbour takes more."""

    def __init__(self, stream_id: int, conn: Yamux, is_initiator: bool) -> None:
        self.granted = trio.Event()
        super().__init__(stream_id, conn, is_initiator)

    @property
    def send_window(self) -> int:
        """Bytes that the neighbour takes before it grants more."""
        return self._send_window

    @send_window.setter
    def send_window(self, size: int) -> None:
        self._send_window = size
        if size > 0:
            self.granted.set()


# The class of streams, and the largest window (and with it the largest frame: 16 MiB for every stream of a stranger),
# are names in the module of libp2p.
yamux.YamuxStream = BoundedStream  # type: ignore[misc]
yamux.MAX_WINDOW_SIZE = WINDOW


class BoundedYamux(Yamux):
    """One connection's multiplexer."""

    def __init__(self, secured: ISecureConn, peer: ID, limits: TransportLimits) -> None:
        super().__init__(secured, peer, is_initiator=secured.is_initiator, on_close=_nothing)
        self._limits = limits
        self.stream_buffers = _Buffers(self.event_shutting_down.set)
        self._reading: trio.lowlevel.Task | None = None
        self._control, self._controls = trio.open_memory_channel[bytes](CONTROL_LIMIT)
        self._writing_since: float | None = None

    async def handle_incoming(self) -> None:
        await contained("connection", self._handle_incoming)

    async def _handle_incoming(self) -> None:
        self._reading = trio.lowlevel.current_task()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._write_control)
            nursery.start_soon(self._watch_writes)
            try:
                await Yamux.handle_incoming(self)
            finally:
                nursery.cancel_scope.cancel()
                with trio.CancelScope(shield=True):
                    await self._end()

    async def _end(self) -> None:
        """Wake all readers and close the socket, unless that was done."""
        if not self.event_closed.is_set():
            await self._cleanup_on_error()

    async def _write_frame(self, data: bytes) -> None:
        if trio.lowlevel.current_task() is not self._reading:
            await self._write_whole(data)
            return
        try:
            self._control.send_nowait(data)
        except trio.WouldBlock:
            self.event_shutting_down.set()

    async def _write_whole(self, data: bytes) -> None:
        async with self._write_lock:
            self._writing_since = trio.current_time()
            try:
                with trio.CancelScope(shield=True):
                    await self.secured_conn.write(data)
            finally:
                self._writing_since = None

    async def _write_control(self) -> None:
        try:
            async for data in self._controls:
                await self._write_whole(data)
        except Exception:  # the connection is gone: its readers will see that too
            await close_socket(self)

    async def _watch_writes(self) -> None:
        """Close the connection under a write that makes no progress."""
        stall = self._limits.stall
        while True:
            await trio.sleep(stall / 4)
            if self._writing_since is not None and trio.current_time() - self._writing_since > stall:
                await close_socket(self)

    async def _measure_rtt_loop(self) -> None:
        """Ask for a sign of life now and then: a frozen neighbour keeps its connection open otherwise."""
        wait = self._limits.keep_alive
        while True:
            with trio.move_on_after(wait):
                await self.event_shutting_down.wait()
                return
            self._ping_event = trio.Event()
            self._ping_id = (self._ping_id + 1) % 2**32
            self._ping_sent_time = trio.current_time()
            ping = struct.pack(yamux.YAMUX_HEADER_FORMAT, 0, yamux.TYPE_PING, yamux.FLAG_SYN, 0, self._ping_id)
            with trio.move_on_after(wait):
                try:
                    await self._write_whole(ping)
                except Exception:  # the connection is gone: its readers will see that too
                    return
                await self._ping_event.wait()
                continue
            await close_socket(self)
            return


async def close_socket(connection: IMuxedConn) -> None:
    """Close the socket under a connection at once, without the manners that wait for it to take more bytes."""
    with trio.CancelScope(shield=True):
        try:
            await connection.secured_conn.close()  # type: ignore[attr-defined]
        except Exception:  # closing what is broken already
            return


class BoundedMuxers(MuxerMultistream):
    """What connections are multiplexed with: :class:`BoundedYamux` alone."""

    def __init__(self, limits: TransportLimits) -> None:
        super().__init__({yamux.PROTOCOL_ID: Yamux})  # type: ignore[dict-item]
        self._limits = limits

    async def new_conn(self, conn: ISecureConn, peer_id: ID) -> IMuxedConn:
        protocol, _ = await self._selector.select(conn, conn.is_initiator, self.negotiate_timeout)
        return self._annotate_connection(BoundedYamux(conn, peer_id, self._limits), conn, protocol)


class MuxedBytes:
    """A :class:`heptox.peer.wire.stream.ByteStream` over one stream of a connection."""

    def __init__(self, neighbour: PeerId, stream: NetStream, limits: TransportLimits) -> None:
        muxed = stream.muxed_stream
        assert isinstance(muxed, BoundedStream)
        self._neighbour = neighbour
        self._stream = stream
        self._muxed = muxed
        self._connection = muxed.conn
        self._limits = limits
        self._ahead = b""
        self._taken = 0

    async def read(self) -> bytes:
        if self._ahead:
            data, self._ahead = self._ahead, b""
            return data
        try:
            data = await self._connection.read_stream(self._muxed.stream_id, FRAME_LIMIT)
        except Exception:  # libp2p raises many things here, and every one of them means the end
            return b""
        self._taken += len(data)
        if self._taken >= WINDOW // 2:  # libp2p itself says so after each read: as many frames as bring something
            await self._grant()
        return data

    async def _grant(self) -> None:
        """Let the neighbour send as much more as was read."""
        taken, self._taken = self._taken, 0
        async with self._muxed.window_lock:
            self._muxed.recv_window += taken
        try:
            await self._muxed.send_window_update(taken)
        except Exception:  # what was read counts all the same; the next read says that the connection is gone
            return

    def unread(self, data: bytes) -> None:
        """Let the next :meth:`read` begin with these bytes, which were read too far."""
        self._ahead = data + self._ahead

    async def write(self, data: bytes) -> None:
        try:
            await self._write(data)
        except PeerError:
            await self.reset()
            raise

    async def _write(self, data: bytes) -> None:
        position = 0
        while position < len(data):
            room = min(await self._room(), yamux.MAX_MESSAGE_SIZE - yamux.HEADER_SIZE)
            chunk = data[position : position + room]
            try:
                await self._muxed.write(chunk)
            except Exception as error:  # libp2p raises many things here, and every one of them means the end
                raise self._lost(str(error) or type(error).__name__) from None
            position += len(chunk)
        self._check()

    async def _room(self) -> int:
        """Wait until the neighbour takes more: libp2p itself would give up after five seconds, in the middle of a
        message."""
        deadline = trio.current_time() + self._limits.stall
        while self._muxed.send_window <= 0:
            self._check()
            if trio.current_time() > deadline:
                raise self._lost("it takes nothing of what it is sent")
            self._muxed.granted = trio.Event()
            with trio.move_on_after(_LOOK):
                await self._muxed.granted.wait()
        self._check()
        return self._muxed.send_window

    def _check(self) -> None:
        # A write to a socket that was closed here is silently dropped by libp2p.
        if self._connection.event_shutting_down.is_set() or self._muxed.closed:
            raise self._lost("the connection was reset or closed")

    def _lost(self, reason: str) -> PeerError:
        return PeerError(Fault("HX7011", f"the stream to {self._neighbour} is lost: {reason}"))

    async def close(self) -> None:
        await self._end(self._stream.close)

    async def reset(self) -> None:
        await self._end(self._stream.reset)

    async def _end(self, how: Callable[[], Awaitable[None]]) -> None:
        number, events = self._muxed.stream_id, self._connection.stream_events
        waiting = events.get(number)
        with trio.CancelScope(shield=True):
            try:
                await how()
            except Exception as error:  # the connection is gone, and the stream with it
                _log.info("a stream to %s was not ended in order: %s", self._neighbour, error)
            if number not in self._connection.streams:
                # libp2p wakes no reader of a stream that is reset here, and the last to wake leaves an event behind.
                events.pop(number, None)
                if waiting is not None:
                    waiting.set()


class _Buffer(bytearray):
    """What came on one stream and was not read yet."""

    def __init__(self, overflow: Callable[[], None]) -> None:
        super().__init__()
        self._overflow = overflow

    def extend(self, data: bytes) -> None:  # type: ignore[override]
        if len(self) + len(data) > BUFFER_LIMIT:
            self._overflow()
        else:
            super().extend(data)


class _Buffers(dict[int, bytearray]):
    """The buffers of a connection, each bounded, as libp2p puts them in."""

    def __init__(self, overflow: Callable[[], None]) -> None:
        super().__init__()
        self._overflow = overflow

    def __setitem__(self, stream: int, buffer: bytearray) -> None:
        super().__setitem__(stream, _Buffer(self._overflow))


async def _nothing() -> None:
    pass

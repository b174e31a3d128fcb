"""Streams of messages over streams of bytes: the same for every transport.

End of file proves nothing: it looks the same whether the other side has finished, has been killed, or has reset the
stream. So an ``End`` or ``Error`` is a message of its own, and it is acknowledged before the stream closes.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any, Final, Generic, Protocol, TypeVar

import trio

from heptox.codec import MESSAGE_LIMIT, is_quick
from heptox.errors import Fault, PeerError
from heptox.peer.process.supervision import contained, note_failure
from heptox.peer.wire.frames import Assembler, framed_length, frames_of
from heptox.peer.wire.messages import UNREAD, Acknowledge, Cancel, End, Error, Message, PeerId, Status, decode, encode
from heptox.peer.wire.places import Places
from heptox.peer.wire.transport import Admission, CallHandler, OpenToStrangers, TransportLimits
from heptox.printable import printable

_Message = TypeVar("_Message")
_Stream = TypeVar("_Stream", bound="_OpenStream[Any]")

DECODING: Final = 4
"""Messages that are decoded in threads at a time."""
_limiter: Final = trio.lowlevel.RunVar[trio.CapacityLimiter]("decoding")

_log = logging.getLogger(__name__)


class ByteStream(Protocol):
    """Bytes to and from a neighbour. One task reads, one task writes; both are cancelled only when the stream is
    dropped."""

    async def read(self) -> bytes:
        """Some bytes; ``b""`` when there will be no more, for whatever reason."""
        ...

    async def write(self, data: bytes) -> None:
        """Write one frame; waits while the neighbour takes nothing, up to ``TransportLimits.stall`` seconds.

        Raises :class:`PeerError` (HX7011) when the stream is gone, or the neighbour has stalled for too long; reading
        then ends too.
        """
        ...

    async def close(self) -> None:
        """End the own direction; what was written still arrives."""
        ...

    async def reset(self) -> None:
        """Drop both directions at once."""
        ...


class _Outbox:
    """Messages that wait to be written, each cut into frames when its turn has come; ``waiting`` bytes in all."""

    def __init__(self) -> None:
        self.waiting = 0
        self._messages: deque[bytes] = deque()
        self._frames: Iterator[bytes] = iter(())

    def put(self, data: bytes) -> None:
        self._messages.append(data)
        self.waiting += framed_length(data)

    def take(self) -> bytes | None:
        """The next frame, which no longer waits, if there is any."""
        frame = next(self._frames, None)
        if frame is None and self._messages:
            self._frames = frames_of(self._messages.popleft())
            frame = next(self._frames)
        self.waiting -= len(frame or b"")
        return frame

    def clear(self) -> None:
        self._messages.clear()
        self._frames = iter(())
        self.waiting = 0


class _OpenStream(ABC, Generic[_Message]):
    """What all streams of messages do alike: one task reads, one writes, until the stream ends.

    Both run in ``nursery``; ``on_close`` is called once, when both have ended.
    """

    def __init__(
        self,
        neighbour: PeerId,
        stream: ByteStream,
        limits: TransportLimits,
        nursery: trio.Nursery,
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        self._neighbour = neighbour
        self._bytes = stream
        self._limits = limits
        self._assembler = Assembler()
        self._outbox = _Outbox()
        self._posted = trio.Event()
        self._moved = trio.Event()
        self._closing = False
        self._closed = trio.Event()
        self._failure: PeerError | None = None
        self._inbox, self._messages = trio.open_memory_channel[_Message](1)
        self._scope = trio.CancelScope()
        nursery.start_soon(contained, "stream", partial(self._run, on_close))

    @property
    def neighbour(self) -> PeerId:
        return self._neighbour

    def _queue(self, data: bytes) -> None:
        self._outbox.put(data)
        self._posted.set()

    async def settle(self, most: int | None = None) -> None:
        await trio.lowlevel.checkpoint()
        while self._outbox.waiting > (self._limits.outbox if most is None else most) and not self._closed.is_set():
            await self._moved.wait()

    async def receive(self) -> _Message:
        try:
            return await self._messages.receive()
        except (trio.EndOfChannel, trio.ClosedResourceError):
            raise PeerError(self._reason().faults) from None

    def _reason(self) -> PeerError:
        """Why nothing more comes."""
        return self._failure or self._lost("it is closed")

    def leave(self) -> None:
        """Abort, for the handler that took the stream is done with it."""
        self.abort()

    async def closed(self) -> None:
        """Wait until the stream has ended, in whichever way."""
        await self._closed.wait()

    def abort(self) -> None:
        self._fail(self._lost("it was dropped"))
        self._scope.cancel()

    # -- the two tasks -----------------------------------------------------------------------------------------------

    async def _run(self, on_close: Callable[[], None]) -> None:
        graceful = False
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._read)
                    graceful = await self._write()
                    if graceful:
                        nursery.cancel_scope.cancel()
        finally:
            with trio.CancelScope(shield=True):
                await self._bytes.close() if graceful else await self._bytes.reset()
            self._inbox.close()
            self._outbox.clear()
            self._closed.set()
            self._move()
            on_close()

    async def _write(self) -> bool:
        """Write what is posted until the stream ends; whether it ended in order."""
        try:
            while True:
                await self._posted.wait()
                while (frame := self._outbox.take()) is not None:
                    await self._bytes.write(frame)
                    self._move()
                    if self._failure is not None:
                        return False
                if self._failure is not None:
                    return False
                if self._closing:
                    break
                self._posted = trio.Event()
        except PeerError as error:
            self._fail(error)
            return False
        return await self._concluded()

    async def _concluded(self) -> bool:
        """Wait for what has to come once everything is written; whether the stream ends in order."""
        return True

    async def _read(self) -> None:
        try:
            while data := await self._bytes.read():
                for encoded in self._assembler.feed(data):
                    if await self._take(await self._decode(encoded)):
                        return
            self._fail(self._lost("the connection was reset or closed"))
        except PeerError as error:
            await self._garbled(error)
        finally:
            self._inbox.close()

    @abstractmethod
    async def _decode(self, encoded: bytes) -> _Message:
        """The message in some bytes; raises :class:`PeerError` for garbage."""

    async def _take(self, message: _Message) -> bool:
        """Hand a message on; whether it is the last one of the other side."""
        await self._hand_on(message)
        return False

    async def _hand_on(self, message: _Message) -> bool:
        """Hand a message on once the one before was received; whether anybody receives still."""
        try:
            await self._inbox.send(message)
        except trio.BrokenResourceError:
            return False
        return True

    async def _garbled(self, error: PeerError) -> None:
        """What comes cannot be read."""
        self._fail(error)

    def _fail(self, error: PeerError) -> None:
        if self._failure is None:
            self._failure = error
        self._posted.set()

    def _move(self) -> None:
        self._moved.set()
        self._moved = trio.Event()

    def _lost(self, reason: str) -> PeerError:
        return PeerError(Fault("HX7011", f"the stream to {self._neighbour} is lost: {reason}"))


class ByteMessageStream(_OpenStream[bytes]):
    """A :class:`heptox.peer.wire.transport.ByteMessages` over a byte stream; its tasks run in ``nursery``."""

    async def _decode(self, encoded: bytes) -> bytes:
        return encoded

    def post(self, data: bytes) -> None:
        if len(data) > MESSAGE_LIMIT:
            raise PeerError(Fault("HX7004", f"a message of {len(data)} bytes is longer than {MESSAGE_LIMIT}"))
        if self._failure is None:
            self._queue(data)


class MessageStream(_OpenStream[Message]):
    """A :class:`heptox.peer.wire.transport.Stream` over a byte stream.

    Its two tasks, one that reads and one that writes, run in ``nursery``; ``on_close`` is called once, when both have
    ended. On an ``inbound`` stream, a neighbour that begins with what cannot be read gets an error.
    """

    def __init__(
        self,
        neighbour: PeerId,
        stream: ByteStream,
        limits: TransportLimits,
        nursery: trio.Nursery,
        on_close: Callable[[], None] = lambda: None,
        *,
        inbound: bool = False,
    ) -> None:
        self._final: Message | None = None
        self._acknowledged = trio.Event()
        self._greeting = inbound
        self._unread: PeerError | None = None
        super().__init__(neighbour, stream, limits, nursery, on_close)

    def post(self, message: Message, data: bytes | None = None) -> None:
        data = encode(message) if data is None else data
        if self._closing or self._closed.is_set():
            return
        if isinstance(message, End | Error | Cancel):
            self._final = message
            self._closing = True
            self._messages.close()
        self._queue(data)

    async def _decode(self, encoded: bytes) -> Message:
        if is_quick(encoded):
            return decode(encoded, counted=True)
        return await trio.to_thread.run_sync(decode, encoded, limiter=_decoding())

    async def close(self) -> None:
        self._closing = True
        self._posted.set()
        await self._closed.wait()

    def leave(self) -> None:
        """Abort unless an end was posted: that is still sent, and acknowledged."""
        if not self._closing:
            self.abort()

    def _reason(self) -> PeerError:
        return self._unread or super()._reason()

    async def _concluded(self) -> bool:
        if isinstance(self._final, End | Error):
            with trio.move_on_after(self._limits.acknowledge):
                await self._acknowledged.wait()
        return self._unread is None

    async def _garbled(self, error: PeerError) -> None:
        if self._greeting and not self._closing:
            await self._refuse(error)
        else:
            self._fail(error)

    async def _refuse(self, error: PeerError) -> None:
        """Say why a question cannot be read; what comes meanwhile, for some seconds, is thrown away."""
        self._unread = error
        self.post(Error(UNREAD, Status.FAILED, printable(str(error))))
        with trio.move_on_after(self._limits.dial):
            while await self._bytes.read():
                pass
        self._acknowledged.set()

    async def _take(self, message: Message) -> bool:
        if isinstance(message, Acknowledge):
            self._acknowledged.set()
            return False
        self._greeting = False
        if not await self._hand_on(message):
            return False
        if isinstance(message, End | Error):
            # Only now: what is acknowledged will be read, even by an asker that is slow.
            self._end(Acknowledge(message.query))
        elif isinstance(message, Cancel):
            self._end(None)
        else:
            return False
        return True

    def _end(self, last: Acknowledge | None) -> None:
        """Say nothing more than ``last``; after a cancel nobody reads what is queued."""
        self._closing = True
        if last is not None:
            self._queue(encode(last))
        else:
            self._outbox.clear()
        self._posted.set()
        self._move()

    def _fail(self, error: PeerError) -> None:
        super()._fail(error)
        self._acknowledged.set()


def _decoding() -> trio.CapacityLimiter:
    """What limits the threads that decode messages: they take none from anybody else."""
    try:
        return _limiter.get()
    except LookupError:
        limiter = trio.CapacityLimiter(DECODING)
        _limiter.set(limiter)
        return limiter


class InboundStreams:
    """The inbound streams of a transport; ``streams`` counts them by peer.

    Acquaintances share no places; strangers do, where a stream of those who have most is cancelled for a newcomer.
    """

    def __init__(self, limits: TransportLimits) -> None:
        self.admission: Admission = OpenToStrangers()
        self.streams: Counter[PeerId] = Counter()
        self._limits = limits
        self._admitted = Places(limits.inbound)
        self._denied = Places(limits.refusals)

    def enter(self, neighbour: PeerId, scope: trio.CancelScope, host: str, *, denied: bool) -> bool:
        """Take a place for a stream, one that is only to be refused if it is ``denied``, from an address; whether there
        is one. Who is a stranger holds it until the ``scope``, in which the stream is served, is cancelled."""
        if self.streams[neighbour] >= self._limits.streams:
            return False
        self.streams[neighbour] += 1
        if not self.admission.acquainted(neighbour):
            (self._denied if denied else self._admitted).enter(scope, host, neighbour)
        return True

    def leave(self, neighbour: PeerId, scope: trio.CancelScope) -> None:
        """Give a place back."""
        self._denied.leave(scope)
        self._admitted.leave(scope)
        self.streams[neighbour] -= 1
        if not self.streams[neighbour]:
            del self.streams[neighbour]


async def refuse_stream(stream: ByteStream, denial: Error, seconds: float) -> None:
    """Say why a stream is not taken; what comes on it meanwhile, for some seconds, is thrown away unread."""
    try:
        with trio.move_on_after(seconds):
            for frame in frames_of(encode(denial)):
                await stream.write(frame)
            while await stream.read():
                pass
    except PeerError as error:
        _log.info("a stream was not refused in order: %s", error)
    finally:
        with trio.CancelScope(shield=True):
            await stream.reset()


async def handle_stream(handler: Callable[[_Stream], Awaitable[None]], stream: _Stream) -> None:
    """Run a handler of inbound streams so that nothing it does harms the transport, and nobody is left hanging."""
    try:
        await handler(stream)
    except PeerError as error:
        _log.info("a stream from %s has ended: %s", stream.neighbour, error)
    except Exception:
        note_failure("stream")
    finally:
        stream.leave()
        with trio.CancelScope(shield=True):
            await stream.closed()


async def make_call(neighbour: PeerId, stream: ByteStream, message: bytes, seconds: float) -> bytes:
    """Send one message and return the one that answers it; the stream is closed.

    Raises :class:`PeerError`: HX7011 when no answer comes in time, HX7002 to HX7004 for garbage.
    """
    answer = None
    try:
        with trio.move_on_after(seconds):
            for frame in frames_of(message):
                await stream.write(frame)
            answer = await _one_message(stream)
    finally:
        with trio.CancelScope(shield=True):
            await (stream.reset() if answer is None else stream.close())
    if answer is None:
        raise PeerError(Fault("HX7011", f"{neighbour} does not answer"))
    return answer


async def answer_call(handler: CallHandler, neighbour: PeerId, stream: ByteStream, seconds: float) -> None:
    """Read one message, answer it with one, and close the stream, whatever the neighbour and the handler do."""
    try:
        with trio.move_on_after(seconds):
            message = await _one_message(stream)
            if message is not None:
                for frame in frames_of(await handler(neighbour, message)):
                    await stream.write(frame)
                while await stream.read():  # until the caller has read the answer, and closes
                    pass
    except PeerError as error:
        _log.info("a call of %s has ended: %s", neighbour, error)
    except Exception:
        note_failure("call")
    finally:
        with trio.CancelScope(shield=True):
            await stream.reset()


async def _one_message(stream: ByteStream) -> bytes | None:
    """The next message; ``None`` when the stream ends before."""
    assembler = Assembler()
    while data := await stream.read():
        for message in assembler.feed(data):
            return message
    return None

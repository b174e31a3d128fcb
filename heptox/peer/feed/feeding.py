"""A broker's decisions carried out: a :class:`heptox.feed.Router` over its links, the store and the feed log.

Two acquaintances have one link, a stream of bytes that both use: the one with the smaller id opens it once they are
connected, and again when it is lost. The task that brings an event waits until its consequences have been taken, so
nothing piles up without bounds. What comes from a neighbour waits for others only behind :data:`TRANSIT` bytes: peers
in a ring that all waited for each other at once would wait for good.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, Protocol

import trio

from heptox.errors import Fault, HeptoxError, PeerError
from heptox.feed import (
    TEXT_LIMIT,
    Announce,
    Break,
    Event,
    Fetch,
    Fetched,
    Forged,
    Gate,
    Instruction,
    Keep,
    KeepDistrusted,
    LinkDown,
    LinkUp,
    Message,
    Note,
    NotFetched,
    Publish,
    Published,
    Received,
    Record,
    Recorded,
    Replay,
    Send,
    Store,
    Subscribe,
    Subscribed,
    Tick,
    Translate,
    UnverifiedError,
    Wake,
)
from heptox.peer.feed.links import FeedLinks
from heptox.peer.feed.storing import FeedStore, StoreQueue
from heptox.peer.process.machine import Machine, MachineLoop
from heptox.peer.process.supervision import contained, supervised
from heptox.peer.wire.feed_wire import FeedDecoder, encode_feed
from heptox.peer.wire.messages import PeerId
from heptox.peer.wire.transport import ByteMessages, Transport

TRANSIT: Final = 64 * 1024 * 1024
"""Bytes that may wait for one neighbour before others are held up that send what goes there."""
THREADS: Final = 2
"""Documents that are parsed, or fetched, at a time."""
SHORT_TEXT: Final = 1024
"""Characters of a subscription that is parsed at once."""
SHORT: Final = 64 * 1024
"""Bytes of a message that is read at once: a longer one would hold up everybody else."""

_log = logging.getLogger(__name__)


class FeedRouter(Machine[Event, Instruction], Protocol):
    """Who decides: :class:`heptox.feed.Router`."""

    def prepare(self, event: Event) -> None:
        """Do beforehand what is costly about an event. Called in worker threads."""
        ...

    def way(self, publisher: PeerId) -> tuple[PeerId, ...]:
        """The path from a neighbour to a publisher; empty where it is not reached."""
        ...


class FeedWork(FeedStore, Protocol):
    """What a broker does besides talking. :meth:`fetch` and :meth:`record` are called in worker threads, too."""

    def fetch(self, wanted: Fetch) -> Fetched:
        """Some documents of the own feed, the first ones that are wanted. A raised :class:`HeptoxError` is logged."""
        ...

    def record(self, wanted: Record) -> None:
        """Record what is about to be served; it is on the disk on return. A raised :class:`HeptoxError` is logged, and
        nothing is served."""
        ...

    def translate(self, wanted: Translate) -> None:
        """Have subscriptions in own words translated, and hand in the translations. Does not wait."""
        ...

    def note(self, event: str, fields: Mapping[str, str | int]) -> None:
        """Report to the administrator. Does not wait."""
        ...


class Feeding:
    """One broker at work.

    It needs to hear of streams (``links.take``, for ``on_feed`` of :meth:`Transport.serving`) and may hear of
    connections (``links.gained``, for ``on_gain``): without that they are looked for now and then. The ``gate`` signs
    what is sent, and lets in what is signed. To store what comes by a neighbour may take ``seconds`` of the processor
    in a minute.
    """

    def __init__(
        self, router: FeedRouter, transport: Transport, work: FeedWork, gate: Gate, seconds: float = math.inf
    ) -> None:
        self._router = router
        self._gate = gate
        self._peer = transport.peer
        self._work = work
        self.links = FeedLinks(transport, self._use, self._link_down, work.note)
        self._machine = MachineLoop[Event, Instruction, _Consequences](router, self._perform, _Consequences, Tick())
        self._storing = StoreQueue(
            work, lambda event: self._finish_later(self._machine.apply(event)), router.way, seconds
        )
        self._turns = trio.Lock()
        self._threads = trio.CapacityLimiter(THREADS)
        self._nursery: trio.Nursery | None = None

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Have links while the context is open; the transport serves meanwhile."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            nursery.start_soon(supervised, "clock of feeds", partial(self._machine.keep_time, self._finish_later))
            nursery.start_soon(supervised, "store of feeds", self._storing.run)
            self.links.begin(nursery)
            try:
                yield
            finally:
                self._nursery = None
                self.links.end()
                nursery.cancel_scope.cancel()

    async def hand_in(self, event: Event) -> None:
        """Hand in what happens at this peer; waits until its consequences have been taken. Also before
        :meth:`serving`.

        Raises :class:`PeerError` (HX7004) for a subscription that is too long for others.
        """
        if isinstance(event, Subscribed) and len(event.text) > TEXT_LIMIT:
            reason = f"a subscription of {len(event.text)} characters is not told to others"
            raise PeerError(Fault("HX7004", reason, hint=f"at most {TEXT_LIMIT}"))
        async with self._turns:  # events count in the order in which they are handed in
            await self._prepare(event)
            consequences = self._machine.apply(event)
        await self._finish(consequences)

    def hand_in_soon(self, event: Event) -> None:
        """Hand in what happens at this peer, without waiting."""
        self._finish_later(self._machine.apply(event))

    # -- links -------------------------------------------------------------------------------------------------------

    async def _use(self, stream: ByteMessages) -> None:
        """Hand in that a link stands, and what comes on it; raises :class:`PeerError` when nothing does any more."""
        await self._step(LinkUp(stream.neighbour))
        decoder = FeedDecoder()
        while True:
            data = await stream.receive()
            try:
                message = await self._decoded(decoder, data)
            except UnverifiedError as error:
                event: Event | None = Forged(stream.neighbour, error.publisher, str(error))
            else:
                event = None if message is None else Received(stream.neighbour, message)
            if event is not None:
                await self._prepare(event)
            if not self.links.is_current(stream):
                return
            if event is not None:
                await self._step(event)

    def _link_down(self, peer: PeerId) -> None:
        self._finish_later(self._machine.apply(LinkDown(peer)))

    async def _decoded(self, decoder: FeedDecoder, data: bytes) -> Message | None:
        if len(data) <= SHORT:
            message = decoder.take(data)
        else:
            message = await trio.to_thread.run_sync(decoder.take, data, limiter=self._threads)
        if isinstance(message, Publish | Replay):
            await trio.to_thread.run_sync(self._gate.check, message, self._peer, limiter=self._threads)
        elif message is not None:
            self._gate.check(message, self._peer)
        return message

    async def _prepare(self, event: Event) -> None:
        """Have the router do in a thread what is costly about an event."""
        if _is_costly(event):
            await trio.to_thread.run_sync(self._router.prepare, event, limiter=self._threads)

    # -- events in, instructions out ---------------------------------------------------------------------------------

    async def _step(self, event: Event) -> None:
        """Take in an event that others have brought about, and wait until its consequences have been taken."""
        await self._finish(self._machine.apply(event), TRANSIT)

    async def _finish(self, consequences: _Consequences, most: int | None = None) -> None:
        """Wait until no more than ``most`` bytes wait for each neighbour (``TransportLimits.outbox`` unless given)."""
        while True:
            for link in consequences.links:
                await link.settle(most)
            await self._storing.settle(consequences.stores)
            if not consequences.fetches:
                return
            wanted = consequences.fetches.popleft()
            more = self._machine.apply(await self._fetch(wanted))
            more.fetches.extendleft(reversed(consequences.fetches))
            consequences = more

    def _finish_later(self, consequences: _Consequences) -> None:
        """Leave what takes time to another task: the task that has brought the event must not wait."""
        if consequences.fetches and self._nursery is not None:
            self._nursery.start_soon(contained, "consequences", partial(self._finish, consequences, TRANSIT))

    def _perform(self, instruction: Instruction, consequences: _Consequences) -> None:
        match instruction:
            case Send():
                self._send(instruction, consequences)
            case Store() | Keep() | KeepDistrusted():
                consequences.stores.add(self._storing.put(instruction))
            case Translate():
                self._work.translate(instruction)
            case Fetch() | Record():
                consequences.fetches.append(instruction)
            case Break():
                self.links.break_off(instruction.neighbour, instruction.reason)
            case Wake():
                self._machine.wake(instruction.at)
            case Note():
                self._work.note(instruction.event, instruction.fields)

    def _send(self, instruction: Send, consequences: _Consequences) -> None:
        link = self.links.to(instruction.neighbour)
        if link is None:
            return
        try:
            for data in consequences.encoded.of(self._gate.seal(instruction.message, instruction.neighbour)):
                link.post(data)
        except PeerError:
            # Nothing may be missing among what is said on a link: without this message there is none.
            _log.exception("what %s is to be told cannot be said", instruction.neighbour)
            link.abort()
        consequences.links.add(link)

    async def _fetch(self, wanted: Fetch | Record) -> Fetched | Recorded | NotFetched:
        task = wanted.task if isinstance(wanted, Fetch) else wanted.fetched.task
        try:
            if isinstance(wanted, Fetch):
                return await trio.to_thread.run_sync(self._work.fetch, wanted, limiter=self._threads)
            await trio.to_thread.run_sync(self._work.record, wanted)
        except HeptoxError as error:
            _log.warning("what is asked for of the own feed cannot be served: %s", error)
            return NotFetched(task)
        return Recorded(task)


def _is_costly(event: Event) -> bool:
    """Whether an event is more than a moment's work; what is on its way to somebody else is not looked into."""
    match event:
        case Published() | Received(message=Publish()):
            return True
        case Received(message=Replay() as replay):
            return len(replay.route) == 1
        case Received(message=Announce() as announce):
            return announce.advertisement is not None
        case Received(message=Subscribe() as wanted):
            return len(wanted.text) > SHORT_TEXT
    return False


class _EncodingCache:
    """Messages as bytes; one that goes to several neighbours is encoded once."""

    def __init__(self) -> None:
        self._message: Message | None = None
        self._data: list[bytes] = []

    def of(self, message: Message) -> list[bytes]:
        """The bytes of a message, to be sent one behind the other; raises as :func:`encode_feed`."""
        if message != self._message:
            self._data = list(encode_feed(message))
            self._message = message
        return self._data


class _Consequences:
    """What is to be waited for after an event: neighbours that were sent something, the store of what has come from
    some, the feed log; and what was encoded for it."""

    def __init__(self) -> None:
        self.links: set[ByteMessages] = set()
        self.stores: set[PeerId] = set()
        self.fetches: deque[Fetch | Record] = deque()
        self.encoded = _EncodingCache()

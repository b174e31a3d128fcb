"""A broker's decisions carried out: links to the acquaintances over a :class:`Transport`, the store, the feed log.

Two acquaintances have one link, a stream of bytes that both use: the one with the smaller id opens it once they are
connected, and again when it is lost. Whoever brings an event waits until its consequences have been taken, so nothing
piles up without bounds. What comes from a neighbour waits for others only behind :data:`TRANSIT` bytes: peers in a ring
that all waited for each other at once would wait for good.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final, Protocol

import trio

from heptox.errors import Fault, HeptoxError, PeerError
from heptox.feed import (
    TEXT_LIMIT,
    Announce,
    Break,
    Event,
    FeedDocument,
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
    NotStored,
    Publish,
    Published,
    Reached,
    Received,
    Record,
    Recorded,
    Replay,
    Send,
    Store,
    Stored,
    Subscribe,
    Subscribed,
    Tick,
    Translate,
    UnverifiedError,
    Wake,
)
from heptox.peer.feed_wire import FeedDecoder, encode_feed
from heptox.peer.messages import PeerId
from heptox.peer.retry import Retry
from heptox.peer.supervision import contained, note_failure, supervised, supervised_for_one
from heptox.peer.timer import Timer
from heptox.peer.transport import FEED, OLD_FEED, ByteMessages, Transport

FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 5.0
"""Seconds before a link is made again; each one that does not last so long itself doubles them."""
LOOK: Final = 1.0
"""Seconds after which it is looked for a connection of which nothing was heard."""
TRANSIT: Final = 64 * 1024 * 1024
"""Bytes that may wait for one neighbour before others are held up that send what goes there."""
STORING: Final = 8 * 1024 * 1024
"""Bytes of documents that may wait to be stored, with :data:`STORING_COST` for each."""
STORING_COST: Final = 1024
THREADS: Final = 2
"""Documents that are parsed, or fetched, at a time."""
SHORT_TEXT: Final = 1024
"""Characters of a subscription that is parsed at once."""
SHORT: Final = 64 * 1024
"""Bytes of a message that is read at once: a longer one would hold up everybody else."""

_log = logging.getLogger(__name__)


class FeedRouter(Protocol):
    """Who decides: :class:`heptox.feed.Router`."""

    def prepare(self, event: Event) -> None:
        """Do beforehand what is costly about an event. Called in worker threads."""
        ...

    def handle(self, event: Event, now: float) -> tuple[Instruction, ...]:
        """Take in an event at a time in seconds; what is to be done, in order."""
        ...


class FeedWork(Protocol):
    """What a broker does besides talking. All but :meth:`note` and :meth:`translate` is called in worker threads."""

    def store(self, document: FeedDocument, number: int, *, own: bool) -> None:
        """Notify the subscriptions here up to ``number`` that a document matches, those in ``own`` words or the others;
        it is on the disk on return.

        A raised :class:`HeptoxError` says why it is not stored. One that was stored before is stored.
        """
        ...

    def keep(self, reached: Reached) -> None:
        """Keep how far this peer is with a feed. A raised :class:`HeptoxError` is logged."""
        ...

    def keep_distrusted(self, kept: KeepDistrusted) -> None:
        """Keep, or forget, what is held against a neighbour. A raised :class:`HeptoxError` is logged."""
        ...

    def fetch(self, wanted: Fetch) -> Fetched:
        """Some documents of the own feed, the first ones that are wanted. A raised :class:`HeptoxError` is logged."""
        ...

    def record(self, wanted: Record) -> None:
        """Record what is about to be served; it is on the disk on return. A raised :class:`HeptoxError` is logged, and
        nothing is served."""
        ...

    def translate(self, wanted: Translate) -> None:
        """Have subscriptions in own words translated, and hand in what they come to. Does not wait."""
        ...

    def note(self, event: str, fields: Mapping[str, str | int]) -> None:
        """Tell the administrator. Does not wait."""
        ...


class Feeding:
    """One broker at work.

    It needs to hear of streams (:meth:`take`, for ``on_feed`` of :meth:`Transport.serving`) and may hear of connections
    (:meth:`gained`, for ``on_gain``): without that they are looked for now and then. The ``gate`` signs what is sent,
    and lets in what is signed.
    """

    def __init__(self, router: FeedRouter, transport: Transport, work: FeedWork, gate: Gate) -> None:
        self._router = router
        self._gate = gate
        self._transport = transport
        self._work = work
        self._neighbours: dict[PeerId, _Neighbour] = {}
        self._timer = Timer()
        self._storing = _Storing()
        self._telling = trio.Lock()
        self._threads = trio.CapacityLimiter(THREADS)
        self._nursery: trio.Nursery | None = None

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Have links while the context is open; the transport serves meanwhile."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            nursery.start_soon(supervised, "clock of feeds", self._tick)
            nursery.start_soon(supervised, "store of feeds", self._store_all)
            for peer in self._neighbours:
                self._supervise(peer)
            try:
                yield
            finally:
                self._nursery = None
                for neighbour in self._neighbours.values():
                    if neighbour.link is not None:
                        neighbour.link.abort()
                nursery.cancel_scope.cancel()

    async def tell(self, event: Event) -> None:
        """Hand in what happens at this peer; waits until its consequences have been taken. Also before
        :meth:`serving`.

        Raises :class:`PeerError` (HX7004) for a subscription that is too long to be told to others.
        """
        if isinstance(event, Subscribed) and len(event.text) > TEXT_LIMIT:
            reason = f"a subscription of {len(event.text)} characters is not told to others"
            raise PeerError(Fault("HX7004", reason, hint=f"at most {TEXT_LIMIT}"))
        async with self._telling:  # events count in the order in which they are told
            await self._prepare(event)
            consequences = self._apply(event)
        await self._finish(consequences)

    def tell_soon(self, event: Event) -> None:
        """Hand in what happens at this peer, without waiting."""
        self._finish_later(self._apply(event))

    # -- acquaintances -----------------------------------------------------------------------------------------------

    def acquaint(self, peers: Collection[PeerId]) -> None:
        """Have links to these acquaintances from now on, and to nobody else; also before :meth:`serving`."""
        for peer in tuple(self._neighbours):
            if peer not in peers:
                self._leave(peer)
        for peer in peers:
            if peer not in self._neighbours:
                self._neighbours[peer] = _Neighbour()
                self._supervise(peer)

    def gained(self, peer: PeerId) -> None:
        """A connection to a peer stands."""
        if peer in self._neighbours:
            self._neighbours[peer].gained.set()

    @property
    def outdated(self) -> tuple[PeerId, ...]:
        """The acquaintances that speak only the protocol of before feeds were signed."""
        return tuple(peer for peer, neighbour in self._neighbours.items() if neighbour.is_outdated)

    def linked(self, peer: PeerId) -> bool:
        """Whether there is a link to a peer."""
        return peer in self._neighbours and self._neighbours[peer].link is not None

    def _supervise(self, peer: PeerId) -> None:
        if self._nursery is not None and self._opens(peer):
            self._nursery.start_soon(self._kept, peer, self._neighbours[peer])

    def _opens(self, peer: PeerId) -> bool:
        return self._transport.peer < peer

    def _leave(self, peer: PeerId) -> None:
        neighbour = self._neighbours[peer]
        neighbour.scope.cancel()
        if neighbour.link is not None:
            self._down(neighbour.link)
        del self._neighbours[peer]

    # -- links -------------------------------------------------------------------------------------------------------

    async def _kept(self, peer: PeerId, neighbour: _Neighbour) -> None:
        with neighbour.scope:
            await supervised_for_one("link", partial(self._keep, peer, neighbour))

    async def _keep(self, peer: PeerId, neighbour: _Neighbour) -> None:
        """Open a link again and again."""
        while True:
            await self._connected(peer, neighbour)
            neighbour.began = trio.current_time()
            try:
                stream = await self._transport.open_feed(peer)
            except PeerError as error:
                _log.info("there is no link to %s: %s", peer, error)
                await self._look_for_old(peer, neighbour)
            else:
                await self._use(stream, neighbour)
            neighbour.back_off()

    async def _look_for_old(self, peer: PeerId, neighbour: _Neighbour) -> None:
        """Find out whether a neighbour takes part in feeds, and speaks another protocol."""
        if not neighbour.is_looked_at:
            neighbour.is_looked_at = True
            with suppress(PeerError):
                await self._transport.call(peer, OLD_FEED, b"")
                self._is_outdated(peer)

    async def refuse(self, peer: PeerId, message: bytes) -> bytes:  # noqa: ARG002
        """Refuse a link of the protocol of before feeds were signed; raises :class:`PeerError` (HX7003)."""
        self._is_outdated(peer)
        raise PeerError(Fault("HX7003", f"{OLD_FEED} is not spoken", hint=f"this peer speaks {FEED}"))

    def _is_outdated(self, peer: PeerId) -> None:
        neighbour = self._neighbours.get(peer)
        if neighbour is not None and not neighbour.is_outdated:
            neighbour.is_outdated = True
            why = f"it speaks {OLD_FEED}, which is not signed; this peer speaks {FEED}"
            self._work.note("link refused", {"neighbour": peer, "why": why})

    async def _connected(self, peer: PeerId, neighbour: _Neighbour) -> None:
        """Wait until a link may be opened."""
        await trio.sleep_until(neighbour.pause_until)
        while not self._transport.connected(peer):
            neighbour.gained = trio.Event()
            with trio.move_on_after(LOOK):
                await neighbour.gained.wait()

    async def take(self, stream: ByteMessages) -> None:
        """Use an inbound stream as the link to its neighbour, for as long as it lasts; it is left if it may be none."""
        peer = stream.neighbour
        neighbour = self._neighbours.get(peer)
        if self._nursery is None or neighbour is None or self._opens(peer):
            return
        if trio.current_time() >= neighbour.pause_until:
            await self._use(stream, neighbour)

    async def _use(self, stream: ByteMessages, neighbour: _Neighbour) -> None:
        """Read a link until it ends; it takes the place of the one before."""
        peer = stream.neighbour
        if neighbour is not self._neighbours.get(peer):
            stream.abort()
            return
        if neighbour.link is not None:
            self._down(neighbour.link)
        neighbour.link, neighbour.began = stream, trio.current_time()
        neighbour.is_outdated = neighbour.is_looked_at = False
        try:
            await self._step(LinkUp(peer))
            await self._read(stream)
        except PeerError as error:
            if self._is_link(stream):
                _log.info("the link to %s has ended: %s", peer, error)
                if any(fault.code != "HX7011" for fault in error.faults):
                    neighbour.back_off()
                    self._work.note("link broken", {"neighbour": peer, "reason": str(error)})
        except Exception:
            note_failure("link")
            neighbour.back_off()
        finally:
            stream.abort()
            self._down(stream)

    def _is_link(self, stream: ByteMessages) -> bool:
        neighbour = self._neighbours.get(stream.neighbour)
        return neighbour is not None and neighbour.link is stream

    def _down(self, stream: ByteMessages) -> None:
        """Let a link be none any more, if it is one."""
        if self._is_link(stream):
            self._neighbours[stream.neighbour].link = None
            stream.abort()
            self._finish_later(self._apply(LinkDown(stream.neighbour)))

    async def _read(self, stream: ByteMessages) -> None:
        """Hand in what comes on a link; raises :class:`PeerError` when nothing does any more."""
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
            if not self._is_link(stream):
                return
            if event is not None:
                await self._step(event)

    async def _decoded(self, decoder: FeedDecoder, data: bytes) -> Message | None:
        if len(data) <= SHORT:
            message = decoder.take(data)
        else:
            message = await trio.to_thread.run_sync(decoder.take, data, limiter=self._threads)
        if isinstance(message, Publish | Replay):
            await trio.to_thread.run_sync(self._gate.check, message, self._transport.peer, limiter=self._threads)
        elif message is not None:
            self._gate.check(message, self._transport.peer)
        return message

    async def _prepare(self, event: Event) -> None:
        """Have the router do in a thread what is costly about an event."""
        if _is_costly(event):
            await trio.to_thread.run_sync(self._router.prepare, event, limiter=self._threads)

    # -- events in, instructions out ---------------------------------------------------------------------------------

    async def _step(self, event: Event) -> None:
        """Take in an event that others have brought about, and wait until its consequences have been taken."""
        await self._finish(self._apply(event), TRANSIT)

    async def _finish(self, consequences: _Consequences, most: int | None = None) -> None:
        """Wait until no more than ``most`` bytes wait for each neighbour (``TransportLimits.outbox`` unless given)."""
        while True:
            for link in consequences.links:
                await link.settle(most)
            if consequences.stores:
                await self._storing.settle()
            if not consequences.fetches:
                return
            wanted = consequences.fetches.popleft()
            more = self._apply(await self._fetch(wanted))
            more.fetches.extendleft(reversed(consequences.fetches))
            consequences = more

    def _finish_later(self, consequences: _Consequences) -> None:
        """Leave what takes time to another task: whoever has brought the event must not wait for anybody."""
        if consequences.fetches and self._nursery is not None:
            self._nursery.start_soon(contained, "consequences", partial(self._finish, consequences, TRANSIT))

    def _apply(self, event: Event) -> _Consequences:
        """Carry out what an event asks for, without waiting: so all that is posted stays in order."""
        consequences = _Consequences()
        encoded = _Encoded()
        for instruction in self._router.handle(event, trio.current_time()):
            self._carry_out(instruction, consequences, encoded)
        return consequences

    def _carry_out(self, instruction: Instruction, consequences: _Consequences, encoded: _Encoded) -> None:
        match instruction:
            case Send():
                self._send(instruction, consequences, encoded)
            case Store() | Keep() | KeepDistrusted():
                self._storing.put(instruction)
                consequences.stores = True
            case Translate():
                self._work.translate(instruction)
            case Fetch() | Record():
                consequences.fetches.append(instruction)
            case Break():
                self._break(instruction)
            case Wake():
                self._timer.wake(instruction.at)
            case Note():
                self._work.note(instruction.event, instruction.fields)

    def _send(self, instruction: Send, consequences: _Consequences, encoded: _Encoded) -> None:
        neighbour = self._neighbours.get(instruction.neighbour)
        if neighbour is None or neighbour.link is None:
            return
        try:
            for data in encoded.of(self._gate.seal(instruction.message, instruction.neighbour)):
                neighbour.link.post(data)
        except PeerError:
            # Nothing may be missing among what is said on a link: without this message there is none.
            _log.exception("what %s is to be told cannot be said", instruction.neighbour)
            neighbour.link.abort()
        consequences.links.add(neighbour.link)

    def _break(self, instruction: Break) -> None:
        neighbour = self._neighbours.get(instruction.neighbour)
        if neighbour is not None and neighbour.link is not None:
            _log.info("the link to %s is broken: %s", instruction.neighbour, instruction.reason)
            link, neighbour.link = neighbour.link, None
            link.abort()
            neighbour.back_off()

    # -- the work ----------------------------------------------------------------------------------------------------

    async def _tick(self) -> None:
        while True:
            await self._timer.due()
            self._finish_later(self._apply(Tick()))

    async def _store_all(self) -> None:
        """Store documents and keep positions, one after the other."""
        while True:
            instruction = await self._storing.take()
            try:
                match instruction:
                    case Store():
                        self._finish_later(self._apply(await self._store(instruction)))
                    case Keep(reached):
                        # Else documents that have come will come again after the next start, no more than that.
                        what = f"how far the feed of {reached.publisher} has come"
                        await self._keep_on_disk(partial(self._work.keep, reached), what)
                    case KeepDistrusted(neighbour):
                        what = f"what is held against {neighbour}"
                        await self._keep_on_disk(partial(self._work.keep_distrusted, instruction), what)
            finally:
                self._storing.done(instruction)

    async def _store(self, instruction: Store) -> Stored | NotStored:
        document = instruction.document
        place, own = (document.publisher, document.feed, document.sequence), instruction.own
        try:
            await trio.to_thread.run_sync(partial(self._work.store, document, instruction.number, own=own))
        except HeptoxError as error:
            return NotStored(*place, str(error), own)
        except Exception as error:
            _log.exception("%s of %s was not stored", document.name, document.publisher)
            return NotStored(*place, f"it was not stored: {error}", own)
        return Stored(*place, own)

    async def _keep_on_disk(self, work: Callable[[], None], what: str) -> None:
        try:
            await trio.to_thread.run_sync(work)
        except HeptoxError as error:
            _log.warning("it is not kept %s: %s", what, error)

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


class _Neighbour:
    """An acquaintance with which there is a ``link``, or may be one again after ``pause_until``; the last one, or the
    last attempt at one, ``began`` then."""

    def __init__(self) -> None:
        self.link: ByteMessages | None = None
        self.gained = trio.Event()
        self.scope = trio.CancelScope()
        self.began = 0.0
        self.pause_until = 0.0
        self.is_outdated = False
        self.is_looked_at = False
        self._retry = Retry(FIRST_PAUSE, LONGEST_PAUSE, spread=0)  # as the protocol says

    def back_off(self) -> None:
        """Wait a while before the next link."""
        now = trio.current_time()
        if now < self.pause_until:
            return
        self.pause_until = now + self._retry.pause(now - self.began)


class _Consequences:
    """What is to be waited for after an event: neighbours that were told something, the store, the feed log."""

    def __init__(self) -> None:
        self.links: set[ByteMessages] = set()
        self.stores = False
        self.fetches: deque[Fetch | Record] = deque()


class _Encoded:
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


class _Storing:
    """What waits to be stored, in order."""

    def __init__(self) -> None:
        self._instructions: deque[Store | Keep | KeepDistrusted] = deque()
        self._waiting = 0
        self._came = trio.Event()
        self._moved = trio.Event()

    def put(self, instruction: Store | Keep | KeepDistrusted) -> None:
        self._instructions.append(instruction)
        self._waiting += _cost(instruction)
        self._came.set()

    async def take(self) -> Store | Keep | KeepDistrusted:
        """The next one; it waits until it is :meth:`done`."""
        while not self._instructions:
            self._came = trio.Event()
            await self._came.wait()
        return self._instructions.popleft()

    def done(self, instruction: Store | Keep | KeepDistrusted) -> None:
        self._waiting -= _cost(instruction)
        self._moved.set()
        self._moved = trio.Event()

    async def settle(self) -> None:
        """Wait until no more than :data:`STORING` bytes wait."""
        while self._waiting > STORING:
            await self._moved.wait()


def _cost(instruction: Store | Keep | KeepDistrusted) -> int:
    return STORING_COST + (len(instruction.document.data) if isinstance(instruction, Store) else 0)

"""The peer's decisions carried out: a :class:`PeerState` over a :class:`Transport`, with trio tasks for the work.

The daemon supplies the work (:class:`Work`: translation, evaluation) and the addresses; everything about queries is
here. The task that brings an event waits until its consequences have been taken: so a slow asker slows every sender
down to the evaluations, and nothing piles up in between.
"""

from __future__ import annotations

import logging
import secrets
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Final, Protocol

import trio

from heptox.errors import Fault, HeptoxError, PeerError
from heptox.peer.feed.feeding import Feeding
from heptox.peer.process.machine import MachineLoop
from heptox.peer.process.supervision import contained, supervised
from heptox.peer.query.arrivals import encoded_ending
from heptox.peer.query.events import (
    Acquainted,
    Arrived,
    Ask,
    Asked,
    Cancelled,
    Completed,
    Conclude,
    Deliver,
    Evaluate,
    Evaluated,
    Event,
    Exchange,
    Failed,
    Hidden,
    Instruction,
    Lost,
    Neighbour,
    Received,
    Send,
    Stop,
    Task,
    Tick,
    Translate,
    Translated,
    Untranslated,
    Wake,
)
from heptox.peer.query.state import PeerState
from heptox.peer.query.witness import Witness
from heptox.peer.record.logs import named
from heptox.peer.wire.messages import (
    ITEM_COST,
    Answers,
    Body,
    Cancel,
    End,
    Error,
    HopPath,
    PeerId,
    Query,
    Status,
    encode,
)
from heptox.peer.wire.transport import Calls, LossHandler, Stream, Transport
from heptox.printable import printable

_log = logging.getLogger(__name__)

SILENCE: Final = 10.0
"""Seconds that a neighbour may take for the first message on a stream."""
AT_ONCE: Final = 256
"""Items, or lines and losses of a receipt, that the loop looks at in one step; our messages have no more items."""
DELIVERY: Final = 256 * 1024
"""Characters of items that may wait for the own user, with :data:`ITEM_COST` for each."""

_GARBAGE: Final = frozenset({"HX7002", "HX7003", "HX7004"})


class Work(Protocol):
    """What a peer does itself for a query. All of it may be cancelled at any time (the deadline, a cancel)."""

    async def translate(
        self, query: str, path: HopPath, neighbour: PeerId, body: Body, task: str
    ) -> Translated | Untranslated:
        """The query, which came along ``path``, for a neighbour's schema; ``task`` goes into the result. A raised
        HeptoxError becomes ``FAILED``."""
        ...

    def evaluate(
        self, query: str, body: Body, path: HopPath, budget: int, hidden: frozenset[str]
    ) -> AsyncGenerator[tuple[str, ...], None]:
        """Batches of items of the own documents without what is hidden. A raised HeptoxError becomes the reason of a
        failed line.

        It is not asked for the next batch before the receivers have taken the last one. ``budget`` is how many bytes of
        items are wanted, and about how many it may hold at a time.
        """
        ...

    async def losses(self, body: Body, path: HopPath, hidden: frozenset[str]) -> tuple[str, ...]:
        """What a query asks for of the paths that are hidden, whatever the documents hold."""
        ...

    def admit(self, neighbour: PeerId) -> None:
        """Raise :class:`PeerError` where nothing is done for a neighbour now, before its query is read."""
        ...

    def addresses(self, neighbour: PeerId) -> tuple[str, ...]:
        """The multiaddresses where a neighbour is to be dialled."""
        ...


class Runner:
    """One peer at work: inbound queries are answered, own queries asked; ``witness`` hears of it."""

    def __init__(self, state: PeerState, transport: Transport, work: Work, witness: Witness | None = None) -> None:
        self.witness = witness or Witness()
        self.state = state
        self.transport = transport
        self.work = work
        self._streams: dict[Exchange, Stream] = {}
        self._scopes: dict[Task | Exchange, trio.CancelScope] = {}
        self._own: dict[str, _Delivery] = {}
        self._machine = MachineLoop[Event, Instruction, list[Stream | _Delivery]](state, self._perform, list, Tick())
        self._nursery: trio.Nursery | None = None
        self._exchange_names = (f"in-{number}" for number in count(1))

    @asynccontextmanager
    async def serving(
        self, on_loss: LossHandler | None = None, calls: Calls | None = None, feeding: Feeding | None = None
    ) -> AsyncIterator[None]:
        """Serve while the context is open, ``feeding`` with its streams too; raises what :meth:`Transport.serving`
        raises."""
        witness = self.witness

        def gained(peer: PeerId) -> None:
            witness.connected(peer)
            if feeding is not None:
                feeding.links.gained(peer)

        def lost(peer: PeerId) -> None:
            witness.disconnected(peer)
            if on_loss is not None:
                on_loss(peer)

        on_feed = None if feeding is None else feeding.links.take
        network = self.transport.serving(
            self._serve, lost, calls, gained, witness.denied, on_feed, self.state.admission
        )
        async with network, trio.open_nursery() as nursery:
            self._nursery = nursery
            nursery.start_soon(supervised, "clock of queries", self._machine.keep_time)
            nursery.start_soon(supervised, "books", witness.run)
            try:
                yield
            finally:
                for query in tuple(self._own):
                    self._machine.apply(Cancelled(query))
                self._nursery = None
                nursery.cancel_scope.cancel()

    def acquaint(
        self, neighbours: tuple[Neighbour, ...], strangers: bool = False, hidden: Hidden | None = None
    ) -> None:
        """These are the acquaintances from now on, whether strangers may ask too, and what is hidden from whom; also
        before :meth:`serving`."""
        self._machine.apply(Acquainted(neighbours, strangers, hidden or Hidden()))

    async def ask(
        self,
        body: Body,
        text: str,
        *,
        hops: int,
        seconds: float,
        budget: int,
        explain: bool = False,
        query: str | None = None,
    ) -> AsyncGenerator[Deliver | Conclude, None]:
        """Ask the network: batches of items as they come, the receipt (:class:`Conclude`) last, always.

        Use it as ``async with aclosing(runner.ask(...)) as parts``: leaving early cancels the query everywhere.
        ``query`` is a new random id when not given. Raises :class:`PeerError` (HX7020, HX7021).
        """
        query = query or secrets.token_hex(16)
        if self._nursery is None:
            raise RuntimeError("the peer is not serving")
        if query in self._own:
            raise PeerError(Fault("HX7020", f"the query {query} is under way"))
        delivery = self._own[query] = _Delivery()
        try:
            self._machine.apply(Asked(query, body, text, hops, seconds, budget, explain))
            while True:
                part = await delivery.take()
                yield part
                if isinstance(part, Conclude):
                    return
        finally:
            self._machine.apply(Cancelled(query))
            delivery.close()
            del self._own[query]

    def cancel(self, query: str) -> bool:
        """End a query of the own user: its receipt comes with what is there; whether there was one."""
        if query not in self._own:
            return False
        self._machine.apply(Cancelled(query))
        return True

    # -- events in, instructions out ---------------------------------------------------------------------------------

    async def _step(self, event: Event) -> None:
        """Take in an event, do what it asks for, and wait until there is room for more of the kind."""
        for full in self._machine.apply(event):
            await full.settle()

    def _perform(self, instruction: Instruction, touched: list[Stream | _Delivery]) -> Event | None:
        match instruction:
            case Translate():
                self._start(instruction.task, partial(self._translate, instruction))
            case Evaluate():
                self._start(instruction.task, partial(self._evaluate, instruction))
            case Ask():
                self.witness.asking(instruction.exchange, instruction.neighbour, instruction.message)
                self._start(instruction.exchange, partial(self._ask, instruction))
            case Send():
                return self._send(instruction, touched)
            case Deliver():
                delivery = self._own.get(instruction.query)
                if delivery is not None:
                    delivery.put(instruction)
                    touched.append(delivery)
            case Conclude():
                delivery = self._own.get(instruction.receipt.query)
                if delivery is not None:
                    delivery.put(instruction)
            case Wake():
                self._machine.wake(instruction.at)
            case Stop():
                self._cancel(instruction.task)
        return None

    def _send(self, instruction: Send, touched: list[Stream | _Delivery]) -> Event | None:
        exchange, message = instruction.exchange, instruction.message
        stream = self._streams.get(exchange)
        if stream is None:  # it is not open yet: then nobody needs to hear that it is not wanted
            self.witness.sent(exchange, message)
            self._cancel(exchange)
            return None
        touched.append(stream)
        if isinstance(message, End | Error | Cancel):
            del self._streams[exchange]
        if isinstance(message, End | Error):
            self._start(exchange, partial(self._end, exchange, stream, message))
            return None
        self.witness.sent(exchange, message)
        try:
            stream.post(message)
        except PeerError as error:
            self._streams.pop(exchange, None)
            stream.abort()
            lost = Lost(exchange, str(error), Status.FAILED)
            self.witness.lost(exchange, lost)
            return lost
        return None

    async def _end(self, exchange: Exchange, stream: Stream, message: End | Error) -> None:
        """Say the last to an asker, once it is in the books; nothing else is said on the stream meanwhile."""
        message, data = await _encoded(message)
        try:
            await self.witness.ended(exchange, message)
        except PeerError as error:
            message, data = await _encoded(_failure(message.query, error))
        try:
            stream.post(message, data)
        except PeerError:
            stream.abort()

    # -- the work ----------------------------------------------------------------------------------------------------

    def _start(self, name: Task | Exchange, work: Callable[[], Awaitable[None]]) -> None:
        if self._nursery is not None:
            self._scopes[name] = trio.CancelScope()
            self._nursery.start_soon(self._cancellable, name, work)

    async def _cancellable(self, name: Task | Exchange, work: Callable[[], Awaitable[None]]) -> None:
        with self._scopes[name]:
            whole = await contained("query", work)
            stream = None if whole else self._streams.pop(name, None)
            if stream is not None:
                stream.abort()
        del self._scopes[name]

    def _cancel(self, name: Task | Exchange) -> None:
        scope = self._scopes.get(name)
        if scope is not None:
            scope.cancel()

    async def _translate(self, instruction: Translate) -> None:
        task, began = instruction.task, trio.current_time()
        event: Translated | Untranslated
        try:
            event = await self.work.translate(
                instruction.query, instruction.path, instruction.neighbour, instruction.body, task
            )
        except HeptoxError as error:
            event = Untranslated(task, Status.FAILED, reason=str(error))
        except Exception as error:
            _log.exception("%s was not translated", named(instruction.query))
            event = Untranslated(task, Status.FAILED, reason=f"the translation failed: {error}")
        self.witness.translated(instruction.query, instruction.neighbour, event, trio.current_time() - began)
        await self._step(event)

    async def _evaluate(self, instruction: Evaluate) -> None:
        task, body, hidden = instruction.task, instruction.body, instruction.hidden
        watch = _StopWatch()
        event: Completed | Failed
        reason: str | None = "it was stopped"
        try:
            event = Completed(task, await self.work.losses(body, instruction.path, hidden) if hidden else ())
            work = self.work.evaluate(instruction.query, body, instruction.path, instruction.budget, hidden)
            async with aclosing(work) as batches:
                async for items in batches:
                    watch.stop(len(items))
                    await self._step(Evaluated(task, items))
                    watch.start()
            reason = None
        except HeptoxError as error:
            event = Failed(task, reason := str(error))
        except Exception as error:
            _log.exception("%s was not evaluated", named(instruction.query))
            event = Failed(task, reason := f"the evaluation failed: {error}")
        finally:
            watch.stop(0)
            self.witness.evaluated(instruction.query, watch.items, reason, watch.seconds)
        await self._step(event)

    async def _ask(self, instruction: Ask) -> None:
        exchange, neighbour = instruction.exchange, instruction.neighbour
        try:
            await self.transport.dial(neighbour, self.work.addresses(neighbour))
            stream = await self.transport.open(neighbour)
        except PeerError as error:
            await self._lose(Lost(exchange, str(error)))
            return
        try:
            stream.post(instruction.message)
        except PeerError as error:
            stream.abort()
            await self._lose(Lost(exchange, str(error), Status.FAILED))
            return
        self._streams[exchange] = stream
        await self._read(exchange, stream)

    async def _serve(self, stream: Stream) -> None:
        with trio.move_on_after(SILENCE) as silence:
            message = await stream.receive()
        if silence.cancelled_caught or not isinstance(message, Query):
            return
        exchange, neighbour = next(self._exchange_names), stream.neighbour
        error = self.state.refusal(neighbour, message) or _excess(self.work, neighbour, message)
        if error is None:
            try:
                await self.witness.asked(exchange, neighbour, message)
            except PeerError as failure:
                error = _failure(message.query, failure)
        if error is not None:
            self.witness.refused(neighbour, message, error)
            stream.post(error)
            return
        self._streams[exchange] = stream
        await self._step(Arrived(exchange, neighbour, message))
        await self._read(exchange, stream)

    async def _read(self, exchange: Exchange, stream: Stream) -> None:
        """Hand in what comes on a stream until it ends."""
        while True:
            try:
                message = await stream.receive()
            except PeerError as error:
                if self._streams.pop(exchange, None) is not None:
                    stream.abort()
                    garbage = any(fault.code in _GARBAGE for fault in error.faults)
                    await self._lose(Lost(exchange, str(error), Status.FAILED if garbage else Status.UNREACHABLE))
                return
            if exchange not in self._streams:
                return
            if not isinstance(message, Answers | End | Error | Cancel):
                del self._streams[exchange]
                stream.abort()
                await self._lose(Lost(exchange, "a message came that is not expected here", Status.FAILED))
                return
            self.witness.received(exchange, message)
            if isinstance(message, Answers):
                await self._take(exchange, message)
                continue
            last = message
            if isinstance(message, End):
                last = await trio.to_thread.run_sync(self.state.verified, exchange, message)
            if self._streams.pop(exchange, None) is not None:
                await self._step(Received(exchange, last))

    async def _take(self, exchange: Exchange, message: Answers) -> None:
        """Hand in items, a few at a time where they are many: others are served in between."""
        await self._step(Received(exchange, replace(message, items=message.items[:AT_ONCE])))
        for first in range(AT_ONCE, len(message.items), AT_ONCE):
            await trio.lowlevel.checkpoint()
            if exchange not in self._streams:
                return
            await self._step(Received(exchange, replace(message, items=message.items[first : first + AT_ONCE])))

    async def _lose(self, event: Lost) -> None:
        self.witness.lost(event.exchange, event)
        await self._step(event)


class _StopWatch:
    """A stop watch for work that comes in parts."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.items = 0
        self._since: float | None = None
        self.start()

    def start(self) -> None:
        self._since = trio.current_time()

    def stop(self, items: int) -> None:
        if self._since is not None:
            self.seconds += trio.current_time() - self._since
        self._since = None
        self.items += items


async def _encoded(ending: End | Error) -> tuple[End | Error, bytes]:
    """What is said last, and how that is sent; a receipt that is long is seen to beside the event loop."""
    if isinstance(ending, Error):
        return ending, encode(ending)
    is_long = sum(1 + len(line.losses) for line in ending.receipt) > AT_ONCE
    return await trio.to_thread.run_sync(encoded_ending, ending) if is_long else encoded_ending(ending)


def _excess(work: Work, neighbour: PeerId, query: Query) -> Error | None:
    """Why a neighbour is not answered, where it asks for too much."""
    try:
        work.admit(neighbour)
    except PeerError as error:
        return Error(query.query, Status.FAILED, printable(error.summary))
    return None


def _failure(query: str, error: PeerError) -> Error:
    return Error(query, Status.FAILED, printable(error.reason))


class _Delivery:
    """What waits for the own user."""

    def __init__(self) -> None:
        self._parts: deque[Deliver | Conclude] = deque()
        self._waiting = 0
        self._came = trio.Event()
        self._taken = trio.Event()

    def put(self, part: Deliver | Conclude) -> None:
        self._parts.append(part)
        self._waiting += _characters(part)
        self._came.set()

    async def take(self) -> Deliver | Conclude:
        while not self._parts:
            self._came = trio.Event()
            await self._came.wait()
        part = self._parts.popleft()
        self._waiting -= _characters(part)
        self._taken.set()
        self._taken = trio.Event()
        return part

    def close(self) -> None:
        """Nobody takes anything any more."""
        self._waiting = 0
        self._taken.set()

    async def settle(self) -> None:
        while self._waiting > DELIVERY:
            await self._taken.wait()


def _characters(part: Deliver | Conclude) -> int:
    return sum(len(item) + ITEM_COST for item in (*part.items, *part.repeated)) if isinstance(part, Deliver) else 0

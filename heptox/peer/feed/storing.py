"""What a router of feeds wants to have on the disk: documents for subscriptions, and how far this peer is."""

from __future__ import annotations

import logging
import math
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, Protocol, TypeAlias

import trio

from heptox.errors import HeptoxError
from heptox.feed import Event, FeedDocument, Keep, KeepDistrusted, NotStored, PeerId, Reached, Store, Stored
from heptox.peer.query.budgets import Budgets

STORING: Final = 8 * 1024 * 1024
"""Bytes of the documents of a neighbour that may wait to be stored, with :data:`STORING_COST` for each."""
STORING_COST: Final = 1024
LOOK: Final = 1.0
"""Seconds after which it is looked whether a neighbour that has used up its budget has some of it again."""

Storing: TypeAlias = Store | Keep | KeepDistrusted

_log = logging.getLogger(__name__)


class FeedStore(Protocol):
    """The disk of a peer, for feeds. All of it is called in worker threads."""

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


class StoreQueue:
    """What waits to be stored, that of each publisher in order. First comes whose neighbour has cost least lately, so
    that documents which take long to judge keep no more than one of them before those of others; publishers behind one
    neighbour take turns.

    ``way`` tells the path from a neighbour to a publisher; a neighbour's documents have ``seconds`` of the processor in
    a minute, and wait where they are used up. ``report`` takes how each has ended.
    """

    def __init__(
        self,
        store: FeedStore,
        report: Callable[[Event], None],
        way: Callable[[PeerId], tuple[PeerId, ...]],
        seconds: float = math.inf,
    ) -> None:
        self._store = store
        self._report = report
        self._way = way
        self._budgets = Budgets(seconds, lambda _: True)
        self._instructions: dict[PeerId, deque[Storing]] = {}
        self._neighbours: dict[PeerId, PeerId] = {}
        self._waiting: Counter[PeerId] = Counter()
        self._came = trio.Event()
        self._moved = trio.Event()

    def put(self, instruction: Storing) -> PeerId:
        """Store this behind all of its publisher that waits; the neighbour whose it is."""
        publisher = _whose(instruction)
        if publisher not in self._instructions:
            self._instructions[publisher] = deque()
            self._neighbours[publisher] = (*self._way(publisher), publisher)[0]
        self._instructions[publisher].append(instruction)
        neighbour = self._neighbours[publisher]
        self._waiting[neighbour] += _cost(instruction)
        self._came.set()
        return neighbour

    async def settle(self, neighbours: Iterable[PeerId]) -> None:
        """Wait until no more than :data:`STORING` bytes of each of some neighbours wait."""
        for neighbour in neighbours:
            while self._waiting[neighbour] > STORING:
                await self._moved.wait()

    async def run(self) -> None:
        """Store one after the other."""
        while True:
            publisher = await self._next()
            waiting = self._instructions[publisher]
            neighbour = self._neighbours[publisher]
            instruction = waiting.popleft()
            try:
                await self._perform(instruction, neighbour)
            finally:
                del self._instructions[publisher]
                if waiting:
                    self._instructions[publisher] = waiting
                else:
                    del self._neighbours[publisher]
                self._waiting[neighbour] -= _cost(instruction)
                self._waiting += Counter()  # forgets those of which nothing waits
                self._moved.set()
                self._moved = trio.Event()

    async def _next(self) -> PeerId:
        """Whose turn it is, when there is something to do."""
        while True:
            self._came = trio.Event()
            now = time.monotonic()
            budgets = {publisher: self._budgets.of(self._neighbours[publisher]) for publisher in self._instructions}
            publisher = max(budgets, key=lambda one: budgets[one].left(now), default=None)
            if publisher is not None and not budgets[publisher].is_used_up(now):
                return publisher
            with trio.move_on_after(LOOK if budgets else math.inf):
                await self._came.wait()

    async def _perform(self, instruction: Storing, neighbour: PeerId) -> None:
        match instruction:
            case Store():
                self._report(await self._stored(instruction, neighbour))
            case Keep(reached):
                # Else documents that have come will come again after the next start, no more than that.
                what = f"how far the feed of {reached.publisher} has come"
                await self._keep(partial(self._store.keep, reached), what)
            case KeepDistrusted(neighbour):
                await self._keep(partial(self._store.keep_distrusted, instruction), f"what is held against {neighbour}")

    async def _stored(self, instruction: Store, neighbour: PeerId) -> Stored | NotStored:
        document, own = instruction.document, instruction.own
        position = (document.publisher, document.feed, document.sequence)

        def work() -> None:
            began = time.thread_time()
            try:
                self._store.store(document, instruction.number, own=own)
            finally:
                self._budgets.of(neighbour).spend(time.thread_time() - began, time.monotonic())

        try:
            await trio.to_thread.run_sync(work)
        except HeptoxError as error:
            return NotStored(*position, str(error), own)
        except Exception as error:
            _log.exception("%s of %s was not stored", document.name, document.publisher)
            return NotStored(*position, f"it was not stored: {error}", own)
        return Stored(*position, own)

    async def _keep(self, work: Callable[[], None], what: str) -> None:
        try:
            await trio.to_thread.run_sync(work)
        except HeptoxError as error:
            _log.warning("it is not kept %s: %s", what, error)


def _whose(instruction: Storing) -> str:
    match instruction:
        case Store(document):
            return document.publisher
        case Keep(reached):
            return reached.publisher
        case KeepDistrusted(neighbour):
            return neighbour


def _cost(instruction: Storing) -> int:
    return STORING_COST + (len(instruction.document.data) if isinstance(instruction, Store) else 0)

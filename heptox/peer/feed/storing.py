"""What a router of feeds wants to have on the disk: documents for subscriptions, and how far this peer is."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol, TypeAlias

import trio

from heptox.errors import HeptoxError
from heptox.feed import Event, FeedDocument, Keep, KeepDistrusted, NotStored, Reached, Store, Stored

STORING: Final = 8 * 1024 * 1024
"""Bytes of documents that may wait to be stored, with :data:`STORING_COST` for each."""
STORING_COST: Final = 1024

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
    """What waits to be stored, that of each publisher in order, the publishers in turn: a document that takes long to
    judge keeps no more than one of each other waiting. ``report`` takes how that has ended.
    """

    def __init__(self, store: FeedStore, report: Callable[[Event], None]) -> None:
        self._store = store
        self._report = report
        self._instructions: dict[str, deque[Storing]] = {}
        self._waiting = 0
        self._came = trio.Event()
        self._moved = trio.Event()

    def put(self, instruction: Storing) -> None:
        """Store this behind all that waits."""
        self._instructions.setdefault(_whose(instruction), deque()).append(instruction)
        self._waiting += _cost(instruction)
        self._came.set()

    async def settle(self) -> None:
        """Wait until no more than :data:`STORING` bytes wait."""
        while self._waiting > STORING:
            await self._moved.wait()

    async def run(self) -> None:
        """Store one after the other."""
        while True:
            while not self._instructions:
                self._came = trio.Event()
                await self._came.wait()
            publisher, waiting = next(iter(self._instructions.items()))
            instruction = waiting.popleft()
            try:
                await self._perform(instruction)
            finally:
                del self._instructions[publisher]
                if waiting:
                    self._instructions[publisher] = waiting
                self._waiting -= _cost(instruction)
                self._moved.set()
                self._moved = trio.Event()

    async def _perform(self, instruction: Storing) -> None:
        match instruction:
            case Store():
                self._report(await self._stored(instruction))
            case Keep(reached):
                # Else documents that have come will come again after the next start, no more than that.
                what = f"how far the feed of {reached.publisher} has come"
                await self._keep(partial(self._store.keep, reached), what)
            case KeepDistrusted(neighbour):
                await self._keep(partial(self._store.keep_distrusted, instruction), f"what is held against {neighbour}")

    async def _stored(self, instruction: Store) -> Stored | NotStored:
        document, own = instruction.document, instruction.own
        position = (document.publisher, document.feed, document.sequence)
        try:
            await trio.to_thread.run_sync(partial(self._store.store, document, instruction.number, own=own))
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

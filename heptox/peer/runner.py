"""The peer's decisions carried out: a :class:`PeerState` over a :class:`Transport`, with trio tasks for the work.

The daemon supplies the work (:class:`Work`: translation, evaluation) and the addresses; everything about queries is
here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import trio

from heptox.peer.events import Conclude, Deliver, Neighbour, Translated, Untranslated
from heptox.peer.messages import Body, HopPath, PeerId
from heptox.peer.state import PeerState
from heptox.peer.transport import Transport


class Work(Protocol):
    """What a peer does itself for a query. All methods may be cancelled at any time (the deadline, a cancel)."""

    async def translate(self, query: str, neighbour: PeerId, body: Body, task: str) -> Translated | Untranslated:
        """The query for a neighbour's schema; ``task`` goes into the result. A raised HeptoxError becomes
        ``FAILED``."""
        ...

    def evaluate(self, query: str, body: Body, path: HopPath) -> AsyncIterator[tuple[str, ...]]:
        """Batches of items of the own documents. A raised HeptoxError becomes the reason of a failed line.

        An asynchronous generator: it is not asked for the next batch before the receivers have taken the last one.
        """
        ...

    def addresses(self, neighbour: PeerId) -> tuple[str, ...]:
        """Where a neighbour is to be dialled."""
        ...


class Runner:
    """One peer at work: inbound queries are answered, own queries asked.

    ``async with runner.serving(): async for part in runner.ask(...)``
    """

    def __init__(
        self, state: PeerState, transport: Transport, work: Work, clock: Callable[[], float] = trio.current_time
    ) -> None:
        self.state = state
        self.transport = transport
        self.work = work
        self.clock = clock

    def serving(self) -> AbstractAsyncContextManager[None]:
        """Serve while the context is open."""
        raise NotImplementedError

    def acquaint(self, neighbours: tuple[Neighbour, ...], strangers: bool = False) -> None:
        """These are the acquaintances from now on, and whether strangers may ask too; also before
        :meth:`serving`."""
        raise NotImplementedError

    def ask(
        self,
        body: Body,
        text: str,
        *,
        hops: int,
        seconds: float,
        budget: int,
        explain: bool = False,
        query: str | None = None,
    ) -> AsyncIterator[Deliver | Conclude]:
        """Ask the network: batches of items as they come, the receipt (:class:`Conclude`) last, always.

        Use it as ``async with aclosing(runner.ask(...)) as parts``: leaving early cancels the query everywhere.
        ``query`` is a new random id when not given. Raises :class:`PeerError` (HX7020, HX7021).
        """
        raise NotImplementedError

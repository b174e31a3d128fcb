"""What a peer does itself for a query: evaluate it on its documents, and translate it for a neighbour.

Both run in worker threads, so that a long query never delays the network; both end soon after nobody wants them.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Mapping as Table
from itertools import islice
from typing import Final, TypeVar
from weakref import WeakValueDictionary

import trio

from heptox.errors import Fault, HeptoxError, PeerError
from heptox.grammar import decode_query, encode_query
from heptox.mapping import Mapping
from heptox.peer.acquainting import schema_key
from heptox.peer.events import Translated, Untranslated
from heptox.peer.folder import Acquaintance
from heptox.peer.messages import Body, HopPath, PeerId, Status
from heptox.store import VALUE_BYTES, Allowance, Store, plan_query, query as answers
from heptox.translate import Direction, translate

LOG: Final = logging.getLogger(__name__)
BATCH_ITEMS: Final = 256
"""Items that one turn of a worker thread brings at most."""
TRANSLATIONS: Final = 2
"""Translations that run at once."""
FOR_ONE: Final = 8
"""Evaluations for one neighbour that are under way at once; its others wait until one has ended. While its items wait
to be taken, each holds memory of the database: a neighbour that takes none must leave enough for everybody else."""
LEAST_HELD: Final = 1024 * 1024
"""Bytes that an evaluation may hold at a time even when the budget of its query is smaller."""

_Result = TypeVar("_Result")


class Answering:
    """The work of one peer on the documents of its store and with its ``neighbours``, which may be set at any time.

    ``neighbours`` are acquaintances and their mappings by peer id; ``evaluations`` is how many queries are evaluated at
    once, the others wait.
    """

    def __init__(self, evaluations: int, store: Store) -> None:
        self._store = store
        self.neighbours: Table[PeerId, tuple[Acquaintance, Mapping]] = {}
        self._evaluating = trio.CapacityLimiter(evaluations)
        self._under_way: WeakValueDictionary[PeerId, trio.CapacityLimiter] = WeakValueDictionary()
        self._translating = trio.CapacityLimiter(TRANSLATIONS)

    async def translate(
        self,
        query: str,  # noqa: ARG002  (the interface of a peer's work)
        neighbour: PeerId,
        body: Body,
        task: str,
    ) -> Translated | Untranslated:
        """The query for a neighbour's schema, or why there is none (``semantics.md`` section 8)."""
        if neighbour not in self.neighbours:
            return Untranslated(task, Status.FAILED, reason="it is no acquaintance any more")
        acquaintance, mapping = self.neighbours[neighbour]
        stop = threading.Event()
        try:
            return await trio.to_thread.run_sync(
                _guarded,
                lambda: _translated(task, acquaintance, mapping, body, _check(stop)),
                abandon_on_cancel=True,
                limiter=self._translating,
            )
        finally:
            stop.set()

    async def evaluate(
        self,
        query: str,  # noqa: ARG002
        body: Body,
        path: HopPath,
        budget: int,
    ) -> AsyncGenerator[tuple[str, ...], None]:
        """Batches of items of the documents held when the first is made; the next is made when it is asked for.

        Raises :class:`StoreError` (HX6006, HX6007) when the evaluation would hold more than ``budget`` bytes, about,
        and as :func:`heptox.store.query`.
        """
        asker = path[-2].peer if len(path) > 1 else ""  # the own user
        place = self._under_way.setdefault(asker, trio.CapacityLimiter(FOR_ONE))
        taking = object()
        await place.acquire_on_behalf_of(taking)
        stop = threading.Event()
        items = _Batches(_items(body, self._store, stop, _allowance(budget)), stop)
        try:
            while batch := await trio.to_thread.run_sync(
                _guarded, items.take, abandon_on_cancel=True, limiter=self._evaluating
            ):
                yield batch
        finally:
            items.close()
            place.release_on_behalf_of(taking)

    async def ended(self) -> None:
        """Wait until no evaluation is under way; none can be begun from then on."""
        for _ in range(int(self._evaluating.total_tokens)):
            await self._evaluating.acquire_on_behalf_of(object())

    def addresses(self, neighbour: PeerId) -> tuple[str, ...]:
        """Where a neighbour is to be dialled."""
        known = self.neighbours.get(neighbour)
        return (str(known[0].address),) if known else ()


class _Batches:
    """Items that one worker thread after the other takes, and that whoever is at them last closes."""

    def __init__(self, items: Generator[str, None, None], stop: threading.Event) -> None:
        self._items = items
        self._stop = stop
        self._busy = threading.Lock()

    def take(self) -> tuple[str, ...]:
        """The next items; none when there are no more, or when nobody wants them."""
        with self._busy:
            try:
                return () if self._stop.is_set() else tuple(islice(self._items, BATCH_ITEMS))
            finally:
                if self._stop.is_set():
                    self._items.close()

    def close(self) -> None:
        """Nobody wants any more: a thread that is at them, or begins only now, sees that."""
        self._stop.set()
        if self._busy.acquire(blocking=False):
            try:
                self._items.close()
            finally:
                self._busy.release()


def _check(stop: threading.Event) -> Callable[[], None]:
    """What ends work soon after nobody wants it any more."""

    def check() -> None:
        if stop.is_set():
            raise PeerError(Fault("HX7063", "nobody waits for the answer any more"))

    return check


def _translated(
    task: str, acquaintance: Acquaintance, mapping: Mapping, body: Body, check: Callable[[], None]
) -> Translated | Untranslated:
    expression = decode_query(body)
    direction = Direction.TARGET if acquaintance.side == "source" else Direction.SOURCE
    try:
        translation = translate(mapping, expression, direction, check)
    except HeptoxError as error:
        return Untranslated(task, Status.REFUSED, reason="; ".join(str(fault) for fault in error.faults))
    losses = tuple(str(loss) for loss in translation.losses)
    if translation.empty:
        return Untranslated(task, Status.NOTHING, losses)
    graph = (mapping.target if direction is Direction.TARGET else mapping.source).graph
    return Translated(task, encode_query(translation.query), translation.text, losses, schema_key(graph))


def _items(body: Body, store: Store, stop: threading.Event, allowance: Allowance) -> Generator[str, None, None]:
    plan = plan_query(decode_query(body), store.catalogue)
    yield from answers(store, plan, _check(stop), allowance)


def _allowance(budget: int) -> Allowance:
    held = max(budget, LEAST_HELD)
    return Allowance(values=held // VALUE_BYTES, characters=held)


def _guarded(work: Callable[[], _Result]) -> _Result:
    """Let no defect in the work on one query end the daemon: it is logged, and the receipt tells of it."""
    try:
        return work()
    except HeptoxError:
        raise
    except Exception as error:
        LOG.exception("a defect while working on a query")
        raise PeerError(Fault("HX7066", f"a defect of heptox: {type(error).__name__}")) from error

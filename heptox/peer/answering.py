"""What a peer does itself for a query: evaluate it on its documents, and translate it for a neighbour.

Both run in worker threads, so that a long query never delays the network; both end soon after nobody wants them.
"""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Hashable, Iterator, Mapping as Table
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar
from weakref import WeakValueDictionary

import cbor2
import trio

from heptox.checks import Check
from heptox.errors import Fault, GrammarError, HeptoxError, PeerError, StoreError
from heptox.grammar import Expression, lower, syntax
from heptox.mapping import Mapping
from heptox.peer.acquaintance.acquainting import schema_key
from heptox.peer.acquaintance.register import Known
from heptox.peer.folder.exports import Exports
from heptox.peer.query.budgets import Budgets, Meter
from heptox.peer.query.counts import CountsOnly, counted_by_source, identity_of
from heptox.peer.query.events import Translated, Untranslated
from heptox.peer.query.result_cache import BODY_COST, KEY_BYTES, REMEMBERED, TREE_COST, ResultCache
from heptox.peer.query.shares import Shares
from heptox.peer.query.translating import expression_of, translated
from heptox.peer.wire.messages import OWN, Body, HopPath, PeerId, Status, body_key, sender
from heptox.peer.wire.standing import Side
from heptox.schema import SchemaTree
from heptox.shell import brings_rows, folded
from heptox.store import VALUE_BYTES, Allowance, Pool, QueryPlan, Store, plan_query, query as answers
from heptox.translate import Direction

LOG: Final = logging.getLogger(__name__)
BATCH_ITEMS: Final = 256
"""Items that one turn of a worker thread brings at most."""
BATCH_CHARACTERS: Final = 2**20
"""Characters of items after which a turn ends before that: all that it brings is held at a time."""
TRANSLATIONS: Final = 2
"""Translations that run at once for the own user, and for one neighbour."""
FOR_ONE: Final = 8
"""Evaluations for one neighbour that are under way at once; its others wait until one has ended. While its items wait
to be taken, each holds memory of the database: a neighbour that takes none must leave enough for everybody else."""
HELD_FOR_ONE: Final = 256 * 1024 * 1024
"""Bytes that the evaluations for one neighbour hold together, with the documents that they have read into memory."""
HELD_FOR_NEIGHBOURS: Final = 2 * HELD_FOR_ONE
"""Bytes that those for all neighbours hold together."""
HELD_KEPT: Final = 128 * 1024 * 1024
"""Bytes of these that are kept for neighbours that hold little."""
HELD_LITTLE: Final = 32 * 1024 * 1024
"""Bytes that are little for one neighbour."""
LEAST_HELD: Final = 1024 * 1024
"""Bytes that an evaluation may hold at a time even when the budget of its query is smaller."""
_Result = TypeVar("_Result")


class Answering:
    """The work of one peer on the documents of its store and with its ``neighbours``, which may be set at any time.

    ``neighbours`` are the acquaintances in force by peer id; ``evaluations`` is how many queries are evaluated at
    once for the own user, and for one neighbour; the others wait. ``exports`` has the stores of what others see, where
    something is hidden from them; ``seconds`` of the processor are there for the queries of one neighbour in a minute.
    The same query comes along many paths and for many neighbours: translations and plans are remembered,
    ``remembered`` bytes of each.
    """

    def __init__(
        self,
        evaluations: int,
        store: Store,
        exports: Exports | None = None,
        remembered: int = REMEMBERED,
        seconds: float = math.inf,
    ) -> None:
        self._store = store
        self._exports = exports or Exports({})
        self.neighbours: Table[PeerId, Known] = {}
        self.counts = CountsOnly()
        self._budgets = Budgets(seconds, lambda asker: asker in self.neighbours)
        self._evaluating = Shares(evaluations, self._budgets.is_little_used)
        self._under_way: WeakValueDictionary[str, trio.CapacityLimiter] = WeakValueDictionary()
        self._held = Pool(HELD_FOR_NEIGHBOURS, kept=HELD_KEPT, little=HELD_LITTLE)
        self._held_for: WeakValueDictionary[str, Pool] = WeakValueDictionary()
        self._translating = Shares(TRANSLATIONS, self._budgets.is_little_used)
        self._translations = ResultCache[Translated | Untranslated](remembered)
        self._plans = ResultCache[QueryPlan](remembered)
        self._turns: dict[Hashable, trio.Lock] = {}

    async def translate(
        self,
        query: str,  # noqa: ARG002  (the interface of a peer's work)
        path: HopPath,
        neighbour: PeerId,
        body: Body,
        task: str,
    ) -> Translated | Untranslated:
        """The query for a neighbour's schema, or why there is none (``semantics.md`` section 8); it came along
        ``path``."""
        if neighbour not in self.neighbours:
            return Untranslated(task, Status.FAILED, reason="it is no acquaintance any more")
        known = self.neighbours[neighbour]
        mapping = known.mapping
        if mapping is None:
            return Untranslated(task, Status.FAILED, reason=known.fault)
        direction = Direction.TARGET if known.acquaintance.side is Side.SOURCE else Direction.SOURCE
        asker, key = self._budgets.who(sender(path)), (known.files.digest, direction, body_key(body))
        found = self._translations.get(key)
        if found is None:
            async with self._turn((asker, key)):  # nobody waits behind what else another neighbour asks for
                found = self._translations.get(key)  # somebody else may have made it meanwhile
                if found is None:
                    found = await self._translate(asker, mapping, direction, body)
                    self._translations.put(key, found, _size(found))
        return replace(found, task=task)

    @asynccontextmanager
    async def _turn(self, key: Hashable) -> AsyncIterator[None]:
        """One after the other for each key. A task that is cancelled only loses its turn: the next one does the
        work."""
        turn = self._turns.setdefault(key, trio.Lock())
        try:
            async with turn:
                yield
        finally:
            if not turn.locked():
                self._turns.pop(key, None)

    async def _translate(
        self, asker: str, mapping: Mapping, direction: Direction, body: Body
    ) -> Translated | Untranslated:
        return await self.translating(
            lambda check: _named(translated(mapping, direction, body, check), mapping, direction), asker
        )

    async def translating(self, work: Callable[[Check], _Result], asker: PeerId = OWN) -> _Result:
        """Do work of that kind in its turn. It calls its check again and again, and ends soon after nobody waits for it
        any more."""
        stop, meter = threading.Event(), self._budgets.meter(asker)
        try:
            return await self._translating.run(
                self._budgets.who(asker), partial(_guarded, lambda: work(_check(stop, meter)), meter)
            )
        finally:
            stop.set()

    async def evaluate(
        self,
        query: str,  # noqa: ARG002
        body: Body,
        path: HopPath,
        budget: int,
        hidden: frozenset[str] = frozenset(),
    ) -> AsyncGenerator[tuple[str, ...], None]:
        """Batches of items of the documents held when the first is made; the next is made when it is asked for.

        What is ``hidden`` is not in the store that is asked then; but for what is for counts only, where it is counted.

        Raises :class:`StoreError` (HX6006, HX6007) when the evaluation would hold more than ``budget`` bytes, about,
        HX6019 when those for a neighbour would hold more than :data:`HELD_FOR_ONE`, or for all of them more than
        :data:`HELD_FOR_NEIGHBOURS`, and as :func:`heptox.store.query`; :class:`PeerError` HX7081 where it is not sure
        what may be seen, HX7106 when the asker's queries take more of the processor than they may.
        """
        asker = self._budgets.who(sender(path))
        place = self._under_way.setdefault(asker, trio.CapacityLimiter(math.inf if asker == OWN else FOR_ONE))
        taking = object()
        await place.acquire_on_behalf_of(taking)
        stop, meter = threading.Event(), self._budgets.meter(asker)
        items: _Batches | None = None
        try:
            items = _Batches(self._items(body, hidden, _check(stop, meter), self._allowance(asker, budget)), stop)
            take = partial(_guarded, items.take, meter)
            while not items.ended and (batch := await self._evaluating.run(asker, take)):
                yield batch
        finally:
            stop.set()
            if items is not None:
                items.close()
            place.release_on_behalf_of(taking)

    async def losses(self, body: Body, path: HopPath, hidden: frozenset[str]) -> tuple[str, ...]:
        """What a query asks for of the paths that are hidden: it depends on the query and the schema alone.

        Raises :class:`PeerError`: HX7107 where it gathers parts of nodes, of which something is hidden: such queries
        are translated for whole documents; HX7108 and HX7109 as :meth:`CountsOnly.check`.
        """
        asker = self._budgets.who(sender(path))
        stop, meter = threading.Event(), self._budgets.meter(asker)
        look = partial(self._losses, body, sender(path) or OWN, hidden, _check(stop, meter))
        try:
            return await self._evaluating.run(asker, partial(_guarded, look, meter))
        finally:
            stop.set()

    def _losses(self, body: Body, asker: PeerId, hidden: frozenset[str], check: Check) -> tuple[str, ...]:
        hiding, query = self._exports.of(hidden).hiding, expression_of(body, check)
        touched = frozenset(hiding.touched(query, check))
        counted = self._counted(query, touched)
        lost = touched - counted
        if counted:
            self.counts.check(self._budgets.who(asker), body_key(body), query)
            if not counted.isdisjoint(hiding.touched(identity_of(query), check)):
                message = "it identifies nodes by what is for counts only"
                raise PeerError(Fault("HX7108", message, hint="a `key` line in the mapping says what identifies them"))
        elif lost and _gathers(query, SchemaTree(hiding.graph)):
            message = f"its items gather parts of nodes, and {', '.join(sorted(lost))} is hidden"
            raise PeerError(Fault("HX7107", message, hint="ask for the leaves, one by one"))
        told = (f"{one}: not in groups of fewer than {self.counts.group}" for one in sorted(counted))
        return (*told, *(f"{one}: hidden" for one in sorted(lost)))

    def admit(self, neighbour: PeerId) -> None:
        """Raise :class:`PeerError` (HX7106) where a neighbour's queries have taken all that they may for now."""
        self._budgets.check(neighbour)

    def _counted(self, query: Expression, touched: frozenset[str]) -> frozenset[str]:
        """Of the hidden paths that a query asks for, those that it counts by, and that are for counts only."""
        return touched.intersection(self.counts.least) if brings_rows(query) else frozenset()

    def _items(
        self, body: Body, hidden: frozenset[str], check: Check, allowance: Allowance
    ) -> Generator[str, None, None]:
        expression = expression_of(body, check)
        least = 0
        if not hidden.isdisjoint(self.counts.least):
            touched = frozenset(self._exports.of(hidden).hiding.touched(expression, check))
            least = self.counts.group if self._counted(expression, touched) else 0
        seen = hidden.difference(self.counts.least) if least else hidden
        store = self._exports.of(seen).store if hidden else self._store
        encoded = cbor2.dumps(body, canonical=True)
        key = store.catalogue, encoded, least > 0
        plan = self._plans.get(key)
        if plan is None:
            plan = plan_query(counted_by_source(expression) if least else expression, store.catalogue)
            self._plans.put(key, plan, KEY_BYTES + TREE_COST * len(encoded))
        items = answers(store, plan, check, allowance)
        try:
            yield from folded(expression, items, allowance, least) if brings_rows(expression) else items
        except StoreError:
            if not least:  # an error may be of one node alone
                raise

    def _allowance(self, asker: str, budget: int) -> Allowance:
        pool = None if asker == OWN else self._held_for.setdefault(asker, Pool(HELD_FOR_ONE, self._held))
        held = max(budget, LEAST_HELD)
        return Allowance(held // VALUE_BYTES, held, pool)

    async def ended(self) -> None:
        """Wait until no evaluation is under way; none can be begun from then on."""
        await self._evaluating.ended()

    def addresses(self, neighbour: PeerId) -> tuple[str, ...]:
        """Where a neighbour is to be dialled."""
        known = self.neighbours.get(neighbour)
        return (str(known.acquaintance.address),) if known else ()


class _Batches:
    """Items that one worker thread after the other takes, and that the last one at them closes.

    ``ended`` says that all of them were taken, so that no thread is asked for more.
    """

    def __init__(self, items: Generator[str, None, None], stop: threading.Event) -> None:
        self.ended = False
        self._items = items
        self._stop = stop
        self._busy = threading.Lock()

    def take(self) -> tuple[str, ...]:
        """The next items; none when there are no more, or when nobody wants them."""
        with self._busy:
            try:
                return () if self._stop.is_set() else tuple(self._batch())
            finally:
                if self._stop.is_set():
                    self._items.close()

    def _batch(self) -> Iterator[str]:
        size = 0
        for number, item in enumerate(self._items, 1):
            yield item
            size += len(item)
            if number == BATCH_ITEMS or size > BATCH_CHARACTERS:
                return
        self.ended = True

    def close(self) -> None:
        """Nobody wants any more: a thread that is at them, or begins only now, sees that."""
        self._stop.set()
        if self._busy.acquire(blocking=False):
            try:
                self._items.close()
            finally:
                self._busy.release()


def _gathers(expression: Expression, tree: SchemaTree) -> bool:
    """Whether items of a query may gather parts of nodes: by its loops in constructors, where it is no pattern."""
    try:
        return lower(expression, tree, made=()).gathers
    except GrammarError:
        constructors = (node for node in syntax.nodes(expression) if isinstance(node, syntax.ElementConstructor))
        return any(isinstance(part, syntax.Flwor) for each in constructors for part in each.content)


def _check(stop: threading.Event, meter: Meter) -> Check:
    """What ends work soon after nobody wants it any more, or the budget is used up."""

    def check() -> None:
        if stop.is_set():
            raise PeerError(Fault("HX7063", "nobody waits for the answer any more"))
        meter.check()

    return check


def _named(found: Translated | Untranslated, mapping: Mapping, direction: Direction) -> Translated | Untranslated:
    """A translation with what identifies the schema whose words it speaks."""
    if isinstance(found, Untranslated):
        return found
    graph = (mapping.target if direction is Direction.TARGET else mapping.source).graph
    return replace(found, schema=schema_key(graph))


def _size(translation: Translated | Untranslated) -> int:
    """Bytes of memory that a translation takes, about."""
    texts = sum(map(len, translation.losses))
    if isinstance(translation, Untranslated):
        return KEY_BYTES + texts + len(translation.reason)
    return KEY_BYTES + texts + len(translation.text) + BODY_COST * len(cbor2.dumps(translation.body))


def _guarded(work: Callable[[], _Result], meter: Meter) -> _Result:
    """Charge the work on one query, and let no defect in it end the daemon: it is logged, and the receipt says so."""
    try:
        with meter.running():
            return work()
    except HeptoxError:
        raise
    except RecursionError:
        raise GrammarError(Fault("HX3003", "the query is nested too deeply")) from None
    except Exception as error:
        LOG.exception("a defect while working on a query")
        raise PeerError(Fault("HX7066", f"a defect of heptox: {type(error).__name__}")) from error

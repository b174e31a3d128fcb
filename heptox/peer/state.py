"""A peer's decisions about queries, without I/O: :meth:`PeerState.handle` takes an event and the time, and returns
instructions.

The answer of the network is the union over all acyclic paths of acquaintances, up to the hop limit, of the composed
translation evaluated at the end of the path (``semantics.md`` section 9). Each arrival of a query, that is a query id
and the path that it came along, is therefore handled by itself, so that no answer depends on which message came
first; only the evaluation of equal bodies is shared, as far as the same is hidden from those who asked for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from heptox.errors import Fault, PeerError
from heptox.peer.events import (
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
    Receipt,
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
from heptox.peer.messages import (
    ITEM_COST,
    ITEM_LIMIT,
    PATH_LIMIT,
    UNREAD,
    Answers,
    Cancel,
    End,
    Error,
    Hop,
    HopPath,
    PeerId,
    Query,
    ReceiptLine,
    Status,
    body_key,
    encode,
    is_item,
    peers_of,
)
from heptox.printable import printable
from heptox.settings import LEAST_TIMEOUT, MOST_TIMEOUT

HOP_COST: Final = 1024
"""Bytes that a hop takes off the budget."""
HOP_SECONDS: Final = 0.2
HOP_SHARE: Final = 0.1
"""How much earlier a neighbour must give up than we do: a share of the remaining time, and at least so many seconds."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one peer does for others, and the most that a query may ask for.

    ``queries`` different queries of one neighbour in flight; ``arrivals`` in flight in all; ``hops``; ``seconds``
    until the deadline of a neighbour's query; ``items`` that come for one query along all paths; ``budget`` bytes of
    them; ``batch`` bytes of items in one message, unless a single item is longer; ``kept`` bytes of evaluated items
    held for later arrivals of equal queries, in all; ``lines`` of one receipt. Bytes of items are those in UTF-8, and
    :data:`ITEM_COST` for each.
    """

    queries: int = 64
    arrivals: int = 4096
    hops: int = 8
    seconds: float = 600.0
    items: int = 1_000_000
    budget: int = 256 * 1024 * 1024
    batch: int = 32 * 1024
    kept: int = 64 * 1024 * 1024
    lines: int = 4000

    def __post_init__(self) -> None:
        if not 0 <= self.hops < PATH_LIMIT:
            raise ValueError(f"hops must be from 0 to {PATH_LIMIT - 1}")


@dataclass(slots=True)
class _Child:
    """A neighbour that was asked for one arrival: ``text`` is the query as it was translated for it, and ``counts`` the
    items that came, by the peers of their origin."""

    message: Query
    began: float
    text: str
    losses: tuple[str, ...]
    counts: dict[tuple[PeerId, ...], tuple[HopPath, int]] = field(default_factory=dict)

    @property
    def path(self) -> HopPath:
        return self.message.path


@dataclass(slots=True)
class _Arrival:
    """A query that this peer answers along one path; ``exchange`` is ``None`` for a query of the own user.

    ``budget`` is what is left of it, and ``items`` of the items that may come; ``task`` the evaluation that its own
    items come from, ``None`` once they have ended, and ``text`` the query as the own user has asked it.
    """

    query: Query
    exchange: Exchange | None
    began: float
    deadline: float
    budget: int
    items: int
    text: str = ""
    task: Task | None = None
    own_items: int = 0
    unsendable: int = 0
    delivered: set[bytes] = field(default_factory=set)
    translating: dict[Task, HopPath] = field(default_factory=dict)
    children: dict[Exchange, _Child] = field(default_factory=dict)
    lines: list[ReceiptLine] = field(default_factory=list)

    @property
    def path(self) -> HopPath:
        return self.query.path

    @property
    def pending(self) -> bool:
        return bool(self.task or self.translating or self.children)


_Key: TypeAlias = tuple[str, PeerId, bytes, frozenset[str]]
"""Which evaluations are one: those of a query id and its asker, a body, and what is hidden."""


@dataclass(slots=True)
class _Evaluation:
    """One body of one query evaluated here, for all the arrivals that bring it along paths that see the same.

    ``items`` are its different items so far, ``None`` when they are too many to keep. ``outcome`` is the status and
    reason of its end with what was hidden, ``expires`` the last deadline of an arrival that used it.
    """

    key: _Key
    expires: float
    waiting: list[_Arrival] = field(default_factory=list)
    seen: set[bytes] = field(default_factory=set)
    items: list[str] | None = field(default_factory=list)
    size: int = 0
    outcome: tuple[Status, str, tuple[str, ...]] | None = None


class PeerState:
    """The queries in flight at one peer. Times are seconds of one monotonic clock, whichever the caller uses.

    A state can be pickled, and goes on elsewhere as if nothing had happened.

    ``schema`` identifies the peer's schema: queries in the words of another one are refused; empty, none is.

    >>> state = PeerState("A", "Montreal")
    >>> state.handle(Asked("q1", "//Name", "//Name", hops=2, seconds=10, budget=10_000), now=0.0)[1].task
    'task-1'
    >>> state.handle(Evaluated("task-1", ("<Name/>",)), now=0.1)[0].items
    ('<Name/>',)
    >>> state.handle(Completed("task-1"), now=0.2)[0].receipt.lines[0].status
    <Status.ANSWERED: 'answered'>
    """

    def __init__(self, peer: PeerId, name: str, limits: Limits | None = None, schema: str = "") -> None:
        self.peer = peer
        self.name = name
        self.schema = schema
        self.limits = limits or Limits()
        self._neighbours: tuple[Neighbour, ...] = ()
        self._may_ask: frozenset[PeerId] = frozenset()
        self._strangers = False
        self._hidden = Hidden()
        self._own: dict[str, _Arrival] = {}
        self._arrived: dict[Exchange, _Arrival] = {}
        self._asking: dict[Exchange, _Arrival] = {}
        self._translating: dict[Task, _Arrival] = {}
        self._evaluating: dict[Task, _Evaluation] = {}
        self._evaluations: dict[_Key, Task] = {}
        self._kept = 0
        self._tasks = 0
        self._exchanges = 0
        self._now = 0.0
        self._out: list[Instruction] = []

    def handle(self, event: Event, now: float) -> tuple[Instruction, ...]:
        """Take in one event and say what to do about it, in order.

        Events about exchanges, tasks or queries that are over are ignored. Raises :class:`PeerError` only for
        :class:`Asked`: HX7020 for a query id in use, HX7021 for limits out of range.
        """
        self._now = max(now, self._now)
        match event:
            case Acquainted():
                self._acquaint(event)
            case Asked():
                self._ask(event)
            case Arrived():
                self._arrive(event)
            case Translated() | Untranslated():
                self._translated(event)
            case Evaluated():
                self._evaluated(event)
            case Completed():
                self._evaluation_ended(event.task, Status.ANSWERED, "", event.losses)
            case Failed():
                self._evaluation_ended(event.task, Status.FAILED, event.reason)
            case Received():
                self._received(event)
            case Lost():
                self._lost(event)
            case Tick():
                self._tick()
            case Cancelled():
                if event.query in self._own:
                    self._give_up(self._own[event.query], Status.CANCELLED, "the asker has left")
        out, self._out = tuple(self._out), []
        return out

    def denial(self, neighbour: PeerId) -> Error | None:
        """What a peer that may not ask is told before its query is read; ``None`` for one that may."""
        if self._strangers or neighbour in self._may_ask:
            return None
        return Error(UNREAD, Status.DENIED, f"{neighbour} is no acquaintance of {self.name} that may ask")

    @property
    def in_flight(self) -> tuple[tuple[str, HopPath, tuple[PeerId, ...]], ...]:
        """The queries under way: query id, path so far, and the neighbours that were asked and have not ended yet."""
        arrivals = (*self._own.values(), *self._arrived.values())
        return tuple(
            (arrival.query.query, arrival.path, tuple(child.path[-1].peer for child in arrival.children.values()))
            for arrival in arrivals
        )

    @property
    def is_idle(self) -> bool:
        """Whether no query is under way: only memory is then freed by :class:`Tick`."""
        return not (self._own or self._arrived)

    def _new_task(self) -> Task:
        self._tasks += 1
        return f"task-{self._tasks}"

    def _new_exchange(self) -> Exchange:
        self._exchanges += 1
        return f"out-{self._exchanges}"

    # -- queries begin -----------------------------------------------------------------------------------------------

    def _acquaint(self, event: Acquainted) -> None:
        neighbours = {neighbour.peer: neighbour for neighbour in event.neighbours if neighbour.peer != self.peer}
        self._neighbours = tuple(neighbours.values())
        self._may_ask = frozenset(neighbour.peer for neighbour in self._neighbours if neighbour.may_ask)
        self._strangers = event.strangers
        self._hidden = event.hidden

    def _ask(self, event: Asked) -> None:
        limits = self.limits
        if event.query in self._own:
            raise PeerError(Fault("HX7020", f"the query {event.query} is under way"))
        faults = [
            Fault("HX7021", f"{value} {what} are out of range", hint=f"from {least} to {limit}")
            for what, value, least, limit in (
                ("hops", event.hops, 0, limits.hops),
                ("seconds", event.seconds, LEAST_TIMEOUT, MOST_TIMEOUT),
                ("bytes of budget", event.budget, 1, limits.budget),
            )
            if not least <= value <= limit
        ]
        if faults:
            raise PeerError(faults)
        path = (Hop(self.peer, self.name),)
        milliseconds = int(event.seconds * 1000)
        query = Query(event.query, self.peer, event.body, path, event.hops, milliseconds, event.budget, event.explain)
        text = printable(event.text, lines=True)
        arrival = _Arrival(query, None, self._now, self._now + event.seconds, event.budget, limits.items, text)
        self._own[event.query] = arrival
        self._begin(arrival)

    def _arrive(self, event: Arrived) -> None:
        query, limits = event.message, self.limits
        refusal = self.refusal(event.neighbour, query)
        if refusal is not None:
            self._out.append(Send(event.exchange, refusal))
            return
        seconds = min(query.milliseconds / 1000, limits.seconds)
        budget = min(query.budget, limits.budget)
        arrival = _Arrival(query, event.exchange, self._now, self._now + seconds, budget, limits.items)
        self._arrived[event.exchange] = arrival
        self._begin(arrival)

    def refusal(self, neighbour: PeerId, query: Query) -> Error | None:
        """What ``neighbour`` is told when its query is not taken; ``None`` when it is."""
        why = self._refusal(neighbour, query)
        return Error(query.query, *why) if why else None

    def _refusal(self, neighbour: PeerId, query: Query) -> tuple[Status, str] | None:
        limits = self.limits
        denial = self.denial(neighbour)
        if denial is not None:
            return denial.status, denial.reason
        peers = peers_of(query.path)
        if len(set(peers)) < len(peers) or peers[-2:] != (neighbour, self.peer) or peers[0] != query.asker:
            return Status.FAILED, "the path of the query does not lead from its asker through its sender to this peer"
        if self.schema and query.schema != self.schema:
            return Status.FAILED, f"the query is in the words of another schema than that of {self.name}"
        if query.hops > limits.hops:
            return Status.FAILED, f"{query.hops} more hops are over the limit of {self.name}, {limits.hops}"
        others = [arrival for arrival in self._arrived.values() if arrival.path[-2].peer == neighbour]
        queries = {arrival.query.query for arrival in others} | {query.query}
        if len(queries) > limits.queries or len(self._arrived) >= limits.arrivals:
            return Status.FAILED, f"{self.name} has too many queries in flight"
        if any(arrival.query.query == query.query and peers_of(arrival.path) == peers for arrival in others):
            return Status.FAILED, "the query is under way along this path"
        return None

    def _begin(self, arrival: _Arrival) -> None:
        self._out.append(Wake(arrival.deadline))
        passed = set(peers_of(arrival.path))
        ahead = [neighbour for neighbour in self._neighbours if neighbour.peer not in passed]
        if arrival.query.hops > 0:
            for neighbour in ahead:
                task = self._new_task()
                self._translating[task] = arrival
                arrival.translating[task] = (*arrival.path, Hop(neighbour.peer, neighbour.name))
                self._out.append(Translate(task, arrival.query.query, arrival.path, neighbour.peer, arrival.query.body))
        self._evaluate(arrival)

    # -- the own documents -------------------------------------------------------------------------------------------

    def _evaluate(self, arrival: _Arrival) -> None:
        """Give an arrival its own items: what an equal body has brought so far, and what is to come."""
        hidden = self._hidden.along(peers_of(arrival.path), self.peer)
        key = (arrival.query.query, arrival.query.asker, body_key(arrival.query.body), hidden)
        task = self._evaluations.get(key)
        if task is None or self._evaluating[task].items is None:
            task = self._new_task()
            self._evaluations[key] = task
            self._evaluating[task] = _Evaluation(key, arrival.deadline)
            query = arrival.query
            self._out.append(Evaluate(task, query.query, query.body, arrival.path, arrival.budget, hidden))
        evaluation = self._evaluating[task]
        evaluation.expires = max(evaluation.expires, arrival.deadline)
        arrival.task = task
        evaluation.waiting.append(arrival)
        self._own_items(arrival, evaluation.items or [])
        if evaluation.outcome is not None and arrival.task is not None:
            self._own_end(arrival, *evaluation.outcome)

    def _evaluated(self, event: Evaluated) -> None:
        evaluation = self._evaluating.get(event.task)
        if evaluation is None or evaluation.outcome is not None:
            return
        fresh = []
        for item in event.items:
            digest = _digest(item)
            if digest not in evaluation.seen:
                evaluation.seen.add(digest)
                fresh.append(item)
        self._keep(evaluation, fresh)
        for arrival in tuple(evaluation.waiting):
            self._own_items(arrival, fresh)

    def _keep(self, evaluation: _Evaluation, items: list[str]) -> None:
        if evaluation.items is None:
            return
        size = sum(_cost(item) for item in items)
        if self._kept + size > self.limits.kept:
            self._kept -= evaluation.size
            evaluation.items, evaluation.size = None, 0
            return
        self._kept += size
        evaluation.size += size
        evaluation.items.extend(items)

    def _evaluation_ended(self, task: Task, status: Status, reason: str, losses: tuple[str, ...] = ()) -> None:
        evaluation = self._evaluating.get(task)
        if evaluation is None or evaluation.outcome is not None:
            return
        evaluation.outcome = (status, reason, losses)
        evaluation.seen.clear()
        for arrival in tuple(evaluation.waiting):
            self._own_end(arrival, status, reason, losses)
        if task in self._evaluating and (status is not Status.ANSWERED or evaluation.items is None):
            self._forget(task)

    def _own_items(self, arrival: _Arrival, items: list[str]) -> None:
        passed, excess = self._pass(arrival, arrival.path, items)
        arrival.own_items += passed
        if excess:
            self._give_up(arrival, Status.FAILED, excess)

    def _own_end(self, arrival: _Arrival, status: Status, reason: str, losses: tuple[str, ...]) -> None:
        self._own_line(arrival, status, reason, losses)
        self._conclude(arrival)

    def _own_line(self, arrival: _Arrival, status: Status, reason: str, losses: tuple[str, ...] = ()) -> None:
        """Write the line of this peer itself, and leave the evaluation."""
        if arrival.unsendable and status is Status.ANSWERED:
            status, reason = Status.FAILED, f"{arrival.unsendable} items cannot be sent: too long, or no XML"
        passed = set(peers_of(arrival.path))
        stopped = arrival.query.hops == 0 and any(neighbour.peer not in passed for neighbour in self._neighbours)
        if stopped and not reason:
            reason = "the hop limit ends here"
        self._line(
            arrival,
            arrival.path,
            status,
            arrival.own_items,
            reason,
            arrival.began,
            beyond=stopped,
            losses=losses,
            text=arrival.text,
        )
        self._leave(arrival)

    def _leave(self, arrival: _Arrival) -> None:
        task, arrival.task = arrival.task, None
        if task is None:
            return
        evaluation = self._evaluating[task]
        evaluation.waiting.remove(arrival)
        if not evaluation.waiting and evaluation.outcome is None:
            self._out.append(Stop(task))
            self._forget(task)

    def _forget(self, task: Task) -> None:
        evaluation = self._evaluating.pop(task)
        self._kept -= evaluation.size
        if self._evaluations.get(evaluation.key) == task:
            del self._evaluations[evaluation.key]

    # -- the neighbours ----------------------------------------------------------------------------------------------

    def _translated(self, event: Translated | Untranslated) -> None:
        arrival = self._translating.pop(event.task, None)
        if arrival is None:
            return
        path = arrival.translating.pop(event.task)
        if isinstance(event, Translated):
            self._forward(arrival, path, event)
            return
        self._line(arrival, path, event.status, 0, event.reason, arrival.began, beyond=True, losses=event.losses)
        self._conclude(arrival)

    def _forward(self, arrival: _Arrival, path: HopPath, translated: Translated) -> None:
        text = printable(translated.text, lines=True)
        remaining = arrival.deadline - self._now
        milliseconds = int((remaining - max(HOP_SECONDS, HOP_SHARE * remaining)) * 1000)
        budget = arrival.budget - HOP_COST
        if milliseconds <= 0 or budget <= 0:
            status = Status.TIMED_OUT if milliseconds <= 0 else Status.FAILED
            reason = "no time was left to ask" if milliseconds <= 0 else "no byte budget was left to ask"
            losses = translated.losses
            self._line(arrival, path, status, 0, reason, arrival.began, beyond=True, losses=losses, text=text)
            self._conclude(arrival)
            return
        query = arrival.query
        message = replace(
            query,
            body=translated.body,
            path=path,
            hops=query.hops - 1,
            milliseconds=milliseconds,
            budget=budget,
            schema=translated.schema,
        )
        exchange = self._new_exchange()
        arrival.children[exchange] = _Child(message, self._now, text, translated.losses)
        self._asking[exchange] = arrival
        self._out.append(Ask(exchange, path[-1].peer, message))

    def _received(self, event: Received) -> None:
        message = event.message
        if event.exchange in self._arrived:
            arrival = self._arrived[event.exchange]
            if isinstance(message, Cancel) and message.query == arrival.query.query:
                self._abandon(arrival)
            else:
                self._out.append(Send(event.exchange, Error(arrival.query.query, Status.FAILED, _UNEXPECTED)))
                self._abandon(arrival)
        elif event.exchange in self._asking:
            arrival = self._asking[event.exchange]
            child = arrival.children[event.exchange]
            wrong = _violation(child, message, self.limits)
            if wrong:
                self._out.append(Send(event.exchange, Cancel(arrival.query.query)))
                self._child_missing(arrival, event.exchange, Status.FAILED, f"it broke the protocol: {wrong}")
            elif isinstance(message, Answers):
                self._child_answers(arrival, child, message)
            elif isinstance(message, End):
                self._child_end(arrival, event.exchange, message)
            elif isinstance(message, Error):
                status = Status.FAILED if message.status.complete else message.status
                self._child_missing(arrival, event.exchange, status, message.reason)

    def _child_answers(self, arrival: _Arrival, child: _Child, message: Answers) -> None:
        peers = peers_of(message.origin)
        origin = (*child.path, *message.origin[len(child.path) :])
        if peers not in child.counts:
            child.counts[peers] = (origin, 0)
            arrival.budget -= sum(len(hop.peer) + len(hop.name) for hop in origin)
        passed, excess = self._pass(arrival, origin, message.items)
        child.counts[peers] = (origin, child.counts[peers][1] + passed)
        if excess or arrival.budget < 0:
            self._give_up(arrival, Status.FAILED, excess or _NO_BUDGET)

    def _child_end(self, arrival: _Arrival, exchange: Exchange, message: End) -> None:
        """Take over a neighbour's receipt, after counting what it says against what came."""
        child = arrival.children.pop(exchange)
        del self._asking[exchange]
        for line in message.receipt:
            path = (*child.path, *line.path[len(child.path) :])
            _, came = child.counts.pop(peers_of(path), (path, 0))
            line = replace(line, path=path, text=line.text if arrival.query.explain else "")
            if came != line.items:
                reason = f"{line.items} items were announced, {came} came"
                line = replace(line, status=Status.FAILED, items=came, reason=reason)
            if len(path) == len(child.path):
                text = child.text if arrival.query.explain else ""
                losses = (*map(printable, child.losses), *line.losses)  # ours on the way there, and what it hides
                line = replace(line, losses=losses, text=text, milliseconds=self._elapsed(child.began))
            arrival.lines.append(line)
        for path, came in child.counts.values():
            self._line(arrival, path, Status.FAILED, came, "items came that no receipt speaks of", child.began)
        self._conclude(arrival)

    def _child_missing(self, arrival: _Arrival, exchange: Exchange, status: Status, reason: str) -> None:
        self._write_off(arrival, exchange, status, reason)
        self._conclude(arrival)

    def _write_off(self, arrival: _Arrival, exchange: Exchange, status: Status, reason: str) -> None:
        """Say of a neighbour, and of those behind it that were heard, that their answers are not whole."""
        child = arrival.children.pop(exchange)
        del self._asking[exchange]
        _, came = child.counts.pop(peers_of(child.path), (child.path, 0))
        losses, text = child.losses, child.text
        self._line(arrival, child.path, status, came, reason, child.began, beyond=True, losses=losses, text=text)
        name = child.path[-1].name
        for path, came in child.counts.values():
            self._line(
                arrival, path, status, came, f"{name}, on the way, did not end its answer", child.began, beyond=True
            )

    def _lost(self, event: Lost) -> None:
        if event.exchange in self._arrived:
            self._abandon(self._arrived[event.exchange])
        elif event.exchange in self._asking:
            self._child_missing(self._asking[event.exchange], event.exchange, event.status, event.reason)

    # -- queries end -------------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        for arrival in (*self._own.values(), *self._arrived.values()):
            if arrival.deadline <= self._now:
                self._give_up(arrival, Status.TIMED_OUT, "the deadline has passed")
        for task, evaluation in tuple(self._evaluating.items()):
            if not evaluation.waiting and evaluation.expires <= self._now:
                self._forget(task)

    def _give_up(self, arrival: _Arrival, status: Status, reason: str) -> None:
        """End an arrival with what has come, and say of everything that is pending that it is missing."""
        self._stop_translating(arrival, status, reason)
        for exchange in tuple(arrival.children):
            self._out.append(Send(exchange, Cancel(arrival.query.query)))
            self._write_off(arrival, exchange, status, reason)
        if arrival.task is not None:
            self._own_line(arrival, status, reason)
        self._conclude(arrival)

    def _abandon(self, arrival: _Arrival) -> None:
        """Stop all work for a query whose asker is gone; nobody hears of it any more."""
        assert arrival.exchange is not None
        self._stop_translating(arrival, Status.CANCELLED, "")
        for exchange in arrival.children:
            self._out.append(Send(exchange, Cancel(arrival.query.query)))
            del self._asking[exchange]
        self._leave(arrival)
        del self._arrived[arrival.exchange]

    def _stop_translating(self, arrival: _Arrival, status: Status, reason: str) -> None:
        for task, path in arrival.translating.items():
            self._out.append(Stop(task))
            del self._translating[task]
            self._line(arrival, path, status, 0, reason, arrival.began, beyond=True)
        arrival.translating.clear()

    def _conclude(self, arrival: _Arrival) -> None:
        """Send the receipt when nothing is pending: parents before those behind them, whatever came first."""
        if arrival.pending:
            return
        query = arrival.query.query
        lines = tuple(sorted(arrival.lines, key=lambda line: [(hop.name, hop.peer) for hop in line.path]))
        if arrival.exchange is None:
            del self._own[query]
            self._out.append(Conclude(Receipt(query, lines, len(arrival.delivered))))
            for key, task in tuple(self._evaluations.items()):
                if key[:2] == (query, self.peer) and not self._evaluating[task].waiting:
                    self._forget(task)
        else:
            del self._arrived[arrival.exchange]
            self._out.append(Send(arrival.exchange, _ending(query, lines, self.limits)))

    # -- passing on --------------------------------------------------------------------------------------------------

    def _pass(self, arrival: _Arrival, origin: HopPath, items: Iterable[str]) -> tuple[int, str | None]:
        """Send items towards the asker: how many were sent, and what they exceed if these are not all."""
        allowed, excess = [], None
        for item in items:
            sendable = arrival.exchange is None or (_size(item) <= ITEM_LIMIT and is_item(item))
            cost = _cost(item) if sendable else ITEM_COST
            if cost > arrival.budget or not arrival.items:
                excess = _NO_BUDGET if arrival.items else f"it has brought {self.limits.items} items, the most that may"
                break
            arrival.budget -= cost
            arrival.items -= 1
            if sendable:
                allowed.append(item)
            else:
                arrival.unsendable += 1
        if arrival.exchange is None:
            if allowed:
                self._deliver(arrival, origin, allowed)
        else:
            for batch in _batches(allowed, self.limits.batch):
                self._out.append(Send(arrival.exchange, Answers(arrival.query.query, origin, batch)))
        return len(allowed), excess

    def _deliver(self, arrival: _Arrival, origin: HopPath, items: list[str]) -> None:
        fresh: list[str] = []
        repeated: list[str] = []
        for item in items:
            digest = _digest(item)
            (repeated if digest in arrival.delivered else fresh).append(item)
            arrival.delivered.add(digest)
        self._out.append(Deliver(arrival.query.query, origin, tuple(fresh), tuple(repeated)))

    def _line(
        self,
        arrival: _Arrival,
        path: HopPath,
        status: Status,
        items: int,
        reason: str,
        began: float,
        *,
        beyond: bool = False,
        losses: tuple[str, ...] = (),
        text: str = "",
    ) -> None:
        text = text if arrival.query.explain else ""
        losses, reason = tuple(map(printable, losses)), printable(reason)
        arrival.lines.append(ReceiptLine(path, status, items, losses, reason, text, self._elapsed(began), beyond))

    def _elapsed(self, began: float) -> int:
        return int((self._now - began) * 1000)


_UNEXPECTED: Final = "a message came that is not expected here"
_NO_BUDGET: Final = "the byte budget of the query is used up"


def _digest(item: str) -> bytes:
    return hashlib.blake2b(item.encode("utf-8", "surrogatepass"), digest_size=32).digest()


def _size(item: str) -> int:
    """Bytes of an item in UTF-8; over every limit when it has none."""
    try:
        return len(item.encode())
    except UnicodeEncodeError:
        return ITEM_LIMIT + 1


def _cost(item: str) -> int:
    """What an item takes off a budget."""
    return _size(item) + ITEM_COST


def _batches(items: list[str], limit: int) -> Iterator[tuple[str, ...]]:
    batch: list[str] = []
    size = 0
    for item in items:
        if batch and size + _cost(item) > limit:
            yield tuple(batch)
            batch, size = [], 0
        batch.append(item)
        size += _cost(item)
    if batch:
        yield tuple(batch)


def _violation(child: _Child, message: Answers | End | Error | Cancel, limits: Limits) -> str | None:
    """What is wrong with a message of a neighbour that was asked, if anything."""
    if message.query != child.message.query and not (isinstance(message, Error) and message.query == UNREAD):
        return "it names another query"
    match message:
        case Cancel():
            return _UNEXPECTED
        case Answers():
            if not _behind(child, message.origin):
                return "items come from where it was not asked"
            if len(child.counts) >= limits.lines and peers_of(message.origin) not in child.counts:
                return "its items have too many origins"
            if any(_size(item) > ITEM_LIMIT for item in message.items):
                return "an item is too long"
        case End():
            paths = [peers_of(line.path) for line in message.receipt]
            if peers_of(child.path) not in paths or len(set(paths)) < len(paths):
                return "its receipt does not have one line for each path"
            if len(paths) > limits.lines or not all(_behind(child, line.path) for line in message.receipt):
                return "its receipt speaks of paths that are not behind it"
        case Error():
            pass
    return None


def _behind(child: _Child, path: HopPath) -> bool:
    """Whether a path leads through the neighbour, and no further than it was allowed to ask."""
    start = len(child.path)
    return peers_of(path[:start]) == peers_of(child.path) and len(path) <= start + child.message.hops


def _ending(query: str, lines: tuple[ReceiptLine, ...], limits: Limits) -> End | Error:
    """The receipt as a message; too long to send it is an error, for no line may get lost silently."""
    if len(lines) <= limits.lines:
        for receipt in (lines, tuple(replace(line, text="") for line in lines)):
            try:
                encode(End(query, receipt))
            except PeerError:
                continue
            return End(query, receipt)
    return Error(query, Status.FAILED, f"its receipt of {len(lines)} lines is too long to be sent")

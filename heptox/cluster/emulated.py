"""One emulated peer: the state machine of real peers, with virtual time, a processor and links instead of a machine.

Times are whole microseconds of the virtual clock. A peer takes in what arrives in a window of time, in order, and what
it sends arrives after the window at the earliest; so the peers of a window can be emulated in any order, anywhere, and
everything follows from the plan and its seed.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import heappop, heappush
from random import Random
from typing import Final, TypeAlias

from heptox.cluster.network import Link, Network
from heptox.cluster.plan import Plan
from heptox.cluster.workload import Edge
from heptox.peer import (
    Acquainted,
    Answers,
    Arrived,
    Ask,
    Asked,
    Cancel,
    Completed,
    Conclude,
    Deliver,
    End,
    Error,
    Evaluate,
    Evaluated,
    Event,
    Failed,
    Instruction,
    Limits,
    Lost,
    Message,
    Neighbour,
    PeerState,
    Query,
    Receipt,
    Received,
    Send,
    Tick,
    Translate,
    Translated,
    Untranslated,
    Wake,
    encode,
)
from heptox.translate import Direction

SECOND: Final = 1_000_000
_BITS: Final = 8
_BROKEN: Final = "the connection was lost"

Body: TypeAlias = int
"""A query by its number in the table of all queries of an emulation."""

Items: TypeAlias = tuple[str, ...] | str
"""The items of a query at a peer, or why it cannot be evaluated there."""


@dataclass(frozen=True, slots=True)
class Crossing:
    """The translation of a query across a mapping, made once for all peers, for a task that is yet to be named.

    The body is the number of a query, and so is its text; its schema goes by its name. ``cost`` are the microseconds
    that it takes on the virtual clock.
    """

    found: Translated | Untranslated
    cost: int


@dataclass(frozen=True, slots=True)
class QueryFacts:
    """What is known of all queries so far: their bytes on the wire, what evaluating them costs a peer in microseconds,
    and their translations across mappings."""

    sizes: Mapping[Body, int]
    costs: Mapping[Body, int]
    crossings: Mapping[tuple[Edge, Direction, Body], Crossing]


@dataclass(frozen=True)
class Conditions:
    """The plan and the network, with what is drawn from the seed for each peer."""

    plan: Plan
    network: Network
    askers: frozenset[int]

    @cached_property
    def limits(self) -> Limits:
        plan = self.plan
        return Limits(
            queries=10**9, arrivals=plan.arrivals, hops=31, seconds=plan.timeout, budget=plan.budget, lines=plan.lines
        )

    def processor(self, peer: int) -> float:
        """How much longer than others a peer takes for its work."""
        return self.plan.slow_factor if self._drawn("slow", peer, self.plan.slow) else 1.0

    def absence(self, peer: int) -> tuple[int, int] | None:
        """When a peer leaves, and when it comes back, if it does."""
        if peer in self.askers or not self._drawn("churn", peer, self.plan.churn):
            return None
        left = int(self._chance("absence", peer) * self.plan.churn_ms * 1000) + 1
        return left, left + int(self.plan.away_ms * 1000)

    def loses(self, *message: int) -> bool:
        """Whether the stream breaks at a message, which is named by its sender and number."""
        return self._drawn("loss", message, self.plan.loss)

    def _drawn(self, what: str, of: object, share: float) -> bool:
        return share > 0 and self._chance(what, of) < share

    def _chance(self, what: str, of: object) -> float:
        return Random(f"{self.plan.seed} {what} {of}").random()


# -- what travels --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Break:
    """A stream is lost, or could not be opened."""

    reason: str = _BROKEN


@dataclass(frozen=True, slots=True)
class Parcel:
    """Something on its way: to the peer ``to`` at ``at``, the ``number``-th of the peer ``sender``.

    ``exchange`` names its stream, as both ends do on the way: after who has opened it, in which of its lives.
    """

    to: int
    at: int
    sender: int
    number: int
    exchange: str
    content: Message | Break | Asked

    @property
    def asks(self) -> Body | None:
        """The query that the receiver may have to evaluate for it."""
        return self.content.body if isinstance(self.content, Query | Asked) else None

    @property
    def may_go_on(self) -> bool:
        """Whether that query may travel further."""
        return isinstance(self.content, Query | Asked) and self.content.hops > 0


# -- what is observed --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class QueryArrived:
    """A query arrived along a path."""

    query: str
    path: tuple[int, ...]
    at: int


@dataclass(frozen=True, slots=True)
class ItemsArrived:
    """Items came to the asker of a query from the end of a path; ``items`` are their marks, see :func:`mark`."""

    query: str
    path: tuple[int, ...]
    at: int
    items: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class QueryEnded:
    """A query has ended at its asker."""

    receipt: Receipt
    at: int


Observation: TypeAlias = QueryArrived | ItemsArrived | QueryEnded


@dataclass(slots=True)
class Window:
    """What comes of the peers in a window of time, which ends before ``end``."""

    end: int
    parcels: list[Parcel] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    messages: Counter[str] = field(default_factory=Counter)
    bytes: Counter[str] = field(default_factory=Counter)
    events: int = 0
    lost: int = 0

    def count(self, message: Message, size: int) -> None:
        """Count a message that is sent."""
        kind = type(message).__name__.lower()
        self.messages[kind] += 1
        self.bytes[kind] += size


def mark(item: str) -> int:
    """A number for an item, different for different items: 63 bits of a digest."""
    digest = hashlib.blake2b(item.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) >> 1


# -- the peer ------------------------------------------------------------------------------------------------------

_Moment: TypeAlias = tuple[int, int, int]
_LEAVE: Final = "leave"
_RETURN: Final = "return"


class EmulatedPeer:
    """A peer with what is under way in it. It can be pickled, and goes on elsewhere."""

    def __init__(self, number: int, conditions: Conditions) -> None:
        self.number = number
        self._sent = 0
        self._free = 0
        self._away = False
        self._life = 0
        self._waiting: list[tuple[_Moment, Event | str]] = []
        self._alarms: list[int] = []
        self._busy_until: dict[int, int] = {}
        self._asking: dict[str, int] = {}
        self._answering: dict[str, int] = {}
        self._begin(conditions)
        absence = conditions.absence(number)
        for at, what in zip(absence or (), (_LEAVE, _RETURN), strict=False):
            self._later(at, what)

    def _begin(self, conditions: Conditions) -> None:
        """Start with nothing under way."""
        network = conditions.network
        self._life += 1
        self._state = PeerState(
            str(self.number), network.name(self.number), conditions.limits, network.schemas[self.number]
        )
        links = network.links[self.number]
        neighbours = tuple(Neighbour(str(link.peer), network.name(link.peer)) for link in links)
        self._state.handle(Acquainted(neighbours), 0.0)

    @property
    def next(self) -> int | None:
        """When something happens here that needs no other peer."""
        times = [self._waiting[0][0][0]] if self._waiting else []
        if self._alarms and not self._state.is_idle:
            times.append(self._alarms[0])
        return min(times, default=None)

    def _name(self, exchange: str) -> str:
        """How a stream is called on the way: one that this peer has opened is named after it."""
        return exchange if "/" in exchange else f"{self.number}.{self._life}/{exchange}"

    def _own_name(self, exchange: str) -> str:
        """How a stream is called here."""
        return exchange.removeprefix(f"{self.number}.{self._life}/")

    def work(self, parcels: Iterable[Parcel], window: Window, world: World) -> None:
        """Take in what arrives in the window and what is due, in the order of time."""
        arrived = [((parcel.at, parcel.sender, parcel.number), parcel) for parcel in parcels]
        arrived.sort(key=lambda one: one[0], reverse=True)
        while True:
            local = self._waiting[0][0] if self._waiting else (window.end, 0, 0)
            alarm = self._alarms[0] if self._alarms and not self._state.is_idle else window.end
            moment = arrived[-1][0] if arrived else (window.end, 0, 0)
            at = min(local[0], alarm, moment[0])
            if at >= window.end:
                return
            window.events += 1
            if alarm == at:
                self._tick(at, window, world)
            elif local <= moment:
                self._due(at, heappop(self._waiting)[1], window, world)
            else:
                self._arrived(arrived.pop()[1], window, world)

    # events

    def _tick(self, at: int, window: Window, world: World) -> None:
        while self._alarms and self._alarms[0] <= at:
            heappop(self._alarms)
        self._handle(Tick(), at, window, world)

    def _due(self, at: int, what: Event | str, window: Window, world: World) -> None:
        if not isinstance(what, str):
            self._handle(what, at, window, world)
        elif what == _LEAVE:
            self._leave(at, window, world)
        else:
            self._away = False
            self._begin(world.conditions)

    def _leave(self, at: int, window: Window, world: World) -> None:
        """Be gone, with all that was under way; those at the other ends notice."""
        for exchange, neighbour in (*self._asking.items(), *self._answering.items()):
            self._post(neighbour, exchange, Break(), at, window, world)
        self._waiting = [one for one in self._waiting if one[1] == _RETURN]
        self._alarms, self._asking, self._answering = [], {}, {}
        self._away, self._free = True, 0
        self._begin(world.conditions)

    def _arrived(self, parcel: Parcel, window: Window, world: World) -> None:
        content, exchange, at = parcel.content, self._own_name(parcel.exchange), parcel.at
        match content:
            case Query() if self._away:
                self._post(parcel.sender, exchange, Break("it cannot be reached"), at, window, world)
            case Asked():
                window.observations.append(QueryArrived(content.query, (self.number,), at))
                self._handle(content, at, window, world)
            case Query():
                path = tuple(int(hop.peer) for hop in content.path)
                window.observations.append(QueryArrived(content.query, path, at))
                self._answering[exchange] = parcel.sender
                self._handle(Arrived(exchange, str(parcel.sender), content), at, window, world)
            case Break(reason):
                self._forget(exchange)
                self._handle(Lost(exchange, reason), at, window, world)
            case Answers() | End() | Error() | Cancel() if exchange in self._asking or exchange in self._answering:
                if not isinstance(content, Answers):
                    self._forget(exchange)
                self._handle(Received(exchange, content), at, window, world)

    def _forget(self, exchange: str) -> None:
        self._asking.pop(exchange, None)
        self._answering.pop(exchange, None)

    def _handle(self, event: Event, at: int, window: Window, world: World) -> None:
        for instruction in self._state.handle(event, at / SECOND):
            self._obey(instruction, at, window, world)

    # instructions

    def _obey(self, instruction: Instruction, at: int, window: Window, world: World) -> None:
        match instruction:
            case Translate(task, _, _, neighbour, body):
                link = world.links[int(neighbour)]
                crossing = world.known.crossings[link.edge, link.to, body]
                self._later(self._worked(at, crossing.cost, world), replace(crossing.found, task=task))
            case Evaluate(task, _, body):
                done = self._worked(at, world.known.costs[body], world)
                answer = world.answers.get(body, ())
                if isinstance(answer, str):
                    self._later(done, Failed(task, answer))
                else:
                    self._later(done, Evaluated(task, answer))
                    self._later(done, Completed(task))
            case Ask(exchange, neighbour, message):
                self._asking[exchange] = int(neighbour)
                self._post(int(neighbour), exchange, message, at, window, world)
            case Send(exchange, message):
                self._send(exchange, message, at, window, world)
            case Wake(alarm):
                heappush(self._alarms, int(alarm * SECOND) + 1)
            case Deliver(query, origin, items, repeated):
                path = tuple(int(hop.peer) for hop in origin)
                window.observations.append(ItemsArrived(query, path, at, tuple(map(mark, (*items, *repeated)))))
            case Conclude(receipt):
                window.observations.append(QueryEnded(receipt, at))
            case _:  # what is to stop is not heard of any more
                pass

    def _worked(self, at: int, cost: int, world: World) -> int:
        """When the processor has done a piece of work that is asked for now."""
        self._free = max(at, self._free) + round(cost * world.processor)
        return self._free

    def _later(self, at: int, what: Event | str) -> None:
        self._sent += 1
        heappush(self._waiting, ((at, self.number, self._sent), what))

    def _send(self, exchange: str, message: Message, at: int, window: Window, world: World) -> None:
        neighbour = self._answering.get(exchange, self._asking.get(exchange))
        if neighbour is None:
            return  # the stream is broken
        if not isinstance(message, Answers):
            self._forget(exchange)
        self._post(neighbour, exchange, message, at, window, world)

    def _post(
        self, neighbour: int, exchange: str, content: Message | Break, at: int, window: Window, world: World
    ) -> None:
        """Put something on the link to a neighbour, behind what is on it."""
        self._sent += 1
        delay, free = world.links[neighbour].delay, max(at, self._busy_until.get(neighbour, 0))
        if not isinstance(content, Break):
            size = _size(content, world.known)
            window.count(content, size)
            free += round(size * _BITS / world.conditions.plan.bandwidth_mbit)
            self._busy_until[neighbour] = free
            if world.conditions.loses(self.number, self._sent):
                window.lost += 1
                self._forget(exchange)
                self._later(free + delay, Lost(exchange, _BROKEN))
                if isinstance(content, Query):
                    return  # of which the neighbour has not heard
                content = Break()
        parcel = Parcel(neighbour, free + delay, self.number, self._sent, self._name(exchange), content)
        window.parcels.append(parcel)


@dataclass(frozen=True, slots=True)
class World:
    """What one peer sees of everything else: ``links`` by neighbour, how slow its ``processor`` is, and its ``answers``
    to the queries that arrive, of which those without items are left out."""

    conditions: Conditions
    known: QueryFacts
    links: Mapping[int, Link]
    processor: float
    answers: Mapping[Body, Items]


def _size(message: Message, known: QueryFacts) -> int:
    """Bytes of a message on the wire: a body counts as what its number stands for."""
    return len(encode(message)) + (known.sizes[message.body] if isinstance(message, Query) else 0)

"""Documents on their way over emulated links: the time of the links is virtual, that of the routers measured.

A router sends a document on when it has received all of it and has matched it (store and forward). What a document
needs until its subscribers have it is the sum of what each router on the way takes, querying, and each link,
transmitting; the links to publishers count, those to subscribers, which are the same by all ways, do not.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from benchmarks.rewriting.routers import Handled, Parcel, Router
from heptox.rewriting import Strategy


@dataclass(frozen=True, slots=True)
class Topology:
    """Routers, each with the one that it gets documents from, which comes before it: the first one from publishers.

    Subscribers are at all of them, or at the ``leaves`` only; then what stands above a leaf matches documents all the
    same, so as to know where they go.
    """

    name: str
    parents: tuple[int | None, ...]
    leaves_only: bool = False

    def subscribed(self, router: int) -> bool:
        """Whether a router has subscribers."""
        return not self.leaves_only or router not in self.parents


LINEAR: Final = Topology("linear", (None, 0, 1, 2))
LINEAR_LEAF: Final = Topology("linear, leaf only", (None, 0, 1, 2), leaves_only=True)
TREE: Final = Topology("tree", (None, *(router // 2 for router in range(14))))
"""A complete binary tree of four levels."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a router did with a document: seconds of the processor, bytes that it sends on, and how many of its
    subscriptions matched."""

    seconds: float
    size: int
    found: int


@dataclass(frozen=True, slots=True)
class Response:
    """The mean seconds in which documents come to a subscriber, and how many times one came to one."""

    querying: float
    transmitting: float
    deliveries: int

    @property
    def seconds(self) -> float:
        """The response time."""
        return self.querying + self.transmitting


class DisagreementError(Exception):
    """Two ways have delivered a document to different subscribers."""


def work_of(
    topology: Topology, routers: Sequence[Router], parcel: Parcel, turns: int, ways: Iterable[Strategy] = Strategy
) -> dict[Strategy, list[Work]]:
    """What each router does with a document that a publisher sends, by each way; the seconds are the median of turns.

    Where there are fewer ``routers`` than the topology has, several of it are alike: they take them in turn.

    Raises :class:`DisagreementError` when it does not come to the same subscribers by all ways.
    """
    ways = tuple(ways)
    journeys: dict[Strategy, list[list[Handled]]] = {way: [] for way in ways}
    for turn in range(turns + 1):
        for way in ways:
            journey = _journey(topology, routers, parcel, way)
            if turn:  # in the first one much is done that is kept
                journeys[way].append(journey)
    _agree(journeys)
    return {way: [_median(router) for router in zip(*turned, strict=True)] for way, turned in journeys.items()}


def _journey(topology: Topology, routers: Sequence[Router], parcel: Parcel, way: Strategy) -> list[Handled]:
    handled: list[Handled] = []
    for number, parent in enumerate(topology.parents):
        router = routers[number % len(routers)]
        handled.append(router.handle(parcel if parent is None else handled[parent].parcel, way))
    return handled


def _agree(journeys: Mapping[Strategy, Sequence[Sequence[Handled]]]) -> None:
    for (one, first), (other, second) in pairwise(journeys.items()):
        for router, (here, there) in enumerate(zip(first[0], second[0], strict=True)):
            if here.found.tolist() != there.found.tolist():
                differing = sorted({*here.found.tolist()} ^ {*there.found.tolist()})
                raise DisagreementError(f"{one} and {other} differ at router {router}: subscriptions {differing}")


def _median(turned: Sequence[Handled]) -> Work:
    seconds = statistics.median(handled.seconds for handled in turned)
    return Work(seconds, turned[0].parcel.size, len(turned[0].found))


def response(topology: Topology, megabits: float, sent: Iterable[tuple[int, Sequence[Work]]]) -> Response:
    """The response time over links of so many megabits a second, for documents of ``sent`` bytes and the work on each.

    >>> response(LINEAR_LEAF, 8, [(1000, [Work(0.5, 1000, 1)] * 4)])
    Response(querying=2.0, transmitting=0.004, deliveries=1)
    """
    querying = transmitting = 0.0
    deliveries = 0
    for size, works in sent:
        arrived: list[tuple[float, float]] = []
        for router, (parent, work) in enumerate(zip(topology.parents, works, strict=True)):
            before = (0.0, 0.0) if parent is None else arrived[parent]
            carried = size if parent is None else works[parent].size
            arrived.append((before[0] + work.seconds, before[1] + 8e-6 * carried / megabits))
            if topology.subscribed(router):
                querying += work.found * arrived[-1][0]
                transmitting += work.found * arrived[-1][1]
                deliveries += work.found
    return Response(querying / max(deliveries, 1), transmitting / max(deliveries, 1), deliveries)

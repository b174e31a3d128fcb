"""How far this peer is with the feeds of others, by publisher."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Final

from heptox.feed.events import Reached
from heptox.feed.messages import Announce, PeerId, Wording
from heptox.feed.receiving import Reception
from heptox.feed.route_table import RouteTable
from heptox.feed.subscriptions import Subscriptions
from heptox.feed.table import Entry

MOST_RECEPTIONS: Final = 20_000
"""Feeds of which it is known how far this peer is; beyond, those are forgotten that were not reached for longest."""


@dataclass(frozen=True, slots=True)
class PublisherStatus:
    """A publisher as this peer sees it: ``path`` from a neighbour to it, the ``digest`` of its advertisement, how many
    local subscriptions overlap that, up to which ``position`` documents have come, whether all that follows comes
    down the tree, and the ``version`` of the announcement and its ``wording``. The publisher has signed
    that up to the position ``audited`` everything has come."""

    publisher: PeerId
    path: tuple[PeerId, ...]
    digest: str
    interested: int
    position: int | None
    live: bool
    version: int
    wording: Wording
    audited: int | None


class Receptions:
    """The receptions of each publisher: one for the subscriptions in own words, and one for the others."""

    def __init__(self, routes: RouteTable, subscriptions: Subscriptions) -> None:
        self._routes = routes
        self._subscriptions = subscriptions
        self._receptions: dict[tuple[PeerId, bool], Reception] = {}

    def __iter__(self) -> Iterator[Reception]:
        return iter(self._receptions.values())

    def get(self, publisher: PeerId, feed: str | None = None, *, own: bool) -> Reception | None:
        """How far this peer is with a publisher, and with that feed of it."""
        reception = self._receptions.get((publisher, own))
        return None if reception is not None and feed not in (None, reception.feed) else reception

    def of(self, publisher: PeerId) -> Iterator[Reception]:
        """Those of one publisher."""
        for own in (False, True):
            reception = self._receptions.get((publisher, own))
            if reception is not None:
                yield reception

    def asking(self, publisher: PeerId, request: int, neighbour: PeerId) -> Reception | None:
        """Whose request of a neighbour is under way by that number."""
        for reception in self.of(publisher):
            asked = reception.request
            if asked is not None and asked.request == request:
                return reception if asked.neighbour == neighbour else None
        return None

    def restore(self, reached: Reached) -> None:
        """So far this peer was before it started."""
        place = (reached.publisher, reached.feed, reached.position, reached.number)
        self._receptions[reached.publisher, reached.own] = Reception(*place, own=reached.own, is_kept=True)

    def open(self, route: Announce, *, own: bool) -> Reception:
        """How far this peer is with the feed that is announced; it begins where nothing is known of it."""
        key = (route.publisher, own)
        reception = self._receptions.get(key)
        if reception is None:
            reception = self._receptions[key] = Reception(route.publisher, route.feed, own=own)
        elif reception.feed != route.feed:
            reception = self._receptions[key] = reception.begun_anew(route.feed)
        return reception

    def leave(self, publisher: PeerId) -> None:
        """Forget what was known of a publisher that no neighbour announces any more, but for how far its feed was
        read."""
        for reception in tuple(self.of(publisher)):
            if not self._counts_anything(reception):
                del self._receptions[publisher, reception.own]
        if len(self._receptions) > MOST_RECEPTIONS:
            gone = (key for key in self._receptions if not self._routes.is_offered(key[0]))
            if (oldest := next(gone, None)) is not None:
                del self._receptions[oldest]

    # what is awaited

    def is_kept(self, publisher: PeerId) -> bool:
        """Whether it is on the disk that there is a publisher."""
        return any(one.is_kept for one in self.of(publisher))

    def interests(self, route: Announce, reception: Reception) -> dict[int, None]:
        """The local subscriptions that a reception is about and that overlap what is advertised, ascending."""
        return self._subscriptions.interests(route, own=reception.own)

    def counting(self, route: Announce, reception: Reception) -> Iterator[Entry]:
        """The subscriptions of a reception that count at the publisher."""
        for number in self.interests(route, reception):
            if number <= reception.number:
                entry = self._subscriptions.entry(reception.publisher, number, own=reception.own)
                if entry is not None:
                    yield entry

    def awaits(self, reception: Reception) -> bool:
        """Whether a local subscription counts at a publisher already, and documents may come that it matches."""
        route = self._routes.followed(reception.publisher)
        if route is None or not self._subscriptions.is_readable(reception.publisher, own=reception.own):
            return False
        if next(iter(self.interests(route, reception)), inf) <= reception.number:
            return True
        # What was published before the announcement may be of another advertisement.
        return self._counts_anything(reception) and (reception.position or 0) < route.position

    def is_behind(self, reception: Reception) -> bool:
        """Whether a publisher that can be reached has not confirmed a local subscription."""
        route = self._routes.followed(reception.publisher)
        last = None if route is None else next(reversed(self.interests(route, reception)), None)
        return last is not None and last > reception.number

    def _counts_anything(self, reception: Reception) -> bool:
        """Whether some local subscription counts at a publisher."""
        numbers = self._subscriptions.numbers(own=reception.own)
        return reception.position is not None and next(iter(numbers), inf) <= reception.number

    # looking

    def seen(self) -> Iterator[PublisherStatus]:
        """The publishers that can be reached."""
        for route in self._routes:
            plain = self.get(route.publisher, own=False)
            receptions = [one for one in self.of(route.publisher) if self.interests(route, one)]
            shown = receptions or ([plain] if plain else [])
            interested = sum(len(self.interests(route, one)) for one in receptions)
            position = min((max((one.position, *one.came)) for one in shown if one.position is not None), default=None)
            audited = min((one.position for one in shown if one.position is not None), default=None)
            live, place = bool(shown) and all(one.live for one in shown), (route.publisher, route.path, route.digest)
            yield PublisherStatus(*place, interested, position, live, route.version, route.wording, audited)

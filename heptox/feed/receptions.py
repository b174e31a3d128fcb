"""How far this peer is with the feeds of others, by publisher."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Final

from heptox.feed.events import Reached
from heptox.feed.messages import Announce, PeerId
from heptox.feed.receiving import Reception
from heptox.feed.route_table import RouteTable
from heptox.feed.subscriptions import Subscriptions
from heptox.feed.table import Entry
from heptox.feed.views import PublisherSeen

MOST_RECEPTIONS: Final = 20_000
"""Feeds of which it is known how far this peer is; beyond, those are forgotten that were not reached for longest."""


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
        publisher, own = reached.publisher, reached.own
        self._receptions[publisher, own] = Reception(
            publisher, reached.feed, reached.position, reached.number, own=own, is_kept=True
        )

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

    def is_readable(self, reception: Reception) -> bool:
        """Whether it is known what the subscriptions of a reception ask for; until then everything waits."""
        return self._subscriptions.is_readable(reception.publisher, own=reception.own)

    def awaits(self, reception: Reception) -> bool:
        """Whether a local subscription counts at a publisher already, and documents may come that it matches."""
        route = self._routes.followed(reception.publisher)
        if route is None or not self.is_readable(reception):
            return False
        first = next(iter(self.interests(route, reception)), None)
        return (first is not None and first <= reception.number) or self._awaits_earlier(reception, route)

    def is_behind(self, reception: Reception) -> bool:
        """Whether a publisher that can be reached has not confirmed a local subscription."""
        route = self._routes.followed(reception.publisher)
        last = None if route is None else next(reversed(self.interests(route, reception)), None)
        return last is not None and last > reception.number

    def _awaits_earlier(self, reception: Reception, route: Announce) -> bool:
        """Whether what was published before the announcement is awaited, which may be of another advertisement."""
        return self._counts_anything(reception) and (reception.position or 0) < route.position

    def _counts_anything(self, reception: Reception) -> bool:
        """Whether some local subscription counts at a publisher."""
        numbers = self._subscriptions.numbers(own=reception.own)
        return reception.position is not None and next(iter(numbers), inf) <= reception.number

    # looking

    @property
    def publishers(self) -> set[PeerId]:
        """All publishers of which anything is known."""
        return {key[0] for key in self._receptions}

    @property
    def unreached(self) -> tuple[PeerId, ...]:
        """The publishers of which this peer has had documents, or a confirmation, and that cannot be reached now."""
        known = dict.fromkeys(one.publisher for one in self if one.position is not None)
        return tuple(publisher for publisher in known if self._routes.followed(publisher) is None)

    def counts(self, publisher: PeerId, number: int) -> bool:
        """Whether a publisher has confirmed a local subscription, and all that it asks for comes down the tree."""
        reception = self.get(publisher, own=number in self._subscriptions.numbers(own=True))
        return reception is not None and reception.live and number <= reception.number

    def seen(self) -> Iterator[PublisherSeen]:
        """The publishers that can be reached."""
        for route in self._routes:
            plain = self.get(route.publisher, own=False)
            receptions = [one for one in self.of(route.publisher) if self.interests(route, one)]
            shown = receptions or ([plain] if plain else [])
            audited = [one.position for one in shown if one.position is not None]
            positions = [max((one.position, *one.came)) for one in shown if one.position is not None]
            yield PublisherSeen(
                route.publisher,
                route.path,
                route.digest,
                sum(len(self.interests(route, one)) for one in receptions),
                min(positions, default=None),
                bool(shown) and all(one.live for one in shown),
                route.version,
                route.wording,
                min(audited, default=None),
            )

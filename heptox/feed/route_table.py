"""Routes: through which neighbour a publisher is reached, so that its documents come down a tree (``routing.md``).

Each peer sends its neighbours the whole path on which it reaches a publisher, as BGP does (RFC 4271); it takes the
shortest one offered that does not lead through itself. So there are no cycles once all have heard of all, and a peer
behind a change hears of it before anything that comes after.

A path that is lost would else be hunted for along longer and longer ones that are lost too. So who loses a path, or is
offered only a longer one, says at once that it has none, and takes another one a moment later: ghost flushing,
Bremler-Barr, Afek and Schwarz, "Improved BGP convergence via ghost flushing" (2003).

No announcement is followed that is older than one that was; and a newer one is waited for a while only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from heptox.feed.holding import announcement_bytes
from heptox.feed.messages import MOST_HOPS, Announce, PeerId
from heptox.feed.reports import RouteChange
from heptox.feed.trust import Trust

HOLD: Final = 0.5
"""Seconds before a longer path is taken in place of one that is lost."""
STALE: Final = 5.0
"""Seconds for which an announcement is still followed when there is a newer one on another path."""
MOST_VERSIONS: Final = 20_000
"""Publishers of which it is known how new their announcements were; the oldest are forgotten where there are more."""


class RouteTable:
    """What the neighbours of ``peer`` have announced, and which of it is followed. Times are seconds.

    >>> routes = RouteTable("c", Trust())
    >>> routes.offer(Announce("a", "f", 1, 0, ("b", "a")), 0.0).after.path
    ('b', 'a')
    >>> routes.lose("b", 1.0)[0].after is None, routes.offer(Announce("a", "f", 1, 0, ("d", "e", "a")), 1.1)
    (True, None)
    >>> [change.after.path for change in routes.due(2.0)]
    [('d', 'e', 'a')]
    """

    def __init__(self, peer: PeerId, trust: Trust) -> None:
        """``trust`` says which announcements may be followed."""
        self._peer = peer
        self._trust = trust
        self._oldest: dict[PeerId, int] = {}
        self._newest: dict[PeerId, tuple[int, float]] = {}
        self._stale: dict[PeerId, float] = {}
        self._offers: dict[PeerId, dict[PeerId, Announce]] = {}
        self._followed: dict[PeerId, Announce] = {}
        self._held: dict[PeerId, float] = {}
        self._bytes: Counter[PeerId] = Counter()

    def followed(self, publisher: PeerId) -> Announce | None:
        """The announcement that is followed; its path begins with the neighbour through which documents come."""
        return self._followed.get(publisher)

    def __iter__(self) -> Iterator[Announce]:
        """All that are followed."""
        return iter(tuple(self._followed.values()))

    def offers(self, neighbour: PeerId) -> int:
        """How many publishers a neighbour has announced."""
        return sum(neighbour in offers for offers in self._offers.values())

    def digests(self, neighbour: PeerId) -> frozenset[str]:
        """The digests of the advertisements that a neighbour has announced publishers with."""
        return frozenset(offer.digest for offer in self._offered_by(neighbour))

    def publishers(self, neighbour: PeerId) -> tuple[PeerId, ...]:
        """The publishers that a neighbour has announced."""
        return tuple(offer.publisher for offer in self._offered_by(neighbour))

    def held(self, neighbour: PeerId) -> int:
        """Bytes of memory that are held for what a neighbour has announced, without the advertisements."""
        return self._bytes[neighbour]

    def _offered_by(self, neighbour: PeerId) -> Iterator[Announce]:
        return (offers[neighbour] for offers in self._offers.values() if neighbour in offers)

    def is_offered(self, publisher: PeerId) -> bool:
        """Whether any neighbour has announced a publisher."""
        return publisher in self._offers

    def is_child(self, neighbour: PeerId, publisher: PeerId) -> bool:
        """Whether documents of a publisher go to a neighbour: it has announced a path that leads through here."""
        offered = self._offers.get(publisher, {}).get(neighbour)
        return offered is not None and offered.path[1:2] == (self._peer,)

    def offered(self, neighbour: PeerId, publisher: PeerId) -> Announce | None:
        """What a neighbour has announced of a publisher."""
        return self._offers.get(publisher, {}).get(neighbour)

    def children(self, publisher: PeerId) -> Iterator[PeerId]:
        """The neighbours to which documents of a publisher go."""
        for neighbour, offered in self._offers.get(publisher, {}).items():
            if offered.path[1:2] == (self._peer,):
                yield neighbour

    @property
    def next_due(self) -> float | None:
        """When :meth:`due` has something to say, at the earliest."""
        return min((*self._held.values(), *self._stale.values()), default=None)

    def offer(self, announce: Announce, now: float) -> RouteChange | None:
        """A neighbour, the first on the path, has announced a publisher."""
        publisher, neighbour = announce.publisher, announce.path[0]
        offers = self._offers.setdefault(publisher, {})
        self._count(neighbour, offers.get(neighbour), -1)
        offers[neighbour] = replace(announce, news=False)
        self._count(neighbour, announce, 1)
        if announce.version > self._newest.get(publisher, (-1, 0.0))[0]:
            self._newest[publisher] = announce.version, now
        return self._change(publisher, now)

    @property
    def unfollowed(self) -> tuple[PeerId, ...]:
        """The publishers of which no announcement may be followed, through whichever neighbour."""
        found = self._offers.items()
        return tuple(publisher for publisher, offers in found if not any(map(self._trust.allows, offers.values())))

    def look_again(self, publisher: PeerId | None, now: float) -> list[RouteChange]:
        """Other announcements of a publisher may be followed; ``None``: of any publisher."""
        again = tuple(self._offers) if publisher is None else (publisher,)
        return _changes(self._change(one, now) for one in again)

    def withdraw(self, neighbour: PeerId, publisher: PeerId, now: float) -> RouteChange | None:
        """A neighbour no longer reaches a publisher."""
        offers = self._offers.get(publisher, {})
        offered = offers.pop(neighbour, None)
        if offered is None:
            return None
        self._count(neighbour, offered, -1)
        if not offers:
            del self._offers[publisher]
            if publisher not in self._oldest:
                self._newest.pop(publisher, None)
        return self._change(publisher, now)

    def _count(self, neighbour: PeerId, offered: Announce | None, sign: int) -> None:
        if offered is not None:
            self._bytes[neighbour] += sign * announcement_bytes(offered)
        if not self._bytes[neighbour]:
            del self._bytes[neighbour]

    def lose(self, neighbour: PeerId, now: float) -> list[RouteChange]:
        """There is no such neighbour any more."""
        return _changes(self.withdraw(neighbour, publisher, now) for publisher in self.publishers(neighbour))

    def due(self, now: float) -> list[RouteChange]:
        """Take the paths that were waited with."""
        due = [publisher for publisher, at in (*self._held.items(), *self._stale.items()) if at <= now]
        for publisher in due:
            self._held.pop(publisher, None)
            self._stale.pop(publisher, None)
        return _changes(self._change(publisher, now) for publisher in due)

    def _change(self, publisher: PeerId, now: float) -> RouteChange | None:
        change = self._chosen(publisher, now)
        followed = self._followed.get(publisher)
        newest, at = self._newest.get(publisher, (0, now))
        if followed is not None and followed.version < newest:
            self._stale[publisher] = at + STALE
        else:
            self._stale.pop(publisher, None)
        return change

    def _chosen(self, publisher: PeerId, now: float) -> RouteChange | None:
        before = self._followed.get(publisher)
        best = self._best(publisher, before, now)
        if best == before or (before is None and publisher in self._held):
            return None
        if before is not None and (best is None or len(best.path) > len(before.path)):
            del self._followed[publisher]
            self._held[publisher] = now + HOLD
            return RouteChange(publisher, before, None)
        assert best is not None
        self._followed[publisher] = best
        newest = self._oldest.pop(publisher, 0)
        self._oldest[publisher] = best.version
        while len(self._oldest) > MOST_VERSIONS:
            self._newest.pop(first := next(iter(self._oldest)), None)
            del self._oldest[first]
        return RouteChange(publisher, before, best, newest)

    def _best(self, publisher: PeerId, before: Announce | None, now: float) -> Announce | None:
        """The shortest path; among those that are as short, the one through the neighbour that is followed."""
        parent = before.path[0] if before else None
        newest, at = self._newest.get(publisher, (0, now))
        oldest = newest if at + STALE <= now else self._oldest.get(publisher, 0)
        return min(
            (one for one in self._offers.get(publisher, {}).values() if one.version >= oldest and self._may(one)),
            key=lambda one: (
                self._trust.is_silent(one.path[0], publisher),
                len(one.path),
                one.path[0] != parent,
                one.path,
            ),
            default=None,
        )

    def _may(self, offered: Announce) -> bool:
        """Whether an announcement may be followed at all."""
        is_path = self._peer not in offered.path and len(offered.path) < MOST_HOPS
        is_trusted = not self._trust.is_distrusted(offered.path[0], offered.publisher)
        return is_path and is_trusted and self._trust.allows(offered)


def _changes(found: Iterable[RouteChange | None]) -> list[RouteChange]:
    return [change for change in found if change is not None]

"""Routes: through which neighbour a publisher is reached, so that its documents come down a tree (``routing.md``).

Each peer tells its neighbours the whole path on which it reaches a publisher, as BGP does (RFC 4271); it takes the
shortest one offered that does not lead through itself. So there are no cycles once all have heard of all, and whoever
is behind a change hears of it before anything that comes after.

A path that is lost would else be hunted for along longer and longer ones that are lost too. So who loses a path, or is
offered only a longer one, says at once that it has none, and takes another one a moment later: ghost flushing,
Bremler-Barr, Afek and Schwarz, "Improved BGP convergence via ghost flushing" (2003).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from heptox.dissemination.feed.holding import announcement_bytes
from heptox.dissemination.feed.messages import MOST_HOPS, Announce, PeerId

HOLD: Final = 0.5
"""Seconds before a longer path is taken in place of one that is lost."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The route to a publisher has changed: the announcements that were and are followed; ``None``: there is none."""

    publisher: PeerId
    before: Announce | None
    after: Announce | None


class Routes:
    """What the neighbours of ``peer`` have announced, and which of it is followed. Times are seconds.

    >>> routes = Routes("c")
    >>> routes.offer(Announce("a", "f", 1, 0, ("b", "a")), 0.0).after.path
    ('b', 'a')
    >>> routes.lose("b", 1.0)[0].after is None, routes.offer(Announce("a", "f", 1, 0, ("d", "e", "a")), 1.1)
    (True, None)
    >>> [turn.after.path for turn in routes.due(2.0)]
    [('d', 'e', 'a')]
    """

    def __init__(self, peer: PeerId) -> None:
        self._peer = peer
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
        return min(self._held.values(), default=None)

    def offer(self, announce: Announce, now: float) -> Turn | None:
        """A neighbour, the first on the path, has announced a publisher."""
        neighbour, offers = announce.path[0], self._offers.setdefault(announce.publisher, {})
        self._count(neighbour, offers.get(neighbour), -1)
        offers[neighbour] = replace(announce, news=False)
        self._count(neighbour, announce, 1)
        return self._turn(announce.publisher, now)

    def withdraw(self, neighbour: PeerId, publisher: PeerId, now: float) -> Turn | None:
        """A neighbour no longer reaches a publisher."""
        offers = self._offers.get(publisher, {})
        offered = offers.pop(neighbour, None)
        if offered is None:
            return None
        self._count(neighbour, offered, -1)
        if not offers:
            del self._offers[publisher]
        return self._turn(publisher, now)

    def _count(self, neighbour: PeerId, offered: Announce | None, sign: int) -> None:
        if offered is not None:
            self._bytes[neighbour] += sign * announcement_bytes(offered)
        if not self._bytes[neighbour]:
            del self._bytes[neighbour]

    def lose(self, neighbour: PeerId, now: float) -> list[Turn]:
        """There is no such neighbour any more."""
        return _turns(self.withdraw(neighbour, publisher, now) for publisher in self.publishers(neighbour))

    def due(self, now: float) -> list[Turn]:
        """Take the paths that were waited with."""
        due = [publisher for publisher, at in self._held.items() if at <= now]
        for publisher in due:
            del self._held[publisher]
        return _turns(self._turn(publisher, now) for publisher in due)

    def _turn(self, publisher: PeerId, now: float) -> Turn | None:
        before = self._followed.get(publisher)
        best = self._best(publisher, before)
        if best == before or (before is None and publisher in self._held):
            return None
        if before is not None and (best is None or len(best.path) > len(before.path)):
            del self._followed[publisher]
            self._held[publisher] = now + HOLD
            return Turn(publisher, before, None)
        assert best is not None
        self._followed[publisher] = best
        return Turn(publisher, before, best)

    def _best(self, publisher: PeerId, before: Announce | None) -> Announce | None:
        """The shortest path; among those that are as short, the one through the neighbour that is followed."""
        parent = before.path[0] if before else None
        return min(
            (
                offered
                for offered in self._offers.get(publisher, {}).values()
                if self._peer not in offered.path and len(offered.path) < MOST_HOPS
            ),
            key=lambda offered: (len(offered.path), offered.path[0] != parent, offered.path),
            default=None,
        )


def _turns(found: Iterable[Turn | None]) -> list[Turn]:
    return [turn for turn in found if turn is not None]

"""Whom a peer trusts with which publisher, and which publishers it follows."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Final

from heptox.feed.messages import ANYTHING, Announce, PeerId

MOST_DISTRUSTED: Final = 100
"""Publishers with which a neighbour is not trusted before it is trusted with none."""
MOST_SILENT: Final = 1000
"""Publishers for which it is known that a neighbour does not answer; the oldest are forgotten where there are more. It
need not be its fault: it is not taken for silent with others."""
MOST_FORKED: Final = 1000
"""Publishers of which it is known that they have signed two feeds; the oldest are forgotten where there are more."""


@dataclass(frozen=True, slots=True)
class Following:
    """Which publishers are followed, so that what is wanted here is asked of them: those that are ``named``, and
    acquaintances; with ``advertised`` also those that say what they publish, with ``anything`` all others, too."""

    advertised: bool = True
    anything: bool = True
    named: frozenset[PeerId] = frozenset()

    def allows(self, announce: Announce, acquaintances: Container[PeerId]) -> bool:
        """Whether the publisher of an announcement is followed."""
        if announce.publisher in self.named or announce.publisher in acquaintances:
            return True
        return self.anything if announce.digest == ANYTHING else self.advertised


EVERYBODY: Final = Following()


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What is held against a ``neighbour``, about the feed of a ``publisher``: it is not honest (``distrusted``), or
    does not answer. A publisher that says different things to others is its own neighbour."""

    neighbour: PeerId
    publisher: PeerId
    reason: str
    distrusted: bool


class Trust:
    """What is held against neighbours and publishers, also while there is no link to them.

    >>> trust = Trust()
    >>> trust.distrust("b", "a", "it lies")
    False
    >>> trust.is_distrusted("b", "a"), trust.is_distrusted("b", "c")
    (True, False)
    """

    def __init__(self, following: Following = EVERYBODY) -> None:
        self._following = following
        self._acquaintances: frozenset[PeerId] = frozenset()
        self._distrusted: dict[PeerId, dict[PeerId, str]] = {}
        self._silent: dict[PeerId, dict[PeerId, None]] = {}
        self._forks: dict[PeerId, str] = {}

    def allows(self, announce: Announce) -> bool:
        """Whether the publisher of an announcement is followed."""
        return self._following.allows(announce, self._acquaintances)

    def is_silent(self, neighbour: PeerId, publisher: PeerId) -> bool:
        """Whether a neighbour does not answer for a publisher."""
        return publisher in self._silent.get(neighbour, ())

    def is_distrusted(self, neighbour: PeerId, publisher: PeerId) -> bool:
        """Whether a neighbour is not trusted with a publisher."""
        found = self._distrusted.get(neighbour, {})
        return publisher in found or len(found) >= MOST_DISTRUSTED

    @property
    def suspicions(self) -> tuple[Suspicion, ...]:
        """All that is held against neighbours, and publishers."""
        silent = "it answers no question to the publisher"
        return (
            *(
                Suspicion(neighbour, publisher, reason, distrusted=True)
                for neighbour, publishers in self._distrusted.items()
                for publisher, reason in publishers.items()
            ),
            *(Suspicion(publisher, publisher, reason, distrusted=True) for publisher, reason in self._forks.items()),
            *(
                Suspicion(neighbour, publisher, silent, distrusted=False)
                for neighbour, publishers in self._silent.items()
                for publisher in publishers
            ),
        )

    def distrust(self, neighbour: PeerId, publisher: PeerId, reason: str) -> bool:
        """Trust a neighbour with a publisher no more; whether it is trusted with none."""
        found = self._distrusted.setdefault(neighbour, {})
        if len(found) < MOST_DISTRUSTED:
            found[publisher] = reason
        return len(found) == MOST_DISTRUSTED

    def avoid(self, neighbour: PeerId, publisher: PeerId) -> None:
        """A neighbour does not answer for a publisher."""
        found = self._silent.setdefault(neighbour, {})
        found[publisher] = None
        if len(found) > MOST_SILENT:
            del found[next(iter(found))]

    def fork(self, publisher: PeerId, reason: str) -> bool:
        """A publisher has signed two feeds; whether that is new."""
        if publisher in self._forks:
            return False
        self._forks[publisher] = reason
        if len(self._forks) > MOST_FORKED:
            del self._forks[next(iter(self._forks))]
        return True

    def acquaint(self, peers: frozenset[PeerId]) -> frozenset[PeerId]:
        """These are the acquaintances from now on; the others against whom nothing is held any more."""
        forgiven = frozenset({one.neighbour for one in self.suspicions} - peers)
        self._acquaintances = peers
        for peer in forgiven:
            for known in (self._distrusted, self._silent, self._forks):
                known.pop(peer, None)
        return forgiven

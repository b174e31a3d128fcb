"""Whom a peer trusts with which publisher, and which publishers it follows."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Final

from heptox.feed.events import Distrusted, KeepDistrusted, Note
from heptox.feed.messages import ANYTHING, Announce, PeerId
from heptox.feed.reports import Answered, Fork, Outputs, Suspicion, TrustChange

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


class Trust:
    """The part of the machine for links that sees to trust. It owns what is held against neighbours and publishers,
    also while there is no link to them; ``links`` are those that there is one to.

    >>> trust = Trust()
    >>> [*trust.distrust(Distrusted("b", "a", "it lies"))]
    [TrustChange(publisher='a')]
    >>> trust.is_distrusted("b", "a"), trust.is_distrusted("b", "c")
    (True, False)
    """

    def __init__(self, following: Following = EVERYBODY, links: Container[PeerId] = ()) -> None:
        self._following = following
        self._links = links
        self._acquaintances: frozenset[PeerId] = frozenset()
        self._distrusted: dict[PeerId, dict[PeerId, str]] = {}
        self._silent: dict[PeerId, dict[PeerId, str]] = {}
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
        forks = {publisher: {publisher: reason} for publisher, reason in self._forks.items()}
        found = ((self._distrusted, True), (forks, True), (self._silent, False))
        return tuple(
            Suspicion(neighbour, publisher, reason, distrusted)
            for against, distrusted in found
            for neighbour, publishers in against.items()
            for publisher, reason in publishers.items()
        )

    def acquaint(self, peers: frozenset[PeerId]) -> Outputs:
        """Forget what is held against those that are acquaintances no more, and follow others."""
        blamed = {one.neighbour for one in self.suspicions}
        self._acquaintances = peers
        for peer in blamed - peers:
            for known in (self._distrusted, self._silent, self._forks):
                known.pop(peer, None)
            yield KeepDistrusted(peer)
        yield TrustChange(None)

    def distrust(self, distrusted: Distrusted) -> Outputs:
        """Follow nothing of a publisher that comes through a neighbour."""
        found = self._distrusted.setdefault(distrusted.neighbour, {})
        if len(found) < MOST_DISTRUSTED:
            found[distrusted.publisher] = distrusted.reason
        yield TrustChange(None if len(found) == MOST_DISTRUSTED else distrusted.publisher)

    def suspect(self, suspicion: Suspicion) -> Outputs:
        """Of a neighbour that is not honest about the feed of a publisher nothing of it is taken any more; another path
        than that of one that is silent is better, if there is one."""
        neighbour, publisher, reason = suspicion.neighbour, suspicion.publisher, suspicion.reason
        if suspicion.distrusted:
            yield Note("neighbour distrusted", {"neighbour": neighbour, "publisher": publisher, "why": reason})
            if neighbour in self._links and not self.is_distrusted(neighbour, publisher):
                distrusted = Distrusted(neighbour, publisher, reason)
                yield KeepDistrusted(neighbour, distrusted)
                yield from self.distrust(distrusted)
            return
        yield Note("neighbour silent", {"neighbour": neighbour, "publisher": publisher})
        found = self._silent.setdefault(neighbour, {})
        found[publisher] = reason
        if len(found) > MOST_SILENT:
            del found[next(iter(found))]
        yield TrustChange(publisher)

    def forget_silence(self, answered: Answered) -> Outputs:
        """A neighbour is silent no more."""
        found = self._silent.get(answered.neighbour, {})
        found.pop(answered.publisher, None)
        if not found:
            self._silent.pop(answered.neighbour, None)
        yield TrustChange(answered.publisher)

    def fork(self, fork: Fork) -> Outputs:
        """A publisher has signed two feeds."""
        publisher, position = fork.publisher, fork.sequence
        if publisher in self._forks:
            return
        self._forks[publisher] = f"it has signed two feeds that part before document {position + 1}"
        yield Note("feed forked", {"publisher": publisher, "position": position})
        if len(self._forks) > MOST_FORKED:
            del self._forks[next(iter(self._forks))]

"""The feed of this peer itself, as it is announced."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from heptox.feed.events import Publishes
from heptox.feed.messages import ANYTHING, Announce, FeedDocument, PeerId, Wording
from heptox.routing import digest as digest_of

NEWS: Final = 60.0
"""Seconds in which the first announcement of a feed is news for a neighbour that there is a link to only now."""


class OwnFeed:
    """Where the feed of ``peer`` is, once it ``publishes``, and for whom it is news that there is one."""

    def __init__(self, peer: PeerId) -> None:
        self._peer = peer
        self.publishes: Publishes | None = None
        """As it is now: the position, and the digest there, are those of the last document."""
        self.advertised_since = 0
        """Up to this position documents may be of another advertisement."""
        self._digest = ANYTHING
        self._news_since = 0
        self._news_until = 0.0
        self._news_for: frozenset[PeerId] = frozenset()

    def begin(self, publishes: Publishes, known: Iterable[PeerId], now: float) -> Announce:
        """Publish from now on, or with another advertisement; ``known`` are those for whom it is news if it is new. The
        announcement of it."""
        digest = ANYTHING if publishes.advertisement is None else digest_of(publishes.advertisement)
        if self.publishes is None or digest != self._digest:
            self.advertised_since = 0 if digest == ANYTHING else publishes.position
        self.publishes, self._digest = publishes, digest
        announce = self._announcement(publishes)
        if publishes.since is None:  # who has heard of the feed would count from its beginning again
            self._news_until = now
            return announce
        self._news_since, self._news_until = publishes.since, now + NEWS
        # Who becomes an acquaintance later has not been there: what was published before is no news for it.
        self._news_for = frozenset(known)
        return replace(announce, position=publishes.since)

    def advance(self, document: FeedDocument) -> bool:
        """A document was published; whether there is a feed that it is of."""
        if self.publishes is None:
            return False
        if document.sequence > self.publishes.position:
            self.publishes = replace(self.publishes, position=document.sequence, last=document.digest)
        return True

    def announcement(self, neighbour: PeerId, now: float) -> tuple[Announce, bool] | None:
        """What is announced on a new link, with an empty path, and whether that is news; ``None`` where there is no
        feed."""
        if self.publishes is None:
            return None
        announce = self._announcement(self.publishes)
        if now < self._news_until and neighbour in self._news_for:
            return replace(announce, position=self._news_since), True
        return announce, False

    def _announcement(self, own: Publishes) -> Announce:
        return Announce(
            self._peer, own.feed, own.version, own.position, (), self._digest, own.advertisement,
            wording=Wording(own.schema, own.written_since),
        )  # fmt: skip

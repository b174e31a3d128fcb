"""Who is known to stand behind neighbours: what their receipts have told, for some time."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from itertools import islice
from typing import Final

from heptox.peer.wire.messages import HopPath, PeerId, ReceiptLine, peers_of

KEPT_SECONDS: Final = 24 * 3600.0
"""How long it is known that a peer stands behind a neighbour of which no receipt speaks any more."""
MOST_BEHIND: Final = 1000
"""Peers behind a neighbour that are known, and told, at most."""


def peer_digest(peer: PeerId) -> str:
    """What tells those who know a peer that it is meant, and others only that there is one.

    >>> peer_digest("A") == peer_digest("A") != peer_digest("B")
    True
    """
    return hashlib.blake2b(peer.encode(), digest_size=8).hexdigest()


class Reach:
    """The peers behind each neighbour. Times are those of :class:`heptox.peer.query.state.PeerState`."""

    def __init__(self) -> None:
        self._until: dict[PeerId, dict[str, float]] = {}

    def learn(self, neighbour: PeerId, lines: Iterable[ReceiptLine], start: int, now: float) -> None:
        """Take up whom the lines of a receipt of a neighbour, on paths on which it is number ``start``, speak of."""
        known = self._until.setdefault(neighbour, {})
        for line in lines:
            several = (*(peer_digest(hop.peer) for hop in line.path[start + 1 :]), *line.behind)
            for digest in several:
                known.pop(digest, None)
                known[digest] = now + KEPT_SECONDS
        for digest in tuple(islice(known, max(len(known) - MOST_BEHIND, 0))):  # those that were told first
            del known[digest]

    def behind(self, neighbour: PeerId, path: HopPath, now: float) -> tuple[str, ...]:
        """Digests of those that are known to stand behind a neighbour, and not on a path."""
        passed = {peer_digest(peer) for peer in peers_of(path)}
        until = self._until.get(neighbour, {})
        return tuple(sorted(digest for digest, end in until.items() if end > now and digest not in passed))

    def with_behind(self, neighbours: Collection[PeerId], path: HopPath, now: float) -> tuple[str, ...]:
        """Digests of neighbours, and of those behind them; none where these are too many."""
        found = {peer_digest(one) for one in neighbours}
        for one in neighbours:
            found.update(self.behind(one, path, now))
        return tuple(sorted(found)) if len(found) <= MOST_BEHIND else ()

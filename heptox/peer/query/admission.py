"""Who may ask a peer, and what is hidden from whom."""

from __future__ import annotations

from collections.abc import Collection

from heptox.peer.query.arrivals import Arrival
from heptox.peer.query.bounds import Limits
from heptox.peer.query.events import Acquainted, Hidden, Neighbour
from heptox.peer.wire.messages import UNREAD, Error, HopPath, PeerId, Query, Status, peers_of


class Admission:
    """The acquaintances of a peer and its rules for queries. ``schema`` identifies the peer's schema, or is empty."""

    def __init__(self, peer: PeerId, name: str, limits: Limits, schema: str) -> None:
        self._peer = peer
        self._name = name
        self._limits = limits
        self._schema = schema
        self._neighbours: tuple[Neighbour, ...] = ()
        self._may_ask: frozenset[PeerId] = frozenset()
        self._strangers = False
        self._hidden = Hidden()

    def acquaint(self, event: Acquainted) -> None:
        """These are the acquaintances from now on."""
        neighbours = {neighbour.peer: neighbour for neighbour in event.neighbours if neighbour.peer != self._peer}
        self._neighbours = tuple(neighbours.values())
        self._may_ask = frozenset(neighbour.peer for neighbour in self._neighbours if neighbour.may_ask)
        self._strangers = event.strangers
        self._hidden = event.hidden

    def acquainted(self, neighbour: PeerId) -> bool:
        """Whether a peer is an acquaintance that may ask."""
        return neighbour in self._may_ask

    def ahead(self, path: HopPath) -> list[Neighbour]:
        """The neighbours to which a path can go on: those that it has not passed."""
        passed = set(peers_of(path))
        return [neighbour for neighbour in self._neighbours if neighbour.peer not in passed]

    def hidden_along(self, path: HopPath) -> frozenset[str]:
        """The schema paths that are hidden from a query that has come along a path."""
        return self._hidden.along(peers_of(path), self._peer)

    def denial(self, neighbour: PeerId) -> Error | None:
        """What a peer that may not ask gets before its query is read; ``None`` for one that may."""
        if self._strangers or self.acquainted(neighbour):
            return None
        return Error(UNREAD, Status.DENIED, f"{neighbour} is no acquaintance of {self._name} that may ask")

    def refusal(self, neighbour: PeerId, query: Query, under_way: Collection[Arrival]) -> Error | None:
        """What ``neighbour`` gets when its query is not taken, beside those ``under_way``; ``None`` when it is."""
        denial = self.denial(neighbour)
        if denial is not None:
            return Error(query.query, denial.status, denial.reason)
        reason = self._fault(neighbour, query) or self._excess(neighbour, query, under_way)
        return Error(query.query, Status.FAILED, reason) if reason else None

    def _fault(self, neighbour: PeerId, query: Query) -> str | None:
        """What is wrong with a query by itself."""
        peers = peers_of(query.path)
        if len(set(peers)) < len(peers) or peers[-2:] != (neighbour, self._peer) or peers[0] != query.asker:
            return "the path of the query does not lead from its asker through its sender to this peer"
        if self._schema and query.schema != self._schema:
            return f"the query is in the words of another schema than that of {self._name}"
        if query.hops > self._limits.hops:
            return f"{query.hops} more hops are over the limit of {self._name}, {self._limits.hops}"
        return None

    def _excess(self, neighbour: PeerId, query: Query, under_way: Collection[Arrival]) -> str | None:
        """What is too much about a query beside others."""
        others = [arrival.query for arrival in under_way if arrival.path[-2].peer == neighbour]
        queries = {other.query for other in others} | {query.query}
        if len(queries) > self._limits.queries or len(under_way) >= self._limits.arrivals:
            return f"{self._name} has too many queries in flight"
        if any(other.query == query.query and peers_of(other.path) == peers_of(query.path) for other in others):
            return "the query is under way along this path"
        return None

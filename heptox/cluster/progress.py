"""What came of a superstep at some peers, and at all of them together."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from heptox.cluster.emulated import Body, Observation

NEVER: Final = 2**62
"""A time that does not come."""


@dataclass(slots=True)
class Progress:
    """What came of a superstep: what was observed in which network, what is asked from now on, when something is due.

    ``asks`` are the queries that parcels under way ask for, and whether they may be passed on.
    """

    observations: list[tuple[int, Observation]] = field(default_factory=list)
    asks: set[tuple[Body, bool]] = field(default_factory=set)
    next_parcel: int = NEVER
    next_due: int = NEVER
    messages: Counter[str] = field(default_factory=Counter)
    bytes: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    events: int = 0
    peers: int = 0

    def add(self, other: Progress) -> None:
        """Take up what came of other peers."""
        self.observations += other.observations
        self.asks |= other.asks
        self.next_parcel = min(self.next_parcel, other.next_parcel)
        self.next_due = min(self.next_due, other.next_due)
        self.messages += other.messages
        self.bytes += other.bytes
        self.lost += other.lost
        self.events += other.events
        self.peers += other.peers

    def waits_for(self, at: int, asked: Body | None, *, goes_on: bool) -> None:
        """Take up that something is under way."""
        self.next_parcel = min(self.next_parcel, at)
        if asked is not None:
            self.asks.add((asked, goes_on))

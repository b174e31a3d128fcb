"""What may come for queries at most, and what items cost."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from heptox.errors import Fault, PeerError
from heptox.peer.wire.messages import ITEM_COST, ITEM_LIMIT, PATH_LIMIT
from heptox.settings import LEAST_TIMEOUT, MOST_TIMEOUT
from heptox.xml import comparable_text


@dataclass(frozen=True, slots=True)
class Limits:
    """What one peer does for others, and the most that a query may ask for.

    ``queries`` different queries of one neighbour in flight; ``arrivals`` in flight in all; ``hops``; ``seconds``
    until the deadline of a neighbour's query; ``items`` that come for one query along all paths; ``budget`` bytes of
    them; ``batch`` bytes of items in one message, unless a single item is longer; ``kept`` bytes of evaluated items
    held for later arrivals of equal queries, in all; ``lines`` of one receipt. Bytes of items are those in UTF-8, and
    :data:`ITEM_COST` for each.
    """

    queries: int = 64
    arrivals: int = 4096
    hops: int = 8
    seconds: float = 600.0
    items: int = 1_000_000
    budget: int = 256 * 1024 * 1024
    batch: int = 32 * 1024
    kept: int = 64 * 1024 * 1024
    lines: int = 4000

    def __post_init__(self) -> None:
        if not 0 <= self.hops < PATH_LIMIT:
            raise ValueError(f"hops must be from 0 to {PATH_LIMIT - 1}")

    def check(self, hops: int, seconds: float, budget: int) -> None:
        """Raise :class:`PeerError` (HX7021) where bounds that a user gives a query are out of range."""
        faults = [
            Fault("HX7021", f"{value} {what} are out of range", hint=f"from {least} to {limit}")
            for what, value, least, limit in (
                ("hops", hops, 0, self.hops),
                ("seconds", seconds, LEAST_TIMEOUT, MOST_TIMEOUT),
                ("bytes of budget", budget, 1, self.budget),
            )
            if not least <= value <= limit
        ]
        if faults:
            raise PeerError(faults)


def digest_of(item: str) -> bytes:
    """What identifies an item, whichever prefixes and comments it is written with."""
    return hashlib.blake2b(comparable_text(item).encode("utf-8", "surrogatepass"), digest_size=32).digest()


def size_of(item: str) -> int:
    """Bytes of an item in UTF-8; over every limit when it has none."""
    try:
        return len(item.encode())
    except UnicodeEncodeError:
        return ITEM_LIMIT + 1


def cost_of(item: str) -> int:
    """What an item takes off a budget."""
    return size_of(item) + ITEM_COST


def batches(items: list[str], limit: int) -> Iterator[tuple[str, ...]]:
    """The items in messages of so many bytes, unless one alone is longer."""
    batch: list[str] = []
    size = 0
    for item in items:
        if batch and size + cost_of(item) > limit:
            yield tuple(batch)
            batch, size = [], 0
        batch.append(item)
        size += cost_of(item)
    if batch:
        yield tuple(batch)

"""The covering index measured: its table, and what adding and removing one subscription takes."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from time import perf_counter, process_time
from typing import Final

from benchmarks.routing.advertised_index import AdvertisedIndex
from heptox.pattern import TreePattern
from heptox.routing import Advertisement

CHANGES: Final = 1000
"""How many subscriptions are added, and how many removed, one by one."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The table of so many subscriptions; seconds of the processor to build it, and milliseconds of each change."""

    subscriptions: int
    roots: int
    building: float
    adding: Sequence[float]
    removing: Sequence[float]
    removing_roots: Sequence[float]
    decisions: float
    """How many candidates were decided for each subscription that was added."""


def measured(
    subscriptions: Sequence[tuple[TreePattern, ...]], number: int, advertisement: Advertisement | None = None
) -> Measured:
    """Build an index of the first ``number`` subscriptions, add those that follow, remove some at random."""
    index = AdvertisedIndex[int]()
    if advertisement is not None:
        index.advertise(advertisement)
    gc.collect()
    begin = process_time()
    index.add_many(enumerate(subscriptions[:number]))
    building, roots, index.decided = process_time() - begin, len(index.roots), 0
    further = range(number, min(len(subscriptions), number + CHANGES))
    adding = _milliseconds(lambda each: index.add(each, subscriptions[each]), further)
    decisions = index.decided / max(len(further), 1)
    random = Random(number)
    removing = _milliseconds(index.remove, random.sample(range(number), CHANGES))
    chosen = random.sample(index.roots, min(CHANGES, len(index.roots) // 2))
    removing_roots = _milliseconds(index.remove, [each for each in chosen if index.parent(each) is None])
    return Measured(number, roots, building, adding, removing, removing_roots, decisions)


def _milliseconds(change: Callable[[int], object], identities: Iterable[int]) -> list[float]:
    found = []
    for identity in identities:
        begin = perf_counter()
        change(identity)
        found.append(1000 * (perf_counter() - begin))
    return sorted(found)


def quantiles(times: Sequence[float]) -> str:
    """The median, the 99th percentile and the worst of sorted times."""
    return " / ".join(f"{times[int(share * (len(times) - 1))]:.2f}" for share in (0.5, 0.99, 1))

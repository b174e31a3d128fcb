"""The size of the routing table against the number of subscriptions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import process_time

from benchmarks.routing.advertised_index import AdvertisedIndex
from benchmarks.routing.workload import nitf, paths
from heptox.routing import advertised


@dataclass(frozen=True, slots=True)
class Row:
    """So many subscriptions, those that no other covers, and the seconds of the processor up to here."""

    subscriptions: int
    roots: int
    seconds: float


def table_sizes(
    least_labels: int, sizes: Sequence[int], *, over_advertised: bool = False, most_seconds: float = 300.0
) -> Iterator[Row]:
    """The table as it grows, until it is as large as may be or takes too long."""
    wanted = paths(least_labels, sizes[-1])
    index = AdvertisedIndex[int]()
    if over_advertised:
        index.advertise(advertised(nitf()))
    begin, done = process_time(), 0
    for size in sizes:
        index.add_many((number, wanted[number]) for number in range(done, size))
        done = size
        yield Row(size, len(index.roots), process_time() - begin)
        if process_time() - begin > most_seconds:
            return

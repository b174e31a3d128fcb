"""Which subscriptions a neighbour is sent together, as one (``routing.md``, Merging).

A merger by sets of names is sent as its members with ``or`` between them: it matches what they match, no more and no
less. An imperfect one is sent as the path that it is, and matches more; who gets a document for nothing filters it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from heptox.feed.holding import subscription_bytes
from heptox.feed.table import Entry
from heptox.grammar import parse_subscription
from heptox.matching import LinearPath
from heptox.routing import PERFECT, Advertisement, Merger, linear_path, merged

MOST_MERGED: Final = 20_000
"""Subscriptions that are looked at; where there are more, all are sent apart."""
MOST_PAIRED: Final = 500
"""Subscriptions for which imperfect mergers are looked for: all pairs are."""
MOST_MEMBERS: Final = 64
"""Paths that are sent as one, at most: what has one change is sent anew."""


@dataclass(frozen=True, slots=True)
class Group:
    """Subscriptions, by their numbers, that are sent as one ``text``."""

    numbers: frozenset[int]
    text: str

    @property
    def bytes(self) -> int:
        """Bytes of memory that the neighbour holds for it."""
        return subscription_bytes(parse_subscription(self.text))


def groups(
    entries: Iterable[Entry], advertisement: Advertisement | None = None, most_imperfect: Fraction = PERFECT
) -> Iterator[Group]:
    """The groups of two subscriptions and more that can be sent as one; only linear paths can.

    Mergers of an imperfect degree up to ``most_imperfect`` are made where the ``advertisement`` is known of all that is
    published behind the neighbour.
    """
    paths: dict[LinearPath, int] = {}
    for entry in entries:
        path = linear_path(entry.patterns[0]) if len(entry.patterns) == 1 else None
        if path is not None:
            paths[path] = entry.number
    if len(paths) > MOST_MERGED:
        return
    if advertisement is None or len(paths) > MOST_PAIRED:
        most_imperfect = PERFECT
    for merger in merged(paths, advertisement if most_imperfect else None, most_imperfect):
        yield from _told(merger, paths)


def _told(merger: Merger, numbers: dict[LinearPath, int]) -> Iterator[Group]:
    if merger.degree:
        found = [str(path) for path in merger.path.members()]
        yield Group(frozenset(numbers[path] for path in merger.members), " or ".join(found))
        return
    for begin in range(0, len(merger.members), MOST_MEMBERS):
        members = merger.members[begin : begin + MOST_MEMBERS]
        if len(members) > 1:
            yield Group(frozenset(numbers[path] for path in members), " or ".join(map(str, members)))

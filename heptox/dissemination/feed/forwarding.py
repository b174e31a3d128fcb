"""What a neighbour is told of subscriptions: those that overlap what is published behind it, and that no other one
covers (``routing.md``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from heptox.dissemination.feed.messages import ANYTHING, MOST_HOPS, MOST_SUPPORT, Budget, PeerId, Subscribe, Unsubscribe
from heptox.dissemination.feed.table import EVERYTHING, Entry
from heptox.dissemination.routing import Advertisement, Change, CoveringIndex, Overlaps, Patterns

ALL: Final = 0
"""The number of the subscription to everything, in whose place a neighbour would be told too many."""
LEAST_JUDGED: Final = 200
"""Changes before it is judged whether covering saves messages."""
MOST_ADVERTISEMENTS: Final = 4
"""Over the paths of so many advertisements covering is decided; where there are more, over any document."""


@dataclass(frozen=True, slots=True)
class Method:
    """How documents are routed: the four methods of the paper, and how strong covering is.

    Without ``advertisements`` every publisher may publish anything. With ``covering`` a neighbour is not told what
    another subscription covers, ``over_advertised`` paths if there are advertisements, else over any document.
    """

    advertisements: bool = True
    covering: bool = True
    over_advertised: bool = False


class _Index(Protocol):
    def add_many(self, subscriptions: Iterable[tuple[int, Patterns]]) -> Change[int]: ...

    def remove(self, identity: int) -> Change[int]: ...

    def advertise(self, *advertisements: Advertisement) -> Change[int]: ...

    @property
    def roots(self) -> tuple[int, ...]: ...

    @property
    def root_count(self) -> int: ...


class _All:
    """The index of those who do without covering: nothing covers anything."""

    def __init__(self) -> None:
        self._known: dict[int, None] = {}

    def add_many(self, subscriptions: Iterable[tuple[int, Patterns]]) -> Change[int]:
        new = tuple(identity for identity, _ in subscriptions)
        self._known.update(dict.fromkeys(new))
        return Change(exposed=new)

    def remove(self, identity: int) -> Change[int]:
        del self._known[identity]
        return Change(withdrawn=(identity,))

    def advertise(self, *_: Advertisement) -> Change[int]:
        return Change()

    @property
    def roots(self) -> tuple[int, ...]:
        return tuple(self._known)

    @property
    def root_count(self) -> int:
        return len(self._known)


class Forwarding:
    """What one neighbour is told; ``overlaps`` are those of all advertisements, by their digests.

    Each change of what is wanted, or published, makes the messages for the neighbour. What is new is told before what
    it covers, or makes up for, is taken back: in between documents are wanted once too often, and never too little.

    What is told has more hops than one of those for whom it is told, and is told again with more when that no longer
    holds. So peers that only want something for each other, in a circle, soon do no longer.
    """

    def __init__(self, neighbour: PeerId, method: Method, overlaps: Mapping[str, Overlaps]) -> None:
        self.budget = Budget()
        self._neighbour = neighbour
        self._method = method
        self._overlaps = overlaps
        self._digests: Counter[str] = Counter()
        self._members: dict[int, Entry] = {}
        self._index: _Index = CoveringIndex[int]() if method.covering else _All()
        self._told: dict[int, tuple[Entry, int]] = {}
        self._text = 0
        self._hops = 0
        self.everything = False
        """Whether the neighbour is told that everything is wanted, for its budget is too small for more."""
        self.withdraws = True
        """Whether what is covered later is taken back: no longer, once that has cost more messages than it saved."""
        self._plain = 0
        self._sent = 0

    @property
    def told(self) -> int:
        """How many subscriptions the neighbour knows."""
        return len(self._told) + self.everything

    @property
    def members(self) -> int:
        """How many subscriptions it may be told of, covered or not."""
        return len(self._members)

    def stands_for(self, entry: Entry) -> bool:
        """Whether the neighbour was told a subscription, or what covers it."""
        return entry.number in self._members

    def refresh(self, entry: Entry) -> Iterator[Subscribe | Unsubscribe]:
        """Tell what has changed about one subscription."""
        yield from self._update((entry,))

    def publishers(
        self, added: Iterable[str], removed: Iterable[str], entries: Iterable[Entry]
    ) -> Iterator[Subscribe | Unsubscribe]:
        """There are publishers behind the neighbour with the digests ``added``, and no longer those ``removed``; of all
        ``entries`` tell what has changed."""
        before = set(self._digests)
        self._digests.update(added)
        self._digests.subtract(removed)
        self._digests = +self._digests
        if self._digests.keys() == before:
            return
        yield from self._advertise()
        yield from self._update(entries)

    def _advertise(self) -> Iterator[Subscribe | Unsubscribe]:
        known = sorted(self._digests)
        if not self._method.over_advertised or ANYTHING in known or len(known) > MOST_ADVERTISEMENTS:
            known = []
        yield from self._tell(self._index.advertise(*(self._overlaps[digest].advertisement for digest in known)))

    def _update(self, entries: Iterable[Entry]) -> Iterator[Subscribe | Unsubscribe]:
        added: list[Entry] = []
        removed: list[Entry] = []
        for entry in entries:
            wanted = self._is_wanted(entry)
            if wanted != (entry.number in self._members):
                (added if wanted else removed).append(entry)
            elif entry.number in self._told:
                yield from self._tell_again(entry)
        self._members.update((entry.number, entry) for entry in added)
        if added:
            change = self._index.add_many((entry.number, entry.patterns) for entry in added)
            yield from self._tell(change)
        for entry in removed:
            change = self._index.remove(entry.number)
            del self._members[entry.number]
            yield from self._tell(change)
            yield from self._take_back(entry.number)
        if self.everything:
            yield from self._tell_everything_again()
        self._judge(len(added) + len(removed))

    def _is_wanted(self, entry: Entry) -> bool:
        return self._support(entry) < MOST_SUPPORT and any(
            digest == ANYTHING or self._overlaps[digest].subscription(entry.patterns) for digest in self._digests
        )

    def _support(self, entry: Entry) -> int:
        support = entry.support_without(self._neighbour)
        return MOST_SUPPORT if support is None else support

    # messages

    def _tell(self, change: Change[int]) -> Iterator[Subscribe | Unsubscribe]:
        if self.everything:
            yield from self._tell_apart()
            return
        exposed = [number for number in change.exposed if number not in self._told]
        length = self._text + sum(len(self._members[number].text) for number in exposed)
        if len(self._told) + len(exposed) > self.budget.subscriptions or length > self.budget.text:
            yield from self._tell_everything()
            return
        yield from map(self._subscribe, exposed)
        for number in change.withdrawn:
            if self.withdraws:
                yield from self._take_back(number)

    def _subscribe(self, number: int) -> Subscribe:
        entry = self._members[number]
        hops = self._support(entry) + 1
        self._told[number] = entry, hops
        self._text += len(entry.text)
        self._sent += 1
        return Subscribe(number, entry.text, hops)

    def _tell_again(self, entry: Entry) -> Iterator[Subscribe]:
        """Tell other hops, where they are no more than those for whom it is told, or many for no reason."""
        (_, told), hops = self._told[entry.number], self._support(entry) + 1
        if hops > told or hops < told > MOST_HOPS:
            self._told[entry.number] = entry, hops
            yield Subscribe(entry.number, entry.text, hops)

    def _take_back(self, number: int) -> Iterator[Unsubscribe]:
        entry, _ = self._told.pop(number, (None, 0))
        if entry is not None:
            self._text -= len(entry.text)
            self._sent += 1
            yield Unsubscribe(number)

    def _tell_everything(self) -> Iterator[Subscribe | Unsubscribe]:
        self.everything = True
        self._hops = 1 + min(map(self._support, self._members.values()))
        yield Subscribe(ALL, EVERYTHING, self._hops)
        for number in tuple(self._told):
            yield from self._take_back(number)

    def _tell_everything_again(self) -> Iterator[Subscribe]:
        if self._hops <= MOST_HOPS and any(self._support(entry) < self._hops for entry in self._members.values()):
            return
        hops = 1 + min(map(self._support, self._members.values()))
        if hops != self._hops:
            self._hops = hops
            yield Subscribe(ALL, EVERYTHING, hops)

    def _tell_apart(self) -> Iterator[Subscribe | Unsubscribe]:
        """Tell again what is wanted in particular, once that is far less than the neighbour keeps.

        Not the roots count, for what comes back of everything, in a circle, covers all.
        """
        if len(self._members) > self.budget.subscriptions // 2:
            return
        roots = self._index.roots
        if sum(len(self._members[number].text) for number in roots) > self.budget.text // 2:
            return
        self.everything = False
        yield from map(self._subscribe, roots)
        yield Unsubscribe(ALL)

    def _judge(self, changes: int) -> None:
        """Compare with what would have been sent without covering: a message for each change."""
        self._plain += changes
        if self._method.covering and self._plain >= LEAST_JUDGED and self._sent > self._plain:
            self.withdraws = False

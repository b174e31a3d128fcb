"""What a neighbour is sent of subscriptions: those that overlap what is published behind it, and that no other one
covers (``routing.md``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from heptox.feed.mergers import Group, groups
from heptox.feed.messages import ANYTHING, MOST_HOPS, MOST_SUPPORT, Budget, PeerId, Subscribe, Unsubscribe
from heptox.feed.table import EVERYTHING, Entry, PublicationTable
from heptox.routing import PERFECT, Advertisement, Change, CoveringIndex, Overlaps

ALL: Final = 0
"""The number of the subscription to everything, in whose place a neighbour would be sent too many."""
FIRST_MERGER: Final = 1 << 40
"""Mergers have numbers beyond this one."""
MOST_COVERED: Final = 20_000
"""Subscriptions for which covers are looked for at once: that takes a few seconds. Where more are to be sent, as on a
new link, all are sent; those that come later may be covered."""
LEAST_JUDGED: Final = 200
"""Changes before it is judged whether covering saves messages."""


@dataclass(frozen=True, slots=True)
class Method:
    """What may be chosen of how documents are routed.

    With ``merging`` a neighbour is sent some subscriptions together, as one that may be imperfect up to a degree of
    ``most_imperfect``.
    """

    merging: bool = False
    most_imperfect: Fraction = PERFECT

    def index(self) -> CoveringIndex[int]:
        """A new index of what covers what, over any document: a neighbour is not sent what is covered."""
        return CoveringIndex()


@dataclass(frozen=True, slots=True)
class Branch:
    """The tree of a publisher behind a neighbour: the digest of its advertisement, and the neighbours that are reached
    from here."""

    digest: str
    children: frozenset[PeerId]


@dataclass(frozen=True, slots=True)
class _SentSubscription:
    """For which subscription something was sent, and with which hops."""

    entry: Entry
    hops: int

    def holds(self, support: int | None) -> bool:
        """Whether it is wanted nearer than was sent, and not very much so."""
        return support is not None and (support + 1 == self.hops or support < self.hops <= MOST_HOPS)


class Forwarding:
    """What one neighbour is sent; ``overlaps`` are those of all advertisements, by their digests.

    Each change of what is wanted, or published, makes the messages for the neighbour. What is new is sent before what
    it covers, or makes up for, is taken back: in between documents are wanted once too often, and never too little.

    What is sent has more hops than one of those for whom it is sent, and is sent again with more when that no longer
    holds. So peers that only want something for each other, in a circle, soon do no longer.
    """

    def __init__(self, neighbour: PeerId, method: Method, overlaps: Mapping[str, Overlaps]) -> None:
        self.budget = Budget()
        self.reads_namespaces = False
        """Whether the neighbour reads names in namespaces; else it is not asked for documents with such."""
        self._neighbour = neighbour
        self._method = method
        self._overlaps = overlaps
        self._digests: Counter[str] = Counter()
        self._askers: Counter[tuple[str, PeerId]] = Counter()
        self._children: dict[str, set[PeerId]] = {}
        self._members: dict[int, Entry] = {}
        self._index = method.index()
        self._apart: dict[int, bool] = {}  # what is sent without looking for covers, and whether that is a merger
        self._subscribed: dict[int, _SentSubscription] = {}
        self._mergers: dict[Group, tuple[int, _SentSubscription | None]] = {}
        self._together: dict[int, dict[Group, None]] = {}  # what is sent in mergers, which may overlap for a while
        self._last_merger = FIRST_MERGER
        self._text = self._bytes = 0
        self.is_merged = True
        """Whether all is sent together that can be; :meth:`merge` sees to it."""
        self._everything: _SentSubscription | None = None
        self.everything = False
        """Whether the neighbour is sent that everything is wanted, for its budget is too small for more."""
        self.withdraws = True
        """Whether what is covered later is taken back: no longer, once that has cost more messages than it saved."""
        self._plain = 0
        self._sent = 0

    @property
    def subscribed(self) -> int:
        """How many subscriptions the neighbour knows."""
        return len(self._subscribed) + len(self._mergers) + self.everything

    @property
    def members(self) -> int:
        """How many subscriptions it may be sent, covered or not."""
        return len(self._members)

    def refresh(self, entry: Entry) -> Iterator[Subscribe | Unsubscribe]:
        """Send what has changed about one subscription."""
        yield from self._update((entry,))

    def publishers(
        self, added: Iterable[Branch], removed: Iterable[Branch], table: PublicationTable
    ) -> Iterator[Subscribe | Unsubscribe]:
        """There are publishers ``added`` behind the neighbour, and others ``removed``; of what is in the ``table`` send
        what has changed."""
        digests, askers = set(self._digests), set(self._askers)
        for branch in added:
            self._digests[branch.digest] += 1
            self._askers.update((branch.digest, child) for child in branch.children)
        for branch in removed:
            self._digests[branch.digest] -= 1
            self._askers.subtract((branch.digest, child) for child in branch.children)
        self._digests, self._askers = +self._digests, +self._askers
        self._children = {digest: {child for of, child in self._askers if of == digest} for digest in self._digests}
        if self._digests.keys() != digests:
            yield from self._send_change(Change())  # the budget may be another one than when something was sent last
            yield from self._update(tuple(table))
        elif changed := {child for _, child in self._askers.keys() ^ askers}:
            yield from self._update(tuple(table.subscribed_by(changed)))

    def _update(self, entries: Iterable[Entry]) -> Iterator[Subscribe | Unsubscribe]:
        added: list[Entry] = []
        removed: list[Entry] = []
        for entry in entries:
            wanted = self._support(entry) is not None
            if wanted != (entry.number in self._members):
                (added if wanted else removed).append(entry)
            elif wanted and entry.is_merger != self._apart.get(entry.number, False):
                yield from self._move(entry)
            elif entry.number in self._subscribed:
                yield from self._send_again(entry)
        yield from self._add(added)
        for entry in removed:
            yield from self._remove(entry)
        for entry in entries if self._together else ():
            yield from self._send_mergers_again(entry)
        if self.everything:
            yield from self._send_everything_again()
        self._judge(len(added) + len(removed))

    def _add(self, added: Sequence[Entry]) -> Iterator[Subscribe | Unsubscribe]:
        self._members.update((entry.number, entry) for entry in added)
        too_many = len(added) > MOST_COVERED
        apart = [entry for entry in added if too_many or entry.is_merger]
        if apart:
            self._apart.update((entry.number, entry.is_merger) for entry in apart)
            yield from self._send_change(Change(tuple(entry.number for entry in apart)))
        if len(apart) < len(added):
            covered = ((entry.number, entry.patterns) for entry in added if entry.number not in self._apart)
            yield from self._send_change(self._index.add_many(covered))

    def _remove(self, entry: Entry) -> Iterator[Subscribe | Unsubscribe]:
        if self._apart.pop(entry.number, None) is None:
            change = self._index.remove(entry.number)
        else:
            change = Change(withdrawn=(entry.number,))
        del self._members[entry.number]
        yield from self._send_change(change)
        yield from self._take_back(entry.number)

    def _move(self, entry: Entry) -> Iterator[Subscribe | Unsubscribe]:
        """Let what has only stood for others be one of them, or the other way round."""
        if entry.number not in self._apart:
            self._apart[entry.number] = True
            yield from self._send_change(Change((entry.number,)))
            change = self._index.remove(entry.number)
            withdrawn = tuple(number for number in change.withdrawn if number != entry.number)
            yield from self._send_change(Change(change.exposed, withdrawn))
        elif entry.is_merger:
            self._apart[entry.number] = True
        else:
            del self._apart[entry.number]
            change = self._index.add_many(((entry.number, entry.patterns),))
            covered = () if change.exposed else (entry.number,)
            yield from self._send_change(Change(change.exposed, (*change.withdrawn, *covered)))
        if entry.number in self._subscribed:
            sent = self._subscribed[entry.number]
            yield Subscribe(entry.number, self._told(entry), sent.hops, merged=entry.is_merger)

    def _told(self, entry: Entry) -> str:
        """The text of a subscription, as the neighbour reads it."""
        return entry.text if self.reads_namespaces else entry.text_without_namespaces

    def _support(self, entry: Entry) -> int | None:
        """How many hops away it is wanted, here or by those who get through here what it overlaps."""
        found = None
        if not self._told(entry):
            return None
        for digest, children in self._children.items():
            support = entry.support(children)
            if support is not None and (found is None or support < found) and entry.overlaps(digest, self._overlaps):
                found = support
        return found

    def _nearest(self, entries: Iterable[Entry]) -> _SentSubscription | None:
        """The one of some entries that is wanted nearest; ``None`` where none is wanted any more, which is still to be
        seen to."""
        supports = ((entry, self._support(entry)) for entry in entries)
        wanted = (_SentSubscription(entry, support + 1) for entry, support in supports if support is not None)
        return min(wanted, key=lambda sent: sent.hops, default=None)

    # messages

    def _send_change(self, change: Change[int]) -> Iterator[Subscribe | Unsubscribe]:
        if self.everything:
            yield from self._send_apart()
            return
        self.is_merged = self.is_merged and not change
        exposed = [
            number for number in change.exposed if number not in self._subscribed and number not in self._together
        ]
        if not self._fits([self._members[number] for number in exposed]):
            yield from self._send_everything()
            return
        yield from map(self._subscribe, exposed)
        for number in change.withdrawn:
            if self.withdraws:
                yield from self._take_back(number)

    def _fits(self, more: Sequence[Entry | Group]) -> bool:
        """Whether the neighbour keeps these too."""
        budget = self.budget
        return (
            self.subscribed + len(more) <= budget.subscriptions
            and self._text + sum(map(self._length, more)) <= budget.text
            and self._bytes + sum(one.bytes for one in more) <= budget.memory
        )

    def _count(self, one: Entry | Group, sign: int = 1) -> None:
        self._text += sign * self._length(one)
        self._bytes += sign * one.bytes

    def _length(self, one: Entry | Group) -> int:
        return len(self._told(one) if isinstance(one, Entry) else one.text)

    def _subscribe(self, number: int) -> Subscribe:
        entry = self._members[number]
        sent = self._subscribed[number] = self._nearest((entry,)) or _SentSubscription(entry, MOST_SUPPORT)
        self._count(sent.entry)
        self._sent += 1
        return Subscribe(number, self._told(sent.entry), sent.hops, merged=self._apart.get(number, False))

    def _send_again(self, entry: Entry) -> Iterator[Subscribe]:
        """Send other hops, where those that were sent hold no longer."""
        if not self._subscribed[entry.number].holds(self._support(entry)):
            sent = self._nearest((entry,))
            if sent is not None:
                self._subscribed[entry.number] = sent
                yield Subscribe(entry.number, self._told(entry), sent.hops, merged=entry.is_merger)

    def _take_back(self, number: int) -> Iterator[Unsubscribe]:
        sent = self._subscribed.pop(number, None)
        if sent is not None:
            self._count(sent.entry, -1)
            self._sent += 1
            yield Unsubscribe(number)

    def _send_everything(self) -> Iterator[Subscribe | Unsubscribe]:
        self.everything = True
        self._everything = self._nearest(self._members.values())
        yield Subscribe(ALL, EVERYTHING, self._everything.hops if self._everything else MOST_SUPPORT)
        for number in tuple(self._subscribed):
            yield from self._take_back(number)
        yield from self._part(tuple(self._mergers))

    def _send_everything_again(self) -> Iterator[Subscribe]:
        sent = self._everything
        if sent is None or sent.entry.number not in self._members or not sent.holds(self._support(sent.entry)):
            self._everything = self._nearest(self._members.values())
            if self._everything is not None and (sent is None or sent.hops != self._everything.hops):
                yield Subscribe(ALL, EVERYTHING, self._everything.hops)

    def _send_apart(self) -> Iterator[Subscribe | Unsubscribe]:
        """Send again what is wanted in particular, once that is far less than the neighbour keeps.

        Not the roots count, for what comes back of everything, in a circle, covers all.
        """
        if len(self._members) > self.budget.subscriptions // 2:
            return
        roots = (*self._index.roots, *self._apart)
        if sum(self._length(self._members[number]) for number in roots) > self.budget.text // 2:
            return
        if sum(self._members[number].bytes for number in roots) > self.budget.memory // 2:
            return
        self.everything = False
        yield from map(self._subscribe, roots)
        yield Unsubscribe(ALL)

    # merging

    def merge(self) -> Iterator[Subscribe | Unsubscribe]:
        """Send together what can be, and apart what is left of others; what is new has been sent apart so far."""
        self.is_merged = True
        if self.everything or not self._method.merging:
            return
        roots = [
            entry
            for entry in map(self._members.__getitem__, self._index.roots)
            if self._told(entry) == entry.text  # what is told in part stays apart
        ]
        wanted = dict.fromkeys(
            groups(roots, _only_advertisement(self._digests, self._overlaps), self._method.most_imperfect)
        )
        merged = frozenset[int]().union(*(group.numbers for group in wanted))
        new = [group for group in wanted if group not in self._mergers]
        apart = [root for root in roots if root.number not in merged and root.number not in self._subscribed]
        if not self._fits([*new, *apart]):
            return  # both what is new and what it stands for have to be known for a moment
        yield from map(self._unite, new)
        yield from (self._subscribe(root.number) for root in apart)
        for number in merged & self._subscribed.keys():
            yield from self._take_back(number)
        yield from self._part([group for group in self._mergers if group not in wanted])

    def _unite(self, group: Group) -> Subscribe:
        self._last_merger += 1
        sent = self._nearest(self._members[number] for number in group.numbers)
        self._mergers[group] = self._last_merger, sent
        for number in group.numbers:
            self._together.setdefault(number, {})[group] = None
        self._count(group)
        return Subscribe(self._last_merger, group.text, sent.hops if sent else MOST_SUPPORT, merged=True)

    def _send_mergers_again(self, entry: Entry) -> Iterator[Subscribe]:
        for group in self._together.get(entry.number, ()):
            number, sent = self._mergers[group]
            if sent is not None and (sent.entry is not entry or sent.holds(self._support(entry))):
                continue
            again = self._nearest(self._members[each] for each in group.numbers if each in self._members)
            self._mergers[group] = number, again
            if again is not None and (sent is None or sent.hops != again.hops):
                yield Subscribe(number, group.text, again.hops, merged=True)

    def _part(self, mergers: Iterable[Group]) -> Iterator[Unsubscribe]:
        for group in mergers:
            for number in group.numbers:
                del self._together[number][group]
                if not self._together[number]:
                    del self._together[number]
            self._count(group, -1)
            yield Unsubscribe(self._mergers.pop(group)[0])

    def _judge(self, changes: int) -> None:
        """Compare with what would have been sent without covering: a message for each change."""
        self._plain += changes
        if self._plain >= LEAST_JUDGED and self._sent > self._plain:
            self.withdraws = False


def _only_advertisement(digests: Collection[str], overlaps: Mapping[str, Overlaps]) -> Advertisement | None:
    """What is advertised behind a neighbour, if it is one thing."""
    if len(digests) != 1 or ANYTHING in digests:
        return None
    return overlaps[next(iter(digests))].advertisement

"""Local subscriptions in own words: their translations for each publisher, which a task outside makes.

A subscription in own words asks each publisher for something else. Its translation for one publisher is sent to
neighbours as any subscription is; only documents of that publisher are delivered for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from heptox.feed.events import InWords, Translated
from heptox.feed.messages import Announce, PeerId, Wording
from heptox.feed.table import Entry, PublicationTable
from heptox.routing import Overlaps


@dataclass(frozen=True, slots=True)
class EntryChange:
    """What a task has changed: the entries that are new, those that are no more, and the numbers of the new ones."""

    added: tuple[Entry, ...]
    removed: tuple[Entry, ...]
    numbers: frozenset[int]


@dataclass(slots=True)
class _Translations:
    """What is known of one publisher: the last ``task``, for the ``words`` of a feed, and whether it has ``answered``;
    ``in_force``: for which words the entries hold, ``covered`` the numbers that the task knew, ``interest`` by digests
    of advertisements."""

    task: int
    words: tuple[str, Wording]
    answered: bool = False
    in_force: tuple[str, Wording] | None = None
    covered: frozenset[int] = frozenset()
    entries: dict[int, tuple[int, Entry]] = field(default_factory=dict)
    interest: dict[str, dict[int, None]] = field(default_factory=dict)


class OwnWords:
    """The subscriptions in own words of one peer; ``overlaps`` are those of all advertisements, by their digests."""

    def __init__(self, table: PublicationTable, overlaps: Mapping[str, Overlaps]) -> None:
        self.numbers: dict[int, None] = {}
        """Ascending as they were added."""
        self._table = table
        self._overlaps = overlaps
        self._publishers: dict[PeerId, _Translations] = {}
        self._last_task = 0
        self._last_key = 0

    def begin(self, announce: Announce) -> int:
        """Begin a task for a publisher as it is announced; its number."""
        self._last_task += 1
        known = self._publishers.get(announce.publisher)
        if known is None:
            self._publishers[announce.publisher] = _Translations(self._last_task, _words(announce))
        else:
            known.task, known.words, known.answered = self._last_task, _words(announce), False
        return self._last_task

    def is_translated(self, publisher: PeerId) -> bool:
        """Whether translations are in force for the words that a publisher has."""
        known = self._publishers.get(publisher)
        return known is not None and known.in_force == known.words

    def is_settled(self, announce: Announce) -> bool:
        """Whether they are in force for a publisher as it is announced, all of them, and nothing else is under way."""
        known = self._publishers.get(announce.publisher)
        is_in_force = known is not None and known.in_force == known.words == _words(announce)
        return is_in_force and known is not None and self.numbers.keys() <= known.covered

    def is_awaited(self, publisher: PeerId, number: int) -> bool:
        """Whether it is not known yet the translation of a subscription for a publisher."""
        known = self._publishers.get(publisher)
        return known is None or (number not in known.covered and not known.answered)

    def countable(self, publisher: PeerId, last: int) -> int:
        """Up to which number subscriptions may count at a publisher, when the last one is ``last``."""
        known = self._publishers.get(publisher)
        covered = known.covered if known else frozenset()
        return next((number - 1 for number in self.numbers if number not in covered), last)

    def take(self, event: Translated) -> EntryChange | None:
        """Hold the result of a task; ``None`` when it is not the last one for its publisher."""
        known = self._publishers.get(event.publisher)
        if known is None or known.task != event.task:
            return None
        known.answered, known.in_force = True, known.words if event.available else None
        known.interest.clear()
        there = event.subscriptions if event.available else ()
        known.covered = frozenset(one.number for one in there)
        wanted = {one.number: one for one in there if one.patterns and one.number in self.numbers}
        new = {number: one for number, one in wanted.items() if not _is_held(known, one)}
        before = [number for number in known.entries if number in new or number not in wanted]
        removed = [known.entries.pop(number) for number in before]
        added = tuple(self._hold(known, one) for one in new.values())
        return EntryChange(added, tuple(self._table.release(key) for key, _ in removed), frozenset(new))

    def _hold(self, known: _Translations, one: InWords) -> Entry:
        self._last_key += 1
        entry = self._table.hold(self._last_key, one.text, one.patterns)
        known.entries[one.number] = self._last_key, entry
        return entry

    def remove(self, number: int) -> list[Entry]:
        """A subscription is no more: its translations."""
        del self.numbers[number]
        removed: list[Entry] = []
        for known in self._publishers.values():
            if number in known.entries:
                key, _ = known.entries.pop(number)
                removed.append(self._table.release(key))
                known.interest.clear()
        return removed

    def entry(self, publisher: PeerId, number: int) -> Entry | None:
        """The translation of a subscription for a publisher, if there is one."""
        known = self._publishers.get(publisher)
        return known.entries[number][1] if known is not None and number in known.entries else None

    def leave(self, publisher: PeerId) -> list[Entry]:
        """A publisher is gone: the translations for it."""
        known = self._publishers.pop(publisher, None)
        return [self._table.release(key) for key, _ in known.entries.values()] if known else []

    def forget(self, digest: str) -> None:
        """Nothing is known of an advertisement any more."""
        for known in self._publishers.values():
            known.interest.pop(digest, None)

    def interested(self, publisher: PeerId, digest: str) -> dict[int, None]:
        """Those that may match what a publisher has advertised under a digest, ascending."""
        known = self._publishers.get(publisher)
        if known is None:
            return {}
        found = known.interest.get(digest)
        if found is None:
            overlap = (number for number, (_, one) in known.entries.items() if one.overlaps(digest, self._overlaps))
            found = known.interest[digest] = dict.fromkeys(sorted(overlap))
        return found


def _words(announce: Announce) -> tuple[str, Wording]:
    return announce.feed, announce.wording


def _is_held(known: _Translations, one: InWords) -> bool:
    held = known.entries.get(one.number)
    return held is not None and held[1].patterns == one.patterns

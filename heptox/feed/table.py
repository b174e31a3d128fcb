"""The publication routing table: all that is wanted here and behind the neighbours, and who wants it (``routing.md``).

What asks for the same is one entry, no matter who asks.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from heptox.errors import GrammarError
from heptox.feed.holding import subscription_bytes
from heptox.feed.messages import ANYTHING, MOST_SUPPORT, Matched, PeerId
from heptox.grammar import parse_subscription
from heptox.matching import LinearPath, Matcher
from heptox.pattern import PatternNode
from heptox.routing import Overlaps, Patterns, linear_path
from heptox.xml import Document

MOST_WAITING: Final = 1000
"""Changes that wait for a thread to learn of what is large, at most."""
_LARGE: Final = 2048
"""Characters of a subscription of which the matcher learns within a moment."""
MOST_DECIDED: Final = 2**27
"""Pairs of an element and a node of a pattern that are looked at for a document, at most, which takes about half a
second: a neighbour whose subscriptions ask for more may get what they do not match."""
MOST_ADDED: Final = 10_000
"""Entries that may be added while a document is matched; where there are more, all may match it."""
LEARNT_WITH: Final = 4
"""Changes that the matcher learns of with each one that is new: where very many were made at once, as when a link is
lost, nobody waits for all of them."""
EVERYTHING: Final = "/*"
"""The subscription that every document matches."""


_LONG: Final = 1000
"""Characters of a text of which the shortest spelling is looked for."""


@dataclass(slots=True, eq=False)
class Entry:
    """A subscription: the ``local`` ones that it is, and by which numbers each of the ``neighbours`` has sent it, with
    the hops; ``plain`` are those of these that are no mergers. So many ``bytes`` are held for it."""

    number: int
    text: str
    patterns: Patterns
    local: dict[Hashable, None] = field(default_factory=dict)
    neighbours: dict[PeerId, dict[int, int]] = field(default_factory=dict)
    plain: set[tuple[PeerId, int]] = field(default_factory=set)
    paths: tuple[LinearPath | None, ...] = field(init=False)
    bytes: int = field(init=False)
    text_without_namespaces: str = field(init=False)
    """As it is told to who reads no names in namespaces, nor documents with such; empty where nothing is left of it."""

    def __post_init__(self) -> None:
        self.paths = tuple(map(linear_path, self.patterns))
        self.bytes = subscription_bytes(self.patterns)
        self.text_without_namespaces = self.text if "Q{" not in self.text else _without_namespaces(self)

    def overlaps(self, digest: str, overlaps: Mapping[str, Overlaps]) -> bool:
        """Whether it may match what is advertised under a digest; quicker for linear paths than for other patterns."""
        if digest == ANYTHING:
            return True
        advertised = overlaps[digest]
        return any(
            advertised.pattern(pattern) if path is None else advertised.path(path)
            for pattern, path in zip(self.patterns, self.paths, strict=True)
        )

    @property
    def is_merger(self) -> bool:
        """Whether it only stands for other subscriptions."""
        return not self.local and not self.plain

    @property
    def is_wanted(self) -> bool:
        """Whether anybody wants it."""
        return bool(self.local or self.neighbours)

    def support(self, neighbours: Container[PeerId]) -> int | None:
        """How many hops away it is wanted, at least, here or by some neighbours; ``None``: by none of them."""
        if self.local:
            return 0
        others = (wanted for name, wanted in self.neighbours.items() if name in neighbours)
        return min((hops for wanted in others for hops in wanted.values() if hops < MOST_SUPPORT), default=None)


def read_patterns(text: str) -> Patterns:
    """As :func:`parse_subscription`, remembered for a moment: what takes a second to read, or to refuse, is read beside
    the event loop before it is asked for there."""
    found = _patterns_or_faults(text)
    if isinstance(found, GrammarError):
        raise GrammarError(found.faults)
    return found


@lru_cache(maxsize=16)
def _patterns_or_faults(text: str) -> Patterns | GrammarError:
    try:
        return parse_subscription(text)
    except GrammarError as error:
        return GrammarError(error.faults)


def _without_namespaces(entry: Entry) -> str:
    kept = [pattern for pattern in entry.patterns if not any(map(_names_namespace, pattern.children))]
    return entry.text if len(kept) == len(entry.patterns) else " or ".join(map(str, kept))


def _names_namespace(node: PatternNode) -> bool:
    return "{" in node.test or any(map(_names_namespace, node.children))


class _Change(NamedTuple):
    """The matcher is to learn of an entry with these patterns, or no longer; what ``is_large`` takes a while."""

    number: int
    patterns: Patterns | None
    is_large: bool


class PublicationTable:
    """The entries, and a ``matcher`` for those that neighbours want; what is local is matched elsewhere.

    >>> from heptox.matching import MemoryMatcher
    >>> from heptox.xml import parse_document
    >>> table = PublicationTable(MemoryMatcher())
    >>> entry = table.add("north", 1, "//a")
    >>> [entry.text for entry in table.matching(table.match(parse_document("<b><a/></b>")))]
    ['//a']
    """

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._matching = threading.Lock()
        self._changes: deque[_Change] = deque()
        self._revision = 0
        self._added: deque[tuple[int, int]] = deque(maxlen=MOST_ADDED)
        self._entries: dict[Patterns, Entry] = {}
        self._numbered: dict[int, Entry] = {}
        self._local: dict[int, Entry] = {}
        self._held: dict[Hashable, Entry] = {}
        self._by_neighbour: dict[PeerId, dict[int, Entry]] = {}
        self._bytes: dict[PeerId, int] = {}
        self._by_text: dict[str, Entry] = {}
        self._last = 0

    def __iter__(self) -> Iterator[Entry]:
        return iter(tuple(self._entries.values()))

    def __len__(self) -> int:
        return len(self._entries)

    def count_of(self, neighbour: PeerId) -> int:
        """How many subscriptions a neighbour has sent."""
        return len(self._by_neighbour.get(neighbour, ()))

    def subscribed_by(self, neighbours: Iterable[PeerId]) -> Iterable[Entry]:
        """What some neighbours have sent."""
        wanted = {entry.number: entry for name in neighbours for entry in self._by_neighbour.get(name, {}).values()}
        return wanted.values()

    def held(self, neighbour: PeerId) -> int:
        """Bytes of memory that are held for these; what others have sent too counts in full."""
        return self._bytes.get(neighbour, 0)

    def local(self, number: int) -> Entry | None:
        """The entry of a local subscription."""
        return self._local.get(number)

    @property
    def local_entries(self) -> Iterable[tuple[int, Entry]]:
        """The local subscriptions by number, ascending as they were added."""
        return self._local.items()

    @property
    def local_numbers(self) -> Iterable[int]:
        """The numbers of the local subscriptions, ascending as they were added."""
        return self._local.keys()

    def add_local(self, number: int, text: str, patterns: Patterns) -> Entry:
        """Add a local subscription. Raises ``ValueError`` where its number is known."""
        if number in self._local:
            raise ValueError(f"there is a local subscription {number}")
        entry = self._local[number] = self._entry(text, patterns)
        entry.local[number] = None
        return entry

    def remove_local(self, number: int) -> Entry:
        """Remove a local subscription; its entry, which may be wanted no more. Raises ``KeyError``."""
        entry = self._local.pop(number)
        del entry.local[number]
        self._forget(entry)
        return entry

    def hold(self, key: Hashable, text: str, patterns: Patterns) -> Entry:
        """Add the translation of a local subscription, under a key that is not held."""
        entry = self._held[key] = self._entry(text, patterns)
        entry.local["held", key] = None
        return entry

    def release(self, key: Hashable) -> Entry:
        """Remove what is held; its entry, which may be wanted no more. Raises ``KeyError``."""
        entry = self._held.pop(key)
        del entry.local["held", key]
        self._forget(entry)
        return entry

    def knows(self, neighbour: PeerId, number: int) -> bool:
        """Whether a neighbour has sent a subscription of that number."""
        return number in self._by_neighbour.get(neighbour, ())

    def add(self, neighbour: PeerId, number: int, text: str, hops: int = 1, *, merged: bool = False) -> Entry:
        """Add what a neighbour wants, or replace the hops, and whether it is merged, where its number is known.

        Raises ``ValueError`` where that is another subscription, :class:`~heptox.errors.GrammarError` for what is none.
        """
        known = self._by_text.get(text)
        patterns = known.patterns if known is not None else read_patterns(text)
        wanted = self._by_neighbour.setdefault(neighbour, {})
        if number in wanted:
            if wanted[number].patterns != patterns:
                raise ValueError(f"there is another subscription {number}")
            entry = wanted[number]
        else:
            entry = wanted[number] = self._entry(text, patterns)
            self._bytes[neighbour] = self._bytes.get(neighbour, 0) + entry.bytes
            if not entry.neighbours:
                self._change(entry, entry.patterns)
                self.learn(LEARNT_WITH)
        entry.neighbours.setdefault(neighbour, {})[number] = hops
        (entry.plain.discard if merged else entry.plain.add)((neighbour, number))
        return entry

    def remove(self, neighbour: PeerId, number: int) -> Entry:
        """Remove what a neighbour wants no more; the entry, as above. Raises ``KeyError``."""
        entry = self._remove(neighbour, number)
        self.learn(LEARNT_WITH)
        return entry

    def _remove(self, neighbour: PeerId, number: int) -> Entry:
        entry = self._by_neighbour[neighbour].pop(number)
        self._bytes[neighbour] -= entry.bytes
        numbers = entry.neighbours[neighbour]
        del numbers[number]
        entry.plain.discard((neighbour, number))
        if not numbers:
            del entry.neighbours[neighbour]
            if not entry.neighbours:
                self._change(entry, None)
        self._forget(entry)
        return entry

    def lose(self, neighbour: PeerId) -> list[Entry]:
        """Remove all that a neighbour wants; the entries of it. The matcher learns of it later: :meth:`learn`."""
        lost = [self._remove(neighbour, number) for number in tuple(self._by_neighbour.get(neighbour, ()))]
        self._by_neighbour.pop(neighbour, None)
        self._bytes.pop(neighbour, None)
        return lost

    def learn(self, most: int) -> bool:
        """Let the matcher learn of so many changes, if no other thread uses it, which then does; whether there are
        more. It learns of what is large with the next document or the next large subscription, in their thread, unless
        too much waits for that."""
        if not self._changes or not self._matching.acquire(blocking=False):
            return False
        try:
            for _ in range(most):
                if not self._changes or (self._changes[0].is_large and len(self._changes) < MOST_WAITING):
                    return False
                self._catch_up(1)
            return bool(self._changes)
        finally:
            self._matching.release()

    def learn_all(self) -> None:
        """Let the matcher learn of all changes. May be called in another thread than all else."""
        with self._matching:
            self._catch_up(len(self._changes))

    def _change(self, entry: Entry, patterns: Patterns | None) -> None:
        """Let the matcher learn of an entry, or no longer, before the next document."""
        self._revision += 1
        self._changes.append(_Change(entry.number, patterns, len(entry.text) > _LARGE))
        if patterns is not None:
            self._added.append((self._revision, entry.number))

    def _catch_up(self, most: int) -> None:
        """Let the matcher learn of so many changes; who calls this holds the lock."""
        for _ in range(min(most, len(self._changes))):
            change = self._changes.popleft()
            if change.patterns is None:
                self._matcher.remove(change.number)
            else:
                self._matcher.add(change.number, change.patterns)

    def match(self, document: Document) -> Matched:
        """What neighbours want that a document matches. May be called in another thread than all else."""
        with self._matching:
            revision = self._revision
            self._catch_up(len(self._changes))
            return Matched(self, tuple(map(int, self._matcher.match(document))), revision)

    def matching(self, matched: Matched) -> Iterator[Entry]:
        """The entries of neighbours that a document matches, and those that may, for they are newer."""
        newer: list[int] = []
        for revision, number in reversed(self._added):
            if revision <= matched.revision:
                break
            newer.append(number)
        else:
            if self._revision - matched.revision > MOST_ADDED:
                newer = list(self._numbered)
        for number in (*matched.numbers, *reversed(newer)):
            entry = self._numbered.get(number)
            if entry is not None:
                yield entry

    def wanted_by(self, matched: Matched, neighbours: Iterable[PeerId]) -> tuple[PeerId, ...]:
        """Those of some neighbours that want a document, by what it matches."""
        left = dict.fromkeys(neighbours)
        found: list[PeerId] = []
        if left:
            for entry in self.matching(matched):
                new = [neighbour for neighbour in entry.neighbours if neighbour in left]
                for neighbour in new:
                    del left[neighbour]
                found.extend(new)
                if not left:
                    break
        return tuple(found)

    def _entry(self, text: str, patterns: Patterns) -> Entry:
        entry = self._entries.get(patterns)
        if entry is None:
            self._last += 1
            text = _short(text, patterns)
            entry = self._entries[patterns] = self._numbered[self._last] = Entry(self._last, text, patterns)
            self._by_text[text] = entry
        return entry

    def _forget(self, entry: Entry) -> None:
        if not entry.is_wanted:
            del self._entries[entry.patterns], self._numbered[entry.number], self._by_text[entry.text]


def _short(text: str, patterns: Patterns) -> str:
    """The text of a subscription, without what is not needed where it is long: white space is not counted."""
    return text if len(text) <= _LONG else min(text, " or ".join(map(str, patterns)), key=len)

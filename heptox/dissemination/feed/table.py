"""The publication routing table: all that is wanted here and behind the neighbours, and who wants it (``routing.md``).

What asks for the same is one entry, whoever has asked.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from heptox.dissemination.broker import Matcher
from heptox.dissemination.feed.holding import subscription_bytes
from heptox.dissemination.feed.messages import ANYTHING, MOST_SUPPORT, PeerId
from heptox.dissemination.linear_path import LinearPath
from heptox.dissemination.routing import Overlaps, Patterns, linear_path
from heptox.grammar import parse_subscription
from heptox.xmlio import Document

EVERYTHING: Final = "/*"
"""The subscription that every document matches."""


_LONG: Final = 1000
"""Characters of a text of which the shortest spelling is looked for."""


@dataclass(slots=True, eq=False)
class Entry:
    """A subscription: the ``local`` ones that it is, and by which numbers each of the ``neighbours`` has told it, with
    the hops; ``plain`` are those of these that are no mergers. So many ``bytes`` are held for it."""

    number: int
    text: str
    patterns: Patterns
    local: dict[Hashable, None] = field(default_factory=dict)
    neighbours: dict[PeerId, dict[int, int]] = field(default_factory=dict)
    plain: set[tuple[PeerId, int]] = field(default_factory=set)
    paths: tuple[LinearPath | None, ...] = field(init=False)
    bytes: int = field(init=False)

    def __post_init__(self) -> None:
        self.paths = tuple(map(linear_path, self.patterns))
        self.bytes = subscription_bytes(self.patterns)

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
        others = (told for name, told in self.neighbours.items() if name in neighbours)
        return min((hops for told in others for hops in told.values() if hops < MOST_SUPPORT), default=None)


class PublicationTable:
    """The entries, and a ``matcher`` for those that neighbours want; what is local is matched elsewhere.

    >>> from heptox.dissemination import MemoryMatcher
    >>> from heptox.xmlio import parse_document
    >>> table = PublicationTable(MemoryMatcher())
    >>> entry = table.add("north", 1, "//a")
    >>> [entry.text for entry in table.matching(parse_document("<b><a/></b>"))]
    ['//a']
    """

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._entries: dict[Patterns, Entry] = {}
        self._numbered: dict[int, Entry] = {}
        self._local: dict[int, Entry] = {}
        self._held: dict[Hashable, Entry] = {}
        self._told: dict[PeerId, dict[int, Entry]] = {}
        self._bytes: dict[PeerId, int] = {}
        self._by_text: dict[str, Entry] = {}
        self._last = 0

    def __iter__(self) -> Iterator[Entry]:
        return iter(tuple(self._entries.values()))

    def __len__(self) -> int:
        return len(self._entries)

    def told(self, neighbour: PeerId) -> int:
        """How many subscriptions a neighbour has told."""
        return len(self._told.get(neighbour, ()))

    def told_by(self, neighbours: Iterable[PeerId]) -> Iterable[Entry]:
        """What some neighbours have told."""
        told = {entry.number: entry for name in neighbours for entry in self._told.get(name, {}).values()}
        return told.values()

    def held(self, neighbour: PeerId) -> int:
        """Bytes of memory that are held for these; what others have told too counts in full."""
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
        """Add what a local subscription comes to, under a key that is not held."""
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
        """Whether a neighbour has told a subscription of that number."""
        return number in self._told.get(neighbour, ())

    def add(self, neighbour: PeerId, number: int, text: str, hops: int = 1, *, merged: bool = False) -> Entry:
        """Add what a neighbour wants, or replace the hops, and whether it is merged, where its number is known.

        Raises ``ValueError`` where that is another subscription, :class:`~heptox.errors.GrammarError` for what is none.
        """
        known = self._by_text.get(text)
        patterns = known.patterns if known is not None else parse_subscription(text)
        told = self._told.setdefault(neighbour, {})
        if number in told:
            if told[number].patterns != patterns:
                raise ValueError(f"there is another subscription {number}")
            entry = told[number]
        else:
            entry = told[number] = self._entry(text, patterns)
            self._bytes[neighbour] = self._bytes.get(neighbour, 0) + entry.bytes
            if not entry.neighbours:
                self._matcher.add(entry.number, entry.patterns)
        entry.neighbours.setdefault(neighbour, {})[number] = hops
        (entry.plain.discard if merged else entry.plain.add)((neighbour, number))
        return entry

    def remove(self, neighbour: PeerId, number: int) -> Entry:
        """Remove what a neighbour wants no more; the entry, as above. Raises ``KeyError``."""
        entry = self._told[neighbour].pop(number)
        self._bytes[neighbour] -= entry.bytes
        numbers = entry.neighbours[neighbour]
        del numbers[number]
        entry.plain.discard((neighbour, number))
        if not numbers:
            del entry.neighbours[neighbour]
            if not entry.neighbours:
                self._matcher.remove(entry.number)
        self._forget(entry)
        return entry

    def lose(self, neighbour: PeerId) -> list[Entry]:
        """Remove all that a neighbour has told; the entries of it."""
        lost = [self.remove(neighbour, number) for number in tuple(self._told.get(neighbour, ()))]
        self._told.pop(neighbour, None)
        self._bytes.pop(neighbour, None)
        return lost

    def matching(self, document: Document) -> Iterator[Entry]:
        """The entries of neighbours that a document matches."""
        for number in self._matcher.match(document):
            yield self._numbered[int(number)]

    def wanted_by(self, document: Document, neighbours: Iterable[PeerId]) -> tuple[PeerId, ...]:
        """Those of some neighbours that want a document."""
        left = dict.fromkeys(neighbours)
        found: list[PeerId] = []
        if left:
            for entry in self.matching(document):
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

"""What the cores of a query have brought, each item as often as it counts (``semantics.md`` section 7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from lxml import etree

from heptox.shell.counted_items import CountedItem, Identity, Key, identity_of
from heptox.shell.rows import Content, Row, Rows, as_items, is_row, is_sound
from heptox.shell.scope import ANSWERS, SHARED
from heptox.shell.shared_nodes import SharedNodes

PeerPath: TypeAlias = tuple[str, ...]
"""The peers along which items have come, the last of which has them."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """The items of a core in the elements that counted them; how many were one with others by their keys, and how many
    values contradict others then; the peers that may have items of the same nodes, which no key tells; and those of
    which something came that is no item, and was left out.
    """

    items: tuple[etree._Element, ...]
    merged: int
    conflicts: int
    overlapping: frozenset[str]
    garbled: frozenset[str]
    shared: tuple[etree._Element, ...]
    """Nodes that items refer to."""


@dataclass(slots=True)
class CoreAnswers:
    """The counted items of one core, by the paths along which they have come; those of a core that ``brings_rows`` may
    come as rows.
    """

    brings_rows: bool = False
    _paths: dict[PeerPath, list[str]] = field(default_factory=dict)

    def add(self, path: PeerPath, items: Iterable[str]) -> None:
        """Items have come along a path."""
        self._paths.setdefault(path, []).extend(items)

    def gathered(self, name: str = "core") -> Gathered:
        """The items of all peers, of a core of some ``name``. What several paths to one peer bring is there as often as
        along the path that brings it most often; between peers nodes are one whose keys are equal.
        """
        return self._as_rows() if self.brings_rows else self._as_items(name)

    def _as_items(self, name: str) -> Gathered:
        ways: dict[str, list[list[CountedItem]]] = {}
        garbled = set[str]()
        for path, items in self._paths.items():
            matches = _matches(items)
            ways.setdefault(path[-1], []).append([item for item in matches if item is not None])
            garbled |= {path[-1]} if None in matches else set()
        pairs = [((peer, way), item) for peer, several in ways.items() for way, item in _most(several)]
        found: list[CountedItem] = []
        known: dict[Key, CountedItem] = {}
        shared = SharedNodes(name)
        conflicts, without_key = 0, set[str]()
        for way, item in pairs:
            shared.take(item, way)
            if (key := item.key) is None:
                without_key.add(way[0])
                found.append(item)
            elif key in known:
                conflicts += known[key].unite(item)
            else:
                known[key] = item
                found.append(item)
        return Gathered(
            tuple(item.taken_out() for item in found),
            len(pairs) - len(found),
            conflicts + shared.conflicts,
            frozenset(without_key if len(without_key) > 1 else ()),
            frozenset(garbled),
            tuple(shared.elements()),
        )

    def _as_rows(self) -> Gathered:
        ways: dict[str, list[_Way]] = {}
        for path, texts in self._paths.items():
            ways.setdefault(path[-1], []).append(_Way.of(texts))
        without_key = frozenset(peer for peer, several in ways.items() if any(way.rows.rows for way in several))
        pairs = [item for several in ways.values() for _, item in _most([way.keyed for way in several])]
        known: dict[Key | None, CountedItem] = {}
        conflicts = 0
        for item in pairs:
            if (first := known.setdefault(item.key, item)) is not item:
                conflicts += first.unite(item)
        keyed = Rows()
        for item in known.values():
            keyed.take(item)
        rows = [row for several in ways.values() for row in _most_rows([way.rows for way in several])]
        return Gathered(
            tuple(as_items([*rows, *keyed.rows.values()])),
            len(pairs) - len(known),
            conflicts,
            without_key if len(without_key) > 1 else frozenset(),
            frozenset(peer for peer, several in ways.items() if any(way.is_garbled for way in several)),
            (),
        )


@dataclass(slots=True)
class _Way:
    """What has come along one path: items whose nodes have keys, and rows."""

    keyed: list[CountedItem]
    rows: Rows
    is_garbled: bool

    @classmethod
    def of(cls, texts: Iterable[str]) -> _Way:
        made = cls([], Rows(), is_garbled=False)
        for item in _matches(texts):
            try:
                if item is None or (item.key is not None and not is_sound(item)):
                    made.is_garbled = True
                elif item.key is not None:
                    made.keyed.append(item)
                else:
                    made.rows.take(item)
            except ValueError:
                made.is_garbled = True
        return made


def _matches(items: Iterable[str]) -> list[CountedItem | None]:
    """The items that have come along one path, for each match one; ``None`` for what is no item."""
    found: dict[Identity | None, CountedItem | None] = {}
    for text in items:
        if (identity := text if is_row(text) else identity_of(text)) not in found:
            try:
                found[identity] = CountedItem.read(text)
            except ValueError:
                found[None] = None
    return list(found.values())


def _most(ways: Sequence[list[CountedItem]]) -> list[tuple[int, CountedItem]]:
    """Of each item as many as there are along the path with most, which it is."""
    if len(ways) == 1:
        return [(0, item) for item in ways[0]]
    found: dict[bytes, list[tuple[int, CountedItem]]] = {}
    for way, items in enumerate(ways):
        alike: dict[bytes, list[tuple[int, CountedItem]]] = {}
        for item in items:
            alike.setdefault(item.content, []).append((way, item))
        for content, several in alike.items():
            if len(several) > len(found.get(content, ())):
                found[content] = several
    return [item for several in found.values() for item in several]


def _most_rows(ways: Sequence[Rows]) -> Iterable[Row]:
    """Of each row the one of the path along which there are most."""
    found: dict[Content, Row] = {}
    for way in ways:
        for content, row in way.rows.items():
            if content not in found or row.count > found[content].count:
                found[content] = row
    return found.values()


def answers_document(answers: Mapping[str, Gathered]) -> str:
    """The document that a shell is asked about: the items of each core by its variable."""
    root = etree.Element(ANSWERS)
    for variable, core in answers.items():
        etree.SubElement(root, variable).extend(core.items)
        if core.shared:
            etree.SubElement(root, SHARED).extend(core.shared)
    return etree.tostring(root, encoding="unicode")

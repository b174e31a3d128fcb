"""The values of sample documents: a bounded sketch of those of each leaf, and how alike two are.

A sketch keeps the values with the least hashes (Broder: On the resemblance and containment of documents, 1997), so two
sketches of the same values hold the same ones, whatever the order of the documents. A value that many leaves have, such
as a small number, is weak evidence when it is shared.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import log
from typing import Final
from zlib import crc32

from heptox.mapping.suggesting.outline import Outline
from heptox.pattern import TAG
from heptox.schema import TEXT, Path, SchemaTree, axis_matches
from heptox.xml import Document, XmlElement

MOST_VALUES: Final = 100_000
"""How many values of all documents of a side are looked at."""

_MOST_KEPT: Final = 400
_LONGEST: Final = 200
_TRUSTED: Final = 5
"""How many values there must be for their look to count half."""

_SHAPES: Final = (
    ("numbers", re.compile(r"[+-]?\d+([.,]\d+)?%?")),
    ("times", re.compile(r"\d{1,2}:\d{2}(:\d{2})?(\.\d+)?\s*([ap]\.?m\.?)?", re.IGNORECASE)),
    ("dates", re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}(T.*)?")),
    ("words", re.compile(r"[^\W\d_]+")),
    ("codes", re.compile(r"\S*\d\S*")),
    ("phrases", re.compile(r"\S+(\s+\S+){1,3}")),
    ("texts", re.compile(r"\S+(\s+\S+){4,}")),
)


def shape(value: str) -> str:
    """What a value looks like.

    >>> [shape(value) for value in ("12.5", "7:45", "12/25/2003", "Fever", "A-17", "Hip fracture")]
    ['numbers', 'times', 'dates', 'words', 'codes', 'phrases']
    """
    return next((name for name, pattern in _SHAPES if pattern.fullmatch(value)), "signs")


@dataclass(slots=True)
class Sketch:
    """What is known of the values of a leaf: how many there are, the chosen ones by hash, and the greatest hash."""

    count: int = 0
    chosen: dict[str, int] = field(default_factory=dict)
    limit: int = 1 << 32
    shapes: Counter[str] = field(default_factory=Counter)
    length: int = 0

    def add(self, value: str) -> None:
        value = " ".join(value[:_LONGEST].split())
        if not value:
            return
        self.count += 1
        value = value.casefold()
        if value in self.chosen:
            return
        place = crc32(value.encode("utf-8", "surrogatepass"))
        if place < self.limit:
            self.chosen[value] = place
            if len(self.chosen) >= 2 * _MOST_KEPT:
                self.trim()

    def trim(self) -> None:
        """Keep the values with the least hashes, and see what they look like."""
        if len(self.chosen) > _MOST_KEPT:
            kept = sorted(self.chosen.items(), key=lambda item: (item[1], item[0]))
            self.limit = kept[_MOST_KEPT][1]
            self.chosen = dict(kept[:_MOST_KEPT])

    def finish(self) -> None:
        self.trim()
        self.shapes = Counter(map(shape, self.chosen))
        self.length = sum(map(len, self.chosen))


class Samples:
    """The sketches of both sides, by the number of an entry of each outline."""

    def __init__(self, source: Mapping[int, Sketch], target: Mapping[int, Sketch]) -> None:
        self.source, self.target = source, target
        self._spread = Counter(
            value for side in (source, target) for sketch in side.values() for value in sketch.chosen
        )

    def overlap(self, source: int, target: int) -> tuple[float, int, int]:
        """How much of the smaller sketch the other one has, from 0 to 1; how many are shared, of how many."""
        one, other = self.source.get(source), self.target.get(target)
        if one is None or other is None:
            return 0.0, 0, 0
        limit = min(one.limit, other.limit)
        first = {value for value, place in one.chosen.items() if place < limit}
        second = {value for value, place in other.chosen.items() if place < limit}
        both = first & second
        least = min(self._weight(first), self._weight(second))
        return (self._weight(both) / least if least else 0.0), len(both), min(len(first), len(second))

    def _weight(self, values: Iterable[str]) -> float:
        return sum(sorted(1 / self._spread[value] for value in values))

    def likeness(self, source: int, target: int) -> tuple[float, float, str]:
        """How alike the values look, from 0 to 1, how far that is to be trusted, and what most of them are."""
        one, other = self.source.get(source), self.target.get(target)
        if one is None or other is None:
            return 0.0, 0.0, ""
        sizes = len(one.chosen), len(other.chosen)
        if not all(sizes):
            return 0.0, 0.0, ""
        shares = {name: min(one.shapes[name] / sizes[0], other.shapes[name] / sizes[1]) for name in one.shapes}
        lengths = sorted((one.length / sizes[0], other.length / sizes[1]))
        alike = 0.8 * sum(sorted(shares.values())) + 0.2 * lengths[0] / lengths[1]
        least = min(sizes)
        return alike, least / (least + _TRUSTED), max(shares, key=lambda name: (shares[name], name))

    def distinctness(self, source: int, target: int) -> float:
        """How alike they are in whether values come again, from 0 to 1."""
        one, other = self.source.get(source), self.target.get(target)
        if one is None or other is None or not one.count or not other.count:
            return 0.0
        ratios = [
            log(1 + min(len(sketch.chosen), _MOST_KEPT)) / log(1 + min(sketch.count, _MOST_KEPT))
            for sketch in (one, other)
        ]
        return 1 - abs(ratios[0] - ratios[1])


def sample(outline: Outline, documents: Sequence[Document]) -> dict[int, Sketch]:
    """The sketches of the values that documents have, and of those that the schema itself names.

    What the schema does not have is passed over.
    """
    found: dict[int, Sketch] = {}
    for number, entry in enumerate(outline.entries):
        for value in entry.values:
            found.setdefault(number, Sketch()).add(value)
    walks = (_values(outline, document) for document in documents)
    most = MOST_VALUES // max(1, len(documents))
    for walk in walks:
        for number, value in islice(walk, most):
            found.setdefault(number, Sketch()).add(value)
    for sketch in found.values():
        sketch.finish()
    return {number: sketch for number, sketch in found.items() if sketch.chosen}


def _values(outline: Outline, document: Document) -> Iterator[tuple[int, str]]:
    """The values of a document with the numbers of their entries."""
    reading = _EntryReading(outline)
    waiting: list[tuple[XmlElement, Path]] = [(document.root, ())]
    while waiting:
        element, path = waiting.pop()
        for name, value in element.attrib.items():
            if (number := reading.entry(path, f"@{name!s}")) is not None:
                yield number, str(value)
        if (number := reading.entry(path, TEXT)) is not None:
            yield number, element.text or ""
        for child in reversed(element):
            tag = str(child.tag)
            below = reading.child(path, tag)
            if below is None:
                continue
            if (number := reading.entry(path, tag)) is not None and not len(child):
                yield number, child.text or ""
            if (number := reading.entry(below, TAG)) is not None:
                yield number, outline.tree.value_of_tag(below, tag) or ""
            waiting.append((child, below))


class PathReading:
    """Finds the paths of what a document has; each is looked for once."""

    def __init__(self, tree: SchemaTree) -> None:
        self._tree = tree
        self._children: dict[tuple[Path, str], Path | None] = {}

    def child(self, path: Path, tag: str) -> Path | None:
        """The node of a child element; ``None`` where the schema has none."""
        if (path, tag) not in self._children:
            found = next(axis_matches(self._tree, path, "child", tag), None)
            self._children[path, tag] = found.path if found else None
        return self._children[path, tag]


class _EntryReading(PathReading):
    """Finds the entries of what a document has, too."""

    def __init__(self, outline: Outline) -> None:
        super().__init__(outline.tree)
        self._outline = outline
        self._entries: dict[tuple[Path, str], int | None] = {}

    def entry(self, path: Path, step: str) -> int | None:
        if (path, step) not in self._entries:
            self._entries[path, step] = self._outline.entry_below(path, step)
        return self._entries[path, step]

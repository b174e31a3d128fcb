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

from heptox.mapping.element_values import is_nil
from heptox.mapping.suggesting.outline import Outline
from heptox.pattern import TAG
from heptox.schema import TEXT, Path, SchemaTree, axis_matches
from heptox.xml import XSI_NAMESPACE, Document, XmlElement

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
    known: dict[Path, int | None] = {}
    for element, path in document_nodes(outline.tree, document):
        for leaf, value in own_values(outline.tree, element, path):
            if leaf not in known:
                known[leaf] = outline.entry_at(leaf[:-1] if leaf[-1] == TAG else leaf)
            if (number := known[leaf]) is not None:
                yield number, value


def document_nodes(tree: SchemaTree, document: Document) -> Iterator[tuple[XmlElement, Path]]:
    """The elements of a document with their nodes, in document order, without those that the schema does not have, and
    what is within an element that is nil.
    """
    children: dict[tuple[Path, str], Path | None] = {}
    waiting: list[tuple[XmlElement, Path]] = [(document.root, ())]
    while waiting:
        element, path = waiting.pop()
        yield element, path
        for child in reversed(element) if not is_nil(element) else ():
            step = path, str(child.tag)
            if step not in children:
                found = next(axis_matches(tree, path, "child", step[1]), None)
                children[step] = found.path if found else None
            if (below := children[step]) is not None:
                waiting.append((child, below))


def own_values(tree: SchemaTree, element: XmlElement, path: Path) -> Iterator[tuple[Path, str]]:
    """The values of the leaves that an element is or has itself, with their paths; the tag of one in a box is a value,
    too.
    """
    for name, value in element.attrib.items():
        if not str(name).startswith(f"{{{XSI_NAMESPACE}}}") and (leaf := (*path, f"@{name!s}")) in tree:
            yield leaf, str(value)
    if is_nil(element):
        return
    if path and tree.is_leaf(path):
        yield path, element.text or ""
    elif (leaf := (*path, TEXT)) in tree and not tree.is_stop(leaf):
        yield leaf, element.text or ""
    if tree.box(path) and (tag := tree.value_of_tag(path, str(element.tag))) is not None:
        yield (*path, TAG), tag

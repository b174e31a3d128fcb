"""The documents that the peer itself holds: which values their leaves have, and what is drawn tried on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path as FilePath
from typing import Final

from heptox.errors import HeptoxError
from heptox.mapping import ArrowsText, Mapping, tested_values, values_at, written_path
from heptox.peer.acquaintance.acquainting import schema_key
from heptox.peer.console.mapping_shapes import MOST_TEXT, CountModel, ValuesModel, ValuesRequest
from heptox.peer.console.schemas import reader, tables
from heptox.schema import TEXT, Path, SchemaGraph, SchemaTree, conform
from heptox.xml import Document, XmlElement, count_elements, read_document, write_document

MOST_TRIED: Final = 20_000
"""Elements of own documents that are looked at, at most; whole documents."""
MOST_VALUES: Final = 500
"""Different values of a leaf that are listed."""
_SHOWN: Final = 150
_MOST_SHOWN: Final = 500
"""Elements of a sample, and those with which all that is asked for is in it."""


@dataclass(frozen=True, slots=True)
class OwnRecords:
    """The files of a peer's documents, and what identifies their schema."""

    key: str = ""
    files: tuple[FilePath, ...] = ()

    def holds(self, graph: SchemaGraph) -> bool:
        """Whether there are documents of a schema."""
        return self.files != () and schema_key(graph) == self.key

    def documents(self, graph: SchemaGraph) -> Iterator[Document]:
        """Those of a schema, in the order of their names, without those that would be too much to look at."""
        left = MOST_TRIED
        for file in self.files if self.holds(graph) else ():
            with suppress(HeptoxError, OSError):
                document = _read(file, file.stat().st_mtime_ns)
                size = count_elements(document.root)
                if size <= left:
                    yield conform(document, graph)
                    left -= size


# What is drawn is tried on the same documents from one keystroke to the next.
@lru_cache(maxsize=8)
def _read(file: FilePath, _changed: int) -> Document:
    return read_document(file, maximum_size=MOST_TEXT)


def leaf_values(wanted: ValuesRequest, own: OwnRecords) -> ValuesModel:
    """The values that own documents have at a leaf, the most frequent first.

    Raises :class:`MappingError` for a path that there is not.
    """
    examined = ArrowsText(wanted.text, reader(wanted.files), tables=tables(wanted.files)).examined()
    tree, path = written_path(examined, wanted.side, wanted.path)
    documents = list(own.documents(tree.graph))
    paths = list(_without_boxes(tree, path))
    found = Counter(value for one in documents for steps in paths for value in values_at(one.root, steps))
    listed = sorted(found.items(), key=lambda item: (-item[1], item[0]))[:MOST_VALUES]
    return ValuesModel(
        values=[CountModel(value=value, count=count) for value, count in listed],
        different=len(found),
        documents=len(documents),
        held=len(own.files) if own.holds(tree.graph) else 0,
    )


def _without_boxes(tree: SchemaTree, path: Path) -> Iterator[Path]:
    """The paths in documents: a box stands for its members."""
    boxes = (tree.box(path[:length]) for length in range(1, len(path) + 1))
    yield from product(*((step,) if box is None else box.members for step, box in zip(path, boxes, strict=True)))


# -- a part of a document ----------------------------------------------------------------------------------------------


def sample_of(documents: Sequence[Document], mapping: Mapping, seed: int) -> str:
    """A part of one of some documents that is small enough to be looked at. It has many of the values that the mapping
    asks for, and what its references refer to."""
    root = documents[seed % len(documents)].root
    names = Counter(str(child.tag) for child in root)
    several = [place for place, child in enumerate(root) if names[str(child.tag)] > 1]
    if count_elements(root) <= _SHOWN or not several:
        return write_document(root, indent=True)
    start = seed * 7 % len(several)
    chosen = _chosen(root, [*several[start:], *several[:start]], mapping)
    part = deepcopy(root)
    for place in reversed(several):
        if place not in chosen:
            part.remove(part[place])
    return write_document(part, indent=True)


def _chosen(root: XmlElement, places: Sequence[int], mapping: Mapping) -> set[int]:
    """The children that a sample has, of those at some places."""
    asked = {test for rule in mapping.rules for test in tested_values(rule)}
    ends = {end for one in mapping.source_references for end in (one.source, one.target)}
    values = {place: set(_values(root[place], (str(root[place].tag),))) for place in places}
    by_key: dict[str, list[int]] = {}
    for place in places if ends else ():
        for path, value in values[place]:
            if path in ends:
                by_key.setdefault(value, []).append(place)
    chosen: set[int] = set()
    size, waiting = 0, list(places)
    while waiting and size < (_SHOWN if not asked else _MOST_SHOWN):
        place = max(waiting, key=lambda one: len(asked & values[one])) if chosen else waiting[0]
        waiting.remove(place)
        new = asked & values[place]
        asked = asked - new if new or not chosen else set()
        joined = {place, *(other for path, value in values[place] if path in ends for other in by_key[value][:3])}
        size += sum(count_elements(root[one]) for one in joined - chosen)
        chosen |= joined
    return chosen


def _values(element: XmlElement, path: Path) -> Iterator[tuple[Path, str]]:
    """The leaves in an element with their values, by paths in documents."""
    for name, value in element.attrib.items():
        yield (*path, f"@{name!s}"), str(value)
    if not len(element):
        yield path, element.text or ""
        yield (*path, TEXT), element.text or ""
    for child in element:
        yield from _values(child, (*path, str(child.tag)))

"""Which tests hold for a document: found once for all the patterns that ask it.

A document is read once: each of its tag paths says which tests hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf, nan
from typing import Final, NamedTuple

import numpy as np
from cachetools import FIFOCache

from heptox.matching.element_sets import string_value
from heptox.matching.mapped_paths import Labels, MappedElement
from heptox.matching.mapped_reading import MappedPlaces, MappedReading
from heptox.matching.path_tests import TRUE, Doubles, Flags, PathTests
from heptox.matching.postings import NO_PLACES, Places
from heptox.matching.tag_paths import DOCUMENT
from heptox.pattern import TEXT, double
from heptox.xml import XmlElement

MOST_TAG_PATHS: Final = 1 << 16
"""How many tag paths are known before those that have not been seen for long are forgotten."""
_OTHER: Final = "?"
"""The label of all that no linear path names: no name is written so."""
_MOST_MAPS: Final = 64
"""How many maps of tag paths are kept."""
_SAMPLED: Final = 8
"""Every so many documents it is counted which tests hold."""


class TagPathNode:
    """A tag path as a document is read: which tests it makes hold, and where its children are."""

    __slots__ = (
        "attributes",
        "children",
        "compares_numbers",
        "compares_texts",
        "extremes",
        "number",
        "seen",
        "stamp",
        "tests",
        "text",
        "valued",
    )

    def __init__(self, number: int) -> None:
        self.number = number
        self.children: dict[str, TagPathNode] = {}
        self.attributes: dict[str, TagPathNode] = {}
        self.text: TagPathNode | None = None
        self.stamp = -1
        self.seen = -1
        self.tests: Places = NO_PLACES
        self.extremes: Places = NO_PLACES
        self.compares_texts = False
        self.compares_numbers = False
        self.valued = False


class _Occurrences(NamedTuple):
    """What was met in a document: its places, each once, and the values at those where values matter."""

    places: list[TagPathNode]
    values: list[tuple[TagPathNode, str]]


class DocumentTests:
    """Which of the numbered tests hold for the document that was read last."""

    def __init__(self, tests: PathTests) -> None:
        self._tests = tests
        self._path_match = tests.path_match
        self._tag_paths = tests.path_match.tag_paths
        self.documents = 0
        self.flags: Flags = np.zeros(tests.capacity, np.bool_)
        """For each test whether it holds."""
        self.extremes: Doubles = np.full(64, nan)
        """Of the numbers at the end of each linear path that has bounds the greatest, and after it the least, negated;
        ``nan`` where there is none."""
        self.extremes[0] = inf
        self._reading = 0
        self._touched: list[Places] = []
        self._stamp = 0
        # by the identity of a map, which is kept with it: the version of the tests, and the places that it leads to
        self._mapped: FIFOCache[int, tuple[int, MappedElement, MappedPlaces[TagPathNode]]] = FIFOCache(_MOST_MAPS)
        self._forget()

    # places

    def _forget(self) -> None:
        self._generation = self._tag_paths.generation
        self._mapped.clear()
        self._top = TagPathNode(DOCUMENT)
        self._places = {DOCUMENT: self._top}
        self._recent: set[int] = set()
        self._tests.forget_tag_paths()

    def _place(self, tag_path: int) -> TagPathNode:
        return self._places.setdefault(tag_path, TagPathNode(tag_path))

    def _child(self, above: TagPathNode, name: str) -> TagPathNode:
        """The place of the elements of a name; all names that no linear path asks for have one."""
        if not self._path_match.asks_for(name):
            other = above.children.get(_OTHER)
            if other is not None:
                return other
            name = _OTHER
        place = above.children[name] = self._place(self._tag_paths.child(above.number, name))
        return place

    def _attribute(self, above: TagPathNode, name: str) -> TagPathNode:
        if not self._path_match.asks_for(f"@{name}"):
            other = above.attributes.get(_OTHER)
            if other is not None:
                return other
            name = _OTHER
        place = above.attributes[name] = self._place(self._tag_paths.child(above.number, f"@{name}"))
        return place

    def _text(self, above: TagPathNode) -> TagPathNode:
        above.text = self._place(self._tag_paths.child(above.number, TEXT))
        return above.text

    def _refresh(self, place: TagPathNode) -> None:
        place.tests, place.extremes, place.compares_texts, place.compares_numbers = self._tests.asked_of(place.number)
        place.valued = place.compares_texts or place.compares_numbers
        place.stamp = self._stamp

    # documents

    def read(self, elements: Sequence[XmlElement]) -> None:
        """Find which tests hold for a document; ``elements`` are all of it, in its order."""
        self._begin()
        met = _Occurrences([], [])
        self._walk(elements, {None: self._top}, met)
        self._note(met)

    def read_mapped(self, root: XmlElement, paths: MappedElement) -> None:
        """Find which tests hold for what a document is in other words, by a map of its tag paths.

        A map is kept as long as documents are read by it.
        """
        self._begin()
        met = _Occurrences([], [])
        reading = MappedReading(self._reading, partial(self._see, met), partial(self._whole, met), met.values)
        reading.read(root, self._mapped_places(paths))
        self._note(met)

    def _mapped_places(self, paths: MappedElement) -> MappedPlaces[TagPathNode]:
        known = self._mapped.get(id(paths))
        if known is None or known[0] != self._tests.version:
            places = MappedPlaces(paths, self._places_at, texts=self._tests.texts_asked > 0)
            known = self._mapped[id(paths)] = self._tests.version, paths, places
        return known[2]

    def _places_at(self, labels: Labels) -> list[TagPathNode]:
        """The places of a tag path and of all above it, from the root element's on."""
        found = [self._top]
        for label in labels:
            above = found[-1]
            if label == TEXT:
                place = above.text or self._text(above)
            elif label.startswith("@"):
                place = above.attributes.get(label[1:]) or self._attribute(above, label[1:])
            else:
                place = above.children.get(label) or self._child(above, label)
            found.append(place)
        return found[1:]

    def _see(self, met: _Occurrences, place: TagPathNode) -> None:
        """Meet a place for the first time in a document."""
        place.seen = self._reading
        if place.stamp != self._stamp:
            self._refresh(place)
        met.places.append(place)

    def _whole(self, met: _Occurrences, element: XmlElement, place: TagPathNode) -> None:
        """Meet all that stands in an element whose place has been met."""
        if place.valued:
            met.values.append((place, string_value(element)))
        self._meet_leaves(met, self._leaves(element, place, self._top))
        self._walk(list(element.iterdescendants()), {element: place}, met)

    def _note(self, met: _Occurrences) -> None:
        found = self._equalities(met.values)
        tests = [place.tests for place in met.places if place.tests.size]
        if found:
            tests.append(np.array(found, np.intp))
        self.flags.fill(False)
        self.flags[TRUE] = True
        if tests:
            self.flags[np.concatenate(tests)] = True
        self.documents += 1
        if self.documents % _SAMPLED == 1:
            self._tests.count(self.flags)
        self._recent.update(place.number for place in met.places)

    def _begin(self) -> None:
        self._reading += 1
        changed = self._tests.changed_tag_paths()
        if changed is None:
            self._stamp += 1
        if self._generation != self._tag_paths.generation:
            self._forget()
        elif len(self._tag_paths) > MOST_TAG_PATHS:
            self._tag_paths.keep(list(self._recent) if len(self._recent) < MOST_TAG_PATHS // 2 else [])
            self._forget()
        else:
            for tag_path in changed or ():
                if place := self._places.get(tag_path):
                    place.stamp = -1
        self._make_room()

    def _make_room(self) -> None:
        """Have arrays that are large enough for the tests, with nothing of the document before among the extremes."""
        if self.flags.size != self._tests.capacity:
            self.flags = np.zeros(self._tests.capacity, np.bool_)
        if 2 * self._tests.bounded > self.extremes.size:
            self.extremes = np.full(4 * self._tests.bounded, nan)
            self.extremes[0] = inf
        else:
            for touched in self._touched:
                self.extremes[touched] = nan
                self.extremes[touched + 1] = nan
        self._touched.clear()

    def _walk(
        self, elements: Sequence[XmlElement], places: dict[XmlElement | None, TagPathNode], met: _Occurrences
    ) -> None:
        """Meet elements with their leaves; ``places`` are those of the elements that they stand in."""
        reading = self._reading
        with_leaves = self._tests.attributes_asked or self._tests.texts_asked
        for element in elements:
            above = places[element.getparent()]
            name = element.tag
            place = above.children.get(name) or self._child(above, name)
            places[element] = place
            if place.seen != reading:
                self._see(met, place)
            if place.valued:
                met.values.append((place, string_value(element)))
            if with_leaves:
                self._meet_leaves(met, self._leaves(element, place, above))

    def _meet_leaves(self, met: _Occurrences, leaves: Sequence[tuple[TagPathNode, str]]) -> None:
        for leaf, value in leaves:
            if leaf.seen != self._reading:
                self._see(met, leaf)
            if leaf.valued:
                met.values.append((leaf, value))

    def _leaves(self, element: XmlElement, place: TagPathNode, above: TagPathNode) -> list[tuple[TagPathNode, str]]:
        """The attributes of an element, its first text and the text after it, with their places."""
        found: list[tuple[TagPathNode, str]] = []
        if self._tests.attributes_asked:
            attributes = place.attributes
            for name, value in element.items():
                found.append((attributes.get(name) or self._attribute(place, name), value))  # type: ignore[arg-type]
        if self._tests.texts_asked:
            text, tail = element.text, element.tail
            if text:
                found.append((place.text or self._text(place), text))
            if tail and above is not self._top:
                found.append((above.text or self._text(above), tail))
        return found

    def _equalities(self, values: list[tuple[TagPathNode, str]]) -> list[int]:
        """The tests of equality that hold; the extremes are noted beside."""
        found: list[int] = []
        equalities = self._tests.equalities
        numbers: dict[TagPathNode, tuple[float, float]] = {}
        for place, text in values:
            if place.compares_texts:
                found += equalities(text, place.number)
            if place.compares_numbers and (number := double(text)) is not None:
                found += equalities(number, place.number)
                if place.extremes.size and number == number:
                    least, greatest = numbers.get(place, (number, number))
                    numbers[place] = min(least, number), max(greatest, number)
        extremes = self.extremes
        for place, (least, greatest) in numbers.items():
            at = place.extremes
            extremes[at] = np.fmax(extremes[at], greatest)
            extremes[at + 1] = np.fmax(extremes[at + 1], -least)
            self._touched.append(at)
        return found

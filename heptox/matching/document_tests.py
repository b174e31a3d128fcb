"""Tests of documents: what is true or false of one, found once for all the patterns that ask it.

A test asks whether a linear path leads to a node, or to a node of one value; of numbers at its end there are the least
and the greatest. A document is read once: each of its tag paths says which tests hold.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import partial
from math import inf, nan, nextafter
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from heptox.matching.element_sets import string_value
from heptox.matching.linear_path import LinearPath
from heptox.matching.mapped_paths import Labels, MappedElement
from heptox.matching.mapped_reading import MappedPlaces, MappedReading
from heptox.matching.path_match import PathMatch
from heptox.matching.postings import NO_PLACES, Places
from heptox.matching.tag_paths import DOCUMENT, TagPaths
from heptox.pattern import ANY_ELEMENT, TEXT, Operator, double
from heptox.xml import XmlElement

Flags: TypeAlias = NDArray[np.bool_]
Doubles: TypeAlias = NDArray[np.float64]

TRUE: Final = 0
"""The test that always holds."""
NO_BOUND: Final = (0, -inf)
"""A bound that is always kept."""

MOST_TAG_PATHS: Final = 1 << 16
"""How many tag paths are known before those that have not been seen for long are forgotten."""
_OTHER: Final = "?"
"""The label of all that no linear path names: no name is written so."""
_FEW_CHANGES: Final = 64
_CERTAIN_AFTER: Final = 8
"""For how many documents the guess counts how often a test holds."""
_EQUALITY_HOLDS: Final = 0.02
_NAME_HOLDS: Final = 0.5
_WILDCARD_HOLDS: Final = 0.9
_MOST_MAPS: Final = 64
"""How many maps of tag paths are kept."""
_SAMPLED: Final = 8
"""Every so many documents it is counted which tests hold."""


class Place:
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
        self.children: dict[str, Place] = {}
        self.attributes: dict[str, Place] = {}
        self.text: Place | None = None
        self.stamp = -1
        self.seen = -1
        self.tests: Places = NO_PLACES
        self.extremes: Places = NO_PLACES
        self.compares_texts = False
        self.compares_numbers = False
        self.valued = False


class _Value:
    """What is compared by ``=`` with one constant: a test for each linear path."""

    __slots__ = ("at", "tests")

    def __init__(self) -> None:
        self.tests: dict[int, int] = {}
        self.at: dict[int, list[int]] = {}  # the tests that hold at a tag path which has the value


class _Met(NamedTuple):
    """What was met in a document: its places, each once, and the values at those where values matter."""

    places: list[Place]
    values: list[tuple[Place, str]]


class DocumentTests:
    """The tests that patterns use, numbered, and which of them hold for the document that was read last.

    The number of a test that is no longer used may be given to another.
    """

    def __init__(self, tag_paths: TagPaths) -> None:
        self.path_match = PathMatch(tag_paths)
        self._tag_paths = tag_paths
        self._linear = array("i", [-1])  # of each test its linear path
        self._uses = array("i", [1])
        self._constants: list[str | float | None] = [None]
        self._free: list[int] = []
        self._existence = array("i")  # of each linear path its test, TRUE where there is none
        self._extremes = array("i")  # of each linear path its number among those with bounds, 0 where there is none
        self._bounded = array("i", [1])  # how many bounds use it
        self._bounded_linear = array("i", [-1])
        self._free_bounded: list[int] = []
        self._texts = array("i")  # of each linear path how many tests compare it with a text
        self._numbers = array("i")
        self._values: dict[str | float, _Value] = {}
        self._attributes_asked = 0
        self._texts_asked = 0
        self.documents = 0
        self._reading = 0
        self._sampled = 0
        self._held: NDArray[np.int64] = np.zeros(64, np.int64)
        self._guesses: Doubles = np.full(64, inf)
        self.flags: Flags = np.zeros(64, np.bool_)
        """For each test whether it holds."""
        self.extremes: Doubles = np.full(64, nan)
        """Of the numbers at the end of each linear path that has bounds the greatest, and after it the least, negated;
        ``nan`` where there is none."""
        self.extremes[0] = inf
        self._touched: list[Places] = []
        self._stamp = 0
        self._changes = 0
        self._version = 0  # grows when other labels may be asked for, or places are others
        self._mapped: dict[int, tuple[int, MappedElement, MappedPlaces[Place]]] = {}
        self._forget()

    # tests

    def existence(self, path: LinearPath) -> int:
        """The test whether a linear path leads to a node; used once more."""
        linear = self._use(path)
        test = self._existence[linear]
        if test == TRUE:
            test = self._existence[linear] = self._new(linear, None, _guess(path))
            self._changed(linear)
        self._uses[test] += 1
        return test

    def equality(self, path: LinearPath, constant: str | float) -> int:
        """The test whether a linear path leads to a node of that value, a text or a number; used once more."""
        linear = self._use(path)
        value = self._values.get(constant)
        if value is None:
            value = self._values[constant] = _Value()
        test = value.tests.get(linear)
        if test is None:
            test = value.tests[linear] = self._new(linear, constant, _EQUALITY_HOLDS)
            value.at.clear()
            counts = self._texts if isinstance(constant, str) else self._numbers
            counts[linear] += 1
            if counts[linear] == 1:
                self._changed(linear)
        self._uses[test] += 1
        return test

    def release(self, test: int) -> None:
        """Use a test once less."""
        linear = self._linear[test]
        self._uses[test] -= 1
        if not self._uses[test]:
            constant = self._constants[test]
            if constant is None:
                self._existence[linear] = TRUE
                self._changed(linear)
            else:
                value = self._values[constant]
                del value.tests[linear]
                value.at.clear()
                if not value.tests:
                    del self._values[constant]
                counts = self._texts if isinstance(constant, str) else self._numbers
                counts[linear] -= 1
                if not counts[linear]:
                    self._changed(linear)
            self._constants[test] = None
            self._free.append(test)
        self._disuse(linear)

    def bound(self, path: LinearPath, operator: Operator, constant: float) -> tuple[int, float]:
        """Where in :attr:`extremes` stands what must be at least the second number; used once more.

        ``operator`` is one of ``< <= > >=``.
        """
        linear = self._use(path)
        number = self._extremes[linear]
        if not number:
            number = self._extremes[linear] = self._new_bounded(linear)
            self._changed(linear)
        self._bounded[number] += 1
        if operator[0] == ">":
            return 2 * number, constant if operator == ">=" else _next(constant, inf)
        return 2 * number + 1, -constant if operator == "<=" else -_next(constant, -inf)

    def release_bound(self, place: int) -> None:
        """Use a place in :attr:`extremes` once less."""
        number = place >> 1
        linear = self._bounded_linear[number]
        self._bounded[number] -= 1
        if not self._bounded[number]:
            self._extremes[linear] = 0
            self._changed(linear)
            self._free_bounded.append(number)
        self._disuse(linear)

    def estimate(self, test: int) -> float:
        """How often a test holds, from 0 to 1: counted where documents have been read, else guessed."""
        return float((self._held[test] + _CERTAIN_AFTER * self._guesses[test]) / (self._sampled + _CERTAIN_AFTER))

    def estimates(self) -> Doubles:
        """:meth:`estimate` for all tests; infinite for :data:`TRUE`."""
        return np.asarray((self._held + _CERTAIN_AFTER * self._guesses) / (self._sampled + _CERTAIN_AFTER))

    @property
    def nbytes(self) -> int:
        """How many bytes the arrays take."""
        return self._held.nbytes + self._guesses.nbytes + self.flags.nbytes + self.extremes.nbytes

    def _use(self, path: LinearPath) -> int:
        linear = self.path_match.add(path)
        self._version += 1
        if linear >= len(self._existence):
            for numbers in (self._existence, self._extremes, self._texts, self._numbers):
                numbers.append(0)
        last = path.steps[-1].test
        self._attributes_asked += last[0] == "@"
        self._texts_asked += last == TEXT
        return linear

    def _disuse(self, linear: int) -> None:
        last = self.path_match.path(linear).steps[-1].test
        self._attributes_asked -= last[0] == "@"
        self._texts_asked -= last == TEXT
        self.path_match.remove(linear)

    def _new(self, linear: int, constant: str | float | None, guess: float) -> int:
        if self._free:
            test = self._free.pop()
            self._linear[test], self._constants[test] = linear, constant
        else:
            test = len(self._linear)
            self._linear.append(linear)
            self._constants.append(constant)
            self._uses.append(0)
            if test >= self.flags.size:
                self.flags = np.zeros(2 * test, np.bool_)
                self._held = np.resize(self._held, 2 * test)
                self._guesses = np.resize(self._guesses, 2 * test)
        self._held[test] = 0
        self._guesses[test] = guess * (self._sampled + _CERTAIN_AFTER) / _CERTAIN_AFTER
        return test

    def _new_bounded(self, linear: int) -> int:
        if self._free_bounded:
            number = self._free_bounded.pop()
            self._bounded_linear[number] = linear
            return number
        number = len(self._bounded)
        self._bounded.append(0)
        self._bounded_linear.append(linear)
        if 2 * number >= self.extremes.size:
            self.extremes = np.full(4 * number, nan)
            self.extremes[0] = inf
        return number

    # places

    def _changed(self, linear: int) -> None:
        """What a linear path is asked for has changed, and with it the places of its tag paths."""
        if len(self._places) == 1 or self._changes > _FEW_CHANGES:
            return
        self._changes += 1
        if self._changes > _FEW_CHANGES:
            self._stamp += 1
            return
        for tag_path in self.path_match.tag_paths_of(linear).tolist():
            if place := self._places.get(tag_path):
                place.stamp = -1

    def _forget(self) -> None:
        self._generation = self._tag_paths.generation
        self._mapped.clear()
        self._top = Place(DOCUMENT)
        self._places = {DOCUMENT: self._top}
        self._recent: set[int] = set()
        for value in self._values.values():
            value.at.clear()

    def _place(self, tag_path: int) -> Place:
        return self._places.setdefault(tag_path, Place(tag_path))

    def _child(self, above: Place, name: str) -> Place:
        """The place of the elements of a name; all names that no linear path asks for have one."""
        if not self.path_match.asks_for(name):
            other = above.children.get(_OTHER)
            if other is not None:
                return other
            name = _OTHER
        place = above.children[name] = self._place(self._tag_paths.child(above.number, name))
        return place

    def _attribute(self, above: Place, name: str) -> Place:
        if not self.path_match.asks_for(f"@{name}"):
            other = above.attributes.get(_OTHER)
            if other is not None:
                return other
            name = _OTHER
        place = above.attributes[name] = self._place(self._tag_paths.child(above.number, f"@{name}"))
        return place

    def _text(self, above: Place) -> Place:
        above.text = self._place(self._tag_paths.child(above.number, TEXT))
        return above.text

    def _refresh(self, place: Place) -> None:
        linears = self.path_match.matches(place.number).astype(np.intp)
        place.tests = _positive(self._existence, linears)
        # most that is asked of paths alone has neither bounds nor values
        place.extremes = 2 * _positive(self._extremes, linears) if len(self._bounded) > 1 else NO_PLACES
        place.compares_texts = bool(self._values) and _positive(self._texts, linears).size > 0
        place.compares_numbers = place.extremes.size > 0 or (
            bool(self._values) and _positive(self._numbers, linears).size > 0
        )
        place.valued = place.compares_texts or place.compares_numbers
        place.stamp = self._stamp

    # documents

    def read(self, elements: Sequence[XmlElement]) -> None:
        """Find which tests hold for a document; ``elements`` are all of it, in its order."""
        self._begin()
        met = _Met([], [])
        self._walk(elements, {None: self._top}, met)
        self._note(met)

    def read_mapped(self, root: XmlElement, paths: MappedElement) -> None:
        """Find which tests hold for what a document is in other words, by a map of its tag paths.

        A map is kept as long as documents are read by it.
        """
        self._begin()
        met = _Met([], [])
        reading = MappedReading(self._reading, partial(self._see, met), partial(self._whole, met), met.values)
        reading.read(root, self._mapped_places(paths))
        self._note(met)

    def _mapped_places(self, paths: MappedElement) -> MappedPlaces[Place]:
        known = self._mapped.get(id(paths))
        if known is None or known[0] != self._version:
            if len(self._mapped) >= _MOST_MAPS:
                self._mapped.clear()
            places = MappedPlaces(paths, self._places_at, texts=self._texts_asked > 0)
            known = self._mapped[id(paths)] = self._version, paths, places
        return known[2]

    def _places_at(self, labels: Labels) -> list[Place]:
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

    def _see(self, met: _Met, place: Place) -> None:
        """Meet a place for the first time in a document."""
        place.seen = self._reading
        if place.stamp != self._stamp:
            self._refresh(place)
        met.places.append(place)

    def _whole(self, met: _Met, element: XmlElement, place: Place) -> None:
        """Meet all that stands in an element whose place has been met."""
        if place.valued:
            met.values.append((place, string_value(element)))
        self._meet_leaves(met, self._leaves(element, place, self._top))
        self._walk(list(element.iterdescendants()), {element: place}, met)

    def _note(self, met: _Met) -> None:
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
            self._sampled += 1
            self._held += self.flags
        self._recent.update(place.number for place in met.places)

    def _begin(self) -> None:
        self._changes = 0
        self._reading += 1
        if self._generation != self._tag_paths.generation:
            self._forget()
        elif len(self._tag_paths) > MOST_TAG_PATHS:
            self._tag_paths.keep(list(self._recent) if len(self._recent) < MOST_TAG_PATHS // 2 else [])
            self._forget()
        for touched in self._touched:
            self.extremes[touched] = nan
            self.extremes[touched + 1] = nan
        self._touched.clear()

    def _walk(self, elements: Sequence[XmlElement], places: dict[XmlElement | None, Place], met: _Met) -> None:
        """Meet elements with their leaves; ``places`` are those of the elements that they stand in."""
        reading = self._reading
        with_leaves = self._attributes_asked or self._texts_asked
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

    def _meet_leaves(self, met: _Met, leaves: Sequence[tuple[Place, str]]) -> None:
        for leaf, value in leaves:
            if leaf.seen != self._reading:
                self._see(met, leaf)
            if leaf.valued:
                met.values.append((leaf, value))

    def _leaves(self, element: XmlElement, place: Place, above: Place) -> list[tuple[Place, str]]:
        """The attributes of an element, its first text and the text after it, with their places."""
        found: list[tuple[Place, str]] = []
        if self._attributes_asked:
            attributes = place.attributes
            for name, value in element.items():
                found.append((attributes.get(name) or self._attribute(place, name), value))  # type: ignore[arg-type]
        if self._texts_asked:
            text, tail = element.text, element.tail
            if text:
                found.append((place.text or self._text(place), text))
            if tail and above is not self._top:
                found.append((above.text or self._text(above), tail))
        return found

    def _equalities(self, values: list[tuple[Place, str]]) -> list[int]:
        """The tests of equality that hold; the extremes are noted beside."""
        found: list[int] = []
        known = self._values
        numbers: dict[Place, tuple[float, float]] = {}
        for place, text in values:
            if place.compares_texts and (value := known.get(text)) is not None:
                found += self._at(value, place)
            if place.compares_numbers and (number := double(text)) is not None:
                if (value := known.get(number)) is not None:
                    found += self._at(value, place)
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

    def _at(self, value: _Value, place: Place) -> list[int]:
        found = value.at.get(place.number)
        if found is None:
            linears = self.path_match.matches(place.number)
            asked = np.fromiter(value.tests, np.int32, len(value.tests))
            tests = np.fromiter(value.tests.values(), np.int32, len(value.tests))
            found = value.at[place.number] = tests[np.isin(asked, linears, assume_unique=True)].tolist()
        return found


def _positive(numbers: array[int], linears: Places) -> Places:
    """What stands in ``numbers`` for the linear paths, where it is above 0."""
    if not linears.size:
        return NO_PLACES
    found: Places = np.frombuffer(numbers, np.int32)[linears].astype(np.intp)
    return found[found > 0]


def _guess(path: LinearPath) -> float:
    """How often a linear path leads somewhere, if nothing else is known."""
    held = 1.0
    for _, test in path.steps[1:]:
        held *= _WILDCARD_HOLDS if test == ANY_ELEMENT else _NAME_HOLDS
    return held


def _next(constant: float, towards: float) -> float:
    """The next number; ``nan``, which nothing reaches, after the last."""
    return nan if constant == towards else nextafter(constant, towards)

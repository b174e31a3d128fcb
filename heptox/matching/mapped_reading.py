"""Reading a document by a map of its tag paths: what is met in it in other words
(:mod:`~heptox.matching.mapped_paths`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar

from heptox.matching.element_sets import string_value
from heptox.matching.mapped_paths import Labels, MappedElement, MappedLeaf
from heptox.pattern import TEXT
from heptox.xml import XmlElement

_NONE: Final[frozenset[int]] = frozenset()


class VisitedPath(Protocol):
    """A tag path as a document is read: in which document it was met last, and whether its values matter."""

    seen: int
    valued: bool


_Path = TypeVar("_Path", bound=VisitedPath)


class MappedLeafPlaces(Generic[_Path]):
    """Where a leaf stands: its place and those above it, that of its text, and the element that it is alone in."""

    __slots__ = ("chain", "is_valued", "needs", "owner", "text")

    def __init__(self, leaf: MappedLeaf, place_at: Callable[[Labels], list[_Path]], *, texts: bool) -> None:
        self.chain = tuple(reversed(place_at(leaf.labels)))
        has_text = texts and not leaf.labels[-1].startswith("@")
        self.text = place_at((*leaf.labels, TEXT))[-1] if has_text else None
        self.owner = self.chain[1] if leaf.alone else None
        self.is_valued = self.text is not None or self.owner is not None
        self.needs = leaf.needs


class MappedPlaces(Generic[_Path]):
    """The places of a map; ``texts`` says whether anybody asks for text nodes."""

    __slots__ = ("attributes", "children", "conditions", "content", "is_plain", "shell", "whole")

    def __init__(self, paths: MappedElement, place_at: Callable[[Labels], list[_Path]], *, texts: bool) -> None:
        def leaf(found: MappedLeaf | None) -> MappedLeafPlaces[_Path] | None:
            return None if found is None else MappedLeafPlaces(found, place_at, texts=texts)

        self.children = {name: MappedPlaces(child, place_at, texts=texts) for name, child in paths.children.items()}
        self.attributes = [(name, MappedLeafPlaces(each, place_at, texts=texts)) for name, each in paths.attributes]
        self.content, self.whole = leaf(paths.content), leaf(paths.whole)
        self.shell = tuple(reversed(place_at(paths.shell)))
        self.is_plain = not (paths.children or paths.attributes or paths.conditions or paths.shell)
        self.conditions = [(number, "/".join(below)) for number, below in paths.conditions]


class MappedReading(Generic[_Path]):
    """One pass over a document, of the number ``reading``.

    ``see`` is called with each place that is met for the first time, ``whole`` with the elements that come whole and
    their places; ``values`` takes those at places where they matter.
    """

    def __init__(
        self,
        reading: int,
        see: Callable[[_Path], None],
        whole: Callable[[XmlElement, _Path], None],
        values: list[tuple[_Path, str]],
    ) -> None:
        self._reading = reading
        self._see = see
        self._whole = whole
        self._values = values

    def read(self, element: XmlElement, places: MappedPlaces[_Path], failed: frozenset[int] = _NONE) -> None:
        """Read an element, with all that the map has below it; ``failed`` are the conditions that do not hold."""
        if places.conditions:
            failed |= {number for number, below in places.conditions if element.find(below) is None}
        if places.shell:
            self._meet(places.shell)
        for name, leaf in places.attributes:
            value = element.get(name)
            if value is not None and not (failed and leaf.needs & failed):
                self._leaf(leaf, value)
        if places.whole is not None and not (failed and places.whole.needs & failed):
            self._meet(places.whole.chain)
            self._whole(element, places.whole.chain[0])
        if places.content is not None:
            self._content(element, places.content, failed)
        if places.children:
            self._children(element, places.children, failed)

    def _children(self, element: XmlElement, children: dict[str, MappedPlaces[_Path]], failed: frozenset[int]) -> None:
        """Read what the map has below an element; most of it are leaves."""
        for child in element:
            below = children.get(child.tag)
            if below is None:
                continue
            if below.is_plain and below.content is not None:
                self._content(child, below.content, failed)
            else:
                self.read(child, below, failed)

    def _content(self, element: XmlElement, leaf: MappedLeafPlaces[_Path], failed: frozenset[int]) -> None:
        if failed and leaf.needs & failed:
            return
        if leaf.chain[0].seen != self._reading:
            self._meet(leaf.chain)
        if leaf.is_valued or leaf.chain[0].valued:
            self._leaf(leaf, string_value(element))

    def _leaf(self, leaf: MappedLeafPlaces[_Path], value: str) -> None:
        self._meet(leaf.chain)
        if leaf.chain[0].valued:
            self._values.append((leaf.chain[0], value))
        text = leaf.text
        if text is not None and value:
            if text.seen != self._reading:
                self._see(text)
            if text.valued:
                self._values.append((text, value))
        if leaf.owner is not None and leaf.owner.valued:
            self._values.append((leaf.owner, ""))

    def _meet(self, chain: tuple[_Path, ...]) -> None:
        """Meet a place and those above it; where one has been met, those above it have been, too."""
        for place in chain:
            if place.seen == self._reading:
                return
            self._see(place)

"""The tree of tag paths: which paths from the document node to a node documents have, each with a number.

Source: section 3.4 of Tian et al., "Implementing a scalable XML publish/subscribe system using relational database
systems" (SIGMOD 2004), whose ``Tagpath_Map`` table this is.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from heptox.pattern import ANY_ATTRIBUTE, ANY_ELEMENT, TEXT
from heptox.xml import path_text

Ids: TypeAlias = NDArray[np.int32]
"""Numbers of tag paths, or of linear paths."""

DOCUMENT: Final = 0
"""The tag path of the document node."""

NO_IDS: Final = np.empty(0, np.int32)


class TagPaths:
    """A tree whose nodes are the tag paths; the number of a tag path is greater than that of the one above it.

    A label is the expanded name of an element, ``@name`` or ``text()``. One tree may serve several matchers: it only
    grows, but for :meth:`keep`.

    >>> paths = TagPaths()
    >>> number = paths.add(["a", "b", "text()"])
    >>> number, paths.text(number), paths.inverse(number)
    (3, '/a/b/text()', 'text()/b/a')
    """

    __slots__ = ("_below", "_depths", "_parents", "_with_label", "children", "generation", "labels")

    def __init__(self) -> None:
        self.generation = 0
        """How often tag paths were given other numbers, by :meth:`keep`."""
        self._clear()

    def _clear(self) -> None:
        self.labels: list[str] = [""]
        """The last label of each tag path; of the document node ``""``."""
        self.children: list[dict[str, int]] = [{}]
        """For each tag path those one step longer, by their labels; to be changed by :meth:`child` alone."""
        self._parents = array("i", [DOCUMENT])
        self._depths = array("i", [0])
        self._with_label: dict[str, array[int]] = {}
        self._below: dict[str, array[int]] = {ANY_ELEMENT: array("i"), ANY_ATTRIBUTE: array("i")}

    def __len__(self) -> int:
        """How many tag paths there are, the document node included."""
        return len(self.labels)

    def child(self, parent: int, label: str) -> int:
        """The number of the tag path that has ``label`` after ``parent``; a new one is added."""
        found = self.children[parent].get(label)
        if found is not None:
            return found
        number = len(self.labels)
        self.children[parent][label] = number
        self.labels.append(label)
        self.children.append({})
        self._parents.append(parent)
        self._depths.append(self._depths[parent] + 1)
        self._with_label.setdefault(label, array("i")).append(number)
        if label != TEXT:
            self._below[ANY_ATTRIBUTE if label[0] == "@" else ANY_ELEMENT].append(number)
        return number

    def add(self, labels: Sequence[str]) -> int:
        """The number of a tag path; it is added, and all above it, where it is new."""
        number = DOCUMENT
        for label in labels:
            number = self.child(number, label)
        return number

    @property
    def parents(self) -> Ids:
        """For each tag path the one above it; for the document node itself."""
        return copied(self._parents)

    @property
    def depths(self) -> Ids:
        """For each tag path the number of its labels."""
        return copied(self._depths)

    def parent(self, number: int) -> int:
        """The tag path above one."""
        return self._parents[number]

    def fitting(self, test: str) -> Ids:
        """The tag paths whose label passes a node test, ascending: ``*`` is for elements, ``@*`` for attributes."""
        numbers = self._below.get(test)
        if numbers is None:
            numbers = self._with_label.get(test)
        return NO_IDS if numbers is None else copied(numbers)

    def path(self, number: int) -> list[str]:
        """The labels of a tag path, from the root element on."""
        found = list(self._upwards(number))
        found.reverse()
        return found

    def text(self, number: int) -> str:
        """A tag path as text, ``/`` before each label; :func:`~heptox.xml.path_steps` reads the labels."""
        return f"/{path_text(self.path(number))}" if number != DOCUMENT else ""

    def inverse(self, number: int) -> str:
        """A tag path as text, its last label first (the paper's ``Inv_Tagpath``)."""
        return path_text(self._upwards(number))

    def _upwards(self, number: int) -> Iterator[str]:
        while number != DOCUMENT:
            yield self.labels[number]
            number = self._parents[number]

    def keep(self, numbers: Sequence[int]) -> None:
        """Forget all tag paths but these and those above them. Those that stay get other numbers."""
        wanted = bytearray(len(self.labels))
        for number in numbers:
            while number != DOCUMENT and not wanted[number]:
                wanted[number] = 1
                number = self._parents[number]
        labels, parents = self.labels, self._parents
        self.generation += 1
        self._clear()
        new = {DOCUMENT: DOCUMENT}
        for number, stays in enumerate(wanted):
            if stays:
                new[number] = self.child(new[parents[number]], labels[number])


def fitting_tests(label: str) -> tuple[str, ...]:
    """The node tests that a label passes.

    >>> fitting_tests("a"), fitting_tests("@b"), fitting_tests("text()")
    (('a', '*'), ('@b', '@*'), ('text()',))
    """
    return (label,) if label == TEXT else (label, ANY_ATTRIBUTE if label[0] == "@" else ANY_ELEMENT)


def copied(numbers: array[int]) -> Ids:
    """Numbers as an array of their own: one that shared their memory would keep them from growing."""
    return np.array(numbers, np.int32) if numbers else NO_IDS

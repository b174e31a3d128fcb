"""Linear paths reading labels, all positions at once: a position is a bit (Baeza-Yates and Gonnet's Shift-And)."""

from __future__ import annotations

from typing import Final, TypeAlias

from heptox.matching import LinearPath
from heptox.pattern import ANY_ATTRIBUTE, ANY_ELEMENT, TEXT, is_leaf_test

Positions: TypeAlias = int
"""A set of positions in a linear path: bit ``n`` is set when its first ``n`` steps can have been taken."""

START: Final[Positions] = 1
"""At the document node no step has been taken."""


class Reader:
    """A linear path as an automaton that reads the labels from the root element down.

    Elements and leaves are read by two methods: only elements can stand in the gap of a ``//``, and a leaf is the end.

    >>> from heptox.matching.linear_path import Step
    >>> reader = Reader(LinearPath((Step("//", "a"), Step("/", "*"))))
    >>> after_root = reader.element(START, "a")
    >>> bool(after_root & reader.accepting), bool(reader.element(after_root, "b") & reader.accepting)
    (False, True)
    """

    __slots__ = ("_any_attribute", "_any_element", "_descents", "_tests", "accepting", "ends_in_leaf", "path")

    def __init__(self, path: LinearPath) -> None:
        self.path = path
        self.ends_in_leaf = is_leaf_test(path.steps[-1].test)
        """Whether the path asks for an attribute or a text."""
        self.accepting: Positions = 1 << len(path.steps)
        self._descents: Positions = 0
        self._tests: dict[str, Positions] = {}
        for place, (axis, test) in enumerate(path.steps):
            self._tests[test] = self._tests.get(test, 0) | 1 << place
            if axis == "//":
                self._descents |= 1 << place
        self._any_element = self._tests.pop(ANY_ELEMENT, 0)
        self._any_attribute = self._tests.pop(ANY_ATTRIBUTE, 0)

    @property
    def labels(self) -> frozenset[str]:
        """The labels that the path names; to it, all other elements are alike, and all other attributes."""
        return frozenset(self._tests)

    def element(self, positions: Positions, name: str) -> Positions:
        """The positions after an element."""
        return (positions & (self._tests.get(name, 0) | self._any_element)) << 1 | positions & self._descents

    def leaf(self, positions: Positions, label: str) -> bool:
        """Whether the path ends with an attribute or a text of the element at which the positions are."""
        tests = self._tests.get(label, 0)
        if label != TEXT:
            tests |= self._any_attribute
        return bool((positions & tests) << 1 & self.accepting)

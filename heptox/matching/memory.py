"""Matching single documents in memory, one after the other (``matching.md``, "Two engines").

The tag paths of a document say which tests hold (:class:`DocumentTests`); patterns are looked at when the test holds
that is the rarest of theirs, and all their tests are checked at once in columns (:class:`PatternTable`). What is left
to decide, of patterns in which several things are asked of one node, is decided by :class:`ElementSets`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from heptox.garbage import uncollected
from heptox.matching.branching import branches
from heptox.matching.document_tests import DocumentTests
from heptox.matching.element_sets import ElementSets
from heptox.matching.mapped_paths import MappedElement
from heptox.matching.path_tests import PathTests
from heptox.matching.pattern_table import DECIDED, MOST_BOUNDS, MOST_TESTS, Numbers, PatternTable
from heptox.matching.shared_nodes import SharedNodes
from heptox.matching.tag_paths import TagPaths
from heptox.pattern import Number, Text, TreePattern, literal
from heptox.xml import Document, XmlElement

_FREED: Final = 10_000
"""Elements that are let go at once."""
_LEARN_AFTER: Final = (64, 512, 4096)
"""After so many documents what is known about how often tests hold is put to use."""


@dataclass(frozen=True, slots=True)
class MemoryStatistics:
    """What a matcher holds: subscriptions, their patterns, and how many of those are open, that is not decided by tests
    alone; distinct linear paths, tests and tag paths."""

    subscriptions: int
    patterns: int
    open_patterns: int
    linear_paths: int
    tag_paths: int


class MemoryMatcher:
    """Which subscriptions a document matches; they come and go between documents. Not for several threads at once.

    ``tag_paths`` may be shared with other matchers. Where a document has more than ``decided`` pairs of an element and
    a node, or a comparison, of the patterns that tests leave open, the largest of these are not decided: they match.

    >>> from heptox.grammar import parse_subscription
    >>> from heptox.xml import parse_document
    >>> matcher = MemoryMatcher()
    >>> for number, text in enumerate(("/a/b", "//b[c > 1][@x]", "//b[c > 2]")):
    ...     matcher.add(number, parse_subscription(text))
    >>> matcher.match(parse_document("<a><b x=''><c>2</c></b><b/></a>")).tolist()
    [0, 1]
    """

    def __init__(self, tag_paths: TagPaths | None = None, decided: int | None = None) -> None:
        self._decided = decided
        self._paths = PathTests(TagPaths() if tag_paths is None else tag_paths)
        self._tests = DocumentTests(self._paths)
        self._table = PatternTable()
        self._first: dict[int, int] = {}  # the first pattern of each subscription; the others follow
        self._open = SharedNodes()
        self._open_patterns = 0
        self._several = 0  # patterns beyond the first of a subscription

    def __len__(self) -> int:
        """How many subscriptions there are."""
        return len(self._first)

    def __contains__(self, number: object) -> bool:
        return number in self._first

    def add(self, number: int, patterns: tuple[TreePattern, ...]) -> None:
        """Add the subscription ``number``, from 0 on, which is fulfilled where one of its patterns matches.

        Raises ``ValueError`` when there is one of that number, or no pattern.
        """
        if number in self._first:
            raise ValueError(f"there is a subscription {number}")
        if number < 0 or not patterns:
            raise ValueError("a subscription has a number from 0 on, and a pattern")
        self._first[number] = len(self._table)
        self._several += len(patterns) - 1
        for pattern in patterns:
            self._add(number, pattern)

    def remove(self, number: int) -> None:
        """Remove a subscription. Raises ``KeyError`` when there is none of that number."""
        pattern = self._first.pop(number)
        self._several += 1
        while pattern < len(self._table) and self._table.number(pattern) == number:
            self._several -= 1
            tests, bounds, is_open = self._table.remove(pattern)
            for test in tests:
                self._paths.release(test)
            for place in bounds:
                self._paths.release_bound(place)
            self._open_patterns -= is_open
            pattern += 1
        if self._table.is_sparse:
            self._compact()

    def match(self, document: Document) -> Numbers:
        """The numbers of the subscriptions that a document matches, ascending, each once.

        The document is only read. A document of 4 KB takes 0.1 ms and, with 100,000 paths, as much again.
        """
        # no list(...), nor one that is freed as a whole: other threads would wait until it is done
        with uncollected():
            elements: list[XmlElement] = [element for element in document.root.iter()]  # noqa: C416
            self._learn()
            self._tests.read(elements)
            try:
                return self._matching(lambda: elements)
            finally:
                while elements:
                    del elements[-_FREED:]

    def match_mapped(self, document: Document, paths: MappedElement, rewritten: Callable[[], Document]) -> Numbers:
        """As :meth:`match` for what a document is in other words, by a map of its tag paths.

        ``rewritten`` makes that document; it is called where more than tests has to decide.
        """
        self._learn()
        self._tests.read_mapped(document.root, paths)
        return self._matching(lambda: list(rewritten().root.iter()))

    def _learn(self) -> None:
        if self._table.is_behind or (self._tests.documents in _LEARN_AFTER and self._table.has_choices):
            self._table.index(self._paths.estimates())

    def _matching(self, elements: Callable[[], list[XmlElement]]) -> Numbers:
        """The numbers of the subscriptions that match, once the tests have been made."""
        numbers, undecided = self._table.select(self._tests.flags, self._tests.extremes)
        if undecided.size:
            numbers = np.concatenate([numbers, self._table.numbers(self._embedded(undecided, elements()))])
        if not (numbers[1:] > numbers[:-1]).all():
            numbers.sort()
            if self._several:
                numbers = numbers[np.concatenate([[True], numbers[1:] != numbers[:-1]])]
        return numbers

    def _embedded(self, undecided: Numbers, elements: list[XmlElement]) -> Numbers:
        """Those of some open patterns that embed in a document, or are not decided."""
        opened = self._table.opened(undecided)
        needed = self._open.needed(opened)
        if self._decided is not None and self._open.size(needed) * len(elements) > self._decided:
            sizes = self._open.sizes(opened)
            order = np.argsort(sizes, kind="stable")
            few = int(np.searchsorted(np.cumsum(sizes[order]), self._decided / len(elements), side="right"))
            needed = self._open.needed(opened[order[:few]])
            undecided, rest = undecided[order[:few]], undecided[order[few:]]
        else:
            rest = undecided[:0]
        return np.concatenate([undecided[ElementSets(elements).embed(needed, self._open.conditions)], rest])

    def statistics(self) -> MemoryStatistics:
        """What the matcher holds now."""
        return MemoryStatistics(
            subscriptions=len(self._first),
            patterns=len(self._first) + self._several,
            open_patterns=self._open_patterns,
            linear_paths=len(self._paths.path_match),
            tag_paths=len(self._paths.path_match.tag_paths),
        )

    def _add(self, number: int, pattern: TreePattern) -> None:
        tests: list[int] = []
        bounds: list[tuple[int, float]] = []
        is_open = False
        paths = []
        for branch in branches(pattern):
            constant, operator = branch.constant, branch.operator
            is_open = is_open or bool(branch.points)
            if constant is not None and operator == "=":
                tests.append(self._paths.equality(branch.path, _plain(constant)))
            elif isinstance(constant, Number) and operator is not None and operator != "!=":
                if len(bounds) < MOST_BOUNDS:
                    bounds.append(self._paths.bound(branch.path, operator, float(literal(constant.lexical))))
                    paths.append(branch.path)
                else:
                    is_open = True
            else:
                tests.append(self._paths.existence(branch.path))
                is_open = is_open or constant is not None
        if not tests:
            tests.append(self._paths.existence(paths[0]))
        tests.sort(key=self._paths.estimate)
        for test in tests[MOST_TESTS:]:
            self._paths.release(test)
            is_open = True
        self._open_patterns += is_open
        self._table.add(number, tests[:MOST_TESTS], bounds, self._open.add(pattern) if is_open else DECIDED)

    def _compact(self) -> None:
        """Give the patterns that are left new places."""
        self._open.keep(self._table.compact())
        self._first = {}
        for pattern, number in enumerate(self._table.all_numbers().tolist()):
            self._first.setdefault(number, pattern)


def _plain(constant: Text | Number) -> str | float:
    return float(literal(constant.lexical)) if isinstance(constant, Number) else constant.value

"""Tests of linear paths, numbered: the tests that patterns share.

A test asks whether a linear path leads to a node, or to a node of one value; of numbers at its end there are the least
and the greatest.
"""

from __future__ import annotations

from array import array
from math import inf, nan, nextafter
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from heptox.matching.linear_path import LinearPath
from heptox.matching.path_match import PathMatch
from heptox.matching.postings import NO_PLACES, Places
from heptox.matching.tag_paths import TagPaths
from heptox.pattern import ANY_ELEMENT, TEXT, Sign

Flags: TypeAlias = NDArray[np.bool_]
Doubles: TypeAlias = NDArray[np.float64]

TRUE: Final = 0
"""The test that always holds."""
NO_BOUND: Final = (0, -inf)
"""A bound that is always kept."""

_FEW_CHANGES: Final = 64
"""Of how many changes between two documents it is known which tag paths they concern."""
_CERTAIN_AFTER: Final = 8
"""For how many documents the guess counts how often a test holds."""
_EQUALITY_HOLDS: Final = 0.02
_NAME_HOLDS: Final = 0.5
_WILDCARD_HOLDS: Final = 0.9


class _Constant:
    """What is compared by ``=`` with one constant: a test for each linear path."""

    __slots__ = ("at", "tests")

    def __init__(self) -> None:
        self.tests: dict[int, int] = {}
        self.at: dict[int, list[int]] = {}  # the tests that hold at a tag path which has the value


class AskedOfPath(NamedTuple):
    """What is asked of a tag path: the tests that hold where it is there, the places in the extremes where its numbers
    count, and whether its values are compared with texts, or with numbers."""

    tests: Places
    extremes: Places
    compares_texts: bool
    compares_numbers: bool


class PathTests:
    """The tests that patterns use, with how often they hold. Tests that patterns share are made once.

    The number of a test that is no longer used may be given to another.
    """

    def __init__(self, tag_paths: TagPaths) -> None:
        self.path_match = PathMatch(tag_paths)
        self.version = 0
        """Grows when other labels may be asked for."""
        self.attributes_asked = 0
        self.texts_asked = 0
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
        self._compared: dict[str | float, _Constant] = {}
        self._samples = 0
        self._held: NDArray[np.int64] = np.zeros(64, np.int64)
        self._guesses: Doubles = np.full(64, inf)
        self._changes = 0
        self._changed_tag_paths: set[int] = set()

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
        compared = self._compared.get(constant)
        if compared is None:
            compared = self._compared[constant] = _Constant()
        test = compared.tests.get(linear)
        if test is None:
            test = compared.tests[linear] = self._new(linear, constant, _EQUALITY_HOLDS)
            compared.at.clear()
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
                self._release_equality(linear, constant)
            self._constants[test] = None
            self._free.append(test)
        self._disuse(linear)

    def _release_equality(self, linear: int, constant: str | float) -> None:
        compared = self._compared[constant]
        del compared.tests[linear]
        compared.at.clear()
        if not compared.tests:
            del self._compared[constant]
        counts = self._texts if isinstance(constant, str) else self._numbers
        counts[linear] -= 1
        if not counts[linear]:
            self._changed(linear)

    def bound(self, path: LinearPath, operator: Sign, constant: float) -> tuple[int, float]:
        """Where among the extremes of a document stands what must be at least the second number; used once more.

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
        """Use a place among the extremes once less."""
        number = place >> 1
        linear = self._bounded_linear[number]
        self._bounded[number] -= 1
        if not self._bounded[number]:
            self._extremes[linear] = 0
            self._changed(linear)
            self._free_bounded.append(number)
        self._disuse(linear)

    def _use(self, path: LinearPath) -> int:
        linear = self.path_match.add(path)
        self.version += 1
        if linear >= len(self._existence):
            for numbers in (self._existence, self._extremes, self._texts, self._numbers):
                numbers.append(0)
        last = path.steps[-1].test
        self.attributes_asked += last[0] == "@"
        self.texts_asked += last == TEXT
        return linear

    def _disuse(self, linear: int) -> None:
        last = self.path_match.path(linear).steps[-1].test
        self.attributes_asked -= last[0] == "@"
        self.texts_asked -= last == TEXT
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
            if test >= self.capacity:
                self._held = np.resize(self._held, 2 * test)
                self._guesses = np.resize(self._guesses, 2 * test)
        self._held[test] = 0
        self._guesses[test] = guess * (self._samples + _CERTAIN_AFTER) / _CERTAIN_AFTER
        return test

    def _new_bounded(self, linear: int) -> int:
        if self._free_bounded:
            number = self._free_bounded.pop()
            self._bounded_linear[number] = linear
            return number
        number = len(self._bounded)
        self._bounded.append(0)
        self._bounded_linear.append(linear)
        return number

    # how often they hold

    @property
    def capacity(self) -> int:
        """For how many tests there is room; grows by doubling."""
        return self._held.size

    @property
    def bounded(self) -> int:
        """How many linear paths may have bounds, the number 0 that none has included."""
        return len(self._bounded)

    def count(self, flags: Flags) -> None:
        """Count which tests hold for one more document."""
        self._samples += 1
        self._held += flags

    def estimate(self, test: int) -> float:
        """How often a test holds, from 0 to 1: counted where documents have been read, else guessed."""
        return float((self._held[test] + _CERTAIN_AFTER * self._guesses[test]) / (self._samples + _CERTAIN_AFTER))

    def estimates(self) -> Doubles:
        """:meth:`estimate` for all tests; infinite for :data:`TRUE`."""
        return np.asarray((self._held + _CERTAIN_AFTER * self._guesses) / (self._samples + _CERTAIN_AFTER))

    # of tag paths

    def asked_of(self, tag_path: int) -> AskedOfPath:
        """What is asked of a tag path."""
        linears = self.path_match.matches(tag_path).astype(np.intp)
        # most that is asked of paths alone has neither bounds nor values
        extremes = 2 * _positive(self._extremes, linears) if self.bounded > 1 else NO_PLACES
        compares_texts = bool(self._compared) and _positive(self._texts, linears).size > 0
        compares_numbers = extremes.size > 0 or (bool(self._compared) and _positive(self._numbers, linears).size > 0)
        return AskedOfPath(_positive(self._existence, linears), extremes, compares_texts, compares_numbers)

    def equalities(self, value: str | float, tag_path: int) -> list[int]:
        """The tests of equality that hold where a tag path has a value."""
        compared = self._compared.get(value)
        if compared is None:
            return []
        found = compared.at.get(tag_path)
        if found is None:
            linears = self.path_match.matches(tag_path)
            asked = np.fromiter(compared.tests, np.int32, len(compared.tests))
            tests = np.fromiter(compared.tests.values(), np.int32, len(compared.tests))
            found = compared.at[tag_path] = tests[np.isin(asked, linears, assume_unique=True)].tolist()
        return found

    def forget_tag_paths(self) -> None:
        """Forget what is known of tag paths, whose numbers are given anew."""
        for compared in self._compared.values():
            compared.at.clear()

    def _changed(self, linear: int) -> None:
        """Note that something else is asked of a linear path, and so of its tag paths."""
        self._changes += 1
        if self._changes <= _FEW_CHANGES:
            self._changed_tag_paths.update(self.path_match.tag_paths_of(linear).tolist())

    def changed_tag_paths(self) -> set[int] | None:
        """The tag paths of which something else is asked since they were last asked for; ``None`` for any of them."""
        changed = self._changed_tag_paths if self._changes <= _FEW_CHANGES else None
        self._changes, self._changed_tag_paths = 0, set()
        return changed


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

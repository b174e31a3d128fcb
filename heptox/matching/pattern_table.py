"""The patterns of a matcher as columns: which tests and bounds each of them has.

The first test of a pattern is its access predicate: the one that is expected to hold least often. Patterns that were
there when the index was last made are found through it, those added since are looked at one and all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from heptox.matching.path_tests import NO_BOUND, TRUE, Doubles, Flags
from heptox.matching.postings import Places, Postings
from heptox.matching.tag_paths import Ids

Numbers: TypeAlias = NDArray[np.int64]

MOST_TESTS: Final = 4
MOST_BOUNDS: Final = 2
"""How many tests and bounds a pattern has here; who has more is decided otherwise in the end."""

_Item = TypeVar("_Item", bound=np.generic)

DECIDED: Final = -1
"""What stands for a pattern that is decided by its tests and bounds."""

_ROW: Final = np.dtype(f"u{MOST_TESTS}")
_ALL: Final = int.from_bytes(bytes([True] * MOST_TESTS))

_DEAD: Final = -1
_LEAST_TAIL: Final = 4096
_TAIL_SHARE: Final = 0.25
_LEAST_DEAD: Final = 1024


class PatternTable:
    """Patterns, numbered in the order in which they were added."""

    def __init__(self) -> None:
        self._size = 0
        self._dead = 0
        self._indexed = 0
        self._numbers: Numbers = np.empty(64, np.int64)
        # What is asked for together stands together, in rows, which `take` finds many times faster than an index does.
        self._tests: NDArray[np.int32] = np.zeros((64, MOST_TESTS), np.int32)
        self._places: NDArray[np.int32] = np.zeros((64, MOST_BOUNDS), np.int32)
        self._bounds: Doubles = np.zeros((64, MOST_BOUNDS))
        self._open: Ids = np.zeros(64, np.int32)
        self._single = Postings()
        self._others = Postings()

    def __len__(self) -> int:
        """How many patterns there are, those included that have been removed since the last :meth:`compact`."""
        return self._size

    @property
    def nbytes(self) -> int:
        """How many bytes the columns and the index take."""
        columns = (self._numbers, self._tests, self._places, self._bounds, self._open)
        return sum(column.nbytes for column in columns) + self._single.nbytes + self._others.nbytes

    def add(self, number: int, tests: Sequence[int], bounds: Sequence[tuple[int, float]], opened: int = DECIDED) -> int:
        """A new pattern of the subscription ``number``; one that its tests and bounds do not decide has a number
        among the open ones."""
        pattern = self._size
        if pattern == self._numbers.size:
            self._grow()
        self._numbers[pattern] = number
        self._tests[pattern] = (*tests, *[TRUE] * (MOST_TESTS - len(tests)))
        padded = (*bounds, *[NO_BOUND] * (MOST_BOUNDS - len(bounds)))
        self._places[pattern] = [place for place, _ in padded]
        self._bounds[pattern] = [bound for _, bound in padded]
        self._open[pattern] = opened
        self._size += 1
        return pattern

    def _grow(self) -> None:
        size = 2 * self._numbers.size
        self._numbers = _grown(self._numbers, size)
        self._tests = _grown(self._tests, size)
        self._places = _grown(self._places, size)
        self._bounds = _grown(self._bounds, size)
        self._open = _grown(self._open, size)

    def number(self, pattern: int) -> int:
        """The subscription of a pattern; negative where it has been removed."""
        return int(self._numbers[pattern])

    def remove(self, pattern: int) -> tuple[list[int], list[int], bool]:
        """Remove a pattern: the tests and the places of bounds that it no longer uses, and whether it is open."""
        self._numbers[pattern] = _DEAD
        self._dead += 1
        tests, places = self._tests[pattern].tolist(), self._places[pattern].tolist()
        is_open = bool(self._open[pattern] != DECIDED)
        return [test for test in tests if test != TRUE], [place for place in places if place], is_open

    @property
    def is_sparse(self) -> bool:
        """Whether it is time to :meth:`compact`."""
        return self._dead > max(_LEAST_DEAD, self._size // 2)

    def compact(self) -> Ids:
        """Leave out what has been removed; the open patterns get new numbers, in the order of the old ones returned."""
        left = np.flatnonzero(self._numbers[: self._size] != _DEAD)
        size = max(64, left.size)
        self._numbers = _grown(self._numbers[left], size)
        self._tests = _grown(self._tests[left], size)
        self._places = _grown(self._places[left], size)
        self._bounds = _grown(self._bounds[left], size)
        opened = self._open[left]
        is_open = opened != DECIDED
        self._open = _grown(np.where(is_open, np.cumsum(is_open, dtype=np.int32) - 1, DECIDED).astype(np.int32), size)
        self._size, self._dead, self._indexed = left.size, 0, 0
        self._single = self._others = Postings()
        kept: Ids = opened[is_open]
        return kept

    @property
    def is_behind(self) -> bool:
        """Whether it is time to :meth:`index`."""
        return self._size - self._indexed > max(_LEAST_TAIL, _TAIL_SHARE * self._indexed)

    @property
    def has_choices(self) -> bool:
        """Whether another :meth:`index` could be better, by other estimates."""
        return len(self._others) > 0

    def index(self, estimates: Doubles) -> None:
        """Make the index of all patterns, with the tests of each in order of how often they hold."""
        size = self._size
        tests = self._tests[:size]
        order = np.argsort(estimates[tests], axis=1, kind="stable")
        self._tests[:size] = tests = np.take_along_axis(tests, order, axis=1)
        alive = self._numbers[:size] != _DEAD
        single = (tests[:, 1] == TRUE) & (self._places[:size, 0] == NO_BOUND[0]) & (self._open[:size] == DECIDED)
        for is_single in (True, False):
            members = np.flatnonzero(alive & (single == is_single)).astype(np.int32)
            postings = Postings(members, tests[members, 0])
            if is_single:
                self._single = postings
            else:
                self._others = postings
        self._indexed = size

    def select(self, flags: Flags, extremes: Doubles) -> tuple[Numbers, Places]:
        """The subscriptions of the patterns that are decided to hold, and the open ones that are not refused."""
        holding = np.flatnonzero(flags)
        decided = self._single.of(holding)
        patterns = self._others.of(holding).astype(np.intp)
        if self._indexed < self._size:
            tail = np.flatnonzero(flags[self._tests[self._indexed : self._size, 0]]) + self._indexed
            patterns = np.concatenate([patterns, tail])
        patterns = patterns[_all_hold(flags.take(self._tests.take(patterns, axis=0)))]
        bounded = self._places[patterns, 0] != NO_BOUND[0]
        if bounded.any():
            within = patterns[bounded]
            values = extremes.take(self._places.take(within, axis=0))
            within = within[(values >= self._bounds.take(within, axis=0)).all(axis=1)]
            patterns = np.concatenate([patterns[~bounded], within])
        is_open = self._open[patterns] != DECIDED
        undecided = patterns[is_open]
        numbers = self._numbers[np.concatenate([decided, patterns[~is_open]])]
        if self._dead:
            numbers = numbers[numbers != _DEAD]
            undecided = undecided[self._numbers[undecided] != _DEAD]
        return numbers, undecided

    def opened(self, patterns: Places) -> Ids:
        """The numbers of open patterns among the open ones."""
        opened: Ids = self._open[patterns]
        return opened

    def numbers(self, patterns: Places) -> Numbers:
        """The subscriptions of patterns."""
        return self._numbers[patterns]

    def all_numbers(self) -> Numbers:
        """The subscriptions of all patterns."""
        return self._numbers[: self._size]


def _all_hold(flags: Flags) -> Flags:
    """Whether all in a row hold, with the row looked at as one number."""
    all_hold: Flags = flags.view(_ROW).ravel() == _ALL
    return all_hold


def _grown(numbers: NDArray[_Item], size: int) -> NDArray[_Item]:
    """Numbers with room for ``size`` in the first dimension."""
    grown = np.zeros((size, *numbers.shape[1:]), numbers.dtype)
    grown[: len(numbers)] = numbers
    return grown

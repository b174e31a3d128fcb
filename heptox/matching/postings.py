"""Which patterns are to be looked at when a test holds: an inverted index in arrays."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from heptox.matching.tag_paths import NO_IDS, Ids

Places: TypeAlias = NDArray[np.intp]
"""Where something stands in arrays; numpy takes these faster than shorter integers."""

NO_PLACES: Final = np.empty(0, np.intp)

_NO_MEMBER: Final = -1


class Postings:
    """For each test its members, all in one array (compressed sparse rows).

    >>> postings = Postings(np.array([7, 8, 9], np.int32), np.array([2, 0, 2], np.int32))
    >>> postings.of(np.array([1, 2])).tolist()
    [7, 9]
    """

    __slots__ = ("_bounds", "_members", "_only")

    def __init__(self, members: Ids = NO_IDS, tests: Ids = NO_IDS) -> None:
        order = np.argsort(tests, kind="stable")
        counts = np.bincount(tests) if tests.size else np.zeros(1, np.intp)
        self._members = members[order]
        self._bounds: Places = np.concatenate([np.zeros(1, np.intp), np.cumsum(counts)])
        self._only: Ids | None = None  # the member of each test, where none has two
        if members.size and counts.max() == 1:
            self._only = np.full(counts.size, _NO_MEMBER, np.int32)
            self._only[tests] = members

    def __len__(self) -> int:
        return len(self._members)

    @property
    def nbytes(self) -> int:
        return self._members.nbytes + self._bounds.nbytes

    def of(self, tests: Places) -> Ids:
        """The members of several tests, given in ascending order."""
        if not self._members.size:
            return NO_IDS
        known = int(np.searchsorted(tests, self._bounds.size - 1))
        tests = tests[:known]
        if self._only is not None:
            found: Ids = self._only[tests]
            members: Ids = found[found != _NO_MEMBER]
            return members
        return self._members[ranges(self._bounds[tests], self._bounds[tests + 1])]


def ranges(first: Places, last: Places) -> Places:
    """The numbers from each ``first`` up to, without it, its ``last``, one after the other.

    >>> ranges(np.array([3, 8]), np.array([5, 9])).tolist()
    [3, 4, 8]
    """
    lengths = last - first
    ends = np.cumsum(lengths)
    if not ends.size:
        return ends
    return np.repeat(first - ends + lengths, lengths) + np.arange(ends[-1])

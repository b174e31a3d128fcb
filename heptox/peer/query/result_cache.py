"""What was made of queries and is kept for when they come again."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from operator import itemgetter
from typing import Final, Generic, TypeVar

from cachetools import LRUCache

REMEMBERED: Final = 16 * 1024 * 1024
"""Bytes of results of one kind, about, that are kept."""
BODY_COST: Final = 16
"""Bytes that a body takes, or its translation, for each byte of its encoding, about."""
TREE_COST: Final = 32
"""Bytes that a syntax tree or a plan takes for each byte of the encoding of the body that it is made from, about."""
KEY_BYTES: Final = 1024
"""Bytes that it takes to remember anything at all, about."""

_Result = TypeVar("_Result")


class ResultCache(Generic[_Result]):
    """Results by what they are made from: those that were used last, ``limit`` bytes of them. For several threads."""

    def __init__(self, limit: int) -> None:
        self._results: LRUCache[Hashable, tuple[_Result, int]] = LRUCache(limit, getsizeof=itemgetter(1))
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._results)

    def get(self, key: Hashable) -> _Result | None:
        """The result of that key, if it is kept."""
        with self._lock:
            found = self._results.get(key)
            return None if found is None else found[0]

    def put(self, key: Hashable, result: _Result, size: int) -> None:
        """Keep a result of so many bytes, unless it alone is too large; those that were not used for longest go."""
        with self._lock:
            if key not in self._results and size <= self._results.maxsize:
                self._results[key] = result, size

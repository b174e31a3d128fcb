"""Many events of one kind reported as few: so nobody can make a peer write more than it wants to."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)


class Coalescing(Generic[_Key]):
    """In ``seconds``, the first event of each key is reported by itself, the others are counted, and reported as a
    number.

    There may be ``keys`` of them; the events of all further ones are counted together, under ``None``.

    >>> denials = Coalescing[str](keys=1, seconds=60)
    >>> [denials.first(key, now=0) for key in ("a", "a", "b")]
    [True, False, False]
    >>> denials.due(now=59), denials.due(now=60), denials.first("a", now=60)
    ([], [('a', 1), (None, 1)], True)
    """

    def __init__(self, keys: int, seconds: float) -> None:
        self._keys = keys
        self._seconds = seconds
        self._began: float | None = None
        self._counts: dict[_Key, int] = {}
        self._others = 0

    def first(self, key: _Key, now: float) -> bool:
        """Whether this event is reported by itself. What is :meth:`due` is to be taken before."""
        if self._began is None:
            self._began = now
        if key in self._counts:
            self._counts[key] += 1
        elif len(self._counts) < self._keys:
            self._counts[key] = 0
            return True
        else:
            self._others += 1
        return False

    @property
    def is_idle(self) -> bool:
        """Whether there was no event since the time was over."""
        return self._began is None

    def due(self, now: float) -> list[tuple[_Key | None, int]]:
        """How many more events came of each key, once the time is over; it begins anew with the next event."""
        if self._began is None or now < self._began + self._seconds:
            return []
        counts: list[tuple[_Key | None, int]] = [(key, count) for key, count in self._counts.items() if count]
        if self._others:
            counts.append((None, self._others))
        self._began, self._others = None, 0
        self._counts.clear()
        return counts

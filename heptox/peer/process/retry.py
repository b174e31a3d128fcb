"""How long to wait before something is tried again."""

from __future__ import annotations

import random
from typing import Final

SPREAD: Final = 0.2
"""The share by which a pause is longer or shorter at random: peers that fail at one time do not all try at one time."""


class Retry:
    """The pauses between attempts: ``first`` seconds, doubled with every attempt up to ``longest``, spread at random.

    An attempt that has lasted longer than ``longest`` was no failure to begin: the pauses start anew behind it.

    >>> retry = Retry(1, 5, spread=0)
    >>> [retry.pause() for _ in range(4)], retry.pause(lasted=6)
    ([1.0, 2.0, 4.0, 5.0], 1.0)
    """

    def __init__(self, first: float, longest: float, spread: float = SPREAD) -> None:
        self._first = float(first)
        self._longest = float(longest)
        self._spread = spread
        self._next = self._first

    def pause(self, lasted: float = 0.0) -> float:
        """Seconds to wait behind an attempt that has ``lasted`` so many seconds."""
        pause = self._first if lasted > self._longest else self._next
        self._next = min(2 * pause, self._longest)
        return pause * random.uniform(1 - self._spread, 1 + self._spread)

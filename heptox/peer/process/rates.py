"""How often something may happen."""

from __future__ import annotations


class Rate:
    """A token bucket: ``most`` at once, and as many again in ``seconds``.

    >>> rate = Rate(2, 60)
    >>> [rate.take(now) for now in (0, 0, 0, 30, 30)]
    [True, True, False, True, False]
    """

    def __init__(self, most: int, seconds: float) -> None:
        self._most = most
        self._seconds = seconds
        self._left = float(most)
        self._looked = 0.0

    def take(self, now: float) -> bool:
        """Whether it may happen once more; ``now`` is any clock that never goes back, in seconds."""
        since = max(0.0, now - self._looked)
        self._left = min(float(self._most), self._left + since * self._most / self._seconds)
        self._looked = max(self._looked, now)
        if self._left < 1:
            return False
        self._left -= 1
        return True

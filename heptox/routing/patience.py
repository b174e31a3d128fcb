"""The steps that a decision may take: hostile paths have exponentially many states."""

from __future__ import annotations

from typing import Final

MOST_STEPS: Final = 300_000
"""How many steps a decision may take, well below a second."""


class UndecidedError(Exception):
    """A search has taken :data:`MOST_STEPS` and decided nothing."""


class Patience:
    """The steps that are left to a decision."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = MOST_STEPS

    def spend(self, steps: int) -> None:
        """Take some steps. Raises :class:`UndecidedError` where they are too many."""
        self._left -= steps
        if self._left < 0:
            raise UndecidedError

"""How much the tests try: enough for each change in ``make test``, and much more in ``make test-long``."""

from __future__ import annotations

import os
from typing import Final, TypeVar

LONG: Final = os.environ.get("HEPTOX_TESTS") == "long"
_TURN: Final = os.environ.get("HEPTOX_TESTS_TURN")
_SHARE: Final = 8

_Value = TypeVar("_Value")


def tries(number: int) -> int:
    """How many examples a property is tried on: all in long runs, else an eighth.

    >>> tries(400) in (50, 400)
    True
    """
    return number if LONG else max(number // _SHARE, 2)


def usually(usual: _Value, long: _Value) -> _Value:
    """The size of a test: ``long`` in long runs, else ``usual``."""
    return long if LONG else usual


def has_turn(number: int, groups: int) -> bool:
    """Whether a group of tests that take long is part of the run: all are but in ``make test``, where each commit has
    the turn of one, so that a run stays short.
    """
    return _TURN is None or int(_TURN) % groups == number

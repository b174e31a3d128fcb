"""How much the tests try: enough for each change in ``make test``, and much more in ``make test-long``."""

from __future__ import annotations

import os
from typing import Final, TypeVar

LONG: Final = os.environ.get("HEPTOX_TESTS") == "long"
_SHARE: Final = 4

_Value = TypeVar("_Value")


def tries(number: int) -> int:
    """How many examples a property is tried on: all in long runs, else a fourth.

    >>> tries(300) in (75, 300)
    True
    """
    return number if LONG else max(number // _SHARE, 2)


def usually(usual: _Value, long: _Value) -> _Value:
    """The size of a test: ``long`` in long runs, else ``usual``."""
    return long if LONG else usual

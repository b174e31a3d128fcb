"""How long work is ended: it calls a check again and again, which raises an error where it is not to go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Check: TypeAlias = Callable[[], None]
"""What long work calls again and again, to be ended by an error that it raises."""


def no_check() -> None:
    """The check that lets everything go on."""

"""How long work is ended: it calls a check again and again, which raises an error where it is not to go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeAlias

Check: TypeAlias = Callable[[], None]
"""What long work calls again and again, to be ended by an error that it raises."""


def no_check() -> None:
    """The check that lets everything go on."""


_UNDER_WAY: Final = ContextVar("_UNDER_WAY", default=no_check)


@contextmanager
def checked_by(check: Check) -> Iterator[None]:
    """Let :func:`go_on` call a check meanwhile, in this thread: it also ends work whose result is remembered, of which
    a check is no part.
    """
    before = _UNDER_WAY.set(check)
    try:
        yield
    finally:
        _UNDER_WAY.reset(before)


def go_on() -> None:
    """Call the check of the work that is under way, if it has one."""
    _UNDER_WAY.get()()

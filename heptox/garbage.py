"""Python's collector of garbage in cycles, which looks through all that is made again and again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final


class _Switch:
    """Switches the collector, which all threads share, off with the first who asks, and on again after the last."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._off = 0
        self._was_on = False

    def off(self) -> None:
        with self._lock:
            if not self._off:
                self._was_on = gc.isenabled()
                gc.disable()
            self._off += 1

    def on(self) -> None:
        with self._lock:
            self._off -= 1
            if not self._off and self._was_on:
                gc.enable()


_switch: Final = _Switch()


@contextmanager
def uncollected() -> Iterator[None]:
    """Look for no garbage meanwhile: with very many objects that are none, it takes longer than all else, and other
    threads wait for it.

    >>> with uncollected():
    ...     gc.isenabled()
    False
    """
    _switch.off()
    try:
        yield
    finally:
        _switch.on()

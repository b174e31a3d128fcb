"""Commands that clean up when they are asked to end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NoReturn

TERMINATED: Final = 128 + signal.SIGTERM


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let a signal that asks to end clean up as an interrupt does."""

    def end(*_: object) -> NoReturn:
        for name in before:
            signal.signal(name, signal.SIG_IGN)  # once is enough: cleaning up is not to be interrupted
        raise SystemExit(TERMINATED)

    before = {name: signal.getsignal(name) for name in (signal.SIGTERM, signal.SIGHUP)}
    for name in before:
        signal.signal(name, end)
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)

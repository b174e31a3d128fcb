"""Tasks of a daemon under supervision: what goes wrong in one is logged and counted, and ends no other.

A task that the whole peer needs is begun again; when that does not help, the daemon ends, and says why: half a peer
would look like a whole one. A task for one neighbour is begun again as long as it takes, with pauses: no neighbour may
end a daemon. What serves one connection, stream or exchange is not begun again.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from typing import Final

import trio

from heptox.errors import Fault, PeerError
from heptox.peer.process.retry import Retry

RESTARTS: Final = 8
"""How often a task that the whole peer needs is begun again within :data:`WINDOW` seconds."""
WINDOW: Final = 60.0
FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 30.0
"""Seconds before a task is begun again, the first time and at most; the pause doubles until it has run for longer."""

failures: Final[Counter[str]] = Counter()
"""How often each task of this process has failed."""

_log = logging.getLogger(__name__)


async def supervised(task: str, work: Callable[[], Awaitable[None]]) -> None:
    """Do what the whole peer needs, to its end; begin it again when it fails.

    Raises :class:`PeerError` (HX7110) when it has failed more than :data:`RESTARTS` times within :data:`WINDOW`
    seconds.
    """
    recent: deque[float] = deque()
    retry = Retry(FIRST_PAUSE, LONGEST_PAUSE)
    began = trio.current_time()
    while (error := await _failure(task, work)) is not None:
        now = trio.current_time()
        recent.append(now)
        while recent[0] < now - WINDOW:
            recent.popleft()
        if len(recent) > RESTARTS:
            message = f"the task {task!r} has failed {len(recent)} times within {WINDOW:g} seconds: {error!r}"
            raise PeerError(Fault("HX7110", message, hint="the log of the daemon has the traceback"))
        await trio.sleep(retry.pause(now - began))
        began = trio.current_time()


async def supervised_for_one(task: str, work: Callable[[], Awaitable[None]]) -> None:
    """Do something for one neighbour, to its end; begin it again when it fails, however often."""
    retry = Retry(FIRST_PAUSE, LONGEST_PAUSE)
    began = trio.current_time()
    while await _failure(task, work) is not None:
        await trio.sleep(retry.pause(trio.current_time() - began))
        began = trio.current_time()


async def contained(task: str, work: Callable[[], Awaitable[None]]) -> bool:
    """Do something once; whether it came to its end. Nothing is raised but what cancels it."""
    return await _failure(task, work) is None


def note_failure(task: str) -> None:
    """Log and count the exception that is being handled."""
    failures[task] += 1
    _log.exception("the task %r has failed", task)


async def _failure(task: str, work: Callable[[], Awaitable[None]]) -> Exception | None:
    try:
        await work()
    except Exception as error:
        note_failure(task)
        return error
    return None

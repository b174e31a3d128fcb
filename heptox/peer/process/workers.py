"""Work that others can make costly, in processes of their own that have limits.

What strangers send is read by libraries in C, which hold the interpreter's lock, and may take any time and memory. Here
that ends a process that nobody misses. It is a limit of what work costs, no prison: what comes back is unpickled.
"""

from __future__ import annotations

import logging
import os
import pickle
import resource
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, TypeVarTuple, cast

import trio
import trio_parallel  # type: ignore[import-untyped]

from heptox.errors import Fault, HeptoxError, PeerError

PROCESSOR_SECONDS: Final = 5
"""Seconds of a processor that a piece of work may take."""
CLOCK_SECONDS: Final = 120.0
"""Seconds after which it is given up, a process that has to start for it included. Work waits for nothing but the
processor, which others may use: this only ends what hangs."""
MEMORY: Final = 2**30
"""Bytes that it may take besides those with which its process starts."""
RESULT_BYTES: Final = 16 * 2**20
"""Bytes of a result at most, pickled."""
WORKERS: Final = 2
"""Processes at most."""
CLOSING_SECONDS: Final = 1.0
"""How long processes that have nothing to do may take to end, until they are killed."""

_GROWN: Final = 256 * 2**20
"""Bytes by which a process may have grown when its work is done; another one takes its place then."""

_log = logging.getLogger(__name__)

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Working(Protocol):
    """Who does a piece of work elsewhere."""

    async def run(self, function: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """What the function returns, or raises.

        Function, arguments and result go between processes by ``pickle``. Cancelling it ends the work. Raises
        :class:`PeerError` (HX7100) when the work takes more than it may.
        """
        ...


class Workers:
    """Processes that are started when there is work, and again when one was killed."""

    def __init__(self, context: trio_parallel.WorkerContext) -> None:
        self._context = context
        self._limiter = trio.CapacityLimiter(WORKERS)

    async def run(self, function: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """As :meth:`Working.run`."""
        async with self._limiter:
            with trio.move_on_after(CLOCK_SECONDS):
                return await self._result(function, arguments)
            raise _too_much()

    async def _result(self, function: Callable[[*Ts], T], arguments: tuple[*Ts]) -> T:
        try:
            done: bytes | None = await self._context.run_sync(
                _work, function, arguments, kill_on_cancel=True, limiter=nullcontext()
            )
        except trio_parallel.BrokenWorkerError:
            raise _too_much() from None
        except OSError as error:
            raise PeerError(Fault("HX7100", f"no process can be started to read it: {error.strerror}")) from None
        if done is None or len(done) > RESULT_BYTES:
            raise _too_much()
        result = await trio.to_thread.run_sync(pickle.loads, done)
        if isinstance(result, HeptoxError):
            raise result
        return cast(T, result)


@asynccontextmanager
async def open_workers() -> AsyncIterator[Workers]:
    """Workers for as long as the context is open; none is started before there is work, or outlives the context."""
    try:
        # Spawned: a process that is forked beside threads may find their locks held.
        async with trio_parallel.open_worker_context(
            retire=_has_grown, grace_period=CLOSING_SECONDS, worker_type=trio_parallel.WorkerType.SPAWN
        ) as context:
            yield Workers(context)
    except trio_parallel.BrokenWorkerError as error:
        _log.info("a worker did not end by itself: %s", error)


def _too_much() -> PeerError:
    limits = f"{PROCESSOR_SECONDS} s of the processor or {MEMORY // 2**30} GB of memory"
    return PeerError(Fault("HX7100", f"to read it takes more than {limits}"))


# -- in the worker's process -----------------------------------------------------------------------------------------

_started: int | None = None
"""Bytes of memory before the first piece of work."""


def _work(function: Callable[..., Any], arguments: tuple[Any, ...]) -> bytes | None:
    """The pickled result of a function, or the error of heptox that it raises; ``None`` when it has taken too much.

    A process that takes too much of the processor is ended by the system.
    """
    _limit()
    try:
        try:
            result = function(*arguments)
        except HeptoxError as error:
            result = error
        done = pickle.dumps(result)
    except (MemoryError, RecursionError):
        return None
    return done if len(done) <= RESULT_BYTES else None


def _limit() -> None:
    """Let the process go on for one piece of work."""
    global _started
    used = int(time.process_time()) + 1
    _soften(resource.RLIMIT_CPU, used + PROCESSOR_SECONDS)
    _soften(resource.RLIMIT_CORE, 0)
    if _started is None:
        _started = _memory()
        if _started:  # elsewhere than on Linux the clock limits it alone
            _soften(resource.RLIMIT_AS, _started + MEMORY)


def _soften(which: int, limit: int) -> None:
    hard = resource.getrlimit(which)[1]
    resource.setrlimit(which, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def _memory() -> int:
    """Bytes of the process's address space; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _has_grown() -> bool:
    return _started is not None and _memory() > _started + _GROWN

"""Work that others can make costly, in processes of their own that have limits.

What strangers send is read by libraries in C, which hold the interpreter's lock, and may take any time and memory. Here
that ends a process that nobody misses. It is a limit of what work costs, no prison: what comes back is unpickled.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import resource
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar, TypeVarTuple, cast

import trio
import trio_parallel  # type: ignore[import-untyped]

from heptox.errors import Fault, HeptoxError, PeerError


@dataclass(frozen=True, slots=True)
class WorkLimits:
    """What a piece of work may cost.

    ``processor_seconds`` are those of a processor; after ``clock_seconds`` it is given up, a process that has to start
    for it included: where work waits for nothing but the processor, which others may use, this only ends what hangs.
    ``memory`` is in bytes, besides those with which its process starts: private memory that can be written. What is
    reserved only, as by Saxon, is not counted. ``result_bytes`` are those of a result, pickled.
    """

    processor_seconds: int
    clock_seconds: float
    memory: int
    result_bytes: int

    def __str__(self) -> str:
        return f"{self.processor_seconds} s of the processor or {self.memory // 2**30} GB of memory"


READING: Final = WorkLimits(processor_seconds=5, clock_seconds=120.0, memory=2**30, result_bytes=16 * 2**20)
"""What it may cost to read what strangers send."""
WORKERS: Final = 2
"""Processes at most."""
CLOSING_SECONDS: Final = 1.0
"""How long processes that have nothing to do may take to end, until they are killed."""

_LOADED: Final = ["heptox.mapping", "heptox.peer.wire.mapping_files"]
"""Modules that those who fork have loaded."""
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

    def __init__(self, context: trio_parallel.WorkerContext, limits: WorkLimits) -> None:
        self._context = context
        self._limits = limits
        self._limiter = trio.CapacityLimiter(WORKERS)

    async def run(self, function: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """As :meth:`Working.run`."""
        async with self._limiter:
            with trio.move_on_after(self._limits.clock_seconds):
                return await self._result(function, arguments)
            raise self._too_much()

    async def _result(self, function: Callable[[*Ts], T], arguments: tuple[*Ts]) -> T:
        try:
            done: bytes | None = await self._context.run_sync(
                _work, self._limits, function, arguments, kill_on_cancel=True, limiter=nullcontext()
            )
        except trio_parallel.BrokenWorkerError:
            raise self._too_much() from None
        except OSError as error:
            raise PeerError(Fault("HX7100", f"no process can be started to read it: {error.strerror}")) from None
        if done is None or len(done) > self._limits.result_bytes:
            raise self._too_much()
        result = await trio.to_thread.run_sync(pickle.loads, done)
        if isinstance(result, HeptoxError):
            raise result
        return cast(T, result)

    def _too_much(self) -> PeerError:
        return PeerError(Fault("HX7100", f"to read it takes more than {self._limits}"))


@asynccontextmanager
async def open_workers(limits: WorkLimits = READING, *, spawned: bool = False) -> AsyncIterator[Workers]:
    """Workers for as long as the context is open; none is started before there is work, or outlives the context.

    They are forked from a process without threads that has loaded what most of them need, and outlives the context; or
    ``spawned``, each to load all anew, which takes less where one is enough.
    """
    failure: BaseException | None = None
    if not spawned:
        multiprocessing.set_forkserver_preload(_LOADED)
    kind = trio_parallel.WorkerType.SPAWN if spawned else trio_parallel.WorkerType.FORKSERVER
    try:
        # Not simply forked: beside threads, a process may find their locks held.
        async with trio_parallel.open_worker_context(
            retire=_has_grown, grace_period=CLOSING_SECONDS, worker_type=kind
        ) as context:
            try:
                yield Workers(context, limits)
            except BaseException as error:
                failure = error
                raise
    except trio_parallel.BrokenWorkerError as error:
        _log.info("a worker did not end by itself: %s", error)
        if failure is not None:  # which the other has taken the place of
            raise failure from None


# -- in the worker's process -----------------------------------------------------------------------------------------

_started: int | None = None
"""Bytes of memory before the first piece of work."""
_statistics: int | None = None
"""What says how much memory the process has, kept open: work may close off what else there is to open."""


def _work(limits: WorkLimits, function: Callable[..., Any], arguments: tuple[Any, ...]) -> bytes | None:
    """The pickled result of a function, or the error of heptox that it raises; ``None`` when it has taken too much.

    A process that takes too much of the processor is ended by the system.
    """
    _limit(limits)
    try:
        try:
            result = function(*arguments)
        except HeptoxError as error:
            result = error
        done = pickle.dumps(result)
    except (MemoryError, RecursionError):
        return None
    return done if len(done) <= limits.result_bytes else None


def _limit(limits: WorkLimits) -> None:
    """Let the process go on for one piece of work."""
    global _started
    used = int(time.process_time()) + 1
    _soften(resource.RLIMIT_CPU, used + limits.processor_seconds)
    _soften(resource.RLIMIT_CORE, 0)
    if _started is None:
        _started = _memory()
        if _started:  # elsewhere than on Linux the clock limits it alone
            _soften(resource.RLIMIT_DATA, _started + limits.memory)


def _soften(which: int, limit: int) -> None:
    hard = resource.getrlimit(which)[1]
    resource.setrlimit(which, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def _memory() -> int:
    """Bytes of the process's data; 0 where the system does not say."""
    global _statistics
    try:
        if _statistics is None:
            _statistics = os.open("/proc/self/statm", os.O_RDONLY)
        return int(os.pread(_statistics, 200, 0).split()[5]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _has_grown() -> bool:
    return _started is not None and _memory() > _started + _GROWN

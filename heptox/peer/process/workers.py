"""Work that others can make costly, in processes that have limits (:mod:`heptox.bounded`), while a peer goes on."""

from __future__ import annotations

import logging
import multiprocessing
import pickle
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from typing import Final, Protocol, TypeVar, TypeVarTuple, cast

import trio
import trio_parallel  # type: ignore[import-untyped]

from heptox.bounded import WorkLimits, bounded_work, has_grown
from heptox.errors import Fault, HeptoxError, PeerError

READING: Final = WorkLimits(processor_seconds=5, clock_seconds=120.0, memory=2**30, result_bytes=16 * 2**20)
"""What it may cost to read what strangers send."""
WORKERS: Final = 2
"""Processes at most."""
CLOSING_SECONDS: Final = 1.0
"""How long processes that have nothing to do may take to end, until they are killed."""

_LOADED: Final = ["heptox.mapping", "heptox.peer.wire.mapping_files"]
"""Modules that those who fork have loaded."""

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
                bounded_work, self._limits, function, arguments, kill_on_cancel=True, limiter=nullcontext()
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
            retire=has_grown, grace_period=CLOSING_SECONDS, worker_type=kind
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

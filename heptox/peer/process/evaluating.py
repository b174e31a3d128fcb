"""Queries that Saxon answers, each in a process that has limits, and is killed at the query's deadline."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Iterable
from typing import Final

import trio

from heptox.bounded import WorkLimits
from heptox.errors import Fault, PeerError, StoreError
from heptox.peer.process.workers import Working, open_workers
from heptox.store import XQuery, evaluate_xquery

EVALUATING: Final = WorkLimits(processor_seconds=86_400, clock_seconds=86_400.0, memory=2 * 2**30, result_bytes=2**29)
"""What the evaluation of a query may cost: each has a deadline of its own."""


async def evaluated(
    workers: Working, question: XQuery, seconds: float, *, left: float | None = None
) -> tuple[str, ...]:
    """The items of a question's answer, by one of the workers for :data:`EVALUATING`.

    The question may be a part of one that has ``seconds`` in all, of which those are ``left``.

    Raises as :func:`heptox.store.evaluate_xquery`, and :class:`StoreError`: HX6018 when it takes longer, HX6019 when
    its process ends, which is for want of memory or of stack.
    """
    left = seconds if left is None else left
    with trio.move_on_after(left):
        try:
            return await workers.run(evaluate_xquery, question, left)
        except PeerError:
            most = f"{EVALUATING.memory // 2**30} GB of memory"
            message = f"to evaluate the query takes more than {most}, or it is nested too deeply"
            hint = "ask for less at once"
            raise StoreError(Fault("HX6019", message, file=question.file, hint=hint)) from None
    message = f"to evaluate the query takes longer than {seconds:g} s"
    raise StoreError(Fault("HX6018", message, file=question.file, hint="--timeout gives it more time"))


def evaluated_once(questions: Iterable[XQuery], seconds: float) -> list[str]:
    """The items of the answers of some questions, by a process of its own for all of them, which take so many
    ``seconds`` in all. Raises as :func:`evaluated`."""

    async def asked() -> list[str]:
        ends = trio.current_time() + seconds
        async with open_workers(EVALUATING, spawned=True) as workers:
            answers = [await evaluated(workers, each, seconds, left=ends - trio.current_time()) for each in questions]
        return [item for answer in answers for item in answer]

    async def asked_unless_ended() -> list[str]:
        with trio.open_signal_receiver(signal.SIGTERM, signal.SIGHUP) as signals:
            scope = trio.CancelScope()
            trio.lowlevel.spawn_system_task(_end, signals, scope)  # no nursery, which would put errors into groups
            with scope:
                return await asked()
        raise SystemExit(128 + signal.SIGTERM)

    return trio.run(asked_unless_ended)


async def _end(signals: AsyncIterator[int], scope: trio.CancelScope) -> None:
    """Have what is under way ended, with its process, when a signal comes."""
    await anext(signals)
    scope.cancel()

"""Queries that Saxon answers, each in a process that has limits, and is killed at the query's deadline."""

from __future__ import annotations

from typing import Final

import trio

from heptox.errors import Fault, PeerError, StoreError
from heptox.peer.process.workers import Working, WorkLimits
from heptox.store.xquery import Question, answer

EVALUATING: Final = WorkLimits(processor_seconds=86_400, clock_seconds=86_400.0, memory=2 * 2**30, result_bytes=2**29)
"""What the evaluation of a query may cost: each has a deadline of its own."""


async def evaluated(workers: Working, question: Question, seconds: float) -> tuple[str, ...]:
    """The items of a question's answer, by one of the workers for :data:`EVALUATING`.

    Raises as :func:`answer`; :class:`StoreError`: HX6018 when it takes more than ``seconds``, HX6019 when its process
    ends, which is for want of memory.
    """
    with trio.move_on_after(seconds):
        try:
            return await workers.run(answer, question)
        except PeerError:
            message = f"to evaluate the query takes more than {EVALUATING.memory // 2**30} GB of memory"
            hint = "ask for less at once"
            raise StoreError(Fault("HX6019", message, file=question.file, hint=hint)) from None
    message = "to evaluate the query takes longer than it may"
    raise StoreError(Fault("HX6018", message, file=question.file, hint="--timeout gives it more time"))

"""Parts evaluated in other processes of this machine."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from types import TracebackType
from typing import Final

from heptox.filtering.chunker import ChunkText
from heptox.filtering.filtering import PlanEvaluator
from heptox.filtering.filters import FilteringPlan, Situation
from heptox.filtering.results import Result
from heptox.filtering.xpath3_evaluation import process_ended

_WAITING: Final = 3
"""How many chunks wait for each process: enough that none of them is idle, few enough to be held."""


class ProcessEvaluator:
    """Evaluates the parts of a plan in so many processes, each of which makes the filters ready once.

    A context manager, which ends the processes; as :class:`~heptox.filtering.filtering.Evaluating`.
    """

    def __init__(self, plan: FilteringPlan, processes: int) -> None:
        self._processes = processes
        # not forked: threads of who filters may hold locks, and a child would wait for them for ever
        self._pool = ProcessPoolExecutor(processes, get_context("spawn"), _prepare, (plan,))

    def __enter__(self) -> ProcessEvaluator:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._pool.shutdown(cancel_futures=True)

    @property
    def most_waiting(self) -> int:
        """How many chunks may wait for their results."""
        return _WAITING * self._processes

    def submit(self, situation: Situation, chunk: ChunkText, file: str | None) -> Callable[[], list[Result]]:
        """Have a part evaluated.

        Raises :class:`DisseminationError` (HX9206), now or when the results are asked for, where a process has ended,
        for want of memory say, besides what evaluating raises.
        """
        try:
            future = self._pool.submit(_evaluate, situation, chunk, file)
        except BrokenProcessPool:
            raise process_ended(file) from None

        def results() -> list[Result]:
            try:
                return future.result()
            except BrokenProcessPool:
                raise process_ended(file) from None

        return results


_evaluator: PlanEvaluator


def _prepare(plan: FilteringPlan) -> None:
    """In a new process: what it is to evaluate."""
    global _evaluator  # a process of a pool has nothing else to keep it in
    _evaluator = PlanEvaluator(plan)


def _evaluate(situation: Situation, chunk: ChunkText, file: str | None) -> list[Result]:
    return _evaluator.evaluate(situation, chunk, file)

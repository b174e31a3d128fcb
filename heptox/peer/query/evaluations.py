"""Evaluations on the own documents, each for all arrivals of an equal query from which the same is hidden."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from heptox.peer.query.arrivals import Arrival
from heptox.peer.query.bounds import cost_of, digest_of
from heptox.peer.query.events import Task
from heptox.peer.wire.messages import PeerId, Status

Key: TypeAlias = tuple[str, PeerId, bytes, frozenset[str]]
"""Which evaluations are one: those of a query id and its asker, a body, and what is hidden."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an evaluation has ended; ``losses`` are the hidden paths that its query asks for."""

    status: Status
    reason: str = ""
    losses: tuple[str, ...] = ()


@dataclass(slots=True)
class Evaluation:
    """One body of one query evaluated here, for all the arrivals that bring it along paths that see the same.

    ``items`` are its different items so far, ``None`` when they are too many to keep. ``expires`` is the last deadline
    of an arrival that used it.
    """

    key: Key
    expires: float
    waiting: list[Arrival] = field(default_factory=list)
    seen: set[bytes] = field(default_factory=set)
    items: list[str] | None = field(default_factory=list)
    size: int = 0
    outcome: Outcome | None = None


class Evaluations:
    """The evaluations of one peer by task; their items are kept for later arrivals, ``limit`` bytes of them in all."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._by_task: dict[Task, Evaluation] = {}
        self._tasks: dict[Key, Task] = {}
        self._size = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing is kept, and nothing under way."""
        return not (self._by_task or self._tasks or self._size)

    def task_of(self, key: Key) -> Task | None:
        """The evaluation that an arrival can share, if there is one."""
        task = self._tasks.get(key)
        return None if task is None or self._by_task[task].items is None else task

    def begin(self, task: Task, key: Key) -> None:
        """An evaluation is under way."""
        self._tasks[key] = task
        self._by_task[task] = Evaluation(key, 0.0)

    def join(self, task: Task, arrival: Arrival) -> Evaluation:
        """Let an arrival have the items of an evaluation."""
        evaluation = self._by_task[task]
        evaluation.expires = max(evaluation.expires, arrival.deadline)
        evaluation.waiting.append(arrival)
        arrival.task = task
        return evaluation

    def add(self, task: Task, items: Iterable[str]) -> tuple[tuple[Arrival, ...], list[str]]:
        """Items have come: the arrivals that wait for them, and the items that had not come before."""
        evaluation = self._by_task.get(task)
        if evaluation is None or evaluation.outcome is not None:
            return (), []
        fresh = []
        for item in items:
            digest = digest_of(item)
            if digest not in evaluation.seen:
                evaluation.seen.add(digest)
                fresh.append(item)
        self._keep(evaluation, fresh)
        return tuple(evaluation.waiting), fresh

    def _keep(self, evaluation: Evaluation, items: list[str]) -> None:
        if evaluation.items is None:
            return
        size = sum(map(cost_of, items))
        if self._size + size > self._limit:
            self._size -= evaluation.size
            evaluation.items, evaluation.size = None, 0
            return
        self._size += size
        evaluation.size += size
        evaluation.items.extend(items)

    def end(self, task: Task, outcome: Outcome) -> tuple[Arrival, ...]:
        """An evaluation has ended: the arrivals that wait for that. What it has brought stays until :meth:`settle`."""
        evaluation = self._by_task.get(task)
        if evaluation is None or evaluation.outcome is not None:
            return ()
        evaluation.outcome = outcome
        evaluation.seen.clear()
        return tuple(evaluation.waiting)

    def settle(self, task: Task) -> None:
        """Forget an evaluation that has ended without all its items, or whose items are not kept."""
        evaluation = self._by_task.get(task)
        if evaluation is None or evaluation.outcome is None:
            return
        if evaluation.outcome.status is not Status.ANSWERED or evaluation.items is None:
            self._forget(task)

    def leave(self, arrival: Arrival) -> Task | None:
        """An arrival wants no more items; the task that nobody waits for then, if it is under way."""
        task, arrival.task = arrival.task, None
        if task is None:
            return None
        evaluation = self._by_task[task]
        evaluation.waiting.remove(arrival)
        if evaluation.waiting or evaluation.outcome is not None:
            return None
        self._forget(task)
        return task

    def forget_query(self, query: str, asker: PeerId) -> None:
        """Forget what is kept for a query, where nobody waits."""
        self._forget_all(
            task for task, one in self._by_task.items() if one.key[:2] == (query, asker) and not one.waiting
        )

    def expire(self, now: float) -> None:
        """Forget what is kept for arrivals whose deadlines are over."""
        self._forget_all(task for task, one in self._by_task.items() if not one.waiting and one.expires <= now)

    def _forget_all(self, tasks: Iterable[Task]) -> None:
        for task in tuple(tasks):
            self._forget(task)

    def _forget(self, task: Task) -> None:
        evaluation = self._by_task.pop(task)
        self._size -= evaluation.size
        if self._tasks.get(evaluation.key) == task:
            del self._tasks[evaluation.key]

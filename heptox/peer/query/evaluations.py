"""Evaluations on the own documents, each for arrivals of an equal query from which the same is hidden.

While one is under way it is for arrivals by one neighbour, and for those that want no more than the first: so nobody
waits for another neighbour to take its items, or gets less because that one wants less. What it has brought in the end
is for all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from heptox.peer.query.arrivals import Arrival
from heptox.peer.query.bounds import cost_of, digest_of
from heptox.peer.query.events import Task
from heptox.peer.wire.messages import PeerId, Status, sender

Key: TypeAlias = tuple[str, PeerId, bytes, frozenset[str]]
"""Which evaluations bring the same: those of a query id and its asker, a body, and what is hidden."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an evaluation has ended; ``losses`` are the hidden paths that its query asks for."""

    status: Status
    reason: str = ""
    losses: tuple[str, ...] = ()


@dataclass(slots=True)
class Evaluation:
    """One body of one query evaluated here, for arrivals that bring it along paths that see the same.

    ``neighbour`` has sent the first of them, with a budget of ``budget`` bytes. ``items`` are its different items so
    far, ``None`` when they are too many to keep. ``expires`` is the last deadline of an arrival that used it.
    """

    key: Key
    neighbour: PeerId
    budget: int
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
        self._tasks: dict[Key, list[Task]] = {}
        self._size = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing is kept, and nothing under way."""
        return not (self._by_task or self._tasks or self._size)

    def task_of(self, key: Key, arrival: Arrival) -> Task | None:
        """The evaluation that an arrival can share, if there is one."""
        for task in self._tasks.get(key, ()):
            one = self._by_task[task]
            fits = one.neighbour == sender(arrival.path) and one.budget >= arrival.budget
            if one.items is not None and (fits or one.outcome is not None):
                return task
        return None

    def begin(self, task: Task, key: Key, arrival: Arrival) -> None:
        """An evaluation is under way, for an arrival that has to :meth:`join` it."""
        self._tasks.setdefault(key, []).append(task)
        self._by_task[task] = Evaluation(key, sender(arrival.path), arrival.budget, 0.0)

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
        """Forget an evaluation that has ended without all its items, or whose items are not kept, or kept already."""
        evaluation = self._by_task.get(task)
        if evaluation is None or evaluation.outcome is None:
            return
        others = (self._by_task[other] for other in self._tasks[evaluation.key] if other != task)
        is_kept = any(other.outcome is not None for other in others)
        if evaluation.outcome.status is not Status.ANSWERED or evaluation.items is None or is_kept:
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
        self._tasks[evaluation.key].remove(task)
        if not self._tasks[evaluation.key]:
            del self._tasks[evaluation.key]

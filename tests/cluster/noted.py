"""A plan that tells which processes make it ready."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from heptox.filtering import FilteringPlan


@dataclass(frozen=True, slots=True)
class NotedPlan(FilteringPlan):
    """Whenever it is unpickled, the process that does so is a line of the file ``notes``."""

    notes: str = ""

    def __reduce__(self) -> tuple[Callable[..., NotedPlan], tuple[Any, ...]]:
        return _unpickled, tuple(getattr(self, each.name) for each in fields(self))

    @property
    def processes(self) -> list[int]:
        """The processes, as often as each has unpickled the plan."""
        return [int(line) for line in Path(self.notes).read_text().splitlines()]


def _unpickled(*values: Any) -> NotedPlan:
    plan = NotedPlan(*values)
    with Path(plan.notes).open("a") as notes:
        notes.write(f"{os.getpid()}\n")
    return plan

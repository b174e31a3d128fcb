"""Precision and recall of suggestions."""

from __future__ import annotations

from dataclasses import dataclass
from time import process_time
from typing import Final

from benchmarks.suggesting.cases import Case
from heptox.mapping import Suggestion, suggest

RECALL: Final = 0.6


@dataclass(frozen=True, slots=True)
class Score:
    """How many arrows are right, suggested, and both; and the precision of the best ones that reach :data:`RECALL`.

    ``at_recall`` is ``None`` where all suggestions together do not reach it.
    """

    right: int
    suggested: int
    both: int
    at_recall: float | None
    seconds: float

    @property
    def precision(self) -> float:
        return self.both / self.suggested if self.suggested else 0.0

    @property
    def recall(self) -> float:
        return self.both / self.right

    @property
    def f1(self) -> float:
        return 2 * self.both / (self.right + self.suggested)


def suggestions(case: Case) -> tuple[Suggestion, ...]:
    """What is suggested for a case."""
    return suggest(
        case.source,
        case.target,
        source_documents=case.source_documents,
        target_documents=case.target_documents,
    )


def score(case: Case) -> Score:
    """How well a case's arrows are found."""
    start = process_time()
    found = suggestions(case)
    seconds = process_time() - start
    hits = [(suggestion.source, suggestion.target) in case.right for suggestion in found]
    at_recall = None
    for number in range(1, len(hits) + 1):
        if sum(hits[:number]) >= RECALL * len(case.right):
            at_recall = sum(hits[:number]) / number
            break
    return Score(len(case.right), len(found), sum(hits), at_recall, seconds)

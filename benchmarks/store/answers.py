"""Answers of different engines, made comparable."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Answer:
    """A set of items: how many, and the SHA-256 of their sorted texts."""

    items: int
    digest: str

    @classmethod
    def of(cls, items: Iterable[str]) -> Answer:
        """The answer of these items.

        >>> Answer.of(["<b/>", "<a/>", "<b/>"]) == Answer.of(["<a/>", "<b/>"])
        True
        """
        distinct = sorted(set(items))
        return cls(len(distinct), hashlib.sha256("\n".join(distinct).encode()).hexdigest())


@dataclass(frozen=True, slots=True)
class Measured:
    """An engine's answer to a query, and the seconds of the runs that count; or why there are none."""

    times: tuple[float, ...]
    answer: Answer | None
    missing: str = ""

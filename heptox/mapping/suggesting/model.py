"""What is suggested, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from heptox.schema import Path


@dataclass(frozen=True, slots=True)
class Reason:
    """One kind of evidence that speaks for an arrow; ``text`` is a short sentence for people."""

    kind: Literal["names", "structure", "values", "types"]
    text: str


@dataclass(frozen=True, slots=True)
class Suggestion:
    """An arrow that may be meant; its ends are absolute paths, a box standing for its tag.

    When it ``copies``, both ends are inner nodes that are copied whole. ``confidence`` lies between 0 and 1; the
    reasons stand with the weightiest first. As text it is the line of an ``.arrows`` file.

    >>> print(Suggestion(("Admission", "Problem"), ("Admission", "[Illness]"), False, 0.9, (), "Problem -> [Illness]"))
    Problem -> [Illness]
    """

    source: Path
    target: Path
    copies: bool
    confidence: float
    reasons: tuple[Reason, ...]
    line: str

    def __str__(self) -> str:
        return self.line

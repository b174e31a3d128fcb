"""What is suggested, and why."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from io import StringIO
from typing import Literal, TypeAlias

from heptox.schema import Path

Kind: TypeAlias = Literal["arrow", "copy", "entity", "selection", "constant", "function", "table"]
"""What a line is: an arrow between two leaves, ``=>``, ``each``, an arrow from a selected node, a string, a function of
leaves, or a look-up in a table of codes."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One kind of evidence that speaks for a line; ``text`` is a short sentence for people."""

    kind: Literal["names", "structure", "values", "types", "pairs"]
    text: str


@dataclass(frozen=True, slots=True)
class CodeTable:
    """A table of codes that a line looks values up in, with the name that the line has for it.

    >>> CodeTable("kinds.csv", (("a", "text, language"),)).text
    'a,"text, language"\\n'
    """

    file: str
    codes: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """The text of the file."""
        written = StringIO()
        csv.writer(written, lineterminator="\n").writerows(self.codes)
        return written.getvalue()


@dataclass(frozen=True, slots=True)
class Sample:
    """What supports a line: the values of its source leaves, and that of its target leaf, in a pair of documents.

    The pairs are numbered from 1. Leaves that repeat, and constants, have no values here.
    """

    pair: int
    source: tuple[str, ...]
    target: str


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A line that may be meant; its ends are absolute paths of the schemas' own nodes, a box standing for its tag.

    A string has no source; of several leaves the first stands for all. ``confidence`` lies between 0 and 1; the reasons
    stand with the weightiest first, and the ``samples`` that support it, one of each pair. As text it is the line of an
    ``.arrows`` file.

    >>> print(Suggestion(("Problem",), ("[Illness]",), "arrow", 0.9, (), "Problem -> [Illness]"))
    Problem -> [Illness]
    """

    source: Path
    target: Path
    kind: Kind
    confidence: float
    reasons: tuple[Reason, ...]
    line: str
    table: CodeTable | None = None
    samples: tuple[Sample, ...] = ()

    @property
    def is_supported(self) -> bool:
        """Whether pairs of documents support it."""
        return any(reason.kind == "pairs" for reason in self.reasons)

    @property
    def copies(self) -> bool:
        """Whether both ends are inner nodes that are copied whole."""
        return self.kind == "copy"

    def __str__(self) -> str:
        return self.line

"""What is known of the trials done so far, in a file that survives whatever stops the run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.trial import Size
from tests.support.checking import Outcome


class OtherRunError(Exception):
    """The file is of a run with other sizes, whose trials are others."""


@dataclass
class Ledger:
    """The outcomes of trials by number: one line each, appended as soon as a trial is done."""

    path: Path
    size: Size
    outcomes: dict[int, Outcome] = field(default_factory=dict)

    @classmethod
    def opened(cls, path: Path, size: Size) -> Ledger:
        """The ledger in a file, a new one where there is none. A line that was cut off by a crash is dropped.

        Raises :class:`OtherRunError`.
        """
        ledger = cls(path, size)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            ledger._append({"size": asdict(size)})
            return ledger
        whole = path.read_bytes()
        kept = whole[: whole.rfind(b"\n") + 1]
        if kept != whole:
            path.write_bytes(kept)
        head, *lines = [json.loads(line) for line in kept.decode().splitlines()] or [{"size": None}]
        if head["size"] != asdict(size):
            raise OtherRunError(f"{path} is of a run with {head['size']}, not {asdict(size)}")
        for line in lines:  # of a trial that was tried again, the last line counts
            ledger.outcomes[line["trial"]] = Outcome(Counter(line["counts"]), line["broken"])
        return ledger

    def record(self, number: int, outcome: Outcome) -> None:
        """Keep the outcome of a trial."""
        self.outcomes[number] = outcome
        self._append({"trial": number, "counts": dict(outcome.counts), "broken": outcome.broken})

    def _append(self, line: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    @property
    def cases(self) -> int:
        return sum(outcome.counts["cases"] for outcome in self.outcomes.values())

    @property
    def counts(self) -> Counter[str]:
        return sum((outcome.counts for outcome in self.outcomes.values()), Counter())

    def broken(self) -> Iterator[tuple[int, str]]:
        """The counterexamples, each with the number of its trial."""
        for number, outcome in sorted(self.outcomes.items()):
            yield from ((number, text) for text in outcome.broken)

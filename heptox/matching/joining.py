"""One batch of documents joined with the subscriptions: the stages of all plans, each a table of its own.

Temporary tables fix the order of the stages, so no statement joins more than the database can order well.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heptox.matching import stages
from heptox.matching.engine import Engine
from heptox.matching.messages import Messages
from heptox.matching.path_matches import PathMatches
from heptox.matching.rows import MOST_BUCKETS, NO_CLASS, PROBE, Rows
from heptox.matching.shapes import Dictionary

_FEW_PATHS: Final = 64
"""Up to how many linear paths that conditions are about all values there are looked up beforehand."""


_DEARER: Final = 4
"""How many times longer it takes to join equalities by the linear paths of values than by their own."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A table that was made on the way: how many rows it has, and the seconds that it took."""

    table: str
    rows: int
    seconds: float


class Batch:
    """Messages in the database. First a plan makes candidates, then :meth:`found` looks at the rest."""

    def __init__(self, engine: Engine, paths: PathMatches, dictionary: Dictionary, messages: Messages) -> None:
        self._engine = engine
        self._paths = paths
        self._dictionary = dictionary
        self._messages = messages
        self.documents = messages.documents
        self.stages: list[Stage] = []
        self._survivors = "survivor"
        self._statement: str | None = None
        engine.table("fact", messages.facts)
        engine.table("value", messages.values)
        coded = self._make("coded", stages.CODED)
        self._make("hit", f"{self._hits(coded)}\nUNION ALL {stages.ACCESS_HITS}")
        self._make("document_hit", stages.DOCUMENT_HITS)

    def _hits(self, coded: int) -> str:
        """The statement that joins fewer rows, by what linear paths and tag paths match in the mean."""
        ((equalities, linear_paths),) = self._engine.rows(
            "SELECT (SELECT count(*) FROM equality), (SELECT count(*) FROM linear_path)"
        )
        by_equality = equalities / max(linear_paths, 1)
        by_value = coded / max(len(self._messages.tag_paths), 1)
        return stages.HITS_OF_EQUALITIES if by_equality <= _DEARER * by_value else stages.HITS_OF_VALUES

    def _make(self, table: str, statement: str) -> int:
        """Make a temporary table of what a statement finds; how many rows it has."""
        began = time.perf_counter()
        count = int(self._engine.one(f"CREATE OR REPLACE TEMP TABLE {table} AS {statement}"))
        self.stages.append(Stage(table, count, time.perf_counter() - began))
        return count

    # -- plans -------------------------------------------------------------------------------------------------------

    def shared(self) -> None:
        """Candidates by the shared chain: all their equalities hold."""
        self._make("candidate", stages.SHARED)
        self._settle()

    def unrolled(self, rows: Rows) -> None:
        """Candidates by one equality and all bounds of their row."""
        count = self._classes(rows)
        self._find(rows, partial(stages.unrolled, count))

    def bucketed(self, rows: Rows) -> None:
        """Candidates by one equality, the bucket of one inequality, and all bounds of their row."""
        count = self._classes(rows, apart=True)
        self._engine.table("bucket", rows.buckets())
        self._make("probe", stages.probes(NO_CLASS, PROBE, MOST_BUCKETS))
        self._find(rows, partial(stages.bucketed, count))

    def _classes(self, rows: Rows, *, apart: bool = False) -> int:
        """Make what bounds are compared with, in one row for each document, and ``apart`` by class; their count."""
        classes = rows.choice.classes
        values = self.class_values(classes)
        documents = pa.array(np.arange(len(values), dtype=np.int32))
        columns = {f"value_{number}": values[:, number] for number in range(len(classes))}
        self._engine.table("wide_value", pa.table({"document": documents, **columns}))
        if apart:
            document, number = np.nonzero(values > -np.inf)
            found = {"document": document.astype(np.int32), "class": number, "value": values[document, number]}
            self._engine.table("class_value", pa.table(found))
        return len(classes)

    def class_values(self, classes: Sequence[tuple[int, bool]]) -> Any:
        """For each document and class the greatest value, -INF where there is none."""
        facts, values = self._messages.facts, self._messages.values
        value = facts.column("value").to_numpy()
        tag_path = values.column("tag_path").to_numpy()[value]
        number = pc.fill_null(values.column("number"), np.nan).to_numpy()[value]
        given = np.flatnonzero(~np.isnan(number))
        document, tag_path, number = facts.column("document").to_numpy()[given], tag_path[given], number[given]
        found = np.full((self._messages.documents, len(classes)), -np.inf)
        for column, (linear_path, below) in enumerate(classes):
            at = np.isin(tag_path, self._paths.tag_paths_of(linear_path))
            np.maximum.at(found[:, column], document[at], -number[at] if below else number[at])
        return found

    def _find(self, rows: Rows, statement: Callable[[str], str]) -> None:
        """Find candidates by a statement for what is wanted of them; where rows hold all, these are the matches."""
        if rows.is_whole():
            self._statement = statement(stages.WHOLE)
            return
        self._make("wide_candidate", statement(stages.CANDIDATES))
        self._settle_rows()

    def _settle_rows(self) -> None:
        """Look at the predicates that rows do not hold."""
        whole = "SELECT document, conjunction, structure FROM wide_candidate WHERE NOT rest"
        if not self._engine.one("SELECT EXISTS (FROM wide_candidate WHERE rest)"):
            self._survivors = "wide_candidate"
            return
        self._make("candidate", "SELECT document, conjunction FROM wide_candidate WHERE rest")
        self._make("refuted", stages.EQUALITIES)
        self._engine.run(
            "DELETE FROM candidate USING refuted AS r"
            " WHERE candidate.document = r.document AND candidate.conjunction = r.conjunction"
        )
        self._settle()
        self._engine.run(f"INSERT INTO survivor {whole}")

    # -- the rest ----------------------------------------------------------------------------------------------------

    def found(self) -> dict[str, Any]:
        """The matches, as columns ``document`` and ``number``; some may be there several times."""
        if self._statement is not None:
            return self._matches(self._statement)
        found = f"SELECT document, conjunction FROM {self._survivors} WHERE structure = 0"
        if self._engine.one(f"SELECT EXISTS (FROM {self._survivors} WHERE structure <> 0)"):
            self._make("branching_candidate", f"SELECT * FROM {self._survivors} WHERE structure <> 0")
            self._branching()
            found = f"{found} UNION ALL SELECT document, conjunction FROM embedded"
        return self._matches(stages.NUMBERS.format(found=found))

    def _matches(self, statement: str) -> dict[str, Any]:
        began = time.perf_counter()
        matches = self._engine.columns(statement)
        self.stages.append(Stage("match", len(matches["number"]), time.perf_counter() - began))
        return matches

    def _settle(self) -> None:
        """Look at the conditions of the candidates, one of each in a turn."""
        self._make("survivor", stages.SURVIVORS.format(candidates="candidate", turn=0))
        last = self._engine.one("SELECT coalesce(max(turn), 0) FROM predicate")
        if not last:
            return
        self._make("extent", stages.EXTENTS)
        few = self._make("condition_path", stages.CONDITION_PATHS) <= _FEW_PATHS
        if few:
            self._make("path_extent", stages.PATH_EXTENTS)
        candidates = "candidate"
        for turn in range(1, last + 1):
            asked = stages.ASKED.format(candidates=candidates, turn=turn)
            if not few:
                if not self._make("asked", asked):
                    break
                self._make("path_extent", stages.ASKED_EXTENTS)
                asked = "SELECT * FROM asked"
            candidates = f"fulfilled_{turn % 2}"
            if not self._make(candidates, stages.TURN.format(asked=f"({asked})")):
                break
            self._engine.run(f"INSERT INTO survivor {stages.SURVIVORS.format(candidates=candidates, turn=turn)}")

    def _branching(self) -> None:
        self._make("branch", stages.BRANCHES)
        self._make("leaf", stages.LEAVES)
        self._place()
        self._make("placed", stages.PLACED)
        level = self._engine.one("SELECT coalesce(max(level), 0) FROM placed")
        self._engine.run(
            "CREATE OR REPLACE TEMP TABLE top (document INTEGER, conjunction BIGINT, structure INTEGER, point INTEGER)"
        )
        while level:
            self._make("complete", stages.COMPLETE.format(level=level))
            self._engine.run(f"INSERT INTO top {stages.TOPS}")
            level -= 1
            if level:
                self._engine.run(f"INSERT INTO placed BY NAME {stages.CUT.format(level=level)}")
        self._make("embedded", stages.EMBEDDED)

    def _place(self) -> None:
        pairs = self._engine.rows(stages.UNPLACED)
        if pairs:
            known = {number: key for key, number in self._dictionary.branchings.items()}
            self._paths.place(pairs, known)

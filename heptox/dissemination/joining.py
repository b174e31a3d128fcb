"""One batch of documents joined with the subscriptions: the stages of all plans, each a table of its own.

Temporary tables fix the order of the stages, so no statement joins more than the database can order well.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from heptox.dissemination import stages
from heptox.dissemination.engine import Engine
from heptox.dissemination.messages import Messages
from heptox.dissemination.path_matches import PathMatches
from heptox.dissemination.rows import MOST_BUCKETS, NO_CLASS, PROBE, Rows
from heptox.dissemination.shapes import Dictionary


class Batch:
    """Messages in the database. First a plan makes candidates, then :meth:`found` looks at the rest."""

    def __init__(self, engine: Engine, paths: PathMatches, dictionary: Dictionary, messages: Messages) -> None:
        self._engine = engine
        self._paths = paths
        self._dictionary = dictionary
        engine.table("fact", messages.facts)
        engine.table("value", messages.values)
        self._make("hit", f"{stages.TEXT_HITS}\nUNION ALL {stages.NUMBER_HITS}\nUNION ALL {stages.ACCESS_HITS}")
        self._make("document_hit", stages.DOCUMENT_HITS)
        self._make("extent", stages.EXTENTS)

    def _make(self, table: str, statement: str) -> int:
        """Make a temporary table of what a statement finds; how many rows it has."""
        self._engine.run(f"CREATE OR REPLACE TEMP TABLE {table} AS {statement}")
        return int(self._engine.one(f"SELECT count(*) FROM {table}"))

    # -- plans -------------------------------------------------------------------------------------------------------

    def shared(self) -> None:
        """Candidates by the shared chain: all their equalities hold."""
        self._make("candidate", stages.SHARED)
        self._settle()

    def unrolled(self, rows: Rows) -> None:
        """Candidates by one equality and all bounds of their row."""
        count = self._classes(rows)
        self._make("wide_candidate", stages.unrolled(count))
        self._settle_rows()

    def bucketed(self, rows: Rows) -> None:
        """Candidates by one equality, the bucket of one inequality, and all bounds of their row."""
        count = self._classes(rows)
        self._engine.table("bucket", rows.buckets())
        self._make("probe", stages.probes(NO_CLASS, PROBE, MOST_BUCKETS))
        self._make("wide_candidate", stages.bucketed(count))
        self._settle_rows()

    def _classes(self, rows: Rows) -> int:
        classes = rows.choice.classes
        self._engine.table(
            "class",
            pa.table(
                {
                    "class": pa.array(range(len(classes)), pa.int64()),
                    "linear_path": pa.array([path for path, _ in classes], pa.int32()),
                    "below": pa.array([below for _, below in classes], pa.bool_()),
                }
            ),
        )
        self._make("class_value", stages.CLASS_VALUES)
        self._make("wide_value", stages.wide_values(len(classes)))
        return len(classes)

    def _settle_rows(self) -> None:
        """Look at the predicates that rows do not hold."""
        whole = "SELECT document, conjunction, structure FROM wide_candidate WHERE NOT rest"
        if not self._make("candidate", "SELECT document, conjunction FROM wide_candidate WHERE rest"):
            self._make("survivor", whole)
            return
        self._make("refuted", stages.EQUALITIES)
        self._engine.run(
            "DELETE FROM candidate USING refuted AS r"
            " WHERE candidate.document = r.document AND candidate.conjunction = r.conjunction"
        )
        self._settle()
        self._engine.run(f"INSERT INTO survivor {whole}")

    # -- the rest ----------------------------------------------------------------------------------------------------

    def found(self) -> dict[str, Any]:
        """The matches, as columns ``document`` and ``number``."""
        found = "SELECT document, conjunction FROM survivor WHERE structure = 0"
        if self._make("branching_candidate", "SELECT * FROM survivor WHERE structure <> 0"):
            self._branching()
            found = f"{found} UNION ALL SELECT document, conjunction FROM embedded"
        return self._engine.columns(stages.NUMBERS.format(found=found))

    def _settle(self) -> None:
        """Look at the conditions of the candidates."""
        self._make("condition", stages.CONDITIONS)
        self._make("path_extent", stages.PATH_EXTENTS)
        self._make("survivor", stages.SURVIVORS)

    def _branching(self) -> None:
        self._make("branch", stages.BRANCHES)
        self._make("fact_hit", stages.FACT_HITS)
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

"""Documents matched with subscriptions on Spark: the relations and the statements of the relational matcher.

The driver's :class:`~heptox.matching.RelationalMatcher` holds the subscriptions, and says which linear paths match
which tag paths; there are few of both. Documents become relations where they are, and everything that there is much of
is joined by Spark. The plan is ``unrolled``: recursion and buckets gain little where nothing stays sorted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import nullcontext, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import numpy as np
import pyarrow as pa

from heptox.cluster.lineage import without_plan
from heptox.errors import ClusterError, Fault, InputError
from heptox.matching import LinearPath, PathMatch, RelationalMatcher, Shredder, TagPaths, matching_statements
from heptox.xml import parse_document

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOTIFICATIONS: Final = "doc bigint, number bigint"
"""The columns of notifications."""

_FACTS: Final = (
    "document bigint, fact bigint, tag_path string, id_path array<int>, text string, number double, nan boolean"
)
_TABLE: Final = re.compile(r"\b(FROM|JOIN) ([a-z_0-9]+)\b")
_FACT_BITS: Final = 28
_MOST_DOCUMENT: Final = 1 << (63 - _FACT_BITS)
_UNREADABLE: Final = "!"
"""What stands for the tag path of a document that cannot be read."""

_CLASS_VALUES: Final = """SELECT x.document, c.class, max(CASE WHEN c.below THEN -x.low ELSE x.high END) AS value
FROM extent AS x JOIN path_match AS m ON m.tag_path = x.tag_path JOIN class AS c ON c.linear_path = m.linear_path
WHERE x.low IS NOT NULL GROUP BY x.document, c.class"""


class SubscriptionTables:
    """The subscriptions of a matcher as tables of Spark. A context manager that lets go of them.

    What is added to the matcher later is not there.
    """

    def __init__(self, spark: SparkSession, matcher: RelationalMatcher) -> None:
        self._matcher = matcher
        self._exported = matcher.exported()
        self._spark = spark
        self._prefix = f"heptox_{uuid4().hex[:12]}_"
        self._views: set[str] = set()
        self._kept: list[DataFrame] = []
        for name, rows in self._exported.tables.items():
            self._keep(name, self._frame(rows))
        classes = self._exported.classes
        self._view(
            "class",
            self._spark.createDataFrame(
                [(number, path, below) for number, (path, below) in enumerate(classes)],
                "class int, linear_path int, below boolean",
            ),
        )

    def __enter__(self) -> SubscriptionTables:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        # what ended the block is reported, also where Spark has gone with it
        with nullcontext() if error is None else suppress(Exception):
            self.close()

    def close(self) -> None:
        """Let go of the rows, which Spark then clears away."""
        for view in self._views:
            self._spark.catalog.dropTempView(view)
        for frame in self._kept:
            frame.unpersist()
        self._views.clear()
        self._kept.clear()

    def match(self, documents: DataFrame) -> DataFrame:
        """The notifications of ``documents``: the number ``doc`` of each (bigint), its ``text`` (string or binary).

        The columns are :data:`NOTIFICATIONS`; each pair is there once. Some of the work is done now, the rest when they
        are read, before the tables are closed. What an executor held that is lost is made again.

        Raises :class:`ClusterError` (HX8020) for what is no document.
        """
        facts = documents.select("doc", "text").mapInArrow(_Facts(self._exported.demands), _FACTS)
        self._keep("given_fact", facts)
        self._name_tag_paths()
        make = self._make
        make("hit", f"{_as_query(matching_statements.HITS_OF_VALUES)} UNION ALL {matching_statements.ACCESS_HITS}")
        make("document_hit", matching_statements.DOCUMENT_HITS)
        make("extent", matching_statements.EXTENTS)
        make("class_value", _CLASS_VALUES)
        make("wide_value", _wide_values(len(self._exported.classes)))
        make("wide_candidate", matching_statements.unrolled(len(self._exported.classes)))
        self._settle()
        found = "SELECT document, conjunction FROM survivor WHERE structure = 0"
        if self._exported.levels:
            self._branching()
            found = f"{found} UNION ALL SELECT document, conjunction FROM embedded"
        reported = self._sql(matching_statements.NUMBERS.format(found=found))
        return reported.distinct().withColumnRenamed("document", "doc")

    # -- tables ------------------------------------------------------------------------------------------------------

    def _frame(self, rows: pa.Table) -> DataFrame:
        return self._spark.createDataFrame(rows)

    def _view(self, name: str, frame: DataFrame) -> None:
        frame.createOrReplaceTempView(self._prefix + name)
        self._views.add(self._prefix + name)

    def _sql(self, statement: str) -> DataFrame:
        """What a statement finds, its tables under the names of their views."""
        named = _TABLE.sub(rf"\1 {self._prefix}\2", statement)
        return self._spark.sql(named.replace("node_at(", "element_at("))

    def _keep(self, name: str, frame: DataFrame) -> None:
        """A view of rows that are computed once, and of which Spark does not ask any more how they came about.

        Each stage asks several of those before it: as one plan they would grow beyond what Spark can look at.
        """
        kept = without_plan(frame).cache()
        self._kept.append(kept)
        self._view(name, kept)

    def _make(self, name: str, statement: str) -> None:
        self._keep(name, self._sql(statement))

    # -- stages ------------------------------------------------------------------------------------------------------

    def _name_tag_paths(self) -> None:
        texts = [text for (text,) in self._sql("SELECT DISTINCT tag_path FROM given_fact").collect()]
        if _UNREADABLE in texts:
            self._refuse()
        numbers, matches = self._matcher.path_matches(texts)
        names = self._spark.createDataFrame(list(zip(texts, numbers, strict=True)), "text string, tag_path int")
        self._view("tag_path_name", names)
        self._view("path_match", self._frame(matches))
        self._make(
            "value",
            "SELECT g.fact AS value, n.tag_path, g.text, g.number, g.nan FROM given_fact AS g"
            " JOIN tag_path_name AS n ON n.text = g.tag_path",
        )
        self._make("fact", "SELECT fact, document, fact AS value, id_path FROM given_fact")
        self._make("coded", matching_statements.CODED)

    def _refuse(self) -> None:
        """Report the documents that cannot be read."""
        rows = self._sql(
            f"SELECT document, text FROM given_fact WHERE tag_path = '{_UNREADABLE}' ORDER BY document"
        ).collect()
        message = f"{len(rows)} of the documents cannot be read, the first is number {rows[0][0]}: {rows[0][1]}"
        raise ClusterError(Fault("HX8020", message))

    def _settle(self) -> None:
        """Look at the predicates that rows do not hold."""
        whole = "SELECT document, conjunction, structure FROM wide_candidate WHERE NOT rest"
        self._make("candidate", "SELECT document, conjunction FROM wide_candidate WHERE rest")
        self._make("refuted", matching_statements.EQUALITIES)
        left = (
            "SELECT c.document, c.conjunction FROM candidate AS c LEFT ANTI JOIN refuted AS r"
            " ON r.document = c.document AND r.conjunction = c.conjunction"
        )
        self._make("turn_0", left)
        found = [whole, matching_statements.SURVIVORS.format(candidates="turn_0", turn=0)]
        self._make("condition_path", matching_statements.CONDITION_PATHS)
        self._make("path_extent", matching_statements.PATH_EXTENTS)
        for turn in range(1, self._exported.turns + 1):
            asked = matching_statements.ASKED.format(candidates=f"turn_{turn - 1}", turn=turn)
            self._make(f"turn_{turn}", matching_statements.TURN.format(asked=f"({asked})"))
            if self._sql(f"SELECT * FROM turn_{turn} LIMIT 1").isEmpty():
                break
            found.append(matching_statements.SURVIVORS.format(candidates=f"turn_{turn}", turn=turn))
        self._make("survivor", "\nUNION ALL ".join(found))

    def _branching(self) -> None:
        self._make("branching_candidate", "SELECT * FROM survivor WHERE structure <> 0")
        self._make("branch", matching_statements.BRANCHES)
        self._make("leaf", matching_statements.LEAVES)
        pairs = self._sql("SELECT DISTINCT tag_path, branching FROM leaf").collect()
        branchings, placements = self._matcher.positions([(tag_path, branching) for tag_path, branching in pairs])
        self._view("tag_path_branching", self._frame(branchings))
        self._view("placement", self._frame(placements))
        self._make("placed", matching_statements.PLACED)
        tops = []
        for level in range(self._exported.levels, 0, -1):
            self._make("complete", matching_statements.COMPLETE.format(level=level))
            tops.append(self._sql(matching_statements.TOPS))
            if level > 1:
                below = self._sql("SELECT * FROM placed").where(f"level < {level}")
                cut = self._sql(matching_statements.CUT.format(level=level - 1).replace("node_at(", "element_at("))
                self._keep("placed", below.unionAll(cut))
        found = tops[0]
        for more in tops[1:]:
            found = found.unionAll(more)
        self._view("top", found)
        self._make("embedded", matching_statements.EMBEDDED)


def _as_query(statement: str) -> str:
    return f"SELECT * FROM ({statement})"


def _wide_values(classes: int) -> str:
    """The values of all classes of a document in one row, those that it has none for as -INF."""
    columns = "".join(
        f", coalesce(max(CASE WHEN v.class = {number} THEN v.value END), CAST('-Infinity' AS DOUBLE)) AS value_{number}"
        for number in range(classes)
    )
    return (
        f"SELECT d.document{columns} FROM (SELECT DISTINCT document FROM document_hit) AS d"
        " LEFT JOIN class_value AS v ON v.document = d.document GROUP BY d.document"
    )


# -- on the executors --------------------------------------------------------------------------------------------------


class _Facts:
    """Makes documents to the nodes that linear paths ask for."""

    def __init__(self, demands: dict[LinearPath, int]) -> None:
        self._demands = list(demands.items())

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tag_paths = TagPaths()
        match = PathMatch(tag_paths)
        flags = np.zeros(len(self._demands) + 1, np.int8)
        for path, wanted in self._demands:
            flags[match.add(path)] |= wanted
        shredder = Shredder(tag_paths, lambda tag_path: int(np.bitwise_or.reduce(flags[match.matches(tag_path)])))
        for batch in batches:
            for row in range(len(batch)):
                yield _rows(shredder, tag_paths, batch.column(0)[row].as_py(), batch.column(1)[row].as_py())


def _rows(shredder: Shredder, tag_paths: TagPaths, doc: int, text: str | bytes) -> pa.RecordBatch:
    """The facts of a document; where it cannot be read, the reason."""
    try:
        if not 0 <= doc < _MOST_DOCUMENT:
            raise InputError(Fault("HX1001", f"the number of a document is from 0 to {_MOST_DOCUMENT - 1}"))
        shredder.add(parse_document(text))
    except InputError as error:
        first = [pa.array([value]) for value in (doc, 0, _UNREADABLE)]
        nothing = [pa.array([None], kind) for kind in (pa.list_(pa.int32()),)]
        rest = [pa.array([str(error)]), pa.array([None], pa.float64()), pa.array([None], pa.bool_())]
        return pa.RecordBatch.from_arrays([*first, *nothing, *rest], _NAMES)
    found = shredder.messages()
    value = found.facts.column("value").combine_chunks()
    values = found.values.combine_chunks()
    names = pa.array(map(tag_paths.text, values.column("tag_path").to_pylist()), pa.string())
    fact = np.arange(len(value), dtype=np.int64) + (doc << _FACT_BITS)
    columns = [
        pa.array(np.full(len(value), doc)),
        pa.array(fact),
        names.take(value),
        found.facts.column("id_path").combine_chunks(),
        *(values.column(name).combine_chunks().take(value) for name in ("text", "number", "nan")),
    ]
    return pa.RecordBatch.from_arrays(columns, _NAMES)


_NAMES: Final = ("document", "fact", "tag_path", "id_path", "text", "number", "nan")

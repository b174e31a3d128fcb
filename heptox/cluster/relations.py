"""Documents under one schema on Spark: their relations in one table, and each query one statement for all of them.

All rows of a document are in one partition. What a statement joins is of one document, so nothing moves between
partitions while it is carried out, given what :mod:`heptox.cluster.session` sets; with other settings it takes longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from types import TracebackType
from typing import TYPE_CHECKING, Final, TypeAlias
from uuid import uuid4

import pyarrow as pa

from heptox.errors import ClusterError, Fault
from heptox.grammar import syntax
from heptox.schema import SchemaGraph
from heptox.store import (
    Answer,
    Answers,
    Catalogue,
    QueryPlan,
    Relation,
    WideForm,
    WideRows,
    interpreted,
    plan_query,
    statements,
    whole_documents,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Plans: TypeAlias = Sequence[tuple[str, QueryPlan]]
"""Queries with their names."""
Make: TypeAlias = Callable[[int], str | bytes]
"""Makes the text of a document from its number."""

ANSWERS: Final = "query string, doc bigint, items array<string>, fault string"
"""The columns of answers."""

_ANSWER: Final = pa.schema(
    [("query", pa.string()), ("doc", pa.int64()), ("items", pa.list_(pa.string())), ("fault", pa.string())]
)
_SPARK_TYPES: Final = {
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.string(): "string",
    pa.binary(): "binary",
}
_MOST_ANSWERS: Final = 1 << 12
_Batches: TypeAlias = Iterable[pa.RecordBatch]


class Collection:
    """Documents under one schema on Spark, each with its number. A context manager that lets go of them.

    ``documents`` says how many there are, ``irregular`` how many do not fit the schema, and ``white`` in how many white
    space stands among elements where the schema has no text.
    """

    def __init__(self, wide: DataFrame, form: WideForm) -> None:
        self.form = form
        self._wide = wide
        self._spark = wide.sparkSession
        self._prefix = f"heptox_{uuid4().hex[:12]}_"
        self._views: set[str] = set()
        self.documents, self.irregular, self.white = self._counted()

    @classmethod
    def of(
        cls, documents: DataFrame, schema: SchemaGraph, *, make: Make | None = None, partitions: int | None = None
    ) -> Collection:
        """A collection of ``documents``: the number ``doc`` of each (bigint), and its ``text`` (string or binary).

        With ``make`` there is no ``text`` but what that makes of the number, where it is needed and nowhere else.
        ``partitions`` are as many as the cluster has cores unless given. The rows are kept in the memory of the
        cluster, and on its disks where that is full, until the collection is closed.

        Raises :class:`ClusterError` (HX8020) for what is no document.
        """
        from pyspark import StorageLevel  # which takes a while to load

        form = WideForm(Catalogue(schema))
        given = documents.select("doc") if make is not None else documents.select("doc", "text")
        columns = ", ".join(f"{each.name} {_SPARK_TYPES[each.type]}" for each in form.schema)
        count = partitions or documents.sparkSession.sparkContext.defaultParallelism
        wide = (
            given.mapInArrow(_Shredding(schema, make), columns)
            .repartition(count, "doc")
            .sortWithinPartitions("relation", "doc")
            .persist(StorageLevel.MEMORY_AND_DISK)
        )
        try:
            return cls(wide, form)
        except BaseException:
            wide.unpersist()
            raise

    @property
    def catalogue(self) -> Catalogue:
        """The relations of the schema."""
        return self.form.catalogue

    def __enter__(self) -> Collection:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the rows; what has not been computed of answers cannot be any more."""
        for view in self._views:
            self._spark.catalog.dropTempView(view)
        self._views.clear()
        self._wide.unpersist()

    def plan(self, expression: syntax.Expression) -> QueryPlan:
        """How a query is evaluated on the documents: interpreted where Spark cannot run the statement.

        Raises :class:`ClusterError` (HX8024) for a query with ``collection()``: each document is asked by itself here.
        """
        message = "each document is asked by itself here: collection(), all of them together, is not evaluated on Spark"
        hint = "begin the path with / or //"
        faults = [Fault("HX8024", message, path.position, hint=hint) for path in syntax.collections(expression)]
        if faults:
            raise ClusterError(faults)
        found = plan_query(expression, self.catalogue)
        if found.plan is None or not statements.looks_far(found.plan.statement):
            return found
        return QueryPlan(expression, found.names, reason="a condition compares with a node two queries around it")

    def answers(self, plans: Plans) -> DataFrame:
        """The answers to queries, each by one statement for all documents; the work is done when they are asked for.

        The columns are :data:`ANSWERS`. There is a row for each query and document that has items, which are those
        of :func:`heptox.store.evaluate` in the order of the query, or a ``fault``: the text of the error that the query
        is there. What is no statement, and what documents that do not fit the schema hold, is interpreted where the
        documents are.
        """
        found = [part for part in (self._stated(plans), self._interpreted(plans)) if part is not None]
        if not found:
            return self._spark.createDataFrame([], ANSWERS)
        return found[0] if len(found) == 1 else found[0].unionAll(found[1])

    def _counted(self) -> tuple[int, int, int]:
        """Looks at all documents, by which they come to be kept."""
        summary = self._wide.where("relation < 0 AND node = 0").selectExpr(
            f"count_if(relation = {WideForm.TEXT})",
            f"count_if(relation = {WideForm.TEXT} AND path = {WideForm.IRREGULAR})",
            f"count_if(relation = {WideForm.TEXT} AND path = {WideForm.WHITE})",
            f"count_if(relation = {WideForm.UNREADABLE})",
            f"min_by(struct(doc, CAST(data AS STRING)), doc) FILTER (WHERE relation = {WideForm.UNREADABLE})",
        )
        documents, irregular, white, unreadable, first = summary.collect()[0]
        if unreadable:
            message = f"{unreadable} of the documents cannot be read, the first is number {first[0]}: {first[1]}"
            raise ClusterError(Fault("HX8020", message))
        return documents, irregular, white

    # -- statements --------------------------------------------------------------------------------------------------

    def _is_stated(self, plan: QueryPlan) -> bool:
        """Whether some documents are asked by a statement."""
        if plan.plan is None or plan.sql is None:
            return False
        return self.irregular + self.white * plan.ignores_white < self.documents

    def _stated(self, plans: Plans) -> DataFrame | None:
        stated = [(name, plan) for name, plan in plans if self._is_stated(plan)]
        if not stated:
            return None
        texts = max(plan.plan.texts for _, plan in stated if plan.plan)
        offsets = max(plan.plan.offsets for _, plan in stated if plan.plan)
        parts = [
            self._spark.sql(self._statement(number, plan, texts, offsets)) for number, (_, plan) in enumerate(stated)
        ]
        rows = parts[0]
        for part in parts[1:]:
            rows = rows.unionAll(part)
        return rows.mapInArrow(_Assembling(stated, texts), ANSWERS)

    def _statement(self, number: int, query: QueryPlan, texts: int, offsets: int) -> str:
        """The rows of a query's statement with so many texts and offsets, those of each document in order.

        A window asks for just what is wanted: the rows of a document together, and sorted.
        """
        plan = query.plan
        assert plan is not None
        tables = {table: self._view(table) for table in statements.used_columns(plan.statement)}
        statement = statements.for_spark(statements.renamed(plan.statement, tables))
        found = statements.print_statement(statements.Statement(statement.selects, ()))
        width = len(statement.selects[0].columns)
        columns = [
            f"{number} AS query",
            "k0 AS branch",
            "k1 AS doc",
            *(
                f"{f'k{2 + place}' if place < plan.texts else 'CAST(NULL AS STRING)'} AS t{place}"
                for place in range(texts)
            ),
            *(
                f"{f'k{2 + plan.texts + place}' if place < plan.offsets else 'CAST(NULL AS BIGINT)'} AS o{place}"
                for place in range(offsets)
            ),
        ]
        rows = f"SELECT *, CAST(NULL AS BINARY) AS data FROM u{self._kept(query)}"
        if plan.reads_texts:
            rows = f"{rows}\nUNION ALL\n{self._pieces_found(width, 2 + plan.texts)}"
        order = "k0 >= 0"
        if keys := statement.order[1:]:
            order = f"{order}, {statements.print_keys(keys)}"
        return (
            f"WITH u AS (\n{found}\n)\nSELECT {', '.join(columns)}, data,"
            f"\n  row_number() OVER (PARTITION BY k1 ORDER BY {order}) AS place\nFROM (\n{rows}\n) AS v"
        )

    def _kept(self, query: QueryPlan) -> str:
        """What keeps a statement from documents with white space that is ignored."""
        if not (query.ignores_white and self.white):
            return ""
        white = f"SELECT 1 FROM {self._texts()} AS w WHERE w.doc = u.k1 AND w.node = 0 AND w.path = {WideForm.WHITE}"
        return f" WHERE NOT EXISTS ({white})"

    def _pieces_found(self, width: int, offset: int) -> str:
        """The texts of documents of which something is found, as rows that come before the others."""
        cells = ["CAST(NULL AS BIGINT)" if place == 0 else "NULL" for place in range(width)]
        cells[0], cells[1], cells[offset] = "CAST(-1 AS BIGINT)", "p.doc", "p.node"
        found = "SELECT 1 FROM u WHERE u.k1 = p.doc"
        return f"SELECT {', '.join(cells)}, p.data FROM {self._texts()} AS p WHERE EXISTS ({found})"

    def _texts(self) -> str:
        """The name of a view of the documents' texts."""
        name = f"{self._prefix}texts"
        if name not in self._views:
            self._text_rows().createOrReplaceTempView(name)
            self._views.add(name)
        return name

    def _text_rows(self) -> DataFrame:
        return self._wide.where(f"relation = {WideForm.TEXT}").select("doc", "node", "path", "data")

    def _view(self, table: str) -> str:
        """The name of a view of a relation."""
        name = f"{self._prefix}{table}"
        if name not in self._views:
            relations = self.catalogue.relations
            number = next(place for place, relation in enumerate(relations) if relation.table == table)
            self._rows_of(number, relations[number]).createOrReplaceTempView(name)
            self._views.add(name)
        return name

    def _rows_of(self, number: int, relation: Relation) -> DataFrame:
        columns = [f"{wide} AS {name}" for name, wide in self.form.columns(relation).items()]
        rows = self._wide.where(f"relation = {number}")
        return rows.selectExpr("doc", "node", "stop", "parent", "path", *columns)

    # -- the interpreter ---------------------------------------------------------------------------------------------

    def _interpreted(self, plans: Plans) -> DataFrame | None:
        """The answers on the documents that no statement asks."""
        asked = [(name, plan, self._interpreted_flags(plan)) for name, plan in plans]
        flags = frozenset().union(*(wanted for _, _, wanted in asked))
        if not flags:
            return None
        pieces = self._text_rows().where(f"path IN ({', '.join(map(str, sorted(flags)))})")
        ordered = pieces.sortWithinPartitions("doc", "node")
        return ordered.mapInArrow(_Interpreting([each for each in asked if each[2]]), ANSWERS)

    def _interpreted_flags(self, plan: QueryPlan) -> frozenset[int]:
        """What is said of the documents on which a query is interpreted."""
        if plan.plan is None:
            return frozenset({0, WideForm.IRREGULAR, WideForm.WHITE})
        held = {WideForm.IRREGULAR} if self.irregular else set()
        return frozenset(held | ({WideForm.WHITE} if self.white and plan.ignores_white else set()))


# -- on the executors --------------------------------------------------------------------------------------------------


class _Shredding:
    """Makes documents to rows."""

    def __init__(self, schema: SchemaGraph, make: Make | None) -> None:
        self._schema = schema
        self._make = make

    def __call__(self, batches: _Batches) -> Iterator[pa.RecordBatch]:
        yield from WideRows(WideForm(Catalogue(self._schema))).batches(self._documents(batches))

    def _documents(self, batches: _Batches) -> Iterator[tuple[int, str | bytes]]:
        for batch in batches:
            for row in range(len(batch)):
                doc = batch.column(0)[row].as_py()
                yield doc, batch.column(1)[row].as_py() if self._make is None else self._make(doc)


class _Assembling:
    """Puts the rows of statements together to answers; so many columns are texts."""

    def __init__(self, plans: Plans, texts: int) -> None:
        self._plans = plans
        self._texts = texts

    def __call__(self, batches: _Batches) -> Iterator[pa.RecordBatch]:
        return _answer_batches(self._answers(batches))

    def _answers(self, batches: _Batches) -> Iterator[tuple[str, Answer]]:
        for rows in whole_documents(batches, ("query", "doc")):
            queries = rows.column("query").to_pylist()
            begin = 0
            for query, same in groupby(queries):
                end = begin + len(list(same))
                name, plan = self._plans[query]
                for answer in self._of(plan, rows.slice(begin, end - begin)):
                    yield name, answer
                begin = end

    def _of(self, plan: QueryPlan, rows: pa.RecordBatch) -> Iterator[Answer]:
        assert plan.plan is not None
        found = plan.plan
        wanted = ["branch", "doc", *(f"t{place}" for place in range(found.texts))]
        wanted += [f"o{place}" for place in range(found.offsets)]
        texts: dict[int, list[tuple[int, bytes]]] = {}
        if found.reads_texts:
            is_text = [branch < 0 for branch in rows.column("branch").to_pylist()]
            pieces = rows.filter(pa.array(is_text))
            columns = (pieces.column(name).to_pylist() for name in ("doc", "o0", "data"))
            for doc, start, piece in zip(*columns, strict=True):
                texts.setdefault(doc, []).append((start, piece))
            rows = rows.filter(pa.array([not each for each in is_text]))
        yield from Answers(found, plan.names).of(rows.select(wanted), texts)


class _Interpreting:
    """Interprets queries on documents, each with what is said of the documents that it is interpreted on."""

    def __init__(self, asked: Sequence[tuple[str, QueryPlan, frozenset[int]]]) -> None:
        self._asked = asked

    def __call__(self, batches: _Batches) -> Iterator[pa.RecordBatch]:
        return _answer_batches(self._answers(batches))

    def _answers(self, batches: _Batches) -> Iterator[tuple[str, Answer]]:
        rows = (row for batch in batches for row in zip(*(each.to_pylist() for each in batch.columns), strict=True))
        for (doc, flag), pieces in groupby(rows, key=lambda row: (row[0], row[2])):
            asked = [(name, plan) for name, plan, flags in self._asked if flag in flags]
            texts = [(node, data) for _, node, _, data in pieces]
            found = interpreted(doc, texts, [plan for _, plan in asked])
            for (name, _), answer in zip(asked, found, strict=True):
                if answer.items or answer.fault is not None:
                    yield name, answer


def _answer_batches(answers: Iterator[tuple[str, Answer]]) -> Iterator[pa.RecordBatch]:
    waiting: list[tuple[str, int, Sequence[str], str | None]] = []
    for name, answer in answers:
        waiting.append((name, answer.doc, answer.items, answer.fault))
        if len(waiting) == _MOST_ANSWERS:
            yield _answer_batch(waiting)
            waiting = []
    if waiting:
        yield _answer_batch(waiting)


def _answer_batch(rows: Sequence[tuple[str, int, Sequence[str], str | None]]) -> pa.RecordBatch:
    columns = [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), _ANSWER.types, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=_ANSWER)

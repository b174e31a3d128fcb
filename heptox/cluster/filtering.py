"""Documents filtered on Spark: large ones in pieces, feeds of many.

A large document is cut by the driver, and its pieces are evaluated by the executors; of a feed, documents are cut and
evaluated where they are. Either way the plan is sent once, and each process of an executor makes it ready once.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from io import BytesIO
from itertools import chain, count
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias
from weakref import WeakSet

import pyarrow as pa

from heptox.errors import HeptoxError
from heptox.filtering import (
    ChunkText,
    DocumentFilter,
    Failure,
    FilteringPlan,
    Fragment,
    Kind,
    PlanEvaluator,
    Result,
    Situation,
)

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame, SparkSession

FRAGMENTS: Final = "doc bigint, number bigint, place bigint, kind string, name string, text string, fault string"
"""The columns of fragments."""

IN_FLIGHT: Final = 1 << 26
"""How many bytes of chunks wait, at least, before they are evaluated, unless the caller says otherwise."""

_TASKS_FOR_EACH_CORE: Final = 4
_MOST_READY: Final = 4
_BATCH: Final = 1 << 24
_MOST_ROWS: Final = 1 << 16


# -- large documents -----------------------------------------------------------------------------------------------


class SparkEvaluating:
    """Evaluates parts on Spark, for :class:`~heptox.filtering.DocumentFilter`.

    Chunks wait until they have ``in_flight`` bytes, or the document has ended; then all of them are one job of
    some tasks for each core. By default that is :data:`IN_FLIGHT`, or a piece for each core where there are many. The
    driver holds so much of a document, and its results, at once. Chunks whose results cannot be asked for any more are
    dropped.

    What fails in Spark comes as Spark raises it; :func:`~heptox.cluster.spark_faults` reports that as errors of heptox.
    """

    def __init__(self, spark: SparkSession, plan: FilteringPlan, *, in_flight: int | None = None) -> None:
        self._context = spark.sparkContext
        self._plan = _sent(spark, plan)
        self._in_flight = in_flight or max(IN_FLIGHT, self._context.defaultParallelism * plan.size)
        self._waiting: WeakSet[_Submitted] = WeakSet()

    @property
    def most_waiting(self) -> int:
        """As many as there are while these have fewer bytes than may be in flight, then none."""
        waiting = list(self._waiting)
        return len(waiting) if sum(len(each.chunk.data) for each in waiting) < self._in_flight else 0

    def submit(self, situation: Situation, chunk: ChunkText, file: str | None) -> Callable[[], list[Result]]:
        """The results are made, with those of all chunks that wait, when the first of them are asked for.

        They raise :class:`InputError` as :func:`~heptox.xml.parse_document`.
        """
        submitted = _Submitted(situation, chunk, file, self._evaluate_waiting)
        self._waiting.add(submitted)
        return submitted.results

    def _evaluate_waiting(self) -> None:
        tasks = self._tasks()
        rows = [[(each.situation, each.chunk, each.file) for each in task] for task in tasks]
        found = self._context.parallelize(rows, len(rows)).mapPartitions(_Evaluation(self._plan)).collect()
        for submitted, outcome in zip(chain.from_iterable(tasks), found, strict=True):
            submitted.settle(outcome)
        self._waiting.clear()

    def _tasks(self) -> list[list[_Submitted]]:
        """The chunks that wait, those of each task: dealt by size, so that all tasks have about as much."""
        waiting = sorted(self._waiting, key=lambda each: -len(each.chunk.data))
        tasks = min(len(waiting), _TASKS_FOR_EACH_CORE * self._context.defaultParallelism)
        return [waiting[number::tasks] for number in range(tasks)]


_Row: TypeAlias = tuple[Situation, ChunkText, str | None]
_Outcome: TypeAlias = "_PackedResults | HeptoxError"


class _Submitted:
    """A chunk that waits, and then what came of it."""

    def __init__(self, situation: Situation, chunk: ChunkText, file: str | None, evaluate: Callable[[], None]) -> None:
        self.situation = situation
        self.chunk = chunk
        self.file = file
        self._evaluate = evaluate
        self._outcome: _Outcome | None = None

    def settle(self, outcome: _Outcome) -> None:
        self._outcome = outcome
        self.chunk = ChunkText(self.chunk.number, b"")

    def results(self) -> list[Result]:
        if self._outcome is None:
            self._evaluate()
        match self._outcome:
            case HeptoxError() as error:
                raise error
            case _PackedResults() as packed:
                return _unpacked(packed)
            case _:
                raise AssertionError("a chunk that waits was not evaluated")


# -- feeds -----------------------------------------------------------------------------------------------------------


def filter_feed(spark: SparkSession, plan: FilteringPlan, documents: DataFrame) -> DataFrame:
    """What the filters of a plan select in each of ``documents``: the number ``doc`` of each (bigint), its ``text``
    (binary).

    The columns are :data:`FRAGMENTS`. A row is a fragment: ``number`` is that of the filter, ``place`` counts its
    fragments in the document from 0 on, in document order; the rest is as
    :class:`~heptox.filtering.Fragment` has it. Or it has a ``fault``: with a ``number``, why that filter
    has no value; without, why the document cannot be filtered, and then there is no other row of it, or (HX9204) where
    it is outside the schema, and it is filtered all the same. Rows come in any order.

    The work is done when they are asked for, a partition of ``documents`` in a task.
    """
    return documents.select("doc", "text").mapInArrow(_Feed(_sent(spark, plan)), FRAGMENTS)


class FilteredText(NamedTuple):
    """What came of a document: its results, one for each filter; or the ``fault`` for which it cannot be filtered.

    ``outside`` says where it is outside the schema, if it is and that matters.
    """

    results: list[Result]
    fault: str | None = None
    outside: str | None = None


def filter_texts(spark: SparkSession, plan: FilteringPlan, texts: Sequence[bytes]) -> list[FilteredText]:
    """What the filters of a plan select in each of some documents, which are filtered at once; in the same order."""
    if not texts:
        return []
    rows = [(number, bytearray(text)) for number, text in enumerate(texts)]
    documents = spark.createDataFrame(rows, "doc bigint, text binary").repartition(len(rows))
    found: list[list[Any]] = [[] for _ in rows]
    for row in filter_feed(spark, plan, documents).collect():
        found[row.doc].append(row)
    return [_filtered_text(of_document) for of_document in found]


def _filtered_text(rows: Iterable[Any]) -> FilteredText:
    """The rows of a feed for one document, put together."""
    fragments: dict[int, list[tuple[int, Fragment]]] = {}
    results: list[Result] = []
    outside = None
    for row in rows:
        if row.number is None and _OUTSIDE in row.fault:
            outside = row.fault
        elif row.number is None:
            return FilteredText([], row.fault)
        elif row.fault is not None:
            results.append(Result(row.number, Failure(row.fault)))
        else:
            fragments.setdefault(row.number, []).append((row.place, Fragment(_KINDS[row.kind], row.name, row.text)))
    results += [Result(number, [each for _, each in sorted(several)]) for number, several in sorted(fragments.items())]
    return FilteredText(results, outside=outside)


_OUTSIDE: Final = " HX9204 "


# -- plans -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _SentPlan:
    """A plan that every executor is sent once; equal plans have one digest."""

    digest: str
    pickled: Broadcast[bytes] = field(compare=False)


def _sent(spark: SparkSession, plan: FilteringPlan) -> _SentPlan:
    pickled = pickle.dumps(plan, pickle.HIGHEST_PROTOCOL)
    return _SentPlan(sha256(pickled).hexdigest(), spark.sparkContext.broadcast(pickled))


@dataclass(frozen=True, slots=True)
class _ReadyPlan:
    """A plan in a process of an executor, with what has been compiled for it."""

    parts: PlanEvaluator
    documents: DocumentFilter


@lru_cache(_MOST_READY)
def _ready(sent: _SentPlan) -> _ReadyPlan:
    """A plan made ready, once in each process, whichever jobs and tasks ask for it."""
    plan: FilteringPlan = pickle.loads(sent.pickled.value)
    evaluator = PlanEvaluator(plan)
    return _ReadyPlan(evaluator, DocumentFilter(plan, evaluator))


# -- on the executors --------------------------------------------------------------------------------------------------


class _Evaluation:
    """Evaluates chunks."""

    def __init__(self, plan: _SentPlan) -> None:
        self._plan = plan

    def __call__(self, tasks: Iterable[list[_Row]]) -> Iterator[_Outcome]:
        evaluator = _ready(self._plan).parts
        for situation, chunk, file in chain.from_iterable(tasks):
            try:
                yield _packed(evaluator.evaluate(situation, chunk, file))
            except HeptoxError as error:
                yield error


class _Feed:
    """Filters documents that come as rows."""

    def __init__(self, plan: _SentPlan) -> None:
        self._plan = plan

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        documents = _ready(self._plan).documents
        rows: list[_FragmentRow] = []
        size = 0
        for batch in batches:
            for doc, text in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
                for row in _document_rows(documents, doc, text.as_py()):
                    rows.append(row)
                    size += len(row.text or "")
                    if size >= _BATCH or len(rows) >= _MOST_ROWS:
                        yield _batch(rows)
                        rows, size = [], 0
        if rows:
            yield _batch(rows)


class _FragmentRow(NamedTuple):
    doc: int
    number: int | None = None
    place: int | None = None
    kind: str | None = None
    name: str | None = None
    text: str | None = None
    fault: str | None = None


_FRAGMENTS: Final = pa.schema(
    [
        ("doc", pa.int64()),
        ("number", pa.int64()),
        ("place", pa.int64()),
        ("kind", pa.string()),
        ("name", pa.string()),
        ("text", pa.string()),
        ("fault", pa.string()),
    ]
)


def _document_rows(documents: DocumentFilter, doc: int, text: bytes) -> list[_FragmentRow]:
    """The rows of a document: nothing but the fault where that is found after some results."""
    rows: list[_FragmentRow] = []
    places: dict[int, Iterator[int]] = {}
    try:
        for number, found, _ in documents.results(BytesIO(text)):
            if isinstance(found, Failure):
                rows.append(_FragmentRow(doc, number, fault=found.reason))
                continue
            place = places.setdefault(number, count())
            rows += [_FragmentRow(doc, number, next(place), *each) for each in found]
    except HeptoxError as error:
        return [_FragmentRow(doc, fault=error.summary)]
    if documents.outside is not None:
        rows.append(_FragmentRow(doc, fault=str(documents.outside)))
    return rows


def _batch(rows: Iterable[_FragmentRow]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    return pa.record_batch(
        [pa.array(column, of.type) for column, of in zip(columns, _FRAGMENTS, strict=True)], _FRAGMENTS
    )


# -- results as Arrow --------------------------------------------------------------------------------------------------


class _PackedResults(NamedTuple):
    """Results as two streams of Arrow: the different fragments, and for each result which of them it has."""

    fragments: bytes
    results: bytes


_PACKED_FRAGMENTS: Final = pa.schema([("kind", pa.string()), ("name", pa.string()), ("text", pa.large_string())])
_PACKED_RESULTS: Final = pa.schema(
    [
        ("number", pa.int64()),
        ("failure", pa.string()),
        ("fragments", pa.list_(pa.int32())),
        ("begins", pa.list_(pa.int64())),
    ]
)
_KINDS: Final = {kind.value: kind for kind in Kind}


def _packed(results: Iterable[Result]) -> _PackedResults:
    places: dict[int, int] = {}
    fragments: list[Fragment] = []
    rows: list[tuple[int, str | None, list[int], list[int]]] = []
    for number, found, begins in results:
        if isinstance(found, Failure):
            rows.append((number, found.reason, [], []))
            continue
        for each in found:
            # one that several filters select is one object
            if places.setdefault(id(each), len(fragments)) == len(fragments):
                fragments.append(each)
        rows.append((number, None, [places[id(each)] for each in found], list(begins)))
    return _PackedResults(_stream(_PACKED_FRAGMENTS, fragments), _stream(_PACKED_RESULTS, rows))


def _stream(schema: pa.Schema, rows: Sequence[tuple[object, ...]]) -> bytes:
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as stream:
        stream.write(
            pa.record_batch([pa.array(column, of.type) for column, of in zip(columns, schema, strict=True)], schema)
        )
    return bytes(sink.getvalue().to_pybytes())


def _unpacked(packed: _PackedResults) -> list[Result]:
    kinds, names, texts = _columns(packed.fragments)
    fragments = [Fragment(_KINDS[kind], name, text) for kind, name, text in zip(kinds, names, texts, strict=True)]
    return [
        Result(number, Failure(failure))
        if failure is not None
        else Result(number, [fragments[place] for place in places], begins or ())
        for number, failure, places, begins in zip(*_columns(packed.results), strict=True)
    ]


def _columns(stream: bytes) -> list[list[Any]]:
    with pa.ipc.open_stream(stream) as reader:
        return [column.to_pylist() for column in reader.read_all().columns]

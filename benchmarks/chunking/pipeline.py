"""What filtering takes from the document to the results, in processes of this machine and on Spark."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO

from benchmarks.chunking.rivals import Cut, Source, opened
from heptox import cluster
from heptox.filtering import (
    PIECE,
    Chunker,
    DocumentFilter,
    Evaluating,
    Failure,
    FilteringPlan,
    FilterSet,
    PlanEvaluator,
    ProcessEvaluator,
    Projection,
    Version,
    sample_sizes,
)
from heptox.schema import SchemaGraph

HERE = "1 process"


@dataclass(frozen=True, slots=True)
class Filtered:
    """Seconds to clean filters and choose chunks (``preparing``), to start what evaluates them (``starting``), and then
    until the first and the last of so many ``results`` are there, of a document of ``size`` bytes."""

    preparing: float
    starting: float
    first: float
    last: float
    results: int
    size: int

    @property
    def rate(self) -> float:
        """Megabytes of the document a second, once all is ready."""
        return self.size / 1e6 / self.last


def filtered(
    document: Source,
    schema: SchemaGraph,
    filters: Sequence[str],
    chunks: int | None,
    where: str = HERE,
    version: Version = Version.ONE,
) -> Filtered:
    """Filter a document: ``where`` is ``N processes``, or the URL of Spark's master; ``version`` is that of XPath.

    Starting is measured with a first document, which is small: processes and Spark get ready when they are needed.
    """
    began = time.perf_counter()
    filter_set = FilterSet(schema, version)
    for number, text in enumerate(filters):
        filter_set.add(number, text)
    with opened(document) as file:
        plan = filter_set.plan(chunks, sample_sizes(file))
    prepared = time.perf_counter()
    with _evaluating(plan, where) as evaluating:
        filtering = DocumentFilter(plan, evaluating)
        for _ in filtering.results(BytesIO(f"<{schema.root}/>".encode())):
            pass
        started = time.perf_counter()
        first, results = 0.0, 0
        with opened(document) as file:
            for result in filtering.results(file):
                first = first or time.perf_counter() - started
                if isinstance(result.found, Failure):
                    raise AssertionError(result.found.reason)
                results += len(result.found)
            size = file.seek(0, 2)
        last = time.perf_counter() - started
    return Filtered(prepared - began, started - prepared, first, last, results, size)


@contextmanager
def _evaluating(plan: FilteringPlan, where: str) -> Iterator[Evaluating]:
    number, _, processes = where.partition(" ")
    if where == HERE:
        yield PlanEvaluator(plan)
    elif processes:
        with ProcessEvaluator(plan, int(number)) as evaluating:
            yield evaluating
    else:
        with cluster.spark_session(where, settings=cluster.BULK) as spark, cluster.spark_faults():
            yield cluster.SparkEvaluating(spark, plan)


def by_chunker(document: Source, prefixes: Sequence[str], *, beside: str = "") -> Cut:
    """Cut by the chunker of heptox, documents checked against no schema; with the elements ``beside``, whole, of the
    other prefixes in each chunk.

    >>> by_chunker(b"<a><b/><c>1</c></a>", ["/a/b", "/a/c"]).chunks
    (11, 15)
    """
    paths = [tuple(prefix.split("/")[1:]) for prefix in prefixes]
    others = {path: frozenset((*other, beside) for other in paths if beside and other != path) for path in paths}
    units = frozenset(paths)
    chunker = Chunker([Projection(others[path] | {path}, units=units) for path in paths], size=PIECE)
    chunks = [0] * len(paths)
    began = time.perf_counter()
    with opened(document) as file:
        for several in chunker.read(file):
            for chunk in several:
                chunks[chunk.number] += len(chunk.data)
        size = file.seek(0, 2)
    return Cut(time.perf_counter() - began, size, tuple(chunks))

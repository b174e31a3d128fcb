"""What is measured of one number of filters and chunks, beside the same filters on the whole document."""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.chunking.rivals import Source, opened
from heptox.filtering import (
    POTPOURRI,
    WHOLE,
    Chunker,
    FilterSet,
    PartEvaluator,
    SchemaSteps,
    evaluated_tree,
    sample_sizes,
)
from heptox.schema import SchemaGraph


@dataclass(frozen=True, slots=True)
class Measured:
    """Times in seconds, without writing results: of cutting the document, of the filters of ``each`` chunk and of the
    ``potpourri``, 0 where no filter is left for it, and of all filters on the ``whole`` document, NaN where that is too
    large. ``delivered``: the time from the beginning until each set of filters, one after the other, has its results.

    Raises ``ValueError`` where ``each`` has not as many times as there are chunks, or ``delivered`` has none.

    >>> found = Measured("scenario 1", 100, 2, 1.0, (2.0, 3.0), 4.0, 20.0, (3.0, 6.0, 10.0))
    >>> found.total, found.parallel, found.ratio
    (10.0, 5.0, 0.5)
    >>> found.earliest, found.latest
    (0.15, 0.5)
    """

    scenario: str
    filters: int
    chunks: int
    chunking: float
    each: tuple[float, ...]
    potpourri: float
    whole: float
    delivered: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.each) != self.chunks or not self.delivered:
            raise ValueError(f"{self.chunks} chunks with {len(self.each)} times, {len(self.delivered)} deliveries")

    @property
    def total(self) -> float:
        """The sum: chunking, and all filters one after the other."""
        return self.chunking + sum(self.each) + self.potpourri

    @property
    def parallel(self) -> float:
        """Naive parallel: chunking, and the longest of what can run at once."""
        return self.chunking + max(*self.each, self.potpourri)

    @property
    def ratio(self) -> float:
        """The sum relative to the whole document."""
        return self.total / self.whole

    @property
    def earliest(self) -> float:
        """When the first results are there, relative to the whole document."""
        return min(self.delivered) / self.whole

    @property
    def latest(self) -> float:
        """When the last results are there, relative to the whole document."""
        return max(self.delivered) / self.whole


def measure(
    scenario: str,
    document: Source,
    schema: SchemaGraph,
    filters: Sequence[str],
    chunks: int,
    whole: float,
    *,
    sharing: bool = False,
) -> Measured:
    """Cut the document into so many chunks for the filters, and evaluate these on them, one after the other.

    ``whole``: the seconds that the same filters take on the whole document, NaN where that is too large. With
    ``sharing``, what filters have in common is evaluated once for all of them.
    """
    filter_set = FilterSet(schema)
    for number, text in enumerate(filters):
        filter_set.add(number, text)
    with opened(document) as file:
        plan = filter_set.plan(chunks, sample_sizes(file))
    parts = plan.parts()
    evaluators = [PartEvaluator(part, sharing=sharing) for part in parts]
    gc.collect()  # a collection takes longer than a small document
    began = time.perf_counter()
    with opened(document) as file:
        projections = [part.projection for part in parts if part.projection is not None]
        cut = [chunk for round_ in Chunker(projections, SchemaSteps(schema)).read(file) for chunk in round_]
    chunking = time.perf_counter() - began
    seconds: dict[str, float] = {}
    delivered = []
    for chunk in cut:
        started = time.perf_counter()
        for _ in evaluators[chunk.number].select(evaluated_tree(chunk.data)):
            pass
        seconds[parts[chunk.number].name] = time.perf_counter() - started
        delivered.append(time.perf_counter() - began)
    potpourri = sum(seconds.pop(name, 0.0) for name in (POTPOURRI, WHOLE))
    each = (*seconds.values(), *[0.0] * (chunks - len(seconds)))
    return Measured(scenario, len(filters), chunks, chunking, each, potpourri, whole, tuple(delivered))

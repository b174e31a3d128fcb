"""What is measured of one number of filters and chunks, beside the same filters on the whole document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.chunking.rivals import Source
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
    scenario: str, document: Source, schema: SchemaGraph, filters: Sequence[str], chunks: int, whole: float
) -> Measured:
    """Cut the document into so many chunks for the filters, and evaluate these on them.

    ``whole``: the seconds that the same filters take on the whole document, NaN where that is too large.

    Raises ``NotImplementedError``: nothing cuts documents yet.
    """
    raise NotImplementedError("nothing cuts documents yet")

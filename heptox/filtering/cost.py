"""What filtering is estimated to cost, by which the number of chunks is chosen where nobody gives one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace
from typing import Final

from heptox.errors import InputError
from heptox.filtering.chunker import PIECE, Projection
from heptox.filtering.filters import FilteringPlan, FilterSet, Situation
from heptox.filtering.parts import Part
from heptox.filtering.query_tree import Sizes
from heptox.filtering.schema_steps import TagPath
from heptox.xml import Readable, XmlReader

MOST_SAMPLED: Final = 1 << 22
"""How many bytes of a document are looked at to see which elements are large."""

MOST_CHUNKS: Final = 12
"""The highest degree that is looked at."""

# what was measured on one processor (docs/filtering.md): seconds for a byte, but the last one, seconds for a process
_READING: Final = 1 / 45e6
_CHECKING: Final = 1 / 90e6
_PARSING: Final = 1 / 80e6
_EVALUATING: Final = 2e-9
"""For an expression and a byte of what it is evaluated on."""
_STARTING: Final = 0.6


@dataclass(frozen=True, slots=True)
class Estimate:
    """What it is estimated to take to filter: ``seconds`` from the beginning to the last result, writing left out.

    ``parts`` has the seconds of each part by its name, one after the other. ``degree`` is the number of chunks, or
    ``None`` for whole documents.
    """

    degree: int | None
    processes: int
    seconds: float
    parts: tuple[tuple[str, float], ...]

    def __str__(self) -> str:
        how = "whole documents" if self.degree is None else f"{self.degree} chunk{'s' if self.degree > 1 else ''}"
        where = "in this process" if self.processes == 1 else f"in {self.processes} processes"
        return f"{self.seconds:.2f} s: {how}, {where}"


def sample_sizes(source: Readable, file: str | None = None, *, most: int = MOST_SAMPLED) -> Sizes:
    """How large the elements of each tag path are in the first bytes of a document: about ``most``, or all.

    What is wrong with the document is left for who reads it to tell.

    >>> from io import BytesIO
    >>> sizes = sample_sizes(BytesIO(b"<a><b>12345</b><c/></a>"))
    >>> sizes.total, sizes.seen["a", "b"]
    (23.0, 12.0)
    """
    seen: defaultdict[TagPath, float] = defaultdict(float)
    paths: list[TagPath] = [()]
    begins: list[int] = []
    reader = XmlReader(source, file)

    def start(name: str, _: list[str]) -> None:
        paths.append((*paths[-1], name))
        begins.append(reader.offset)

    def end(name: str) -> None:
        # the end tag is counted as it is mostly written
        seen[paths.pop()] += reader.offset - begins.pop() + len(name) + 3

    read = 0
    try:
        for read in reader.read(start, end, lambda _: None):
            if read >= most:
                break
    except InputError:
        pass
    for path, begin in zip(paths[1:], begins, strict=True):
        seen[path] += max(read - begin, 0)
    return Sizes(float(max(read, 1)), dict(seen))


def choose(
    filters: FilterSet,
    documents: Sequence[int],
    sizes: Sizes,
    processes: Sequence[int] = (1,),
    degrees: Sequence[int | None] | None = None,
) -> list[Estimate]:
    """Estimates for ``documents`` of so many bytes each, the best first: for each number of processes, and each of the
    ``degrees``: ``None`` among these stands for whole documents. Where none are given, all up to :data:`MOST_CHUNKS`
    are looked at, and whole documents, if none is so large that it would be cut.
    """
    if degrees is None:
        plans = _plans(filters, sizes, whole=max(documents, default=0) <= PIECE)
    else:
        plans = [filters.plan(degree, sizes) for degree in degrees]
    found = [each for plan in plans for each in estimates(plan, documents, sizes, processes)]
    return sorted(found, key=lambda each: each.seconds)


def _plans(filters: FilterSet, sizes: Sizes, *, whole: bool) -> list[FilteringPlan]:
    plans = [filters.plan(None)] if whole else []
    for number in range(1, MOST_CHUNKS + 1):
        plan = filters.plan(number, sizes)
        if plans and (plan.scheme is None or len(plan.scheme.chunks) < number):
            break
        plans.append(plan)
    return plans


def estimates(
    plan: FilteringPlan, documents: Sequence[int], sizes: Sizes, processes: Sequence[int] = (1,)
) -> list[Estimate]:
    """What it takes by a plan to filter ``documents`` of so many bytes each, for each number of processes."""
    size = sum(documents)
    cut = plan.scheme is not None and max(documents, default=0) > plan.size
    times = tuple((part.name, _seconds(part, size, sizes, plan)) for part in plan.parts(Situation(cut)))
    reading = size * _READING if plan.scheme is not None else 0.0
    if plan.relies_on_schema and (cut or plan.scheme is None):
        reading += size * _CHECKING
    pieces = max(size // plan.size, 1) if cut else len(documents)
    degree = None if plan.scheme is None else plan.scheme.degree
    return [
        Estimate(degree, each, _until_the_end(reading, [seconds for _, seconds in times], each, pieces), times)
        for each in processes
    ]


def _until_the_end(reading: float, each: Sequence[float], processes: int, pieces: int) -> float:
    """When the last result is there, where each part takes so many seconds in all."""
    if processes == 1:
        return reading + sum(each)
    if pieces == 1:
        return _STARTING + reading + _together(each, processes)
    # some are evaluated while others are read
    return _STARTING + max(reading, _together(each, processes, pieces))


def _seconds(part: Part, size: int, sizes: Sizes, plan: FilteringPlan) -> float:
    """What it takes to parse a part and to evaluate its filters."""
    length = size * _share(part.projection, sizes)
    if plan.sharing:
        expressions = len({query.text if query.lookup is None else query.lookup[:2] for query in part.queries})
    else:
        expressions = len(part.queries)
    return length * (_PARSING + _EVALUATING * expressions)


def _share(projection: Projection | None, sizes: Sizes) -> float:
    """Which share of documents a projection has."""
    if projection is None:
        return 1.0
    whole = sum(sizes.of(path) for path in projection.whole)
    return min(whole / sizes.total, 1.0) if sizes.seen else 1.0


def _together(each: Iterable[float], processes: int, pieces: int = 1) -> float:
    """When the last of some jobs is done: the longest are begun first."""
    jobs = sorted((seconds / pieces for seconds in each for _ in range(pieces)), reverse=True)
    busy = [0.0] * processes
    heapify(busy)
    for seconds in jobs:
        heapreplace(busy, busy[0] + seconds)
    return max(busy)

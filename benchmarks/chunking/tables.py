"""The figures of Lehner and Irmert as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan

from benchmarks.chunking.measuring import Measured
from benchmarks.chunking.pipeline import Filtered
from benchmarks.chunking.rivals import Cut, Whole


@dataclass(frozen=True, slots=True)
class Table:
    """A table under the name of a figure, or of what it tells."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def spreads(shares: Mapping[int, Mapping[str, int]]) -> Table:
    """Figure 10: the share of filters by part, for each number of filters.

    >>> spreads({100: {"a": 60, "b": 40}}).rows
    (('a', '60 %'), ('b', '40 %'))
    """
    parts = dict.fromkeys(part for each in shares.values() for part in each)
    totals = {count: sum(each.values()) for count, each in shares.items()}
    rows = tuple(
        (part, *(f"{100 * each.get(part, 0) / totals[count]:.0f} %" for count, each in shares.items()))
        for part in parts
    )
    return Table("figure 10", ("part", *(f"{count:,} filters" for count in shares)), rows)


def times(found: Sequence[Measured]) -> Table:
    """Figure 11: seconds of chunking, of each chunk and of the potpourri, their sum, naive parallel, whole document."""
    most = max((each.chunks for each in found), default=0)
    numbered = tuple(f"chunk {number}" for number in range(1, most + 1))
    columns = (
        "filters",
        "chunks",
        "chunking s",
        *numbered,
        "potpourri",
        "sum",
        "parallel",
        "whole",
        "whole ÷ sum",
        "whole ÷ parallel",
    )
    rows = tuple(
        (
            f"{each.filters:,}",
            f"{each.chunks}",
            *map(_seconds, (each.chunking, *each.each)),
            *[""] * (most - each.chunks),
            *map(_seconds, (each.potpourri, each.total, each.parallel, each.whole)),
            *(_known(each.whole / seconds, ".1f") for seconds in (each.total, each.parallel)),
        )
        for each in found
    )
    return Table("figure 11", columns, rows)


def deliveries(found: Sequence[Measured]) -> Table:
    """Figure 12: the sum relative to the whole document, and when the first and the last results are there."""
    columns = ("filters", "chunks", "sum s", "whole s", "ratio", "earliest", "latest")
    rows = tuple(
        (
            f"{each.filters:,}",
            f"{each.chunks}",
            *map(_seconds, (each.total, each.whole)),
            *(_known(share, ".1%") for share in (each.ratio, each.earliest, each.latest)),
        )
        for each in found
    )
    return Table("figure 12", columns, rows)


def wholes(found: Mapping[str, Whole]) -> Table:
    """What filtering whole documents takes, by the name of what was measured."""
    columns = ("", "parse s", "compile s", "filter s", "write s", "parse and filter s", "results", "MB written")
    rows = tuple(
        (
            name,
            *map(_seconds, (each.parsing, each.compiling, each.filtering, each.writing, each.seconds)),
            f"{each.results:,}",
            f"{each.written / 1e6:,.1f}",
        )
        for name, each in found.items()
    )
    return Table("whole document", columns, rows)


def cuts(found: Mapping[str, Cut]) -> Table:
    """What bare parsers take to cut documents, by the name of what was measured."""
    rows = tuple(
        (name, f"{each.size / 1e6:,.1f}", _seconds(each.seconds), f"{each.rate:.1f}", f"{sum(each.chunks) / 1e6:,.1f}")
        for name, each in found.items()
    )
    return Table("cutters", ("", "MB", "s", "MB/s", "MB in chunks"), rows)


def pipelines(found: Mapping[str, Filtered]) -> Table:
    """What filtering takes from the document to the results, by the name of what was measured."""
    columns = ("", "prepare s", "start s", "first result s", "last result s", "MB/s", "results")
    rows = tuple(
        (
            name,
            *map(_seconds, (each.preparing, each.starting, each.first, each.last)),
            f"{each.rate:.1f}",
            f"{each.results:,}",
        )
        for name, each in found.items()
    )
    return Table("filtering", columns, rows)


def _seconds(value: float) -> str:
    return _known(value, ",.1f" if value >= 100 else ".3g")


def _known(value: float, form: str) -> str:
    return "-" if isnan(value) else format(value, form)

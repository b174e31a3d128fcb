"""Figures 10 to 12 of Lehner and Irmert, drawn from what was measured here, as SVG or PNG.

The same numbers give the same bytes of SVG, whatever matplotlib is set to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from benchmarks.chunking.measuring import Measured
from heptox.cluster.figures import BLUE, FAINT, GREY, INK, RED

Format: TypeAlias = Literal["svg", "png"]

_COLOURS: Final = ("#004a73", BLUE, "#3b97c9", "#75b8dc", "#a9d3ea", "#d3e8f4")
"""Chunks, from the first on."""
_POTPOURRI: Final = "#e8a06c"
_STYLE: Final[dict[Any, Any]] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "heptox",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
    "font.size": 8.5,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.axisbelow": True,
    "text.color": INK,
    "xtick.labelcolor": FAINT,
    "ytick.labelcolor": FAINT,
    "legend.frameon": False,
    "savefig.dpi": 150,
}
_WIDTH: Final = 9.0
"""Inches."""


def draw_spreads(shares: Mapping[int, Mapping[str, int]], format_: Format = "svg") -> bytes:
    """Figure 10: the share of filters by part, for each number of filters.

    Each of ``shares`` begins with the parts that join the potpourri first: with one chunk less than parts the first is
    hatched, with two less the first two are.
    """
    return _drawn(lambda: _spreads(shares), format_)


def draw_times(found: Sequence[Measured], format_: Format = "svg") -> bytes:
    """Figure 11: for each number of filters and chunks the sum and naive parallel as bars of their parts, and the whole
    document as a line across them."""
    return _drawn(lambda: _times(found), format_)


def draw_deliveries(found: Sequence[Measured], format_: Format = "svg") -> bytes:
    """Figure 12, by the number of chunks: the sums of the fewest filters, the ratio of sums to the whole document, and
    when the first and the last results are delivered."""
    return _drawn(lambda: _deliveries(found), format_)


def write_figures(folder: Path, drawings: Mapping[str, Callable[[Format], bytes]]) -> None:
    """Write each drawing as SVG and as PNG, in files of its name; raises ``OSError``."""
    folder.mkdir(parents=True, exist_ok=True)
    formats: tuple[Format, ...] = ("svg", "png")
    for name, draw in drawings.items():
        for format_ in formats:
            (folder / f"{name}.{format_}").write_bytes(draw(format_))


def _drawn(draw: Callable[[], Figure], format_: Format) -> bytes:
    with _style():
        buffer = BytesIO()
        metadata = dict.fromkeys(("Date", "Creator", "Format", "Type")) if format_ == "svg" else {"Software": None}
        draw().savefig(buffer, format=format_, metadata=metadata)
    return buffer.getvalue()


@contextmanager
def _style() -> Iterator[None]:
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def _panels(number: int) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(_WIDTH, 3.2), layout="constrained")
    panels = [figure.add_subplot(1, max(1, number), place + 1) for place in range(number)]
    for axes in panels:
        axes.grid(axis="y", color="#d8dce1", linewidth=0.6)
    return figure, panels


def _key(figure: Figure, patches: Sequence[Patch]) -> None:
    figure.legend(
        handles=patches, loc="outside lower center", ncols=len(patches), handlelength=0.9, columnspacing=1.1, fontsize=8
    )


# -- figure 10 ---------------------------------------------------------------------------------------------------


def _spreads(shares: Mapping[int, Mapping[str, int]]) -> Figure:
    figure, panels = _panels(2)
    parts = sorted({part for each in shares.values() for part in each})
    for axes, left in zip(panels, (1, 2), strict=True):
        axes.set_title(f"{len(parts) - left} chunks")
        for place, part in enumerate(parts):
            for column, each in enumerate(shares.values()):
                hatch = "////" if part in [*each][:left] else None
                across = column + 0.8 * (place - (len(parts) - 1) / 2) / len(parts)
                share = each.get(part, 0) / sum(each.values())
                edge = RED if hatch else "none"
                colour = _COLOURS[place % len(_COLOURS)]
                axes.bar(across, share, 0.75 / len(parts), color=colour, hatch=hatch, edgecolor=edge, linewidth=0)
        axes.set_xticks(range(len(shares)), [f"{count:,} filters" for count in shares])
        axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    hatched = Patch(facecolor="none", edgecolor=RED, hatch="////", linewidth=0, label="potpourri")
    _key(
        figure,
        [*(Patch(color=_COLOURS[place % len(_COLOURS)], label=part) for place, part in enumerate(parts)), hatched],
    )
    return figure


# -- figure 11 ---------------------------------------------------------------------------------------------------


def _times(found: Sequence[Measured]) -> Figure:
    by_filters = {filters: [one for one in found if one.filters == filters] for filters in _filters(found)}
    figure, panels = _panels(len(by_filters))
    for axes, (filters, several) in zip(panels, by_filters.items(), strict=True):
        axes.set_title(f"{filters:,} filters")
        for place, one in enumerate(several):
            _stack(axes, place - 0.2, 0.36, one)
            longest = max((*one.each, one.potpourri))
            axes.bar(place + 0.2, one.chunking, 0.36, color=GREY)
            axes.bar(place + 0.2, longest, 0.36, bottom=one.chunking, color=INK)
            for across, seconds in ((place - 0.2, one.total), (place + 0.2, one.parallel)):
                axes.annotate(f"{seconds:.3g}", (across, seconds), (0, 2), textcoords="offset points", ha="center")
            axes.plot((place - 0.45, place + 0.45), (one.whole, one.whole), color=RED, linestyle="--")
        axes.set_xticks(range(len(several)), [f"{one.chunks} chunks" for one in several])
        axes.set_ylim(0, 1.1 * max(max(one.total, one.parallel, one.whole) for one in several))
    if panels:
        panels[0].set_ylabel("seconds")
    _key(figure, _parts(found, (("longest in parallel", INK), ("whole document", RED))))
    return figure


def _filters(found: Sequence[Measured]) -> list[int]:
    return sorted({one.filters for one in found})


def _stack(axes: Axes, across: float, width: float, one: Measured) -> None:
    """The parts of the sum, each upon those before."""
    chunks = [(seconds, _COLOURS[number % len(_COLOURS)]) for number, seconds in enumerate(one.each)]
    begin = 0.0
    for seconds, colour in ((one.chunking, GREY), *chunks, (one.potpourri, _POTPOURRI)):
        axes.bar(across, seconds, width, bottom=begin, color=colour)
        begin += seconds


def _parts(found: Sequence[Measured], more: Sequence[tuple[str, str]]) -> list[Patch]:
    chunks = max((one.chunks for one in found), default=0)
    numbered = [(f"chunk {number + 1}", _COLOURS[number % len(_COLOURS)]) for number in range(chunks)]
    entries = (("chunking", GREY), *numbered, ("potpourri", _POTPOURRI), *more)
    return [Patch(color=colour, label=label) for label, colour in entries]


# -- figure 12 ---------------------------------------------------------------------------------------------------


def _deliveries(found: Sequence[Measured]) -> Figure:
    figure, (sums, ratios, delivered) = _panels(3)
    fewest = [one for one in found if one.filters == min(_filters(found))]
    sums.set_title(f"a) {fewest[0].filters:,} filters, seconds" if fewest else "a) seconds")
    for one in fewest:
        _stack(sums, one.chunks, 0.7, one)
        sums.plot((one.chunks - 0.45, one.chunks + 0.45), (one.whole, one.whole), color=RED, linestyle="--")
    ratios.set_title("b) sum ÷ whole document")
    delivered.set_title("c) earliest and latest delivery")
    for number, filters in enumerate(_filters(found)):
        several = sorted((one for one in found if one.filters == filters), key=lambda one: one.chunks)
        chunks, colour = [one.chunks for one in several], (BLUE, RED, INK, GREY)[number % 4]
        ratios.plot(chunks, [one.ratio for one in several], color=colour, marker="o", label=f"{filters:,} filters")
        delivered.plot(chunks, [one.earliest for one in several], color=colour, marker="v", linestyle=":")
        delivered.plot(chunks, [one.latest for one in several], color=colour, marker="^")
    for axes in (sums, ratios, delivered):
        axes.set_xticks(sorted({one.chunks for one in found}))
        axes.set_ylim(bottom=0)
        axes.set_xlabel("chunks")
    for axes in (ratios, delivered):
        axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    if found:
        ratios.legend()
    _key(figure, _parts(found, (("whole document", RED),)))
    return figure

"""Figures about emulations as SVG: the same bytes for the same numbers, whatever the machine is set to.

Figure 12 of the report, the paths by hops, and what grows with a network. Each colour stands for one thing throughout
and can be told apart by those who see few colours; every series is labelled where it is. Nothing that is drawn is read
as mathematics or markup. matplotlib's settings are its defaults and those given here, never those of the process.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from math import ceil
from typing import Any, Final, Literal, TypeAlias

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from heptox.cluster.outcome import Outcome
from heptox.cluster.summary import (
    Breakdown,
    Curve,
    answer_curve,
    breakdown,
    hop_statuses,
    labels,
    peer_curve,
)
from heptox.cluster.tables import milliseconds
from heptox.peer import Status
from heptox.printable import on_one_line

INK: Final = "#1b1f24"
FAINT: Final = "#66707b"
LINE: Final = "#d8dce1"
PAPER: Final = "#fefefe"
BLUE: Final = "#0072b2"
RED: Final = "#c8500a"
GREY: Final = "#a3abb5"
"""The colours; a page may replace each by another where it is dark."""

_STYLE: Final[dict[Any, Any]] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "heptox",
    "text.parse_math": False,
    "axes.unicode_minus": True,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
    "font.size": 8.5,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8.5,
    "axes.labelcolor": FAINT,
    "axes.edgecolor": GREY,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "figure.facecolor": PAPER,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": FAINT,
    "ytick.labelcolor": FAINT,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "lines.linewidth": 1.4,
}
_WIDTH: Final = 9.0
"""Inches; a figure is as wide as a page."""
_COLUMNS: Final = 5
_NAME: Final = 0.062
"""How much of the height of a panel the name of a line takes."""
_LETTERS: Final = 18
"""How many letters of a name are drawn; tables have all of them."""

_SEEN: Final = 0.002
"""The part of an axis that can be seen."""

Scales: TypeAlias = Literal["apart", "shared", "logarithmic"]
"""How the axes of several panels are scaled."""
Series: TypeAlias = Mapping[str, Sequence[tuple[float, float]]]
"""Points by the name of the line through them."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure: ``name`` is that of its file without the ending, ``caption`` says what is seen and how it is counted.

    ``measured`` says that it shows times of the machine at hand. The SVG is UTF-8.
    """

    name: str
    title: str
    caption: str
    svg: bytes
    measured: bool = False


def draw_breakdown(outcome: Outcome) -> Drawing:
    """Figure 12 (top): where the time of each query went, on average over the paths that brought items."""
    parts = [breakdown(query, outcome.plan) for query in outcome.queries]
    names = [_short(label) for label in labels(outcome.queries)]
    return Drawing(
        "breakdown",
        "Where the time goes",
        "Average over the paths that brought items, in milliseconds. Translation and local answering are measured,"
        " network is virtual time: until the last item, without what the plan allots to translation and evaluation.",
        _svg(lambda: _breakdown(names, parts)),
        measured=True,
    )


def draw_arrival(outcome: Outcome) -> Drawing:
    """Figure 12 (bottom): the share of answers, and of peers with all of theirs, that the asker has as time goes by."""
    names = [_short(label) for label in labels(outcome.queries)]
    curves = [(answer_curve(query), peer_curve(query)) for query in outcome.queries]
    return Drawing(
        "arrival",
        "When answers arrive",
        "Share of all answers that the asker has, and of the peers with answers from which it has all of them, over"
        " virtual time. The answers of a path count when the last of them has come.",
        _svg(lambda: _arrival(names, curves)),
    )


def draw_hops(outcome: Outcome) -> Drawing:
    """How many paths of each query ended how, by hops."""
    names = [_short(label) for label in labels(outcome.queries)]
    counts = [hop_statuses(query) for query in outcome.queries]
    return Drawing(
        "hops",
        "Paths by hops",
        "How many paths of each length ended in an answer, in a query that has nothing to say there, or in neither"
        " (refused, denied, unreachable, timed out, failed, cancelled).",
        _svg(lambda: _hops(names, counts)),
    )


def draw_lines(
    name: str,
    title: str,
    caption: str,
    panels: Mapping[str, Series],
    across: str,
    *,
    scales: Scales = "apart",
    measured: bool = False,
) -> Drawing:
    """Lines in panels, each labelled at its end. ``across`` names the horizontal axes.

    On ``logarithmic`` scales there is nothing at zero; the vertical axes may have ``shared`` ones.
    """
    if scales == "logarithmic":
        panels = {title: {label: _positive(points) for label, points in each.items()} for title, each in panels.items()}
    return Drawing(name, title, caption, _svg(lambda: _lines(panels, across, scales)), measured)


def draw_bars(
    name: str,
    title: str,
    caption: str,
    panels: Mapping[str, Sequence[tuple[str, float | None]]],
    *,
    measured: bool = False,
) -> Drawing:
    """Bars in panels side by side, each with its value."""
    return Drawing(name, title, caption, _svg(lambda: _bars(panels)), measured)


@contextmanager
def _style() -> Iterator[None]:
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of letters that the font lacks: the browser has another
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def _svg(draw: Callable[[], Figure]) -> bytes:
    with _style():
        figure = draw()
        buffer = BytesIO()
        figure.savefig(buffer, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return buffer.getvalue()


def _short(label: str) -> str:
    text = on_one_line(label)
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"


def _figure(height: float) -> Figure:
    return Figure(figsize=(_WIDTH, height), layout="constrained")


def _empty(text: str) -> Figure:
    figure = _figure(1.0)
    figure.text(0.5, 0.5, text, ha="center", va="center", color=FAINT)
    return figure


def _breakdown(names: Sequence[str], parts: Sequence[Breakdown | None]) -> Figure:
    """Bars from zero, since parts of a sum are seen; what is too thin to be seen is a number beside it."""
    if not names:
        return _empty("no queries")
    figure = _figure(0.75 + 0.27 * len(names))
    axes = figure.add_subplot()
    values = [(part.translation, part.network, part.evaluation) if part else (0.0, 0.0, 0.0) for part in parts]
    columns = (("translation", BLUE, 64), ("network", FAINT, 122), ("answering", RED, 184))
    begin = [0.0] * len(names)
    for number, (label, colour, right) in enumerate(columns):
        widths = [each[number] for each in values]
        axes.barh(range(len(names)), widths, left=begin, height=0.62, color=GREY if colour == FAINT else colour)
        begin = [before + width for before, width in zip(begin, widths, strict=True)]
        _beside(axes, -0.85, right, label, colour, weight="bold")
        for row, part in enumerate(parts):
            _beside(axes, row, right, milliseconds(widths[row] if part else None), colour if part else FAINT)
    for row, part in enumerate(parts):
        if part is None:
            axes.annotate(
                "no items from others", (0, row), (4, 0), textcoords="offset points", va="center", color=FAINT
            )
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0, max([*begin, 1e-9]) * 1.02)
    axes.set_xlabel("milliseconds, average of the paths that brought items")
    axes.xaxis.set_major_formatter(FuncFormatter(_plain))
    axes.grid(axis="x")
    axes.set_axisbelow(True)
    axes.spines["left"].set_visible(False)
    return figure


def _beside(axes: Axes, row: float, right: float, text: str, colour: str, weight: str = "normal") -> None:
    axes.annotate(
        text,
        (1, row),
        (right, 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        ha="right",
        va="center",
        color=colour,
        weight=weight,
        annotation_clip=False,
    )


def _arrival(names: Sequence[str], curves: Sequence[tuple[Curve, Curve]]) -> Figure:
    if not names:
        return _empty("no queries")
    figure, panels = _panels(names, "virtual seconds since the query was asked")
    end = max((points[-1][0] for pair in curves for points in pair if points), default=1.0) / 1000 or 1.0
    for axes, (answers, peers) in zip(panels, curves, strict=True):
        axes.grid(visible=True)
        axes.set_xlim(0, end * 1.04)
        axes.set_ylim(0, 1.04)
        axes.set_yticks([0, 0.5, 1], ["0", "50 %", "100 %"])
        axes.xaxis.set_major_locator(MaxNLocator(max(4, 10 // len(names)), steps=[1, 2, 5, 10]))
        axes.xaxis.set_major_formatter(FuncFormatter(_plain))
        for curve, colour in ((peers, RED), (answers, BLUE)):
            if points := _thinned(curve):
                times = [0.0, *(time / 1000 for time, _ in points), end]
                axes.step(times, [0.0, *(part for _, part in points), 1.0], where="post", color=colour, clip_on=False)
        if not answers:
            _inside(axes, "no answers")
    _key(figure, (("answers", BLUE), ("peers completed", RED)))
    return figure


def _thinned(curve: Curve) -> Curve:
    """A curve without the points that cannot be seen apart from those before them, so that a figure stays small."""
    kept = list(curve[:1])
    for time, part in curve:
        if part - kept[-1][1] >= _SEEN or time - kept[-1][0] >= _SEEN * curve[-1][0] or part == 1:
            kept.append((time, part))
    return tuple(kept)


def _hops(names: Sequence[str], counts: Sequence[Mapping[int, Mapping[Status, int]]]) -> Figure:
    if not names:
        return _empty("no queries")
    figure, panels = _panels(names, "hops")
    most = max((sum(ends.values()) for each in counts for ends in each.values()), default=1)
    longest = max((hops for each in counts for hops in each), default=1)
    for axes, each in zip(panels, counts, strict=True):
        begin = [0] * len(each)
        for colour, group in _GROUPS.values():
            heights = [sum(ends[status] for status in group) for ends in each.values()]
            axes.bar(list(each), heights, bottom=begin, width=0.72, color=colour)
            begin = [before + height for before, height in zip(begin, heights, strict=True)]
        axes.set_ylim(0, most * 1.05)
        axes.set_xlim(0.4, longest + 0.6)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
        axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=4, steps=[1, 2, 5, 10]))
        axes.yaxis.set_major_formatter(FuncFormatter(_plain))
        axes.grid(axis="y")
        if not each:
            _inside(axes, "no paths")
    _key(figure, tuple((name, colour) for name, (colour, _) in _GROUPS.items()))
    return figure


_GROUPS: Final[Mapping[str, tuple[str, tuple[Status, ...]]]] = {
    "answered": (BLUE, (Status.ANSWERED,)),
    "nothing to say": (GREY, (Status.NOTHING,)),
    "neither of these": (RED, tuple(status for status in Status if not status.complete)),
}


def _panels(names: Sequence[str], across: str) -> tuple[Figure, list[Axes]]:
    columns = min(_COLUMNS, len(names))
    rows = ceil(len(names) / columns)
    figure = _figure(0.75 + 1.45 * rows)
    panels: list[Axes] = []
    for number, name in enumerate(names):
        axes = figure.add_subplot(rows, columns, number + 1)
        axes.set_title(name)
        axes.set_axisbelow(True)
        axes.tick_params(length=0, labelleft=number % columns == 0, labelbottom=number + columns >= len(names))
        panels.append(axes)
    figure.supxlabel(across, fontsize=8.5, color=FAINT)
    return figure, panels


def _inside(axes: Axes, text: str) -> None:
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=FAINT)


def _key(figure: Figure, entries: Sequence[tuple[str, str]]) -> None:
    """What the colours mean, above all panels."""
    figure.legend(
        handles=[Patch(color=colour, label=label) for label, colour in entries],
        loc="outside upper left",
        ncols=len(entries),
        frameon=False,
        handlelength=0.9,
        handleheight=0.9,
        columnspacing=1.6,
        borderaxespad=0,
    )


def _positive(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    return [point for point in points if min(point) > 0]


def _bars(panels: Mapping[str, Sequence[tuple[str, float | None]]]) -> Figure:
    longest = max((len(bars) for bars in panels.values()), default=0)
    if not longest:
        return _empty("no values")
    figure = _figure(0.5 + 0.25 * longest)
    for number, (title, bars) in enumerate(panels.items()):
        axes = figure.add_subplot(1, len(panels), number + 1)
        axes.set_title(title)
        places, values = range(len(bars)), [value or 0.0 for _, value in bars]
        axes.barh(places, values, height=0.62, color=GREY if number else BLUE)
        for place, (_, value) in zip(places, bars, strict=True):
            axes.annotate(milliseconds(value), (value or 0.0, place), (4, 0), textcoords="offset points", va="center")
        axes.set_yticks(places, [_short(label) for label, _ in bars])
        axes.set_ylim(longest - 0.4, -0.6)
        axes.set_xlim(0, max([*values, 1e-9]) * 1.15)
        axes.set_xticks([])
        axes.tick_params(axis="y", length=0, labelcolor=INK)
        axes.spines["bottom"].set_visible(False)
    return figure


def _lines(panels: Mapping[str, Series], across: str, scales: Scales) -> Figure:
    if not any(points for series in panels.values() for points in series.values()):
        return _empty("no values")
    columns = min(2, len(panels))
    rows = ceil(len(panels) / columns)
    figure = _figure(0.4 + 2.5 * rows)
    first: Axes | None = None
    for number, (title, series) in enumerate(panels.items()):
        axes = figure.add_subplot(rows, columns, number + 1, sharey=first if scales == "shared" else None)
        first = first or axes
        axes.set_title(title)
        if any(series.values()):
            _draw_series(axes, series, scales == "logarithmic")
        else:
            _inside(axes, "no values")
    figure.supxlabel(across, fontsize=8.5, color=FAINT)
    return figure


def _draw_series(axes: Axes, series: Series, logarithmic: bool) -> None:
    """Up to three lines have a colour each; of more, only the first and the last differ from the others."""
    last = len(series) - 1
    colours = (BLUE, RED, FAINT) if last < 3 else (BLUE, *(GREY,) * (last - 1), RED)
    drawn = [
        (on_one_line(name), points, colour)
        for (name, points), colour in zip(series.items(), colours, strict=False)
        if points
    ]
    for _, points, colour in drawn:
        across, up = [point[0] for point in points], [point[1] for point in points]
        axes.plot(across, up, color=colour, marker="o", markersize=3.5, clip_on=False, zorder=2 + (colour != GREY))
    if logarithmic:
        _logarithmic(axes, [point[1] for _, points, _ in drawn for point in points])
    else:
        axes.set_ylim(bottom=0)
    places = sorted({point[0] for _, points, _ in drawn for point in points})
    axes.set_xticks(places, [_plain(place) for place in places])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(_plain))
    axes.grid(axis="y")
    axes.tick_params(length=0)
    _name_lines(axes, [(name, points[-1], colour) for name, points, colour in drawn if name])


def _logarithmic(axes: Axes, values: Sequence[float]) -> None:
    """Axes in powers of ten, with lines between them where there are few."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    wide = max(values) / min(values) > 100
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 5.0)))
    axes.yaxis.set_minor_locator(NullLocator())


def _name_lines(axes: Axes, ends: Sequence[tuple[str, tuple[float, float], str]]) -> None:
    """The name of each line at its end, moved up or down where it would stand on another."""
    ordered = sorted(ends, key=lambda end: end[1][1])
    within = axes.transAxes.inverted()
    heights = [float(within.transform(axes.transData.transform(end))[1]) for _, end, _ in ordered]
    for (name, (across, _), colour), height in zip(ordered, _apart(heights, _NAME), strict=True):
        axes.annotate(
            name,
            (across, height),
            (7, 0),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            va="center",
            color=FAINT if colour == GREY else colour,
            annotation_clip=False,
        )


def _apart(heights: Sequence[float], least: float) -> list[float]:
    """Ascending heights moved as little as can be, so that each is at ``least`` so much above the one before.

    >>> _apart([0.0, 0.5, 0.5, 1.0], 0.25)
    [0.0, 0.375, 0.625, 1.0]
    """
    groups: list[tuple[float, int]] = []  # how many stand together, and the average of what would be the lowest's place
    for number, height in enumerate(heights):
        place, size = height - number * least, 1
        while groups and groups[-1][0] > place:
            before, many = groups.pop()
            place, size = (before * many + place * size) / (many + size), many + size
        groups.append((place, size))
    places = [place for place, size in groups for _ in range(size)]
    return [place + number * least for number, place in enumerate(places)]


def _plain(value: float, _: int | None = None) -> str:
    return f"{value:,.10g}"

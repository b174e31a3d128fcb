"""The experiments of the report's section 5, and two more, by name: what each runs, and what is made of the outcomes.

An experiment is data. Its plans are settings as in a file of them; the caller runs it, hands the outcomes back in the
order of the plans, and gets tables and figures that put them next to the figures of 2005, where there are any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, Final, TypeAlias

from heptox.cluster.figures import Drawing, Series, draw_arrival, draw_bars, draw_breakdown, draw_hops, draw_lines
from heptox.cluster.outcome import Outcome, QueryOutcome
from heptox.cluster.page import page
from heptox.cluster.published import CUT_OFF, TABLE_1, TABLE_2, TABLE_2_SCHEMAS
from heptox.cluster.report import comparison_text, json_text, report_value, times_value, write_files
from heptox.cluster.summary import (
    asked,
    breakdown,
    labels,
    reached,
    share,
    total_seconds,
    translation_times,
)
from heptox.cluster.tables import NOTHING, Table, byte_count, count, milliseconds, percent, seconds
from heptox.cluster.workload import QUERIES

PlanSettings: TypeAlias = Mapping[str, Any]

_REPORT: Final[PlanSettings] = {
    "peers": 128,
    "schemas": 10,
    "queries": tuple(QUERIES),
    "seed": 1,
    "hops": 4,
    "acquaintances": 4,
    "topology": "random",
    "delay_ms": 70,
    "bandwidth_mbit": 50,
}
"""The network of the report: its size, its links, and hops enough for the average that it reports."""
_SIZES: Final = {16: 4, 128: 4, 1_000: 5, 10_000: 5}
"""Peers, and hops that lead to most of them; of 10,000 to half of them, by 8,000 paths."""
_MOST: Final = ("Q1",)
"""What all peers answer, with most items."""
_FEW: Final = ("Q1", "Q2", "Q6")
"""A path, a selection, joins: what is enough to see how a network behaves."""
_PARTS: Final = (0.01, 0.02, 0.05, 0.1, 0.2)

_MACHINES: Final = (
    "Times of 2005 are those of Java on the machines of Emulab of that year; ours are of this machine. Compare how they"
    " grow from query to query, not how long they are."
)
_FORWARDING: Final = (
    "There, a peer that had received a query before did not forward it again; here a query travels every path without a"
    " peer twice on it, up to a number of hops, so that a peer answers along each. Paths are more and longer."
)
_ONCE: Final = (
    "Here a translation is made once for each mapping and query that arrives there, and its time counts on every path"
    " that crosses; there, each peer translated."
)
_LENGTH: Final = (
    "ASPL is the number of hops of the shortest path along which a peer answered, averaged over the peers that did; the"
    " report does not define its average further."
)
_SCHEMAS: Final = (
    "In the report translation time grows with the number of different schemas: there, peers under one schema may be"
    " acquainted, and nothing is translated between them. Here acquaintances always have different schemas, so every"
    " hop is a translation with two schemas as with ten, and times depend on which mappings there are."
)
_QUERIES: Final = (
    "The report does not print its queries, schemas and mappings. Ours are made anew, over XMark's schema and with the"
    " shapes that Table 1 names, and so are not the same queries."
)
_NETWORK: Final = (
    "Network delay is virtual time, as the plan sets links; translation and local answering are measured. The report"
    " gives its links as 70 ms and 50MB, which is taken as 50 Mbit/s here."
)
_CUT: Final = (
    f"{', '.join(sorted(CUT_OFF, key=list(QUERIES).index))} never completed in 2005: the query engine was the"
    " bottleneck, and they timed out. The report gives Figure 12 as a picture only, so no numbers of it stand here."
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is made of the outcomes of an experiment."""

    tables: tuple[Table, ...]
    drawings: tuple[Drawing, ...]


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment: a sentence about it, the plans that it runs, and what is made of their outcomes, in that order.

    ``remarks`` say what differs from the report, and why.
    """

    name: str
    sentence: str
    plans: tuple[PlanSettings, ...]
    compare: Callable[[Sequence[Outcome]], Comparison]
    remarks: tuple[str, ...]


def experiment_text(experiment: Experiment, outcomes: Sequence[Outcome]) -> str:
    """The content of an experiment's ``report.txt``."""
    tables = (*experiment.compare(outcomes).tables, _runs(outcomes))
    return comparison_text(experiment.sentence, [each.check for each in outcomes], tables, experiment.remarks)


def write_experiment(experiment: Experiment, outcomes: Sequence[Outcome], folder: Path) -> tuple[Path, ...]:
    """Write what came of an experiment into a folder, as :func:`write_report` does; ``report.html`` is first.

    The values in ``report.json`` and ``times.json`` are in the order of the plans. Raises :class:`ClusterError`
    (HX8050).
    """
    compared = experiment.compare(outcomes)
    tables = (*compared.tables, _runs(outcomes))
    sections = [("Results", "", tables, compared.drawings)]
    checks = [outcome.check for outcome in outcomes]
    name = f"Experiment {experiment.name}"
    return write_files(
        folder,
        {
            "report.html": page(name, experiment.sentence, checks, sections, experiment.remarks),
            "report.txt": experiment_text(experiment, outcomes),
            "report.json": json_text({"runs": [report_value(outcome) for outcome in outcomes]}),
            "times.json": json_text({"runs": [times_value(outcome) for outcome in outcomes]}),
            **{f"{drawing.name}.svg": drawing.svg for drawing in compared.drawings},
        },
    )


def _runs(outcomes: Sequence[Outcome]) -> Table:
    """What each plan's emulation took, and whether its check passed."""
    return Table(
        "Runs",
        ("run", "peers", "schemas", "supersteps", "messages", "bytes", "wall s", "memory", "check"),
        tuple(
            (
                str(number),
                count(sum(outcome.network.peers.values())),
                count(len(outcome.network.peers)),
                count(len(outcome.supersteps)),
                count(sum(outcome.messages.values())),
                byte_count(sum(outcome.bytes.values())),
                seconds(total_seconds(outcome)),
                byte_count(outcome.times.memory),
                "passed" if outcome.check.passed else "FAILED",
            )
            for number, outcome in enumerate(outcomes, 1)
        ),
        frozenset({"check"}),
    )


def _table_1(outcomes: Sequence[Outcome]) -> Comparison:
    rows = [row for outcome in outcomes for row in _rows_1(outcome)]
    columns = ("query", "shape", "AQTT", "MQTT", "ASPL", "AQTT 2005", "MQTT 2005", "ASPL 2005", "paths", "reached")
    note = (
        "AQTT, MQTT: average and maximum translation time along a path (ms). ASPL: average semantic path length (hops)."
    )
    table = Table("Table 1: translation times and path lengths", columns, tuple(rows), frozenset(columns[:2]), note)
    return Comparison((table,), _of_each(outcomes, (_against_1, draw_hops)))


def _rows_1(outcome: Outcome) -> Iterator[tuple[str, ...]]:
    for label, query in zip(labels(outcome.queries), outcome.queries, strict=True):
        ours, theirs = translation_times(query), TABLE_1.get(query.name)
        yield (
            label,
            QUERIES.get(query.name, NOTHING),
            milliseconds(ours.average if ours.count else None),
            milliseconds(ours.maximum if ours.count else None),
            f"{query.semantic_path_length:.2f}",
            *((f"{theirs.average:,.2f}", f"{theirs.maximum:,.0f}", f"{theirs.path_length:.2f}") if theirs else _NONE),
            count(len(asked(query))),
            count(reached(query)),
        )


_NONE: Final = (NOTHING, NOTHING, NOTHING)


def _against_1(outcome: Outcome) -> Drawing:
    """Our average translation times and those of 2005, each in a panel of its own: their sizes do not compare."""
    ours = [(query.name, _average(outcome, query.name)) for query in outcome.queries]
    theirs = [(name, TABLE_1[name].average if name in TABLE_1 else None) for name, _ in ours]
    return draw_bars(
        "translation",
        "Average translation time",
        "AQTT in milliseconds, here and in 2005. The scales differ: what compares is the order of the queries.",
        {"here, ms": ours, "2005, ms": theirs},
        measured=True,
    )


def _table_2(outcomes: Sequence[Outcome]) -> Comparison:
    names = list(dict.fromkeys(query.name for outcome in outcomes for query in outcome.queries))
    columns = ("query", *(str(_schemas(outcome)) for outcome in outcomes))
    ours = {name: [(float(_schemas(outcome)), _average(outcome, name)) for outcome in outcomes] for name in names}
    theirs = {
        name: [(float(schemas), float(time)) for schemas, time in zip(TABLE_2_SCHEMAS, TABLE_2[name], strict=True)]
        for name in names
        if name in TABLE_2
    }
    note = "Average translation time over all semantic paths (ms), by the number of different schemas in the network."
    return Comparison(
        (
            Table(
                "Table 2: translation times by schemas",
                columns,
                tuple((name, *(milliseconds(time) for _, time in times)) for name, times in ours.items()),
                frozenset({"query"}),
                note,
            ),
            Table(
                "Table 2 in 2005",
                ("query", *(str(schemas) for schemas in TABLE_2_SCHEMAS)),
                tuple((name, *(f"{time:,.0f}" for _, time in times)) for name, times in theirs.items()),
                frozenset({"query"}),
                note,
            ),
        ),
        (
            draw_lines(
                "schemas",
                "Translation time by schemas",
                "Average translation time (ms) over all semantic paths, by the number of different schemas: a line for"
                " each query. The scales differ.",
                {"here, ms": _known(ours), "2005, ms": theirs},
                "different schemas in the network",
                measured=True,
            ),
        ),
    )


def _figure_12(outcomes: Sequence[Outcome]) -> Comparison:
    columns = ("query", "shape", "translation", "network", "answering", "all", "translation of all")
    rows = tuple(row for outcome in outcomes for row in _rows_12(outcome))
    note = "Average over the paths that brought items (ms). Translation and answering are measured, network is virtual."
    table = Table("Figure 12 (top): where the time goes", columns, rows, frozenset(columns[:2]), note)
    return Comparison((table,), _of_each(outcomes, (draw_breakdown, draw_arrival)))


def _rows_12(outcome: Outcome) -> Iterator[tuple[str, ...]]:
    for label, query in zip(labels(outcome.queries), outcome.queries, strict=True):
        parts = breakdown(query, outcome.plan)
        times = (parts.translation, parts.network, parts.evaluation, parts.total) if parts else (None,) * 4
        yield (
            label,
            QUERIES.get(query.name, NOTHING),
            *(milliseconds(time) for time in times),
            percent(parts.translation / parts.total if parts and parts.total else None),
        )


def _scale(outcomes: Sequence[Outcome]) -> Comparison:
    rows = []
    for outcome in outcomes:
        taken = [step.seconds for step in outcome.supersteps]
        rows.append(
            (
                count(_peers(outcome)),
                count(sum(reached(query) for query in outcome.queries)),
                count(sum(len(asked(query)) for query in outcome.queries)),
                count(_items(outcome)),
                count(sum(outcome.messages.values())),
                count(len(taken)),
                seconds(median(taken)) if taken else NOTHING,
                seconds(total_seconds(outcome)),
                byte_count(outcome.times.memory),
            )
        )
    columns = ("peers", "reached", "paths", "items", "messages", "supersteps", "s per superstep", "wall s", "memory")
    note = "Reached, paths and items are sums over the queries. Seconds per superstep are the median."
    return Comparison(
        (Table("Scale", columns, tuple(rows), note=note),),
        (draw_scale(outcomes),),
    )


def draw_scale(outcomes: Sequence[Outcome]) -> Drawing:
    """What grows with the number of peers: seconds in all and of a superstep, messages, items."""
    return draw_lines(
        "scale",
        "What grows with a network",
        "Both axes are logarithmic. Wall time is that of all parts of the work; messages and items are those of all"
        " queries.",
        {
            "wall time, s": {"": [(_peers(each), total_seconds(each)) for each in outcomes]},
            "a superstep, s": _steps(outcomes),
            "messages": {"": [(_peers(each), float(sum(each.messages.values()))) for each in outcomes]},
            "items": {"": [(_peers(each), float(_items(each))) for each in outcomes]},
        },
        "peers",
        scales="logarithmic",
        measured=True,
    )


def _steps(outcomes: Sequence[Outcome]) -> Series:
    taken = [(_peers(each), [step.seconds for step in each.supersteps]) for each in outcomes if each.supersteps]
    return {
        "median": [(peers, median(times)) for peers, times in taken],
        "longest": [(peers, max(times)) for peers, times in taken],
    }


def _churn(outcomes: Sequence[Outcome]) -> Comparison:
    columns = ("loss", "churn", "query", "items", "expected", "arrived", "complete", "reached", "lost", "departures")
    rows = tuple(row for outcome in outcomes for row in _churn_rows(outcome))
    note = "Every answer is checked: whatever did not arrive, the receipt tells that the answer is not complete."
    arrived = {
        f"by the {what}, %": {
            name: [
                (100 * _part(outcome, setting), 100 * part)
                for outcome in outcomes
                if not _part(outcome, other) and (part := _arrived(outcome, name)) is not None
            ]
            for name in dict.fromkeys(query.name for outcome in outcomes for query in outcome.queries)
        }
        for setting, other, what in (
            ("loss", "churn", "share of messages lost"),
            ("churn", "loss", "share of peers that leave"),
        )
    }
    drawing = draw_lines(
        "churn",
        "What arrives although messages are lost and peers leave",
        "Items that arrived, in percent of those that a network that loses nothing brings: a line for each query.",
        arrived,
        "percent of messages lost, of peers that leave",
        scales="shared",
    )
    return Comparison(
        (Table("Losses and churn", columns, rows, frozenset({"query", "complete"}), note),),
        (drawing,),
    )


def _churn_rows(outcome: Outcome) -> Iterator[tuple[str, ...]]:
    for label, query in zip(labels(outcome.queries), outcome.queries, strict=True):
        yield (
            percent(_part(outcome, "loss")),
            percent(_part(outcome, "churn")),
            label,
            count(query.items),
            count(query.expected),
            percent(share(query.items, query.expected)),
            "yes" if query.complete else "NO",
            count(reached(query)),
            count(outcome.lost),
            count(outcome.departures),
        )


def _of_each(outcomes: Sequence[Outcome], draws: Sequence[Callable[[Outcome], Drawing]]) -> tuple[Drawing, ...]:
    """Drawings of each outcome; their names say of which, where there are several."""
    drawings = [(number, draw(outcome)) for number, outcome in enumerate(outcomes, 1) for draw in draws]
    if len(outcomes) == 1:
        return tuple(drawing for _, drawing in drawings)
    return tuple(
        replace(drawing, name=f"{drawing.name}-{number}", title=f"{drawing.title}, run {number}")
        for number, drawing in drawings
    )


def _schemas(outcome: Outcome) -> int:
    return len(outcome.network.peers)


def _peers(outcome: Outcome) -> int:
    return sum(outcome.network.peers.values())


def _items(outcome: Outcome) -> int:
    return sum(query.items for query in outcome.queries)


def _part(outcome: Outcome, setting: str) -> float:
    value = outcome.plan.get(setting, 0)
    return float(value) if isinstance(value, int | float) else 0.0


def _named(outcome: Outcome, name: str) -> Iterator[QueryOutcome]:
    return (query for query in outcome.queries if query.name == name)


def _average(outcome: Outcome, name: str) -> float | None:
    """AQTT of a query, over the paths of all its askers."""
    spreads = [translation_times(query) for query in _named(outcome, name)]
    paths = sum(each.count for each in spreads)
    return sum(each.average * each.count for each in spreads) / paths if paths else None


def _arrived(outcome: Outcome, name: str) -> float | None:
    """The share of the items that are expected of a query that arrived, at all its askers."""
    queries = list(_named(outcome, name))
    return share(sum(query.items for query in queries), sum(query.expected for query in queries))


def _known(lines: Mapping[str, Sequence[tuple[float, float | None]]]) -> Series:
    return {name: [(place, value) for place, value in points if value is not None] for name, points in lines.items()}


EXPERIMENTS: Final[dict[str, Experiment]] = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "table-1",
            "Translation times and path lengths of the queries (the report: 128 peers under ten schemas).",
            (_REPORT,),
            _table_1,
            (_MACHINES, _QUERIES, _FORWARDING, _ONCE, _LENGTH),
        ),
        Experiment(
            "table-2",
            "Translation times of the queries by the number of schemas (the report: 128 peers, two to ten schemas).",
            tuple({**_REPORT, "schemas": schemas} for schemas in TABLE_2_SCHEMAS),
            _table_2,
            (_SCHEMAS, _MACHINES, _QUERIES, _FORWARDING, _ONCE),
        ),
        Experiment(
            "figure-12",
            "Where the time of ten queries goes, and when their answers arrive, on the network of Table 1.",
            (_REPORT,),
            _figure_12,
            (_CUT, _NETWORK, _MACHINES, _QUERIES, _FORWARDING),
        ),
        Experiment(
            "scale",
            "What an emulation takes, and what it brings, from 16 to 10,000 peers.",
            tuple({**_REPORT, "peers": peers, "hops": hops, "queries": _MOST} for peers, hops in _SIZES.items()),
            _scale,
            ("The report's networks had at most 128 peers, on 30 machines.",),
        ),
        Experiment(
            "churn",
            "What arrives when messages are lost, and when peers leave while a query runs.",
            (
                {**_REPORT, "queries": _FEW},
                *({**_REPORT, "queries": _FEW, "loss": part} for part in _PARTS),
                *({**_REPORT, "queries": _FEW, "churn": part} for part in _PARTS),
            ),
            _churn,
            ("The report does not measure what losses and churn do.",),
        ),
    )
}
"""The experiments by their names."""

"""Chunking measured: ``python -m benchmarks.chunking scenario-1|scenario-2|large``.

The scenarios are those of Lehner and Irmert; ``large`` has the first of them with 100 MB and 1 GB. Filters run on the
whole document, and bare parsers cut it; then on chunks, one after the other. ``--where`` has them run from the document
to the results in processes or on Spark. ``--figures`` says where to draw. Times are by the clock, of one run but for
cutters, which have the best of three.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from math import nan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from rich.console import Console
from rich.table import Table as Shown

from benchmarks.chunking import ejb, tables, university
from benchmarks.chunking.filters import Filter
from benchmarks.chunking.measuring import Measured, measure
from benchmarks.chunking.pipeline import Filtered, by_chunker, filtered
from benchmarks.chunking.plots import draw_deliveries, draw_spreads, draw_times, write_figures
from benchmarks.chunking.rivals import Cut, Source, Whole, by_expat, by_iterparse, whole
from benchmarks.chunking.tables import Table
from heptox.filtering import Version
from heptox.schema import SchemaGraph

TURNS: Final = 3
MOST: Final = 200_000_000
"""Up to how many bytes a whole document is parsed: its tree takes many times as much memory."""
CUTTERS: Final[Mapping[str, Callable[[Source, Sequence[str]], Cut]]] = {
    "expat byte ranges": by_expat,
    "lxml iterparse": by_iterparse,
    "heptox": by_chunker,
}


@dataclass(frozen=True, slots=True)
class Scenario:
    """A document, the filters for each number of them, and the prefixes that bare parsers cut by."""

    name: str
    document: Source
    schema: SchemaGraph
    filters: Callable[[int], Sequence[Filter]]
    prefixes: Sequence[str]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    given = _parser().parse_args(arguments)
    console = Console(width=200)
    console.print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    given.run(given, console)


def scenario_1(given: argparse.Namespace, console: Console) -> None:
    """Figures 10 and 11."""
    shares = {count: university.spread(count) for count in given.filters}
    _print(console, tables.spreads(shares))
    document = university.document(seed=given.seed)
    filters = partial(university.filters, seed=given.seed)
    scenario = Scenario("scenario 1", document, university.schema(), filters, _kinds())
    beside = {"scenario 1, heptox, with the e-mails of the others": by_chunker(document, _kinds(), beside="email")}
    _print(console, tables.cuts(beside))
    found = _scenario(given, console, scenario)
    _print(console, tables.times(found))
    if given.figures is not None:
        write_figures(given.figures, {"figure-10": partial(draw_spreads, shares)})
    if given.figures is not None and found:
        write_figures(given.figures, {"figure-11": partial(draw_times, found)})


def scenario_2(given: argparse.Namespace, console: Console) -> None:
    """Figure 12."""
    filters = partial(ejb.filters, seed=given.seed)
    scenario = Scenario("scenario 2", ejb.document(given.seed), ejb.schema(), filters, ejb.CHUNKS[6])
    found = _scenario(given, console, scenario)
    _print(console, tables.deliveries(found))
    if given.figures is not None and found:
        write_figures(given.figures, {"figure-12": partial(draw_deliveries, found)})


def large(given: argparse.Namespace, console: Console) -> None:
    """Scenario 1 with large documents, in files."""
    with TemporaryDirectory() if given.folder is None else nullcontext(given.folder) as folder:
        for megabytes in given.sizes:
            path, size = Path(folder) / f"university-{megabytes}-{given.seed}.xml", megabytes * 1_000_000
            if not path.exists():
                university.write(path, size, given.seed)
            filters = partial(university.filters, seed=given.seed, size=size)
            name = f"{megabytes:,} MB"
            scenario = Scenario(name, path, university.schema(), filters, _kinds())
            _print(console, tables.times(_scenario(given, console, scenario)))


def _kinds() -> tuple[str, ...]:
    return tuple(f"/db/{kind}" for kind in university.KILOBYTES)


def _scenario(given: argparse.Namespace, console: Console, scenario: Scenario) -> list[Measured]:
    """Print what rivals take, and measure chunking."""
    texts = {count: [each.text for each in scenario.filters(count)] for count in given.filters}
    wholes = _wholes(scenario, texts, given.sample)
    _print(console, tables.wholes(dict(wholes.values())))
    cuts = {
        f"{scenario.name}, {name}": max((cut(scenario.document, scenario.prefixes) for _ in range(TURNS)), key=_rate)
        for name, cut in CUTTERS.items()
    }
    _print(console, tables.cuts(cuts))
    seconds = {count: found.seconds for count, (_, found) in wholes.items()}
    _print(console, tables.pipelines(_pipelines(scenario, texts, given)))
    if not wholes:
        return []  # its chunks would all be held at once
    return [
        measure(
            scenario.name,
            scenario.document,
            scenario.schema,
            several,
            chunks,
            seconds.get(count, nan),
            sharing=given.sharing,
        )
        for count, several in texts.items()
        for chunks in given.chunks
    ]


def _pipelines(
    scenario: Scenario, texts: Mapping[int, Sequence[str]], given: argparse.Namespace
) -> dict[str, Filtered]:
    """What filtering takes in each place that is asked for."""
    return {
        f"{scenario.name}, {count:,} filters, {chunks} chunks, {where}, XPath {given.xpath}": filtered(
            scenario.document, scenario.schema, several, chunks, where, given.xpath
        )
        for count, several in texts.items()
        for chunks in given.chunks
        for where in given.where
    }


def _wholes(scenario: Scenario, texts: Mapping[int, Sequence[str]], sample: int) -> dict[int, tuple[str, Whole]]:
    """What the filters take on the whole document, with a label; of many filters, ``sample`` are measured."""
    if isinstance(scenario.document, Path) and scenario.document.stat().st_size > MOST:
        return {}
    found = {}
    for count, several in texts.items():
        measured = whole(scenario.document, several[:sample])
        label = f"{scenario.name}, {count:,} filters"
        if sample < count:
            found[count] = f"{label}, as {sample:,} of them", measured.with_times_as_many(count / sample)
        else:
            found[count] = label, measured
    return found


def _rate(cut: Cut) -> float:
    return cut.rate


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chunking", description="What chunking takes.")
    commands = parser.add_subparsers(required=True, metavar="scenario-1|scenario-2|large")
    for name, run, text, filters, chunks, where in (
        ("scenario-1", scenario_1, "an organization of 130,000 elements", (100, 500, 2_000), (5, 4, 3), ()),
        ("scenario-2", scenario_2, "a deployment descriptor", (100, 500, 2_000), (2, 3, 4, 5, 6), ()),
        ("large", large, "organizations of 100 MB and 1 GB", (10_000,), (5,), ("1 process", "2 processes", "local[2]")),
    ):
        command = commands.add_parser(name, help=text, description=run.__doc__)
        command.set_defaults(run=run)
        shown = ",".join(map(str, filters))
        command.add_argument("--filters", type=_numbers, default=filters, help=f"how many (default {shown})")
        shown = ",".join(map(str, chunks))
        command.add_argument("--chunks", type=_numbers, default=chunks, help=f"how many (default {shown})")
        command.add_argument("--where", type=_words, default=where, help="places to filter in: 2 processes,local[2]")
        command.add_argument("--xpath", type=Version, choices=[*Version], default=Version.ONE, help="for --where")
        command.add_argument("--sharing", action="store_true", help="evaluate what filters have in common once")
        command.add_argument("--seed", type=int, default=0, help="of documents and filters (default 0)")
        sample, which = (20, "20") if run is large else (10**9, "all")
        command.add_argument(
            "--sample", type=int, default=sample, help=f"filters on the whole document (default {which})"
        )
        if run is large:
            command.add_argument("--sizes", type=_numbers, default=(100, 1_000), help="megabytes (default 100,1000)")
            command.add_argument("--folder", type=Path, help="where documents are, and stay (default: a temporary one)")
        else:
            command.add_argument(
                "--figures", type=Path, metavar="FOLDER", help="draw what chunking took, as SVG and PNG"
            )
    return parser


def _words(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(",")))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",") if part)


def _print(console: Console, table: Table) -> None:
    if not table.rows:
        return
    shown = Shown(title=table.name, title_justify="left")
    for number, column in enumerate(table.columns):
        shown.add_column(column, justify="right" if number else "left")
    for row in table.rows:
        shown.add_row(*row)
    console.print(shown)


if __name__ == "__main__":
    main()

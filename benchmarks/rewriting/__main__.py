"""Rewriting measured: ``python -m benchmarks.rewriting [EXPERIMENT...]``; ``--help`` lists the experiments.

Times of routers are of the processor, those of emulated links virtual, those of peers by the clock. ``--json`` prints
all figures as one JSON object instead of tables.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from benchmarks.rewriting.documents import document
from benchmarks.rewriting.experiments import Experiments, Row, Sizes
from benchmarks.rewriting.front_end import IDDR, NDDR, PARSE, PLAIN, REWRITTEN, FrontEnd, front_end
from benchmarks.rewriting.inference import found_again
from benchmarks.rewriting.joining import joining
from benchmarks.rewriting.schemas import MIX, SCHEMAS, mappings, schemas
from benchmarks.rewriting.subscriptions import domain_subscriptions
from heptox.dissemination.rewriting import Publisher, Way

TARGET: Final = 0.8
"""The share of the front end without rewriting that IDDR is to keep."""
_FRONT_END_SIZE: Final = 100_000


def main() -> None:
    """Print the tables."""
    sizes = Sizes()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rewriting", description="What rewriting takes.")
    parser.add_argument("experiments", nargs="*", metavar="EXPERIMENT", help=f"of {', '.join(_names())}; else all")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    for name, default, text in (
        ("subscriptions", sizes.subscriptions, "of each router"),
        ("publishers", sizes.publishers, f"with a schema each, at most {SCHEMAS}"),
        ("turns", sizes.turns, "of each measurement, without the first"),
    ):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{text} (default {default})")
    for name, several, text in (
        ("document-sizes", sizes.document_sizes, "bytes of the documents"),
        ("subscription-sizes", sizes.subscription_sizes, "subscriptions of each router where they vary"),
        ("repetitions", sizes.repetitions, "sections of each instructor where they vary"),
    ):
        shown = ",".join(map(str, several))
        parser.add_argument(f"--{name}", type=_numbers, default=several, help=f"{text} (default {shown})")
    given = parser.parse_args()
    if unknown := set(given.experiments) - {*_names()}:
        parser.error(f"no experiment {', '.join(sorted(unknown))}")
    if not 1 <= given.publishers <= SCHEMAS or given.turns < 1:
        parser.error(f"from 1 to {SCHEMAS} publishers, and at least one turn")
    sizes = Sizes(
        given.subscriptions,
        given.publishers,
        given.turns,
        given.document_sizes,
        given.subscription_sizes,
        given.repetitions,
    )
    console = Console(width=200, file=sys.stderr if given.json else sys.stdout)
    console.print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    found = measured(given.experiments or _names(), sizes, console)
    if given.json:
        print(json.dumps(found, indent=2))


def measured(names: Iterable[str], sizes: Sizes, console: Console) -> dict[str, Any]:
    """The figures of some experiments; their tables are printed."""
    experiments = Experiments(sizes)
    found: dict[str, Any] = {}
    for name in names:
        rows = experiments.all.get(name)
        found[name] = _TABLES[name](sizes, console) if rows is None else _responses(name, rows(), console)
    return found


def _names() -> tuple[str, ...]:
    return "operators", *Experiments(Sizes()).all, "joining", "front-end"


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


# -- tables ------------------------------------------------------------------------------------------------------


def _responses(name: str, rows: Iterable[Row], console: Console) -> list[dict[str, Any]]:
    """The response times of an experiment."""
    ways = [f"{way.upper()} ms" for way in Way]
    columns = ("", *ways, "NDDR under SDR", "IDDR under SDR", "IDDR under NDDR", "deliveries", "paper")
    shown, found = [], []
    for row in rows:
        gains = [row.gain(*pair) for pair in ((Way.NDDR, Way.SDR), (Way.IDDR, Way.SDR), (Way.IDDR, Way.NDDR))]
        times = [
            f"{1000 * each.seconds:.1f} = {1000 * each.querying:.1f} + {1000 * each.transmitting:.1f}"
            for each in row.found.values()
        ]
        deliveries = row.found[Way.SDR].deliveries
        shown.append((row.setting, *times, *(f"{gain:.0%}" for gain in gains), f"{deliveries:,}", row.paper))
        by_way = {
            way.value: {"querying_ms": 1000 * each.querying, "transmitting_ms": 1000 * each.transmitting}
            for way, each in row.found.items()
        }
        found.append({"experiment": row.experiment, "setting": row.setting, "deliveries": deliveries, **by_way})
    _print(console, f"{name}: response time = querying + transmitting", columns, shown)
    return found


def _operators(_: Sizes, console: Console) -> dict[str, Any]:
    """What inference finds of the operators."""
    known = schemas()
    found = found_again(known, [*map(Publisher, mappings(known))])
    rows: list[tuple[str, ...]] = [
        (kind, f"{found.undone[kind]}", f"{found.again[kind]}", f"{found.besides[kind]}")
        for kind in (*MIX, *sorted(found.besides.keys() - MIX.keys()))
    ]
    rows.append(("all", *(f"{counter.total()}" for counter in (found.undone, found.again, found.besides))))
    _print(console, "operators", ("kind", "undone", "found again", "found besides"), rows)
    console.print(f"{found.programs} of {len(known)} mappings have a program, {found.maps} a map of tag paths")
    for line in (*found.reasons, *(f"{name}: {one}; {'; '.join(map(str, rest))}" for name, one, rest in found.instead)):
        console.print(line, soft_wrap=True, markup=False)
    return {
        "undone": found.undone,
        "found again": found.again,
        "found besides": found.besides,
        "programs": found.programs,
        "maps": found.maps,
        "reasons": found.reasons,
    }


def _joining(sizes: Sizes, console: Console) -> list[dict[str, Any]]:
    """What it takes when a schema joins."""
    shown, found = [], []
    for number in sizes.subscription_sizes:
        for way in (Way.QRA, Way.NDDR, Way.IDDR):
            one = joining(schemas()[0], number, way)
            shown.append(
                (
                    f"{number:,}",
                    way.upper(),
                    f"{one.touched:,}",
                    f"{1000 * one.seconds:,.0f}",
                    f"{one.kept / 1e3:,.0f}",
                    f"{one.before / 1e3:,.0f}",
                    f"{one.sent:,}",
                )
            )
            found.append(
                {
                    "subscriptions": number,
                    "way": way,
                    "touched": one.touched,
                    "ms": 1000 * one.seconds,
                    "kept_bytes": one.kept,
                    "before_bytes": one.before,
                    "sent_bytes": one.sent,
                }
            )
    columns = ("subscriptions", "way", "touched", "ms", "kept KB", "before, KB", "mapping, bytes")
    _print(console, "joining: one schema more", columns, shown)
    return found


def _front_end(sizes: Sizes, console: Console) -> dict[str, Any]:
    """The front end with rewriting and without."""
    chosen = [schemas()[number] for number in sizes.chosen]
    texts = domain_subscriptions(sizes.subscriptions)
    several: list[FrontEnd] = []
    for schema, mapping in zip(chosen, mappings(tuple(chosen)), strict=True):
        publisher = Publisher(mapping)
        if publisher.paths.root is not None:
            data = document(schema, _FRONT_END_SIZE).encode()
            several.append(front_end(publisher, publisher.paths.root, data, texts, sizes.turns))
    rows, found = [], {}
    for stage in (PARSE, PLAIN, REWRITTEN, IDDR, NDDR):
        figures = {}
        for parsed in (False, True):
            if stage == PARSE and not parsed:
                continue
            rates = [each.rate(stage, parsed=parsed) for each in several]
            shares = [each.share(stage, parsed=parsed) for each in several]
            label = "alone" if parsed else "with parsing"
            figures[label] = {"rate": statistics.mean(rates), "share": statistics.mean(shares), "least": min(shares)}
        rows.append((stage, *_front_end_cells(figures.get("with parsing")), *_front_end_cells(figures.get("alone"))))
        found[stage] = figures
    columns = ("", "with parsing MB/s", "÷ as it is", "least", "alone MB/s", "÷ as it is", "least")
    _print(console, f"front-end (target: IDDR at {TARGET:.0%} of reading as it is)", columns, rows)
    return found


def _front_end_cells(figures: dict[str, float] | None) -> Sequence[str]:
    if figures is None:
        return "", "", ""
    return f"{figures['rate']:.1f}", f"{figures['share']:.2f}", f"{figures['least']:.2f}"


def _print(console: Console, title: str, columns: Iterable[str], rows: Iterable[Sequence[str]]) -> None:
    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left")
    for row in rows:
        table.add_row(*row)
    console.print(table)


_TABLES: Final[dict[str, Callable[[Sizes, Console], Any]]] = {
    "operators": _operators,
    "joining": _joining,
    "front-end": _front_end,
}


if __name__ == "__main__":
    main()

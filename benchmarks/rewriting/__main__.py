"""Rewriting measured: ``python -m benchmarks.rewriting [EXPERIMENT...]``; ``--help`` lists the experiments.

Times of routers are of the processor, those of emulated links virtual, those of peers by the clock. ``--json`` prints
all figures as one JSON object instead of tables; ``--write`` puts the tables into a page, between the comments that
name them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.rewriting.experiments import Sizes
from benchmarks.rewriting.schemas import SCHEMAS
from benchmarks.rewriting.tables import Measured, measurements
from benchmarks.translation import put, table


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = _parser()
    given = parser.parse_args(arguments)
    sizes = Sizes(
        given.subscriptions,
        given.publishers,
        given.turns,
        given.document_sizes,
        given.subscription_sizes,
        given.repetitions,
    )
    known = measurements(sizes)
    if unknown := set(given.experiments) - known.keys():
        parser.error(f"no experiment {', '.join(sorted(unknown))}")
    if not 1 <= given.publishers <= SCHEMAS or given.turns < 1:
        parser.error(f"from 1 to {SCHEMAS} publishers, and at least one turn")
    console = Console(width=200, file=sys.stderr if given.json else sys.stdout)
    console.print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    data = {}
    for name in given.experiments or known:
        found = known[name]()
        data[name] = found.data
        _print(console, found)
        if given.write is not None:
            put(given.write, f"rewriting {name}", table(found.columns, found.rows))
    if given.json:
        print(json.dumps(data, indent=2))


def _parser() -> argparse.ArgumentParser:
    sizes = Sizes()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rewriting", description="What rewriting takes.")
    names = ", ".join(measurements(sizes))
    parser.add_argument("experiments", nargs="*", metavar="EXPERIMENT", help=f"of {names}; else all")
    parser.add_argument("--json", action="store_true", help="print JSON, and the tables on stderr")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="a page that has the comments of the tables")
    for name, default, text in (
        ("subscriptions", sizes.subscriptions, "of each router"),
        ("publishers", sizes.publishers, f"with a schema each, at most {SCHEMAS}"),
        ("turns", sizes.turns, "of each measurement, without the first"),
    ):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{text} (default {default})")
    for name, several, text in (
        ("document-sizes", sizes.document_sizes, "bytes of documents where they vary"),
        ("subscription-sizes", sizes.subscription_sizes, "subscriptions of each router where they vary"),
        ("repetitions", sizes.repetitions, "sections of each instructor where they vary"),
    ):
        shown = ",".join(map(str, several))
        parser.add_argument(f"--{name}", type=_numbers, default=several, help=f"{text} (default {shown})")
    return parser


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def _print(console: Console, found: Measured) -> None:
    shown = Table(title=found.title, title_justify="left")
    for number, column in enumerate(found.columns):
        shown.add_column(column, justify="right" if number else "left")
    for row in found.rows:
        shown.add_row(*row)
    console.print(shown)
    for remark in found.remarks:
        console.print(remark, soft_wrap=True, markup=False)


if __name__ == "__main__":
    main()

"""Routing measured: ``python -m benchmarks.routing index [--subscriptions N] [--advertised]``.

``values`` in place of ``index`` is for subscriptions of one path that differ in their constants.

Times depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import os
import platform

from rich.console import Console
from rich.table import Table

from benchmarks.routing.index import CHANGES, measured, quantiles
from benchmarks.routing.workload import LEAST_LABELS, VALUED, nitf, paths, valued
from heptox.dissemination.routing import advertised

PAPER = {"A": "90 %", "B": "50 %"}
"""Section 6: the share of subscriptions that others cover."""
SIZES = (10_000, 20_000, 50_000, 100_000)
VALUED_SIZES = (2_000, 20_000, 100_000)


def index(most: int, console: Console, *, over_advertised: bool) -> None:
    """The size of the routing table, and what changes take."""
    advertisement = advertised(nitf()) if over_advertised else None
    table = Table(title="Covering over " + ("advertised paths" if over_advertised else "any document"))
    columns = ("set", "subscriptions", "roots", "covered", "paper", "build s", "add ms", "remove ms", "remove root ms")
    for column in (*columns, "decided"):
        table.add_column(column, justify="right")
    for name, least in LEAST_LABELS.items():
        subscriptions = paths(least, most + CHANGES)
        for size in (*(size for size in SIZES if size < most), most):
            found = measured(subscriptions, size, advertisement)
            row = (
                name,
                f"{size:,}",
                f"{found.roots:,}",
                f"{1 - found.roots / size:.1%}",
                PAPER[name],
                f"{found.building:.1f}",
                *map(quantiles, (found.adding, found.removing, found.removing_roots)),
                f"{found.decisions:.2f}",
            )
            table.add_row(*row)
            console.print(*row)
    console.print(table)
    console.print("Milliseconds: p50 / p99 / worst. Decided: candidates for each subscription that was added.")


def values(most: int, console: Console) -> None:
    """What subscriptions take that differ in their constants only."""
    for text in VALUED:
        subscriptions = valued(text, most + CHANGES)
        for size in (*(size for size in VALUED_SIZES if size < most), most):
            found = measured(subscriptions, size)
            times = map(quantiles, (found.adding, found.removing))
            console.print(
                text, f"{size:,}", f"{found.roots:,}", f"{found.building:.2f}", *times, sep=" | ", markup=False
            )
    console.print("Subscriptions, roots, seconds to build; milliseconds to add and to remove: p50 / p99 / worst.")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.routing", description="What routing decisions take.")
    parser.add_argument("experiment", choices=("index", "values"))
    parser.add_argument("--subscriptions", type=int, default=100_000, help="at most so many (default 100000)")
    parser.add_argument("--advertised", action="store_true", help="cover over the advertised paths of NITF")
    given = parser.parse_args()
    if given.subscriptions < CHANGES:
        parser.error(f"at least {CHANGES} subscriptions")
    console = Console(width=160)
    console.print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    if given.experiment == "values":
        values(given.subscriptions, console)
    else:
        index(given.subscriptions, console, over_advertised=given.advertised)


if __name__ == "__main__":
    main()

"""Matching measured: ``python -m benchmarks.matching experiment1|experiment2 [--subscriptions N] [--turns N]``.

Times depend on what else the machine does; what counts are ratios of the same run.
"""

from __future__ import annotations

import argparse
import os
import platform

from rich.console import Console
from rich.table import Table

from benchmarks.matching.experiments import CHOSEN, HAND, branching, sizes, stock
from heptox.matching import PLANS

PAPER = {1_000: (56, 107, 26.3), 10_000: (61, 154, 44.6), 100_000: (70, 504, 195), 1_000_000: (161, 2369, 1210)}
"""Table 5.1: seconds of Unroll, Share and Share-Bucket, by notifications, with reading the messages."""
PAPER_SCALE = {100_000: (52, 101, 75), 200_000: (55, 221, 119), 1_000_000: (70, 504, 195)}
"""Table 5.2: the same by subscriptions."""
PAPER_PATHS = {130_000: "6,565 in 7 s", 700_000: "21,637 in 20 s", 1_400_000: "32,159 in 29 s"}


def experiment1(subscriptions: int, turns: int, console: Console, *, shared: bool) -> None:
    """Tables 5.1 and 5.2."""
    plans = PLANS if shared else tuple(plan for plan in PLANS if plan != "shared")
    rows = [
        (subscriptions, wanted, symbols, PAPER.get(wanted) if symbols == 500 else None)
        for symbols in (500, 5000)
        for wanted in PAPER
        if wanted <= subscriptions
    ]
    rows += [(size, size // 10, 500, PAPER_SCALE[size]) for size in PAPER_SCALE if size < subscriptions]
    table = Table(title="Experiment 1: 10,000 messages")
    for name in ("subscriptions", "symbols", "notifications", "load s", "read s", f"{HAND} s", "chosen", "÷ hand"):
        table.add_column(name, justify="right")
    for plan in plans:
        table.add_column(f"{plan} ÷ hand", justify="right")
    table.add_column("paper: unroll, share, bucket s")
    for size, wanted, symbols, paper in rows:
        found = stock(size, wanted, symbols, plans, turns)
        table.add_row(
            f"{size:,}",
            f"{symbols:,}",
            f"{found.notifications:,}",
            f"{found.loading:.1f}",
            f"{found.reading:.2f}",
            f"{found.seconds[HAND]:.3f}",
            found.plan,
            f"{found.ratios[CHOSEN]:.2f}",
            *(f"{found.ratios[plan]:.2f}" for plan in plans),
            "" if paper is None else ", ".join(map(str, paper)),
        )
        console.print(f"{size:,} {symbols:,} {found.notifications:,}: {found.plan} {found.ratios}")
    console.print(table)


def experiment2(most: int, documents: int, turns: int, console: Console) -> None:
    """Table 5.4 and Figure 5.2."""
    table = Table(title=f"Experiment 2 in shape: {documents:,} documents")
    names = ("subscriptions", "predicates", "linear paths", "load s", "PathMatch s", "read ms", "chosen")
    for name in (*names, "shared ms", "unrolled ms", "notifications"):
        table.add_column(name, justify="right")
    for size in sizes(most):
        found = branching(size, documents, turns=turns)
        table.add_row(
            f"{found.subscriptions:,}",
            f"{found.predicates:,}",
            f"{found.linear_paths:,}",
            f"{found.loading:.0f}",
            f"{found.path_match:.2f}",
            f"{found.reading:.2f}",
            found.plan,
            f"{found.milliseconds['shared']:.2f}",
            f"{found.milliseconds['unrolled']:.2f}",
            f"{found.notifications:,}",
        )
        console.print(f"{found}")
    console.print(table)
    console.print(f"the paper's distinct linear paths, and PathMatch: {PAPER_PATHS}")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.matching", description="What matching takes.")
    parser.add_argument("experiment", choices=("experiment1", "experiment2"))
    parser.add_argument("--subscriptions", type=int, default=1_000_000, help="at most so many (default 1000000)")
    parser.add_argument("--documents", type=int, default=500, help="of experiment 2 (default 500)")
    parser.add_argument("--turns", type=int, default=5, help="how often each is measured (default 5)")
    parser.add_argument("--without-shared", action="store_true", help="leave the slowest plan of experiment 1 out")
    given = parser.parse_args()
    console = Console(width=160)
    console.print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    if given.experiment == "experiment1":
        experiment1(given.subscriptions, given.turns, console, shared=not given.without_shared)
    else:
        experiment2(given.subscriptions, given.documents, given.turns, console)


if __name__ == "__main__":
    main()

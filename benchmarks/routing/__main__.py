"""Routing measured: ``python -m benchmarks.routing EXPERIMENT``; ``--help`` lists the experiments.

``values`` in place of ``index`` is for subscriptions of one path that differ in their constants.

Times depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from typing import Final

from rich.console import Console
from rich.table import Table

from benchmarks.routing.feed_experiments import FeedExperiment, Traffic, measure_all
from benchmarks.routing.index import CHANGES, measured, quantiles
from benchmarks.routing.methods import METHODS
from benchmarks.routing.table import table_sizes
from benchmarks.routing.times import Times, routing_times
from benchmarks.routing.traffic import (
    KINDS,
    SUBSCRIPTIONS,
    Links,
    Size,
    of_kind,
    on_a_network,
    on_the_tree,
    random_cubic,
    random_tree,
)
from benchmarks.routing.workload import LEAST_LABELS, VALUED, nitf, paths, valued
from heptox.cluster.session import spark_session
from heptox.routing import advertised

COVERED: Final = {"A": "90 %", "B": "50 %"}
"""Section 6: the share of subscriptions that others cover."""
MESSAGES: Final = {"neither": 58_138, "covering": 50_931, "advertisements": 39_849, "both": 38_492}
"""Section 6.3, Table 4: messages that brokers receive, of PSD, those of clients among them."""
TRIAL: Final[dict[str, dict[str, int]]] = {
    "any": {"neither": 41_892, "covering": 36_228, "advertisements": 22_900, "both": 21_848},
    "A": {"neither": 40_610, "covering": 36_320, "advertisements": 21_618, "both": 20_814},
    "B": {"neither": 34_024, "covering": 33_995, "advertisements": 15_032, "both": 15_044},
}
"""The paper's protocol with such subscriptions: where there are no advertisements they go to all brokers, and documents
are routed path by path."""
MILLISECONDS: Final = {"A": ("13.96", "2.15"), "B": ("14.23", "7.47")}
"""Section 6.2, Table 3: for each publication against 100,000 subscriptions, without covering and with it."""
SIZES: Final = (10_000, 20_000, 50_000, 100_000)
GROWING: Final = (1000, 2000, 5000, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000, 80_000, 100_000)
VALUED_SIZES: Final = (2_000, 20_000, 100_000)
SETS: Final = {"any": 0, **LEAST_LABELS}
"""How many names the subscriptions of a set have at least."""


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
                COVERED[name],
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


def table(given: argparse.Namespace, console: Console) -> None:
    """The size of the routing table against the number of subscriptions, over any document and advertised paths."""
    rows = (
        (over, name, f"{row.subscriptions:,}", f"{row.roots:,}", f"{1 - row.roots / row.subscriptions:.1%}",
         f"{row.seconds:.1f}")
        for over in ("any document", "advertised paths")
        for name, least in LEAST_LABELS.items()
        for row in table_sizes(
            least,
            [size for size in GROWING if size <= given.subscriptions],
            over_advertised=over == "advertised paths",
            most_seconds=given.seconds,
        )
    )  # fmt: skip
    _print(console, "Routing table", ("over", "set", "subscriptions", "table", "covered", "s"), rows)


def traffic(given: argparse.Namespace, console: Console) -> None:
    """Messages on the paper's tree, by kind, for the four methods."""
    columns = (
        "set",
        "method",
        *KINDS,
        "clients",
        "as counted there",
        "paper (PSD)",
        "trial",
        "notifications",
        "most told",
    )

    def rows() -> Iterable[tuple[str, ...]]:
        named = [(name, label) for name in SETS for label in METHODS]
        experiments = [on_the_tree(METHODS[label], SETS[name], given.pause) for name, label in named]
        for (name, label), found in zip(named, _measured(experiments, given.master), strict=True):
            kinds = [of_kind(found, kind) for kind in KINDS]
            routed = sum(of_kind(found, kind) for kind in ("subscribe", "unsubscribe", "documents", "announce"))
            clients = 4 * SUBSCRIPTIONS + 50
            figures = (*kinds, clients, routed + clients, MESSAGES[label], TRIAL[name][label])
            figures = (*figures, len(found.delivered), found.most_told)
            yield name, label, *(f"{figure:,}" for figure in figures)

    _print(console, "Messages on the tree of 8 brokers", columns, rows())


def network(given: argparse.Namespace, console: Console) -> None:
    """Messages between very many brokers, on a random tree and a random graph in which each has three links."""
    size = Size(given.brokers, given.publishers, given.subscribers, given.each, given.documents)
    graphs: dict[str, Links] = {"tree": random_tree(size.brokers), "three links": random_cubic(size.brokers)}
    columns = ("graph", "method", *KINDS, "all", "notifications", "most told", "mean told", "unreached", "s")

    def row(graph: str, label: str, found: Traffic) -> tuple[str, ...]:
        kinds = [of_kind(found, kind) for kind in KINDS]
        figures = (*kinds, sum(found.messages.values()), len(found.delivered), found.most_told)
        return (
            graph,
            label,
            *(f"{figure:,}" for figure in figures),
            f"{found.mean_told:.1f}",
            f"{found.unreached:,}",
            (f"{found.seconds:.0f}"),
        )

    named = [(graph, label) for graph in graphs for label in METHODS]
    experiments = [on_a_network(METHODS[label], graphs[graph], size) for graph, label in named]
    measured = zip(named, _measured(experiments, given.master), strict=True)
    rows = (row(graph, label, found) for (graph, label), found in measured)
    _print(console, f"Messages between {size.brokers:,} brokers", columns, rows)


def _measured(experiments: Sequence[FeedExperiment], master: str | None) -> Iterator[Traffic]:
    """What experiments take, in this process or on Spark."""
    with nullcontext() if master is None else spark_session(master, name="benchmarks.routing") as spark:
        yield from measure_all(experiments, spark)


def routing_time(given: argparse.Namespace, console: Console) -> None:
    """What it takes to route a document, with covering and without it, and what a linear scan takes."""
    columns = ("set", "subscriptions", "covering", "table", "cold ms", "warm ms", "cold µs a path", "warm µs a path",
               "scan ms", "scan µs a path", "paper ms a path")  # fmt: skip

    def row(name: str, size: int, covering: str, times: Times, paper: str) -> tuple[str, ...]:
        each = (times.cold, times.warm, *map(times.of_a_path, (times.cold, times.warm)))
        scan = (f"{times.scan:,.0f}", f"{times.of_a_path(times.scan):,.0f}")
        return name, f"{size:,}", covering, f"{times.table:,}", *(f"{one:.2f}" for one in each), *scan, paper

    def rows() -> Iterable[tuple[str, ...]]:
        for name, least in LEAST_LABELS.items():
            for size in (size for size in (10_000, 100_000) if size <= given.subscriptions):
                for covering, times, paper in zip(
                    ("no", "yes"), routing_times(least, size), MILLISECONDS[name], strict=True
                ):
                    yield row(name, size, covering, times, paper if size == 100_000 else "")

    _print(console, "Routing a document", columns, rows())


def _print(console: Console, title: str, columns: Iterable[str], rows: Iterable[tuple[str, ...]]) -> None:
    """Each row as it is known, and then all of them as a table."""
    table = Table(title=title)
    for column in columns:
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(*row)
        console.print(*row, soft_wrap=True)
    console.print(table)


EXPERIMENTS: Final[dict[str, Callable[[argparse.Namespace, Console], None]]] = {
    "index": lambda given, console: index(given.subscriptions, console, over_advertised=given.advertised),
    "values": lambda given, console: values(given.subscriptions, console),
    "table": table,
    "traffic": traffic,
    "network": network,
    "routing-time": routing_time,
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.routing", description="What routing takes, and saves.")
    parser.add_argument("experiment", choices=tuple(EXPERIMENTS))
    parser.add_argument("--subscriptions", type=int, default=100_000, help="at most so many (default 100000)")
    parser.add_argument("--advertised", action="store_true", help="index: cover over the advertised paths of NITF")
    parser.add_argument("--seconds", type=float, default=300.0, help="table: of each column, at most (default 300)")
    parser.add_argument("--pause", type=float, default=0.01, help="traffic: s between subscriptions (default 0.01)")
    parser.add_argument("--master", help="traffic, network: on Spark, such as local[2]; else in this process")
    size = Size()
    for name, default, text in (
        ("brokers", size.brokers, "brokers"),
        ("publishers", size.publishers, "of these publish"),
        ("subscribers", size.subscribers, "of these subscribe"),
        ("each", size.subscriptions, "subscriptions of each subscriber"),
        ("documents", size.documents, "documents of each publisher"),
    ):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"network: {text} (default {default})")
    given = parser.parse_args()
    if given.subscriptions < CHANGES:
        parser.error(f"at least {CHANGES} subscriptions")
    console = Console(width=200)
    console.print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    EXPERIMENTS[given.experiment](given, console)


if __name__ == "__main__":
    main()

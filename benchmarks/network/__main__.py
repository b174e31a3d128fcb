"""Times of peers that ask each other over libp2p on one machine: ``python -m benchmarks.network [--write PAGE]``.

Four daemons in a row, ``heptox peer start`` each, asked at the control API of the first one. ``--write`` puts the
tables into a page, between the comments that name them. It runs on Linux, which tells of memory and processor time.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Final

from benchmarks.network.measuring import Results, Sizes, Times, measure
from benchmarks.translation import processor, show, table

FIRST_TARGET: Final = 60
"""Milliseconds to the first answer over three hops at most."""
RATE_TARGET: Final = 20
"""Megabytes a second of answers over three hops at least."""


def machine(_: Results) -> str:
    """What the times were taken on."""
    return (
        f"Wall-clock times; Python {platform.python_version()}, libp2p {version('libp2p')}; {os.cpu_count()} "
        f"processors ({processor()}) for all peers and the client, on average {os.getloadavg()[2]:.1f} processes "
        "wanted one.\n"
    )


def hops(found: Results) -> str:
    """Milliseconds to a first answer and to the last, over one hop and more."""
    rows = []
    for name, several in (("asked before", found.hops), ("new", found.new)):
        for number, times in enumerate(several, 1):
            target = str(FIRST_TARGET) if number == len(several) else ""
            rows.append([f"{number} {'hop' if number == 1 else 'hops'}, {name}", *_cells(times), target])
    return table(["", "first answer, ms", "least", "last answer, ms", "least", "target for the first"], rows)


def _cells(times: Times) -> list[str]:
    return [_milliseconds(one) for one in (times.first, times.least_first, times.last, times.least_last)]


def breakdown(found: Results) -> str:
    """Where the time of a query over all hops goes."""
    new, known, work = found.new[-1].last, found.hops[-1].last, found.breakdown
    rest = new - work.translation - work.planning - work.evaluation
    return table(
        ["", "new, ms", "asked before, ms"],
        [
            ["translation, all hops", _milliseconds(work.translation), _milliseconds(0)],
            ["plans, all peers", _milliseconds(work.planning), _milliseconds(0)],
            ["evaluation, all peers", _milliseconds(work.evaluation), _milliseconds(work.evaluation)],
            ["network, control API, and all else", _milliseconds(rest), _milliseconds(known - work.evaluation)],
            ["last answer", _milliseconds(new), _milliseconds(known)],
        ],
    )


def bulk(found: Results) -> str:
    """A large answer over all hops, beside plain streams."""
    one = found.bulk
    size = one.size / 1e6
    names = [f"peer {number}" for number in range(len(one.processor))]
    return (
        table(
            ["", "MB", "seconds", "MB a second", "target", "÷ plain streams"],
            [
                [
                    "heptox",
                    f"{size:.0f}",
                    f"{one.seconds:.1f}",
                    f"{size / one.seconds:.0f}",
                    str(RATE_TARGET),
                    f"{one.relayed / one.seconds:.2f}",
                ],
                ["plain streams of libp2p", f"{size:.0f}", f"{one.relayed:.1f}", f"{size / one.relayed:.0f}", "", ""],
            ],
        )
        + "\n"
        + table(
            ["seconds of processor", *names],
            [["for it", *(f"{seconds:.1f}" for seconds in one.processor)]],
        )
    )


def slow(found: Results) -> str:
    """Memory of the peers while a slow asker reads."""
    one = found.slow
    names = ["asker", *(f"relay {number}" for number in range(1, len(one.most) - 1)), "last peer"]
    rows = [
        [name, f"{early:.0f}", f"{most:.0f}", f"{most - early:.1f}"]
        for name, early, most in zip(names, one.early, one.most, strict=True)
    ]
    head = [f"{one.read:.0f} MB read", "memory early on, MB", "at most later, MB", "more by"]
    return table(head, rows)


def at_once(found: Results) -> str:
    """Many queries at once."""
    one = found.at_once
    row = [str(one.queries), f"{one.seconds:.2f}", f"{one.queries / one.seconds:.0f}", _milliseconds(one.median)]
    return table(["queries over three hops at once", "seconds for all", "queries a second", "median of one, ms"], [row])


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f}"


TABLES: Final[dict[str, Callable[[Results], str]]] = {
    "machine": machine,
    "hops": hops,
    "breakdown": breakdown,
    "bulk": bulk,
    "slow": slow,
    "at once": at_once,
}


def main() -> None:
    """Print the tables, or write them into a page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.network", description="Times of a chain of peers.")
    parser.add_argument("--megabytes", type=int, default=100, help="of the large answer (default 100)")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="a page that has the comments of the tables")
    arguments = parser.parse_args()
    found = measure(Sizes(large=1000 * arguments.megabytes))
    for name, make in TABLES.items():
        show(name, make(found), arguments.write)


if __name__ == "__main__":
    main()

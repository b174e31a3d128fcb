"""Times of what a peer does, on the generated hospitals: ``python -m benchmarks [--patients N]``.

Each row is repeated for about a second, at least three times; the table says the median, the least and the number of
runs. Nothing is kept warm for a row but what its column ``what`` leaves out.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import heptox.demo
from heptox.demo.records import records
from heptox.grammar import parse_query
from heptox.mapping import exchange, load_mapping
from heptox.store import evaluate
from heptox.translate import Direction, translate
from heptox.xml import parse_document

HOSPITAL = Path(heptox.demo.__file__).parent / "hospital"
SECONDS = 1.0
LEAST_RUNS = 3


@dataclass(frozen=True, slots=True)
class Row:
    """Something to time; ``run`` does it once."""

    what: str
    run: Callable[[], object]


def rows(patients: int) -> Iterator[Row]:
    """What is timed, each row ready to run."""
    help_command = [sys.executable, "-m", "heptox", "--help"]
    yield Row(
        "heptox --help, a process of its own", lambda: subprocess.run(help_command, check=True, capture_output=True)
    )
    arrows = HOSPITAL / "montreal-boston.arrows"
    yield Row("load the mapping Montreal to Boston", lambda: load_mapping(arrows))
    mapping = load_mapping(arrows)
    for name, direction in (("example1", "target"), ("treatments", "target"), ("example2", "source")):
        query = parse_query((HOSPITAL / "queries" / f"{name}.xq").read_text(encoding="utf-8"))
        to = Direction(direction)
        yield Row(f"translate {name} to the {direction}", lambda query=query, to=to: translate(mapping, query, to))  # type: ignore[misc]
    text = records("montreal", patients)
    size = f"{patients} patients, {len(text) / 1e6:.1f} MB"
    yield Row(f"read a document of Montreal ({size})", lambda: parse_document(text))
    document = parse_document(text)
    yield Row(f"exchange it to Boston ({size})", lambda: exchange(mapping, document))
    for name in ("example1", "treatments"):
        query = parse_query((HOSPITAL / "queries" / f"{name}.xq").read_text(encoding="utf-8"))
        yield Row(f"evaluate {name} on it ({size})", lambda query=query: list(evaluate(query, [document])))  # type: ignore[misc]


def timed(run: Callable[[], object]) -> list[float]:
    """The seconds of each run."""
    times: list[float] = []
    while len(times) < LEAST_RUNS or sum(times) < SECONDS:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return times


def main() -> None:
    """Print the table, row by row."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Times of what a peer does.")
    parser.add_argument(
        "--patients", type=int, default=10_000, help="how many a generated hospital has (default 10000)"
    )
    print(f"{'what':<62} {'median ms':>10} {'least ms':>10} {'runs':>6}")
    for row in rows(parser.parse_args().patients):
        times = [seconds * 1000 for seconds in timed(row.run)]
        print(f"{row.what:<62} {statistics.median(times):>10.1f} {min(times):>10.1f} {len(times):>6}", flush=True)


if __name__ == "__main__":
    main()

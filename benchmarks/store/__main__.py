"""Times and sizes of the store beside other engines: ``python -m benchmarks.store [--sizes 1,10] [--write PAGE]``.

Documents of the auction schema are generated, loaded, and asked six queries, by heptox, BaseX and Saxon, each in
processes of its own, one after the other. A query's time is the median of the second half of its runs, from its text to
its serialised items. The answers of all have to be equal as sets. ``--write`` puts the tables into a page, between the
comments that name them. A rival that is not installed is left out.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import duckdb
from saxonche import PySaxonProcessor

from benchmarks.store import basex, saxon_java
from benchmarks.store.measuring import (
    BASEX_DISK,
    BASEX_MEMORY,
    HEPTOX,
    SAXON,
    SAXON_JAVA,
    SAXON_JAVA_MAPS,
    SAXON_MAPS,
    Results,
    measure,
)
from benchmarks.store.workload import QUERIES
from benchmarks.translation import processor, show, table

LOAD_TARGET: Final = 0.9
ENGINES: Final = (HEPTOX, BASEX_MEMORY, BASEX_DISK, SAXON, SAXON_MAPS, SAXON_JAVA, SAXON_JAVA_MAPS)


def loads(found: Sequence[Results]) -> str:
    """Seconds, memory and file of loads with indexing; Saxon's, which has no indexes, is not compared."""
    rows = []
    for results in found:
        rivals = [results.loads[engine].seconds for engine in (BASEX_MEMORY, BASEX_DISK) if engine in results.loads]
        for engine, load in results.loads.items():
            ratio = f"{load.seconds / min(rivals):.2f}" if engine == HEPTOX and rivals else ""
            size = "" if load.size is None else f"{load.size:.1f}"
            memory = "" if load.memory is None else f"{load.memory:.0f}"
            target = str(LOAD_TARGET) if ratio else ""
            rows.append(
                [f"{results.megabytes:.1f} MB, {engine}", _milliseconds(load.seconds), memory, size, ratio, target]
            )
    return table(["document, engine", "ms", "memory, MB", "file, MB", "÷ fastest BaseX", "target"], rows)


def reopening(found: Sequence[Results]) -> str:
    """Milliseconds from a closed store to a first answer."""
    rows = [[f"{results.megabytes:.1f} MB", _milliseconds(results.reopening), "30"] for results in found]
    return table(["document", "ms", "target"], rows)


def queries(found: Sequence[Results]) -> str:
    """Warm medians of the six queries for each engine, and the ratio to the fastest rival."""
    rows = []
    for results in found:
        for asked in QUERIES:
            times = results.queries[asked]
            cells = [_cell(times, engine) for engine in ENGINES]
            rows.append([f"{results.megabytes:.1f} MB, {asked.shape}", *cells, _ratio(times), str(asked.target)])
    return table(["document, query", *ENGINES, "÷ fastest", "target"], rows)


def once(found: Sequence[Results]) -> str:
    """Milliseconds of whole processes, from a file to its answer."""
    engines = [engine for engine in ENGINES if engine != BASEX_DISK]
    rows = []
    for results in found:
        for asked, times in results.once.items():
            cells = [_cell(times, engine) for engine in engines]
            rows.append([f"{results.megabytes:.1f} MB, {asked.shape}", *cells, _ratio(times)])
    return table(["document, query", *engines, "÷ fastest"], rows)


def _cell(times: dict[str, float | str], engine: str) -> str:
    time = times.get(engine, "")
    return time if isinstance(time, str) else _milliseconds(time)


def _ratio(times: dict[str, float | str]) -> str:
    """How many times as long as the fastest rival heptox takes."""
    rivals = [time for engine, time in times.items() if engine != HEPTOX and not isinstance(time, str)]
    ours = times[HEPTOX]
    return f"{ours / min(rivals):.2f}" if rivals and not isinstance(ours, str) else ""


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.{2 if seconds < 0.01 else 0}f}"


def machine(_found: Sequence[Results]) -> str:
    """What the times were taken on, and with what."""
    with PySaxonProcessor(license=False) as saxon:
        saxon_version = saxon.version.removesuffix(" from Saxonica")
    rivals = [basex.version() if basex.java() else "BaseX is not installed and left out", saxon_version]
    if saxon_java.java():
        rivals.append(saxon_java.version())
    return (
        f"Times in milliseconds; Python {platform.python_version()}, DuckDB {duckdb.__version__}; {', '.join(rivals)}; "
        f"{os.cpu_count()} processors ({processor()}), on average {os.getloadavg()[2]:.1f} processes wanted one.\n"
    )


TABLES: Final[dict[str, Callable[[Sequence[Results]], str]]] = {
    "machine": machine,
    "loads": loads,
    "reopening": reopening,
    "queries": queries,
    "once": once,
}


def main() -> None:
    """Print the tables, or write them into a page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.store", description="Times of the store.")
    parser.add_argument("--sizes", default="1,10,100,1000", help="megabytes of the documents (default 1,10,100,1000)")
    parser.add_argument("--documents", type=Path, metavar="FOLDER", help="where documents are kept for another time")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="a page that has the comments of the tables")
    arguments = parser.parse_args()
    with TemporaryDirectory(prefix="heptox-store-") as folder:
        scratch = Path(folder)
        found: list[Results] = []
        for size in map(int, arguments.sizes.split(",")):
            print(f"measuring {size} MB", file=sys.stderr, flush=True)
            found.append(measure(size, arguments.documents or scratch, scratch))
            for name, make in TABLES.items():
                show(name, make(found), arguments.write)


if __name__ == "__main__":
    main()

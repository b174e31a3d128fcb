"""Exchange of documents at rest: ``python -m benchmarks.exchange [--megabytes 1 10 100] [--runs N]``.

For hospital documents of about these sizes: the time to load one into a new store, that of its exchange beyond loading
(median and least, every piece of text taken and thrown away), and the most memory that the process held, all in a
process of its own. Up to 10 MB the simple exchange of the same document in memory, without reading it and with writing
its image, is timed in the same run (twice), and both must give the same text.
"""

from __future__ import annotations

import argparse
import hashlib
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import heptox.demo
from heptox.mapping import exchange, exchange_stored, load_mapping
from heptox.schema import conform
from heptox.store import Store
from heptox.xml import read_document, write_document

ARROWS = Path(heptox.demo.__file__).parent / "hospital" / "montreal-boston.arrows"
PATIENTS = 1_646
"""How many patients make a megabyte."""
MOST_SIMPLE = 12_000_000
"""Bytes of a document up to which the simple exchange is timed too."""
COLUMNS = " ".join(
    (
        f"{'MB':>7} {'load s':>8} {'median s':>9} {'least s':>9}",
        f"{'image MB':>9} {'peak MB':>8} {'simple s':>9} {'ratio':>7}",
    )
)


def measure(document: Path, runs: int) -> str:
    """The row of a document."""
    mapping = load_mapping(ARROWS)
    with TemporaryDirectory() as folder, Store.open(Path(folder, "s.store"), mapping.source.graph) as store:
        loaded = store.load("d", document).seconds
        times = []
        for _ in range(runs):
            digest, size = hashlib.sha256(), 0
            start = time.perf_counter()
            for text in exchange_stored(mapping, store, "d", report=sys.exit):
                size += len(text)
            times.append(time.perf_counter() - start)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        median, least = statistics.median(times), min(times)
        megabytes = document.stat().st_size / 1e6
        row = f"{megabytes:>7.1f} {loaded:>8.2f} {median:>9.3f} {least:>9.3f} {size / 1e6:>9.1f} {peak:>8.0f}"
        if document.stat().st_size > MOST_SIMPLE:
            return row
        for text in exchange_stored(mapping, store, "d"):
            digest.update(text.encode())
    whole = conform(read_document(document), mapping.source.graph)
    simple = []
    for _ in range(min(runs, 2)):
        start = time.perf_counter()
        image = write_document(exchange(mapping, whole).root)
        simple.append(time.perf_counter() - start)
    if hashlib.sha256(image.encode()).digest() != digest.digest():
        sys.exit("the two ways of exchange differ")
    return f"{row} {statistics.median(simple):>9.3f} {median / statistics.median(simple):>7.3f}"


def main() -> None:
    """Print the table, each row by a process of its own."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exchange", description="Exchange of documents at rest.")
    parser.add_argument("--megabytes", type=int, nargs="+", default=[1, 10, 100], help="sizes (default 1 10 100)")
    parser.add_argument("--runs", type=int, default=5, help="how often each is repeated (default 5)")
    parser.add_argument("--document", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.document:
        print(measure(arguments.document, arguments.runs))
        return
    print(COLUMNS, flush=True)
    with TemporaryDirectory() as folder:
        for megabytes in arguments.megabytes:
            document = Path(folder, "montreal.xml")
            made = "from heptox.demo.records import records; import sys; sys.stdout.reconfigure(encoding='utf-8'); "
            with document.open("wb") as file:
                program = f"{made}print(records('montreal', {megabytes * PATIENTS}))"
                subprocess.run([sys.executable, "-c", program], check=True, stdout=file)
            command = [sys.executable, "-m", "benchmarks.exchange", "--document", str(document)]
            subprocess.run([*command, "--runs", str(arguments.runs)], check=True)


if __name__ == "__main__":
    main()

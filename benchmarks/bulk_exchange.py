"""Exchange of very many documents on Spark: ``python -m benchmarks.bulk_exchange [--documents N] [--store N]``.

Auction documents are generated, all cores at once, and exchanged into ``flipped.dtd`` on Spark with a local master,
with the settings for small jobs and with those for bulk jobs. Then the first of them are loaded into stores of their
own, one after the other, and exchanged there, in the same run. Each image of a store must be the file that Spark has
written. Memory is that of all processes at most, looked at ten times a second.
"""

from __future__ import annotations

import argparse
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from heptox.cluster import BULK, XMARK, ExchangeSummary, auction_document, exchange_folder, spark_session
from heptox.cluster.machine import memory_in_use, processor
from heptox.mapping import Mapping, exchange_stored, load_mapping
from heptox.store import Store

ARROWS = XMARK / "auction-flipped.arrows"
PAUSE = 0.1


class Peak:
    """The most memory that was in use while a block ran."""

    def __init__(self) -> None:
        self.bytes = 0

    @contextmanager
    def watched(self) -> Iterator[None]:
        done = threading.Event()

        def watch() -> None:
            while not done.wait(PAUSE):
                self.bytes = max(self.bytes, memory_in_use())

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()


def make_document(file: Path, people: int, seed: int) -> None:
    """Write a generated document."""
    with file.open("w", encoding="utf-8") as target:
        target.writelines(auction_document("auction", people, seed))


def store_seconds(mapping: Mapping, documents: list[Path], images: Path) -> float:
    """Seconds in which a store exchanges documents one after the other, which must be what ``images`` are."""
    taken = 0.0
    for document in documents:
        began = time.perf_counter()
        with TemporaryDirectory() as folder, Store.open(Path(folder, "s.store"), mapping.source.graph) as store:
            store.load("d", document)
            text = "".join(exchange_stored(mapping, store, "d"))
        taken += time.perf_counter() - began
        assert text == (images / document.name).read_text(encoding="utf-8"), document
    return taken


def exchanged(mapping: Mapping, source: Path, images: Path, settings: dict[str, str]) -> tuple[ExchangeSummary, int]:
    """What Spark did with some settings, and the most bytes of memory that were in use meanwhile."""
    peak = Peak()
    with peak.watched(), spark_session(f"local[{os.cpu_count()}]", memory="2g", settings=settings) as spark:
        summary = exchange_folder(spark, mapping, source, images)
    return summary, peak.bytes


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bulk_exchange", description=__doc__.splitlines()[0] if __doc__ else None
    )
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--people", type=int, default=600, help="600 make about 1 MB")
    parser.add_argument("--store", type=int, default=20, help="how many of them a store exchanges too")
    parser.add_argument("--folder", type=Path, help="where documents and images are kept; else in a temporary folder")
    options = parser.parse_args()
    mapping = load_mapping(ARROWS)
    with TemporaryDirectory() as temporary:
        source, images = (Path(options.folder or temporary, name) for name in ("documents", "images"))
        source.mkdir(parents=True, exist_ok=True)
        files = [source / f"{number:05}.xml" for number in range(options.documents)]
        with ProcessPoolExecutor() as pool:
            missing = [(file, options.people, seed) for seed, file in enumerate(files) if not file.exists()]
            list(pool.map(make_document, *zip(*missing, strict=True)) if missing else ())
        small, _ = exchanged(mapping, source, images, {})
        summary, most = exchanged(mapping, source, images, dict(BULK))
        assert small.exchanged == summary.exchanged == len(files), summary.faults
        few = files[: options.store]
        alone = store_seconds(mapping, few, images)
    read = summary.read / 1e6
    size = sum(file.stat().st_size for file in few) / 1e6 if options.folder else read / len(files) * len(few)
    print(f"{processor()}")
    print(f"Spark: {len(files)} documents, {read:.0f} MB in {summary.seconds:.1f} s, {read / summary.seconds:.1f} MB/s")
    print(f"with settings for small jobs: {small.seconds:.1f} s")
    print(f"store: {len(few)} documents, {size:.0f} MB in {alone:.1f} s, {size / alone:.1f} MB/s")
    print(f"ratio of the store's time to Spark's: {(alone / size) / (summary.seconds / read):.2f}")
    print(f"memory of all processes at most: {most / 1e6:.0f} MB")


if __name__ == "__main__":
    main()

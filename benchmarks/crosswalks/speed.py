"""How fast a mapping is that has many arrows:
``python -m benchmarks.crosswalks.speed ARROWS DOCUMENT... [--exchanged N] [--spark N] [--write PAGE]``.

A query for each path of leaves that exchange makes of the documents is translated to their schema, and the documents
are exchanged, ``N`` of them one after the other: parsed, given what their schema adds, exchanged and written. The last
is done on Spark, too, with a local master, from files to files. Seconds are those of a clock.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.crosswalks.__main__ import conformed
from benchmarks.crosswalks.terms import below
from benchmarks.translation import machine, show, table
from heptox.cluster import BULK, exchange_folder, spark_session
from heptox.grammar import Expression, parse_query
from heptox.mapping import Mapping, exchange, load_mapping
from heptox.translate import Direction, translate
from heptox.xml import Document, parse_document, read_document, split_name, write_document


def queries(mapping: Mapping, documents: Sequence[Document]) -> list[Expression]:
    """A query for each path at which exchange makes a value of the documents."""
    images = [exchange(mapping, conformed(mapping, document)).root for document in documents]
    paths = {(str(image.tag), *path): None for image in images for path, element in below(image) if len(element) == 0}
    return [parse_query("".join(f"/{_step(name)}" for name in path) + "/text()") for path in paths]


def _step(name: str) -> str:
    namespace, local = split_name(name)
    return f"Q{{{namespace}}}{local}" if namespace else local


def translation_row(name: str, mapping: Mapping, documents: Sequence[Document]) -> list[str]:
    """Milliseconds of a translation, the least of three after what is known of the mapping is worked out."""
    asked = queries(mapping, documents)
    for query in asked:
        translate(mapping, query, Direction.SOURCE)
    taken = sorted(min(_milliseconds(mapping, query) for _ in range(3)) for query in asked)
    cells = [sum(taken) / len(taken), taken[len(taken) // 2], taken[-1]]
    return [name, f"{len(taken)}", *(f"{cell:.1f}" for cell in cells)]


def _milliseconds(mapping: Mapping, query: Expression) -> float:
    began = time.perf_counter()
    translate(mapping, query, Direction.SOURCE)
    return 1000 * (time.perf_counter() - began)


def exchange_rows(mapping: Mapping, files: Sequence[Path], number: int) -> Iterator[list[str]]:
    """Seconds of exchange alone, and from text to text."""
    read = [conformed(mapping, read_document(file)) for file in files]
    exchange(mapping, read[0])
    began = time.perf_counter()
    for document in islice(cycle(read), number):
        exchange(mapping, document)
    yield _rate("exchange alone, in one process", number, time.perf_counter() - began)
    texts = [file.read_text(encoding="utf-8") for file in files]
    began = time.perf_counter()
    for text in islice(cycle(texts), number):
        write_document(exchange(mapping, conformed(mapping, parse_document(text))).root)
    yield _rate("from text to text, in one process", number, time.perf_counter() - began)


def spark_row(mapping: Mapping, files: Sequence[Path], number: int) -> list[str]:
    """Seconds of exchange on Spark, from files to files, without its start."""
    with TemporaryDirectory() as folder, spark_session(settings=BULK) as spark:
        given, made = Path(folder, "given"), Path(folder, "made")
        given.mkdir()
        for place, file in enumerate(islice(cycle(files), number)):
            (given / f"{place}.xml").write_bytes(file.read_bytes())
        summary = exchange_folder(spark, mapping, given, made)
        if summary.exchanged < number:
            raise RuntimeError(f"{summary.failed} documents were not exchanged: {summary.faults[:1]}")
        return _rate("from file to file, on Spark", number, summary.seconds)


def _rate(name: str, number: int, seconds: float) -> list[str]:
    return [name, f"{number:,}", f"{seconds:.1f}", f"{1000 * seconds / number:.2f}", f"{60 * number / seconds:,.0f}"]


def main() -> None:
    """Print the tables, or write them into a page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crosswalks.speed", description="Mappings, timed.")
    parser.add_argument("arrows", type=Path, metavar="ARROWS", help="a mapping")
    parser.add_argument("documents", type=Path, nargs="+", metavar="DOCUMENT", help="documents of its source")
    parser.add_argument("--exchanged", type=int, default=10_000, metavar="N", help="documents to exchange")
    parser.add_argument("--spark", type=int, default=0, metavar="N", help="documents to exchange on Spark")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="a page that has the comments of the tables")
    given = parser.parse_args()
    mapping, name = load_mapping(given.arrows), given.arrows.stem
    read = [read_document(file) for file in given.documents]
    translated = table(["ms", "queries", "mean", "median", "most"], [translation_row(name, mapping, read)])
    show(f"{name} translated", f"{translated}\n{machine()}\n", given.write)
    rows = list(exchange_rows(mapping, given.documents, given.exchanged))
    rows += [spark_row(mapping, given.documents, given.spark)] if given.spark else []
    exchanged = table([name, "documents", "seconds", "ms each", "a minute"], rows)
    show(f"{name} exchanged", f"{exchanged}\n{machine()}\n", given.write)


if __name__ == "__main__":
    main()

"""What it takes a broker to decide where a document goes, with a linear scan beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from time import process_time
from typing import Final

from benchmarks.matching.documents import documents
from benchmarks.routing.workload import nitf, texts
from heptox.feed.table import PublicationTable
from heptox.grammar import parse_subscription
from heptox.matching import MemoryMatcher
from heptox.routing import CoveringIndex
from heptox.xml import Document, XmlElement, parse_document

DOCUMENTS: Final = 500
SCANNED: Final = 3
"""Documents that the linear scan routes: it takes long."""
RUNS: Final = 3


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds a document, of the processor: of documents that are new, of the same ones again, and of a scan."""

    table: int
    paths: float
    """Root-to-leaf paths of a document, in the mean."""
    cold: float
    warm: float
    scan: float

    def of_a_path(self, milliseconds: float) -> float:
        """Microseconds a path."""
        return 1000 * milliseconds / self.paths


def routing_times(least_labels: int, subscriptions: int, number: int = DOCUMENTS) -> tuple[Times, Times]:
    """Without covering and with it: all subscriptions that come from one neighbour, and those that it would tell.

    Raises ``AssertionError`` where the table and the scan do not agree.
    """
    wanted = texts(least_labels, subscriptions)
    index = CoveringIndex[int]()
    index.add_many((number, parse_subscription(text)) for number, text in enumerate(wanted))
    told = [wanted[number] for number in sorted(index.roots)]
    parsed = [parse_document(text) for text in documents(nitf(), number)]
    return _measured(wanted, parsed), _measured(told, parsed)


def _measured(wanted: Sequence[str], parsed: Sequence[Document]) -> Times:
    table = PublicationTable(MemoryMatcher())
    for number, text in enumerate(wanted):
        table.add("neighbour", number, text)
    table.match(parse_document("<none/>"))  # what is put off until the first document
    cold, found = _routed(table, parsed)
    warm = min(_routed(table, parsed)[0] for _ in range(RUNS))
    scan, scanned = _scanned(wanted, parsed[:SCANNED])
    assert [len([*table.matching(table.match(document))]) for document in parsed[:SCANNED]] == scanned
    assert found[:SCANNED] == [bool(number) for number in scanned]
    paths = sum(len(_paths(document)) for document in parsed) / len(parsed)
    return Times(len(wanted), paths, cold, warm, scan)


def _routed(table: PublicationTable, parsed: Sequence[Document]) -> tuple[float, list[bool]]:
    begin = process_time()
    found = [bool(table.wanted_by(table.match(document), ("neighbour",))) for document in parsed]
    return 1000 * (process_time() - begin) / len(parsed), found


def _scanned(wanted: Sequence[str], parsed: Sequence[Document]) -> tuple[float, list[int]]:
    """Each subscription is tried on each path, as a regular expression; how many match each document."""
    tests = [re.compile(_expression(text)).match for text in wanted]
    begin = process_time()
    found = []
    for document in parsed:
        matched = {number for path in _paths(document) for number, test in enumerate(tests) if test(path)}
        found.append(len(matched))
    return 1000 * (process_time() - begin) / len(parsed), found


def _expression(text: str) -> str:
    """A regular expression for the paths that a linear path matches the beginning of."""
    steps = re.findall(r"(//?)([^/]+)", text)
    parts = (("(?:/[^/]+)*" if axis == "//" else "") + "/" + (r"[^/]+" if test == "*" else re.escape(test))
             for axis, test in steps)  # fmt: skip
    return "".join(parts) + "(?:/|$)"


def _paths(document: Document) -> list[str]:
    """The tags from the root to each element without children."""
    found = []

    def walk(element: XmlElement, above: str) -> None:
        path = f"{above}/{element.tag}"
        if not len(element):
            found.append(path)
        for child in element:
            walk(child, path)

    walk(document.root, "")
    return found

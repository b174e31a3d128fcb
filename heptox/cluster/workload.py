"""The workload on auction data: the original schema and nine restructured ones, arrows between them, ten queries.

Together the mappings use every transformation: nesting and unnesting, flipping, merging, splitting, values to tags and
tags to values, elements to attributes and back, references to nesting, insertion, deletion, renaming. The queries are
asked over ``auction.dtd``, and have the shapes of Table 1 of the report.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Final, TypeAlias

from heptox.translate import Direction

XMARK: Final = FilePath(__file__).parent / "xmark"
"""The folder with the schemas, the arrows and the queries."""

SCHEMAS: Final[dict[str, str]] = {
    "auction": "site",
    "attributes": "market",
    "elements": "house",
    "nested": "fair",
    "flat": "records",
    "regions": "store",
    "kinds": "bourse",
    "flipped": "directory",
    "merged": "ledger",
    "split": "archive",
}
"""The schemas, each in ``NAME.dtd``, with their root elements."""


@dataclass(frozen=True, slots=True, order=True)
class Edge:
    """A mapping between two schemas."""

    source: str
    target: str

    @property
    def file(self) -> FilePath:
        """Its arrows."""
        return XMARK / f"{self.source}-{self.target}.arrows"

    def __str__(self) -> str:
        return f"{self.source}-{self.target}"


Path: TypeAlias = tuple[tuple[Edge, Direction], ...]
"""Mappings in a row, each with the direction in which queries cross it."""

MAPPINGS: Final = tuple(sorted(Edge(*file.stem.split("-")) for file in XMARK.glob("*.arrows")))
"""The graph of the mappings; it is connected, and has more edges than a tree, so that paths differ."""

QUERIES: Final[dict[str, str]] = {
    "Q1": "a path",
    "Q2": "1 selection",
    "Q3": "1 selection, 1 join",
    "Q4": "2 selections, 1 join",
    "Q5": "2 selections, 1 join",
    "Q6": "2 joins",
    "Q7": "1 selection, 2 joins",
    "Q8": "1 selection, 1 join",
    "Q9": "2 selections, 2 joins",
    "Q10": "2 selections, 3 joins",
}
"""The queries, each in ``queries/NAME.xq`` (in lower case), with their shapes."""


def query(name: str) -> str:
    """The text of a query of :data:`QUERIES`.

    >>> query("Q1")
    '/site/people/person/name\\n'
    """
    return (XMARK / "queries" / f"{name.lower()}.xq").read_text(encoding="utf-8")


def neighbours(schema: str) -> Iterator[tuple[Edge, Direction, str]]:
    """The mappings at a schema, each with the direction in which it leads away and the schema at its other end.

    Those against their rules come first, since such a translation loses nothing that the rules carry.
    """
    for edge in MAPPINGS:
        if edge.target == schema:
            yield edge, Direction.SOURCE, edge.source
    for edge in MAPPINGS:
        if edge.source == schema:
            yield edge, Direction.TARGET, edge.target


def paths(start: str = "auction") -> dict[str, Path]:
    """For each schema the first of the shortest paths of mappings from ``start``, as :func:`neighbours` orders them.

    >>> [f"{edge} to {to}" for edge, to in paths()["flat"]]
    ['nested-auction to source', 'flat-nested to source']
    """
    found: dict[str, Path] = {start: ()}
    waiting = [start]
    while waiting:
        here = waiting.pop(0)
        for edge, to, there in neighbours(here):
            if there not in found:
                found[there] = (*found[here], (edge, to))
                waiting.append(there)
    return found

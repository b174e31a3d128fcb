"""Path subscriptions of NITF, as in section 6 of Hou, Li and Jacobsen: distinct, at most ten steps."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Final

from benchmarks.matching.subscriptions import SubscriptionShape, places_of_schema, subscriptions
from heptox.grammar import parse_subscription
from heptox.pattern import TreePattern
from heptox.schema import SchemaGraph, read_dtd

DTDS: Final = Path(__file__).parents[3] / "shared" / "data"

LEAST_LABELS: Final = {"A": 4, "B": 8}
"""How many steps with a name the subscriptions of a set have at least."""

VALUED: Final = (
    "/books/book[. = '{0}']",
    "//book[isbn = '{0}']",
    "//book[isbn = '{0}'][price < {1}]",
    "//a[b != {0}]",
    "//a[b < {1}]",
)
"""Subscriptions of one path that differ in their constants: the number of each, and one that goes up and down."""

_SHAPE: Final = SubscriptionShape(depth=tuple(range(4, 11)), wildcard=0.1, descendant=0.1)


def nitf() -> SchemaGraph:
    """NITF 2.5, which is recursive: 123 element types."""
    return read_dtd(str(DTDS / "nitf" / "nitf-2-5.dtd"), "nitf")


def auctions() -> SchemaGraph:
    """XMark's schema: 77 element types, of whose names NITF has five too."""
    return read_dtd(str(DTDS / "xmark" / "auction.dtd"), "site")


def paths(least_labels: int, number: int, seed: int = 0) -> list[tuple[TreePattern, ...]]:
    """Distinct subscriptions, each a path with at least so many names."""
    return [*map(parse_subscription, texts(least_labels, number, seed))]


def texts(least_labels: int, number: int, seed: int = 0, schema: SchemaGraph | None = None) -> list[str]:
    """The same as text, of NITF or another schema."""
    drawn = subscriptions([places_of_schema(schema or nitf())], seed, _SHAPE, distinct=True)
    return list(islice((text for text in drawn if _names(text) >= least_labels), number))


def _names(text: str) -> int:
    return sum(step not in ("", "*") for step in text.split("/"))


def valued(text: str, number: int) -> list[tuple[TreePattern, ...]]:
    """So many subscriptions that differ in their constants, one of :data:`VALUED`."""
    return [parse_subscription(text.format(each, each * 7919 % 1_000_003)) for each in range(number)]

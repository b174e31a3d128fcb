"""Experiment 2 of Tian et al.: a recursive DTD, branching subscriptions, four of five value predicates with ``=``.

The paper takes NASA's data sets, which are not at hand: ``astronomy.dtd`` has elements like theirs, and documents
drawn from it about their size (23 MB in 2,433 files).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from benchmarks.matching.documents import DocumentShape, documents
from benchmarks.matching.subscriptions import Place, SubscriptionShape, places_of_schema
from heptox.schema import SchemaGraph, read_dtd

DOCUMENTS: Final = 2433
"""How many documents the paper has."""

SIZE: Final = DocumentShape(elements=160, depth=9, repeats=3)

PREDICATES: Final = (2, 3, 5, 6, 7, 8, 8, 9, 9, 10, 10)
"""Two to ten linear paths with a value in each subscription, seven in the mean."""

SUBSCRIPTIONS: Final = SubscriptionShape(
    depth=(1, 2, 3),
    wildcard=0.1,
    descendant=0.2,
    branches=None,
    branch_depth=(1, 2, 3),
    predicates=PREDICATES,
    equalities=0.8,
)


@cache
def schema() -> SchemaGraph:
    """The recursive DTD."""
    return read_dtd(Path(__file__).with_name("astronomy.dtd"), "dataset")


def astronomy_documents(number: int = DOCUMENTS, seed: int = 0) -> Iterator[str]:
    """Documents of the schema, about 7 KB each."""
    return documents(schema(), number, seed, SIZE)


def astronomy_root(samples: int = 300, seed: int = 0) -> Place:
    """Where subscriptions start, with the values of the first documents of ``seed``."""
    return places_of_schema(schema(), astronomy_documents(samples, seed))

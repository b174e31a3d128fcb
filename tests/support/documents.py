"""Random documents that are valid for a DTD, and Hypothesis's strategy of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from random import Random
from typing import Final, TypeAlias

from hypothesis import strategies as st

from heptox.schema import (
    SAMPLE_VALUES,
    LeafValues,
    SchemaGraph,
    parse_dtd,
    random_document as random_document_of,
)

VALUES: Final = SAMPLE_VALUES
Values: TypeAlias = LeafValues


def random_document(
    schema: SchemaGraph | str,
    random: Random,
    *,
    root: str | None = None,
    repeats: int = 3,
    elements: int = 200,
    depth: int = 12,
    values: Values | None = None,
    pool: Sequence[str] = VALUES,
) -> str:
    """As :func:`heptox.schema.random_document`, for a schema graph or the text of a DTD."""
    graph = schema if isinstance(schema, SchemaGraph) else _parsed(schema, root)
    return random_document_of(graph, random, repeats=repeats, elements=elements, depth=depth, values=values, pool=pool)


def documents(
    schema: SchemaGraph | str,
    *,
    root: str | None = None,
    repeats: int = 3,
    elements: int = 60,
    depth: int = 12,
    values: Values | None = None,
    pool: Sequence[str] = VALUES,
) -> st.SearchStrategy[str]:
    """The strategy of random valid documents, as :func:`random_document`; examples shrink to small documents."""
    graph = schema if isinstance(schema, SchemaGraph) else _parsed(schema, root)

    def build(random: Random) -> str:
        return random_document(graph, random, repeats=repeats, elements=elements, depth=depth, values=values, pool=pool)

    return st.builds(build, st.randoms(use_true_random=False)).map(str)


@lru_cache(maxsize=64)
def _parsed(text: str, root: str | None) -> SchemaGraph:
    return parse_dtd(text, root)

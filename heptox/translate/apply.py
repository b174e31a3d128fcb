"""Step 2: take a query over the mapping, against its rules or along them (``semantics.md`` section 8)."""

from __future__ import annotations

from heptox.mapping import Mapping
from heptox.pattern import Query
from heptox.translate.backward import backward
from heptox.translate.forward import forward
from heptox.translate.model import Direction, Loss


def apply(query: Query, mapping: Mapping, to: Direction) -> tuple[Query, tuple[Loss, ...]]:
    """The query over the other schema, and what of it was lost."""
    return backward(query, mapping) if to is Direction.SOURCE else forward(query, mapping)

"""Step 2: take a query over the mapping, against its rules or along them (``semantics.md`` section 8)."""

from __future__ import annotations

from heptox.mapping import Mapping
from heptox.pattern import Query
from heptox.translate.backward import backward
from heptox.translate.forward import forward
from heptox.translate.model import Check, Direction, Loss, no_check


def apply(query: Query, mapping: Mapping, to: Direction, check: Check = no_check) -> tuple[Query, tuple[Loss, ...]]:
    """The query over the other schema, and what of it was lost."""
    return backward(query, mapping, check) if to is Direction.SOURCE else forward(query, mapping, check)

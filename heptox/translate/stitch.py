"""Step 4: the union over all choices, without members that another contains (``semantics.md`` section 8)."""

from __future__ import annotations

from heptox.pattern import Constraints, Query, without_contained


def stitch(query: Query, constraints: Constraints) -> Query:
    """The union as it is printed: no member is contained in another on the documents that it is for."""
    return without_contained(query, constraints)

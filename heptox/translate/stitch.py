"""Step 4: the union over all choices, without members that another contains (``semantics.md`` section 8)."""

from __future__ import annotations

from heptox.pattern import Constraints, Query, without_cases, without_contained


def stitch(query: Query, constraints: Constraints) -> Query:
    """The union as it is printed: no member is contained in another on the documents that it is for, and none keeps a
    condition that tells it from others for nothing.
    """
    return without_contained(without_cases(without_contained(query, constraints), constraints), constraints)

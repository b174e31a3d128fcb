"""Step 3: leave out what the documents' schema implies (``semantics.md`` section 8)."""

from __future__ import annotations

from heptox.pattern import Constraints, Query, minimise_member, normalise


def contract(query: Query, constraints: Constraints) -> Query:
    """The same members, each chased with what the documents obey and without redundant nodes and conditions.

    A condition that is not implied stays: a patient that was never admitted has no ``Progress``.
    """
    normal = (normalise(member, constraints) for member in query.members)
    return Query(tuple(dict.fromkeys(minimise_member(member, constraints) for member in normal if member is not None)))

"""Step 3: leave out what the documents' schema implies (``semantics.md`` section 8)."""

from __future__ import annotations

from heptox.pattern import Constraints, Member, Query, minimise_member, normalise
from heptox.translate.model import Check, no_check


def contract(query: Query, constraints: Constraints, check: Check = no_check) -> Query:
    """The same members, each chased with what the documents obey and without redundant nodes and conditions.

    A condition that is not implied stays: a patient that was never admitted has no ``Progress``.
    """
    normals: dict[Member | None, None] = {}
    for member in query.members:
        check()
        normals[normalise(member, constraints)] = None
    minimal = (minimise_member(normal, constraints, check) for normal in normals if normal is not None)
    return Query(tuple(dict.fromkeys(minimal)))

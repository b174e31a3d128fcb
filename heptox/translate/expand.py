"""Step 1: resolve every path over the asker's schema tree (``semantics.md`` section 8)."""

from __future__ import annotations

from heptox.grammar import Expression, Lowering, lower
from heptox.pattern import Constraints, Member, Query, normalise
from heptox.translate.model import Check, no_check


def expand(expression: Expression, constraints: Constraints, check: Check = no_check) -> Lowering:
    """The union of pattern joins that a query stands for, each in normal form, contradictory ones gone.

    Steps that no schema path can stand for are reported as faults, not raised: the query is empty there.
    """
    lowering = lower(expression, constraints.tree, valid=constraints.valid)
    normals: dict[Member, None] = {}
    for member in lowering.query.members:
        check()
        if (normal := normalise(member, constraints)) is not None:
            normals[normal] = None
    return Lowering(Query(tuple(normals)), lowering.unmatched)

"""Step 1: resolve every path over the asker's schema tree (``semantics.md`` section 8)."""

from __future__ import annotations

from heptox.grammar import Expression, Lowering, lower
from heptox.pattern import Constraints, Query, normalise


def expand(expression: Expression, constraints: Constraints) -> Lowering:
    """The union of pattern joins that a query stands for, each in normal form, contradictory ones gone.

    Steps that no schema path can stand for are reported as faults, not raised: the query is empty there.
    """
    lowering = lower(expression, constraints.tree, valid=constraints.valid)
    normal = (normalise(member, constraints) for member in lowering.query.members)
    return Lowering(Query(tuple(dict.fromkeys(member for member in normal if member is not None))), lowering.unmatched)

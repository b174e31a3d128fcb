"""Candidates put together (``semantics.md`` section 8, forward).

Where a target leaf has alternatives, a candidate made from one member of the query can need the conditions of another
member as well: then what each alternative makes is an answer by one of the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Final

from heptox.pattern import Constraints, Member, normalise, rename
from heptox.schema import Path

MOST_CONJOINED: Final = 30
"""Candidates that are put together, two at a time."""


def conjoined(candidates: Iterable[Member], constraints: Constraints) -> Iterator[Member]:
    """The members that meet the conditions of two candidates with the same nodes and the same item."""
    for first, second in combinations(list(candidates)[:MOST_CONJOINED], 2):
        both = _both(first, second)
        normal = None if both is None else normalise(both, constraints)
        if normal is not None:
            yield normal


def _both(first: Member, second: Member) -> Member | None:
    """``None`` where it is not plain which nodes correspond, or where the items differ."""
    names, others = _by_node(first), _by_node(second)
    if names.keys() != others.keys() or len(names) != len(first.variables) or len(others) != len(second.variables):
        return None
    renamed = rename(second, {others[node]: names[node] for node in names})
    if renamed.template != first.template:
        return None
    return Member(first.variables, first.atoms | renamed.atoms, first.template)


def _by_node(member: Member) -> dict[Path, str]:
    return {variable.node: variable.name for variable in member.variables}

"""Step 1: resolve every path over the asker's schema tree (``semantics.md`` section 8)."""

from __future__ import annotations

from collections.abc import Iterator

from heptox.errors import Fault
from heptox.grammar import lower
from heptox.pattern import Member, normalise
from heptox.translate.draft import Draft
from heptox.translate.knowledge import image_constraints
from heptox.translate.model import Loss, Origin


def expand(draft: Draft) -> Draft:
    """The union of pattern joins that the query stands for, each in normal form, contradictory ones gone.

    Steps that no schema path can stand for are losses, not raised: the query is empty there.

    Raises :class:`heptox.errors.GrammarError` for queries outside the fragment.
    """
    constraints = image_constraints(draft.mapping)
    lowering = lower(draft.expression, constraints.tree, valid=constraints.valid, check=draft.check)

    def normal() -> Iterator[tuple[Member, tuple[Origin, ...]]]:
        for member in lowering.query.members:
            if (found := normalise(member, constraints, draft.check)) is not None:
                yield found, ()

    return draft.become(normal(), map(_unmatched, (*lowering.unmatched, *lowering.open)))


def _unmatched(fault: Fault) -> Loss:
    return Loss((), f"{fault.message}" + (f" ({fault.hint})" if fault.hint else ""))

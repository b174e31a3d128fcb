"""Step 1: resolve every path over the asker's schema tree (``semantics.md`` section 8)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from heptox.checks import Check, no_check
from heptox.errors import Fault
from heptox.grammar import Expression, lower
from heptox.mapping import Mapping
from heptox.pattern import Member, normalise
from heptox.schema import ANYWHERE, Path, SchemaTree
from heptox.translate.draft import Draft
from heptox.translate.knowledge import image_constraints, is_large, made_paths, with_wholes
from heptox.translate.model import NO_SLOT, Direction, Loss, Origin

_NAMED: Final = 3
"""Places that a loss names."""


def expand(draft: Draft) -> Draft:
    """The union of pattern joins that the query stands for, each in normal form, contradictory ones gone.

    Steps that no schema path can stand for are losses, not raised: the query is empty there. So is what ``//name``
    might mean in a large schema where no rule makes anything: documents made by the rules have nothing there.

    Raises :class:`heptox.errors.GrammarError` for queries outside the fragment.
    """
    constraints = image_constraints(draft.mapping)
    tree = _looked_through(draft.mapping, constraints.tree)
    made = made_paths(draft.mapping)
    lowering = lower(draft.expression, tree, valid=constraints.valid, check=draft.check, made=made)

    def normal() -> Iterator[tuple[Member, tuple[Origin, ...]]]:
        for member in lowering.query.members:
            if (found := normalise(member, constraints, draft.check)) is not None:
                yield found, ()

    unmatched = map(_unmatched, (*lowering.unmatched, *lowering.open))
    unmade = (Loss(path, NO_SLOT) for path in lowering.unmade)
    return draft.become(normal(), (*unmatched, *_passed(tree, tree.passed), *unmade))


def gathers(mapping: Mapping, expression: Expression, to: Direction, check: Check = no_check) -> bool:
    """Whether items of a query gather what repeats, or may be there or not, below one of its matches.

    Raises :class:`heptox.errors.GrammarError` as the translation to that side.
    """
    read = with_wholes(to.answered_by(mapping))
    constraints = image_constraints(read)
    tree = _looked_through(read, constraints.tree)
    return lower(expression, tree, valid=constraints.valid, check=check, made=()).gathers


def _looked_through(mapping: Mapping, tree: SchemaTree) -> SchemaTree:
    """The tree of the asker's schema; where that is large, ``//name`` looks only where rules make anything."""
    return SchemaTree(tree.graph, tree.boxes, tree.whole, tree.entered, made_paths(mapping)) if is_large(tree) else tree


def _passed(tree: SchemaTree, places: Iterable[Path]) -> Iterator[Loss]:
    """What ``//name`` has passed by, one loss for each name."""
    named: dict[str, list[Path]] = {}
    for path in places:
        named.setdefault(path[-1].removeprefix(ANYWHERE), []).append(path)
    for name, several in named.items():
        written = [tree.written(path).replace(f"/{ANYWHERE}", ANYWHERE) for path in several[:_NAMED]]
        more = f" and {len(several) - _NAMED:,} more" if len(several) > _NAMED else ""
        yield Loss((), f"no arrow leads to other places of {tree.written((name,))}: {', '.join(written)}{more}")


def _unmatched(fault: Fault) -> Loss:
    return Loss((), f"{fault.message}" + (f" ({fault.hint})" if fault.hint else ""))

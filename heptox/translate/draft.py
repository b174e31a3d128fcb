"""A translation between two rewrites: the one value that each takes and gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping as Table
from dataclasses import dataclass, replace

from heptox.checks import Check
from heptox.grammar import Expression
from heptox.mapping import Mapping
from heptox.pattern import Member, NormalForms, Query
from heptox.translate.knowledge import answered_in_parts, asks_for_numbers, source_constraints, with_wholes
from heptox.translate.model import Direction, Loss, Origin


@dataclass(frozen=True, slots=True)
class Draft:
    """The union that a query has become so far, each member with what it was made of, and what was lost.

    ``mapping`` is read for the side ``to`` that answers, so that its rules make the asker's documents; ``forms`` are
    normal forms on the documents that answer. Before rules are applied, no member has an origin. ``check`` is called
    again and again, and raises what ends the work.
    """

    expression: Expression
    mapping: Mapping
    to: Direction
    check: Check
    forms: NormalForms
    numbers: bool
    members: Table[Member, tuple[Origin, ...]]
    losses: tuple[Loss, ...] = ()

    @classmethod
    def of(cls, mapping: Mapping, expression: Expression, to: Direction, check: Check, *, in_parts: bool) -> Draft:
        """The draft of a query that nothing has been done with; raises as :func:`~heptox.translate.with_wholes`.

        ``in_parts`` is whether the documents that answer may be parts of valid ones.
        """
        mapping = with_wholes(to.answered_by(mapping))
        if in_parts:
            mapping = answered_in_parts(mapping)
        forms = NormalForms(source_constraints(mapping), check)
        return cls(expression, mapping, to, check, forms, asks_for_numbers(expression), {})

    @property
    def query(self) -> Query:
        """The union."""
        return Query(tuple(self.members))

    def become(self, members: Iterable[tuple[Member, tuple[Origin, ...]]], losses: Iterable[Loss] = ()) -> Draft:
        """The draft with other members, equal ones being one, and with more losses."""
        found: dict[Member, tuple[Origin, ...]] = {}
        for member, origins in members:
            found[member] = found.get(member, ()) + origins
        return replace(self, members=found, losses=(*self.losses, *losses))

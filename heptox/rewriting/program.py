"""A program of operators: what makes documents of one schema into documents of another."""

from __future__ import annotations

from dataclasses import dataclass, field

from heptox.rewriting.operators import Operator
from heptox.rewriting.working_tree import WorkingTree
from heptox.schema import SchemaTree


@dataclass(frozen=True, slots=True)
class Program:
    """Operators that are applied one after the other to documents of ``source``: each to all its elements at once.

    Children are moved with all that stands in them. White space between elements is not kept where children move.

    Raises :class:`DisseminationError` (HX9102) for an operator that cannot be applied where it stands.
    """

    source: SchemaTree
    operators: tuple[Operator, ...]
    result: WorkingTree = field(init=False, repr=False, compare=False)
    """The schema tree that the operators make; to be read only."""

    def __post_init__(self) -> None:
        tree = WorkingTree(self.source)
        for operator in self.operators:
            tree.apply(operator)
        object.__setattr__(self, "result", tree)

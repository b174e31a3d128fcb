"""A member of a query's union while the query is lowered, with what the query's variables are bound to in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final, TypeAlias, TypeVar

from heptox.grammar.locations import Location, refuse
from heptox.grammar.query import PathExpression
from heptox.pattern import TAG, Absence, Atom, Comparison, Presence, Term, Text, Variable
from heptox.schema import TEXT, Path, SchemaTree

MOST_MEMBERS: Final = 2_000
"""Alternatives that a query may stand for; one with more is refused by name, not answered in part."""

CONTEXT: Final = "root"
"""The root of the document that a query is asked of, which all absolute paths begin at. Each path from the collection
begins at a root of its own.
"""
DOCUMENT: Final = Location(CONTEXT, document=True)
Binding: TypeAlias = Location | PathExpression
"""What a variable stands for: a node of the pattern, or, bound by ``let``, a path."""


@dataclass(frozen=True, slots=True)
class Branch:
    """One member in the making, and what the query's variables are bound to in it."""

    variables: tuple[Variable, ...]
    atoms: frozenset[Atom] = frozenset()
    bindings: Mapping[str, Binding] = field(default_factory=dict)

    def node(self, name: str) -> Path:
        """The node of a variable."""
        return next(variable.node for variable in self.variables if variable.name == name)

    def known_above(self, name: str, before: Branch) -> str:
        """The nearest variable at or above ``name`` that the branch ``before`` has already."""
        known = {variable.name for variable in before.variables}
        parents = {variable.name: variable.parent for variable in self.variables}
        while name not in known:
            above = parents[name]
            assert above is not None  # the root is known to every branch
            name = above
        return name

    def leaves(self, before: Branch) -> bool:
        """Whether the branch ``before`` has been left for another document."""
        return any(variable.parent is None for variable in self.variables[len(before.variables) :])

    def having(self, *atoms: Atom) -> Branch:
        """The branch with more atoms."""
        return replace(self, atoms=self.atoms | frozenset(atoms))

    def bound(self, name: str, binding: Binding) -> Branch:
        """The branch with one more variable of the query."""
        return replace(self, bindings={**self.bindings, name: binding})

    def absences(self, *terms: Term) -> list[tuple[Atom, ...]]:
        """The atoms that say that terms are absent, as the only alternative; no alternative where one never is."""
        if any(not nodes_of(term) or self._has(term) for term in terms):
            return []
        return [tuple(Absence(node) for term in terms for node in nodes_of(term))]

    def _has(self, term: Term) -> bool:
        return any(
            (isinstance(atom, Presence) and atom.term == term) or (isinstance(atom, Comparison) and atom.left == term)
            for atom in self.atoms
        )


Located: TypeAlias = tuple[Branch, Location]
"""Where a path ends in one of its branches."""


def nodes_of(value: Term) -> tuple[Term, ...]:
    """The node that has a value, where that may be absent; none where it is a variable's own, or its tag."""
    path = value.path[:-1] if value.path[-1:] in ((TEXT,), (TAG,)) else value.path
    return (Term(value.variable, path),) if path else ()


def known_tag(tree: SchemaTree, branch: Branch, location: Location) -> str | None:
    """The tag of a box node, as it is written, where the branch says it."""
    for atom in branch.atoms:
        match atom:
            case Comparison("=", Term(variable, path), Text(value)) if (variable, path) == (location.variable, (TAG,)):
                return tree.tag_of_value(location.node, value)
    return None


_Item = TypeVar("_Item")


def few(items: Iterable[_Item]) -> list[_Item]:
    """The items, as long as they are no more than a query may have alternatives."""
    found = list(islice(items, MOST_MEMBERS + 1))
    if len(found) > MOST_MEMBERS:
        refuse("HX3050", f"the query stands for over {MOST_MEMBERS} alternatives", None, "split it")
    return found

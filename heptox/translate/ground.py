"""Rules as queries over the source see them: what covers are made of (``semantics.md`` section 8, forward)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeAlias

from heptox.mapping import HeadNode, Mapping as SchemaMapping, Rule
from heptox.pattern import TAG, Closure, Constraints, LeafItem, Member, Term, Text, Variable
from heptox.schema import Path
from heptox.translate.knowledge import image_constraints, source_constraints
from heptox.translate.model import Check

Place: TypeAlias = tuple[Path, Path]
"""A stop node, and the path of a leaf below it."""


class Held(NamedTuple):
    """What a rule knows of a source term: the leaves of its head that hold the term's value; by the body, the constant
    that equals it, the constants that do not, and whether it is there.
    """

    exports: tuple[Place, ...]
    constant: str | None
    others: frozenset[str]
    present: bool


class Body:
    """A rule as seen from the source: what its body implies, and what its head exports."""

    def __init__(self, rule: Rule, sources: Constraints) -> None:
        self.rule = rule
        self._tree = sources.tree
        self.closure = Closure(
            Member(rule.variables, frozenset(rule.conditions), LeafItem("value", "", Text(""))), sources
        )
        self.nodes = {variable.name: variable for variable in rule.variables}
        self._kept: dict[Path, tuple[Held, ...]] = {}
        self.at: dict[Path, list[Variable]] = {}
        for variable in rule.variables:
            self.at.setdefault(variable.node, []).append(variable)

    def exports(self, term: Term) -> tuple[Place, ...]:
        """The head's leaves that hold the value of a source term."""
        return self.held(term).exports

    def held(self, term: Term) -> Held:
        """What the rule knows of a source term."""
        return self._leaves_held.get(term) or self._held(term)

    @cached_property
    def _leaves_held(self) -> dict[Term, Held]:
        """Of the leaves that the body's nodes own; of what is inside copied subtrees there is no end."""
        leaves = ((variable, ((TAG,), *self._tree.own_leaves(variable.node))) for variable in self.rule.variables)
        terms = (Term(variable.name, leaf) for variable, own in leaves for leaf in own)
        return {term: self._held(term) for term in terms}

    def kept(self, node: Path, paths: tuple[Path, ...]) -> tuple[Held, ...]:
        """What the rule holds of the leaves of a node, and of paths below it."""
        if node not in self._kept:
            self._kept[node] = self._kept_of(node, ((TAG,), *self._tree.own_leaves(node)))
        return self._kept[node] + self._kept_of(node, paths)

    def _kept_of(self, node: Path, paths: tuple[Path, ...]) -> tuple[Held, ...]:
        return tuple(self.held(Term(self.at[node][0].name, path)) for path in paths)

    @cached_property
    def equalities(self) -> tuple[frozenset[Place], ...]:
        """The places whose values the body makes equal."""
        classes = self.closure.classes().values()
        return tuple(frozenset((self.nodes[term.variable].node, term.path) for term in terms) for terms in classes)

    def _held(self, term: Term) -> Held:
        found = self._filled.get(self.closure.find(term), [])
        copied = [
            (place, node, (*leaf, *term.path[len(supplied.path) :]))
            for place, node, leaf, supplied in self._copied
            if supplied.variable == term.variable and term.path[: len(supplied.path)] == supplied.path
        ]
        exports = tuple((node, leaf) for _, node, leaf in (sorted(found + copied) if copied else found))
        return Held(exports, self.closure.constant(term), self._others(term), self.closure.present(term))

    def _others(self, term: Term) -> frozenset[str]:
        same = self.closure.find(term)
        tests = self.rule.tests()
        return frozenset(value for tested, equal, value in tests if not equal and self.closure.find(tested) == same)

    @cached_property
    def _filled(self) -> dict[Term, list[tuple[int, Path, Path]]]:
        """By the value's representative, the leaves that hold it, each with its place in the head."""
        found: dict[Term, list[tuple[int, Path, Path]]] = {}
        for place, head, leaf, supplied in self._leaves():
            if leaf not in head.copied:
                found.setdefault(self.closure.find(supplied), []).append((place, head.node, leaf))
        return found

    @cached_property
    def _copied(self) -> list[tuple[int, Path, Path, Term]]:
        """The copied subtrees: each has all that is in it."""
        return [
            (place, head.node, leaf, supplied) for place, head, leaf, supplied in self._leaves() if leaf in head.copied
        ]

    def _leaves(self) -> Iterator[tuple[int, HeadNode, Path, Term]]:
        leaves = ((head, leaf, supplied) for head in self.rule.head for leaf, supplied in head.leaves)
        return ((place, *filled) for place, filled in enumerate(leaves))

    def implies_equal(self, left: Term, right: Term) -> bool:
        return left == right or self.closure.equal(left, right)


@dataclass(frozen=True, slots=True)
class Ground:
    """What queries are covered with: the mapping, what its documents obey, and its rules as the source sees them.

    ``having`` are the numbers of the rules whose bodies have a source node.
    """

    mapping: SchemaMapping
    sources: Constraints
    images: Constraints
    bodies: tuple[Body, ...]
    having: Mapping[Path, tuple[int, ...]]
    check: Check

    @classmethod
    def of(cls, mapping: SchemaMapping, check: Check) -> Ground:
        bodies, having = _bodies(mapping)
        return cls(mapping, source_constraints(mapping), image_constraints(mapping), bodies, having, check)


@lru_cache(maxsize=512)
def _bodies(mapping: SchemaMapping) -> tuple[tuple[Body, ...], dict[Path, tuple[int, ...]]]:
    """The rules as the source sees them, and which of them have a node; worked out once for a mapping."""
    sources = source_constraints(mapping)
    bodies = tuple(Body(rule, sources) for rule in mapping.rules)
    having: dict[Path, tuple[int, ...]] = {}
    for number, body in enumerate(bodies):
        for node in body.at:
            having[node] = (*having.get(node, ()), number)
    return bodies, having

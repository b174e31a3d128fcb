"""Covering what a source query needs by heads of rules (``semantics.md`` section 8, forward).

A query needs its variables, the terms that it returns or tests, and its equalities. A cover is a set of copies of
rules, each binding some of the query's variables by its body, that together meet all needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

from heptox.errors import Fault, TranslationError
from heptox.mapping import Mapping as SchemaMapping, Rule
from heptox.pattern import (
    Closure,
    Comparison,
    Constraints,
    ElementItem,
    LeafItem,
    Member,
    Term,
    Text,
    Variable,
    atom_terms,
    is_numeric,
    map_atom,
    surely_contained,
    template_terms,
)
from heptox.schema import Path
from heptox.translate.backward import is_inside
from heptox.translate.knowledge import image_constraints, source_constraints
from heptox.translate.model import Check

MOST_STATES: Final = 20_000
"""States of the search for covers of one member; a query that needs more is refused by name, not answered in part."""


@dataclass(frozen=True, slots=True)
class Use:
    """A copy of a rule, with pairs (query variable, the rule variable that stands for it)."""

    rule: int
    images: tuple[tuple[str, str], ...]

    def image(self, name: str) -> str | None:
        return dict(self.images).get(name)


@dataclass(frozen=True, slots=True)
class Value:
    """Some term of a class of equal terms must be exported."""

    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Equality:
    """Two terms must be equal: inside one copy, or because both are exported and compared."""

    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Node:
    """A variable must be bound by the body of some copy."""

    variable: str


Need: TypeAlias = Value | Equality | Node
Uses: TypeAlias = tuple[Use, ...]
Choice: TypeAlias = tuple[Uses, tuple[Need, ...]]


class Body:
    """A rule as seen from the source: what its body implies, and what its head exports."""

    def __init__(self, rule: Rule, sources: Constraints) -> None:
        self.rule = rule
        self.closure = Closure(
            Member(rule.variables, frozenset(rule.conditions), LeafItem("value", "", Text(""))), sources
        )
        self.nodes = {variable.name: variable for variable in rule.variables}
        self._exports: dict[Term, list[tuple[Path, Path]]] = {}

    def exports(self, term: Term) -> list[tuple[Path, Path]]:
        """The head's leaves, as (stop node, leaf), that hold the value of a source term."""
        if term not in self._exports:
            self._exports[term] = [
                (head.node, (*leaf, *term.path[len(supplied.path) :]) if leaf in head.copied else leaf)
                for head in self.rule.head
                for leaf, supplied in head.leaves
                if self._holds(supplied, term, copied=leaf in head.copied)
            ]
        return self._exports[term]

    def _holds(self, supplied: Term, term: Term, *, copied: bool) -> bool:
        """Whether a leaf filled from one term has the value of another; a copied subtree has all that is in it."""
        if copied:
            return supplied.variable == term.variable and term.path[: len(supplied.path)] == supplied.path
        return supplied == term or self.closure.find(supplied) == self.closure.find(term)

    def implies_equal(self, left: Term, right: Term) -> bool:
        return left == right or self.closure.find(left) == self.closure.find(right)


@dataclass(frozen=True, slots=True)
class Ground:
    """What a query is covered with: the mapping, what its documents obey, and its rules as the source sees them."""

    mapping: SchemaMapping
    sources: Constraints
    images: Constraints
    bodies: tuple[Body, ...]
    check: Check

    @classmethod
    def of(cls, mapping: SchemaMapping, check: Check) -> Ground:
        sources = source_constraints(mapping)
        bodies = tuple(Body(rule, sources) for rule in mapping.rules)
        return cls(mapping, sources, image_constraints(mapping), bodies, check)


class Search:
    """The covers of one member and their candidates."""

    def __init__(self, ground: Ground, member: Member) -> None:
        self.ground = ground
        self.member = member
        self.closure = Closure(member, ground.sources)
        self.classes = self.closure.classes()

    @cached_property
    def needs(self) -> tuple[Need, ...]:
        parents = {variable.parent for variable in self.member.variables}
        needs: dict[Need, None] = {}
        for atom in sorted(self.member.atoms, key=repr):
            if isinstance(atom, Comparison) and atom.operator == "=" and isinstance(atom.right, Term):
                left, right = self.outside(atom.left), self.outside(atom.right)
                if (left, right) == (atom.left, atom.right):
                    needs[Equality(left, right)] = None
                else:
                    needs.update({Value((left,)): None, Value((right,)): None})
            elif isinstance(atom, Comparison) and is_numeric(atom):
                needs[Value((self.outside(atom.left),))] = (
                    None  # an equal term may hold words elsewhere, and raise an error there
                )
            else:
                needs.update((self._value(term), None) for term in atom_terms(atom))
        needs.update((self._value(term), None) for term in template_terms(self.member.template))
        for variable in self.member.variables:
            if variable.parent is not None and variable.name not in parents:
                term = Term(variable.name)
                needs[Node(variable.name) if self.outside(term) == term else Value((self.outside(term),))] = None
        return tuple(needs)

    def _value(self, term: Term) -> Value:
        terms = self.classes.get(self.closure.find(term), [term])
        return Value(tuple(dict.fromkeys(map(self.outside, terms))))

    def outside(self, term: Term) -> Term:
        """The term itself, or the copied subtree that it stands in, as a term of the variable that owns that."""
        tree = self.ground.mapping.source
        by_name = {variable.name: variable for variable in self.member.variables}
        variable = by_name[term.variable]
        if not is_inside(tree, variable.node):
            return term
        whole = tree.whole_at(variable.node)
        assert whole is not None  # it stands inside one
        while is_inside(tree, variable.node) and variable.parent is not None:
            variable = by_name[variable.parent]
        return Term(variable.name, whole[len(variable.node) :])

    # -- covers --------------------------------------------------------------------------------------------------

    def covers(self) -> list[Uses]:
        """The ways to cover the needs, those with few copies first.

        What a copy's body already gives is taken from it; only where that could cost an answer are other ways tried.
        """
        found: dict[frozenset[Use], Uses] = {}
        self._cover(self.needs, (), found, set())
        return sorted(found.values(), key=len)

    def _cover(
        self,
        needs: tuple[Need, ...],
        uses: Uses,
        found: dict[frozenset[Use], Uses],
        seen: set[tuple[frozenset[Need], frozenset[Use]]],
    ) -> None:
        needs = tuple(need for need in needs if not self._is_met(need, uses))
        state = frozenset(needs), frozenset(uses)
        if state in seen:
            return
        seen.add(state)
        self.ground.check()
        if len(seen) > MOST_STATES:
            raise TranslationError(Fault("HX5004", f"the query can be covered in too many ways (over {MOST_STATES})"))
        if not needs:
            found.setdefault(frozenset(uses), uses)
            return
        choices = {need: self.options(need, uses) for need in needs}
        free = self._free(needs, uses, choices)
        if free is not None:
            self._cover(needs, free, found, seen)
            return
        need = min(needs, key=lambda need: len(choices[need]))
        rest = tuple(other for other in needs if other != need)
        for extended, more in choices[need]:
            self._cover(tuple(dict.fromkeys((*rest, *more))), extended, found, seen)

    def _is_met(self, need: Need, uses: Uses) -> bool:
        """Whether the copies that are there meet the need as they stand."""
        match need:
            case Equality(left, right) if all(self._is_met(Value((term,)), uses) for term in (left, right)):
                return True
            case _:
                return any(after == uses and not more for after, more in self.options(need, uses))

    def _free(self, needs: tuple[Need, ...], uses: Uses, choices: dict[Need, list[Choice]]) -> Uses | None:
        """An extension of a copy that costs no answer, ``None`` where there is none.

        It binds a variable by a node of the body that stands for no other, and meets all that the variable needs. Every
        match that the copy admits is one in which that node is the variable's.
        """
        for choice in choices.values():
            for extended, more in choice:
                if not more and len(extended) == len(uses) and extended != uses:
                    bound = _newly_bound(uses, extended)
                    touched = [need for need in needs if self._with_below(bound) & _mentioned(need)]
                    if (
                        bound
                        and all(self._is_met(need, extended) for need in touched)
                        and all(self._admits_the_same(*pair) for pair in zip(uses, extended, strict=True))
                    ):
                        return extended
        return None

    def _admits_the_same(self, use: Use, extended: Use) -> bool:
        """Whether all matches of the member that go with the body of a copy go with it when it binds more, too."""
        return use == extended or surely_contained(self._with_body(use), self._with_body(extended), self.ground.sources)

    def _with_body(self, use: Use) -> Member:
        """The member joined with the body of a copy; its items tell which nodes its variables stand for."""
        body = self.ground.bodies[use.rule].rule
        bound = {image: name for name, image in use.images}
        root = self.member.variables[0].name

        def name(old: str) -> str:
            return root if old == body.variables[0].name else bound.get(old, f"body.{old}")

        free = tuple(
            Variable(name(variable.name), variable.node, None if variable.parent is None else name(variable.parent))
            for variable in body.variables[1:]
            if variable.name not in bound
        )
        conditions = {map_atom(atom, lambda term: Term(name(term.variable), term.path)) for atom in body.conditions}
        nodes = tuple(LeafItem("copy", variable.name, Term(variable.name)) for variable in self.member.variables)
        return Member((*self.member.variables, *free), self.member.atoms | conditions, ElementItem("match", (), nodes))

    def _with_below(self, names: frozenset[str]) -> frozenset[str]:
        """Query variables with all that hang below them: where these are bound elsewhere, the two must be joined."""
        found = set(names)
        for variable in self.member.variables:
            if variable.parent in found:
                found.add(variable.name)
        return frozenset(found)

    def options(self, need: Need, uses: Uses) -> list[Choice]:
        """The ways to meet a need: by a copy that is there, by one that absorbs more of the query, by a new copy."""
        match need:
            case Value(terms):
                return [(after, ()) for term in terms for after in self._exporting(term, uses)]
            case Node(variable):
                return [(after, ()) for after, _ in self._covering(variable, uses)]
            case Equality(left, right):
                inside: list[Choice] = [(after, ()) for after in self._implying(left, right, uses)]
                if any(not needed for after, needed in inside if after == uses):
                    return [(uses, ())]
                apart = (Value((left,)), Value((right,)))
                outside: list[Choice] = [(uses, apart)] if all(self.options(value, ()) for value in apart) else []
                return inside + outside

    def _exporting(self, term: Term, uses: Uses) -> Iterator[Uses]:
        for after, index in self._covering(term.variable, uses):
            use = after[index]
            image = use.image(term.variable)
            assert image is not None
            body, held = self.ground.bodies[use.rule], Term(image, term.path)
            constant = self.closure.constant(term)
            if body.exports(held) or (constant is not None and body.closure.constant(held) == constant):
                yield after

    def _implying(self, left: Term, right: Term, uses: Uses) -> Iterator[Uses]:
        for after, index in self._covering(left.variable, uses):
            for both, again in self._covering(right.variable, after, only=index):
                use = both[again]
                first, second = use.image(left.variable), use.image(right.variable)
                assert first is not None and second is not None
                if self.ground.bodies[use.rule].implies_equal(Term(first, left.path), Term(second, right.path)):
                    yield both

    def _covering(self, variable: str, uses: Uses, only: int | None = None) -> Iterator[tuple[Uses, int]]:
        """Covers that bind a variable, with the index of the copy that does."""
        for index, use in enumerate(uses):
            if only in (None, index):
                for extended in self._absorbing(use, variable):
                    yield (*uses[:index], extended, *uses[index + 1 :]), index
        if only is None:
            for number in range(len(self.ground.bodies)):
                for fresh in self._absorbing(Use(number, ()), variable):
                    yield (*uses, fresh), len(uses)

    def _absorbing(self, use: Use, name: str) -> Iterator[Use]:
        """The copy with a query variable, and so its ancestors, bound by its body."""
        if use.image(name) is not None:
            yield use
            return
        by_name = {variable.name: variable for variable in self.member.variables}
        body = self.ground.bodies[use.rule]
        for candidate in body.rule.variables:
            images = dict(use.images)
            query: Variable | None = by_name[name]
            rule: Variable | None = candidate
            while query is not None and rule is not None:
                if query.node != rule.node or images.setdefault(query.name, rule.name) != rule.name:
                    break
                query = None if query.parent is None else by_name[query.parent]
                rule = None if rule.parent is None else body.nodes[rule.parent]
            else:
                yield Use(use.rule, tuple(sorted(images.items())))

    # -- candidates ----------------------------------------------------------------------------------------------


def _newly_bound(before: Uses, after: Uses) -> frozenset[str]:
    """The query variables that an extended copy binds anew; none where it binds two to one node of its body."""
    for old, new in zip(before, after, strict=True):
        added = dict(new.images).keys() - dict(old.images).keys()
        if added:
            images = list(dict(new.images).values())
            return frozenset(added) if len(set(images)) == len(images) else frozenset()
    return frozenset()


def _mentioned(need: Need) -> frozenset[str]:
    match need:
        case Value(terms):
            return frozenset(term.variable for term in terms)
        case Equality(left, right):
            return frozenset((left.variable, right.variable))
        case Node(variable):
            return frozenset((variable,))

"""Covering what a source query needs by heads of rules (``semantics.md`` section 8, forward).

A query needs its variables, the terms that it returns or tests, and its equalities. A cover is a set of copies of
rules, each binding some of the query's variables by its body, that together meet all needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias, TypeGuard

from heptox.errors import Fault, TranslationError
from heptox.pattern import (
    TAG,
    Atom,
    Closure,
    Comparison,
    ElementItem,
    LeafItem,
    Member,
    Presence,
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
from heptox.translate.ground import Body, Ground, Held, Place

MOST_STATES: Final = 20_000
"""States of the search for covers of one member; a query that needs more is refused by name, not answered in part."""


@dataclass(frozen=True, slots=True)
class Use:
    """A copy of a rule, with pairs (query variable, the rule variable that stands for it)."""

    rule: int
    images: tuple[tuple[str, str], ...]

    def image(self, name: str) -> str | None:
        return next((image for bound, image in self.images if bound == name), None)


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


@dataclass(frozen=True, slots=True)
class Test:
    """A leaf must be there, or compare so with a string: inside one copy, or because it is exported and tested.

    ``terms`` equal the leaf of the atom, or are that.
    """

    atom: Comparison | Presence
    terms: tuple[Term, ...]


Need: TypeAlias = Value | Equality | Test | Node
Uses: TypeAlias = tuple[Use, ...]
Choice: TypeAlias = tuple[Uses, tuple[Need, ...]]
_Carried: TypeAlias = tuple[tuple[tuple[Path, tuple[Held, ...]], ...], frozenset[frozenset[Place]]]


class Search:
    """The covers of one member.

    ``rules`` are those that may be used, each with the number of rules that it stands for; ``None`` means all.
    """

    def __init__(self, ground: Ground, member: Member, rules: Mapping[int, int] | None = None) -> None:
        self.ground = ground
        self.member = member
        self.closure = Closure(member, ground.sources)
        self.classes = self.closure.classes()
        self._rules = rules
        self._by_name = {variable.name: variable for variable in member.variables}
        self._meetable: dict[Need, bool] = {}
        self._new: dict[str, tuple[Use, ...]] = {}

    def node(self, name: str) -> Path:
        """The schema node of the member's variable ``name``."""
        return self._by_name[name].node

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
            elif self._is_test(atom):
                needs[Test(atom, self._value(atom_terms(atom)[0]).terms)] = None
            else:
                needs.update((self._value(term), None) for term in atom_terms(atom))
        needs.update((self._value(term), None) for term in template_terms(self.member.template))
        for variable in self.member.variables:
            if variable.parent is not None and variable.name not in parents:
                term = Term(variable.name)
                needs[Node(variable.name) if self.outside(term) == term else Value((self.outside(term),))] = None
        return tuple(needs)

    def _is_test(self, atom: Atom) -> TypeGuard[Comparison | Presence]:
        """Whether a body can imply the atom without a value that it exports; not inside what is copied whole."""
        match atom:
            case Comparison("!=" | "<" | "<=" | ">" | ">=", term, Text()) | Presence(term):
                return self.outside(term) == term
            case _:
                return False

    def _value(self, term: Term) -> Value:
        terms = self.classes.get(self.closure.find(term), [term])
        return Value(tuple(dict.fromkeys(map(self.outside, terms))))

    def outside(self, term: Term) -> Term:
        """The term itself, or the copied subtree that it stands in, as a term of the variable that owns that."""
        tree = self.ground.mapping.source
        variable = self._by_name[term.variable]
        if not is_inside(tree, variable.node):
            return term
        whole = tree.whole_at(variable.node)
        assert whole is not None  # it stands inside one
        while is_inside(tree, variable.node) and variable.parent is not None:
            variable = self._by_name[variable.parent]
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
        need = min(needs, key=lambda need: self._ways(choices[need], uses))
        rest = tuple(other for other in needs if other != need)
        for extended, more in choices[need]:
            self._cover(tuple(dict.fromkeys((*rest, *more))), extended, found, seen)

    def _ways(self, choices: list[Choice], uses: Uses) -> int:
        """How many ways there are, those by spare rules counted: leaving these out changes no order."""
        fresh = (after[-1].rule for after, _ in choices if len(after) > len(uses))
        return len(choices) + (sum(self._rules[rule] - 1 for rule in fresh) if self._rules else 0)

    def _is_met(self, need: Need, uses: Uses) -> bool:
        """Whether the copies that are there meet the need as they stand."""
        match need:
            case Value(terms):
                return any(self._exports(use, term) for term in terms for use in uses)
            case Test(atom, terms):
                pairs = [(use, term) for term in terms for use in uses]
                return any(self._exports(use, term) or self._holds(use, term, atom) for use, term in pairs)
            case Node(variable):
                return any(use.image(variable) is not None for use in uses)
            case Equality(left, right):
                apart = all(any(self._exports(use, term) for use in uses) for term in (left, right))
                return apart or any(self._implies(use, left, right) for use in uses)

    def _exports(self, use: Use, term: Term) -> bool:
        """Whether a copy holds the value of a term, or fixes it to the same constant."""
        image = use.image(term.variable)
        if image is None:
            return False
        held = self.ground.bodies[use.rule].held(Term(image, term.path))
        constant = self.closure.constant(term)
        return bool(held.exports) or (constant is not None and held.constant == constant)

    def _holds(self, use: Use, term: Term, test: Comparison | Presence) -> bool:
        """Whether the body of a copy implies a test of a term."""
        image = use.image(term.variable)
        if image is None:
            return False
        return self.ground.bodies[use.rule].closure.implies(map_atom(test, lambda _: Term(image, term.path)))

    def _implies(self, use: Use, left: Term, right: Term) -> bool:
        """Whether the body of a copy makes two terms equal."""
        first, second = use.image(left.variable), use.image(right.variable)
        if first is None or second is None:
            return False
        return self.ground.bodies[use.rule].implies_equal(Term(first, left.path), Term(second, right.path))

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
            case Test(atom, terms):
                exported = [(after, ()) for term in terms for after in self._exporting(term, uses)]
                return [*exported, *((after, ()) for term in terms for after in self._holding(atom, term, uses))]
            case Node(variable):
                extended = [(after, ()) for after, _ in self._extending(variable, uses)]
                return [*extended, *(((*uses, fresh), ()) for fresh in self._fresh(variable))]
            case Equality(left, right):
                if any(self._implies(use, left, right) for use in uses):
                    return [(uses, ())]
                inside: list[Choice] = [(after, ()) for after in self._implying(left, right, uses)]
                apart = (Value((left,)), Value((right,)))
                return [*inside, (uses, apart)] if all(map(self._can_be_met, apart)) else inside

    def _can_be_met(self, need: Need) -> bool:
        """Whether some rule meets the need."""
        if need not in self._meetable:
            self._meetable[need] = bool(self.options(need, ()))
        return self._meetable[need]

    def _exporting(self, term: Term, uses: Uses) -> Iterator[Uses]:
        for after, index in self._extending(term.variable, uses):
            if self._exports(after[index], term):
                yield after
        for fresh in self._fresh(term.variable):
            if self._exports(fresh, term):
                yield (*uses, fresh)

    def _holding(self, atom: Comparison | Presence, term: Term, uses: Uses) -> Iterator[Uses]:
        """Covers in which the body of a copy implies a test of a term, and its head does not hold the term."""
        for after, index in self._extending(term.variable, uses):
            if self._holds(after[index], term, atom) and not self._exports(after[index], term):
                yield after
        for fresh in self._fresh(term.variable):
            if self._holds(fresh, term, atom) and not self._exports(fresh, term):
                yield (*uses, fresh)

    def _implying(self, left: Term, right: Term, uses: Uses) -> Iterator[Uses]:
        for after, index in self._extending(left.variable, uses):
            for both in self._absorbing(after[index], right.variable):
                if self._implies(both, left, right):
                    yield (*after[:index], both, *after[index + 1 :])
        for fresh in self._fresh(left.variable):
            for both in self._absorbing(fresh, right.variable):
                if self._implies(both, left, right):
                    yield (*uses, both)

    def _extending(self, variable: str, uses: Uses) -> Iterator[tuple[Uses, int]]:
        """Covers in which a copy that is there binds a variable, with the index of that copy."""
        for index, use in enumerate(uses):
            for extended in self._absorbing(use, variable):
                yield (*uses[:index], extended, *uses[index + 1 :]), index

    def _fresh(self, variable: str) -> tuple[Use, ...]:
        """New copies that bind a variable."""
        if variable not in self._new:
            copies = (Use(rule, ()) for rule in self._rules_having(self.node(variable)))
            self._new[variable] = tuple(use for copy in copies for use in self._absorbing(copy, variable))
        return self._new[variable]

    def _rules_having(self, node: Path) -> list[int]:
        """The rules that may be used anew for a variable at a source node."""
        rules = self.ground.having.get(node, ())
        return [rule for rule in rules if self._rules is None or rule in self._rules]

    def _absorbing(self, use: Use, name: str) -> Iterator[Use]:
        """The copy with a query variable, and so its ancestors, bound by its body."""
        if use.image(name) is not None:
            yield use
            return
        body = self.ground.bodies[use.rule]
        for candidate in body.at.get(self.node(name), ()):
            images = dict(use.images)
            query: Variable | None = self._by_name[name]
            rule: Variable | None = candidate
            while query is not None and rule is not None:
                if query.node != rule.node or images.setdefault(query.name, rule.name) != rule.name:
                    break
                query = None if query.parent is None else self._by_name[query.parent]
                rule = None if rule.parent is None else body.nodes[rule.parent]
            else:
                yield Use(use.rule, tuple(sorted(images.items())))

    # -- spare rules ---------------------------------------------------------------------------------------------

    def without_spare_rules(self) -> Search:
        """The search for covers without the rules that others can always stand for."""
        return Search(self.ground, self.member, Counter(self._standing.values())) if self.has_spare_rules else self

    @property
    def has_spare_rules(self) -> bool:
        """Whether there are rules that others can always stand for."""
        return any(rule != other for rule, other in self._standing.items())

    @cached_property
    def _standing(self) -> dict[int, int]:
        """For each rule that can be used, the one that stands for it.

        That one carries just what the rule carries of this member, by a head that is a part of the rule's. Each cover
        with the rule is one with the other in its place, and its candidates are those of that cover with more nodes
        below: where these are certain answers, they contain them.
        """
        needed = {name for need in self.needs for name in _mentioned(need)}
        usable = {rule for name in needed for rule in self.ground.having.get(self.node(name), ())}
        alike: dict[_Carried, list[int]] = {}
        standing: dict[int, int] = {}
        for rule in sorted(usable, key=lambda rule: (len(self.ground.bodies[rule].rule.head), rule)):
            carried = self._carried(self.ground.bodies[rule])
            others = [] if carried is None else alike.setdefault(carried, [])
            standing[rule] = next((other for other in others if self._begins(other, rule)), rule)
            if standing[rule] == rule:
                others.append(rule)
        return standing

    def _begins(self, shorter: int, longer: int) -> bool:
        heads = [[head.node for head in self.ground.bodies[rule].rule.head] for rule in (shorter, longer)]
        return heads[1][: len(heads[0])] == heads[0]

    def _carried(self, body: Body) -> _Carried | None:
        """What a rule's head holds, and its body implies, of all that a cover may ask of this member.

        ``None`` for a rule that has one of the member's nodes twice.
        """
        if any(len(body.at.get(node, ())) > 1 for node in self._asked):
            return None
        nodes = [(node, paths) for node, paths in self._asked.items() if node in body.at]
        kept = tuple((node, body.kept(node, paths)) for node, paths in nodes)
        equal = (frozenset(place for place in places if place[0] in self._asked) for places in body.equalities)
        return kept, frozenset(places for places in equal if len(places) > 1)

    @cached_property
    def _asked(self) -> dict[Path, tuple[Path, ...]]:
        """The nodes of the member's variables, each with the paths that a cover may ask about beside its own leaves."""
        member, tree = self.member, self.ground.mapping.source
        terms = [term for atom in member.atoms for term in atom_terms(atom)]
        terms += [*template_terms(member.template), *(term for terms in self.classes.values() for term in terms)]
        terms += [Term(variable.name) for variable in member.variables]
        asked: dict[Path, dict[Path, None]] = {}
        for term in map(self.outside, terms):
            node = self.node(term.variable)
            inside = asked.setdefault(node, {})
            if term.path != (TAG,) and term.path not in tree.own_leaves(node):
                inside[term.path] = None
        return {node: tuple(paths) for node, paths in asked.items()}

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
        case Value(terms) | Test(_, terms):
            return frozenset(term.variable for term in terms)
        case Equality(left, right):
            return frozenset((left.variable, right.variable))
        case Node(variable):
            return frozenset((variable,))

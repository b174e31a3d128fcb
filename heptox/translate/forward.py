"""Along the rules: a query over the source schema becomes its certain answers over the target (``semantics.md``
section 8).

What a member needs (its variables, the terms it returns or tests, its equalities) is covered by heads of rules. Every
cover gives a candidate over the target schema, and **a candidate stays exactly when its backward translation is
contained in the query**: this one test decides about same instances, keys and alternatives. A candidate that stays is
then weakened as far as it stays sound, so that it contains the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import Final, TypeAlias

from heptox.errors import Fault, GrammarError, TranslationError
from heptox.grammar import render
from heptox.mapping import Mapping as SchemaMapping, Rule
from heptox.pattern import (
    TAG,
    Absence,
    Atom,
    Closure,
    Comparison,
    DeepEqual,
    LeafItem,
    Member,
    Presence,
    Query,
    Template,
    Term,
    Text,
    Variable,
    atom_terms,
    contained,
    fresh_name,
    map_atom,
    map_template,
    merge,
    normalise,
    surely_contained,
    template_terms,
    without_contained,
)
from heptox.schema import TEXT, Path
from heptox.translate.backward import Unfolding, is_inside
from heptox.translate.knowledge import has_alternatives, image_constraints, source_constraints
from heptox.translate.model import Check, Loss, no_check

MOST_STATES: Final = 20_000
"""States of the search for covers of one member; a query that needs more is refused by name, not answered in part."""

MOST_TESTS: Final = 2
"""Presence and absence tests that are added together to make a candidate sound."""
MOST_TESTED: Final = 24
"""Tests that are tried; where alternatives differ in more, telling them apart is refused by name."""


def forward(query: Query, mapping: SchemaMapping, check: Check = no_check) -> tuple[Query, tuple[Loss, ...]]:
    """The certain answers of a source query over the target schema (Definition 1, forward).

    Raises :class:`TranslationError`: HX5003 where alternatives differ in too many leaves to be told apart, HX5004 where
    there are too many ways to cover the query; and what ``check`` raises, which is called again and again.
    """
    covering = _Covering(mapping, query, check)
    members: list[Member] = []
    losses: set[Loss] = set()
    for member in query.members:
        cases = (case for shown in covering.shown(member) for case in covering.told_empty(shown))
        normals = [normal for case in cases if (normal := normalise(case, covering.sources))]
        found = [candidate for normal in normals for candidate in covering.member(normal)]
        members.extend(found)
        if not found:
            losses.update(loss for normal in normals for loss in covering.losses(normal))
    return without_contained(Query(tuple(members)), covering.images), tuple(sorted(losses))


@dataclass(frozen=True, slots=True)
class _Use:
    """A copy of a rule, with pairs (query variable, the rule variable that stands for it)."""

    rule: int
    images: tuple[tuple[str, str], ...]

    def image(self, name: str) -> str | None:
        return dict(self.images).get(name)


@dataclass(frozen=True, slots=True)
class _Value:
    """Some term of a class of equal terms must be exported."""

    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class _Equality:
    """Two terms must be equal: inside one copy, or because both are exported and compared."""

    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class _Node:
    """A variable must be bound by the body of some copy."""

    variable: str


_Need: TypeAlias = _Value | _Equality | _Node
_Uses: TypeAlias = tuple[_Use, ...]
_Choice: TypeAlias = tuple[_Uses, tuple[_Need, ...]]
_Export: TypeAlias = tuple[int, Term]
"""The number of a copy in a cover, and a query term that it exports."""


class _Body:
    """A rule as seen from the source: what its body implies, and what its head exports."""

    def __init__(self, rule: Rule, covering: _Covering) -> None:
        self.rule = rule
        self.closure = Closure(
            Member(rule.variables, frozenset(rule.conditions), LeafItem("value", "", Text(""))), covering.sources
        )
        self.nodes = {variable.name: variable for variable in rule.variables}

    def exports(self, term: Term) -> list[tuple[Path, Path]]:
        """The head's leaves, as (stop node, leaf), that hold the value of a source term."""
        return [
            (head.node, (*leaf, *term.path[len(supplied.path) :]) if leaf in head.copied else leaf)
            for head in self.rule.head
            for leaf, supplied in head.leaves
            if self._holds(supplied, term, copied=leaf in head.copied)
        ]

    def _holds(self, supplied: Term, term: Term, *, copied: bool) -> bool:
        """Whether a leaf filled from one term has the value of another; a copied subtree has all that is in it."""
        if copied:
            return supplied.variable == term.variable and term.path[: len(supplied.path)] == supplied.path
        return supplied == term or self.closure.find(supplied) == self.closure.find(term)

    def implies_equal(self, left: Term, right: Term) -> bool:
        return left == right or self.closure.find(left) == self.closure.find(right)


class _Covering:
    """The search for covers of one query."""

    def __init__(self, mapping: SchemaMapping, query: Query, check: Check = no_check) -> None:
        self.mapping = mapping
        self.check = check
        self.query = query
        self.sources = source_constraints(mapping)
        self.images = image_constraints(mapping)
        self.bodies = [_Body(rule, self) for rule in mapping.rules]
        self._unfolding = Unfolding(mapping, check)

    def member(self, member: Member) -> list[Member]:
        """The sound candidates for one normalised member, none contained in another.

        Raises :class:`GrammarError` (HX3048) where there are some, and the fragment has no steps for any of them.
        """
        search = _Search(self, member)
        sound: list[Member] = []
        unwritten: list[Member] = []
        for uses in search.covers():
            for candidate, glued in search.candidates(uses):
                for certain in self._certain(candidate, sound, glued=glued):
                    weakest = self._weakened(certain)
                    written = next((one for one in (weakest, certain) if self._is_written(one)), None)
                    (sound if written else unwritten).append(written or weakest)
        if unwritten and not sound:
            render(Query(tuple(unwritten)), self.images)
        return list(without_contained(Query(tuple(sound)), self.images).members)

    def _is_written(self, candidate: Member) -> bool:
        """Whether the candidate is a query of the fragment: not every box node can be told from its siblings."""
        try:
            render(Query((candidate,)), self.images)
        except GrammarError:
            return False
        return True

    def shown(self, member: Member) -> Iterator[Member]:
        """Members in which the inner elements that must exist are there for a leaf, or a node, below them."""
        normal = normalise(member, self.sources)
        tree = self.mapping.source
        for atom in normal.atoms if normal is not None else ():
            if normal is None or not isinstance(atom, Presence):
                continue
            name, path, node = atom.term.variable, atom.term.path, normal.node(atom.term.variable)
            if path == (TAG,) or tree.is_leaf((*node, *path)) or tree.whole_at((*node, *path)) is not None:
                continue
            rest = Member(normal.variables, normal.atoms - {atom}, normal.template)
            for leaf in tree.own_leaves(node):
                if leaf[: len(path)] == path:
                    yield from self.shown(
                        Member(rest.variables, rest.atoms | {Presence(Term(name, leaf))}, rest.template)
                    )
            for child in tree.child_stops(node):
                if child[len(node) :][: len(path)] == path:
                    below = Variable(fresh_name(rest, "below"), child, name)
                    yield from self.shown(Member((*rest.variables, below), rest.atoms, rest.template))
            return
        yield member

    def told_empty(self, member: Member) -> Iterator[Member]:
        """Members that know whether a value that only text nodes carry is empty: then there is no text node."""
        normal = normalise(member, self.sources)
        if normal is None:
            return
        closure = Closure(normal, self.sources)
        used = {term for atom in normal.atoms for term in atom_terms(atom)} | set(template_terms(normal.template))
        for term in sorted(used):
            undecided = closure.constant(term) is None and not closure.implies(Comparison("!=", term, Text("")))
            if undecided and closure.present(term) and self._only_as_text(normal, term):
                for operator in ("!=", "="):
                    atom = Comparison(operator, term, Text(""))
                    yield from self.told_empty(Member(normal.variables, normal.atoms | {atom}, normal.template))
                return
        yield normal

    def _only_as_text(self, member: Member, term: Term) -> bool:
        """Whether all leaves that are filled from such a term are text nodes, and there is one."""
        node = member.node(term.variable)
        if is_inside(self.mapping.source, node):
            return False
        leaves = {
            leaf
            for rule in self.mapping.rules
            for head in rule.head
            for leaf, supplied in head.leaves
            if (rule.node(supplied.variable), supplied.path) == (node, term.path)
        }
        return bool(leaves) and all(leaf[-1:] == (TEXT,) for leaf in leaves)

    def is_sound(self, candidate: Member) -> bool:
        """Whether the candidate's backward translation is contained in the query, and says something at all."""
        unfolded, _ = self._unfolding.query(Query((candidate,)))
        alive = [member for member in unfolded.members if normalise(member, self.sources) is not None]
        return bool(alive) and contained(Query(tuple(alive)), self.query, self.sources)

    def _certain(self, candidate: Member, known: list[Member], *, glued: bool) -> Iterator[Member]:
        """The candidate if it is sound, else with presence or absence tests that make it so; nothing that is known."""
        tests = self._tests(candidate, glued=glued)
        found: list[frozenset[Atom]] = []
        for size in range(MOST_TESTS + 1):
            for chosen in map(frozenset, combinations(tests, size)):
                self.check()
                tested = normalise(
                    Member(candidate.variables, candidate.atoms | chosen, candidate.template), self.images
                )
                if tested is None or any(fewer <= chosen for fewer in found):
                    continue
                if any(surely_contained(tested, other, self.images) for other in known):
                    found.append(chosen)
                elif self.is_sound(tested):
                    found.append(chosen)
                    yield tested

    def _tests(self, candidate: Member, *, glued: bool) -> list[Atom]:
        """Presence and absence of what alternative rules supply differently, and of what glues nodes by its absence.

        Raises :class:`TranslationError` (HX5003) where there are too many to try.
        """
        tests: list[Atom] = []
        for variable in candidate.variables:
            if variable.parent is None or not (glued or has_alternatives(self.mapping, variable.node)):
                continue
            heads = [head for rule in self.mapping.rules for head in rule.head if head.node == variable.node]
            for leaf in self.mapping.target.own_leaves(variable.node):
                if any(head.term(leaf) for head in heads) and not self.images.required(variable.node, leaf):
                    term = Term(variable.name, leaf)
                    tests.extend((Absence(term), Presence(term)))
        if len(tests) > MOST_TESTED:
            raise TranslationError(
                Fault("HX5003", "alternatives differ in too many leaves to tell them apart in a query")
            )
        return tests

    def _weakened(self, candidate: Member) -> Member:
        """The candidate without what it can do without: the weakest sound query that this cover leads to."""
        changed = True
        while changed:
            changed = False
            for weaker in _weaker(candidate):
                if self.is_sound(weaker):
                    candidate, changed = normalise(weaker, self.images) or weaker, True
                    break
        return candidate

    def losses(self, member: Member) -> set[Loss]:
        """What keeps a member from being certain: leaves that no rule exports, or that there is no way to join what
        is.
        """
        search = _Search(self, member)
        lost = {
            Loss((*member.node(term.variable), *term.path), "no arrow leads from it, and the query needs it")
            for need in search.needs
            if isinstance(need, _Value) and not search.options(need, ())
            for term in need.terms
        }
        nodes = {
            Loss(member.node(need.variable), "no arrow leads from it or anything below it, and the query needs it")
            for need in search.needs
            if isinstance(need, _Node) and not search.options(need, ())
        }
        return lost | nodes or {Loss((), "what the rules carry cannot be joined again with certainty")}


class _Search:
    """The covers of one member and their candidates."""

    def __init__(self, covering: _Covering, member: Member) -> None:
        self.covering = covering
        self.member = member
        self.closure = Closure(member, covering.sources)
        self.classes = self.closure.classes()

    @cached_property
    def needs(self) -> tuple[_Need, ...]:
        parents = {variable.parent for variable in self.member.variables}
        needs: dict[_Need, None] = {}
        for atom in sorted(self.member.atoms, key=repr):
            if isinstance(atom, Comparison) and atom.operator == "=" and isinstance(atom.right, Term):
                left, right = self.outside(atom.left), self.outside(atom.right)
                if (left, right) == (atom.left, atom.right):
                    needs[_Equality(left, right)] = None
                else:
                    needs.update({_Value((left,)): None, _Value((right,)): None})
            elif isinstance(atom, Comparison) and _numeric(atom):
                needs[_Value((self.outside(atom.left),))] = (
                    None  # an equal term may hold words elsewhere, and raise an error there
                )
            else:
                needs.update((self._value(term), None) for term in atom_terms(atom))
        needs.update((self._value(term), None) for term in template_terms(self.member.template))
        for variable in self.member.variables:
            if variable.parent is not None and variable.name not in parents:
                term = Term(variable.name)
                needs[_Node(variable.name) if self.outside(term) == term else _Value((self.outside(term),))] = None
        return tuple(needs)

    def _value(self, term: Term) -> _Value:
        terms = self.classes.get(self.closure.find(term), [term])
        return _Value(tuple(dict.fromkeys(map(self.outside, terms))))

    def outside(self, term: Term) -> Term:
        """The term itself, or the copied subtree that it stands in, as a term of the variable that owns that."""
        tree = self.covering.mapping.source
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

    def covers(self) -> list[_Uses]:
        """The ways to cover the needs, those with few copies first.

        What a copy's body already gives is taken from it; only where that could cost an answer are other ways tried.
        """
        found: dict[frozenset[_Use], _Uses] = {}
        self._cover(self.needs, (), found, set())
        return sorted(found.values(), key=len)

    def _cover(
        self,
        needs: tuple[_Need, ...],
        uses: _Uses,
        found: dict[frozenset[_Use], _Uses],
        seen: set[tuple[frozenset[_Need], frozenset[_Use]]],
    ) -> None:
        needs = tuple(need for need in needs if not self._is_met(need, uses))
        state = frozenset(needs), frozenset(uses)
        if state in seen:
            return
        seen.add(state)
        self.covering.check()
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

    def _is_met(self, need: _Need, uses: _Uses) -> bool:
        """Whether the copies that are there meet the need as they stand."""
        match need:
            case _Equality(left, right) if all(self._is_met(_Value((term,)), uses) for term in (left, right)):
                return True
            case _:
                return any(after == uses and not more for after, more in self.options(need, uses))

    def _free(self, needs: tuple[_Need, ...], uses: _Uses, choices: dict[_Need, list[_Choice]]) -> _Uses | None:
        """An extension of a copy that costs no answer, ``None`` where there is none.

        It binds a variable by a node of the body that stands for no other, and meets all that the variable needs.
        """
        for choice in choices.values():
            for extended, more in choice:
                if not more and len(extended) == len(uses) and extended != uses:
                    bound = _newly_bound(uses, extended)
                    touched = [need for need in needs if bound & _mentioned(need)]
                    if bound and all(self._is_met(need, extended) for need in touched):
                        return extended
        return None

    def options(self, need: _Need, uses: _Uses) -> list[_Choice]:
        """The ways to meet a need: by a copy that is there, by one that absorbs more of the query, by a new copy."""
        match need:
            case _Value(terms):
                return [(after, ()) for term in terms for after in self._exporting(term, uses)]
            case _Node(variable):
                return [(after, ()) for after, _ in self._covering(variable, uses)]
            case _Equality(left, right):
                inside: list[_Choice] = [(after, ()) for after in self._implying(left, right, uses)]
                if any(not needed for after, needed in inside if after == uses):
                    return [(uses, ())]
                apart = (_Value((left,)), _Value((right,)))
                outside: list[_Choice] = [(uses, apart)] if all(self.options(value, ()) for value in apart) else []
                return inside + outside

    def _exporting(self, term: Term, uses: _Uses) -> Iterator[_Uses]:
        for after, index in self._covering(term.variable, uses):
            use = after[index]
            image = use.image(term.variable)
            assert image is not None
            if self.covering.bodies[use.rule].exports(Term(image, term.path)):
                yield after

    def _implying(self, left: Term, right: Term, uses: _Uses) -> Iterator[_Uses]:
        for after, index in self._covering(left.variable, uses):
            for both, again in self._covering(right.variable, after, only=index):
                use = both[again]
                first, second = use.image(left.variable), use.image(right.variable)
                assert first is not None and second is not None
                if self.covering.bodies[use.rule].implies_equal(Term(first, left.path), Term(second, right.path)):
                    yield both

    def _covering(self, variable: str, uses: _Uses, only: int | None = None) -> Iterator[tuple[_Uses, int]]:
        """Covers that bind a variable, with the index of the copy that does."""
        for index, use in enumerate(uses):
            if only in (None, index):
                for extended in self._absorbing(use, variable):
                    yield (*uses[:index], extended, *uses[index + 1 :]), index
        if only is None:
            for number in range(len(self.covering.bodies)):
                for fresh in self._absorbing(_Use(number, ()), variable):
                    yield (*uses, fresh), len(uses)

    def _absorbing(self, use: _Use, name: str) -> Iterator[_Use]:
        """The copy with a query variable, and so its ancestors, bound by its body."""
        if use.image(name) is not None:
            yield use
            return
        by_name = {variable.name: variable for variable in self.member.variables}
        body = self.covering.bodies[use.rule]
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
                yield _Use(use.rule, tuple(sorted(images.items())))

    # -- candidates ----------------------------------------------------------------------------------------------

    def candidates(self, uses: _Uses) -> Iterator[tuple[Member, bool]]:
        """The target members that a cover leads to, the weakest first, and whether nodes were glued for it.

        Copies are joined by what they export of a common variable, then also glued on common target nodes.
        """
        for preferred in _Candidate(self, uses).preferences():
            yield from self._preferring(_Candidate(self, uses, preferred))

    def _preferring(self, plain: _Candidate) -> Iterator[tuple[Member, bool]]:
        template = plain.template()
        if template is None:
            return
        base = Member(plain.variables(), plain.atoms() | plain.shared(), template)
        for glue in plain.gluings():
            glued = merge(base, *glue)
            # One node agrees with itself, also on a leaf that it has not: only values of two nodes need comparing.
            agreed = frozenset(atom for atom in glued.atoms if not _reflexive(atom))
            needed = merge(Member(base.variables, plain.atoms(), template), *glue).atoms
            candidate = normalise(Member(glued.variables, agreed | needed, glued.template), self.covering.images)
            if candidate is not None:
                yield candidate, bool(glue)


class _Candidate:
    """The heads of a cover's copies as variables and atoms over the target schema.

    Where a copy exports a term at several leaves, ``preferred`` says which one is taken; on an image they are equal.
    """

    def __init__(self, search: _Search, uses: _Uses, preferred: Mapping[_Export, int] | None = None) -> None:
        self.search = search
        self.uses = uses
        self.preferred = preferred or {}
        self.bodies = [search.covering.bodies[use.rule] for use in uses]

    def variables(self) -> tuple[Variable, ...]:
        found = [Variable("root", ())]
        for index, body in enumerate(self.bodies):
            parent = "root"
            for head in body.rule.head[1:]:
                found.append(Variable(self._name(index, head.node), head.node, parent))
                parent = found[-1].name
        return (*found, *self._inside())

    def _inside(self) -> Iterator[Variable]:
        """The query's variables inside copied subtrees, at the same place inside the copies."""
        search = self.search
        tree = search.covering.mapping.source
        nodes: dict[str, Path] = {}
        for variable in search.member.variables:
            if variable.parent is None or not is_inside(tree, variable.node):
                continue
            above, whole = search.member.node(variable.parent), tree.whole_at(variable.node)
            assert whole is not None  # it stands inside one
            if variable.parent in nodes:
                parent, node = f"inside.{variable.parent}", (*nodes[variable.parent], *variable.node[len(above) :])
            else:
                copy = self.exported(Term(variable.parent, whole[len(above) :]))[0]
                owner = self._nodes[copy.variable]
                parent, node = copy.variable, (*owner, *copy.path, *variable.node[len(whole) :])
            nodes[variable.name] = node
            yield Variable(f"inside.{variable.name}", node, parent)

    def _name(self, index: int, node: Path) -> str:
        return f"{index}.{'/'.join(node)}" if node else "root"

    @cached_property
    def _nodes(self) -> dict[str, Path]:
        """The target nodes of the copies' variables."""
        heads = [(index, head) for index, body in enumerate(self.bodies) for head in body.rule.head]
        return {self._name(index, head.node): head.node for index, head in heads}

    def preferences(self) -> Iterator[dict[_Export, int]]:
        """The first export of each term everywhere, then each other one in turn."""
        yield {}
        member = self.search.member
        needed = {term for atom in member.atoms for term in atom_terms(atom)} | set(template_terms(member.template))
        for index in range(len(self.uses)):
            for term in sorted(needed):
                for choice in range(1, len(self._exported_by(index, term))):
                    yield {(index, term): choice}

    def exported(self, term: Term) -> list[Term]:
        """The target terms that hold the value of a query term, one for each copy that exports it."""
        if is_inside(self.search.covering.mapping.source, self.search.member.node(term.variable)):
            return [Term(f"inside.{term.variable}", term.path)]
        return [
            found[self.preferred.get((index, term), 0)]
            for index in range(len(self.uses))
            if (found := self._exported_by(index, term))
        ]

    def _exported_by(self, index: int, term: Term) -> list[Term]:
        image = self.uses[index].image(term.variable)
        if image is None:
            return []
        exports = self.bodies[index].exports(Term(image, term.path))
        found = [Term(self._name(index, node), leaf) for node, leaf in exports]
        return sorted(found, key=_is_text)  # a text node does not tell an empty value from none

    def value(self, term: Term) -> Term | None:
        """A target term that holds the value of a query term, or of one that equals it."""
        search = self.search
        for equal in (term, *search.classes.get(search.closure.find(term), ())):
            if found := self.exported(equal):
                return found[0]
        return None

    def atoms(self) -> frozenset[Atom]:
        search = self.search
        atoms: set[Atom] = set()
        for representative, terms in search.classes.items():
            images = list(dict.fromkeys(image for term in terms for image in self.exported(term)))
            atoms.update(Comparison("=", images[0], other) for other in images[1:])
            constant = search.closure.constant(representative)
            if constant == "" and images and _is_text(images[0]):
                atoms.add(Absence(images[0]))  # the node that it was for is there, its text is not
            elif constant is not None and images:
                atoms.add(Comparison("=", images[0], Text(constant)))
        for atom in search.member.atoms:
            if isinstance(atom, Comparison) and atom.operator == "=" and not _numeric(atom):
                continue
            if all(self.value(term) for term in atom_terms(atom)):
                atoms.add(map_atom(atom, lambda term: self.value(term) or term))
        atoms.update(self._returned())
        return frozenset(atoms)

    def shared(self) -> frozenset[Atom]:
        """Copies that bind one query variable agree on all that they export of it."""
        return frozenset(self._shared())

    def _shared(self) -> Iterator[Atom]:
        tree = self.search.covering.mapping.source
        outside = [variable for variable in self.search.member.variables if not is_inside(tree, variable.node)]
        for variable in outside:
            for leaf in ((TAG,), *tree.own_leaves(variable.node)):
                images = self.exported(Term(variable.name, leaf))
                if tree.whole_at((*variable.node, *leaf)) is not None:
                    yield from (DeepEqual(images[0], other) for other in images[1:])
                else:
                    yield from (Comparison("=", images[0], other) for other in images[1:])

    def _returned(self) -> Iterator[Atom]:
        """What an item always holds by the source's schema must be there in the target, which may not guarantee it."""
        for term in template_terms(self.search.member.template):
            image = self.value(term)
            if image is not None and self.search.closure.present(term):
                yield Presence(image)

    def template(self) -> Template | None:
        template = self.search.member.template
        if any(self.value(term) is None for term in template_terms(template)):
            return None
        return map_template(template, self.value)

    def gluings(self) -> Iterator[tuple[tuple[str, str], ...]]:
        """Ways to make target nodes of copies that share a query variable one node, from none to all common ones."""
        choices: list[list[tuple[tuple[str, str], ...]]] = []
        for first, second in combinations(range(len(self.uses)), 2):
            if {name for name, _ in self.uses[first].images} & self._below_root(second):
                common = self._common(first, second)
                choices.append([(), *[((self._name(first, node), self._name(second, node)),) for node in common]])
        for choice in sorted(product(*choices), key=lambda choice: sum(bool(pair) for pair in choice)):
            yield tuple(pair for pairs in choice for pair in pairs)

    def _below_root(self, index: int) -> set[str]:
        root = self.search.member.variables[0].name
        return {name for name, _ in self.uses[index].images if name != root}

    def _common(self, first: int, second: int) -> list[Path]:
        heads = zip(self.bodies[first].rule.head[1:], self.bodies[second].rule.head[1:], strict=False)
        common: list[Path] = []
        for left, right in heads:
            if left.node != right.node:
                break
            common.append(left.node)
        return common


def _newly_bound(before: _Uses, after: _Uses) -> frozenset[str]:
    """The query variables that an extended copy binds anew; none where it binds two to one node of its body."""
    for old, new in zip(before, after, strict=True):
        added = dict(new.images).keys() - dict(old.images).keys()
        if added:
            images = list(dict(new.images).values())
            return frozenset(added) if len(set(images)) == len(images) else frozenset()
    return frozenset()


def _mentioned(need: _Need) -> frozenset[str]:
    match need:
        case _Value(terms):
            return frozenset(term.variable for term in terms)
        case _Equality(left, right):
            return frozenset((left.variable, right.variable))
        case _Node(variable):
            return frozenset((variable,))


def _is_text(term: Term) -> bool:
    return term.path[-1:] == (TEXT,)


def _reflexive(atom: Atom) -> bool:
    equality = isinstance(atom, DeepEqual) or (isinstance(atom, Comparison) and atom.operator == "=")
    return equality and len(set(atom_terms(atom))) == 1 and len(atom_terms(atom)) == 2


def _numeric(atom: Comparison) -> bool:
    return not isinstance(atom.right, Term | Text)


def _weaker(member: Member) -> Iterator[Member]:
    """The member without one lowest variable that its template does not use, or without one atom."""
    parents = {variable.parent for variable in member.variables}
    returned = {term.variable for term in template_terms(member.template)}
    for variable in member.variables:
        if variable.parent is not None and variable.name not in parents and variable.name not in returned:
            atoms = frozenset(
                atom for atom in member.atoms if all(term.variable != variable.name for term in atom_terms(atom))
            )
            yield Member(tuple(other for other in member.variables if other != variable), atoms, member.template)
    for atom in sorted(member.atoms, key=repr):
        if not _keeps_item(member, atom):
            yield Member(member.variables, member.atoms - {atom}, member.template)


def _keeps_item(member: Member, atom: Atom) -> bool:
    """Whether the atom says that the item's own leaf is there, which a bare leaf needs."""
    return isinstance(atom, Presence) and isinstance(member.template, LeafItem) and atom.term == member.template.term

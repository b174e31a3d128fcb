"""From a cover to queries over the target schema: the heads of its copies, joined and glued."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import combinations, product
from typing import TypeAlias

from heptox.pattern import (
    TAG,
    Absence,
    Atom,
    Closure,
    Comparison,
    DeepEqual,
    Member,
    Presence,
    Template,
    Term,
    Text,
    Variable,
    atom_terms,
    is_numeric,
    is_reflexive,
    item_presence,
    map_atom,
    map_template,
    merge,
    normalise,
    ordered,
    template_terms,
    with_terms,
)
from heptox.schema import TEXT, Path
from heptox.translate.backward import is_inside
from heptox.translate.cover import Search, Uses

Preference: TypeAlias = Mapping[Term, int]
"""For query terms that several target terms hold, the number of the one that is taken, if not the first."""


def candidates(search: Search, uses: Uses) -> Iterator[tuple[Member, bool]]:
    """The target members that a cover leads to, the weakest first, and whether nodes were glued for it.

    Copies are joined by what they export of a common variable, then also glued on common target nodes.
    """
    candidate = Candidate(search, uses)
    for preferred in candidate.preferences():
        for template in candidate.templates(preferred):
            yield from _preferring(candidate, preferred, template)


def _preferring(plain: Candidate, preferred: Preference, template: Template) -> Iterator[tuple[Member, bool]]:
    atoms = plain.atoms(preferred) | item_presence(template)
    base = Member(plain.variables, atoms | plain.shared, template)
    for glue in plain.gluings():
        glued = merge(base, *glue)
        # One node agrees with itself, also on a leaf that it has not: only values of two nodes need comparing.
        agreed = frozenset(atom for atom in glued.atoms if not is_reflexive(atom))
        needed = merge(Member(base.variables, atoms, template), *glue).atoms
        candidate = normalise(Member(glued.variables, agreed | needed, glued.template), plain.search.ground.images)
        if candidate is not None:
            yield candidate, bool(glue)


class Candidate:
    """The heads of a cover's copies as variables and atoms over the target schema.

    Where several target terms hold a query term, a preference says which one is taken; on an image they are equal.
    """

    def __init__(self, search: Search, uses: Uses) -> None:
        self.search = search
        self.uses = uses
        self.bodies = [search.ground.bodies[use.rule] for use in uses]
        self._held: dict[Term, list[list[Term]]] = {}

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        found = [Variable("root", ())]
        for index, body in enumerate(self.bodies):
            parent = "root"
            for head in body.rule.head[1:]:
                found.append(Variable(self._name(index, head.node), head.node, parent))
                parent = found[-1].name
        return ordered([*found, *self._inside()])

    def _inside(self) -> Iterator[Variable]:
        """The query's variables inside copied subtrees, at the same place inside the copies."""
        search = self.search
        tree = search.ground.mapping.source
        nodes: dict[str, Path] = {}
        for variable in search.member.variables:
            if variable.parent is None or not is_inside(tree, variable.node):
                continue
            above, whole = search.node(variable.parent), tree.whole_at(variable.node)
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

    def preferences(self) -> Iterator[Preference]:
        """The first choice for each term, then each other one in turn that the candidate does not say is the same."""
        yield {}
        member, images = self.search.member, self.search.ground.images
        needed = {term for atom in member.atoms for term in atom_terms(atom)} | set(template_terms(member.template))
        several = [(term, choices) for term in sorted(needed) if len(choices := self._choices(term)) > 1]
        if several:
            said = Closure(Member(self.variables, self.atoms({}) | self.shared, member.template), images)
            for term, (first, *others) in several:
                for number, other in enumerate(others, start=1):
                    if not said.same_value(first, other):
                        yield {term: number}

    def exported(self, term: Term) -> list[Term]:
        """The target terms that hold the value of a query term, one for each copy that exports it."""
        if is_inside(self.search.ground.mapping.source, self.search.node(term.variable)):
            return [Term(f"inside.{term.variable}", term.path)]
        return [found[0] for found in self._all_exported(term)]

    def _all_exported(self, term: Term) -> list[list[Term]]:
        """For each copy that exports a query term, all target terms that hold its value."""
        if term not in self._held:
            exported = (self._exported_by(index, term) for index in range(len(self.uses)))
            self._held[term] = [found for found in exported if found]
        return self._held[term]

    def _exported_by(self, index: int, term: Term) -> list[Term]:
        image = self.uses[index].image(term.variable)
        if image is None:
            return []
        exports = self.bodies[index].exports(Term(image, term.path))
        found = [Term(self._name(index, node), leaf) for node, leaf in exports]
        return sorted(found, key=is_text)  # a text node does not tell an empty value from none

    def value(self, term: Term, preferred: Preference) -> Term | None:
        """A target term that holds the value of a query term, or of one that equals it."""
        choices = self._choices(term)
        return choices[preferred.get(term, 0)] if choices else None

    def _choices(self, term: Term) -> list[Term]:
        """All target terms that hold it, its own before those of equal terms."""
        search = self.search
        found: dict[Term, None] = {}
        for equal in (term, *search.classes.get(search.closure.find(term), ())):
            if is_inside(search.ground.mapping.source, search.node(equal.variable)):
                found[Term(f"inside.{equal.variable}", equal.path)] = None
            else:
                found.update((held, None) for exported in self._all_exported(equal) for held in exported)
        return list(found)

    def atoms(self, preferred: Preference) -> frozenset[Atom]:
        search = self.search
        atoms: set[Atom] = set()
        for representative, terms in search.classes.items():
            images = list(dict.fromkeys(image for term in terms for image in self.exported(term)))
            if len(terms) == 1 and (chosen := self.value(representative, preferred)):
                images = [chosen, *(image for image in images[1:] if image != chosen)]
            atoms.update(Comparison("=", images[0], other) for other in images[1:])
            constant = search.closure.constant(representative)
            if constant == "" and images and is_text(images[0]):
                atoms.add(Absence(images[0]))  # the node that it was for is there, its text is not
            elif constant is not None and images:
                atoms.add(Comparison("=", images[0], Text(constant)))
        for atom in search.member.atoms:
            if isinstance(atom, Comparison) and atom.operator == "=" and not is_numeric(atom):
                continue
            if isinstance(atom, Comparison) and is_numeric(atom):
                # Only where the term itself is held: an equal one may be of words elsewhere, and raise an error there.
                atoms.update(replace(atom, left=held) for held in self.exported(atom.left)[:1])
            elif all(self.value(term, preferred) for term in atom_terms(atom)):
                atoms.add(map_atom(atom, lambda term: self.value(term, preferred) or term))
        atoms.update(self._returned(preferred))
        return frozenset(atoms)

    @cached_property
    def shared(self) -> frozenset[Atom]:
        """Copies that bind one query variable agree on all that they export of it."""
        return frozenset(self._shared())

    def _shared(self) -> Iterator[Atom]:
        tree = self.search.ground.mapping.source
        for variable in self._bound_twice():
            for leaf in ((TAG,), *tree.own_leaves(variable.node)):
                images = self.exported(Term(variable.name, leaf))
                if tree.whole_at((*variable.node, *leaf)) is not None:
                    yield from (DeepEqual(images[0], other) for other in images[1:])
                    yield from (Presence(image) for image in images if len(images) > 1)
                else:
                    yield from (Comparison("=", images[0], other) for other in images[1:])

    def _bound_twice(self) -> Iterator[Variable]:
        """The query's variables outside copied subtrees that several copies bind."""
        tree = self.search.ground.mapping.source
        for variable in self.search.member.variables:
            copies = [use for use in self.uses if use.image(variable.name) is not None]
            if len(copies) > 1 and not is_inside(tree, variable.node):
                yield variable

    def _returned(self, preferred: Preference) -> Iterator[Atom]:
        """What an item always holds by the source's schema must be there in the target, which may not guarantee it."""
        for term in template_terms(self.search.member.template):
            image = self.value(term, preferred)
            if image is not None and self.search.closure.present(term):
                yield Presence(image)

    def templates(self, preferred: Preference) -> Iterator[Template]:
        """The item over the target; then with each leaf in the place of a constant that it may hold."""
        template = self.search.member.template
        if any(self.value(term, preferred) is None for term in template_terms(template)):
            return
        mapped = map_template(template, lambda term: self.value(term, preferred))
        assert mapped is not None  # every term has an image
        yield mapped
        for representative in self.search.classes:
            constant, choices = self.search.closure.constant(representative), self._choices(representative)
            if constant is not None and len(choices) > 1:
                variants = (with_terms(mapped, {constant: choice}) for choice in choices)
                yield from (variant for variant in variants if variant != mapped)

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


def is_text(term: Term) -> bool:
    return term.path[-1:] == (TEXT,)

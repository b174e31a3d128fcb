"""Smaller equivalents: members without what the rest implies, unions without members that another contains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from heptox.checks import Check, no_check
from heptox.pattern.closure import Closure
from heptox.pattern.constraints import Constraints
from heptox.pattern.containment import NormalForm, NormalForms, same_template
from heptox.pattern.model import TAG, Atom, Comparison, Member, NoNode, Presence, Query, Term, Text, Variable
from heptox.pattern.rewrite import (
    atom_terms,
    atom_variables,
    is_numeric,
    is_reflexive,
    map_atom,
    map_template,
    rename,
    template_terms,
)
from heptox.schema import Path


def without_contained(query: Query, forms: NormalForms, check: Check = no_check) -> Query:
    """The union without members that another member contains; of equivalent members the first stays."""
    if len(query.members) < 2:
        return query
    kept: dict[Member, NormalForm | None] = {}
    for member in query.members:
        check()
        form = forms.of(member)
        if not any(_contains(other, form) for other in kept.values()):
            kept = {known: other for known, other in kept.items() if not _contains(form, other)}
            kept[member] = form
    return Query(tuple(kept))


def _contains(general: NormalForm | None, specific: NormalForm | None) -> bool:
    return specific is None or (general is not None and specific.is_surely_contained(general))


def without_cases(query: Query, forms: NormalForms, check: Check = no_check) -> Query:
    """The union with conditions left out where other members hold what they exclude.

    A condition ``x != c`` goes where the member with ``x = c`` instead is contained in another one; in valid documents
    a condition on a tag goes where the same is so of every other member of the box.
    """
    members = list(query.members)
    normal = [forms.of(member) for member in members] if len(members) > 1 else []
    for number, form in enumerate(normal):
        check()
        others = [other for other in (*normal[:number], *normal[number + 1 :]) if other is not None]
        wider = None if form is None else _without_cases(form, others, forms)
        if wider is not None:
            members[number], normal[number] = wider.member, wider
    return Query(tuple(members))


def _without_cases(form: NormalForm, others: Sequence[NormalForm], forms: NormalForms) -> NormalForm | None:
    """The member without all conditions that the other members make superfluous; ``None`` where there are none."""
    found: NormalForm | None = None
    for atom in sorted(form.member.atoms, key=repr):
        if isinstance(atom, Comparison) and isinstance(atom.right, Text):
            member, constraints = (found or form).member, form.constraints
            atoms = (member.atoms - {atom}) | {Presence(atom.left)}
            cases = _excluded(member, atom, constraints)
            split = (Member(member.variables, atoms | {case}, member.template) for case in cases)
            if cases and all(_is_in_one(forms.of(case), others) for case in split):
                found = forms.of(Member(member.variables, atoms, member.template)) or found
    return found


def _excluded(member: Member, atom: Comparison, constraints: Constraints) -> list[Comparison]:
    """What holds instead where a comparison with a string does not, the term being there; none if that is too much."""
    term, box = atom.left, constraints.tree.box(member.node(atom.left.variable))
    if atom.operator == "!=":
        return [Comparison("=", term, atom.right)]
    if atom.operator == "=" and box is not None and term.path == (TAG,) and constraints.valid:
        return [Comparison("=", term, Text(name)) for name in box.values if Text(name) != atom.right]
    return []


def _is_in_one(form: NormalForm | None, others: Sequence[NormalForm]) -> bool:
    return form is None or any(form.is_surely_contained(other) for other in others)


def minimise_member(member: Member, forms: NormalForms, check: Check = no_check) -> Member:
    """The member without variables and atoms that the rest implies on all documents that obey the constraints."""
    whole = forms.of(member)
    if whole is None:
        return member
    whole = _folded(whole, forms)
    minimal, closure = whole.member, whole.closure
    while True:
        candidates = _smaller(minimal, closure, check)
        smaller = next((less for less in candidates if _says_all(forms.of(less), whole, check)), None)
        if smaller is None:
            return minimal
        # What is left out is not put back by another normal form.
        minimal, closure = smaller, Closure(smaller, forms.constraints)
        whole = forms.of(smaller) or whole


def _folded(form: NormalForm, forms: NormalForms) -> NormalForm:
    """The member without lowest variables whose sibling says all that they do: most of what unfolding makes twice."""
    while True:
        pair = next(_folds(form.member, form.closure), None)
        folded = None if pair is None else forms.of(rename(form.member, dict((pair,))))
        if folded is None:
            return form
        form = folded


def _folds(member: Member, closure: Closure) -> Iterator[tuple[str, str]]:
    """Pairs of a lowest variable and one that stands at the same node below the same parent, and says as much."""
    parents = {variable.parent for variable in member.variables}
    siblings: dict[tuple[Path, str | None], list[str]] = {}
    for variable in member.variables:
        siblings.setdefault((variable.node, variable.parent), []).append(variable.name)
    for variable in reversed(member.variables):
        several = siblings[variable.node, variable.parent]
        if variable.name in parents or len(several) < 2:
            continue
        said = [atom for atom in member.atoms if variable.name in atom_variables(atom)]
        for other in several:
            if other != variable.name and _says_as_much(member, said, variable.name, other, closure):
                yield variable.name, other


def _says_as_much(member: Member, said: Iterable[Atom], name: str, other: str, closure: Closure) -> bool:
    image = partial(_moved, {name: other})
    names = {variable.name: variable.name for variable in member.variables} | {name: other}
    return all(closure.implies(map_atom(atom, image)) for atom in said) and same_template(
        member.template, member.template, names, closure
    )


def _says_all(less: NormalForm | None, more: NormalForm, check: Check) -> bool:
    check()
    return _contains(more, less)


def _smaller(member: Member, closure: Closure, check: Check) -> Iterator[Member]:
    """Members with one lowest variable, or one atom, less; they contain ``member``.

    Those are left out that say less for sure: a variable that no other can stand for, an atom that the others do not
    imply and that is of no variable that another can stand for.
    """
    parents = {variable.parent for variable in member.variables}
    roots = member.roots
    constraints = closure.constraints
    replaceable = _replaceable(member, closure, constraints)
    for variable in reversed(member.variables):
        alone = variable.parent is None and len(set(roots.values())) == 1
        if not alone and variable.name not in parents and variable.name in replaceable:
            smaller = _without_variable(member, variable, closure)
            if smaller is not None:
                yield smaller
    said = Counter(term for atom in member.atoms for term in atom_terms(atom))
    for atom in sorted(member.atoms, key=repr):
        check()
        moved = not replaceable.isdisjoint(atom_variables(atom))
        # Nothing follows for a term that is compared, if no other atom speaks of it.
        if not moved and isinstance(atom, Comparison) and any(said[term] == 1 for term in atom_terms(atom)):
            continue
        smaller = Member(member.variables, member.atoms - {atom}, member.template)
        if moved or Closure(smaller, constraints).implies(atom):
            yield smaller


def _replaceable(member: Member, closure: Closure, constraints: Constraints) -> set[str]:
    """The variables that another one, or one that documents imply, could stand for.

    Each keeps the others of its node for which nothing that is said of one or two variables speaks against it, as long
    as those above it, and those that it is compared with, keep some that fit (arc consistency): so what is not found is
    surely not replaceable.
    """
    said: dict[str, list[Atom]] = {variable.name: [] for variable in member.variables}
    for atom in member.atoms:
        for name in set(atom_variables(atom)):
            said[name].append(atom)
    implied = {v.name for v in member.variables if _may_be_implied(v, said[v.name], constraints)}
    parents = {variable.name: variable.parent for variable in member.variables}
    below = {
        variable.name: [v.name for v in member.variables if v.parent == variable.name] for variable in member.variables
    }
    terms = list(template_terms(member.template))
    domains: dict[str, set[str]] = {}
    stand_ins = _StandIns(said, parents, below, domains, implied, closure)
    for variable in member.variables:
        alike = (other.name for other in member.variables if other.node == variable.node)
        domains[variable.name] = {
            name for name in alike if name == variable.name or _fits_alone(variable.name, name, said, terms, closure)
        }
    changed = True
    while changed:
        changed = False
        for name, domain in domains.items():
            for other in [other for other in domain if other != name]:
                if not stand_ins.fits(name, other):
                    domain.discard(other)
                    changed = True
    return implied | {name for name, domain in domains.items() if len(domain) > 1}


def _may_be_implied(variable: Variable, said: Iterable[Atom], constraints: Constraints) -> bool:
    """Whether documents may imply a node that a variable could go to: of that one is known only what refers to it."""
    keys = {Term(variable.name, path) for path in constraints.keys_of.get(variable.node, ())}
    return constraints.may_be_implied(variable.node) and all(
        isinstance(atom, Comparison) and atom.operator == "=" and not keys.isdisjoint(atom_terms(atom)) for atom in said
    )


def _fits_alone(
    name: str, other: str, said: Mapping[str, Sequence[Atom]], terms: Sequence[Term], closure: Closure
) -> bool:
    """Whether what is said of one variable alone holds of another, and an item has the same of both."""
    alone = (atom for atom in said[name] if set(atom_variables(atom)) == {name})
    return all(closure.implies(map_atom(atom, partial(_moved, {name: other}))) for atom in alone) and all(
        closure.equal(term, Term(other, term.path)) or closure.alike(term, Term(other, term.path))
        for term in terms
        if term.variable == name
    )


@dataclass(frozen=True, slots=True)
class _StandIns:
    """For each variable the others that could stand for it (``domains``), by the atoms that speak of it (``said``), its
    parent, and the variables ``below`` it; documents may imply nodes that the ``implied`` ones could go to.
    """

    said: Mapping[str, Sequence[Atom]]
    parents: Mapping[str, str | None]
    below: Mapping[str, Sequence[str]]
    domains: Mapping[str, set[str]]
    implied: set[str]
    closure: Closure

    def fits(self, name: str, other: str) -> bool:
        """Whether a variable can go to another as far as its parent, those below it and what it is compared with can go
        along.
        """
        parents, domains, implied = self.parents, self.domains, self.implied
        above, there = parents[name], parents[other]
        if above is not None and there is not None and above not in implied and there not in domains[above]:
            return False
        if any(
            all(parents[to] != other for to in domains[child]) for child in self.below[name] if child not in implied
        ):
            return False
        for atom in self.said[name]:
            partners = set(atom_variables(atom)) - {name}
            if len(partners) == 1 and not partners & implied:
                (partner,) = partners
                images = ({name: other, partner: image} for image in domains[partner])
                if not any(self.closure.implies(map_atom(atom, partial(_moved, image))) for image in images):
                    return False
        return True


def _moved(names: Mapping[str, str], term: Term) -> Term:
    return Term(names.get(term.variable, term.variable), term.path)


def _without_variable(member: Member, variable: Variable, closure: Closure) -> Member | None:
    """The member without ``variable``, what its terms equal said of the others; ``None`` if the template needs it.

    A comparison with a number is not moved to an equal term, which can hold words elsewhere: it goes with the variable,
    and so does what is said of nodes below it.
    """
    substitutes = {
        representative: next((term for term in terms if term.variable != variable.name), None)
        for representative, terms in closure.classes().items()
    }

    def image(term: Term) -> Term:
        if term.variable != variable.name:
            return term
        substitute = substitutes.get(closure.find(term))
        return term if substitute is None else substitute

    atoms = frozenset(
        map_atom(atom, image)
        for atom in member.atoms
        if not (is_numeric(atom) and atom_terms(atom)[0].variable == variable.name)
        and not (isinstance(atom, NoNode) and atom.variable == variable.name)
    )
    kept = frozenset(atom for atom in atoms if variable.name not in atom_variables(atom) and not is_reflexive(atom))
    template = map_template(member.template, image)
    if template is None or any(term.variable == variable.name for term in template_terms(template)):
        return None
    return Member(tuple(other for other in member.variables if other != variable), kept, template)

"""What the atoms of one member imply together: equal terms, constants, presence, absence, contradiction."""

from __future__ import annotations

from collections.abc import Iterator

from heptox.checks import Check, go_on, no_check
from heptox.pattern.absent_nodes import AbsentNodes
from heptox.pattern.absent_values import needed_terms
from heptox.pattern.constraints import Constraints
from heptox.pattern.equalities import Equalities, representative, unite
from heptox.pattern.model import (
    NODE,
    TAG,
    Absence,
    Atom,
    Comparison,
    DeepEqual,
    Member,
    NoNode,
    Number,
    Presence,
    SameValue,
    Term,
    Text,
)
from heptox.pattern.operators import Operator
from heptox.pattern.orderings import Orderings
from heptox.pattern.rewrite import atom_terms, computes, template_terms
from heptox.pattern.value_expression import Constant, is_computed, value_expression
from heptox.pattern.values import holds
from heptox.schema import Path


class Closure:
    """The consequences of a member's atoms, under the constraints of its documents.

    Terms joined by ``=`` form classes. An ordering fact is kept for the class of its left side. Where one of two terms
    that have the same value or none is known to be present, they are joined by ``=``; where one is known to be absent,
    so is the other. Nothing here guesses: what is not implied by the rules below is not implied. ``check`` is called
    again and again while it is made.
    """

    def __init__(self, member: Member, constraints: Constraints, check: Check = no_check) -> None:
        go_on()
        self.constraints = constraints
        self._nodes = {variable.name: variable.node for variable in member.variables}
        self._equalities = Equalities()
        self._orderings = Orderings(self._equalities)
        self._present: set[tuple[str, Path]] = set()
        self._absent: set[Term] = set()
        self._alike: dict[Term, Term] = {}
        self._copies: dict[Term, Term] = {}
        nowhere = (atom for atom in member.atoms if isinstance(atom, NoNode))
        self._absent_nodes = AbsentNodes(self, member.variables, nowhere)
        self.contradictory = False
        for variable in member.variables:
            if variable.parent is not None:
                between = variable.node[len(self._nodes[variable.parent]) : -1]
                if between:  # these nodes exist with the lower one
                    self._mark_present(Term(variable.parent, between))
        for atom in member.atoms:
            self._learn(atom)
        self.computes = computes(member)
        terms = {term for atom in member.atoms for term in atom_terms(atom)} if self.computes else set()
        for term in terms.union(template_terms(member.template) if self.computes else ()):
            if isinstance(constant := value_expression(term.path), Constant):
                self._equalities.join(term, Text(constant.value))
        self._settle([atom for atom in member.atoms if isinstance(atom, SameValue | DeepEqual)])
        if constraints.valid:
            self._learn_tags(member)
        orderings = (atom for atom in member.atoms if isinstance(atom, Comparison) and not _is_equality(atom))
        for atom in orderings:
            self.contradictory |= not self._orderings.add(atom)
        self._find_contradictions(check)

    # -- building ------------------------------------------------------------------------------------------------

    def _learn(self, atom: Atom) -> None:
        if isinstance(atom, Presence):
            self._mark_present(atom.term)
        elif isinstance(atom, Absence):
            self._mark_absent(atom.term)
        elif isinstance(atom, Comparison):
            self._mark_present(atom.left)
            if isinstance(atom.right, Term):
                self._mark_present(atom.right)
            if _is_equality(atom):
                self._equalities.join(atom.left, atom.right)

    def _settle(self, atoms: list[SameValue | DeepEqual]) -> None:
        """What follows for pairs of terms that are both there or both not, once one of them is known to be."""
        for atom in atoms:
            if isinstance(atom, SameValue):
                unite(self._alike, atom.left, atom.right)
            else:
                unite(self._copies, atom.left, atom.right)
        waiting, settled = atoms, len(atoms) + 1
        while len(waiting) < settled:
            settled, left = len(waiting), []
            for atom in waiting:
                pair = (atom.left, atom.right)
                if any(map(self.present, pair)):
                    for term in pair:
                        self._mark_present(term)
                    if isinstance(atom, SameValue):
                        self._equalities.join(*pair)
                elif any(map(self.absent, pair)):
                    for term in pair:
                        self._mark_absent(term)
                else:
                    left.append(atom)
            waiting = left

    def _learn_tags(self, member: Member) -> None:
        """In valid documents a box has no tags but the members': where only one of them is left, it is that.

        A tag that is asked for by its name is left alone, for it finds itself nothing where it cannot be.
        """
        bounds: dict[Term, list[tuple[Operator, Text]]] = {}
        for atom in member.atoms:
            if isinstance(atom, Comparison) and isinstance(atom.right, Text) and not _is_equality(atom):
                bounds.setdefault(self.find(atom.left), []).append((atom.operator, atom.right))
        for variable in member.variables if bounds else ():
            tag, box = self.find(Term(variable.name, (TAG,))), self.constraints.tree.box(variable.node)
            if box is not None and tag in bounds and tag not in self._equalities.constants:
                left = [name for name in box.values if all(holds(name, *bound) for bound in bounds[tag])]
                if not left:
                    self.contradictory = True
                elif len(left) == 1:
                    self._equalities.join(tag, Text(left[0]))

    def _mark_present(self, term: Term) -> None:
        place: tuple[str, Path] = term
        while place not in self._present:
            self._present.add(place)  # with all nodes above it
            place = place[0], place[1][:-1]
        if is_computed(term.path):
            for leaf in needed_terms(term):
                self._mark_present(leaf)

    def _mark_absent(self, term: Term) -> None:
        """Note that a term is absent: that the highest node is which cannot be there without it."""
        node, path = self._nodes[term.variable], term.path
        while len(path) > 1 and self.constraints.required((*node, *path[:-1]), path[-1:]):
            path = path[:-1]
        self._absent.add(Term(term.variable, path))

    def _find_contradictions(self, check: Check) -> None:
        mixed = False
        if any(term.path == (NODE,) for term in (*self._terms_joined(), *self._equalities.constants)):
            mixed = any(map(self._mixes_nodes, self.classes().values()))
        self.contradictory |= (
            self._equalities.contradictory
            or mixed
            or any(map(self.present, self._absent))
            or self._absent_nodes.contradict()
            or self._orderings.contradict(check)
        )

    def _terms_joined(self) -> Iterator[Term]:
        yield from self._equalities.parents
        yield from self._equalities.parents.values()

    def _mixes_nodes(self, terms: list[Term]) -> bool:
        """Whether the identity of a node would have to be a value, or that of a node elsewhere in the schema."""
        nodes = {self._nodes[term.variable] if term.path == (NODE,) else None for term in terms}
        identities = nodes - {None}
        return bool(identities) and (len(nodes) > 1 or self.constant(terms[0]) is not None)

    # -- asking --------------------------------------------------------------------------------------------------

    def find(self, term: Term) -> Term:
        """The representative of the terms that equal ``term``: the least of them."""
        return self._equalities.find(term)

    def constant(self, term: Term) -> str | None:
        """The string that ``term`` must equal, if it is known."""
        return self._equalities.constant(term)

    def constants(self) -> frozenset[str]:
        """The strings that some terms must equal."""
        return frozenset(self._equalities.constants.values())

    def equal(self, left: Term, right: Term) -> bool:
        """Whether both have the same value wherever both are present."""
        first, second = self.find(left), self.find(right)
        constant = self._equalities.constants.get(first)
        return first == second or (constant is not None and constant == self._equalities.constants.get(second))

    def same_value(self, left: Term, right: Term) -> bool:
        """Whether both are always present, with the same value."""
        return self.equal(left, right) and self.present(left) and self.present(right)

    def present(self, term: Term) -> bool:
        """Whether the node of the term always exists."""
        if term in self._present:
            return True
        node = self._nodes[term.variable]
        if self.constraints.required(node, term.path):
            return True
        return any(
            Term(term.variable, term.path[:length]) in self._present
            and self.constraints.required((*node, *term.path[:length]), term.path[length:])
            for length in range(1, len(term.path))
        )

    def presences(self) -> Iterator[tuple[Path, Path]]:
        """The places that atoms say are there, as nodes and paths below them."""
        return ((self._nodes[variable], path) for variable, path in self._present)

    def alike(self, left: Term, right: Term) -> bool:
        """Whether both always have the same value, or neither exists."""
        if left == right or self.same_value(left, right) or (self.absent(left) and self.absent(right)):
            return True
        return bool(self._alike) and representative(self._alike, left) == representative(self._alike, right)

    def alikes(self, term: Term) -> list[Term]:
        """The term, and those that an atom says have the same value or are absent with it."""
        others = {*self._alike, *self._alike.values(), *self._terms_joined()}
        return [term, *sorted(other for other in others if other != term and self.alike(term, other))]

    def absent(self, term: Term) -> bool:
        """Whether the node of the term never exists: it, one above it, or one that it always has below."""
        if not self._absent:
            return False
        if any(Term(term.variable, term.path[:length]) in self._absent for length in range(len(term.path) + 1)):
            return True
        node = (*self._nodes[term.variable], *term.path)
        return any(
            other.variable == term.variable
            and len(other.path) > len(term.path)
            and other.path[: len(term.path)] == term.path
            and self.constraints.required(node, other.path[len(term.path) :])
            for other in self._absent
        )

    def implies(self, atom: Atom) -> bool:
        """Whether the atom holds for every match of the member. Sound; what several orderings imply is not seen."""
        match atom:
            case Presence(term):
                return self.present(term)
            case Absence(term):
                return self.absent(term)
            case DeepEqual(left, right):
                there = representative(self._copies, left) == representative(self._copies, right)
                return there or (self.absent(left) and self.absent(right))
            case SameValue(left, right):
                return self.alike(left, right)
            case NoNode():
                return self._absent_nodes.implies(atom)
            case Comparison(comparison, left, right):
                if not self.present(left) or (isinstance(right, Term) and not self.present(right)):
                    return False
                return self._orderings.implies(comparison, self.find(left), right)

    # -- writing out ---------------------------------------------------------------------------------------------

    def classes(self) -> dict[Term, list[Term]]:
        """The terms that take part in an equality, by their representative."""
        return self._equalities.classes()

    def facts(self) -> Iterator[Comparison]:
        """The comparisons other than equality (:meth:`Orderings.facts`)."""
        return self._orderings.facts()

    def nowhere(self) -> Iterator[NoNode | Absence]:
        """What is said of nodes that stand nowhere (:meth:`AbsentNodes.atoms`)."""
        return self._absent_nodes.atoms()

    def surely_nowhere(self, atom: NoNode) -> bool:
        """Whether no node can meet the tests of an atom, whatever atoms of its kind say."""
        return self._absent_nodes.surely_nowhere(atom)

    def absences(self) -> frozenset[Term]:
        """The terms that atoms say are absent."""
        return frozenset(self._absent)

    def same_values(self) -> Iterator[SameValue]:
        """For each class of terms that have the same value or are absent together, of which it is not known, a star."""
        for term in sorted(self._alike):
            low = representative(self._alike, term)
            if low != term and not self.present(term) and not self.absent(term):
                yield SameValue(low, term)

    def copies(self) -> Iterator[DeepEqual]:
        """For each class of terms with deep-equal subtrees that may be there a star."""
        for term in sorted(self._copies):
            low = representative(self._copies, term)
            if low != term and not self.absent(term):
                yield DeepEqual(low, term)


def _is_equality(atom: Comparison) -> bool:
    return atom.operator == "=" and not isinstance(atom.right, Number)

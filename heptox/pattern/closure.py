"""What the atoms of one member imply together: equal terms, constants, presence, absence, contradiction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from heptox.pattern.constraints import Constraints
from heptox.pattern.model import (
    TAG,
    Absence,
    Atom,
    Comparison,
    DeepEqual,
    Member,
    Number,
    Operand,
    Operator,
    Presence,
    Term,
    Text,
)
from heptox.pattern.values import COMPARE, flipped, holds
from heptox.schema import Path

_REFLEXIVE: Final = frozenset({"=", "<=", ">="})


class Closure:
    """The consequences of a member's atoms, under the constraints of its documents.

    Terms joined by ``=`` form classes. An ordering fact is kept for the class of its left side. Nothing here guesses:
    what is not implied by the rules below is not implied.
    """

    def __init__(self, member: Member, constraints: Constraints) -> None:
        self.constraints = constraints
        self._nodes = {variable.name: variable.node for variable in member.variables}
        self._parents: dict[Term, Term] = {}
        self._constants: dict[Term, str] = {}
        self._present: set[tuple[str, Path]] = set()
        self._absent: set[Term] = {atom.term for atom in member.atoms if isinstance(atom, Absence)}
        self._facts: set[tuple[Operator, Term, Operand]] = set()
        self._numeric: set[Comparison] = set()
        self._copies: set[frozenset[Term]] = set()
        self.contradictory = False
        for variable in member.variables:
            if variable.parent is not None:
                between = variable.node[len(self._nodes[variable.parent]) : -1]
                if between:  # these nodes exist with the lower one
                    self._mark_present(Term(variable.parent, between))
        for atom in member.atoms:
            self._learn(atom)
        if constraints.valid:
            self._learn_tags(member)
        for atom in member.atoms:
            if isinstance(atom, Comparison) and not _is_equality(atom):
                self._order(atom)
        self._check()

    # -- building ------------------------------------------------------------------------------------------------

    def _learn(self, atom: Atom) -> None:
        if isinstance(atom, Presence):
            self._mark_present(atom.term)
        elif isinstance(atom, Comparison):
            self._mark_present(atom.left)
            if isinstance(atom.right, Term):
                self._mark_present(atom.right)
            if _is_equality(atom):
                self._join(atom.left, atom.right)
        elif isinstance(atom, DeepEqual):
            self._copies.add(frozenset((atom.left, atom.right)))

    def _learn_tags(self, member: Member) -> None:
        """In valid documents a box has no tags but the members': where only one of them is left, it is that.

        A tag that is asked for by its name is left alone, for it finds itself nothing where it cannot be.
        """
        bounds: dict[Term, list[tuple[Operator, Text]]] = {}
        for atom in member.atoms:
            if isinstance(atom, Comparison) and isinstance(atom.right, Text) and not _is_equality(atom):
                bounds.setdefault(self.find(atom.left), []).append((atom.operator, atom.right))
        for variable in member.variables:
            tag, box = self.find(Term(variable.name, (TAG,))), self.constraints.tree.box(variable.node)
            if box is not None and tag in bounds and tag not in self._constants:
                left = [name for name in box.members if all(holds(name, *bound) for bound in bounds[tag])]
                if not left:
                    self.contradictory = True
                elif len(left) == 1:
                    self._join(tag, Text(left[0]))

    def _mark_present(self, term: Term) -> None:
        place: tuple[str, Path] = term
        while place not in self._present:
            self._present.add(place)  # with all nodes above it
            place = place[0], place[1][:-1]

    def _join(self, left: Term, right: Operand) -> None:
        first = self.find(left)
        if isinstance(right, Text):
            if self._constants.setdefault(first, right.value) != right.value:
                self.contradictory = True
        elif isinstance(right, Term):
            second = self.find(right)
            if first == second:
                return
            low, high = sorted((first, second))
            self._parents[high] = low
            constant = self._constants.pop(high, None)
            if constant is not None and self._constants.setdefault(low, constant) != constant:
                self.contradictory = True

    def _order(self, atom: Comparison) -> None:
        left = self.find(atom.left)
        right = self.find(atom.right) if isinstance(atom.right, Term) else atom.right
        truth = self._decided(left, atom.operator, right)
        if truth is False:
            self.contradictory = True
        elif truth is None:
            self._facts.add((atom.operator, left, right))
            if isinstance(right, Number):
                self._numeric.add(atom)
            if isinstance(right, Term):
                self._facts.add((flipped(atom.operator), right, left))

    def _check(self) -> None:
        for term in self._absent:
            required = self.constraints.required(self._nodes[term.variable], term.path)
            if required or term in self._present:
                self.contradictory = True
        for comparison, left, right in self._facts:
            if _impossible_with(
                comparison, [op for op, other, bound in self._facts if (other, bound) == (left, right)]
            ):
                self.contradictory = True
            for other, bound in self._bounds(left):
                if not isinstance(right, Term) and _disjoint(comparison, right, other, bound):
                    self.contradictory = True

    # -- asking --------------------------------------------------------------------------------------------------

    def find(self, term: Term) -> Term:
        """The representative of the terms that equal ``term``: the least of them."""
        while term in self._parents:
            term = self._parents[term]
        return term

    def constant(self, term: Term) -> str | None:
        """The string that ``term`` must equal, if it is known."""
        return self._constants.get(self.find(term))

    def constants(self) -> frozenset[str]:
        """The strings that some terms must equal."""
        return frozenset(self._constants.values())

    def equal(self, left: Term, right: Term) -> bool:
        """Whether both have the same value wherever both are present."""
        first, second = self.find(left), self.find(right)
        constant = self._constants.get(first)
        return first == second or (constant is not None and constant == self._constants.get(second))

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

    def absent(self, term: Term) -> bool:
        """Whether the node of the term never exists."""
        return any(
            Term(term.variable, term.path[:length]) in self._absent for length in range(1, len(term.path) + 1)
        ) or (term in self._absent)

    def implies(self, atom: Atom) -> bool:
        """Whether the atom holds for every match of the member. Sound; what several orderings imply is not seen."""
        match atom:
            case Presence(term):
                return self.present(term)
            case Absence(term):
                return self.absent(term)
            case DeepEqual(left, right):
                return self.present(left) and (left == right or frozenset((left, right)) in self._copies)
            case Comparison(comparison, left, right):
                if not self.present(left) or (isinstance(right, Term) and not self.present(right)):
                    return False
                return self._implies_comparison(comparison, self.find(left), right)

    def _implies_comparison(self, comparison: Operator, left: Term, right: Operand) -> bool:
        bound = self.find(right) if isinstance(right, Term) else right
        truth = self._decided(left, comparison, bound)
        if truth is not None:
            return truth
        if (comparison, left, bound) in self._facts:
            return True
        if isinstance(bound, Term):
            stronger = {"<=": "<", ">=": ">"}.get(comparison)
            if stronger and any(fact == (stronger, left, bound) for fact in self._facts):
                return True
            if comparison == "!=" and any(fact[0] in "<>" and fact[1:] == (left, bound) for fact in self._facts):
                return True
            constant = self._constants.get(bound)
            return constant is not None and self._implies_comparison(comparison, left, Text(constant))
        return any(_follows(other, known, comparison, bound) for other, known in self._bounds(left))

    def _decided(self, left: Term, comparison: Operator, right: Operand) -> bool | None:
        """The truth of a comparison where constants or identity settle it, else ``None``."""
        constant = self._constants.get(left)
        if isinstance(right, Term):
            if left == right:
                return comparison in _REFLEXIVE
            other = self._constants.get(right)
            if constant is not None and other is not None:
                return holds(constant, comparison, Text(other))
            return None
        return None if constant is None else holds(constant, comparison, right)

    def _bounds(self, term: Term) -> Iterator[tuple[Operator, Text | Number]]:
        for comparison, left, right in self._facts:
            if left == term and not isinstance(right, Term):
                yield comparison, right

    # -- writing out ---------------------------------------------------------------------------------------------

    def classes(self) -> dict[Term, list[Term]]:
        """The terms that take part in an equality, by their representative."""
        found: dict[Term, set[Term]] = {}
        for term in (*self._parents, *self._parents.values(), *self._constants):
            found.setdefault(self.find(term), set()).add(term)
        return {representative: sorted(terms) for representative, terms in sorted(found.items())}

    def facts(self) -> Iterator[Comparison]:
        """The comparisons other than equality, each once, over representatives and constants where these are known.

        A comparison with a number stays on the term that it was written on: an equal term can hold words elsewhere, and
        comparing these is an error.
        """
        yield from sorted(self._numeric, key=repr)
        for comparison, left, right in self._facts:
            left_constant = self._constants.get(left)
            right_constant = self._constants.get(right) if isinstance(right, Term) else None
            if isinstance(right, Number) or (isinstance(right, Term) and left_constant is not None):
                continue  # said already, or by a flipped twin with a constant
            if right_constant is not None:
                yield Comparison(comparison, left, Text(right_constant))
            elif not isinstance(right, Term) or left < right:
                yield Comparison(comparison, left, right)

    def absences(self) -> frozenset[Term]:
        """The terms that an atom says are absent."""
        return frozenset(self._absent)


def _is_equality(atom: Comparison) -> bool:
    return atom.operator == "=" and not isinstance(atom.right, Number)


def _impossible_with(comparison: Operator, others: list[Operator]) -> bool:
    """Whether one comparison between the same two operands excludes one of the others."""
    excluded = {"<": {">", ">=", "="}, ">": {"<", "<=", "="}, "!=": {"="}, "=": {"!=", "<", ">"}}.get(comparison, set())
    return any(other in excluded for other in others)


def _same_kind(first: Text | Number, second: Text | Number) -> bool:
    return type(first) is type(second)


def _disjoint(first: Operator, low: Text | Number, second: Operator, high: Text | Number) -> bool:
    """Whether no value satisfies ``x first low`` and ``x second high``; only literals of one kind are compared."""
    if not _same_kind(low, high):
        return False
    if first == "=":
        return not COMPARE[second](low.value, high.value)
    if first in (">", ">=") and second in ("<", "<="):
        strict = first == ">" or second == "<"
        return COMPARE[">=" if strict else ">"](low.value, high.value)
    return False


def _follows(known: Operator, bound: Text | Number, asked: Operator, limit: Text | Number) -> bool:
    """Whether ``x known bound`` implies ``x asked limit``; only literals of one kind are compared."""
    if not _same_kind(bound, limit):
        return False
    if known == "=":
        return COMPARE[asked](bound.value, limit.value)
    if known in ("<", "<=") and asked in ("<", "<=", "!="):
        strict = known == "<" or asked == "<="
        return COMPARE["<=" if strict else "<"](bound.value, limit.value)
    if known in (">", ">=") and asked in (">", ">=", "!="):
        strict = known == ">" or asked == ">="
        return COMPARE[">=" if strict else ">"](bound.value, limit.value)
    return known == asked and bound.value == limit.value

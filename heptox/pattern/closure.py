"""What the atoms of one member imply together: equal terms, constants, presence, absence, contradiction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from heptox.pattern.constraints import Constraints
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
    Operand,
    Operator,
    Presence,
    SameValue,
    Term,
    Text,
)
from heptox.pattern.values import COMPARE, flipped, holds
from heptox.schema import Path

_REFLEXIVE: Final = frozenset({"=", "<=", ">="})


class Closure:
    """The consequences of a member's atoms, under the constraints of its documents.

    Terms joined by ``=`` form classes. An ordering fact is kept for the class of its left side. Where one of two terms
    that have the same value or none is known to be present, they are joined by ``=``; where one is known to be absent,
    so is the other. Nothing here guesses: what is not implied by the rules below is not implied.
    """

    def __init__(self, member: Member, constraints: Constraints) -> None:
        self.constraints = constraints
        self._nodes = {variable.name: variable.node for variable in member.variables}
        self._parents: dict[Term, Term] = {}
        self._constants: dict[Term, str] = {}
        self._present: set[tuple[str, Path]] = set()
        self._absent: set[Term] = set()
        self._facts: set[tuple[Operator, Term, Operand]] = set()
        self._numeric: set[Comparison] = set()
        self._alike: dict[Term, Term] = {}
        self._copies: dict[Term, Term] = {}
        self._variables = member.variables
        self._above = {variable.name: variable.parent for variable in member.variables}
        self._nowhere = [atom for atom in member.atoms if isinstance(atom, NoNode)]
        self.contradictory = False
        for variable in member.variables:
            if variable.parent is not None:
                between = variable.node[len(self._nodes[variable.parent]) : -1]
                if between:  # these nodes exist with the lower one
                    self._mark_present(Term(variable.parent, between))
        for atom in member.atoms:
            self._learn(atom)
        self._settle([atom for atom in member.atoms if isinstance(atom, SameValue | DeepEqual)])
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
        elif isinstance(atom, Absence):
            self._mark_absent(atom.term)
        elif isinstance(atom, Comparison):
            self._mark_present(atom.left)
            if isinstance(atom.right, Term):
                self._mark_present(atom.right)
            if _is_equality(atom):
                self._join(atom.left, atom.right)

    def _settle(self, atoms: list[SameValue | DeepEqual]) -> None:
        """What follows for pairs of terms that are both there or both not, once one of them is known to be."""
        for atom in atoms:
            if isinstance(atom, SameValue):
                _unite(self._alike, atom.left, atom.right)
            else:
                _unite(self._copies, atom.left, atom.right)
        waiting, settled = atoms, len(atoms) + 1
        while len(waiting) < settled:
            settled, left = len(waiting), []
            for atom in waiting:
                pair = (atom.left, atom.right)
                if any(map(self.present, pair)):
                    for term in pair:
                        self._mark_present(term)
                    if isinstance(atom, SameValue):
                        self._join(*pair)
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

    def _mark_absent(self, term: Term) -> None:
        """Note that a term is absent: that the highest node is which cannot be there without it."""
        node, path = self._nodes[term.variable], term.path
        while len(path) > 1 and self.constraints.required((*node, *path[:-1]), path[-1:]):
            path = path[:-1]
        self._absent.add(Term(term.variable, path))

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
        if any(map(self.present, self._absent)) or any(map(self._stands, self._nowhere)):
            self.contradictory = True
        if any(term.path == (NODE,) for term in (*self._parents, *self._parents.values(), *self._constants)):
            self.contradictory |= any(map(self._mixes_nodes, self.classes().values()))
        for comparison, left, right in self._facts:
            if _impossible_with(
                comparison, [op for op, other, bound in self._facts if (other, bound) == (left, right)]
            ):
                self.contradictory = True
            for other, bound in self._bounds(left):
                if not isinstance(right, Term) and _disjoint(comparison, right, other, bound):
                    self.contradictory = True

    def _mixes_nodes(self, terms: list[Term]) -> bool:
        """Whether the identity of a node would have to be a value, or that of a node elsewhere in the schema."""
        nodes = {self._nodes[term.variable] if term.path == (NODE,) else None for term in terms}
        identities = nodes - {None}
        return bool(identities) and (len(nodes) > 1 or self.constant(terms[0]) is not None)

    def _stands(self, atom: NoNode) -> bool:
        """Whether a node that the atom says is nowhere always stands somewhere."""
        tests = [test for test in atom.tests if not self._always_met(atom.node, *test)]
        return (not tests and self._is_required_below(atom)) or any(
            variable.node == atom.node
            and atom.variable in self._ancestors(variable.name)
            and all(self._meets(Term(variable.name, path), wanted) for path, wanted in tests)
            for variable in self._variables
        )

    def _is_required_below(self, atom: NoNode) -> bool:
        """Whether some node always stands at the place of the atom, as every edge on the way requires it."""
        stops = self._stops_below(atom)
        above = self._nodes[atom.variable]
        first = (*above, *stops[0][len(above) : -1])
        there = len(first) == len(above) or self.present(Term(atom.variable, first[len(above) :]))
        edge = stops[0] not in self.constraints.unsure and self.constraints.tree.edge(stops[0]).required
        return there and edge and all(map(self.constraints.required_stop, stops[1:]))

    def _stops_below(self, atom: NoNode) -> list[Path]:
        """The stop nodes on the way from the variable of the atom to its node, which is the last."""
        above = self._nodes[atom.variable]
        return [stop for stop in self.constraints.tree.stops(atom.node) if len(stop) > len(above)]

    def _meets(self, term: Term, wanted: Term | Text | None) -> bool:
        if wanted is None:
            return self.present(term)
        if isinstance(wanted, Text):
            return self.present(term) and self.constant(term) == wanted.value
        return self.same_value(term, wanted)

    def _always_met(self, node: Path, path: Path, wanted: Term | Text | None) -> bool:
        return wanted is None and self.constraints.required(node, path)

    def _ancestors(self, name: str) -> Iterator[str]:
        """The variables above one, the nearest first."""
        above = self._above[name]
        while above is not None:
            yield above
            above = self._above[above]

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

    def alike(self, left: Term, right: Term) -> bool:
        """Whether both always have the same value, or neither exists."""
        if left == right or self.same_value(left, right) or (self.absent(left) and self.absent(right)):
            return True
        return bool(self._alike) and _found(self._alike, left) == _found(self._alike, right)

    def alikes(self, term: Term) -> list[Term]:
        """The term, and those that an atom says have the same value or are absent with it."""
        others = {*self._alike, *self._alike.values(), *self._parents, *self._parents.values()}
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
                there = _found(self._copies, left) == _found(self._copies, right)
                return there or (self.absent(left) and self.absent(right))
            case SameValue(left, right):
                return self.alike(left, right)
            case NoNode():
                return self.surely_nowhere(atom) or any(self._says(known, atom) for known in self._nowhere)
            case Comparison(comparison, left, right):
                if not self.present(left) or (isinstance(right, Term) and not self.present(right)):
                    return False
                return self._implies_comparison(comparison, self.find(left), right)

    def surely_nowhere(self, atom: NoNode) -> bool:
        """Whether no node can meet the tests of an atom, whatever atoms of its kind say."""
        if any(isinstance(wanted, Term) and self.absent(wanted) for _, wanted in atom.tests):
            return True
        if not self._absent:
            return False
        above = self._nodes[atom.variable]
        return self.absent(Term(atom.variable, self._stops_below(atom)[0][len(above) : -1]))

    def _says(self, known: NoNode, asked: NoNode) -> bool:
        """Whether one atom implies another: it speaks of as many places or more, with weaker tests."""
        if known.variable != asked.variable and known.variable not in self._ancestors(asked.variable):
            return False
        if known.node != asked.node:
            below = asked.node[: len(known.node)] == known.node
            return below and all(self._always_met(known.node, *test) for test in known.tests)
        return all(self._is_tested(path, wanted, asked) for path, wanted in known.tests)

    def _is_tested(self, path: Path, wanted: Term | Text | None, asked: NoNode) -> bool:
        """Whether every node that meets the tests of ``asked`` meets this one too."""
        if wanted is None:
            there = any(tested[: len(path)] == path for tested, _ in asked.tests)
            return there or self._always_met(asked.node, path, None)
        return any(tested == path and self._equals(wanted, other) for tested, other in asked.tests)

    def _equals(self, first: Term | Text, second: Term | Text | None) -> bool:
        """Whether a value that equals the second equals the first."""
        if isinstance(first, Term) and isinstance(second, Term):
            return self.alike(first, second)
        if isinstance(first, Term):
            return isinstance(second, Text) and self.present(first) and self.constant(first) == second.value
        return first == second or (isinstance(second, Term) and self.constant(second) == first.value)

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
        """The terms that atoms say are absent."""
        return frozenset(self._absent)

    def same_values(self) -> Iterator[SameValue]:
        """For each class of terms that have the same value or are absent together, of which nobody knows, a star."""
        for term in sorted(self._alike):
            low = _found(self._alike, term)
            if low != term and not self.present(term) and not self.absent(term):
                yield SameValue(low, term)

    def copies(self) -> Iterator[DeepEqual]:
        """For each class of terms with deep-equal subtrees that may be there a star."""
        for term in sorted(self._copies):
            low = _found(self._copies, term)
            if low != term and not self.absent(term):
                yield DeepEqual(low, term)

    def nowhere(self) -> Iterator[NoNode | Absence]:
        """What is said of nodes that stand nowhere, without what the rest implies, over representatives and constants.

        A node whose key is guaranteed to be found where a term is there is nowhere only where that term is absent.
        """
        atoms = sorted({self._reduced(atom) for atom in self._nowhere if not self.surely_nowhere(atom)}, key=repr)
        for number, atom in enumerate(atoms):
            others = (
                other
                for place, other in enumerate(atoms)
                if place != number and self._says(other, atom) and (place < number or not self._says(atom, other))
            )
            if next(others, None) is None:
                yield self._as_absence(atom) or atom

    def _reduced(self, atom: NoNode) -> NoNode:
        """The atom without tests that are always met, terms replaced by constants and representatives."""
        tests: set[tuple[Path, Term | Text | None]] = set()
        for path, wanted in atom.tests:
            if isinstance(wanted, Term):
                constant = self.constant(wanted)
                wanted = self.find(wanted) if constant is None else Text(constant)
            if not self._always_met(atom.node, path, wanted):
                tests.add((path, wanted))
        needed = (
            test
            for test in tests
            if test[1] is not None or not any(other != test and other[0][: len(test[0])] == test[0] for other in tests)
        )
        return NoNode(atom.variable, atom.node, tuple(sorted(needed, key=repr)))

    def _as_absence(self, atom: NoNode) -> Absence | None:
        """Where the only test is a guaranteed reference: the term that refers is absent."""
        if self._above[atom.variable] is not None or len(atom.tests) != 1:
            return None
        ((path, wanted),) = atom.tests
        if not isinstance(wanted, Term) or (*atom.node, *path) not in self.constraints.reference_keys:
            return None
        key = (*atom.node, *path)
        alikes = (
            term for term in self.alikes(wanted) if atom.variable in (term.variable, *self._ancestors(term.variable))
        )
        refers = (((*self._nodes[term.variable], *term.path), key) for term in alikes)
        return Absence(wanted) if any(pair in self.constraints.references for pair in refers) else None


def _unite(parents: dict[Term, Term], left: Term, right: Term) -> None:
    """Make one class of those of two terms; the least term stands for it."""
    low, high = sorted((_found(parents, left), _found(parents, right)))
    if low != high:
        parents[high] = low


def _found(parents: dict[Term, Term], term: Term) -> Term:
    """The representative of the class of a term."""
    while term in parents:
        term = parents[term]
    return term


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

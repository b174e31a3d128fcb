"""What it implies that nodes are nowhere: the atoms ``NoNode`` of one member."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from heptox.pattern.constraints import Constraints
from heptox.pattern.model import Absence, NoNode, Term, Text, Variable
from heptox.schema import Path


class TermConsequences(Protocol):
    """What is known of the terms of a member."""

    constraints: Constraints

    def find(self, term: Term) -> Term: ...

    def constant(self, term: Term) -> str | None: ...

    def same_value(self, left: Term, right: Term) -> bool: ...

    def present(self, term: Term) -> bool: ...

    def absent(self, term: Term) -> bool: ...

    def alike(self, left: Term, right: Term) -> bool: ...

    def alikes(self, term: Term) -> list[Term]: ...


class AbsentNodes:
    """The ``atoms`` that say that nodes are nowhere, beside what is known of terms."""

    def __init__(self, terms: TermConsequences, variables: tuple[Variable, ...], atoms: Iterable[NoNode]) -> None:
        self._terms = terms
        self._variables = variables
        self._nodes = {variable.name: variable.node for variable in variables}
        self._above = {variable.name: variable.parent for variable in variables}
        self._atoms = list(atoms)

    def contradict(self) -> bool:
        """Whether some node stands that must not."""
        return any(map(self._stands, self._atoms))

    def implies(self, atom: NoNode) -> bool:
        """Whether no node can meet the tests of an atom."""
        return self.surely_nowhere(atom) or any(self._says(known, atom) for known in self._atoms)

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
        there = len(first) == len(above) or self._terms.present(Term(atom.variable, first[len(above) :]))
        constraints = self._terms.constraints
        edge = constraints.is_sure(stops[0]) and constraints.tree.edge(stops[0]).required
        return there and edge and all(map(constraints.required_stop, stops[1:]))

    def _stops_below(self, atom: NoNode) -> list[Path]:
        """The stop nodes on the way from the variable of the atom to its node, which is the last."""
        above = self._nodes[atom.variable]
        return [stop for stop in self._terms.constraints.tree.stops(atom.node) if len(stop) > len(above)]

    def _meets(self, term: Term, wanted: Term | Text | None) -> bool:
        if wanted is None:
            return self._terms.present(term)
        if isinstance(wanted, Text):
            return self._terms.present(term) and self._terms.constant(term) == wanted.value
        return self._terms.same_value(term, wanted)

    def _always_met(self, node: Path, path: Path, wanted: Term | Text | None) -> bool:
        return wanted is None and self._terms.constraints.required(node, path)

    def _ancestors(self, name: str) -> Iterator[str]:
        """The variables above one, the nearest first."""
        above = self._above[name]
        while above is not None:
            yield above
            above = self._above[above]

    def surely_nowhere(self, atom: NoNode) -> bool:
        """Whether no node can meet the tests of an atom, whatever atoms of its kind say."""
        if any(isinstance(wanted, Term) and self._terms.absent(wanted) for _, wanted in atom.tests):
            return True
        above = self._nodes[atom.variable]
        return self._terms.absent(Term(atom.variable, self._stops_below(atom)[0][len(above) : -1]))

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
            return self._terms.alike(first, second)
        if isinstance(first, Term):
            return (
                isinstance(second, Text) and self._terms.present(first) and self._terms.constant(first) == second.value
            )
        return first == second or (isinstance(second, Term) and self._terms.constant(second) == first.value)

    def atoms(self) -> Iterator[NoNode | Absence]:
        """What is said of nodes that stand nowhere, without what the rest implies, over representatives and constants.

        A node whose key is guaranteed to be found where a term is there is nowhere only where that term is absent.
        """
        atoms = sorted({self._reduced(atom) for atom in self._atoms if not self.surely_nowhere(atom)}, key=repr)
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
                constant = self._terms.constant(wanted)
                wanted = self._terms.find(wanted) if constant is None else Text(constant)
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
        if not isinstance(wanted, Term) or (*atom.node, *path) not in self._terms.constraints.reference_keys:
            return None
        key = (*atom.node, *path)
        alikes = (
            term
            for term in self._terms.alikes(wanted)
            if atom.variable in (term.variable, *self._ancestors(term.variable))
        )
        refers = (((*self._nodes[term.variable], *term.path), key) for term in alikes)
        return Absence(wanted) if any(pair in self._terms.constraints.references for pair in refers) else None

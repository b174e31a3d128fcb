"""Comparisons other than equality of strings, over classes of equal terms."""

from __future__ import annotations

from collections.abc import Iterator

from heptox.checks import Check
from heptox.pattern.equalities import Equalities
from heptox.pattern.model import Comparison, Number, Operand, Term, Text
from heptox.pattern.operators import OPERATORS, Operator, flipped
from heptox.pattern.values import holds


class Orderings:
    """The comparisons that are known; one is kept for the class of its left side. Equalities must be complete."""

    def __init__(self, equalities: Equalities) -> None:
        self._equalities = equalities
        self._facts: set[tuple[Operator, Term, Operand]] = set()
        self._numeric: set[Comparison] = set()

    def add(self, atom: Comparison) -> bool:
        """Add a comparison; whether it can hold."""
        left = self._equalities.find(atom.left)
        right = self._equalities.find(atom.right) if isinstance(atom.right, Term) else atom.right
        truth = self._decided(left, atom.operator, right)
        if truth is None:
            self._facts.add((atom.operator, left, right))
            if isinstance(right, Number):
                self._numeric.add(atom)
            if isinstance(right, Term):
                self._facts.add((flipped(atom.operator), right, left))
        return truth is not False

    def contradict(self, check: Check) -> bool:
        """Whether two comparisons exclude each other."""
        for comparison, left, right in self._facts:
            check()
            others = ((op, bound) for op, other, bound in self._facts if other == left)
            if any(_disjoint(comparison, right, other, bound) for other, bound in others):
                return True
        return False

    def implies(self, comparison: Operator, left: Term, right: Operand) -> bool:
        """Whether a comparison of a representative with another operand holds."""
        bound = self._equalities.find(right) if isinstance(right, Term) else right
        truth = self._decided(left, comparison, bound)
        if truth is not None:
            return truth
        if (comparison, left, bound) in self._facts:
            return True
        if any(_follows(op, known, comparison, bound) for op, other, known in self._facts if other == left):
            return True
        constant = self._equalities.constants.get(bound) if isinstance(bound, Term) else None
        return constant is not None and self.implies(comparison, left, Text(constant))

    def _decided(self, left: Term, comparison: Operator, right: Operand) -> bool | None:
        """The truth of a comparison where constants or identity settle it, else ``None``."""
        constant = self._equalities.constants.get(left)
        if isinstance(right, Term):
            if left == right:
                return OPERATORS[comparison].is_reflexive
            other = self._equalities.constants.get(right)
            if constant is not None and other is not None:
                return holds(constant, comparison, Text(other))
            return None
        return None if constant is None else holds(constant, comparison, right)

    def facts(self) -> Iterator[Comparison]:
        """The comparisons other than equality, each once, over representatives and constants where these are known.

        A comparison with a number stays on the term that it was written on: an equal term can hold words elsewhere, and
        comparing these is an error.
        """
        yield from sorted(self._numeric, key=repr)
        for comparison, left, right in self._facts:
            left_constant = self._equalities.constants.get(left)
            right_constant = self._equalities.constants.get(right) if isinstance(right, Term) else None
            if isinstance(right, Number) or (isinstance(right, Term) and left_constant is not None):
                continue  # said already, or by a flipped twin with a constant
            if right_constant is not None:
                yield Comparison(comparison, left, Text(right_constant))
            elif not isinstance(right, Term) or left < right:
                yield Comparison(comparison, left, right)


def _outcomes(known: Operator, bound: Operand, limit: Operand) -> frozenset[str] | None:
    """How ``x`` may stand to ``limit`` where ``x known bound``; ``None`` where that is open: they are two terms, or
    literals of two kinds, or ``known`` is no sign.
    """
    if OPERATORS[known].is_function or type(bound) is not type(limit):
        return None
    if bound == limit:
        return OPERATORS[known].outcomes
    if isinstance(bound, Term) or isinstance(limit, Term):
        return None
    return OPERATORS[known].outcomes_elsewhere(bound.value, limit.value)


def _disjoint(first: Operator, low: Operand, second: Operator, high: Operand) -> bool:
    """Whether no value satisfies ``x first low`` and ``x second high``."""
    left = _outcomes(first, low, high)
    return left is not None and not OPERATORS[second].is_function and left.isdisjoint(OPERATORS[second].outcomes)


def _follows(known: Operator, bound: Operand, asked: Operator, limit: Operand) -> bool:
    """Whether ``x known bound`` implies ``x asked limit``."""
    left = _outcomes(known, bound, limit)
    return left is not None and left <= OPERATORS[asked].outcomes

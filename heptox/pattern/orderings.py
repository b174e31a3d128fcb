"""Comparisons other than equality, over classes of equal terms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from heptox.checks import Check
from heptox.pattern.equalities import Equalities
from heptox.pattern.model import Comparison, Number, Operand, Operator, Term, Text
from heptox.pattern.values import COMPARE, flipped, holds

_REFLEXIVE: Final = frozenset({"=", "<=", ">="})


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
            operators = [op for op, other, bound in self._facts if (other, bound) == (left, right)]
            if _impossible_with(comparison, operators):
                return True
            for other, bound in self._bounds(left):
                if not isinstance(right, Term) and _disjoint(comparison, right, other, bound):
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
        if isinstance(bound, Term):
            stronger = {"<=": "<", ">=": ">"}.get(comparison)
            if stronger and any(fact == (stronger, left, bound) for fact in self._facts):
                return True
            if comparison == "!=" and any(fact[0] in "<>" and fact[1:] == (left, bound) for fact in self._facts):
                return True
            constant = self._equalities.constants.get(bound)
            return constant is not None and self.implies(comparison, left, Text(constant))
        return any(_follows(other, known, comparison, bound) for other, known in self._bounds(left))

    def _decided(self, left: Term, comparison: Operator, right: Operand) -> bool | None:
        """The truth of a comparison where constants or identity settle it, else ``None``."""
        constant = self._equalities.constants.get(left)
        if isinstance(right, Term):
            if left == right:
                return comparison in _REFLEXIVE
            other = self._equalities.constants.get(right)
            if constant is not None and other is not None:
                return holds(constant, comparison, Text(other))
            return None
        return None if constant is None else holds(constant, comparison, right)

    def _bounds(self, term: Term) -> Iterator[tuple[Operator, Text | Number]]:
        for comparison, left, right in self._facts:
            if left == term and not isinstance(right, Term):
                yield comparison, right

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

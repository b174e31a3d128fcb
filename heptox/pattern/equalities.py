"""Equal terms, and the constants that they equal."""

from __future__ import annotations

from heptox.pattern.model import Operand, Term, Text


class Equalities:
    """Classes of terms joined by ``=``; a class may equal one constant, else it is ``contradictory``."""

    def __init__(self) -> None:
        self.parents: dict[Term, Term] = {}
        self.constants: dict[Term, str] = {}
        self.contradictory = False

    def join(self, left: Term, right: Operand) -> None:
        """Make one class of those of two terms, or give the class of a term a constant."""
        first = self.find(left)
        if isinstance(right, Text):
            if self.constants.setdefault(first, right.value) != right.value:
                self.contradictory = True
        elif isinstance(right, Term):
            second = self.find(right)
            if first == second:
                return
            low, high = sorted((first, second))
            self.parents[high] = low
            constant = self.constants.pop(high, None)
            if constant is not None and self.constants.setdefault(low, constant) != constant:
                self.contradictory = True

    def find(self, term: Term) -> Term:
        """The representative of the terms that equal ``term``: the least of them."""
        return representative(self.parents, term)

    def constant(self, term: Term) -> str | None:
        """The string that ``term`` must equal, if it is known."""
        return self.constants.get(self.find(term))

    def classes(self) -> dict[Term, list[Term]]:
        """The terms that take part in an equality, by their representative."""
        found: dict[Term, set[Term]] = {}
        for term in (*self.parents, *self.parents.values(), *self.constants):
            found.setdefault(self.find(term), set()).add(term)
        return {least: sorted(terms) for least, terms in sorted(found.items())}


def unite(parents: dict[Term, Term], left: Term, right: Term) -> None:
    """Make one class of those of two terms; the least term stands for it."""
    low, high = sorted((representative(parents, left), representative(parents, right)))
    if low != high:
        parents[high] = low


def representative(parents: dict[Term, Term], term: Term) -> Term:
    """The representative of the class of a term."""
    while term in parents:
        term = parents[term]
    return term

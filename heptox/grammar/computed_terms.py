"""The function terms of one member, where its conditions and its item are printed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from heptox.errors import GrammarError
from heptox.grammar import query as syntax
from heptox.grammar.function_rendering import FunctionRendering, computed_condition, conjuncts
from heptox.grammar.term_paths import TermPaths, steps_of
from heptox.pattern import (
    Absence,
    Atom,
    Comparison,
    Constraints,
    Member,
    NoNode,
    Number,
    Presence,
    StringJoin,
    Term,
    Text,
    atom_terms,
    parts,
    present_terms,
    value_expression,
)
from heptox.schema import TEXT, Path


@dataclass(frozen=True, slots=True)
class ComputedTerms:
    """Renders the function terms of a member, by the paths of the variables that have a clause by then."""

    member: Member
    constraints: Constraints
    paths: TermPaths

    def condition(
        self, atom: Atom, plain: Callable[[Term | Text | Number], syntax.Operand], context: str | None
    ) -> syntax.Condition | None:
        """What an atom says of function terms: at the node whose leaves they speak of, where it has no variable.

        ``None`` for an atom that speaks of none, or of one as of any other value.
        """
        if isinstance(atom, NoNode):
            return None  # it says them as :meth:`test`
        term = next((term for term in atom_terms(atom) if value_expression(term.path) is not None), None)
        if term is None:
            return None
        if term.variable in self.paths.bound:
            atoms = (each for each in self.member.atoms if isinstance(each, Comparison | Presence))
            there = {one for each in atoms for one in atom_terms(each)}
            return computed_condition(atom, lambda one: self._rendering(one, there, context), plain)
        path, node = self.paths.path(term.variable), self.paths.variables[term.variable].node
        below = FunctionRendering(
            lambda leaf: self._below(node, leaf), lambda leaf: self._required(Term(term.variable, leaf))
        )
        tested = syntax.with_predicates(path, conjuncts(computed_condition(atom, lambda _: below, plain)))
        return syntax.Exists(tested, spelled_out=False)

    def test(
        self,
        node: Path,
        path: Path,
        wanted: Term | Text | None,
        plain: Callable[[Term | Text | Number], syntax.Operand],
    ) -> syntax.Condition | None:
        """What a test says of a function of leaves of the context node, a ``node`` of the schema; ``None`` for other
        leaves.
        """
        expression = value_expression(path)
        if expression is None:
            return None
        below = FunctionRendering(lambda leaf: self._below(node, leaf), lambda _: False)
        here = Term(".", path)
        # A condition that a repeating path leads somewhere is none of those that a negation takes.
        joins = wanted is not None and any(isinstance(part, StringJoin) for part in parts(expression))
        if wanted is not None and (joins or (isinstance(wanted, Term) and value_expression(wanted.path) is not None)):
            return syntax.Comparison("=", below.string(expression), plain(wanted))
        atom = Presence(here) if wanted is None else Comparison("=", here, wanted)
        return computed_condition(atom, lambda _: below, plain)

    def operand(self, term: Term) -> syntax.Operand | None:
        """A function term as a value that is compared with one of another node; ``None`` for other terms."""
        expression = value_expression(term.path)
        return None if expression is None else self._rendering(term, set()).string(expression)

    def in_item(self, term: Term) -> FunctionRendering:
        """What renders a function term in an item, of a match of all conditions."""
        return self._rendering(term, {each for atom in self.member.atoms for each in present_terms(atom)})

    def _rendering(self, term: Term, there: set[Term], context: str | None = None) -> FunctionRendering:
        """What renders function terms over the leaves of a variable's node, where some terms are there."""
        name = term.variable
        return FunctionRendering(
            lambda path: self.paths.path(name, path, context),
            lambda path: (
                not there.isdisjoint({Term(name, path), Term(name, _element(path))}) or self._required(Term(name, path))
            ),
        )

    def _below(self, node: Path, leaf: Path) -> syntax.PathExpression:
        return syntax.PathExpression(".", tuple(self.paths.steps_to_leaf(node, leaf)))

    def _required(self, term: Term) -> bool:
        return self.constraints.required(self.paths.variables[term.variable].node, term.path)


def unsaid_computed(path: Path, required: Callable[[Path], bool], *, absent: bool) -> str | None:
    """Why no query gives back a computed leaf, or, with ``absent``, says that it has no value; ``None`` where one does.

    ``required`` says which leaves of its node are always there.
    """
    term = Term(".", path)
    rendering = FunctionRendering(lambda leaf: syntax.PathExpression(".", tuple(steps_of(leaf))), required)
    try:
        computed_condition(Absence(term) if absent else Presence(term), lambda _: rendering, _no_other)
        if not absent:
            rendering.slot(term, lambda value: syntax.ElementConstructor("item", (), (value,)))
    except GrammarError as error:
        return error.faults[0].message
    return None


def _no_other(_: Term | Text | Number) -> NoReturn:
    raise AssertionError("what is there or absent is compared with nothing")


def _element(path: Path) -> Path:
    """The path of the node that is there where a leaf is."""
    return path[:-1] if path[-1:] == (TEXT,) else path

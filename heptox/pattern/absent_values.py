"""The leaves that a function term needs: where one of them is absent, it is."""

from __future__ import annotations

from dataclasses import replace

from heptox.pattern.model import Atom, Comparison, Presence, Term
from heptox.pattern.value_expression import (
    Call,
    Constant,
    Leaf,
    Lookup,
    StringJoin,
    ValueExpression,
    computed_step,
    value_expression,
)
from heptox.pattern.value_meaning import is_total, needed_leaves
from heptox.schema import TEXT, Path


def needed_terms(term: Term) -> frozenset[Term]:
    """The leaves that must be there for a function term to have a value, none for other terms.

    >>> both = Call("concat", (Leaf(("first",)), or_empty(Leaf(("last",)))))
    >>> needed_terms(Term("p", (computed_step(both),)))
    frozenset({Term(variable='p', path=('first',))})
    """
    expression = value_expression(term.path)
    if expression is None:
        return frozenset()
    return frozenset(Term(term.variable, path) for path in needed_leaves(expression) if not is_own(path))


def present_terms(atom: Atom) -> tuple[Term, ...]:
    """The terms that must have a value for an atom to hold, with the leaves that function terms need."""
    match atom:
        case Comparison(_, left, right):
            terms = (left, right) if isinstance(right, Term) else (left,)
        case Presence(term):
            terms = (term,)
        case _:
            return ()
    return (*terms, *(leaf for term in terms for leaf in needed_terms(term)))


def is_own(path: Path) -> bool:
    """Whether a leaf is the node's own text, which is always there."""
    return path in ((), (TEXT,))


def or_empty(expression: ValueExpression) -> ValueExpression:
    """The value of an expression, or the empty string where it has none, as XQuery's functions of strings take it."""
    return Call("if", (Call("exists", (expression,)), expression, Constant("")))


def within_or_empty(expression: ValueExpression) -> ValueExpression | None:
    """The expression whose value, or else the empty string, another one is.

    >>> within_or_empty(or_empty(Leaf(("name",))))
    Leaf(path=('name',))
    """
    match expression:
        case Call("if", (Call("exists", (asked,)), value, Constant(""))) if asked == value:
            return value
    return None


def may_be_absent(expression: ValueExpression, known: frozenset[Path] = frozenset()) -> bool:
    """Whether an expression may have no value, where the leaves at the paths ``known`` are there."""
    return not is_total(expression, lambda path: path in known or is_own(path))


def with_leaves(term: Term, there: frozenset[Path]) -> Term:
    """A function term where leaves are known to be there, which are no longer asked whether they are.

    >>> term = Term("p", (computed_step(Call("upper-case", (or_empty(Leaf(("name",))),))),))
    >>> value_expression(with_leaves(term, frozenset({("name",)})).path)
    Call(function='upper-case', arguments=(Leaf(path=('name',)),))
    """
    expression = value_expression(term.path)
    if expression is None:
        return term
    simple = _known(expression, there)
    return Term(term.variable, simple.path if isinstance(simple, Leaf) else (computed_step(simple),))


def _known(expression: ValueExpression, there: frozenset[Path]) -> ValueExpression:
    inner = within_or_empty(expression)
    if inner is not None and not may_be_absent(inner, there):
        return _known(inner, there)
    match expression:
        case Call(function, arguments):
            return Call(function, tuple(_known(argument, there) for argument in arguments))
        case Lookup(argument, _, other):
            fallback = None if other is None else _known(other, there)
            return replace(expression, argument=_known(argument, there), other=fallback)
        case Leaf() | StringJoin() | Constant():
            return expression

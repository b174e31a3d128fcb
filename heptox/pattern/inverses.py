"""What follows for leaves where a function of them equals a string (``semantics.md`` sections 2 and 8).

By what is known of the table, ``concat("a-", x) = "a-b"`` is ``x = "b"``; a mapping may declare more. A condition on a
leaf is one that an index answers, a function has to be computed for every node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from heptox.pattern.model import Atom, Comparison, Term, Text
from heptox.pattern.value_expression import (
    Call,
    Constant,
    Leaf,
    Lookup,
    StringJoin,
    ValueExpression,
    computed_step,
    constant_step,
    leaf_paths,
    substituted,
    value_expression,
)
from heptox.pattern.value_inverses import is_one_to_one, preimage
from heptox.pattern.value_meaning import evaluate_expression
from heptox.schema import Path


@dataclass(frozen=True, slots=True)
class Inverse:
    """How the leaf at ``leaf`` below the node at ``node`` is had from the value of a function of its leaves: ``value``
    is an expression over that, which is its own leaf ``()``.
    """

    node: Path
    computed: str
    leaf: Path
    value: ValueExpression


Inverses: TypeAlias = Mapping[tuple[Path, str], tuple[Inverse, ...]]
"""The inverses that a mapping declares, by node and step of the computed leaf."""


def inverted(term: Term, value: str, node: Path, inverses: Inverses) -> tuple[Atom, ...] | None:
    """What it means that a function term of a node at ``node`` equals a string: atoms that hold together; ``None``
    where nothing is known.

    >>> name = Term("p", (computed_step(Call("concat", (Constant("Dr "), Leaf(("name",))))),))
    >>> inverted(name, "Dr No", ("person",), {})
    (Comparison(operator='=', left=Term(variable='p', path=('name',)), right=Text(value='No')),)
    """
    expression = value_expression(term.path)
    if expression is None or isinstance(expression, Constant):
        return None
    declared = {one.leaf: one.value for one in inverses.get((node, term.path[-1]), ())}
    leaves = {leaf: evaluate_expression(given, lambda _: value, lambda _: ()) for leaf, given in declared.items()}
    if None in leaves.values():
        return (_never(term, value),)
    there = [
        Comparison("=", Term(term.variable, leaf), Text(text)) for leaf, text in leaves.items() if text is not None
    ]

    def image(leaf: Leaf | StringJoin) -> ValueExpression:
        text = leaves.get(leaf.path) if isinstance(leaf, Leaf) else None
        return leaf if text is None else Constant(text)

    rest = folded(substituted(expression, image)) if leaves else expression
    if rest is None:
        return (_never(term, value),)
    found = (*there, *_known(rest, value, term.variable))
    return None if found == (_equal(expression, value, term.variable),) else found


def folded(expression: ValueExpression) -> ValueExpression | None:
    """The expression with its constant parts computed; ``None`` where it never has a value."""
    match expression:
        case Call("if", (condition, *branches)):
            asked = folded(condition)
            if isinstance(asked, Constant):
                chosen = branches[0] if asked.value == "true" else branches[1] if len(branches) > 1 else None
                return None if chosen is None else folded(chosen)
            made = [folded(branch) or branch for branch in branches]
            return Call("if", (condition if asked is None else asked, *made))
        case Call(function, arguments):
            parts = tuple(folded(argument) or argument for argument in arguments)
            whole: ValueExpression = Call(function, parts)
        case Lookup(argument):
            whole = replace(expression, argument=folded(argument) or argument)
        case _:
            return expression
    if leaf_paths(whole):
        return whole
    value = evaluate_expression(whole, lambda _: None, lambda _: ())
    return None if value is None else Constant(value)


def _known(expression: ValueExpression, value: str, variable: str) -> Iterator[Atom]:
    """What it means that an expression over leaves of a variable has a value, by what its functions are."""
    match expression:
        case Constant(text) if text == value:
            return
        case Call("if", (condition, then)):
            yield Comparison("=", Term(variable, (computed_step(condition),)), Text("true"))
            yield from _known(then, value, variable)
            return
    leaf = next(iter(leaf_paths(expression)), ())
    if leaf_paths(expression) != (leaf,) or not is_one_to_one(expression, leaf):
        yield _equal(expression, value, variable)
    elif (found := preimage(expression, leaf, value)) is not None:
        yield Comparison("=", Term(variable, leaf), Text(found))
    else:
        yield _never(Term(variable), value)


def _never(term: Term, value: str) -> Atom:
    """What no node meets."""
    return Comparison("=", Term(term.variable, (constant_step(f"not {value}"),)), Text(value))


def _equal(expression: ValueExpression, value: str, variable: str) -> Atom:
    return Comparison("=", Term(variable, (computed_step(expression),)), Text(value))

"""The virtual nodes of selections in the bodies of rules (``semantics.md`` section 2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from math import prod
from typing import Final

from heptox.mapping.model import Condition, Rule
from heptox.pattern import (
    Absence,
    Call,
    Comparison,
    Constant,
    Leaf,
    Lookup,
    NoNode,
    Presence,
    StringJoin,
    Term,
    Text,
    Variable,
    computed_parts,
    is_computed,
    leaf_paths,
    value_expression,
)
from heptox.remembering import remembered
from heptox.schema import Path, SelectionTest, plain, selection_step, split_selection


@remembered(4096)
def with_plain_nodes(rule: Rule) -> Rule:
    """The rule over the nodes that virtual ones stand beside: what selections say are conditions, and the nodes of its
    head know how they are selected.
    """
    if not any(map(_is_virtual, (*(one.node for one in rule.variables), *(head.node for head in rule.head)))):
        return rule
    tests = {one.name: split_selection(one.node[-1])[1] if one.node else () for one in rule.variables}
    there = [_condition(one.name, test) for one in rule.required for test in tests[one.name]]
    return Rule(
        tuple(replace(head, node=plain(head.node), selected=head.node) for head in rule.head),
        tuple(Variable(one.name, plain(one.node), one.parent) for one in rule.variables),
        tuple(dict.fromkeys((*rule.conditions, *there))),
        tuple(
            replace(part, tests=tuple((name, test) for name in part.variables for test in tests[name]))
            for part in rule.optional
        ),
    )


def selects_or_computes(rule: Rule) -> bool:
    """Whether a rule selects nodes by conditions, or supplies values that are no leaves of documents."""
    nodes = [*(one.node for one in rule.variables), *(head.node for head in rule.head)]
    nodes += [one.node for one in rule.conditions if isinstance(one, NoNode)]
    return any(map(_is_virtual, nodes)) or any(is_computed(term.path) for term in rule.terms())


def _is_virtual(path: Path) -> bool:
    return plain(path) != path


def _condition(name: str, test: SelectionTest) -> Condition:
    (condition,) = test_atoms(name, test)
    return condition


def test_atoms(name: str, test: SelectionTest) -> tuple[Condition, ...]:
    """What a condition of a selection says of a variable; nothing where it has several values."""
    term = Term(name, test.path)
    match test.test:
        case "exists":
            return (Presence(term),)
        case "not":
            return (Absence(term),)
        case _:
            return tuple(Comparison(test.test, term, Text(value)) for value in test.values if len(test.values) == 1)


def spoken_paths(rule: Rule) -> Iterator[Path]:
    """The nodes and leaves of documents that a rule speaks of, also inside functions."""
    rule = with_plain_nodes(rule)
    yield from (variable.node for variable in rule.variables)
    yield from spoken_leaves(rule)
    for absent in rule.conditions:
        if isinstance(absent, NoNode):
            yield from ((*plain(absent.node), *path) for path in ((), *(test[0] for test in absent.tests)))


def tested_paths(test: SelectionTest) -> Iterator[Path]:
    """The plain paths below a node that a condition of a selection speaks of."""
    expression = value_expression(test.path)
    yield from map(plain, (test.path,) if expression is None else leaf_paths(expression))


def spoken_leaves(rule: Rule) -> Iterator[Path]:
    """What the terms of a rule over plain nodes speak of, also inside functions."""
    for term in rule.terms():
        expression = value_expression(term.path)
        for path in (term.path,) if expression is None else leaf_paths(expression):
            yield (*rule.node(term.variable), *plain(path))
    for name, test in (one for part in rule.optional for one in part.tests):
        yield from ((*rule.node(name), *path) for path in tested_paths(test))


def tested_values(rule: Rule) -> Iterator[tuple[Path, str]]:
    """The leaves of documents that a rule compares with strings, each with the string."""
    rule = with_plain_nodes(rule)
    for term, _, value in rule.tests():
        yield rule.path(term), value
    for name, test in (one for part in rule.optional for one in part.tests):
        yield from (((*rule.node(name), *test.path), value) for value in test.values)
    for term in rule.terms():
        node = rule.node(term.variable)
        for part in computed_parts(term.path):
            match part:
                case Call(_, (Leaf(path), Constant(value))):
                    yield (*node, *path), value
                case Lookup(Leaf(path), codes):
                    yield from (((*node, *path), code) for code, _ in codes[:_MOST_CODES])
                case StringJoin(path):
                    yield from _selecting(node, path)


def _selecting(node: Path, path: Path) -> Iterator[tuple[Path, str]]:
    for length, step in enumerate(path, 1):
        for test in split_selection(step)[1]:
            yield from (((*node, *plain(path[:length]), *test.path), value) for value in test.values)


_MOST_CODES: Final = 20


MOST_BY_VALUES: Final = 200
"""Rules at most that one with several values in its selections stands for."""


class TooManyRulesError(Exception):
    """A rule stands for more than :data:`MOST_BY_VALUES` others."""


def by_values(rule: Rule) -> Iterator[Rule]:
    """The rules that say together what one does, each with one value where a selection has several.

    Raises :class:`TooManyRulesError`.
    """
    values = (len(test.values) for one in rule.required if one.node for test in split_selection(one.node[-1])[1])
    if prod(max(1, count) for count in values) > MOST_BY_VALUES:
        raise TooManyRulesError
    choices = {one.node: steps for one in rule.required if one.node and (steps := _single(one.node[-1]))}
    for chosen in product(*choices.values()):
        said = dict(zip(choices, chosen, strict=True))
        variables = (replace(one, node=_with(one.node, said)) for one in rule.variables)
        yield replace(rule, variables=tuple(variables)) if said else rule


def _with(path: Path, steps: Mapping[Path, str]) -> Path:
    return tuple(steps.get(path[: place + 1], step) for place, step in enumerate(path))


def _single(step: str) -> list[str]:
    """The steps of a selection with one value in each condition, where it has several; else none."""
    name, tests = split_selection(step)
    if all(len(test.values) < 2 for test in tests):
        return []
    options = [[replace(test, values=(value,)) for value in test.values] or [test] for test in tests]
    return [selection_step(name, tuple(choice)) for choice in product(*options)]

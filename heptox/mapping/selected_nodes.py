"""The virtual nodes of selections in the bodies of rules (``semantics.md`` section 2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

from heptox.mapping.model import Rule
from heptox.pattern import Absence, Atom, Comparison, Presence, Term, Text, Variable
from heptox.schema import Path, plain, selection_step, split_selection


def selection_atoms(variable: Variable) -> Iterator[Atom]:
    """What a variable for a virtual node says of the node that this stands beside."""
    for test in split_selection(variable.node[-1])[1] if variable.node else ():
        term = Term(variable.name, test.path)
        if test.test == "exists":
            yield Presence(term)
        elif test.test == "not":
            yield Absence(term)
        else:
            yield Comparison(test.test, term, Text(test.values[0]))


def plain_variable(variable: Variable) -> Variable:
    """A variable for the node of the schema that a virtual one stands beside."""
    return Variable(variable.name, plain(variable.node), variable.parent)


def by_values(rule: Rule) -> Iterator[Rule]:
    """The rules that say together what one does, each with one value where a selection has several."""
    choices = {one.node: steps for one in rule.required if one.node and (steps := _single(one.node[-1]))}
    for chosen in product(*choices.values()):
        steps = dict(zip(choices, chosen, strict=True))
        variables = (replace(one, node=_with(one.node, steps)) for one in rule.variables)
        yield replace(rule, variables=tuple(variables)) if steps else rule


def _with(path: Path, steps: Mapping[Path, str]) -> Path:
    return tuple(steps.get(path[: place + 1], step) for place, step in enumerate(path))


def _single(step: str) -> list[str]:
    """The steps of a selection with one value in each condition, where it has several; else none."""
    name, tests = split_selection(step)
    if all(len(test.values) < 2 for test in tests):
        return []
    options = [[replace(test, values=(value,)) for value in test.values] or [test] for test in tests]
    return [selection_step(name, tuple(choice)) for choice in product(*options)]

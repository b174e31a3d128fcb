"""What is said of nodes on the way to another one, as selections in its path."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from heptox.pattern.model import TAG, Absence, Atom, Comparison, Presence, Term, Text, Variable
from heptox.pattern.value_expression import value_expression
from heptox.schema import Path, SelectionTest, selection_step


def selecting(added: Sequence[Variable], atoms: Iterable[Atom]) -> tuple[Path, list[Atom]]:
    """The node of the last of a chain of variables, with what is said of single leaves as selections; and the atoms
    that are no conditions of selections, or can be tests of the last one.
    """
    last = added[-1]
    node, left = last.node, list(atoms)
    for variable in added:
        tests = {atom: test for atom in left if (test := _selection(atom, variable.name))}
        if variable is last:
            tests = {atom: test for atom, test in tests.items() if test.test in ("!=", "not")}
        place = len(variable.node) - 1
        if tests and not node[place].startswith("["):  # a box is selected by its tag only
            step = selection_step(node[place], tuple(tests.values()))
            node = (*node[:place], step, *node[place + 1 :])
            left = [atom for atom in left if atom not in tests]
    return node, left


def _selection(atom: Atom, name: str) -> SelectionTest | None:
    """What an atom says of one leaf of a variable, as a condition of a selection."""
    match atom:
        case Comparison("=" | "!=" as operator, Term(variable, path), Text(value)) if variable == name:
            found = SelectionTest(operator, path, (value,))
        case Presence(Term(variable, path)) if variable == name:
            found = SelectionTest("exists", path)
        case Absence(Term(variable, path)) if variable == name:
            found = SelectionTest("not", path)
        case _:
            return None
    return None if found.path[-1:] == (TAG,) or value_expression(found.path) else found

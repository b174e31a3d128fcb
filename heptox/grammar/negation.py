"""What it means in a pattern that a path leads to no node."""

from __future__ import annotations

from collections.abc import Collection
from typing import NoReturn

from heptox.errors import Position
from heptox.grammar.branches import Branch, nodes_of
from heptox.grammar.locations import Location, refuse, value_of
from heptox.pattern import Absence, Atom, Comparison, NoNode, Presence, Term, Text, Variable, selecting
from heptox.schema import Path, SchemaTree


def absent_alternatives(
    tree: SchemaTree, found: Branch, location: Location, branch: Branch, position: Position | None
) -> tuple[Atom, ...]:
    """The atoms of which one holds where no node is at a location; none where one always is."""
    if location.document:
        refuse("HX3042", "negation of the document is outside the query fragment", position)
    value = value_of(tree, location)
    there = Comparison("!=", value, Text(""))  # of a text node, the only thing that its path adds
    added = found.variables[len(branch.variables) :]
    tests = found.atoms - branch.atoms
    if found.leaves(branch):
        hint = "what is not in one document can be asked: for $d in collection()/name where empty($d/path)"
        refuse("HX3042", "what no document of the collection has is outside the query fragment", position, hint)
    if added:
        hint = "its predicates compare leaves of that node with leaves outside and strings by =, or ask for presence"
        where = tree.written(location.absolute)
        chain = [variable.parent for variable in added[1:]] == [variable.name for variable in added[:-1]]
        if location.text or not chain or location.variable != added[-1].name:
            _refuse_repeating(where, position, hint)
        node, tested = selecting(added, [atom for atom in tests if not _is_of_text(atom, tests)])
        wanted = [_tested(atom, added, where, position, hint) for atom in tested]
        if location.path:
            wanted.append((location.path, None))
        parent = added[0].parent
        assert parent is not None  # the root is known to every branch
        return (NoNode(parent, node, tuple(sorted(set(wanted), key=repr))),)
    if tests - {there}:
        where = tree.written((tree.root, *location.absolute))
        hint = "turn the comparison around, or use empty() of the path without it"
        refuse("HX3042", f"a predicate on {where}, which does not repeat, in a negation", position, hint)
    absence = tuple(map(Absence, nodes_of(value)))
    return (*absence, Comparison("=", value, Text(""))) if location.text else absence


def _tested(
    atom: Atom, added: tuple[Variable, ...], where: str, position: Position | None, hint: str
) -> tuple[Path, Term | Text | None]:
    """What a predicate asks of the node that must not be there."""
    node, between = added[-1].name, {variable.name for variable in added}
    match atom:
        case Presence(Term(variable, path)) if variable == node:
            return path, None
        case Comparison("=", Term(variable, path), Text() as value) if variable == node:
            return path, value
        case Comparison("=", Term(variable, path), Term(outer) as value) if variable == node:
            if outer not in between:
                return path, value
        case Comparison("=", Term(outer) as value, Term(variable, path)) if variable == node:
            if outer not in between:
                return path, value
    _refuse_repeating(where, position, hint)


def _is_of_text(atom: Atom, others: Collection[Atom]) -> bool:
    """Whether an atom says only that a text is not empty, and another that it is a string that is not."""
    match atom:
        case Comparison("!=", term, Text("")):
            return any(
                isinstance(other, Comparison)
                and (other.operator, other.left) == ("=", term)
                and isinstance(other.right, Text)
                and other.right.value != ""
                for other in others
            )
        case _:
            return False


def _refuse_repeating(where: str, position: Position | None, hint: str) -> NoReturn:
    refuse(
        "HX3042",
        f"what a negation asks of the repeating path {where} is outside the query fragment",
        position,
        hint,
    )

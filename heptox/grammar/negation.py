"""What it means in a pattern that a path leads to no node."""

from __future__ import annotations

from collections.abc import Collection
from typing import NoReturn, TypeAlias

from heptox.errors import Position
from heptox.grammar.branches import Branch, nodes_of
from heptox.grammar.function_kinds import decimal_literal
from heptox.grammar.locations import Location, refuse, value_of
from heptox.pattern import (
    TAG,
    Absence,
    Atom,
    Call,
    Comparison,
    Constant,
    Leaf,
    NoNode,
    Number,
    Operand,
    Presence,
    StringJoin,
    Term,
    Text,
    ValueExpression,
    Variable,
    atom_variables,
    computed_step,
    selecting,
    value_expression,
)
from heptox.schema import Path, SchemaTree

_Test: TypeAlias = tuple[Path, Term | Text | None]


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
        hint = "its predicates speak of leaves of that node, or compare them with leaves outside by ="
        where = tree.written(location.absolute)
        added, leaves = _without_leaves(tree, added, tests, location)
        chain = [variable.parent for variable in added[1:]] == [variable.name for variable in added[:-1]]
        if location.text or not chain or location.variable != added[-1].name:
            _refuse_repeating(where, position, hint)
        node, tested = selecting(added, [atom for atom in tests if not _is_of_text(atom, tests)])
        wanted: list[_Test] = [*leaves, *(_tested(atom, added, where, position, hint) for atom in tested)]
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


def _without_leaves(
    tree: SchemaTree, added: tuple[Variable, ...], tests: Collection[Atom], location: Location
) -> tuple[tuple[Variable, ...], list[_Test]]:
    """The added variables without those of leaves that repeat below a node and only have to be there, and that test."""
    spoken = {name for atom in tests for name in atom_variables(atom)} | {variable.parent for variable in added}
    leaves = [
        Location(each.name, each.node)
        for each in added
        if each.parent == location.variable and each.name not in spoken and tree.is_element(each.node)
    ]
    there: list[_Test] = []
    for leaf in leaves if any(variable.name == location.variable for variable in added) else ():
        path = (*leaf.node[len(location.node) :], *value_of(tree, leaf).path)
        there.append(((computed_step(StringJoin(path, ",")),), None))
    names = {leaf.variable for leaf in leaves} if there else set()
    return tuple(variable for variable in added if variable.name not in names), there


def _tested(atom: Atom, added: tuple[Variable, ...], where: str, position: Position | None, hint: str) -> _Test:
    """What a predicate asks of the node that must not be there."""
    node, between = added[-1].name, {variable.name for variable in added}
    match atom:
        case Presence(Term(variable, path)) if variable == node:
            return path, None
        case Comparison("=", Term(variable, path), Text() as value) if variable == node:
            return path, value
        case Comparison("=", Term(variable, path), right) if variable == node and right == atom.left:
            return path, None
        case Comparison("=", Term(variable, path), Term(outer) as value) if variable == node and outer not in between:
            return path, value
        case Comparison("=", Term(outer) as value, Term(variable, path)) if variable == node and outer not in between:
            return path, value
        case Comparison(operator, left, right):
            sides = [side for side in (_expression(left, node), _expression(right, node)) if side is not None]
            if len(sides) == 2:
                return (computed_step(Call(operator, tuple(sides))),), Text("true")
    _refuse_repeating(where, position, hint)


def _expression(side: Operand, node: str) -> ValueExpression | None:
    """A side of a comparison as one of a function term over the leaves of a node."""
    match side:
        case Text(value):
            return Constant(value)
        case Number(lexical):
            return decimal_literal(lexical)
        case Term(variable, path) if variable == node and path[-1:] != (TAG,):
            return value_expression(path) or Leaf(path)
    return None


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

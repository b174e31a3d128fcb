"""What a rule's body binds to in a document: a join of stop nodes (``semantics.md`` section 5)."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from heptox.mapping.instance import StopNode, Value
from heptox.mapping.model import Rule
from heptox.pattern import Comparison, Term, Variable, atom_terms

Row: TypeAlias = tuple[StopNode, ...]


@dataclass(slots=True)
class Table:
    """Bindings of some variables: the column of each by its name, and the rows."""

    columns: Mapping[str, int]
    rows: list[Row] = field(default_factory=list)


def bindings(rule: Rule, root: StopNode) -> Table:
    """All bindings of a rule's variables, in document order of the variables as the result's columns have them.

    Variables below the root that hang together are bound by descending; such parts are joined by hashing on the rule's
    equalities. A value that is not there equals nothing, and differs from nothing.
    """
    first, *parts = joining_order(rule)
    columns = {name: column for column, name in enumerate(first)}
    result = Table(columns, _selected(rule, columns, [(root,)], first[0]))
    for names in parts:
        part = _part(names, rule, root)
        result = _joined(result, part, _between(rule, result.columns, part.columns))
    return result


def joining_order(rule: Rule) -> tuple[tuple[str, ...], ...]:
    """The parts in which a rule's variables are bound: the root's, then those that hang together, as they are joined.

    Bindings come in document order of the variables as they stand here, the first variable above all.
    """
    first, *others = rule.variables
    waiting = [_hanging(top, rule) for top in others if top.parent == first.name]
    found: list[tuple[str, ...]] = [(first.name,)]
    bound = {first.name}
    while waiting:
        part = next((names for names in waiting if _between(rule, bound, names)), waiting[0])
        waiting.remove(part)
        found.append(part)
        bound.update(part)
    return tuple(found)


def _hanging(top: Variable, rule: Rule) -> tuple[str, ...]:
    """A variable and all that hang from it."""
    names = {top.name: None}
    for variable in rule.variables:
        if variable.parent in names:
            names[variable.name] = None
    return tuple(names)


def _part(names: Sequence[str], rule: Rule, root: StopNode) -> Table:
    """The bindings of a variable directly below the root and of all that hang from it."""
    variables = {variable.name: variable for variable in rule.variables}
    top, *others = names
    columns = {top: 0}
    rows: list[Row] = [(node,) for node in root.below.get(variables[top].node, ())]
    rows = _selected(rule, columns, rows, top)
    for name in others:
        variable = variables[name]
        parent = columns[variable.parent or top]
        columns[name] = len(columns)
        rows = [(*row, node) for row in rows for node in row[parent].below.get(variable.node, ())]
        rows = _selected(rule, columns, rows, name)
    return Table(columns, rows)


def _selected(rule: Rule, columns: Mapping[str, int], rows: list[Row], new: str) -> list[Row]:
    """The rows that fulfil the conditions that the variable ``new`` makes decidable."""
    for condition in rule.conditions:
        names = {term.variable for term in atom_terms(condition)}
        if new in names and names <= columns.keys():
            rows = [row for row in rows if _holds(row, columns, condition)]
    return rows


def _holds(row: Row, columns: Mapping[str, int], condition: Comparison) -> bool:
    value = _value(row, columns, condition.left)
    other = _value(row, columns, condition.right) if isinstance(condition.right, Term) else condition.right.value
    if not isinstance(value, str) or not isinstance(other, str):
        return False
    return (value == other) == (condition.operator == "=")


def _value(row: Row, columns: Mapping[str, int], term: Term) -> Value:
    return row[columns[term.variable]].values[term.path]


def _between(rule: Rule, here: Container[str], there: Container[str]) -> list[tuple[Term, Term]]:
    """The equalities between two sets of variables, each with its side ``here`` first."""
    found = []
    for left, right in rule.equalities():
        for one, other in ((left, right), (right, left)):
            if one.variable in here and other.variable in there:
                found.append((one, other))
    return found


def _joined(left: Table, right: Table, equalities: Sequence[tuple[Term, Term]]) -> Table:
    """The pairs of rows that agree, in the order of ``left``, then of ``right``."""
    width = len(left.columns)
    columns = {**left.columns, **{name: width + column for name, column in right.columns.items()}}
    index: dict[tuple[str, ...], list[Row]] = {}
    for row in right.rows:
        key = _key(row, right.columns, [other for _, other in equalities])
        if key is not None:
            index.setdefault(key, []).append(row)
    rows: list[Row] = []
    for row in left.rows:
        key = _key(row, left.columns, [one for one, _ in equalities])
        if key is not None:
            rows += [row + other for other in index.get(key, ())]
    return Table(columns, rows)


def _key(row: Row, columns: Mapping[str, int], terms: Sequence[Term]) -> tuple[str, ...] | None:
    """The values to join on; ``None`` when one is not there."""
    values = []
    for term in terms:
        value = _value(row, columns, term)
        if not isinstance(value, str):
            return None
        values.append(value)
    return tuple(values)

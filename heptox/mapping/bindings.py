"""What a rule's body binds to in a document: a join of stop nodes (``semantics.md`` sections 4 and 5)."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from heptox.checks import Check, no_check
from heptox.mapping.instance import StopNode, Value
from heptox.mapping.model import Condition, OptionalPart, Rule
from heptox.pattern import Absence, Comparison, NoNode, Presence, Term, Text, Variable, atom_variables
from heptox.schema import Path

Row: TypeAlias = tuple[StopNode | None, ...]


@dataclass(slots=True)
class Table:
    """Bindings of some variables: the column of each by its name, and the rows; one that is not bound is ``None``."""

    columns: Mapping[str, int]
    rows: list[Row] = field(default_factory=list)


def bindings(rule: Rule, root: StopNode, check: Check = no_check) -> Table:
    """All bindings of a rule's variables, in document order of the variables as the result's columns have them.

    Variables below the root that hang together are bound by descending; such parts are joined by hashing on the rule's
    equalities. Optional parts follow, each by an outer join. A value that is not there equals nothing, and differs from
    nothing. ``check`` is called for each combination of nodes, and may raise an error of its own.
    """
    body = _Body(rule, root, check)
    table = body.required()
    for part in rule.optional:
        table = body.with_optional(table, part)
    return table


def joining_order(rule: Rule) -> tuple[tuple[str, ...], ...]:
    """The parts in which a rule's required variables are bound: the root's, then those that hang together, as they are
    joined.

    Bindings come in document order of the variables as they stand here, the first variable above all; then of those of
    the optional parts (:func:`optional_order`).
    """
    first, *others = rule.required
    return ((first.name,), *_ordered(others, {first.name}, first.name, tuple(rule.equalities())))


def optional_order(rule: Rule, part: OptionalPart) -> tuple[tuple[str, ...], ...]:
    """The variables of an optional part, those that hang together as they are joined."""
    own = [variable for variable in rule.variables if variable.name in part.variables]
    bound = {variable.name for variable in rule.required}
    for before in rule.optional[: rule.optional.index(part)]:
        bound.update(before.variables)
    return _ordered(own, bound, rule.variables[0].name, link_terms(part))


def link_terms(part: OptionalPart) -> tuple[tuple[Term, Term], ...]:
    """Both sides of each condition of an optional part."""
    return tuple((link.left, link.right) for link in part.conditions if isinstance(link.right, Term))


def hung_from(rule: Rule, part: OptionalPart) -> tuple[str, ...]:
    """The variables bound before an optional part below which its own stand."""
    own = (variable for variable in rule.variables if variable.name in part.variables)
    parents = (variable.parent for variable in own if variable.parent not in part.variables)
    return tuple(dict.fromkeys(parent for parent in parents if parent is not None))


def _ordered(
    variables: Sequence[Variable], known: Collection[str], root: str, equalities: Sequence[tuple[Term, Term]]
) -> tuple[tuple[str, ...], ...]:
    """Variables by what hangs together, that first which hangs from a known variable or is connected with one.

    To hang from the root is no connection: everything does.
    """
    own = {variable.name for variable in variables}
    waiting = [_hanging(top, variables) for top in variables if top.parent not in own]
    parents = {variable.name: variable.parent for variable in variables}
    bound = set(known)
    found: list[tuple[str, ...]] = []
    while waiting:
        part = next(
            (names for names in waiting if _between(equalities, bound, names) or parents[names[0]] in bound - {root}),
            waiting[0],
        )
        waiting.remove(part)
        found.append(part)
        bound.update(part)
    return tuple(found)


def _hanging(top: Variable, variables: Iterable[Variable]) -> tuple[str, ...]:
    """A variable and all that hang from it."""
    names = {top.name: None}
    for variable in variables:
        if variable.parent in names:
            names[variable.name] = None
    return tuple(names)


def _between(
    equalities: Iterable[tuple[Term, Term]], here: Container[str], there: Container[str]
) -> list[tuple[Term, Term]]:
    """The equalities between two sets of variables, each with its side ``here`` first."""
    found = []
    for left, right in equalities:
        for one, other in ((left, right), (right, left)):
            if one.variable in here and other.variable in there:
                found.append((one, other))
    return found


class _Body:
    """The body of a rule over one document."""

    def __init__(self, rule: Rule, root: StopNode, check: Check) -> None:
        self._rule, self._root, self._check = rule, root, check
        self._variables = {variable.name: variable for variable in rule.variables}
        self._places: dict[tuple[NoNode, StopNode], set[tuple[Value, ...]]] = {}

    def required(self) -> Table:
        """The bindings of the required variables."""
        (first,), *parts = joining_order(self._rule)
        equalities = tuple(self._rule.equalities())
        others = [each for each in self._rule.conditions if not _is_equality(each)]
        table = self._selected(Table({first: 0}, [(self._root,)]), (), self._rule.conditions)
        for names in parts:
            other = self._below_root(names, self._rule.conditions)
            joined = self._joined(table, other, _between(equalities, table.columns, other.columns))
            table = self._selected(joined, (table.columns, other.columns), others)
        return table

    def with_optional(self, table: Table, part: OptionalPart) -> Table:
        """An outer join: a row goes on without the part exactly when no node can enter it."""
        inner = table
        links = link_terms(part)
        for names in optional_order(self._rule, part):
            top = self._variables[names[0]]
            if top.parent == self._rule.variables[0].name:
                other = self._below_root(names, part.conditions)
                inner = self._joined(inner, other, _between(links, inner.columns, other.columns))
            else:
                inner = self._descended(inner, names, part.conditions)
        return Table(inner.columns, self._outer(table, inner, part))

    def _outer(self, table: Table, inner: Table, part: OptionalPart) -> list[Row]:
        """The rows of ``inner``, and where one of ``table`` has none there, itself if it goes on without the part."""
        width, missing = len(table.columns), (None,) * len(part.variables)
        above = [table.columns[name] for name in hung_from(self._rule, part)]
        unentered = self._rule.unentered(part)
        rows: list[Row] = []
        place = 0
        for row in table.rows:  # those of ``inner`` stand in the same order
            begin = place
            while place < len(inner.rows) and inner.rows[place][:width] == row:
                place += 1
            if place > begin:
                rows += inner.rows[begin:place]
            elif any(row[column] is None for column in above) or self._no_node(row, table.columns, unentered):
                rows.append(row + missing)
        return rows

    def _below_root(self, names: Sequence[str], conditions: Sequence[Condition]) -> Table:
        """The bindings of a variable directly below the root and of all that hang from it."""
        rows: list[Row] = [(node,) for node in self._root.below.get(self._variables[names[0]].node, ())]
        table = self._selected(Table({names[0]: 0}, rows), (), conditions)
        return self._descended(table, names[1:], conditions)

    def _descended(self, table: Table, names: Sequence[str], conditions: Sequence[Condition]) -> Table:
        """The bindings with variables that stand below those that are bound."""
        for name in names:
            variable = self._variables[name]
            parent, node = table.columns[str(variable.parent)], variable.node
            columns = {**table.columns, name: len(table.columns)}
            rows: list[Row] = []
            for row in table.rows:
                above = row[parent]
                for below in () if above is None else above.below.get(node, ()):
                    rows.append((*row, below))
                    self._check()
            table = self._selected(Table(columns, rows), (table.columns,), conditions)
        return table

    def _joined(self, left: Table, right: Table, equalities: Sequence[tuple[Term, Term]]) -> Table:
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
            for other in () if key is None else index.get(key, ()):
                rows.append(row + other)
                self._check()
        return Table(columns, rows)

    def _selected(self, table: Table, before: Sequence[Container[str]], conditions: Sequence[Condition]) -> Table:
        """The rows that fulfil the conditions that could not be decided by the columns ``before``."""
        rows = table.rows
        for condition in conditions:
            names = set(atom_variables(condition))
            if names <= table.columns.keys() and not any(all(name in some for name in names) for some in before):
                rows = [row for row in rows if self._holds(row, table.columns, condition)]
        return Table(table.columns, rows)

    def _holds(self, row: Row, columns: Mapping[str, int], condition: Condition) -> bool:
        match condition:
            case Presence(term):
                return _value(row, columns, term) is not None
            case Absence(term):
                return _value(row, columns, term) is None
            case NoNode():
                return self._no_node(row, columns, condition)
        value = _value(row, columns, condition.left)
        right = condition.right
        other = _value(row, columns, right) if isinstance(right, Term) else str(right.value)
        if not isinstance(value, str) or not isinstance(other, str):
            return False
        return (value == other) == (condition.operator == "=")

    def _no_node(self, row: Row, columns: Mapping[str, int], condition: NoNode) -> bool:
        """Whether no node meets all tests; below one that is not bound there is none."""
        start = row[columns[condition.variable]]
        if start is None:
            return True
        wanted = tuple(
            value.value if isinstance(value, Text) else _value(row, columns, value)
            for _, value in condition.tests
            if value is not None
        )
        return None in wanted or wanted not in self._values_of(condition, start)

    def _values_of(self, condition: NoNode, start: StopNode) -> set[tuple[Value, ...]]:
        """The values that the nodes of a condition have where it compares them, of those that have what it needs."""
        key = condition, start
        if key not in self._places:
            above = self._variables[condition.variable].node
            paths = [path for path, value in condition.tests if value is not None]
            needed = [path for path, _ in condition.tests]
            self._places[key] = {
                tuple(node.values[path] for path in paths)
                for node in _nodes(start, above, condition.node)
                if all(path in node.values for path in needed)
            }
        return self._places[key]


def _nodes(start: StopNode, above: Path, node: Path) -> list[StopNode]:
    """The stop nodes at a schema path below one at the path ``above``, whatever stop nodes are between."""
    if above == node:
        return [start]
    return [
        found
        for stop, nodes in start.below.items()
        if node[: len(stop)] == stop
        for below in nodes
        for found in _nodes(below, stop, node)
    ]


def _value(row: Row, columns: Mapping[str, int], term: Term) -> Value | None:
    node = row[columns[term.variable]]
    return None if node is None else node.values.get(term.path)


def _is_equality(condition: Condition) -> bool:
    return isinstance(condition, Comparison) and isinstance(condition.right, Term)


def _key(row: Row, columns: Mapping[str, int], terms: Sequence[Term]) -> tuple[str, ...] | None:
    """The values to join on; ``None`` when one is not there."""
    values = []
    for term in terms:
        value = _value(row, columns, term)
        if not isinstance(value, str):
            return None
        values.append(value)
    return tuple(values)

"""Rule bodies as statements over the relations of a store (``semantics.md`` section 5)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, TypeAlias

from heptox.mapping.bindings import hung_from, joining_order, link_terms, optional_order
from heptox.mapping.model import Condition, OptionalPart, Rule
from heptox.mapping.receipts import looked_up
from heptox.mapping.selected_nodes import test_atoms
from heptox.mapping.written_mapping import WrittenTree
from heptox.pattern import (
    NODE,
    TAG,
    Absence,
    Comparison,
    NoNode,
    Presence,
    SqlParts,
    StringJoin,
    Term,
    Type,
    ValueExpression,
    Variable,
    expression_in_sql,
    is_computed,
    result_type,
    value_expression,
)
from heptox.schema import TEXT, Path, SchemaTree, SelectionTest, split_selection
from heptox.store import Catalogue, Join, NodeSet, NotCompiledError, Part, RowJoins, statements as sql
from heptox.xml import XSI_NIL, unescaped_name


@dataclass(frozen=True, slots=True)
class Body:
    """The bindings of a rule's variables as a statement.

    ``keys`` are the columns whose order is that of the bindings, ``nodes`` those of where variables stand, ``terms``
    those of the values of terms. The value of an inner node that is copied is where it begins, and ``stops`` says where
    it ends.
    """

    statement: sql.Statement
    keys: tuple[str, ...]
    nodes: Mapping[str, str]
    terms: Mapping[Term, str]
    stops: Mapping[Term, str]


def copied_terms(rule: Rule) -> frozenset[Term]:
    """The terms that stand for inner nodes copied whole."""
    return frozenset(term for node in rule.head for path, term in node.leaves if path in node.copied)


def rule_body(rule: Rule, tree: SchemaTree, catalogue: Catalogue, doc: int) -> Body:
    """The body of a rule as a statement about one document, which fits the schema.

    Required variables are one statement, each optional part is another one, which is joined by a left join. A box is
    bound by a select for each of its members.

    Raises :class:`NotCompiledError` where the relations do not give what the rule asks for.
    """
    return _Body(rule, _Joins(rule, tree, catalogue, doc)).body()


_Cell: TypeAlias = tuple[Part, str | Term]
"""What a column of a statement holds: where a variable stands, the value of a term, or where its node ends."""


@dataclass(frozen=True, slots=True)
class _Group:
    """A statement that binds some variables, as a table of the whole one."""

    source: sql.DerivedTable
    cells: tuple[_Cell, ...]

    def at(self, part: Part, of: str | Term) -> sql.Column:
        return sql.Column(self.source.alias, f"k{self.cells.index((part, of))}")


class _Body:
    """The statement of one rule."""

    def __init__(self, rule: Rule, joins: _Joins) -> None:
        self._rule, self._joins = rule, joins
        self._variables = {variable.name: variable for variable in rule.variables}
        self._root = rule.variables[0].name
        self._owners = {variable.name: 0 for variable in rule.required}
        for number, part in enumerate(rule.optional, 1):
            self._owners.update(dict.fromkeys(part.variables, number))
        made = (term for node in rule.head for term in node.terms)
        self._terms = list(dict.fromkeys((*made, *(code for code, _ in looked_up(rule)))))
        self._whole = [term for term in self._terms if term in joins.copied]
        eaches = {node.each for node in rule.head if node.each is not None}
        self._keys = [*self._ordering()]
        self._shown = list(dict.fromkeys([*self._keys, *sorted(eaches | {term.variable for term in self._terms})]))
        if any(term.path == (NODE,) for term in self._terms):
            raise NotCompiledError("a leaf takes what a node is itself")
        if not joins.copied.isdisjoint(side for part in rule.optional for link in link_terms(part) for side in link):
            raise NotCompiledError("a condition compares a subtree that is copied")

    def body(self) -> Body:
        """The statement; without optional parts it is that of the required variables."""
        groups = [self._group(number) for number in range(len(self._rule.optional) + 1)]
        joins: list[sql.LeftJoin] = []
        needed: list[sql.Condition] = []
        for part, group in zip(self._rule.optional, groups[1:], strict=True):
            joins.append(sql.LeftJoin(group.source, self._linked(groups, group, part, self._between(part))))
            if not _binds_when_entered(part, self._variables):
                entries = self._entries(part)
                joins.append(sql.LeftJoin(entries.source, self._linked(groups, entries, part, link_terms(part)[:1])))
                needed.append(self._goes_on(groups, entries, part))
        columns: list[sql.Expression] = [self._column(groups, Part.NODE, name) for name in self._shown]
        columns += [self._column(groups, Part.TEXT, term) for term in self._terms]
        columns += [self._column(groups, Part.STOP, term) for term in self._whole]
        columns += [
            sql.Coalesce((self._column(groups, Part.NODE, name), sql.Integer(0))) if self._owners[name] else column
            for name, column in zip(self._keys, columns, strict=False)
        ]
        select = sql.Select(tuple(columns), (groups[0].source,), sql.All(tuple(needed)), tuple(joins))
        names = iter([f"k{place}" for place in range(len(columns))])
        nodes = dict(zip(self._shown, names, strict=False))
        terms = dict(zip(self._terms, names, strict=False))
        stops = dict(zip(self._whole, names, strict=False))
        return Body(sql.Statement((select,)), tuple(names), nodes, terms, stops)

    def _ordering(self) -> Iterator[str]:
        """The variables by which bindings are ordered: one that is followed by another below it adds nothing.

        One of an optional part that follows may be unbound, so there the one before it does add something.
        """
        names = [name for part in joining_order(self._rule)[1:] for name in part]
        for each in self._rule.optional:
            names += [name for part in optional_order(self._rule, each) for name in part]
        for name, following in zip_longest(names, names[1:]):
            above = self._variables[following].parent if following else None
            while above is not None and above != name:
                above = self._variables[above].parent
            if above is None or self._owners[name] != self._owners[following]:
                yield name

    # -- the statements that are joined ----------------------------------------------------------------------------

    def _group(self, number: int) -> _Group:
        """The statement of the required variables, which is number 0, or of an optional part."""
        own = [variable.name for variable in self._rule.variables if self._owners[variable.name] == number]
        wanted: list[_Cell] = [(Part.NODE, own[0])]  # says whether a part is bound
        wanted += [(Part.NODE, name) for name in self._shown]
        wanted += [(Part.TEXT, term) for term in self._terms]
        wanted += [(Part.STOP, term) for term in self._whole]
        for each in self._rule.optional:
            wanted += [(Part.TEXT, side) for sides in self._between(each) for side in sides]
            wanted += [(Part.NODE, name) for name in hung_from(self._rule, each) if name != self._root]
        cells = [(part, of) for part, of in wanted if (of.variable if isinstance(of, Term) else of) in own]
        conditions: Sequence[Condition] = self._rule.conditions
        if number:
            part = self._rule.optional[number - 1]
            across = self._between(part)
            conditions = [link for link in part.conditions if (link.left, link.right) not in across]
        return self._stated(f"g{number}", own, cells, conditions)

    def _entries(self, part: OptionalPart) -> _Group:
        """What can enter an optional part: the ends of its link, by the nodes below which they stand."""
        link = link_terms(part)[0][1]
        found = self._stated("d", _entered(part, self._variables), [(Part.TEXT, link)], ())
        columns = tuple(found.at(*cell) for cell in found.cells)
        distinct = sql.Select(columns, (found.source,), sql.TRUE, distinct=True)
        alias = f"e{self._owners[link.variable]}"
        return replace(found, source=sql.DerivedTable(sql.Statement((distinct,)), alias))

    def _stated(
        self, alias: str, own: Collection[str], cells: Sequence[_Cell], conditions: Sequence[Condition]
    ) -> _Group:
        """The statement that binds some variables, and with them those above them."""
        above = [self._variables[name].parent for name in own]
        outer = [name for name in above if name is not None and name not in own and name != self._root]
        cells = tuple(dict.fromkeys([*cells, *((Part.NODE, name) for name in outer)]))
        selects = tuple(self._joins.select(join, cells, conditions) for join in self._joins.bound(own))
        return _Group(sql.DerivedTable(sql.Statement(selects), alias), cells)

    # -- the joins ---------------------------------------------------------------------------------------------------

    def _between(self, part: OptionalPart) -> list[tuple[Term, Term]]:
        """The conditions of an optional part that speak of variables bound before it."""
        return [sides for sides in link_terms(part) if not {side.variable for side in sides} <= {*part.variables}]

    def _linked(
        self, groups: Sequence[_Group], group: _Group, part: OptionalPart, links: Sequence[tuple[Term, Term]]
    ) -> sql.Condition:
        """That the variables of a group stand below those from which they hang, and that terms are equal."""

        def value(term: Term) -> sql.Column:
            here = (Part.TEXT, term) in group.cells
            return group.at(Part.TEXT, term) if here else self._column(groups, Part.TEXT, term)

        hangs = (
            sql.Compare("=", group.at(Part.NODE, name), self._column(groups, Part.NODE, name))
            for name in hung_from(self._rule, part)
            if (Part.NODE, name) in group.cells
        )
        return sql.All((*hangs, *(sql.Compare("=", value(left), value(right)) for left, right in links)))

    def _goes_on(self, groups: Sequence[_Group], entries: _Group, part: OptionalPart) -> sql.Condition:
        """What must be: the part is bound, or nothing enters it, or what it hangs from is not bound."""
        first = next(name for name in self._variables if name in part.variables)
        outer = [name for name in hung_from(self._rule, part) if self._owners[name]]
        unbound = [entries.at(Part.TEXT, link_terms(part)[0][1])]
        unbound += [self._column(groups, Part.NODE, name) for name in outer]
        nothing = (sql.Fails(sql.NotNull(column)) for column in unbound)
        return sql.Some((sql.NotNull(self._column(groups, Part.NODE, first)), *nothing))

    def _column(self, groups: Sequence[_Group], part: Part, of: str | Term) -> sql.Column:
        """The column of the statement that binds a variable."""
        return groups[self._owners[of.variable if isinstance(of, Term) else of]].at(part, of)


def _entered(part: OptionalPart, variables: Mapping[str, Variable]) -> list[str]:
    """The variables of an optional part that lead to the end of its link, innermost first."""
    chain = [link_terms(part)[0][1].variable]
    while (above := variables[chain[-1]].parent) in part.variables:
        chain.append(str(above))
    return chain


def _binds_when_entered(part: OptionalPart, variables: Mapping[str, Variable]) -> bool:
    """Whether nothing but its entry has to be there for an optional part: a link, or none, and what leads to it."""
    links = len(part.conditions)
    return not links or (links == 1 and len(_entered(part, variables)) == len(part.variables))


# -- one statement -----------------------------------------------------------------------------------------------------


class _Joins:
    """Joins of the rows in which the variables of a rule are found, in one document."""

    def __init__(self, rule: Rule, tree: SchemaTree, catalogue: Catalogue, doc: int) -> None:
        self.copied = copied_terms(rule)
        self._rule, self._tree = rule, tree
        self._rows = RowJoins(catalogue)
        root = NodeSet(None, frozenset({()}))
        self._begin = Join(document=sql.Integer(doc), bindings={rule.variables[0].name: root})

    def bound(self, names: Collection[str]) -> list[Join]:
        """Joins with some variables and those above them, for each choice of members of boxes."""
        wanted = set(names)
        for variable in reversed(self._rule.variables):
            if variable.name in wanted and variable.parent is not None:
                wanted.add(variable.parent)
        found = [self._begin]
        for variable in self._rule.variables:
            if variable.name in wanted and variable.parent is not None:
                above = self._rule.node(variable.parent)
                found = [after for join in found for after in self._below(join, variable, above)]
        return found

    def select(self, join: Join, cells: Sequence[_Cell], conditions: Sequence[Condition]) -> sql.Select:
        """The cells of a join where conditions hold."""
        for condition in conditions:
            join = self._having(join, condition)
        columns: list[sql.Expression] = []
        for part, of in cells:
            join, column = self._cell(join, part, of)
            columns.append(column)
        return sql.Select(tuple(columns), join.sources, sql.All(join.where))

    def _below(self, join: Join, variable: Variable, above: Path) -> Iterator[Join]:
        """With one more variable, whose parent is at the node ``above``, for each element type it can stand for."""
        parent = _nodes(join, str(variable.parent))
        (stop,) = parent.stops
        box = self._tree.box(variable.node)
        *steps, last = variable.node[len(above) :]
        name, tests = split_selection(last)
        for member in box.members if box else (name,):
            path = (*parent.path, *steps, member)
            after, nodes = join, replace(parent, path=path)
            if self._rows.catalogue.has_rows(stop + path):
                stops = frozenset({stop + path})
                after, alias = self._rows.joined(join, stops, parent.alias)
                nodes = NodeSet(alias, stops)
            after = self._rows.present(after, nodes)
            for test in tests:
                if not is_computed(test.path):
                    after = self._selected(after, nodes, test)
            after = replace(after, bindings={**after.bindings, variable.name: nodes})
            for test in tests:
                if is_computed(test.path):
                    (condition,) = test_atoms(variable.name, test)
                    after = self._having(after, condition)
            yield after

    def _cell(self, join: Join, part: Part, of: str | Term) -> tuple[Join, sql.Expression]:
        if isinstance(of, str):
            join, (node,) = self._rows.key(join, _nodes(join, of))
            return join, node
        return self._rows.column(join, _leaf(join, of), part) if part is Part.STOP else self._value(join, of)

    def _value(self, join: Join, term: Term) -> tuple[Join, sql.Expression]:
        if term.path[-1:] == (TAG,):
            return join, sql.String(self._value_of(self._rows.name(_nodes(join, term.variable))))
        if (expression := value_expression(term.path)) is not None:
            return self._computed(join, term.variable, expression)
        return self._rows.column(join, _leaf(join, term), Part.NODE if term in self.copied else Part.TEXT)

    def _value_of(self, member: str) -> str:
        """The value behind the tag of nodes in a box."""
        if isinstance(self._tree, WrittenTree):
            return self._tree.values_of_members[member]
        return unescaped_name(member)

    # -- what is computed --------------------------------------------------------------------------------------------

    def _computed(self, join: Join, name: str, expression: ValueExpression) -> tuple[Join, sql.Expression]:
        """The value of a function of the leaves of a variable's nodes, null where it has none."""

        def leaf(path: Path) -> sql.Expression:
            nonlocal join
            join, value = self._leaf_value(join, _nodes(join, name), path)
            return value

        def joined(asked: StringJoin) -> sql.Expression:
            return self._joined_strings(join, name, asked)

        found: Any = expression_in_sql(expression, SqlParts(leaf, joined, sql.String, sql.Template))
        if result_type(expression) is Type.BOOLEAN:
            found = sql.Case(found, sql.String("true"), sql.String("false"))
        return join, found

    def _leaf_value(self, join: Join, nodes: NodeSet, path: Path) -> tuple[Join, sql.Expression]:
        """The value of a leaf of nodes, null where it is not there."""
        return self._rows.column(join, self._tested(nodes, path), Part.TEXT)

    def _tested(self, nodes: NodeSet, path: Path) -> NodeSet:
        """The nodes of a leaf that a selection tests, or a function takes: of those that are nil it would not."""
        leaf = _leaf_of(nodes, path)
        if path[-1:] != (TEXT,) and not (path and path[-1].startswith("@")) and self._rows.element(leaf).children:
            raise NotCompiledError("a function takes all text in an element that holds others")
        if not path or not path[-1].startswith("@"):
            nil = self._rows.catalogue.names.attribute(XSI_NIL)
            if any(attribute.name == nil for attribute in self._rows.element(leaf).attributes):
                raise NotCompiledError("a rule selects by an element that may be nil, or computes with it")
        return leaf

    def _joined_strings(self, join: Join, name: str, asked: StringJoin) -> sql.Expression:
        """The values at a path, which may repeat, below the nodes of a variable."""
        node, path = self._rule.node(name), asked.path
        while path and (path[-1].startswith("@") or path[-1] == TEXT):
            path = path[:-1]
        reached = NoNode(name, (*node, *path))
        if any(step.startswith("[") for step in path):
            raise NotCompiledError("the values of a box are joined")
        ((found, last, stop),) = self._ways(join.inside(), reached)
        below = (*node, *asked.path)[len(stop) :]
        found, value = self._leaf_value(found, _nodes(found, last), below)
        found, (order,) = self._rows.key(found, _leaf_of(_nodes(found, last), below))
        if not found.sources:
            return sql.Case(sql.All(found.where), value)
        return sql.JoinedStrings(value, sql.String(asked.separator), order, found.sources, sql.All(found.where))

    # -- conditions --------------------------------------------------------------------------------------------------

    def _selected(self, join: Join, nodes: NodeSet, test: SelectionTest) -> Join:
        """The join where nodes meet a condition of a selection."""
        if test.test in ("exists", "not"):
            leaf = self._tested(nodes, test.path)
            if test.test == "exists":
                return self._rows.present(join, leaf)
            return join.having(_fails(self._rows.present(join.inside(), leaf)))
        join, value = self._leaf_value(join, nodes, test.path)
        values = tuple(map(sql.String, test.values))
        if len(values) == 1:
            return join.having(sql.Compare("=" if test.test == "=" else "!=", value, *values))
        listed = ", ".join(f"{{{place}}}" for place in range(1, 1 + len(values)))  # not by or, which nests too deeply
        return join.having(sql.Template(f"{{0}} IN ({listed})", (value, *values)))

    def _having(self, join: Join, condition: Condition) -> Join:
        """The join where a condition holds."""
        match condition:
            case Comparison(operator, left, right):
                if left in self.copied or right in self.copied:
                    raise NotCompiledError("a condition compares a subtree that is copied")
                join, one = self._value(join, left)
                if not isinstance(right, Term):
                    return join.having(sql.Compare(operator, one, sql.String(str(right.value))))
                join, other = self._value(join, right)
                return join.having(sql.Compare(operator, one, other))
            case Presence(term):
                return self._present(join, term)
            case Absence(term):
                return join.having(_fails(self._present(join.inside(), term)))
            case NoNode():
                return join.having(*map(_fails, self._reached(join.inside(), condition)))

    def _present(self, join: Join, term: Term) -> Join:
        """The join where a term has a value: a text has one where its element is, a tag always."""
        if is_computed(term.path):
            join, value = self._value(join, term)
            return join.having(sql.NotNull(value))
        return join if term.path[-1:] == (TAG,) else self._rows.present(join, _leaf(join, term))

    def _reached(self, join: Join, condition: NoNode) -> Iterator[Join]:
        """Joins with the nodes that there may not be, for each choice of members of boxes on the way to them."""
        for reached, name, _ in self._ways(join, condition):
            for path, wanted in condition.tests:
                here = Term(name, path)
                test = Presence(here) if wanted is None else Comparison("=", here, wanted)
                reached = self._having(reached, test)
            yield reached

    def _ways(self, join: Join, condition: NoNode) -> Iterator[tuple[Join, str, Path]]:
        """Joins with the stop nodes on the way to a node, each with the variable of the last, and where it stands."""
        found, name, above = [join], condition.variable, self._rule.node(condition.variable)
        for stop in self._tree.stops(condition.node):
            if len(stop) > len(above):
                below = Variable(f"/{'/'.join(stop)}", stop, name)
                found = [after for each in found for after in self._below(each, below, above)]
                name, above = below.name, stop
        yield from ((reached, name, above) for reached in found)


def _nodes(join: Join, name: str) -> NodeSet:
    """The nodes of a variable."""
    nodes = join.bindings[name]
    assert isinstance(nodes, NodeSet)
    return nodes


def _leaf(join: Join, term: Term) -> NodeSet:
    """The nodes of a term; those of a text are the elements that hold it."""
    return _leaf_of(_nodes(join, term.variable), term.path)


def _leaf_of(nodes: NodeSet, leaf: Path) -> NodeSet:
    """The nodes of a leaf below others; those of a text are the elements that hold it."""
    return replace(nodes, path=nodes.path + (leaf[:-1] if leaf[-1:] == (TEXT,) else leaf))


def _fails(join: Join) -> sql.Condition:
    """That an inner join has no match."""
    where = sql.All(join.where)
    return sql.Fails(sql.Exists(join.sources, where) if join.sources else where)

"""Rule bodies as statements over the relations of a store (``semantics.md`` section 5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product, zip_longest
from typing import Literal, NamedTuple

from heptox.mapping.bindings import hung_from, joining_order, link_terms, optional_order
from heptox.mapping.model import Condition, OptionalPart, Rule
from heptox.mapping.paths import path_text
from heptox.pattern import NODE, TAG, Absence, Comparison, NoNode, Presence, Term, Variable
from heptox.schema import TEXT, Path, SchemaTree
from heptox.store import Catalogue, Part, Relation, statements as sql


class NotStatedError(Exception):
    """The relations do not give what a rule asks for; the message says what."""


@dataclass(frozen=True, slots=True)
class Body:
    """The bindings of a rule's variables as a statement.

    ``keys`` are the columns whose order is that of the bindings, ``nodes`` those of where variables stand, ``terms``
    those of the values of terms. The value of an inner node that is copied is where it begins, and ``stops`` says where
    it ends.
    """

    text: str
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

    Raises :class:`NotStatedError` where the relations do not give what the rule asks for.
    """
    return _Body(rule, _Relations(tree, catalogue, doc), copied_terms(rule)).body()


class _Cell(NamedTuple):
    """What a column of a statement holds.

    ``node``: where a variable stands; ``row`` and ``at``: the row of the relations it is found in, and at which path;
    ``up`` and ``above``: the same of its parent, where the statement does not bind that; ``value`` and ``stop`` of a
    term.
    """

    kind: Literal["node", "row", "at", "up", "above", "value", "stop"]
    of: str | Term


@dataclass(frozen=True, slots=True)
class _Group:
    """A statement that binds some variables, as a table of the whole one."""

    alias: str
    text: str
    cells: tuple[_Cell, ...]

    def at(self, kind: Literal["node", "row", "at", "up", "above", "value", "stop"], of: str | Term) -> str:
        return f"{self.alias}.k{self.cells.index(_Cell(kind, of))}"


class _Body:
    """The statement of one rule."""

    def __init__(self, rule: Rule, relations: _Relations, copied: frozenset[Term]) -> None:
        self._rule, self._relations, self._copied = rule, relations, copied
        self._variables = {variable.name: variable for variable in rule.variables}
        self._root = rule.variables[0].name
        self._owners = {variable.name: 0 for variable in rule.required}
        for number, part in enumerate(rule.optional, 1):
            self._owners.update(dict.fromkeys(part.variables, number))
        self._terms = list(dict.fromkeys(term for node in rule.head for term in node.terms))
        self._whole = [term for term in self._terms if term in copied]
        eaches = {node.each for node in rule.head if node.each is not None}
        self._keys = [*self._ordering()]
        self._shown = list(dict.fromkeys([*self._keys, *sorted(eaches | {term.variable for term in self._terms})]))
        if any(term.path == (NODE,) for term in self._terms):
            raise NotStatedError("a leaf takes what a node is itself")
        if not copied.isdisjoint(side for part in rule.optional for link in link_terms(part) for side in link):
            raise NotStatedError("a condition compares a subtree that is copied")

    def body(self) -> Body:
        """The statement; without optional parts it is that of the required variables."""
        groups = [self._group(number) for number in range(len(self._rule.optional) + 1)]
        shown = [groups[self._owners[name]].at("node", name) for name in self._shown]
        shown += [groups[self._owners[term.variable]].at("value", term) for term in self._terms]
        shown += [groups[self._owners[term.variable]].at("stop", term) for term in self._whole]
        keys = [
            f"coalesce({column}, 0)" if self._owners[name] else column
            for name, column in zip(self._keys, shown, strict=False)
        ]
        columns = [f"{column} AS k{place}" for place, column in enumerate(shown)]
        columns += [f"{key} AS o{place}" for place, key in enumerate(keys)]
        text = f"SELECT {', '.join(columns)} FROM ({groups[0].text}) AS g0"
        needed: list[str] = []
        for number, part in enumerate(self._rule.optional, 1):
            text += f"\nLEFT JOIN ({groups[number].text}) AS g{number} ON {self._links(groups, number, part)}"
            if not _binds_when_entered(part, self._variables):
                entries = self._entries(number, part)
                text += f"\nLEFT JOIN ({entries.text}) AS {entries.alias} ON {self._entry(groups, entries, part)}"
                needed.append(self._goes_on(groups, entries, number, part))
        if needed:
            text += f"\nWHERE {' AND '.join(needed)}"
        places = {name: f"k{place}" for place, name in enumerate(self._shown)}
        values = {term: f"k{place}" for place, term in enumerate(self._terms, len(self._shown))}
        begin = len(self._shown) + len(self._terms)
        stops = {term: f"k{place}" for place, term in enumerate(self._whole, begin)}
        return Body(text, tuple(f"o{place}" for place in range(len(keys))), places, values, stops)

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
        part = self._rule.optional[number - 1] if number else None
        own = [variable for variable in self._rule.variables if self._owners[variable.name] == number]
        cells = [_Cell("node", name) for name in self._shown if self._owners[name] == number]
        cells += [_Cell("value", term) for term in self._terms if self._owners[term.variable] == number]
        cells += [_Cell("stop", term) for term in self._whole if self._owners[term.variable] == number]
        if part is not None:
            cells.append(_Cell("node", own[0].name))  # says whether the part is bound
        for each in self._rule.optional:
            sides = [side for sides in self._between(each) for side in sides]
            cells += [_Cell("value", side) for side in sides if self._owners[side.variable] == number]
            for name in hung_from(self._rule, each):
                if self._owners[name] == number and name != self._root:
                    cells += [_Cell("row", name), _Cell("at", name)]
        conditions: Sequence[Condition] = self._rule.conditions
        if part is not None:
            across = self._between(part)
            conditions = [link for link in part.conditions if (link.left, link.right) not in across]
        return self._stated(f"g{number}", own, cells, conditions)

    def _entries(self, number: int, part: OptionalPart) -> _Group:
        """What can enter an optional part: the ends of its link, by the rows below which they stand."""
        link = link_terms(part)[0][1]
        chain = [self._variables[link.variable]]
        while chain[0].parent in part.variables:
            chain.insert(0, self._variables[str(chain[0].parent)])
        found = self._stated(f"e{number}", chain, [_Cell("value", link)], ())
        return replace(found, text=f"SELECT DISTINCT * FROM ({found.text}) AS d")

    def _stated(
        self, alias: str, own: Sequence[Variable], cells: Sequence[_Cell], conditions: Sequence[Condition]
    ) -> _Group:
        names = {variable.name for variable in own}
        tops = [each for each in own if each.parent not in names and each.parent not in (None, self._root)]
        cells = [*cells, *(_Cell(kind, top.name) for top in tops for kind in _ABOVE)]
        cells = list(dict.fromkeys(cells))
        selects = []
        for bound in self._relations.bound(self._rule, own, conditions):
            where = [*bound.where]
            for condition in conditions:
                where += self._relations.condition(bound, condition, self._rule, self._copied)
            columns = tuple(bound.cell(cell, self._copied) for cell in cells)
            selects.append(sql.Select(columns, bound.sources, sql.All(tuple(where))))
        return _Group(alias, sql.print_statement(sql.Statement(tuple(selects), ())), tuple(cells))

    # -- the joins ---------------------------------------------------------------------------------------------------

    def _between(self, part: OptionalPart) -> list[tuple[Term, Term]]:
        """The conditions of an optional part that speak of variables bound before it."""
        return [
            sides for sides in link_terms(part) if any(side.variable not in part.variables for side in sides)
        ]  # fmt: skip

    def _links(self, groups: Sequence[_Group], number: int, part: OptionalPart) -> str:
        found = self._hangs(groups, groups[number], part.variables)
        for left, right in self._between(part):
            found.append(f"{self._value(groups, left)} = {self._value(groups, right)}")
        return " AND ".join(found) or "TRUE"

    def _hangs(self, groups: Sequence[_Group], group: _Group, names: Sequence[str]) -> list[str]:
        """That the variables of a group stand below those from which they hang."""
        found = []
        for name in names:
            parent = self._variables[name].parent
            if _Cell("up", name) in group.cells and parent is not None:
                above = groups[self._owners[parent]]
                found.append(f"{group.at('up', name)} = {above.at('row', parent)}")
                if self._relations.is_boxed(self._variables[parent].node):
                    found.append(f"{group.at('above', name)} = {above.at('at', parent)}")
        return found

    def _entry(self, groups: Sequence[_Group], entries: _Group, part: OptionalPart) -> str:
        left, right = link_terms(part)[0]
        found = self._hangs(groups, entries, part.variables)
        return " AND ".join([*found, f"{self._value(groups, left)} = {entries.at('value', right)}"])

    def _goes_on(self, groups: Sequence[_Group], entries: _Group, number: int, part: OptionalPart) -> str:
        """What must be: the part is bound, or nothing enters it, or what it hangs from is not bound."""
        found = [f"{groups[number].at('node', _first(part, self._rule))} IS NOT NULL"]
        found.append(f"{entries.at('value', link_terms(part)[0][1])} IS NULL")
        outer = [(name, groups[self._owners[name]]) for name in hung_from(self._rule, part) if self._owners[name]]
        found += [f"{group.at('row', name)} IS NULL" for name, group in outer]
        return f"({' OR '.join(found)})"

    def _value(self, groups: Sequence[_Group], term: Term) -> str:
        return groups[self._owners[term.variable]].at("value", term)


_ABOVE: tuple[Literal["up"], Literal["above"]] = ("up", "above")


def _first(part: OptionalPart, rule: Rule) -> str:
    return next(variable.name for variable in rule.variables if variable.name in part.variables)


def _binds_when_entered(part: OptionalPart, variables: Mapping[str, Variable]) -> bool:
    """Whether nothing but its entry has to be there for an optional part: a link, or none, and what leads to it."""
    if not part.conditions:
        return True
    name: str | None = link_terms(part)[0][1].variable
    chain = set()
    while name in part.variables:
        chain.add(name)
        name = variables[str(name)].parent
    return len(part.conditions) == 1 and chain == set(part.variables)


# -- one statement -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _VariableSource:
    """Where a variable is found: in the rows of a source, at a path below their elements; ``tag`` that of a box.

    One that the statement does not bind has no source.
    """

    alias: str
    relation: Relation
    path: Path
    absolute: Path
    tag: str | None


@dataclass(frozen=True, slots=True)
class _Bound:
    """Where some variables of a rule are found, for one choice of members of boxes.

    ``ups`` are the rows below which those stand whose parents the statement does not bind.
    """

    places: Mapping[str, _VariableSource]
    sources: tuple[sql.Source, ...]
    where: tuple[sql.Condition, ...]
    ups: Mapping[str, sql.Column] = field(default_factory=dict)
    aboves: Mapping[str, Path] = field(default_factory=dict)

    def cell(self, cell: _Cell, copied: frozenset[Term]) -> sql.Expression:
        kind, of = cell
        if isinstance(of, Term):
            return self.value(of, copied) if kind == "value" else self.stop(of)
        if kind == "up":
            return self.ups[of]
        if kind == "above":
            return sql.String("/".join(self.aboves[of]))
        if of not in self.places:
            return sql.Integer(0)
        place = self.places[of]
        if kind == "row":
            return sql.Column(place.alias, "node")
        return sql.String("/".join(place.absolute)) if kind == "at" else _column(place, place.path, Part.NODE)

    def value(self, term: Term, copied: frozenset[Term]) -> sql.Expression:
        place = self.places[term.variable]
        path = (*place.path, *term.path)
        if term.path[-1:] == (TAG,):
            return sql.String(place.tag)
        if term in copied:
            return _column(place, path, Part.NODE)
        return _column(place, path[:-1] if path[-1:] == (TEXT,) else path, Part.TEXT)

    def stop(self, term: Term) -> sql.Expression:
        place = self.places[term.variable]
        return _column(place, (*place.path, *term.path), Part.STOP)

    def presence(self, term: Term) -> sql.Condition:
        place = self.places[term.variable]
        path = (*place.path, *term.path)
        last = term.path[-1] if term.path else ""
        if last == TAG:
            return sql.TRUE
        if last == TEXT:
            return sql.NotNull(_column(place, path[:-1], Part.NODE))
        return sql.NotNull(_column(place, path, Part.TEXT if last.startswith("@") else Part.NODE))

    def comparison(self, condition: Comparison, copied: frozenset[Term]) -> Iterator[sql.Condition]:
        sides = [condition.left, *([condition.right] if isinstance(condition.right, Term) else [])]
        if not copied.isdisjoint(sides):
            raise NotStatedError("a condition compares a subtree that is copied")
        if isinstance(condition.right, Term):
            right = self.value(condition.right, copied)
        else:
            right = sql.String(str(condition.right.value))
        yield sql.Compare(condition.operator, self.value(condition.left, copied), right)


def _column(place: _VariableSource, path: Path, part: Part) -> sql.Column:
    name = place.relation.column(path, part)
    if name is None:
        whole = (*place.absolute[: len(place.absolute) - len(place.path)], *path)
        raise NotStatedError(f"{path_text(whole)} is no column of the relations")
    return sql.Column(place.alias, name)


@dataclass(frozen=True, slots=True)
class _Relations:
    """The relations in which the variables of rules are found."""

    tree: SchemaTree
    catalogue: Catalogue
    doc: int

    def bound(self, rule: Rule, own: Sequence[Variable], conditions: Sequence[Condition]) -> list[_Bound]:
        """Some variables of a rule, for each choice of members of boxes."""
        root, names = rule.variables[0], {variable.name for variable in own}
        if self._needs_root(root.name, rule, own, conditions):
            place = _VariableSource("a0", self.catalogue.root, (), (), None)
            where = (self._of_document("a0"),)
            found = [_Bound({root.name: place}, (sql.Source(self.catalogue.root.table, "a0"),), where)]
        else:
            found = [_Bound({}, (), ())]
        outer = {variable.parent for variable in own if variable.parent and variable.parent not in names}
        for name in sorted(outer - {root.name}):
            found = [
                replace(each, places={**each.places, name: place})
                for each in found
                for place in self._outside(rule.node(name))
            ]
        for variable in own:
            if variable.parent is not None:
                above = rule.node(variable.parent)
                found = [extended for each in found for extended in self._extended(each, variable, above)]
        return found

    def _needs_root(self, root: str, rule: Rule, own: Sequence[Variable], conditions: Sequence[Condition]) -> bool:
        """Whether the root's row is asked for: for its leaves, for members of boxes that stand once in it, or alone."""
        if any(variable.parent == root and not self.catalogue.has_rows(variable.node) for variable in own):
            return True
        if own[0].name != root:
            return False
        nothing = any(isinstance(condition, NoNode) and condition.variable == root for condition in conditions)
        return nothing or len(own) == 1 or any(term.variable == root for term in rule.terms())

    def is_boxed(self, node: Path) -> bool:
        """Whether elements at several paths of the relations may stand for a node."""
        return any(self.tree.box(node[:length]) for length in range(1, len(node) + 1))

    def _outside(self, node: Path) -> Iterator[_VariableSource]:
        """The places of a variable that another statement binds, for each choice of members of boxes."""
        boxes = [self.tree.box(node[:length]) for length in range(1, len(node) + 1)]
        for absolute in product(*(box.members if box else (step,) for box, step in zip(boxes, node, strict=True))):
            length = len(absolute)
            while length and not self.catalogue.has_rows(absolute[:length]):
                length -= 1
            relation = self.catalogue.relation(absolute[:length])
            yield _VariableSource("", relation, absolute[length:], absolute, absolute[-1] if boxes[-1] else None)

    def _extended(self, bound: _Bound, variable: Variable, above: Path) -> Iterator[_Bound]:
        """With one more variable, whose parent is at the node ``above``, for each element type it can stand for."""
        parent = bound.places.get(str(variable.parent))
        relative = variable.node[len(above) :]
        box = self.tree.box(variable.node)
        for member in box.members if box else relative[-1:]:
            steps = (*relative[:-1], member)
            absolute = (*(parent.absolute if parent else ()), *steps)
            tag = member if box else None
            alias = f"a{len(bound.sources) + 1}"
            begun = bound
            if self.catalogue.has_rows(absolute):
                begun = self._with_source(bound, alias, absolute)
                place = _VariableSource(alias, self.catalogue.relation(absolute), (), absolute, tag)
                if parent is not None and not parent.alias:
                    begun = _hung(begun, variable.name, sql.Column(alias, "parent"), parent)
                elif parent is not None:
                    below = sql.Compare("=", sql.Column(alias, "parent"), sql.Column(parent.alias, "node"))
                    begun = replace(begun, where=(*begun.where, below))
            elif parent is not None:
                if not parent.alias:
                    begun = self._with_source(bound, alias, absolute[: len(absolute) - len(steps) - len(parent.path)])
                    begun = _hung(begun, variable.name, sql.Column(alias, "node"), parent)
                at = parent.alias or alias
                place = _VariableSource(at, parent.relation, (*parent.path, *steps), absolute, tag)
                begun = replace(begun, where=(*begun.where, sql.NotNull(_column(place, place.path, Part.NODE))))
            else:
                raise NotStatedError(f"{path_text(absolute)} has no rows")
            yield replace(begun, places={**begun.places, variable.name: place})

    def _with_source(self, bound: _Bound, alias: str, absolute: Path) -> _Bound:
        """With the rows of the elements at a path."""
        relation = self.catalogue.relation(absolute)
        where: list[sql.Condition] = [self._of_document(alias)]
        if len(self.catalogue.stops(relation)) > 1:
            where.append(sql.OneOf(sql.Column(alias, "path"), (self.catalogue.code(absolute),)))
        sources = (*bound.sources, sql.Source(relation.table, alias))
        return replace(bound, sources=sources, where=(*bound.where, *where))

    def _of_document(self, alias: str) -> sql.Condition:
        return sql.OneOf(sql.Column(alias, "doc"), (self.doc,))

    # -- conditions --------------------------------------------------------------------------------------------------

    def condition(
        self, bound: _Bound, condition: Condition, rule: Rule, copied: frozenset[Term]
    ) -> Iterator[sql.Condition]:
        match condition:
            case Comparison():
                yield from bound.comparison(condition, copied)
            case Presence(term):
                yield bound.presence(term)
            case Absence(term):
                yield sql.Fails(bound.presence(term))
            case NoNode():
                yield from self._no_node(bound, condition, rule.node(condition.variable), copied)

    def _no_node(
        self, bound: _Bound, condition: NoNode, above: Path, copied: frozenset[Term]
    ) -> Iterator[sql.Condition]:
        """That there is no node, for each choice of members of boxes on the way to it."""
        found, name = [bound], condition.variable
        for stop in self.tree.stops(condition.node):
            if len(stop) > len(above):
                below = Variable(f"/{'/'.join(stop)}", stop, name)
                found = [extended for each in found for extended in self._extended(each, below, above)]
                name, above = below.name, stop
        for each in found:
            where = [*each.where[len(bound.where) :]]
            for path, wanted in condition.tests:
                here = Term(name, path)
                if wanted is None:
                    where.append(each.presence(here))
                else:
                    where += each.comparison(Comparison("=", here, wanted), copied)
            sources = each.sources[len(bound.sources) :]
            all_hold = sql.All(tuple(where))
            yield sql.Fails(sql.Exists(sources, all_hold) if sources else all_hold)


def _hung(bound: _Bound, name: str, row: sql.Column, parent: _VariableSource) -> _Bound:
    """With the row below which a variable stands, and the path of its parent there."""
    return replace(bound, ups={**bound.ups, name: row}, aboves={**bound.aboves, name: parent.absolute})

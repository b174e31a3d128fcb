"""Rule bodies as statements over the relations of a store (``semantics.md`` section 5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest

from heptox.mapping.bindings import joining_order
from heptox.mapping.model import Rule
from heptox.mapping.paths import path_text
from heptox.pattern import TAG, Comparison, Term, Variable
from heptox.schema import TEXT, Path, SchemaTree
from heptox.store import Catalogue, Part, Relation, statements as sql


class NotStatedError(Exception):
    """The relations do not give what a rule asks for; the message says what."""


@dataclass(frozen=True, slots=True)
class Body:
    """The bindings of a rule's variables as a statement.

    ``keys`` are the columns whose order is that of the bindings, ``nodes`` those of where variables stand, ``terms``
    those of the values of terms. The value of an inner node that is copied is where it begins, and ``stops`` says where
    it ends; text that is a node of its own may be the empty string, which says that it is not there.
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

    A box is bound by a select for each of its members.

    Raises :class:`NotStatedError` where the relations do not give what the rule asks for.
    """
    copied = copied_terms(rule)
    names = [*_ordering(rule)]
    owners = {term.variable for node in rule.head for _, term in node.leaves}
    shown = list(dict.fromkeys([*names, *sorted(owners)]))
    terms = list(dict.fromkeys(term for node in rule.head for _, term in node.leaves))
    whole = [term for term in terms if term in copied]
    selects = []
    for bound in _bound(rule, tree, catalogue, doc):
        values = [bound.node(name) for name in shown] + [bound.value(term, copied) for term in terms]
        values += [bound.stop(term) for term in whole]
        where = [*bound.where]
        for condition in rule.conditions:
            where += bound.condition(condition, copied)
        selects.append(sql.Select(tuple(values), bound.sources, sql.All(tuple(where))))
    nodes = {name: f"k{place}" for place, name in enumerate(shown)}
    values_at = {term: f"k{place}" for place, term in enumerate(terms, len(shown))}
    statement = sql.Statement(tuple(selects), ())
    stops = {term: f"k{place}" for place, term in enumerate(whole, len(shown) + len(terms))}
    return Body(statement, tuple(nodes[name] for name in names), nodes, values_at, stops)


def _ordering(rule: Rule) -> Iterator[str]:
    """The variables by which bindings are ordered: one that is followed by another below it adds nothing."""
    parents = {variable.name: variable.parent for variable in rule.variables}
    names = [name for part in joining_order(rule)[1:] for name in part]
    for name, following in zip_longest(names, names[1:]):
        above = parents[following] if following else None
        while above is not None and above != name:
            above = parents[above]
        if above is None:
            yield name


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a variable is found: in the rows of a source, at a path below their elements; ``tag`` that of a box."""

    alias: str
    relation: Relation
    path: Path
    absolute: Path
    tag: str | None


@dataclass(frozen=True, slots=True)
class _Bound:
    """Where the variables of a rule are found, for one choice of members of boxes."""

    places: Mapping[str, _Place]
    sources: tuple[sql.Source, ...]
    where: tuple[sql.Condition, ...]

    def node(self, name: str) -> sql.Expression:
        if name not in self.places:
            return sql.Integer(0)
        place = self.places[name]
        return _column(place, place.path, Part.NODE)

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

    def condition(self, condition: Comparison, copied: frozenset[Term]) -> Iterator[sql.Condition]:
        sides = [condition.left, *([condition.right] if isinstance(condition.right, Term) else [])]
        if not copied.isdisjoint(sides):
            raise NotStatedError("a condition compares a subtree that is copied")
        for term in sides:
            if term.path[-1:] == (TEXT,):
                yield sql.Compare("!=", self.value(term, copied), sql.String(""))
        if isinstance(condition.right, Term):
            right = self.value(condition.right, copied)
        else:
            right = sql.String(str(condition.right.value))
        yield sql.Compare(condition.operator, self.value(condition.left, copied), right)


def _column(place: _Place, path: Path, part: Part) -> sql.Column:
    name = place.relation.column(path, part)
    if name is None:
        whole = (*place.absolute[: len(place.absolute) - len(place.path)], *path)
        raise NotStatedError(f"{path_text(whole)} is no column of the relations")
    return sql.Column(place.alias, name)


def _bound(rule: Rule, tree: SchemaTree, catalogue: Catalogue, doc: int) -> Iterator[_Bound]:
    root, *others = rule.variables
    if any(term.variable == root.name for term in rule.terms()) or not others or _stands_in(root, rule, catalogue):
        alias = "a0"
        place = _Place(alias, catalogue.root, (), (), None)
        begun = _Bound({root.name: place}, (sql.Source(catalogue.root.table, alias),), (_of_document(alias, doc),))
    else:
        begun = _Bound({}, (), ())
    found = [begun]
    for variable in others:
        found = [extended for each in found for extended in _extended(each, variable, rule, tree, catalogue, doc)]
    return iter(found)


def _stands_in(root: Variable, rule: Rule, catalogue: Catalogue) -> bool:
    """Whether variables may stand in the root's row: members of boxes that stand once."""
    return any(variable.parent == root.name and not catalogue.has_rows(variable.node) for variable in rule.variables)


def _extended(
    bound: _Bound, variable: Variable, rule: Rule, tree: SchemaTree, catalogue: Catalogue, doc: int
) -> Iterator[_Bound]:
    """With one more variable, for each element type that it can stand for."""
    parent = bound.places.get(variable.parent or "")
    above = rule.node(variable.parent or "")
    relative = variable.node[len(above) :]
    box = tree.box(variable.node)
    for member in box.members if box else relative[-1:]:
        steps = (*relative[:-1], member)
        absolute = (*(parent.absolute if parent else ()), *steps)
        tag = member if box else None
        if catalogue.has_rows(absolute):
            alias = f"a{len(bound.sources) + 1}"
            relation = catalogue.relation(absolute)
            where: list[sql.Condition] = [_of_document(alias, doc)]
            if len(catalogue.stops(relation)) > 1:
                where.append(sql.OneOf(sql.Column(alias, "path"), (catalogue.code(absolute),)))
            if parent is not None:
                where.append(sql.Compare("=", sql.Column(alias, "parent"), sql.Column(parent.alias, "node")))
            place = _Place(alias, relation, (), absolute, tag)
            sources = (*bound.sources, sql.Source(relation.table, alias))
        elif parent is not None:
            place = _Place(parent.alias, parent.relation, (*parent.path, *steps), absolute, tag)
            sources, where = bound.sources, [sql.NotNull(_column(place, place.path, Part.NODE))]
        else:
            raise NotStatedError(f"{path_text(absolute)} has no rows")
        yield _Bound({**bound.places, variable.name: place}, sources, (*bound.where, *where))


def _of_document(alias: str, doc: int) -> sql.Condition:
    return sql.OneOf(sql.Column(alias, "doc"), (doc,))

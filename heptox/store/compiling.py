"""From the syntax of a query to joins over the relations of a schema.

A path leads to **places**, one for each relation and relative path at which its nodes can stand; a place speaks of all
schema paths at which rows of its relation stand in one go. What is asked of a node is a column of its row; what stands
in a row of its own is joined by the number of the row above it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final, TypeAlias

from heptox.errors import SchemaError
from heptox.grammar import step_matches, syntax
from heptox.pattern import Operator, flipped, literal
from heptox.schema import ANYWHERE, TEXT, Element, Path
from heptox.store import sql
from heptox.store.plan import (
    AttributeSlot,
    Block,
    EmptySlot,
    LeafSlot,
    Member,
    OrderBy,
    RangeSlot,
    Slot,
    TextSlot,
)
from heptox.store.relations import Catalogue, Part, Relation
from heptox.xml import unescaped_name

_ALL_DOCUMENTS: Final = sql.Integer(0)
"""The number of the document of what is asked of all documents together."""
MOST_MEMBERS: Final = 100
"""Ways in which the paths of one loop may lead through the schema; a query that has more is interpreted."""


class NotCompiledError(Exception):
    """The query asks for something that the relations do not hold; it is interpreted, and this says why."""


@dataclass(frozen=True, slots=True)
class Place:
    """Nodes at a relative ``path`` below the rows that ``alias`` stands for, which stand at the schema paths ``stops``.

    Without an alias the row is that of the root, which needs no source until something of it is asked. The path may end
    at an attribute or a text. The document itself, above the root, has no stops. What is ``collected`` stands in any
    document, and its rows have always an alias.
    """

    alias: str | None
    stops: frozenset[Path]
    path: Path = ()
    collected: bool = False


@dataclass(frozen=True, slots=True)
class _Let:
    """A path with the bindings that it is read with."""

    source: syntax.PathExpression
    bindings: Mapping[str, _Binding]


_Binding: TypeAlias = Place | _Let
_STARTS: Final = {"/": Place(None, frozenset()), syntax.COLLECTION: Place(None, frozenset(), collected=True)}


@dataclass(frozen=True, slots=True)
class _Join:
    """A join on its way: what was joined, the column with the number of the document that is asked by itself, the alias
    of its root's row if any.
    """

    sources: tuple[sql.Source, ...] = ()
    where: tuple[sql.Condition, ...] = ()
    document: sql.Column | None = None
    root: str | None = None
    bindings: Mapping[str, _Binding] = field(default_factory=dict)

    def having(self, *conditions: sql.Condition) -> _Join:
        return replace(self, where=(*self.where, *conditions))

    def inside(self) -> _Join:
        """A join of what a condition or a part of an item adds to this one."""
        return replace(self, sources=(), where=())

    def extended(self, inner: _Join) -> _Join:
        """This join with what an inner one adds."""
        return replace(inner, sources=self.sources + inner.sources, where=self.where + inner.where)


_Found: TypeAlias = tuple[_Join, Place]


@dataclass(frozen=True, slots=True)
class Compiled:
    """The loops whose matches, one loop after the other for each document, give the items of a query.

    A query that ``ignores_white`` asks for text where the schema has elements only: it has these items where no white
    space stands among the elements.
    """

    blocks: tuple[Block, ...]
    ignores_white: bool


def compiled(expression: syntax.Expression, catalogue: Catalogue) -> Compiled:
    """What a query becomes; raises :class:`NotCompiledError`."""
    parts = expression.items if isinstance(expression, syntax.Sequence) else (expression,)
    compiler = _Compiler(catalogue)
    blocks = tuple(compiler.block(part) for part in parts)
    return Compiled(blocks, compiler.ignores_white)


class _Compiler:
    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._tree = catalogue.tree
        self._numbers = count()
        self._has_context = True
        self.ignores_white = False

    # -- loops -------------------------------------------------------------------------------------------------

    def block(self, expression: syntax.Expression) -> Block:
        """A loop that stands at the top of a query: over its matches, or over the documents."""
        self._has_context = syntax.has_context(expression)
        match expression:
            case syntax.Flwor():
                return self._loop(expression, _Join())
            case syntax.PathExpression():
                return self._path_block(expression, self.path(expression, _Join()), _Join())
            case syntax.Data(argument):
                block = self._path_block(argument, self.path(argument, _Join()), _Join())
                return replace(block, result=expression)
            case _:
                member = self._member(self._grounded(_Join()), (), (), expression)
                return Block(expression, [member])

    def _loop(self, flwor: syntax.Flwor, outer: _Join) -> Block:
        joins: list[tuple[_Join, tuple[sql.Expression, ...]]] = [(outer, ())]
        for clause in flwor.clauses:
            if isinstance(clause, syntax.Let):
                joins = [(self._let(clause, join), keys) for join, keys in joins]
                continue
            joins = [
                (self._bound(clause.variable, keyed, place), (*keys, *key))
                for join, keys in joins
                for after, place in self._iterated(clause.source, join)
                for keyed, key in [self._key(after, place)]
            ]
            if len(joins) > MOST_MEMBERS:
                raise NotCompiledError(f"its paths lead through the schema in over {MOST_MEMBERS} ways")
        if flwor.where is not None:
            joins = [(self._restricted(join, flwor.where), keys) for join, keys in joins]
        members = [self._member(join, keys, flwor.order, flwor.result) for join, keys in joins]
        return Block(flwor, members)

    def _let(self, clause: syntax.Let, join: _Join) -> _Join:
        source = _Let(clause.source, join.bindings)
        return replace(join, bindings={**join.bindings, clause.variable: source})

    def _iterated(self, path: syntax.PathExpression, join: _Join) -> Iterator[_Found]:
        """The nodes of a path, each a match of its own."""
        found = self.path(path, join)
        self._refuse_ties(found)
        for after, place in found:
            yield self._present(after, place), place

    def _bound(self, variable: str, join: _Join, place: Place) -> _Join:
        return replace(join, bindings={**join.bindings, variable: place})

    def _restricted(self, join: _Join, condition: syntax.Condition) -> _Join:
        grounded = self._grounded(join)
        parts = condition.conditions if isinstance(condition, syntax.And) else (condition,)
        for part in parts:
            grounded = grounded.having(self._condition(part, grounded, None))
        return grounded

    def _ordered(self, key: syntax.OrderKey, join: _Join) -> tuple[_Join, OrderBy]:
        """The value of a key of ``order by``, and the join with what that adds."""
        path = key.key.argument if isinstance(key.key, syntax.Data) else key.key
        found = self.path(path, join.inside())
        if not found:
            return join, OrderBy(sql.String(None), key.descending)
        (after, place), *others = found
        if others or after.sources or after.where:
            raise NotCompiledError("a key of order by may have several values")
        if place.path[-1:] == (TEXT,):
            raise NotCompiledError("a key of order by is the text of an element, which may be absent")
        join, value = self._value(join, place)
        return join, OrderBy(value, key.descending)

    def _member(
        self,
        join: _Join,
        keys: tuple[sql.Expression, ...],
        order: tuple[syntax.OrderKey, ...],
        result: syntax.Expression,
    ) -> Member:
        orders: list[OrderBy] = []
        for key in order:
            join, ordered = self._ordered(key, join)
            orders.append(ordered)
        member = Member(keys, tuple(orders))
        return self._joining(member, self._template(result, self._grounded(join), member))

    def _joining(self, member: Member, join: _Join) -> Member:
        """The member, once all that it needs is joined."""
        member.sources, member.where = join.sources, join.where
        member.document = join.document or _ALL_DOCUMENTS
        return member

    def _grounded(self, join: _Join) -> _Join:
        """The join with a document, where one is asked by itself; the root's row gives one where nothing else does."""
        return self._with_root(join) if self._has_context and join.document is None else join

    # -- items -------------------------------------------------------------------------------------------------

    def _template(self, expression: syntax.Expression, join: _Join, member: Member) -> _Join:
        """Give a member what an expression needs of its match; the join with what that adds."""
        match expression:
            case syntax.Sequence(items):
                parts: tuple[str | syntax.Expression, ...] = items
            case syntax.ElementConstructor(_, attributes, content):
                parts = (*(part for attribute in attributes for part in attribute.parts), *content)
            case syntax.AttributeConstructor(_, value) | syntax.TextConstructor(value) | syntax.Data(value):
                parts = (value,)
            case syntax.PathExpression():
                return self._path(expression, join, member)
            case syntax.Flwor():
                member.blocks[id(expression)] = self._loop(expression, join)
                return join
            case syntax.TagValue(argument):
                member.tags[id(expression)] = self._tag(argument, join)
                return join
            case _:
                return join
        for part in parts:
            if not isinstance(part, str):
                join = self._template(part, join, member)
        return join

    def _path(self, path: syntax.PathExpression, join: _Join, member: Member) -> _Join:
        found = self.path(path, join.inside())
        if not found:
            member.slots[id(path)] = EmptySlot()
        elif len(found) == 1 and not found[0][0].sources and not found[0][0].where:
            join, member.slots[id(path)] = self._slot(found[0][1], join, member)
        else:
            member.blocks[id(path)] = self._path_block(path, found, join)
        return join

    def _path_block(self, path: syntax.PathExpression, found: list[_Found], outer: _Join) -> Block:
        members: list[Member] = []
        self._refuse_ties(found)
        for inner, place in found:
            join = self._present(self._grounded(outer.extended(inner)), place)
            join, key = self._key(join, place)
            member = Member(key, ())
            join, member.slots[id(path)] = self._slot(place, join, member)
            members.append(self._joining(member, join))
        return Block(path, members)

    def _slot(self, place: Place, join: _Join, member: Member) -> tuple[_Join, Slot]:
        def kept(join: _Join, path: Path, part: Part) -> tuple[_Join, int]:
            after, column = self._column(join, replace(place, path=path), part)
            values = member.texts if part is Part.TEXT else member.offsets
            if column not in values:
                values.append(column)
            return after, values.index(column)

        if _is_attribute(place):
            join, value = kept(join, place.path, Part.TEXT)
            return join, AttributeSlot(place.path[-1][1:], value)
        if place.path[-1:] == (TEXT,):
            join, value = kept(join, place.path[:-1], Part.TEXT)
            return join, TextSlot(value)
        if self._element(place).text_only:
            join, value = kept(join, place.path, Part.TEXT)
            return join, LeafSlot(self._name(place), value)
        join, node = kept(join, place.path, Part.NODE)
        join, stop = kept(join, place.path, Part.STOP)
        if place.alias is None or not place.collected:
            return join, RangeSlot(node, stop)
        document = sql.Column(place.alias, "doc")
        if document not in member.offsets:
            member.offsets.append(document)
        return join, RangeSlot(node, stop, member.offsets.index(document))

    def _tag(self, argument: syntax.PathExpression, join: _Join) -> str:
        found = self.path(argument, join.inside())
        if len(found) != 1 or argument.steps or found[0][0].sources:
            raise NotCompiledError("the tag of what is no variable of for is asked for")
        return unescaped_name(self._name(found[0][1]))

    # -- conditions --------------------------------------------------------------------------------------------

    def _condition(self, condition: syntax.Condition, join: _Join, context: Place | None) -> sql.Condition:
        """A condition on the matches of a join that has a document."""
        match condition:
            case syntax.And(conditions):
                return sql.All(tuple(self._condition(part, join, context) for part in conditions))
            case syntax.Or(conditions):
                return sql.Some(tuple(self._condition(part, join, context) for part in conditions))
            case syntax.Exists(argument):
                return self._existence(argument, join, context)
            case syntax.Empty(argument):
                return sql.Fails(self._existence(argument, join, context))
            case syntax.Comparison(operator, left, right):
                return self._comparison(operator, left, right, join, context)
            case syntax.DeepEqual(syntax.PathExpression()):
                raise NotCompiledError("deep-equal() compares subtrees")
            case syntax.DeepEqual(left, right):
                return self._same(left, right, join, context)

    def _existence(self, path: syntax.PathExpression, join: _Join, context: Place | None) -> sql.Condition:
        found = self.path(path, join.inside(), context)
        return _some([self._present(after, place) for after, place in found])

    def _comparison(
        self,
        operator: Operator,
        left: syntax.Operand,
        right: syntax.Operand,
        join: _Join,
        context: Place | None,
    ) -> sql.Condition:
        if isinstance(left, syntax.NumberLiteral):
            operator, left, right = flipped(operator), right, left
        if isinstance(left, syntax.NumberLiteral) or (
            isinstance(left, syntax.StringLiteral) and isinstance(right, syntax.NumberLiteral)
        ):
            raise NotCompiledError("two literals are compared")
        if isinstance(left, syntax.NumberValue):
            if operator == "!=":
                raise NotCompiledError("what is no number is unlike every number")
            left = self._only(left.argument, join, context)
        ways: list[_Join] = []
        for before, first in self._operand(left, join.inside(), context):
            if isinstance(right, syntax.NumberLiteral):
                number = sql.Double(float(literal(right.lexical)))
                ways.append(before.having(sql.Compare(operator, sql.AsDouble(first), number)))
                continue
            for after, second in self._operand(right, before, context):
                ways.append(after.having(sql.Compare(operator, first, second)))
        return _some(ways)

    def _same(self, left: syntax.Operand, right: syntax.Operand, join: _Join, context: Place | None) -> sql.Condition:
        """Whether two values, each of which may be absent, are the same."""
        after, first = self._value_or_null(left, join.inside(), context)
        after, second = self._value_or_null(right, after, context)
        return _some([after.having(sql.Same(first, second))])

    def _value_or_null(
        self, operand: syntax.Operand, join: _Join, context: Place | None
    ) -> tuple[_Join, sql.Expression]:
        """The one value that an operand may have, null where it has none."""
        if isinstance(operand, syntax.TagValue):
            return next(self._operand(operand, join, context))
        assert isinstance(operand, syntax.Data)  # deep-equal() of values has no other operands
        found = self.path(operand.argument, join.inside(), context)
        if not found:
            return join, sql.String(None)
        (after, place), *others = found
        if others or after.sources or after.where:
            raise NotCompiledError("deep-equal() compares several values")
        if place.path[-1:] == (TEXT,) or not (_is_attribute(place) or self._element(place).text):
            raise NotCompiledError("deep-equal() compares texts or elements without text, which may be absent")
        return self._value(join, place)

    def _only(
        self, operand: syntax.PathExpression | syntax.Data | syntax.TagValue, join: _Join, context: Place | None
    ) -> syntax.Operand:
        """An operand that has one value at most."""
        ways = list(self._operand(operand, join.inside(), context))
        if len(ways) > 1 or any(way.sources for way, _ in ways):
            raise NotCompiledError("number() may be asked of several values")
        return operand

    def _operand(
        self, operand: syntax.Operand, join: _Join, context: Place | None
    ) -> Iterator[tuple[_Join, sql.Expression]]:
        match operand:
            case syntax.StringLiteral(value):
                yield join, sql.String(value)
            case syntax.NumberLiteral() | syntax.NumberValue():
                raise NotCompiledError("a number stands where a string does")
            case syntax.Data(argument):
                yield from self._operand(argument, join, context)
            case syntax.TagValue(argument):
                if argument.start == "." and context is not None:
                    raise NotCompiledError("the tag of the context node is asked for")
                yield join, sql.String(self._tag(argument, join))
            case syntax.PathExpression():
                for after, place in self.path(operand, join, context):
                    yield self._value(self._present(after, place), place)

    # -- nodes -------------------------------------------------------------------------------------------------

    def path(self, path: syntax.PathExpression, join: _Join, context: Place | None = None) -> list[_Found]:
        """The places that a path leads to, each with the join that it is reached by."""
        found: list[_Found] = []
        if path.start.startswith("$"):
            binding = join.bindings[path.start]
            if isinstance(binding, _Let):
                inner = self.path(binding.source, replace(join, bindings=binding.bindings), context)
                found = [(replace(after, bindings=join.bindings), place) for after, place in inner]
            else:
                found = [(join, binding)]
        else:
            start = _STARTS.get(path.start, context)
            if start is None:
                raise NotCompiledError("a path has no context")
            found = [(join, start)]
        for step in path.steps:
            found = [reached for before, place in found for reached in self._step(step, before, place)]
            if len(found) > MOST_MEMBERS:
                raise NotCompiledError(f"its paths lead through the schema in over {MOST_MEMBERS} ways")
        self._refuse_twice(found)
        return found

    def _refuse_twice(self, found: list[_Found]) -> None:
        """A node that a path reaches in several ways is one node, of one match."""
        reached: set[tuple[Path, Path]] = set()
        for _, place in found:
            for stop in place.stops:
                if (stop, place.path) in reached:
                    raise NotCompiledError("a path reaches one node in several ways")
                reached.add((stop, place.path))

    def _refuse_ties(self, found: list[_Found]) -> None:
        """Attributes of one element stand in an order that the relations do not hold."""
        owners = [(stop, place.path[:-1]) for _, place in found if _is_attribute(place) for stop in place.stops]
        if len(set(owners)) < len(owners):
            raise NotCompiledError("several attributes of one element are asked for in one path")

    def _step(self, step: syntax.Step, join: _Join, place: Place) -> Iterator[_Found]:
        if _is_attribute(place) or place.path[-1:] == (TEXT,):
            return
        if step.names == (TEXT,):
            self.ignores_white = self.ignores_white or self._may_be_white(step, place)
        for lead in self._leads(step, place):
            after, reached = self._followed(lead, join, place)
            for predicate in step.predicates:
                after = self._grounded(after)
                after = after.having(self._condition(predicate, after, reached))
            yield after, reached

    def _may_be_white(self, step: syntax.Step, place: Place) -> bool:
        """Whether a step to texts comes to elements that hold elements only."""
        elements = [*self._catalogue.graph.elements.values()]
        if step.axis == "child":
            elements = [self._element(place)] if place.stops else []
        return any(element.children and not element.text for element in elements)

    def _leads(self, step: syntax.Step, place: Place) -> list[_Lead]:
        """The ways that a step goes from a place, with the schema paths that each stands for."""
        leads: dict[tuple[tuple[str, ...], Path], _Lead] = {}
        stops: list[Path | None] = [*sorted(place.stops)] if place.stops else [None]
        for stop in stops:
            context = None if stop is None else (*stop, *place.path)
            try:
                matches = tuple(step_matches(self._tree, step, context))
            except SchemaError as error:
                raise NotCompiledError(str(error)) from None
            for match in matches:
                chain, rest = self._chain(match.path, 0 if stop is None else len(stop) + 1)
                if place.alias is None:
                    chain = chain[-1:]  # all rows of a document are below its root
                key = tuple(self._catalogue.relation(path).table for path in chain), rest
                lead = leads.setdefault(key, _Lead(rest, [set() for _ in chain]))
                if stop is not None:
                    lead.starts.add(stop)
                for level, path in zip(lead.levels, chain, strict=True):
                    level.add(path)
        return list(leads.values())

    def _chain(self, path: Path, start: int) -> tuple[list[Path], Path]:
        """The schema paths with rows on the way to a node, from a length on, and the rest of its path."""
        if any(step.startswith(ANYWHERE) for step in path):
            raise NotCompiledError("it looks into recursive content")
        graph, last = self._catalogue.graph, 0
        chain: list[Path] = []
        for length in range(len(path) + 1):
            here = path[:length]
            if self._catalogue.has_rows(here):
                last = length
                if length >= start:
                    chain.append(here)
            name = here[-1] if here else graph.root
            below = path[length : length + 1]
            if below and not below[0].startswith("@") and self._catalogue.is_opaque(name):
                raise NotCompiledError(f"it looks into the mixed or recursive content of {name}")
        return chain, path[last:]

    def _followed(self, lead: _Lead, join: _Join, place: Place) -> _Found:
        if not lead.levels:
            narrowed = frozenset(lead.starts)
            if narrowed != place.stops and place.alias is not None:
                join = join.having(self._standing(place.alias, narrowed))
            return join, replace(place, stops=narrowed, path=lead.rest)
        if place.alias is None:
            stops = frozenset(lead.levels[-1])
            if stops == {()} and not place.collected:
                return join, Place(None, stops, lead.rest)
            join, alias = self._joined(join, stops, None, collected=place.collected)
            return join, Place(alias, stops, lead.rest, place.collected)
        above = place.alias
        for level in lead.levels:
            stops = frozenset(level)
            join, above = self._joined(join, stops, above, collected=place.collected)
        if frozenset(lead.starts) != place.stops:
            join = join.having(self._standing(place.alias, frozenset(lead.starts)))
        return join, Place(above, stops, lead.rest, place.collected)

    def _joined(
        self, join: _Join, stops: frozenset[Path], above: str | None, *, collected: bool = False
    ) -> tuple[_Join, str]:
        """The join with a source for the rows at some schema paths, below the rows of ``above`` where that is given."""
        relation = self._catalogue.relation(next(iter(stops)))
        alias = f"t{next(self._numbers)}"
        document = sql.Column(alias, "doc")
        conditions: list[sql.Condition] = []
        if above is not None:
            conditions.append(sql.Compare("=", sql.Column(alias, "parent"), sql.Column(above, "node")))
            conditions.append(sql.Compare("=", document, sql.Column(above, "doc")))
        elif join.document is not None and not collected:
            conditions.append(sql.Compare("=", document, join.document))
        if stops != self._catalogue.stops(relation):
            conditions.append(self._standing(alias, stops))
        joined = replace(join, sources=(*join.sources, sql.Source(relation.table, alias)))
        if not collected:
            joined = replace(joined, document=joined.document or document)
        return joined.having(*conditions), alias

    def _standing(self, alias: str, stops: frozenset[Path]) -> sql.Condition:
        return sql.OneOf(sql.Column(alias, "path"), tuple(sorted(map(self._catalogue.code, stops))))

    def _with_root(self, join: _Join) -> _Join:
        if join.root is not None:
            return join
        joined, alias = self._joined(join, frozenset({()}), None)
        return replace(joined, root=alias)

    def _column(self, join: _Join, place: Place, part: Part) -> tuple[_Join, sql.Column]:
        if place.alias is None:
            join = self._with_root(join)
        alias = place.alias or join.root
        name = self._relation(place).column(place.path, part)
        assert alias is not None
        if name is None:
            raise NotCompiledError(f"the relations do not hold the {part} of {'/'.join(place.path)}")
        return join, sql.Column(alias, name)

    def _relation(self, place: Place) -> Relation:
        return self._catalogue.relation(next(iter(place.stops)))

    def _name(self, place: Place) -> str:
        return place.path[-1] if place.path else self._relation(place).element

    def _element(self, place: Place) -> Element:
        return self._catalogue.graph.elements[self._name(place)]

    def _value(self, join: _Join, place: Place) -> tuple[_Join, sql.Expression]:
        """The string value of a node."""
        if _is_attribute(place):
            return self._column(join, place, Part.TEXT)
        if place.path[-1:] == (TEXT,):
            return self._column(join, replace(place, path=place.path[:-1]), Part.TEXT)
        element = self._element(place)
        if self._catalogue.is_opaque(element.name) or element.children:
            raise NotCompiledError(f"the text of {element.name}, which has children, is asked for")
        if not element.text:
            return join, sql.String("")
        return self._column(join, place, Part.TEXT)

    def _present(self, join: _Join, place: Place) -> _Join:
        """The join where a node is there; for most there is more to ask than that the row is that it belongs to."""
        if not place.path:
            return join
        if place.path[-1] == TEXT:
            join, text = self._column(join, replace(place, path=place.path[:-1]), Part.TEXT)
            return join.having(sql.Compare("!=", text, sql.String("")))
        part = Part.TEXT if _is_attribute(place) else Part.NODE
        join, column = self._column(join, place, part)
        return join.having(sql.NotNull(column))

    def _key(self, join: _Join, place: Place) -> tuple[_Join, tuple[sql.Expression, ...]]:
        """Where a node stands in its document, after which document that is where it may be any."""
        path = place.path[:-1] if _is_attribute(place) or place.path[-1:] == (TEXT,) else place.path
        if place.alias is None and not path:
            return join, (sql.Integer(0),)
        join, node = self._column(join, replace(place, path=path), Part.NODE)
        return join, (sql.Column(node.source, "doc"), node) if place.collected else (node,)


@dataclass(slots=True)
class _Lead:
    """A way from the rows at ``starts`` through rows level by level to a node at ``rest`` below the last."""

    rest: Path
    levels: list[set[Path]]
    starts: set[Path] = field(default_factory=set)


def _is_attribute(place: Place) -> bool:
    return place.path[-1:] != () and place.path[-1].startswith("@")


def _some(ways: list[_Join]) -> sql.Condition:
    """Whether one of several inner joins has a match."""
    conditions = tuple(
        sql.Exists(way.sources, sql.All(way.where)) if way.sources else sql.All(way.where) for way in ways
    )
    return conditions[0] if len(conditions) == 1 else sql.Some(conditions)

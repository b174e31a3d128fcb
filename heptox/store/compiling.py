"""From the syntax of a query to joins over the relations of a schema.

A path leads to **node sets**, one for each relation and relative path at which its nodes can stand; a set speaks of all
schema paths at which rows of its relation stand in one go. What is asked of a node is a column of its row; what stands
in a row of its own is joined by the number of the row above it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from heptox.grammar import syntax
from heptox.schema import TEXT, Path
from heptox.store import sql
from heptox.store.condition_compiling import ConditionCompiler, atomic, is_atomic, refuse_typed
from heptox.store.joins import Join, Let, NodeSet, NotCompiledError, Reached, is_attribute
from heptox.store.path_compiling import refuse_many
from heptox.store.plan import (
    NOTHING,
    AttributeSlot,
    Block,
    LeafSlot,
    Member,
    OrderBy,
    RangeSlot,
    Slot,
    TextSlot,
    place,
)
from heptox.store.relations import Catalogue, Part
from heptox.store.row_joins import RowJoins

MOST_SELECTS: Final = 300
"""Members of all loops of a query: each is a select of its statement, which a database plans for a second then."""
_IDENTITY: Final = "concat({0}, '.', {1})"
_ALL_DOCUMENTS: Final = sql.Integer(0)
"""The number of the document of what is asked of all documents together."""


@dataclass(frozen=True, slots=True)
class CompiledQuery:
    """The loops whose matches, one loop after the other for each document, give the items of a query.

    A query that ``ignores_white`` asks for text where the schema has elements only: it has these items where no white
    space stands among the elements.
    """

    blocks: tuple[Block, ...]
    ignores_white: bool


def compiled(expression: syntax.Expression, catalogue: Catalogue) -> CompiledQuery:
    """What a query becomes; raises :class:`NotCompiledError`."""
    parts = expression.items if isinstance(expression, syntax.Sequence) else (expression,)
    compiler = _Compiler(catalogue)
    blocks = tuple(compiler.block(part) for part in parts)
    return CompiledQuery(blocks, compiler.paths.ignores_white)


class _Compiler:
    def __init__(self, catalogue: Catalogue) -> None:
        self._rows = RowJoins(catalogue)
        self._conditions = ConditionCompiler(self._rows)
        self.paths = self._conditions.paths
        self._selects = 0

    def block(self, expression: syntax.Expression) -> Block:
        """A loop that stands at the top of a query: over its matches, or over the documents."""
        self._rows.has_context = syntax.has_context(expression)
        match expression:
            case syntax.Flwor():
                return self._loop(expression, Join())
            case syntax.PathExpression():
                return self._path_block(expression, self.paths.path(expression, Join()), Join())
            case syntax.Data(argument):
                block = self._path_block(argument, self.paths.path(argument, Join()), Join())
                return Block(tuple(replace(each, template=syntax.Data(place(0, argument))) for each in block.members))
            case _:
                return Block((self._member(self._rows.grounded(Join()), (), (), expression),))

    def _loop(self, flwor: syntax.Flwor, outer: Join) -> Block:
        joins: list[tuple[Join, tuple[sql.Expression, ...]]] = [(outer, ())]
        for clause in flwor.clauses:
            if isinstance(clause, syntax.Let):
                joins = [(self._let(clause, join), keys) for join, keys in joins]
                continue
            joins = [
                (self._bound(clause.variable, keyed, nodes), (*keys, *key))
                for join, keys in joins
                for after, nodes in self._iterated(clause.source, join)
                for keyed, key in [self._rows.key(after, nodes)]
            ]
            refuse_many(joins)
        if flwor.where is not None:
            joins = [(self._restricted(join, flwor.where), keys) for join, keys in joins]
        return Block(tuple(self._member(join, keys, flwor.order, flwor.result) for join, keys in joins))

    def _let(self, clause: syntax.Let, join: Join) -> Join:
        source = Let(clause.source, join.bindings)
        return replace(join, bindings={**join.bindings, clause.variable: source})

    def _iterated(self, path: syntax.PathExpression, join: Join) -> Iterator[Reached]:
        """The nodes of a path, each a match of its own."""
        found = self.paths.path(path, join)
        self.paths.refuse_ties(found)
        for after, nodes in found:
            yield self._rows.present(after, nodes), nodes

    def _bound(self, variable: str, join: Join, nodes: NodeSet) -> Join:
        return replace(join, bindings={**join.bindings, variable: nodes})

    def _restricted(self, join: Join, condition: syntax.Condition) -> Join:
        grounded = self._rows.grounded(join)
        parts = condition.conditions if isinstance(condition, syntax.And) else (condition,)
        for part in parts:
            grounded = grounded.having(self._conditions.condition(part, grounded, None))
        return grounded

    def _ordered(self, key: syntax.OrderKey, join: Join) -> tuple[Join, OrderBy]:
        """The value of a key of ``order by``, and the join with what that adds."""
        path = key.key.argument if isinstance(key.key, syntax.Data) else key.key
        found = self.paths.path(path, join.inside())
        if not found:
            return join, OrderBy(sql.String(None), key.descending)
        (after, nodes), *others = found
        if others or after.sources or after.where:
            raise NotCompiledError("a key of order by may have several values")
        if nodes.path[-1:] == (TEXT,):
            raise NotCompiledError("a key of order by is the text of an element, which may be absent")
        join, value = self._rows.value(join, nodes)
        return join, OrderBy(value, key.descending)

    def _member(
        self,
        join: Join,
        keys: tuple[sql.Expression, ...],
        order: tuple[syntax.OrderKey, ...],
        result: syntax.Expression,
    ) -> Member:
        self._count_select()
        orders: list[OrderBy] = []
        for key in order:
            join, ordered = self._ordered(key, join)
            orders.append(ordered)
        making = _Making()
        refuse_typed(result)
        join, template = self._template(result, self._rows.grounded(join), making)
        return making.member(keys, tuple(orders), join, template)

    def _count_select(self) -> None:
        self._selects += 1
        if self._selects > MOST_SELECTS:
            raise NotCompiledError(f"its loops lead through the schema in over {MOST_SELECTS} ways")

    def _template(self, expression: syntax.Expression, join: Join, making: _Making) -> tuple[Join, syntax.Expression]:
        """The template of an expression; and the join with what that adds to it."""

        def inside(part: syntax.Expression) -> syntax.Expression:
            nonlocal join
            join, made = self._template(part, join, making)
            return made

        def content_of(parts: tuple[str | syntax.Expression, ...]) -> tuple[str | syntax.Expression, ...]:
            return tuple(part if isinstance(part, str) else inside(part) for part in parts)

        match expression:
            case syntax.Sequence(items):
                sequence = replace(expression, items=tuple(map(inside, items)))
                return join, sequence
            case syntax.ElementConstructor(_, attributes, content):
                named = tuple(replace(each, parts=content_of(each.parts)) for each in attributes)
                element = replace(expression, attributes=named, content=content_of(content))
                return join, element
            case syntax.AttributeConstructor(_, value) | syntax.TextConstructor(value):
                constructor = replace(expression, value=inside(value))
                return join, constructor
            case syntax.Data(argument):
                join, nodes = self._path(argument, join, making)
                return join, replace(expression, argument=nodes) if isinstance(nodes, syntax.PathExpression) else nodes
            case syntax.PathExpression():
                return self._path(expression, join, making)
            case syntax.Flwor():
                return join, making.placed(self._loop(expression, join), expression)
            case syntax.Conditional() if not is_atomic(expression):
                return join, making.placed(self._chosen(expression, join), expression)
            case syntax.FunctionCall() | syntax.Conditional() | syntax.Switch():
                join, column = self._conditions.computed(atomic(expression), join, None)
                return join, syntax.Data(making.placed(AttributeSlot("value", making.text(column)), expression))
            case syntax.NodeIdentity(argument):
                join, column = self._identity(argument, join)
                return join, syntax.Data(making.placed(AttributeSlot("value", making.text(column)), argument))
            case syntax.TagValue(argument):
                return join, syntax.StringLiteral(self._conditions.tag(argument, join))
            case _:
                return join, expression

    def _identity(self, path: syntax.PathExpression, join: Join) -> tuple[Join, sql.Expression]:
        """What tells a node of the store from all others: the numbers of its document, and of its place there."""
        found = self.paths.path(path, join.inside())
        if len(found) != 1 or found[0][0].sources or found[0][0].where:
            raise NotCompiledError("the identity of a node is asked for that repeats, or may be absent")
        nodes = found[0][1]
        join, (*_, place) = self._rows.key(self._rows.grounded(join), nodes)
        document = sql.Column(nodes.alias, "doc") if nodes.collected and nodes.alias else join.document
        return join, sql.Template(_IDENTITY, (document or _ALL_DOCUMENTS, place))

    def _chosen(self, given: syntax.Conditional, join: Join) -> Block:
        """What ``if`` decides: a loop of at most one match."""
        outer = self._rows.grounded(join)
        holds = self._conditions.condition(given.condition, outer, None)
        members = [self._member(outer.having(holds), (), (), given.value)]
        if given.otherwise is not None:
            members.append(self._member(outer.having(sql.Fails(holds)), (), (), given.otherwise))
        return Block(tuple(members))

    def _path(self, path: syntax.PathExpression, join: Join, making: _Making) -> tuple[Join, syntax.Expression]:
        found = self.paths.path(path, join.inside())
        if not found:
            return join, NOTHING
        if len(found) == 1 and not found[0][0].sources and not found[0][0].where:
            join, slot = self._slot(found[0][1], join, making)
            return join, making.placed(slot, path)
        return join, making.placed(self._path_block(path, found, join), path)

    def _path_block(self, path: syntax.PathExpression, found: list[Reached], outer: Join) -> Block:
        members: list[Member] = []
        self.paths.refuse_ties(found)
        for inner, nodes in found:
            self._count_select()
            join = self._rows.present(self._rows.grounded(outer.extended(inner)), nodes)
            join, key = self._rows.key(join, nodes)
            making = _Making()
            join, slot = self._slot(nodes, join, making)
            members.append(making.member(key, (), join, making.placed(slot, path)))
        return Block(tuple(members))

    def _slot(self, nodes: NodeSet, join: Join, making: _Making) -> tuple[Join, Slot]:
        def kept(join: Join, path: Path, part: Part) -> tuple[Join, int]:
            after, column = self._rows.column(join, replace(nodes, path=path), part)
            return after, (making.text if part is Part.TEXT else making.offset)(column)

        if is_attribute(nodes):
            join, value = kept(join, nodes.path, Part.TEXT)
            return join, AttributeSlot(nodes.path[-1][1:], value)
        if nodes.path[-1:] == (TEXT,):
            join, value = kept(join, nodes.path[:-1], Part.TEXT)
            return join, TextSlot(value)
        if self._rows.element(nodes).text_only:
            join, value = kept(join, nodes.path, Part.TEXT)
            return join, LeafSlot(self._rows.name(nodes), value)
        join, node = kept(join, nodes.path, Part.NODE)
        join, stop = kept(join, nodes.path, Part.STOP)
        if nodes.alias is None or not nodes.collected:
            return join, RangeSlot(node, stop)
        return join, RangeSlot(node, stop, making.offset(sql.Column(nodes.alias, "doc")))


class _Making:
    """A member that is being made: the values that its match holds, and the parts of its template."""

    def __init__(self) -> None:
        self._texts: dict[sql.Expression, int] = {}
        self._offsets: dict[sql.Expression, int] = {}
        self._parts: list[Slot | Block] = []

    def text(self, value: sql.Expression) -> int:
        """The place of a text among those of the match."""
        return self._texts.setdefault(value, len(self._texts))

    def offset(self, value: sql.Expression) -> int:
        """The place of an offset among those of the match."""
        return self._offsets.setdefault(value, len(self._offsets))

    def placed(self, part: Slot | Block, expression: syntax.Node) -> syntax.PathExpression:
        """What the template says where a part stands in place of an expression."""
        self._parts.append(part)
        return place(len(self._parts) - 1, expression)

    def member(
        self, keys: tuple[sql.Expression, ...], order: tuple[OrderBy, ...], join: Join, template: syntax.Expression
    ) -> Member:
        """The member, once all that it needs is joined."""
        document = join.document or _ALL_DOCUMENTS
        values = tuple(self._texts), tuple(self._offsets)
        return Member(keys, order, join.sources, join.where, document, *values, template, tuple(self._parts))

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
from heptox.store.condition_compiling import ConditionCompiler
from heptox.store.joins import Join, Let, NodeSet, NotCompiledError, Reached, is_attribute
from heptox.store.path_compiling import refuse_many
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
from heptox.store.relations import Catalogue, Part
from heptox.store.row_joins import RowJoins

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
                return replace(block, result=expression)
            case _:
                member = self._member(self._rows.grounded(Join()), (), (), expression)
                return Block(expression, [member])

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
        members = [self._member(join, keys, flwor.order, flwor.result) for join, keys in joins]
        return Block(flwor, members)

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
        orders: list[OrderBy] = []
        for key in order:
            join, ordered = self._ordered(key, join)
            orders.append(ordered)
        member = Member(keys, tuple(orders))
        return self._joining(member, self._template(result, self._rows.grounded(join), member))

    def _joining(self, member: Member, join: Join) -> Member:
        """The member, once all that it needs is joined."""
        member.sources, member.where = join.sources, join.where
        member.document = join.document or _ALL_DOCUMENTS
        return member

    def _template(self, expression: syntax.Expression, join: Join, member: Member) -> Join:
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
                member.tags[id(expression)] = self._conditions.tag(argument, join)
                return join
            case _:
                return join
        for part in parts:
            if not isinstance(part, str):
                join = self._template(part, join, member)
        return join

    def _path(self, path: syntax.PathExpression, join: Join, member: Member) -> Join:
        found = self.paths.path(path, join.inside())
        if not found:
            member.slots[id(path)] = EmptySlot()
        elif len(found) == 1 and not found[0][0].sources and not found[0][0].where:
            join, member.slots[id(path)] = self._slot(found[0][1], join, member)
        else:
            member.blocks[id(path)] = self._path_block(path, found, join)
        return join

    def _path_block(self, path: syntax.PathExpression, found: list[Reached], outer: Join) -> Block:
        members: list[Member] = []
        self.paths.refuse_ties(found)
        for inner, nodes in found:
            join = self._rows.present(self._rows.grounded(outer.extended(inner)), nodes)
            join, key = self._rows.key(join, nodes)
            member = Member(key, ())
            join, member.slots[id(path)] = self._slot(nodes, join, member)
            members.append(self._joining(member, join))
        return Block(path, members)

    def _slot(self, nodes: NodeSet, join: Join, member: Member) -> tuple[Join, Slot]:
        def kept(join: Join, path: Path, part: Part) -> tuple[Join, int]:
            after, column = self._rows.column(join, replace(nodes, path=path), part)
            values = member.texts if part is Part.TEXT else member.offsets
            if column not in values:
                values.append(column)
            return after, values.index(column)

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
        document = sql.Column(nodes.alias, "doc")
        if document not in member.offsets:
            member.offsets.append(document)
        return join, RangeSlot(node, stop, member.offsets.index(document))

"""Joins with the rows of a schema's relations, and the columns that hold what is asked of nodes."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from heptox.schema import TEXT, Element, Path
from heptox.store import sql
from heptox.store.joins import Join, NodeSet, NotCompiledError, is_attribute
from heptox.store.relations import Catalogue, Part, Relation


class RowJoins:
    """Joins rows of the relations of one catalogue; ``has_context`` where a document is asked by itself."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.has_context = True
        self._numbers = count()

    def grounded(self, join: Join) -> Join:
        """The join with a document, where one is asked by itself; the root's row gives one where nothing else does."""
        return self._with_root(join) if self.has_context and join.document is None else join

    def joined(
        self, join: Join, stops: frozenset[Path], above: str | None, *, collected: bool = False
    ) -> tuple[Join, str]:
        """The join with a source for the rows at some schema paths, below the rows of ``above`` where that is given."""
        relation = self.catalogue.relation(next(iter(stops)))
        alias = f"t{next(self._numbers)}"
        document = sql.Column(alias, "doc")
        conditions: list[sql.Condition] = []
        if above is not None:
            conditions.append(sql.Compare("=", sql.Column(alias, "parent"), sql.Column(above, "node")))
            conditions.append(sql.Compare("=", document, sql.Column(above, "doc")))
        elif join.document is not None and not collected:
            conditions.append(sql.Compare("=", document, join.document))
        if stops != self.catalogue.stops(relation):
            conditions.append(self.standing_at(alias, stops))
        joined = replace(join, sources=(*join.sources, sql.Source(relation.table, alias)))
        if not collected:
            joined = replace(joined, document=joined.document or document)
        return joined.having(*conditions), alias

    def standing_at(self, alias: str, stops: frozenset[Path]) -> sql.Condition:
        """That a row stands at one of some schema paths."""
        return sql.OneOf(sql.Column(alias, "path"), tuple(sorted(map(self.catalogue.code, stops))))

    def _with_root(self, join: Join) -> Join:
        if join.root is not None:
            return join
        joined, alias = self.joined(join, frozenset({()}), None)
        return replace(joined, root=alias)

    def column(self, join: Join, nodes: NodeSet, part: Part) -> tuple[Join, sql.Column]:
        """The column with a part of nodes, and the join with the row that has it."""
        if nodes.alias is None:
            join = self._with_root(join)
        alias = nodes.alias or join.root
        name = self._relation(nodes).column(nodes.path, part)
        assert alias is not None
        if name is None:
            whole = (*min(nodes.stops), *nodes.path)
            raise NotCompiledError(f"{'/'.join(whole) or 'the root'} is no column of the relations")
        return join, sql.Column(alias, name)

    def _relation(self, nodes: NodeSet) -> Relation:
        return self.catalogue.relation(next(iter(nodes.stops)))

    def name(self, nodes: NodeSet) -> str:
        """The last name on the way to nodes."""
        return nodes.path[-1] if nodes.path else self._relation(nodes).element

    def element(self, nodes: NodeSet) -> Element:
        """The element type of nodes."""
        return self.catalogue.graph.elements[self.name(nodes)]

    def value(self, join: Join, nodes: NodeSet) -> tuple[Join, sql.Expression]:
        """The string value of a node."""
        if is_attribute(nodes):
            return self.column(join, nodes, Part.TEXT)
        if nodes.path[-1:] == (TEXT,):
            return self.column(join, replace(nodes, path=nodes.path[:-1]), Part.TEXT)
        element = self.element(nodes)
        if self.catalogue.is_opaque(element.name) or element.children:
            raise NotCompiledError(f"the text of {element.name}, which has children, is asked for")
        if not element.text:
            return join, sql.String("")
        return self.column(join, nodes, Part.TEXT)

    def present(self, join: Join, nodes: NodeSet) -> Join:
        """The join where a node is there; for most there is more to ask than that the row is that it belongs to."""
        if not nodes.path:
            return join
        if nodes.path[-1] == TEXT:
            join, text = self.column(join, replace(nodes, path=nodes.path[:-1]), Part.TEXT)
            return join.having(sql.Compare("!=", text, sql.String("")))
        part = Part.TEXT if is_attribute(nodes) else Part.NODE
        join, column = self.column(join, nodes, part)
        return join.having(sql.NotNull(column))

    def key(self, join: Join, nodes: NodeSet) -> tuple[Join, tuple[sql.Expression, ...]]:
        """Where a node stands in its document, after which document that is where it may be any."""
        path = nodes.path[:-1] if is_attribute(nodes) or nodes.path[-1:] == (TEXT,) else nodes.path
        if nodes.alias is None and not path:
            return join, (sql.Integer(0),)
        join, node = self.column(join, replace(nodes, path=path), Part.NODE)
        return join, (sql.Column(node.source, "doc"), node) if nodes.collected else (node,)

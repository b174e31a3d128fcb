"""What the syntax of a query becomes on its way to a statement: joins, and the nodes that paths lead to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from heptox.grammar import syntax
from heptox.schema import Path
from heptox.store import sql


class NotCompiledError(Exception):
    """A query or rule asks for what the relations do not hold; it is interpreted, and this says why."""


@dataclass(frozen=True, slots=True)
class NodeSet:
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
class Let:
    """A path with the bindings that it is read with."""

    source: syntax.PathExpression
    bindings: Mapping[str, Binding]


Binding: TypeAlias = NodeSet | Let


@dataclass(frozen=True, slots=True)
class Join:
    """A join that is being made: what was joined, the number of the document that is asked by itself, or the column
    with it, the alias of its root's row if any.
    """

    sources: tuple[sql.Source, ...] = ()
    where: tuple[sql.Condition, ...] = ()
    document: sql.Column | sql.Integer | None = None
    root: str | None = None
    bindings: Mapping[str, Binding] = field(default_factory=dict)

    def having(self, *conditions: sql.Condition) -> Join:
        """The join with more conditions."""
        return replace(self, where=(*self.where, *conditions))

    def inside(self) -> Join:
        """A join of what a condition or a part of an item adds to this one."""
        return replace(self, sources=(), where=())

    def extended(self, inner: Join) -> Join:
        """This join with what an inner one adds."""
        return replace(inner, sources=self.sources + inner.sources, where=self.where + inner.where)


Reached: TypeAlias = tuple[Join, NodeSet]


def is_attribute(nodes: NodeSet) -> bool:
    """Whether nodes are attributes."""
    return nodes.path[-1:] != () and nodes.path[-1].startswith("@")

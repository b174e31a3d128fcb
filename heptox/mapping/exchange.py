"""Exchange: the target document that a mapping defines for a source document (``semantics.md`` section 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from heptox.mapping.bindings import Table, bindings
from heptox.mapping.image import ImageNode, write_image
from heptox.mapping.instance import MarkedNull, Value, read_instance
from heptox.mapping.model import HeadNode, Mapping, Rule
from heptox.pattern import TAG
from heptox.schema import Path
from heptox.xmlio import Document

if TYPE_CHECKING:
    from heptox.mapping.tracing import Trace

LARGE: Final = 4_000_000
"""From how many bytes on a document is exchanged on a store: one below takes less memory than the store itself."""


def exchange(mapping: Mapping, document: Document, trace: Trace | None = None) -> Document:
    """``mu(document)``: what the rules make, nodes with equal identity glued.

    The result is a set; it is written in the order of the target schema, then of first appearance in the source.
    The document is meant to be valid for the source schema. A ``trace`` is told which value goes where.

    Raises :class:`MappingError` (HX4040) for a document with another root, or with several values where the schema has
    one; :class:`SchemaError` (HX2011) for a value that no tag can stand for.
    """
    root = read_instance(document, mapping, trace)
    image = ImageNode(())
    # Nodes made by the rules of outer groups come first, so that their order does not depend on what is below them.
    for rule in sorted(mapping.rules, key=lambda rule: len(rule.head)):
        _apply(rule, bindings(rule, root), image, trace)
    return write_image(mapping.target, mapping.rules, image, trace)


@dataclass(frozen=True, slots=True)
class _Column:
    """A head node over the columns of a table: its leaves, where each value is found, and which one is its tag."""

    node: Path
    leaves: tuple[Path, ...]
    places: tuple[tuple[int, Path], ...]
    tag: int | None


def _apply(rule: Rule, table: Table, image: ImageNode, trace: Trace | None) -> None:
    """Add what one rule makes of its bindings."""
    columns = [_column(node, table) for node in rule.head]
    for row in table.rows:
        arguments = [tuple(row[place].values[path] for place, path in column.places) for column in columns]
        node = image
        depth = _depth(columns, arguments)
        for column, values in islice(zip(columns, arguments, strict=True), depth):
            node = _glued(node, column, values)
            if trace is not None:
                starts = ((row[place], path) for place, path in column.places)
                trace.carried(node, zip(column.leaves, starts, strict=True))


def _column(node: HeadNode, table: Table) -> _Column:
    leaves = tuple(path for path, _ in node.leaves)
    places = tuple((table.columns[term.variable], term.path) for _, term in node.leaves)
    return _Column(node.node, leaves, places, leaves.index((TAG,)) if (TAG,) in leaves else None)


def _depth(columns: Sequence[_Column], arguments: Sequence[tuple[Value, ...]]) -> int:
    """How many nodes of a chain exist: down to the last one with a value; a box node without its tag ends the chain."""
    depth = 0
    for number, (column, values) in enumerate(zip(columns, arguments, strict=True), start=1):
        if column.tag is not None and isinstance(values[column.tag], MarkedNull):
            break
        if not all(isinstance(value, MarkedNull) for value in values):
            depth = number
    return depth


def _glued(parent: ImageNode, column: _Column, values: tuple[Value, ...]) -> ImageNode:
    """The node with this identity below ``parent``, made when it is not there yet; the root is always there.

    A leaf that the rule does not supply is a constant of its own, so the supplied leaves belong to the identity.
    """
    if not column.node:
        node = parent
    else:
        siblings = parent.below.setdefault(column.node, {})
        identity = (column.leaves, values)
        if identity in siblings:
            return siblings[identity]
        node = siblings[identity] = ImageNode(column.node)
    for path, value in zip(column.leaves, values, strict=True):
        if not isinstance(value, MarkedNull):
            node.values[path] = value
    return node

"""How documents of a schema become relations.

Every element type that can repeat, and the root's, has a relation with a row for each of its elements. What is reached
from an element by single-valued edges is columns of its row: a leaf is its text, an inner element is where it stands.
An element with mixed, recursive or open content is **opaque**: only where it stands is kept, and it is looked into on
demand.

Identifiers of SQL ignore case even when they are quoted, and names of elements do not: the names of tables and columns
are generated, and this catalogue leads from schema paths to them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final

from heptox.schema import Element, Path, SchemaGraph, SchemaTree, by_name, instance_attributes
from heptox.store.written_names import WrittenNames

MOST_PATHS: Final = 20_000
"""Schema paths of one catalogue. Of a schema that shares element types so much that it has more, elements whose types
have the most below them are opaque."""


class Part(StrEnum):
    """What a column holds of the schema node that it belongs to."""

    NODE = "node"
    """Where an element begins in its document's text: its identity, and its place in document order."""
    STOP = "stop"
    """Where an element ends."""
    TEXT = "text"
    """The text of an element that holds nothing but text, or the value of an attribute."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a relation: a part of the node at the relative ``path`` below the relation's element."""

    name: str
    path: Path
    part: Part

    @property
    def type(self) -> str:
        """The type of SQL."""
        return "VARCHAR" if self.part is Part.TEXT else "BIGINT"


@dataclass(frozen=True)
class Relation:
    """The relation of an element type.

    A row has ``doc``, the number of its document, ``node`` and ``stop``, where the element begins and ends, ``parent``,
    the ``node`` of the row that it stands below (-1 for the root), ``path``, the code of its schema path, and
    ``columns``. An opaque element has no columns.
    """

    table: str
    element: str
    opaque: bool
    columns: tuple[Column, ...]

    def column(self, path: Path, part: Part) -> str | None:
        """The name of the column for a part of the node at a relative path, ``None`` where there is none."""
        if not path and part is not Part.TEXT:
            return str(part)
        return self._named.get((path, part))

    @cached_property
    def _named(self) -> dict[tuple[Path, Part], str]:
        return {(column.path, column.part): column.name for column in self.columns}


class Catalogue:
    """The relations of a schema, and the codes of the schema paths at which their elements stand.

    ``schema`` is what it was made of; ``graph`` is that with the written ``names`` that all else here speaks of.
    """

    def __init__(self, graph: SchemaGraph) -> None:
        self.schema = graph
        self.names = WrittenNames.of(graph)
        self.graph = self.names.graph(by_name(graph))
        self.instance = frozenset(map(self.names.attribute, instance_attributes(graph)))
        """The attributes that any element may have, whatever the schema declares: no relation has those."""
        self.tree = SchemaTree(self.graph)
        self._codes: dict[Path, int] = {}
        self._relations: dict[str, Relation] = {}
        self._walk()

    @property
    def relations(self) -> tuple[Relation, ...]:
        return tuple(self._relations.values())

    @property
    def root(self) -> Relation:
        """The relation of the root, which has one row for each document."""
        return self._relations[self.graph.root]

    def relation(self, stop: Path) -> Relation:
        """The relation of the elements at a schema path at which rows stand."""
        return self._relations[stop[-1] if stop else self.graph.root]

    def code(self, stop: Path) -> int:
        """The code of a schema path at which rows stand."""
        return self._codes[stop]

    def stops(self, relation: Relation) -> frozenset[Path]:
        """All schema paths at which the rows of a relation stand."""
        return self._stops[relation.element]

    @cached_property
    def _stops(self) -> dict[str, frozenset[Path]]:
        found: dict[str, set[Path]] = {}
        for path in self._codes:
            found.setdefault(path[-1] if path else self.graph.root, set()).add(path)
        return {name: frozenset(paths) for name, paths in found.items()}

    def has_rows(self, path: Path) -> bool:
        """Whether the elements at a schema path are rows; those at others are columns of the row above."""
        return path in self._codes

    def is_opaque(self, name: str) -> bool:
        """Whether elements of a type are kept as they stand: those with mixed, recursive or open content."""
        return name in self._opaque

    @cached_property
    def _opaque(self) -> frozenset[str]:
        elements = self.graph.elements.values()
        opaque = {each.name for each in elements if each.mixed or each.open} | self.tree.types.recursive
        limit = MOST_PATHS
        while True:
            sizes = self._paths_below(opaque, limit)
            if sizes[self.graph.root] <= MOST_PATHS or not limit:  # the root alone may have as many children
                return frozenset(opaque | ({name for name, size in sizes.items() if size > limit} - {self.graph.root}))
            limit //= 2

    def _paths_below(self, opaque: Collection[str], limit: int) -> dict[str, int]:
        """For each type below the root, how many schema paths there are at and below one of its elements, if those are
        opaque of whose type there are more than ``limit``.
        """
        sizes = dict.fromkeys(opaque, 1)
        waiting = [self.graph.root]
        while waiting:
            name = waiting[-1]
            below = [child.name for child in self.graph.elements[name].children]
            if name not in sizes and (unknown := [child for child in below if child not in sizes]):
                waiting += unknown
                continue
            waiting.pop()
            if name not in sizes:
                sizes[name] = 1 + sum(1 if sizes[child] > limit else sizes[child] for child in below)
        return sizes

    def _walk(self) -> None:
        waiting = deque[tuple[Path, bool]]([((), True)])
        while waiting:
            path, row = waiting.popleft()
            element = self.graph.elements[path[-1] if path else self.graph.root]
            if row:
                self._codes[path] = len(self._codes)
                self._relations.setdefault(element.name, self._relation(element))
            if not self.is_opaque(element.name):
                waiting.extend(((*path, child.name), child.cardinality.repeats) for child in element.children)

    def _relation(self, element: Element) -> Relation:
        opaque = self.is_opaque(element.name)
        parts = [] if opaque else list(self._own(element, ()))
        columns = tuple(Column(f"c{number}", path, part) for number, (path, part) in enumerate(parts))
        return Relation(f"r{len(self._relations)}", element.name, opaque, columns)

    def _own(self, element: Element, path: Path) -> Iterator[tuple[Path, Part]]:
        """The parts that an element at a relative path gives to the row that owns it."""
        if path:
            yield path, Part.NODE
            if not element.text_only:
                yield path, Part.STOP
        if self.is_opaque(element.name):
            return
        if element.text:
            yield path, Part.TEXT
        for attribute in element.attributes:
            yield (*path, f"@{attribute.name}"), Part.TEXT
        for child in element.children:
            if not child.cardinality.repeats:
                yield from self._own(self.graph.elements[child.name], (*path, child.name))

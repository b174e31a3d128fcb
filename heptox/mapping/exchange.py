"""Exchange: the target document that a mapping defines for a source document (``semantics.md`` section 5)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final

from heptox.checks import Check, no_check
from heptox.mapping.bindings import Row, Table, bindings
from heptox.mapping.identity import surrogate_value
from heptox.mapping.image import ImageNode, write_image
from heptox.mapping.instance import StopNode, Value, read_instance
from heptox.mapping.model import HeadNode, Mapping, Rule, Surrogate
from heptox.mapping.receipts import ExchangeReceipt, looked_up
from heptox.pattern import TAG, Lookup, Term, is_constant
from heptox.remembering import remembered
from heptox.schema import Path
from heptox.xml import Document

if TYPE_CHECKING:
    from heptox.mapping.tracing import Trace

LARGE: Final = 4_000_000
"""From how many bytes on a document is exchanged on a store: one below takes less memory than the store itself."""


def exchange(
    mapping: Mapping,
    document: Document,
    trace: Trace | None = None,
    receipt: ExchangeReceipt | None = None,
    check: Check = no_check,
) -> Document:
    """``mu(document)``: what the rules make, nodes with equal identity glued.

    The result is a set; it is written in the order of the target schema, then of first appearance in the source.
    The document is meant to be valid for the source schema. A ``trace`` records which value goes where, a
    ``receipt`` what the image does not show.

    The other way is ``exchange(mapping.mirrored(), document)``. ``check`` is called again and again, and may raise an
    error of its own.

    Raises :class:`MappingError` (HX4024) where the mapping has no rules in this direction, (HX4040) for a document with
    another root, or with several values where the schema has one; :class:`SchemaError` (HX2011) for a value that no tag
    can stand for.
    """
    root = read_instance(document, mapping, trace)
    plan = _plan(mapping)
    gluing = _Gluing(trace)
    for rank, rule in enumerate(plan.rules):
        table = bindings(rule, root, check)
        gluing.apply(plan.columns(rank, table), rank, table, check)
        if receipt is not None:
            receipt.unknown_codes.update(_unknown_codes(plan.looked_up[rank], table))
    if receipt is not None:
        receipt.conflicts.update(node.node + leaf for node, leaf in gluing.disputed)
    return write_image(mapping.target, gluing.image, trace)


def applied(rules: Iterable[Rule]) -> list[Rule]:
    """Rules in the order in which they are applied.

    Nodes made by the rules of outer groups come first, so that their order does not depend on what is below them.
    """
    return sorted(rules, key=lambda rule: len(rule.head))


@dataclass(frozen=True, slots=True)
class _Column:
    """A head node over the columns of a table: its leaves, where each value is found, and which one is its tag.

    It is one for each node in the column ``each``, or for each value of its leaf number ``key``, or by its values.
    ``order`` are then the numbers of its leaves in an order that all rules share, ``None`` for one that others supply;
    where all rules supply the same in one order, there is none. The last leaves are the ``surrogates``, each with where
    the values of its arguments are found. The leaves ``constant`` have the same value in all nodes; a node that
    ``follows`` is there with the one above.
    """

    node: Path
    leaves: tuple[Path, ...]
    places: tuple[tuple[int, Path], ...]
    tag: int | None
    each: int | None
    key: int | None
    order: tuple[int | None, ...] | None
    surrogates: tuple[tuple[Surrogate, tuple[tuple[int, Path], ...]], ...]
    constant: frozenset[int]
    follows: bool

    def makes(self, values: Sequence[Value | None]) -> bool:
        """Whether the node is there by what it has: a constant alone makes none."""
        return self.each is not None or any(
            value is not None for place, value in enumerate(values) if place not in self.constant
        )

    def arguments(self, row: Row) -> tuple[Value | None, ...]:
        found = tuple([None if (node := row[place]) is None else node.values.get(path) for place, path in self.places])
        return found + tuple(_made(row, *each) for each in self.surrogates) if self.surrogates else found

    def starts(self, row: Row) -> list[tuple[StopNode | None, Path]]:
        """Where in the source each value is found; a surrogate at its own first one whose node is there."""
        found = [(row[place], path) for place, path in self.places]
        for surrogate, places in self.surrogates:
            own = [place for place, each in zip(places, surrogate.arguments, strict=True) if each in surrogate.own]
            found.append(next(((node, path) for place, path in own if (node := row[place])), (None, ())))
        return found

    def identity(self, row: Row, values: tuple[Value | None, ...]) -> Hashable:
        """What makes the node one below its parent (``semantics.md`` section 4); ``None`` where that is not there.

        Those of different kinds never equal each other: numbers and paths are no values.
        """
        tag = None if self.tag is None else values[self.tag]
        if self.tag is not None and tag is None:
            return None
        if self.each is not None:
            node = row[self.each]
            return None if node is None else (node.number, tag)
        if self.key is not None:
            value = values[self.key]
            return None if value is None else (self.leaves[self.key], value, tag)
        if self.order is None:
            return values
        return tuple([None if place is None else values[place] for place in self.order])


@dataclass(frozen=True, slots=True)
class _Plan:
    """What documents of a mapping are exchanged by: its rules, ``leaves`` that they supply at each stop node of the
    target, for each the codes that it looks up, and for each rule the columns of its head, once its body was bound.
    """

    rules: Sequence[Rule]
    leaves: dict[Path, tuple[Path, ...]]
    looked_up: Sequence[tuple[tuple[Term, Lookup], ...]]
    known: dict[int, list[_Column]] = field(default_factory=dict)

    def columns(self, rank: int, table: Table) -> list[_Column]:
        """The columns of a rule's head over the table of its bindings, whose own are the same for all documents."""
        if rank not in self.known:
            self.known[rank] = [_column(node, table, self.leaves[node.node]) for node in self.rules[rank].head]
        return self.known[rank]


@remembered(16)
def _plan(mapping: Mapping) -> _Plan:
    rules = applied(mapping.rules)
    leaves: dict[Path, dict[Path, None]] = {}
    for head in (head for rule in rules for head in rule.head):
        leaves.setdefault(head.node, {}).update(dict.fromkeys(head.paths))
    found = [tuple(looked_up(rule)) for rule in rules]
    return _Plan(rules, {node: tuple(paths) for node, paths in leaves.items()}, found)


def _unknown_codes(lookups: Iterable[tuple[Term, Lookup]], table: Table) -> Iterator[tuple[str, str]]:
    """The codes in the bindings of a rule that the tables do not have, each after the file of its table."""
    for term, lookup in lookups:
        place, codes = table.columns[term.variable], dict(lookup.codes)
        for row in table.rows:
            code = None if (node := row[place]) is None else node.values.get(term.path)
            if isinstance(code, str) and code not in codes:
                yield lookup.table, code


@dataclass(slots=True)
class _Gluing:
    """The image while rules add to it, and the leaves of its nodes that got several values."""

    trace: Trace | None
    image: ImageNode = field(default_factory=lambda: ImageNode(()))
    disputed: set[tuple[ImageNode, Path]] = field(default_factory=set)

    def apply(self, columns: Sequence[_Column], rank: int, table: Table, check: Check) -> None:
        """Add what one rule makes of its bindings; ``rank`` is its place among the rules."""
        for row in table.rows:
            check()
            arguments = [column.arguments(row) for column in columns]
            identities = [column.identity(row, values) for column, values in zip(columns, arguments, strict=True)]
            node = self.image
            depth = _depth(columns, arguments, identities)
            for column, values, identity in islice(zip(columns, arguments, identities, strict=True), depth):
                node = self._glued(node, column, identity, row, values, rank)
                if self.trace is not None:
                    found = zip(column.leaves, column.starts(row), strict=True)
                    self.trace.carried(node, ((leaf, (at, path)) for leaf, (at, path) in found if at is not None))

    def _glued(
        self,
        parent: ImageNode,
        column: _Column,
        identity: Hashable,
        row: Row,
        values: Sequence[Value | None],
        rank: int,
    ) -> ImageNode:
        """The node with this identity below ``parent``, with its leaves; the root is always there."""
        if not column.node:
            _add(parent, column, values)
            return parent
        siblings = parent.below.setdefault(column.node, {})
        node = siblings.get(identity)
        is_new = node is None
        if node is None:
            node = siblings[identity] = ImageNode(column.node)
        if column.each is not None or column.key is not None:
            self._unite(node, column, row, values, rank)
        elif is_new:
            _add(node, column, values)
        return node

    def _unite(self, node: ImageNode, column: _Column, row: Row, values: Sequence[Value | None], rank: int) -> None:
        """Give a node that several bindings may add to its leaves: of several values the first in source order."""
        for path, value, (start, _) in zip(column.leaves, values, column.starts(row), strict=True):
            if value is None or start is None:
                continue
            here = start.number, rank
            if path in node.values and node.values[path] != value:
                self.disputed.add((node, path))
            if path not in node.values or here < node.firsts[path]:
                node.values[path], node.firsts[path] = value, here


def _add(node: ImageNode, column: _Column, values: Sequence[Value | None]) -> None:
    for path, value in zip(column.leaves, values, strict=True):
        if value is not None:
            node.values[path] = value


def _made(row: Row, surrogate: Surrogate, places: Sequence[tuple[int, Path]]) -> str | None:
    """The value of a surrogate for a binding."""
    values = [None if (node := row[place]) is None else node.values.get(path) for place, path in places]
    texts = [value if isinstance(value, str) else None for value in values]
    return surrogate_value(surrogate, tuple(zip(surrogate.arguments, texts, strict=True)))


def _column(node: HeadNode, table: Table, shared: tuple[Path, ...]) -> _Column:
    def found(terms: Iterable[Term]) -> tuple[tuple[int, Path], ...]:
        return tuple((table.columns[term.variable], term.path) for term in terms)

    leaves, places = node.paths, found(term for _, term in node.leaves)
    surrogates = tuple((surrogate, found(surrogate.terms)) for _, surrogate in node.surrogates)
    tag = leaves.index((TAG,)) if (TAG,) in leaves else None
    each = table.columns[node.each] if node.each is not None else None
    key = leaves.index(node.key) if node.key is not None else None
    order = None if leaves == shared else tuple(leaves.index(path) if path in leaves else None for path in shared)
    constant = frozenset(place for place, (_, term) in enumerate(node.leaves) if is_constant(term.path))
    return _Column(node.node, leaves, places, tag, each, key, order, surrogates, constant, node.follows)


def _depth(
    columns: Sequence[_Column], arguments: Sequence[Sequence[Value | None]], identities: Sequence[Hashable]
) -> int:
    """How many nodes of a chain exist: down to the last one with a value, or that stands for a source node.

    A node whose identity is not there, as that of a box node without its tag, ends the chain.
    """
    depth = 1  # the root is always there
    for number, (column, values, identity) in enumerate(zip(columns, arguments, identities, strict=True), start=1):
        if identity is None:
            break
        if column.makes(values) or (column.follows and depth == number - 1):
            depth = number
    return depth

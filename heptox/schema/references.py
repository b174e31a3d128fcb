"""Keys and references that a DTD itself declares (``semantics.md`` section 1), as paths of a schema tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

from heptox.schema.model import AttributeType, KeyConstraint, KeyReference, SameGraph, SchemaGraph
from heptox.schema.tree import Path, SchemaTree


class InferredReference(NamedTuple):
    """An ``IDREF`` attribute and the ``ID`` attribute that it must point to, both as paths from the root."""

    source: Path
    target: Path


MOST_IDENTIFIERS: Final = 2_000
"""How many ``ID`` or ``IDREF`` attributes of a tree are looked for: in some schemas every element has one."""


def id_paths(tree: SchemaTree, nodes: Iterable[Path] = ()) -> tuple[Path, ...]:
    """The ``ID`` attributes of the tree in schema order; each is a key. A recursion is unfolded as ``tree.walk`` does.
    Of a tree with more than :data:`MOST_IDENTIFIERS`, those of some ``nodes`` and of the elements above these.

    >>> from heptox.schema.dtd import parse_dtd
    >>> dtd = "<!ELEMENT a (b*)> <!ELEMENT b EMPTY> <!ATTLIST b k ID #REQUIRED r IDREF #IMPLIED>"
    >>> tree = SchemaTree(parse_dtd(dtd))
    >>> id_paths(tree), idref_paths(tree), inferred_references(tree)[0].target
    ((('b', '@k'),), (('b', '@r'),), ('b', '@k'))
    """
    return _some(tree, AttributeType.ID, nodes)


def _some(tree: SchemaTree, kind: AttributeType, nodes: Iterable[Path]) -> tuple[Path, ...]:
    """The attributes of a kind, of a tree with too many those of nodes and of the elements above these."""
    found = _first(tree, kind)
    if len(found) <= MOST_IDENTIFIERS:
        return found
    elements = {node[:length] for node in nodes for length in range(len(node) + 1)}
    return tuple(
        leaf
        for element in sorted(elements)
        if element in tree and tree.is_element(element)
        for leaf in tree.children(element)
        if leaf[-1].startswith("@") and tree.attribute(leaf).type == kind
    )


def is_identifier(tree: SchemaTree, path: Path) -> bool:
    """Whether a node is an ``ID`` attribute."""
    return path[-1:] != () and path[-1].startswith("@") and tree.attribute(path).type == AttributeType.ID


def idref_paths(tree: SchemaTree, nodes: Iterable[Path] = ()) -> tuple[Path, ...]:
    """The ``IDREF`` attributes of the tree in schema order, recursions and trees with many as in :func:`id_paths`.

    ``IDREFS`` attributes hold several references in one value and are not among them.
    """
    return _some(tree, AttributeType.IDREF, nodes)


def inferred_references(tree: SchemaTree) -> tuple[InferredReference, ...]:
    """The references that validity guarantees: where one node alone has an ``ID`` attribute, all ``IDREF`` point to it.

    A node below an element type that can contain itself is not one node but many; a box is one. In open content
    anything may have one.
    """
    targets = tuple(islice(_attributes(tree, AttributeType.ID), 2))
    if len(targets) != 1 or _recurs(tree, targets[0][:-1]) or _has_open_content(tree.graph):
        return ()
    return tuple(InferredReference(source, targets[0]) for source in _attributes(tree, AttributeType.IDREF))


def only_identifier(graph: SchemaGraph) -> Path | None:
    """The ``ID`` attribute that all ``IDREF`` point to as by :func:`inferred_references`, without boxes; ``None`` where
    there is none. The tree is not unfolded for that.

    >>> from heptox.schema.dtd import parse_dtd
    >>> dtd = "<!ELEMENT a (b*, c{})> <!ELEMENT b EMPTY> <!ELEMENT c (b?)> <!ATTLIST {} k ID #REQUIRED>"
    >>> only_identifier(parse_dtd(dtd.format("", "c"))), only_identifier(parse_dtd(dtd.format("", "b")))
    (('c', '@k'), None)
    """
    above = _types_above(graph)
    found = [
        (key, attribute.name)
        for key in above
        for attribute in graph.elements[key].attributes
        if attribute.type == AttributeType.ID
    ]
    if len(found) != 1 or _has_open_content(graph):
        return None
    key, name = found[0]
    path: Path = (f"@{name}",)
    while above[key]:
        if len(above[key]) != 1 or len(path) > len(above):
            return None
        key, step = above[key][0]
        path = (step, *path)
    return path


def constrained_leaves(tree: SchemaTree) -> tuple[frozenset[Path], tuple[InferredReference, ...]]:
    """The leaves that an ``xs:key`` or ``xs:unique`` of one field makes unique in a document, and the ``xs:keyref``
    that refer to one: those of a root that is there once, by paths of names alone. Values are those of the
    schema's types: equal ones may be written differently.
    """
    if tree.is_recursive(()):
        return frozenset(), ()
    keys = {key.name: _leaf_of(tree, key) for key in tree.graph.keys}
    links = ((_leaf_of(tree, one), keys.get(one.key)) for one in tree.graph.references)
    references = (InferredReference(source, target) for source, target in links if source and target)
    return frozenset(leaf for leaf in keys.values() if leaf), tuple(references)


def _leaf_of(tree: SchemaTree, constraint: KeyConstraint | KeyReference) -> Path | None:
    """The leaf that a constraint of the root speaks of, where it is one, and the only one."""
    if constraint.element != tree.graph.root or len(constraint.selectors) != 1 or len(constraint.fields) != 1:
        return None
    path = (*constraint.selectors[0], *constraint.fields[0][0])
    plain = len(constraint.fields[0]) == 1 and not any("*" in step or step.startswith("//") for step in path)
    return path if plain and path in tree and tree.is_leaf(path) else None


def _types_above(graph: SchemaGraph) -> dict[str, list[tuple[str, str]]]:
    """The element types that the root can contain, and it, each with those right above it and its name there."""
    above: dict[str, list[tuple[str, str]]] = {graph.root: []}
    waiting = [graph.root]
    while waiting:
        key = waiting.pop()
        for child in graph.elements[key].children:
            if child.key not in above:
                above[child.key] = []
                waiting.append(child.key)
            above[child.key].append((key, child.name))
    return above


def _has_open_content(graph: SchemaGraph) -> bool:
    return any(graph.elements[key].open for key in _types_above(graph))


# Drawing a mapping looks for those of the same two schemas again and again.
@lru_cache(maxsize=4)
def _first(tree: SchemaTree, kind: AttributeType) -> tuple[Path, ...]:
    """The attributes of a kind, as far as there are no more than may be looked for, and one."""
    return tuple(islice(_attributes(tree, kind), MOST_IDENTIFIERS + 1))


def _attributes(tree: SchemaTree, kind: AttributeType) -> Iterator[Path]:
    """The attributes of a kind, one after the other; nothing is unfolded that has none below it."""
    holding = _types_with(SameGraph(tree.graph), kind)
    if tree.graph.root in holding:
        found = tree.walk(only=holding)
        yield from (path for path in found if path and path[-1][0] == "@" and tree.attribute(path).type == kind)


@lru_cache(maxsize=32)
def _types_with(same: SameGraph, kind: AttributeType) -> frozenset[str]:
    """The element types that have an attribute of a kind, or can contain one that has."""
    graph = same.graph
    above = _types_above(graph)
    found = {key for key in above if any(attribute.type == kind for attribute in graph.elements[key].attributes)}
    waiting = list(found)
    while waiting:
        new = {key for key, _ in above[waiting.pop()]} - found
        found |= new
        waiting += new
    return frozenset(found)


def _recurs(tree: SchemaTree, path: Path) -> bool:
    return any(tree.is_recursive(path[:length]) for length in range(len(path) + 1))

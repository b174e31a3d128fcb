"""The chunking scheme: which filters run on which part of a document (the paper on chunking, section 4).

The algorithm of the paper's Figure 6 is not followed, as it need not end and puts half of the filters into the
potpourri; ``chunking.md`` has the one that is. A chunk is a set of prefixes: tag paths of which none begins another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from heptox.filtering.query_tree import QueryNode, QueryTree, Sizes
from heptox.filtering.schema_steps import TagPath
from heptox.schema import SchemaGraph

WORTH_MOVING: Final = 1.25
"""How many times what a scheme costs it may cost to keep the one before, in which filters stay where they are."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """The subtrees at ``prefixes``, which the branches of ``weight`` that begin with these run on.

    ``size`` is how many bytes they have, as far as is known.
    """

    prefixes: tuple[TagPath, ...]
    weight: int
    size: float

    @property
    def cost(self) -> float:
        """Branches times bytes."""
        return self.weight * self.size


@dataclass(frozen=True, slots=True)
class ChunkingScheme:
    """A chunking scheme of at most ``degree`` chunks: fewer where the query tree has no more places to cut at.

    A filter with a branch that begins with none of the prefixes is in the potpourri set.
    """

    degree: int
    chunks: tuple[Chunk, ...]

    def __post_init__(self) -> None:
        if len(self.chunks) > self.degree:
            raise ValueError(f"{len(self.chunks)} chunks in a scheme of degree {self.degree}")

    def places(self, paths: Iterable[TagPath]) -> frozenset[int] | None:
        """The chunks that branches at these paths run on; ``None`` where one of them fits no chunk."""
        chunks = self._chunk_of
        found = frozenset(
            next((chunks[path[:depth]] for depth in range(1, len(path) + 1) if path[:depth] in chunks), -1)
            for path in paths
        )
        return None if -1 in found else found

    @property
    def _chunk_of(self) -> dict[TagPath, int]:
        return {prefix: number for number, chunk in enumerate(self.chunks) for prefix in chunk.prefixes}


def chunking_scheme(tree: QueryTree, degree: int, graph: SchemaGraph, sizes: Sizes | None = None) -> ChunkingScheme:
    """The scheme of a query tree.

    The frontier begins as the children of the root; the heaviest of its nodes is split while it weighs more than an
    equal share and no branch ends in it. So does a node that may stand only once, or of whose children one has its
    whole weight: less is copied below it. What is left is packed into chunks, the heaviest first.

    >>> from heptox.schema import parse_dtd
    >>> graph = parse_dtd("<!ELEMENT a (b*)> <!ELEMENT b (c*, d*)> <!ELEMENT c EMPTY> <!ELEMENT d EMPTY>")
    >>> tree = QueryTree()
    >>> tree.add([("a", "b", "c"), ("a", "b", "d"), ("a", "b", "c")])
    >>> [chunk.prefixes for chunk in chunking_scheme(tree, 2, graph).chunks]
    [(('a', 'b', 'c'),), (('a', 'b', 'd'),)]
    """
    sizes = sizes or Sizes()
    frontier = [child for root in tree.root.children.values() for child in _split(root, graph)]
    while True:
        total = sum(_weight(node, sizes, graph) for node in frontier)
        heavy = [
            node
            for node in frontier
            if not node.ending and node.children and _weight(node, sizes, graph) * degree > total
        ]
        if not heavy:
            break
        heaviest = max(heavy, key=lambda node: (_weight(node, sizes, graph), node.path))
        frontier.remove(heaviest)
        frontier += _split(heaviest, graph)
    return ChunkingScheme(degree, _packed(frontier, degree, sizes, graph))


def _split(node: QueryNode, graph: SchemaGraph) -> list[QueryNode]:
    """The children of a node, of which some give way to their own."""
    found: list[QueryNode] = []
    waiting = list(node.children.values())
    while waiting:
        child = waiting.pop()
        is_narrow = len(child.children) == 1 or not _repeats(child.path, graph)
        if is_narrow and child.children and not child.ending:
            waiting += child.children.values()
        else:
            found.append(child)
    return found


def _repeats(path: TagPath, graph: SchemaGraph) -> bool:
    """Whether more than one element may stand at a path below one at the path of its parent."""
    parent = graph.elements.get(path[-2])
    edge = next((child for child in parent.children if child.name == path[-1]), None) if parent else None
    return edge is None or edge.cardinality.repeats


def _size(path: TagPath, sizes: Sizes, graph: SchemaGraph) -> float:
    parent = graph.elements.get(path[-2]) if len(path) > 1 else None
    return sizes.of(path, max(len(parent.children), 1) if parent else 1)


def _weight(node: QueryNode, sizes: Sizes, graph: SchemaGraph) -> float:
    # what a sample has none of weighs a little, all the same
    return node.passing * max(_size(node.path, sizes, graph), sizes.total * 1e-6)


def _packed(frontier: Iterable[QueryNode], degree: int, sizes: Sizes, graph: SchemaGraph) -> tuple[Chunk, ...]:
    """The nodes in at most so many chunks: each, the heaviest first, where the chunk then costs least."""
    chunks: list[Chunk] = []
    for node in sorted(frontier, key=lambda node: (-_weight(node, sizes, graph), node.path)):
        _put(chunks, degree, node, _size(node.path, sizes, graph))
    return tuple(chunks)


def _put(chunks: list[Chunk], degree: int, node: QueryNode, size: float) -> None:
    choices = [
        Chunk((*chunk.prefixes, node.path), chunk.weight + node.passing, chunk.size + size)
        for chunk in (*chunks, *((Chunk((), 0, 0.0),) if len(chunks) < degree else ()))
    ]
    best = min(range(len(choices)), key=lambda number: (choices[number].cost, choices[number].weight))
    chunks[best : best + 1] = [choices[best]]


# -- as filters come and go ---------------------------------------------------------------------------------------


def adapted(before: ChunkingScheme, tree: QueryTree, graph: SchemaGraph, sizes: Sizes | None = None) -> ChunkingScheme:
    """The scheme before, for a query tree that has changed: prefixes stay in their chunks, new ones are put where they
    cost least. A new scheme is made where that is worth the change (:data:`WORTH_MOVING`).
    """
    sizes = sizes or Sizes()
    fresh = chunking_scheme(tree, before.degree, graph, sizes)
    kept = _kept(before, tree, graph, sizes)
    return kept if _cost(kept, tree, sizes) <= WORTH_MOVING * _cost(fresh, tree, sizes) else fresh


def _kept(before: ChunkingScheme, tree: QueryTree, graph: SchemaGraph, sizes: Sizes) -> ChunkingScheme:
    chunks = [_counted(chunk.prefixes, tree, graph, sizes) for chunk in before.chunks]
    chunks = [chunk for chunk in chunks if chunk.prefixes]
    prefixes = {prefix for chunk in chunks for prefix in chunk.prefixes}
    above = {prefix[:depth] for prefix in prefixes for depth in range(len(prefix))}
    for node in _beside(tree, prefixes, above):
        _put(chunks, before.degree, node, _size(node.path, sizes, graph))
    return ChunkingScheme(before.degree, tuple(chunks))


def _counted(prefixes: Sequence[TagPath], tree: QueryTree, graph: SchemaGraph, sizes: Sizes) -> Chunk:
    """A chunk with those of its prefixes that branches still pass."""
    nodes = [node for prefix in prefixes if (node := tree.node(prefix)) is not None]
    size = sum(_size(node.path, sizes, graph) for node in nodes)
    return Chunk(tuple(node.path for node in nodes), sum(node.passing for node in nodes), size)


def _beside(tree: QueryTree, prefixes: set[TagPath], above: set[TagPath]) -> list[QueryNode]:
    """The highest nodes below the root that are neither prefixes nor above or below any."""
    found: list[QueryNode] = []
    waiting = [child for root in tree.root.children.values() for child in root.children.values()]
    while waiting:
        node = waiting.pop()
        if node.path in above:
            waiting += node.children.values()
        elif node.path not in prefixes:
            found.append(node)
    return sorted(found, key=lambda node: node.path)


def _cost(scheme: ChunkingScheme, tree: QueryTree, sizes: Sizes) -> float:
    """The dearest chunk, and what fits none on the whole document: a bound for the time of as many processors."""
    potpourri = tree.root.passing - sum(chunk.weight for chunk in scheme.chunks)
    return max((chunk.cost for chunk in scheme.chunks), default=0.0) + potpourri * sizes.total

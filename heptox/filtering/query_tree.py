"""The query tree: the tag paths of all filters in one tree, each node with how many branches pass it and end in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from heptox.filtering.schema_steps import TagPath


@dataclass(slots=True, eq=False)
class QueryNode:
    """A node of the query tree: the element type at ``path``.

    ``passing`` is its weight in the paper (section 4, Figure 5): the branches that pass it or end in it.
    """

    path: TagPath
    passing: int = 0
    ending: int = 0
    children: dict[str, QueryNode] = field(default_factory=dict)

    def walk(self) -> Iterator[QueryNode]:
        """The node and all below it, parents first."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(node.children.values())


class QueryTree:
    """A query tree that branches are put into and taken from.

    >>> tree = QueryTree()
    >>> for path in ("abc", "abd", "abc"): tree.add([tuple(path)])
    >>> [("/".join(node.path), node.passing) for node in tree.root.walk() if node.path]
    [('a', 3), ('a/b', 3), ('a/b/c', 2), ('a/b/d', 1)]
    """

    def __init__(self) -> None:
        self.root = QueryNode(())

    def add(self, paths: Iterable[TagPath]) -> None:
        """Put branches in that end at these paths."""
        for path in paths:
            node = self.root
            node.passing += 1
            for depth, tag in enumerate(path, 1):
                node = node.children.setdefault(tag, QueryNode(path[:depth]))
                node.passing += 1
            node.ending += 1

    def remove(self, paths: Iterable[TagPath]) -> None:
        """Take branches out that were put in."""
        for path in paths:
            node = self.root
            node.passing -= 1
            for tag in path:
                child = node.children[tag]
                child.passing -= 1
                if not child.passing:
                    del node.children[tag]
                node = child
            node.ending -= 1

    def node(self, path: TagPath) -> QueryNode | None:
        """The node at a path, if any branch passes it."""
        node: QueryNode | None = self.root
        for tag in path:
            node = node.children.get(tag) if node is not None else None
        return node


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many bytes the elements at tag paths have together, of ``total`` bytes, as seen in documents.

    Of paths that were not seen, an element type has an equal share of its parent's.
    """

    total: float = 1.0
    seen: Mapping[TagPath, float] = field(default_factory=dict)

    def of(self, path: TagPath, siblings: int = 1) -> float:
        """The bytes at a path, 0 where a sample has none of them; ``siblings`` share what is not known."""
        if self.seen:
            return self.seen.get(path, 0.0)
        return self.of(path[:-1]) / siblings if path else self.total

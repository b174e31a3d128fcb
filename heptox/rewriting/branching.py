"""Which subscriptions see whether nodes that exchange makes one are one (``rewriting.md``, contract)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from heptox.pattern import ANY_ELEMENT, PatternNode, TreePattern
from heptox.schema import Path, SchemaTree


def branches_at(patterns: Sequence[TreePattern], tree: SchemaTree, stops: Iterable[Path]) -> bool:
    """Whether a pattern may branch at one of these stop nodes: ask for two nodes that stop nodes below it have.

    What such a node has itself is the same in all that exchange makes one of, so a document in which they stand apart
    matches all other patterns as well. Where a pattern can stand is judged by names, so some are taken to branch that
    do not.
    """
    for stop in stops:
        inner = dict(_inner(tree, stop))
        for pattern in patterns:
            if any(_branches(node, inner) for child in pattern.children for node in _nodes(child)):
                return True
    return False


def _inner(tree: SchemaTree, node: Path) -> Iterator[tuple[str, frozenset[str]]]:
    """The name of a node, and of those that stand once below it, each with its children that have no stop node at or
    below them."""
    single = []
    for child in tree.children(node):
        if not tree.is_stop(child):
            below = list(_inner(tree, child)) if tree.is_element(child) and not tree.is_leaf(child) else []
            if tree.is_leaf(child) or tree.is_whole(child):
                single.append(child[-1])
            yield from below
    if node:
        yield node[-1], frozenset(single)


def _branches(node: PatternNode, inner: dict[str, frozenset[str]]) -> bool:
    tests = inner.keys() if node.test == ANY_ELEMENT else {node.test} & inner.keys()
    return any(_several(node.children, inner[test]) for test in tests)


def _several(children: Sequence[PatternNode], single: frozenset[str]) -> bool:
    return sum(child.axis == "//" or child.test not in single for child in children) > 1


def _nodes(node: PatternNode) -> Iterator[PatternNode]:
    yield node
    for child in node.children:
        yield from _nodes(child)

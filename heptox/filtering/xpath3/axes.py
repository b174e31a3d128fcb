"""The axes: which nodes are along each from a node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from elementpath.xpath_nodes import AttributeNode, DocumentNode, ElementNode, XPathNode

from heptox.filtering.xpath3.focus import Focus
from heptox.filtering.xpath3.values import Items


def _children(node: XPathNode) -> Items:
    return node.children if isinstance(node, ElementNode | DocumentNode) else []


def _attributes(node: XPathNode) -> Items:
    return node.attributes if isinstance(node, ElementNode) else []


def descendants(node: XPathNode) -> Items:
    return [*node.iter_descendants(with_self=False)] if isinstance(node, ElementNode | DocumentNode) else []


def descendants_or_self(focus: Focus) -> Items:
    nodes = [focus.item, *descendants(focus.item)]
    focus.spend(len(nodes))
    return nodes


def _parent(node: XPathNode) -> Items:
    return [] if node.parent is None else [node.parent]


def _ancestors(node: XPathNode) -> Items:
    found: Items = []
    while node.parent is not None:
        node = node.parent
        found.append(node)
    return found


def _siblings(node: XPathNode) -> tuple[Items, Items]:
    """The siblings before a node, and behind it."""
    if node.parent is None or isinstance(node, AttributeNode):
        return [], []
    around = node.parent.children
    place = next(place for place, each in enumerate(around) if each is node)
    return around[:place], around[place + 1 :]


def _following(node: XPathNode) -> Items:
    if isinstance(node, AttributeNode) and node.parent is not None:
        return [*descendants(node.parent), *_following(node.parent)]
    return [found for each in (node, *_ancestors(node)) for sibling in _siblings(each)[1] for found in _tree(sibling)]


def _preceding(node: XPathNode) -> Items:
    if isinstance(node, AttributeNode) and node.parent is not None:
        return _preceding(node.parent)
    return [
        found
        for each in (node, *_ancestors(node))
        for sibling in reversed(_siblings(each)[0])
        for found in reversed(_tree(sibling))
    ]


def _tree(node: XPathNode) -> Items:
    return [node, *descendants(node)]


ALONG: Final[dict[str, Callable[[XPathNode], Items]]] = {
    "child": _children,
    "attribute": _attributes,
    "self": lambda node: [node],
    "parent": _parent,
    "descendant": descendants,
    "descendant-or-self": _tree,
    "ancestor": _ancestors,
    "ancestor-or-self": lambda node: [node, *_ancestors(node)],
    "following-sibling": lambda node: _siblings(node)[1],
    "preceding-sibling": lambda node: _siblings(node)[0][::-1],
    "following": _following,
    "preceding": _preceding,
}
"""The nodes along each axis, in its order."""

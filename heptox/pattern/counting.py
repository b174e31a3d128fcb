"""The identities of nodes in items, by which each counts once (``semantics.md`` section 7, *How often an item
counts*).
"""

from __future__ import annotations

from collections.abc import Callable

from heptox.pattern.model import NODE, ElementItem, LeafItem, Term
from heptox.pattern.rewrite import Content


def node_identity(name: str, variable: str) -> LeafItem:
    """An element that holds the identity of a variable's node."""
    return LeafItem("identity", name, Term(variable, (NODE,)))


def map_identities(element: ElementItem, image: Callable[[LeafItem], Content]) -> ElementItem:
    """The constructor in which other items stand for the identities of nodes, but for those of nested parts."""
    content: list[Content] = []
    for item in element.content:
        if isinstance(item, ElementItem):
            content.append(map_identities(item, image))
        else:
            content.append(image(item) if isinstance(item, LeafItem) and item.shape == "identity" else item)
    return ElementItem(element.name, element.attributes, tuple(content))

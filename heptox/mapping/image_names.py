"""The prefixes with which exchange writes a document, all declared by its root."""

from __future__ import annotations

from typing import Final

from heptox.schema import SchemaTree
from heptox.xml import Prefixes

DEFAULT: Final = ""
"""The prefix of elements that have none."""


def image_prefixes(tree: SchemaTree) -> Prefixes:
    """The prefixes of a schema, with one for each of its namespaces, of which no name has the choice of two.

    Elements without a prefix are in a namespace only where no element can be in none.
    """
    graph = tree.graph
    types = graph.elements.values()
    elements = {element.name for element in types}
    attributes = {attribute.name for element in types for attribute in element.attributes}
    found = graph.prefixes.covering(elements, attributes=attributes)
    default = found.namespaces.get(DEFAULT)
    if default is None:
        return found
    is_open = any(element.open for element in types) or any(not box.namespace for box in tree.boxes)
    if is_open or found.prefix_of(default, attribute=True) is not None:
        named = Prefixes(tuple((prefix, namespace) for prefix, namespace in graph.prefixes.bound if prefix))
        return named.covering(elements, attributes=attributes)
    return found

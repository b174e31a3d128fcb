"""The prefixes with which exchange writes a document, all declared by its root."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from heptox.schema import SchemaTree
from heptox.xml import Prefixes, fresh_prefix

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


def with_value_prefixes(prefixes: Prefixes, meant: Mapping[str, Collection[str]]) -> Prefixes:
    """The prefixes of a document with those that its values use, for each of which values mean some namespaces.

    What values mean by a prefix decides; names can have any. A prefix by which values mean several namespaces is left
    to the elements that have these.

    >>> meant = {"a": ["urn:b"], "c": ["urn:c"], "d": ["urn:d", "urn:e"]}
    >>> with_value_prefixes(Prefixes.of({"a": "urn:a"}), meant).bound
    (('ns1', 'urn:a'), ('a', 'urn:b'), ('c', 'urn:c'))
    """
    found: dict[str, str] = {}
    for prefix, namespace in prefixes.bound:
        is_free = prefix not in meant or {*meant[prefix]} == {namespace}
        found[prefix if is_free else fresh_prefix({*found, *meant, *prefixes.namespaces})] = namespace
    return Prefixes.of(found | {prefix: uri for prefix, (uri, *others) in meant.items() if not others})

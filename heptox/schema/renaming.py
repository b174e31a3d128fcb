"""A schema graph whose elements and attributes are called otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from heptox.schema.model import Element, Particle, SchemaGraph
from heptox.xml import NO_PREFIXES


def renamed(graph: SchemaGraph, element: Callable[[str], str], attribute: Callable[[str], str]) -> SchemaGraph:
    """The graph with the names that these functions make of those of elements and of attributes, without prefixes.

    >>> graph = SchemaGraph("a", {"a": Element("a", text=True)})
    >>> found = renamed(replace(graph, roots=("a",)), str.upper, str.upper)
    >>> found.elements["A"].name, found.roots
    ('A', ('A',))
    """

    def particle(one: Particle) -> Particle:
        name = element(one.name) if one.kind == "name" else ""
        return replace(one, name=name, members=tuple(map(particle, one.members)))

    def type_of(one: Element) -> Element:
        return replace(
            one,
            name=element(one.name),
            children=tuple(replace(child, name=element(child.name)) for child in one.children),
            attributes=tuple(replace(each, name=attribute(each.name)) for each in one.attributes),
            content=None if one.content is None else particle(one.content),
        )

    elements = {key: type_of(one) for key, one in graph.elements.items()}
    root, roots = elements[graph.root].key, tuple(elements[each].key for each in graph.roots)
    by_key = {one.key: one for one in elements.values()}
    return replace(graph, root=root, roots=roots, elements=by_key, prefixes=NO_PREFIXES)

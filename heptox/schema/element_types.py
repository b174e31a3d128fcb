"""What a schema graph says of its element types without being unfolded: what can stand below what, and names."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Final

from heptox.schema.components import strong_components
from heptox.schema.model import Child, SameGraph, SchemaGraph

TEXT: Final = "text()"
WILDCARD: Final = "*"
MOST_COUNTED: Final = 1_000_000


def types_of(graph: SchemaGraph) -> ElementTypes:
    """The element types of a graph, the same ones for all of its trees."""
    return _types_of(SameGraph(graph))


class ElementTypes:
    """The element types of a graph, by what the graph calls them."""

    def __init__(self, graph: SchemaGraph) -> None:
        self.graph = graph
        self._below: dict[str, frozenset[str]] = {}
        self._names_below: dict[str, frozenset[str]] = {}

    @cached_property
    def recursive(self) -> frozenset[str]:
        """Those that can contain themselves."""
        several = [key for component in self._components if len(component) > 1 for key in component]
        return frozenset([*several, *(key for key, below in self._keys_below.items() if key in below)])

    @cached_property
    def _components(self) -> list[list[str]]:
        """The types that can stand below each other, after all others below them."""
        return strong_components(self._keys_below, self._keys_below)

    @cached_property
    def _keys_below(self) -> dict[str, tuple[str, ...]]:
        """For each type, those of its children."""
        return {key: tuple(child.key for child in one.children) for key, one in self.graph.elements.items()}

    @cached_property
    def least_sizes(self) -> dict[str, int]:
        """How many elements the tree below each type has, up to :data:`MOST_COUNTED`, and perhaps more: of recursive
        types, which are unfolded once, the first are counted only."""
        found: dict[str, int] = {}
        for component in self._components:
            for key in component:
                below = () if key in self.recursive else self._keys_below[key]
                found[key] = min(1 + sum(found[child] for child in below), MOST_COUNTED)
        return found

    @cached_property
    def names(self) -> frozenset[str]:
        """What the elements are called that the schema declares."""
        return frozenset(element.name for element in self.graph.elements.values())

    @cached_property
    def open_names(self) -> frozenset[str]:
        """What the elements are called that have open content."""
        return frozenset(element.name for element in self.graph.elements.values() if element.open)

    @cached_property
    def step_names(self) -> frozenset[str]:
        """What a step can name that the schema declares."""
        elements = self.graph.elements.values()
        attributes = (attribute.name for element in elements for attribute in element.attributes)
        return frozenset((WILDCARD, TEXT, *self.names, *attributes))

    @cached_property
    def children(self) -> dict[str, dict[str, Child]]:
        """For each type, its children by their names."""
        elements = self.graph.elements
        return {key: {child.name: child for child in element.children} for key, element in elements.items()}

    def below(self, key: str) -> frozenset[str]:
        """The types that can stand below one, at any depth."""
        if key not in self._below:
            self._below[key] = self._reachable(key)
        return self._below[key]

    def _reachable(self, key: str) -> frozenset[str]:
        seen: set[str] = set()
        waiting = list(self._keys_below[key])
        while waiting:
            child = waiting.pop()
            if child not in seen:
                seen.add(child)
                waiting.extend(self._keys_below[child])
        return frozenset(seen)

    def names_below(self, key: str) -> frozenset[str]:
        """What the elements are called that can stand below those of a type, at any depth."""
        if key not in self._names_below:
            self._names_below[key] = frozenset(self.graph.elements[below].name for below in self.below(key))
        return self._names_below[key]


@lru_cache(maxsize=32)
def _types_of(same: SameGraph) -> ElementTypes:
    return ElementTypes(same.graph)

"""What a schema graph says of its element types without being unfolded: what can stand below what, and names."""

from __future__ import annotations

from functools import cached_property
from typing import Final

from heptox.schema.model import SchemaGraph

TEXT: Final = "text()"
WILDCARD: Final = "*"


class ElementTypes:
    """The element types of a graph, by what the graph calls them."""

    def __init__(self, graph: SchemaGraph) -> None:
        self.graph = graph
        self._names_below: dict[str, frozenset[str]] = {}

    @cached_property
    def recursive(self) -> frozenset[str]:
        """Those that can contain themselves."""
        return frozenset(key for key, below in self.below.items() if key in below)

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
    def children(self) -> dict[str, dict[str, str]]:
        """For each type, the types of its children by their names."""
        elements = self.graph.elements
        return {key: {child.name: child.key for child in element.children} for key, element in elements.items()}

    @cached_property
    def below(self) -> dict[str, frozenset[str]]:
        """For each type, those that can stand below it, at any depth."""
        return {key: self._reachable(key) for key in self.children}

    def _reachable(self, key: str) -> frozenset[str]:
        seen: set[str] = set()
        waiting = list(self.children[key].values())
        while waiting:
            child = waiting.pop()
            if child not in seen:
                seen.add(child)
                waiting.extend(self.children[child].values())
        return frozenset(seen)

    def names_below(self, key: str) -> frozenset[str]:
        """What the elements are called that can stand below those of a type, at any depth."""
        if key not in self._names_below:
            self._names_below[key] = frozenset(self.graph.elements[below].name for below in self.below[key])
        return self._names_below[key]

"""What a schema graph says of its element types without being unfolded: what can stand below what, and names."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Final

from heptox.schema.model import SameGraph, SchemaGraph

TEXT: Final = "text()"
WILDCARD: Final = "*"


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
        together = (group for group in _strongly_connected(self.children) if len(group) > 1)
        alone = (key for key, children in self.children.items() if key in children.values())
        return frozenset((*alone, *(key for group in together for key in group)))

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

    def below(self, key: str) -> frozenset[str]:
        """The types that can stand below one, at any depth."""
        if key not in self._below:
            self._below[key] = self._reachable(key)
        return self._below[key]

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
            self._names_below[key] = frozenset(self.graph.elements[below].name for below in self.below(key))
        return self._names_below[key]


@lru_cache(maxsize=32)
def _types_of(same: SameGraph) -> ElementTypes:
    return ElementTypes(same.graph)


def _strongly_connected(children: dict[str, dict[str, str]]) -> Iterator[list[str]]:
    """The types in groups of those that can all contain each other (Tarjan, SIAM Journal on Computing 1(2), 1972)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_types: dict[str, None] = {}
    for start in children:
        if start in number:
            continue
        waiting = [(start, iter(children[start].values()))]
        number[start] = lowest[start] = len(number)
        open_types[start] = None
        while waiting:
            key, below = waiting[-1]
            child = next(below, None)
            if child is None:
                waiting.pop()
                if waiting:
                    above = waiting[-1][0]
                    lowest[above] = min(lowest[above], lowest[key])
                if lowest[key] == number[key]:
                    group = [open_types.popitem()[0]]
                    while group[-1] != key:
                        group.append(open_types.popitem()[0])
                    yield group
            elif child not in number:
                number[child] = lowest[child] = len(number)
                open_types[child] = None
                waiting.append((child, iter(children[child].values())))
            elif child in open_types:
                lowest[key] = min(lowest[key], number[child])

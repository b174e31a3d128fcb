"""What is made of a schema graph is kept by the graph itself, not by what it says."""

from __future__ import annotations

from dataclasses import dataclass

from heptox.schema.model import SchemaGraph


@dataclass(frozen=True, slots=True, eq=False)
class SameGraph:
    """A graph that is equal to itself alone: what is made of it is kept, and to compare graphs takes longer."""

    graph: SchemaGraph

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameGraph) and other.graph is self.graph

    def __hash__(self) -> int:
        return id(self.graph)

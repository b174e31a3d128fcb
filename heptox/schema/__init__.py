"""Schemas: the graph of element types, and the tree of paths that everything else speaks in (``semantics.md`` 1 to 3)."""

from heptox.schema.model import Attribute, AttributeType, Cardinality, Child, Element, SchemaGraph
from heptox.schema.tree import TEXT, WILDCARD, Axis, Box, Match, Path, SchemaTree

__all__ = [
    "TEXT",
    "WILDCARD",
    "Attribute",
    "AttributeType",
    "Axis",
    "Box",
    "Cardinality",
    "Child",
    "Element",
    "Match",
    "Path",
    "SchemaGraph",
    "SchemaTree",
]

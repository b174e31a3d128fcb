"""Schemas: the graph of element types, and the tree of paths that all else speaks in (``semantics.md`` 1 to 3)."""

from heptox.schema.dtd import (
    amend,
    amended_types,
    conform,
    document_dtd,
    other_schema_fault,
    parse_dtd,
    parse_dtd_roots,
    read_dtd,
    root_candidates,
    validity_faults,
)
from heptox.schema.generation import SAMPLE_VALUES, LeafValues, random_document
from heptox.schema.groups import Group, alike_boxes, groups
from heptox.schema.model import Attribute, AttributeType, Cardinality, Child, Element, Particle, SchemaGraph
from heptox.schema.references import InferredReference, id_paths, idref_paths, inferred_references
from heptox.schema.steps import axis_matches
from heptox.schema.streaming import surely_valid
from heptox.schema.tree import ANYWHERE, TEXT, WILDCARD, Axis, Box, Match, Path, SchemaTree

__all__ = [
    "ANYWHERE",
    "SAMPLE_VALUES",
    "TEXT",
    "WILDCARD",
    "Attribute",
    "AttributeType",
    "Axis",
    "Box",
    "Cardinality",
    "Child",
    "Element",
    "Group",
    "InferredReference",
    "LeafValues",
    "Match",
    "Particle",
    "Path",
    "SchemaGraph",
    "SchemaTree",
    "alike_boxes",
    "amend",
    "amended_types",
    "axis_matches",
    "conform",
    "document_dtd",
    "groups",
    "id_paths",
    "idref_paths",
    "inferred_references",
    "other_schema_fault",
    "parse_dtd",
    "parse_dtd_roots",
    "random_document",
    "read_dtd",
    "root_candidates",
    "surely_valid",
    "validity_faults",
]

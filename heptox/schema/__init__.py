"""Schemas: the graph of element types, and the tree of paths that all else speaks in (``semantics.md`` 1 to 3)."""

from heptox.schema.dtd import (
    document_dtd,
    parse_dtd,
    parse_dtd_roots,
    read_dtd,
    read_dtd_roots,
    root_candidates,
)
from heptox.schema.generation import SAMPLE_VALUES, LeafValues, random_document
from heptox.schema.groups import Group, alike_boxes, groups
from heptox.schema.merging import by_name
from heptox.schema.model import Attribute, AttributeType, Cardinality, Child, Element, Particle, SchemaGraph, tokens
from heptox.schema.references import id_paths, idref_paths, inferred_references, only_identifier
from heptox.schema.steps import axis_matches
from heptox.schema.tree import ANYWHERE, TEXT, WILDCARD, Axis, Box, Match, Path, SchemaTree
from heptox.schema.validation import (
    EdgeValidator,
    Validator,
    amend,
    amended_types,
    as_declared,
    conform,
    is_amended,
    other_schema_fault,
    stream_faults,
    validity_faults,
)

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
    "EdgeValidator",
    "Element",
    "Group",
    "LeafValues",
    "Match",
    "Particle",
    "Path",
    "SchemaGraph",
    "SchemaTree",
    "Validator",
    "alike_boxes",
    "amend",
    "amended_types",
    "as_declared",
    "axis_matches",
    "by_name",
    "conform",
    "document_dtd",
    "groups",
    "id_paths",
    "idref_paths",
    "inferred_references",
    "is_amended",
    "only_identifier",
    "other_schema_fault",
    "parse_dtd",
    "parse_dtd_roots",
    "random_document",
    "read_dtd",
    "read_dtd_roots",
    "root_candidates",
    "stream_faults",
    "tokens",
    "validity_faults",
]

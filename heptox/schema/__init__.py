"""Schemas: the graph of element types, and the tree of paths that all else speaks in (``semantics.md`` 1 to 3)."""

from typing import TYPE_CHECKING

from heptox.doors import later
from heptox.schema.copying import SchemaCopy, copy_schema, packed_schema
from heptox.schema.dtd import (
    document_dtd,
    parse_dtd,
    parse_dtd_roots,
    read_dtd,
    root_candidates,
)
from heptox.schema.element_types import TEXT, WILDCARD
from heptox.schema.generation import SAMPLE_VALUES, LeafValues, random_document
from heptox.schema.graph_text import parse_graph, write_graph
from heptox.schema.groups import Group, alike_boxes, groups
from heptox.schema.inference import (
    Leaf,
    changes_to_admit,
    extend_dtd,
    extend_xsd,
    infer_dtd,
    infer_xsd,
    keys_and_references,
)
from heptox.schema.merging import by_name
from heptox.schema.model import (
    Attribute,
    AttributeType,
    Cardinality,
    Child,
    Element,
    KeyConstraint,
    KeyReference,
    Particle,
    SchemaGraph,
    ValueType,
    tokens,
)
from heptox.schema.reading import is_xsd, parse_schema, read_schema, read_schema_roots, start_of
from heptox.schema.references import id_paths, idref_paths, inferred_references, only_identifier
from heptox.schema.renaming import renamed
from heptox.schema.steps import axis_matches
from heptox.schema.tree import ANYWHERE, Axis, Box, Match, Path, SchemaTree
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

if TYPE_CHECKING:
    from heptox.schema.checking import DocumentChecker, DocumentFaults, document_checker

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
    "DocumentChecker",
    "DocumentFaults",
    "EdgeValidator",
    "Element",
    "Group",
    "KeyConstraint",
    "KeyReference",
    "Leaf",
    "LeafValues",
    "Match",
    "Particle",
    "Path",
    "SchemaCopy",
    "SchemaGraph",
    "SchemaTree",
    "Validator",
    "ValueType",
    "alike_boxes",
    "amend",
    "amended_types",
    "as_declared",
    "axis_matches",
    "by_name",
    "changes_to_admit",
    "conform",
    "copy_schema",
    "document_checker",
    "document_dtd",
    "extend_dtd",
    "extend_xsd",
    "groups",
    "id_paths",
    "idref_paths",
    "infer_dtd",
    "infer_xsd",
    "inferred_references",
    "is_amended",
    "is_xsd",
    "keys_and_references",
    "only_identifier",
    "other_schema_fault",
    "packed_schema",
    "parse_dtd",
    "parse_dtd_roots",
    "parse_graph",
    "parse_schema",
    "random_document",
    "read_dtd",
    "read_schema",
    "read_schema_roots",
    "renamed",
    "root_candidates",
    "start_of",
    "stream_faults",
    "tokens",
    "validity_faults",
    "write_graph",
]

__getattr__ = later(__name__, {"checking": ("DocumentChecker", "DocumentFaults", "document_checker")})

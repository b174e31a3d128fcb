"""Schemas: the graph of element types, and the tree of paths that all else speaks in (``semantics.md`` 1 to 3)."""

from typing import TYPE_CHECKING

from heptox.doors import later
from heptox.schema.amending import (
    amend as amend,
    amended as amended,
    as_declared as as_declared,
)
from heptox.schema.copying import (
    copy_schema as copy_schema,
    packed_schema as packed_schema,
)
from heptox.schema.drawn_paths import DrawnPaths as DrawnPaths
from heptox.schema.dtd import (
    document_dtd as document_dtd,
    parse_dtd as parse_dtd,
    parse_dtd_roots as parse_dtd_roots,
    read_dtd as read_dtd,
    root_candidates as root_candidates,
)
from heptox.schema.element_types import (
    TEXT as TEXT,
    WILDCARD as WILDCARD,
)
from heptox.schema.generation import (
    SAMPLE_VALUES as SAMPLE_VALUES,
    LeafValues as LeafValues,
    random_document as random_document,
)
from heptox.schema.graph_text import (
    is_of_xsd as is_of_xsd,
    parse_graph as parse_graph,
    write_graph as write_graph,
)
from heptox.schema.groups import (
    Group as Group,
    alike_boxes as alike_boxes,
    groups as groups,
)
from heptox.schema.inference import (
    changes_to_admit as changes_to_admit,
)
from heptox.schema.merging import (
    by_name as by_name,
    of_parts as of_parts,
)
from heptox.schema.model import (
    Attribute as Attribute,
    AttributeType as AttributeType,
    Cardinality as Cardinality,
    Child as Child,
    Element as Element,
    KeyConstraint as KeyConstraint,
    KeyReference as KeyReference,
    Particle as Particle,
    SchemaGraph as SchemaGraph,
    ValueType as ValueType,
    tokens as tokens,
)
from heptox.schema.reading import (
    is_xsd as is_xsd,
    parse_schema as parse_schema,
    read_schema as read_schema,
    read_schema_roots as read_schema_roots,
)
from heptox.schema.references import (
    constrained_leaves as constrained_leaves,
    id_paths as id_paths,
    idref_paths as idref_paths,
    inferred_references as inferred_references,
    is_identifier as is_identifier,
    only_identifier as only_identifier,
)
from heptox.schema.renaming import (
    renamed as renamed,
)
from heptox.schema.selections import (
    COMPUTED as COMPUTED,
    SelectionTest as SelectionTest,
    Test as Test,
    contradict as contradict,
    is_selection as is_selection,
    plain as plain,
    quoted as quoted,
    selection_step as selection_step,
    split_selection as split_selection,
    written_step as written_step,
)
from heptox.schema.steps import (
    axis_matches as axis_matches,
)
from heptox.schema.tree import (
    ANYWHERE as ANYWHERE,
    Axis as Axis,
    Box as Box,
    Match as Match,
    Path as Path,
    SchemaTree as SchemaTree,
    nodes_up_to as nodes_up_to,
)
from heptox.schema.validation import (
    EdgeValidator as EdgeValidator,
    conform as conform,
    instance_attributes as instance_attributes,
    other_schema_fault as other_schema_fault,
    stream_faults as stream_faults,
    validity_faults as validity_faults,
)

if TYPE_CHECKING:
    from heptox.schema.checking import (
        DocumentChecker as DocumentChecker,
        DocumentFaults as DocumentFaults,
        document_checker as document_checker,
        xsd_checker as xsd_checker,
    )
    from heptox.schema.inference import (
        extend_dtd as extend_dtd,
        extend_xsd as extend_xsd,
        infer_dtd as infer_dtd,
        infer_xsd as infer_xsd,
    )

__getattr__ = later(__name__)

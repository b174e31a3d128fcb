"""The transformations of the report, each on a schema and, where rows change, on the rows of its documents."""

from __future__ import annotations

from typing import Final

from tests.support.scenarios.restructuring import (
    copy,
    flip,
    merge_by_nesting,
    merge_by_reference,
    nest,
    split_by_nesting,
    split_by_reference,
    unite,
    unnest,
)
from tests.support.scenarios.rewriting import (
    attribute_to_element,
    delete_node,
    element_to_attribute,
    insert_node,
    rename,
    tags_to_values,
    values_to_tags,
)
from tests.support.scenarios.site import Transformation

TRANSFORMATIONS: Final[tuple[Transformation, ...]] = (
    unnest, nest, flip, merge_by_nesting, split_by_nesting, merge_by_reference, split_by_reference, unite, copy,
    values_to_tags, tags_to_values, insert_node, delete_node, rename, element_to_attribute, attribute_to_element,
)  # fmt: skip
LIKELY: Final = (3, 3, 3, 5, 4, 5, 3, 5, 2, 2, 2, 1, 1, 1, 1, 1)
"""How likely each transformation is drawn: those more often that find a place more seldom."""

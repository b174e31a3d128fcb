"""Mappings between two schemas: arrows and boxes, groups, rules, inference and exchange (``semantics.md`` 2 to 5).

Exchange of documents at rest needs DuckDB, and suggesting arrows needs rapidfuzz; either is loaded when it is first
asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heptox.doors import later
from heptox.mapping.code_tables import ReadTable as ReadTable
from heptox.mapping.constants import constant_value as constant_value
from heptox.mapping.correspondences import Correspondence as Correspondence
from heptox.mapping.declarations import DeclaredSide as DeclaredSide, ReadSchema as ReadSchema, drawn_path as drawn_path
from heptox.mapping.element_values import is_selected as is_selected, values_at as values_at
from heptox.mapping.exchange import LARGE as LARGE, exchange as exchange
from heptox.mapping.image_names import image_prefixes as image_prefixes
from heptox.mapping.loading import (
    ArrowsText as ArrowsText,
    Examination as Examination,
    examine_arrows as examine_arrows,
    load_mapping as load_mapping,
    load_mapping_text as load_mapping_text,
    load_packed_mapping as load_packed_mapping,
    parse_mapping_arrows as parse_mapping_arrows,
    parse_mapping_rules as parse_mapping_rules,
    written_path as written_path,
)
from heptox.mapping.model import HeadNode as HeadNode, Mapping as Mapping, OptionalPart as OptionalPart, Rule as Rule
from heptox.mapping.paths import owning_stop as owning_stop, path_text as path_text
from heptox.mapping.printing import print_rule as print_rule, print_rules as print_rules
from heptox.mapping.receipts import (
    WITHOUT_MEANING as WITHOUT_MEANING,
    ExchangeReceipt as ExchangeReceipt,
    codes_by_table as codes_by_table,
)
from heptox.mapping.selected_nodes import (
    selects_or_computes as selects_or_computes,
    spoken_leaves as spoken_leaves,
    spoken_paths as spoken_paths,
    test_atoms as test_atoms,
    tested_paths as tested_paths,
    tested_values as tested_values,
    with_plain_nodes as with_plain_nodes,
)
from heptox.mapping.tracing import Trace as Trace, ValueTrace as ValueTrace

if TYPE_CHECKING:
    from heptox.mapping.stored_exchange import exchange_at_rest as exchange_at_rest, exchange_stored as exchange_stored
    from heptox.mapping.suggesting import (
        PROPOSERS as PROPOSERS,
        Kind as Kind,
        Names as Names,
        Proposal as Proposal,
        Proposer as Proposer,
        Reason as Reason,
        Slot as Slot,
        Suggestion as Suggestion,
        suggest as suggest,
    )


__getattr__ = later(__name__)

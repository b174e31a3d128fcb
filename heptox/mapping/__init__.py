"""Mappings between two schemas: arrows and boxes, groups, rules, inference and exchange (``semantics.md`` 2 to 5).

Exchange of documents at rest needs DuckDB, and suggesting arrows needs rapidfuzz; either is loaded when it is first
asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heptox.doors import later
from heptox.mapping.correspondences import Correspondence
from heptox.mapping.declarations import DeclaredSide, ReadSchema, drawn_path
from heptox.mapping.exchange import LARGE, exchange
from heptox.mapping.loading import (
    ArrowsText,
    Examination,
    examine_arrows,
    load_mapping,
    load_mapping_text,
    load_packed_mapping,
    parse_mapping_arrows,
    parse_mapping_rules,
)
from heptox.mapping.model import HeadNode, Mapping, OptionalPart, Rule
from heptox.mapping.paths import owning_stop, path_text
from heptox.mapping.printing import print_rule, print_rules
from heptox.mapping.tracing import Trace, ValueTrace

if TYPE_CHECKING:
    from heptox.mapping.stored_exchange import exchange_at_rest, exchange_stored
    from heptox.mapping.suggesting import Names, Reason, Suggestion, suggest

__all__ = [
    "LARGE",
    "ArrowsText",
    "Correspondence",
    "DeclaredSide",
    "Examination",
    "HeadNode",
    "Mapping",
    "Names",
    "OptionalPart",
    "ReadSchema",
    "Reason",
    "Rule",
    "Suggestion",
    "Trace",
    "ValueTrace",
    "drawn_path",
    "examine_arrows",
    "exchange",
    "exchange_at_rest",
    "exchange_stored",
    "load_mapping",
    "load_mapping_text",
    "load_packed_mapping",
    "owning_stop",
    "parse_mapping_arrows",
    "parse_mapping_rules",
    "path_text",
    "print_rule",
    "print_rules",
    "suggest",
]

__getattr__ = later(
    __name__,
    {
        "suggesting": ("Names", "Reason", "Suggestion", "suggest"),
        "stored_exchange": ("exchange_at_rest", "exchange_stored"),
    },
)

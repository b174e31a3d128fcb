"""Mappings between two schemas: arrows and boxes, groups, rules, inference and exchange (``semantics.md`` 2 to 5).

Exchange of documents at rest needs DuckDB, which is loaded when that is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from heptox.mapping.exchange import LARGE, exchange
from heptox.mapping.loading import load_mapping, parse_mapping_arrows, parse_mapping_rules
from heptox.mapping.model import HeadNode, Mapping, Reference, Rule
from heptox.mapping.printing import print_rules

if TYPE_CHECKING:
    from heptox.mapping.stored_exchange import exchange_at_rest, exchange_stored

__all__ = [
    "LARGE",
    "HeadNode",
    "Mapping",
    "Reference",
    "Rule",
    "exchange",
    "exchange_at_rest",
    "exchange_stored",
    "load_mapping",
    "parse_mapping_arrows",
    "parse_mapping_rules",
    "print_rules",
]


def __getattr__(name: str) -> object:
    if name not in ("exchange_at_rest", "exchange_stored"):
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module("heptox.mapping.stored_exchange"), name)

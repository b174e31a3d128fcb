"""Mappings between two schemas: arrows and boxes, groups, rules, inference and exchange (``semantics.md`` 2 to 5)."""

from heptox.mapping.exchange import exchange
from heptox.mapping.loading import load_mapping, parse_mapping_arrows, parse_mapping_rules
from heptox.mapping.model import HeadNode, Mapping, Reference, Rule
from heptox.mapping.printing import print_rules

__all__ = [
    "HeadNode",
    "Mapping",
    "Reference",
    "Rule",
    "exchange",
    "load_mapping",
    "parse_mapping_arrows",
    "parse_mapping_rules",
    "print_rules",
]

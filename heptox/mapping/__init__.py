"""Mappings between two schemas: arrows and boxes, groups, rules, inference and exchange (``semantics.md`` 2 to 5)."""

from heptox.mapping.model import HeadNode, Mapping, Reference, Rule

__all__ = ["HeadNode", "Mapping", "Reference", "Rule"]

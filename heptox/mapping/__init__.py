"""Mappings between two schemas: arrows and boxes, groups, rules, inference and exchange (``semantics.md`` 2 to 5)."""

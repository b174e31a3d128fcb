"""Joins of tree patterns: the one model of a query, its normal form and containment (``semantics.md`` sections 7 and
8).
"""

from heptox.pattern.closure import Closure, flipped, holds, number
from heptox.pattern.constraints import Constraints, Dependency
from heptox.pattern.containment import contained, fresh_name, member_contained
from heptox.pattern.minimise import minimise, minimise_member, without_contained
from heptox.pattern.model import (
    TAG,
    Absence,
    Atom,
    AttributeItem,
    Comparison,
    DeepEqual,
    ElementItem,
    LeafItem,
    Member,
    Number,
    Operand,
    Operator,
    Presence,
    Query,
    Shape,
    Template,
    Term,
    Text,
    Variable,
)
from heptox.pattern.normalise import normalise
from heptox.pattern.rewrite import Content, atom_terms, map_atom, map_template, merge, ordered, rename, template_terms

__all__ = [
    "TAG",
    "Absence",
    "Atom",
    "AttributeItem",
    "Closure",
    "Comparison",
    "Constraints",
    "Content",
    "DeepEqual",
    "Dependency",
    "ElementItem",
    "LeafItem",
    "Member",
    "Number",
    "Operand",
    "Operator",
    "Presence",
    "Query",
    "Shape",
    "Template",
    "Term",
    "Text",
    "Variable",
    "atom_terms",
    "contained",
    "flipped",
    "fresh_name",
    "holds",
    "map_atom",
    "map_template",
    "member_contained",
    "merge",
    "minimise",
    "minimise_member",
    "normalise",
    "number",
    "ordered",
    "rename",
    "template_terms",
    "without_contained",
]

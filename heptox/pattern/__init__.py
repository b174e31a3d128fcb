"""Joins of tree patterns: the one model of a query, its normal form and containment (``semantics.md`` sections 7 and
8).
"""

from heptox.pattern.closure import Closure
from heptox.pattern.constraints import Constraints, Dependency
from heptox.pattern.containment import contained, fresh_name, member_contained, surely_contained
from heptox.pattern.minimise import minimise_member, without_contained
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
from heptox.pattern.values import COMPARE, Numeric, double, flipped, holds, literal

__all__ = [
    "COMPARE",
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
    "Numeric",
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
    "double",
    "flipped",
    "fresh_name",
    "holds",
    "literal",
    "map_atom",
    "map_template",
    "member_contained",
    "merge",
    "minimise_member",
    "normalise",
    "ordered",
    "rename",
    "surely_contained",
    "template_terms",
    "without_contained",
]

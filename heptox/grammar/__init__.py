"""Text and syntax: the query fragment, arrows and rules; lowering to patterns and printing as XQuery.

``syntax`` is the module of the query's syntax tree. Subscriptions, operators and the code of queries are loaded when
they are first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heptox.doors import later
from heptox.grammar import query as syntax
from heptox.grammar.arrows import (
    Arrow,
    BoxDeclaration,
    Declaration,
    Entity,
    JoinDeclaration,
    KeyDeclaration,
    Name,
    NamespaceDeclaration,
    Reading,
    ReferenceDeclaration,
    SchemaDeclaration,
    Side,
    Statement,
    parse_arrow_lines,
)
from heptox.grammar.asked import check_names, doubtful_names, unknown_steps
from heptox.grammar.line_files import SchemaPath
from heptox.grammar.lower import Lowering, lower
from heptox.grammar.matching import step_matches
from heptox.grammar.name_table import NO_NAMES, NameTable
from heptox.grammar.parsing import fault_at
from heptox.grammar.query import Expression, Node
from heptox.grammar.query_parser import parse_query
from heptox.grammar.query_printer import print_query
from heptox.grammar.query_prolog import declared_namespaces, prolog, written_query
from heptox.grammar.render import render
from heptox.grammar.rules import (
    BodyTree,
    ConditionText,
    Constant,
    HeadLeaf,
    HeadTree,
    Identity,
    Label,
    LeafCondition,
    NodeAbsence,
    NodeTest,
    RuleCondition,
    RulesFile,
    RuleText,
    SurrogateArgument,
    SurrogateTerm,
    node_value,
    parse_rule_parts,
    print_rule,
    print_rules_file,
)
from heptox.grammar.spelling import may_be_tag, near_name

if TYPE_CHECKING:
    from heptox.grammar.codec import Encoded, decode_query, encode_query
    from heptox.grammar.declared_lines import bound_prefix, declared_prefixes
    from heptox.grammar.operators import OperatorStatement, parse_operator_lines, print_operators
    from heptox.grammar.subscription import parse_subscription, with_prefixes, without_prefixes

__all__ = [
    "NO_NAMES",
    "Arrow",
    "BodyTree",
    "BoxDeclaration",
    "ConditionText",
    "Constant",
    "Declaration",
    "Encoded",
    "Entity",
    "Expression",
    "HeadLeaf",
    "HeadTree",
    "Identity",
    "JoinDeclaration",
    "KeyDeclaration",
    "Label",
    "LeafCondition",
    "Lowering",
    "Name",
    "NameTable",
    "NamespaceDeclaration",
    "Node",
    "NodeAbsence",
    "NodeTest",
    "OperatorStatement",
    "Reading",
    "ReferenceDeclaration",
    "RuleCondition",
    "RuleText",
    "RulesFile",
    "SchemaDeclaration",
    "SchemaPath",
    "Side",
    "Statement",
    "SurrogateArgument",
    "SurrogateTerm",
    "bound_prefix",
    "check_names",
    "declared_namespaces",
    "declared_prefixes",
    "decode_query",
    "doubtful_names",
    "encode_query",
    "fault_at",
    "lower",
    "may_be_tag",
    "near_name",
    "node_value",
    "parse_arrow_lines",
    "parse_operator_lines",
    "parse_query",
    "parse_rule_parts",
    "parse_subscription",
    "print_operators",
    "print_query",
    "print_rule",
    "print_rules_file",
    "prolog",
    "render",
    "step_matches",
    "syntax",
    "unknown_steps",
    "with_prefixes",
    "without_prefixes",
    "written_query",
]

__getattr__ = later(
    __name__,
    {
        "codec": ("Encoded", "decode_query", "encode_query"),
        "operators": ("OperatorStatement", "parse_operator_lines", "print_operators"),
        "declared_lines": ("bound_prefix", "declared_prefixes"),
        "subscription": ("parse_subscription", "with_prefixes", "without_prefixes"),
    },
)

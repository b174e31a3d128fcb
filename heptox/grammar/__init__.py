"""Text and syntax: the query fragment, arrows and rules; lowering to patterns and printing as XQuery.

``syntax`` is the module of the query's syntax tree. Subscriptions, operators and the code of queries are loaded when
they are first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heptox.doors import later
from heptox.grammar import query
from heptox.grammar.arrow_parts import LinePart as LinePart, PartKind as PartKind, line_parts as line_parts
from heptox.grammar.arrows import (
    Arrow as Arrow,
    BoxDeclaration as BoxDeclaration,
    Declaration as Declaration,
    Entity as Entity,
    JoinDeclaration as JoinDeclaration,
    KeyDeclaration as KeyDeclaration,
    Name as Name,
    NamespaceDeclaration as NamespaceDeclaration,
    Reading as Reading,
    ReferenceDeclaration as ReferenceDeclaration,
    SchemaDeclaration as SchemaDeclaration,
    Side as Side,
    Statement as Statement,
    parse_arrow_lines as parse_arrow_lines,
)
from heptox.grammar.asked import (
    check_names as check_names,
    doubtful_names as doubtful_names,
    unknown_steps as unknown_steps,
)
from heptox.grammar.computed_terms import unsaid_computed as unsaid_computed
from heptox.grammar.counted import (
    ITEM as ITEM,
    NODES as NODES,
    ONCE as ONCE,
    ROW as ROW,
    VALUE as VALUE,
    counted_query as counted_query,
    each_item as each_item,
    uncounted as uncounted,
)
from heptox.grammar.function_kinds import type_of as type_of
from heptox.grammar.function_terms import FoundTerm as FoundTerm, FunctionTerms as FunctionTerms
from heptox.grammar.line_files import SchemaPath as SchemaPath
from heptox.grammar.locations import holds_elements as holds_elements
from heptox.grammar.lower import Lowering as Lowering, lower as lower
from heptox.grammar.matching import step_matches as step_matches
from heptox.grammar.name_table import NO_NAMES as NO_NAMES, NameTable as NameTable
from heptox.grammar.parsing import fault_at as fault_at
from heptox.grammar.query import Expression as Expression, Node as Node
from heptox.grammar.query_parser import QueryText as QueryText, parse_query as parse_query
from heptox.grammar.query_printer import print_query as print_query
from heptox.grammar.query_prolog import (
    declared_namespaces as declared_namespaces,
    prolog as prolog,
    written_query as written_query,
)
from heptox.grammar.render import render as render
from heptox.grammar.rules import (
    BodyTree as BodyTree,
    ConditionText as ConditionText,
    Constant as Constant,
    HeadLeaf as HeadLeaf,
    HeadTree as HeadTree,
    Identity as Identity,
    Label as Label,
    LeafCondition as LeafCondition,
    NodeAbsence as NodeAbsence,
    NodeTest as NodeTest,
    RuleCondition as RuleCondition,
    RulesFile as RulesFile,
    RuleText as RuleText,
    RuleValue as RuleValue,
    SurrogateArgument as SurrogateArgument,
    SurrogateTerm as SurrogateTerm,
    node_value as node_value,
    parse_rule_parts as parse_rule_parts,
    path_of_absence as path_of_absence,
    print_rule as print_rule,
    print_rules_file as print_rules_file,
)
from heptox.grammar.spelling import may_be_tag as may_be_tag, near_name as near_name
from heptox.grammar.term_paths import steps_of as steps_of
from heptox.grammar.written_values import ComputedValue as ComputedValue, value_text as value_text

if TYPE_CHECKING:
    from heptox.grammar.codec import Encoded as Encoded, decode_query as decode_query, encode_query as encode_query
    from heptox.grammar.declared_lines import bound_prefix as bound_prefix, declared_prefixes as declared_prefixes
    from heptox.grammar.operators import (
        OperatorStatement as OperatorStatement,
        parse_operator_lines as parse_operator_lines,
        print_operators as print_operators,
    )
    from heptox.grammar.subscription import (
        parse_subscription as parse_subscription,
        with_prefixes as with_prefixes,
        without_prefixes as without_prefixes,
    )


syntax = query

__getattr__ = later(__name__)

"""Joins of tree patterns: the one model of a query, its normal form and containment (``semantics.md`` sections 7 and
8).
"""

from heptox.pattern.absent_values import (
    is_own as is_own,
    may_be_absent as may_be_absent,
    needed_terms as needed_terms,
    or_empty as or_empty,
    present_terms as present_terms,
    with_leaves as with_leaves,
    within_or_empty as within_or_empty,
)
from heptox.pattern.closure import Closure as Closure
from heptox.pattern.constraints import Constraints as Constraints
from heptox.pattern.containment import (
    NormalForm as NormalForm,
    NormalForms as NormalForms,
    contained as contained,
    contains_all as contains_all,
    fresh_name as fresh_name,
)
from heptox.pattern.counting import (
    map_identities as map_identities,
    node_identity as node_identity,
)
from heptox.pattern.inverses import Inverse as Inverse
from heptox.pattern.minimise import (
    minimise_member as minimise_member,
    without_cases as without_cases,
    without_contained as without_contained,
)
from heptox.pattern.model import (
    NODE as NODE,
    TAG as TAG,
    Absence as Absence,
    Atom as Atom,
    AttributeItem as AttributeItem,
    Comparison as Comparison,
    DeepEqual as DeepEqual,
    ElementItem as ElementItem,
    LeafItem as LeafItem,
    Member as Member,
    NestedItem as NestedItem,
    NoNode as NoNode,
    Number as Number,
    Operand as Operand,
    Presence as Presence,
    Query as Query,
    SameValue as SameValue,
    Shape as Shape,
    Template as Template,
    Term as Term,
    Text as Text,
    Variable as Variable,
)
from heptox.pattern.nested import (
    joined_parts as joined_parts,
    nested_part as nested_part,
    with_contracted_parts as with_contracted_parts,
)
from heptox.pattern.normalise import normalise as normalise
from heptox.pattern.operators import (
    FUNCTIONS as FUNCTIONS,
    OPERATORS as OPERATORS,
    ComparisonOperator as ComparisonOperator,
    Operator as Operator,
    Sign as Sign,
    flipped as flipped,
    is_sign as is_sign,
)
from heptox.pattern.rewrite import (
    Content as Content,
    atom_terms as atom_terms,
    atom_variables as atom_variables,
    computes as computes,
    map_atom as map_atom,
    map_nested as map_nested,
    map_template as map_template,
    merge as merge,
    merged_names as merged_names,
    nested_items as nested_items,
    ordered as ordered,
    rename as rename,
    template_terms as template_terms,
)
from heptox.pattern.tree_pattern import (
    ANY_ATTRIBUTE as ANY_ATTRIBUTE,
    ANY_ELEMENT as ANY_ELEMENT,
    TEXT as TEXT,
    Axis as Axis,
    PatternNode as PatternNode,
    TreePattern as TreePattern,
    ValueTest as ValueTest,
    is_leaf_test as is_leaf_test,
    printed_constant as printed_constant,
    printed_test as printed_test,
)
from heptox.pattern.value_expression import (
    NO_VALUE as NO_VALUE,
    Call as Call,
    Constant as Constant,
    Leaf as Leaf,
    Lookup as Lookup,
    StringJoin as StringJoin,
    ValueExpression as ValueExpression,
    computed_parts as computed_parts,
    computed_step as computed_step,
    constant_step as constant_step,
    is_computed as is_computed,
    is_constant as is_constant,
    leaf_paths as leaf_paths,
    parts as parts,
    substituted as substituted,
    value_expression as value_expression,
    with_table_names as with_table_names,
    without_absent as without_absent,
)
from heptox.pattern.value_functions import (
    SIGNS as SIGNS,
    VALUE_FUNCTIONS as VALUE_FUNCTIONS,
    form_of as form_of,
)
from heptox.pattern.value_inverses import (
    VALUE as VALUE,
    inverse as inverse,
    is_one_to_one as is_one_to_one,
    preimage as preimage,
)
from heptox.pattern.value_meaning import (
    SqlParts as SqlParts,
    evaluate_expression as evaluate_expression,
    evaluator as evaluator,
    expression_in_sql as expression_in_sql,
    implied_leaves as implied_leaves,
    is_total as is_total,
    needed_leaves as needed_leaves,
)
from heptox.pattern.value_types import CASTS as CASTS, Type as Type, ValueFunction as ValueFunction
from heptox.pattern.value_typing import (
    argument_types as argument_types,
    expression_faults as expression_faults,
    form_of_call as form_of_call,
    is_cast as is_cast,
    result_type as result_type,
)
from heptox.pattern.values import Numeric as Numeric, double as double, holds as holds, literal as literal
from heptox.pattern.virtual_steps import selecting as selecting

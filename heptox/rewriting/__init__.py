"""Rewriting: documents that were written under one schema, for who speaks another (``dissemination.md``, Rewriting).

What needs numpy is loaded when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heptox.doors import later
from heptox.rewriting.as_written import patterns_as_written as patterns_as_written
from heptox.rewriting.documents import Rewriter as Rewriter
from heptox.rewriting.inference import TargetNode as TargetNode, infer_operators as infer_operators
from heptox.rewriting.mapping_program import (
    MappingProgram as MappingProgram,
    mapping_program as mapping_program,
    paper_program as paper_program,
)
from heptox.rewriting.operators import (
    Arrange as Arrange,
    Dissolve as Dissolve,
    Downgrade as Downgrade,
    Drop as Drop,
    Insert as Insert,
    NodeId as NodeId,
    Operator as Operator,
    Prune as Prune,
    Rename as Rename,
    Swap as Swap,
    ToAttribute as ToAttribute,
    ToElement as ToElement,
    Upgrade as Upgrade,
)
from heptox.rewriting.program import Program as Program
from heptox.rewriting.program_text import (
    load_program as load_program,
    parse_program as parse_program,
    print_program as print_program,
)
from heptox.rewriting.scopes import scopes as scopes
from heptox.rewriting.streaming import MOST_HELD as MOST_HELD, StreamingRewriter as StreamingRewriter
from heptox.rewriting.translated import (
    TranslatedQuery as TranslatedQuery,
    TranslatedSubscription as TranslatedSubscription,
    translate_query as translate_query,
    translate_subscription as translate_subscription,
    untranslated_query as untranslated_query,
)
from heptox.rewriting.working_tree import WorkingTree as WorkingTree

if TYPE_CHECKING:
    from heptox.rewriting.domain import (
        DomainMatcher as DomainMatcher,
        Publisher as Publisher,
        Strategy as Strategy,
        StrategyChoice as StrategyChoice,
    )


__getattr__ = later(__name__)

"""Rewriting: documents that were written under one schema, for who speaks another (``dissemination.md``, Rewriting).

What needs numpy is loaded when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heptox.doors import later
from heptox.rewriting.as_written import patterns_as_written
from heptox.rewriting.documents import Rewriter
from heptox.rewriting.inference import TargetNode, infer_operators
from heptox.rewriting.mapping_program import MappingProgram, mapping_program, paper_program
from heptox.rewriting.operators import (
    Arrange,
    Dissolve,
    Downgrade,
    Drop,
    Insert,
    NodeId,
    Operator,
    Prune,
    Rename,
    Swap,
    ToAttribute,
    ToElement,
    Upgrade,
)
from heptox.rewriting.program import Program
from heptox.rewriting.program_text import load_program, parse_program, print_program
from heptox.rewriting.scopes import scopes
from heptox.rewriting.streaming import MOST_HELD, StreamingRewriter
from heptox.rewriting.translated import (
    TranslatedQuery,
    TranslatedSubscription,
    translate_query,
    translate_subscription,
    untranslated_query,
)
from heptox.rewriting.working_tree import WorkingTree

if TYPE_CHECKING:
    from heptox.rewriting.domain import DomainMatcher, Publisher, Strategy, StrategyChoice

__all__ = [
    "MOST_HELD",
    "Arrange",
    "Dissolve",
    "DomainMatcher",
    "Downgrade",
    "Drop",
    "Insert",
    "MappingProgram",
    "NodeId",
    "Operator",
    "Program",
    "Prune",
    "Publisher",
    "Rename",
    "Rewriter",
    "Strategy",
    "StrategyChoice",
    "StreamingRewriter",
    "Swap",
    "TargetNode",
    "ToAttribute",
    "ToElement",
    "TranslatedQuery",
    "TranslatedSubscription",
    "Upgrade",
    "WorkingTree",
    "infer_operators",
    "load_program",
    "mapping_program",
    "paper_program",
    "parse_program",
    "patterns_as_written",
    "print_program",
    "scopes",
    "translate_query",
    "translate_subscription",
    "untranslated_query",
]

__getattr__ = later(__name__, {"domain": ("DomainMatcher", "Publisher", "Strategy", "StrategyChoice")})

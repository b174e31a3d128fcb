"""Rewriting: documents that were written under one schema, for who speaks another (``dissemination.md``, Rewriting)."""

from heptox.dissemination.rewriting.documents import Rewriter
from heptox.dissemination.rewriting.inference import TargetNode, infer_operators
from heptox.dissemination.rewriting.operators import (
    Arrange,
    Dissolve,
    Downgrade,
    Drop,
    Exchange,
    Insert,
    NodeId,
    Operator,
    Prune,
    Rename,
    ToAttribute,
    ToElement,
    Upgrade,
)
from heptox.dissemination.rewriting.program import Program
from heptox.dissemination.rewriting.scopes import Scopes, scopes
from heptox.dissemination.rewriting.streaming import MOST_HELD, StreamingRewriter
from heptox.dissemination.rewriting.working_tree import WorkingTree

__all__ = [
    "MOST_HELD",
    "Arrange",
    "Dissolve",
    "Downgrade",
    "Drop",
    "Exchange",
    "Insert",
    "NodeId",
    "Operator",
    "Program",
    "Prune",
    "Rename",
    "Rewriter",
    "Scopes",
    "StreamingRewriter",
    "TargetNode",
    "ToAttribute",
    "ToElement",
    "Upgrade",
    "WorkingTree",
    "infer_operators",
    "scopes",
]

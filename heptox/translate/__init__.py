"""Queries in other words: translation by unfolding over a mapping's rules (``semantics.md`` sections 6 to 9)."""

from heptox.translate.explanation import (
    ExplainedLoss,
    ExplainedMember,
    ExplainedStep,
    Explanation,
    RuleUse,
    explain,
    losses,
)
from heptox.translate.knowledge import source_constraints, with_wholes
from heptox.translate.model import Direction, Loss, Step, Translation
from heptox.translate.path import Hop, HopTranslation, PathTranslation, translate_path
from heptox.translate.pipeline import RULES, translate

__all__ = [
    "RULES",
    "Direction",
    "ExplainedLoss",
    "ExplainedMember",
    "ExplainedStep",
    "Explanation",
    "Hop",
    "HopTranslation",
    "Loss",
    "PathTranslation",
    "RuleUse",
    "Step",
    "Translation",
    "explain",
    "losses",
    "source_constraints",
    "translate",
    "translate_path",
    "with_wholes",
]

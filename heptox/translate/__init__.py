"""Queries in other words: translation against and along a mapping's rules (``semantics.md`` sections 6 to 9)."""

from heptox.translate.backward import backward
from heptox.translate.explanation import (
    ExplainedLoss,
    ExplainedMember,
    ExplainedStep,
    Explanation,
    RuleUse,
    explain,
    losses,
)
from heptox.translate.forward import forward
from heptox.translate.knowledge import image_constraints, source_constraints, with_wholes
from heptox.translate.model import Check, Direction, Loss, Step, Translation, no_check
from heptox.translate.path import Hop, HopTranslation, PathTranslation, translate_path
from heptox.translate.pipeline import translate

__all__ = [
    "Check",
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
    "backward",
    "explain",
    "forward",
    "image_constraints",
    "losses",
    "no_check",
    "source_constraints",
    "translate",
    "translate_path",
    "with_wholes",
]

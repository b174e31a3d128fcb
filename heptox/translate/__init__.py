"""Queries in other words: translation by unfolding over a mapping's rules (``semantics.md`` sections 6 to 9)."""

from heptox.translate.expand import gathers as gathers
from heptox.translate.explanation import (
    ExplainedLoss as ExplainedLoss,
    ExplainedMember as ExplainedMember,
    ExplainedStep as ExplainedStep,
    Explanation as Explanation,
    RuleUse as RuleUse,
    explain as explain,
    losses as losses,
)
from heptox.translate.knowledge import source_constraints as source_constraints, with_wholes as with_wholes
from heptox.translate.model import Direction as Direction, Loss as Loss, Step as Step, Translation as Translation
from heptox.translate.path import (
    Hop as Hop,
    HopTranslation as HopTranslation,
    PathTranslation as PathTranslation,
    translate_path as translate_path,
)
from heptox.translate.pipeline import RULES as RULES, translate as translate

"""Queries in other words: translation against and along a mapping's rules (``semantics.md`` sections 6 to 9)."""

from heptox.translate.backward import backward
from heptox.translate.forward import forward
from heptox.translate.knowledge import image_constraints, source_constraints
from heptox.translate.model import Direction, Loss, Step, Translation
from heptox.translate.pipeline import translate

__all__ = [
    "Direction",
    "Loss",
    "Step",
    "Translation",
    "backward",
    "forward",
    "image_constraints",
    "source_constraints",
    "translate",
]

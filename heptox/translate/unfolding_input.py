"""What an unfolding works on."""

from __future__ import annotations

from dataclasses import dataclass

from heptox.checks import Check
from heptox.mapping import Mapping
from heptox.pattern import Constraints
from heptox.translate.model import Direction


@dataclass(frozen=True, slots=True)
class UnfoldingInput:
    """A mapping, with what holds for the documents of its source; ``to`` is the side that answers, which hints name.
    ``check`` is called again and again, and raises what ends the work.
    """

    mapping: Mapping
    sources: Constraints
    check: Check
    to: Direction

"""Arrows that a mapping between two schemas probably has, each with a confidence and the reasons for it.

Nothing is learned and nothing is fetched: what counts is the names of both schemas, what stands around a leaf, its
type, and the values of sample documents. The string similarity of rapidfuzz is loaded with this package.
"""

from heptox.mapping.suggesting.model import (
    CodeTable as CodeTable,
    Kind as Kind,
    Reason as Reason,
    Sample as Sample,
    Suggestion as Suggestion,
)
from heptox.mapping.suggesting.names import Names as Names
from heptox.mapping.suggesting.proposers import PROPOSERS as PROPOSERS
from heptox.mapping.suggesting.slots import Proposal as Proposal, Proposer as Proposer, Slot as Slot
from heptox.mapping.suggesting.suggesting import THRESHOLD as THRESHOLD, suggest as suggest

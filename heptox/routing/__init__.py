"""Routing: which neighbour needs a subscription or a document (``routing.md``).

Here are the decisions, without I/O: what is advertised, whether a subscription overlaps it, whether one
subscription covers another, and which of very many no other covers.
"""

from heptox.routing.advertisement import Advertisement, ElementType, advertised
from heptox.routing.conformity import Conformity
from heptox.routing.covering_index import Change, CoveringIndex, Patterns
from heptox.routing.encoding import MOST_ADVERTISEMENT_BYTES, digest, from_bytes, to_bytes
from heptox.routing.implication import ValueConstraints
from heptox.routing.linear import branch_paths, linear_path
from heptox.routing.merger import MergedPath, NamesStep, union_of_names
from heptox.routing.merging import (
    PERFECT,
    Merger,
    Rule,
    counted,
    imperfect_mergers,
    merged,
)
from heptox.routing.overlap import Overlaps, Remembered
from heptox.routing.path_homomorphism import (
    covers_any_document,
    gap_form,
)
from heptox.routing.patience import UndecidedError
from heptox.routing.pattern_homomorphism import homomorphism

__all__ = [
    "MOST_ADVERTISEMENT_BYTES",
    "PERFECT",
    "Advertisement",
    "Change",
    "Conformity",
    "CoveringIndex",
    "ElementType",
    "MergedPath",
    "Merger",
    "NamesStep",
    "Overlaps",
    "Patterns",
    "Remembered",
    "Rule",
    "UndecidedError",
    "ValueConstraints",
    "advertised",
    "branch_paths",
    "counted",
    "covers_any_document",
    "digest",
    "from_bytes",
    "gap_form",
    "homomorphism",
    "imperfect_mergers",
    "linear_path",
    "merged",
    "to_bytes",
    "union_of_names",
]

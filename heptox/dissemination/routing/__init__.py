"""Routing: which neighbour needs a subscription or a document (``routing.md``).

Here are the decisions, without I/O: what is advertised, whether a subscription overlaps it, whether one
subscription covers another, and which of very many no other covers.
"""

from heptox.dissemination.routing.advertised_documents import Avoidance, ValidDocument, uncovered_document
from heptox.dissemination.routing.advertised_paths import uncovered_path
from heptox.dissemination.routing.advertisement import Advertisement, ElementType, advertised
from heptox.dissemination.routing.conformity import Conformity
from heptox.dissemination.routing.counterexamples import MOST_STEPS, UndecidedError, shortest_counterexample
from heptox.dissemination.routing.covering import Covering, Coverings, Strength
from heptox.dissemination.routing.covering_index import Change, CoveringIndex, Edge, Patterns
from heptox.dissemination.routing.display import shown
from heptox.dissemination.routing.encoding import MOST_ADVERTISEMENT_BYTES, digest, from_bytes, to_bytes
from heptox.dissemination.routing.implication import Known
from heptox.dissemination.routing.linear import branch_paths, linear_path
from heptox.dissemination.routing.merger import MergedPath, NamesStep, union_of_names
from heptox.dissemination.routing.merging import (
    LONGEST_COUNTED,
    PERFECT,
    Counted,
    Merger,
    Rule,
    counted,
    imperfect_mergers,
    merged,
)
from heptox.dissemination.routing.overlap import Overlaps, Remembered
from heptox.dissemination.routing.path_homomorphism import (
    GapForm,
    Labelled,
    PathShape,
    covers_any_document,
    gap_form,
    path_shape,
)
from heptox.dissemination.routing.pattern_homomorphism import homomorphism
from heptox.dissemination.routing.words import RootPath

__all__ = [
    "LONGEST_COUNTED",
    "MOST_ADVERTISEMENT_BYTES",
    "MOST_STEPS",
    "PERFECT",
    "Advertisement",
    "Avoidance",
    "Change",
    "Conformity",
    "Counted",
    "Covering",
    "CoveringIndex",
    "Coverings",
    "Edge",
    "ElementType",
    "GapForm",
    "Known",
    "Labelled",
    "MergedPath",
    "Merger",
    "NamesStep",
    "Overlaps",
    "PathShape",
    "Patterns",
    "Remembered",
    "RootPath",
    "Rule",
    "Strength",
    "UndecidedError",
    "ValidDocument",
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
    "path_shape",
    "shortest_counterexample",
    "shown",
    "to_bytes",
    "uncovered_document",
    "uncovered_path",
    "union_of_names",
]

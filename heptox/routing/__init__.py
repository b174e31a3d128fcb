"""Routing: which neighbour needs a subscription or a document (``routing.md``).

Here are the decisions, without I/O: what is advertised, whether a subscription overlaps it, whether one
subscription covers another, and which of very many no other covers.
"""

from heptox.routing.advertisement import (
    Advertisement as Advertisement,
    ElementType as ElementType,
    advertised as advertised,
)
from heptox.routing.conformity import Conformity as Conformity
from heptox.routing.covering_index import Change as Change, CoveringIndex as CoveringIndex, Patterns as Patterns
from heptox.routing.encoding import (
    MOST_ADVERTISEMENT_BYTES as MOST_ADVERTISEMENT_BYTES,
    digest as digest,
    from_bytes as from_bytes,
    to_bytes as to_bytes,
)
from heptox.routing.implication import ValueConstraints as ValueConstraints
from heptox.routing.linear import linear_path as linear_path
from heptox.routing.merger import MergedPath as MergedPath, NamesStep as NamesStep, union_of_names as union_of_names
from heptox.routing.merging import (
    PERFECT as PERFECT,
    Merger as Merger,
    Rule as Rule,
    counted as counted,
    imperfect_mergers as imperfect_mergers,
    merged as merged,
)
from heptox.routing.overlap import Overlaps as Overlaps, Remembered as Remembered
from heptox.routing.path_homomorphism import covers_any_document as covers_any_document, gap_form as gap_form
from heptox.routing.patience import UndecidedError as UndecidedError
from heptox.routing.pattern_homomorphism import homomorphism as homomorphism

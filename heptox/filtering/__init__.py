"""Many XPath filters over large documents, with what they select (``dissemination.md``, chunking; ``chunking.md``).

Filters are cleaned against a schema and put into a query tree; a chunking scheme says which of them run on which part
of a document; a document is cut accordingly while it is read; the parts are small, and are evaluated in any order, here
or elsewhere. The results are those of every filter on the whole document.
"""

from heptox.filtering.chunker import (
    MOST_HELD,
    PIECE,
    Chunker,
    ChunkText,
    DocumentTooLargeError,
    Projection,
)
from heptox.filtering.cleaning import Branch, CleanedFilter, clean
from heptox.filtering.cost import Estimate, choose, estimates, sample_sizes
from heptox.filtering.drawing import draw_scheme
from heptox.filtering.evaluation import Failure, evaluated_tree
from heptox.filtering.filter_file import FilterFile, FilterLine, read_filter_file
from heptox.filtering.filtering import DocumentFilter, Evaluating, PlanEvaluator, SeekableSource
from heptox.filtering.filters import FilteringPlan, FilterSet, Situation
from heptox.filtering.fragments import Fragment, Kind
from heptox.filtering.parts import POTPOURRI, WHOLE, Part, Query
from heptox.filtering.processes import ProcessEvaluator
from heptox.filtering.query_tree import QueryNode, QueryTree, Sizes
from heptox.filtering.reading import Version, read_filter
from heptox.filtering.result_folder import ResultFolder
from heptox.filtering.results import PartEvaluator, Result
from heptox.filtering.schema_steps import SchemaSteps, TagPath
from heptox.filtering.scheme import Chunk, ChunkingScheme, adapted, chunking_scheme

__all__ = [
    "MOST_HELD",
    "PIECE",
    "POTPOURRI",
    "WHOLE",
    "Branch",
    "Chunk",
    "ChunkText",
    "Chunker",
    "ChunkingScheme",
    "CleanedFilter",
    "DocumentFilter",
    "DocumentTooLargeError",
    "Estimate",
    "Evaluating",
    "Failure",
    "FilterFile",
    "FilterLine",
    "FilterSet",
    "FilteringPlan",
    "Fragment",
    "Kind",
    "Part",
    "PartEvaluator",
    "PlanEvaluator",
    "ProcessEvaluator",
    "Projection",
    "Query",
    "QueryNode",
    "QueryTree",
    "Result",
    "ResultFolder",
    "SchemaSteps",
    "SeekableSource",
    "Situation",
    "Sizes",
    "TagPath",
    "Version",
    "adapted",
    "choose",
    "chunking_scheme",
    "clean",
    "draw_scheme",
    "estimates",
    "evaluated_tree",
    "read_filter",
    "read_filter_file",
    "sample_sizes",
]

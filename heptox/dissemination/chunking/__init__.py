"""Many XPath filters over large documents, with what they select (``dissemination.md``, chunking; ``chunking.md``).

Filters are cleaned against a schema and put into a query tree; a chunking scheme says which of them run on which part
of a document; a document is cut accordingly while it is read; the parts are small, and are evaluated in any order, here
or elsewhere. The results are those of every filter on the whole document.
"""

from heptox.dissemination.chunking.chunker import MOST_HELD, PIECE, Chunker, ChunkText, Projection
from heptox.dissemination.chunking.cleaning import Branch, CleanedFilter, clean
from heptox.dissemination.chunking.cost import Estimate, choose, estimates, sample_sizes
from heptox.dissemination.chunking.drawing import draw_scheme
from heptox.dissemination.chunking.evaluation import Failure, evaluated_tree
from heptox.dissemination.chunking.filter_file import FilterLine, read_filter_lines
from heptox.dissemination.chunking.filtering import DocumentFilter, Evaluating, PlanEvaluator, SeekableSource
from heptox.dissemination.chunking.filters import FilteringPlan, FilterSet, Situation
from heptox.dissemination.chunking.fragments import Fragment, Kind
from heptox.dissemination.chunking.parts import POTPOURRI, WHOLE, Part, Query
from heptox.dissemination.chunking.processes import ProcessEvaluator
from heptox.dissemination.chunking.query_tree import QueryNode, QueryTree, Sizes
from heptox.dissemination.chunking.reading import Version, read_filter
from heptox.dissemination.chunking.result_folder import ResultFolder
from heptox.dissemination.chunking.results import PartEvaluator, Result
from heptox.dissemination.chunking.schema_steps import SchemaSteps, TagPath
from heptox.dissemination.chunking.scheme import Chunk, ChunkingScheme, adapted, chunking_scheme

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
    "Estimate",
    "Evaluating",
    "Failure",
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
    "read_filter_lines",
    "sample_sizes",
]

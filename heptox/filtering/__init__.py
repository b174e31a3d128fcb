"""Many XPath filters over large documents, with what they select (``dissemination.md``, chunking; ``chunking.md``).

Filters are cleaned against a schema and put into a query tree; a chunking scheme says which of them run on which part
of a document; a document is cut accordingly while it is read; the parts are small, and are evaluated in any order, here
or elsewhere. The results are those of every filter on the whole document.
"""

from heptox.filtering.chunker import (
    MOST_HELD as MOST_HELD,
    PIECE as PIECE,
    Chunker as Chunker,
    ChunkText as ChunkText,
    DocumentTooLargeError as DocumentTooLargeError,
    Projection as Projection,
)
from heptox.filtering.cleaning import CleanedFilter as CleanedFilter, clean as clean
from heptox.filtering.cost import (
    Estimate as Estimate,
    choose as choose,
    estimates as estimates,
    sample_sizes as sample_sizes,
)
from heptox.filtering.drawing import draw_scheme as draw_scheme
from heptox.filtering.evaluation import Failure as Failure, evaluated_tree as evaluated_tree
from heptox.filtering.filter_file import (
    FilterLine as FilterLine,
    read_filter_file as read_filter_file,
)
from heptox.filtering.filtering import (
    DocumentFilter as DocumentFilter,
    Evaluating as Evaluating,
    PlanEvaluator as PlanEvaluator,
)
from heptox.filtering.filters import FilteringPlan as FilteringPlan, FilterSet as FilterSet, Situation as Situation
from heptox.filtering.fragments import Fragment as Fragment, Kind as Kind
from heptox.filtering.parts import POTPOURRI as POTPOURRI, WHOLE as WHOLE, Part as Part
from heptox.filtering.processes import ProcessEvaluator as ProcessEvaluator
from heptox.filtering.query_tree import QueryTree as QueryTree, Sizes as Sizes
from heptox.filtering.reading import Version as Version, read_filter as read_filter
from heptox.filtering.result_folder import ResultFolder as ResultFolder
from heptox.filtering.results import PartEvaluator as PartEvaluator, Result as Result
from heptox.filtering.schema_steps import SchemaSteps as SchemaSteps, TagPath as TagPath
from heptox.filtering.scheme import (
    Chunk as Chunk,
    ChunkingScheme as ChunkingScheme,
    adapted as adapted,
    chunking_scheme as chunking_scheme,
)

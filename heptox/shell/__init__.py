"""Queries that are split into cores, which peers answer, and a shell around them, for an XQuery engine
(``semantics.md`` section 7, *the core travels, the shell stays*).
"""

from heptox.shell.answers import (
    CoreAnswers as CoreAnswers,
    Gathered as Gathered,
    answers_document as answers_document,
)
from heptox.shell.counted_items import CountedItem as CountedItem, is_key as is_key
from heptox.shell.model import (
    Core as Core,
    Split as Split,
    is_ordered as is_ordered,
    is_wrapped as is_wrapped,
    unsplit as unsplit,
)
from heptox.shell.rows import (
    FOLDS as FOLDS,
    asks_for_extremes as asks_for_extremes,
    brings_rows as brings_rows,
    folded as folded,
    with_sources as with_sources,
)
from heptox.shell.schema_knowledge import with_schema as with_schema
from heptox.shell.scope import EACH as EACH
from heptox.shell.splitting import split as split

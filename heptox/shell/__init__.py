"""Queries that are split into cores, which peers answer, and a shell around them, for an XQuery engine
(``semantics.md`` section 7, *the core travels, the shell stays*).
"""

from heptox.shell.answers import CoreAnswers as CoreAnswers, answers_document as answers_document
from heptox.shell.counted_items import CountedItem as CountedItem, counted_item as counted_item
from heptox.shell.splitting import Core as Core, Split as Split, is_ordered as is_ordered, split as split

"""Helpers that tests share: random valid documents, and Saxon as the judge of XQuery."""

from tests.support.documents import VALUES, Values, documents, random_document
from tests.support.saxon import XQueryError, answer_set, evaluate

__all__ = ["VALUES", "Values", "XQueryError", "answer_set", "documents", "evaluate", "random_document"]

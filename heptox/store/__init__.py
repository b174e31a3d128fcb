"""A peer's documents and the local query engine: evaluation of the query fragment with XQuery's semantics.

What keeps documents at rest (:class:`Store`, :func:`query`) needs DuckDB and Arrow, which are loaded when it is first
asked for: evaluation on documents in memory starts without them. ``statements`` is the module of the
statements of SQL, and :class:`Catalogue` leads from schema paths to what stands in them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from heptox.store import sql as statements
from heptox.store.allowance import VALUE_BYTES, Allowance
from heptox.store.evaluation import evaluate
from heptox.store.hiding import Hiding, hidden_path, hidden_path_fault
from heptox.store.relations import Catalogue, Part, Relation

if TYPE_CHECKING:
    from heptox.store.collection import Answer, Answers, WideForm, WideRows, interpreted, whole_documents
    from heptox.store.connection import Cursor, database_faults
    from heptox.store.database import Loaded, Store, StoredDocument
    from heptox.store.querying import QueryPlan, plan_query, query, texts
    from heptox.store.reading import ReadDocument, plan_once, projected_once, query_once, read_for_query

_AT_REST: Final = {
    "Answer": "heptox.store.collection",
    "Answers": "heptox.store.collection",
    "Cursor": "heptox.store.connection",
    "Loaded": "heptox.store.database",
    "QueryPlan": "heptox.store.querying",
    "ReadDocument": "heptox.store.reading",
    "Store": "heptox.store.database",
    "StoredDocument": "heptox.store.database",
    "WideForm": "heptox.store.collection",
    "WideRows": "heptox.store.collection",
    "database_faults": "heptox.store.connection",
    "interpreted": "heptox.store.collection",
    "plan_once": "heptox.store.reading",
    "plan_query": "heptox.store.querying",
    "projected_once": "heptox.store.reading",
    "query": "heptox.store.querying",
    "query_once": "heptox.store.reading",
    "read_for_query": "heptox.store.reading",
    "texts": "heptox.store.querying",
    "whole_documents": "heptox.store.collection",
}

__all__ = [
    "VALUE_BYTES",
    "Allowance",
    "Answer",
    "Answers",
    "Catalogue",
    "Cursor",
    "Hiding",
    "Loaded",
    "Part",
    "QueryPlan",
    "ReadDocument",
    "Relation",
    "Store",
    "StoredDocument",
    "WideForm",
    "WideRows",
    "database_faults",
    "evaluate",
    "hidden_path",
    "hidden_path_fault",
    "interpreted",
    "plan_once",
    "plan_query",
    "projected_once",
    "query",
    "query_once",
    "read_for_query",
    "statements",
    "texts",
    "whole_documents",
]


def __getattr__(name: str) -> object:
    if name not in _AT_REST:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(_AT_REST[name]), name)

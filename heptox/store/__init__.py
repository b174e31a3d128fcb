"""A peer's documents and the local query engine: evaluation of the query fragment with XQuery's semantics.

What keeps documents at rest (:class:`Store`, :func:`query`) needs DuckDB and Arrow, which are loaded when it is first
asked for: evaluation on documents in memory starts without them. ``statements`` is the module of the
statements of SQL, and :class:`Catalogue` leads from schema paths to what stands in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heptox.doors import later
from heptox.store import sql as statements
from heptox.store.allowance import VALUE_BYTES, Allowance, Pool
from heptox.store.evaluation import evaluate
from heptox.store.hiding import Hiding, hidden_path, hidden_path_fault
from heptox.store.joins import Join, NodeSet, NotCompiledError
from heptox.store.relations import Catalogue, Part, Relation
from heptox.store.row_joins import RowJoins

if TYPE_CHECKING:
    from heptox.store.collection import Answer, Answers, WideForm, WideRows, interpreted, whole_documents
    from heptox.store.connection import Cursor, database_faults
    from heptox.store.database import Loaded, Store, StoredDocument
    from heptox.store.querying import QueryPlan, plan_query, query, texts
    from heptox.store.reading import ReadDocument, plan_once, projected_once, query_once, read_for_query
    from heptox.store.xquery import (
        XQuery,
        clearer_error,
        evaluate_xquery,
        external_values,
        fragment_lacks,
        identifying,
        with_identifiers,
    )

__all__ = [
    "VALUE_BYTES",
    "Allowance",
    "Answer",
    "Answers",
    "Catalogue",
    "Cursor",
    "Hiding",
    "Join",
    "Loaded",
    "NodeSet",
    "NotCompiledError",
    "Part",
    "Pool",
    "QueryPlan",
    "ReadDocument",
    "Relation",
    "RowJoins",
    "Store",
    "StoredDocument",
    "WideForm",
    "WideRows",
    "XQuery",
    "clearer_error",
    "database_faults",
    "evaluate",
    "evaluate_xquery",
    "external_values",
    "fragment_lacks",
    "hidden_path",
    "hidden_path_fault",
    "identifying",
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
    "with_identifiers",
]

__getattr__ = later(
    __name__,
    {
        "collection": ("Answer", "Answers", "WideForm", "WideRows", "interpreted", "whole_documents"),
        "connection": ("Cursor", "database_faults"),
        "database": ("Loaded", "Store", "StoredDocument"),
        "querying": ("QueryPlan", "plan_query", "query", "texts"),
        "reading": ("ReadDocument", "plan_once", "projected_once", "query_once", "read_for_query"),
        "xquery": (
            "XQuery",
            "clearer_error",
            "evaluate_xquery",
            "external_values",
            "fragment_lacks",
            "identifying",
            "with_identifiers",
        ),
    },
)

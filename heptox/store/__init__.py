"""A peer's documents and the local query engine: evaluation of the query fragment with XQuery's semantics.

What keeps documents at rest (:class:`Store`, :func:`query`) needs DuckDB and Arrow, which are loaded when it is first
asked for: evaluation on documents in memory starts without them. ``statements`` is the module of the
statements of SQL, and :class:`Catalogue` leads from schema paths to what stands in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heptox.doors import later
from heptox.store import sql
from heptox.store.allowance import (
    VALUE_BYTES as VALUE_BYTES,
    Allowance as Allowance,
    MemoryUse as MemoryUse,
    Pool as Pool,
)
from heptox.store.evaluation import evaluate as evaluate
from heptox.store.hiding import Hiding as Hiding, hidden_path as hidden_path, hidden_path_fault as hidden_path_fault
from heptox.store.joins import Join as Join, NodeSet as NodeSet, NotCompiledError as NotCompiledError
from heptox.store.relations import Catalogue as Catalogue, Part as Part, Relation as Relation
from heptox.store.row_joins import RowJoins as RowJoins

if TYPE_CHECKING:
    from heptox.store.collection import (
        Answer as Answer,
        Answers as Answers,
        WideForm as WideForm,
        WideRows as WideRows,
        interpreted as interpreted,
        whole_documents as whole_documents,
    )
    from heptox.store.connection import Cursor as Cursor, database_faults as database_faults
    from heptox.store.database import Store as Store
    from heptox.store.querying import QueryPlan as QueryPlan, plan_query as plan_query, query as query, texts as texts
    from heptox.store.reading import (
        ReadDocument as ReadDocument,
        plan_once as plan_once,
        projected_once as projected_once,
        query_once as query_once,
        read_for_query as read_for_query,
    )
    from heptox.store.xquery import (
        XQuery as XQuery,
        clearer_error as clearer_error,
        evaluate_xquery as evaluate_xquery,
        external_values as external_values,
        fragment_lacks as fragment_lacks,
        identifying as identifying,
        with_identifiers as with_identifiers,
    )


statements = sql

__getattr__ = later(__name__)

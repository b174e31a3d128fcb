"""A query on one document that is asked once: what the query needs of it is made to columns, and nothing is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import accumulate
from typing import Final

import numpy as np
import pyarrow as pa

from heptox.errors import InputError
from heptox.grammar import syntax
from heptox.store.allowance import Allowance, MemoryUse
from heptox.store.answering import Assembly
from heptox.store.canonical import CanonicalReader
from heptox.store.chunks import cut_out
from heptox.store.connection import Cursor, connected
from heptox.store.database import THREADS
from heptox.store.guide import Guide, OpenForm, TooManyNamesError
from heptox.store.markup import Markup, Names
from heptox.store.places import Places
from heptox.store.projection import needed, projected
from heptox.store.querying import ROWS, QueryPlan, plan_query, rows_of
from heptox.store.relations import Catalogue, Relation
from heptox.store.shredding import Shredder, row_schema
from heptox.store.sql import used_columns
from heptox.store.written_names import WrittenNames
from heptox.xml import Document, XmlReader, parse_document, root_prefixes, value_prefixes

FIRST_COLUMNS: Final = ("node", "stop", "parent", "path")


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document in memory, as blocks of text whose tags are known, and the relations of the schema that it shows."""

    blocks: Sequence[Markup]
    names: Names
    written: WrittenNames
    catalogue: Catalogue
    has_white_space: bool


def read_for_query(data: bytes, name: str) -> ReadDocument | None:
    """A document as queries on it can be stated; ``None`` for one with too many names, or in which values may use
    prefixes that elements inside the root bind.

    Raises :class:`InputError` as :class:`heptox.xml.XmlReader`.
    """
    form = OpenForm(root_prefixes(data))
    guide = Guide(form.names)
    blocks = []
    try:
        reader = XmlReader(BytesIO(data), name)
        for block in CanonicalReader(form, reader).blocks():
            guide.add(block)
            blocks.append(block)
        if reader.rebound and any(reader.rebound & value_prefixes(block.text.decode()) for block in blocks):
            return None
        return ReadDocument(blocks, form.names, form.written, Catalogue(guide.graph()), guide.has_white_space)
    except TooManyNamesError:
        return None


def plan_once(expression: syntax.Expression, document: ReadDocument) -> QueryPlan:
    """How a query is evaluated on a document that was read for it."""
    plan = plan_query(document.written.query(expression), document.catalogue)
    return replace(plan, expression=expression, names=document.written).on(white=document.has_white_space)


def projected_once(document: ReadDocument, expression: syntax.Expression, name: str) -> Document | None:
    """What a query needs of a document that was read for it, to be interpreted.

    ``None`` where it may need all, or where that is beyond the limits of :func:`heptox.xml.parse_document`.
    """
    wanted = needed(document.written.query(expression))
    if wanted is None:
        return None
    text = b"".join(projected(document.blocks, document.catalogue.graph, document.names.types, wanted))
    try:
        return parse_document(document.written.item(text.decode()), name)
    except InputError:  # whose positions would be others than those of the document
        return None


def query_once(document: ReadDocument, plan: QueryPlan, allowance: Allowance | None = None) -> Iterator[str]:
    """The items of the answer to a query that is a statement, as :func:`heptox.store.evaluate` gives them.

    Raises :class:`StoreError` as that, and HX6009 when the database cannot carry out the statement.
    """
    statement = plan.sql
    if plan.plan is None or statement is None:
        return
    connection = connected(None, None, THREADS)
    try:
        _show(connection, document, used_columns(plan.plan.statement))
        with MemoryUse(allowance or Allowance()) as held:
            assembly = Assembly(plan.plan, _Text(document.blocks).read, held)
            for portion in assembly.answers(rows_of(_batches(connection, statement))):
                yield from plan.names.items(portion.items)
    finally:
        connection.close()


def _batches(connection: Cursor, statement: str) -> Iterator[pa.RecordBatch]:
    yield from connection.sql(statement).to_arrow_reader(ROWS)


def _show(connection: Cursor, document: ReadDocument, used: dict[str, frozenset[str]]) -> None:
    """Let a connection see what a statement uses of a document's relations."""
    relations = document.catalogue.relations
    columns = [
        [number for number, column in enumerate(relation.columns) if column.name in used.get(relation.table, ())]
        for relation in relations
    ]
    places = Places(document.catalogue)
    shredder = Shredder(places, columns)
    types = _numbers(document.names.types, places.types)
    attributes = _numbers(document.names.attributes, places.attributes)
    batches: list[list[pa.RecordBatch]] = [[] for _ in relations]
    for block in document.blocks:
        named = replace(block.attributes, names=attributes[block.attributes.names])
        for number, rows in shredder.rows(replace(block, types=types[block.types], attributes=named)):
            if relations[number].table in used:
                batches[number].append(rows)
    for relation, sources, wanted, found in zip(relations, places.sources, columns, batches, strict=True):
        if relation.table in used:
            rows = pa.Table.from_batches(found, row_schema(sources, wanted))
            connection.from_arrow(_table(relation, wanted, rows)).create_view(relation.table)


def _numbers(names: dict[str, int], others: dict[str, int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The other number for each number of a name."""
    return np.array([others[name] for name in names], np.int64)


def _table(relation: Relation, columns: Sequence[int], rows: pa.Table) -> pa.Table:
    """The table of a relation, with its names; there is one document."""
    names = [*FIRST_COLUMNS, *(relation.columns[column].name for column in columns)]
    return rows.rename_columns(names).append_column("doc", pa.repeat(pa.scalar(1, pa.int32()), len(rows)))


class _Text:
    """The text of a document that was read."""

    def __init__(self, blocks: Sequence[Markup]) -> None:
        self._texts = [block.text for block in blocks]
        self._starts = [0, *accumulate(map(len, self._texts[:-1]))]

    def read(self, _doc: int, node: int, stop: int) -> str:
        return cut_out(self._starts, self._texts.__getitem__, node, stop).decode()

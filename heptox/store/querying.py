"""Queries on a store: one statement over its relations, or the interpreter where that does not reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from threading import Event, Thread
from typing import Final

import pyarrow as pa

from heptox.checks import Check
from heptox.errors import Fault, StoreError
from heptox.grammar import syntax
from heptox.store.allowance import Allowance, MemoryUse
from heptox.store.answering import Assembly, no_asides
from heptox.store.asides import Asides
from heptox.store.columnar import Portion
from heptox.store.compiling import compiled
from heptox.store.connection import Cursor, database_faults
from heptox.store.database import MOST_IN_MEMORY, Store
from heptox.store.evaluation import evaluate_indexed
from heptox.store.index import DocumentIndex, index_bytes
from heptox.store.joins import NotCompiledError
from heptox.store.projection import needed
from heptox.store.relations import Catalogue
from heptox.store.sql import Statement, print_statement, subqueries
from heptox.store.statement import Plan, planned
from heptox.store.written_names import WrittenNames
from heptox.store.xquery import identifying, with_identifiers

CHECK_SECONDS: Final = 0.05
"""How often it is asked, while a statement runs, whether anybody still wants the answer."""
MOST_SUBQUERIES: Final = 24
"""Subqueries of one select: the time for planning grows with the fourth power of their number, and is 0.3 s here."""
MOST_CHARACTERS: Final = 2**18
"""Characters of a statement: planning takes a second for these."""
_MOST: Final[dict[str, tuple[tuple[type[syntax.Node], ...], int]]] = {
    "variables": ((syntax.For, syntax.Let), 500),
    "conditions joined by or": ((syntax.Or,), 100),
    "conditions joined by and": ((syntax.And,), 1_000),
}
"""What a query that becomes a statement has at most: DuckDB plans 100 of its ``OR`` in a second, 10,000 in minutes."""
_MISFIT: Final = "the document does not fit its schema"
ROWS: Final = 2_048
"""How many rows of a statement come at a time."""


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """How a query is evaluated: a statement, or ``reason``, which says why it is interpreted. ``names`` are those that
    its names become.

    ``sql`` is the statement as DuckDB and Spark run it; ``None`` for what is interpreted, or never finds anything. One
    that ``ignores_white`` is for documents without white space among elements, see :meth:`on`.
    """

    expression: syntax.Expression
    names: WrittenNames
    plan: Plan | None = None
    reason: str = ""
    sql: str | None = None
    ignores_white: bool = False

    def on(self, *, white: bool) -> QueryPlan:
        """The plan for documents, of which some have white space among elements or none."""
        if not (white and self.ignores_white):
            return self
        reason = "it asks for text, of which some is white space among elements"
        return QueryPlan(self.expression, self.names, reason=reason)

    @property
    def written(self) -> syntax.Expression:
        """The query with the names that stored texts have."""
        return self.names.query(self.expression)


def plan_query(expression: syntax.Expression, catalogue: Catalogue) -> QueryPlan:
    """How a query is evaluated on documents of a schema. The plans that were made last are kept for another time."""
    plan = _remembered(expression, catalogue)
    # an equal query may have other positions, which errors report
    return plan if plan.expression is expression else _planned(expression, catalogue)


def _planned(expression: syntax.Expression, catalogue: Catalogue) -> QueryPlan:
    names = catalogue.names
    try:
        _refuse_large(expression)
        found = compiled(names.query(expression), catalogue)
        plan = planned(found.blocks)
    except NotCompiledError as error:
        return QueryPlan(expression, names, reason=str(error))
    sql = print_statement(plan.statement) if plan.branches else None
    if sql is not None and _is_long_planned(plan.statement, sql):
        reason = "its statement is too large for the database to plan it soon"
        return QueryPlan(expression, names, reason=reason)
    return QueryPlan(expression, names, plan, sql=sql, ignores_white=found.ignores_white)


def _is_long_planned(statement: Statement, text: str) -> bool:
    """Whether planning may take a database seconds, in which nothing interrupts it, and any amount of memory."""
    return len(text) > MOST_CHARACTERS or any(subqueries(each) > MOST_SUBQUERIES for each in statement.selects)


def _refuse_large(expression: syntax.Expression) -> None:
    """Raise :class:`NotCompiledError` where planning would take seconds: nothing ends it, here and in the database."""
    kinds = Counter(map(type, syntax.nodes(expression)))
    for what, (counted, most) in _MOST.items():
        if sum(kinds[kind] for kind in counted) > most:
            raise NotCompiledError(f"it has over {most:,} {what}")


_remembered: Final = lru_cache(maxsize=64)(_planned)


def query(
    store: Store,
    plan: QueryPlan,
    check: Check | None = None,
    allowance: Allowance | None = None,
) -> Iterator[str]:
    """The items of a query's answer on all documents of a store, as :func:`heptox.store.evaluate` gives them.

    Documents that do not fit the schema are interpreted, and so are all of them where the plan is not a statement, or
    where the query asks them together. The documents are those of the moment at which the first item is asked for.

    Raises :class:`StoreError` as :func:`heptox.store.evaluate`, and HX6008 for what is too large to be interpreted,
    HX6009 when the database cannot carry out the statement, for want of memory or of space on the disk;
    :class:`InputError` (HX1006) for one that is nested too deeply for that; and what ``check`` raises, which is called
    again and again meanwhile.
    """
    return plan.names.items(_answered(store, plan, check, allowance))


def _answered(store: Store, plan: QueryPlan, check: Check | None, allowance: Allowance | None) -> Iterator[str]:
    """The items of an answer, with written names."""
    state = store.state
    if state is not None and state.is_plain and _is_one_statement(plan.on(white=state.white)):
        with closing(store.cursor()) as cursor:
            portions = _Moment(store, cursor, None, []).stated(plan, check, allowance)
            first = next(portions, None)
            if store.state is state:  # else a document has come or gone meanwhile, which may have to be interpreted
                for portion in chain([] if first is None else [first], portions):
                    yield from portion.items
                return
            portions.close()
    reads_texts = plan.plan is None or plan.plan.reads_texts or plan.ignores_white
    with _moment(store, texts=reads_texts) as moment:
        plan = plan.on(white=any(document.white for document in moment.documents))
        together = any(syntax.collections(plan.expression))
        irregular = [document for document in moment.documents if moment.is_beyond(plan, document, together=together)]
        if together and (plan.plan is None or irregular):
            yield from moment.interpreted_together(plan, check, allowance)
            return
        if plan.plan is None:
            for _, item in moment.interpreted(plan, moment.documents, check, allowance):
                yield item
            return
        stated = moment.stated(plan, check, allowance)
        if not irregular:
            for portion in stated:
                yield from portion.items
            return
        apart = {document.doc for document in irregular}
        pairs = (
            (doc, item)
            for portion in stated
            for doc, item in zip(portion.documents, portion.items, strict=True)
            if doc not in apart
        )
        for _, item in _in_turn(pairs, moment.interpreted(plan, irregular, check, allowance)):
            yield item


def _sees(expression: syntax.Expression, attributes: frozenset[str]) -> bool:
    """Whether a query may look at some attributes wherever they are."""
    return any(
        isinstance(node, syntax.DeepEqual)
        or (
            isinstance(node, syntax.Step)
            and node.axis.endswith("attribute")
            and any("*" in name or name in attributes for name in node.names)
        )
        for node in syntax.nodes(expression)
    )


def texts(store: Store, *, splitting: bool) -> tuple[str, ...]:
    """The texts of all documents of a store at one moment, in the order in which they were loaded, with what the schema
    declares to be identifiers. Comments and instructions that split a text are there only if they may be ``splitting``.

    Raises :class:`StoreError` (HX6008) where they are too large to be held at once.
    """
    with _moment(store, texts=True) as moment:
        if sum(document.length for document in moment.documents) > MOST_IN_MEMORY:
            message = f"the query reads over {MOST_IN_MEMORY:,} bytes of {len(moment.documents)} documents"
            raise StoreError(Fault("HX6008", message, hint="it is no query of the fragment, which is not read whole"))
        return tuple(moment.whole_text(document, splitting=splitting) for document in moment.documents)


def _is_one_statement(plan: QueryPlan) -> bool:
    """Whether a statement gives all of the answer, and no texts are read besides."""
    return plan.plan is not None and not plan.plan.reads_texts


@dataclass(frozen=True, slots=True)
class _Document:
    doc: int
    name: str
    length: int
    regular: bool
    white: bool
    has_asides: bool


@dataclass(frozen=True, slots=True)
class _Moment:
    """The state of a store at a moment, for the rows of a statement and for the texts that they point to, if any."""

    store: Store
    rows: Cursor
    texts: Cursor | None
    documents: list[_Document]
    with_asides: frozenset[int] = frozenset()
    """The numbers of the documents that have something besides their texts."""

    @property
    def is_open(self) -> bool:
        """Whether the schema has open content, of which it does not say what stands there."""
        return self.store.catalogue.tree.may_hold_anything(None, deep=True)

    def text(self, doc: int, node: int, stop: int) -> str:
        assert self.texts is not None  # it is there for whatever reads texts
        return self.store.text(doc, node, stop, self.texts)

    def asides(self, doc: int) -> Asides | None:
        """What a document has besides its text, if anything."""
        if self.texts is None or doc not in self.with_asides:
            return None
        return self.store.asides.read(self.texts, doc)

    def is_beyond(self, plan: QueryPlan, document: _Document, *, together: bool) -> bool:
        """Whether a statement does not give a document's items: it does not fit, or has something besides the text of
        an element that the statement gives back by its text."""
        if not document.regular or plan.plan is None or not document.has_asides:
            return not document.regular
        asides, leaves = self.asides(document.doc), plan.plan.leaves
        if asides is not None and asides.instance and _sees(plan.written, self.store.catalogue.instance):
            return True
        if asides is not None and together and (asides.spelt & leaves or (asides.prefixes and leaves)):
            return True
        return asides is not None and bool(leaves & asides.leaves)

    def whole_text(self, document: _Document, *, splitting: bool) -> str:
        """All of a document, with what the schema declares to be identifiers."""
        attributes, names = identifying(self.store.catalogue.graph), self.store.catalogue.names
        text, asides = self.text(document.doc, 0, document.length), self.asides(document.doc)
        if asides is not None:
            text = asides.document(text, splitting=splitting)
            attributes = [
                (each, own, kind)
                for element, attribute, kind in attributes
                for each in asides.spellings(element)
                for own in asides.spellings(f"@{attribute}")
            ]
        return with_identifiers(names.item(text), attributes)

    def stated(
        self, plan: QueryPlan, check: Check | None, allowance: Allowance | None
    ) -> Generator[Portion, None, None]:
        """The items that the statement finds, in the order of their documents' numbers."""
        statement = plan.sql
        if plan.plan is None or statement is None:
            return
        allowance = allowance or Allowance()
        with MemoryUse(allowance) as held:
            assembly = Assembly(plan.plan, self.text, held, self.asides if self.with_asides else no_asides)
            yield from assembly.answers(self._found(statement, check, allowance))

    def _found(self, statement: str, check: Check | None, allowance: Allowance) -> Iterator[pa.RecordBatch]:
        batches = rows_of(self.store.found(self.rows, statement, ROWS))
        with _watched(self.rows, check):
            batch = next(batches, None)
        while batch is not None:
            with allowance.taken(batch.nbytes):
                yield batch
            if check is not None:
                check()
            batch = next(batches, None)

    def interpreted(
        self, plan: QueryPlan, documents: list[_Document], check: Check | None, allowance: Allowance | None
    ) -> Iterator[tuple[int, str]]:
        """The items that the interpreter finds in some documents."""
        for document in documents:
            for item in self._evaluated(plan, [document], check, allowance):
                yield document.doc, item

    def interpreted_together(self, plan: QueryPlan, check: Check | None, allowance: Allowance | None) -> Iterator[str]:
        """The items that the interpreter finds in all documents together.

        Raises :class:`StoreError` (HX6008) where they are too large to be held at once.
        """
        if sum(document.length for document in self.documents) > MOST_IN_MEMORY:
            message = f"the query reads over {MOST_IN_MEMORY:,} bytes of {len(self.documents)} documents together"
            raise StoreError(Fault("HX6008", message, hint=plan.reason or _MISFIT))
        yield from self._evaluated(plan, self.documents, check, allowance)

    def _evaluated(
        self, plan: QueryPlan, documents: Iterable[_Document], check: Check | None, allowance: Allowance | None
    ) -> Iterator[str]:
        """The items that the interpreter finds in documents, which are read before, and held meanwhile."""
        assert self.texts is not None
        allowance = allowance or Allowance()
        index = DocumentIndex(names=plan.names)
        with ExitStack() as held:
            for document in documents:
                text = self.store.whole(
                    document.doc,
                    document.name,
                    document.length,
                    self.texts,
                    reader="the query",
                    reason=plan.reason or _MISFIT,
                    projection=needed(plan.written) if self._is_projected(document) else None,
                )
                held.enter_context(allowance.taken(index_bytes(text)))
                index.read(text, document.name, check, self.asides(document.doc))
                del text
            yield from evaluate_indexed(plan.written, [index], check, allowance)

    def _is_projected(self, document: _Document) -> bool:
        return document.regular and not self.is_open and not document.has_asides


@contextmanager
def _moment(store: Store, *, texts: bool) -> Iterator[_Moment]:
    """The state of a store now; with a cursor for ``texts`` where they are read, or where documents do not fit."""
    rows = store.cursor()
    reader: Cursor | None = None
    try:
        documents = _documents(rows)
        if texts or any(document.has_asides or not document.regular for document in documents):
            reader = store.cursor()
            while documents != _documents(reader):  # a load came between the two transactions
                for cursor in (rows, reader):
                    cursor.execute("ROLLBACK")
                documents = _documents(rows)
        yield _Moment(store, rows, reader, documents, frozenset(each.doc for each in documents if each.has_asides))
    finally:
        rows.close()
        if reader is not None:
            reader.close()


def _documents(cursor: Cursor) -> list[_Document]:
    cursor.execute("BEGIN")
    found = cursor.execute("SELECT doc, name, length, regular, white, asides FROM documents ORDER BY doc").fetchall()
    return [_Document(*row) for row in found]


def _in_turn(first: Iterator[tuple[int, str]], second: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Two sequences in the order of documents, of which each has its own, as one."""
    waiting = next(second, None)
    for item in first:
        while waiting is not None and waiting[0] < item[0]:
            yield waiting
            waiting = next(second, None)
        yield item
    if waiting is not None:
        yield waiting
    yield from second


def rows_of(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of a statement, as they come.

    Raises :class:`StoreError` (HX6009) when the database cannot carry it out.
    """
    while True:
        with _carried_out():
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def _carried_out() -> AbstractContextManager[None]:
    hint = "ask for less at once: narrower conditions, fewer variables"
    return database_faults("HX6009", "the statement cannot be carried out", hint=hint, streamed=True)


@contextmanager
def _watched(cursor: Cursor, check: Check | None) -> Iterator[None]:
    """A statement that ends soon after ``check`` raises an error, which is raised then."""
    if check is None:
        yield
        return
    done, failed = Event(), list[BaseException]()

    def watch() -> None:
        while not done.wait(CHECK_SECONDS):
            try:
                if not failed:
                    check()
            except BaseException as error:
                failed.append(error)
            if failed:  # again and again: what comes between two steps of a statement is lost
                cursor.interrupt()

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    except Exception:
        if not failed:
            raise
    finally:
        done.set()
        watcher.join()
    if failed:
        raise failed[0]

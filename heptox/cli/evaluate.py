"""``heptox eval``."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import groupby, islice
from typing import TYPE_CHECKING, Annotated, Final

import typer

# Not their names: DuckDB and trio are loaded when they are asked for, and for most queries they are not.
from heptox import peer, store
from heptox.cli.inputs import Bind, CatalogueFiles, Json, QueryFile, bound_values, read_query_text
from heptox.cli.output import print_json, print_note, print_results
from heptox.errors import GrammarError, InputError, SchemaError
from heptox.grammar import Expression, NameTable, check_names, doubtful_names, parse_query, syntax
from heptox.schema import (
    SchemaGraph,
    SchemaTree,
    as_declared,
    conform,
    other_schema_fault,
    read_schema_roots,
    xsd_checker,
)
from heptox.settings import LEAST_TIMEOUT, MOST_TIMEOUT
from heptox.xml import (
    Document,
    file_name,
    identifying_attributes,
    parse_document,
    read_bytes,
    root_name,
    root_prefixes,
    write_element,
)

if TYPE_CHECKING:
    from heptox.store import QueryPlan, ReadDocument, XQuery

SECONDS: Final = 60.0
"""How long Saxon may take for a query, unless the user says so."""
LARGE: Final = 4_000_000
"""From how many bytes on it takes less time to make columns of a document than to interpret a query on it."""


def evaluate(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="[QUERY] DOCUMENT...", help="The query, unless -f names its file, then the documents."),
    ] = None,
    file: QueryFile = None,
    schema: Annotated[
        str | None, typer.Option(metavar="FILE", help="The DTD or XSD for which documents are valid.")
    ] = None,
    catalogues: CatalogueFiles = None,
    bind: Bind = None,
    together: Annotated[
        bool, typer.Option("--together", help="Evaluate once: collection() gives the documents, none is the context.")
    ] = False,
    timeout: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=LEAST_TIMEOUT, max=MOST_TIMEOUT, help="How long Saxon may take for the query."
        ),
    ] = SECONDS,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show how the query is evaluated, and the time of each part, on stderr.")
    ] = False,
    json: Json = False,
) -> None:
    """Evaluate a query on documents, one item of the answer a line.

    Each document is asked on its own, in the order given; a path that begins with collection() means all of them.
    Items are written as XQuery 3.1's adaptive method does, as they come. An item that holds line ends takes several
    lines: programs should ask for --json, an array of strings. One of QUERY and the documents can be -, standard input.

    With --schema, a document has the attributes to which the schema gives a default, and one that is not valid is
    refused; so is a query that names what the schema does not have. Its prefixes need not be declared in the query.
    The query is evaluated by one SQL statement on the relations of the schema, where that is possible; without
    --schema, a document of 4 MB or more is so by the schema that it shows itself. --explain shows the statement, or
    says why the query is interpreted.

    Any other XQuery 3.1 is evaluated by Saxon, as it is written, with values for its external variables by --bind; it
    sees nothing but the documents. --explain says what the fragment of heptox lacks for it.
    """
    query, documents = _divided(arguments or [], file)
    if [query, file, schema, *documents].count("-") > 1:
        raise typer.BadParameter("standard input can be read only once")
    text, source = read_query_text(query, file)
    bound = bound_values(bind)
    times = _Times()
    with times.taken("read"):
        declared = (
            None if schema is None else _Schema(schema, read_schema_roots(schema, catalogues or ()), catalogues or ())
        )
    with times.taken("read"):
        read = [(document, read_bytes(document)) for document in documents]
    names = NameTable.of(*(declared.of(data for _, data in read) if declared else ()))
    expression, own = _own(text, source, names)
    question = store.XQuery(text, (), source, bound, together, prefixes=names.prefixes)
    with ExitStack() as opened:
        why = _why_by_saxon(expression, own, question, documents)
        if expression is None or why:
            if explain:
                print_note(f"by Saxon: {why}")
            items = _by_saxon(question, own, _texts(read, declared, times), timeout, times)
        elif not documents:
            raise typer.BadParameter("no document is given")
        elif declared is None:
            items = _read_once(expression, read, times, explain)
        else:
            items = _stated(expression, read, declared, times, explain, opened)
        if json:
            print_json(list(items))
        else:
            print_results(items)
    if explain:
        print_note(str(times))


@dataclass(frozen=True, slots=True)
class _Schema:
    """The file of a schema, a graph for each root that documents may have, and the catalogues."""

    file: str
    graphs: Mapping[str, SchemaGraph]
    catalogues: Sequence[str]

    def of(self, documents: Iterable[bytes]) -> Iterator[SchemaGraph]:
        """The graphs of documents, as far as these are of the schema; where none is, any graph."""
        roots = dict.fromkeys(name for name in map(root_name, documents) if name is not None and name in self.graphs)
        return (self.graphs[root] for root in roots or islice(self.graphs, 1))


def _divided(arguments: list[str], file: str | None) -> tuple[str | None, list[str]]:
    """The query, unless a file has it, and the documents."""
    if file is None and not arguments:
        raise typer.BadParameter("no query is given")
    return (None, arguments) if file else (arguments[0], arguments[1:])


def _own(text: str, source: str | None, names: NameTable) -> tuple[Expression | None, GrammarError | None]:
    """A query of the fragment, or why it is none."""
    try:
        return parse_query(text, source, names=names), None
    except GrammarError as error:
        return None, error


def _why_by_saxon(
    expression: Expression | None, own: GrammarError | None, question: XQuery, documents: list[str]
) -> str:
    """Why a query is evaluated by Saxon, if it is: ``own`` is why it is none of the fragment."""
    if expression is None:
        return store.fragment_lacks(own) if own else ""
    if question.bound or (question.together and not any(syntax.collections(expression))):
        return "it is asked with --together or --bind"
    if not documents and not any(isinstance(node, syntax.PathExpression) for node in syntax.nodes(expression)):
        return "it asks for nothing of a document"
    return ""


class _Times:
    """How long each part has taken, in seconds, in the order in which they came first."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def __str__(self) -> str:
        return ", ".join(f"{part} {1000 * seconds:.1f} ms" for part, seconds in self._seconds.items())

    @contextmanager
    def taken(self, part: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[part] = self._seconds.get(part, 0.0) + time.perf_counter() - began

    def items(self, items: Iterator[str], first: str) -> Iterator[str]:
        """The items, with the time that they take: up to the first one as the part ``first``, then as ``items``."""
        with self.taken(first):
            item = next(items, None)
        seconds = self._seconds
        seconds.setdefault("items", 0.0)
        while item is not None:
            yield item
            began = time.perf_counter()  # not as above, which takes longer than most items
            item = next(items, None)
            seconds["items"] += time.perf_counter() - began


def _texts(read: list[tuple[str, bytes]], schema: _Schema | None, times: _Times) -> list[str]:
    """The documents as texts, as heptox reads them."""
    with times.taken("read"):
        if schema is not None:
            parsed, found = _checked(read, schema)
            attributes = [
                store.identifying(graph, root_prefixes(data)) for graph, (_, data) in zip(found, read, strict=True)
            ]
        else:
            parsed = [parse_document(data, file_name(document)) for document, data in read]
            attributes = [identifying_attributes(document.internal_subset or "") for document in parsed]
        texts = (write_element(document.root) for document in parsed)
        return [store.with_identifiers(text, declared) for text, declared in zip(texts, attributes, strict=True)]


def _by_saxon(
    question: XQuery, own: GrammarError | None, texts: list[str], seconds: float, times: _Times
) -> Iterator[str]:
    """The items that Saxon finds, in a process of its own: all of them are there before the first.

    Raises as :meth:`heptox.store.XQuery.parts`, and what is wrong with the query.
    """
    questions = replace(question, documents=tuple(texts)).parts()
    try:
        with times.taken("Saxon"):
            return iter(peer.evaluated_once(questions, seconds))
    except GrammarError as error:
        raise store.clearer_error(own, error, question.text) if own else error from None


def _read_once(expression: Expression, read: list[tuple[str, bytes]], times: _Times, explain: bool) -> Iterator[str]:
    """The items, from documents whose schema is not known; all documents are parsed before the first."""
    if any(syntax.collections(expression)):
        with times.taken("read"):
            together = [parse_document(data, file_name(document)) for document, data in read]
        return times.items(_together(expression, together, "no schema is given", explain), "items")
    with times.taken("read"):
        answers = [_answer(expression, data, file_name(document), explain) for document, data in read]
    return times.items((item for answer in answers for item in answer), "items")


def _answer(expression: Expression, data: bytes, name: str, explain: bool) -> Iterator[str]:
    """The items from one document: by a statement on the relations that a large one shows, else interpreted."""
    document = None
    reason = f"no schema is given, and {name} has less than {LARGE:,} bytes"
    if len(data) >= LARGE:
        reason = f"no schema is given, and of {name} no relations are made"
        if (read := _columns(data, name)) is not None:
            plan = store.plan_once(expression, read)
            if plan.plan is not None:
                if explain:
                    print_note(_explanation(plan))
                return store.query_once(read, plan)
            document, reason = store.projected_once(read, expression, name), plan.reason
    if explain:
        print_note(f"interpreted: {reason}")
    return store.evaluate(expression, [document or parse_document(data, name)])


def _together(expression: Expression, documents: list[Document], why: str, explain: bool) -> Iterator[str]:
    """The items from all documents together, interpreted."""
    if explain:
        print_note(f"interpreted: it asks several documents together, and {why}")
    return store.evaluate(expression, documents)


def _columns(data: bytes, name: str) -> ReadDocument | None:
    """A document to be asked by statements; what this reader refuses is left to the other, which reports more."""
    try:
        return store.read_for_query(data, name)
    except InputError:
        return None


def _stated(
    expression: Expression,
    read: list[tuple[str, bytes]],
    schema: _Schema,
    times: _Times,
    explain: bool,
    opened: ExitStack,
) -> Iterator[str]:
    """The items, from a store for each run of documents with the same root; all documents are checked before the first.

    Raises as :func:`heptox.xml.read_document`, :func:`heptox.schema.read_schema_roots`,
    :func:`heptox.schema.conform` and :func:`heptox.grammar.check_names`.
    """
    with times.taken("read"):
        parsed, graphs = _checked(read, schema)
        roots = {graph.root: graph for graph in graphs}
        trees = [*map(SchemaTree, roots.values())]
        check_names(expression, *trees)
        for note in doubtful_names(expression, *trees):
            print_note(note)
    if len(roots) > 1 and any(syntax.collections(expression)):
        return times.items(_together(expression, parsed, "their roots differ", explain), "items")
    with times.taken("start"):
        opening, planning, asking = store.Store, store.plan_query, store.query
    answers = []
    for graph, run in groupby(zip(read, graphs, strict=True), key=lambda pair: pair[1]):
        with times.taken("load"):
            held = opened.enter_context(opening.open(None, graph))
            for number, ((document, data), _) in enumerate(run, 1):
                held.load(f"{file_name(document)} (document {number})", data)
        with times.taken("plan"):
            white = any(document.white for document in held.documents())
            plan = planning(expression, held.catalogue).on(white=white)
        if explain:
            print_note(_explanation(plan))
        answers.append(times.items(asking(held, plan), "statement" if plan.sql else "items"))
    return (item for answer in answers for item in answer)


def _checked(read: list[tuple[str, bytes]], schema: _Schema) -> tuple[list[Document], list[SchemaGraph]]:
    """The documents as their schemas have them, and the schema graph of each: of a schema whose root is not said, any
    that may be.
    """
    parsed = [parse_document(data, file_name(document)) for document, data in read]
    for document in parsed:
        if (other := other_schema_fault(document, *schema.graphs)) is not None:
            raise SchemaError(other)
    graphs = {root: schema.graphs[root] for root in {str(document.root.tag) for document in parsed}}
    found = [graphs[str(document.root.tag)] for document in parsed]
    checker = xsd_checker(schema.file, catalogues=schema.catalogues)
    if checker is None:
        return [conform(document, graph) for document, graph in zip(parsed, found, strict=True)], found
    if faults := [fault for name, data in read for fault in checker.faults_of(data, file_name(name)).faults]:
        raise SchemaError(faults)
    return [as_declared(document, graph) for document, graph in zip(parsed, found, strict=True)], found


def _explanation(plan: QueryPlan) -> str:
    if plan.sql is not None:
        return plan.sql
    if plan.reason:
        return f"interpreted: {plan.reason}"
    return "no statement: valid documents have nothing that it asks for"

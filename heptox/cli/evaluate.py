"""``heptox eval``."""

from __future__ import annotations

from typing import Annotated

import typer

from heptox.cli.inputs import Json, QueryFile, read_query
from heptox.cli.output import print_json, print_result
from heptox.schema import conform, read_dtd
from heptox.store import evaluate as evaluate_query
from heptox.xmlio import read_document


def evaluate(
    arguments: Annotated[
        list[str],
        typer.Argument(metavar="[QUERY] DOCUMENT...", help="The query, unless -f names its file, then the documents."),
    ],
    file: QueryFile = None,
    schema: Annotated[str | None, typer.Option(metavar="FILE", help="The DTD for which documents are valid.")] = None,
    json: Json = False,
) -> None:
    """Evaluate a query on documents, one item of the answer a line.

    Each document is asked on its own, in the order given; items are written as XQuery 3.1's adaptive method does, as
    they come. An item that holds line ends takes several lines: programs should ask for --json, an array of strings.
    One of QUERY and the documents can be -, standard input.

    With --schema, a document has the attributes to which the DTD gives a default, and one that is not valid is refused.
    """
    query, documents = (None, arguments) if file else (arguments[0], arguments[1:])
    if not documents:
        raise typer.BadParameter("no document is given")
    if [query, file, schema, *documents].count("-") > 1:
        raise typer.BadParameter("standard input can be read only once")
    expression = read_query(query, file)
    read = [read_document(document) for document in documents]
    if schema is not None:
        graphs = {root: read_dtd(schema, root) for root in sorted({str(document.root.tag) for document in read})}
        read = [conform(document, graphs[str(document.root.tag)]) for document in read]
    items = evaluate_query(expression, read)
    if json:
        print_json(list(items))
    else:
        for item in items:
            print_result(item)

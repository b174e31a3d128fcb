"""``heptox map check``, ``map show`` and ``map apply``."""

from __future__ import annotations

from typing import Annotated

import typer

from heptox.cli.inputs import Json, MappingFile
from heptox.cli.output import print_faults, print_json, print_result
from heptox.errors import HeptoxError, SchemaError
from heptox.mapping import exchange, load_mapping, print_rules
from heptox.schema import SchemaGraph, conform
from heptox.xmlio import Document, read_document, write_document


def check(file: MappingFile, json: Json = False) -> None:
    """Check a mapping; every fault is reported in one run.

    Faults are printed on stderr, one a line, each with its place and what would have worked; with --json on stdout too.
    """
    try:
        mapping = load_mapping(file)
    except HeptoxError as error:
        if not json:
            raise
        print_json({"file": file, "rules": None, "faults": [str(fault) for fault in error.faults]})
        print_faults(error)
        raise typer.Exit(1) from None
    rules = len(mapping.rules)
    if json:
        print_json({"file": file, "rules": rules, "faults": []})
    else:
        print_result(f"{file}: no faults, {rules} {'rule' if rules == 1 else 'rules'}")


def show(file: MappingFile) -> None:
    """Print a mapping as rules, which can be edited and loaded.

    What is printed is a complete FILE.rules: every command that takes a mapping takes it.
    """
    print_result(print_rules(load_mapping(file)))


def apply(
    file: MappingFile,
    document: Annotated[str, typer.Argument(metavar="DOCUMENT", help="A document under the source schema, or -.")],
    indent: Annotated[bool, typer.Option("--indent", help="Give each element a line of its own.")] = False,
) -> None:
    """Print the document that a mapping makes of a document.

    The order of its elements is that of the target schema, then of first appearance in the source. Without --indent it
    holds no white space but that of the values. A document that is not valid for the source schema is exchanged as far
    as the rules find what they name, and its faults are told on stderr.
    """
    mapping = load_mapping(file)
    image = exchange(mapping, _as_its_schema_has_it(read_document(document), mapping.source.graph))
    print_result(write_document(image.root, indent=indent))


def _as_its_schema_has_it(document: Document, schema: SchemaGraph) -> Document:
    """The document with its defaulted attributes; or as it is, its faults told, where it is not valid."""
    try:
        return conform(document, schema)
    except SchemaError as error:
        print_faults(error)
        return document

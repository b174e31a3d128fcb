"""``heptox map check``, ``map show`` and ``map apply``."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final

import typer

from heptox import mapping as mappings, store
from heptox.cli.inputs import STANDARD_INPUT, Json, MappingFile
from heptox.cli.output import print_faults, print_json, print_result
from heptox.errors import HeptoxError, InputError, SchemaError, StoreError
from heptox.mapping import Mapping, exchange, load_mapping, print_rules
from heptox.schema import SchemaGraph, conform, surely_valid
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
    if not indent and _is_large(document) and _print_stored(mapping, Path(document)):
        return
    image = exchange(mapping, _as_its_schema_has_it(read_document(document), mapping.source.graph))
    print_result(write_document(image.root, indent=indent))


LARGE: Final = 4_000_000
"""From how many bytes on a document is exchanged on a store: one below takes less memory than the store itself."""


def _is_large(document: str) -> bool:
    try:
        return document != STANDARD_INPUT and Path(document).is_file() and Path(document).stat().st_size >= LARGE
    except (OSError, ValueError):
        return False  # reading it tells what is wrong


def _print_stored(mapping: Mapping, document: Path) -> bool:
    """Print what a mapping makes of a valid document, by way of a store; whether this could be done.

    What is wrong with a document that cannot be read so is told by who reads it whole.
    """
    with ExitStack() as open_until_printed:
        try:
            with document.open("rb") as source:
                if not surely_valid(source, mapping.source.graph, str(document)):
                    return False
            folder = open_until_printed.enter_context(TemporaryDirectory())
            held = store.Store.open(Path(folder, "document.store"), mapping.source.graph)
            open_until_printed.enter_context(held)
            if not held.load(str(document), document).document.regular:
                return False
            texts = mappings.exchange_stored(mapping, held, str(document))
            first = next(texts)
        except (InputError, OSError, StoreError):
            return False
        for text in chain([first], texts):
            sys.stdout.write(text)
    return True


def _as_its_schema_has_it(document: Document, schema: SchemaGraph) -> Document:
    """The document with its defaulted attributes; or as it is, its faults told, where it is not valid."""
    try:
        return conform(document, schema)
    except SchemaError as error:
        print_faults(error)
        return document

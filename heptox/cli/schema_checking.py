"""``heptox schema check``."""

from __future__ import annotations

from typing import Annotated

import typer

from heptox.cli.inputs import CatalogueFiles, Json
from heptox.cli.output import ExitCode, print_error, print_faults, print_json, print_note, print_result
from heptox.errors import InputError, SchemaError
from heptox.printable import shown
from heptox.schema import DocumentFaults, document_checker
from heptox.xml import file_name


def check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The schema: FILE.dtd or FILE.xsd.")],
    documents: Annotated[list[str], typer.Argument(metavar="DOC", help="The documents.")],
    root: Annotated[str | None, typer.Option(metavar="NAME", help="The root element that they must have.")] = None,
    catalogues: CatalogueFiles = None,
    json: Json = False,
) -> None:
    """Check whether documents are valid for a schema.

    Faults are printed on stderr, one a line, each with its place: of each document the first 20, and how many there
    are. The exit code is 1 where a document is not valid, or cannot be read. What an XSD imports is read beside it;
    nothing is fetched, and what documents say about their schema is not read.
    """
    checker = document_checker(file, root, catalogues or ())
    found: list[dict[str, object]] = []
    valid = 0
    for document in documents:
        try:
            faults = checker.check(document)
        except (InputError, SchemaError) as error:
            print_faults(error)
            faults = DocumentFaults(len(error.faults), error.faults)
        else:
            _print(document, faults)
        valid += faults.is_valid
        lines = list(map(str, faults.faults))
        found.append({"document": document, "valid": faults.is_valid, "count": faults.count, "faults": lines})
    if json:
        print_json({"schema": file, "valid": valid, "documents": found})
    else:
        print_result(f"{shown(file_name(file))}: {_counted(valid, len(documents))}")
    if valid < len(documents):
        raise typer.Exit(ExitCode.WRONG_INPUT)


def _print(document: str, faults: DocumentFaults) -> None:
    for fault in faults.faults:
        print_error(str(fault))
    if faults.count > len(faults.faults):
        print_note(f"{file_name(document)}: {faults.count - len(faults.faults):,} more faults")


def _counted(valid: int, of: int) -> str:
    """As in ``2 documents are valid, 1 is not``."""
    are = f"{valid:,} document{' is' if valid == 1 else 's are'} valid"
    return are if valid == of else f"{are}, {of - valid:,} {'is' if of - valid == 1 else 'are'} not"

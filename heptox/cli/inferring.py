"""``heptox schema infer``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from heptox.cli.files import write_to
from heptox.cli.output import print_note, print_result
from heptox.errors import Fault, SchemaError
from heptox.schema import extend_dtd, extend_xsd, infer_dtd, infer_xsd
from heptox.xml import file_name, read_dtd_text

_FILE = "schema.xsd"


def infer(
    documents: Annotated[list[str], typer.Argument(metavar="DOC...", help="Documents; - is stdin.")],
    dtd: Annotated[bool, typer.Option("--dtd", help="Infer a DTD, where one can say it, instead of an XSD.")] = False,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write to a file, instead of stdout; replaces it."),
    ] = None,
    constraints: Annotated[
        bool, typer.Option("--constraints", help="Write keys and references as xs:key and xs:keyref too.")
    ] = False,
    extend: Annotated[
        str | None,
        typer.Option(metavar="SCHEMA", help="Extend a schema instead: FILE.dtd, or a FILE.xsd that was inferred."),
    ] = None,
) -> None:
    """Infer a schema that all given documents are valid for.

    Keys and references that are likely stand in comments, with their evidence. Documents with names in several
    namespaces need --output: beside FILE.xsd, one file for each further namespace is written, FILE-1.xsd and so on.

    --extend changes a schema no more than is needed, so that it admits the documents; every document that was valid is
    valid still. What has changed is printed, one thing a line: on stdout, or on stderr where the schema is on stdout.
    """
    if extend is not None:
        if dtd or constraints:
            raise typer.BadParameter("--extend takes what SCHEMA is: neither --dtd nor --constraints go with it")
        _extend(extend, documents, output)
        return
    if dtd and constraints:
        raise typer.BadParameter("--constraints is for an XSD; a DTD has ID and IDREF anyway")
    if dtd:
        write_to(output, [infer_dtd(documents).encode()])
        return
    _write_xsd(output, infer_xsd(documents, Path(output).name if output else _FILE, constraints=constraints))


def _extend(schema: str, documents: list[str], output: str | None) -> None:
    """Write an extended schema, and print what has changed."""
    if Path(schema).suffix == ".dtd":
        text, changed = extend_dtd(read_dtd_text(schema), documents, file_name(schema))
        write_to(output, [text.encode()])
    else:
        files, changed = extend_xsd(schema, documents, Path(output).name if output else _FILE)
        _write_xsd(output, files)
    for line in changed:
        if output is None:
            print_note(line)
        else:
            print_result(line)


def _write_xsd(output: str | None, files: Mapping[str, str]) -> None:
    """Write the files of an XSD, the main one last, when all that it imports is there."""
    if output is None or Path(output).is_char_device():
        if len(files) > 1:
            message = f"an XSD of {len(files)} namespaces has {len(files)} files"
            raise SchemaError(Fault("HX2062", message, hint="say with --output FILE where they are written"))
        write_to(output, [text.encode() for text in files.values()])
        return
    for name, text in reversed([*files.items()]):
        write_to(str(Path(output).with_name(name)), [text.encode()])

"""``heptox map suggest``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

# Not its names: rapidfuzz is loaded when something is suggested.
from heptox import mapping as mappings
from heptox.cli.files import write_to
from heptox.cli.inputs import STANDARD_INPUT, CatalogueFiles, Json
from heptox.cli.output import print_json, print_note, print_result
from heptox.errors import Fault, InputError, SchemaError
from heptox.grammar import SchemaDeclaration
from heptox.schema import SchemaGraph, SchemaTree, other_schema_fault, read_schema
from heptox.xml import Document, file_name, parse_document, read_bytes, read_text

if TYPE_CHECKING:
    from heptox.mapping import Suggestion

_LONGEST: Final = 100
"""Lines up to this length have their comments side by side."""


def suggest(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The schema of the source: a DTD, or an XSD.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="The schema of the target.")],
    source_root: Annotated[
        str | None, typer.Option("--source-root", metavar="NAME", help="The root element of the source.")
    ] = None,
    target_root: Annotated[
        str | None, typer.Option("--target-root", metavar="NAME", help="The root element of the target.")
    ] = None,
    source_document: Annotated[
        list[str] | None,
        typer.Option("--source-document", metavar="FILE", help="A sample document of the source; repeatable."),
    ] = None,
    target_document: Annotated[
        list[str] | None,
        typer.Option("--target-document", metavar="FILE", help="A sample document of the target; repeatable."),
    ] = None,
    paired: Annotated[
        bool,
        typer.Option("--paired", help="Each source document is the same as the target document at its place."),
    ] = False,
    tables: Annotated[
        str | None,
        typer.Option("--tables", metavar="FOLDER", help="Where tables of codes are written that lines look up."),
    ] = None,
    catalogues: CatalogueFiles = None,
    json: Json = False,
) -> None:
    """Suggest the lines of a mapping between two schemas.

    What is printed is the beginning of a FILE.arrows in the current folder: both schemas, then the lines that are
    likely, the likeliest first, each with its confidence and the weightiest reason in a comment. Sample documents, of
    which values are compared, find more.

    Pairs, a document and the same in the other schema (--paired), find most: `each` lines, selections, strings,
    functions such as dates in another format, and tables of codes, with in how many pairs they are right. What a pair
    refutes is not suggested. No box is suggested, and nothing is sure: read each line, and let `heptox map check` say
    what is missing.
    """
    if STANDARD_INPUT in (source, target):
        raise typer.BadParameter("a file of arrows names its schemas: give files")
    try:
        lines = SchemaDeclaration("source", source), SchemaDeclaration("target", target)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    named = catalogues or ()
    graphs = read_schema(source, source_root, named), read_schema(target, target_root, named)
    samples = _documents(source_document or (), graphs[0]), _documents(target_document or (), graphs[1])
    if paired and len(samples[0]) != len(samples[1]):
        raise typer.BadParameter("--paired takes as many documents of the target as of the source")
    pairs = list(zip(*samples, strict=True)) if paired else []
    found = mappings.suggest(
        SchemaTree(graphs[0]),
        SchemaTree(graphs[1]),
        source_documents=() if paired else samples[0],
        target_documents=() if paired else samples[1],
        pairs=pairs,
    )
    if tables is not None:
        found = tuple(_with_table(one, tables) for one in found)
    if json:
        sides: dict[str, Any] = {
            line.side: {"file": line.file, "root": graph.root} for line, graph in zip(lines, graphs, strict=True)
        }
        print_json({**sides, "suggestions": [_as_json(one) for one in found]})
        return
    for line, graph in zip(lines, graphs, strict=True):
        print_result(str(SchemaDeclaration(line.side, line.file, graph.prefixes.written(graph.root))))
    for text in _arrows(found, has_tables=tables is not None):
        print_result(text)
    if not found:
        print_note("no arrow is likely; sample documents (--source-document, --target-document) say more")
    elif tables is None and any(one.table is not None for one in found):
        print_note("lines that look codes up are comments; --tables FOLDER writes the tables, and the lines")


def _documents(files: Sequence[str], graph: SchemaGraph) -> list[Document]:
    """The documents of a side; raises :class:`SchemaError` (HX2013) for those of another schema."""
    documents = [parse_document(read_bytes(file), file_name(file)) for file in files]
    faults = [fault for one in documents if (fault := other_schema_fault(one, graph.root)) is not None]
    if faults:
        raise SchemaError(faults)
    return documents


def _with_table(one: Suggestion, folder: str) -> Suggestion:
    """A suggestion whose table is written into a folder, if it has one.

    Raises :class:`InputError` (HX1001) where another table is there, or nothing can be written.
    """
    if one.table is None:
        return one
    path = Path(folder) / one.table.file
    if path.exists() and (not path.is_file() or read_text(path) != one.table.text):
        raise InputError(Fault("HX1001", "is there already, and no such table: name another folder", file=str(path)))
    write_to(str(path), [one.table.text.encode()])
    name = path.as_posix()
    return replace(one, line=one.line.replace(f'"{one.table.file}"', f'"{name}"'), table=replace(one.table, file=name))


def _arrows(found: Sequence[Suggestion], *, has_tables: bool) -> Iterator[str]:
    """The lines of a file of arrows, with the comments side by side where they are short."""
    if found:
        yield ""
    lines = [f"# {one}" if one.table is not None and not has_tables else str(one) for one in found]
    width = max((len(line) for line in lines if len(line) <= _LONGEST), default=0)
    for line, one in zip(lines, found, strict=True):
        reason = " ".join(one.reasons[0].text.split()) if one.reasons else ""
        yield f"{line:{width}}   # {one.confidence:.2f} {reason}".rstrip()


def _as_json(one: Suggestion) -> dict[str, Any]:
    return {
        "arrow": str(one),
        "source": list(one.source),
        "target": list(one.target),
        "kind": one.kind,
        "copies": one.copies,
        "confidence": round(one.confidence, 4),
        "reasons": [{"kind": reason.kind, "text": reason.text} for reason in one.reasons],
        "samples": [{"pair": each.pair, "source": list(each.source), "target": each.target} for each in one.samples],
        "table": None if one.table is None else {"file": one.table.file, "codes": dict(one.table.codes)},
    }

"""``heptox map suggest``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

# Not its names: rapidfuzz is loaded when something is suggested.
from heptox import mapping as mappings
from heptox.cli.inputs import STANDARD_INPUT, CatalogueFiles, Json
from heptox.cli.output import print_json, print_note, print_result
from heptox.errors import SchemaError
from heptox.grammar import SchemaDeclaration
from heptox.schema import SchemaGraph, SchemaTree, other_schema_fault, read_dtd
from heptox.xml import Document, file_name, parse_document, read_bytes

if TYPE_CHECKING:
    from heptox.mapping import Suggestion


def suggest(
    source: Annotated[str, typer.Argument(metavar="SOURCE.dtd", help="The schema of the source.")],
    target: Annotated[str, typer.Argument(metavar="TARGET.dtd", help="The schema of the target.")],
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
    catalogues: CatalogueFiles = None,
    json: Json = False,
) -> None:
    """Suggest the arrows of a mapping between two schemas.

    What is printed is the beginning of a FILE.arrows in the current folder: both schemas, then a line for each arrow
    that is likely, the likeliest first, with its confidence and the weightiest reason in a comment. Sample documents,
    of which values are compared, find more. No box is suggested, and nothing is sure: read each line, and let
    `heptox map check` say what is missing.
    """
    if STANDARD_INPUT in (source, target):
        raise typer.BadParameter("a file of arrows names its schemas: give files")
    try:
        lines = SchemaDeclaration("source", source), SchemaDeclaration("target", target)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    named = catalogues or ()
    graphs = read_dtd(source, source_root, named), read_dtd(target, target_root, named)
    samples = _documents(source_document or (), graphs[0]), _documents(target_document or (), graphs[1])
    found = mappings.suggest(
        SchemaTree(graphs[0]), SchemaTree(graphs[1]), source_documents=samples[0], target_documents=samples[1]
    )
    if json:
        sides: dict[str, Any] = {
            line.side: {"file": line.file, "root": graph.root} for line, graph in zip(lines, graphs, strict=True)
        }
        print_json({**sides, "suggestions": [_as_json(one) for one in found]})
        return
    for line, graph in zip(lines, graphs, strict=True):
        print_result(str(SchemaDeclaration(line.side, line.file, graph.prefixes.written(graph.root))))
    for text in _arrows(found):
        print_result(text)
    if not found:
        print_note("no arrow is likely; sample documents (--source-document, --target-document) say more")


def _documents(files: Sequence[str], graph: SchemaGraph) -> list[Document]:
    """The sample documents of a side; raises :class:`SchemaError` (HX2013) for those of another schema."""
    documents = [parse_document(read_bytes(file), file_name(file)) for file in files]
    faults = [fault for one in documents if (fault := other_schema_fault(one, graph.root)) is not None]
    if faults:
        raise SchemaError(faults)
    return documents


def _arrows(found: Sequence[Suggestion]) -> Iterator[str]:
    """The lines of a file of arrows, with the comments side by side."""
    if found:
        yield ""
    width = max((len(str(one)) for one in found), default=0)
    for one in found:
        reason = " ".join(one.reasons[0].text.split()) if one.reasons else ""
        yield f"{one!s:{width}}   # {one.confidence:.2f} {reason}".rstrip()


def _as_json(one: Suggestion) -> dict[str, Any]:
    return {
        "arrow": str(one),
        "source": list(one.source),
        "target": list(one.target),
        "copies": one.copies,
        "confidence": round(one.confidence, 4),
        "reasons": [{"kind": reason.kind, "text": reason.text} for reason in one.reasons],
    }

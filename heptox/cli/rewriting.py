"""``heptox rewrite``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, BinaryIO, Final

import typer

from heptox import rewriting
from heptox.cli.files import write_to
from heptox.cli.inputs import STANDARD_INPUT
from heptox.cli.mapping import exchanged
from heptox.cli.output import print_note
from heptox.errors import DisseminationError, Fault, SchemaError
from heptox.mapping import Mapping, image_prefixes, load_mapping
from heptox.rewriting import MOST_HELD, Program, StreamingRewriter, load_program, print_program
from heptox.schema import stream_faults
from heptox.translate import Direction
from heptox.xml import file_name, unreadable

PROGRAM_SUFFIX: Final = ".operators"


def rewrite(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A mapping, FILE.arrows or FILE.rules, or a program, FILE.operators.")
    ],
    document: Annotated[
        str | None,
        typer.Argument(metavar="DOCUMENT", show_default=False, help="A document under the other schema; - is stdin."),
    ] = None,
    to: Annotated[
        Direction | None,
        typer.Option("--to", metavar="source|target", help="The schema to rewrite into: target, unless said."),
    ] = None,
    out: Annotated[
        str | None, typer.Option("-o", "--out", metavar="FILE", help="Write to a file, instead of stdout.")
    ] = None,
    operators: Annotated[
        bool, typer.Option("--operators", help="Print the operators that a mapping comes to, and rewrite nothing.")
    ] = False,
    paper: Annotated[
        bool, typer.Option("--paper", help="Use the operators as their paper has them: what has no place stays.")
    ] = False,
    apart: Annotated[
        bool, typer.Option("--apart", help="Use operators also where elements stay apart that a mapping makes one.")
    ] = False,
    most_held: Annotated[
        int,
        typer.Option("--most-held", metavar="BYTES", min=1 << 16, help="How much may be held at a time."),
    ] = MOST_HELD,
) -> None:
    """Write a document in the words of another schema, while it is read.

    A mapping is carried out by operators where these make what it makes, on documents that are valid for their schema;
    others are refused. Elsewhere it is exchanged, as by map apply, and stderr says why. A FILE.operators is
    carried out as it is written. White space between elements is not kept
    where they move.
    """
    if (document is None) != operators:
        raise typer.BadParameter("give either DOCUMENT or --operators")
    is_program = Path(file).suffix == PROGRAM_SUFFIX
    if is_program and (paper or apart or to is not None):
        raise typer.BadParameter("--paper, --apart and --to are for mappings")
    mapping = None if is_program else load_mapping(file)
    if mapping is not None and to is Direction.SOURCE:
        mapping = mapping.mirrored()
    program = load_program(file) if mapping is None else _program(mapping, paper=paper, apart=apart, must=operators)
    with ExitStack() as opened:
        if document is None:
            if program is not None:
                write_to(out, [print_program(program, Path(out).parent if out else None).encode()])
            return
        if program is not None:
            source = _opened(opened, document)
            if mapping is not None and not paper:
                source = _valid(opened, source, mapping, file_name(document))
            prefixes = None if mapping is None else image_prefixes(mapping.target)
            rewriter = StreamingRewriter(program, most_held=most_held, as_declared=True, prefixes=prefixes)
            write_to(out, _ended(rewriter.rewrite(source, file_name(document))))
        elif mapping is not None:
            write_to(out, (text.encode() for text in exchanged(mapping, document)))


def _valid(opened: ExitStack, source: BinaryIO, mapping: Mapping, file: str) -> BinaryIO:
    """The source of a document, from its beginning, once it is known that the document is valid: operators would carry
    on what a mapping does not know.

    Raises :class:`SchemaError` (HX2007) with the faults of one that is not.
    """
    if not source.seekable():
        kept = opened.enter_context(TemporaryFile())  # noqa: SIM115
        shutil.copyfileobj(source, kept)
        source = kept
    source.seek(0)
    if faults := stream_faults(source, mapping.source.graph, file):
        raise SchemaError(faults)
    source.seek(0)
    return source


def _program(mapping: Mapping, *, paper: bool, apart: bool, must: bool) -> Program | None:
    """The operators of a mapping; ``None``, after saying why, where it is to be exchanged."""
    if paper:
        return rewriting.paper_program(mapping)
    found = rewriting.mapping_program(mapping)
    if found.program is not None and (found.is_exact or apart or must):
        for node in sorted(found.glued) if must and not apart else ():
            print_note(f"elements {'/'.join(node)} stay apart that the mapping makes one")
        return found.program
    reasons = found.reasons or tuple(
        f"elements {'/'.join(node)} may have to be made one" for node in sorted(found.glued)
    )
    if must:
        raise DisseminationError(Fault("HX9101", reason) for reason in reasons)
    for reason in reasons:
        print_note(f"exchanged, not rewritten: {reason}")
    return None


def _opened(opened: ExitStack, document: str) -> BinaryIO:
    if document == STANDARD_INPUT:
        return sys.stdin.buffer
    try:
        return opened.enter_context(Path(document).open("rb"))
    except (OSError, ValueError) as error:
        raise unreadable(file_name(document), error) from None


def _ended(parts: Iterable[bytes]) -> Iterator[bytes]:
    yield from parts
    yield b"\n"

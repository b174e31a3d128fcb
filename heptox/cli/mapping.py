"""``heptox map check``, ``map show`` and ``map apply``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping as Counts, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from heptox import cluster, mapping as mappings
from heptox.cli.documents import DocumentsOf, read_documents
from heptox.cli.inputs import STANDARD_INPUT, Json, MappingFile
from heptox.cli.output import ExitCode, on_terminal, print_error, print_faults, print_json, print_note, print_result
from heptox.cli.signals import ended_by_signals
from heptox.errors import Fault, HeptoxError, InputError, MappingError, Position, SchemaError, StoreError
from heptox.garbage import uncollected
from heptox.grammar import Side
from heptox.mapping import (
    LARGE,
    WITHOUT_MEANING,
    ExchangeReceipt,
    Mapping,
    codes_by_table,
    exchange,
    load_mapping,
    load_mapping_text,
    path_text,
    print_rules,
)
from heptox.printable import shown
from heptox.schema import DocumentChecker, Path as SchemaPath, SchemaTree, conform, document_checker, validity_faults
from heptox.translate import Direction
from heptox.verification import Coverage, Images, Law, Remark, checked, random_documents, served
from heptox.xml import Document, file_name, line_of, parse_document, read_bytes, write_document

_SHOWN_CODES: Final = 10


def check(
    file: MappingFile,
    documents: Annotated[
        list[str] | None, typer.Argument(metavar="DOC", help="Documents of either side; else a few random ones.")
    ] = None,
    documents_of: DocumentsOf = None,
    json: Json = False,
) -> None:
    """Check a mapping; every fault is reported in one run.

    Faults are printed on stderr, one a line, each with its place and what would have worked; with --json on stdout too.

    Without faults it says what the mapping does to documents, one remark a line, with the line to write where that is
    not meant: leaves that are not reached or used, images that are not valid, what contradicts, what becomes one, what
    makes nothing, what does not come back. --json lists all leaves. What becomes of documents is seen on DOC.
    """
    with uncollected():
        _check(file, documents or (), documents_of, json=json)


def _check(file: str, given: Sequence[str], documents_of: Side | None, *, json: bool) -> None:
    try:
        mapping, arrows = load_mapping_text(file)
    except HeptoxError as error:
        if not json:
            raise
        print_json({"file": file, "rules": None, "faults": [str(fault) for fault in error.faults]})
        print_faults(error)
        raise typer.Exit(1) from None
    sides: dict[Side, list[Document]] = read_documents(mapping, given, documents_of)
    checkers: dict[Side, DocumentChecker] = {}
    if given:
        checkers = {
            law.asks: checker
            for law in served(mapping)
            if sides[law.answers] and (checker := _checker(law.read(mapping).target))
        }
    else:
        sides = {law.answers: random_documents(mapping, law) for law in served(mapping)}
    found = checked(mapping, arrows, sides, are_random=not given, checkers=checkers)
    rules = {law: len(law.read(mapping).rules) for law in served(mapping)}
    if json:
        print_json(
            {
                "file": file,
                "rules": {str(law): rules.get(law) for law in Law},
                "faults": [],
                "remarks": [_remark(remark) for remark in found.remarks],
                "confirmed": [_remark(remark) for remark in found.confirmed],
                "coverage": {str(law): _covered(law.read(mapping), one) for law, one in found.coverage.items()},
                "images": {str(law): _images(one) for law, one in found.images.items()},
            }
        )
        return
    print_result(f"{file}: no faults, {_counted(rules)}")
    for remark in (*found.confirmed, *found.remarks):
        print_result(str(remark))


def _checker(tree: SchemaTree) -> DocumentChecker | None:
    """What checks documents by the schema of a side as it is written."""
    file = tree.graph.file
    return None if file is None else document_checker(file, tree.root)


def _covered(read: Mapping, found: Coverage) -> dict[str, Any]:
    def names(tree: SchemaTree, leaves: Iterable[SchemaPath]) -> list[str]:
        return [path_text(tree, leaf) for leaf in leaves]

    return {
        "reached": names(read.target, found.reached),
        "invented": names(read.target, (leaf for leaf in found.reached if leaf in read.invented_target)),
        "unreached": names(read.target, found.unreached),
        "required": names(read.target, found.missing),
        "used": names(read.source, found.used),
        "unused": names(read.source, found.unused),
    }


def _images(found: Images) -> dict[str, Any]:
    return {
        "documents": len(found.all),
        "random": found.are_random,
        "refused": list(found.refusals),
        "valid": sum(not faults for faults in found.faults),
        "faults": list(found.reasons),
    }


def _counted(rules: Counts[Law, int]) -> str:
    """How many rules there are of each direction, as in ``4 rules along, 1 against``."""
    words = [f"{count} {law}" for law, count in rules.items()]
    if words:
        number, _, law = words[0].partition(" ")
        words[0] = f"{number} {'rule' if number == '1' else 'rules'} {law}"
    return ", ".join(words) or "no rules"


def _remark(remark: Remark) -> dict[str, Any]:
    return {
        "direction": str(remark.direction),
        "code": remark.code,
        "line": remark.line,
        "text": remark.text,
        "hint": remark.hint,
    }


def show(file: MappingFile) -> None:
    """Print a mapping as rules, which can be edited and loaded.

    What is printed is a complete FILE.rules: every command that takes a mapping takes it.
    """
    print_result(print_rules(load_mapping(file), tables=Path(file).parent))


def apply(
    file: MappingFile,
    document: Annotated[
        str,
        typer.Argument(
            metavar="DOCUMENT", help="A document of the schema that --to does not name, or -; with --master a folder."
        ),
    ],
    to: Annotated[
        Direction,
        typer.Option("--to", metavar="source|target", help="The schema of the document that is made."),
    ] = Direction.TARGET,
    indent: Annotated[bool, typer.Option("--indent", help="Give each element a line of its own.")] = False,
    master: Annotated[
        str | None,
        typer.Option("--master", metavar="URL", help="Exchange all documents (*.xml) of a folder on Spark: local[*]."),
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", metavar="FOLDER", help="Where --master writes what is made of them.")
    ] = None,
) -> None:
    """Print the document that a mapping makes of a document.

    With --to source it is made of a document of the target schema. The order of its elements is that of its schema,
    then of first appearance in the given document. Without --indent it holds no white space but that of the values. A
    document that is not valid for its schema is exchanged as far as the rules find what they name, and its faults are
    reported on stderr. Where one node gets several values for a leaf that is there once, the first is kept, and how
    often is reported there too, and so are codes that a table does not have.

    With --master the documents of a folder are exchanged on Spark, each into a file of the same name in --out. The exit
    code is then 1 when some could not be exchanged; the first of these are reported on stderr.
    """
    if (master is None) != (out is None) or (master is not None and indent):
        raise typer.BadParameter("--master and --out go together, and without --indent")
    mapping = load_mapping(file)
    if master is not None and out is not None:
        _apply_to_folder(mapping, Path(document), Path(out), master, to)
        return
    for text in exchanged(mapping, document, indent=indent, to=to):
        sys.stdout.write(shown(text) if on_terminal() else text)


def exchanged(
    mapping: Mapping, document: str, *, indent: bool = False, to: Direction = Direction.TARGET
) -> Iterator[str]:
    """What a mapping makes of a document, part by part: by way of a store where it is large and valid.

    Notes say at the end how many leaves got several values, and which codes tables do not have.

    Raises :class:`MappingError` (HX4040) for a document of the schema that is to be made, and as
    :func:`heptox.mapping.exchange`.
    """
    mapping = mapping if to is Direction.TARGET else mapping.mirrored()
    receipt = ExchangeReceipt()
    found = False
    if not indent and _is_large(document):
        for text in _stored(mapping, Path(document), receipt):
            found = True
            yield text
    if not found:
        receipt = ExchangeReceipt()
        read = _as_its_schema_has_it(parse_document(read_bytes(document), file_name(document)), mapping, to)
        yield write_document(exchange(mapping, read, receipt=receipt).root, indent=indent)
    leaves = [path_text(mapping.target, leaf) for leaf in sorted(receipt.conflicts)]
    _note_conflicts(receipt.conflicts.total(), leaves)
    _note_unknown_codes(receipt.unknown_codes)


def _note_unknown_codes(codes: Iterable[tuple[str, str]]) -> None:
    for table, listed in codes_by_table(codes, _SHOWN_CODES):
        print_note(f"codes that {table} does not have: {listed}; {WITHOUT_MEANING}")


def _note_conflicts(count: int, leaves: Iterable[str] = ()) -> None:
    names = ", ".join(leaves)
    if count:
        where = f" ({names})" if names else ""
        print_note(f"conflicts: {count:,}{where}; of several values for a leaf that is there once the first is kept")


def _apply_to_folder(mapping: Mapping, folder: Path, out: Path, master: str, to: Direction) -> None:
    if not folder.is_dir():
        raise InputError(Fault("HX1001", "it is no folder, which --master takes", file=str(folder)))
    cluster.check_folders(folder, out)  # before Spark is started
    with ended_by_signals(), cluster.spark_session(master, settings=cluster.BULK) as spark, cluster.spark_faults():
        summary = cluster.exchange_folder(spark, mapping, folder, out, to=to)
    for name, fault in summary.faults:
        print_error(f"{folder}/{fault}" if fault.startswith(name) else f"{folder / name}: {fault}")
    if summary.misfits:
        print_note(
            f"{summary.misfits} documents are not valid, and were exchanged as far as the rules find what they name"
        )
    _note_conflicts(summary.conflicts)
    _note_unknown_codes(summary.unknown_codes)
    print_note(
        f"{summary.exchanged:,} of {summary.documents:,} documents exchanged in {summary.seconds:.1f} s:"
        f" {summary.read:,} bytes read, {summary.written:,} written to {out}"
    )
    if summary.failed:
        raise typer.Exit(ExitCode.WRONG_INPUT)


def _is_large(document: str) -> bool:
    try:
        return document != STANDARD_INPUT and Path(document).is_file() and Path(document).stat().st_size >= LARGE
    except (OSError, ValueError):
        return False  # reading it reports what is wrong


def _stored(mapping: Mapping, document: Path, receipt: ExchangeReceipt) -> Iterator[str]:
    """What a mapping makes of a valid document, by way of a store; nothing where this cannot be done.

    What is wrong with a document that cannot be read so is reported by who reads it whole.
    """
    with closing(mappings.exchange_at_rest(mapping, document, str(document), receipt)) as texts:
        try:
            first = next(texts, None)
        except (InputError, OSError, StoreError):
            return
        if first is not None:
            yield from chain([first], texts)


def _as_its_schema_has_it(document: Document, mapping: Mapping, to: Direction) -> Document:
    """The document with its defaulted attributes; or as it is, its faults reported, where it is not valid.

    ``mapping`` is read so that its source is the document's schema. Raises :class:`MappingError` (HX4040) where it is a
    document of the other one.
    """
    source, target = mapping.source.graph, mapping.target.graph
    found = document.root.tag
    names = target.prefixes.with_more(dict(source.prefixes.bound))
    if found != source.root and found == target.root:
        raise _of_the_other(
            document, f"the root element is {names.written(str(found))}, not {names.written(source.root)}", to
        )
    try:
        return conform(document, source)
    except SchemaError as error:
        if found == target.root and not validity_faults(document, target):
            message = f"the document is valid for the {to} schema, and not for the other one"
            raise _of_the_other(document, message, to) from None
        print_faults(error)
        return document


def _of_the_other(document: Document, message: str, to: Direction) -> MappingError:
    other = Direction.SOURCE if to is Direction.TARGET else Direction.TARGET
    hint = f"it is a document of the {to} schema: --to {other} makes one of the {other} schema of it"
    return MappingError(Fault("HX4040", message, Position(line_of(document.root), 1, document.file), hint=hint))

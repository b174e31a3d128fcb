"""``heptox map test``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping as Table, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from heptox.cli.documents import DocumentsOf, read_documents
from heptox.cli.inputs import Json, MappingFile
from heptox.cli.output import ExitCode, print_error, print_json, print_note, print_result
from heptox.errors import CODES
from heptox.grammar import Side
from heptox.mapping import Mapping, load_mapping_text
from heptox.verification import Counterexample, Law, LossyDocument, RoundTrip, Verification, verify as verify_mapping

MOST_ITEMS: Final = 20
"""Items of an answer that are shown to people; ``--json`` has them all."""


def verify(
    file: MappingFile,
    cases: Annotated[int, typer.Option(min=1, metavar="N", help="How many random cases are tried.")] = 100,
    seed: Annotated[int, typer.Option(metavar="S", help="The seed of the first case; the next has the next.")] = 1,
    any_valid: Annotated[
        bool,
        typer.Option("--any-valid", help="Random documents are only valid: they may break keys that FILE declares."),
    ] = False,
    document: Annotated[
        list[str] | None,
        typer.Option(
            "--document", metavar="DOC", help="Ask every query on this document too, of either side; may be repeated."
        ),
    ] = None,
    documents_of: DocumentsOf = None,
    json: Json = False,
) -> None:
    """Test a mapping on random documents and queries; print the smallest counterexample.

    Random queries over both schemas are asked of what the mapping makes of random documents, and their translations of
    the documents themselves: both answers must be equal, in each direction that FILE serves. Each case has a seed that
    repeats it. Documents also go there and back: what does not come back breaks no promise; the smallest such document
    is printed, with a line that was seen to mend it.

    Translation relies on the keys that a mapping declares; random documents obey them, unless --any-valid is given.
    What a document given with --document breaks of the declared keys and references is reported on stderr.

    The exit code is 1 when a counterexample was found, a given document breaks what is declared, or a direction could
    not be tested, else 0.
    """
    mapping, arrows = load_mapping_text(file)
    sides = read_documents(mapping, document or (), documents_of)
    with _progress(cases) as report:
        found = verify_mapping(
            mapping,
            cases,
            seed,
            any_valid=any_valid,
            documents={Law.ALONG: sides["source"], Law.AGAINST: sides["target"]},
            arrows=arrows,
            progress=report,
        )
    repeat = shlex.join(_repeating(file, found.counterexample, any_valid, cases, seed, document or (), documents_of))
    for fault in found.faults:
        print_error(str(fault))
    for law, why in found.untested.items():
        print_error(f"{file}: nothing was tested {law}: {why}")
    if json:
        print_json({"file": file, "seed": seed, **_as_json(found, mapping, repeat)})
    else:
        for line in _notes(found, mapping):
            print_note(line)
        for line in _report(found, file, seed, repeat):
            print_result(line)
    if not found.passed:
        raise typer.Exit(ExitCode.WRONG_INPUT)


@contextmanager
def _progress(cases: int) -> Iterator[Callable[[str], None]]:
    """What is called as cases are done: it draws a bar on stderr, where that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("cases", total=cases)

        def report(what: str) -> None:
            if what == "case":
                bar.advance(task)
            else:
                bar.update(task, description="making the counterexample smaller")

        yield report


def _repeating(
    file: str,
    found: Counterexample | None,
    any_valid: bool,
    cases: int,
    seed: int,
    documents: Sequence[str],
    side: Side | None,
) -> list[str]:
    """The command line that repeats a counterexample, or else the whole run."""
    alone = found is not None and found.seed is not None
    if found is not None and found.seed is not None:
        cases, seed = 1, found.seed
    given = [] if alone else [word for name in documents for word in ("--document", name)]
    given += ["--documents-of", side] if given and side else []
    flags = ["--any-valid"] * any_valid
    return ["heptox", "map", "test", file, "--cases", str(cases), "--seed", str(seed), *flags, *given]


# -- for people ------------------------------------------------------------------------------------------------------


def _notes(found: Verification, mapping: Mapping) -> Iterator[str]:
    """What was not checked, and under which assumptions the rest was."""
    for law in Law:
        if law not in found.checks:
            yield f"not tested: {law}: the file has no such rules"
    if found.refused:
        counts = ", ".join(f"{count} {code} ({CODES[code]})" for code, count in found.refused.items())
        yield f"not translated: {counts}"
    if found.stopped:
        yield f"stopped: {found.stopped} that took too long"
    for law, number in found.idle:
        yield f"idle: rule {number} {law} made nothing of any document"
    for side, key in found.assumed:
        yield f"assumed: the {side} key {_key(mapping, side, key)}, which is declared and not guaranteed by validity"
    for text in found.inverses:
        yield f"assumed: {text}"
    for law, leaf, count in found.conflicts:
        documents = "document" if count == 1 else "documents"
        name = _leaf(mapping, law, leaf)
        yield f"left out: {count} random {law.answers} {documents} with several values for {name}, there once"


def _key(mapping: Mapping, side: Side, key: tuple[str, ...]) -> str:
    """A key of one side as a text has it."""
    return (mapping.source if side == "source" else mapping.target).written(key)


def _leaf(mapping: Mapping, law: Law, leaf: tuple[str, ...]) -> str:
    """A leaf of the images as a text has it."""
    return law.read(mapping).target.written(leaf)


def _report(found: Verification, file: str, seed: int, repeat: str) -> Iterator[str]:
    count = f"{found.cases} {'case' if found.cases == 1 else 'cases'}"
    example = found.counterexample
    if example is None:
        checks = ", ".join(f"{found.checks[law]} {law} ({found.answering[law]} with answers)" for law in found.checks)
        yield f"{file}: no counterexample in {count} from seed {seed}; checks: {checks}"
    else:
        yield f"{file}: a counterexample to Definition 1, {example.law}, after {count}"
        yield from _indented(_parts(example))
        yield f"repeat: {repeat}"
    for law, trip in found.round_trips.items():
        yield f"round trip: {trip.returned} of {trip.documents} {law.answers} documents come back whole"
        if trip.lost is not None:
            yield from _indented(_lost_parts(law, trip.lost))


def _indented(parts: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, text in parts:
        yield f"{name}:"
        yield from (f"  {line}" for line in text.splitlines())


def _parts(example: Counterexample) -> Iterator[tuple[str, str]]:
    yield f"query over the {example.law.asks} schema", example.query
    if example.translation is not None:
        yield f"translated to the {example.law.answers} schema", example.translation
    yield f"{example.law.answers} document", example.document
    yield "its image", example.image
    yield "the query answers", _items(example.expected)
    if example.error is not None:
        yield "its translation fails", example.error
    else:
        yield "its translation answers", _items(example.found)


def _lost_parts(law: Law, lost: LossyDocument) -> Iterator[tuple[str, str]]:
    yield f"the smallest {law.answers} document found of which not all comes back", lost.document
    yield "its image", lost.image
    yield "what comes back", lost.back
    if lost.line is not None:
        yield "this line mends it", lost.line


def _items(items: Sequence[str]) -> str:
    more = [f"and {len(items) - MOST_ITEMS} more; --json shows all"] if len(items) > MOST_ITEMS else []
    return "\n".join([*items[:MOST_ITEMS], *more]) or "nothing"


# -- for programs ----------------------------------------------------------------------------------------------------


def _as_json(found: Verification, mapping: Mapping, repeat: str) -> dict[str, Any]:
    return {
        "passed": found.passed,
        "cases": found.cases,
        "checks": _by_law(found.checks),
        "answering": _by_law(found.answering),
        "untested": _by_law(found.untested),
        "refused": dict(found.refused),
        "stopped": found.stopped,
        "idle": [{"direction": str(law), "rule": number} for law, number in found.idle],
        "assumed": [{"side": side, "key": _key(mapping, side, key)} for side, key in found.assumed],
        "conflicts": [
            {"direction": str(law), "leaf": _leaf(mapping, law, leaf), "documents": count}
            for law, leaf, count in found.conflicts
        ],
        "inverses": list(found.inverses),
        "faults": [str(fault) for fault in found.faults],
        "repeat": repeat,
        "counterexample": None if found.counterexample is None else _example(found.counterexample),
        "round_trips": {law.answers: _trip(trip) for law, trip in found.round_trips.items()},
    }


def _by_law(found: Table[Law, Any]) -> dict[str, Any]:
    return {str(law): value for law, value in found.items()}


def _example(example: Counterexample) -> dict[str, Any]:
    return {
        "direction": str(example.law),
        "seed": example.seed,
        "query": example.query,
        "translation": example.translation,
        "document": example.document,
        "image": example.image,
        "expected": list(example.expected),
        "found": list(example.found),
        "error": example.error,
    }


def _trip(trip: RoundTrip) -> dict[str, Any]:
    lost = trip.lost
    shown = (
        None if lost is None else {"document": lost.document, "image": lost.image, "back": lost.back, "line": lost.line}
    )
    return {"documents": trip.documents, "returned": trip.returned, "lost": shown}

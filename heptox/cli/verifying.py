"""``heptox map test``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from heptox.cli.inputs import Json, MappingFile
from heptox.cli.output import ExitCode, print_error, print_json, print_note, print_result
from heptox.errors import CODES
from heptox.mapping import load_mapping
from heptox.schema import conform
from heptox.verification import Counterexample, Law, Verification, verify as verify_mapping
from heptox.xmlio import read_document

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
        typer.Option("--document", metavar="DOC", help="Ask every query on this source document too; may be repeated."),
    ] = None,
    json: Json = False,
) -> None:
    """Test a mapping on random documents and queries; print the smallest counterexample.

    Random queries over both schemas are translated and asked on both sides of random documents: against the mapping
    both answers must be equal, along it the translation must answer no more, and there and back again nothing may
    change. Each case has a seed that repeats it.

    Translation relies on the keys that a mapping declares; random documents obey them, unless --any-valid is given.
    What a document given with --document breaks of the declared keys and references is told on stderr.

    The exit code is 1 when a counterexample was found or a given document breaks what is declared, else 0.
    """
    mapping = load_mapping(file)
    documents = [conform(read_document(name), mapping.source.graph) for name in document or ()]
    with _progress(cases) as told:
        found = verify_mapping(mapping, cases, seed, any_valid=any_valid, documents=documents, progress=told)
    repeat = shlex.join(_repeating(file, found.counterexample, any_valid, cases, seed, document or ()))
    for fault in found.faults:
        print_error(str(fault))
    if json:
        print_json({"file": file, "seed": seed, **_as_json(found, repeat)})
    else:
        for line in _notes(found):
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

        def told(what: str) -> None:
            if what == "case":
                bar.advance(task)
            else:
                bar.update(task, description="making the counterexample smaller")

        yield told


def _repeating(
    file: str, found: Counterexample | None, any_valid: bool, cases: int, seed: int, documents: Sequence[str]
) -> list[str]:
    """The command line that repeats a counterexample, or else the whole run."""
    alone = found is not None and found.seed is not None
    if found is not None and found.seed is not None:
        cases, seed = 1, found.seed
    given = [] if alone else [word for name in documents for word in ("--document", name)]
    flags = ["--any-valid"] * any_valid
    return ["heptox", "map", "test", file, "--cases", str(cases), "--seed", str(seed), *flags, *given]


# -- for people ------------------------------------------------------------------------------------------------------


def _notes(found: Verification) -> Iterator[str]:
    """What was not checked, and under which assumptions the rest was."""
    if found.refused:
        counts = ", ".join(f"{count} {code} ({CODES[code]})" for code, count in found.refused.items())
        yield f"not translated: {counts}"
    if found.stopped:
        yield f"stopped: {found.stopped} that took too long"
    for number in found.idle:
        yield f"idle: rule {number} made nothing of any document"
    for key in found.assumed:
        yield f"assumed: the key {'/'.join(key)}, which is declared and not guaranteed by validity"


def _report(found: Verification, file: str, seed: int, repeat: str) -> Iterator[str]:
    count = f"{found.cases} {'case' if found.cases == 1 else 'cases'}"
    if found.counterexample is None:
        checks = ", ".join(
            f"{found.checks.get(law, 0)} {law} ({found.answering.get(law, 0)} with answers)" for law in Law
        )
        yield f"{file}: no counterexample in {count} from seed {seed}; checks: {checks}"
        return
    example = found.counterexample
    yield f"{file}: a counterexample to Definition 1, {example.law}, after {count}"
    for name, text in _parts(example):
        yield f"{name}:"
        yield from (f"  {line}" for line in text.splitlines())
    yield f"repeat: {repeat}"


def _parts(example: Counterexample) -> Iterator[tuple[str, str]]:
    asked, there = ("source", "target") if example.law.asks_source else ("target", "source")
    yield f"query over the {asked} schema", example.query
    for side, text in zip((there, asked), example.translations, strict=False):
        yield f"translated to the {side} schema", text
    yield "source document", example.document
    yield "its image", example.image
    yield "the query answers", _items(example.expected)
    if example.error is not None:
        yield "its translation fails", example.error
    else:
        yield "its translation answers", _items(example.found)


def _items(items: Sequence[str]) -> str:
    more = [f"and {len(items) - MOST_ITEMS} more; --json shows all"] if len(items) > MOST_ITEMS else []
    return "\n".join([*items[:MOST_ITEMS], *more]) or "nothing"


# -- for programs ----------------------------------------------------------------------------------------------------


def _as_json(found: Verification, repeat: str) -> dict[str, Any]:
    return {
        "passed": found.passed,
        "cases": found.cases,
        "checks": {str(law): found.checks.get(law, 0) for law in Law},
        "answering": {str(law): found.answering.get(law, 0) for law in Law},
        "refused": dict(found.refused),
        "stopped": found.stopped,
        "idle": list(found.idle),
        "assumed": ["/".join(key) for key in found.assumed],
        "faults": [str(fault) for fault in found.faults],
        "repeat": repeat,
        "counterexample": None if found.counterexample is None else _example(found.counterexample),
    }


def _example(example: Counterexample) -> dict[str, Any]:
    return {
        "law": str(example.law),
        "seed": example.seed,
        "query": example.query,
        "translations": list(example.translations),
        "document": example.document,
        "image": example.image,
        "expected": list(example.expected),
        "found": list(example.found),
        "error": example.error,
    }

"""``python -m tests.fuzz``: random cases, as many as asked for, judged by others, going on where it stopped."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from enum import StrEnum
from itertools import count, takewhile
from multiprocessing import get_context
from os import cpu_count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tests.fuzz.handlers.campaign import CONVERSATIONS, campaign
from tests.fuzz.ledger import Ledger, OtherRunError
from tests.fuzz.trial import Size, trial
from tests.support.checking import Outcome
from tests.support.matching.engines import ENGINES, NAMED

TRIALS_OF_A_PROCESS = 50
"""A worker is replaced after so many: what libraries keep for good stays bounded."""


class Subject(StrEnum):
    """What random cases are about."""

    TRANSLATION = "translation"
    STORE = "store"
    MATCHING = "matching"
    ROUTING = "routing"
    FEEDS = "feeds"
    FEEDS_LYING = "feeds-lying"
    REWRITING_TRANSLATED = "rewriting-translated"
    REWRITING_INFERENCE = "rewriting-inference"
    REWRITING_DOCUMENTS = "rewriting-documents"
    REWRITING_STREAMING = "rewriting-streaming"
    REWRITING_WAYS = "rewriting-ways"
    CHUNKING = "chunking"
    CHUNKING_CLEANING = "chunking-cleaning"
    HANDLERS = "handlers"


SIZES = {
    Subject.MATCHING: Size(queries=30, documents=20),
    Subject.ROUTING: Size(queries=40, documents=500),
    Subject.FEEDS: Size(queries=60, documents=20),
    Subject.FEEDS_LYING: Size(queries=60, documents=20),
    Subject.REWRITING_TRANSLATED: Size(queries=10, documents=8),
    Subject.REWRITING_INFERENCE: Size(queries=500, documents=0),
    Subject.REWRITING_DOCUMENTS: Size(queries=100, documents=5),
    Subject.REWRITING_STREAMING: Size(queries=100, documents=5),
    Subject.REWRITING_WAYS: Size(queries=12, documents=8),
    Subject.CHUNKING: Size(queries=20, documents=4),
    Subject.CHUNKING_CLEANING: Size(queries=30, documents=8),
}
"""How much a trial asks, where that is not the default."""


def main(
    of: Annotated[
        Subject,
        typer.Option(
            help="Definition 1 of translation, answers of the store, decisions of matching or routing, the delivery of"
            " feeds, also where one peer lies, subscriptions that are translated, a law of rewriting, filters on chunks"
            " of documents, filters that are cleaned, or what comes to a daemon from hostile clients."
        ),
    ] = Subject.TRANSLATION,
    cases: Annotated[
        int,
        typer.Option(
            help="How many cases to judge in all: schema pair, document, query; of routing, pairs; of feeds, scenarios;"
            " of rewriting, targets or documents; of chunking, schema, document, filter, and way of filtering;"
            " of handlers, trials."
        ),
    ] = 100_000,
    ledger: Annotated[
        Path | None,
        typer.Option(help="Where outcomes are kept; a run goes on with what it finds.  [default: build/fuzz-OF.jsonl]"),
    ] = None,
    first: Annotated[
        int | None,
        typer.Option(help="The number of the first trial.  [default: 0, of handlers any one]"),
    ] = None,
    conversations: Annotated[int, typer.Option(help="Of handlers: of each kind in a trial.")] = CONVERSATIONS,
    minutes: Annotated[float, typer.Option(help="Of handlers: when no further trial is begun.")] = 60,
    queries: Annotated[
        int | None,
        typer.Option(
            help="Queries over each side, subscriptions, general paths, steps of a scenario, programs, targets, or"
            " filters.  [default: 6, matching 30, routing 40, feeds 60, of rewriting 10 to 500, of chunking 20 or 30]"
        ),
    ] = None,
    documents: Annotated[
        int | None,
        typer.Option(
            help="Documents, or special paths, for each, or scenarios of a trial."
            "  [default: 7, matching 20, routing 500, feeds 20, of rewriting 5 or 8, of chunking 4 or 8]"
        ),
    ] = None,
    engines: Annotated[
        str, typer.Option(help=f"Of matching: what is checked, with commas, of {', '.join(NAMED)}.")
    ] = ",".join(ENGINES),
    retry: Annotated[bool, typer.Option(help="Only try again the trials that have counterexamples.")] = False,
    processes: Annotated[int, typer.Option(help="Trials at once.")] = cpu_count() or 1,
) -> None:
    """Judge translation, the store, matching, routing, feeds, rewriting or chunking on random cases; exit code 1 if one
    is wrong.

    Saxon is the judge of translation and store, elementpath and lxml are those of matching and of subscriptions in
    other words, automata those of routing; what feeds deliver is judged by trying each subscription on each document,
    rewriting by a slow rewriter and by exchange, chunking by lxml on the whole document.
    """
    console = Console(stderr=True)
    if of is Subject.HANDLERS:
        attack(secrets.randbelow(10**9) if first is None else first, cases, minutes, conversations)
    if unknown := {*engines.split(",")} - {*NAMED, ""}:
        raise typer.BadParameter(f"no engine is called {', '.join(sorted(unknown))}", param_hint="--engines")
    usual = SIZES.get(of, Size())
    checked = engines if of is Subject.MATCHING else ""
    size = Size(queries or usual.queries, documents or usual.documents, of.value, checked)  # type: ignore[arg-type]
    try:
        known = Ledger.opened(ledger or Path(f"build/fuzz-{of}.jsonl"), size)
    except OtherRunError as error:
        console.print(str(error))
        raise typer.Exit(2) from None
    again = sorted({number for number, _ in known.broken()})
    numbers: Iterable[int] = (
        again if retry else (number for number in count(first or 0) if number not in known.outcomes)
    )
    with Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=console
    ) as progress:
        task = progress.add_task("cases", total=max(cases, known.cases), completed=known.cases)
        wanted = numbers if retry else takewhile(lambda _: known.cases < cases, numbers)
        for number, outcome in outcomes(wanted, known.size, processes):
            known.record(number, outcome)
            progress.update(task, completed=known.cases, description=f"cases, {sum(1 for _ in known.broken())} broken")
    tell(known)
    raise typer.Exit(1 if any(known.broken()) else 0)


def attack(first: int, trials: int, minutes: float, conversations: int) -> NoReturn:
    """Attack a daemon from the trial ``first`` on; the figures are printed, and exit code 1 says that one is out of
    bounds."""
    print(f"--of handlers --first {first}", flush=True)
    with TemporaryDirectory() as folder:
        report = campaign(Path(folder), first, trials, minutes, conversations)
    report.print()
    raise typer.Exit(1 if report.broken else 0)


def outcomes(numbers: Iterable[int], size: Size, processes: int) -> Iterator[tuple[int, Outcome]]:
    """The trials with their outcomes, as they are done; numbers are taken only as processes get free."""
    context = get_context("spawn")
    with ProcessPoolExecutor(processes, context, max_tasks_per_child=TRIALS_OF_A_PROCESS) as pool:
        running: dict[Future[Outcome], int] = {}
        for number in numbers:
            running[pool.submit(trial, number, size)] = number
            if len(running) > processes:
                yield from _done(running)
        while running:
            yield from _done(running)


def _done(running: dict[Future[Outcome], int]) -> Iterator[tuple[int, Outcome]]:
    done, _ = wait(running, return_when=FIRST_COMPLETED)
    for future in done:
        yield running.pop(future), future.result()


def tell(ledger: Ledger) -> None:
    """Counterexamples and counts, on stdout."""
    for number, text in ledger.broken():
        print(f"== trial {number}\n{text}\n")
    for name, number in sorted(ledger.counts.items()):
        print(f"{number:>9,} {name}")
    print(f"{sum(1 for _ in ledger.broken()):>9,} counterexamples in {len(ledger.outcomes):,} trials")


if __name__ == "__main__":
    typer.run(main)

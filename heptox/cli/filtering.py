"""``heptox filter``."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, BinaryIO, Final

import typer

from heptox import cluster
from heptox.cli.inputs import STANDARD_INPUT, CatalogueFiles, Json, Namespace, bound_prefixes
from heptox.cli.output import ExitCode, print_error, print_json, print_note, print_result
from heptox.cli.progress import progress_bar
from heptox.cli.signals import ended_by_signals
from heptox.errors import Fault, HeptoxError, InputError
from heptox.filtering import (
    MOST_HELD,
    PIECE,
    DocumentFilter,
    DocumentTooLargeError,
    Estimate,
    Evaluating,
    Failure,
    FilteringPlan,
    FilterLine,
    FilterSet,
    PlanEvaluator,
    ProcessEvaluator,
    Result,
    ResultFolder,
    Sizes,
    Version,
    choose,
    draw_scheme,
    read_filter_file,
    sample_sizes,
)
from heptox.schema import read_schema
from heptox.xml import Prefixes, file_name, unreadable

AUTO: Final = "auto"
MOST_CHUNKS_ASKED: Final = 1000


class XPath(StrEnum):
    """The versions of XPath."""

    ONE = "1.0"
    THREE = "3.1"


def filter_documents(
    filters: Annotated[
        str,
        typer.Option("--filters", metavar="FILE", help="One XPath a line, or SUBSCRIBER [PRIORITY] XPATH with tabs."),
    ],
    schema: Annotated[
        str, typer.Option("--schema", metavar="FILE", help="The schema of the documents: a DTD or an XSD.")
    ],
    out: Annotated[str, typer.Option("--out", metavar="FOLDER", help="Gets SUBSCRIBER.xml for each; made, or empty.")],
    documents: Annotated[list[str], typer.Argument(metavar="DOCUMENT...", help="The documents; one can be -, stdin.")],
    root: Annotated[str | None, typer.Option(metavar="NAME", help="The root element type.")] = None,
    catalogues: CatalogueFiles = None,
    chunks: Annotated[
        str, typer.Option("--chunks", metavar="N|auto", help="How many chunks at most; 0: the document as it stands.")
    ] = AUTO,
    processes: Annotated[
        int | None, typer.Option("--processes", metavar="N", min=1, help="How many processes evaluate filters.")
    ] = None,
    master: Annotated[
        str | None,
        typer.Option("--master", metavar="URL", help="Filter on Spark: local[*], spark://HOST:PORT."),
    ] = None,
    xpath: Annotated[XPath, typer.Option("--xpath", help="The version of XPath that the filters are in.")] = XPath.ONE,
    explain: Annotated[
        bool, typer.Option("--explain", help="Draw the chunking scheme, and say what was chosen and why, on stderr.")
    ] = False,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Go on without the lines and documents that are wrong; exit code 3.")
    ] = False,
    most_held: Annotated[
        int, typer.Option("--most-held", metavar="BYTES", min=1 << 16, help="How much of a document is held at a time.")
    ] = MOST_HELD,
    namespace: Namespace = None,
    json: Json = False,
) -> None:
    """Filter documents by many XPaths at once, and write what each of them selects.

    FOLDER gets a file for each subscriber, in which each result is an element: what was found, in which document, and
    by the filter on which line. A filter whose subscriber is not said has the number of its line for a name. A line is
    printed for each subscriber: NAME, tab, number of results, tab, file.

    Documents are cut into chunks, so that each filter runs on a small part; the results are those of the filters on the
    whole documents, in document order. Before the filters the file may have lines such as
    declare namespace p = "urn:p"; that say what prefixes stand for, as --namespace does. Filters that select nothing in
    any document of the schema are reported. So is a document with elements where the schema has none, and it is
    filtered exactly all the same.
    """
    if documents.count(STANDARD_INPUT) + (filters == STANDARD_INPUT) + (schema == STANDARD_INPUT) > 1:
        raise typer.BadParameter("standard input can be read only once")
    if master is not None and processes is not None:
        raise typer.BadParameter("--master filters on Spark, and --processes on this machine")
    degrees = _degrees(chunks)
    faults = _Faults(skip_bad)
    filter_set = FilterSet(read_schema(schema, root, catalogues or ()), Version(xpath.value))
    lines = _added(filter_set, filters, bound_prefixes(namespace), faults)
    faults.report()
    if not lines:
        raise InputError(Fault("HX9202", "there is no filter in it", file=file_name(filters)))
    with ended_by_signals(), ExitStack() as opened:
        sources = _opened(opened, documents, faults)
        sizes = _sampled(sources)
        lengths = [source.size for source in sources]
        estimates = choose(filter_set, lengths, sizes, _processes(processes, master), degrees)
        best = estimates[0]
        plan = replace(filter_set.plan(best.degree, sizes), most_held=most_held, size=min(PIECE, most_held // 4))
        if explain:
            _explain(filter_set, plan, sizes, estimates)
        folder = opened.enter_context(ResultFolder(Path(out), [line.subscriber for line in lines]))
        found = _Found({line.number: line for line in lines}, folder, faults)
        if master is None:
            evaluating = opened.enter_context(_evaluating(plan, best.processes))
            _filter_here(DocumentFilter(plan, evaluating), sources, found)
        else:
            spark = opened.enter_context(cluster.spark_session(master, settings=cluster.BULK))
            opened.enter_context(cluster.spark_faults())
            filtering = DocumentFilter(plan, cluster.SparkEvaluating(spark, plan))
            _filter_on_cluster(filtering, partial(cluster.filter_texts, spark, plan), plan.size, sources, found)
    _print_outcome(lines, folder, json=json)
    if faults.count:
        raise typer.Exit(ExitCode.INCOMPLETE)


def _degrees(chunks: str) -> tuple[int | None] | None:
    """The number of chunks that is asked for, ``None`` in it for whole documents; ``None`` for as many as are best."""
    if chunks == AUTO:
        return None
    if not chunks.isdecimal() or int(chunks) > MOST_CHUNKS_ASKED:
        raise typer.BadParameter(f"{chunks} is no number of chunks: give 0 to {MOST_CHUNKS_ASKED}, or {AUTO}")
    return (int(chunks) or None,)


@dataclass(slots=True)
class _Faults:
    """What is wrong in the input: everything ends with it, or, when ``skipping``, what is wrong is left out."""

    skipping: bool
    found: list[Fault] = field(default_factory=list)
    count: int = 0

    def add(self, faults: Sequence[Fault]) -> None:
        self.found += faults

    def report(self) -> None:
        """Print what was found; the end, unless that is skipped."""
        for fault in sorted(self.found, key=_line):
            print_error(str(fault))
        self.count += len(self.found)
        if self.found and not self.skipping:
            raise typer.Exit(ExitCode.WRONG_INPUT)
        self.found.clear()

    def report_unanswered(self, fault: Fault) -> None:
        """Print what leaves results out, and others not."""
        print_error(str(fault))
        self.count += 1


def _line(fault: Fault) -> int:
    """The line of a fault, by which those of one file are in order."""
    return fault.position.line if fault.position is not None else 0


# -- filters ------------------------------------------------------------------------------------------------------


def _added(filters: FilterSet, path: str, prefixes: Prefixes, faults: _Faults) -> list[FilterLine]:
    found = read_filter_file(path)
    faults.add(found.faults)
    prefixes = filters.graph.prefixes.with_more(dict(prefixes.bound)).with_more(dict(found.prefixes.bound))
    added = []
    for line in found.lines:
        try:
            cleaned = filters.add(
                line.number, line.text, priority=line.priority, position=line.position, prefixes=prefixes
            )
        except HeptoxError as error:
            faults.add(error.faults)
            continue
        added.append(line)
        if cleaned.is_empty:
            print_note(f"{line.position}: selects nothing in any document of the schema: {line.text}")
    return added


# -- documents ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Source:
    """A document to be read: its file, how it is called, and how many bytes it has."""

    path: str
    name: str
    size: int
    kept: BinaryIO | None = None

    def open(self) -> AbstractContextManager[BinaryIO]:
        """Opened for reading, from its beginning. Raises :class:`InputError` (HX1001)."""
        if self.kept is not None:
            self.kept.seek(0)
            return nullcontext(self.kept)
        try:
            return Path(self.path).open("rb")
        except (OSError, ValueError) as error:
            raise unreadable(self.name, error) from None


def _opened(opened: ExitStack, documents: list[str], faults: _Faults) -> list[_Source]:
    """The documents; what comes on standard input, or from a pipe, is kept in a file to be read again."""
    found = []
    for path in documents:
        try:
            found.append(_source(opened, path))
        except InputError as error:
            faults.add(error.faults)
    faults.report()
    return found


def _source(opened: ExitStack, path: str) -> _Source:
    name = file_name(path)
    try:
        with nullcontext(sys.stdin.buffer) if path == STANDARD_INPUT else Path(path).open("rb") as file:
            if path != STANDARD_INPUT and file.seekable():
                return _Source(path, name, file.seek(0, os.SEEK_END))
            kept = opened.enter_context(TemporaryFile())  # noqa: SIM115
            shutil.copyfileobj(file, kept)
            return _Source(path, name, kept.tell(), kept)
    except (OSError, ValueError) as error:
        raise unreadable(name, error) from None


def _sampled(sources: Sequence[_Source]) -> Sizes:
    """How large elements are, by the largest of the documents."""
    if not sources:
        return Sizes()
    largest = max(sources, key=lambda source: source.size)
    with largest.open() as file:
        return sample_sizes(file, largest.name)


class _Metered:
    """A file that reports how far it was read."""

    def __init__(self, file: BinaryIO, report: Callable[[int], None] | None) -> None:
        self._file = file
        self._report = report

    def read(self, size: int, /) -> bytes:
        data = self._file.read(size)
        if self._report is not None:
            self._report(self._file.tell())
        return data

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self._file.seek(offset, whence)


# -- filtering ----------------------------------------------------------------------------------------------------


def _processes(given: int | None, master: str | None) -> tuple[int, ...]:
    """The numbers of processes among which is chosen; of those on Spark, it is chosen as if there were some."""
    if master is not None:
        return (_ON_CLUSTER,)
    return (given,) if given is not None else tuple({1, len(os.sched_getaffinity(0))})


_ON_CLUSTER: Final = 8


def _evaluating(plan: FilteringPlan, processes: int) -> AbstractContextManager[Evaluating]:
    return nullcontext(PlanEvaluator(plan)) if processes == 1 else ProcessEvaluator(plan, processes)


@dataclass(frozen=True, slots=True)
class _Found:
    """Where what is found goes."""

    lines: Mapping[int, FilterLine]
    folder: ResultFolder
    faults: _Faults

    def begin(self, source: _Source) -> None:
        self.folder.begin(source.name)

    def add(self, result: Result, source: _Source) -> None:
        line = self.lines[result.number]
        if isinstance(result.found, Failure):
            message = f"has no value on {source.name}: {result.found.reason}"
            self.faults.report_unanswered(Fault("HX9205", message, line.position))
        else:
            self.folder.add(line.subscriber, line.number, result.found)

    def drop(self, faults: Sequence[Fault]) -> None:
        """Leave a document out that cannot be filtered; the end, unless such are skipped."""
        self.folder.drop()
        self.faults.add(faults)
        self.faults.report()

    def note_outside(self, where: str) -> None:
        print_note(f"{where}; filters for which the schema was used see the whole document")


def _filter_here(filtering: DocumentFilter, sources: Iterable[_Source], found: _Found) -> None:
    for source in sources:
        found.begin(source)
        try:
            with source.open() as file, progress_bar(source.name, source.size) as report:
                for result in filtering.results(_Metered(file, report), source.name):
                    found.add(result, source)
        except (InputError, DocumentTooLargeError) as error:
            found.drop(error.faults)
            continue
        if filtering.outside is not None:
            found.note_outside(str(filtering.outside))


# -- on Spark -----------------------------------------------------------------------------------------------------

_BATCH: Final = 1 << 25
"""About how many bytes of documents that are not cut are one job."""


def _filter_on_cluster(
    filtering: DocumentFilter,
    filter_texts: Callable[[Sequence[bytes]], Sequence[cluster.FilteredText]],
    least_cut: int,
    sources: Iterable[_Source],
    found: _Found,
) -> None:
    """Filter documents of more than ``least_cut`` bytes piece by piece, and the others many at a time."""
    waiting: list[_Source] = []
    size = 0
    for source in sources:
        is_large = source.size > least_cut
        if not is_large:
            waiting.append(source)
            size += source.size
        if is_large or size > _BATCH:
            _filter_together(filter_texts, waiting, found)
            waiting, size = [], 0
        if is_large:
            _filter_here(filtering, [source], found)
    _filter_together(filter_texts, waiting, found)


def _filter_together(
    filter_texts: Callable[[Sequence[bytes]], Sequence[cluster.FilteredText]], sources: list[_Source], found: _Found
) -> None:
    texts = []
    for source in sources:
        with source.open() as file:
            texts.append(file.read())
    for source, filtered in zip(sources, filter_texts(texts), strict=True):
        found.begin(source)
        if filtered.fault is not None:
            found.drop([Fault("HX8020", filtered.fault, file=source.name)])
            continue
        for result in filtered.results:
            found.add(result, source)
        if filtered.outside is not None:
            found.note_outside(f"{source.name}:{filtered.outside.removeprefix('<text>:')}")


# -- what is printed ----------------------------------------------------------------------------------------------


def _explain(filters: FilterSet, plan: FilteringPlan, sizes: Sizes, estimates: Sequence[Estimate]) -> None:
    if plan.scheme is not None:
        print_note(draw_scheme(filters, plan.scheme, sizes))
    seconds = dict(estimates[0].parts)
    for part in plan.parts():
        share = len(part.queries) / max(len(filters), 1)
        about = f"about {seconds.get(part.name, 0.0):.2f} s"
        print_note(f"{part.name}: {_filters(len(part.queries))}, {share:.0%}, {about}")
    if empty := sum(each.cleaned.is_empty for each in plan.filters):
        print_note(f"nothing to select: {_filters(empty)}")
    for number, each in enumerate(estimates[:_MOST_ESTIMATES]):
        print_note(f"{'chosen' if not number else 'instead'}: {each}")


_MOST_ESTIMATES: Final = 6


def _filters(number: int) -> str:
    return f"{number:,} filter{'' if number == 1 else 's'}"


def _print_outcome(lines: Sequence[FilterLine], folder: ResultFolder, *, json: bool) -> None:
    names = dict.fromkeys(line.subscriber for line in lines)
    if json:
        rows = [{"subscriber": each, "results": folder.counts[each], "file": str(folder.file(each))} for each in names]
        print_json(rows)
        return
    for name in names:
        print_result(f"{name}\t{folder.counts[name]}\t{folder.file(name)}")

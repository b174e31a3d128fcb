"""``heptox subscription match``: without a peer."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Final, NamedTuple, TypeAlias

import typer

# Not its names: numpy and DuckDB are loaded when they are asked for.
from heptox import cluster, matching, rewriting
from heptox.cli.inputs import STANDARD_INPUT, Json, Namespace, bound_prefixes, check_line, subscription_lines
from heptox.cli.output import ExitCode, print_error, print_json, print_note, print_result
from heptox.cli.signals import ended_by_signals
from heptox.errors import Fault, HeptoxError, InputError, Position
from heptox.grammar import parse_subscription, without_prefixes
from heptox.mapping import Mapping as SchemaMapping, load_mapping
from heptox.pattern import TreePattern
from heptox.schema import conform
from heptox.xml import Document, Prefixes, file_name, parse_document, read_bytes

MOST_IN_MEMORY: Final = 2_000_000
"""From how many subscriptions on DuckDB matches them, which is not limited by memory: each takes 0.5 to 1 KB of it."""
MOST_FAULTS: Final = 100
"""How many faults are reported, unless the others are to be skipped."""

_Pairs: TypeAlias = list[tuple[int, int]]


class Plan(StrEnum):
    """How subscriptions are matched."""

    AUTO = "auto"
    MEMORY = "memory"
    RELATIONAL = "relational"
    SHARED = "shared"
    BUCKETED = "bucketed"
    UNROLLED = "unrolled"


class Way(StrEnum):
    """How subscriptions are matched with documents in other words."""

    AUTO = "auto"
    QRA = "qra"
    SDR = "sdr"
    NDDR = "nddr"
    IDDR = "iddr"


class Line(NamedTuple):
    """A subscription, and the line on which it stands."""

    number: int
    patterns: tuple[TreePattern, ...]


@dataclass(slots=True)
class _Faults:
    """What is wrong in the input: nothing is printed then, or, when ``skipping``, nothing of what is wrong."""

    skipping: bool
    found: list[Fault] = field(default_factory=list)
    count: int = 0

    @contextmanager
    def noted(self) -> Iterator[None]:
        try:
            yield
        except HeptoxError as error:
            self.count += 1
            # who skips them is to know them all: what is left out looks like what does not match
            self.found += error.faults if self.skipping else error.faults[: MOST_FAULTS - len(self.found)]

    def report(self) -> None:
        """Raise them, or print them and go on."""
        if not self.count:
            return
        for fault in self.found:
            print_error(str(fault))
        if not self.skipping:
            if self.count > len(self.found):
                print_note(f"and {self.count - len(self.found):,} more")
            raise typer.Exit(ExitCode.WRONG_INPUT)


def match(
    subscriptions: Annotated[str, typer.Argument(metavar="SUBSCRIPTIONS", help="One XPath a line; - is stdin.")],
    documents: Annotated[list[str], typer.Argument(metavar="DOCUMENT...", help="The documents; one can be -, stdin.")],
    plan: Annotated[
        Plan,
        typer.Option(
            help="In memory, by the plan of DuckDB that statistics speak for (relational), or by one of those."
        ),
    ] = Plan.AUTO,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say which plan is chosen and why, with statistics and times, on stderr.")
    ] = False,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Go on without the lines and documents that are wrong; exit code 3.")
    ] = False,
    master: Annotated[
        str | None,
        typer.Option(
            "--master", metavar="URL", help="Match on Spark, by the plan unrolled: local[*], spark://HOST:PORT."
        ),
    ] = None,
    arrows: Annotated[
        str | None,
        typer.Option(
            "--arrows",
            metavar="FILE",
            help="A mapping: the documents are under its source schema, the subscriptions speak of its target.",
        ),
    ] = None,
    way: Annotated[
        Way,
        typer.Option(
            help="With --arrows: translate subscriptions (qra), rewrite documents before they are matched (sdr, nddr),"
            " or as they are read (iddr), or what costs least."
        ),
    ] = Way.AUTO,
    namespace: Namespace = None,
    json: Json = False,
) -> None:
    """Match documents with the subscriptions of a file, without a peer.

    A line for each match: DOCUMENT, tab, line number. With --arrows the subscriptions are in other words than the
    documents: a document, which is to be valid, matches those that the exchanged document (heptox map apply) matches.

    Empty lines of SUBSCRIPTIONS and those that begin with # are left out, but counted; before the XPaths may be lines
    such as declare namespace p = "urn:p"; that say what prefixes stand for, as --namespace does. Matches are in the
    order of the documents as they are given, then by line number. Where a line or a document is wrong it is reported
    with its place, and nothing is printed, unless --skip-bad says to go on with the others. With --json such a document
    has null for lines.
    """
    if [subscriptions, *documents].count(STANDARD_INPUT) > 1:
        raise typer.BadParameter("standard input can be read only once")
    if master is not None and plan not in (Plan.AUTO, Plan.UNROLLED):
        raise typer.BadParameter(f"--master matches by the plan unrolled, not by {plan.value}")
    if way is not Way.AUTO and arrows is None:
        raise typer.BadParameter("--way says how subscriptions are matched in other words, so it needs --arrows")
    if arrows is not None and plan not in (Plan.AUTO, Plan.MEMORY):
        raise typer.BadParameter(f"--arrows matches in memory, not by {plan.value}")
    times: dict[str, float] = {}
    faults = _Faults(skip_bad)
    prefixes = bound_prefixes(namespace)
    mapping = None if arrows is None else load_mapping(arrows)
    if mapping is not None:
        prefixes = mapping.target.graph.prefixes.with_more(dict(prefixes.bound))
    lines = _Lines(subscriptions, faults, prefixes, counting=explain)
    if mapping is not None:
        read = _Documents(documents, faults)
        found, reason = _in_words(lines, read, mapping, way, master, times)
        _finish(read, found, faults, [reason, str(lines)] if explain else [], times if explain else {}, json=json)
        return
    chosen, reason = _chosen(plan, len(lines)) if master is None else (Plan.UNROLLED, f"on Spark, {master}")
    read = _Documents(documents, faults)
    explained: list[str] = []
    if master is not None:
        found = _on_cluster(lines, read, master, times)
    elif chosen is Plan.MEMORY:
        found = _in_memory(lines, read, times, explained)
    else:
        found = _by_relations(lines, read, _RELATIONAL[chosen], times, explained if explain else None)
    explained = [f"plan {chosen.value}: {reason}", str(lines), *explained] if explain else []
    _finish(read, found, faults, explained, times if explain else {}, json=json)


def _finish(
    read: _Documents,
    found: _Pairs,
    faults: _Faults,
    explained: Iterable[str],
    times: Mapping[str, float],
    *,
    json: bool,
) -> None:
    """Tell what was wrong, what is to be explained, and what was found."""
    faults.report()
    for text in (*explained, *(f"{seconds * 1000:10.1f} ms {what}" for what, seconds in times.items())):
        print_note(text)
    _print(read, found, json)
    if faults.count:
        raise typer.Exit(ExitCode.INCOMPLETE)


class _Lines:
    """The subscriptions, read one after the other: a million of them at once would take much memory.

    When ``counting``, says what their predicates were.
    """

    def __init__(self, file: str, faults: _Faults, prefixes: Prefixes, *, counting: bool) -> None:
        self._file = file_name(file)
        self._faults = faults
        declared, self._lines = subscription_lines(file)
        self._prefixes = prefixes.with_more(dict(declared.bound))
        self._counting = counting
        self._kinds: Counter[str] = Counter()
        self._branching = 0
        self._read = 0

    def __len__(self) -> int:
        return len(self._lines)

    def __iter__(self) -> Iterator[Line]:
        return (line for line, _ in self.with_texts())

    def with_texts(self) -> Iterator[tuple[Line, str]]:
        """The subscriptions as they were read, and as they are written, with names that need no prefixes."""
        for number, text in self._lines:
            patterns = None
            with self._faults.noted():
                check_line(text, self._file, number)
                patterns = parse_subscription(text, self._file, number, self._prefixes)
                text = without_prefixes(text, self._prefixes, self._file, number)
            if patterns is not None:
                self._read += 1
                if self._counting:
                    self._count(patterns)
                yield Line(number, patterns), text

    @contextmanager
    def noted(self, number: int) -> Iterator[None]:
        """Note what is wrong in a line, with its place."""
        with self._faults.noted():
            try:
                yield
            except HeptoxError as error:
                raise type(error)(self._placed(fault, number) for fault in error.faults) from error

    def _placed(self, fault: Fault, number: int) -> Fault:
        column = fault.position.column if fault.position else 1
        return replace(fault, position=Position(number, column, self._file))

    def _count(self, patterns: Iterable[TreePattern]) -> None:
        for pattern in patterns:
            found = matching.branches(pattern)
            self._kinds.update("existence" if branch.operator is None else branch.operator for branch in found)
            self._branching += any(branch.points for branch in found)

    def __str__(self) -> str:
        counted = ", ".join(f"{count:,} {kind}" for kind, count in self._kinds.most_common())
        return f"{self._read:,} subscriptions, {self._branching:,} branching patterns; predicates: {counted or 'none'}"


class _Documents:
    """The documents, read one after the other; ``places`` are those of the ones that could be read."""

    def __init__(self, files: Sequence[str], faults: _Faults) -> None:
        self.files = files
        self._faults = faults
        self.places: list[int] = []

    def begin(self) -> None:
        """End the command for what was wrong before the documents are read."""
        if not self._faults.skipping:
            self._faults.report()

    def __iter__(self) -> Iterator[Document]:
        return (document for document, _ in self._read())

    def texts(self) -> list[tuple[int, bytes]]:
        """The documents as they stand, with their places."""
        texts = [text for _, text in self._read()]
        return list(zip(self.places, texts, strict=True))

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note what is wrong with the document that was read last, which is taken for one that could not be read."""
        with self._faults.noted():
            try:
                yield
            except HeptoxError:
                self.places.pop()
                raise

    def report(self, place: int, fault: str) -> None:
        """Note what is wrong with a document."""
        with self._faults.noted():
            self.places.remove(place)
            raise InputError(Fault("HX9103", fault, file=self.files[place]))

    def _read(self) -> Iterator[tuple[Document, bytes]]:
        for place, file in enumerate(self.files):
            found = None
            with self._faults.noted():
                text = read_bytes(file)
                found = parse_document(text, file_name(file)), text
            if found is not None:
                self.places.append(place)
                yield found


def _chosen(plan: Plan, subscriptions: int) -> tuple[Plan, str]:
    """The plan, :attr:`Plan.RELATIONAL` for the one of DuckDB's that statistics speak for, and why."""
    if plan is not Plan.AUTO:
        return plan, "as asked"
    if subscriptions <= MOST_IN_MEMORY:
        return Plan.MEMORY, f"{subscriptions:,} lines are not more than {MOST_IN_MEMORY:,}"
    return Plan.RELATIONAL, f"{subscriptions:,} lines are more than {MOST_IN_MEMORY:,}: one of DuckDB's"


def _in_memory(lines: Iterable[Line], documents: _Documents, times: dict[str, float], explained: list[str]) -> _Pairs:
    matcher = matching.MemoryMatcher()
    with _timed(times, "reading and adding the subscriptions"):
        for number, patterns in lines:
            matcher.add(number, patterns)
    documents.begin()
    found: _Pairs = []
    with _timed(times, "reading and matching the documents"):
        for document in documents:
            place = documents.places[-1]
            found += [(place, number) for number in matcher.match(document).tolist()]
    statistics = matcher.statistics()
    explained.append(
        f"{statistics.linear_paths:,} distinct linear paths, {statistics.tag_paths:,} tag paths; "
        f"{statistics.patterns:,} patterns, {statistics.open_patterns:,} of them not decided by their predicates alone"
    )
    return found


def _by_relations(
    lines: Iterable[Line],
    documents: _Documents,
    plan: matching.Plan | None,
    times: dict[str, float],
    explained: list[str] | None,
) -> _Pairs:
    with matching.RelationalMatcher() as matcher:
        with _timed(times, "reading and adding the subscriptions"):
            matcher.add_many(lines)
        documents.begin()
        with _timed(times, "reading and matching the documents"):
            read: Iterable[Document] = documents if explained is None else list(documents)
            matches = list(matcher.match(read, plan))
        if explained is not None:
            explained += [str(batch) for batch in matcher.explain(read, plan)]
            statistics = matcher.statistics()
            explained.append(
                f"{statistics.linear_paths:,} distinct linear paths, {statistics.tag_paths:,} tag paths, "
                f"{statistics.path_matches:,} pairs of them that match; {statistics.conjunctions:,} patterns"
            )
    return [(documents.places[place], number) for place, number in matches]


def _on_cluster(lines: Iterable[Line], documents: _Documents, master: str, times: dict[str, float]) -> _Pairs:
    with matching.RelationalMatcher() as matcher:
        with _timed(times, "reading and adding the subscriptions"):
            matcher.add_many(lines)
        texts = documents.texts()
        documents.begin()
        with (
            ended_by_signals(),
            cluster.spark_session(master, settings=cluster.BULK) as spark,
            cluster.spark_faults(),
            _timed(times, "matching the documents"),
            cluster.SubscriptionTables(spark, matcher) as tables,
        ):
            rows = tables.match(spark.createDataFrame(texts, "doc bigint, text binary")).collect()
    return sorted((row["doc"], row["number"]) for row in rows)


def _in_words(
    lines: _Lines, documents: _Documents, mapping: SchemaMapping, way: Way, master: str | None, times: dict[str, float]
) -> tuple[_Pairs, str]:
    """What matches across a mapping, and which way was chosen, and why."""
    publisher = rewriting.Publisher(mapping)
    asked = None if way is Way.AUTO else rewriting.Strategy(way.value)
    matcher = rewriting.DomainMatcher(mapping.target)
    texts: list[tuple[int, str]] = []
    with _timed(times, "reading and adding the subscriptions"):
        for line, text in lines.with_texts():
            with lines.noted(line.number):
                matcher.add(line.number, text)
                texts.append((line.number, text))
    if master is not None:
        found = _in_words_on_cluster(texts, documents, mapping, asked, master, times)
    else:
        documents.begin()
        found = []
        with _timed(times, "reading and matching the documents"):
            for document in documents:
                place = documents.places[-1]
                with documents.noted():
                    numbers = matcher.match(publisher, conform(document, mapping.source.graph), asked)
                    found += [(place, number) for number in numbers.tolist()]
    return found, f"way {rewriting.StrategyChoice(asked, 'as asked') if asked else matcher.chosen(publisher)}"


def _in_words_on_cluster(
    texts: Sequence[tuple[int, str]],
    documents: _Documents,
    mapping: SchemaMapping,
    way: rewriting.Strategy | None,
    master: str,
    times: dict[str, float],
) -> _Pairs:
    read = documents.texts()
    documents.begin()
    with (
        ended_by_signals(),
        cluster.spark_session(master, settings=cluster.BULK) as spark,
        cluster.spark_faults(),
        _timed(times, "matching the documents"),
    ):
        given = spark.createDataFrame(read, "doc bigint, text binary").repartition(
            spark.sparkContext.defaultParallelism
        )
        rows = cluster.match_in_words(mapping, texts, given, way).collect()
    for row in rows:
        if row["fault"] is not None:
            documents.report(row["doc"], row["fault"])
    return sorted((row["doc"], row["number"]) for row in rows if row["fault"] is None)


_RELATIONAL: Final[dict[Plan, matching.Plan | None]] = {
    Plan.RELATIONAL: None,
    Plan.SHARED: "shared",
    Plan.BUCKETED: "bucketed",
    Plan.UNROLLED: "unrolled",
}


def _print(documents: _Documents, found: _Pairs, json: bool) -> None:
    if json:
        lines: dict[int, list[int]] = {place: [] for place in documents.places}
        for place, number in found:
            lines[place].append(number)
        print_json([{"document": name, "lines": lines.get(place)} for place, name in enumerate(documents.files)])
    elif found:
        print_result("\n".join([f"{documents.files[place]}\t{number}" for place, number in found]))


@contextmanager
def _timed(times: dict[str, float], what: str) -> Iterator[None]:
    began = time.perf_counter()
    try:
        yield
    finally:
        times[what] = time.perf_counter() - began

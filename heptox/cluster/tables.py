"""Tables about emulations: values first, so that text and pages show the same ones.

What is measured stands in tables of its own, so that the others are the same wherever an emulation runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from statistics import median
from textwrap import fill
from typing import Final, Literal

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from heptox.cluster.outcome import Check, Outcome
from heptox.cluster.summary import (
    BROUGHT,
    Spread,
    answer_curve,
    asked,
    breakdown,
    evaluation_times,
    labels,
    outward,
    reached,
    share,
    statuses,
    time_of,
    total_seconds,
    translation_times,
)
from heptox.peer import Status
from heptox.printable import on_one_line

NOTHING: Final = "-"
"""What stands where there is no value."""
_USUAL: Final = (
    Status.ANSWERED,
    Status.NOTHING,
    Status.REFUSED,
    Status.UNREACHABLE,
    Status.TIMED_OUT,
    Status.FAILED,
)
"""The statuses that have a column whether they occur or not; the others have one where they do."""
_WIDTH: Final = 100_000
_FOLD: Final = 110


@dataclass(frozen=True, slots=True)
class Table:
    """A table: the cells of each row are as many as the columns. Those of the columns ``words`` are no numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: frozenset[str] = frozenset()
    note: str = ""

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"a row of {self.title!r} does not have {len(self.columns)} cells")


def count(value: int) -> str:
    """
    >>> count(12345)
    '12,345'
    """
    return f"{value:,}"


def milliseconds(value: float | None) -> str:
    """Milliseconds with one decimal, more for what is short.

    >>> milliseconds(1234.56), milliseconds(0.0123), milliseconds(0.0), milliseconds(None)
    ('1,234.6', '0.012', '0.0', '-')
    """
    if value is None:
        return NOTHING
    return f"{value:,.1f}" if value >= 1 or value == 0 else f"{value:.3f}"


def seconds(value: float) -> str:
    """
    >>> seconds(61.234)
    '61.23'
    """
    return f"{value:,.2f}"


def percent(value: float | None) -> str:
    """A share with one decimal, cut off and not rounded: only what is whole is 100.0 %.

    >>> percent(1.0), percent(0.9999), percent(None)
    ('100.0 %', '99.9 %', '-')
    """
    return NOTHING if value is None else f"{int(value * 1000 + 1e-9) / 10:.1f} %"


def byte_count(value: int) -> str:
    """
    >>> byte_count(999), byte_count(1_500_000)
    ('999 B', '1.5 MB')
    """
    if value < 1000:
        return f"{value} B"
    size = float(value)
    for unit in ("kB", "MB", "GB"):
        size /= 1000
        if size < 999.95:
            return f"{size:.1f} {unit}"
    return f"{size / 1000:.1f} TB"


def check_line(check: Check) -> str:
    """What the check found, in one line.

    >>> check_line(Check(pairs=12, paths=30, wrong=2, untold=0))
    'THE CHECK FAILED: 2 wrong items, 0 paths that miss items untold'
    """
    if not check.passed:
        wrong, untold = _counted(check.wrong, "wrong item"), _counted(check.untold, "path")
        return f"THE CHECK FAILED: {wrong}, {untold} that {'misses' if check.untold == 1 else 'miss'} items untold"
    if not check.pairs and not check.paths:
        return "nothing was checked"
    pairs, paths = _counted(check.pairs, "pair"), _counted(check.paths, "path")
    return f"the check passed: {pairs} of a peer and a query evaluated anew, {paths} compared"


def plan_table(outcome: Outcome) -> Table:
    """The settings of the plan."""
    return _facts("Plan", ((key, _setting(value)) for key, value in sorted(outcome.plan.items())), "setting")


def network_table(outcome: Outcome) -> Table:
    """The peers by schema, and how they are connected."""
    network = outcome.network
    peers = sum(network.peers.values())
    rows = [(f"peers under {name}", count(number)) for name, number in sorted(network.peers.items())]
    return _facts(
        "Network",
        [
            ("peers", count(peers)),
            ("schemas", count(len(network.peers))),
            *rows,
            ("acquaintances", count(network.acquaintances)),
            ("fewest of a peer", count(network.least)),
            ("most of a peer", count(network.most)),
        ],
    )


def names_tables(outcome: Outcome) -> tuple[Table, ...]:
    """The names of the peers whose numbers other tables have, where a file names them."""
    names = outcome.network.names
    rows = tuple((str(number), name) for number, name in enumerate(names))
    return (Table("Peers", ("number", "name"), rows, frozenset({"name"})),) if names else ()


def query_table(outcome: Outcome) -> Table:
    """How many paths of each query ended how."""
    counts = [statuses(query) for query in outcome.queries]
    columns = [status for status in Status if status in _USUAL or any(each[status] for each in counts)]
    return Table(
        "Paths",
        ("query", "asker", "paths", "asked", "peers reached", *(status.value for status in columns)),
        tuple(
            (
                label,
                str(query.asker),
                count(len(outward(query))),
                count(len(asked(query))),
                count(reached(query)),
                *(count(each[status]) for status in columns),
            )
            for label, query, each in zip(labels(outcome.queries), outcome.queries, counts, strict=True)
        ),
        frozenset({"query"}),
        "A path leads from the asker to another peer; it is asked when the query arrives there.",
    )


def answer_table(outcome: Outcome) -> Table:
    """What each query brought."""
    return Table(
        "Answers",
        ("query", "items", "expected", "arrived", "complete", "ASPL"),
        tuple(
            (
                label,
                count(query.items),
                count(query.expected),
                percent(share(query.items, query.expected)),
                "yes" if query.complete else "NO",
                f"{query.semantic_path_length:.2f}",
            )
            for label, query in zip(labels(outcome.queries), outcome.queries, strict=True)
        ),
        frozenset({"query", "complete"}),
        "Items are different ones. Complete is what the receipt says. ASPL: hops to a peer that answered, on average.",
    )


def arrival_table(outcome: Outcome) -> Table:
    """When the answers of each query came."""
    return Table(
        "Arrival, virtual ms",
        ("query", "first item", "half", "90 %", "all", "end"),
        tuple(
            (
                label,
                milliseconds(min((path.first for path in query.paths if path.first is not None), default=None)),
                *(milliseconds(time_of(answer_curve(query), part)) for part in BROUGHT),
                milliseconds(query.concluded),
            )
            for label, query in zip(labels(outcome.queries), outcome.queries, strict=True)
        ),
        frozenset({"query"}),
        "The virtual clock begins when the query is asked. At its end the asker knows what became of every path.",
    )


def superstep_table(outcome: Outcome) -> Table:
    """What the supersteps did."""
    steps = outcome.supersteps
    return _facts(
        "Supersteps",
        [
            ("supersteps", count(len(steps))),
            ("peers at work in one, at most", count(max((step.peers for step in steps), default=0))),
            ("events", count(sum(step.events for step in steps))),
            ("messages", count(sum(step.messages for step in steps))),
            ("translations made", count(sum(step.translations for step in steps))),
            ("statements made", count(sum(step.statements for step in steps))),
        ],
    )


def message_table(outcome: Outcome) -> Table:
    """Messages and bytes by kind, and what was lost."""
    kinds = sorted({*outcome.messages, *outcome.bytes})
    rows = [(kind, outcome.messages.get(kind, 0), outcome.bytes.get(kind, 0)) for kind in kinds]
    rows.append(("all", sum(outcome.messages.values()), sum(outcome.bytes.values())))
    return Table(
        "Messages",
        ("kind", "messages", "bytes"),
        tuple((kind, count(messages), byte_count(size)) for kind, messages, size in rows),
        frozenset({"kind"}),
        f"Lost on the way: {count(outcome.lost)}. Departures of peers: {count(outcome.departures)}.",
    )


def query_times_table(outcome: Outcome) -> Table:
    """AQTT, MQTT and the parts of Figure 12 (top) of each query."""
    return Table(
        "Times of queries, ms",
        ("query", "AQTT", "MQTT", "evaluation", "evaluation, most", "translation", "network", "answering"),
        tuple(_query_times(outcome)),
        frozenset({"query"}),
        "AQTT, MQTT: average and maximum time of the translations along a path that was asked. Evaluation: at the end"
        " of a path that answered. The last three are averages over the paths that brought items; network is virtual.",
    )


def superstep_times_table(outcome: Outcome) -> Table:
    """How long supersteps took."""
    taken = [step.seconds for step in outcome.supersteps]
    return _facts(
        "Times of supersteps, s",
        [
            ("median", seconds(median(taken)) if taken else NOTHING),
            ("maximum", seconds(max(taken)) if taken else NOTHING),
            ("all", seconds(sum(taken))),
        ],
    )


def work_table(outcome: Outcome) -> Table:
    """How long the parts of the work took, and on what machine."""
    times = outcome.times
    parts = [(f"{part}, s", seconds(taken)) for part, taken in sorted(times.seconds.items())]
    return _facts(
        "Work",
        [
            *parts,
            ("all, s", seconds(total_seconds(outcome))),
            ("memory at most", byte_count(times.memory)),
            ("machine", times.cpu or NOTHING),
        ],
    )


def result_tables(outcome: Outcome) -> tuple[Table, ...]:
    """All that follows from the plan and its seed."""
    return (
        plan_table(outcome),
        network_table(outcome),
        *names_tables(outcome),
        query_table(outcome),
        answer_table(outcome),
        arrival_table(outcome),
        superstep_table(outcome),
        message_table(outcome),
    )


def times_tables(outcome: Outcome) -> tuple[Table, ...]:
    """All that was measured."""
    return query_times_table(outcome), superstep_times_table(outcome), work_table(outcome)


def print_table(to: Console, table: Table) -> None:
    """Print a table with its title and note: with lines and colours on a terminal, aligned text elsewhere."""
    rich = RichTable() if to.is_terminal else RichTable(box=None, pad_edge=False)
    for column in table.columns:
        justify: Literal["left", "right"] = "left" if column in table.words else "right"
        rich.add_column(Text(on_one_line(column)), justify=justify, overflow="fold")
    for row in table.rows:
        rich.add_row(*(Text(on_one_line(cell)) for cell in row))
    with to.capture() as captured:
        to.print(Text(on_one_line(table.title), "bold"))
        to.print(rich)
        if table.note:
            to.print(Text(fill(on_one_line(table.note), _FOLD), "dim"))
    to.file.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def print_outcome(to: Console, outcome: Outcome) -> None:
    """Print the whole report of an emulation: first whether its check passed."""
    print_check(to, outcome.check)
    for table in (*result_tables(outcome), *times_tables(outcome)):
        to.file.write("\n")
        print_table(to, table)
    if not outcome.check.passed:
        to.file.write("\n")
        print_check(to, outcome.check)


def print_comparison(
    to: Console, sentence: str, checks: Sequence[Check], tables: Sequence[Table], remarks: Sequence[str]
) -> None:
    """Print what was made of several emulations: every check first."""
    to.print(Text(on_one_line(sentence), "bold"), soft_wrap=True)
    for check in checks:
        print_check(to, check)
    for table in tables:
        to.file.write("\n")
        print_table(to, table)
    for remark in remarks:
        to.file.write("\n")
        to.print(Text(fill(on_one_line(remark), _FOLD)))


def print_check(to: Console, check: Check) -> None:
    """Print what the check found, with the first faults."""
    to.print(Text(check_line(check), "green" if check.passed else "bold red"), soft_wrap=True)
    for fault in check.faults:
        to.print(Text(f"  {on_one_line(fault)}", "red"), soft_wrap=True)


def plain_console(file: StringIO) -> Console:
    """A console that prints plain text and never folds it."""
    return Console(file=file, highlight=False, width=_WIDTH, no_color=True, force_terminal=False)


def _facts(title: str, facts: Iterable[tuple[str, str]], name: str = "") -> Table:
    return Table(title, (name, "value"), tuple(facts), frozenset({name}))


def _setting(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(str(part) for part in value)
    return str(value)


def _query_times(outcome: Outcome) -> Iterator[tuple[str, ...]]:
    for label, query in zip(labels(outcome.queries), outcome.queries, strict=True):
        parts = breakdown(query, outcome.plan)
        brought = (parts.translation, parts.network, parts.evaluation) if parts else (None, None, None)
        spreads = (*_spread(translation_times(query)), *_spread(evaluation_times(query)))
        yield label, *(milliseconds(value) for value in (*spreads, *brought))


def _spread(of: Spread) -> tuple[float | None, float | None]:
    return (of.average, of.maximum) if of.count else (None, None)


def _counted(number: int, what: str) -> str:
    return f"{count(number)} {what}{'' if number == 1 else 's'}"

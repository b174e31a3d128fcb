"""Both experiments of Tian et al. on DuckDB, and a join written by hand to compare the first with.

What is compared of experiment 1 is the match of messages that are in memory as columns: for heptox those of
:class:`heptox.matching.RelationalMatcher`, for the join a table of Arrow with a column for each leaf. Both write
them into the database, join, and give columns of numpy; heptox sorts its pairs and leaves out repetitions, the join
does neither. Reading the documents is told apart, as is loading.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.matching.astronomy import SUBSCRIPTIONS, astronomy_documents, astronomy_root
from benchmarks.matching.stock import FIELDS, Messages, Subscriptions, stock_workload, symbol_name
from benchmarks.matching.subscriptions import subscriptions
from heptox.matching import PLANS, Plan, RelationalMatcher
from heptox.xml import parse_document

MEGABYTES: Final = 6000
HAND: Final = "hand-written"
CHOSEN: Final = "chosen"


@dataclass(frozen=True, slots=True)
class Measured:
    """What a workload took: notifications, seconds of loading and of reading documents, and by way the median seconds
    of a match and the median ratio to the join by hand of the same turn; ``plan`` is the one that was chosen."""

    notifications: int
    loading: float
    reading: float
    seconds: dict[str, float]
    ratios: dict[str, float]
    plan: str


class HandWritten:
    """The same data as one table of subscriptions, joined by one statement."""

    def __init__(self, subscriptions: Subscriptions, messages: Messages, threads: int = 2) -> None:
        self._connection = duckdb.connect(config={"threads": threads})
        names = np.array([symbol_name(number) for number in range(int(subscriptions.symbol.max()) + 1)])
        columns: dict[str, Any] = {"id": np.arange(len(subscriptions.symbol)), "symbol": names[subscriptions.symbol]}
        for field, name in enumerate(FIELDS):
            for operator, kind, default in ((1, "above", -np.inf), (0, "below", np.inf)):
                bound = np.full(len(subscriptions.symbol), default)
                for place in range(subscriptions.field.shape[1]):
                    at = (subscriptions.field[:, place] == field) & (subscriptions.operator[:, place] == operator)
                    bound[at] = subscriptions.constant[at, place]
                columns[f"{name}_{kind}"] = bound
        self._connection.register("given", pa.table(columns))
        self._connection.execute("CREATE TABLE subscription AS SELECT * FROM given")
        symbols = [symbol_name(number) for number in messages.symbol.tolist()]
        values = {name: messages.values[:, field] for field, name in enumerate(FIELDS)}
        self._messages = pa.table({"id": np.arange(len(symbols)), "symbol": symbols, **values})
        between = " ".join(f"AND m.{name} > s.{name}_above AND m.{name} < s.{name}_below" for name in FIELDS)
        self._statement = (
            "SELECT m.id AS document, s.id AS number FROM subscription AS s"
            f" JOIN message AS m ON m.symbol = s.symbol {between}"
        )

    def match(self) -> int:
        """Match the messages; how many pairs there are."""
        self._connection.register("given", self._messages)
        self._connection.execute("CREATE OR REPLACE TABLE message AS SELECT * FROM given")
        return len(self._connection.execute(self._statement).fetchnumpy()["number"])

    def close(self) -> None:
        """Let go of the database."""
        self._connection.close()


def stock(
    subscribed: int,
    notifications: float,
    symbols: int,
    plans: tuple[Plan, ...] = PLANS,
    turns: int = 5,
    messages: int = 10_000,
) -> Measured:
    """Experiment 1 once: each turn takes all ways, in one order or the other, after one turn that is not counted."""
    published, wanted = stock_workload(subscribed, messages, notifications=notifications, symbols=symbols)
    with RelationalMatcher(memory=MEGABYTES) as matcher, closing(HandWritten(wanted, published)) as by_hand:
        loading, _ = _timed(lambda: matcher.add_texts(enumerate(wanted.texts())))
        reading, batches = _timed(lambda: matcher.messages(map(parse_document, published.texts())))
        (batch,) = batches
        ways: dict[str, Callable[[], int]] = {HAND: by_hand.match}
        ways[CHOSEN] = lambda: len(matcher.match_messages(batch))
        for plan in plans:
            ways[plan] = lambda plan=plan: len(matcher.match_messages(batch, plan))  # type: ignore[misc]
        counts = {name: way() for name, way in ways.items()}
        if len(set(counts.values())) > 1:
            raise ValueError(f"not the same notifications: {counts}")
        times: dict[str, list[float]] = {name: [] for name in ways}
        for turn in range(turns):
            for name, way in list(ways.items())[:: 1 if turn % 2 else -1]:
                times[name].append(_timed(way)[0])
        (told,) = matcher.explain(map(parse_document, published.texts()))
    ratios = {
        name: statistics.median(mine / hand for mine, hand in zip(each, times[HAND], strict=True))
        for name, each in times.items()
    }
    seconds = {name: statistics.median(each) for name, each in times.items()}
    return Measured(counts[HAND], loading, reading, seconds, ratios, told.plan)


@dataclass(frozen=True, slots=True)
class Branching:
    """What experiment 2 took with so many subscriptions: distinct linear paths, the seconds of loading, and those of a
    document in milliseconds: reading, the first match and by plan the median of matches."""

    subscriptions: int
    predicates: int
    linear_paths: int
    loading: float
    reading: float
    path_match: float
    notifications: int
    milliseconds: dict[str, float]
    plan: str


def branching(
    subscribed: int, documents: int = 500, plans: tuple[Plan, ...] = ("shared", "unrolled"), turns: int = 3
) -> Branching:
    """Experiment 2 in shape once."""
    texts = islice(subscriptions([astronomy_root()], 1, SUBSCRIPTIONS), subscribed)
    published = [parse_document(text) for text in astronomy_documents(documents)]
    with RelationalMatcher(memory=MEGABYTES) as matcher:
        loading, _ = _timed(lambda: matcher.add_texts(enumerate(texts)))
        path_match, _ = _timed(lambda: matcher.messages(published))
        reading, batches = _timed(lambda: matcher.messages(published))
        found: dict[str, list[float]] = {plan: [] for plan in plans}
        counts = {plan: sum(len(matcher.match_messages(batch, plan)) for batch in batches) for plan in plans}
        if len(set(counts.values())) > 1:
            raise ValueError(f"not the same notifications: {counts}")
        for _ in range(turns):
            for plan in plans:
                found[plan].append(
                    _timed(lambda plan=plan: [matcher.match_messages(batch, plan) for batch in batches])[0]  # type: ignore[misc]
                )
        told = matcher.explain(published)[0]
        held = matcher.statistics()
    milliseconds = {plan: statistics.median(each) * 1000 / documents for plan, each in found.items()}
    each = reading * 1000 / documents
    return Branching(
        held.subscriptions,
        held.predicates,
        held.linear_paths,
        loading,
        each,
        path_match - reading,
        counts[plans[0]],
        milliseconds,
        told.plan,
    )


def _timed(run: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    found = run()
    return time.perf_counter() - began, found


def sizes(most: int) -> Iterator[int]:
    """The numbers of subscriptions of Table 5.3, about, up to ``most``."""
    yield from (size for size in (100_000, 500_000, 1_400_000, 2_100_000, 2_700_000) if size <= most)

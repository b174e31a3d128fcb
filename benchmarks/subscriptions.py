"""Subscriptions that come and go one by one while documents are matched: ``python -m benchmarks.subscriptions``.

Everything is on the disk before it counts. Every decision is checked: a document meets what was added before it, and
nothing that was removed before it. The same log without a matcher, with one thread and with eight, is measured beside
it, and a table of SQLite to which rows are added in the same way.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from heptox.dissemination import Broker, Publication, SubscriptionLog, Wanted, new_matcher

VALUES = 50
WORKERS = 8


def subscription(number: int) -> str:
    """An XPath, of a kind and about a value that ``number`` says."""
    value = number // 4 % VALUES
    return (
        f"/d[n = {value}]",
        f'/d[@kind = "even"][n >= {value}]',
        f'//m[. = "x{value}"] or //n[. < {value}]',
        f"/d/*[. = {value}]",
    )[number % 4]


def document(value: int) -> bytes:
    """A document about a value."""
    return f'<d kind="{"odd" if value % 2 else "even"}"><n>{value}</n><m>x{value}</m></d>'.encode()


def matches(number: int, value: int) -> bool:
    """Whether the subscription ``number`` matches the document about ``value``, by what both say."""
    wanted = number // 4 % VALUES
    return (value == wanted, value % 2 == 0 and value >= wanted, value <= wanted, value == wanted)[number % 4]


@dataclass(slots=True)
class Life:
    """When a subscription came and went, by one clock; ``number`` is the log's."""

    kind: int
    began: float
    number: int = 0
    added: float = float("inf")
    leaving: float = float("inf")
    removed: float = float("inf")


@dataclass(frozen=True, slots=True)
class Match:
    """When a document was published, what about, and who was notified, by number."""

    began: float
    ended: float
    value: int
    notified: frozenset[int]


@dataclass(slots=True)
class Storm:
    """Subscriptions come and go while documents are published."""

    broker: Broker
    seed: int = 0
    lives: list[Life] = field(default_factory=list)
    published: list[Match] = field(default_factory=list)

    def blow(self, subscriptions: int, held: int) -> float:
        """Add so many one by one, and remove all but ``held`` of them; the seconds that it takes."""
        over = threading.Event()
        publisher = threading.Thread(target=self._publish, args=(over,))
        publisher.start()
        random, there = Random(self.seed), list[Life]()
        began = time.perf_counter()
        try:
            for kind in range(subscriptions):
                there.append(self._add(kind))
                if len(there) > held:
                    self._remove(there.pop(random.randrange(len(there))))
            return time.perf_counter() - began
        finally:
            over.set()
            publisher.join()

    def _add(self, kind: int) -> Life:
        life = Life(kind, time.perf_counter())
        self.lives.append(life)
        life.number = self.broker.add([Wanted(f"s{kind}", subscription(kind))]).added[0].number
        life.added = time.perf_counter()
        return life

    def _remove(self, life: Life) -> None:
        life.leaving = time.perf_counter()
        self.broker.remove(f"s{life.kind}")
        life.removed = time.perf_counter()

    def _publish(self, over: threading.Event) -> None:
        random = Random(self.seed + 1)
        while not over.is_set() or not self.published:
            value = random.randrange(VALUES)
            publication = Publication("d.xml", document(value), id=str(len(self.published)))
            began = time.perf_counter()
            told = self.broker.publish(publication)
            self.published.append(Match(began, time.perf_counter(), value, frozenset(told.numbers)))

    def wrong(self) -> list[str]:
        """The decisions that are wrong, and how many there were at last."""
        found = []
        for place, match in enumerate(self.published):
            for life in self.lives:
                notified, wanted = life.number in match.notified, matches(life.kind, match.value)
                there = life.added < match.began and match.ended < life.leaving
                gone = life.removed < match.began or match.ended < life.began
                if (notified and (gone or not wanted)) or (wanted and there and not notified):
                    found.append(f"document {place} ({match.value}), {subscription(life.kind)}: {notified}")
        return found


def rate(what: Callable[[int], object], times: int, workers: int = 1) -> float:
    """How often a second something can be done, by so many threads."""
    threads = [
        threading.Thread(target=lambda begin=begin: [what(number) for number in range(begin, times, workers)])
        for begin in range(workers)
    ]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times / (time.perf_counter() - began)


def plain_rate(file: Path, times: int) -> float:
    """Rows a second that SQLite adds to a table with one index in the same way, with nothing around it."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE plain (number INTEGER PRIMARY KEY, name TEXT UNIQUE, text TEXT)")

        def add(number: int) -> None:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO plain (name, text) VALUES (?, ?)", (f"s{number}", subscription(number)))
            connection.execute("COMMIT")

        began = time.perf_counter()
        for number in range(times):
            add(number)
        return times / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--subscriptions", type=int, default=10_000)
    parser.add_argument("--held", type=int, default=1000, help="how many are there at a time, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where the files are, on the disk to measure")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder, times = Path(name), given.subscriptions
        print(f"{plain_rate(folder / 'plain.sqlite', times):>10,.0f} rows a second that SQLite adds, one by one")
        with SubscriptionLog(folder / "log.sqlite") as log:

            def add(number: int) -> None:
                log.add(Wanted(f"s{number}", subscription(number)))

            print(f"{rate(add, times):>10,.0f} durable adds a second, one by one")
            removals = rate(lambda number: log.remove(f"s{number}"), times)
            print(f"{removals:>10,.0f} durable removals a second, one by one")
            print(f"{rate(add, times, WORKERS):>10,.0f} durable adds a second, by {WORKERS} threads")
        with SubscriptionLog(folder / "storm.sqlite") as log:
            storm = Storm(Broker(log, new_matcher()), given.seed)
            seconds = storm.blow(times, given.held)
            changes = 2 * times - given.held
            print(f"{changes / seconds:>10,.0f} adds and removals a second while documents are published")
            print(
                f"{len(storm.published) / seconds:>10,.0f} documents a second published meanwhile, {given.held} there"
            )
            print(f"{len(storm.published) * len(storm.lives):>10,} decisions")
            wrong = storm.wrong()
            problems = log.check()
        print(f"{len(wrong):>10,} of them wrong")
        for line in [*wrong[:20], *problems]:
            print(line)
        raise SystemExit(bool(wrong or problems))


if __name__ == "__main__":
    main()

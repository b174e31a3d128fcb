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

from heptox.matching import Broker, MemoryMatcher, Publication, SubscriptionLog, SubscriptionRequest

VALUES = 200
WORKERS = 8


def subscription(number: int) -> str:
    """An XPath, of a kind and about a value that ``number`` says."""
    value = number // 4 % VALUES
    return (
        f"/d[n = {value}]",
        f'/d[@kind = "even"][n >= {value}][n < {value + 5}]',
        f'//m[. = "x{value}"] or //n[. > {value}][. <= {value + 1}]',
        f"/d/*[. = {value}]",
    )[number % 4]


def document(value: int) -> bytes:
    """A document about a value."""
    return f'<d kind="{"odd" if value % 2 else "even"}"><n>{value}</n><m>x{value}</m></d>'.encode()


def wanted(number: int) -> tuple[int, ...]:
    """The values of the documents that the subscription ``number`` matches, by what it says."""
    value = number // 4 % VALUES
    even = tuple(one for one in range(value, value + 5) if one % 2 == 0)
    return ((value,), even, (value, value + 1), (value,))[number % 4]


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

    def inside(self, life: Life) -> bool:
        """Whether a subscription was there all the time."""
        return life.added < self.began and self.ended < life.leaving

    def outside(self, life: Life) -> bool:
        """Whether a subscription was there at no time."""
        return life.removed < self.began or self.ended < life.began


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
        life.number = self.broker.add([SubscriptionRequest(f"s{kind}", subscription(kind))]).added[0].number
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
        """The decisions that are wrong."""
        lives = {life.number: life for life in self.lives}
        wanting: dict[int, list[Life]] = {value: [] for value in range(VALUES + 5)}
        for life in self.lives:
            for value in wanted(life.kind):
                wanting[value].append(life)
        found = []
        for place, match in enumerate(self.published):
            told = [lives[number] for number in match.notified]
            too_many = (life for life in told if life not in wanting[match.value] or match.outside(life))
            too_few = (
                life for life in wanting[match.value] if match.inside(life) and life.number not in match.notified
            )
            for what, some in (("matched", too_many), ("did not match", too_few)):
                found += [f"document {place} ({match.value}) {what} {subscription(life.kind)}" for life in some]
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
                log.add(SubscriptionRequest(f"s{number}", subscription(number)))

            print(f"{rate(add, times):>10,.0f} durable adds a second, one by one")
            removals = rate(lambda number: log.remove(f"s{number}"), times)
            print(f"{removals:>10,.0f} durable removals a second, one by one")
            print(f"{rate(add, times, WORKERS):>10,.0f} durable adds a second, by {WORKERS} threads")
        with SubscriptionLog(folder / "storm.sqlite") as log:
            storm = Storm(Broker(log, MemoryMatcher()), given.seed)
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

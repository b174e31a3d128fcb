"""``python -m benchmarks.matching.stream``: single NITF documents against subscriptions in memory, one after the other.

For paths alone, and for paths with values and branches, it prints what a document takes, from its bytes to the numbers
of the subscriptions that it matches: cold (nothing is known of its tag paths) and warm (they have been seen before).
Then subscriptions are added and removed one by one while documents are matched, and every decision is compared with
what a matcher of all subscriptions says. Times are of the process (what other processes take
is not in them, but for the caches) and of the clock.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Final, TypeAlias

import numpy as np

from benchmarks.matching.documents import documents
from benchmarks.matching.subscriptions import SubscriptionShape, places_of_schema, some_subscriptions
from heptox.grammar import parse_subscription
from heptox.matching import MemoryMatcher
from heptox.pattern import TreePattern
from heptox.schema import read_dtd
from heptox.xml import parse_document

DTD: Final = Path(__file__).parents[3] / "shared" / "data" / "nitf" / "nitf-2-5.dtd"
VALUES_AND_BRANCHES: Final = SubscriptionShape(branches=(0, 1, 2), predicates=(0, 1, 2))

Patterns: TypeAlias = Sequence[tuple[TreePattern, ...]]


def main() -> None:
    """Measure, and print lines."""
    parser = argparse.ArgumentParser(prog="benchmarks.matching.stream", description=__doc__)
    parser.add_argument("--documents", type=int, default=500, metavar="N")
    parser.add_argument("--paths", type=int, nargs="*", default=[100_000, 150_000], metavar="N")
    parser.add_argument("--branching", type=int, nargs="*", default=[100_000], metavar="N")
    parser.add_argument("--changes", type=int, default=10_000, metavar="N")
    asked = parser.parse_args()
    graph = read_dtd(str(DTD), "nitf")
    texts = [text.encode() for text in documents(graph, asked.documents)]
    root = places_of_schema(graph, (text.decode() for text in texts[:100]))
    size = sum(map(len, texts)) / len(texts)
    print(f"{len(texts)} documents of {size:,.0f} bytes in the mean; load {os.getloadavg()[0]:.1f}")
    _tell("reading a document", len(texts), lambda: _each(texts, parse_document))
    for shape, counts in ((SubscriptionShape(), asked.paths), (VALUES_AND_BRANCHES, asked.branching)):
        for count in counts:
            patterns = _read(some_subscriptions([root], count, shape=shape, distinct=True))
            _measure("paths" if shape.branches == (0,) else "with values and branches", patterns, texts)
            if count == counts[0] and asked.changes:
                _change(patterns, texts, asked.changes)


def _read(subscriptions: Iterable[str]) -> Patterns:
    return [parse_subscription(text) for text in subscriptions]


def _measure(what: str, patterns: Patterns, texts: Sequence[bytes]) -> None:
    print(f"\n{len(patterns):,} distinct subscriptions, {what}; load {os.getloadavg()[0]:.1f}")
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    matcher = MemoryMatcher()
    _tell("adding a subscription", len(patterns), lambda: _add(matcher, patterns))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    print(f"  {grown / len(patterns):8.0f} bytes for a subscription, at most")
    gc.collect()
    matches = 0

    def match(text: bytes) -> None:
        nonlocal matches
        matches += len(matcher.match(parse_document(text)))

    _tell("a document, cold", len(texts), lambda: _each(texts, match))
    for _ in range(3):
        _tell("a document, warm", len(texts), lambda: _each(texts, match))
    print(f"  {matches / 4 / len(texts):8.0f} matches of a document; {matcher.statistics()}")


def _change(patterns: Patterns, texts: Sequence[bytes], changes: int) -> None:
    """Add and remove one by one, with a document after every ten additions; all decisions are checked."""
    random = Random(1)
    read = [parse_document(text) for text in texts]
    all_at_once, matcher = MemoryMatcher(), MemoryMatcher()
    _add(all_at_once, patterns)
    fulfilled = [all_at_once.match(document) for document in read]
    first = len(patterns) - changes
    _add(matcher, patterns[:first])
    for document in read:
        matcher.match(document)
    held = np.zeros(len(patterns), np.bool_)
    held[:first] = True
    adding = removing = matching = 0.0
    documents_matched = decisions = wrong = 0
    for number in range(first, len(patterns)):
        began = time.process_time()
        matcher.add(number, patterns[number])
        adding += time.process_time() - began
        held[number] = True
        leaving = random.randrange(number)
        while not held[leaving]:
            leaving = random.randrange(number)
        began = time.process_time()
        matcher.remove(leaving)
        removing += time.process_time() - began
        held[leaving] = False
        if number % 10 == 0:
            place = number // 10 % len(read)
            began = time.process_time()
            found = matcher.match(read[place])
            matching += time.process_time() - began
            wanted = fulfilled[place][held[fulfilled[place]]]
            wrong += np.setxor1d(found, wanted).size
            decisions += int(held.sum())
            documents_matched += 1
    print(
        f"  {changes:,} added and removed one by one: {adding / changes * 1e6:.0f} and {removing / changes * 1e6:.0f} "
        f"microseconds each, with {documents_matched:,} documents between them, "
        f"{matching / documents_matched * 1e3:.2f} ms each; {wrong} of {decisions:,} decisions are wrong"
    )


def _add(matcher: MemoryMatcher, patterns: Patterns) -> None:
    for number, each in enumerate(patterns):
        matcher.add(number, each)


def _each(texts: Iterable[bytes], work: Callable[[bytes], object]) -> None:
    for text in texts:
        work(text)


def _tell(what: str, count: int, work: Callable[[], None]) -> None:
    began, clock = time.process_time(), time.perf_counter()
    work()
    process, elapsed = (time.process_time() - began) / count * 1e3, (time.perf_counter() - clock) / count * 1e3
    print(f"  {process:8.3f} ms {what} ({elapsed:.3f} by the clock)", flush=True)


if __name__ == "__main__":
    main()

"""What it takes a router when a publisher with another schema joins: by QRA, and by the other ways."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import Final, TypeVar

from benchmarks.rewriting.documents import document
from benchmarks.rewriting.schemas import Schema, global_schema, mappings
from benchmarks.rewriting.subscriptions import domain_subscriptions
from heptox.rewriting import DomainMatcher, Publisher, Strategy
from heptox.xml import parse_document

_SIZE: Final = 10_000
_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True)
class Joined:
    """What one more schema takes: seconds of the processor until its first document is matched, without the match of a
    second one; bytes of memory that stay; and how many subscriptions are touched.

    ``sent`` is how many bytes of text the mapping is, with its schema; ``before`` what the subscriptions took until
    then.
    """

    subscriptions: int
    touched: int
    seconds: float
    kept: int
    sent: int
    before: int


def joining(schema: Schema, subscriptions: int, way: Strategy) -> Joined:
    """Measure it for a router with so many subscriptions, once for the seconds and once for the bytes."""
    texts = domain_subscriptions(subscriptions)
    sent = len(schema.arrows.encode()) + len(schema.dtd.encode())
    parsed = parse_document(document(schema, _SIZE))

    def subscribed() -> DomainMatcher:
        matcher = DomainMatcher(global_schema())
        for number, text in enumerate(texts):
            matcher.add(number, text)
        matcher.match(Publisher(mappings((schema,))[0]), parsed, Strategy.NDDR)  # what is put off until a document
        return matcher

    def join(matcher: DomainMatcher) -> Publisher:
        publisher = Publisher(mappings((schema,))[0])
        matcher.match(publisher, parsed, way)
        return publisher

    matcher = subscribed()
    begin = process_time()
    publisher = join(matcher)
    middle = process_time()
    matcher.match(publisher, parsed, way)
    seconds = 2 * middle - begin - process_time()
    before, matcher = _traced(subscribed)
    kept, _ = _traced(lambda: join(matcher))
    return Joined(subscriptions, subscriptions if way is Strategy.QRA else 0, seconds, kept, sent, before)


def _traced(make: Callable[[], _Made]) -> tuple[int, _Made]:
    """How many bytes more there are when something has been made."""
    gc.collect()
    tracemalloc.start()
    made = make()
    gc.collect()
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return kept, made

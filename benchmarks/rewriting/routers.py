"""Routers with subscriptions in the words of the global schema: what each does with a document, and how long it takes.

The same routers stand at emulated links (:mod:`benchmarks.rewriting.emulation`) and in processes of their own
(:mod:`benchmarks.rewriting.peers`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from time import thread_time

from heptox.matching.pattern_table import Numbers
from heptox.rewriting import DomainMatcher, Publisher, Strategy
from heptox.schema import SchemaTree
from heptox.xml import parse_document, write_document


@dataclass(frozen=True, slots=True)
class Parcel:
    """What goes over a link: a publisher's document, by SDR with what it is in the words of subscriptions."""

    publisher: int
    document: bytes
    rewritten: bytes | None = None

    @property
    def size(self) -> int:
        """How many bytes go over the link."""
        return len(self.document) + len(self.rewritten or b"")


@dataclass(frozen=True, slots=True)
class Handled:
    """What a router sends on, the subscriptions that the document matches, and the seconds of the processor that it
    took to read the document, to rewrite and to match it."""

    parcel: Parcel
    found: Numbers
    seconds: float


class Router:
    """A router that has subscriptions, and the mappings of all publishers."""

    def __init__(self, words: SchemaTree, publishers: Sequence[Publisher], texts: Iterable[str]) -> None:
        self._publishers = publishers
        self._matcher = DomainMatcher(words)
        for number, text in enumerate(texts):
            self._matcher.add(number, text)

    def __len__(self) -> int:
        """How many subscriptions there are."""
        return len(self._matcher)

    def handle(self, parcel: Parcel, way: Strategy) -> Handled:
        """Match a document. By SDR the first router, which gets the document alone, rewrites it for all others."""
        publisher = self._publishers[parcel.publisher]
        begin = thread_time()
        if way is Strategy.SDR:
            parcel, found = self._handle_rewritten(publisher, parcel)
        else:
            found = self._matcher.match(publisher, parse_document(parcel.document), way)
        return Handled(parcel, found, thread_time() - begin)

    def _handle_rewritten(self, publisher: Publisher, parcel: Parcel) -> tuple[Parcel, Numbers]:
        if parcel.rewritten is None:
            document = parse_document(parcel.document)
            rewritten = publisher.rewritten(document)
            parcel = replace(parcel, rewritten=write_document(rewritten.root).encode())
        else:
            rewritten = parse_document(parcel.rewritten)
            # the original is read only where it has to decide
            document = parse_document(parcel.document) if publisher.made.glued else rewritten
        return parcel, self._matcher.match_rewritten(publisher, document, rewritten)

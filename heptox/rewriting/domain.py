"""Matching subscriptions in one schema's words with documents under others: the four ways (``rewriting.md``).

Source: section 2.2 of Ni and Chan, "Dissemination of heterogeneous XML data in publish/subscribe systems". What all
ways deliver is what exchange defines: the subscriptions that the exchanged document matches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final

import numpy as np

from heptox.errors import HeptoxError
from heptox.grammar import parse_subscription
from heptox.mapping import Mapping as SchemaMapping, exchange
from heptox.matching import MemoryMatcher, Numbers, TagPaths
from heptox.pattern import TreePattern
from heptox.rewriting.branching import branches_at
from heptox.rewriting.documents import Rewriter
from heptox.rewriting.mapping_program import MappingProgram, mapping_program
from heptox.rewriting.operators import Arrange
from heptox.rewriting.path_map import PathMap, path_map
from heptox.rewriting.program import Program
from heptox.rewriting.subscription_query import subscription_query
from heptox.rewriting.translated import TranslatedSubscription, translate_subscription
from heptox.schema import SchemaTree
from heptox.translate import Direction, Hop
from heptox.xml import Document, count_elements

REWRITING_SECONDS: Final = 4e-6
"""What it takes to rewrite a document, or to exchange it, for each of its elements (docs/rewriting.md)."""
TRANSLATION_SECONDS: Final = 1e-3
"""What it takes to translate a subscription."""


class Strategy(StrEnum):
    """How documents of one schema are matched with subscriptions of another.

    ``QRA``: the subscriptions are translated; ``SDR``: a document is rewritten once, and sent in both forms; ``NDDR``:
    it is rewritten between parser and matcher; ``IDDR``: inside the matcher, by a map of tag paths. Where the mapping
    cannot be expressed by operators, ``SDR`` and ``NDDR`` exchange documents instead of rewriting them.
    """

    QRA = "qra"
    SDR = "sdr"
    NDDR = "nddr"
    IDDR = "iddr"


@dataclass(frozen=True, slots=True)
class StrategyChoice:
    """A way, and why."""

    way: Strategy
    reason: str

    def __str__(self) -> str:
        return f"{self.way.value}: {self.reason}"


class Publisher:
    """A mapping from a publisher's schema into the words of subscriptions, made ready for all ways."""

    def __init__(self, mapping: SchemaMapping) -> None:
        self.mapping = mapping
        self.made: MappingProgram = mapping_program(mapping)
        self.paths: PathMap = path_map(self.made)
        self._rewriter = Rewriter(_unarranged(self.made.program), self.made.inner) if self.made.program else None

    @property
    def chosen(self) -> StrategyChoice:
        """The way to begin with, for which nothing is to be done for each subscription."""
        if self.paths.root is not None:
            return StrategyChoice(Strategy.IDDR, "operators express the mapping, each leaf goes to one tag path")
        if self.made.program is not None:
            return StrategyChoice(Strategy.NDDR, self.paths.reason)
        return StrategyChoice(Strategy.NDDR, f"documents are exchanged: {self.made.reasons[0]}")

    def rewritten(self, document: Document) -> Document:
        """A document in the words of subscriptions: as operators make it, or else exchange. Its elements are in no
        certain order, which makes no difference to what it matches.

        Raises :class:`MappingError` or :class:`DisseminationError` for one that does not fit the publisher's schema.
        """
        return exchange(self.mapping, document) if self._rewriter is None else self._rewriter.rewrite(document)

    def exchanged(self, document: Document) -> Document:
        """As :meth:`rewritten`, where nodes that are one are made one."""
        return self.rewritten(document) if self.made.is_exact else exchange(self.mapping, document)


def _unarranged(program: Program) -> Program:
    """A program that leaves children in the order in which they come."""
    return Program(program.source, tuple(each for each in program.operators if not isinstance(each, Arrange)))


class DomainMatcher:
    """Subscriptions in the words of one schema, kept once, and documents of publishers with others.

    What it finds for a document that is valid for its publisher's schema are the subscriptions that the exchanged
    document matches, whatever the way. Not for several threads at once.

    >>> from heptox.mapping import load_mapping
    >>> from heptox.xml import parse_document
    >>> publisher = Publisher(load_mapping("examples/courses/wsu-reed.arrows"))
    >>> matcher = DomainMatcher(publisher.mapping.target)
    >>> matcher.add(1, "//course[subj = 'MATH']/time/start_time")
    >>> document = parse_document("<root><course><prefix>MATH</prefix><times><start>9</start></times></course></root>")
    >>> [matcher.match(publisher, document, way).tolist() for way in Strategy]
    [[1], [1], [1], [1]]
    """

    def __init__(self, words: SchemaTree) -> None:
        self._words = words
        self._matcher = MemoryMatcher(TagPaths())
        self._subscriptions: dict[int, _Subscription] = {}
        self._publishers: dict[Publisher, _Apart] = {}

    def __len__(self) -> int:
        """How many subscriptions there are."""
        return len(self._subscriptions)

    def add(self, number: int, text: str) -> None:
        """Add the subscription ``number``, from 0 on.

        Raises :class:`~heptox.errors.GrammarError` as :func:`~heptox.grammar.parse_subscription`,
        :class:`DisseminationError` (HX9068) for a comparison with the value of an inner element, which no mapping
        carries; ``ValueError`` when there is one of that number.
        """
        subscription = _Subscription(text, parse_subscription(text))
        subscription_query(subscription.patterns, text, self._words)
        self._matcher.add(number, subscription.patterns)
        self._subscriptions[number] = subscription
        for apart in self._publishers.values():
            apart.add(number, subscription)

    def remove(self, number: int) -> None:
        """Remove a subscription. Raises ``KeyError`` when there is none of that number."""
        self._matcher.remove(number)
        del self._subscriptions[number]
        for apart in self._publishers.values():
            apart.remove(number)

    def forget(self, publisher: Publisher) -> None:
        """Keep nothing for a publisher, whose mapping is not used any more."""
        self._publishers.pop(publisher, None)

    def match(self, publisher: Publisher, document: Document, way: Strategy | None = None) -> Numbers:
        """The numbers of the subscriptions that a publisher's document matches, ascending; ``way``: by default that of
        :meth:`chosen`.

        Raises as :meth:`Publisher.rewritten`.
        """
        way = way or self.chosen(publisher).way
        apart = self._apart(publisher)
        if way is Strategy.QRA:
            return apart.match_translated(document)
        rewritten = partial(apart.rewritten, document)
        if way is Strategy.IDDR and publisher.paths.root is not None:
            found = self._matcher.match_mapped(document, publisher.paths.root, rewritten)
        else:
            found = self._matcher.match(rewritten())
        return apart.with_branching(found, document)

    def chosen(self, publisher: Publisher) -> StrategyChoice:
        """The way by which documents of a publisher are matched, unless another one is asked for.

        It is that of :attr:`Publisher.chosen` until more time has gone into rewriting documents than it takes to
        translate all subscriptions, which is done once for all documents: so it takes at most twice as long as if one
        had known how many documents come.
        """
        spent = REWRITING_SECONDS * self._apart(publisher).elements
        price = TRANSLATION_SECONDS * len(self)
        if spent <= price:
            return publisher.chosen
        reason = f"rewriting has taken some {spent:.1f} s, translating {len(self):,} subscriptions takes {price:.1f} s"
        return StrategyChoice(Strategy.QRA, reason)

    def match_rewritten(self, publisher: Publisher, document: Document, rewritten: Document) -> Numbers:
        """As :meth:`match` by SDR, where the document comes with what :meth:`Publisher.rewritten` made of it."""
        return self._apart(publisher).with_branching(self._matcher.match(rewritten), document)

    def _apart(self, publisher: Publisher) -> _Apart:
        if publisher not in self._publishers:
            self._publishers[publisher] = _Apart(publisher, self._subscriptions)
        return self._publishers[publisher]


@dataclass(frozen=True, slots=True)
class _Subscription:
    text: str
    patterns: tuple[TreePattern, ...]


class _Apart:
    """What is kept of the subscriptions for one publisher."""

    def __init__(self, publisher: Publisher, subscriptions: Mapping[int, _Subscription]) -> None:
        self._publisher = publisher
        self._subscriptions = subscriptions
        self._branching = MemoryMatcher(TagPaths())
        self._translated: _Translated | None = None
        self.elements = 0
        """How many elements the documents have that were rewritten."""
        for number, subscription in subscriptions.items() if publisher.made.glued else ():
            self._add_branching(number, subscription)

    def rewritten(self, document: Document) -> Document:
        """As :meth:`Publisher.rewritten`; it is counted."""
        found = self._publisher.rewritten(document)
        self.elements += count_elements(document.root)
        return found

    def add(self, number: int, subscription: _Subscription) -> None:
        self._add_branching(number, subscription)
        if self._translated is not None:
            self._translated.add(number, subscription)

    def _add_branching(self, number: int, subscription: _Subscription) -> None:
        tree, stops = self._publisher.mapping.target, self._publisher.made.glued
        if branches_at(subscription.patterns, tree, stops):
            self._branching.add(number, subscription.patterns)

    def remove(self, number: int) -> None:
        if number in self._branching:
            self._branching.remove(number)
        if self._translated is not None:
            self._translated.remove(number)

    def with_branching(self, found: Numbers, document: Document) -> Numbers:
        """``found`` with those of the subscriptions that see whether nodes are one which the exchanged document
        matches."""
        if not len(self._branching):
            return found
        return np.union1d(found, self._branching.match(self._publisher.exchanged(document)))

    def match_translated(self, document: Document) -> Numbers:
        """The subscriptions whose translation a document matches."""
        if self._translated is None:
            self._translated = _Translated(self._publisher)
            for number, subscription in self._subscriptions.items():
                self._translated.add(number, subscription)
        return self._translated.match(document)


class _Translated:
    """Subscriptions in a publisher's words (QRA). Those that cannot be translated wait for exchanged documents."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self._hops = (Hop(publisher.mapping, Direction.SOURCE),)
        self._matcher = MemoryMatcher(TagPaths())
        self._partial: dict[int, TranslatedSubscription] = {}
        self._refused = MemoryMatcher(TagPaths())

    def add(self, number: int, subscription: _Subscription) -> None:
        try:
            translated = translate_subscription(self._hops, subscription.text)
        except HeptoxError:
            self._refused.add(number, subscription.patterns)
            return
        if translated.patterns:
            self._matcher.add(number, translated.patterns)
        if not translated.exact:
            self._partial[number] = translated

    def remove(self, number: int) -> None:
        for matcher in (self._matcher, self._refused):
            if number in matcher:
                matcher.remove(number)
        self._partial.pop(number, None)

    def match(self, document: Document) -> Numbers:
        found = self._matcher.match(document)
        if self._partial:
            found = np.array([each for each in found.tolist() if self._holds(each, document)], found.dtype)
        if len(self._refused):
            found = np.union1d(found, self._refused.match(self._publisher.exchanged(document)))
        return found

    def _holds(self, number: int, document: Document) -> bool:
        translated = self._partial.get(number)
        return translated is None or translated.matches(document)

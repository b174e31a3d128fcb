"""The engines whose decisions are checked, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

from heptox.matching import PLANS, MemoryMatcher, Plan, RelationalMatcher, TagPaths
from heptox.pattern import TreePattern
from heptox.xml import Document, write_element
from tests.support.matching.embedding import Node, document_node, matches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Numbered(NamedTuple):
    """A subscription as engines get it."""

    number: int
    text: str
    patterns: tuple[TreePattern, ...]


class Engine(Protocol):
    """Subscriptions by number, added and removed while documents are matched."""

    def add(self, subscriptions: Sequence[Numbered]) -> None:
        """Add some at once."""

    def remove(self, number: int) -> None: ...

    def match(self, documents: Sequence[Document]) -> list[list[int]]:
        """The numbers that each document matches, ascending."""


Opened: TypeAlias = Callable[[], AbstractContextManager[Engine]]
"""An engine without subscriptions, closed at the end."""


class Naive:
    """Tries each subscription on each document: the third voice, and what a wrong engine is made of in tests."""

    def __init__(self) -> None:
        self.subscriptions: dict[int, tuple[TreePattern, ...]] = {}

    def add(self, subscriptions: Sequence[Numbered]) -> None:
        self.subscriptions.update((one.number, one.patterns) for one in subscriptions)

    def remove(self, number: int) -> None:
        del self.subscriptions[number]

    def match(self, documents: Sequence[Document]) -> list[list[int]]:
        nodes = map(document_node, documents)
        return [[number for number in sorted(self.subscriptions) if self.matched(number, node)] for node in nodes]

    def matched(self, number: int, document: Node) -> bool:
        return matches(self.subscriptions[number], document)


class Memory:
    """The memory engine; it is asked again and again, as what it keeps and learns must not change what it says."""

    def __init__(self, matcher: MemoryMatcher) -> None:
        self.matcher = matcher

    def add(self, subscriptions: Sequence[Numbered]) -> None:
        for one in subscriptions:
            self.matcher.add(one.number, one.patterns)

    def remove(self, number: int) -> None:
        self.matcher.remove(number)

    def match(self, documents: Sequence[Document]) -> list[list[int]]:
        found = [[self.matcher.match(document).tolist() for document in documents] for _ in range(4)]
        assert all(again == found[0] for again in found), "asked again, it says something else"
        return found[0]


class Relational:
    """The relational matcher with one plan, or with the plan that it chooses."""

    def __init__(self, matcher: RelationalMatcher, plan: Plan | None, *, by_text: bool) -> None:
        self.matcher = matcher
        self.plan = plan
        self.by_text = by_text

    def add(self, subscriptions: Sequence[Numbered]) -> None:
        if self.by_text:
            self.matcher.add_texts((one.number, one.text) for one in subscriptions)
        elif len(subscriptions) == 1:
            self.matcher.add(subscriptions[0].number, subscriptions[0].patterns)
        else:
            self.matcher.add_many((one.number, one.patterns) for one in subscriptions)

    def remove(self, number: int) -> None:
        assert self.matcher.remove(number)

    def match(self, documents: Sequence[Document]) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in documents]
        for place, number in self.matcher.match(documents, self.plan):
            found[place].append(number)
        return found


class Spark:
    """The relational matcher's subscriptions on Spark, in a session of its own."""

    def __init__(self, matcher: RelationalMatcher, session: SparkSession) -> None:
        self.matcher = matcher
        self.session = session

    def add(self, subscriptions: Sequence[Numbered]) -> None:
        self.matcher.add_many((one.number, one.patterns) for one in subscriptions)

    def remove(self, number: int) -> None:
        assert self.matcher.remove(number)

    def match(self, documents: Sequence[Document]) -> list[list[int]]:
        from heptox.cluster import SubscriptionTables

        found: list[list[int]] = [[] for _ in documents]
        texts = [(place, write_element(document.root)) for place, document in enumerate(documents)]
        frame = self.session.createDataFrame(texts, "doc bigint, text string").repartition(2)
        with SubscriptionTables(self.session, self.matcher) as tables:
            for place, number in tables.match(frame).collect():
                found[place].append(number)
        return [sorted(numbers) for numbers in found]


@contextmanager
def _naive() -> Iterator[Engine]:
    yield Naive()


@cache
def _tag_paths() -> TagPaths:
    """Tag paths that matchers share, as long as the process lasts."""
    return TagPaths()


@contextmanager
def _memory(*, shared: bool = False) -> Iterator[Engine]:
    yield Memory(MemoryMatcher(_tag_paths() if shared else None))


@contextmanager
def _relational(plan: Plan | None, *, shared: bool = False) -> Iterator[Engine]:
    with RelationalMatcher(tag_paths=_tag_paths() if shared else None) as matcher:
        yield Relational(matcher, plan, by_text=shared)


@contextmanager
def _spark() -> Iterator[Engine]:
    from heptox.cluster import spark_session

    with spark_session("local[2]", name="fuzz", memory="2g") as session, RelationalMatcher() as matcher:
        yield Spark(matcher, session)


ENGINES: Final[Mapping[str, Opened]] = {
    "naive": _naive,
    "memory": _memory,
    "memory-shared": partial(_memory, shared=True),
    **{plan: partial(_relational, plan) for plan in PLANS},
    "relational": partial(_relational, None, shared=True),
}
"""All engines; those that share tag paths get subscriptions as text, where they take it."""

SLOW: Final[Mapping[str, Opened]] = {"spark": _spark}
"""Engines that take long for each batch: they are asked once, for all documents, and only by name."""

NAMED: Final = {**ENGINES, **SLOW}
"""The engines that can be asked by name."""

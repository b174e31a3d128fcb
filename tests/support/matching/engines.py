"""The engines whose decisions are checked, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Final, NamedTuple, Protocol, TypeAlias

from heptox.pattern import TreePattern
from heptox.xmlio import Document
from tests.support.matching.embedding import Node, document_node, matches


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


@contextmanager
def _naive() -> Iterator[Engine]:
    yield Naive()


ENGINES: Final[Mapping[str, Opened]] = {"naive": _naive}
"""All engines; what is slow to start comes last."""

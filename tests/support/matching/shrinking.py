"""Smallest counterexamples: fewer subscriptions and documents first, then smaller ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from heptox.errors import HeptoxError
from heptox.grammar import parse_subscription
from heptox.pattern import TreePattern
from heptox.verification.shrinking import smaller_documents
from heptox.xml import Document, write_element
from tests.support.matching.conditions import Condition, printed, smaller
from tests.support.matching.engines import Numbered, Opened
from tests.support.matching.judging import DisagreementError, Judge, Judged

T = TypeVar("T")


class Subscribed(Protocol):
    """A subscription that was drawn."""

    @property
    def condition(self) -> Condition: ...

    @property
    def text(self) -> str: ...

    @property
    def patterns(self) -> tuple[TreePattern, ...]: ...


@dataclass(frozen=True, slots=True)
class _Printed:
    condition: Condition
    text: str
    patterns: tuple[TreePattern, ...]


def shrunk(
    opened: Opened,
    subscriptions: Sequence[Subscribed],
    documents: Sequence[Document],
    expected: Sequence[Sequence[bool]],
) -> tuple[str, ...]:
    """The smallest counterexample found, as lines: the subscriptions, the document, what came and what should.

    One subscription and one document alone, where that goes wrong; else as few subscriptions as go wrong together in a
    new engine. Of what goes wrong only after changes nothing smaller is told.
    """
    for place, document in enumerate(documents):
        for number, subscription in enumerate(subscriptions):
            if decided(opened, [subscription], document) != [expected[place][number]]:
                return _one(opened, subscription, document)
    for place, document in enumerate(documents):

        def goes_wrong(numbers: Sequence[int], place: int = place, document: Document = document) -> bool:
            found = decided(opened, [subscriptions[number] for number in numbers], document)
            return found != [expected[place][number] for number in numbers]

        numbers: Sequence[int] = range(len(subscriptions))
        if goes_wrong(numbers):
            numbers = _fewer(numbers, goes_wrong)
            found = decided(opened, [subscriptions[number] for number in numbers], document)
            texts = [subscriptions[number].text for number in numbers]
            wanted = [expected[place][number] for number in numbers]
            return (*texts, write_element(document.root), f"expected {wanted}, got {found}")
    return ("no new engine goes wrong",)


def decided(opened: Opened, subscriptions: Sequence[Subscribed], document: Document) -> list[bool]:
    """What a new engine decides."""
    with opened() as engine:
        engine.add([Numbered(number, one.text, one.patterns) for number, one in enumerate(subscriptions)])
        found = set(engine.match([document])[0])
    return [number in found for number in range(len(subscriptions))]


def _fewer(items: Sequence[T], goes_wrong: Callable[[Sequence[T]], bool]) -> Sequence[T]:
    for place in range(len(items) - 1, -1, -1):
        less = [*items[:place], *items[place + 1 :]]
        if goes_wrong(less):
            items = less
    return items


def _one(opened: Opened, subscription: Subscribed, document: Document) -> tuple[str, ...]:
    def goes_wrong(condition: Condition, document: Document) -> bool:
        text = printed(condition)
        try:
            truth = Judge(condition, text).decide(Judged(document))
            return decided(opened, [_Printed(condition, text, parse_subscription(text))], document) != [truth]
        except (HeptoxError, DisagreementError):
            return False

    condition, text = subscription.condition, subscription.text
    if goes_wrong(condition, document):
        condition, document = _smallest(condition, document, goes_wrong)
        text = printed(condition)
    truth = Judge(condition, text).decide(Judged(document))
    return (text, write_element(document.root), f"expected {truth}, got {not truth}")


def _smallest(
    condition: Condition, document: Document, goes_wrong: Callable[[Condition, Document], bool]
) -> tuple[Condition, Document]:
    """Greedily smaller, until nothing smaller goes wrong."""
    while True:
        less = next((c for c in smaller(condition) if goes_wrong(c, document)), None)
        if less is not None:
            condition = less
            continue
        smaller_one = next((d for d in smaller_documents(document) if goes_wrong(condition, d)), None)
        if smaller_one is None:
            return condition, document
        document = smaller_one

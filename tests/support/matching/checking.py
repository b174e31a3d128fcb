"""One trial: a random schema, documents and subscriptions; judges, parser and engines must say the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Final

from heptox.errors import GrammarError
from heptox.grammar import parse_subscription
from heptox.pattern import TreePattern
from heptox.xmlio import Document, parse_document
from tests.support.checking import Outcome
from tests.support.matching.conditions import Condition, printed
from tests.support.matching.embedding import document_node, matches
from tests.support.matching.engines import Engine, Opened
from tests.support.matching.judging import DisagreementError, Judge, Judged
from tests.support.matching.making import random_condition, random_schema, random_text
from tests.support.matching.shrinking import shrunk

_TOO_MANY: Final = "HX3061"
"""The code of a subscription with too many alternatives, which is refused rightly."""


@dataclass(frozen=True)
class Subscription:
    """A condition with its text and what the project reads in it."""

    condition: Condition
    text: str

    @cached_property
    def patterns(self) -> tuple[TreePattern, ...]:
        return parse_subscription(self.text)

    @cached_property
    def judge(self) -> Judge:
        return Judge(self.condition, self.text)


def check_matching(
    random: Random, subscriptions: int, documents: int, engines: dict[str, Opened], outcome: Outcome
) -> None:
    """One trial; what each engine decides is counted by its name."""
    schema = random_schema(random)
    texts = [random_text(random, schema) for _ in range(documents)]
    parsed = [parse_document(text) for text in texts]
    nodes = [document_node(document) for document in parsed]
    conditions = [random_condition(random, nodes) for _ in range(subscriptions)]
    drawn = [Subscription(condition, printed(condition, random)) for condition in conditions]
    read = [subscription for subscription in drawn if _is_read(subscription, outcome)]
    expected = _judged(read, [Judged(document) for document in parsed], outcome)
    for place, node in enumerate(nodes):
        for number, subscription in enumerate(read):
            if matches(subscription.patterns, node) != expected[place][number]:
                told = f"expected {expected[place][number]}, from the patterns {[*map(str, subscription.patterns)]}"
                outcome.broken.append("\n".join(("patterns", subscription.text, texts[place], told)))
    for name, opened in engines.items():
        with opened() as engine:
            fault = _run(engine, Random(random.random()), [s.patterns for s in read], parsed, expected, outcome)
        outcome.counts[f"decisions of {name}"] += len(read) * len(parsed)
        if fault:
            outcome.broken.append("\n".join((name, *fault, *shrunk(opened, read, parsed, expected))))


def _is_read(subscription: Subscription, outcome: Outcome) -> bool:
    """Whether the subscription is accepted; what is drawn is in the language, so that it has to be."""
    outcome.counts["subscriptions"] += 1
    try:
        return bool(subscription.patterns)
    except GrammarError as error:
        if error.faults[0].code == _TOO_MANY:
            outcome.counts["refused for too many alternatives"] += 1
        else:
            outcome.broken.append("\n".join(("refused", subscription.text, str(error))))
        return False


def _judged(subscriptions: Sequence[Subscription], documents: Sequence[Judged], outcome: Outcome) -> list[list[bool]]:
    """What each document should match."""
    expected: list[list[bool]] = []
    for document in documents:
        decided: list[bool] = []
        for subscription in subscriptions:
            try:
                decided.append(subscription.judge.decide(document, outcome.counts))
            except DisagreementError as error:
                outcome.broken.append("\n".join(("judges", str(error), document.text)))
                decided.append(False)
        expected.append(decided)
        outcome.counts["cases"] += len(decided)
        outcome.counts["matches"] += sum(decided)
    return expected


def _run(
    engine: Engine,
    random: Random,
    patterns: Sequence[tuple[TreePattern, ...]],
    documents: Sequence[Document],
    expected: Sequence[Sequence[bool]],
    outcome: Outcome,
) -> tuple[str, ...]:
    """Adds and removes subscriptions while documents are matched, at last all of them; what goes wrong, if anything."""
    present: set[int] = set()

    def wrong(places: Sequence[int]) -> tuple[str, ...]:
        found = engine.match([documents[place] for place in places])
        wanted = [[number for number in sorted(present) if expected[place][number]] for place in places]
        return () if found == wanted else (f"with {sorted(present)}: expected {wanted}, got {found}",)

    numbers = random.sample(range(len(patterns)), len(patterns))
    while numbers:
        for number in [numbers.pop() for _ in range(min(len(numbers), random.randint(1, 8)))]:
            engine.add(number, patterns[number])
            present.add(number)
        if random.random() < 0.4:
            for number in random.sample(sorted(present), random.randint(0, len(present) // 2)):
                engine.remove(number)
                present.remove(number)
                if random.random() < 0.8:
                    numbers.append(number)
        outcome.counts["changes while matching"] += 1
        if fault := wrong(random.sample(range(len(documents)), random.randint(0, min(3, len(documents))))):
            return fault
    for number in sorted(set(range(len(patterns))) - present):
        engine.add(number, patterns[number])
        present.add(number)
    return wrong(range(len(documents)))

"""One trial: a random schema, documents and subscriptions; judges, parser and engines must say the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Final

from elementpath import ElementPathError

from heptox.errors import GrammarError
from heptox.grammar import parse_subscription
from heptox.grammar.subscription import parse_by_grammar
from heptox.grammar.subscription_scanner import scan_subscription
from heptox.pattern import TreePattern
from heptox.xml import Document, parse_document, write_element
from tests.support.checking import Outcome
from tests.support.matching.conditions import Condition, condition_of, printed
from tests.support.matching.embedding import document_node, matches
from tests.support.matching.engines import SLOW, Engine, Numbered, Opened
from tests.support.matching.judging import DisagreementError, Judge, Judged, Plain
from tests.support.matching.making import damaged, random_condition, random_schema, random_text
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
    random: Random, subscriptions: int, documents: int, engines: Mapping[str, Opened], outcome: Outcome
) -> None:
    """A trial on a random small schema; what each engine decides is counted by its name."""
    schema = random_schema(random)
    parsed = [parse_document(random_text(random, schema)) for _ in range(documents)]
    nodes = [document_node(document) for document in parsed]
    conditions = [random_condition(random, nodes) for _ in range(subscriptions)]
    drawn = [Subscription(condition, printed(condition, random)) for condition in conditions]
    _check(random, [one for one in drawn if _is_read(one, outcome)], parsed, engines, outcome)
    for one in drawn:
        check_damaged(damaged(random, one.text), parsed, outcome)


def check_damaged(text: str, documents: Sequence[Document], outcome: Outcome) -> None:
    """A text that the project accepts is XPath and means what it means there, however it came about."""
    outcome.counts["damaged texts"] += 1
    try:
        patterns = parse_by_grammar(text)
    except GrammarError:
        patterns = ()
    scanned = scan_subscription(text)
    if scanned is not None and scanned != patterns:
        outcome.broken.append("\n".join(("scanner", repr(text), str([*map(str, scanned)]), str([*map(str, patterns)]))))
    if not patterns:
        return
    outcome.counts["damaged texts that are read"] += 1
    try:
        judge = Plain(text)
    except ElementPathError as error:
        outcome.broken.append("\n".join(("no XPath", repr(text), str([*map(str, patterns)]), str(error))))
        return
    for document in documents:
        truth = judge.decide(Judged(document))
        if truth is not None and truth != matches(patterns, document_node(document)):
            told = (repr(text), str([*map(str, patterns)]), write_element(document.root), f"expected {truth}")
            outcome.broken.append("\n".join(("meaning", *told)))


def check_workload(
    random: Random, texts: Sequence[str], documents: Sequence[str], engines: Mapping[str, Opened], outcome: Outcome
) -> None:
    """A trial on subscriptions and documents that are given as text."""
    drawn = [Subscription(condition_of(parse_subscription(text)), text) for text in texts]
    outcome.counts["subscriptions"] += len(drawn)
    _check(random, drawn, [parse_document(text) for text in documents], engines, outcome)


def _check(
    random: Random,
    subscriptions: Sequence[Subscription],
    documents: Sequence[Document],
    engines: Mapping[str, Opened],
    outcome: Outcome,
) -> None:
    expected = _judged(subscriptions, [Judged(document) for document in documents], outcome)
    for document, decided in zip(documents, expected, strict=True):
        node = document_node(document)
        for subscription, truth in zip(subscriptions, decided, strict=True):
            if matches(subscription.patterns, node) != truth:
                told = f"expected {truth}, from the patterns {[*map(str, subscription.patterns)]}"
                outcome.broken.append("\n".join(("patterns", subscription.text, write_element(document.root), told)))
    numbered = [Numbered(number, one.text, one.patterns) for number, one in enumerate(subscriptions)]
    for name, opened in engines.items():
        with opened() as engine:
            if name in SLOW:
                fault = _run_once(engine, numbered, documents, expected)
            else:
                fault = _run(engine, Random(random.random()), numbered, documents, expected, outcome)
        outcome.counts[f"decisions of {name}"] += len(numbered) * len(documents)
        if fault and name in SLOW:
            outcome.broken.append("\n".join((name, *fault)))
        elif fault:
            outcome.broken.append("\n".join((name, *fault, *shrunk(opened, subscriptions, documents, expected))))


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


def _run_once(
    engine: Engine, subscriptions: Sequence[Numbered], documents: Sequence[Document], expected: Sequence[Sequence[bool]]
) -> tuple[str, ...]:
    """Adds all subscriptions and matches all documents; each document that goes wrong is told."""
    engine.add(subscriptions)
    told: list[str] = []
    for document, found, decided in zip(documents, engine.match(documents), expected, strict=True):
        wanted = {number for number, truth in enumerate(decided) if truth}
        wrong = [f"{subscriptions[number].text}: expected {number in wanted}" for number in wanted ^ {*found}]
        told += [*wrong, write_element(document.root)] if wrong else []
    return tuple(told)


def _run(
    engine: Engine,
    random: Random,
    subscriptions: Sequence[Numbered],
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

    def add(numbers: Sequence[int]) -> None:
        engine.add([subscriptions[number] for number in numbers])
        present.update(numbers)

    numbers = random.sample(range(len(subscriptions)), len(subscriptions))
    while numbers:
        add([numbers.pop() for _ in range(min(len(numbers), random.choice((1, 4, 12))))])
        if random.random() < 0.4:
            for number in random.sample(sorted(present), random.randint(0, len(present) // 2)):
                engine.remove(number)
                present.remove(number)
                if random.random() < 0.8:
                    numbers.append(number)
        outcome.counts["changes while matching"] += 1
        if fault := wrong(random.sample(range(len(documents)), random.randint(0, min(3, len(documents))))):
            return fault
    add(sorted(set(range(len(subscriptions))) - present))
    return wrong(range(len(documents)))

"""Translated subscriptions on random mappings and documents, judged on what exchange makes of the documents.

A translated subscription is to match a document exactly when the subscription matches its image, in both directions of
a mapping. Over two mappings in a row the same holds of the document at the other end.
The patterns match at least what the translated subscription matches; if they are said to be exact, nothing else that is
valid. elementpath and lxml say what the subscription matches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from traceback import format_exc
from typing import Final

from heptox.errors import HeptoxError
from heptox.grammar import parse_subscription
from heptox.matching import MemoryMatcher
from heptox.pattern import TreePattern
from heptox.rewriting import TranslatedSubscription, translate_subscription
from heptox.schema import SchemaGraph, validity_faults
from heptox.translate import Direction, Hop
from heptox.xml import Document, parse_document, write_element
from tests.support.checking import GivenUpError, Outcome, patience
from tests.support.definition import pairs
from tests.support.documents import Values, random_document
from tests.support.matching.conditions import Condition, printed
from tests.support.matching.embedding import Node, document_node
from tests.support.matching.judging import Judge, Judged
from tests.support.matching.making import random_condition
from tests.support.random_mappings import NUMBERS, NUMERIC, POOL, random_documents, random_problem
from tests.support.scenarios import random_path
from tests.support.scenarios.paths import images, is_promised

ELSEWHERE: Final = 0.25
"""The share of subscriptions that are drawn along any document of their schema, with names that no arrow reaches."""

TRIES: Final = 20
"""How often a document of a schema is looked for."""


@dataclass(frozen=True)
class Case:
    """Hops, with documents at both ends that belong together: where the subscription is stated, and the publisher's."""

    hops: tuple[Hop, ...]
    asked: tuple[Document, ...]
    published: tuple[Document, ...]
    told: str


def check_translated(random: Random, number: int, subscriptions: int, documents: int, outcome: Outcome) -> None:
    """Of four trials one is of two mappings in a row; a case is a subscription and a document."""
    for case in _path(random, documents) if number % 4 == 3 else _problem(random, documents):
        for condition in _conditions(random, case, subscriptions):
            _check(case, condition, outcome)


def _problem(random: Random, documents: int) -> list[Case]:
    given = random_problem(random)
    found = []
    for to in Direction:
        instances = pairs(given.mapping, random_documents(random, given, documents, side=to), to)
        asked = tuple(parse_document(pair.image) for pair in instances)
        published = tuple(parse_document(pair.document) for pair in instances)
        found.append(Case((Hop(given.mapping, to),), asked, published, str(given)))
    return found


def _path(random: Random, documents: int) -> list[Case]:
    path = random_path(random, 2, valley=0)
    hops = path.hops(turned=True)
    along = (images(hops, text) for text in path.documents(random, documents, turned=True))
    kept = [met for met in along if all(map(is_promised, hops, met[1:]))]
    asked, published = (tuple(parse_document(met[place]) for met in kept) for place in (0, -1))
    return [Case(tuple(hops), asked, published, str(path))]


def _conditions(random: Random, case: Case, number: int) -> list[Condition]:
    """Conditions drawn along documents of the schema of the subscriptions; none where there are no such documents."""
    near = [document_node(document) for document in case.asked]
    far = _any(random, case.hops[0].start) or near
    if not far:
        return []
    drawn = (far if not near or random.random() < ELSEWHERE else near for _ in range(number))
    return [random_condition(random, nodes) for nodes in drawn]


def _any(random: Random, schema: SchemaGraph) -> list[Node]:
    """A valid document of a schema, if there is one: references may need an ID that no element has."""
    values: Values = dict.fromkeys(NUMERIC, NUMBERS)
    for _ in range(TRIES):
        try:
            return [document_node(parse_document(random_document(schema, random, values=values, pool=POOL)))]
        except ValueError:
            continue
    return []


def _check(case: Case, condition: Condition, outcome: Outcome) -> None:
    text = printed(condition)
    outcome.counts["subscriptions"] += 1
    try:
        translated = translate_subscription(case.hops, text, patience())
    except HeptoxError as error:
        outcome.counts["refused"] += 1
        outcome.counts[f"refused for {error.faults[0].code}"] += 1
        return
    except GivenUpError:
        outcome.counts["given up"] += 1
        return
    except Exception:
        outcome.broken.append(f"crash\n{case.told}\n{text}\n{format_exc()}")
        return
    outcome.counts["translated"] += 1
    outcome.counts["translated to nothing"] += not translated.patterns
    outcome.counts["exact"] += translated.exact
    if fault := _faults(translated):
        outcome.broken.append(f"translation\n{case.told}\n{text}\n{translated.text}\n{fault}")
    _decide(case, Judge(condition, text), translated, outcome)


def _faults(translated: TranslatedSubscription) -> str | None:
    """What is wrong with a translation by itself."""
    if not translated.patterns:
        return None if translated.losses and not translated.text else "it is empty without a loss"
    again = parse_subscription(translated.text)
    return None if again == translated.patterns else f"it is read as {[*map(str, again)]}"


def _decide(case: Case, judge: Judge, translated: TranslatedSubscription, outcome: Outcome) -> None:
    wanted = parse_subscription(judge.text)
    for asked, published in zip(case.asked, case.published, strict=True):
        truth = judge.decide(Judged(asked), outcome.counts)
        found, said = translated.matches(published), _match(translated.patterns, published)
        outcome.counts["cases"] += 1
        outcome.counts["cases along the arrows"] += case.hops[0].to is Direction.TARGET
        outcome.counts["to match"] += truth
        outcome.counts["matched"] += found
        outcome.counts["matched by patterns"] += said
        outcome.counts["decided by exact patterns"] += translated.exact
        wrong = {
            "matcher": _match(wanted, asked) != truth,
            "false": found and not truth,
            "missed": truth and not found,
            "patterns missed": found and not said,
            "patterns false": said and not found and translated.exact and _is_valid(case, published),
        }
        for kind in (kind for kind, is_so in wrong.items() if is_so):
            documents = map(write_element, (asked.root, published.root))
            hops = map(str, case.hops)
            parts = (kind, case.told, *hops, judge.text, translated.text, str(translated.exact), *documents)
            outcome.broken.append("\n".join(parts))


def _match(patterns: Sequence[TreePattern], document: Document) -> bool:
    if not patterns:
        return False
    matcher = MemoryMatcher()
    matcher.add(0, tuple(patterns))
    return bool(len(matcher.match(document)))


def _is_valid(case: Case, document: Document) -> bool:
    return not validity_faults(document, case.hops[-1].end)

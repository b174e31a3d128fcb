"""Definition 1 of ``semantics.md`` checked on a problem, query by query: what is counted, and what breaks it.

Saxon judges. What is refused by name, or takes too long for a test, is counted and judges nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from itertools import count
from traceback import format_exc
from typing import Final

from heptox.errors import HeptoxError
from heptox.grammar import Expression, counted_query, lower, parse_query, print_query
from heptox.mapping import Mapping
from heptox.store import evaluate
from heptox.translate import Direction, Translation, translate
from heptox.xml import parse_document
from tests.support.counting import counted_bag
from tests.support.definition import Pair, same_items
from tests.support.random_mappings import Problem
from tests.support.saxon import XQueryError, answer_set, evaluate as judged

PATIENCE: Final = 800
"""How often a translation may ask whether to go on, half a second or so; a count, so that every run is the same."""


@dataclass
class Outcome:
    """How often something happened in one problem, and what broke Definition 1."""

    counts: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)


class GivenUpError(Exception):
    """A translation takes too long for a test."""


def patience() -> Callable[[], None]:
    """What a translation asks while it goes on, and what stops it when it has asked too often."""
    asked = count(1)

    def check() -> None:
        if next(asked) > PATIENCE:
            raise GivenUpError

    return check


def translated(
    given: Problem, query: Expression, to: Direction, outcome: Outcome, *, in_parts: bool = False
) -> Translation | None:
    """The translation, ``None`` where there is none to judge; what is printed must be read again."""
    outcome.counts["asked"] += 1
    try:
        translation = translate(given.mapping, query, to, patience(), in_parts=in_parts)
    except HeptoxError:
        outcome.counts["refused"] += 1
        return None
    except GivenUpError:
        outcome.counts["given up"] += 1
        return None
    except Exception:
        outcome.broken.append("\n".join(("crash", str(given), print_query(query), str(to), format_exc())))
        return None
    if fault := misread(given.mapping, given.arrows, translation, to):
        outcome.broken.append("\n".join(("closure", str(given), print_query(query), translation.text, fault)))
        return None
    if translation.returns_invented:
        outcome.counts["invented"] += 1
        return None
    return translation


def misread(mapping: Mapping, arrows: str, translation: Translation, to: Direction) -> str | None:
    """What is wrong with the text of a translation: it must be read as what was printed, over the same schema."""
    try:
        again = parse_query(translation.text)
        if "=>" not in arrows:  # what is copied is an item only to those who know the mapping
            lower(again, mapping.source if to is Direction.SOURCE else mapping.target)
    except HeptoxError as error:
        return str(error)
    return None if again == translation.query else "it is read as another query"


def tell(given: Problem, kind: str, texts: tuple[str, ...], pair: Pair) -> str:
    """A counterexample with all that it needs to be repeated."""
    return "\n".join((kind, str(given), *texts, pair.document, pair.image))


def answer_of(query: str, document: str) -> frozenset[str] | None:
    """The answer; ``None`` for a query that raises an error, which has no answer and promises nothing."""
    try:
        return answer_set(query, document)
    except XQueryError:
        return None


def answered_of(query: str, document: str) -> frozenset[str]:
    """What a translation answers. Of ``a or b`` XQuery may pass over the part that raises an error, where a translation
    asks for both: what is no number, compared with a number, is false then (``semantics.md`` section 7).
    """
    answer = answer_of(query, document)
    return frozenset(evaluate(parse_query(query), [parse_document(document)])) if answer is None else answer


def check(
    given: Problem, query: str, to: Direction, instances: list[Pair], outcome: Outcome, *, in_parts: bool = False
) -> None:
    """The query, translated to the side that answers, answers there what it answers on the images.

    ``in_parts`` is whether something of the documents may be hidden.
    """
    expression = parse_query(query)
    translation = translated(given, expression, to, outcome, in_parts=in_parts)
    if translation is None:
        return
    asked = print_query(expression)
    for pair in instances:
        expected = answer_of(asked, pair.image)
        if expected is None:
            outcome.counts["errors"] += 1
            continue
        answer = answered_of(translation.text, pair.document)
        outcome.counts["cases"] += 1
        outcome.counts[f"cases to {to}"] += 1
        outcome.counts[f"answers to {to}"] += bool(expected)
        if not same_items(answer, expected):
            outcome.broken.append(tell(given, f"to {to}", (query, translation.text), pair))


def check_counts(given: Problem, query: str, to: Direction, instances: list[Pair], outcome: Outcome) -> None:
    """Each item of the translated query counts as often as on the images."""
    counting = counted_query(parse_query(query))
    translation = translated(given, counting, to, outcome)
    if translation is None:
        return
    asked = print_query(counting)
    for pair in instances:
        expected = bag_of(asked, pair.image)
        if expected is None:
            outcome.counts["errors"] += 1
            continue
        answer = counted_bag(evaluate(translation.query, [parse_document(pair.document)]))
        outcome.counts["cases"] += 1
        outcome.counts["counted cases"] += 1
        if answer != expected:
            outcome.broken.append(tell(given, f"counted to {to}", (query, translation.text), pair))


def bag_of(query: str, document: str) -> Counter[Hashable] | None:
    """The items of a query that counts them; ``None`` for one that raises an error."""
    try:
        return counted_bag(judged(query, document))
    except XQueryError:
        return None


SIDES: Final = {"over target": Direction.SOURCE, "over source": Direction.TARGET}
"""What a fixture says of a query, and the side that answers it."""

"""Queries of several documents together: Definition 1 for ``collection()``, where exchange makes one image of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from random import Random
from typing import Any, Final, TypeVar

from heptox.errors import HeptoxError
from heptox.grammar import Expression, parse_query, print_query, syntax
from heptox.store import evaluate
from heptox.translate import Direction, translate_path
from heptox.xml import parse_document
from tests.support.checking import GivenUpError, Outcome, patience, translated
from tests.support.definition import Pair, same_items
from tests.support.random_mappings import Problem
from tests.support.saxon import XQueryError, answer_set_together
from tests.support.scenarios.paths import ScenarioPath, images, is_promised

_Given = TypeVar("_Given")

DOCUMENTS: Final = 3
"""How many documents are asked together."""


def collected(random: Random, query: Expression, probability: float = 0.7) -> Expression:
    """A query in which some paths, one at least, begin with the collection instead of a document: none of those that
    are left in a predicate, where ``/`` is the document of the node that is tested."""
    while True:
        found: Expression = _collected(random, query, probability)
        if any(syntax.absolute_elsewhere(found)):
            continue
        if any(syntax.collections(found)) or not _begins(query):
            return found


def _begins(query: Expression) -> bool:
    return any(isinstance(node, syntax.PathExpression) and node.start == "/" for node in syntax.nodes(query))


def _collected(random: Random, part: Any, probability: float) -> Any:
    if isinstance(part, tuple):
        return tuple(_collected(random, each, probability) for each in part)
    if not isinstance(part, syntax.Node):
        return part
    if isinstance(part, syntax.PathExpression) and part.start == "/" and random.random() < probability:
        part = replace(part, start=syntax.COLLECTION)
    changed = {
        field.name: _collected(random, getattr(part, field.name), probability)
        for field in fields(part)
        if field.name != "position"
    }
    return replace(part, **changed)


def check_together(
    random: Random, given: Problem, query: str, to: Direction, instances: Sequence[Pair], outcome: Outcome
) -> None:
    """The query about all documents together answers, translated, what it answers on all of their images together."""
    asked = print_query(collected(random, parse_query(query)))
    translation = translated(given, parse_query(asked), to, outcome)
    if translation is None:
        return
    for group in _groups(instances):
        images, documents = [pair.image for pair in group], [pair.document for pair in group]
        _judge((str(given), f"to {to}"), (asked, images), (translation.text, documents), outcome)


def check_path_together(
    random: Random, path: ScenarioPath, query: str, documents: Sequence[str], outcome: Outcome, *, turned: bool = False
) -> None:
    """What each hop of a path promises of documents together, where all that it reaches are valid."""
    hops = path.hops(turned=turned)
    asked = collected(random, parse_query(query))
    try:
        translation = translate_path(hops, asked, patience())
    except (HeptoxError, GivenUpError):
        return
    if any(hop.translation.returns_invented for hop in translation.hops):
        return
    queries = [print_query(asked), *(hop.translation.text for hop in translation.hops)]
    for group in _groups(documents):
        met = [*zip(*(images(hops, document) for document in group), strict=True)]
        for number, hop in enumerate(hops):
            if all(is_promised(hop, document) for document in met[number + 1]):
                asker, answerer = [*zip(queries, met, strict=True)][number : number + 2]
                _judge((str(path), f"hop {number}"), asker, answerer, outcome)


def _groups(given: Sequence[_Given]) -> Iterator[Sequence[_Given]]:
    return (given[place : place + DOCUMENTS] for place in range(0, len(given), DOCUMENTS))


def _judge(
    told: Sequence[str], asked: tuple[str, Sequence[str]], answered: tuple[str, Sequence[str]], outcome: Outcome
) -> None:
    """One query on some documents must answer what another one answers on others."""
    try:
        expected = answer_set_together(*asked)
    except XQueryError:
        outcome.counts["errors"] += 1
        return
    answer = _answered(*answered)
    outcome.counts["cases"] += 1
    outcome.counts["cases together"] += 1
    outcome.counts["answers together"] += bool(expected)
    if not same_items(answer, expected):
        texts = (asked[0], answered[0], *asked[1], *answered[1], str(sorted(expected ^ answer)))
        outcome.broken.append("\n".join(("together", *told, *texts)))


def _answered(query: str, documents: Sequence[str]) -> frozenset[str]:
    """As :func:`~tests.support.checking.answered_of`."""
    try:
        return answer_set_together(query, documents)
    except XQueryError:
        return frozenset(evaluate(parse_query(query), [parse_document(one) for one in documents]))

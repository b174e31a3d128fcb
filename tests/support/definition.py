"""Definition 1 of ``semantics.md``, judged by Saxon on given documents."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from heptox.grammar import parse_query, print_query
from heptox.mapping import Mapping, exchange
from heptox.translate import Direction, Translation, translate
from heptox.xmlio import parse_document, write_document
from tests.support.saxon import answer_set


@dataclass(frozen=True, slots=True)
class Pair:
    """A source document and its image, as text."""

    source: str
    image: str


def pairs(mapping: Mapping, documents: Iterable[str]) -> list[Pair]:
    """The documents with what exchange makes of them."""
    return [Pair(text, write_document(exchange(mapping, parse_document(text)).root)) for text in documents]


def standard(query: str) -> str:
    """The query in standard XQuery (the report's ``RETURN {...}`` is none)."""
    return print_query(parse_query(query))


def check_backward(mapping: Mapping, query: str, instances: Iterable[Pair]) -> Translation:
    """The translated query answers on every document what the query answers on its image."""
    translation = translate(mapping, parse_query(query), Direction.SOURCE)
    for pair in instances:
        expected, answer = answer_set(standard(query), pair.image), answer_set(translation.text, pair.source)
        assert answer == expected, told(pair, query, translation.text)
    return translation


def check_sound(mapping: Mapping, query: str, instances: Iterable[Pair]) -> Translation:
    """The translated query answers on every image at most what the query answers on its document."""
    translation = translate(mapping, parse_query(query), Direction.TARGET)
    for pair in instances:
        allowed, answer = answer_set(standard(query), pair.source), answer_set(translation.text, pair.image)
        assert answer <= allowed, told(pair, query, translation.text)
    return translation


def check_certain(mapping: Mapping, query: str, certain: str, instances: Iterable[Pair]) -> Translation:
    """The translated query answers on every image exactly what ``certain``, a query over the source, answers."""
    translation = translate(mapping, parse_query(query), Direction.TARGET)
    for pair in instances:
        expected, answer = answer_set(standard(certain), pair.source), answer_set(translation.text, pair.image)
        assert answer == expected, told(pair, query, translation.text)
    return translation


def check_round_trip(mapping: Mapping, query: str, instances: Iterable[Pair]) -> None:
    """Translated against the rules and along them again, a query answers the same on every image."""
    there = translate(mapping, parse_query(query), Direction.SOURCE)
    back = translate(mapping, there.query, Direction.TARGET)
    for pair in instances:
        expected, answer = answer_set(standard(query), pair.image), answer_set(back.text, pair.image)
        assert answer == expected, told(pair, query, there.text, back.text)


def told(pair: Pair, *texts: str) -> str:
    """What a failure needs to be repeated."""
    return "\n".join((*texts, pair.source, pair.image))

"""Definition 1 of ``semantics.md`` section 6, judged by Saxon on given documents.

Both directions make the same promise, so everything here takes ``to``, the side of the mapping that answers: the
translated query answers on every document of that side what the query answers on its image in the asker's schema.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from xml.etree import ElementTree

from heptox.grammar import parse_query, print_query
from heptox.mapping import ExchangeReceipt, Mapping, exchange
from heptox.pattern import NODE
from heptox.translate import Direction, Translation, translate
from heptox.xml import parse_document, write_document
from tests.support.saxon import XQueryError, answer_set


@dataclass(frozen=True, slots=True)
class Pair:
    """A document of the peer that answers, and its image in the schema of the one that asks, as texts."""

    document: str
    image: str


def making(mapping: Mapping, to: Direction) -> Mapping:
    """The reading of a mapping whose rules make the asker's documents from those of the side that answers."""
    return mapping if to is Direction.SOURCE else mapping.mirrored()


def pairs(mapping: Mapping, documents: Iterable[str], to: Direction = Direction.SOURCE) -> list[Pair]:
    """The documents of side ``to`` with their images; those that break what the mapping declares are left out."""
    made = making(mapping, to)
    found = ((text, image_of(made, text)) for text in documents)
    return [Pair(text, image) for text, image in found if image is not None]


def takes_nodes(mapping: Mapping) -> bool:
    """Whether a leaf takes what a node is itself: exchange invents its values, and there is no place they come from."""
    return any(term.path == (NODE,) for rule in mapping.rules for term in rule.terms())


def makes_up(mapping: Mapping) -> bool:
    """Whether exchange invents values: what nodes are themselves, or what they are identified by."""
    return takes_nodes(mapping) or any(head.surrogates for rule in mapping.rules for head in rule.head)


def image_of(mapping: Mapping, document: str) -> str | None:
    """What exchange makes of a document, ``None`` where two values come for one leaf of a node (section 4)."""
    receipt = ExchangeReceipt()
    image = exchange(mapping, parse_document(document), receipt=receipt)
    return None if receipt.conflicts else write_document(image.root)


def standard(query: str) -> str:
    """The query in standard XQuery (the report's ``RETURN {...}`` is none)."""
    return print_query(parse_query(query))


def check_equal(mapping: Mapping, query: str, instances: Iterable[Pair], to: Direction) -> Translation:
    """The translated query answers on every document what the query answers on its image.

    Nothing is promised where the query raises an error.
    """
    translation = translate(mapping, parse_query(query), to)
    asked = standard(query)
    for pair in instances:
        try:
            expected = answer_set(asked, pair.image)
        except XQueryError:
            continue
        answer = answer_set(translation.text, pair.document)
        assert same_items(answer, expected), told(pair, query, translation.text, *sorted(answer ^ expected))
    return translation


def same_items(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether answers are equal; the order of siblings within an item carries no meaning."""
    return one == other or frozenset(map(_unordered, one)) == frozenset(map(_unordered, other))


def _unordered(item: str) -> Hashable:
    """An item with the children of each element as a set."""
    return _as_set(ElementTree.fromstring(item)) if item.startswith("<") else item


def _as_set(element: ElementTree.Element) -> Hashable:
    text = (element.text or "") + "".join(child.tail or "" for child in element)
    return element.tag, frozenset(element.attrib.items()), text, frozenset(map(_as_set, element))


def told(pair: Pair, *texts: str) -> str:
    """What a failure needs to be repeated."""
    return "\n".join((*texts, pair.document, pair.image))

"""Counted items as they come: each node once, and without what it was told apart by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from lxml import etree

from heptox.grammar import ITEM

Identity: TypeAlias = bytes
"""Which node, or match, an item is of: comparable within the answer of one path."""


@dataclass(frozen=True, slots=True)
class CountedItem:
    """An item, in the element that counted it, and which match it is of."""

    identity: Identity
    element: etree._Element


def counted_item(text: str) -> CountedItem:
    """The item behind the text of a counted one; each node within it is there once."""
    element = etree.fromstring(text, _PARSER)
    return CountedItem(_taken(element), element)


_PARSER = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True, remove_comments=False)


def _taken(item: etree._Element) -> Identity:
    """What tells an item apart, which is taken from it; what it holds is put in order.

    It is one item: where it comes in several ways, each is the same.
    """
    nodes = item[-1]
    item.remove(nodes)
    _gather(item)
    for again in list(item)[1:]:
        item.remove(again)
    return etree.tostring(nodes, method="c14n")


def _gather(element: etree._Element) -> None:
    """Put items in the places of the elements that counted them, each once, at any depth."""
    seen: set[Identity] = set()
    for child in list(element):
        if child.tag != ITEM:
            _gather(child)
            continue
        identity = _taken(child)
        if identity not in seen:
            seen.add(identity)
            _put(element, child)
        _remove(child)


def _put(parent: etree._Element, item: etree._Element) -> None:
    """Put what an element holds before it, and its attributes to those of its parent."""
    parent.attrib.update(item.attrib)
    _add_text(item, item.text)
    for part in list(item):
        tail, part.tail = part.tail, None
        item.addprevious(part)
        _add_text(item, tail)


def _remove(item: etree._Element) -> None:
    """Remove an element, and leave the text behind it."""
    _add_text(item, item.tail)
    item.tail = None
    parent = item.getparent()
    assert parent is not None
    parent.remove(item)


def _add_text(place: etree._Element, text: str | None) -> None:
    """Put a text before an element."""
    before, parent = place.getprevious(), place.getparent()
    if before is not None:
        before.tail = (before.tail or "") + (text or "")
    elif parent is not None:
        parent.text = (parent.text or "") + (text or "")

"""Items of answers, compared whatever prefixes they have, for of a name in a namespace a query has any prefix, and in
whatever order elements stand side by side (``semantics.md`` section 6).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable
from typing import Final

from heptox.xml import XmlElement, parse_document

_PREFIXED: Final = re.compile(r'(?:[^\s"<>=:{}]+:|Q\{[^"<>{}]*\})(?=[^\s"<>=:]+=")')
"""How an attribute as an item begins that is in a namespace."""


def same_items(some: Collection[str], others: Collection[str]) -> bool:
    """Whether the items of two answers are the same.

    >>> same_items({'<a:b xmlns:a="urn:a" c="1"/>'}, {'<b xmlns="urn:a" c="1"/>'}), same_items({"<b/>"}, {"<a/>"})
    (True, False)
    """
    return some == others or set(map(_without_prefixes, some)) == set(map(_without_prefixes, others))


def _without_prefixes(item: str) -> Hashable:
    if not item.startswith("<"):
        return _PREFIXED.sub("", item) if _PREFIXED.match(item) else item
    return expanded(parse_document(item).root) if "xmlns" in item or item.count("<") > 2 else item


def expanded(element: XmlElement) -> Hashable:
    """An element with expanded names, the elements in it as a set, all text beside them together."""
    attributes = tuple(sorted((str(name), str(value)) for name, value in element.attrib.items()))
    text = "".join((element.text or "", *(child.tail or "" for child in element)))
    return str(element.tag), attributes, text, frozenset(map(expanded, element))

"""How often items count (``semantics.md`` section 7): what a query that counts brings, as bags of items whose siblings
are bags, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

from lxml import etree

from heptox.shell import CountedItem


def counted_bag(items: Iterable[str]) -> Counter[Hashable]:
    """Items of a query that counts them, as often as they count."""
    matches = {item.identity: item.element for item in map(CountedItem.read, items)}
    return Counter(map(_as_bag, matches.values()))


def counted(items: Iterable[str]) -> int:
    """How many items count."""
    return len({CountedItem.read(item).identity for item in items})


def _as_bag(element: etree._Element) -> Hashable:
    text = (element.text or "") + "".join(child.tail or "" for child in element)
    children = Counter(map(_as_bag, element))
    return element.tag, frozenset(element.attrib.items()), text, frozenset(children.items())

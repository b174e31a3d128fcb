"""Nodes that several tuples of a core are of, each there once: paths from them lead to each node once then."""

from __future__ import annotations

from itertools import count
from typing import Final, TypeAlias

from lxml import etree

from heptox.grammar import ITEM
from heptox.shell.counted_items import CountedItem, unite, unwrap_below
from heptox.shell.scope import EACH, TUPLE

Way: TypeAlias = tuple[str, int]
"""The peer that an item is from, and the path along which it has come."""

_ID: Final = "{http://www.w3.org/XML/1998/namespace}id"


class SharedNodes:
    """The nodes of the tuples of one core, whose identifiers begin with a ``prefix``."""

    def __init__(self, prefix: str) -> None:
        self._names = (f"{prefix}.{number}" for number in count(1))
        self._known: dict[tuple[object, ...], etree._Element] = {}
        self.conflicts = 0

    def take(self, item: CountedItem, way: Way) -> None:
        """Put references in the places of nodes, in the tuples of an item. Nodes of equal keys are one."""
        for counted in reversed(list(item.counted.iter(ITEM))):  # those within others first
            found = counted[0] if len(counted) > 1 else counted
            found = found[0] if found.tag == EACH and len(found) else found
            if found.tag == TUPLE:
                self._take(CountedItem(counted), found, way)

    def _take(self, item: CountedItem, found: etree._Element, way: Way) -> None:
        identities, keys = item.identities, item.keys
        for place, identity in enumerate(identities if len(identities) > 1 else ()):
            key = keys[place] if len(keys) == len(identities) else ""
            match = (item.label, place, key) if key else (item.label, place, way, identity)
            known = self._known.get(match)
            if known is None:
                known = self._known[match] = _moved(found[place])
                known.set(_ID, next(self._names))
            elif key:
                self.conflicts += unite(known, found[place])
            found[place].clear()
            found[place].set("ref", str(known.get(_ID)))

    def elements(self) -> list[etree._Element]:
        """The nodes, each in an element that a reference leads to."""
        for element in self._known.values():
            unwrap_below(element)
        return list(self._known.values())


def _moved(slot: etree._Element) -> etree._Element:
    """An element with what another holds."""
    made = etree.Element("node")
    made.attrib.update(slot.attrib)
    made.text = slot.text
    made.extend(list(slot))
    return made

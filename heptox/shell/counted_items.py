"""Counted items as they come: each node once, nodes of equal keys as one, and without their identities."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Final, TypeAlias

from lxml import etree

from heptox.grammar import ITEM, NODES, ONCE, ROW, VALUE, syntax
from heptox.shell.scope import EACH

Identity: TypeAlias = str
"""Which match an item is of: comparable within the answer of one path."""
Key: TypeAlias = tuple[str, ...]
"""Where an item comes from in the query, and the keys of all nodes that it is of: comparable between peers."""
_Part: TypeAlias = etree._Element | str | None

_PARSER: Final = etree.XMLParser(resolve_entities=False, no_network=True)
"""It bounds how deep items nest, and how long a text is."""
_KEY: Final = "k"
"""How the names of elements begin that hold keys; those beside them that hold identities begin otherwise."""
_KEYS: Final = re.compile(r"<(k[0-9]+)(?:/>|>[^<]*</\1>)")


@dataclass(slots=True)
class CountedItem:
    """An item in the element that ``counted`` it, in which others may be counted in turn: not in a ``flat`` one."""

    counted: etree._Element
    is_flat: bool = False

    @classmethod
    def read(cls, text: str) -> CountedItem:
        """The item behind a text, in which each node is once.

        It is one item: where it comes in several ways, each is the same.

        Raises ``ValueError`` for a text that is none.
        """
        try:
            if not text.startswith((f"<{ITEM}", f"<{ROW}")):  # nor has it a document type
                raise ValueError("no counted item")
            element = etree.fromstring(text, _PARSER)
            # elsewhere a name without a namespace would fall into one that is the default
            plain = _without_default(element) if ' xmlns="' in text else element
            item = cls(plain, text.count(f"<{ITEM}", 1) == 0)
            item.keep_distinct()
        except (etree.XMLSyntaxError, RecursionError) as error:
            raise ValueError("no counted item") from error
        return item

    @property
    def identity(self) -> Identity:
        """What tells its match from others."""
        return identity_of(etree.tostring(self.counted[-1], encoding="unicode", with_tail=False))

    @property
    def label(self) -> str:
        """Which expression of the query it is an item of."""
        return self.counted[-1].text or ""

    @property
    def identities(self) -> list[Identity]:
        """What tells each of its nodes from others."""
        nodes = (part for part in self.counted[-1] if not str(part.tag).startswith(_KEY))
        return [etree.tostring(part, encoding="unicode", with_tail=False) for part in nodes]

    @property
    def keys(self) -> list[str]:
        """The keys of its nodes, where all may have one; some may be empty."""
        return [part.text or "" for part in self.counted[-1] if str(part.tag).startswith(_KEY)]

    @property
    def key(self) -> Key | None:
        """What its nodes have in common with those of other peers; ``None`` where one of them has no key."""
        values = self.keys
        has_all = values and 2 * len(values) == len(self.counted[-1]) and all(values)
        return (self.label, *values) if has_all else None

    @property
    def element(self) -> etree._Element:
        """The item, in the element that counted it, and without the identities of its nodes."""
        return CountedItem(deepcopy(self.counted), self.is_flat).taken_out()

    @property
    def content(self) -> bytes:
        """What the item says: the order of siblings that mapping makes carries no meaning."""
        return said_by(self.element)

    def taken_out(self) -> etree._Element:
        """As :attr:`element`, of which this is the last use."""
        if self.is_flat:
            self.counted.remove(self.counted[-1])
        else:
            unwrap_below(self.counted)
        return self.counted

    def unite(self, other: CountedItem) -> int:
        """Take up what another item says of the same nodes; how many values contradict those that are here.

        Items in it are one where their keys are equal; of what is once below a node, different values stay side by
        side.
        """
        self.is_flat = self.is_flat and other.is_flat
        return unite(self.counted, other.counted)

    def keep_distinct(self) -> None:
        """Leave each node once, in the item and in those in it."""
        if not len(self.counted) or self.counted[-1].tag != NODES:
            raise ValueError("an item that does not say of which nodes it is")
        for again in list(self.counted)[1:-1]:
            self.counted.remove(again)
        if not self.is_flat:
            _keep_distinct(self.counted)


def said_by(element: etree._Element, ordered: int = 0) -> bytes:
    """A digest of what an element says, without its tail: where children stand carries no meaning, but for those of
    elements less than ``ordered`` levels deep in it. It takes time by the size of the element.
    """
    parts = [str(element.tag), element.text or "", *(f"{name!s}={value!s}" for name, value in sorted(element.items()))]
    made = hashlib.blake2b(digest_size=16)
    for part in parts:
        made.update(f"{len(part)}:{part}".encode())
    inside = [said_by(child, ordered - 1) + (child.tail or "").encode() for child in element]
    for child in inside if ordered > 0 else sorted(inside):
        made.update(f"{len(child)}:".encode() + child)
    return made.digest()


def is_key(part: object) -> bool:
    """Whether a part of the element that says of which nodes an item is, is a key."""
    return isinstance(part, syntax.ElementConstructor) and part.name.startswith(_KEY)


def _without_default(element: etree._Element) -> etree._Element:
    """The element in which no namespace is the default one."""
    made = etree.Element(str(element.tag), nsmap={prefix: uri for prefix, uri in element.nsmap.items() if prefix})
    made.attrib.update(element.attrib)
    made.text, made.tail = element.text, element.tail
    for child in element:
        is_aside = isinstance(child, etree._Comment | etree._ProcessingInstruction)
        made.append(deepcopy(child) if is_aside else _without_default(child))
    return made


def identity_of(text: str) -> Identity:
    """What tells the match of an item from others, by its text, or by the end of it."""
    return _KEYS.sub("", text[text.rfind(f"<{NODES}") :])


def _counted_in(element: etree._Element) -> list[CountedItem]:
    return [CountedItem(child) for child in element if child.tag == ITEM]


def _uncounted_in(element: etree._Element) -> list[etree._Element]:
    return [child for child in element if child.tag not in (ITEM, NODES)]


def _keep_distinct(element: etree._Element) -> None:
    """Remove items in an element, at any depth, that are of matches that others are of, and do not count nodes that are
    there once.
    """
    if any(child.tag == ITEM for child in element):
        _refill(element, _distinct(element))
    else:
        for child in element:
            _keep_distinct(child)


def _distinct(element: etree._Element) -> Iterator[_Part]:
    seen: set[Identity] = set()
    yield element.text
    for child in element:
        if child.tag == ITEM:
            item = CountedItem(child)
            item.keep_distinct()
            if item.identity not in seen:
                seen.add(item.identity)
                yield from _in_place(item) if item.label.endswith(ONCE) else (child,)
        else:
            if child.tag != NODES:
                _keep_distinct(child)
            yield child
        yield child.tail


def _in_place(item: CountedItem) -> Iterator[_Part]:
    """What stands in the place of the element that counted an item; what it says of its parent goes there."""
    parent = item.counted.getparent()
    assert parent is not None
    parent.attrib.update(item.counted.attrib)
    yield item.counted.text
    for child in item.counted:
        if child.tag != NODES:
            yield child
        yield child.tail


def unite(first: etree._Element, second: etree._Element) -> int:
    """Take up in one element what another says; how many values contradict."""
    conflicts = 0
    keyed = {item.key: item for item in _counted_in(first)}
    for item in _counted_in(second):
        if item.key is not None and item.key in keyed:
            conflicts += keyed[item.key].unite(item)
        else:
            first.insert(0, deepcopy(item.counted))
    for name, value in second.items():
        conflicts += first.get(str(name), value) != value
        first.set(str(name), first.get(str(name), value))
    return conflicts + _take_up(first, second)


def _take_up(first: etree._Element, second: etree._Element) -> int:
    """Take up children that are once below their parent, or several that are not counted; how many contradict."""
    conflicts = 0
    known: dict[str, list[etree._Element]] = {}
    for child in _uncounted_in(first):
        known.setdefault(str(child.tag), []).append(child)
    said = {said_by(child) for children in known.values() for child in children}
    for child in _uncounted_in(second):
        same = known.setdefault(str(child.tag), [])
        is_once = len(same) == 1 and child.tag != EACH  # values stay apart
        if is_once and (len(child) or len(same[0])):
            conflicts += unite(same[0], child)
        elif (digest := said_by(child)) not in said:
            said.add(digest)
            conflicts += bool(same)
            same.append(deepcopy(child))
            first.insert(0, same[-1])
    return conflicts


def unwrap_below(element: etree._Element) -> None:
    """Put items below an element in the places of the elements that counted them, without the identities of their
    nodes, and with spaces between values of one expression, as XQuery has them.
    """
    if any(child.tag in (ITEM, NODES) for child in element):
        _refill(element, _unwrapped(element))
    else:
        for child in element:
            unwrap_below(child)


def _unwrapped(element: etree._Element) -> Iterator[_Part]:
    before = ""
    yield element.text
    for child in element:
        if child.tag == ITEM:
            item = CountedItem(child)
            enclosed = item.label.partition(VALUE)[2]
            if enclosed and enclosed == before:
                yield " "
            before = "" if child.tail else enclosed
            unwrap_below(child)
            yield from _in_place(item)
        elif child.tag != NODES:
            unwrap_below(child)
            before = ""
            yield child
        yield child.tail


def _refill(element: etree._Element, parts: Iterable[_Part]) -> None:
    """Put parts in an element instead of what is in it, in time by their size: texts are joined once."""
    content = list(parts)
    del element[:]
    texts: list[str] = []
    last: etree._Element | None = None

    def close() -> None:
        text = "".join(texts) or None
        texts.clear()
        if last is None:
            element.text = text
        else:
            last.tail = text

    for part in content:
        if isinstance(part, etree._Element):
            close()
            element.append(part)
            last = part
        else:
            texts.append(part or "")
    close()

"""Documents as arrays in document order: what the evaluation of paths walks over.

A node is its number in document order: 0 is the first document, an element comes before its attributes, these before
its content. So sorting numbers is document order, equal numbers are one node, and a subtree is a range.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from typing import Final
from weakref import WeakKeyDictionary

from lxml import etree

from heptox.store.text import escaped_attribute, escaped_text
from heptox.xml import Document, XmlElement

DOCUMENT: Final = 0
ELEMENT: Final = 1
ATTRIBUTE: Final = 2
TEXT: Final = 3

WILDCARD: Final = ("*",)


class DocumentIndex:
    """The nodes of documents, one document after the other. Nodes come and go in document order; lists that are
    returned are not to be changed. ``documents`` are the nodes of the documents themselves.
    """

    __slots__ = (
        "_attributes",
        "_attributes_named",
        "_elements",
        "_elements_named",
        "_ends",
        "_kinds",
        "_names",
        "_texts",
        "_values",
        "documents",
    )

    def __init__(self, roots: Iterable[XmlElement]) -> None:
        self._kinds = bytearray()
        self._names: list[str] = []
        self._values: list[str] = []
        self._ends: list[int] = []
        self._elements: list[int] = []
        self._attributes: list[int] = []
        self._texts: list[int] = []
        self._elements_named: dict[str, list[int]] = {}
        self._attributes_named: dict[str, list[int]] = {}
        self.documents: list[int] = []
        for root in roots:
            document = self._add(DOCUMENT, "", "")
            self._fill(root)
            self._ends[document] = len(self._kinds)
            self.documents.append(document)

    # -- building ----------------------------------------------------------------------------------------------

    def _add(self, kind: int, name: str, value: str) -> int:
        node = len(self._kinds)
        self._kinds.append(kind)
        self._names.append(name)
        self._values.append(value)
        self._ends.append(node + 1)
        return node

    def _fill(self, root: XmlElement) -> None:
        open_elements: list[int] = []
        text = ""
        for event, element in etree.iterwalk(root, events=("start", "end", "comment", "pi")):
            if event == "start":
                self._add_text(text)
                open_elements.append(self._add_element(element))
                text = element.text or ""
            elif event == "end":
                self._add_text(text)
                self._ends[open_elements.pop()] = len(self._kinds)
                text = element.tail or ""
            else:  # as when a document is read: comments go, the text around them is one
                text += element.tail or ""

    def _add_element(self, element: XmlElement) -> int:
        name = str(element.tag)
        node = self._add(ELEMENT, name, "")
        self._elements.append(node)
        self._elements_named.setdefault(name, []).append(node)
        for attribute, value in element.items():
            added = self._add(ATTRIBUTE, str(attribute), str(value))
            self._attributes.append(added)
            self._attributes_named.setdefault(str(attribute), []).append(added)
        return node

    def _add_text(self, text: str) -> None:
        if text:
            self._texts.append(self._add(TEXT, "", text))

    # -- single nodes --------------------------------------------------------------------------------------------

    def kind(self, node: int) -> int:
        return self._kinds[node]

    def name(self, node: int) -> str:
        """The name of an element or attribute, empty for other nodes."""
        return self._names[node]

    def value(self, node: int) -> str:
        """The string value of a node."""
        if self._kinds[node] >= ATTRIBUTE:
            return self._values[node]
        values = self._values
        return "".join([values[text] for text in self._within(self._texts, node)])

    def deep_equal(self, first: int, second: int) -> bool:
        """Whether two nodes are deep-equal: the same names, values and order, that of attributes aside."""
        return self._shape(first) == self._shape(second)

    def _shape(self, node: int) -> list[tuple[int, str, str, int]]:
        """The nodes of a subtree in document order with their extents, attributes by name."""
        parts = [
            (self._kinds[part], self._names[part], self._values[part], self._ends[part] - node)
            for part in range(node, self._ends[node])
        ]
        runs = groupby(parts, key=lambda part: part[0] == ATTRIBUTE)
        return [
            (kind, name, value, 0 if kind == ATTRIBUTE else extent)
            for attributes, run in runs
            for kind, name, value, extent in (sorted(run) if attributes else run)
        ]

    # -- axes ----------------------------------------------------------------------------------------------------

    def children(self, nodes: Iterable[int], names: Collection[str]) -> list[int]:
        """The child elements of sorted ``nodes`` that have one of the names, all for ``("*",)``."""
        kinds, own = self._kinds, self._names
        every = names == WILDCARD
        return sorted(
            child
            for node in nodes
            for child in self._children(node)
            if kinds[child] == ELEMENT and (every or own[child] in names)
        )

    def child_texts(self, nodes: Iterable[int]) -> list[int]:
        return sorted(child for node in nodes for child in self._children(node) if self._kinds[child] == TEXT)

    def attributes(self, nodes: Iterable[int], names: Collection[str]) -> list[int]:
        every = names == WILDCARD
        found: list[int] = []
        for node in nodes:
            attribute, end = node + 1, self._ends[node]
            while attribute < end and self._kinds[attribute] == ATTRIBUTE:
                if every or self._names[attribute] in names:
                    found.append(attribute)
                attribute += 1
        return found

    def descendants(self, nodes: Iterable[int], names: Collection[str]) -> list[int]:
        """The elements below sorted ``nodes`` that have one of the names, all for ``("*",)``."""
        return self._below(nodes, self._elements, self._elements_named, names)

    def descendant_texts(self, nodes: Iterable[int]) -> list[int]:
        return self._below(nodes, self._texts, {}, WILDCARD)

    def descendant_attributes(self, nodes: Iterable[int], names: Collection[str]) -> list[int]:
        """The attributes of sorted ``nodes`` and of the elements below them."""
        return self._below(nodes, self._attributes, self._attributes_named, names)

    def _children(self, node: int) -> Iterator[int]:
        kinds, ends = self._kinds, self._ends
        child, end = node + 1, ends[node]
        while child < end and kinds[child] == ATTRIBUTE:
            child += 1
        while child < end:
            yield child
            child = ends[child]

    def _below(
        self, nodes: Iterable[int], every: list[int], named: dict[str, list[int]], names: Collection[str]
    ) -> list[int]:
        candidates = [every] if names == WILDCARD else [named[name] for name in dict.fromkeys(names) if name in named]
        found: list[int] = []
        done = 0
        for node in nodes:
            if self._ends[node] > done:  # else it lies below the node before
                done = self._ends[node]
                parts = [self._within(candidate, node) for candidate in candidates]
                found += parts[0] if len(parts) == 1 else sorted(part for some in parts for part in some)
        return found

    def _within(self, candidates: list[int], node: int) -> list[int]:
        """Those of the sorted ``candidates`` that belong to the subtree of ``node``, itself not."""
        return candidates[bisect_right(candidates, node) : bisect_left(candidates, self._ends[node])]

    # -- writing -------------------------------------------------------------------------------------------------

    def write(self, node: int) -> str:
        """An element or text node as XML text."""
        pieces: list[str] = []
        open_elements: list[int] = []
        end = self._ends[node]
        while node < end:
            while open_elements and self._ends[open_elements[-1]] <= node:
                pieces.append(f"</{self._names[open_elements.pop()]}>")
            if self._kinds[node] == TEXT:
                pieces.append(escaped_text(self._values[node]))
                node += 1
                continue
            content = node + 1
            pieces.append(f"<{self._names[node]}")
            while content < end and self._kinds[content] == ATTRIBUTE:
                pieces.append(f' {self._names[content]}="{escaped_attribute(self._values[content])}"')
                content += 1
            if content < self._ends[node]:
                open_elements.append(node)
                pieces.append(">")
            else:
                pieces.append("/>")
            node = content
        pieces.extend(f"</{self._names[element]}>" for element in reversed(open_elements))
        return "".join(pieces)


_indexes: WeakKeyDictionary[Document, DocumentIndex] = WeakKeyDictionary()


def index_of(document: Document) -> DocumentIndex:
    """The index of a document, built when it is first asked for and kept as long as the document is."""
    index = _indexes.get(document)
    if index is None:
        index = _indexes[document] = DocumentIndex([document.root])
    return index

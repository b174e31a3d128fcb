"""Documents as arrays in document order: what the evaluation of paths walks over.

A node is its number in document order: 0 is the first document, an element comes before its attributes, these before
its content. So sorting numbers is document order, equal numbers are one node, and a subtree is a range.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from itertools import count, groupby
from sys import intern
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

from lxml import etree

from heptox.checks import Check
from heptox.store.asides import Asides
from heptox.store.text import escaped_attribute, escaped_text, text_of
from heptox.store.written_names import DECLARES, Declaring, WrittenNames
from heptox.xml import NO_PREFIXES, Document, XmlElement, XmlReader, value_namespaces

DOCUMENT: Final = 0
ELEMENT: Final = 1
ATTRIBUTE: Final = 2
TEXT: Final = 3

WILDCARD: Final = ("*",)

Numbers: TypeAlias = "array[int]"

_NODE_BYTES: Final = 130
"""What a node of an index takes up besides its characters, about."""
_NUMBERS: Final = count(1)
"""Numbers of the indexes of a process."""


class DocumentIndex:
    """The nodes of documents, one document after the other. Nodes come and go in document order; lists that are
    returned are not to be changed. ``documents`` are the nodes of the documents themselves, ``names`` says how names
    are written in it.
    """

    __slots__ = (
        "_attributes",
        "_attributes_named",
        "_elements",
        "_elements_named",
        "_ends",
        "_kinds",
        "_meant",
        "_names",
        "_number",
        "_open",
        "_originals",
        "_starts",
        "_stops",
        "_text",
        "_texts",
        "_values",
        "documents",
        "names",
    )

    def __init__(self, roots: Iterable[XmlElement] = (), names: WrittenNames | None = None) -> None:
        self.names = WrittenNames() if names is None else names
        self._kinds = bytearray()
        self._names: list[str] = []
        self._values: list[str] = []
        self._ends = _numbers()
        self._elements = _numbers()
        self._attributes = _numbers()
        self._texts = _numbers()
        self._elements_named: dict[str, Numbers] = {}
        self._attributes_named: dict[str, Numbers] = {}
        self._open: list[int] = []
        self._originals: list[_Original] = []
        self._number = next(_NUMBERS)
        self._starts: dict[int, int] = {}
        self._stops: dict[int, int] = {}
        self._meant: dict[int, dict[str, str]] = {}
        self._text: list[str] = []
        self.documents: list[int] = []
        for root in roots:
            with self._document():
                self._fill(root)
        known = self.names.prefixes.namespaces
        pairs = {pair for meant in self._meant.values() for pair in meant.items()}
        if all(known.get(prefix) == uri for prefix, uri in pairs):  # then items declare them
            self._meant = {}

    # -- building ----------------------------------------------------------------------------------------------

    def _add(self, kind: int, name: str, value: str) -> int:
        node = len(self._kinds)
        self._kinds.append(kind)
        self._names.append(name)
        self._values.append(value)
        self._ends.append(node + 1)
        return node

    def read(
        self, text: bytes, file: str | None = None, check: Check | None = None, asides: Asides | None = None
    ) -> None:
        """Add a document by its text in the one form, with what it has besides. ``check`` is called again and again,
        and may raise an error.

        Raises :class:`InputError` as :meth:`heptox.xml.XmlReader.read`.
        """
        if asides is not None:
            self._originals.append(_Original(len(self._kinds), text, asides))
        with self._document():
            if asides is not None or b"Q{" in text:
                self._read_tags(text.decode(), check, keeps_places=asides is not None)
                return
            for _ in XmlReader(BytesIO(text), file, as_written=True).read(self._start, self._end, self._text.append):
                if check is not None:
                    check()

    def _read_tags(self, text: str, check: Check | None, *, keeps_places: bool) -> None:
        """Read a text in which names may be such as no parser takes; keep the places of its elements."""
        is_short = text.isascii()
        at = place = 0
        for number, tag in enumerate(_TAG.finditer(text)):
            begin, stop = tag.span()
            if check is not None and not number % _TAGS_AT_ONCE:
                check()
            if begin > at:
                self._text.append(_unescaped(text[at:begin]))
            place += begin - at if is_short else len(text[at:begin].encode())
            length = stop - begin if is_short else len(tag[0].encode())
            ends, name, attributes, is_empty = tag.groups()
            if not ends:
                pairs = _ATTRIBUTE.findall(attributes)
                self._start(name, [part for own, value in pairs for part in (own, _unescaped(value))])
                if keeps_places:
                    self._starts[self._open[-1]] = place
            at, place = stop, place + length
            if ends or is_empty:
                if keeps_places:
                    self._stops[self._open[-1]] = place
                self._end(name)

    @contextmanager
    def _document(self) -> Iterator[None]:
        """A document, whose content comes meanwhile."""
        self.documents.append(self._add(DOCUMENT, "", ""))
        yield
        self._ends[self.documents[-1]] = len(self._kinds)

    def _fill(self, root: XmlElement) -> None:
        for event, element in etree.iterwalk(root, events=("start", "end", "comment", "pi")):
            if event == "start":
                if meant := value_namespaces(element):
                    self._meant[len(self._kinds) + bool("".join(self._text))] = meant
                self._expanded_start(str(element.tag), [str(part) for pair in element.items() for part in pair])
                self._text.append(element.text or "")
            else:  # as when a document is read: comments go, the text around them is one
                if event == "end":
                    self._end(str(element.tag))
                self._text.append(element.tail or "")

    def _expanded_start(self, name: str, attributes: list[str]) -> None:
        self._start(self.names.name(name), self.names.attributes(attributes))

    def _start(self, name: str, attributes: list[str]) -> None:
        """A tag, with the name and the value of one attribute after the other."""
        self._add_text()
        name = intern(name)
        node = self._add(ELEMENT, name, "")
        self._open.append(node)
        self._elements.append(node)
        self._elements_named.setdefault(name, _numbers()).append(node)
        for own, value in zip(attributes[::2], attributes[1::2], strict=True):
            own = intern(own)
            added = self._add(ATTRIBUTE, own, value)
            self._attributes.append(added)
            self._attributes_named.setdefault(own, _numbers()).append(added)

    def _end(self, name: str) -> None:  # noqa: ARG002  (what a reader reports)
        self._add_text()
        self._ends[self._open.pop()] = len(self._kinds)

    def _add_text(self) -> None:
        text = "".join(self._text)
        self._text.clear()
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

    def identity(self, node: int) -> str:
        """A text that tells a node from all others, of other indexes, too."""
        return f"{self._number}#{node}"

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
        self, nodes: Iterable[int], every: Numbers, named: dict[str, Numbers], names: Collection[str]
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

    def _within(self, candidates: Numbers, node: int) -> list[int]:
        """Those of the sorted ``candidates`` that belong to the subtree of ``node``, itself not."""
        return candidates[bisect_right(candidates, node) : bisect_left(candidates, self._ends[node])].tolist()

    # -- writing -------------------------------------------------------------------------------------------------

    def write(self, node: int) -> str:
        """An element or text node as XML text."""
        if node in self._starts:
            original = self._originals[bisect_right(self._originals, node, key=lambda each: each.first) - 1]
            begin = self._starts[node]
            return original.asides.element(original.text[begin : self._stops[node]].decode(), begin)
        pieces: list[str] = []
        parts: list[tuple[str, dict[str, str]]] = []
        other: dict[str, str] = {}
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
            if node in self._meant:
                parts.append(("".join(pieces), other))
                pieces = []
                other = {f"{DECLARES}{prefix}": uri for prefix, uri in self._meant[node].items()}
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
        if not parts:
            return "".join(pieces)
        declaring = Declaring(self.names.prefixes.namespaces)
        return "".join(declaring.text(*part) for part in (*parts, ("".join(pieces), other)))


@dataclass(frozen=True, slots=True)
class _Original:
    """A document that has something besides its text, and its first node."""

    first: int
    text: bytes
    asides: Asides


_TAG: Final = re.compile(r"<(/?)([^\s/<>]+)([^<>]*?)(/?)>")
_ATTRIBUTE: Final = re.compile(r' ([^\s="]+)="([^"]*)"')
"""A tag, and an attribute in one, as the one form has them."""
_TAGS_AT_ONCE: Final = 1_024


def _unescaped(text: str) -> str:
    return text_of(text) if "&" in text else text


_indexes: WeakKeyDictionary[Document, DocumentIndex] = WeakKeyDictionary()


def index_bytes(text: bytes) -> int:
    """About how much memory the index of a document takes up, by its text: for each of its tags and attributes a node,
    since an element has two tags and often a text."""
    return len(text) + _NODE_BYTES * (text.count(b"<") + text.count(b"="))


def _numbers() -> Numbers:
    return array("q")


def index_of(document: Document) -> DocumentIndex:
    """The index of a document, built when it is first asked for and kept as long as the document is."""
    index = _indexes.get(document)
    if index is None:
        index = _indexes[document] = indexed([document])
    return index


def indexed(documents: Sequence[Document]) -> DocumentIndex:
    """The index of some documents, with the prefixes that their roots bind."""
    prefixes = NO_PREFIXES
    for document in reversed(documents):
        if document.root.nsmap:
            bound = {prefix or "": uri for prefix, uri in document.root.nsmap.items()}
            prefixes = prefixes.with_more(bound)
    return DocumentIndex((document.root for document in documents), WrittenNames(prefixes))

"""One pass over documents, which collects what a schema for them has to allow."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

from heptox.errors import Fault, Position, SchemaError
from heptox.schema.inference.expressions import Sequences
from heptox.schema.inference.leaves import Leaves, LeavesOfDocument
from heptox.schema.inference.model import Leaf
from heptox.schema.inference.values import ValueStatistics
from heptox.xml import XSI_NAMESPACE, XSI_NIL, XSI_TYPE, Document, XmlElement, expanded_name, line_of, split_name

Context: TypeAlias = tuple[str, str, str]
"""Where elements are counted together: the name of their parent (none: ``""``), their own, and their ``xsi:type``."""

_BLANK: Final = " \t\r\n"


@dataclass(slots=True)
class ElementStatistics:
    """What is known of the elements of one name, as far as they have been counted together."""

    count: int = 0
    filled: int = 0
    sequences: Sequences = field(default_factory=Sequences)
    text: bool = False
    blank: bool = False
    values: ValueStatistics = field(default_factory=ValueStatistics)
    attributes: dict[str, ValueStatistics] = field(default_factory=dict)
    nillable: bool = False
    nil: bool = False
    commented: bool = False
    defaulted: set[str] = field(default_factory=set)

    def merge(self, other: ElementStatistics) -> None:
        """Take other elements into account."""
        self.count += other.count
        self.filled += other.filled
        self.sequences.merge(other.sequences)
        self.text, self.blank = self.text or other.text, self.blank or other.blank
        self.values.merge(other.values)
        for name, values in other.attributes.items():
            self.attributes.setdefault(name, ValueStatistics()).merge(values)
        self.nillable, self.nil = self.nillable or other.nillable, self.nil or other.nil
        self.commented = self.commented or other.commented
        self.defaulted |= other.defaulted

    def requires(self, attribute: str) -> bool:
        """Whether all elements have an attribute, also for those who do not read the defaults of a document's DTD."""
        values = self.attributes.get(attribute)
        return values is not None and values.count == self.count and attribute not in self.defaulted

    @property
    def has_children(self) -> bool:
        """Whether any of the elements has an element."""
        return bool(self.sequences.order)


@dataclass(slots=True)
class Spelling:
    """How documents spell names: prefixes of elements and of attributes by namespace, what prefixes stand for, and
    on which element types they are declared."""

    elements: dict[str, dict[str, None]] = field(default_factory=dict)
    attributes: dict[str, dict[str, None]] = field(default_factory=dict)
    bound: dict[str, dict[str, None]] = field(default_factory=dict)
    declared: dict[str, dict[str, None]] = field(default_factory=dict)
    repeated: bool = False


class Watcher(Protocol):
    """Looks at documents while they are collected: at the children of each element, and at all leaves of a document."""

    def children(self, parent: str, name: str, word: list[str], nil: bool) -> None:
        """The children of an element, of which ``parent`` is the name of the parent, ``""`` where there is none."""

    def document(self, leaves: LeavesOfDocument) -> None:
        """The leaves of a document."""


@dataclass(slots=True)
class Collection:
    """What documents have in common; :meth:`add` takes one into account, of which nothing else is kept.

    >>> from heptox.xml import parse_document
    >>> collection = Collection()
    >>> collection.add(parse_document("<a><b>1</b></a>"), b"<a><b>1</b></a>")
    >>> sorted(collection.contexts)
    [('', 'a', ''), ('a', 'b', '')]
    """

    contexts: dict[Context, ElementStatistics] = field(default_factory=dict)
    leaves: Leaves = field(default_factory=Leaves)
    spelling: Spelling = field(default_factory=Spelling)
    roots: dict[str, None] = field(default_factory=dict)
    documents: int = 0
    watcher: Watcher | None = None

    def add(self, document: Document, data: bytes) -> None:
        """Take a document, and the bytes that it was read from, into account.

        Raises :class:`SchemaError` (HX2064) where what it says of its own types cannot be.
        """
        commented = _has_lone_comments(data)
        declared = frozenset(_NAMES.findall(document.internal_subset or ""))
        leaves = LeavesOfDocument()
        faults: list[Fault] = []
        for element in document.root.iter():
            faults += self._add_element(element, document.file, leaves, commented, declared)
        if faults:
            raise SchemaError(faults)
        self.leaves.add(leaves)
        if self.watcher is not None:
            self.watcher.document(leaves)
        self.roots[str(document.root.tag)] = None
        self.documents += 1
        self._add_spelling(document.root, data)

    def _add_element(
        self, element: XmlElement, file: str | None, leaves: LeavesOfDocument, commented: bool, declared: frozenset[str]
    ) -> Iterator[Fault]:
        name, parent = str(element.tag), element.getparent()
        kind = element.get(XSI_TYPE)
        if kind is not None:
            kind = _type_name(element, kind)
            if kind is None:
                yield _fault(element, file, "xsi:type has a prefix that is not declared", "declare it")
        context = ("" if parent is None else str(parent.tag), name, kind or "")
        found = self.contexts.setdefault(context, ElementStatistics())
        found.count += 1
        found.commented = found.commented or commented
        word = [str(child.tag) for child in element]
        text = "".join([element.text or "", *(child.tail or "" for child in element)])
        if (nil := element.get(XSI_NIL)) is not None:
            found.nillable = True
            if nil.strip(_BLANK) not in ("true", "false", "1", "0"):
                yield _fault(element, file, f"xsi:nil is {nil!r}", "true and false would fit")
            elif nil.strip(_BLANK) in ("true", "1") and (word or text):
                yield _fault(
                    element, file, "xsi:nil is true, and the element is not empty", "empty it, or leave it out"
                )
        self._add_attributes(element, found, leaves, declared)
        is_nil = nil is not None and nil.strip(_BLANK) not in ("false", "0")
        if is_nil:
            found.nil = True
        else:
            _add_content(found, word, text)
        if self.watcher is not None:
            self.watcher.children(context[0], name, word, is_nil)
        _add_leaves(element, word, leaves)

    def _add_attributes(
        self, element: XmlElement, found: ElementStatistics, leaves: LeavesOfDocument, declared: frozenset[str]
    ) -> None:
        for attribute, value in element.attrib.items():
            name, written = str(attribute), str(value)
            found.attributes.setdefault(name, ValueStatistics()).add(written)
            if split_name(name)[0] == XSI_NAMESPACE:
                continue
            leaf = Leaf(str(element.tag), f"@{name}")
            leaves.values.setdefault(leaf, []).append(written)
            if split_name(name)[1] in declared:
                found.defaulted.add(name)
                leaves.repeated.add(leaf)  # so that it is no key

    def _add_spelling(self, root: XmlElement, data: bytes) -> None:
        """Take the prefixes of a document into account."""
        spelling, seen = self.spelling, 0
        written_out = data.count(b"xmlns")
        most = written_out if data[:2] not in _WIDE else len(data)
        if _NO_DEFAULT.search(data):
            spelling.bound.setdefault("", {})[""] = None
        for element in root.iter():
            namespace = split_name(str(element.tag))[0]
            spelling.elements.setdefault(namespace, {})[element.prefix or ""] = None
            parent = element.getparent()
            if parent is None or seen < most:
                above = {} if parent is None else parent.nsmap
                for prefix, uri in element.nsmap.items():
                    if above.get(prefix) != uri:
                        seen += 1
                        spelling.bound.setdefault(prefix or "", {})[uri] = None
                        spelling.declared.setdefault(str(element.tag), {})[prefix or ""] = None
            for name in element.attrib:
                if str(name).startswith("{"):
                    for written in _attribute_prefixes(element, split_name(str(name))[0]):
                        spelling.attributes.setdefault(split_name(str(name))[0], {})[written] = None
        spelling.repeated = spelling.repeated or written_out != seen


def _add_content(found: ElementStatistics, word: list[str], text: str) -> None:
    """Take the children and the text of an element into account that is not nil."""
    found.filled += 1
    found.sequences.add(word)
    if text.strip(_BLANK):
        found.text = True
    elif text and not word:
        found.blank = True
    if not word:
        found.values.add(text)


def _add_leaves(element: XmlElement, word: list[str], leaves: LeavesOfDocument) -> None:
    """Take the leaves below an element into account."""
    name = str(element.tag)
    leaves.elements[name] += 1
    counts = Counter(word)
    for child in element:
        if len(child):
            continue
        leaf = Leaf(name, str(child.tag))
        leaves.values.setdefault(leaf, []).append(child.text or "")
        if counts[leaf.step] > 1:
            leaves.repeated.add(leaf)


def _fault(element: XmlElement, file: str | None, message: str, hint: str) -> Fault:
    return Fault("HX2064", f"{element.tag}: {message}", Position(line_of(element), 1, file), hint=hint)


def _type_name(element: XmlElement, written: str) -> str | None:
    """The expanded name that ``xsi:type`` names; ``None`` where its prefix is not declared."""
    prefix, _, local = written.strip(_BLANK).rpartition(":")
    uri = element.nsmap.get(prefix or None)
    return None if prefix and uri is None else expanded_name(uri or "", local)


def _attribute_prefixes(element: XmlElement, namespace: str) -> list[str]:
    """The prefixes with which attributes of a namespace may be written on an element."""
    prefixes = [prefix for prefix, uri in element.nsmap.items() if uri == namespace and prefix]
    if len(prefixes) < 2:
        return prefixes or ["xml"]
    names = [element.xpath(f"name(@*[{number}])") for number in range(1, len(element.attrib) + 1)]
    used = {str(name).partition(":")[0] for name in names}
    return [prefix for prefix in prefixes if prefix in used]


_LONE_COMMENT: Final = re.compile(rb">\s*(?:<!--(?:(?!-->).)*+-->|<\?(?:(?!\?>).)*+\?>)\s*</", re.DOTALL)
_NAMES: Final = re.compile(r"""[^\s:"'<>()|,%;&#=]+""")
"""What may be the local name of an attribute that an internal subset declares."""
_NO_DEFAULT: Final = re.compile(rb"""xmlns\s*=\s*(?:""|'')""")
_WIDE: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def _has_lone_comments(data: bytes) -> bool:
    """Whether an element may hold comments or instructions and nothing else, which is not empty to a DTD."""
    if data[:2] in _WIDE:
        data = data.decode("utf-16", "replace").encode()
    return (b"<!--" in data or b"<?" in data[2:]) and _LONE_COMMENT.search(data) is not None

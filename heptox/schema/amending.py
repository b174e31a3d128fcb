"""What a schema adds to documents: attributes that have a default, and values without surplus white space."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from heptox.schema.element_types import ElementTypes
from heptox.schema.model import Attribute, AttributeType, SameGraph, SchemaGraph
from heptox.xml import Document, XmlElement

_ATTRIBUTE_COST: Final = 128
"""Characters that an attribute counts besides its value."""


def is_amended(attribute: Attribute) -> bool:
    """Whether an attribute may have another value by its schema than as it is written."""
    return attribute.default is not None or attribute.type != AttributeType.CDATA


@dataclass(frozen=True, slots=True, eq=False)
class Amendments:
    """The attributes that a schema may add or change, by element types.

    Mostly these are called as their elements, wherever they stand. Where types of one name differ in such attributes,
    ``edges`` has for each type those of its children by their names, and what stands in open content has no type.
    """

    attributes: Mapping[str, tuple[Attribute, ...]]
    root: str
    edges: Mapping[str, Mapping[str, str]] | None

    @classmethod
    def of(cls, graph: SchemaGraph) -> Amendments:
        """Those of a schema; the last ones are kept."""
        return _amendments_of(SameGraph(graph))

    def child(self, above: str, name: str) -> str:
        """The type of an element called ``name`` in one of the type ``above``."""
        return name if self.edges is None else self.edges.get(above, {}).get(name, "")

    def elements(self, root: XmlElement) -> Iterator[tuple[XmlElement, tuple[Attribute, ...]]]:
        """The elements of a document that may change, with their attributes that may."""
        if self.edges is None:
            if self.attributes:
                for element in root.iter(*self.attributes):
                    yield element, self.attributes[str(element.tag)]
            return
        waiting = [(root, self.root)]
        while waiting:
            element, key = waiting.pop()
            if attributes := self.attributes.get(key):
                yield element, attributes
            edges = self.edges[key]
            waiting += ((child, edges[str(child.tag)]) for child in element if str(child.tag) in edges)


@lru_cache(maxsize=32)
def _amendments_of(same: SameGraph) -> Amendments:
    graph = same.graph
    found = {key: tuple(filter(is_amended, element.attributes)) for key, element in graph.elements.items()}
    named: dict[str, set[tuple[Attribute, ...]]] = {}
    for key, element in graph.elements.items():
        named.setdefault(element.name, set()).add(found[key])
    if all(len(several) == 1 for several in named.values()):
        by_name = {name: attributes for name, (attributes,) in named.items() if attributes}
        return Amendments(by_name, graph.elements[graph.root].name, None)
    return Amendments(
        {key: attributes for key, attributes in found.items() if attributes}, graph.root, ElementTypes(graph).children
    )


def as_declared(document: Document, graph: SchemaGraph, spend: Callable[[int], None] = lambda _: None) -> Document:
    """The document with the attributes to which its schema gives a default, if its root is that of the schema; also one
    that is not valid.

    The given document stays as it is, and is returned where nothing changes. ``spend`` is called for each element that
    may change, with the characters of the values that it gets, and may raise an error.

    >>> from heptox.schema import parse_dtd
    >>> from heptox.xml import parse_document
    >>> graph = parse_dtd('<!ELEMENT a EMPTY> <!ATTLIST a k ID #IMPLIED u CDATA "kg">', "a")
    >>> as_declared(parse_document("<a k=' x '/>"), graph).root.items()
    [('k', 'x'), ('u', 'kg')]
    """
    amendments = Amendments.of(graph)
    if not amendments.attributes or document.root.tag != graph.elements[graph.root].name:
        return document
    changes = False
    for element, attributes in amendments.elements(document.root):
        found = _changed(element, attributes)
        spend(sum(len(value) + _ATTRIBUTE_COST for _, value in found))
        changes = changes or bool(found)
    if not changes:
        return document
    declared = replace(document, root=copy.deepcopy(document.root))
    amend(declared.root, graph)
    return declared


def amend(root: XmlElement, graph: SchemaGraph, but: Collection[XmlElement] = ()) -> None:
    """Give elements the attributes, and their values, that they have when a parser reads document and schema together;
    those ``but`` some."""
    for element, attributes in Amendments.of(graph).elements(root):
        if element not in but:
            for name, value in _changed(element, attributes):
                element.set(name, value)


def _changed(element: XmlElement, attributes: tuple[Attribute, ...]) -> list[tuple[str, str]]:
    """The attributes of an element that are to have other values, or to be added, with these values."""
    found: list[tuple[str, str]] = []
    for attribute in attributes:
        written = element.get(attribute.name)
        value = attribute.default if written is None else written
        if value is not None and (value := attribute.normalised(value)) != written:
            found.append((attribute.name, value))
    return found

"""What a schema adds to documents: attributes that have a default, and values without surplus white space."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final

from heptox.schema.graph_text import is_of_xsd
from heptox.schema.model import Attribute, AttributeType, SameGraph, SchemaGraph
from heptox.xml import XSI_NIL, Document, XmlElement

_ATTRIBUTE_COST: Final = 128
"""Characters that an attribute counts besides its value."""


def amended(graph: SchemaGraph) -> Mapping[str, tuple[Attribute, ...]]:
    """The attributes that a schema may add to elements, or give another value, by the names of the elements.

    Only a DTD does: of an XSD, documents are taken as they are written, as XQuery takes them that imports no schema,
    but for ``xsi:nil``, whose white space says nothing.
    """
    return _amended(SameGraph(graph))


@lru_cache(maxsize=32)
def _amended(same: SameGraph) -> Mapping[str, tuple[Attribute, ...]]:
    chosen = (lambda attribute: attribute.name == XSI_NIL) if is_of_xsd(same.graph) else _is_amended
    found = {one.name: tuple(filter(chosen, one.attributes)) for one in same.graph.elements.values()}
    return {name: attributes for name, attributes in found.items() if attributes}


def _is_amended(attribute: Attribute) -> bool:
    return attribute.default is not None or attribute.type != AttributeType.CDATA


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
    known = amended(graph)
    if not known or document.root.tag != graph.elements[graph.root].name:
        return document
    changes = False
    for element, attributes in _elements(document.root, known):
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
    for element, attributes in _elements(root, amended(graph)):
        if element not in but:
            for name, value in _changed(element, attributes):
                element.set(name, value)


def _elements(
    root: XmlElement, known: Mapping[str, tuple[Attribute, ...]]
) -> Iterator[tuple[XmlElement, tuple[Attribute, ...]]]:
    """The elements that may change, with their attributes that may."""
    for element in root.iter(*known) if known else ():
        yield element, known[str(element.tag)]


def _changed(element: XmlElement, attributes: tuple[Attribute, ...]) -> list[tuple[str, str]]:
    """The attributes of an element that are to have other values, or to be added, with these values."""
    found: list[tuple[str, str]] = []
    for attribute in attributes:
        written = element.get(attribute.name)
        value = attribute.default if written is None else written
        if value is not None and (value := attribute.normalised(value)) != written:
            found.append((attribute.name, value))
    return found

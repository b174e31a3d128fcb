"""Filters evaluated on the tree of a chunk, by lxml (XPath 1.0) or elementpath (XPath 3.1)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias, cast

from elementpath import XPathContext, get_node_tree
from elementpath.exceptions import ElementPathError
from elementpath.xpath31 import XPath31Parser
from lxml import etree

from heptox.dissemination.chunking.fragments import Fragment, Kind
from heptox.xmlio import XmlElement, parse_document, write_element

Item: TypeAlias = object
"""An element, a text or an attribute (lxml's strings that know their parents), or another value."""


class Failure(NamedTuple):
    """Why a filter has no value on a document."""

    reason: str


Items: TypeAlias = list[Item] | Failure


def evaluated_tree(data: bytes, file: str | None = None) -> XmlElement:
    """The root of a document whose text nodes are those of XPath.

    In libxml2 an entity or CDATA without text makes an empty one, and what entities are declared to be is among the
    text of a document. So the declarations are taken away; which attributes are identifiers stays known.

    Raises :class:`InputError` as :func:`parse_document`.
    """
    root = parse_document(data, file).root
    if not data.startswith(b"<") or b"\0" in data[:2] or b"<!DOCTYPE" in data or b"<![CDATA[]]>" in data:
        root.getroottree().docinfo.clear()
        for element in root.iter():
            element.text = element.text or None
            element.tail = element.tail or None
    return root


class Compiled:
    """XPath 1.0 by lxml: each expression is compiled once, and evaluated on many trees."""

    def __init__(self) -> None:
        self._compiled: dict[str, etree.XPath] = {}

    def select(self, expression: str, root: XmlElement) -> Items:
        """The items that an expression selects from the document of ``root``."""
        compiled = self._compiled.get(expression)
        if compiled is None:
            compiled = self._compiled[expression] = etree.XPath(expression)
        try:
            found = compiled(root)
        except etree.XPathError as error:
            return Failure(str(error))
        return cast("list[Item]", found) if isinstance(found, list) else [found]

    def relative(self, expression: str, elements: Iterable[XmlElement]) -> list[Item]:
        """The items that steps select from elements, of which none is in another one."""
        compiled = self._compiled.get(expression)
        if compiled is None:
            compiled = self._compiled[expression] = etree.XPath(expression)
        return [item for element in elements for item in cast("list[Item]", compiled(element))]


class Parsed:
    """XPath 3.1 by elementpath."""

    def __init__(self) -> None:
        self._parsed: dict[str, Any] = {}

    def on(self, root: XmlElement) -> _ParsedOnTree:
        """Ready to evaluate on one tree."""
        return _ParsedOnTree(self._parsed, get_node_tree(etree.ElementTree(root)))


@dataclass(frozen=True, slots=True)
class _ParsedOnTree:
    parsed: dict[str, Any]
    tree: Any

    def select(self, expression: str) -> Items:
        token = self.parsed.get(expression)
        if token is None:
            token = self.parsed[expression] = XPath31Parser().parse(expression)
        try:
            return [_value(item) for item in token.select(XPathContext(root=self.tree)) if item is not self.tree]
        except (ElementPathError, RecursionError, ArithmeticError, ValueError, TypeError) as error:
            return Failure(" ".join(str(error).split()))


class AttributeItem(NamedTuple):
    """An attribute that elementpath selected, and its element."""

    name: str
    value: str
    parent: XmlElement


class TextItem(NamedTuple):
    """A text that elementpath selected, and its element."""

    value: str
    parent: XmlElement


def _value(item: Any) -> Item:
    """An item of elementpath as the others are."""
    kind = getattr(item, "node_kind", None)
    if kind == "element":
        return item.value
    if kind == "attribute":
        return AttributeItem(item.name, item.string_value, item.parent.value)
    if kind == "text":
        return TextItem(item.string_value, item.parent.value)
    return item


def fragment(item: Item) -> Fragment:
    """The XML of an item."""
    match item:
        case etree._Element():
            return Fragment(Kind.ELEMENT, str(item.tag), write_element(item))
        case AttributeItem(name=name, value=value):
            return Fragment(Kind.ATTRIBUTE, name, value)
        case TextItem(value=value):
            return Fragment(Kind.TEXT, "", value)
        case etree._ElementUnicodeResult() if item.is_attribute:
            return Fragment(Kind.ATTRIBUTE, str(item.attrname), str(item))
        case etree._ElementUnicodeResult() if item.getparent() is not None:
            return Fragment(Kind.TEXT, "", str(item))
        case bool():
            return Fragment(Kind.VALUE, "boolean", "true" if item else "false")
        case float() | int():
            return Fragment(Kind.VALUE, "number", _number(float(item)))
        case _:
            return Fragment(Kind.VALUE, "string" if isinstance(item, str) else type(item).__name__, str(item))


def element_of(item: Item) -> XmlElement | None:
    """The element that a node is or belongs to; ``None`` for other values."""
    match item:
        case etree._Element():
            return item
        case AttributeItem(parent=parent) | TextItem(parent=parent):
            return parent
        case etree._ElementUnicodeResult():
            near = item.getparent()
            return near.getparent() if item.is_tail and near is not None else near
        case _:
            return None


def _number(value: float) -> str:
    """A number as XPath writes it."""
    return str(_STRING(_NOWHERE, number=value))


_STRING: Final = etree.XPath("string($number)")
_NOWHERE: Final = etree.Element("nowhere")

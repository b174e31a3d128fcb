"""Filters evaluated on the tree of a chunk: XPath 1.0 by lxml, XPath 3.1 on the trees of elementpath."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

from elementpath import get_node_tree
from elementpath.xpath_nodes import AttributeNode, DocumentNode, ElementNode, TextNode
from lxml import etree

from heptox.filtering.fragments import Fragment, Kind
from heptox.filtering.xpath3.values import EvaluationError, is_number, text_of, type_name
from heptox.xml import XmlElement, parse_document, write_element

if TYPE_CHECKING:
    from heptox.filtering.xpath3.evaluation import Compiled3

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
        compiled = self._ready(expression)
        try:
            found = compiled(root)
        except etree.XPathError as error:
            return Failure(str(error))
        return cast("list[Item]", found) if isinstance(found, list) else [found]

    def relative(self, expression: str, elements: Iterable[XmlElement]) -> list[Item]:
        """The items that steps select from elements, of which none is in another one."""
        compiled = self._ready(expression)
        return [item for element in elements for item in cast("list[Item]", compiled(element))]

    def _ready(self, expression: str) -> etree.XPath:
        compiled = self._compiled.get(expression)
        if compiled is None:
            compiled = self._compiled[expression] = etree.XPath(expression)
        return compiled


class Parsed:
    """XPath 3.1: each expression is compiled once."""

    def __init__(self) -> None:
        self._parsed: dict[str, Compiled3] = {}

    def on(self, root: XmlElement) -> _ParsedOnTree:
        """Ready to evaluate on one tree."""
        return _ParsedOnTree(self._parsed, cast(DocumentNode, get_node_tree(etree.ElementTree(root))))


@dataclass(frozen=True, slots=True)
class _ParsedOnTree:
    parsed: dict[str, Compiled3]
    tree: DocumentNode

    def select(self, expression: str) -> Items:
        compiled = self.parsed.get(expression)
        if compiled is None:
            from heptox.filtering.xpath3.evaluation import (
                Compiled3,  # it takes long to load, and is seldom asked for
            )

            compiled = self.parsed[expression] = Compiled3(expression)
        try:
            return [_value(item) for item in compiled.select(self.tree) if item is not self.tree]
        except RecursionError:
            return Failure("its functions call each other without end, or it is nested too deeply")
        except (EvaluationError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            return Failure(" ".join(str(error).split()) or type(error).__name__)


class AttributeItem(NamedTuple):
    """An attribute that XPath 3.1 selected, and its element."""

    name: str
    value: str
    parent: XmlElement


class TextItem(NamedTuple):
    """A text that XPath 3.1 selected, and its element."""

    value: str
    parent: XmlElement


class ValueItem(NamedTuple):
    """Another value that XPath 3.1 selected, as XPath writes it, and its type."""

    type: str
    text: str


def _value(item: Any) -> Item:
    """An item of XPath 3.1 as the others are."""
    match item:
        case ElementNode():
            return item.value
        case AttributeNode():
            return AttributeItem(str(item.name), str(item.value), cast(XmlElement, cast(Any, item.parent).value))
        case TextNode():
            return TextItem(item.value, cast(XmlElement, cast(Any, item.parent).value))
        case _:
            text = text_of(item)
            return ValueItem("number" if is_number(item) else type_name(item), text)


def fragment(item: Item) -> Fragment:
    """The XML of an item."""
    match item:
        case etree._Element():
            return Fragment(Kind.ELEMENT, str(item.tag), write_element(item))
        case AttributeItem(name=name, value=value):
            return Fragment(Kind.ATTRIBUTE, name, value)
        case TextItem(value=value):
            return Fragment(Kind.TEXT, "", value)
        case ValueItem(type=kind, text=text):
            return Fragment(Kind.VALUE, kind, text)
        case etree._ElementUnicodeResult() if item.is_attribute:
            return Fragment(Kind.ATTRIBUTE, str(item.attrname), str(item))
        case etree._ElementUnicodeResult() if item.getparent() is not None:
            return Fragment(Kind.TEXT, "", str(item))
        case bool():
            return Fragment(Kind.VALUE, "boolean", "true" if item else "false")
        case float() | int():
            return Fragment(Kind.VALUE, "number", _number(float(item)))
        case _:
            return Fragment(Kind.VALUE, "string", str(item))


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

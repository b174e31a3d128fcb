"""Filters evaluated on the tree of a chunk: XPath 1.0 by lxml, XPath 3.1 by Saxon."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias, cast

from lxml import etree

from heptox.filtering.fragments import Fragment, Kind
from heptox.filtering.naming import namespaces_in, with_braces
from heptox.filtering.xpath3_evaluation import LIMITS, Limits, Xpath3Process
from heptox.xml import XmlElement, parse_document, write_element

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
            compiled = self._compiled[expression] = etree.XPath(expression, namespaces=namespaces_in(expression))
        return compiled


class ValueItem(NamedTuple):
    """A value that XPath 3.1 selected, as XPath writes it, and its type."""

    type: str
    text: str


class Compiled3:
    """XPath 3.1 by Saxon: each expression is compiled once, and evaluated on many trees."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self._process = Xpath3Process(limits)

    def select(self, expressions: Sequence[str], root: XmlElement, file: str | None = None) -> dict[str, Items]:
        """The items that each of the expressions selects from the document of ``root``, whose name is ``file``.

        Raises :class:`DisseminationError` (HX9206) where the process of Saxon has ended for another reason than these.
        """
        different = list(dict.fromkeys(expressions))
        nodes = _Nodes(root)
        found = self._process.selected(write_element(root), [*map(with_braces, different)], file)
        return {
            expression: Failure(items) if isinstance(items, str) else [nodes.item(*each) for each in items]
            for expression, items in zip(different, found, strict=True)
        }


class _Nodes:
    """The nodes of a document by kind and number, as :data:`~heptox.filtering.xpath3_evaluation.Selected` has them."""

    def __init__(self, root: XmlElement) -> None:
        self._root = root
        self._of_kind: dict[str, list[Item]] = {}

    def item(self, kind: str, which: int | str) -> Item:
        if isinstance(which, str):
            return ValueItem(kind, which)
        nodes = self._of_kind.get(kind)
        if nodes is None:
            nodes = self._of_kind[kind] = cast("list[Item]", _ALL[kind](self._root))
        return nodes[which]


_ALL: Final = {"e": etree.XPath("//*"), "a": etree.XPath("//@*"), "t": etree.XPath("//text()")}


def fragment(item: Item) -> Fragment:
    """The XML of an item."""
    match item:
        case etree._Element():
            return Fragment(Kind.ELEMENT, str(item.tag), write_element(item))
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

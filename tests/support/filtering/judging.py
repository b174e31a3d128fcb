"""What filters give on whole documents: by lxml, and by elementpath, which shares nothing with it but the parser.

A filter is asked of the document node, so a relative path begins at the root: ``a/b`` is ``/a/b``. The document node
itself is no result: neither ``/`` nor ``..`` of the root gives one, nor are namespaces. No text node is empty, and none
stands beside another.

They differ for good where elementpath knows no IDs that a DTD declares, so filters with ``id`` are not compared. Random
filters leave out the rest: elementpath takes other things for numbers (``+1``, ``INF``, ``1_0``, other digits) and for
white space (U+00A0) than XPath 1.0 does, and finds nothing behind an attribute, the wrong nodes before one, and itself
among its attributes. libxml2 in turn takes ``1e`` and ``1e3`` for numbers, and leaves out of what follows an attribute
all that is in its element.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from decimal import Decimal
from functools import lru_cache
from itertools import product
from typing import Any, Final, Literal, TypeAlias, cast
from unittest import mock

import elementpath
from elementpath import XPath1Parser, XPathContext, XPathToken, xpath_nodes
from elementpath.xpath3 import XPath31Parser
from lxml import etree

from heptox.xml import XmlElement, parse_document, write_element

Result: TypeAlias = tuple[str, str, str]
"""The kind (``element``, ``attribute``, ``text``, ``value``), the name or the type of the value, and the text."""


# -- documents -----------------------------------------------------------------------------------------------------


def judged_tree(document: bytes) -> XmlElement:
    """The root of a document whose text nodes are those of XPath: none is empty, and none stands beside another.

    It is without its DTD, whose entities libxml2 counts among the text of the document node: ``string(/)``. Which
    attributes are IDs stays known.

    Raises :class:`heptox.errors.InputError` as ``parse_document``.

    >>> root = judged_tree(b'<!DOCTYPE a [<!ENTITY e "">]><a>&e;</a>')
    >>> root.xpath("//text()")
    []
    """
    root = parse_document(document).root
    root.getroottree().docinfo.clear()
    for element in root.iter():
        element.text = element.text or None
        element.tail = element.tail or None
    return root


# -- lxml ----------------------------------------------------------------------------------------------------------


def whole(
    filters: Sequence[str], document: bytes, namespaces: tuple[tuple[str, str], ...] = ()
) -> list[tuple[Result, ...]]:
    """What each filter (XPath 1.0) gives on a document, in document order, by lxml; ``namespaces`` are their prefixes.

    Raises :class:`heptox.errors.InputError` for a document that is none, ``etree.XPathError`` for a filter that is
    none, or that has no value.

    >>> whole(["a/b", "//@c", "//b/text()", "count(a)"], b"<a><b c='1'>x</b></a>")[:3]
    [(('element', 'b', '<b c="1">x</b>'),), (('attribute', 'c', '1'),), (('text', '', 'x'),)]
    >>> whole(["count(a)", "1 = 2", "string(a)"], b"<a>x</a>")
    [(('value', 'number', '1'),), (('value', 'boolean', 'false'),), (('value', 'string', 'x'),)]
    """
    root = judged_tree(document)
    return [tuple(_results_of_lxml(_asked(text, namespaces)(root))) for text in filters]


@lru_cache(maxsize=4096)
def _asked(text: str, namespaces: tuple[tuple[str, str], ...] = ()) -> Callable[[XmlElement], object]:
    """The value of an expression at the document node.

    lxml asks all that it is given of the root element, also when it is given a document. In a predicate of the document
    node the expression stands as it is, and a function keeps its value.
    """
    bound = dict(namespaces)
    etree.XPath(text, namespaces=bound)
    kept: list[object] = []

    def keep(_: object, value: object) -> bool:
        kept.append(value)
        return True

    path = etree.XPath(f"/self::node()[keep({text}\n)]", extensions={(None, "keep"): keep}, namespaces=bound)

    def ask(root: XmlElement) -> object:
        kept.clear()
        path(root)
        return kept.pop()

    return ask


def _results_of_lxml(value: Any) -> Iterator[Result]:
    if not isinstance(value, list):
        yield _value(value)
        return
    for node in value:
        if isinstance(node, tuple):  # a namespace
            continue
        if isinstance(node, etree._Element):
            yield "element", str(node.tag), write_element(node)
        elif node.is_attribute:
            yield "attribute", node.attrname, str(node)
        else:
            yield "text", "", str(node)


_STRING_OF_NUMBER: Final = etree.XPath("string($number)")
_NO_ELEMENT: Final = etree.Element("none")


def _value(value: bool | float | str) -> Result:
    if isinstance(value, bool):
        return "value", "boolean", str(value).lower()
    if isinstance(value, (int, float, Decimal)):
        return "value", "number", str(_STRING_OF_NUMBER(_NO_ELEMENT, number=float(value)))
    return "value", "string", str(value)


# -- elementpath ---------------------------------------------------------------------------------------------------

Version: TypeAlias = Literal["1.0", "3.1"]


def whole_by_elementpath(filters: Sequence[str], document: bytes, version: Version = "1.0") -> list[tuple[Result, ...]]:
    """As :func:`whole`, by elementpath; what a filter of XPath 3.1 gives is in the order of its sequence.

    Raises :class:`heptox.errors.InputError` for a document that is none, ``elementpath.ElementPathError`` for a filter
    that is none, or that has no value.

    >>> whole_by_elementpath(["for $b in //b return string($b)"], b"<a><b>x</b><b>y</b></a>", "3.1")
    [(('value', 'string', 'x'), ('value', 'string', 'y'))]
    """
    tree = judged_tree(document).getroottree()
    nodes = elementpath.get_node_tree(tree)
    with corrected():
        found = [[*_parsed(text, version).select(XPathContext(nodes))] for text in filters]
    return [tuple(_results_of_elementpath(items if version == "3.1" else _in_order(items))) for items in found]


@lru_cache(maxsize=4096)
def _parsed(text: str, version: Version) -> Any:
    return XPath1Parser().parse(text) if version == "1.0" else parsed_3(text)


def parsed_3(text: str) -> Any:
    """An expression of XPath 3.1. Strings are compared by their code points, not as the locale of the machine has it.

    Raises ``elementpath.ElementPathError`` for what is none.
    """
    return XPath31Parser(default_collation=_CODE_POINTS).parse(text)


_CODE_POINTS: Final = "http://www.w3.org/2005/xpath-functions/collation/codepoint"


def _results_of_elementpath(items: Iterable[Any]) -> Iterator[Result]:
    for item in items:
        match item:
            case xpath_nodes.ElementNode():
                element = cast(XmlElement, item.value)
                yield "element", str(element.tag), write_element(element)
            case xpath_nodes.AttributeNode():
                yield "attribute", str(item.name), str(item.value)
            case xpath_nodes.TextNode():
                yield "text", "", str(item.value)
            case xpath_nodes.DocumentNode() | xpath_nodes.NamespaceNode():
                pass
            case _:
                yield _value(item)


# -- elementpath, corrected ----------------------------------------------------------------------------------------

_Selection: TypeAlias = Callable[[Any, Any], Iterator[Any]]


@contextmanager
def corrected() -> Iterator[None]:
    """elementpath 5.1.4 without what is wrong in it, in XPath 3.1 as well; it is as it was again afterwards.

    * The text behind an element stands before that of the element's children in strings: ``string(/a)`` of
      ``<a><b><c>2</c></b>x</a>`` is ``x2``.
    * XPath 1.0 compares strings with numbers as Python does, to which they are never equal; ``<`` and its like are
      errors for a string that is no number.
    * Paths are not in document order, so that ``(//a/b)[1]`` and ``string(//a/b)`` may take another than the first.
    * Nothing is on the axis ``following`` of a text node.
    """
    paths = [XPath1Parser.symbol_table[symbol] for symbol in ("/", "//")]
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(xpath_nodes, "etree_iter_strings", _strings_in_order))
        stack.enter_context(mock.patch.object(XPathToken, "iter_comparison_data", _compared))
        stack.enter_context(mock.patch.object(XPathContext, "iter_followings", _followings))
        for path in paths:
            stack.enter_context(mock.patch.object(path, "select", _ordered(path.select)))
        yield


def _strings_in_order(element: Any, normalize: bool = False) -> Iterator[str]:  # noqa: ARG001  # as elementpath asks
    root = element.getroot() if hasattr(element, "getroot") else element
    return root.itertext()  # type: ignore[no-any-return]  # an element of lxml


def _ordered(select: Any) -> _Selection:
    def ordered(self: Any, context: Any) -> Iterator[Any]:
        return iter(_in_order([*select(self, context)]))

    return ordered


def _in_order(items: list[Any]) -> list[Any]:
    """Nodes in document order, each once; a sequence with values in it as it is."""
    if not all(isinstance(item, xpath_nodes.XPathNode) for item in items):
        return items
    return list(dict.fromkeys(sorted(items, key=lambda node: node.position)))


def _followings(self: XPathContext) -> Iterator[Any]:
    item, axis = self.item, self.axis
    if not isinstance(item, (xpath_nodes.ElementNode, xpath_nodes.TextNode)) or self.document is None:
        return
    below = {*item.iter_descendants()} if isinstance(item, xpath_nodes.ElementNode) else set()
    self.axis = "following"
    for node in self.document.iter_descendants():
        if node.position > item.position and node not in below:
            self.item = node
            yield node
    self.item, self.axis = item, axis


_comparison_data: Final = XPathToken.iter_comparison_data


def _compared(self: XPathToken, context: Any) -> Iterator[Any]:
    """The pairs that a comparison of XPath 1.0 compares (section 3.4), one of which must fulfil it."""
    if self.parser.version != "1.0":
        yield from _comparison_data(self, context)
        return
    operands = [[*operand.select(copy(context))] for operand in self]
    is_set = [all(isinstance(item, xpath_nodes.XPathNode) for item in items) for items in operands]
    is_relation = self.symbol not in ("=", "!=")
    kinds = {type(items[0]) for items, nodes in zip(operands, is_set, strict=True) if not nodes}
    if bool in kinds:
        pair = [self.boolean_value(items) for items in operands]
        yield (float(pair[0]), float(pair[1])) if is_relation else (pair[0], pair[1])
    elif is_relation or kinds - {str}:
        yield from product(*([_number(self.string_value(item)) for item in items] for items in operands))
    else:
        yield from product(*([self.string_value(item) for item in items] for items in operands))


_NUMBER: Final = re.compile(r"[ \t\n\r]*-?([0-9]+(\.[0-9]*)?|\.[0-9]+)[ \t\n\r]*")


def _number(text: str) -> float:
    return float(text) if _NUMBER.fullmatch(text) else math.nan

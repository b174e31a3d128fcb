"""Elements and documents as text."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Final

from lxml import etree

from heptox.xml.namespaces import declared_as
from heptox.xml.trees import XmlElement

IN_TEXT: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}
"""What stands in text for characters that cannot, or would be read as others; the ampersand first."""
IN_VALUE: Final = {**IN_TEXT, '"': "&quot;", "\t": "&#9;", "\n": "&#10;"}
"""The same in the value of an attribute between double quotes."""

_TEXT: Final = str.maketrans(IN_TEXT)
_VALUE: Final = str.maketrans(IN_VALUE)


def escaped_text(text: str) -> str:
    """Text as it stands between tags.

    >>> escaped_text("1 < 2")
    '1 &lt; 2'
    """
    return text.translate(_TEXT)


def escaped_value(value: str) -> str:
    """The value of an attribute as it stands between double quotes; it reads back as the same as text, too."""
    return value.translate(_VALUE)


def declarations(bound: Iterable[tuple[str, str]]) -> str:
    """What declares prefixes in a start tag, each for its namespace.

    >>> declarations([("", "urn:a"), ("b", "urn:b")])
    ' xmlns="urn:a" xmlns:b="urn:b"'
    """
    return "".join(f' {declared_as(prefix)}="{escaped_value(uri)}"' for prefix, uri in bound)


def start_tag(name: str, attributes: list[str]) -> str:
    """A start tag with attributes (name, value, name, value and so on).

    >>> start_tag("a", ["b", '"'])
    '<a b="&quot;">'
    """
    if not attributes:
        return f"<{name}>"
    pairs = zip(attributes[::2], attributes[1::2], strict=True)
    written = "".join(f' {each}="{escaped_value(value)}"' for each, value in pairs)
    return f"<{name}{written}>"


def write_element(element: XmlElement) -> str:
    """One element as XML text, without what follows it; it reads back as the same element.

    >>> from heptox.xml import parse_document
    >>> write_element(parse_document("<a b='x&quot;'>1 &lt; 2</a>").root)
    '<a b="x&quot;">1 &lt; 2</a>'
    """
    return etree.tostring(element, encoding="unicode", with_tail=False)


def write_between(root: XmlElement, first: XmlElement | None, last: XmlElement | None) -> bytes | None:
    """What stands between the start tag of ``first`` and the end tag of ``last``, in UTF-8; from the start, or to the
    end, where that is ``None``. The tree is changed by that.

    Before it may be nothing but start tags without attributes, behind it nothing but end tags: ``None`` where more is
    there.

    >>> from heptox.xml import parse_document
    >>> root = parse_document("<a><b>x<c/>y</b></a>").root
    >>> write_between(root, root[0][0], None), write_between(root, root[0], root[0])
    (None, b'x<c><_/></c>y')
    """
    before = after = ""
    if first is not None:
        mark = first.makeelement(_MARK)
        mark.tail, first.text = first.text, None
        first.insert(0, mark)
        before = "".join(f"<{element.tag}>" for element in (*reversed([*first.iterancestors()]), first)) + f"<{_MARK}/>"
    if last is not None:
        last.append(last.makeelement(_MARK))
        after = f"<{_MARK}/>" + "".join(f"</{element.tag}>" for element in (last, *last.iterancestors()))
    written = etree.tostring(root, encoding="utf-8", with_tail=False)
    begin, end = before.encode(), after.encode()
    if not written.startswith(begin) or not written.endswith(end):
        return None
    return written[len(begin) : len(written) - len(end)]


_MARK: Final = "_"


def write_document(element: XmlElement, *, indent: bool = False) -> str:
    """An element as a document that ends with a line end; to be stored as UTF-8, for it has no XML declaration.

    ``indent`` gives each element a line of its own where a parent holds elements only; other content is left as it is.

    >>> from heptox.xml import parse_document
    >>> print(write_document(parse_document("<a><b>x</b><c>y<d/></c></a>").root, indent=True), end="")
    <a>
      <b>x</b>
      <c>y<d/></c>
    </a>
    """
    if indent:
        element = copy.deepcopy(element)
        _indent(element, "\n")
    return write_element(element) + "\n"


def _indent(element: XmlElement, line: str) -> None:
    children = list(element)
    if not children or any(text and not text.isspace() for text in (element.text, *(child.tail for child in children))):
        return
    element.text = f"{line}  "
    for child in children:
        _indent(child, f"{line}  ")
        child.tail = f"{line}  "
    children[-1].tail = line

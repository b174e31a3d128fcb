"""Plain names that stand for those in namespaces while a tree is rewritten.

libxml2 brings prefixes and namespaces together again whenever an element is moved, and confuses namespaces where a
prefix is bound again to another one on the way. So nothing is in a namespace while elements move.
"""

from __future__ import annotations

from heptox.xml import XmlElement, escaped_name, unescaped_name


def put_stand_ins(root: XmlElement) -> None:
    """Give the elements and attributes of a tree the names that stand for theirs; no two names have the same.

    >>> from heptox.xml import parse_document
    >>> root = parse_document("<a xmlns='urn:a'/>").root
    >>> put_stand_ins(root)
    >>> before = root.tag
    >>> take_stand_ins(root)
    >>> before, root.tag
    ('_x007B_urn_x003A_a_x007D_a', '{urn:a}a')
    """
    for element in root.iter():
        name = str(element.tag)
        if name[0] == "{" or "_x" in name:
            element.tag = escaped_name(name)
        if any(str(one)[0] == "{" or "_x" in str(one) for one in element.attrib):
            _set_attributes(element, [(escaped_name(str(one)), str(value)) for one, value in element.items()])


def take_stand_ins(root: XmlElement) -> None:
    """Give all their own names again."""
    for element in root.iter():
        name = str(element.tag)
        if "_x" in name:
            element.tag = unescaped_name(name)
        if any("_x" in str(one) for one in element.attrib):
            _set_attributes(element, [(unescaped_name(str(one)), str(value)) for one, value in element.items()])


def _set_attributes(element: XmlElement, attributes: list[tuple[str, str]]) -> None:
    element.attrib.clear()
    for name, value in attributes:
        element.set(name, value)

"""Trees whose names are in namespaces as text, piece by piece: prefixes are declared where they are needed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from lxml import etree

from heptox.xml.namespaces import XML_NAMESPACE, Prefixes, bound_prefix, split_name
from heptox.xml.trees import XmlElement, tags_of
from heptox.xml.writing import declarations, escaped_text, escaped_value

_OUTERMOST: Final[Mapping[str, str]] = {"xml": XML_NAMESPACE, "": ""}


class NamedWriter:
    """Writes trees of the parts of one document, one after the other, as one text.

    An element is in the namespace that it has in its tree, wherever it has come from, and keeps its prefix, and what it
    declares, as far as that can be. With ``prefixes`` the first element declares these, and they are used instead; of
    what an element declares itself, only that is kept then on which a text or a value of it may depend.

    >>> from heptox.xml import parse_document
    >>> root = parse_document("<a xmlns='urn:a'><b/></a>").root
    >>> root[0].tag = "b"
    >>> NamedWriter().between(root, None, None)
    b'<a xmlns="urn:a"><b xmlns=""></b></a>'
    """

    def __init__(self, prefixes: Prefixes | None = None) -> None:
        self._prefixes = prefixes
        self._open: list[tuple[str, Mapping[str, str]]] = []

    def has_written(self, names: list[str]) -> None:
        """Elements are open that others have written, which have no namespaces."""
        self._open = [(name, _OUTERMOST) for name in names]

    def between(self, root: XmlElement, first: XmlElement | None, last: XmlElement | None) -> bytes | None:
        """What stands between the start tag of ``first``, which is open, and the end tag of ``last``, which stays open,
        in UTF-8; from the start, or to the end, where that is ``None``.

        Before it may be nothing but start tags without attributes, behind it nothing but end tags: ``None`` where more
        is there.
        """
        parts: list[str] = []
        depth = 0
        writes = first is None
        is_behind = False
        for tag, element in tags_of(root):
            if is_behind:
                if tag == "start" or (element.tail and element is not root):
                    return None
            elif not writes:
                depth += 1
                writes = element is first
                if tag == "end" or element.attrib or (element.text and not writes):
                    return None
                if writes:
                    if depth != len(self._open):
                        return None
                    parts.append(escaped_text(element.text or ""))
            elif tag == "start":
                parts.append(self._start(element) + escaped_text(element.text or ""))
            elif element is last:
                is_behind = True
                if element.tail and element is not root:
                    return None
            else:
                parts.append(f"</{self._open.pop()[0]}>")
                if element is not root:
                    parts.append(escaped_text(element.tail or ""))
        return "".join(parts).encode()

    def _start(self, element: XmlElement) -> str:
        around = self._open[-1][1] if self._open else _OUTERMOST
        scope = dict(around)
        namespace, local = split_name(str(element.tag))
        declared = {prefix or "": uri for prefix, uri in element.nsmap.items()}
        wanted = element.prefix or ""
        if self._prefixes is not None:
            wanted = ""
            declared = {prefix: declared[prefix] for prefix in _leading_prefixes(element) if prefix in declared}
            if not self._open:
                scope.update(self._prefixes.bound)
        if not namespace:
            declared[""] = ""
        scope.update(declared)
        name = _written(str(element.tag), wanted, scope) if namespace else local
        attributes = "".join(
            f' {_written(str(one), None, scope)}="{escaped_value(str(value))}"' for one, value in element.items()
        )
        new = {one: uri for one, uri in scope.items() if around.get(one) != uri}
        self._open.append((name, scope if new else around))
        return f"<{name}{declarations(new.items())}{attributes}>"


def _leading_prefixes(element: XmlElement) -> Iterator[str]:
    """What may be prefixes of names in the text and the values of an element."""
    for value in (element.text or "", *(child.tail or "" for child in element), *map(str, element.attrib.values())):
        yield from _PREFIX.findall(value)


_PREFIX: Final = re.compile(r"([^\s:]+):[^\s:]")


def _written(name: str, wanted: str | None, scope: dict[str, str]) -> str:
    """A name as it is written in a scope, in which it is declared where that is needed: with the prefix that is wanted,
    if that is the namespace's; ``None`` is wanted for attributes.

    When elements have been moved, their prefixes may stand for something else where they come.
    """
    namespace, local = split_name(name)
    if not namespace:
        return local
    if wanted is not None and scope.get(wanted) == namespace:
        return f"{wanted}:{local}" if wanted else local
    return f"{bound_prefix(scope, namespace)}:{local}"


_NAMED: Final = etree.XPath("boolean(//*[namespace-uri()] | //@*[namespace-uri()])")


def has_namespaces(root: XmlElement) -> bool:
    """Whether a name in a document is in a namespace."""
    return bool(_NAMED(root))


def write_named(root: XmlElement) -> bytes:
    """An element as a document in UTF-8, in which each name has the namespace that it has in the tree."""
    written = NamedWriter().between(root, None, None)
    assert written is not None  # nothing is open
    return written + b"\n"

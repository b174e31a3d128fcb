"""Conformity: does a document keep to the paths of an advertisement? (``routing.md``, Advertisements)"""

from __future__ import annotations

from typing import Final

from heptox.pattern import printed_test
from heptox.routing.advertisement import Advertisement
from heptox.xml import Document, XmlElement, line_of

_DOCUMENT: Final = ""
"""What stands above the root."""


class Conformity:
    """Which documents keep to the paths of an advertisement.

    A path leads from the root to an element without children, with the attributes and text of its elements: it is
    advertised if each label may stand below the one before, no required attribute is missing, and the last element may
    be without children. That is all that overlap and covering over advertised paths rely on, so no document that keeps
    to it is missed by them. In which order children stand, and how many there are, is not looked at; covering over
    advertised documents needs valid ones (:func:`heptox.schema.validity_faults`).

    >>> from heptox.routing.advertisement import advertised
    >>> from heptox.schema import parse_dtd
    >>> from heptox.xml import parse_document
    >>> conformity = Conformity(advertised(parse_dtd("<!ELEMENT a (b, c)> <!ELEMENT b (#PCDATA)> <!ELEMENT c EMPTY>")))
    >>> [conformity.first_misfit(parse_document(text)) for text in ("<a> <c/> <c/> </a>", "<a><b><c/></b></a>")]
    [None, 'line 1: c may not stand below b']
    """

    def __init__(self, advertisement: Advertisement) -> None:
        self.advertisement = advertisement
        elements = advertisement.elements
        self._children = {name: frozenset(advertisement.children(name)) for name in elements}
        self._children[_DOCUMENT] = frozenset({advertisement.root})
        self._attributes = {name: element.attributes for name, element in elements.items()}
        self._required = {name: element.required for name, element in elements.items() if element.required}
        self._with_text = frozenset(name for name, element in elements.items() if element.text)
        self._ending = frozenset(name for name, element in elements.items() if element.ends)

    def first_misfit(self, document: Document) -> str | None:
        """The first place, in document order, where a document leaves the paths of the advertisement, as a sentence
        with the line of the element; ``None`` when it keeps to them.

        White space between children is text too.
        """
        waiting: list[tuple[XmlElement, str]] = [(document.root, _DOCUMENT)]
        while waiting:
            element, above = waiting.pop()
            if misfit := self._misfit(element, above):
                return f"line {line_of(element)}: {misfit}"
            waiting += [(child, element.tag) for child in element.iterchildren(reversed=True)]
        return None

    def _misfit(self, element: XmlElement, above: str) -> str | None:
        name, said = element.tag, printed_test(element.tag)
        if name not in self._children[above]:
            if above:
                return f"{said} may not stand below {printed_test(above)}"
            return f"the root {said} is not {printed_test(self.advertisement.root)}"
        if odd := [str(label) for label in element.attrib if label not in self._attributes[name]]:
            return f"{said} may not have the attribute {printed_test(odd[0])}"
        if name in self._required and (missing := self._required[name].difference(element.attrib)):
            return f"{said} has to have the attribute {printed_test(min(missing))}"
        if name not in self._with_text and _has_text(element):
            return f"{said} may not have text"
        if name not in self._ending and not len(element):
            return f"{said} may not be without children"
        return None


def _has_text(element: XmlElement) -> bool:
    return bool(element.text) or any(child.tail for child in element)

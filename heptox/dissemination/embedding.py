"""Matching by trying every subscription: exact, and slow."""

from __future__ import annotations

from collections.abc import Iterator

from lxml.etree import _Element as XmlElement

from heptox.pattern import ANY_ATTRIBUTE, ANY_ELEMENT, TEXT, PatternNode, TreePattern, holds
from heptox.xmlio import Document


class EmbeddingMatcher:
    """Tries to embed each pattern."""

    def __init__(self) -> None:
        self._patterns: dict[int, tuple[TreePattern, ...]] = {}

    def add(self, number: int, patterns: tuple[TreePattern, ...]) -> None:
        self._patterns[number] = patterns

    def remove(self, number: int) -> None:
        del self._patterns[number]

    def match(self, document: Document) -> list[int]:
        return [
            number
            for number in sorted(self._patterns)
            if any(
                all(_embeds(child, None, document.root) for child in pattern.children)
                for pattern in self._patterns[number]
            )
        ]


def _embeds(node: PatternNode, above: XmlElement | None, root: XmlElement) -> bool:
    return any(
        all(holds(value, test.operator, test.constant) for test in node.values)
        and (
            not node.children or (element is not None and all(_embeds(child, element, root) for child in node.children))
        )
        for element, value in _candidates(node, above, root)
    )


def _candidates(
    node: PatternNode, above: XmlElement | None, root: XmlElement
) -> Iterator[tuple[XmlElement | None, str]]:
    descending = node.axis == "//"
    if node.test[0] == "@" or node.test == TEXT:
        holders = [] if above is None else [above]
        if descending:
            holders = list((root if above is None else above).iter())
        for holder in holders:
            if node.test == TEXT:
                yield from ((None, str(text)) for text in (holder.text, *(child.tail for child in holder)) if text)
            else:
                wanted = node.test[1:]
                yield from (
                    (None, str(value))
                    for name, value in holder.attrib.items()
                    if node.test == ANY_ATTRIBUTE or name == wanted
                )
        return
    if above is None:
        elements = list(root.iter()) if descending else [root]
    else:
        elements = list(above.iterdescendants()) if descending else list(above)
    for element in elements:
        if node.test in (ANY_ELEMENT, element.tag):
            yield element, "".join(map(str, element.itertext()))

"""Tree patterns embedded into documents by trying everything: slow, and short enough to be seen right.

Steps are taken as XPath defines them: ``//`` is ``/descendant-or-self::node()/``, so ``a//@x`` has the attributes of
``a`` itself too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from heptox.pattern import PatternNode, TreePattern, holds
from heptox.xml import Document, XmlElement


@dataclass(slots=True)
class Node:
    """A node of a document: what it is called in a node test, its string value, and what one step leads to."""

    test: str
    value: str = ""
    below: list[Node] = field(default_factory=list)

    def __iter__(self) -> Iterator[Node]:
        """The node and all below it, in document order."""
        yield self
        for node in self.below:
            yield from node

    def passes(self, test: str) -> bool:
        """Whether the node passes a node test."""
        if test in ("*", "@*"):
            return self.test != "text()" and self.test.startswith("@") == (test == "@*")
        return self.test == test


def document_node(document: Document) -> Node:
    """The nodes of a document, from the document node down."""
    return Node("", "", [_element(document.root)])


def _element(element: XmlElement) -> Node:
    node = Node(str(element.tag))
    node.below += [Node(f"@{name!s}", str(value)) for name, value in element.attrib.items()]
    texts = [element.text or ""]
    if element.text:
        node.below.append(Node("text()", element.text))
    for child in element:
        node.below.append(_element(child))
        texts.append(node.below[-1].value)
        if child.tail:
            node.below.append(Node("text()", child.tail))
            texts.append(child.tail)
    node.value = "".join(texts)
    return node


def matches(patterns: Sequence[TreePattern], document: Node) -> bool:
    """Whether one of the patterns has an embedding into the document.

    >>> from heptox.grammar import parse_subscription
    >>> from heptox.xml import parse_document
    >>> matches(parse_subscription("//b[@x < 5]"), document_node(parse_document("<a><b x='4'/></a>")))
    True
    """
    return any(all(_embeds(child, document) for child in pattern.children) for pattern in patterns)


def _embeds(pattern: PatternNode, above: Node) -> bool:
    starts = above if pattern.axis == "//" else (above,)
    return any(
        node.passes(pattern.test)
        and all(holds(node.value, value.operator, value.constant) for value in pattern.values)
        and all(_embeds(child, node) for child in pattern.children)
        for start in starts
        for node in start.below
    )

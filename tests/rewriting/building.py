"""Schema trees written as they are printed, to and fro."""

from __future__ import annotations

import re
from collections.abc import Iterator

from heptox.rewriting import NodeId, TargetNode, WorkingTree
from heptox.schema import SchemaTree, parse_dtd


def schema_of(shape: str) -> SchemaTree:
    """The schema of a tree that is written ``r(a(b), c)``; leaves hold text, and what ends in ``*`` repeats.

    >>> print(WorkingTree(schema_of("r(a*(b), c)")))
    r(a(b), c)
    """
    declared: list[str] = []

    def declare(name: str, children: list[_Written]) -> None:
        content = ", ".join(child for child, _ in children) or "#PCDATA"
        declared.append(f"<!ELEMENT {name.rstrip('*')} ({content})>")
        for child, below in children:
            declare(child, below)

    root, below = _written(shape)
    declare(root, below)
    return SchemaTree(parse_dtd("".join(declared), root))


def dtd_of(text: str) -> str:
    """A DTD: ``r: b*; b: t, a* @id ID #REQUIRED; t; a`` declares what stands in elements, and attributes of them.

    >>> print(dtd_of("r: b*; b @id ID #REQUIRED"))
    <!ELEMENT r (b*)>
    <!ELEMENT b (#PCDATA)>
    <!ATTLIST b id ID #REQUIRED>
    """
    declared: list[str] = []
    for element in text.split(";"):
        described, *attributes = (part.strip() for part in element.split("@"))
        name, _, content = (part.strip() for part in described.partition(":"))
        declared.append(f"<!ELEMENT {name} ({content or '#PCDATA'})>")
        declared += [f"<!ATTLIST {name} {attribute}>" for attribute in attributes]
    return "\n".join(declared)


def target_to(shape: str, source: SchemaTree) -> TargetNode:
    """The target that is written so: nodes correspond to the source nodes of their names, all others are new."""
    known: dict[str, NodeId] = {node[-1] if node else source.root: node for node in WorkingTree(source).walk()}

    def node(name: str, children: list[_Written]) -> TargetNode:
        return TargetNode(name, known.get(name), tuple(node(*child) for child in children))

    return node(*_written(shape))


_Written = tuple[str, list["_Written"]]


def _written(shape: str) -> _Written:
    tokens = re.finditer(r"[^\s(),]+|[(),]", shape)
    ((name, children),) = _siblings(token[0] for token in tokens)
    return name, children


def _siblings(tokens: Iterator[str]) -> list[_Written]:
    found: list[_Written] = []
    for token in tokens:
        if token == ")":
            break
        if token == "(":
            found[-1] = (found[-1][0], _siblings(tokens))
        elif token != ",":
            found.append((token, []))
    return found

"""A chunking scheme as text, for people: the query tree down to where it is cut, and what each part has."""

from __future__ import annotations

from collections.abc import Iterator

from heptox.filtering.filters import FilterSet
from heptox.filtering.query_tree import QueryNode, Sizes
from heptox.filtering.schema_steps import TagPath
from heptox.filtering.scheme import ChunkingScheme


def draw_scheme(filters: FilterSet, scheme: ChunkingScheme, sizes: Sizes) -> str:
    """The query tree of filters, each node with the branches that pass it, and the prefixes with their chunks.

    >>> from heptox.schema import parse_dtd
    >>> filters = FilterSet(parse_dtd("<!ELEMENT a (b*)> <!ELEMENT b (c*, d*)> <!ELEMENT c EMPTY> <!ELEMENT d EMPTY>"))
    >>> for number, text in enumerate(("/a/b/c", "/a/b/d", "/a/b/c", "/a/b")): _ = filters.add(number, text)
    >>> print(draw_scheme(filters, filters.scheme(2), Sizes()))
    a       4 branches
    └─ b    4 branches, chunk 1
    """
    chunk_of = {prefix: number for number, chunk in enumerate(scheme.chunks, 1) for prefix in chunk.prefixes}
    found = [row for root in filters.tree.root.children.values() for row in _rows(root, chunk_of, sizes, "", "")]
    rows = [(f"{line}{filters.graph.prefixes.step(tag)}", what) for line, tag, what in found]
    width = max((len(name) for name, _ in rows), default=0)
    return "\n".join(f"{name:<{width}}    {what}" for name, what in rows)


def _rows(
    node: QueryNode, chunk_of: dict[TagPath, int], sizes: Sizes, line: str, below: str
) -> Iterator[tuple[str, str, str]]:
    """The lines of a node and those below it: the lines of the tree, the node's name, and what is said of it."""
    facts = [f"{node.passing:,} branch{'es' if node.passing > 1 else ''}"]
    if sizes.seen:
        facts.append(f"{sizes.of(node.path) / sizes.total:.0%} of the bytes")
    chunk = chunk_of.get(node.path)
    if chunk is not None:
        facts.append(f"chunk {chunk}")
    elif node.ending:
        facts.append(f"potpourri {node.ending:,}")
    yield line, node.path[-1], ", ".join(facts)
    children = list(node.children.values()) if chunk is None else []
    for child in children:
        is_last = child is children[-1]
        yield from _rows(
            child, chunk_of, sizes, f"{below}{'└─ ' if is_last else '├─ '}", f"{below}{'   ' if is_last else '│  '}"
        )

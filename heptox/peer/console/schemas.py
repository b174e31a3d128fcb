"""Schemas as the console draws them: every element type, what stands below it, and its attributes."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from heptox.peer.console.drawings import as_utf8, check_texts
from heptox.peer.console.shapes import AttributeModel, ChildModel, ElementTypeModel, SchemaModel
from heptox.schema import Element, SchemaGraph, parse_dtd, root_candidates


def read_schema(text: str, root: str | None = None, file: str | None = None) -> SchemaModel:
    """The schema that a DTD means.

    Raises :class:`SchemaError` as :func:`heptox.schema.parse_dtd`, and :class:`PeerError` (HX7093) for texts that are
    too long, or cannot be in a file.
    """
    check_texts(text, file or "")
    return schema_told(parsed_schema(text, root, file))


# It is read when it is chosen, and as what is drawn on it is the same from one keystroke to the next.
@lru_cache(maxsize=16)
def parsed_schema(text: str, root: str | None, file: str | None) -> SchemaGraph:
    """The schema of a text; raises :class:`SchemaError` as :func:`heptox.schema.parse_dtd`."""
    return parse_dtd(text, root, file)


def schema_told(graph: SchemaGraph) -> SchemaModel:
    """A schema, its element types in the order of the DTD."""
    return SchemaModel(
        file=graph.file and Path(graph.file).name,
        root=graph.root,
        roots=root_candidates(graph.elements) or sorted(graph.elements),
        text=as_utf8(graph.text or ""),
        elements=[_element(element) for element in graph.elements.values()],
    )


def _element(element: Element) -> ElementTypeModel:
    return ElementTypeModel(
        name=element.name,
        text=element.text,
        children=[ChildModel(name=child.name, cardinality=child.cardinality) for child in element.children],
        attributes=[
            AttributeModel(
                name=one.name, type=one.type, cardinality=one.cardinality, default=one.default, values=list(one.values)
            )
            for one in element.attributes
        ],
    )

"""Schemas as the console draws them: every element type, what stands below it, and its attributes.

Names are written with prefixes, of which each namespace of the schema has one: no step of a path has a slash then.
"""

from __future__ import annotations

from collections.abc import Mapping as Table
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from heptox.errors import Fault, InputError, SchemaError
from heptox.mapping import ReadSchema, ReadTable
from heptox.peer.console.drawings import as_utf8, check_texts
from heptox.peer.console.shapes import AttributeModel, ChildModel, ElementTypeModel, SchemaModel
from heptox.schema import (
    Element,
    SchemaGraph,
    is_xsd,
    parse_schema,
    read_schema,
    root_candidates,
    write_graph,
)
from heptox.xml import Prefixes

_UNNAMED: Final = "schema.xsd"


def told_schema(text: str, root: str | None = None, file: str | None = None) -> SchemaModel:
    """The schema that a text means: a DTD, an XSD that needs no other file, or the text of a schema graph.

    Raises :class:`SchemaError` as :func:`heptox.schema.read_schema`, and :class:`PeerError` (HX7093) for texts that are
    too long, or cannot be in a file.
    """
    check_texts(text, file or "")
    return schema_told(parsed_schema(text, root, file))


# It is read when it is chosen, and as what is drawn on it is the same from one keystroke to the next.
@lru_cache(maxsize=16)
def parsed_schema(text: str, root: str | None, file: str | None) -> SchemaGraph:
    """The schema of a text; raises :class:`SchemaError` as :func:`heptox.schema.read_schema`."""
    return _parsed_xsd(text, root, file) if is_xsd(text) else parse_schema(text, root, file)


def _parsed_xsd(text: str, root: str | None, file: str | None) -> SchemaGraph:
    with TemporaryDirectory() as temporary:
        # a schema may name files two folders above its own
        folder = Path(temporary, "alone", "alone")
        folder.mkdir(parents=True)
        path = folder / Path(file or _UNNAMED).name
        path.write_text(as_utf8(text), encoding="utf-8")
        try:
            graph = read_schema(path, root)
        except SchemaError as error:
            raise SchemaError([_named(fault, str(path), file) for fault in error.faults]) from None
    return replace(graph, file=file)


def _named(fault: Fault, path: str, file: str | None) -> Fault:
    """A fault of a file that was written for reading, as one of the file that it is."""
    at = fault.position and replace(fault.position, file=file)
    message = fault.message.replace(path, file or _UNNAMED)
    return replace(fault, message=message, position=at, file=fault.file and file)


def schema_told(graph: SchemaGraph) -> SchemaModel:
    """A schema, its element types in the order of the schema."""
    names = drawn_prefixes(graph)
    numbers = {key: str(number) for number, key in enumerate(graph.elements)}
    types = {key: "" if key == element.name else numbers[key] for key, element in graph.elements.items()}
    file, text = graph.file and Path(graph.file).name, as_utf8(graph.text or "")
    if text.startswith("{"):
        file, text = f"{Path(file or _UNNAMED).stem}.graph", write_graph(graph)  # with the documentation
    return SchemaModel(
        file=file,
        root=graph.prefixes.step(graph.elements[graph.root].name),
        roots=[graph.prefixes.step(name) for name in _roots(graph)],
        type=types[graph.root] or names.step(graph.root),
        text=text,
        prefixes=names.namespaces,
        elements=[_element(element, names, types) for element in graph.elements.values()],
    )


def reader(files: Table[str, str]) -> ReadSchema:
    """Reads schemas from texts by the names that a mapping has for them; raises :class:`InputError` (HX1001)."""

    def read(file: str, root: str | None) -> SchemaGraph:
        return parsed_schema(_text(files, file), root, file)

    return read


def tables(files: Table[str, str]) -> ReadTable:
    """Reads tables of codes from texts; raises :class:`InputError` (HX1001)."""
    return lambda file: _text(files, file)


def _text(files: Table[str, str], file: str) -> str:
    if file not in files:
        raise InputError(Fault("HX1001", "the file is not here", hint=f"here are: {', '.join(files)}", file=file))
    return files[file]


def drawn_prefixes(graph: SchemaGraph) -> Prefixes:
    """The prefixes by which the console draws the names of a schema: its own, and one for each other namespace."""
    elements = graph.elements.values()
    attributes = {attribute.name for element in elements for attribute in element.attributes}
    return graph.prefixes.covering({element.name for element in elements}, attributes=attributes)


def _roots(graph: SchemaGraph) -> list[str]:
    return list(graph.roots) or root_candidates(graph.elements) or sorted(graph.elements)


def _element(element: Element, names: Prefixes, types: dict[str, str]) -> ElementTypeModel:
    return ElementTypeModel(
        name=names.step(element.name),
        type=types[element.key],
        text=element.text,
        open=element.open,
        value_type=element.value_type,
        values=list(element.values),
        documentation=element.documentation,
        children=[
            ChildModel(name=names.step(child.name), cardinality=child.cardinality, type=types[child.key])
            for child in element.children
        ],
        attributes=[
            AttributeModel(
                name=names.step(f"@{one.name}").removeprefix("@"),
                type=one.type,
                cardinality=one.cardinality,
                default=one.default,
                fixed=one.fixed,
                values=list(one.values),
                value_type=one.value_type,
                documentation=one.documentation,
            )
            for one in element.attributes
        ],
    )

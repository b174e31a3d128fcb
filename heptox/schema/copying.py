"""A schema with all of its files, to be kept in another folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from heptox.schema.catalogues import CATALOGUE, NAMESPACE
from heptox.schema.dtd import Paths
from heptox.schema.model import SchemaGraph
from heptox.schema.reading import read_schema, read_xsd, schema_files
from heptox.xml import decode_dtd, escaped_value, read_bytes

if TYPE_CHECKING:
    from heptox.schema.xsd_files import SchemaFiles

_DTD: Final = "schema.dtd"
_GRAPH: Final = "schema.graph"
_XSD: Final = "schema"


@dataclass(frozen=True, slots=True)
class SchemaCopy:
    """What is written to a folder so that the file ``main`` of it is the schema: contents by their paths there."""

    graph: SchemaGraph
    main: str
    files: Mapping[str, bytes]


def copy_schema(path: str | os.PathLike[str], root: str | None = None, catalogues: Paths = ()) -> SchemaCopy:
    """A schema as it is kept elsewhere: an XSD with all files that it names, and one catalogue of those that it names
    by other identifiers, a DTD of several files as one; raises as :func:`read_schema`.
    """
    graph = read_schema(path, root, catalogues)
    if (data := read_xsd(path)) is not None:
        files = schema_files(path, catalogues, data)
        above = Path(os.path.commonpath([file.path.parent for file in files.files.values()]))
        placed = {f"{_XSD}/{file.path.relative_to(above).as_posix()}": file.data for file in files.files.values()}
        main = f"{_XSD}/{files.main.path.relative_to(above).as_posix()}"
        if files.named:
            placed[f"{main.rpartition('/')[0]}/{CATALOGUE}"] = _catalogue(files)
        return SchemaCopy(graph, main, placed)
    content = packed_schema(path, graph)
    name = _GRAPH if content.startswith(b"{") else _DTD
    return SchemaCopy(graph, name, {name: content})


def _catalogue(files: SchemaFiles) -> bytes:
    """What says of the identifiers which file they mean, as seen from the main one."""
    lines = [f'<catalog xmlns="{NAMESPACE}">']
    for identifier, file in files.named.items():
        place = quote(Path(os.path.relpath(file.path, files.main.path.parent)).as_posix())
        lines.append(f'  <system systemId="{escaped_value(identifier)}" uri="{place}"/>')
    return "\n".join([*lines, "</catalog>", ""]).encode()


def packed_schema(path: str | os.PathLike[str], graph: SchemaGraph) -> bytes:
    """The schema of a file, which was read as ``graph``, as one text that needs no other file: a DTD, or the text of a
    schema graph. A DTD in one file stays as it is.
    """
    content, text = read_bytes(path, only_regular=True), (graph.text or "").encode()
    is_graph = text.startswith(b"{")
    return content if not is_graph and decode_dtd(content).encode() == text else text

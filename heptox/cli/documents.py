"""Documents of either side of a mapping, as ``heptox map check`` and ``map test`` take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import typer

from heptox.grammar import Side
from heptox.mapping import Mapping
from heptox.verification import side_of
from heptox.xml import Document, file_name, parse_document, read_bytes

DocumentsOf: TypeAlias = Annotated[
    Side | None,
    typer.Option(
        "--documents-of",
        metavar="SIDE",
        show_default=False,
        help="The side of the documents, source or target, where their root elements do not say it.",
    ),
]


def read_documents(mapping: Mapping, names: Sequence[str], side: Side | None) -> dict[Side, list[Document]]:
    """The documents of some files by the side of the mapping that they belong to.

    Raises as :func:`heptox.xml.read_document` and :func:`side_of`.
    """
    found: dict[Side, list[Document]] = {"source": [], "target": []}
    for name in names:
        own, document = side_of(mapping, parse_document(read_bytes(name), file_name(name)), side)
        found[own].append(document)
    return found

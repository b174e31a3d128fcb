"""The only place where XML text is parsed and written; limits on size, depth and entities; no network.

What needs a parser is loaded when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heptox.doors import later
from heptox.xml.files import (
    MAXIMUM_SIZE,
    STANDARD_INPUT,
    decode_dtd,
    decode_text,
    file_name,
    read_bytes,
    read_dtd_text,
    read_text,
    unreadable,
)
from heptox.xml.namespaces import (
    NO_PREFIXES,
    XML_NAMESPACE,
    XSI_NAMESPACE,
    Prefixes,
    UnboundPrefixError,
    escaped_namespace,
    expanded_name,
    path_steps,
    path_text,
    split_name,
    unescaped_namespace,
)

if TYPE_CHECKING:
    from heptox.xml.beside import beside_content
    from heptox.xml.comparing import comparable_text
    from heptox.xml.events import Readable, XmlReader, end_of_last_element
    from heptox.xml.named_writing import NamedWriter, has_namespaces, write_named
    from heptox.xml.names import (
        EMPTY_PATTERN,
        ESCAPE_PATTERN,
        NAME,
        NAME_TOKEN,
        escaped_name,
        name_spellings,
        unescaped_name,
    )
    from heptox.xml.pieces import PIECE, LiteralSource, Outline, Piece, PieceReader, PieceTooLargeError
    from heptox.xml.prolog import MOST_PROLOG, identifying_attributes, root_name, root_prefixes
    from heptox.xml.scopes import NamespaceError, NamespaceScopes
    from heptox.xml.trees import (
        MOST_ATTRIBUTES,
        PARSING,
        Document,
        XmlElement,
        count_elements,
        line_of,
        parse_document,
        read_document,
        tags_of,
    )
    from heptox.xml.writing import (
        IN_TEXT,
        IN_VALUE,
        escaped_text,
        escaped_value,
        start_tag,
        write_between,
        write_document,
        write_element,
    )

__all__ = [
    "EMPTY_PATTERN",
    "ESCAPE_PATTERN",
    "IN_TEXT",
    "IN_VALUE",
    "MAXIMUM_SIZE",
    "MOST_ATTRIBUTES",
    "MOST_PROLOG",
    "NAME",
    "NAME_TOKEN",
    "NO_PREFIXES",
    "PARSING",
    "PIECE",
    "STANDARD_INPUT",
    "XML_NAMESPACE",
    "XSI_NAMESPACE",
    "Document",
    "LiteralSource",
    "NamedWriter",
    "NamespaceError",
    "NamespaceScopes",
    "Outline",
    "Piece",
    "PieceReader",
    "PieceTooLargeError",
    "Prefixes",
    "Readable",
    "UnboundPrefixError",
    "XmlElement",
    "XmlReader",
    "beside_content",
    "comparable_text",
    "count_elements",
    "decode_dtd",
    "decode_text",
    "end_of_last_element",
    "escaped_name",
    "escaped_namespace",
    "escaped_text",
    "escaped_value",
    "expanded_name",
    "file_name",
    "has_namespaces",
    "identifying_attributes",
    "line_of",
    "name_spellings",
    "parse_document",
    "path_steps",
    "path_text",
    "read_bytes",
    "read_document",
    "read_dtd_text",
    "read_text",
    "root_name",
    "root_prefixes",
    "split_name",
    "start_tag",
    "tags_of",
    "unescaped_name",
    "unescaped_namespace",
    "unreadable",
    "write_between",
    "write_document",
    "write_element",
    "write_named",
]

__getattr__ = later(
    __name__,
    {
        "beside": ("beside_content",),
        "comparing": ("comparable_text",),
        "events": ("Readable", "XmlReader", "end_of_last_element"),
        "names": (
            "EMPTY_PATTERN",
            "ESCAPE_PATTERN",
            "NAME",
            "NAME_TOKEN",
            "escaped_name",
            "name_spellings",
            "unescaped_name",
        ),
        "named_writing": ("NamedWriter", "has_namespaces", "write_named"),
        "pieces": ("PIECE", "LiteralSource", "Outline", "Piece", "PieceReader", "PieceTooLargeError"),
        "prolog": ("MOST_PROLOG", "identifying_attributes", "root_name", "root_prefixes"),
        "scopes": ("NamespaceError", "NamespaceScopes"),
        "trees": (
            "MOST_ATTRIBUTES",
            "PARSING",
            "Document",
            "XmlElement",
            "count_elements",
            "line_of",
            "parse_document",
            "read_document",
            "tags_of",
        ),
        "writing": (
            "IN_TEXT",
            "IN_VALUE",
            "escaped_text",
            "escaped_value",
            "start_tag",
            "write_between",
            "write_document",
            "write_element",
        ),
    },
)

"""The only place where XML text is parsed and written; limits on size, depth and entities; no network.

What needs a parser is loaded when it is first asked for.
"""

from typing import TYPE_CHECKING

from heptox.doors import later
from heptox.xml.files import (
    MAXIMUM_SIZE as MAXIMUM_SIZE,
    NO_CHARACTER as NO_CHARACTER,
    STANDARD_INPUT as STANDARD_INPUT,
    decode_dtd as decode_dtd,
    decode_text as decode_text,
    file_name as file_name,
    read_bytes as read_bytes,
    read_dtd_text as read_dtd_text,
    read_text as read_text,
    unreadable as unreadable,
)
from heptox.xml.namespaces import (
    NO_PREFIXES as NO_PREFIXES,
    XML_NAMESPACE as XML_NAMESPACE,
    XSI_LOCATIONS as XSI_LOCATIONS,
    XSI_NAMESPACE as XSI_NAMESPACE,
    XSI_NIL as XSI_NIL,
    XSI_TYPE as XSI_TYPE,
    Prefixes as Prefixes,
    UnboundPrefixError as UnboundPrefixError,
    bound_prefix as bound_prefix,
    declared_as as declared_as,
    escaped_namespace as escaped_namespace,
    expanded_name as expanded_name,
    fresh_prefix as fresh_prefix,
    path_steps as path_steps,
    path_text as path_text,
    split_name as split_name,
    unescaped_namespace as unescaped_namespace,
    value_prefixes as value_prefixes,
)

if TYPE_CHECKING:
    from heptox.xml.beside import (
        beside_content as beside_content,
        is_element as is_element,
    )
    from heptox.xml.comparing import (
        comparable_text as comparable_text,
    )
    from heptox.xml.events import (
        Readable as Readable,
        XmlReader as XmlReader,
        end_of_last_element as end_of_last_element,
    )
    from heptox.xml.named_writing import (
        NamedWriter as NamedWriter,
        has_namespaces as has_namespaces,
        write_named as write_named,
    )
    from heptox.xml.names import (
        EMPTY_PATTERN as EMPTY_PATTERN,
        ESCAPE_PATTERN as ESCAPE_PATTERN,
        NAME as NAME,
        NAME_TOKEN as NAME_TOKEN,
        escaped_name as escaped_name,
        name_spellings as name_spellings,
        unescaped_name as unescaped_name,
    )
    from heptox.xml.pieces import (
        PIECE as PIECE,
        LiteralSource as LiteralSource,
        Outline as Outline,
        Piece as Piece,
        PieceReader as PieceReader,
        PieceTooLargeError as PieceTooLargeError,
    )
    from heptox.xml.prolog import (
        MOST_PROLOG as MOST_PROLOG,
        identifying_attributes as identifying_attributes,
        root_name as root_name,
        root_prefixes as root_prefixes,
    )
    from heptox.xml.scopes import (
        NamespaceError as NamespaceError,
        NamespaceScopes as NamespaceScopes,
    )
    from heptox.xml.trees import (
        MOST_ATTRIBUTES as MOST_ATTRIBUTES,
        PARSING as PARSING,
        Document as Document,
        XmlElement as XmlElement,
        count_elements as count_elements,
        line_of as line_of,
        parse_document as parse_document,
        read_document as read_document,
        tags_of as tags_of,
        value_namespaces as value_namespaces,
    )
    from heptox.xml.writing import (
        IN_TEXT as IN_TEXT,
        IN_VALUE as IN_VALUE,
        declarations as declarations,
        escaped_text as escaped_text,
        escaped_value as escaped_value,
        start_tag as start_tag,
        write_between as write_between,
        write_document as write_document,
        write_element as write_element,
    )

__getattr__ = later(__name__)

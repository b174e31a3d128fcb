"""Documents as trees, with limits on size, depth and entities.

What a document is here: elements, attributes and text. Comments and processing instructions are
dropped when a document is read, and text around them is joined, so a leaf has one text; CDATA sections are text;
entities that the internal subset declares are expanded, and defaults of attributes that it declares are added. A DTD
that DOCTYPE names is never fetched. A document is refused rather than read without something that it refers to.
"""

from __future__ import annotations

import codecs
import os
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, cast

from lxml import etree

from heptox.errors import Fault, InputError, Position
from heptox.xml.files import HINTS, MAXIMUM_SIZE, count_bytes, excerpt_of, file_name, holds, read_bytes
from heptox.xml.namespaces import MOST_NAMESPACE, value_prefixes
from heptox.xml.prolog import MOST_PROLOG, Prolog, external_entity_fault, read_prolog

XmlElement: TypeAlias = etree._Element

PARSING: Final = threading.Lock()
"""The lock to hold while lxml parses. What a parser asks for besides its text is answered by a function of the whole
process, which lxml puts in when it begins to parse and takes out when it ends: of two threads that parse at once, one
would get nothing from its resolvers, and read files instead."""

MOST_ATTRIBUTES: Final = 1000
"""Attributes of one element at most: lxml looks for the value of each among all of them."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Document:
    """A document: its root element, the file it came from, and the text of its DOCTYPE's internal subset, if any.

    ``subset_position`` is where that text begins.
    The elements are lxml's and can be changed; who shares a document leaves them as they are.
    """

    root: XmlElement
    file: str | None = None
    internal_subset: str | None = None
    subset_position: Position | None = None


def read_document(path: str | os.PathLike[str], *, maximum_size: int = MAXIMUM_SIZE) -> Document:
    """The document in a file, or on standard input when ``path`` is :data:`STANDARD_INPUT`.

    Raises :class:`InputError` as :func:`read_bytes` and :func:`parse_document`.
    """
    return parse_document(read_bytes(path, maximum_size=maximum_size), file_name(path))


def parse_document(
    text: str | bytes, file: str | None = None, *, most_nodes: int | None = None, empty_parameters: bool = False
) -> Document:
    """The document in ``text``; a ``str`` is read as it is, whatever encoding its XML declaration names.

    One that may have over ``most_nodes`` elements and attributes, as far as is seen before it is parsed, is refused.
    With ``empty_parameters``, external parameter entities are as if nothing stood there: what it says is no other thing
    but for defaults of attributes, since entities without a declaration are refused.

    Raises :class:`InputError` with a position: HX1002 not well-formed, HX1003 encoding unknown or not kept, HX1004
    external entity, HX1005 entity without a declaration that is read, HX1006 nested or expanded beyond the limits of
    :data:`MAXIMUM_SIZE`, with more than :data:`MOST_ATTRIBUTES` on an element or than ``most_nodes``, or with a first
    tag that does not end within :data:`MOST_PROLOG`, HX1007 a prefix that nothing declares. No other file and no
    network is touched.

    >>> parse_document("<a>x<!-- c -->y<![CDATA[<z]]></a>").root.text
    'xy<z'
    """
    encoding = "utf-8" if isinstance(text, str) else None
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if most_nodes is not None and _possible_nodes(data) > most_nodes:
        raise InputError(Fault("HX1006", f"may have more than {most_nodes:,} elements and attributes", file=file))
    plain = _parsed_plain(data)
    if plain is not None:
        if count_bytes(data, b"=") > MOST_ATTRIBUTES:
            _refuse_many_attributes(plain, file)
        return Document(plain, file)
    prolog = read_prolog(data, encoding, file)
    if empty_parameters and prolog.internal_subset:
        return parse_document(_without_parameters(data, prolog), file, most_nodes=most_nodes)
    if prolog.external_entities:
        raise InputError(external_entity_fault(found, data, encoding) for found in prolog.external_entities)
    root = _parsed(data, encoding, prolog, file)
    if prolog.unreadable:
        raise InputError(prolog.unreadable)
    _refuse_many_attributes(root, file)
    _refuse_long_namespaces(root, file)
    if prolog.internal_subset is None or prolog.position is None:
        return Document(root, file)
    position = replace(prolog.position, column=prolog.position.column + 1)
    return Document(root, file, prolog.internal_subset, position)


_EXTERNAL_PARAMETER: Final = re.compile(rb"<!ENTITY\s+%\s+([^\s%;<>]+)\s+(?:SYSTEM|PUBLIC)\s[^<>]*>")


def _without_parameters(data: bytes, prolog: Prolog) -> bytes:
    """The document without its external parameter entities, all else being where it was."""
    before, subset, after = data.partition(str(prolog.internal_subset).encode())
    names = {b"%" + name + b";" for name in _EXTERNAL_PARAMETER.findall(subset)}
    subset = _EXTERNAL_PARAMETER.sub(_blank, subset)
    subset = re.sub(rb"%[^\s%;<>]+;", lambda one: _blank(one) if one[0] in names else one[0], subset)
    return before + subset + after


def _blank(found: re.Match[bytes]) -> bytes:
    return re.sub(rb"[^\r\n]", b" ", found[0])


_PLAIN_VALUE: Final = rb"""(?:"[\t\r\n !#-%'-;=-~]*"|'[\t\r\n !-%(-;=-~]*')"""

_PLAIN_START: Final = re.compile(
    rb"""(?:<\?xml[ ]version=["']1\.0["'](?:[ ]encoding=["'][Uu][Tt][Ff]-8["'])?[ ]?\?>[\t\r\n ]*)?"""
    rb"<[A-Za-z_][A-Za-z0-9_.-]*(?:[\t\r\n ]+[A-Za-z_][A-Za-z0-9_.-]*=" + _PLAIN_VALUE + rb")*[\t\r\n ]*/?>"
)
"""The start of a document in UTF-8 that has no DOCTYPE, up to the end of a first tag in which all is ASCII."""


def _parsed_plain(data: bytes) -> XmlElement | None:
    """The root of a document that has no DOCTYPE and no namespace, in half the time; ``None`` for any other.

    Without a DOCTYPE there is nothing to fetch, to expand or to add, and no prolog to look at before; without ``xmlns``
    and ``xml:`` there is no namespace. What is wrong is left for the others to say.
    """
    if not _PLAIN_START.match(data, 0, MOST_PROLOG) or holds(data, b"xmlns") or holds(data, b"xml:"):
        return None
    try:
        with PARSING:
            return etree.fromstring(data, _PLAIN_PARSER)
    except etree.XMLSyntaxError:
        return None


_LIKE_ASCII: Final = re.compile(
    rb"""(?:\xef\xbb\xbf)?\s*<(?!\?xml\s(?![^>]{,200}encoding\s*=\s*["'](?i:utf-8|us-ascii|iso-8859-|windows-125))"""
    rb"""[^>]{,200}encoding)[^\0]"""
)
"""The start of a document in whose encoding markup is as in ASCII."""

_EXPANDED: Final = 5
"""How many times the bytes of a document its entities may expand to, by libxml2, beyond a million bytes."""

_SHORTEST: Final = len("<a/>")


def _possible_nodes(data: bytes) -> int:
    """How many elements and attributes a document has at most, which is not parsed for that."""
    written = count_bytes(data, b"<") - count_bytes(data, b"</") + count_bytes(data, b"=")
    if not _LIKE_ASCII.match(data, 0, MOST_PROLOG):
        wide = data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        written = written if wide else len(data) // _SHORTEST
    elif not holds(data, b"<!ENTITY"):
        return written
    return written + max(1_000_000, _EXPANDED * len(data)) // _SHORTEST


def new_parser(encoding: str | None) -> etree.XMLParser:
    return etree.XMLParser(
        encoding=encoding,
        resolve_entities="internal",  # type: ignore[arg-type]  # the stubs know True and False only
        no_network=True,
        attribute_defaults=True,
        remove_comments=True,
        remove_pis=True,
        huge_tree=False,
    )


_PLAIN_PARSER: Final = new_parser(None)


def _parsed(data: bytes, encoding: str | None, prolog: Prolog, file: str | None) -> XmlElement:
    parser = new_parser(encoding)
    parser.resolvers.add(_NothingElse())
    try:
        with PARSING:
            return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        fault = syntax_fault(error, parser, data, encoding, file)
        if prolog.position and fault.code == "HX1006" and "ntity" in fault.message:
            # libxml2 counts lines inside the entity then; the declarations are what to look at
            fault = replace(fault, position=prolog.position, excerpt=None)
        raise InputError(fault) from None


class _NothingElse(etree.Resolver):
    """Gives the parser an empty text for whatever it would read besides the document: the DTD that DOCTYPE names.

    Without ``attribute_defaults`` it would not ask, but neither add the defaults that the internal subset declares.
    """

    def resolve(self, system_url: object, public_id: object, context: object) -> object:  # type: ignore[override]  # noqa: ARG002
        return self.resolve_string("", context)  # type: ignore[call-arg]  # the stubs know other signatures than lxml


_SYNTAX_CODES: Final = {
    etree.ErrorTypes.ERR_UNDECLARED_ENTITY: "HX1005",
    etree.ErrorTypes.WAR_UNDECLARED_ENTITY: "HX1005",
    etree.ErrorTypes.ERR_ENTITY_LOOP: "HX1006",
    etree.ErrorTypes.ERR_RESOURCE_LIMIT: "HX1006",
    etree.ErrorTypes.ERR_UNKNOWN_ENCODING: "HX1003",
    etree.ErrorTypes.ERR_UNSUPPORTED_ENCODING: "HX1003",
    etree.ErrorTypes.ERR_INVALID_ENCODING: "HX1003",
    etree.ErrorTypes.I18N_CONV_FAILED: "HX1003",
    etree.ErrorTypes.NS_ERR_UNDEFINED_NAMESPACE: "HX1007",
}

_PARSER_ADVICE: Final = re.compile(r"[,:]?\s*(?:use|try|see) (?:XML_PARSE_HUGE|xmlCtxt)\w*( option)?\.?$")
"""What libxml2's messages advise its programmers to change."""


def syntax_fault(
    error: etree.XMLSyntaxError, parser: etree.XMLParser, data: bytes, encoding: str | None, file: str | None
) -> Fault:
    entry = next((entry for entry in parser.error_log if entry.level_name != "WARNING"), None)
    if entry is None:
        return Fault("HX1002", error.msg, Position(1, 1, file))
    code = _SYNTAX_CODES.get(entry.type, "HX1002")
    position = Position(max(entry.line, 1), max(entry.column, 1), file)
    message = _PARSER_ADVICE.sub("", entry.message.strip())
    return Fault(code, message, position, excerpt_of(data, entry.line, encoding), HINTS.get(code))


_TOO_MANY: Final = etree.XPath(f"(//*[@*[{MOST_ATTRIBUTES + 1}]])[1]")


def _refuse_many_attributes(root: XmlElement, file: str | None) -> None:
    found = _TOO_MANY(root)
    element = found[0] if isinstance(found, list) and found else None
    if isinstance(element, XmlElement):
        message = f"the element {element.tag} has more than {MOST_ATTRIBUTES} attributes"
        raise InputError(Fault("HX1006", message, Position(line_of(element), 1, file)))


def _refuse_long_namespaces(root: XmlElement, file: str | None) -> None:
    declared: Iterator[tuple[str, tuple[str, str]]] = etree.iterwalk(root, events=("start-ns",))
    for _, (_, namespace) in declared:
        if len(namespace) > MOST_NAMESPACE:
            message = f"a namespace has more than {MOST_NAMESPACE:,} characters"
            raise InputError(Fault("HX1006", message, Position(line_of(root), 1, file)))


_COUNT: Final = etree.XPath("count(descendant-or-self::*)")


def count_elements(element: XmlElement) -> int:
    """How many elements an element and all in it are; they are not looked at one by one.

    >>> count_elements(parse_document("<a><b/>x<b><c/></b></a>").root)
    4
    """
    return int(cast(float, _COUNT(element)))


def tags_of(element: XmlElement) -> Iterator[tuple[str, XmlElement]]:
    """The tags of an element and of all in it, in their order: ``"start"`` or ``"end"``, and the element.

    >>> [(tag, element.tag) for tag, element in tags_of(parse_document("<a><b/></a>").root)]
    [('start', 'a'), ('start', 'b'), ('end', 'b'), ('end', 'a')]
    """
    found: Iterator[tuple[str, XmlElement]] = etree.iterwalk(element, events=("start", "end"))
    return found


def value_namespaces(element: XmlElement) -> dict[str, str]:
    """The prefixes that the values of an element use, those of its attributes and its text if it has no elements
    inside, and what it means by them."""
    values = [*map(str, element.attrib.values()), "" if len(element) else element.text or ""]
    used = [prefix for value in values for prefix in value_prefixes(value)]
    bound = element.nsmap if used else {}
    return {prefix: bound[prefix] for prefix in used if prefix in bound}


def line_of(element: XmlElement) -> int:
    """The line on which an element's start tag ends, 1 where it is not known."""
    line: object = element.sourceline
    return line if isinstance(line, int) else 1

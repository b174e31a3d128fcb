"""The only place where XML text is parsed and written; limits on size, depth and entities; no network.

What a document is here: elements, attributes and text without namespaces. Comments and processing instructions are
dropped when a document is read, and text around them is joined, so a leaf has one text; CDATA sections are text;
entities that the internal subset declares are expanded, and defaults of attributes that it declares are added. A DTD
that DOCTYPE names is never fetched. A document is refused rather than read without something that it refers to.
"""

from __future__ import annotations

import codecs
import copy
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, Protocol, TypeAlias, cast
from xml.parsers import expat

from lxml import etree

from heptox.errors import Fault, InputError, Position

XmlElement: TypeAlias = etree._Element

PARSING: Final = threading.Lock()
"""Held by whoever parses with lxml. What a parser asks for besides its text is answered by a function of the whole
process, which lxml puts in when it begins to parse and takes out when it ends: of two threads that parse at once, one
would get nothing from its resolvers, and read files instead."""

MAXIMUM_SIZE: Final = 1 << 30
"""How many bytes a file may have, unless the caller says otherwise.

The XML parser (libxml2) has limits of its own, which are kept: elements nested 256 deep, 10 million bytes in one text
or attribute value; entities may expand to a million bytes, or five times the size of the document if that is more.
"""

STANDARD_INPUT: Final = "-"
"""The path that stands for standard input."""

MOST_ATTRIBUTES: Final = 1000
"""Attributes of one element at most: lxml looks for the value of each among all of them."""

MOST_PROLOG: Final = 1 << 20
"""Bytes up to the end of the first tag at most: they are read while all other threads wait."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SLICE: Final = 1 << 20
"""Bytes that are looked through at once: other threads wait meanwhile."""
_PROLOG_SLICE: Final = 1 << 16
_LONG_LINE: Final = 4000
"""Bytes of a line that are looked at to show it."""

# -- files -------------------------------------------------------------------------------------------------------


def read_bytes(path: str | os.PathLike[str], *, maximum_size: int = MAXIMUM_SIZE) -> bytes:
    """The content of a file, or of standard input when ``path`` is :data:`STANDARD_INPUT`.

    Raises :class:`InputError`: HX1001 when it cannot be read, HX1006 when it has more than ``maximum_size`` bytes.
    """
    name = file_name(path)
    try:
        if path == STANDARD_INPUT:
            data = sys.stdin.buffer.read(maximum_size + 1)
        else:
            with Path(path).open("rb") as file:
                data = file.read(maximum_size + 1)
    except (OSError, ValueError) as error:
        raise unreadable(name, error) from None
    if len(data) > maximum_size:
        raise InputError(Fault("HX1006", f"has more than {maximum_size} bytes", file=name))
    return data


def read_text(
    path: str | os.PathLike[str],
    *,
    maximum_size: int = MAXIMUM_SIZE,
    errors: Literal["strict", "surrogateescape"] = "strict",
) -> str:
    """The text of a UTF-8 file, or of :data:`STANDARD_INPUT`: without byte order mark, line ends as ``\\n``.

    Raises :class:`InputError`: as :func:`read_bytes`, and HX1003 with a position when the bytes are no UTF-8, unless
    lone surrogates are to stand for those that are none.
    """
    return decode_text(read_bytes(path, maximum_size=maximum_size), file_name(path), errors=errors)


def decode_text(
    data: bytes, file: str | None = None, *, errors: Literal["strict", "surrogateescape"] = "strict"
) -> str:
    """The text of some bytes, which messages call ``file``; as :func:`read_text`."""
    try:
        text = data.decode("utf-8-sig", errors)
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig").split("\n")
        position = Position(len(before), len(before[-1]) + 1, file)
        raise InputError(Fault("HX1003", "the text is not UTF-8", position, hint="save it as UTF-8")) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_dtd_text(path: str | os.PathLike[str], *, maximum_size: int = MAXIMUM_SIZE) -> str:
    """The text of a DTD file, as :func:`decode_dtd`; raises :class:`InputError` as that and :func:`read_bytes`."""
    return decode_dtd(read_bytes(path, maximum_size=maximum_size), file_name(path))


def decode_dtd(data: bytes, file: str | None = None) -> str:
    """The text of a DTD, decoded as its byte order mark or text declaration says; line ends as ``\\n``.

    Raises :class:`InputError` (HX1003) when its encoding is unknown or not kept.
    """
    encoding = "utf-8-sig"
    if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        encoding = "utf-16"
    elif declared := _TEXT_DECLARATION_ENCODING.match(data):
        encoding = declared[1].decode("ascii")
    try:
        text = data.decode(encoding)
    except (LookupError, UnicodeDecodeError):
        fault = Fault("HX1003", f"the text is not in the encoding {encoding.removesuffix('-sig')}", file=file)
        raise InputError(replace(fault, hint=_HINTS["HX1003"])) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


_TEXT_DECLARATION_ENCODING: Final = re.compile(rb"<\?xml\s[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")


def unreadable(file: str | None, error: OSError | ValueError) -> InputError:
    """What to raise (HX1001) for a file, as messages call it, that cannot be opened or read.

    >>> print(unreadable("a.xml", OSError(2, "No such file or directory")))
    a.xml: HX1001 cannot be read: No such file or directory
    """
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return InputError(Fault("HX1001", f"cannot be read: {reason}", file=file))


def file_name(path: str | os.PathLike[str]) -> str:
    """How messages call a file: control characters, and bytes that are not UTF-8, are escaped.

    >>> print(file_name("two\\nlines"))
    two\\x0alines
    """
    name = "<stdin>" if path == STANDARD_INPUT else os.fspath(path)
    name = name.encode(errors="surrogateescape").decode(errors="backslashreplace")
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", name)


# -- parsing -----------------------------------------------------------------------------------------------------


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


def parse_document(text: str | bytes, file: str | None = None, *, most_nodes: int | None = None) -> Document:
    """The document in ``text``; a ``str`` is read as it is, whatever encoding its XML declaration names.

    One that may have over ``most_nodes`` elements and attributes, as far as is seen before it is parsed, is refused.

    Raises :class:`InputError` with a position: HX1002 not well-formed, HX1003 encoding unknown or not kept, HX1004
    external entity, HX1005 entity without a declaration that is read, HX1006 nested or expanded beyond the limits of
    :data:`MAXIMUM_SIZE`, with more than :data:`MOST_ATTRIBUTES` on an element or than ``most_nodes``, or with a first
    tag that does not end within :data:`MOST_PROLOG`, HX1007 namespace. No other file and no network is touched.

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
    prolog = _read_prolog(data, encoding, file)
    if prolog.external_entities:
        raise InputError(_external_entity_fault(found, data, encoding) for found in prolog.external_entities)
    root = _parsed(data, encoding, prolog, file)
    if prolog.unreadable:
        raise InputError(prolog.unreadable)
    _refuse_many_attributes(root, file)
    _refuse_namespaces(root, file)
    if prolog.internal_subset is None or prolog.position is None:
        return Document(root, file)
    position = replace(prolog.position, column=prolog.position.column + 1)
    return Document(root, file, prolog.internal_subset, position)


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
    if not _PLAIN_START.match(data, 0, MOST_PROLOG) or _holds(data, b"xmlns") or _holds(data, b"xml:"):
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
    elif not _holds(data, b"<!ENTITY"):
        return written
    return written + max(1_000_000, _EXPANDED * len(data)) // _SHORTEST


def count_bytes(data: bytes, piece: bytes) -> int:
    """How often some bytes are in others, which other threads need not wait for; what overlaps counts once.

    >>> count_bytes(b"<a><b/></a>", b"</")
    1
    """
    step, overlap = _SLICE, len(piece) - 1
    return sum(data.count(piece, start, start + step + overlap) for start in range(0, len(data), step))


def _holds(data: bytes, piece: bytes) -> bool:
    step, overlap = _SLICE, len(piece) - 1
    return any(data.find(piece, start, start + step + overlap) >= 0 for start in range(0, len(data), step))


def _new_parser(encoding: str | None) -> etree.XMLParser:
    return etree.XMLParser(
        encoding=encoding,
        resolve_entities="internal",  # type: ignore[arg-type]  # the stubs know True and False only
        no_network=True,
        attribute_defaults=True,
        remove_comments=True,
        remove_pis=True,
        huge_tree=False,
    )


_PLAIN_PARSER: Final = _new_parser(None)


def _parsed(data: bytes, encoding: str | None, prolog: _Prolog, file: str | None) -> XmlElement:
    parser = _new_parser(encoding)
    parser.resolvers.add(_NothingElse())
    try:
        with PARSING:
            return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        fault = _syntax_fault(error, parser, data, encoding, file)
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
_HINTS: Final = {
    "HX1003": "save the document as UTF-8",
    "HX1005": "declare it in the internal subset, without parameter entities; an external DTD is not fetched",
    "HX1007": "namespaces are not handled: use names without prefix and xmlns",
}


_PARSER_ADVICE: Final = re.compile(r"[,:]?\s*(?:use|try|see) (?:XML_PARSE_HUGE|xmlCtxt)\w*( option)?\.?$")
"""What libxml2's messages advise its programmers to change."""


def _syntax_fault(
    error: etree.XMLSyntaxError, parser: etree.XMLParser, data: bytes, encoding: str | None, file: str | None
) -> Fault:
    entry = next((entry for entry in parser.error_log if entry.level_name != "WARNING"), None)
    if entry is None:
        return Fault("HX1002", error.msg, Position(1, 1, file))
    code = _SYNTAX_CODES.get(entry.type, "HX1002")
    position = Position(max(entry.line, 1), max(entry.column, 1), file)
    message = _PARSER_ADVICE.sub("", entry.message.strip())
    return Fault(code, message, position, excerpt_of(data, entry.line, encoding), _HINTS.get(code))


def excerpt_of(data: bytes, line: int, encoding: str | None = None) -> str | None:
    """The text of one line, shortened; ``None`` where there is none."""
    wide = data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    start, end = (0, _SLICE) if wide else _line_in(data, line)
    lines = data[start:end].decode(encoding or ("utf-16" if wide else "utf-8"), "replace").split("\n")
    number = line if wide else 1
    return (lines[number - 1].strip()[:120] or None) if 0 < number <= len(lines) else None


def _line_in(data: bytes, line: int) -> tuple[int, int]:
    """Where a line begins, and where its first bytes end; nothing where there is none."""
    start, before = 0, line - 1
    while (ended := data.count(b"\n", start, start + _SLICE)) < before and start < len(data):
        start, before = start + _SLICE, before - ended
    for _ in range(before):
        start = data.find(b"\n", start) + 1
        if not start:
            return 0, 0
    return (start, start + _LONG_LINE) if line > 0 else (0, 0)


_TOO_MANY: Final = etree.XPath(f"(//*[@*[{MOST_ATTRIBUTES + 1}]])[1]")


def _refuse_many_attributes(root: XmlElement, file: str | None) -> None:
    found = _TOO_MANY(root)
    element = found[0] if isinstance(found, list) and found else None
    if isinstance(element, XmlElement):
        message = f"the element {element.tag} has more than {MOST_ATTRIBUTES} attributes"
        raise InputError(Fault("HX1006", message, Position(line_of(element), 1, file)))


def _refuse_namespaces(root: XmlElement, file: str | None) -> None:
    found = root.xpath("(//*[namespace-uri()] | //@*[namespace-uri()]/..)[1]")
    element = found[0] if isinstance(found, list) and found else None
    if not isinstance(element, XmlElement):
        return
    names = [etree.QName(name) for name in (element.tag, *element.attrib)]
    name = next(name for name in names if name.namespace)
    fault = Fault(
        "HX1007",
        f"the name {name.localname} is in the namespace {name.namespace}",
        Position(line_of(element), 1, file),
        hint=_HINTS["HX1007"],
    )
    raise InputError(fault)


_COUNT: Final = etree.XPath("count(descendant-or-self::*)")


def count_elements(element: XmlElement) -> int:
    """How many elements an element and all in it are; they are not looked at one by one.

    >>> count_elements(parse_document("<a><b/>x<b><c/></b></a>").root)
    4
    """
    return int(cast(float, _COUNT(element)))


def line_of(element: XmlElement) -> int:
    """The line on which an element's start tag ends, 1 where it is not known."""
    line: object = element.sourceline
    return line if isinstance(line, int) else 1


# -- the prolog --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Prolog:
    """What stands before the root; ``position`` is that of DOCTYPE's ``[``, ``unreadable`` why it was not read."""

    external_entities: tuple[tuple[str, str, Position], ...] = ()
    internal_subset: str | None = None
    position: Position | None = None
    unreadable: Fault | None = None


class _RootReachedError(Exception):
    """Ends the scan of the prolog."""


def _read_prolog(data: bytes, encoding: str | None, file: str | None) -> _Prolog:
    """Looks at the prolog alone, with a second parser, before anything could be fetched or expanded."""
    external: list[tuple[str, str, Position]] = []
    subset: list[str] = []
    inside: list[bool] = []
    places: list[Position] = []
    parser = _prolog_parser(encoding)

    def declared(name: str, parameter: int, value: str | None, *source: str | None) -> None:
        _, system, _, notation = source
        if value is None and notation is None:
            position = Position(parser.CurrentLineNumber, parser.CurrentColumnNumber + 1, file)
            external.append((f"%{name}" if parameter else name, system or "", position))

    parser.EntityDeclHandler = declared
    unreadable = _scan(parser, data, file)
    reader = _prolog_parser(encoding)

    def doctype(_name: str, _system: str | None, _public: str | None, has_subset: int) -> None:
        inside[:] = [bool(has_subset)]
        places.append(Position(reader.CurrentLineNumber, reader.CurrentColumnNumber + 1, file))

    def end() -> None:
        inside.append(False)

    def text(part: str) -> None:
        if inside == [True]:
            subset.append(part)

    reader.StartDoctypeDeclHandler, reader.EndDoctypeDeclHandler, reader.DefaultHandler = doctype, end, text
    if not unreadable:
        _scan(reader, data, file)
    text_of_subset = "".join(subset) if inside[:1] == [True] else None
    return _Prolog(tuple(external), text_of_subset, places[0] if places else None, unreadable)


def _prolog_parser(encoding: str | None) -> expat.XMLParserType:
    parser = expat.ParserCreate(encoding)

    def stop(_name: str, _attributes: object) -> None:
        raise _RootReachedError

    parser.StartElementHandler = stop
    return parser


def _scan(parser: expat.XMLParserType, data: bytes, file: str | None) -> Fault | None:
    try:
        for start in range(0, min(len(data), MOST_PROLOG), _PROLOG_SLICE):
            parser.Parse(data[start : start + _PROLOG_SLICE], False)
        if len(data) > MOST_PROLOG:
            reason = f"the first tag does not end within {MOST_PROLOG:,} bytes"
            return Fault("HX1006", reason, Position(1, 1, file))
        parser.Parse(b"", True)
    except _RootReachedError:
        return None
    except expat.ExpatError as error:
        message = expat.errors.messages[error.code]
        return Fault("HX1002", message, Position(error.lineno, error.offset + 1, file))
    except (LookupError, ValueError) as error:
        return Fault("HX1003", str(error), Position(1, 1, file), hint=_HINTS["HX1003"])
    return None


def _external_entity_fault(found: tuple[str, str, Position], data: bytes, encoding: str | None) -> Fault:
    name, system, position = found
    return Fault(
        "HX1004",
        f"the entity {name} is external ({system})",
        position,
        excerpt_of(data, position.line, encoding),
        "write its text into the document; other files and the network are not read",
    )


# -- what stands beside the content ------------------------------------------------------------------------------

_BARE_ENCODINGS: Final = frozenset({"utf-8", "utf-16", "us-ascii", "iso-8859-1"})
"""Those in which all readers of XML see the same text."""


class _BesideError(Exception):
    """Something stands beside the content of a document."""


def beside_content(data: bytes) -> str | None:
    """What the bytes of a document hold besides its elements, their attributes and text, with its line; ``None`` for
    nothing.

    That is a comment, a processing instruction, a DOCTYPE, or an XML declaration from which readers may make different
    texts; in what is not well-formed anything may stand.

    >>> beside_content(b"<a>x</a>"), beside_content(b"<a>\\n<!-- c --></a>"), beside_content(b"<!DOCTYPE a><a/>")
    (None, 'line 2: a comment', 'line 1: a DOCTYPE')
    """
    parser = expat.ParserCreate()

    def found(what: str) -> Callable[..., None]:
        def stop(*_: object) -> None:
            raise _BesideError(what)

        return stop

    def declared(version: str, encoding: str | None, _standalone: int) -> None:
        if version != "1.0" or (encoding or "utf-8").lower() not in _BARE_ENCODINGS:
            raise _BesideError("an XML declaration of another version or encoding than most read")

    parser.XmlDeclHandler = declared
    parser.CommentHandler = found("a comment")
    parser.ProcessingInstructionHandler = found("a processing instruction")
    parser.StartDoctypeDeclHandler = found("a DOCTYPE")
    try:
        parser.Parse(data, True)
    except _BesideError as beside:
        return f"line {parser.CurrentLineNumber}: {beside}"
    except (expat.ExpatError, LookupError, ValueError) as error:
        return f"line {parser.CurrentLineNumber}: what is not well-formed: {error}"
    return None


# -- reading piece by piece --------------------------------------------------------------------------------------

MAXIMUM_TAG: Final = 10_000_000
"""How many bytes one tag, comment or instruction may have that :class:`XmlReader` reads, its attributes included."""
EXPANSION: Final = 1_000_000
EXPANSION_RATIO: Final = 5
"""How much a document may come to by entities and defaults that it declares itself: that many characters, or that many
for each byte, if that is more."""

_StartHandler: TypeAlias = Callable[[str, list[str]], None]
_TextHandler: TypeAlias = Callable[[str], None]

_BLOCK: Final = 1 << 18
_LARGE_BLOCK: Final = 1 << 22
_FIRST_BLOCK: Final = 1 << 12
_LONGEST_DECLARATION: Final = 1 << 10


def end_of_last_element(text: bytes) -> int:
    """The place after what looks like the last tag that ends an element, 0 where there is none.

    >>> end_of_last_element(b"<a>x</a>y<b/>z<c></"), end_of_last_element(b"<a>x")
    (13, 0)
    """
    closing = text.rfind(b"</", 0, max(text.rfind(b">"), 0))
    return max(text.find(b">", closing) + 1 if closing >= 0 else 0, text.rfind(b"/>") + 2 if b"/>" in text else 0)


class Readable(Protocol):
    """A source of bytes, such as an open file."""

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes, none at the end."""


class XmlReader:
    """Reads a document piece by piece and keeps nothing of it: tags and texts are told to handlers as they come.

    What a document is stays as everywhere here; its size (:data:`MAXIMUM_SIZE`), its tags (:data:`MAXIMUM_TAG`) and its
    entities (:data:`EXPANSION`) are limited, the depth of elements and the length of a text are not. Names are told as
    they stand: the caller asks :meth:`refuse_namespace` about those that it does not know.

    >>> names: list[str] = []
    >>> from io import BytesIO
    >>> reader = XmlReader(BytesIO(b"<a>x<b/></a>"))
    >>> for _ in reader.read(lambda name, attributes: names.append(name), lambda name: None, lambda text: None): pass
    >>> names
    ['a', 'b']
    """

    def __init__(self, source: Readable, file: str | None = None, *, maximum_size: int = MAXIMUM_SIZE) -> None:
        self._source = source
        self._file = file
        self._maximum_size = maximum_size
        self._parser = expat.ParserCreate(None, None, None)  # no table of names is kept
        self._start = _Start()
        self._more = 0
        self._block = b""
        self._read = 0
        self._parsed = 0
        self._told = 0
        self._inside = False
        self._in_cdata = False
        self._declares = False
        self._expands = False
        self._external: list[tuple[str, str, Position]] = []

    def read(
        self,
        start: _StartHandler,
        end: Callable[[str], None],
        text: _TextHandler,
        take: Callable[[bytes], bool] | None = None,
        *,
        at_once: int = _BLOCK,
    ) -> Iterator[int]:
        """Read on, block by block of about so many bytes; after each comes how many bytes have been read.

        ``start`` takes the name of an element and its attributes (name, value, name, value and so on), ``end`` the
        name, ``text`` a part of a text: parts that come one after the other are one text.

        Who would rather have some parts as they stand gives ``take``, which is asked about a piece before it is read:
        one that comes right after what was told, ends where an element ends, if what looks like a tag is one, and is
        in UTF-8; nothing that the document declares has a say in what it means. Nothing is told of a piece for which
        ``take`` returns true, but it is read all the same, and refused where it is not well-formed.

        Raises :class:`InputError` with a position: HX1001 when the source fails, else as :func:`parse_document`.
        """
        parser = self._parser
        self._handlers = start, text
        parser.ordered_attributes = True
        parser.buffer_text = True
        parser.buffer_size = 4 * at_once
        parser.StartDoctypeDeclHandler = self._open_doctype
        parser.EndDoctypeDeclHandler = self._close_doctype
        parser.SkippedEntityHandler = self._skipped
        parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
        if take is not None:
            parser.StartElementHandler = self._first_start
            parser.StartCdataSectionHandler, parser.EndCdataSectionHandler = self._open_cdata, self._close_cdata
        size = at_once if take is None else _FIRST_BLOCK
        rest = b""
        while True:
            more = self._next(size)
            block = rest + more
            cut = 0 if take is None or not more else end_of_last_element(block)
            self._block, rest = (block[:cut], block[cut:]) if cut else (block, b"")
            if take is not None and cut and self._means_what_it_says() and take(self._block):
                self._parse_untold()
            else:
                self._parse(last=not more)
            yield self._read
            if not more:
                return
            size = max(at_once if take is None else _LARGE_BLOCK, self._pending())

    def tell(self, start: _StartHandler, end: Callable[[str], None], text: _TextHandler | None) -> None:
        """Tell others, from a start tag that is being told on."""
        parser = self._parser
        parser.EndElementHandler = end
        if self._expands and text is not None:
            start, text = self._counted(start, text)
        parser.StartElementHandler, parser.CharacterDataHandler = start, text

    @property
    def position(self) -> Position:
        """Where the tag or text stands that is being told."""
        return self._position(self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber)

    @property
    def offset(self) -> int:
        """How many bytes of the source come before the tag or text that is being told."""
        return self._parser.CurrentByteIndex - self._more

    @property
    def is_literal(self) -> bool:
        """Whether the source is in UTF-8, and nothing that it declares has a say in what it means, once the root has
        begun."""
        return self._start.is_utf8 and not self._declares

    def refuse_namespace(self, name: str) -> None:
        """Raise :class:`InputError` (HX1007) for a name of an element or attribute that belongs to namespaces."""
        if ":" in name or name == "xmlns":
            message = f"the name {name} belongs to namespaces"
            raise InputError(Fault("HX1007", message, self.position, hint=_HINTS["HX1007"]))

    # pieces that may be taken as they stand

    def _means_what_it_says(self) -> bool:
        """Whether the next bytes are content of the root, and stand for themselves."""
        return (
            self._inside
            and not self._in_cdata
            and not self._declares
            and self._start.is_utf8
            and self._parser.CurrentByteIndex == self._parsed + self._start.bytes_more
        )

    def _first_start(self, name: str, attributes: list[str]) -> None:
        self._inside = True
        start, text = self._handlers
        if self._expands:
            start, text = self._counted(start, text)
        self._parser.StartElementHandler, self._parser.CharacterDataHandler = start, text
        start(name, attributes)

    def _open_cdata(self) -> None:
        self._in_cdata = True

    def _close_cdata(self) -> None:
        self._in_cdata = False

    def _parse_untold(self) -> None:
        parser = self._parser
        handlers = parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler
        parser.StartElementHandler = parser.EndElementHandler = parser.CharacterDataHandler = None
        self._parse(last=False)
        parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = handlers

    # blocks

    def _next(self, size: int) -> bytes:
        try:
            block = self._source.read(size)
            while not self._read and 0 < len(block) < _LONGEST_DECLARATION and (more := self._source.read(size)):
                block += more
        except (OSError, ValueError) as error:
            raise unreadable(self._file, error) from None
        if not self._read:
            self._start = _Start.of(block)
            self._more = self._start.bytes_more
        self._read += len(block)
        if self._read > self._maximum_size:
            raise InputError(Fault("HX1006", f"has more than {self._maximum_size} bytes", file=self._file))
        return block

    def _parse(self, *, last: bool) -> None:
        first = not self._parsed
        self._parsed += len(self._block)
        try:
            self._parser.Parse(self._start.replaced(self._block) if first else self._block, last)
        except expat.ExpatError as error:
            raise InputError(self._fault(error)) from None
        except (LookupError, ValueError) as error:
            raise InputError(Fault("HX1003", str(error), Position(1, 1, self._file), hint=_HINTS["HX1003"])) from None

    def _pending(self) -> int:
        """How many bytes wait for the end of their tag: the next block is as long, for all are looked at again."""
        pending = self._parsed + self._start.bytes_more - self._parser.CurrentByteIndex
        if pending > MAXIMUM_TAG:
            message = f"a tag, comment or instruction has more than {MAXIMUM_TAG} bytes"
            raise InputError(Fault("HX1006", message, self.position))
        return pending

    # the prolog

    def _open_doctype(self, _name: str, _system: str | None, _public: str | None, _has_subset: int) -> None:
        self._parser.EntityDeclHandler = self._entity
        self._parser.AttlistDeclHandler = self._attribute
        self._parser.DefaultHandlerExpand = self._declaration

    def _close_doctype(self) -> None:
        parser = self._parser
        parser.DefaultHandlerExpand = None
        if self._external:
            seen = self._block if self._parsed == len(self._block) else b""
            raise InputError(_external_entity_fault(found, seen, None) for found in self._external)
        if self._expands and parser.StartElementHandler != self._first_start:
            parser.StartElementHandler, parser.CharacterDataHandler = self._counted(*self._handlers)

    def _entity(self, name: str, parameter: int, value: str | None, *source: str | None) -> None:
        _, system, _, notation = source
        self._declares = self._expands = True
        if value is None and notation is None:
            self._external.append((f"%{name}" if parameter else name, system or "", self.position))

    def _attribute(self, _element: str, _name: str, _type: str, default: str | None, _required: int) -> None:
        self._declares = True
        self._expands = self._expands or default is not None

    def _declaration(self, part: str) -> None:
        if _PARAMETER_REFERENCE.fullmatch(part):
            self._skipped(part[1:-1], 1)

    def _skipped(self, name: str, parameter: int) -> None:
        message = f"the {'parameter ' if parameter else ''}entity {name} is not read"
        raise InputError(Fault("HX1005", message, self.position, hint=_HINTS["HX1005"]))

    def _counted(self, start: _StartHandler, text: _TextHandler) -> tuple[_StartHandler, _TextHandler]:
        def counted_start(name: str, attributes: list[str]) -> None:
            self._tell(len(name) + sum(map(len, attributes)))
            start(name, attributes)

        def counted_text(part: str) -> None:
            self._tell(len(part))
            text(part)

        return counted_start, counted_text

    def _tell(self, characters: int) -> None:
        self._told += characters
        if self._told > max(EXPANSION, EXPANSION_RATIO * self._read):
            message = "the document comes to too much by the entities and defaults that it declares"
            raise InputError(Fault("HX1006", message, self.position))

    # faults

    def _position(self, line: int, column: int) -> Position:
        more = self._start.columns_more if line == self._start.line else 0
        return Position(line, max(column - more, 0) + 1, self._file)

    def _fault(self, error: expat.ExpatError) -> Fault:
        message = expat.errors.messages[error.code]
        offset = self._parser.ErrorByteIndex - self._start.bytes_more - (self._parsed - len(self._block))
        code = _EXPAT_CODES.get(message, "HX1002")
        hint = _HINTS.get(code)
        if message == expat.errors.XML_ERROR_INVALID_TOKEN and self._start.is_misspelt(self._block, offset):
            code, message = "HX1003", "the bytes are not in the encoding of the document"
            hint = _HINTS[code]
        elif message == expat.errors.XML_ERROR_INVALID_TOKEN and self._block[offset : offset + 1] > b"\x7f":
            hint = "names have the letters of XML 1.0 up to its fourth edition here"
        position = self._position(error.lineno, error.offset)
        return Fault(code, message, position, self._start.excerpt(self._block, offset), hint)


_PARAMETER_REFERENCE: Final = re.compile("%[^%;]+;")
_EXPAT_CODES: Final = {
    expat.errors.XML_ERROR_UNDEFINED_ENTITY: "HX1005",
    expat.errors.XML_ERROR_ENTITY_DECLARED_IN_PE: "HX1005",
    expat.errors.XML_ERROR_RECURSIVE_ENTITY_REF: "HX1006",
    expat.errors.XML_ERROR_AMPLIFICATION_LIMIT_BREACH: "HX1006",
    expat.errors.XML_ERROR_UNKNOWN_ENCODING: "HX1003",
    expat.errors.XML_ERROR_INCORRECT_ENCODING: "HX1003",
}
_XML_DECLARATION: Final = re.compile(r"<\?xml\s[^>]*?\?>")
_ENCODING: Final = re.compile(r"encoding\s*=\s*([\"'])([^\"']+)\1")
_ALONE: Final = ' standalone="yes"?>'


@dataclass(frozen=True, slots=True)
class _Start:
    """How a document begins: its encoding as far as that says where characters are, and its XML declaration.

    The parser is told that the document stands alone. Else, where DOCTYPE names a DTD (which is not read), it would let
    entities pass that are not declared, and drop them from the values of attributes.
    """

    codec: str = "latin-1"
    mark: bytes = b""
    old: str = ""
    new: str = ""

    @classmethod
    def of(cls, block: bytes) -> _Start:
        codec, sign = next(((codec, sign) for codec, sign in _SIGNS if block.startswith(sign)), ("latin-1", b""))
        mark = sign if sign in _MARKS else b""
        found = _XML_DECLARATION.match(block[len(mark) : _LONGEST_DECLARATION].decode(codec, "ignore"))
        old = found[0] if found else ""
        if "standalone" in old:
            return cls(codec, mark, old, re.sub(r"(standalone\s*=\s*)([\"'])no\2", r"\1\2yes\2", old))
        return cls(codec, mark, old, (old[:-2] if old else '<?xml version="1.0"') + _ALONE)

    def replaced(self, block: bytes) -> bytes:
        """The first block, with the other declaration."""
        if not block:
            return block
        return self.mark + self.new.encode(self.codec) + block[len(self.mark) + len(self.old.encode(self.codec)) :]

    @property
    def is_utf8(self) -> bool:
        named = _ENCODING.search(self.old)
        return self.codec == "latin-1" and (named is None or named[2].lower() in {"utf-8", "us-ascii"})

    @property
    def line(self) -> int:
        """The line on which the declaration ends."""
        return 1 + self.old.count("\n")

    @property
    def columns_more(self) -> int:
        return len(self.new) - len(self.old)

    @property
    def bytes_more(self) -> int:
        return len(self.new.encode(self.codec)) - len(self.old.encode(self.codec))

    def is_misspelt(self, block: bytes, offset: int) -> bool:
        """Whether the bytes at an offset are no character of the document's encoding."""
        if not 0 <= offset < len(block):
            return False
        named = _ENCODING.search(self.old)
        encoding = self.codec if self.codec != "latin-1" else named[2] if named else "utf-8"
        try:
            codecs.getincrementaldecoder(encoding)().decode(block[offset : offset + 4])
        except UnicodeDecodeError as error:
            return error.start == 0
        except LookupError:
            pass
        return False

    def excerpt(self, block: bytes, offset: int) -> str | None:
        """The part of the line around an offset that this block has."""
        if not 0 <= offset <= len(block):
            return None
        codec = "utf-8" if self.codec == "latin-1" else self.codec
        before = block[max(0, offset - 240) : offset].decode(codec, "replace").rpartition("\n")[2]
        after = block[offset : offset + 240].decode(codec, "replace").partition("\n")[0]
        return (before[-80:] + after).strip()[:120] or None


_MARKS: Final = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SIGNS: Final = (
    *zip(("latin-1", "utf-16-le", "utf-16-be"), _MARKS, strict=True),
    ("utf-16-le", b"<\0"),
    ("utf-16-be", b"\0<"),
)


# -- trees of parts of a document ---------------------------------------------------------------------------------

PIECE: Final = 1 << 15
"""About how many bytes a :class:`PieceReader` reads before it cuts, where it may."""


@dataclass(frozen=True, slots=True)
class Outline:
    """Where a document may be cut: between the children of an element, as this says for each name of a child.

    ``None`` is said of children that are to stay whole. Of names that are not there nothing is asked: elements of them
    may be cut anywhere.
    """

    below: Mapping[str, Outline | None]


_ANYTHING: Final = Outline({})


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a document as a tree, from one cut to the next.

    ``begun`` are the elements, from the root down, that began before; of these there are only the names here. ``open``
    are those that go on behind. ``begin`` is where the part begins.
    """

    root: XmlElement
    begun: tuple[XmlElement, ...]
    open: tuple[XmlElement, ...]
    begin: Position


class PieceTooLargeError(Exception):
    """More of a document would have to be held as one :class:`Piece` than may be."""


class PieceReader:
    """Reads a document as trees of its parts, one after the other, and keeps nothing of those that have gone.

    What a document is stays as everywhere here. Each part is limited as :func:`parse_document` limits documents; how
    large a document is altogether is not, unless the caller says so.

    >>> from io import BytesIO
    >>> outline = Outline({"a": Outline({"b": None})})
    >>> reader = PieceReader(BytesIO(b"<a><b>x</b><b>y</b></a>" + b" " * 2000), outline, size=4)
    >>> [write_element(piece.root) for piece in reader.read(5000)]
    ['<a><b>x</b><b>y</b></a>']
    """

    def __init__(
        self,
        source: Readable,
        outline: Outline,
        file: str | None = None,
        *,
        size: int = PIECE,
        maximum_size: int = sys.maxsize,
    ) -> None:
        self._file = file
        self._size = size
        self._source = _Kept(source)
        self._reader = XmlReader(self._source, file, maximum_size=maximum_size)
        self._parser = _new_parser(None)
        self._written: _Markup | None = None
        self._outlines = [outline]
        self._names: list[str] = []
        self._whole: str | None = None
        self._may_cut = False
        self._cut: _Cut | None = None
        self._last = _Cut((), b"", Position(1, 1, file))

    @property
    def path(self) -> tuple[str, ...]:
        """The names of the elements that are open, the root first, down to one that has to stay whole."""
        return (*self._names, self._whole) if self._whole else tuple(self._names)

    def read(self, most: int) -> Iterator[Piece]:
        """The parts in their order.

        Raises :class:`InputError` as :meth:`XmlReader.read`, and :class:`PieceTooLargeError` where more than ``most``
        bytes, or characters, would have to be held for one part.
        """
        for _ in self._reader.read(self._first, lambda _: None, lambda _: None, at_once=self._size):
            if self._cut is not None:
                yield self._piece(self._cut)
                self._cut = None
            if len(self._source.kept) + (self._written.length if self._written else 0) > most:
                raise PieceTooLargeError
            self._may_cut = True
        yield self._piece(_Cut((), self._taken(None), self._reader.position))

    # what the reader tells

    def _first(self, name: str, attributes: list[str]) -> None:
        """The start tag of the root; from then on others are told."""
        self._source.take(self._reader.offset)
        self._last = _Cut((), b"", self._reader.position)
        start, end = self._handlers()
        if self._reader.is_literal:
            self._reader.tell(start, end, None)
        else:
            self._source.keeps = False
            written = self._written = _Markup()

            def written_start(name: str, attributes: list[str]) -> None:
                start(name, attributes)
                written.start(name, attributes)

            def written_end(name: str) -> None:
                end(name)
                written.end(name)

            self._reader.tell(written_start, written_end, written.text)
            written.start(name, attributes)
        self._may_cut = False
        start(name, attributes)

    def _handlers(self) -> tuple[_StartHandler, Callable[[str], None]]:
        """What follows the elements that are open. It is called for each tag, so all that it needs is at hand."""
        outlines, names = self._outlines, self._names
        inside = 0

        def start(name: str, _: list[str]) -> None:
            nonlocal inside
            if inside:
                inside += 1
                return
            if self._may_cut:
                self._cut_here()
            outline = outlines[-1].below.get(name, _ANYTHING)
            if outline is None:
                inside = 1
                self._whole = name
            else:
                outlines.append(outline)
                names.append(name)

        def end(_: str) -> None:
            nonlocal inside
            if not inside:
                outlines.pop()
                names.pop()
                return
            inside -= 1
            if not inside:
                self._whole = None

        return start, end

    # pieces

    def _cut_here(self) -> None:
        """Before an element whose parent may be cut."""
        self._may_cut = False
        reader = self._reader
        self._cut = _Cut(tuple(self._names), self._taken(reader.offset), reader.position)

    def _taken(self, offset: int | None) -> bytes:
        return self._source.take(offset) if self._written is None else self._written.take()

    def _piece(self, cut: _Cut) -> Piece:
        last, self._last = self._last, cut
        before = "".join(f"<{name}>" for name in last.names).encode()
        after = "".join(f"</{name}>" for name in reversed(cut.names)).encode()
        try:
            root = self._tree(before + cut.before + after)
        except InputError as error:
            raise InputError(_moved(fault, last.position, len(before)) for fault in error.faults) from None
        return Piece(root, _line(root, len(last.names), 0), _line(root, len(cut.names), -1), last.position)

    def _tree(self, data: bytes) -> XmlElement:
        try:
            with PARSING:
                root = etree.fromstring(data, self._parser)
        except etree.XMLSyntaxError as error:
            raise InputError(_syntax_fault(error, self._parser, data, None, self._file)) from None
        if b"xmlns" in data or b"xml:" in data:
            _refuse_namespaces(root, self._file)
        return root


@dataclass(frozen=True, slots=True)
class _Cut:
    """Where a document is cut: the elements that are open, what stands between the cut before and this one, and the
    place."""

    names: tuple[str, ...]
    before: bytes
    position: Position


class LiteralSource:
    """What a document means, as a source in UTF-8 in which nothing is declared: entities and defaults are in place.

    >>> from io import BytesIO
    >>> LiteralSource(BytesIO(b"<!DOCTYPE a [<!ENTITY e '<b/>'>]><a>&e;</a>")).read(100)
    b'<a><b></b></a>'
    """

    def __init__(self, source: Readable, file: str | None = None, *, maximum_size: int = MAXIMUM_SIZE) -> None:
        self._markup = _Markup()
        reader = XmlReader(source, file, maximum_size=maximum_size)
        self._blocks = reader.read(self._markup.start, self._markup.end, self._markup.text)
        self._waiting = bytearray()

    def read(self, size: int, /) -> bytes:
        """As :meth:`Readable.read`. Raises :class:`InputError` as :meth:`XmlReader.read`."""
        while len(self._waiting) < size and next(self._blocks, None) is not None:
            self._waiting += self._markup.take()
        data = bytes(self._waiting[:size])
        del self._waiting[:size]
        return data


class _Kept:
    """A source that keeps what was read of it until that is taken."""

    def __init__(self, source: Readable) -> None:
        self.kept = bytearray()
        self.keeps = True
        self._source = source
        self._taken = 0

    def read(self, size: int, /) -> bytes:
        data = self._source.read(size)
        if self.keeps:
            self.kept += data
        return data

    def take(self, offset: int | None) -> bytes:
        """What is kept before an offset of the source."""
        length = len(self.kept) if offset is None else offset - self._taken
        taken = bytes(self.kept[:length])
        del self.kept[:length]
        self._taken += length
        return taken


class _Markup:
    """The text of a document that is told, in UTF-8: all that it declares has been put in its place."""

    def __init__(self) -> None:
        self.length = 0
        self._parts: list[str] = []

    def start(self, name: str, attributes: list[str]) -> None:
        self._add(start_tag(name, attributes))

    def end(self, name: str) -> None:
        self._add(f"</{name}>")

    def text(self, part: str) -> None:
        self._add(part.translate(_IN_TEXT))

    def take(self) -> bytes:
        """What has come since it was asked last."""
        taken = "".join(self._parts).encode()
        self._parts.clear()
        self.length = 0
        return taken

    def _add(self, part: str) -> None:
        self._parts.append(part)
        self.length += len(part)


_IN_TEXT: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_IN_VALUE: Final = _IN_TEXT | str.maketrans({'"': "&quot;", "\t": "&#9;", "\n": "&#10;"})


def start_tag(name: str, attributes: list[str]) -> str:
    """A start tag with attributes (name, value, name, value and so on).

    >>> start_tag("a", ["b", '"'])
    '<a b="&quot;">'
    """
    if not attributes:
        return f"<{name}>"
    pairs = zip(attributes[::2], attributes[1::2], strict=True)
    return f"<{name}{''.join(f' {each}={_quoted(value)}' for each, value in pairs)}>"


def _quoted(value: str) -> str:
    return f'"{value.translate(_IN_VALUE)}"'


def _line(root: XmlElement, length: int, place: int) -> tuple[XmlElement, ...]:
    """The first or last element of each level, from the root down, so many."""
    line = [root] if length else []
    while len(line) < length:
        line.append(line[-1][place])
    return tuple(line)


def _moved(fault: Fault, begin: Position, before: int) -> Fault:
    """A fault of a text that begins elsewhere, behind so many bytes."""
    position = fault.position
    if position is None:
        return fault
    column = position.column + (max(begin.column - 1 - before, 0) if position.line == 1 else 0)
    return replace(fault, position=Position(position.line + begin.line - 1, column, position.file))


# -- writing -----------------------------------------------------------------------------------------------------


def write_element(element: XmlElement) -> str:
    """One element as XML text, without what follows it; it reads back as the same element.

    >>> write_element(parse_document("<a b='x&quot;'>1 &lt; 2</a>").root)
    '<a b="x&quot;">1 &lt; 2</a>'
    """
    return etree.tostring(element, encoding="unicode", with_tail=False)


def write_between(root: XmlElement, first: XmlElement | None, last: XmlElement | None) -> bytes | None:
    """What stands between the start tag of ``first`` and the end tag of ``last``, in UTF-8; from the start, or to the
    end, where that is ``None``. The tree is changed by that.

    Before it may be nothing but start tags without attributes, behind it nothing but end tags: ``None`` where more is
    there.

    >>> root = parse_document("<a><b>x<c/>y</b></a>").root
    >>> write_between(root, root[0][0], None), write_between(root, root[0], root[0])
    (None, b'x<c><_/></c>y')
    """
    before = after = ""
    if first is not None:
        mark = first.makeelement(_MARK)
        mark.tail, first.text = first.text, None
        first.insert(0, mark)
        before = "".join(f"<{element.tag}>" for element in (*reversed([*first.iterancestors()]), first)) + f"<{_MARK}/>"
    if last is not None:
        last.append(last.makeelement(_MARK))
        after = f"<{_MARK}/>" + "".join(f"</{element.tag}>" for element in (last, *last.iterancestors()))
    written = etree.tostring(root, encoding="utf-8", with_tail=False)
    begin, end = before.encode(), after.encode()
    if not written.startswith(begin) or not written.endswith(end):
        return None
    return written[len(begin) : len(written) - len(end)]


_MARK: Final = "_"


def write_document(element: XmlElement, *, indent: bool = False) -> str:
    """An element as a document that ends with a line end; to be stored as UTF-8, for it has no XML declaration.

    ``indent`` gives each element a line of its own where a parent holds elements only; other content is left as it is.

    >>> print(write_document(parse_document("<a><b>x</b><c>y<d/></c></a>").root, indent=True), end="")
    <a>
      <b>x</b>
      <c>y<d/></c>
    </a>
    """
    if indent:
        element = copy.deepcopy(element)
        _indent(element, "\n")
    return write_element(element) + "\n"


def _indent(element: XmlElement, line: str) -> None:
    children = list(element)
    if not children or any(text and not text.isspace() for text in (element.text, *(child.tail for child in children))):
        return
    element.text = f"{line}  "
    for child in children:
        _indent(child, f"{line}  ")
        child.tail = f"{line}  "
    children[-1].tail = line


# -- names -------------------------------------------------------------------------------------------------------

_NAME_START: Final = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd"
)
_NAME_CHARACTER: Final = _NAME_START + r"\-.0-9\u00b7\u0300-\u036f\u203f-\u2040"
_TO_ESCAPE: Final = re.compile(rf"_(?=x)|^[^{_NAME_START}]|[^{_NAME_CHARACTER}]")
ESCAPE_PATTERN: Final = (
    "_x((00)?(000[9AD]|00[2-9A-F][0-9A-F]|0[1-9A-F][0-9A-F]{2}|[1-9A-CE][0-9A-F]{3}|D[0-7][0-9A-F]{2}"
    "|F[0-9A-E][0-9A-F]{2}|FF[0-9A-E][0-9A-F]|FFF[0-9A-D])|(0[1-9A-F]|10)[0-9A-F]{4})_"
)
"""An escape of an XML character in a name, its code the first group; a pattern of Python and of XPath alike."""
EMPTY_PATTERN: Final = "_x(00)?0000_"
"""A name that stands for the empty value, as a pattern of Python and of XPath."""
_ESCAPED: Final = re.compile(ESCAPE_PATTERN)
_NO_XML_CHARACTER: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PIECE: Final = re.compile(rf"{_ESCAPED.pattern.replace('(', '(?:')}|.", re.DOTALL)
_EMPTY: Final = "_x0000_"


def escaped_name(value: str) -> str:
    """The XML name (an ``NCName``) that stands for any ``value``: the SQL/XML escape (``semantics.md`` section 2).

    A character that may not stand where it does becomes ``_xHHHH_``, one above FFFF ``_xHHHHHH_``; the ``_`` of ``_x``
    is escaped too, and the empty value is ``_x0000_``. Different values have different names.

    Raises ``ValueError`` for a character that XML cannot hold at all: no document has such a value.

    >>> escaped_name("Chest pain/acute"), escaped_name("4 mg"), escaped_name("_x"), escaped_name("")
    ('Chest_x0020_pain_x002F_acute', '_x0034__x0020_mg', '_x005F_x', '_x0000_')
    """
    if found := _NO_XML_CHARACTER.search(value):
        raise ValueError(f"U+{ord(found[0]):04X} is no XML character")
    return _TO_ESCAPE.sub(lambda found: _escaped_character(found[0]), value) or _EMPTY


def name_spellings(value: str) -> Iterator[str]:
    """Names that :func:`unescaped_name` reads as ``value``, the plain :func:`escaped_name` first.

    The others escape leading characters that need no escape, one more each time; an escape that was needed takes its
    long form. No name is a spelling of two values, since each is read in one way.

    >>> list(name_spellings("Of"))
    ['Of', '_x004F_f', '_x004F__x0066_']
    >>> list(name_spellings("_x"))
    ['_x005F_x', '_x00005F_x', '_x00005F__x0078_']
    """
    name = escaped_name(value)
    yield name
    pieces = _PIECE.findall(name) if value else [name]
    for place, piece in enumerate(pieces):
        if len(piece) <= len("_xHHHH_"):
            pieces[place] = f"_x00{piece[2:]}" if len(piece) > 1 else _escaped_character(piece)
            yield "".join(pieces)


def _escaped_character(character: str) -> str:
    code = ord(character)
    return f"_x{code:04X}_" if code <= 0xFFFF else f"_x{code:06X}_"


def unescaped_name(name: str) -> str:
    """The value behind a name that :func:`escaped_name` made; what is no escape stays as it is.

    Escapes are decoded wherever they stand, also of characters that need none (``_x0041_`` is ``A``); so
    ``escaped_name(unescaped_name(name)) == name`` tells whether a name was made by :func:`escaped_name`.

    >>> unescaped_name("Chest_x0020_pain_x002F_acute"), unescaped_name("_x0000_"), unescaped_name("snake_xyz")
    ('Chest pain/acute', '', 'snake_xyz')
    """
    return "" if re.fullmatch(EMPTY_PATTERN, name) else _ESCAPED.sub(lambda found: chr(int(found[1], 16)), name)

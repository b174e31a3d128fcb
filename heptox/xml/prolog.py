"""What stands before the first tag of a document: its DOCTYPE, and what that declares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from xml.parsers import expat

from heptox.errors import Fault, Position
from heptox.xml.files import HINTS, excerpt_of
from heptox.xml.namespaces import Prefixes

MOST_PROLOG: Final = 1 << 20
"""Bytes up to the end of the first tag at most: they are read while all other threads wait."""

_PROLOG_SLICE: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Prolog:
    """What stands before the root; ``position`` is that of DOCTYPE's ``[``, ``unreadable`` why it was not read."""

    external_entities: tuple[tuple[str, str, Position], ...] = ()
    internal_subset: str | None = None
    position: Position | None = None
    unreadable: Fault | None = None


class _RootReachedError(Exception):
    """Ends the scan of the prolog."""


def read_prolog(data: bytes, encoding: str | None, file: str | None) -> Prolog:
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
    return Prolog(tuple(external), text_of_subset, places[0] if places else None, unreadable)


def identifying_attributes(internal_subset: str) -> list[tuple[str, str, str]]:
    """The attributes that an internal subset declares to be identifiers or references: of which element type, which
    one, and ``ID``, ``IDREF`` or ``IDREFS``.

    >>> identifying_attributes("<!ATTLIST a k ID #IMPLIED n CDATA #IMPLIED r IDREF #IMPLIED>")
    [('a', 'k', 'ID'), ('a', 'r', 'IDREF')]
    """
    found: list[tuple[str, str, str]] = []
    parser = expat.ParserCreate()

    def declared(element: str, attribute: str, kind: str, _default: str | None, _required: int) -> None:
        if kind in ("ID", "IDREF", "IDREFS"):
            found.append((element, attribute, kind))

    parser.AttlistDeclHandler = declared
    _scan(parser, f"<!DOCTYPE subset [{internal_subset}]><subset/>".encode(), None)
    return found


def root_prefixes(data: bytes) -> Prefixes:
    """The prefixes that the root of a document binds, as far as its beginning can be read.

    >>> root_prefixes(b"<a xmlns='urn:a' xmlns:b='urn:b'><c xmlns:d='urn:d'/></a>").bound
    (('', 'urn:a'), ('b', 'urn:b'))
    """
    return _root(data)[1]


def root_name(data: bytes) -> str | None:
    """The name of the root of a document, ``None`` where its beginning cannot be read.

    >>> root_name(b"<a xmlns='urn:a'/>"), root_name(b"<!ELEMENT a EMPTY>")
    ('{urn:a}a', None)
    """
    return _root(data)[0]


def _root(data: bytes) -> tuple[str | None, Prefixes]:
    bound: dict[str, str] = {}
    names: list[str] = []
    parser = expat.ParserCreate(None, "}")

    def bind(prefix: str | None, namespace: str | None) -> None:
        bound[prefix or ""] = namespace or ""

    def stop(name: str, _attributes: object) -> None:
        names.append(f"{{{name}" if "}" in name else name)
        raise _RootReachedError

    parser.StartNamespaceDeclHandler, parser.StartElementHandler = bind, stop
    _scan(parser, data, None)
    return names[0] if names else None, Prefixes.of(bound)


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
        return Fault("HX1003", str(error), Position(1, 1, file), hint=HINTS["HX1003"])
    return None


def external_entity_fault(found: tuple[str, str, Position], data: bytes, encoding: str | None) -> Fault:
    name, system, position = found
    return Fault(
        "HX1004",
        f"the entity {name} is external ({system})",
        position,
        excerpt_of(data, position.line, encoding),
        "write its text into the document; other files and the network are not read",
    )

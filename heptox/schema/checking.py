"""Whether documents are valid for a schema: a DTD, by heptox itself, or an XSD, by libxml2 or xmlschema."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from itertools import count, islice
from typing import Any, Final

from lxml import etree

from heptox.bounded import WorkLimits
from heptox.errors import Fault, Position, near_names
from heptox.schema.dtd import Paths
from heptox.schema.libxml import compiled
from heptox.schema.model import SchemaGraph
from heptox.schema.reading import READING, bounded, read_schema, read_xsd, schema_files
from heptox.schema.validation import MAXIMUM_FAULTS, other_schema_fault, stream_faults
from heptox.schema.xsd_files import SchemaFiles, global_elements
from heptox.xml import (
    XSI_LOCATIONS,
    Document,
    Prefixes,
    XmlElement,
    file_name,
    line_of,
    parse_document,
    read_bytes,
)

MOST_COUNTED: Final = 10_000
"""Faults of one document at most that are counted."""

_CLARK: Final = re.compile(r"\{([^{}\s]*)\}([\w.\-*]+)")
_NAMED: Final = re.compile(r"Element '([^']+)'")
_SUBJECT: Final = re.compile(r"^Element '[^']*'(?:, attribute ('[^']*'))?: ")
_LONGEST_MESSAGE: Final = 300


@dataclass(frozen=True, slots=True)
class DocumentFaults:
    """What keeps a document from being valid: how many faults it has, and the first of them."""

    count: int
    faults: tuple[Fault, ...]

    @property
    def is_valid(self) -> bool:
        return not self.count


class DocumentChecker(ABC):
    """Checks documents against one schema."""

    def check(self, path: str | os.PathLike[str]) -> DocumentFaults:
        """The faults of a document in a file, as :meth:`faults_of`; raises as that and :func:`read_bytes`."""
        return self.faults_of(read_bytes(path), file_name(path))

    @abstractmethod
    def faults_of(self, data: bytes, file: str) -> DocumentFaults:
        """The faults of a document, at most :data:`MAXIMUM_FAULTS` of them, each with its line and its path: HX2007,
        or HX2013 where it is of another schema.

        Raises :class:`InputError` as :func:`parse_document`, :class:`SchemaError` (HX2035) where it takes too much.
        """


def document_checker(path: str | os.PathLike[str], root: str | None = None, catalogues: Paths = ()) -> DocumentChecker:
    """What checks documents against the schema in a file, which is an XSD, a DTD, or the text of a schema graph; the
    documents of an XSD may have any of its global elements as their root, unless one is named.

    Raises as :func:`read_schema`.
    """
    return xsd_checker(path, root, catalogues) or _ByGraph(read_schema(path, root, catalogues))


def xsd_checker(
    path: str | os.PathLike[str], root: str | None = None, catalogues: Paths = ()
) -> DocumentChecker | None:
    """As :func:`document_checker` for the XSD in a file; ``None`` where it is none."""
    if read_xsd(path) is None:
        return None
    named = None if root is None else read_schema(path, root, catalogues).root
    asked = _Asked(next(_numbers), path, named, tuple(catalogues))
    bounded(READING, path, "to read the schema", _prepared, asked)
    return _Elsewhere(asked)


@dataclass(frozen=True, slots=True)
class _ByGraph(DocumentChecker):
    """By heptox itself."""

    graph: SchemaGraph

    def faults_of(self, data: bytes, file: str) -> DocumentFaults:
        faults = stream_faults(BytesIO(data), self.graph, file, most=MOST_COUNTED)
        return DocumentFaults(len(faults), faults[:MAXIMUM_FAULTS])


# -- XSDs ------------------------------------------------------------------------------------------------------------

_numbers: Final = count()


@dataclass(frozen=True, slots=True)
class _Asked:
    """What documents are checked against: an XSD as it is when first checked, and the root that they must have, if it
    is said. The ``number`` tells one checker from another."""

    number: int
    path: str | os.PathLike[str]
    root: str | None
    catalogues: Paths


@dataclass(frozen=True, slots=True)
class _Elsewhere(DocumentChecker):
    """By a process that may be lost: patterns and assertions can take any time and memory."""

    asked: _Asked

    def faults_of(self, data: bytes, file: str) -> DocumentFaults:
        return bounded(_checking(len(data)), file, "to check the document", _faults_of, self.asked, data, file)


def _checking(size: int) -> WorkLimits:
    """What it may cost to check a document of so many bytes."""
    seconds = 10 + size // 20_000
    return WorkLimits(seconds, 10.0 * seconds, memory=2**30 + 60 * size, result_bytes=2**28)


def _prepared(asked: _Asked) -> None:
    _checker(asked)


def _faults_of(asked: _Asked, data: bytes, file: str) -> DocumentFaults:
    return _checker(asked).faults_of(data, file)


@lru_cache(maxsize=1)
def _checker(asked: _Asked) -> DocumentChecker:
    files = schema_files(asked.path, asked.catalogues)
    found = compiled(files)
    return _ByProcessor(files, asked.root) if found is None else _ByLibxml(found, files, asked.root)


class _ByXsd(DocumentChecker):
    """What documents of an XSD have in common; ``root`` is the one that they must have, if any."""

    def __init__(self, files: SchemaFiles, root: str | None) -> None:
        self._root = root
        self._roots = frozenset(global_elements(files))

    def faults_of(self, data: bytes, file: str) -> DocumentFaults:
        document = parse_document(data, file)
        if self._root is not None and (fault := other_schema_fault(document, self._root)):
            return DocumentFaults(1, (fault,))
        if document.root.tag not in self._roots:
            return DocumentFaults(1, (self._root_fault(document),))
        for element in document.root.iter("*"):
            for name in XSI_LOCATIONS:  # what a document says about its schema is neither read nor checked
                element.attrib.pop(name, "")
        found = islice(self._faults(document), MOST_COUNTED)
        faults = tuple(islice(found, MAXIMUM_FAULTS))
        return DocumentFaults(len(faults) + sum(1 for _ in found), faults)

    def _root_fault(self, document: Document) -> Fault:
        written = _prefixes(document).written
        name = written(str(document.root.tag))
        near = near_names(name, map(written, self._roots), 3)
        hint = f"such as {', '.join(near)}" if near else "the document is of another schema"
        position = Position(line_of(document.root), 1, document.file)
        return Fault("HX2013", f"the root element is {name}, which the schema does not declare", position, hint=hint)

    @abstractmethod
    def _faults(self, document: Document) -> Iterator[Fault]:
        """All faults of a document, in their order."""


class _ByLibxml(_ByXsd):
    """By libxml2, which knows XSD 1.0."""

    def __init__(self, schema: etree.XMLSchema, files: SchemaFiles, root: str | None) -> None:
        super().__init__(files, root)
        self._schema = schema

    def _faults(self, document: Document) -> Iterator[Fault]:
        tree = document.root.getroottree()
        try:
            if self._schema.validate(tree):
                return
        except etree.XMLSchemaValidateError:  # it has not decided, for want of memory
            raise MemoryError from None
        entries: Iterable[Any] = self._schema.error_log  # type: ignore[assignment]  # the stubs know no entries
        lines = _Lines(document.root)
        for entry in entries:
            path = getattr(entry, "path", None)
            element = _element_at(document.root, path) if path else lines.element(entry)
            yield _fault(document, element, entry.message, entry.line)


class _ByProcessor(_ByXsd):
    """By xmlschema, which knows XSD 1.1 too."""

    def __init__(self, files: SchemaFiles, root: str | None) -> None:
        super().__init__(files, root)
        from heptox.schema.xsd import processor_of  # loaded only where libxml2 cannot do it

        self._processor = processor_of(files)

    def _faults(self, document: Document) -> Iterator[Fault]:
        errors: Iterable[Any] = self._processor.iter_errors(document.root)
        for error in errors:
            yield _fault(document, error.elem, error.reason or error.message, error.sourceline)


class _Lines:
    """The elements of which libxml2 speaks without a path, as it does of keys: by their names and lines."""

    def __init__(self, root: XmlElement) -> None:
        self._root = root
        self._known: dict[tuple[str, int], dict[tuple[str, ...], XmlElement]] = {}

    def element(self, entry: Any) -> XmlElement | None:
        """That of one fault; ``None`` where several of its name on its line have different paths."""
        if (subject := _NAMED.match(entry.message)) is None:
            return None
        if not self._known:
            for element in self._root.iter(etree.Element):
                self._known.setdefault((str(element.tag), line_of(element)), {}).setdefault(_tags(element), element)
        found = self._known.get((subject[1], entry.line), {})
        return next(iter(found.values())) if len(found) == 1 else None


def _tags(element: XmlElement) -> tuple[str, ...]:
    """The names from the root to an element."""
    return tuple(reversed([str(each.tag) for each in (element, *element.iterancestors())]))


def _element_at(root: XmlElement, path: str) -> XmlElement | None:
    try:
        found: Any = root.getroottree().xpath(path, namespaces={key: uri for key, uri in root.nsmap.items() if key})
    except etree.XPathError:
        return None
    return found[0] if found and isinstance(found[0], etree._Element) else None


def _fault(document: Document, element: XmlElement | None, message: str, line: int | None) -> Fault:
    """A fault of a document, with the names that it has itself."""
    prefixes = _prefixes(document)
    # libxml2 says first of which element it speaks, and so do the path and the line here
    message = _SUBJECT.sub(lambda found: f"attribute {found[1]}: " if found[1] else "", message)
    message = _CLARK.sub(lambda found: prefixes.written(found[0]), " ".join(message.split()))
    path = "/" + prefixes.path(() if element is None else _tags(element))
    at = line_of(element) if element is not None else line or 1
    text = f"{path}: {message[:_LONGEST_MESSAGE].rstrip('.')}"
    return Fault("HX2007", text, Position(at, 1, document.file))


def _prefixes(document: Document) -> Prefixes:
    """The prefixes that the root of a document declares."""
    return Prefixes.of({prefix or "": namespace for prefix, namespace in document.root.nsmap.items()})

"""Validity of documents that are not held in memory."""

from __future__ import annotations

import re
from typing import Final

from heptox.schema.model import AttributeType, Cardinality, Element, Particle, SchemaGraph
from heptox.xml import Readable, XmlReader, escaped_name

_CHECKED: Final = (
    AttributeType.CDATA,
    AttributeType.ID,
    AttributeType.IDREF,
    AttributeType.ENUMERATION,
)
_DEEPEST: Final = 250
_LONGEST: Final = 2_000_000
_SPACE: Final = " \t\n\r"


def surely_valid(source: Readable, graph: SchemaGraph, file: str | None = None) -> bool:
    """Whether a document is valid for a schema, as :func:`validity_faults` has it, read piece by piece.

    ``False`` also for valid documents of rare sorts: with attributes of rare types, IDs of rare characters, elements or
    texts near the limits of :func:`heptox.xml.parse_document`. Besides the identifiers nothing is held but the names
    of the children of elements that are open.

    Raises :class:`InputError` as :class:`heptox.xml.XmlReader`.

    >>> from io import BytesIO
    >>> from heptox.schema import parse_dtd
    >>> graph = parse_dtd("<!ELEMENT a (b?, c)> <!ELEMENT b EMPTY> <!ELEMENT c EMPTY>", "a")
    >>> [surely_valid(BytesIO(text), graph) for text in (b"<a><b/><c/></a>", b"<a><c/><b/></a>")]
    [True, False]
    """
    checker = _Checker(graph)
    reader = XmlReader(source, file)
    for _ in reader.read(checker.start, checker.end, checker.text):
        if not checker.valid:
            return False
    return checker.references <= checker.identifiers


class _Checker:
    def __init__(self, graph: SchemaGraph) -> None:
        self.valid = True
        self.identifiers: set[str] = set()
        self.references: set[str] = set()
        self._graph = graph
        self._models = {name: _model(element) for name, element in graph.elements.items()}
        self._open: list[tuple[Element, list[str]]] = []
        self._length = 0

    def start(self, name: str, attributes: list[str]) -> None:
        element = self._graph.elements.get(name)
        self._length = 0
        if (
            not self.valid
            or element is None
            or len(self._open) >= _DEEPEST
            or (not self._open and name != self._graph.root)
        ):
            self.valid = False
            return
        if self._open:
            self._open[-1][1].append(name)
        self._open.append((element, []))
        if attributes or element.attributes:
            self._check_attributes(element, dict(zip(attributes[::2], attributes[1::2], strict=True)))

    def _check_attributes(self, element: Element, given: dict[str, str]) -> None:
        for attribute in element.attributes:
            value = given.pop(attribute.name, attribute.default)
            if value is None:
                self.valid = self.valid and not attribute.cardinality.required
                continue
            self.valid = self.valid and len(value) <= _LONGEST
            if attribute.type != AttributeType.CDATA:
                value = value.strip(" ")
            fits = attribute.type in _CHECKED and not (attribute.fixed and value != attribute.default)
            if attribute.type == AttributeType.ENUMERATION:
                fits = fits and value in attribute.values
            elif attribute.type in (AttributeType.ID, AttributeType.IDREF):
                fits = fits and bool(value) and escaped_name(value) == value
                if attribute.type == AttributeType.ID:
                    fits = fits and value not in self.identifiers
                    self.identifiers.add(value)
                else:
                    self.references.add(value)
            self.valid = self.valid and fits
        self.valid = self.valid and not given

    def text(self, part: str) -> None:
        if not self.valid:
            return
        self._length += len(part)
        element = self._open[-1][0]
        if self._length > _LONGEST or (not element.text and (part.strip(_SPACE) or not element.children)):
            self.valid = False

    def end(self, name: str) -> None:
        self._length = 0
        if not self.valid:
            return
        _, children = self._open.pop()
        model = self._models[name]
        if model is None or not model.fullmatch("".join(f"{child} " for child in children)):
            self.valid = False


def _model(element: Element) -> re.Pattern[str] | None:
    """What the names of an element's children, each with a space behind it, must match; ``None`` if it is not known."""
    if not element.children:
        return re.compile("")
    if element.mixed:
        return re.compile(f"(?:(?:{'|'.join(re.escape(child.name) for child in element.children)}) )*+")
    return None if element.content is None else re.compile(_pattern(element.content))


def _pattern(particle: Particle) -> str:
    if particle.kind == "name":
        inside = f"{re.escape(particle.name)} "
    else:
        inside = ("|" if particle.kind == "choice" else "").join(map(_pattern, particle.members))
    sign = "" if particle.occurrence == Cardinality.ONE else str(particle.occurrence)
    return f"(?:{inside}){sign}"

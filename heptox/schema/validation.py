"""Validity of documents (``semantics.md`` section 1), in memory or while they are read.

It is decided by the schema graph alone, whatever the schema was written in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from heptox.errors import Fault, Position, SchemaError, near_names
from heptox.schema.amending import as_declared
from heptox.schema.content import ContentState, first_state, lost_state
from heptox.schema.element_types import types_of
from heptox.schema.graph_text import is_of_xsd
from heptox.schema.merging import by_name
from heptox.schema.model import Attribute, AttributeType, Cardinality, Child, Element, Particle, SameGraph, SchemaGraph
from heptox.xml import (
    NAME,
    NAME_TOKEN,
    XSI_LOCATIONS,
    XSI_TYPE,
    Document,
    Readable,
    XmlElement,
    XmlReader,
    line_of,
    tags_of,
)

MAXIMUM_FAULTS: Final = 20
"""How many faults of an invalid document are reported."""

_MOST_NAMES: Final = 16
"""How many names of the path to a fault are reported, the last ones."""

_MOST_EXPECTED: Final = 6
_LONGEST_VALUE: Final = 60
_XML_SPACE: Final = " \t\n\r"

# -- documents ---------------------------------------------------------------------------------------------------


def other_schema_fault(document: Document, *roots: str, code: str = "HX2013", hint: str | None = None) -> Fault | None:
    """That the root element of a document is none that its schema allows (HX2013); ``None`` where it is one.

    >>> from heptox.xml import parse_document
    >>> str(other_schema_fault(parse_document("<a/>", "a.xml"), "b"))
    'a.xml:1:1: HX2013 the root element is a, not b (the document is of another schema)'
    """
    found = str(document.root.tag)
    return None if found in roots else _root_fault(found, roots, _position(document, document.root), code, hint)


def _root_fault(
    found: str, roots: Iterable[str], position: Position, code: str = "HX2013", hint: str | None = None
) -> Fault:
    message = f"the root element is {found}, not {' or '.join(roots)}"
    return Fault(code, message, position, hint=hint or "the document is of another schema")


def validity_faults(document: Document, graph: SchemaGraph) -> tuple[Fault, ...]:
    """What keeps a document from being valid for a schema, with lines, at most :data:`MAXIMUM_FAULTS`; none: valid.

    Raises ``ValueError`` for a graph with an element type whose content model is not known.

    >>> from heptox.schema import parse_dtd
    >>> from heptox.xml import parse_document
    >>> graph = parse_dtd("<!ELEMENT a (b?)> <!ELEMENT b EMPTY>", "a")
    >>> print(*validity_faults(parse_document("<a><b/><b/></a>", "a.xml"), graph))
    a.xml:1:1: HX2007 /a: b cannot stand here (a may only end)
    """
    element = document.root
    validator = Validator(graph, lambda: _position(document, element))
    start, end, text = validator.start, validator.end, validator.text
    for event, element in tags_of(document.root):
        if event == "start":
            start(element.tag, [str(part) for pair in element.items() for part in pair])
            if part := element.text:
                text(part)
        else:
            end(element.tag)
            if (part := element.tail) and element is not document.root:
                text(part)
        if validator.is_full:
            break
    return validator.finished()


def stream_faults(
    source: Readable, graph: SchemaGraph, file: str | None = None, *, most: int = MAXIMUM_FAULTS
) -> tuple[Fault, ...]:
    """As :func:`validity_faults` for a document that is read piece by piece, and to the end only while there are less
    than ``most`` faults. Besides what :class:`Validator` holds, nothing of it is held.

    Raises :class:`InputError` as :class:`heptox.xml.XmlReader`.

    >>> from io import BytesIO
    >>> from heptox.schema import parse_dtd
    >>> graph = parse_dtd("<!ELEMENT a (b?, c)> <!ELEMENT b EMPTY> <!ELEMENT c EMPTY>", "a")
    >>> [len(stream_faults(BytesIO(text), graph)) for text in (b"<a><b/><c/></a>", b"<a><c/><b/></a>")]
    [0, 1]
    """
    reader = XmlReader(source, file)
    validator = Validator(graph, lambda: reader.position, most=most)
    for _ in reader.read(validator.start, validator.end, validator.text):
        if validator.is_full:
            break
    return validator.finished()


def conform(document: Document, graph: SchemaGraph) -> Document:
    """The document as its schema has it: checked, and with the attributes to which the schema gives a default.

    Values of attributes that are no ``CDATA`` lose surplus white space, as when a parser reads document and DTD
    together. The given document stays as it is.

    Raises :class:`SchemaError`: HX2013 for a document with another root; else HX2007, one fault for each place where it
    is not valid.
    """
    if faults := validity_faults(document, graph):
        raise SchemaError(faults)
    return as_declared(document, graph)


def _position(document: Document, element: XmlElement) -> Position:
    return Position(line_of(element), 1, document.file)


# -- the validator -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Type:
    """An element type: the state before its children, and its attributes; of these ``checked`` have values that not
    every text is, ``required`` have to be written, and ``referring`` refer to something when they are not, too."""

    first: ContentState
    attributes: frozenset[str]
    checked: Mapping[str, Attribute]
    required: frozenset[str]
    referring: tuple[Attribute, ...]

    @classmethod
    def of(cls, element: Element, first: Callable[[Element], ContentState] = first_state) -> _Type:
        attributes = element.attributes
        return cls(
            first(element),
            frozenset(each.name for each in attributes),
            {each.name: each for each in attributes if each.type != AttributeType.CDATA or each.fixed},
            frozenset(each.name for each in attributes if each.cardinality.required and each.default is None),
            tuple(each for each in attributes if each.default is not None and each.type in _REFERRING),
        )


_REFERRING: Final = (AttributeType.IDREF, AttributeType.IDREFS, AttributeType.ENTITY, AttributeType.ENTITIES)


@lru_cache(maxsize=32)
def _types(same: SameGraph) -> Mapping[str, _Type]:
    """The element types by what the graph calls them; that of the document itself, which has the root for a child, by
    nothing."""
    return {element.key: _Type.of(element) for element in (_document(same.graph), *same.graph.elements.values())}


def _document(graph: SchemaGraph) -> Element:
    root = graph.elements[graph.root]
    children = (Child(root.name, Cardinality.ONE, root.type),)
    return Element("", children, content=Particle("name", Cardinality.ONE, root.name))


@lru_cache(maxsize=32)
def _edges(same: SameGraph) -> Mapping[str, Mapping[str, str]] | None:
    """For each element type, the types of its children by their names; ``None`` for a DTD, where any element has the
    type that is called like it."""
    if not is_of_xsd(same.graph) and all(name == one.name for name, one in same.graph.elements.items()):
        return None
    root = same.graph.elements[same.graph.root]
    below = types_of(same.graph).children
    types = {key: {name: child.key for name, child in children.items()} for key, children in below.items()}
    return {**types, "": {root.name: root.key}}


_INSTANCE: Final = XSI_LOCATIONS | {XSI_TYPE}
"""Attributes that each element of an XSD may have."""
_ANYTHING: Final = Element("*", open=True)
"""What stands in open content, of which an XSD says no more."""


def instance_attributes(graph: SchemaGraph) -> frozenset[str]:
    """The attributes that each element of a schema may have, whatever it declares: an XSD's, none for a DTD.

    >>> from heptox.schema import parse_dtd
    >>> instance_attributes(parse_dtd("<!ELEMENT a EMPTY>", "a"))
    frozenset()
    """
    return frozenset() if _edges(SameGraph(graph)) is None else _INSTANCE


class Validator:
    """Decides whether a document is valid for a schema, from its tags and texts in their order.

    ``position`` says where what is being reported stands. It holds a state for each element that is open, the
    identifiers, the references to none of them so far, and at most ``most`` faults, of which ``count`` have been found.
    Names are written with the prefixes of the schema.

    >>> from heptox.schema import parse_dtd
    >>> graph = parse_dtd("<!ELEMENT a (b)> <!ELEMENT b (#PCDATA)> <!ATTLIST b k (u | v) #REQUIRED>", "a")
    >>> validator = Validator(graph, lambda: Position(1, 4))
    >>> validator.start("a", []), validator.start("b", ["k", "w"]), validator.end("b"), validator.end("a")
    (None, None, None, None)
    >>> print(*validator.finished())
    <text>:1:4: HX2007 /a/b: the attribute k is "w" (u or v would fit)
    """

    def __init__(
        self,
        graph: SchemaGraph,
        position: Callable[[], Position],
        *,
        most: int = MAXIMUM_FAULTS,
    ) -> None:
        self.faults: list[Fault] = []
        self.count = 0
        self._root = graph.elements[graph.root].name
        self._prefixes = graph.prefixes
        self._position = position
        self._most = most
        self._types = self._types_of(graph)
        self._edges = _edges(SameGraph(graph))
        self._instance = instance_attributes(graph)
        self._open = [self._types[""].first]
        self._identifiers: set[str] = set()
        self._references: dict[str, Fault] = {}

    def _types_of(self, graph: SchemaGraph) -> Mapping[str, _Type]:
        return _types(SameGraph(graph))

    @property
    def is_full(self) -> bool:
        """Whether there are as many faults as may be held."""
        return self.count >= self._most

    def finished(self) -> tuple[Fault, ...]:
        """The faults, in their order, when the document has ended, or no more of them can be held."""
        found = self.faults if self.is_full else [*self.faults, *self._references.values()]
        return tuple(sorted(found, key=lambda fault: (fault.position is None, fault.position))[: self._most])

    def start(self, name: str, attributes: Sequence[str]) -> None:
        """The start tag of an element: its name, and of each attribute the name, then the value."""
        above = self._open
        state = above[-1]
        edges = self._edges
        declared = self._types.get(name if edges is None else edges.get(state.element.key, {}).get(name, "*"))
        if not state.element.open:
            above[-1] = state.after.get(name) or state.step(name) or self._misplaced(state, name)
        elif declared is None and edges is None:
            self._undeclared(name)
        if declared is None:  # no more is known of it; it has been reported where it stands
            above.append(lost_state(Element(name) if edges is None else _ANYTHING))
            return
        above.append(declared.first)
        if attributes or declared.required or declared.referring:
            self._check_attributes(declared, attributes)

    def text(self, part: str) -> None:
        """A text, or a part of it."""
        element = self._open[-1].element
        if element.text or element.key not in self._types:
            return
        if not part.strip(_XML_SPACE) and (element.children or element.open):
            return
        hint = "it may hold elements only" if element.children else "it must be empty"
        self._report(f"{self._element(element.name)} holds text", hint)

    def end(self, name: str) -> None:
        """The end tag of the element that was started last and is open."""
        if not self._open[-1].is_final and not self._open[-1].element.open:
            follows = self._any_of(self._open[-1].expected())
            self._report(f"{self._element(name)} is not complete", f"{follows} must follow")
        self._open.pop()

    def _misplaced(self, state: ContentState, name: str) -> ContentState:
        """Report a child that cannot stand where it does; the state in which its siblings are looked at."""
        element = state.element
        if len(self._open) == 1:
            self.count = self._most
            self.faults.append(_root_fault(self._element(name), (self._element(self._root),), self._position()))
            return state.lost()
        if element.key not in self._types:
            return state
        expected = state.expected()
        written = self._element(name)
        if all(name != child.name for child in element.children):
            near = near_names(written, (self._element(child.name) for child in element.children))
            hint = f"did you mean {near[0]}?" if near else f"it may hold {self._content(element)}"
            self._report(f"{written} cannot stand in {self._element(element.name)}", hint)
            return state
        only = f"{self._element(element.name)} may only end"
        self._report(f"{written} cannot stand here", f"{self._any_of(expected)} would fit" if expected else only)
        return state.lost()

    def _undeclared(self, name: str) -> None:
        """Report a child of an element that may hold any that is declared."""
        written = self._element(name)
        near = near_names(written, map(self._element, filter(None, self._types)))
        self._report(f"{written} is not declared", f"did you mean {near[0]}?" if near else None)

    def _element(self, name: str) -> str:
        return self._prefixes.written(name)

    def _attribute(self, name: str) -> str:
        return self._prefixes.written(name, attribute=True)

    def _any_of(self, names: Iterable[str]) -> str:
        return _any_of([*map(self._element, names)])

    def _content(self, element: Element) -> str:
        names = [child.name for child in element.children]
        if element.text:
            return f"text, {self._any_of(names)}" if names else "text only"
        return self._any_of(names) or "nothing"

    def _report(self, message: str, hint: str | None = None) -> None:
        self.count += 1
        if self.count <= self._most:
            self.faults.append(self._fault(message, hint))

    def _fault(self, message: str, hint: str | None = None) -> Fault:
        names = [state.element.name and self._element(state.element.name) for state in self._open]
        path = "/".join(["..."] * (len(names) > _MOST_NAMES + 1) + names[-_MOST_NAMES - 1 :])
        return Fault("HX2007", f"{path or '/'}: {message}", self._position(), hint=hint)

    # attributes

    def _check_attributes(self, declared: _Type, given: Sequence[str]) -> None:
        names = given[::2]
        if not declared.attributes.issuperset(names):
            for name in names:
                if name not in declared.attributes and not self._may_have(declared, name):
                    self._unknown_attribute(declared.first.element, name)
        if not declared.required.issubset(names):
            for name in sorted(declared.required.difference(names)):
                written = self._element(declared.first.element.name)
                self._report(f"{written} lacks the attribute {self._attribute(name)}", "which is required")
        if declared.checked:
            for name, value in zip(names, given[1::2], strict=True):
                if name in declared.checked:
                    self._check_value(declared.checked[name], value)
            for attribute in declared.referring:
                if attribute.name not in names:
                    self._check_value(attribute, attribute.default or "")

    def _may_have(self, declared: _Type, name: str) -> bool:
        """Whether an XSD allows an attribute that it does not declare."""
        return name in self._instance or (self._edges is not None and declared.first.element.open)

    def _unknown_attribute(self, element: Element, name: str) -> None:
        known = [self._attribute(attribute.name) for attribute in element.attributes]
        written = self._attribute(name)
        near = near_names(written, known)
        hint = f"did you mean {near[0]}?" if near else f"{_any_of(known)} may stand there" if known else None
        self._report(f"{self._element(element.name)} has no attribute {written}", hint)

    def _check_value(self, attribute: Attribute, value: str) -> None:
        value = attribute.normalised(value)
        if attribute.fixed and value != attribute.normalised(attribute.default or ""):
            self._wrong_value(attribute, value, f"{_quoted(attribute.default or '')} is its only value")
            return
        parts = value.split(" ") if attribute.type in _LISTS else [value]
        pattern, wanted = _SPELLING.get(attribute.type, (None, ""))
        if pattern is not None and not all(re.fullmatch(pattern, part) for part in parts):
            self._wrong_value(attribute, value, f"{wanted} would fit")
        elif attribute.type == AttributeType.ID:
            self._identify(attribute, value)
        elif attribute.type in (AttributeType.IDREF, AttributeType.IDREFS):
            self._refer(attribute, parts)
        elif pattern is None and attribute.type != AttributeType.CDATA and not set(parts).issubset(attribute.values):
            self._wrong_value(attribute, value, f"{_any_of(attribute.values) or 'nothing'} would fit")

    def _wrong_value(self, attribute: Attribute, value: str, hint: str) -> None:
        self._report(f"the attribute {self._attribute(attribute.name)} is {_quoted(value)}", hint)

    def _identify(self, attribute: Attribute, value: str) -> None:
        if value in self._identifiers:
            self._wrong_value(attribute, value, "another element has that identifier; it must be unique")
        self._identifiers.add(value)
        self._references.pop(value, None)

    def _refer(self, attribute: Attribute, values: Iterable[str]) -> None:
        for value in values:
            if value not in self._identifiers and value not in self._references:
                message = f"the attribute {self._attribute(attribute.name)} is {_quoted(value)}"
                self._references[value] = self._fault(message, "no element has that identifier")


class EdgeValidator(Validator):
    """Decides less: whether each child, attribute and text has an edge in the schema graph to stand on, and no child
    stands twice where there is at most one. That is what the relations of a store need, in which neither the order of
    children counts, nor what is missing, nor values.

    The faults have the code ``code``, and no hints.
    """

    def __init__(self, graph: SchemaGraph, position: Callable[[], Position], code: str) -> None:
        super().__init__(graph, position)
        self._code = code
        self._edges = None  # what has a relation is in it wherever it stands
        self._met: list[set[str]] = [set()]
        """The children so far of each element that is open."""

    def _types_of(self, graph: SchemaGraph) -> Mapping[str, _Type]:
        return {
            element.name: replace(_Type.of(element, lost_state), checked={}, required=frozenset(), referring=())
            for element in (_document(graph), *by_name(graph).elements.values())
        }

    def _misplaced(self, state: ContentState, name: str) -> ContentState:
        """Look at a child, of which no state knows more."""
        element = state.element
        met = self._met[len(self._open) - 1]
        child = next((child for child in element.children if child.name == name), None)
        if child is None and element.key in self._types:
            where = f"in {self._element(element.name)}" if element.name else "as the root"
            self._report(f"{self._element(name)} cannot stand {where}")
        elif child is not None and name in met and not child.cardinality.repeats:
            self._report(f"{self._element(name)} stands twice")
        met.add(name)
        return state

    def start(self, name: str, attributes: Sequence[str]) -> None:
        super().start(name, attributes)
        self._met[len(self._open) - 1 :] = [set()]

    def _undeclared(self, name: str) -> None:
        """What is open may hold anything."""

    def _unknown_attribute(self, element: Element, name: str) -> None:
        if not element.open:
            super()._unknown_attribute(element, name)

    def _fault(self, message: str, hint: str | None = None) -> Fault:
        return replace(super()._fault(message, hint), code=self._code, hint=None)


_LISTS: Final = (AttributeType.IDREFS, AttributeType.NMTOKENS, AttributeType.ENTITIES)

_SPELLING: Final = {
    AttributeType.ID: (NAME, "a name"),
    AttributeType.IDREF: (NAME, "a name"),
    AttributeType.IDREFS: (NAME, "names with spaces between"),
    AttributeType.NMTOKEN: (NAME_TOKEN, "letters, digits and .-_: without spaces"),
    AttributeType.NMTOKENS: (NAME_TOKEN, "letters, digits and .-_: with spaces between"),
}


def _any_of(names: Sequence[str]) -> str:
    """``a, b or c``, of very many the first."""
    if len(names) > _MOST_EXPECTED:
        return f"{', '.join(names[:_MOST_EXPECTED])} or {len(names) - _MOST_EXPECTED} others"
    return " or ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _quoted(value: str) -> str:
    return f'"{value if len(value) <= _LONGEST_VALUE else f"{value[:_LONGEST_VALUE]}..."}"'

"""Reading DTDs into schema graphs (``semantics.md`` section 1).

A DTD may consist of several files: those in its folder, and those that a catalogue names; nothing is fetched.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from heptox.errors import Fault, Position, SchemaError, near_names
from heptox.schema.determinism import ambiguous_name
from heptox.schema.dtd_declarations import AttributeDeclaration, Declarations, ElementDeclaration
from heptox.schema.dtd_entities import MOST_BYTES, Files, Source
from heptox.schema.dtd_namespaces import Naming
from heptox.schema.dtd_parser import parse_declarations
from heptox.schema.dtd_text import written
from heptox.schema.model import Attribute, AttributeType, Cardinality, Child, Element, Particle, SchemaGraph
from heptox.xml import STANDARD_INPUT, Document, file_name, read_dtd_text, split_name

Paths = Sequence[str | os.PathLike[str]]

# -- reading -----------------------------------------------------------------------------------------------------


def read_dtd(path: str | os.PathLike[str], root: str | None = None, catalogues: Paths = ()) -> SchemaGraph:
    """The schema graph of a DTD file (``"-"``: standard input), and of the files that it is made of.

    These are files in its folder and below, and what OASIS XML catalogues name: ``catalogues``, then ``catalog.xml``
    beside the DTD and in the folders just below. Nothing is fetched. ``text`` of the graph is one text that needs no
    other file.

    Raises :class:`InputError` when a file cannot be read, and :class:`SchemaError` as :func:`parse_dtd`, HX2015 for a
    catalogue that is none.
    """
    return _read(path, catalogues).graph(root)


def read_dtd_roots(path: str | os.PathLike[str], catalogues: Paths = ()) -> dict[str, SchemaGraph]:
    """As :func:`parse_dtd_roots` for a DTD file, which is read as by :func:`read_dtd`."""
    return _read(path, catalogues).graphs()


def document_dtd(document: Document, root: str | None = None) -> SchemaGraph:
    """The schema graph of a document's internal subset; ``root`` is the document's root element unless given.

    Raises :class:`SchemaError`: HX2008 when the document has no internal subset, and as :func:`parse_dtd`.

    >>> from heptox.xml import parse_document
    >>> document_dtd(parse_document("<!DOCTYPE a [<!ELEMENT a (#PCDATA)>]><a/>")).elements["a"].text
    True
    """
    if document.internal_subset is None:
        hint = "give the DTD as a file; one that DOCTYPE names is not fetched"
        raise SchemaError(Fault("HX2008", "the document does not hold its DTD", file=document.file, hint=hint))
    position = document.subset_position or Position(1, 1)
    # faults then have their positions in the document
    text = "\n" * (position.line - 1) + " " * (position.column - 1) + document.internal_subset
    return parse_dtd(text, root or str(document.root.tag), document.file)


def parse_dtd(text: str, root: str | None = None, file: str | None = None) -> SchemaGraph:
    """The schema graph of a DTD; without ``root``, the only element that is no child of another is the root.

    No file is read. ``root`` is a name as the DTD has it, or an expanded one.

    Raises :class:`SchemaError` with all faults found: HX2001 malformed or inconsistent, HX2002 external entity that is
    not read, HX2003 undeclared child, HX2005 root missing or not the only candidate, HX2006 namespace of a name not
    known, HX2009 content model that is not deterministic, HX2014 beyond a limit.

    >>> graph = parse_dtd("<!ELEMENT bib (book*)> <!ELEMENT book (title, note?)>"
    ...                   "<!ELEMENT title (#PCDATA)> <!ELEMENT note (#PCDATA)>")
    >>> graph.root, [f"{child.name}{child.cardinality}" for child in graph.elements["book"].children]
    ('bib', ['title1', 'note?'])
    >>> sorted(parse_dtd("<!ELEMENT a ANY> <!ATTLIST a xmlns CDATA #FIXED 'urn:a' xml:lang NMTOKEN #IMPLIED>").elements)
    ['{urn:a}a']
    """
    return _parsed(Source(text, file), Files()).graph(root)


def parse_dtd_roots(text: str, file: str | None = None) -> dict[str, SchemaGraph]:
    """The schema graphs of a DTD whose root is not known: one for each root that its documents may have. These are the
    element types that are no child of any, or all, where there are none of these.

    Raises :class:`SchemaError` as :func:`parse_dtd`, HX2005 where no element type is declared.

    >>> sorted(parse_dtd_roots("<!ELEMENT a (c)> <!ELEMENT b (c)> <!ELEMENT c EMPTY>"))
    ['a', 'b']
    """
    return _parsed(Source(text, file), Files()).graphs()


def _read(path: str | os.PathLike[str], catalogues: Paths) -> _Dtd:
    known = None if path == STANDARD_INPUT else Path(os.fspath(path))
    source = Source(read_dtd_text(path), file_name(path), known)
    return _parsed(source, Files.of(known, catalogues))


def _parsed(source: Source, files: Files) -> _Dtd:
    if (document := _DOCUMENT.match(source.text)) is not None:
        raise SchemaError(_document_fault(document, source))
    declarations = parse_declarations(source, files)
    text = written(declarations) if declarations.is_modular else source.text
    if len(text) > MOST_BYTES:
        message = f"the DTD has more than {MOST_BYTES:,} characters, its entities expanded"
        raise SchemaError(Fault("HX2014", message, file=source.file))
    return _Dtd(declarations, source, text)


_DOCUMENT: Final = re.compile(
    r"(?>\ufeff|\s|<!--.*?-->|<\?.*?\?>)*+<(?:!DOCTYPE\s+)?(?P<root>[A-Za-z_][^\s/>\[]*)(?P<subset>[^<>]*\[)?",
    re.DOTALL,
)
"""The start of an XML document: what a DTD has at no place outside its comments is a DOCTYPE, or a tag."""


def _document_fault(found: re.Match[str], source: Source) -> Fault:
    """That a document was given for a DTD."""
    root = found["root"]
    is_schema = root.rpartition(":")[2] == "schema"
    what = "an XML Schema" if is_schema else f"an XML document, whose root is {root}"
    hint = "give the DTD that its documents follow"
    if found["subset"] and "DOCTYPE" in found[0]:
        hint = "write what stands in the brackets of its DOCTYPE to a file, and give that"
    return source.fault("HX2001", f"this is {what}, not a DTD", found.start("root"), hint)


def root_candidates(elements: Mapping[str, Element]) -> list[str]:
    """The element types that are no child of any but perhaps themselves, in the order of their names."""
    children = {child.name for element in elements.values() for child in element.children if child.name != element.name}
    return sorted(elements.keys() - children)


def _root_fault(candidates: Sequence[str], elements: Sequence[str], file: str | None) -> Fault:
    if not elements:
        return Fault("HX2005", "no element type is declared", file=file, hint="write <!ELEMENT name (...)>")
    if not candidates:
        hint = f"name the root: {', '.join(elements)}"
        return Fault("HX2005", "every element type is a child of another", file=file, hint=hint)
    if len(candidates) == 1:
        near = near_names(candidates[0], elements, 3, 0.4) or sorted(elements)[:5]
        return Fault(
            "HX2005", f"the root {candidates[0]} is not declared", file=file, hint=f"such as {', '.join(near)}"
        )
    hint = f"name the root: {', '.join(candidates)}"
    return Fault("HX2005", "several element types may be the root", file=file, hint=hint)


def _in_order(faults: Iterable[Fault]) -> list[Fault]:
    def key(fault: Fault) -> tuple[bool, str, int, int]:
        position = fault.position
        return (False, position.file or "", position.line, position.column) if position else (True, "", 0, 0)

    return sorted(faults, key=key)


# -- elements ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Reading:
    """The element types as they are in documents with one root, what is wrong, and what is left out."""

    naming: Naming
    elements: Mapping[str, Element]
    faults: Sequence[Fault]
    remarks: Sequence[Fault]


@dataclass(frozen=True, slots=True)
class _Dtd:
    """What a DTD declares, where it stands, and a text that says the same."""

    declarations: Declarations
    source: Source
    text: str

    def graph(self, root: str | None) -> SchemaGraph:
        """The schema graph; raises :class:`SchemaError` with what is inconsistent."""
        candidates = self._candidates() if root is None else [self._named(root) or root]
        known = candidates[0] if len(candidates) == 1 and candidates[0] in self.declarations.elements else None
        reading = self._reading(Naming(self.declarations, known))
        if known is None:
            fault = _root_fault(candidates, list(self.declarations.elements), self.source.file)
            raise SchemaError(_in_order([*reading.faults, fault]))
        if reading.faults:
            raise SchemaError(_in_order(reading.faults))
        return self._graph(reading, known)

    def graphs(self) -> dict[str, SchemaGraph]:
        """The schema graph of each root that documents may have; raises as :meth:`graph`."""
        roots = self._candidates() or list(self.declarations.elements)
        if not roots:
            raise SchemaError(_root_fault([], [], self.source.file))
        found: dict[str, SchemaGraph] = {}
        first = reading = self._reading(Naming(self.declarations, roots[0]))
        for root in roots:
            if reading.naming.depends_on_root and root != reading.naming.root:
                naming = Naming(self.declarations, root)
                # a part of a drawing, say, would have no namespace as a root, and one as a part: it is no root
                if naming.faults:
                    continue
                reading = self._reading(naming)
            if not reading.faults:
                found[reading.naming.elements[root]] = self._graph(reading, root)
        if not found:
            raise SchemaError(_in_order(first.faults))
        return found

    def _reading(self, naming: Naming) -> _Reading:
        elements, faults, remarks = _elements(self.declarations, naming)
        return _Reading(naming, elements, (*faults, *_ambiguous(self.declarations), *naming.faults), remarks)

    def _graph(self, reading: _Reading, root: str) -> SchemaGraph:
        naming = reading.naming
        return SchemaGraph(
            naming.elements[root],
            reading.elements,
            self.source.file,
            self.text,
            naming.prefixes,
            remarks=tuple(_in_order([*naming.remarks, *reading.remarks])),
        )

    def _candidates(self) -> list[str]:
        """The element types that are no child of any but perhaps themselves, as :func:`root_candidates`."""
        declared = self.declarations.elements.values()
        children = {child for element in declared for child in element.children if child != element.name}
        return sorted(self.declarations.elements.keys() - children)

    def _named(self, root: str) -> str | None:
        """The element type, as the DTD writes it, that a root means: so, or expanded."""
        elements = self.declarations.elements
        if root in elements:
            return root
        local = split_name(root)[1]
        ends = [name for name in elements if name.rpartition(":")[2] == local]
        return next((name for name in ends if Naming(self.declarations, name).elements[name] == root), None)


def _elements(declarations: Declarations, naming: Naming) -> tuple[dict[str, Element], list[Fault], list[Fault]]:
    """The element types by their expanded names, faults, and remarks: children that are not declared stand in no valid
    document; content without them has to be possible."""
    unparsed = tuple(declarations.unparsed)
    found: dict[str, Element] = {}
    faults: list[Fault] = []
    remarks: list[Fault] = []
    for declared in declarations.elements.values():
        if declared.name not in naming.elements:
            continue
        content = None if declared.content is None else _possible(declared.content, naming.elements)
        is_possible = declared.content is None or content is not None
        (remarks if is_possible else faults).extend(_undeclared(declared, declarations, naming))
        content = None if content == _EMPTY else content
        names = naming.attributes[declared.name]
        attributes = declarations.attributes.get(declared.name, {})
        element = Element(
            name=naming.elements[declared.name],
            children=_children(content) if content else (),
            attributes=tuple(_attribute(attributes[each], name, unparsed) for each, name in names.items()),
            text=declared.kind in ("text", "mixed", "ANY"),
            content=content,
            open=declared.kind == "ANY",
        )
        found[element.name] = element
    return found, faults, remarks


def _possible(particle: Particle, names: Mapping[str, str]) -> Particle | None:
    """A part of a content model with the names of element types, without those that have none; ``None`` where nothing
    of it can stand in a document.

    >>> a, b = (Particle("name", Cardinality.ONE, name) for name in "ab")
    >>> _possible(Particle("choice", Cardinality.ONE, members=(a, b)), {"a": "{u}a"}).members[0].name
    '{u}a'
    >>> _possible(Particle("sequence", Cardinality.ONE, members=(a, b)), {"a": "{u}a"}) is None
    True
    """
    if particle.kind == "name":
        if particle.name in names:
            return Particle("name", particle.occurrence, names[particle.name])
        return None if particle.occurrence.required else _EMPTY
    members = [_possible(member, names) for member in particle.members]
    kept = tuple(member for member in members if member is not None and member != _EMPTY)
    if particle.kind == "sequence":
        if None in members:
            return None if particle.occurrence.required else _EMPTY
        return Particle("sequence", particle.occurrence, members=kept) if kept else _EMPTY
    required = particle.occurrence.required and _EMPTY not in members
    if not kept:
        return None if required else _EMPTY
    return Particle("choice", Cardinality.of(required, particle.occurrence.repeats), members=kept)


_EMPTY: Final = Particle("sequence", Cardinality.ONE)
"""Content in which nothing stands."""


def _attribute(declared: AttributeDeclaration, name: str, unparsed: tuple[str, ...]) -> Attribute:
    guaranteed = declared.presence == "REQUIRED" or declared.default is not None
    names_entities = declared.type in (AttributeType.ENTITY, AttributeType.ENTITIES)
    return Attribute(
        name=name,
        type=declared.type,
        cardinality=Cardinality.ONE if guaranteed else Cardinality.OPTIONAL,
        default=declared.default,
        values=unparsed if names_entities else declared.values,
        fixed=declared.presence == "FIXED",
    )


def _undeclared(element: ElementDeclaration, declarations: Declarations, naming: Naming) -> Iterator[Fault]:
    """The children that are not declared, or have no name in documents."""
    for child, offset in element.children.items():
        fault = element.place.source.fault
        if child not in declarations.elements:
            near = near_names(child, declarations.elements)
            hint = f"did you mean {near[0]}?" if near else f"declare it: <!ELEMENT {child} (#PCDATA)>"
            yield fault("HX2003", f"{child}, a child of {element.name}, is not declared", offset, hint)
        elif child not in naming.elements:
            yield fault("HX2006", f"the prefix of {child}, a child of {element.name}, is not bound", offset)


def _ambiguous(declarations: Declarations) -> Iterator[Fault]:
    """The content models that XML 1.0 (section 3.2.1) calls errors."""
    for element in declarations.elements.values():
        name = ambiguous_name(element.content) if element.content and element.kind == "children" else None
        if name is not None:
            message = f"the content model of {element.name} is not deterministic: {name} could be two of its parts"
            hint = "a child must tell at once which part of the model it is, as in (a, (b | c)) for ((a, b) | (a, c))"
            yield element.place.source.fault("HX2009", message, element.place.offset, hint)


# -- cardinalities -----------------------------------------------------------------------------------------------


def _children(content: Particle) -> tuple[Child, ...]:
    return tuple(Child(name, cardinality) for name, cardinality in cardinalities(content).items())


def cardinalities(particle: Particle) -> dict[str, Cardinality]:
    """How often each child may stand in a content model, in the order of first mention (``semantics.md`` section 1).

    >>> a, b = (Particle("name", Cardinality.ONE, name) for name in "ab")
    >>> choice = Particle("choice", Cardinality.ONE, members=(a, b))
    >>> sequence = Particle("sequence", Cardinality.ONE, members=(a, choice))
    >>> {name: str(found) for name, found in cardinalities(sequence).items()}
    {'a': '+', 'b': '?'}
    """
    if particle.kind == "name":
        return {particle.name: particle.occurrence}
    inner = [cardinalities(member) for member in particle.members]
    found = _in_sequence(inner) if particle.kind == "sequence" else _in_choice(inner)
    return {name: _times(cardinality, particle.occurrence) for name, cardinality in found.items()}


def _in_sequence(members: Iterable[Mapping[str, Cardinality]]) -> dict[str, Cardinality]:
    found: dict[str, Cardinality] = {}
    for member in members:
        for name, cardinality in member.items():
            earlier = found.get(name)
            if earlier is None:
                found[name] = cardinality
            else:
                found[name] = Cardinality.of(earlier.required or cardinality.required, repeats=True)
    return found


def _in_choice(members: Sequence[Mapping[str, Cardinality]]) -> dict[str, Cardinality]:
    required: Counter[str] = Counter()
    repeats: dict[str, bool] = {}
    for member in members:
        for name, cardinality in member.items():
            required[name] += cardinality.required
            repeats[name] = repeats.get(name, False) or cardinality.repeats
    return {name: Cardinality.of(required[name] == len(members), each) for name, each in repeats.items()}


def _times(inner: Cardinality, outer: Cardinality) -> Cardinality:
    return Cardinality.of(inner.required and outer.required, inner.repeats or outer.repeats)

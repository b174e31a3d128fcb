"""Reading DTDs into schema graphs (``semantics.md`` section 1).

lxml (libxml2) parses the DTD and resolves its parameter entities; external ones are refused, nothing is fetched.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from lxml import etree

from heptox.errors import Fault, Position, SchemaError, near_names
from heptox.schema.model import Attribute, AttributeType, Cardinality, Child, Element, Particle, SchemaGraph
from heptox.xml import PARSING, Document, file_name, read_dtd_text

# -- reading -----------------------------------------------------------------------------------------------------


def read_dtd(path: str | os.PathLike[str], root: str | None = None) -> SchemaGraph:
    """The schema graph of a DTD file (``"-"``: standard input).

    Raises :class:`InputError` when the file cannot be read, and :class:`SchemaError` as :func:`parse_dtd`.
    """
    return parse_dtd(read_dtd_text(path), root, file_name(path))


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

    Raises :class:`SchemaError` with all faults found: HX2001 malformed or inconsistent, HX2002 external entity, HX2003
    undeclared child, HX2004 content ``ANY``, HX2005 root missing or not the only candidate, HX2006 prefixed name,
    HX2009 content model that is not deterministic.

    >>> graph = parse_dtd("<!ELEMENT bib (book*)> <!ELEMENT book (title, note?)>"
    ...                   "<!ELEMENT title (#PCDATA)> <!ELEMENT note (#PCDATA)>")
    >>> graph.root, [f"{child.name}{child.cardinality}" for child in graph.elements["book"].children]
    ('bib', ['title1', 'note?'])
    """
    elements, faults = _read_elements(text, file)
    candidates = [root] if root is not None else root_candidates(elements)
    if len(candidates) != 1 or candidates[0] not in elements:
        faults.append(_root_fault(candidates, elements, file))
    if faults:
        raise SchemaError(_in_order(faults))
    return SchemaGraph(candidates[0], elements, file, text)


def parse_dtd_roots(text: str, file: str | None = None) -> dict[str, SchemaGraph]:
    """The schema graphs of a DTD whose root is not known: one for each root that its documents may have. These are the
    element types that are no child of any, or all, where there are none of these.

    Raises :class:`SchemaError` as :func:`parse_dtd`, HX2005 where no element type is declared.

    >>> sorted(parse_dtd_roots("<!ELEMENT a (c)> <!ELEMENT b (c)> <!ELEMENT c EMPTY>"))
    ['a', 'b']
    """
    elements, faults = _read_elements(text, file)
    if not elements:
        faults.append(_root_fault([], elements, file))
    if faults:
        raise SchemaError(_in_order(faults))
    return {root: SchemaGraph(root, elements, file, text) for root in root_candidates(elements) or elements}


def _read_elements(text: str, file: str | None) -> tuple[dict[str, Element], list[Fault]]:
    """The element types of a DTD, and what is wrong with it but for its root; raises as :func:`parse_dtd`."""
    places = _Declarations(text, file)
    if (document := _DOCUMENT.match(text)) is not None:
        raise SchemaError(_document_fault(document, places))
    document_type = _loaded(text, places)
    declarations = list(document_type.iterelements())
    faults = list(_unsupported(declarations, places))
    if any(declared.prefix for declared in declarations):  # the names of children come without their prefixes
        raise SchemaError(_in_order(faults))
    unparsed = tuple(
        each.name for each in document_type.iterentities() if each.orig is None and each.content is not None
    )
    elements = {declared.name: _element(declared, unparsed) for declared in declarations}
    faults += _undeclared(elements, places)
    faults += _ambiguous(document_type, elements.values(), places)
    return elements, faults


_DOCUMENT: Final = re.compile(
    r"(?>\ufeff|\s|<!--.*?-->|<\?.*?\?>)*+<(?:!DOCTYPE\s+)?(?P<root>[A-Za-z_][^\s/>\[]*)(?P<subset>[^<>]*\[)?",
    re.DOTALL,
)
"""The start of an XML document: what a DTD has at no place outside its comments is a DOCTYPE, or a tag."""


def _document_fault(found: re.Match[str], places: _Declarations) -> Fault:
    """That a document was given for a DTD."""
    root = found["root"]
    is_schema = root.rpartition(":")[2] == "schema"
    what = "an XML Schema" if is_schema else f"an XML document, whose root is {root}"
    hint = "give the DTD that its documents follow"
    if found["subset"] and "DOCTYPE" in found[0]:
        hint = "write what stands in the brackets of its DOCTYPE to a file, and give that"
    position = places.position(found.start("root"))
    return Fault("HX2001", f"this is {what}, not a DTD", position, places.line(position.line), hint=hint)


def root_candidates(elements: Mapping[str, Element]) -> list[str]:
    """The element types that are no child of any but perhaps themselves, in the order of their names."""
    children = {child.name for element in elements.values() for child in element.children if child.name != element.name}
    return sorted(elements.keys() - children)


def _root_fault(candidates: list[str], elements: Mapping[str, Element], file: str | None) -> Fault:
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
    return sorted(faults, key=lambda fault: (fault.position is None, fault.position))


# -- positions ---------------------------------------------------------------------------------------------------

_DECLARATION: Final = re.compile(
    r"""<!--.*?-->|<\?.*?\?>|<!(?P<kind>\w+)\s+(?:%\s+)?(?P<name>[^\s>]+)(?:"[^"]*"|'[^']*'|[^>"'])*>""", re.DOTALL
)


class _Declarations:
    """Where a DTD's text declares what: the parser does not say. What parameter entities declare has no place."""

    def __init__(self, text: str, file: str | None) -> None:
        self.text = text
        self.file = file
        self._found: dict[tuple[str, str], re.Match[str]] = {}
        for found in _DECLARATION.finditer(text):
            if found["kind"]:
                self._found.setdefault((found["kind"], found["name"]), found)

    def fault(self, code: str, message: str, kind: str, name: str, part: str = "", hint: str | None = None) -> Fault:
        """A fault at the declaration of ``name``, or where ``part`` is named in it."""
        found = self._found.get((kind, name))
        if found is None:
            return Fault(code, message, hint=hint, file=self.file)
        inner = re.compile(rf"(?<![\w.:-]){re.escape(part)}(?![\w.:-])").search(
            self.text, found.end("name"), found.end()
        )
        position = self.position(inner.start() if part and inner else found.start())
        return Fault(code, message, position, self.line(position.line), hint)

    def external(self, system: str) -> Fault:
        """The fault that the DTD refers to the external entity with the address ``system``."""
        hint = "write its declarations into the DTD; other files and the network are not read"
        for (kind, name), found in self._found.items():
            if kind == "ENTITY" and system in found[0]:
                return self.fault(
                    "HX2002", f"the parameter entity {name} is external ({system})", kind, name, hint=hint
                )
        return Fault("HX2002", f"a parameter entity is external ({system})", file=self.file, hint=hint)

    def position(self, offset: int) -> Position:
        before = self.text[:offset]
        return Position(before.count("\n") + 1, offset - before.rfind("\n"), self.file)

    def line(self, number: int) -> str | None:
        lines = self.text.split("\n", number)
        return (lines[number - 1].strip()[:120] or None) if 0 < number <= len(lines) else None


# -- lxml --------------------------------------------------------------------------------------------------------

_SYSTEM: Final = "heptox:dtd"
_TEXT_DECLARATION: Final = re.compile(r"\A\ufeff?<\?xml\s[^>]*\?>")


class _OnlyTheText(etree.Resolver):
    """Answers every request of the parser from memory: with the DTD's text, or with nothing, and remembers it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.refused: list[str] = []

    def resolve(self, system_url: str, public_id: object, context: object) -> object:  # type: ignore[override]  # noqa: ARG002
        if system_url == _SYSTEM:
            return self.resolve_string(self.text, context)  # type: ignore[call-arg]  # the stubs differ from lxml
        self.refused.append(system_url)
        return self.resolve_string("", context)  # type: ignore[call-arg]  # as above


def _loaded(text: str, places: _Declarations) -> Any:
    """lxml's ``DTD`` of a text. ``recover`` lets the parser report every inconsistency of the DTD; none is let pass."""
    # the text is decoded already, whatever encoding it names
    resolver = _OnlyTheText(_TEXT_DECLARATION.sub(lambda found: " " * len(found[0]), text))
    parser = etree.XMLParser(
        load_dtd=True, dtd_validation=True, resolve_entities=True, no_network=True, recover=True, huge_tree=False
    )
    parser.resolvers.add(resolver)
    with PARSING:
        root = etree.fromstring(f'<!DOCTYPE r SYSTEM "{_SYSTEM}"><r/>', parser)
    faults = [places.external(system) for system in dict.fromkeys(resolver.refused)]
    faults += _parser_faults(parser.error_log, places)
    if faults:
        raise SchemaError(faults)
    return root.getroottree().docinfo.externalDTD


def _parser_faults(log: Iterable[Any], places: _Declarations) -> Iterator[Fault]:
    """The faults that the parser found in the DTD: all inconsistencies up to the first error of syntax."""
    seen = set()
    for entry in log:
        if entry.filename != _SYSTEM or entry.level_name == "WARNING" or (entry.line, entry.column) in seen:
            continue
        seen.add((entry.line, entry.column))
        position = Position(max(entry.line, 1), max(entry.column, 1), places.file)
        message = re.sub(r"[,:] (see|use|try) \w*(XML_PARSE|xmlCtxt).*$", "", entry.message.strip())
        yield Fault("HX2001", message, position, places.line(position.line))
        if entry.domain_name != "VALID":
            return


# -- elements ----------------------------------------------------------------------------------------------------


def _unsupported(declarations: Iterable[Any], places: _Declarations) -> Iterator[Fault]:
    hint = "namespaces are not handled: use names without prefix"
    for declared in declarations:
        name = f"{declared.prefix}:{declared.name}" if declared.prefix else declared.name
        if declared.prefix:
            yield places.fault("HX2006", f"the element name {name} has a prefix", "ELEMENT", name, hint=hint)
        if declared.type == "any":
            message = f"the content of {name} is ANY"
            yield places.fault("HX2004", message, "ELEMENT", name, "ANY", "list what it may contain")
        for attribute in declared.iterattributes():
            if attribute.prefix or attribute.name == "xmlns":
                full = f"{attribute.prefix}:{attribute.name}" if attribute.prefix else attribute.name
                message = f"the attribute {full} of {name} belongs to namespaces"
                yield places.fault("HX2006", message, "ATTLIST", name, full, hint)


def _undeclared(elements: Mapping[str, Element], places: _Declarations) -> Iterator[Fault]:
    for element in elements.values():
        for child in element.children:
            if child.name not in elements:
                near = near_names(child.name, elements)
                hint = f"did you mean {near[0]}?" if near else f"declare it: <!ELEMENT {child.name} (#PCDATA)>"
                message = f"{child.name}, a child of {element.name}, is not declared"
                yield places.fault("HX2003", message, "ELEMENT", element.name, child.name, hint)


def _ambiguous(document_type: Any, elements: Iterable[Element], places: _Declarations) -> Iterator[Fault]:
    """The content models that XML 1.0 (section 3.2.1) calls errors: libxml2 cannot recognise their valid documents.

    It says so when it first checks an element; only a name that stands twice in a content model can make one so.
    """
    for element in elements:
        names = list(_names(element.content)) if element.content and not element.text else []
        if len(set(names)) == len(names) or document_type.validate(etree.Element(element.name)):
            continue
        if any(entry.type_name == "DTD_CONTENT_NOT_DETERMINIST" for entry in document_type.error_log):
            message = f"the content model of {element.name} is not deterministic"
            hint = "a child must tell at once which part of the model it is, as in (a, (b | c)) for ((a, b) | (a, c))"
            yield places.fault("HX2009", message, "ELEMENT", element.name, hint=hint)


def _names(particle: Particle) -> Iterator[str]:
    if particle.kind == "name":
        yield particle.name
    for member in particle.members:
        yield from _names(member)


def _element(declared: Any, unparsed: tuple[str, ...]) -> Element:
    content = _particle(declared.content) if declared.content is not None else None
    return Element(
        name=declared.name,
        children=_children(content) if content else (),
        attributes=tuple(_attribute(attribute, unparsed) for attribute in declared.iterattributes()),
        text=declared.type == "mixed",
        content=content,
    )


def _attribute(declared: Any, unparsed: tuple[str, ...]) -> Attribute:
    kind = AttributeType(declared.type.upper())
    guaranteed = declared.default == "required" or declared.default_value is not None
    return Attribute(
        name=declared.name,
        type=kind,
        cardinality=Cardinality.ONE if guaranteed else Cardinality.OPTIONAL,
        default=declared.default_value,
        values=unparsed if kind in (AttributeType.ENTITY, AttributeType.ENTITIES) else tuple(declared.itervalues()),
        fixed=declared.default == "fixed",
    )


_OCCURRENCE: Final = {
    "once": Cardinality.ONE,
    "opt": Cardinality.OPTIONAL,
    "mult": Cardinality.MANY,
    "plus": Cardinality.SOME,
}


def _particle(content: Any) -> Particle | None:
    """lxml's content model, in which a list is a chain of pairs, as a particle; ``None`` for text."""
    if content.type == "pcdata":
        return None
    occurrence = _OCCURRENCE[content.occur]
    if content.type == "element":
        return Particle("name", occurrence, content.name)
    parts, rest = [content.left], content.right
    while rest is not None and rest.type == content.type and rest.occur == "once":
        parts.append(rest.left)
        rest = rest.right
    parts.extend(() if rest is None else (rest,))
    members = tuple(member for member in map(_particle, parts) if member)
    return Particle("sequence" if content.type == "seq" else "choice", occurrence, members=members)


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
                found[name] = _cardinality(earlier.required or cardinality.required, repeats=True)
    return found


def _in_choice(members: Sequence[Mapping[str, Cardinality]]) -> dict[str, Cardinality]:
    return {
        name: _cardinality(
            required=all(name in member and member[name].required for member in members),
            repeats=any(name in member and member[name].repeats for member in members),
        )
        for name in dict.fromkeys(name for member in members for name in member)
    }


def _times(inner: Cardinality, outer: Cardinality) -> Cardinality:
    return _cardinality(inner.required and outer.required, inner.repeats or outer.repeats)


def _cardinality(required: bool, repeats: bool) -> Cardinality:
    if repeats:
        return Cardinality.SOME if required else Cardinality.MANY
    return Cardinality.ONE if required else Cardinality.OPTIONAL

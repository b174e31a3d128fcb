"""XSDs that :mod:`xsd_printer` has written, read back; what it does not write is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from heptox.errors import Fault, Position, SchemaError
from heptox.schema.inference.inferring import XSD_NAMESPACE
from heptox.schema.inference.model import InferredAttribute, InferredElement, InferredSchema
from heptox.schema.inference.values import STRING, LeafType
from heptox.schema.model import Cardinality, Particle
from heptox.xml import (
    XML_NAMESPACE,
    Prefixes,
    XmlElement,
    expanded_name,
    file_name,
    line_of,
    parse_document,
    read_bytes,
    split_name,
)

_TYPES: Final = ("string", "boolean", "integer", "decimal", "double", "date", "dateTime", "time", "anyURI")
_OCCURRENCE: Final = {
    ("1", "1"): Cardinality.ONE,
    ("0", "1"): Cardinality.OPTIONAL,
    ("0", "unbounded"): Cardinality.MANY,
    ("1", "unbounded"): Cardinality.SOME,
}


def read_inferred_xsd(path: str) -> InferredSchema:
    """The schema in the files of an XSD that was inferred.

    Raises :class:`InputError` where a file cannot be read, :class:`SchemaError` (HX2063) for what heptox does not
    write.
    """
    reader = _Reader()
    reader.read(path)
    if reader.faults:
        raise SchemaError(reader.faults)
    main = [name for name in reader.elements if split_name(name)[0] == reader.namespaces[0]]
    if not main:
        raise SchemaError(Fault("HX2063", "no element is declared", file=file_name(path), hint=_HINT))
    return InferredSchema(
        (main[0],),
        reader.elements,
        reader.local,
        reader.types,
        reader.attributes,
        prefixes=Prefixes.of(reader.prefixes),
    )


_HINT: Final = "extend what heptox schema infer has written, or infer an XSD anew from all documents"


@dataclass(slots=True)
class _Reader:
    """Reads files, and remembers what they say."""

    elements: dict[str, InferredElement] = field(default_factory=dict)
    local: dict[tuple[str, str], InferredElement] = field(default_factory=dict)
    types: dict[str, InferredElement] = field(default_factory=dict)
    attributes: dict[str, LeafType] = field(default_factory=dict)
    prefixes: dict[str, str] = field(default_factory=dict)
    namespaces: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    file: str | None = None
    namespace: str = ""

    def read(self, path: str) -> None:
        """Read a file, and those that it imports."""
        waiting = [path]
        for number, current in enumerate(waiting):
            if current in waiting[:number]:
                continue
            self.file = file_name(current)
            root = parse_document(read_bytes(current), self.file).root
            waiting += [str(Path(path).with_name(unquote(name))) for name in self._file(root)]

    def _file(self, root: XmlElement) -> Iterator[str]:
        """What one file declares; the files that it imports."""
        if root.tag != expanded_name(XSD_NAMESPACE, "schema"):
            self._refuse(root)
            return
        self.namespace = root.get("targetNamespace") or ""
        self.namespaces.append(self.namespace)
        self.prefixes = {
            **{prefix or "": uri for prefix, uri in root.nsmap.items() if uri != XSD_NAMESPACE},
            **self.prefixes,
        }
        for child in root:
            kind, name = self._kind(child), expanded_name(self.namespace, child.get("name") or "")
            if kind == "import":
                yield Path(child.get("schemaLocation") or "none").name
            elif kind == "element":
                self.elements[name] = self._element(child, name)
            elif kind == "attribute":
                self.attributes[name] = self._simple(child)
            elif kind == "complexType":
                self.types[name] = self._complex(child, name)
            else:
                self._refuse(child)

    def _kind(self, element: XmlElement) -> str:
        namespace, local = split_name(str(element.tag))
        return local if namespace == XSD_NAMESPACE else ""

    def _refuse(self, element: XmlElement) -> None:
        position = Position(line_of(element), 1, self.file)
        local = split_name(str(element.tag))[1]
        self.faults.append(Fault("HX2063", f"{local} is not as heptox writes it", position, hint=_HINT))

    def _name(self, element: XmlElement, written: str) -> str:
        prefix, _, local = written.rpartition(":")
        uri = XML_NAMESPACE if prefix == "xml" else element.nsmap.get(prefix or None)
        return expanded_name(uri or "", local)

    def _simple(self, element: XmlElement) -> LeafType:
        """The simple type of a declaration."""
        if (written := element.get("type")) is not None:
            namespace, local = split_name(self._name(element, written))
            if namespace == XSD_NAMESPACE and local in _TYPES:
                return LeafType(local)
            self._refuse(element)
            return STRING
        values = list(element.iter(expanded_name(XSD_NAMESPACE, "enumeration")))
        if not values or [self._kind(child) for child in element] != ["simpleType"]:
            self._refuse(element)
        return LeafType("string", tuple(value.get("value") or "" for value in values))

    def _element(self, element: XmlElement, name: str) -> InferredElement:
        nillable = element.get("nillable") == "true"
        inside = [self._kind(child) for child in element]
        if element.get("type") == "xs:anyType" and not inside:
            return InferredElement(name, named=True, nillable=nillable)
        if inside == ["complexType"]:
            return self._complex(element[0], name, nillable=nillable)
        if inside not in ([], ["simpleType"]):
            self._refuse(element[-1])
            return InferredElement(name)
        return InferredElement(name, text=True, type=self._simple(element), nillable=nillable)

    def _complex(self, element: XmlElement, name: str, *, nillable: bool = False) -> InferredElement:
        children = list(element)
        if [self._kind(child) for child in children] == ["simpleContent"]:
            extension = children[0][0] if len(children[0]) else children[0]
            if self._kind(extension) != "extension":
                self._refuse(extension)
            base = split_name(self._name(extension, extension.get("base") or ""))[1]
            attributes = tuple(map(self._attribute, extension))
            return InferredElement(name, None, True, LeafType(base), attributes, nillable)
        content = None
        if children and self._kind(children[0]) in ("sequence", "choice"):
            content = self._particle(children.pop(0), name)
        attributes = tuple(map(self._attribute, children))
        return InferredElement(name, content, element.get("mixed") == "true", STRING, attributes, nillable)

    def _attribute(self, element: XmlElement) -> InferredAttribute:
        if self._kind(element) != "attribute":
            self._refuse(element)
        required = element.get("use") == "required"
        if (reference := element.get("ref")) is not None:
            return InferredAttribute(self._name(element, reference), required)
        return InferredAttribute(element.get("name") or "", required, self._simple(element))

    def _particle(self, element: XmlElement, parent: str) -> Particle:
        kind = self._kind(element)
        occurrence = _OCCURRENCE.get((element.get("minOccurs") or "1", element.get("maxOccurs") or "1"))
        if occurrence is None:
            self._refuse(element)
        found = occurrence or Cardinality.MANY
        if kind == "element":
            if (reference := element.get("ref")) is not None:
                return Particle("name", found, self._name(element, reference))
            name = expanded_name(self.namespace, element.get("name") or "")
            self.local[parent, name] = self._element(element, name)
            return Particle("name", found, name)
        if kind not in ("sequence", "choice"):
            self._refuse(element)
        members = tuple(self._particle(child, parent) for child in element)
        return Particle("choice" if kind == "choice" else "sequence", found, members=members)

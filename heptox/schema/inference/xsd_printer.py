"""Inferred schemas as XSDs, of version 1.0: one file for each namespace, which import each other.

Element types are global, and referred to; those that are told apart by their parents are local. What is in the
namespace
of XML has a file too, so that nothing has to be fetched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from heptox.errors import Fault, SchemaError
from heptox.schema.inference.comments import comments
from heptox.schema.inference.constraints import Constraint, constraints_of
from heptox.schema.inference.inferring import XSD_NAMESPACE
from heptox.schema.inference.model import InferredAttribute, InferredElement, InferredSchema
from heptox.schema.inference.values import STRING, LeafType
from heptox.schema.model import Cardinality, Particle
from heptox.xml import XML_NAMESPACE, Prefixes, declarations, escaped_value, expanded_name, split_name

_OCCURS: Final = {
    Cardinality.ONE: "",
    Cardinality.OPTIONAL: ' minOccurs="0"',
    Cardinality.MANY: ' minOccurs="0" maxOccurs="unbounded"',
    Cardinality.SOME: ' maxOccurs="unbounded"',
}


def namespaces_of(schema: InferredSchema) -> list[str]:
    """The namespaces of a schema, each of which needs a file: that of the first root first, that of XML last."""
    names = [
        *schema.roots,
        *schema.elements,
        *schema.types,
        *(name for name in schema.attributes if split_name(name)[0] != XML_NAMESPACE),
        *(name for name in schema.attributes if split_name(name)[0] == XML_NAMESPACE),
    ]
    return list(dict.fromkeys(split_name(name)[0] for name in names))


MOST_NAMESPACES: Final = 200


def print_xsd(schema: InferredSchema, name: str = "schema.xsd", *, constraints: bool = False) -> dict[str, str]:
    """The files of an XSD by their names, the main one, ``name``, first.

    ``constraints`` writes keys and references to one key as ``xs:key`` and ``xs:keyref``.

    Raises :class:`SchemaError` (HX2033) beyond :data:`MOST_NAMESPACES`.

    >>> files = print_xsd(InferredSchema(("a",), {"a": InferredElement("a", text=True)}, documents=1))
    >>> print(files["schema.xsd"], end="")
    <?xml version="1.0" encoding="UTF-8"?>
    <!-- inferred from 1 document -->
    <xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
      <xs:element name="a" type="xs:string"/>
    </xs:schema>
    """
    namespaces = namespaces_of(schema)
    if len(namespaces) > MOST_NAMESPACES:
        message = f"the documents have names in {len(namespaces):,} namespaces, more than {MOST_NAMESPACES}"
        hint = "each would be a file of the XSD, which imports all others: infer from documents of fewer, or a DTD"
        raise SchemaError(Fault("HX2033", message, file=name, hint=hint))
    files = {namespace: _file(name, namespace, number) for number, namespace in enumerate(namespaces)}
    found = constraints_of(schema) if constraints else {}
    return {
        file: "\n".join(_Writer(schema, namespace, files, found).lines()) + "\n" for namespace, file in files.items()
    }


def _file(name: str, namespace: str, number: int) -> str:
    if not number:
        return name
    return f"{name.removesuffix('.xsd')}-{'xml' if namespace == XML_NAMESPACE else number}.xsd"


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes the file of one namespace."""

    schema: InferredSchema
    namespace: str
    files: dict[str, str]
    constraints: dict[str, tuple[Constraint, ...]]

    @property
    def is_main(self) -> bool:
        """Whether the file is the first."""
        return next(iter(self.files)) == self.namespace

    def lines(self) -> Iterator[str]:
        yield '<?xml version="1.0" encoding="UTF-8"?>'
        if self.is_main:
            yield from comments(self.schema)
        prefixes = self.prefixes()
        target = (
            f' targetNamespace="{escaped_value(self.namespace)}" elementFormDefault="qualified"'
            if self.namespace
            else ""
        )
        yield f"<xs:schema{declarations(prefixes.bound)}{target}>"
        yield from (f"  {line}" for line in self.imports())
        parts = _Parts(self.schema, prefixes, self.constraints)
        for name, found in self.schema.attributes.items():
            if split_name(name)[0] == self.namespace:
                yield from (f"  {line}" for line in _typed("attribute", split_name(name)[1], found))
        for kind, element in self.schema.types.items():
            if split_name(kind)[0] == self.namespace:
                yield from (f"  {line}" for line in parts.complex_type(element, f' name="{split_name(kind)[1]}"'))
        for name, element in self.schema.elements.items():
            if split_name(name)[0] == self.namespace:
                yield from (f"  {line}" for line in parts.element(element))
        yield "</xs:schema>"

    def prefixes(self) -> Prefixes:
        """The prefixes of the file; ``xs`` is that of XML Schema."""
        names = [expanded_name(self.namespace, "name"), *self.schema.elements, *self.schema.types]
        own = {prefix: uri for prefix, uri in self.schema.prefixes.bound if prefix != "xs"}
        in_paths = self.schema.elements if self.constraints else ()  # where the default is no prefix
        found = Prefixes.of(own).covering(names, attributes=[*self.schema.attributes, *in_paths])
        return Prefixes.of({"xs": XSD_NAMESPACE, **dict(found.bound)})

    def imports(self) -> Iterator[str]:
        for namespace, file in self.files.items():
            if namespace != self.namespace and (self.is_main or self.namespace != XML_NAMESPACE):
                where = f' namespace="{escaped_value(namespace)}"' if namespace else ""
                yield f'<xs:import{where} schemaLocation="{escaped_value(quote(file))}"/>'


@dataclass(frozen=True, slots=True)
class _Parts:
    """Writes declarations; ``prefixes`` are those of their file."""

    schema: InferredSchema
    prefixes: Prefixes
    constraints: dict[str, tuple[Constraint, ...]]

    def element(self, element: InferredElement, occurs: str | None = None) -> Iterator[str]:
        """The declaration of an element type: global, or local where it says how often it occurs."""
        nillable = ' nillable="true"' if element.nillable else ""
        name, rest = split_name(element.name)[1], f"{occurs or ''}{nillable}"
        found = self.constraints.get(element.name, ()) if occurs is None else ()
        inside = [line for constraint in found for line in constraint.lines(self.prefixes)]
        if element.named:
            yield from _with("xs:element", f'name="{name}" type="xs:anyType"{rest}', inside)
        elif element.is_leaf and not element.attributes:
            yield from _typed("element", name, element.type, rest, inside)
        else:
            yield from _with("xs:element", f'name="{name}"{rest}', [*self.complex_type(element), *inside])

    def complex_type(self, element: InferredElement, name: str = "") -> Iterator[str]:
        """The complex type of an element."""
        attributes = [line for attribute in element.attributes for line in self.attribute(attribute)]
        if element.is_leaf:
            base = "string" if element.type.values else element.type.name
            extension = _with("xs:extension", f'base="xs:{base}"', attributes)
            yield from _with(f"xs:complexType{name}", "", list(_with("xs:simpleContent", "", list(extension))))
            return
        mixed = ' mixed="true"' if element.text else ""
        content = [] if element.content is None else list(self.group(element.name, element.content))
        yield from _with(f"xs:complexType{name}{mixed}", "", [*content, *attributes])

    def group(self, parent: str, model: Particle) -> Iterator[str]:
        """A content model; a sequence of one group is that group."""
        if len(model.members) == 1 and model.members[0].kind != "name" and model.occurrence is Cardinality.ONE:
            model = model.members[0]
        yield from self.particle(parent, model)

    def particle(self, parent: str, model: Particle) -> Iterator[str]:
        occurs = _OCCURS[model.occurrence]
        if model.kind == "name":
            local = self.schema.local.get((parent, model.name))
            if local is None:
                yield f'<xs:element ref="{self.prefixes.written(model.name)}"{occurs}/>'
            else:
                yield from self.element(local, occurs)
            return
        inner = [line for member in model.members for line in self.particle(parent, member)]
        yield from _with(f"xs:{model.kind}{occurs}", "", inner)

    def attribute(self, attribute: InferredAttribute) -> Iterator[str]:
        use = ' use="required"' if attribute.required else ""
        namespace, local = split_name(attribute.name)
        if namespace:
            yield f'<xs:attribute ref="{self.prefixes.written(attribute.name, attribute=True)}"{use}/>'
        else:
            yield from _typed("attribute", local, attribute.type, use)


def _typed(what: str, name: str, found: LeafType, rest: str = "", inside: Sequence[str] = ()) -> Iterator[str]:
    """A declaration with a simple type."""
    written = "" if found.values else f' type="xs:{found.name}"'
    head = f'name="{name}"{written}{rest}'
    if not found.values:
        yield from _with(f"xs:{what}", head, inside)
        return
    values = [f'<xs:enumeration value="{escaped_value(value)}"/>' for value in found.values]
    restriction = _with("xs:restriction", f'base="xs:{STRING.name}"', values)
    yield from _with(f"xs:{what}", head, [*_with("xs:simpleType", "", list(restriction)), *inside])


def _with(tag: str, head: str, inside: Sequence[str]) -> Iterator[str]:
    """An element with lines inside."""
    start = f"{tag} {head.rstrip()}".rstrip()
    if not inside:
        yield f"<{start}/>"
        return
    yield f"<{start}>"
    yield from (f"  {line}" for line in inside)
    yield f"</{tag.partition(' ')[0]}>"

"""Inferred schemas as DTDs."""

from __future__ import annotations

from collections.abc import Iterator

from heptox.errors import Fault, SchemaError
from heptox.schema.inference.comments import comments
from heptox.schema.inference.dtd_names import DtdNames
from heptox.schema.inference.model import InferredAttribute, InferredElement, InferredSchema
from heptox.schema.inference.values import XML_SPACE, XML_SPACE_TYPE, is_token
from heptox.schema.model import AttributeType, Cardinality, Particle
from heptox.xml import declared_as, escaped_value


def print_dtd(schema: InferredSchema, names: DtdNames) -> str:
    """The text of a DTD.

    Raises :class:`SchemaError` (HX2061) for attributes that a DTD has to declare otherwise than documents use them.

    >>> schema = InferredSchema(("a",), {"a": InferredElement("a", text=True)}, documents=1)
    >>> print(print_dtd(schema, DtdNames()), end="")
    <!-- inferred from 1 document -->
    <BLANKLINE>
    <!ELEMENT a (#PCDATA)>
    """
    faults = [fault for element in schema.elements.values() for fault in _faults(element)]
    if faults:
        raise SchemaError(faults)
    lines = [*comments(schema), ""]
    for element in schema.elements.values():
        lines += [element_declaration(element, names), *attribute_declarations(element, names)]
    return "\n".join(lines) + "\n"


def _faults(element: InferredElement) -> Iterator[Fault]:
    """What a DTD cannot say of the attributes of the namespace of XML (XML 1.0, 2.10; xml:id 1.0, 4)."""
    for attribute in element.attributes:
        if attribute.name == XML_SPACE and attribute.type != XML_SPACE_TYPE:
            message = f"xml:space of {element.name} has other values than {' and '.join(XML_SPACE_TYPE.values)}"
            yield Fault("HX2061", message, hint="infer an XSD")


def element_declaration(element: InferredElement, names: DtdNames) -> str:
    """The declaration of an element type."""
    return f"<!ELEMENT {names.element(element.name)} {_content(element, names)}>"


def _content(element: InferredElement, names: DtdNames) -> str:
    if element.content is None:
        return "(#PCDATA)" if element.text or not element.empty_tag else "EMPTY"
    if element.text:
        return f"(#PCDATA | {' | '.join(map(names.element, dict.fromkeys(_members(element.content))))})*"
    return content_model(element.content, names)


def content_model(model: Particle, names: DtdNames) -> str:
    """The content model of an element type.

    >>> from heptox.schema.inference.expressions import any_order
    >>> content_model(any_order("ab"), DtdNames()), content_model(any_order("a"), DtdNames())
    ('(a | b)*', '(a*)')
    """
    if len(model.members) == 1 and model.occurrence is Cardinality.ONE and model.members[0].kind != "name":
        return content_model(model.members[0], names)
    written = _particle(model, names)
    return f"({written})" if model.kind == "name" else written


def _particle(model: Particle, names: DtdNames) -> str:
    sign = "" if model.occurrence is Cardinality.ONE else model.occurrence.value
    if model.kind == "name":
        return f"{names.element(model.name)}{sign}"
    between = ", " if model.kind == "sequence" else " | "
    return f"({between.join(_particle(member, names) for member in model.members)}){sign}"


def _members(model: Particle) -> Iterator[str]:
    if model.kind == "name":
        yield model.name
    for member in model.members:
        yield from _members(member)


def attribute_declarations(element: InferredElement, names: DtdNames) -> Iterator[str]:
    """The declarations of the attributes of an element type, and of its prefixes."""
    lines = []
    for prefix, namespace in names.declarations.get(element.name, ()):
        default = f'#FIXED "{escaped_value(namespace)}"' if namespace else "#IMPLIED"
        lines.append(f"{declared_as(prefix)} CDATA {default}")
    lines += [attribute_definition(attribute, names) for attribute in element.attributes]
    if lines:
        between = "\n  " if len(lines) > 1 else " "
        yield between.join([f"<!ATTLIST {names.element(element.name)}", *lines]) + ">"


def attribute_definition(attribute: InferredAttribute, names: DtdNames) -> str:
    """The definition of an attribute, as it stands in a declaration."""
    default = "#REQUIRED" if attribute.required else "#IMPLIED"
    if attribute.default is not None:
        default = f'{"#FIXED " if attribute.fixed else ""}"{escaped_value(attribute.default)}"'
    return f"{names.attribute(attribute.name)} {_attribute_type(attribute)} {default}"


def _attribute_type(attribute: InferredAttribute) -> str:
    if attribute.type.values and all(map(is_token, attribute.type.values)):
        notation = "NOTATION " if attribute.kind is AttributeType.NOTATION else ""
        return f"{notation}({' | '.join(attribute.type.values)})"
    return "CDATA" if attribute.kind is AttributeType.ENUMERATION else attribute.kind.value

"""Writing what a DTD declares as one text that needs no other: without parameter entities and conditional sections."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from heptox.schema.dtd_declarations import (
    AttributeDeclaration,
    Declarations,
    ElementDeclaration,
    ExternalDeclaration,
)
from heptox.schema.dtd_namespaces import is_binding
from heptox.schema.model import AttributeType, Cardinality, Particle

_TO_ESCAPE: Final = re.compile('[&<"\t\n\r]')
_OF_ENTITIES: Final = (AttributeType.ENTITY, AttributeType.ENTITIES)


def written(declarations: Declarations) -> str:
    """The text of a DTD that declares the same; what no element type needs is left out.

    >>> from heptox.schema.dtd_entities import Files, Source
    >>> from heptox.schema.dtd_parser import parse_declarations
    >>> dtd = "<!ENTITY % x 'b | c'> <![INCLUDE[<!ELEMENT a ((%x;)*, d?)>]]> <!ATTLIST a k CDATA 'v' l ID #IMPLIED>"
    >>> print(written(parse_declarations(Source(dtd), Files())), end="")
    <!ELEMENT a ((b | c)*, d?)>
    <!ATTLIST a
      k CDATA "v"
      l ID #IMPLIED>
    """
    return "".join(f"{line}\n" for line in _lines(declarations))


def _lines(declarations: Declarations) -> Iterator[str]:
    attributes = {
        name: list(filter(_is_needed, declarations.attributes.get(name, {}).values())) for name in declarations.elements
    }
    kinds = {attribute.type for several in attributes.values() for attribute in several}
    unparsed = declarations.unparsed if kinds.intersection(_OF_ENTITIES) else {}
    needed = {entity.notation for entity in unparsed.values()}
    for several in attributes.values():
        needed.update(value for each in several if each.type == AttributeType.NOTATION for value in each.values)
    for notation in declarations.notations.values():
        if notation.name in needed:
            yield f"<!NOTATION {notation.name} {_identifiers(notation)}>"
    for entity in unparsed.values():
        yield f"<!ENTITY {entity.name} {_identifiers(entity)} NDATA {entity.notation}>"
    for name, element in declarations.elements.items():
        yield f"<!ELEMENT {name} {_content(element)}>"
        if attributes[name]:
            lines = "".join(f"\n  {attribute.name} {_definition(attribute)}" for attribute in attributes[name])
            yield f"<!ATTLIST {name}{lines}>"


def _is_needed(attribute: AttributeDeclaration) -> bool:
    return attribute.default is not None or not is_binding(attribute.name)


def _identifiers(declared: ExternalDeclaration) -> str:
    system = "" if declared.system is None else _quoted(declared.system)
    if declared.public is None:
        return f"SYSTEM {system}"
    return f"PUBLIC {_quoted(declared.public)} {system}".rstrip()


def _quoted(literal: str) -> str:
    """A literal in which references mean nothing, in the quotes that it does not have."""
    return f"'{literal}'" if '"' in literal else f'"{literal}"'


def _content(element: ElementDeclaration) -> str:
    if element.kind == "text":
        return "(#PCDATA)"
    if element.content is None:
        return element.kind
    if element.kind == "mixed":
        return f"(#PCDATA{''.join(f' | {member.name}' for member in element.content.members)})*"
    text = _particle(element.content)
    return text if text.startswith("(") and element.content.kind != "name" else f"({text})"


def _particle(particle: Particle) -> str:
    sign = "" if particle.occurrence == Cardinality.ONE else particle.occurrence.value
    if particle.kind == "name":
        return particle.name + sign
    connector = " | " if particle.kind == "choice" else ", "
    return f"({connector.join(map(_particle, particle.members))}){sign}"


def _definition(attribute: AttributeDeclaration) -> str:
    kind = f"({' | '.join(attribute.values)})" if attribute.values else attribute.type.value
    if attribute.type == AttributeType.NOTATION:
        kind = f"NOTATION {kind}"
    presence = f"#{attribute.presence}" if attribute.presence else ""
    default = "" if attribute.default is None else f'"{_escaped(attribute.default)}"'
    return " ".join(filter(None, (kind, presence, default)))


def _escaped(value: str) -> str:
    return _TO_ESCAPE.sub(lambda found: f"&#{ord(found[0])};", value)

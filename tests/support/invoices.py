"""A mapping between schemas with several namespaces each, and schemas whose DTDs declare these by ``xmlns``."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Final

from heptox.errors import SchemaError
from heptox.mapping import ArrowsText, Mapping
from heptox.schema import Child, Element, Particle, SchemaGraph, parse_dtd
from heptox.xml import Prefixes
from tests.support.fixtures import FIXTURES

_DECLARED: Final = re.compile(r'xmlns(?::(\w+))? CDATA #FIXED "([^"]*)"')
_COLON: Final = "--"

INVOICES: Final = FIXTURES / "mapping" / "invoices"


def prefixed_schema(text: str, root: str | None = None, file: str | None = None) -> SchemaGraph:
    """The schema of a DTD whose names have the prefixes that its ``xmlns`` attributes bind."""
    try:
        return parse_dtd(text, root, file)
    except SchemaError:
        bound = {prefix or "": uri for prefix, uri in _DECLARED.findall(text)}
        plain = re.sub(r"(?<=[a-z]):(?=[A-Za-z])", _COLON, re.sub(r"<!ATTLIST \S+\s*>", "", _DECLARED.sub("", text)))
        return _named(parse_dtd(plain, root and root.replace(":", _COLON), file), Prefixes.of(bound))


def _named(graph: SchemaGraph, prefixes: Prefixes) -> SchemaGraph:
    def expanded(name: str, *, attribute: bool = False) -> str:
        return prefixes.expanded(name.replace(_COLON, ":"), attribute=attribute)

    def particle(part: Particle) -> Particle:
        name = expanded(part.name) if part.kind == "name" else ""
        return replace(part, name=name, members=tuple(map(particle, part.members)))

    def element(each: Element) -> Element:
        return replace(
            each,
            name=expanded(each.name),
            children=tuple(Child(expanded(child.name), child.cardinality) for child in each.children),
            attributes=tuple(replace(one, name=expanded(one.name, attribute=True)) for one in each.attributes),
            content=None if each.content is None else particle(each.content),
        )

    elements = {expanded(name): element(each) for name, each in graph.elements.items()}
    return replace(graph, root=expanded(graph.root), elements=elements, prefixes=prefixes)


def read_schema(file: str, root: str | None) -> SchemaGraph:
    """A schema of the mapping by the name that it has for it."""
    return prefixed_schema((INVOICES / file).read_text(encoding="utf-8"), root, file)


def arrows() -> str:
    """The text of the mapping."""
    return (INVOICES / "invoices-ledger.arrows").read_text(encoding="utf-8")


@cache
def invoices() -> Mapping:
    """The mapping."""
    examined = ArrowsText(arrows(), read_schema, "invoices-ledger.arrows").examined()
    assert not examined.faults, "\n".join(map(str, examined.faults))
    assert examined.sound is not None
    return examined.sound

"""What other generators make, with its names in namespaces: schemas, documents and queries."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

from lxml import etree

from heptox.grammar import Expression, written_query
from heptox.schema import Child, Element, Particle, SchemaGraph
from heptox.xml import XML_NAMESPACE, Prefixes

_NAMESPACES: Final = ("", "urn:one", "http://two.example/a%20b", "urn:three")
_PREFIX: Final = re.compile(r"^(?:[\w.-]+:|Q\{[^}]*\})(?=[\w.-]+=\")")
_PREFIXES: Final = ("", "one", "p", "q", "xsi", "ns1")


@dataclass(frozen=True, slots=True)
class Namespacing:
    """Puts each name into a namespace, or into none, always the same one for ``seed``."""

    seed: int

    def element(self, name: str) -> str:
        """The expanded name of elements."""
        return self._expanded(name, _NAMESPACES)

    def attribute(self, name: str) -> str:
        """The expanded name of attributes, most of which are in no namespace."""
        return self._expanded(f"@{name}", ("", "", "", _NAMESPACES[1], _NAMESPACES[2], XML_NAMESPACE))

    def _expanded(self, name: str, namespaces: tuple[str, ...]) -> str:
        namespace = Random(f"{self.seed} {name}").choice(namespaces)
        local = name.removeprefix("@")
        return f"{{{namespace}}}{local}" if namespace else local

    @property
    def prefixes(self) -> Prefixes:
        """Prefixes for some of the namespaces."""
        random = Random(self.seed)
        prefixes = random.sample(_PREFIXES, 3)
        return Prefixes.of(dict(zip(prefixes, random.sample(_NAMESPACES[1:], 3), strict=True)))

    def graph(self, graph: SchemaGraph) -> SchemaGraph:
        """A schema whose types are named as its elements are."""
        return SchemaGraph(
            self.element(graph.root),
            {self.element(name): self._type(element) for name, element in graph.elements.items()},
            prefixes=self.prefixes,
        )

    def _type(self, element: Element) -> Element:
        return replace(
            element,
            name=self.element(element.name),
            children=tuple(Child(self.element(child.name), child.cardinality) for child in element.children),
            attributes=tuple(replace(one, name=self.attribute(one.name)) for one in element.attributes),
            content=self._particle(element.content) if element.content else None,
        )

    def _particle(self, particle: Particle) -> Particle:
        name = self.element(particle.name) if particle.name else ""
        return replace(particle, name=name, members=tuple(map(self._particle, particle.members)))

    def query(self, expression: Expression) -> Expression:
        return written_query(expression, self.element, self.attribute)

    def document(self, text: str, seed: int) -> str:
        """A document that declares its namespaces at its root, or wherever it needs them, with prefixes by chance."""
        random = Random(seed)
        at_root = random.random() < 0.6
        bound = dict(self.prefixes.bound) if random.random() < 0.5 else self._by_chance(random)
        root = etree.fromstring(text)
        if not all(self.element(str(element.tag)).startswith("{") for element in root.iter()):
            bound.pop("", None)  # lxml does not write that an element is in no namespace

        def copied(element: etree._Element, parent: etree._Element | None) -> etree._Element:
            tag = self.element(str(element.tag))
            here: Any = {prefix or None: uri for prefix, uri in bound.items()}  # the stubs know no default
            if parent is not None and (at_root or random.random() < 0.5):
                here = {}
            made = etree.Element(tag, nsmap=here) if parent is None else etree.SubElement(parent, tag, nsmap=here)
            for name, value in element.items():
                made.set(self.attribute(str(name)), value)
            made.text = element.text
            for child in element:
                copied(child, made).tail = child.tail
            return made

        return etree.tostring(copied(root, None), encoding="unicode")

    def _by_chance(self, random: Random) -> dict[str, str]:
        return dict(zip(random.sample(_PREFIXES, 2), random.sample(_NAMESPACES[1:], 2), strict=True))


def meaning(item: str) -> object:
    """What an item says, whatever prefixes it uses and wherever it declares them."""
    if not item.startswith("<"):
        return _PREFIX.sub("", item)
    return _tree(etree.fromstring(item))


def _tree(element: etree._Element) -> object:
    return (
        str(element.tag),
        tuple(sorted((str(name), value) for name, value in element.items())),
        element.text or "",
        tuple((_tree(child), child.tail or "") for child in element),
    )

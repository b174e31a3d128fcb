"""What other generators make, with its names in namespaces: schemas, documents and queries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from lxml import etree

from heptox.grammar import Expression, written_query
from heptox.schema import SchemaGraph, renamed
from heptox.xml import XML_NAMESPACE, Prefixes, escaped_text, escaped_value, expanded_name, split_name

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
        named = renamed(graph, self.element, self.attribute)
        return SchemaGraph(named.root, named.elements, prefixes=self.prefixes)

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


class Colliding(Namespacing):
    """Puts names into namespaces so that other names of them are alike: most elements are called ``a``."""

    def element(self, name: str) -> str:
        places = Random(self.seed).sample(_NAMESPACES, len(_NAMESPACES))
        namespace = places["abcd".index(name)] if name in ("a", "b", "c", "d") else places[0]
        local = "a" if name in ("b", "c", "d") and Random(f"{self.seed} {name}").random() < 0.6 else name
        return expanded_name(namespace, local)


def declared_anyhow(root: etree._Element, random: Random) -> str:
    """The text of an element, whose names are expanded, with declarations by chance: prefixes are bound again and again
    to other namespaces, declared where nothing needs them, and no more where nothing is in the default namespace."""
    return "".join(_declared(root, {"xml": XML_NAMESPACE, "": ""}, random))


def _declared(element: etree._Element, scope: dict[str, str], random: Random) -> Iterator[str]:
    scope = dict(scope)
    declared: dict[str, str] = {}
    used: set[str] = set()

    def bind(prefix: str, namespace: str) -> None:
        scope[prefix] = declared[prefix] = namespace

    if random.random() < 0.3 and split_name(str(element.tag))[0]:
        bind(random.choice(_PREFIXES), random.choice(_NAMESPACES[1:]))

    def written(name: str, *, attribute: bool) -> str:
        namespace, local = split_name(name)
        if attribute and not namespace:
            return local
        known = [one for one, uri in scope.items() if uri == namespace and (one or not attribute)]
        if not known:
            taken = {*declared, *used}
            free = [one for one in (*_PREFIXES, "r", "s", "t") if one not in taken and (one or not attribute)]
            known = [random.choice(free) if namespace else ""]
            bind(known[0], namespace)
        prefix = random.choice(known)
        used.add(prefix)
        return f"{prefix}:{local}" if prefix else local

    name = written(str(element.tag), attribute=False)
    attributes = [f" {written(str(one), attribute=True)}={_quoted(str(value))}" for one, value in element.items()]
    namespaces = [f" {f'xmlns:{one}' if one else 'xmlns'}={_quoted(uri)}" for one, uri in declared.items()]
    parts = [*namespaces, *attributes]
    random.shuffle(parts)
    yield f"<{name}{''.join(parts)}>{escaped_text(element.text or '')}"
    for child in element:
        yield from _declared(child, scope, random)
        yield escaped_text(child.tail or "")
    yield f"</{name}>"


def _quoted(value: str) -> str:
    return f'"{escaped_value(value)}"'


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

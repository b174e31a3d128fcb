"""Schema graphs as text that needs no other file: what a peer keeps of an XSD, and gives to others (JSON).

Names are written as the number of their namespace in a table, a colon, and the rest: ``0:Invoice``, ``:note``. The text
is read as something that anybody may have written: bounded, and with every part checked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from heptox.errors import Fault, Position, SchemaError
from heptox.schema.model import (
    Attribute,
    AttributeType,
    Cardinality,
    Child,
    Element,
    KeyConstraint,
    KeyReference,
    Particle,
    SchemaGraph,
    ValueType,
)
from heptox.schema.tree import ANYWHERE
from heptox.xml import NAME, XML_NAMESPACE, Prefixes, expanded_name, split_name

FORMAT: Final = "heptox schema graph"
VERSION: Final = 1

MOST_CHARACTERS: Final = 64 << 20
MOST_PARTS: Final = 1_000_000
"""Element types, children, attributes, values and particles of one graph at most, all together."""
MOST_DEPTH: Final = 100
"""How deep content models are nested at most."""
LONGEST_STRING: Final = 100_000

_Kind = TypeVar("_Kind")

# -- writing ---------------------------------------------------------------------------------------------------------


def write_graph(graph: SchemaGraph, *, documentation: bool = True) -> str:
    """The text of a schema graph, which :func:`parse_graph` reads; its file and its text are no part of it, and its
    ``documentation`` need not be.

    >>> graph = SchemaGraph("a", {"a": Element("a", text=True)})
    >>> parse_graph(write_graph(graph)) == graph
    True
    """
    return json.dumps(_Writer(graph, documentation).value(), ensure_ascii=False, separators=(",", ":"), sort_keys=True)


class _Writer:
    """Makes a value of a graph."""

    def __init__(self, graph: SchemaGraph, documentation: bool) -> None:
        self._graph = graph
        self._documentation = documentation
        self._namespaces: dict[str, int] = {}

    def value(self) -> dict[str, object]:
        graph = self._graph
        found: dict[str, object] = {
            "format": FORMAT,
            "version": VERSION,
            "root": self.name(graph.root),
            "roots": [self.name(root) for root in graph.roots],
            "prefixes": [list(pair) for pair in graph.prefixes.bound],
            "elements": [self.element(graph.elements[key]) for key in sorted(graph.elements)],
            "keys": [self.constraint(key) | {"required": key.required} for key in graph.keys],
            "references": [self.constraint(one) | {"key": self.name(one.key)} for one in graph.references],
        }
        return found | {"namespaces": list(self._namespaces)}

    def name(self, name: str) -> str:
        namespace, local = split_name(name)
        number = self._namespaces.setdefault(namespace, len(self._namespaces)) if namespace else ""
        return f"{number}:{local}"

    def type(self, key: str) -> str:
        return self.name(key) if key else ""

    def element(self, element: Element) -> dict[str, object]:
        found: dict[str, object] = {
            "type": self.type(element.type),
            "text": element.text,
            "open": element.open,
            "children": [self.child(child) for child in element.children],
            "attributes": [self.attribute(attribute) for attribute in element.attributes],
            "content": None if element.content is None else self.particle(element.content),
            "valueType": element.value_type.value,
            "values": list(element.values),
            "documentation": element.documentation if self._documentation else "",
        }
        return {"name": self.name(element.name), **_without_defaults(found)}

    def child(self, child: Child) -> list[str]:
        return [self.name(child.name), child.cardinality.value, *([self.type(child.type)] if child.type else [])]

    def attribute(self, attribute: Attribute) -> dict[str, object]:
        found: dict[str, object] = {
            "values": list(attribute.values),
            "fixed": attribute.fixed,
            "valueType": attribute.value_type.value,
            "documentation": attribute.documentation if self._documentation else "",
        }
        return {
            "name": self.name(attribute.name),
            "type": attribute.type.value,
            "cardinality": attribute.cardinality.value,
            **({} if attribute.default is None else {"default": attribute.default}),
            **_without_defaults(found),
        }

    def particle(self, particle: Particle) -> list[object]:
        if particle.kind == "name":
            return ["name", particle.occurrence.value, self.name(particle.name)]
        return [particle.kind, particle.occurrence.value, *map(self.particle, particle.members)]

    def constraint(self, constraint: KeyConstraint | KeyReference) -> dict[str, object]:
        return {
            "name": self.name(constraint.name),
            "element": self.name(constraint.element),
            "selectors": [list(path) for path in constraint.selectors],
            "fields": [[list(path) for path in paths] for paths in constraint.fields],
        }


def _without_defaults(value: dict[str, object]) -> dict[str, object]:
    return {name: part for name, part in value.items() if part and part != ValueType.STRING.value}


# -- reading ---------------------------------------------------------------------------------------------------------


def is_of_xsd(graph: SchemaGraph) -> bool:
    """Whether a graph was read from an XSD: it has the text of a graph, as no other has."""
    return is_graph_text(graph.text or "")


def is_graph_text(text: str) -> bool:
    """Whether a text may be that of a schema graph, and cannot be a DTD or an XSD.

    >>> is_graph_text('{"format": "heptox schema graph"}'), is_graph_text("<!ELEMENT a EMPTY>")
    (True, False)
    """
    return text.lstrip("\ufeff \t\r\n").startswith("{")


def parse_graph(text: str, file: str | None = None) -> SchemaGraph:
    """The schema graph that a text says, which messages call ``file``.

    Raises :class:`SchemaError` (HX2034) for a text that is none, or is beyond the limits of this module.
    """
    if len(text) > MOST_CHARACTERS:
        message = f"the text has more than {MOST_CHARACTERS:,} characters"
        raise SchemaError(Fault("HX2034", message, file=file))
    try:
        value = json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        position = Position(error.lineno, error.colno, file)
        raise SchemaError(Fault("HX2034", f"the text is no JSON: {error.msg}", position)) from None
    except RecursionError:
        raise SchemaError(
            Fault("HX2034", "the text is no JSON that is read: it is nested too deeply", file=file)
        ) from None
    except ValueError as error:
        raise SchemaError(Fault("HX2034", f"the text is no JSON that is read: {error}", file=file)) from None
    try:
        return replace(_Reader().graph(value), file=file, text=text)
    except _MalformedError as error:
        hint = "write it anew from the XSD"
        raise SchemaError(Fault("HX2034", f"the text is no schema graph: {error}", file=file, hint=hint)) from None


class _MalformedError(Exception):
    """What is wrong with a value."""


_NAME: Final = re.compile(NAME)
_NAMESPACE: Final = re.compile(r"[^{}\x00-\x20\x7f]{1,2000}")
_PREFIX: Final = re.compile(r"[^\W\d][\w.\-]{0,200}")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_WILDCARD: Final = re.compile(r"(?:\{[^{}\x00-\x20]+\})?\*")


def _names_in(particle: Particle) -> Iterator[str]:
    if particle.kind == "name":
        yield particle.name
    for member in particle.members:
        yield from _names_in(member)


class _Reader:
    """Makes a graph of a value, and counts its parts."""

    def __init__(self) -> None:
        self._parts = 0
        self._namespaces: list[str] = []
        self._written: dict[str, str] = {}
        """The names and types that have been met, as they are written, with what they are."""
        self._names: set[str] = set()

    def graph(self, value: object) -> SchemaGraph:
        fields = self.fields(value, "the graph")
        if fields.get("format") != FORMAT or fields.get("version") != VERSION:
            raise _MalformedError(f"it has to begin with the format {FORMAT}, version {VERSION}")
        self._namespaces = [self.namespace(one) for one in self.items(fields.get("namespaces", []), "namespaces")]
        elements: dict[str, Element] = {}
        for part in self.items(fields.get("elements"), "elements"):
            element = self.element(part)
            if element.key in elements:
                raise _MalformedError(f"{element.key} stands twice")
            elements[element.key] = element
        prefixes = self.prefixes(fields.get("prefixes", []))
        roots = tuple(self.known(one, elements) for one in self.items(fields.get("roots", []), "roots"))
        keys = tuple(self.key(one, elements) for one in self.items(fields.get("keys", []), "keys"))
        references = tuple(
            self.reference(one, elements) for one in self.items(fields.get("references", []), "references")
        )
        try:
            return SchemaGraph(
                self.known(fields.get("root"), elements), elements, None, None, prefixes, keys, references, roots
            )
        except ValueError as error:
            raise _MalformedError(str(error)) from None

    # parts

    def element(self, value: object) -> Element:
        fields = self.fields(value, "an element")
        name = self.name(fields.get("name"))
        children = tuple(self.child(one) for one in self.items(fields.get("children", []), f"children of {name}"))
        attributes = tuple(map(self.attribute, self.items(fields.get("attributes", []), f"attributes of {name}")))
        for what, names in (
            ("child", [child.name for child in children]),
            ("attribute", [attribute.name for attribute in attributes]),
        ):
            if len(set(names)) < len(names):
                raise _MalformedError(f"{name} has a {what} twice")
        unplaced = {child.name for child in children}
        content = fields.get("content")
        particle = None if content is None else self.particle(content, frozenset(unplaced), 0)
        is_open = self.flag(fields.get("open", False))
        if particle is not None:
            unplaced -= set(_names_in(particle))
        if unplaced and not is_open:
            raise _MalformedError(f"{name}: its child {min(unplaced)} is not in its content model")
        return Element(
            name,
            children,
            attributes,
            self.flag(fields.get("text", False)),
            particle,
            self.type(fields.get("type", "")),
            is_open,
            self.one_of(ValueType, fields.get("valueType", "string")),
            self.strings(fields.get("values", [])),
            self.string(fields.get("documentation", "")),
        )

    def child(self, value: object) -> Child:
        parts = self.items(value, "a child")
        if len(parts) not in (2, 3):
            raise _MalformedError("a child is a name, a cardinality and perhaps a type")
        return Child(self.name(parts[0]), self.one_of(Cardinality, parts[1]), self.type(parts[2] if parts[2:] else ""))

    def attribute(self, value: object) -> Attribute:
        fields = self.fields(value, "an attribute")
        default = fields.get("default")
        return Attribute(
            self.name(fields.get("name")),
            self.one_of(AttributeType, fields.get("type")),
            self.one_of(Cardinality, fields.get("cardinality")),
            None if default is None else self.string(default),
            self.strings(fields.get("values", [])),
            self.flag(fields.get("fixed", False)),
            self.one_of(ValueType, fields.get("valueType", "string")),
            self.string(fields.get("documentation", "")),
        )

    def particle(self, value: object, known: frozenset[str], depth: int) -> Particle:
        parts = self.items(value, "a content model")
        if depth > MOST_DEPTH:
            raise _MalformedError(f"a content model is nested more than {MOST_DEPTH} deep")
        if len(parts) < 3:
            raise _MalformedError("a part of a content model is a kind, an occurrence, and a name or parts")
        kind, occurrence = parts[0], self.one_of(Cardinality, parts[1])
        if kind == "name":
            name = self.name(parts[2])
            if name not in known or len(parts) != 3:
                raise _MalformedError(f"{name} is in a content model, but is no child")
            return Particle("name", occurrence, name)
        if kind not in ("sequence", "choice"):
            raise _MalformedError("a part of a content model is a name, a sequence or a choice")
        members = tuple(self.particle(part, known, depth + 1) for part in parts[2:])
        return Particle("sequence" if kind == "sequence" else "choice", occurrence, members=members)

    def key(self, value: object, elements: Mapping[str, Element]) -> KeyConstraint:
        fields = self.fields(value, "a key")
        return KeyConstraint(
            self.name(fields.get("name")),
            self.known(fields.get("element"), elements),
            self.paths(fields.get("selectors")),
            tuple(map(self.paths, self.items(fields.get("fields"), "fields"))),
            self.flag(fields.get("required", True)),
        )

    def reference(self, value: object, elements: Mapping[str, Element]) -> KeyReference:
        fields = self.fields(value, "a reference")
        return KeyReference(
            self.name(fields.get("name")),
            self.known(fields.get("element"), elements),
            self.paths(fields.get("selectors")),
            tuple(map(self.paths, self.items(fields.get("fields"), "fields"))),
            self.name(fields.get("key")),
        )

    def paths(self, value: object) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(map(self.step, self.items(path, "a path"))) for path in self.items(value, "paths"))

    def step(self, value: object) -> str:
        step = self.string(value)
        name = step.removeprefix(ANYWHERE).removeprefix("@")
        if not _WILDCARD.fullmatch(name):
            self.checked(name)
        return step

    def prefixes(self, value: object) -> Prefixes:
        bound: dict[str, str] = {}
        for pair in self.items(value, "prefixes"):
            parts = self.items(pair, "a prefix")
            if len(parts) != 2:
                raise _MalformedError("a prefix is its name and its namespace")
            prefix, namespace = map(self.string, parts)
            if (prefix and not _PREFIX.fullmatch(prefix)) or (namespace and not _NAMESPACE.fullmatch(namespace)):
                raise _MalformedError("a prefix or a namespace is none")
            if prefix == "xmlns" or (prefix == "xml") != (namespace == XML_NAMESPACE):
                raise _MalformedError("xml and xmlns are bound, and cannot be bound to others")
            bound[prefix] = namespace
        return Prefixes.of(bound)

    # values

    def items(self, value: object, what: str) -> list[Any]:
        if not isinstance(value, list):
            raise _MalformedError(f"{what}: a list is expected")
        self._parts += 1 + len(value)
        if self._parts > MOST_PARTS:
            raise _MalformedError(f"it has more than {MOST_PARTS:,} parts")
        return value

    def fields(self, value: object, what: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _MalformedError(f"{what}: an object is expected")
        return value

    def string(self, value: object) -> str:
        if not isinstance(value, str):
            raise _MalformedError("a string is expected")
        if len(value) > LONGEST_STRING or _CONTROL.search(value):
            raise _MalformedError("a string is too long, or holds what no XML document holds")
        return value

    def strings(self, value: object) -> tuple[str, ...]:
        return tuple(map(self.string, self.items(value, "values")))

    def written(self, value: object) -> str:
        """A name or the name of a type, as a graph has it."""
        found = self._written.get(value) if isinstance(value, str) else None
        if found is None:
            text = self.string(value)
            number, colon, local = text.partition(":")
            if not colon or not local or (number and (not number.isdecimal() or not number.isascii())):
                raise _MalformedError(f"{text[:60]!r} is no name")
            if number and (len(number) > 6 or int(number) >= len(self._namespaces)):
                raise _MalformedError(f"there is no namespace {number[:10]}")
            namespace = self._namespaces[int(number)] if number else ""
            found = self._written[text] = expanded_name(namespace, local)
        return found

    def name(self, value: object) -> str:
        return self.checked(self.written(value))

    def type(self, value: object) -> str:
        return "" if value == "" else self.written(value)

    def checked(self, name: str) -> str:
        if name not in self._names:
            namespace, local = split_name(name)
            if not _NAME.fullmatch(local) or ":" in local or (name.startswith("{") and not namespace):
                raise _MalformedError(f"{name[:60]!r} is no name")
            if namespace:
                self.namespace(namespace)
            self._names.add(name)
        return name

    def namespace(self, value: object) -> str:
        namespace = self.string(value)
        if not _NAMESPACE.fullmatch(namespace):
            raise _MalformedError(f"{namespace[:60]!r} is no namespace")
        return namespace

    def known(self, value: object, elements: Mapping[str, Element]) -> str:
        key = self.written(value)
        if key not in elements:
            raise _MalformedError(f"{key[:60]!r} is no element type of it")
        return key

    def flag(self, value: object) -> bool:
        if not isinstance(value, bool):
            raise _MalformedError("true or false is expected")
        return value

    def one_of(self, kind: Callable[[str], _Kind], value: object) -> _Kind:
        try:
            return kind(self.string(value))
        except ValueError:
            raise _MalformedError(f"{str(value)[:60]!r} cannot be there") from None

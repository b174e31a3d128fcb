"""Random schemas for the store, documents spelled in any way, and what the store should make of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Final
from unittest.mock import patch

from lxml import etree

from heptox.grammar import Expression
from heptox.schema import Path, SchemaGraph, conform, parse_dtd
from heptox.store import QueryPlan, Store, evaluate, plan_once, projected_once, query, query_once, read_for_query
from heptox.store.relations import Catalogue, Part, Relation
from heptox.store.text import escaped_attribute, escaped_text
from heptox.xml import XmlElement, parse_document
from tests.support import random_document
from tests.support.namespaces import meaning

VALUES: Final = (
    "x", "y z", "", " ", "<&\"'>]]>", "a\tb\nc\r", "\U0001f600", "\x7f\x85\u2028", "Œdème", "1", "]]", "]]>", "&amp;",
)  # fmt: skip

_TYPES: Final = ("CDATA", "NMTOKEN", "NMTOKENS", "(p|q)")
_DEFAULTS: Final = {
    "CDATA": ' " a &#34;<&#9;"'.replace("<", "&#38;lt;"),
    "NMTOKEN": " ' t'",
    "NMTOKENS": " 't  u '",
    "(p|q)": " 'p'",
}


def random_graph(random: Random) -> SchemaGraph:
    """A schema with repeated, optional, mixed and recursive parts, and attributes of all sorts."""
    count = random.randint(2, 9)
    names = [f"e{number}" for number in range(count)]
    parts = []
    for number, name in enumerate(names):
        below = names[number + 1 :]
        children = random.sample(below, min(len(below), random.choice((0, 1, 2, 3, 4))))
        if number and random.random() < 0.15:
            children.append(random.choice(names[: number + 1]))
        parts.append(_element(random, name, list(dict.fromkeys(children)), root=not number))
    return parse_dtd("\n".join(parts), names[0])


def _element(random: Random, name: str, children: list[str], *, root: bool) -> str:
    if not children:
        content = random.choice(("(#PCDATA)", "(#PCDATA)", "EMPTY")) if not root else "(#PCDATA)"
    elif random.random() < 0.15:
        content = f"(#PCDATA|{'|'.join(children)})*"
    else:
        content = f"({','.join(child + random.choice(('?', '?', '*', '*', '*')) for child in children)})"
    attributes = "".join(_attribute(random, f"a{number}") for number in range(random.choice((0, 0, 1, 2))))
    return f"<!ELEMENT {name} {content}>" + (f"<!ATTLIST {name}{attributes}>" if attributes else "")


def _attribute(random: Random, name: str) -> str:
    kind = random.choice(_TYPES)
    return f" {name} {kind}" + random.choice((" #REQUIRED", " #IMPLIED", _DEFAULTS[kind]))


# -- spelling ----------------------------------------------------------------------------------------------------


def random_text(graph: SchemaGraph, random: Random, *, elements: int = 40) -> str:
    """A valid document, spelled in a way that nobody would choose, or in parts as people and programs do."""
    root = parse_document(random_document(graph, random, elements=elements, pool=VALUES)).root
    speller = _Speller(graph, random)
    content = speller.element(root)
    subset = '[<!ENTITY u "u"><!ENTITY v "&#38;lt;&u;"><!ENTITY w "">]' if speller.entities else ""
    doctype = random.choice((f"<!DOCTYPE {root.tag} {subset}>", f'<!DOCTYPE {root.tag} SYSTEM "none.dtd" {subset}>'))
    prolog = random.choice(("", "<?xml version='1.0'?>", '<?xml version="1.0" standalone="no" ?>\n<!-- a -->'))
    return f"{prolog}{doctype if subset or random.random() < 0.3 else ''}{content}<!-- end -->\n"


class _Speller:
    def __init__(self, graph: SchemaGraph, random: Random) -> None:
        self.graph = graph
        self.random = random
        self.oddness = random.choice((0.0, 0.05, 1.0))
        self.entities = self.oddness == 1 and random.random() < 0.3

    def is_odd(self) -> bool:
        return self.random.random() < self.oddness

    def element(self, element: XmlElement) -> str:
        declared = self.graph.elements[str(element.tag)]
        parts = []
        for attribute in declared.attributes:
            value = element.get(attribute.name)
            if value is None or (attribute.default is not None and self.is_odd() and self.random.random() < 0.5):
                continue
            if attribute.type != "CDATA" and self.is_odd():
                value = self.random.choice((value, f"  {value} "))
            parts.append(self.attribute(attribute.name, value))
        self.random.shuffle(parts)
        space = self.random.choice(("", " "))
        tag = f"{element.tag}{''.join(parts)}{space if self.is_odd() else ''}"
        content = self.text(element.text or "")
        for child in element:
            content += self.element(child)
            content += self.text(child.tail or "")
            if not declared.text:
                odd = ("<!-- c -->", "\t<?p i?>") if self.is_odd() else ()
                content += self.random.choice(("", "", "\n  ", *odd))
        if not content and self.random.random() < 0.5:
            return f"<{tag}{space}/>"
        return f"<{tag}>{content}</{element.tag}>"

    def attribute(self, name: str, value: str) -> str:
        if not self.is_odd():
            return f' {name}="{escaped_attribute(value)}"'
        quote = self.random.choice("\"'")
        written = "".join(self.character(each, f"<&\t\n\r{quote}") for each in value)
        return f"{self.random.choice((' ', chr(10)))}{name}{self.random.choice(('=', ' = '))}{quote}{written}{quote}"

    def character(self, character: str, special: str) -> str:
        if character in special or self.random.random() < 0.05:
            return self.random.choice((f"&#{ord(character)};", f"&#x{ord(character):x};"))
        return character

    def text(self, value: str) -> str:
        if not value or not self.is_odd():
            return escaped_text(value)
        cut = self.random.randint(0, len(value))
        between = self.random.choice(
            ("", "", "<!-- - -->", "<?p?>", "<![CDATA[]]>", *["&w;", "&u;"][: 2 * self.entities])
        )
        return self.part(value[:cut]) + between + self.part(value[cut:])

    def part(self, value: str) -> str:
        if self.random.random() < 0.2 and "]]>" not in value and "\r" not in value:
            return f"<![CDATA[{value}]]>"
        written = "".join(self.character(each, "<&\r]") for each in value)
        return written + "&v;" * (self.entities and self.random.random() < 0.2)


# -- what should be made of it -----------------------------------------------------------------------------------


@dataclass
class Expected:
    """The text of a document and the rows of its relations by table, by way of a tree in memory."""

    text: bytes = b""
    rows: dict[str, list[list[int | str | None]]] = field(default_factory=dict)
    places: dict[XmlElement, tuple[int, int]] = field(default_factory=dict)


def expected(text: str, graph: SchemaGraph, catalogue: Catalogue) -> Expected:
    document = conform(parse_document(text), graph)
    found = Expected()
    found.text = _written(document.root, 0, found.places).encode()
    for relation in catalogue.relations:
        found.rows[relation.table] = []
    for element, path, parent in _rows(document.root, (), -1, catalogue, found):
        found.rows[catalogue.relation(path).table].append(_row(element, path, parent, catalogue, found))
    return found


def _written(element: XmlElement, at: int, places: dict[XmlElement, tuple[int, int]]) -> str:
    attributes = "".join(f' {name!s}="{escaped_attribute(str(value))}"' for name, value in element.items())
    text = f"<{element.tag}{attributes}>"
    content = escaped_text(element.text or "")
    for child in element:
        content += _written(child, at + len((text + content).encode()), places)
        content += escaped_text(child.tail or "")
    text = f"{text}{content}</{element.tag}>" if content else f"{text[:-1]}/>"
    places[element] = at, at + len(text.encode())
    return text


def _rows(
    element: XmlElement, path: Path, parent: int, catalogue: Catalogue, found: Expected
) -> Iterator[tuple[XmlElement, Path, int]]:
    if catalogue.has_rows(path):
        yield element, path, parent
        parent = found.places[element][0]
    if not catalogue.is_opaque(str(element.tag)):
        for child in element:
            yield from _rows(child, (*path, str(child.tag)), parent, catalogue, found)


def _row(element: XmlElement, path: Path, parent: int, catalogue: Catalogue, found: Expected) -> list[int | str | None]:
    relation: Relation = catalogue.relation(path)
    node, stop = found.places[element]
    cells: list[int | str | None] = [node, stop, parent, catalogue.code(path)]
    for column in relation.columns:
        steps = [step for step in column.path if not step.startswith("@")]
        place: XmlElement | None = element
        for step in steps:
            place = None if place is None else place.find(step)
        if place is None:
            cells.append(None)
        elif column.part is Part.TEXT and len(steps) < len(column.path):
            cells.append(place.get(column.path[-1][1:]))
        elif column.part is Part.TEXT:
            cells.append(place.text or "")
        else:
            cells.append(found.places[place][column.part is Part.STOP])
    return cells


def answers(store: Store, plan: QueryPlan) -> list[str]:
    """The answer to a query, which is the same whether items are put together one by one or column by column."""
    found = list(query(store, plan))
    assert list(query(store, plan)) == found  # it is known now whether it has few rows
    with patch("heptox.store.answering.FEW", 0), patch("heptox.store.few_rows.FEW", 0):
        assert list(query(store, plan)) == found
    return found


def answer_once(expression: Expression, text: str) -> list[str] | None:
    """The answer to a query by a statement on what a document itself shows, and on what of it the query needs.

    ``None`` where there is neither.
    """
    read = read_for_query(text.encode(), "d.xml")
    assert read is not None
    plan = plan_once(expression, read)
    document = projected_once(read, expression, "d.xml")
    interpreted = None if document is None else list(evaluate(expression, [document]))
    if plan.plan is None:
        return interpreted
    found = list(query_once(read, plan))
    with patch("heptox.store.answering.FEW", 0):
        assert list(query_once(read, plan)) == found
    assert interpreted is None or list(map(meaning, interpreted)) == list(map(meaning, found))
    return found


def well_formed(text: str) -> bool:
    try:
        etree.fromstring(text.encode())
    except etree.XMLSyntaxError:
        return False
    return True

"""Random DTDs of parameter entities, modules and sections, judged by libxml2 and by what they are made of."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings, strategies as st
from lxml import etree

from heptox.errors import SchemaError
from heptox.schema import SchemaGraph, parse_dtd, random_document, read_dtd, validity_faults
from heptox.xml import XML_NAMESPACE, parse_document, write_element
from tests.support.budget import tries

NAMES = "abcd"
SIGNS = ("", "", "?", "*", "+")
ATTRIBUTES = [
    "k CDATA #IMPLIED",
    "k CDATA #REQUIRED",
    "l (u | v) 'u'",
    "l NMTOKEN #FIXED ' u '",
    "i ID #IMPLIED",
    "r IDREF #IMPLIED",
    "xml:lang CDATA #IMPLIED",
    "s NMTOKENS 'u  v'",
]


class Writer:
    """Writes a random DTD twice: plainly, and with its parts in parameter entities, sections and modules."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.entities: list[str] = []

    def hidden(self, text: str) -> str:
        """A text, or a parameter entity that stands for it, perhaps by way of another."""
        for _ in range(self.random.choice((0, 0, 1, 2))):
            name = f"p{len(self.entities)}"
            self.entities.append(f'<!ENTITY % {name} "{text}">')
            if self.random.random() < 0.2:
                self.entities.append(f'<!ENTITY % {name} "this one comes too late">')
            text = f"%{name};"
        return text

    def part(self, depth: int) -> tuple[str, str]:
        if depth == 0 or self.random.random() < 0.4:
            text = self.random.choice(NAMES) + self.random.choice(SIGNS)
            return text, self.hidden(text)
        members = [self.part(depth - 1) for _ in range(self.random.randint(1, 3))]
        mark, sign = self.random.choice((" | ", ",")), self.random.choice(SIGNS)
        plain, written = (mark.join(texts) for texts in zip(*members, strict=True))
        return f"({plain}){sign}", self.hidden(f"({written}){sign}")

    def content(self) -> tuple[str, str]:
        kind = self.random.choice(("EMPTY", "text", "mixed", "children", "children", "children"))
        if kind in ("EMPTY", "text"):
            text = "EMPTY" if kind == "EMPTY" else "(#PCDATA)"
            return text, self.hidden(text)
        if kind == "mixed":
            names = " | ".join(self.random.sample(NAMES, 2))
            return f"(#PCDATA | {names})*", f"(#PCDATA | {self.hidden(names)})*"
        plain, written = self.part(2)
        return f"({plain})", f"({written})"

    def declarations(self) -> tuple[list[str], list[str]]:
        plain, written = [], []
        for name in NAMES:
            content, hidden = self.content()
            plain.append(f"<!ELEMENT {name} {content}>")
            written.append(f"<!ELEMENT {self.hidden(name)} {hidden}>")
            for attribute in self.random.sample(ATTRIBUTES, self.random.choice((0, 0, 1, 2))):
                plain.append(f"<!ATTLIST {name} {attribute}>")
                written.append(f"<!ATTLIST {name} {self.hidden(attribute)}>")
        return plain, [self.sectioned(text) for text in written]

    def sectioned(self, text: str) -> str:
        match self.random.choice(("", "", "in", "entity", "beside")):
            case "in":
                return f"<![ {self.hidden('INCLUDE')} [ {text} ]]>"
            case "entity":
                text = text.replace('"', "'")
                self.entities.append(f'<!ENTITY % q{len(self.entities)} "{text.replace("%", "&#37;")}">')
                return f"%q{len(self.entities) - 1};"
            case "beside":
                return f"{text}<![%off;[ <!ELEMENT a ANY> <![INCLUDE[ ]]> ]]><!-- <!ELEMENT a ANY> --><?p <!ELEMENT?>"
            case _:
                return text


def damaged(random: Random, graph: SchemaGraph) -> str:
    """A valid document, if there is one, of which parts are taken out, doubled or changed."""
    try:
        root = parse_document(random_document(graph, random, elements=12, depth=4, pool=("", "x"))).root
    except ValueError:
        root = parse_document("<a/>").root
    for _ in range(random.choice((0, 0, 1, 2))):
        element = random.choice(list(root.iter()))
        parent = element.getparent()
        match random.choice(("out", "in", "attribute", "name", "text")):
            case "out" if parent is not None:
                parent.remove(element)
            case "in":
                element.insert(random.randint(0, len(element)), etree.Element(random.choice(NAMES)))
            case "attribute":
                element.set(random.choice(["k", "l", "i", "r", "z", f"{{{XML_NAMESPACE}}}lang"]), random.choice("uvx"))
            case "name":
                element.tag = random.choice(NAMES)
            case _:
                element.text = "x"
    return write_element(root)


@settings(max_examples=tries(1500), deadline=None)
@given(st.integers(0, 1 << 32))
def test_a_dtd_means_what_it_is_made_of_and_its_documents_are_those_of_libxml2(seed: int) -> None:
    random = Random(seed)
    writer = Writer(random)
    plain, written = writer.declarations()
    text = "\n".join(['<!ENTITY % off "IGNORE">', *writer.entities, *written])
    try:
        expected = parse_dtd("\n".join(plain), "a")
    except SchemaError as error:
        with pytest.raises(SchemaError) as caught:
            parse_dtd(text, "a")
        assert {fault.code for fault in caught.value.faults} == {fault.code for fault in error.faults}
        return
    graph = parse_dtd(text, "a")
    assert graph == expected
    assert [each.content for each in graph.elements.values()] == [each.content for each in expected.elements.values()]
    assert parse_dtd(graph.text or "", "a") == graph
    assert ("%" not in (graph.text or "")) == ("<![" in text) or graph.text == text
    judge = etree.DTD(StringIO(text))
    if any(attribute.name.startswith("{") for element in graph.elements.values() for attribute in element.attributes):
        return  # random documents are made of plain names
    for _ in range(4):
        document = damaged(random, graph)
        parsed = parse_document(document)
        is_valid = judge.validate(etree.fromstring(document)) and parsed.root.tag == "a"
        assert (validity_faults(parsed, graph) == ()) == is_valid, (text, document)


@settings(max_examples=tries(40), deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_modules_are_read_where_they_stand(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    random = Random(seed)
    writer = Writer(random)
    plain, written = writer.declarations()
    try:
        expected = parse_dtd("\n".join(plain), "a")
    except SchemaError:
        return
    folder = tmp_path_factory.mktemp("modules")
    lines = ['<!ENTITY % off "IGNORE">', *writer.entities]
    for number, text in enumerate(written):
        if random.random() < 0.4:
            path = Path("below") / f"{number}.mod" if random.random() < 0.5 else Path(f"{number}.mod")
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(f'<?xml version="1.0" encoding="utf-8"?>{text}')
            lines.append(f'<!ENTITY % m{number} SYSTEM "{path.as_posix()}"> %m{number};')
        else:
            lines.append(text)
    (folder / "main.dtd").write_text("\n".join(lines))
    graph = read_dtd(folder / "main.dtd", "a")
    assert graph == expected
    assert parse_dtd(graph.text or "", "a") == graph

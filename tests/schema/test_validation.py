"""Validity: what libxml2 judges, of documents in memory and of those that are read piece by piece."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO, StringIO
from random import Random

import pytest
from hypothesis import given, settings, strategies as st
from lxml import etree

from heptox.demo.records import records
from heptox.errors import Fault, SchemaError
from heptox.schema import SchemaGraph, parse_dtd, random_document, stream_faults, validity_faults
from heptox.schema.validation import MAXIMUM_FAULTS
from heptox.xml import parse_document, write_element
from tests.mapping.building import hospital
from tests.support.budget import tries

SIGNS = st.sampled_from(["", "", "?", "*", "+"])
PARTS = st.recursive(
    st.builds(str.__add__, st.sampled_from("abc"), SIGNS),
    lambda inner: st.builds(
        lambda parts, mark, sign: f"({mark.join(parts)}){sign}",
        st.lists(inner, min_size=1, max_size=3),
        st.sampled_from(", |"),
        SIGNS,
    ),
    max_leaves=6,
).map(lambda text: text.replace(" ", ","))
CONTENTS = st.one_of(
    st.sampled_from(["EMPTY", "(#PCDATA)", "(#PCDATA | a | b)*", "(#PCDATA | c)*"]), PARTS.map("({})".format)
)
KINDS = [
    "CDATA", "CDATA", "ID", "IDREF", "IDREFS", "NMTOKEN", "NMTOKENS", "(u | v)", "ENTITY", "ENTITIES", "NOTATION (n)",
]  # fmt: skip
VALUES = ["", "u", "v", "x", "y", " x ", "x  y", "1", "a b", "1-.:", ":a", "n", "e", "e f", "f", "\u00e9"]


def dtd_of(contents: list[str], random: Random) -> str:
    """A DTD of the elements a, b and c, with random attributes."""
    lines = ['<!NOTATION n SYSTEM "n"><!ENTITY e SYSTEM "e" NDATA n><!ENTITY f "f">']
    for name, content in zip("abc", contents, strict=True):
        lines.append(f"<!ELEMENT {name} {content}>")
        for attribute in random.sample("ijk", random.choice((0, 0, 1, 2))):
            kind = random.choice(KINDS)
            rule = random.choice(["#IMPLIED", "#REQUIRED", '"{}"', '#FIXED "{}"']).format(random.choice(VALUES))
            lines.append(f"<!ATTLIST {name} {attribute} {kind} {rule}>")
    return "\n".join(lines)


def document_of(random: Random, graph: SchemaGraph) -> str:
    """A valid document, if there is one, of which parts are moved, taken out, doubled or changed."""
    try:
        root = parse_document(random_document(graph, random, elements=12, depth=4, pool=("", " ", "x"))).root
    except ValueError:
        root = parse_document("<a/>").root
    for _ in range(random.choice((0, 0, 1, 1, 2, 4))):
        element = random.choice(list(root.iter()))
        parent = element.getparent()
        match random.choice(("out", "in", "twice", "attribute", "value", "text", "name")):
            case "out" if parent is not None:
                parent.remove(element)
            case "in":
                element.insert(random.randint(0, len(element)), etree.Element(random.choice("abcz")))
            case "twice" if parent is not None:
                element.addnext(parse_document(write_element(element)).root)
            case "attribute" if element.attrib:
                del element.attrib[random.choice(sorted(element.attrib))]
            case "value":
                element.set(random.choice("ijkz"), random.choice(VALUES))
            case "name":
                element.tag = random.choice("abcz")
            case _:
                element.text = random.choice(("x", " "))
    return write_element(root)


def is_valid(dtd: str, text: str) -> bool:
    """The verdict of libxml2 on a document that it has read with its DTD: attributes have their defaults then."""
    parser = etree.XMLParser(load_dtd=True, attribute_defaults=True)
    try:
        root = etree.fromstring(f"<!DOCTYPE a [{dtd}]>{text}", parser)
    except etree.XMLSyntaxError:  # an identifier that is there twice
        return False
    return root.tag == "a" and etree.DTD(StringIO(dtd)).validate(root)


@settings(max_examples=tries(400), deadline=None)
@given(st.lists(CONTENTS, min_size=3, max_size=3), st.integers(0, 1 << 32))
def test_the_verdict_is_that_of_libxml2(contents: list[str], seed: int) -> None:
    random = Random(seed)
    dtd = dtd_of(contents, random)
    try:
        graph = parse_dtd(dtd, "a")
    except SchemaError:
        return
    for _ in range(6):
        text = document_of(random, graph)
        in_memory = validity_faults(parse_document(text), graph)
        streamed = stream_faults(BytesIO(text.encode()), graph)
        assert sorted(map(_without_position, in_memory)) == sorted(map(_without_position, streamed))
        assert (not streamed) == is_valid(dtd, text), (dtd, text)


def _without_position(fault: Fault) -> str:
    return str(replace(fault, position=None))


SMALL = """<!ELEMENT a (b, (c | d)*, e?)> <!ELEMENT b (#PCDATA)> <!ELEMENT c EMPTY> <!ELEMENT d (#PCDATA | c)*>
<!ELEMENT e (c+)> <!ATTLIST c i ID #IMPLIED r IDREF #IMPLIED rs IDREFS #IMPLIED k (u | v) "u" f CDATA #FIXED "1">
<!ATTLIST b t NMTOKEN #IMPLIED> <!ATTLIST e q CDATA #REQUIRED>"""


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("<a><b/><c/><d>x<c/></d><e q=''><c/></e></a>", []),
        ("\n<b/>", ["2:1: HX2013 the root element is b, not a (the document is of another schema)"]),
        ("<a/>", ["1:5: HX2007 /a: a is not complete (b must follow)"]),
        ("<a>\n <c/><b/></a>", ["2:2: HX2007 /a: c cannot stand here (b would fit)"]),
        ("<a><b/><e q=''><c/></e><c/></a>", ["1:24: HX2007 /a: c cannot stand here (a may only end)"]),
        ("<a><b/><bb/></a>", ["1:8: HX2007 /a: bb cannot stand in a (did you mean b?)"]),
        ("<a><b/><y><z/><c k='w'/></y></a>", [
            "1:8: HX2007 /a: y cannot stand in a (it may hold b, c, d or e)",
            '1:15: HX2007 /a/y/c: the attribute k is "w" (u or v would fit)',
        ]),
        ("<a><b><c/></b></a>", ["1:7: HX2007 /a/b: c cannot stand in b (it may hold text only)"]),
        ("<a>x<b/></a>", ["1:5: HX2007 /a: a holds text (it may hold elements only)"]),
        ("<a><b/><c> </c></a>", ["1:12: HX2007 /a/c: c holds text (it must be empty)"]),
        ("<a><b/><e><c/></e></a>", ["1:8: HX2007 /a/e: e lacks the attribute q (which is required)"]),
        ("<a><b u=''/></a>", ["1:4: HX2007 /a/b: b has no attribute u (t may stand there)"]),
        ("<a><b t='x y'/></a>", [
            '1:4: HX2007 /a/b: the attribute t is "x y" (letters, digits and .-_: without spaces would fit)'
        ]),
        ("<a><b/><c f='2'/></a>", ['1:8: HX2007 /a/c: the attribute f is "2" ("1" is its only value)']),
        ("<a><b/><c i='1'/></a>", ['1:8: HX2007 /a/c: the attribute i is "1" (a name would fit)']),
        ("<a><b/><c i='x'/><c i='x'/></a>", [
            '1:18: HX2007 /a/c: the attribute i is "x" (another element has that identifier; it must be unique)'
        ]),
        ("<a><b/><c r='x'/><c rs='x y'/><c i='x'/></a>", [
            '1:18: HX2007 /a/c: the attribute rs is "y" (no element has that identifier)'
        ]),
    ],
)  # fmt: skip
def test_faults_say_where_what_and_what_would_fit(text: str, reported: list[str]) -> None:
    graph = parse_dtd(SMALL, "a")
    assert [str(fault) for fault in stream_faults(BytesIO(text.encode()), graph, "d.xml")] == [
        f"d.xml:{fault}" for fault in reported
    ]


def test_no_more_faults_are_reported_than_may_be() -> None:
    graph = parse_dtd("<!ELEMENT a (b*)> <!ELEMENT b EMPTY> <!ATTLIST b r IDREF #IMPLIED>", "a")
    for part in ("<c/>", "<b r='{}'/>"):
        text = "".join(["<a>", *map(part.format, map("x{}".format, range(50))), "</a>"])
        assert len(stream_faults(BytesIO(text.encode()), graph)) == MAXIMUM_FAULTS
        assert len(stream_faults(BytesIO(text.encode()), graph, most=1)) == 1
        assert len(validity_faults(parse_document(text), graph)) == MAXIMUM_FAULTS


def test_records_of_a_hospital() -> None:
    graph = hospital().source.graph
    text = records("montreal", 200)
    assert stream_faults(BytesIO(text.encode()), graph) == ()
    (fault,) = stream_faults(BytesIO(text.replace('PatRef="m1200"', 'PatRef="nobody"').encode()), graph)
    assert "nobody" in fault.message

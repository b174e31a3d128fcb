"""DTDs as schema graphs (``semantics.md`` section 1), what is refused, and validation."""

from __future__ import annotations

import socket
from dataclasses import replace
from functools import reduce
from io import StringIO
from pathlib import Path
from random import Random
from typing import Literal, TypeAlias

import pytest
from hypothesis import given, settings, strategies as st
from lxml import etree

from heptox.errors import Fault, InputError, SchemaError
from heptox.schema import (
    AttributeType,
    Cardinality,
    Particle,
    SchemaGraph,
    conform,
    document_dtd,
    parse_dtd,
    read_dtd,
    validity_faults,
)
from heptox.schema.dtd import cardinalities
from heptox.xml import parse_document, read_document, write_element
from tests.support import documents, random_document
from tests.support.budget import tries
from tests.support.shared import DATA

HOSPITAL = Path(__file__).parents[2] / "heptox" / "demo" / "hospital"


def faults_of(text: str, root: str | None = None) -> tuple[Fault, ...]:
    with pytest.raises(SchemaError) as caught:
        parse_dtd(text, root, "f.dtd")
    return caught.value.faults


def children(content: str, *names: str) -> str:
    """The child edges of an element with this content model, as ``a b? c*``."""
    declared = "".join(f"<!ELEMENT {name} EMPTY>" for name in names or "abcd")
    graph = parse_dtd(f"<!ELEMENT r {content}>{declared}", "r")
    return " ".join(f"{c.name}{c.cardinality}".removesuffix("1") for c in graph.elements["r"].children)


# -- cardinalities -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "edges"),
    [
        ("EMPTY", ""),
        ("(#PCDATA)", ""),
        ("(a, b?, c*, d+)", "a b? c* d+"),
        ("(a | b)", "a? b?"),
        ("(a | b)*", "a* b*"),
        ("(a | b)+", "a* b*"),
        ("(a)+", "a+"),
        ("(a+)?", "a*"),
        ("(a?)+", "a*"),
        ("(a, b)+", "a+ b+"),
        ("(a, b?)+", "a+ b*"),
        ("(a, b, a)", "a+ b"),
        ("((a, b) | (c, a+))", "a+ b? c?"),
        ("(a, (b | c)*, (a | d)?)", "a+ b* c* d?"),
        ("((a, (b, c)+)?, d)", "a? b* c* d"),
        ("(a+ | b+)", "a* b*"),
        ("((((a))))", "a"),
        ("(d, c, b, a)", "d c b a"),
        ("(#PCDATA | b | a)*", "b* a*"),
    ],
)
def test_cardinalities(content: str, edges: str) -> None:
    assert children(content) == edges


Counts: TypeAlias = frozenset[tuple[int, ...]]
"""How often ``a``, ``b`` and ``c`` stand in each of the words of a content model; 2 stands for more as well."""


def added(one: Counts, other: Counts) -> Counts:
    return frozenset(tuple(min(2, x + y) for x, y in zip(left, right, strict=True)) for left in one for right in other)


def repeated(counts: Counts, sign: Cardinality) -> Counts:
    found = counts
    while sign in ("*", "+") and (more := found | added(found, counts)) != found:
        found = more
    return found | {(0, 0, 0)} if sign in ("*", "?") else found


def name(letter: str, sign: Cardinality) -> tuple[Particle, Counts]:
    return Particle("name", sign, letter), repeated(frozenset({tuple(int(letter == x) for x in "abc")}), sign)


def composed(
    parts: list[tuple[Particle, Counts]], kind: Literal["sequence", "choice"], sign: Cardinality
) -> tuple[Particle, Counts]:
    members, counts = zip(*parts, strict=True)
    whole = reduce(added, counts) if kind == "sequence" else reduce(frozenset.union, counts)
    return Particle(kind, sign, members=members), repeated(whole, sign)


SIGNS = st.sampled_from(Cardinality)
CONTENTS = st.recursive(
    st.builds(name, st.sampled_from("abc"), SIGNS),
    lambda inner: st.builds(
        composed, st.lists(inner, min_size=1, max_size=3), st.sampled_from(["sequence", "choice"]), SIGNS
    ),
    max_leaves=8,
)


@given(CONTENTS)
def test_cardinalities_are_exactly_those_of_the_words_of_the_content_model(content: tuple[Particle, Counts]) -> None:
    particle, counts = content
    edges = cardinalities(particle)
    for place, letter in enumerate("abc"):
        found = {count[place] for count in counts}
        assert (letter in edges) == (found != {0})
        if letter in edges:
            assert edges[letter].required == (0 not in found)
            assert edges[letter].repeats == (2 in found)


@pytest.mark.parametrize("content", ["(a?, a)", "(a | a)", "((a, b) | (a, c))", "((a | b)*, a)", "(a, a?)+"])
def test_content_models_that_are_not_deterministic_are_refused(content: str) -> None:
    with pytest.raises(SchemaError, match=r"<text>:1:1: HX2009 the content model of r"):
        children(content)


@pytest.mark.parametrize("content", ["(a, b, a)", "(a*, b, a*)", "((a?)*)", "((a, b?)*, c, a)", "(a, a?)"])
def test_a_name_that_stands_twice_may_be_deterministic(content: str) -> None:
    graph = parse_dtd(f"<!ELEMENT r {content}>" + "".join(f"<!ELEMENT {x} EMPTY>" for x in "abc"), "r")
    random = Random(0)
    for _ in range(20):
        assert validity_faults(parse_document(random_document(graph, random)), graph) == ()
    assert validity_faults(parse_document("<r><c/><c/></r>"), graph) != ()


def test_text_and_mixed_content() -> None:
    graph = parse_dtd("<!ELEMENT r (t, m, e)><!ELEMENT t (#PCDATA)><!ELEMENT m (#PCDATA|t)*><!ELEMENT e EMPTY>")
    assert [(name, e.text, e.mixed, e.text_only) for name, e in graph.elements.items()] == [
        ("r", False, False, False),
        ("t", True, False, True),
        ("m", True, True, False),
        ("e", False, False, False),
    ]


def test_attributes() -> None:
    graph = parse_dtd(
        """<!NOTATION gif SYSTEM "g"> <!ELEMENT a (#PCDATA)>
        <!ATTLIST a q (u|v) "u" i ID #IMPLIED r IDREF #REQUIRED s IDREFS #IMPLIED f CDATA #FIXED "k">
        <!ATTLIST a n NMTOKEN #IMPLIED m NMTOKENS #IMPLIED o NOTATION (gif) #IMPLIED q CDATA "again">"""
    )
    assert [(a.name, a.type, a.cardinality, a.default, a.values, a.fixed) for a in graph.elements["a"].attributes] == [
        ("q", AttributeType.ENUMERATION, Cardinality.ONE, "u", ("u", "v"), False),
        ("i", AttributeType.ID, Cardinality.OPTIONAL, None, (), False),
        ("r", AttributeType.IDREF, Cardinality.ONE, None, (), False),
        ("s", AttributeType.IDREFS, Cardinality.OPTIONAL, None, (), False),
        ("f", AttributeType.CDATA, Cardinality.ONE, "k", (), True),
        ("n", AttributeType.NMTOKEN, Cardinality.OPTIONAL, None, (), False),
        ("m", AttributeType.NMTOKENS, Cardinality.OPTIONAL, None, (), False),
        ("o", AttributeType.NOTATION, Cardinality.OPTIONAL, None, ("gif",), False),
    ]
    assert not graph.elements["a"].text_only


def test_parameter_entities_and_conditional_sections() -> None:
    graph = parse_dtd(
        """<?xml version="1.0" encoding="ISO-8859-1"?> <!ENTITY % on "INCLUDE"> <!ENTITY % more ", b*">
        <![%on;[<!ELEMENT a (é %more;)>]]> <![IGNORE[<!ELEMENT z ANY>]]> <!ENTITY % e "<!ELEMENT é EMPTY>"> %e;
        <!ELEMENT b (#PCDATA)>"""
    )
    assert [child.name for child in graph.elements["a"].children] == ["é", "b"]


def test_a_long_list_of_children() -> None:
    names = [f"c{number}" for number in range(2000)]
    assert children(f"({', '.join(names)})", *names) == " ".join(names)


# -- the root ----------------------------------------------------------------------------------------------------


def test_the_root() -> None:
    assert parse_dtd("<!ELEMENT b EMPTY><!ELEMENT a (b)>").root == "a"
    assert parse_dtd("<!ELEMENT part (part*)>").root == "part"
    assert parse_dtd("<!ELEMENT a (b)><!ELEMENT b (a?)>", "b").root == "b"
    assert parse_dtd("<!ELEMENT a EMPTY><!ELEMENT b EMPTY>", "b").root == "b"


@pytest.mark.parametrize(
    ("dtd", "root", "part"),
    [
        ("<!ELEMENT b EMPTY><!ELEMENT c (d)><!ELEMENT d EMPTY><!ELEMENT a EMPTY>", None, "root: a, b, c"),
        ("<!ELEMENT a (b)><!ELEMENT b (a?)>", None, "every element type is a child"),
        ("<!ELEMENT Patient EMPTY>", "patient", "patient is not declared (such as Patient)"),
        ("", None, "no element type is declared"),
        ("<!-- nothing -->", "a", "no element type is declared"),
    ],
)
def test_no_root(dtd: str, root: str | None, part: str) -> None:
    (fault,) = faults_of(dtd, root)
    assert fault.code == "HX2005"
    assert part in str(fault)
    assert str(fault).startswith("f.dtd: ")


# -- faults ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtd", "code", "line", "column", "part"),
    [
        ("<!ELEMENT a (b,>", "HX2001", 1, 16, "expected"),
        ("<!ELEMENT a EMPTY", "HX2001", 1, 18, "expected '>'"),
        ("\nhello", "HX2001", 2, 1, "external subset"),
        ("<!ELEMENT a EMPTY>\n<a/>", "HX2001", 2, 1, "external subset"),
        ("<!ELEMENT a EMPTY>\n<!ELEMENT a (b)>", "HX2001", 2, 17, "Redefinition of element a"),
        ("<!ELEMENT a (%b;)>", "HX2001", 1, 17, "'b' not defined"),
        ("<!-- a -- b --><!ELEMENT a EMPTY>", "HX2001", 1, 8, "hyphen"),
        ("<!ELEMENT a EMPTY><!ATTLIST a x ID #IMPLIED y ID #IMPLIED>", "HX2001", 1, 58, "ID attribute"),
        ("<!ELEMENT a (#PCDATA | a | a)*>", "HX2001", 1, 32, "duplicate"),
        ('<!ELEMENT a EMPTY><!ATTLIST a x (u | v) "w">', "HX2001", 1, 44, "w"),
        ('<!ELEMENT a EMPTY>\n<!ENTITY % x SYSTEM "file:///x"> %x;', "HX2002", 2, 1, "x is external (file:///x)"),
        ("<!ELEMENT a (b,\n  c+)>\n<!ELEMENT b EMPTY>", "HX2003", 2, 3, "c, a child of a"),
        ("<!ELEMENT a (b)>\n<!-- <!ELEMENT b EMPTY> -->", "HX2003", 1, 14, "b, a child of a"),
        (
            "<!ELEMENT a EMPTY>\n<!ATTLIST a p:b CDATA #REQUIRED>",
            "HX2006",
            2,
            13,
            "the prefix p of the attribute name p:b",
        ),
        ("<!ELEMENT p:a (p:b)> <!ELEMENT p:b EMPTY>", "HX2006", 1, 1, "the prefix p of the element name p:a"),
    ],
)
def test_faults_have_positions(dtd: str, code: str, line: int, column: int, part: str) -> None:
    fault = faults_of(dtd)[0]
    assert fault.position is not None
    assert (fault.code, fault.position.file) == (code, "f.dtd")
    assert (fault.position.line, fault.position.column) == (line, column)
    assert part in fault.message
    assert fault.excerpt


def test_several_faults_at_once_in_their_order() -> None:
    faults = faults_of(
        "<!ELEMENT a (b, c, Name)>\n<!ELEMENT p:b ANY><!ATTLIST p:b xmlns:p CDATA #IMPLIED>\n<!ELEMENT d (e)>\n"
        "<!ELEMENT name EMPTY>\n<!ELEMENT b EMPTY>"
    )
    assert [fault.code for fault in faults] == ["HX2003", "HX2003", "HX2006", "HX2003", "HX2005"]
    assert faults[1].hint == "did you mean name?"


@pytest.mark.parametrize(
    ("model", "content", "children"),
    [
        ("(b, c?)", "b", "b1"),
        ("(b | c)*", "b, b", "b*"),
        ("(b | c?)", "", "b?"),
        ("(c | (b, c))?", "", ""),
        ("(#PCDATA | c)*", "text", ""),
        ("(b, (c | b)+)", "b, b", "b+"),
        ("((c, b)*, b)", "b", "b1"),
        ("((c?) | b)", "", "b?"),
    ],
)
def test_what_is_not_declared_stands_in_no_document(model: str, content: str, children: str) -> None:
    graph = parse_dtd(f"<!ELEMENT a {model}> <!ELEMENT b EMPTY>", "a", "f.dtd")
    assert " ".join(f"{child.name}{child.cardinality}" for child in graph.elements["a"].children) == children
    document = content.replace("b", "<b/>").replace(", ", "")
    assert not validity_faults(parse_document(f"<a>{document}</a>"), graph)
    assert etree.DTD(StringIO(graph.text)).validate(etree.fromstring(f"<a>{document}</a>"))
    assert {(remark.code, remark.message) for remark in graph.remarks} == {
        ("HX2003", "c, a child of a, is not declared")
    }


@pytest.mark.parametrize("model", ["(b, c)", "(c | (b, c))", "((b | c), c)+", "(c+)"])
def test_content_of_which_nothing_can_stand_is_a_fault(model: str) -> None:
    assert {fault.code for fault in faults_of(f"<!ELEMENT a {model}> <!ELEMENT b EMPTY>", "a")} == {"HX2003"}


def test_all_redefinitions_are_told() -> None:
    dtd = "<!ELEMENT a (b)>\n<!ELEMENT a (b)>\n<!ELEMENT b EMPTY>\n<!ELEMENT b EMPTY>"
    assert [fault.position and fault.position.line for fault in faults_of(dtd)] == [2, 4]


@pytest.mark.parametrize(
    "dtd",
    [
        '<!ENTITY % x SYSTEM "{0}"> %x; <!ELEMENT a EMPTY>',
        '<!ENTITY % x PUBLIC "p" "{0}"> %x; <!ELEMENT a EMPTY>',
        "<!ENTITY % d \"<!ENTITY &#37; x SYSTEM '{0}'>\"> %d; %x; <!ELEMENT a EMPTY>",
        '<!ENTITY % x SYSTEM "{0}"> <!ELEMENT a (%x;)>',
    ],
)
def test_external_entities_are_refused_untouched(dtd: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.dtd"
    secret.write_text("<!ELEMENT secret EMPTY>")
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.setblocking(False)
        for address in (f"http://127.0.0.1:{server.getsockname()[1]}/x", secret.as_uri(), str(secret)):
            fault = faults_of(dtd.format(address))[0]
            assert fault.code == "HX2002"
            assert address in fault.message
        with pytest.raises(BlockingIOError):
            server.accept()


def test_an_entity_that_grows_without_end_is_refused() -> None:
    bomb = "".join(f"<!ENTITY % e{n} '{f'%e{n - 1};' * 10}'>" for n in range(1, 9))
    faults = faults_of(f"<!ENTITY % e0 '{'<!-- -->' * 20}'>{bomb} %e8; <!ELEMENT a EMPTY>")
    assert "amplification" in faults[0].message
    assert "xmlCtxt" not in faults[0].message


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "s.dtd"
    with pytest.raises(InputError, match="HX1001"):
        read_dtd(path)
    path.write_bytes('<?xml encoding="iso-8859-1"?><!ELEMENT é EMPTY>'.encode("iso-8859-1"))
    assert read_dtd(path).root == "é"
    path.write_bytes("<!ELEMENT é EMPTY>".encode("utf-16"))
    assert read_dtd(path).root == "é"
    for data in (
        "<!ELEMENT é EMPTY>".encode("iso-8859-1"),
        b'<?xml encoding="none"?><!ELEMENT a EMPTY>',
        b'<?xml encoding="unicode_escape"?><!ELEMENT a EMPTY>',
    ):
        path.write_bytes(data)
        with pytest.raises(InputError, match=r"s\.dtd: HX1003"):
            read_dtd(path)
    path.write_bytes(b"<!ELEMENT a EMPTY>\r\n<!--\r-->\r\n\r\n<!ELEMENT b (>")
    with pytest.raises(SchemaError, match=r"s\.dtd:5:14: HX2001"):
        read_dtd(path)


def test_a_graph_is_whole() -> None:
    graph = parse_dtd("<!ELEMENT a (b)><!ELEMENT b EMPTY>")
    with pytest.raises(ValueError, match="c is not declared"):
        SchemaGraph("c", graph.elements)
    with pytest.raises(ValueError, match="a has undeclared children: b"):
        SchemaGraph("a", {"a": graph.elements["a"]})


# -- the internal subset -----------------------------------------------------------------------------------------


def test_the_dtd_of_a_document() -> None:
    document = parse_document("<!DOCTYPE a [<!ELEMENT a (b*)>\n<!ELEMENT b (a?)>]><a/>", "d.xml")
    assert document_dtd(document).root == "a"
    assert document_dtd(document, "b").root == "b"
    with pytest.raises(SchemaError, match=r"d\.xml: HX2008"):
        document_dtd(parse_document("<!DOCTYPE a SYSTEM 'a.dtd'><a/>", "d.xml"))


def test_faults_of_an_internal_subset_have_positions_in_the_document() -> None:
    text = "<?xml version='1.0'?>\n<!DOCTYPE a SYSTEM 'x' [<!ELEMENT a (b+)>\n <!ELEMENT c (d)>]><a/>"
    with pytest.raises(SchemaError) as caught:
        document_dtd(parse_document(text))
    assert [str(fault.position) for fault in caught.value.faults] == ["<text>:2:38", "<text>:3:15"]


# -- documents ---------------------------------------------------------------------------------------------------

REAL = [
    ("courses/reed.dtd", None, "courses/reed.xml"),
    ("courses/uwm-derived.dtd", None, "courses/uwm.xml"),
    ("courses/wsu-derived.dtd", None, "courses/wsu.xml"),
    ("mondial/mondial-europe.dtd", "mondial", "mondial/mondial-europe.xml"),
]


@pytest.mark.parametrize(("dtd", "root", "file"), REAL)
def test_real_documents_are_valid(dtd: str, root: str | None, file: str) -> None:
    document = read_document(DATA / file)
    assert validity_faults(document, read_dtd(DATA / dtd, root)) == ()


def test_real_dtds() -> None:
    nitf = read_dtd(DATA / "nitf" / "nitf-2-5.dtd")
    assert (nitf.root, len(nitf.elements)) == ("nitf", 123)
    assert [(c.name, c.cardinality.value) for c in nitf.elements["nitf"].children] == [("head", "1"), ("body", "1")]
    auction = read_dtd(DATA / "xmark" / "auction.dtd", "site")
    assert [f"{c.name}{c.cardinality}" for c in auction.elements["description"].children] == ["text?", "parlist?"]
    with pytest.raises(SchemaError, match="amount, income, site, status"):
        read_dtd(DATA / "xmark" / "auction.dtd")
    mondial = read_dtd(DATA / "mondial" / "mondial-europe.dtd", "mondial")
    edges = {c.name: c.cardinality.value for c in mondial.elements["country"].children}
    assert (edges["name"], edges["indep_date"], edges["province"], edges["city"]) == ("+", "?", "*", "*")


@pytest.mark.parametrize(
    ("text", "line", "message", "hint"),
    [
        ("<bib/>", 1, "an XML document, whose root is bib, not a DTD", "the DTD that its documents follow"),
        ('<?xml version="1.0"?>\n<!-- > -->\n<bib a="x"><b/></bib>', 3, "whose root is bib", "documents follow"),
        ("<!DOCTYPE bib SYSTEM 'b.dtd'>\n<bib/>", 1, "whose root is bib", "documents follow"),
        ("<!DOCTYPE bib [<!ELEMENT bib EMPTY>]><bib/>", 1, "whose root is bib", "in the brackets of its DOCTYPE"),
        ("<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema'/>", 1, "an XML Schema, not a DTD", "documents follow"),
    ],
)
def test_a_document_that_is_given_for_a_dtd_is_told(text: str, line: int, message: str, hint: str) -> None:
    with pytest.raises(SchemaError) as raised:
        parse_dtd(text, file="x.xml")
    (fault,) = raised.value.faults
    assert (fault.code, fault.position and (fault.position.file, fault.position.line)) == ("HX2001", ("x.xml", line))
    assert message in fault.message and hint in (fault.hint or "")


def test_comments_before_a_dtd_make_no_document_of_it() -> None:
    assert parse_dtd("<!-- <a> -->" * 500 + "<?p <a> ?> <!ELEMENT a EMPTY>").root == "a"


SMALL = "<!ELEMENT a (b*)> <!ELEMENT b EMPTY> <!ATTLIST b i ID #REQUIRED r IDREF #IMPLIED k (u|v) 'u' c CDATA ' d '>"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("<a><b i='x' r='x'/></a>", []),
        ("<c/>", [1]),
        ("<b i='x'/>", [1]),
        ("<a>\n<b/>\n<c/></a>", [2, 3]),
        ("<a>\n<b i='x'/>\n<b i='x'/></a>", [3]),
        ("<a>\n<b i='x' r='y'/></a>", [2]),
        ("<a><b i='x' k='w'/></a>", [1]),
    ],
)
def test_invalid_documents(text: str, lines: list[int]) -> None:
    faults = validity_faults(parse_document(text, "d.xml"), parse_dtd(SMALL))
    assert sorted({fault.position.line for fault in faults if fault.position}) == lines
    other = not text.startswith("<a>")
    assert all(fault.code == ("HX2013" if other else "HX2007") for fault in faults)


def test_conforming_adds_defaults_and_keeps_the_given_document() -> None:
    document = parse_document("<a><b i=' x  ' c=' c '/><b i='y' k='v' r=' x'/></a>")
    before = write_element(document.root)
    conforming = conform(document, parse_dtd(SMALL))
    assert write_element(conforming.root) == '<a><b i="x" c=" c " k="u"/><b i="y" k="v" r="x" c=" d "/></a>'
    assert write_element(document.root) == before
    with pytest.raises(SchemaError, match="HX2007"):
        conform(parse_document("<a><b/></a>"), parse_dtd(SMALL))


def test_conforming_copies_only_where_something_may_change() -> None:
    document = parse_document("<a/>")
    assert conform(document, parse_dtd("<!ELEMENT a EMPTY>")) is document


def test_a_graph_without_content_models_cannot_validate() -> None:
    elements = parse_dtd("<!ELEMENT a (b)><!ELEMENT b EMPTY>").elements
    graph = SchemaGraph("a", {"a": replace(elements["a"], content=None), "b": elements["b"]})
    with pytest.raises(ValueError, match="the content model of a is not known"):
        validity_faults(parse_document("<a/>"), graph)


@settings(max_examples=tries(50), deadline=None)
@given(documents(read_dtd(HOSPITAL / "mongenhosp.dtd"), elements=40))
def test_edges_hold_in_every_valid_document(text: str) -> None:
    graph = read_dtd(HOSPITAL / "mongenhosp.dtd")
    for element in parse_document(text).root.iter():
        declared = graph.elements[str(element.tag)]
        assert {str(child.tag) for child in element} <= {child.name for child in declared.children}
        for child in declared.children:
            found = len(element.findall(child.name))
            assert found >= 1 or not child.cardinality.required
            assert found <= 1 or child.cardinality.repeats
        assert all(a.name in element.attrib for a in declared.attributes if a.cardinality.required)

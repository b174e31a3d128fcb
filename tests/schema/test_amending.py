"""Documents of an XSD are as they are written, and each element has the type that its place gives it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from heptox.grammar import parse_query
from heptox.schema import SchemaGraph, as_declared, read_schema, validity_faults
from heptox.store import Store, evaluate, plan_query, query
from heptox.xml import parse_document

XSD: Final = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="r"><xs:complexType>
<xs:sequence><xs:element name="a"><xs:complexType><xs:sequence><xs:element name="c"><xs:complexType><xs:sequence>
<xs:element name="d" type="xs:string"/></xs:sequence><xs:attribute name="k" default="one"/></xs:complexType>
</xs:element></xs:sequence></xs:complexType></xs:element>
<xs:element name="b"><xs:complexType><xs:sequence><xs:element name="c" maxOccurs="2"><xs:complexType>
<xs:attribute name="k" default="two"/><xs:attribute name="l" type="xs:NMTOKEN"/></xs:complexType></xs:element>
</xs:sequence></xs:complexType></xs:element>
</xs:sequence></xs:complexType></xs:element></xs:schema>"""
DOCUMENT: Final = "<r><a><c><d/></c></a><b><c k='3' l=' 4 '/><c/></b></r>"


@pytest.fixture
def graph(tmp_path: Path) -> SchemaGraph:
    (tmp_path / "r.xsd").write_text(XSD, encoding="utf-8")
    return read_schema(tmp_path / "r.xsd")


@pytest.mark.parametrize(
    ("asked", "items"),
    [
        ("//a/c/@k", []),
        ("//b/c/@k", ['k="3"']),
        ("//@l", ['l=" 4 "']),
        ("//b/c[not(@k)]", ["<c/>"]),
    ],
)
def test_documents_are_as_they_are_written(graph: SchemaGraph, asked: str, items: list[str]) -> None:
    expression, document = parse_query(asked), parse_document(DOCUMENT)
    assert list(evaluate(expression, [as_declared(document, graph)])) == items
    with Store.open(None, graph) as store:
        store.load("r", DOCUMENT.encode())
        assert list(query(store, plan_query(expression, store.catalogue))) == items


def test_validity_is_judged_by_the_type_of_each_element(graph: SchemaGraph) -> None:
    assert validity_faults(parse_document(DOCUMENT), graph) == ()
    other = parse_document("<r><a><c/></a><b><c><d/></c></b></r>")
    assert [fault.message for fault in validity_faults(other, graph)] == [
        "/r/a/c: c is not complete",
        "/r/b/c: d cannot stand in c",
    ]


def test_a_document_that_does_not_fit_says_where(graph: SchemaGraph) -> None:
    with Store.open(None, graph) as store:
        loaded = store.load("r", b"<r><a/><b/><x/></r>").document
    assert [str(fault.code) for fault in loaded.misfits] == ["HX6020"]

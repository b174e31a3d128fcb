"""The comparison of a mapping with an official crosswalk, on a model of four terms."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from benchmarks.crosswalks.__main__ import Results, by_term, differences, measured, summary
from benchmarks.crosswalks.terms import Terms
from heptox.mapping import load_mapping

SOURCE: Final = """
<!ELEMENT bill (id, due?, line*)>
<!ELEMENT line (text, price?)> <!ELEMENT id (#PCDATA)> <!ELEMENT due (#PCDATA)>
<!ELEMENT text (#PCDATA)> <!ELEMENT price (#PCDATA)> <!ATTLIST price cur CDATA #REQUIRED>
"""

MODEL: Final = """
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:m="urn:m" targetNamespace="urn:m"
    elementFormDefault="qualified">
  <xs:element name="invoice"><xs:complexType><xs:sequence>
    <xs:element name="Number" type="xs:token"><xs:annotation><xs:appinfo>T-1</xs:appinfo></xs:annotation></xs:element>
    <xs:element name="Due" type="xs:token" minOccurs="0">
      <xs:annotation><xs:appinfo>T-2</xs:appinfo></xs:annotation></xs:element>
    <xs:element name="LINE" type="m:line" minOccurs="0" maxOccurs="unbounded">
      <xs:annotation><xs:appinfo>G-1</xs:appinfo></xs:annotation></xs:element>
  </xs:sequence></xs:complexType></xs:element>
  <xs:complexType name="line"><xs:sequence>
    <xs:element name="Name" type="xs:token"><xs:annotation><xs:appinfo>T-3</xs:appinfo></xs:annotation></xs:element>
    <xs:element name="Price" type="m:price" minOccurs="0"><xs:annotation><xs:appinfo>T-4</xs:appinfo></xs:annotation>
    </xs:element>
    <xs:element name="PART" type="m:line" minOccurs="0" maxOccurs="unbounded">
      <xs:annotation><xs:appinfo>G-2</xs:appinfo></xs:annotation></xs:element>
  </xs:sequence></xs:complexType>
  <xs:complexType name="price"><xs:simpleContent><xs:extension base="xs:token">
    <xs:attribute name="currency"/></xs:extension></xs:simpleContent></xs:complexType>
</xs:schema>
"""

ARROWS: Final = """
source "bill.dtd" root bill
target "model.xsd" root m:invoice
id             -> m:Number
each line -> m:LINE
line/text      -> m:LINE/m:Name
line/price     -> m:LINE/m:Price
line/price/@cur -> m:LINE/m:Price/@currency
"""

BILLS: Final = {
    "a.xml": "<bill><id>1</id><line><text>x</text><price cur='EUR'>5</price></line><line><text>x</text></line></bill>",
    "b.xml": "<bill><id>2</id><due>today</due><line><text>y</text><price cur='EUR'>7</price></line></bill>",
}

JUDGED: Final = {
    "a.xml": """<m:invoice xmlns:m="urn:m"><m:Number m:id="T-1">1</m:Number>
        <m:LINE><m:Name>x</m:Name></m:LINE>
        <m:LINE><m:Price currency="EUR">5</m:Price><m:Name>x</m:Name></m:LINE></m:invoice>""",
    "b.xml": """<m:invoice xmlns:m="urn:m"><m:Number m:id="T-1">2</m:Number><m:Due>today</m:Due>
        <m:LINE><m:Name>y</m:Name><m:Price currency="CHF">7</m:Price></m:LINE></m:invoice>""",
}


@pytest.fixture
def results(tmp_path: Path) -> Results:
    (tmp_path / "bill.dtd").write_text(SOURCE)
    (tmp_path / "model.xsd").write_text(MODEL)
    (tmp_path / "bill-model.arrows").write_text(ARROWS)
    for folder, documents in (("bills", BILLS), ("judged", JUDGED)):
        (tmp_path / folder).mkdir()
        for name, text in documents.items():
            (tmp_path / folder / name).write_text(text)
    bills = [tmp_path / "bills" / name for name in BILLS]
    return measured(load_mapping(tmp_path / "bill-model.arrows"), bills, tmp_path / "judged", r"T-\d+")


def test_terms_attributes_and_groups_are_compared_document_by_document(results: Results) -> None:
    assert summary(results).splitlines()[2:] == [
        "| terms | 8 | 3 of 4 | 3 of 4 |",
        "| attributes of terms | 2 | 0 of 1 | 0 of 1 |",
        "| groups, with what they hold | 3 | 1 of 1 | 1 of 1 |",
    ]
    assert by_term(results).splitlines()[2:] == [
        "| T-1 Number | 2 | 2 | 2 |  |",
        "| T-2 Due | 1 | 1 | 1 | 1 |",
        "| T-3 Name | 3 | 2 | 2 |  |",
        "| T-4 Price | 2 | 2 | 2 |  |",
    ]


def test_what_differs_is_said_with_its_document(results: Results) -> None:
    assert list(differences(results)) == [
        "T-2 b.xml: missing ['today'], made []",
        "T-4/@currency b.xml: missing ['CHF'], made ['EUR']",
    ]


def test_a_document_must_not_call_a_term_what_the_model_does_not() -> None:
    with pytest.raises(ValueError, match="Number is T-1 here and T-2 there"):
        Terms({("{urn:m}Number",): "T-1"}) | Terms({("{urn:m}Number",): "T-2"})

"""Documents that are checked against schemas in files, by each of the three that can do it."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest

from heptox.bounded import WorkLimits
from heptox.errors import HeptoxError
from heptox.schema import document_checker
from tests.schema.test_xsd import xsd
from tests.support.shared import DATA, reads_shared

SCHEMA = """<xs:element name="a"><xs:complexType><xs:sequence>
  <xs:element name="b" type="xs:int" maxOccurs="unbounded"/></xs:sequence><xs:attribute name="k" type="xs:int"/>{}
  </xs:complexType></xs:element>"""
NEWER = SCHEMA.format('<xs:assert test="count(*) le 40"/>')


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def checked(schema: Path, document: str, root: str | None = None) -> list[str]:
    path = written(schema.parent / "d.xml", document)
    return [str(fault).removeprefix(f"{path}:") for fault in document_checker(schema, root).check(path).faults]


@pytest.mark.parametrize("text", [SCHEMA.format(""), NEWER])
def test_faults_have_their_line_and_their_path(tmp_path: Path, text: str) -> None:
    schema = xsd(tmp_path / "a.xsd", text)
    assert checked(schema, '<a xmlns="urn:t" k="1">\n<b>1</b></a>') == []
    (fault,) = checked(schema, '<p:a xmlns:p="urn:t">\n<p:b>1</p:b>\n<p:b>x</p:b></p:a>')
    assert fault.startswith("3:1: HX2007 /p:a/p:b: ") and "x" in fault
    (fault,) = checked(schema, '<a xmlns="urn:t">\n<c/></a>')
    assert fault.startswith(("2:1: HX2007 /a/c: ", "1:1: HX2007 /a: ")) and "{" not in fault


def test_only_xsd_1_1_has_assertions(tmp_path: Path) -> None:
    schema = xsd(tmp_path / "a.xsd", NEWER)
    (fault,) = checked(schema, f'<a xmlns="urn:t">{"<b>1</b>" * 41}</a>')
    assert "assertion" in fault


def test_the_first_faults_are_shown_and_all_are_counted(tmp_path: Path) -> None:
    schema = xsd(tmp_path / "a.xsd", SCHEMA.format(""))
    path = written(tmp_path / "d.xml", f'<a xmlns="urn:t">{"<b>x</b>" * 30}</a>')
    found = document_checker(schema).check(path)
    assert (found.is_valid, found.count, len(found.faults)) == (False, 30, 20)


def test_what_a_document_says_about_its_schema_is_not_read(tmp_path: Path) -> None:
    """Else the element that no schema declares would be one."""
    text = """<xs:element name="a"><xs:complexType><xs:sequence><xs:any/></xs:sequence></xs:complexType></xs:element>"""
    schema = xsd(tmp_path / "a.xsd", text)
    other = xsd(tmp_path / "o.xsd", '<xs:element name="o" type="xs:string"/>', namespace="urn:o")
    hint = f'xmlns:i="http://www.w3.org/2001/XMLSchema-instance" i:schemaLocation="urn:o {other.as_uri()}"'
    (fault,) = checked(schema, f'<a xmlns="urn:t" {hint}><o xmlns="urn:o"/></a>')
    assert "HX2007" in fault


def test_the_root_may_be_named(tmp_path: Path) -> None:
    schema = xsd(tmp_path / "a.xsd", '<xs:element name="a" type="xs:int"/><xs:element name="b" type="xs:int"/>')
    assert checked(schema, '<b xmlns="urn:t">1</b>') == []
    assert "HX2013" in checked(schema, '<b xmlns="urn:t">1</b>', "a")[0]


@pytest.mark.parametrize("text", [SCHEMA.format(""), NEWER])
def test_a_document_of_another_schema_is_called_so(tmp_path: Path, text: str) -> None:
    schema = xsd(tmp_path / "a.xsd", text)
    said = "1:1: HX2013 the root element is {}, which the schema does not declare ({})"
    assert checked(schema, "<x/>") == [said.format("x", "the document is of another schema")]
    assert checked(schema, '<p:A xmlns:p="urn:t"/>') == [said.format("p:A", "such as p:a")]


def test_a_dtd_is_checked_too(tmp_path: Path) -> None:
    schema = written(tmp_path / "a.dtd", "<!ELEMENT a (b*)> <!ELEMENT b EMPTY>")
    assert checked(schema, "<a><b/></a>") == []
    assert checked(schema, "<a>\n<c/></a>") == ["2:1: HX2007 /a: c cannot stand in a (it may hold b)"]


def test_a_wrong_schema_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HeptoxError, match="HX2030 unknown type"):
        document_checker(xsd(tmp_path / "a.xsd", '<xs:element name="a" type="t:none"/>'))


def test_a_document_that_is_none_is_refused(tmp_path: Path) -> None:
    checker = document_checker(xsd(tmp_path / "a.xsd", SCHEMA.format("")))
    with pytest.raises(HeptoxError, match=r"d\.xml:1:\d+: HX1002"):
        checker.check(written(tmp_path / "d.xml", "<a"))
    bomb = '<!DOCTYPE a [<!ENTITY e SYSTEM "/etc/passwd">]><a xmlns="urn:t"><b>&e;</b></a>'
    with pytest.raises(HeptoxError, match="HX1004"):
        checker.check(written(tmp_path / "d.xml", bomb))


def test_a_document_that_is_costly_to_check_is_refused_and_the_next_one_is_checked(tmp_path: Path) -> None:
    pattern = """<xs:element name="a"><xs:simpleType><xs:restriction base="xs:string"><xs:pattern value="(b+)+c"/>
        <xs:assertion test="true()"/></xs:restriction></xs:simpleType></xs:element>"""
    checker = document_checker(xsd(tmp_path / "a.xsd", pattern))
    costly = written(tmp_path / "d.xml", f'<a xmlns="urn:t">{"b" * 40}</a>')
    with mock.patch("heptox.schema.checking._checking", return_value=WorkLimits(1, 60.0, 2**28, 2**20)):
        with pytest.raises(HeptoxError, match=r"d\.xml: HX2035 to check the document takes more than 1 s of the"):
            checker.check(costly)
        assert checker.check(written(tmp_path / "e.xml", '<a xmlns="urn:t">bc</a>')).is_valid


@reads_shared
@pytest.mark.parametrize(
    ("schema", "documents", "count"),
    [
        ("invoices/ubl/maindoc/UBL-Invoice-2.1.xsd", "invoices/pairs/*_ubl.xml", 10),
        ("invoices/cii/data/standard/CrossIndustryInvoice_100pD16B.xsd", "invoices/pairs/*_uncefact.xml", 10),
        ("invoices/xr/xrechnung-semantic-model.xsd", "invoices/judged/*.xml", 20),
        ("library/xsd/MARC21slim.xsd", "library/marc/loc_general.xml", 1),
        ("library/xsd/mods-3-7.xsd", "library/judged/*.mods.xml", 1),
    ],
)
def test_invoices_and_records_are_valid(schema: str, documents: str, count: int) -> None:
    checker = document_checker(DATA / schema)
    found = [checker.check(path) for path in sorted(DATA.glob(documents))]
    assert len(found) == count and all(one.is_valid for one in found)


def test_a_fault_of_a_reference_has_the_path_of_its_element(tmp_path: Path) -> None:
    schema = tmp_path / "r.xsd"
    schema.write_text(
        """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="r"><xs:complexType><xs:sequence>
             <xs:element name="b" maxOccurs="2"><xs:complexType><xs:attribute name="k"/></xs:complexType></xs:element>
             <xs:element name="c"><xs:complexType><xs:attribute name="of"/></xs:complexType></xs:element>
           </xs:sequence></xs:complexType>
             <xs:key name="key"><xs:selector xpath="b"/><xs:field xpath="@k"/></xs:key>
             <xs:keyref name="ref" refer="key"><xs:selector xpath="c"/><xs:field xpath="@of"/></xs:keyref>
           </xs:element></xs:schema>"""
    )
    (fault,) = checked(schema, "<r><b k='1'/>\n<c of='2'/></r>")
    assert fault.startswith("2:1: HX2007 /r/c: ")

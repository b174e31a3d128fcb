"""``heptox schema show``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import HOSPITAL, heptox_ended


def test_the_groups_of_montreal_are_those_of_figure_4() -> None:
    ended = heptox_ended("schema", "show", HOSPITAL / "mongenhosp.dtd", "--groups")
    assert (ended.code, ended.err) == (0, "")
    assert set(ended.out.splitlines()) == {
        "{MonGenHosp, Patient, Hist, Event, Event/Problem, Event/Date}",
        "{MonGenHosp, Patient, Treat, Treat/Date, Desc, Doc}",
        "{MonGenHosp, Admission, @PatRef, Admission/Problem, AdmDate, DisDate}",
        "{MonGenHosp, Patient, @ID, MedCrNo, Name}",
    }
    assert len(ended.out.splitlines()) == 4


def test_the_groups_of_boston_are_those_of_figure_4() -> None:
    ended = heptox_ended("schema", "show", HOSPITAL / "massgeneral.dtd", "--groups")
    assert (ended.code, ended.err) == (0, "")
    assert set(ended.out.splitlines()) == {
        "{MassGeneral, Admission, Pulmonary, Coronary, @ID, InsName, PolicyNo, Enter, Leave, Patient}",
        "{MassGeneral, Progress, Symptom, Symptom/Desc, Symptom/Date}",
        "{MassGeneral, Progress, Treatment, Treatment/Date, Treatment/Desc}",
        "{MassGeneral, Progress, @PatRef}",
    }
    assert len(ended.out.splitlines()) == 4


def test_groups_as_json_are_the_same() -> None:
    plain = heptox_ended("schema", "show", HOSPITAL / "massgeneral.dtd", "--groups")
    ended = heptox_ended("schema", "show", HOSPITAL / "massgeneral.dtd", "--groups", "--json")
    assert [f"{{{', '.join(names)}}}" for names in json.loads(ended.out)] == plain.out.splitlines()


def test_the_tree_of_montreal() -> None:
    ended = heptox_ended("schema", "show", HOSPITAL / "mongenhosp.dtd")
    assert (ended.code, ended.err) == (0, "")
    assert (
        ended.out
        == """\
MonGenHosp
  Patient*
    @ID  ID, key
    MedCrNo?  text
    Name  text
    Hist
      Event*
        Problem  text
        Date  text
    Treat*
      Date  text
      Desc  text
      Doc?  text
  Admission*
    @PatRef  IDREF, refers to Patient/@ID
    Problem  text
    AdmDate  text
    DisDate?  text
"""
    )


def test_the_tree_as_json() -> None:
    ended = heptox_ended("schema", "show", HOSPITAL / "mongenhosp.dtd", "--json")
    tree = json.loads(ended.out)
    assert (tree["name"], tree["cardinality"], tree["notes"]) == ("MonGenHosp", "1", [])
    patient, admission = tree["children"]
    assert (patient["name"], patient["cardinality"]) == ("Patient", "*")
    assert [child["name"] for child in patient["children"]] == ["@ID", "MedCrNo", "Name", "Hist", "Treat"]
    assert admission["children"][0]["notes"] == ["IDREF", "refers to Patient/@ID"]


def test_kinds_of_content_are_told(tmp_path: Path) -> None:
    (tmp_path / "kinds.dtd").write_text("""
        <!ELEMENT r (p+, e)>
        <!ATTLIST r lang CDATA "en" size (big | small) #IMPLIED>
        <!ELEMENT p (#PCDATA | p | e)*>
        <!ELEMENT e EMPTY>
    """)
    ended = heptox_ended("schema", "show", tmp_path / "kinds.dtd")
    assert (
        ended.out
        == """\
r
  @lang  CDATA, default "en"
  @size?  big | small
  p+  recursive, mixed
    text()*
    p*  recursive, as above, mixed
    e*  empty
  e  empty
"""
    )


def test_element_types_that_all_contain_each_other_are_each_unfolded_once(tmp_path: Path) -> None:
    names = [f"e{number}" for number in range(30)]
    content = " | ".join(names)
    (tmp_path / "inline.dtd").write_text("".join(f"<!ELEMENT {name} (#PCDATA | {content})*>\n" for name in names))
    ended = heptox_ended("schema", "show", tmp_path / "inline.dtd", "--root", "e0")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert sum(line.endswith("recursive, mixed") for line in lines) == 30
    assert sum(line.endswith("recursive, as above, mixed") for line in lines) == 30 * 30 - 29


def test_the_root_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "two.dtd").write_text("<!ELEMENT a (#PCDATA)>\n<!ELEMENT b (#PCDATA)>\n")
    ended = heptox_ended("schema", "show", tmp_path / "two.dtd")
    assert ended.code == 1
    assert ended.err.count("\n") == 1
    assert "a" in ended.err
    assert "b" in ended.err
    assert heptox_ended("schema", "show", tmp_path / "two.dtd", "--root", "b").out == "b  text\n"
    assert heptox_ended("schema", "show", tmp_path / "two.dtd", "--root", "c").code == 1


def test_a_malformed_dtd_is_one_line_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "bad.dtd").write_text("<!ELEMENT a (b)>\n<!ELEMENT b (c,>\n")
    ended = heptox_ended("schema", "show", tmp_path / "bad.dtd")
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert ended.err.startswith(f"{tmp_path / 'bad.dtd'}:2:")
    assert "HX2001" in ended.err


def test_a_file_that_does_not_exist(tmp_path: Path) -> None:
    ended = heptox_ended("schema", "show", tmp_path / "no.dtd")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(f"{tmp_path / 'no.dtd'}: HX1001 ")


def test_a_dtd_on_standard_input() -> None:
    assert heptox_ended("schema", "show", "-", stdin="<!ELEMENT a EMPTY>").out == "a  empty\n"


def test_a_document_is_shown_by_the_dtd_that_it_holds(tmp_path: Path) -> None:
    document = tmp_path / "list.xml"
    document.write_text("<!DOCTYPE list [<!ELEMENT list (item*)> <!ELEMENT item (#PCDATA)>]><list/>")
    assert heptox_ended("schema", "show", document).out == "list\n  item*  text\n"


SCHEMA = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:t="urn:t" targetNamespace="urn:t"
  elementFormDefault="qualified">
<xs:element name="list"><xs:complexType><xs:sequence>
  <xs:element name="item" maxOccurs="unbounded" type="t:Item"/></xs:sequence></xs:complexType></xs:element>
<xs:complexType name="Item"><xs:sequence>
  <xs:element name="price" type="xs:decimal"/>
  <xs:element name="size" minOccurs="0"><xs:simpleType><xs:restriction base="xs:token"><xs:enumeration value="S"/>
    <xs:enumeration value="L"/></xs:restriction></xs:simpleType></xs:element>
  <xs:element name="item" type="t:Item" minOccurs="0"/>
  <xs:any namespace="##other" minOccurs="0"/></xs:sequence>
  <xs:attribute name="made" type="xs:date" use="required"/>
  <xs:attribute name="kind" default="x"><xs:simpleType><xs:restriction base="xs:string"><xs:enumeration value="x"/>
    <xs:enumeration value="y"/></xs:restriction></xs:simpleType></xs:attribute>
</xs:complexType>
</xs:schema>"""


def test_the_tree_of_an_xsd_has_types_and_prefixes(tmp_path: Path) -> None:
    path = tmp_path / "a.xsd"
    path.write_text(SCHEMA, encoding="utf-8")
    ended = heptox_ended("schema", "show", path)
    assert (ended.code, ended.err) == (0, "")
    assert (
        ended.out
        == """\
list
  item+  recursive, open
    @made  date
    @kind?  x | y
    price  decimal
    size?  text, S | L
    item?  recursive, as above, open
"""
    )
    ended = heptox_ended("schema", "show", path, "--depth", "1")
    assert ended.out == "list\n  item+  recursive, open, more below\n"
    assert heptox_ended("schema", "show", path, "--root", "t:none").code == 1


def test_documents_are_checked(tmp_path: Path) -> None:
    schema, good, bad = tmp_path / "a.xsd", tmp_path / "good.xml", tmp_path / "bad.xml"
    schema.write_text(SCHEMA, encoding="utf-8")
    good.write_text('<list xmlns="urn:t"><item made="2024-01-01"><price>1</price></item></list>', encoding="utf-8")
    bad.write_text('<list xmlns="urn:t">\n<item><price>one</price></item></list>', encoding="utf-8")
    ended = heptox_ended("schema", "check", schema, good)
    assert (ended.code, ended.out, ended.err) == (0, f"{schema}: 1 document is valid\n", "")
    ended = heptox_ended("schema", "check", schema, good, bad, tmp_path / "none.xml")
    assert (ended.code, ended.out) == (1, f"{schema}: 1 document is valid, 2 are not\n")
    lines = ended.err.splitlines()
    assert len(lines) == 3 and lines[0].startswith(f"{bad}:2:1: HX2007 /list/item: ") and "HX1001" in lines[2]
    found = json.loads(heptox_ended("schema", "check", schema, good, bad, "--json").out)
    assert (found["valid"], [one["count"] for one in found["documents"]]) == (1, [0, 2])


COMPOUND = Path(__file__).parents[1] / "fixtures" / "schemas" / "compound" / "compound.dtd"


def test_names_are_shown_with_the_prefixes_of_the_dtd() -> None:
    ended = heptox_ended("schema", "show", COMPOUND, "--depth", "2")
    assert (ended.code, ended.err) == (0, "")
    assert (
        ended.out
        == """\
book
  para*  text
  svg:svg*
    @xml:base?  CDATA
    @width  CDATA, default "100%"
    svg:g*  recursive, more below
    svg:use*  empty, more below
    svg:foreignObject*  more below
  Q{http://www.w3.org/1998/Math/MathML}math*
    @class?  CDATA
    @display  block | inline, default "inline"
    Q{http://www.w3.org/1998/Math/MathML}mrow*  recursive, more below
    Q{http://www.w3.org/1998/Math/MathML}mi*  text, more below
    Q{http://www.w3.org/1998/Math/MathML}annotation?  open, more below
"""
    )
    assert heptox_ended("schema", "show", COMPOUND, "--depth", "0").out == "book  more below\n"
    deep = heptox_ended("schema", "show", COMPOUND, "--depth", "9").out
    assert deep == heptox_ended("schema", "show", COMPOUND).out
    groups = heptox_ended("schema", "show", COMPOUND, "--groups").out
    assert "svg:svg" in groups and "{http" not in groups.replace("Q{http", "")


def test_a_tree_that_is_too_large_to_be_unfolded_is_shown_to_a_depth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heptox.cli.schema.MOST_SHOWN", 30)
    path = tmp_path / "deep.dtd"
    wide = "".join(f"<!ELEMENT e{n} (x{n}, y{n}, z{n})>" for n in range(20))
    joints = "".join(f"<!ELEMENT {x}{n} (e{n + 1})>" for n in range(20) for x in "xyz")
    path.write_text(f"{wide}{joints}<!ELEMENT e20 EMPTY><!ATTLIST e20 i ID #IMPLIED r IDREF #IMPLIED>")
    ended = heptox_ended("schema", "show", path)
    assert ended.code == 0 and "over 30 nodes: this is what --depth 4 shows of it" in ended.err
    assert ended.out == heptox_ended("schema", "show", path, "--depth", "4").out
    assert ended.out == heptox_ended("schema", "show", path, "--depth", "7").out
    shown = heptox_ended("schema", "show", path, "--depth", "1")
    assert shown.out == "e0\n  x0  more below\n  y0  more below\n  z0  more below\n"
    assert (
        json.loads(heptox_ended("schema", "show", path, "--depth", "1", "--json").out)["children"][0]["children"] == []
    )
    assert heptox_ended("schema", "show", path, "--depth", "1", "--groups").code == 2


def test_modules_are_found_by_a_catalogue_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "dtd").mkdir()
    (tmp_path / "b.mod").write_text("<!ELEMENT b (#PCDATA)>")
    path = tmp_path / "dtd" / "a.dtd"
    path.write_text('<!ENTITY % b PUBLIC "-//EX//B//EN" "urn:b"> %b; <!ELEMENT a (b*)>')
    entry = '<public publicId="-//EX//B//EN" uri="b.mod"/>'
    catalogue = tmp_path / "named.xml"
    catalogue.write_text(f'<catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog">{entry}</catalog>')
    missing = heptox_ended("schema", "show", path)
    assert (missing.code, missing.out) == (1, "")
    assert missing.err.startswith(f"{path}:1:1: HX2002 the parameter entity b is external")
    assert heptox_ended("schema", "show", path, "--catalog", catalogue).out == "a\n  b*  text\n"
    document = tmp_path / "a.xml"
    document.write_text("<a><b>x</b></a>")
    found = heptox_ended("eval", "//b", document, "--schema", path, "--catalog", catalogue)
    assert (found.code, found.out) == (0, "<b>x</b>\n")


_SHIPS = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xs:element name="reg"><xs:complexType><xs:sequence>
    <xs:element name="ship" maxOccurs="9"><xs:complexType>
      <xs:attribute name="id" type="xs:string" use="required"/></xs:complexType></xs:element>
    <xs:element name="fleet" maxOccurs="9"><xs:complexType><xs:sequence>
      <xs:element name="trip" type="xs:string"/></xs:sequence></xs:complexType>
      {inner}
    </xs:element></xs:sequence></xs:complexType>
    {outer}
  </xs:element></xs:schema>"""


@pytest.mark.parametrize(
    ("outer", "inner", "identifier", "trip"),
    [
        ("<xs:key {}><xs:field xpath='@id'/></xs:key>", "", "@id  CDATA, key", "trip  text, refers to ship/@id"),
        ("<xs:unique {}><xs:field xpath='@id'/></xs:unique>", "", "@id  CDATA, key", "trip  text, refers to ship/@id"),
        (
            "",
            "<xs:key name='of' ><xs:selector xpath='.'/><xs:field xpath='trip'/></xs:key>",
            "@id  CDATA",
            "trip  text",
        ),
    ],
    ids=["key", "unique", "not-of-the-document"],
)
def test_identity_constraints_of_the_document_are_marked(
    tmp_path: Path, outer: str, inner: str, identifier: str, trip: str
) -> None:
    keyref = "<xs:keyref name='r' refer='k'><xs:selector xpath='fleet'/><xs:field xpath='trip'/></xs:keyref>"
    selected = outer.replace(" {}>", " name='k'><xs:selector xpath='ship'/>")
    file = tmp_path / "ships.xsd"
    file.write_text(_SHIPS.format(inner=inner, outer=selected + keyref * bool(outer)))
    ended = heptox_ended("schema", "show", file)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == ["reg", "  ship+  empty", f"    {identifier}", "  fleet+", f"    {trip}"]


def test_a_keyref_is_what_a_mapping_is_told_to_declare(tmp_path: Path) -> None:
    keys = "<xs:key name='k'><xs:selector xpath='ship'/><xs:field xpath='@id'/></xs:key>"
    keyref = "<xs:keyref name='r' refer='k'><xs:selector xpath='fleet'/><xs:field xpath='trip'/></xs:keyref>"
    (tmp_path / "ships.xsd").write_text(_SHIPS.format(inner="", outer=keys + keyref))
    rows = "<!ELEMENT out (row*)> <!ELEMENT row EMPTY> <!ATTLIST row a CDATA #IMPLIED b CDATA #IMPLIED>"
    (tmp_path / "rows.dtd").write_text(rows)
    mapping = tmp_path / "ships.arrows"
    lines = "ship/@id -> row/@a\nfleet/trip -> row/@b\n"
    schemas = 'source "ships.xsd" root reg\ntarget "rows.dtd" root out\n'
    mapping.write_text(schemas + lines)
    ended = heptox_ended("map", "check", mapping)
    assert "declare it: source key ship/@id, and source reference fleet/trip -> ship/@id" in ended.err + ended.out
    mapping.write_text(f"{schemas}source key ship/@id\nsource reference fleet/trip -> ship/@id\n{lines}")
    assert heptox_ended("map", "check", mapping).code == 0

"""Schemas as the console gets them."""

from __future__ import annotations

import json

import httpx
import pytest

from heptox.demo import DTDS, HOSPITAL
from heptox.peer.console.drawings import MOST_BYTES

MONTREAL = (HOSPITAL / DTDS["montreal"]).read_text(encoding="utf-8")
DTD = """<!ELEMENT shop (book*, owner?)>
<!ELEMENT book (#PCDATA | note)*>
<!ATTLIST book isbn ID #REQUIRED state (new | used) "new">
<!ELEMENT owner EMPTY>
<!ELEMENT note (#PCDATA)>
"""
UNTYPED = {"type": "", "open": False, "value_type": "string", "values": [], "documentation": ""}
XSD = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:s="urn:s/hop" targetNamespace="urn:s/hop"
    elementFormDefault="qualified">
  <xs:element name="shop"><xs:complexType><xs:sequence>
    <xs:element name="item" maxOccurs="unbounded">
      <xs:annotation><xs:documentation>What is sold.</xs:documentation></xs:annotation>
      <xs:complexType><xs:sequence>
        <xs:element name="price" type="xs:decimal"/><xs:any minOccurs="0" processContents="lax"/>
      </xs:sequence><xs:attribute name="colour" type="s:colour"/></xs:complexType>
    </xs:element>
    <xs:element name="size"><xs:complexType><xs:sequence><xs:element name="item" type="xs:date"/></xs:sequence>
    </xs:complexType></xs:element>
  </xs:sequence></xs:complexType></xs:element>
  <xs:simpleType name="colour"><xs:restriction base="xs:string">
    <xs:enumeration value="red"/><xs:enumeration value="blue"/></xs:restriction></xs:simpleType>
</xs:schema>
"""


def test_the_own_schema_is_told_in_the_order_of_its_dtd(http: httpx.Client) -> None:
    told = http.get("/schema").json()
    assert (told["file"], told["root"], told["text"]) == ("schema.dtd", "MonGenHosp", MONTREAL)
    places = [MONTREAL.index(f"<!ELEMENT {element['name']} ") for element in told["elements"]]
    assert places == sorted(places)
    assert http.post("/schemas", json={"text": MONTREAL, "file": "schema.dtd"}).json() == told


def test_a_dtd_is_told_as_what_it_means(http: httpx.Client) -> None:
    told = http.post("/schemas", json={"text": DTD, "file": None, "root": None}).json()
    assert (told["file"], told["root"], told["roots"], told["text"]) == (None, "shop", ["shop"], DTD)
    shop, book, owner, note = told["elements"]
    children = [{"name": "book", "cardinality": "*", "type": ""}, {"name": "owner", "cardinality": "?", "type": ""}]
    assert shop == {"name": "shop", "text": False, "children": children, "attributes": [], **UNTYPED}
    assert (book["text"], book["children"]) == (True, [{"name": "note", "cardinality": "*", "type": ""}])
    typed = {"fixed": False, "value_type": "string", "documentation": ""}
    assert book["attributes"] == [
        {"name": "isbn", "type": "ID", "cardinality": "1", "default": None, "values": [], **typed},
        {
            "name": "state",
            "type": "ENUMERATION",
            "cardinality": "1",
            "default": "new",
            "values": ["new", "used"],
            **typed,
        },
    ]
    assert (owner["text"], note["text"]) == (False, True)


def test_an_xsd_is_told_with_prefixes_types_and_what_it_says(http: httpx.Client) -> None:
    told = http.post("/schemas", json={"text": XSD, "file": "shop.xsd"}).json()
    assert (told["file"], told["root"], told["type"]) == ("shop.graph", "shop", "shop")
    assert told["prefixes"][""] == "urn:s/hop"
    types = {element["type"] or element["name"]: element for element in told["elements"]}
    item, other = (
        types[next(child["type"] or child["name"] for child in types[above]["children"] if child["name"] == "item")]
        for above in ("shop", types["shop"]["children"][1]["type"] or "size")
    )
    assert (item["name"], item["open"], item["documentation"]) == ("item", True, "What is sold.")
    assert (other["name"], other["open"], other["value_type"]) == ("item", False, "date")
    (colour,) = item["attributes"]
    assert (colour["name"], colour["values"]) == ("colour", ["red", "blue"])
    again = http.post("/schemas", json={"text": told["text"], "file": "shop.graph"}).json()
    assert again == told  # which is all that a mapping needs of it


def test_an_xsd_that_needs_another_file_is_refused_by_its_name(http: httpx.Client) -> None:
    text = XSD.replace('"qualified">', '"qualified"><xs:include schemaLocation="../more.xsd"/>')
    (fault,) = http.post("/schemas", json={"text": text, "file": "shop.xsd"}).json()["faults"]
    assert (fault["code"], fault["position"]["file"]) == ("HX2031", "shop.xsd")
    assert "more.xsd" in fault["message"] + fault["hint"] and "/tmp" not in fault["message"] + fault["hint"]


def test_where_several_elements_may_be_the_root_they_are_named(http: httpx.Client) -> None:
    several = "<!ELEMENT b EMPTY> <!ELEMENT a EMPTY>"
    answer = http.post("/schemas", json={"text": several})
    (fault,) = answer.json()["faults"]
    assert (answer.status_code, fault["code"], fault["hint"]) == (422, "HX2005", "name the root: a, b")
    told = http.post("/schemas", json={"text": several, "root": "b"}).json()
    assert (told["root"], told["roots"]) == ("b", ["a", "b"])
    circle = "<!ELEMENT a (b?)> <!ELEMENT b (a?)>"
    (fault,) = http.post("/schemas", json={"text": circle}).json()["faults"]
    assert (fault["code"], fault["hint"]) == ("HX2005", "name the root: a, b")
    assert http.post("/schemas", json={"text": circle, "root": "a"}).json()["roots"] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("", {"HX2005"}),
        ("<!ELEMENT a (b)>", {"HX2003"}),
        ('<!ENTITY % x SYSTEM "file:///etc/hostname"> %x; <!ELEMENT a EMPTY>', {"HX2002"}),
        ('<!ENTITY % x SYSTEM "http://127.0.0.1:1/x"> %x; <!ELEMENT a EMPTY>', {"HX2002"}),
        ("\x00", {"HX2001"}),
        ("\ud800", {"HX7060", "HX7093"}),
        (" " * (MOST_BYTES + 1), {"HX7093"}),
    ],
    ids=["nothing", "undeclared", "file", "network", "nul", "surrogate", "long"],
)
def test_what_is_no_dtd_is_refused_with_what_is_wrong(http: httpx.Client, text: str, codes: set[str]) -> None:
    content = json.dumps({"text": text, "file": "mine.dtd"}).encode()
    answer = http.post("/schemas", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert {fault["code"] for fault in answer.json()["faults"]} <= codes


def test_a_fault_says_where_in_the_text_it_is(http: httpx.Client) -> None:
    (fault,) = http.post("/schemas", json={"text": "\n<!ELEMENT a (b)>", "file": "mine.dtd"}).json()["faults"]
    assert fault["position"] == {"line": 2, "column": 14, "file": "mine.dtd"}


@pytest.mark.parametrize("field", ["file", "root"])
def test_what_is_no_character_is_refused(http: httpx.Client, field: str) -> None:
    content = json.dumps({"text": "<!ELEMENT a EMPTY>", field: "\ud800"}).encode()
    answer = http.post("/schemas", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["faults"]

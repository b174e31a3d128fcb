"""The console over schemas in namespaces: trees with prefixes, arrows that declare these, queries and answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Page, expect

from heptox.mapping import load_mapping
from heptox.peer import PeerFolder, document_loading
from tests.console.conftest import Opening
from tests.console.drawing import Mouse, arrows, lines, row, verdict
from tests.peer.daemons import Daemon, daemon
from tests.support.shared import DATA

SHOP: Final = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:s="urn:shop" xmlns:m="http://money.example/v1"
    targetNamespace="urn:shop" elementFormDefault="qualified">
  <xs:element name="shop"><xs:complexType><xs:sequence>
    <xs:element name="item" maxOccurs="unbounded">
      <xs:annotation><xs:documentation>What is sold.</xs:documentation></xs:annotation>
      <xs:complexType><xs:sequence>
        <xs:element name="name" type="xs:string"/>
        <xs:element name="price"><xs:complexType><xs:simpleContent><xs:extension base="xs:decimal">
          <xs:attribute name="cur" type="xs:string"/></xs:extension></xs:simpleContent></xs:complexType></xs:element>
        <xs:any minOccurs="0" processContents="lax"/>
      </xs:sequence><xs:attribute name="colour" type="s:colour"/></xs:complexType>
    </xs:element>
  </xs:sequence></xs:complexType></xs:element>
  <xs:simpleType name="colour"><xs:restriction base="xs:string">
    <xs:enumeration value="red"/><xs:enumeration value="blue"/></xs:restriction></xs:simpleType>
</xs:schema>
"""
STOCK: Final = """<!ELEMENT k:stock (k:thing*)>
<!ATTLIST k:stock xmlns:k CDATA #FIXED "http://stock.example/k" xmlns:x CDATA #FIXED "urn:x">
<!ELEMENT k:thing (k:label, k:cost?)>
<!ATTLIST k:thing x:note CDATA #IMPLIED>
<!ELEMENT k:label (#PCDATA)>
<!ELEMENT k:cost (#PCDATA)>
"""
DOCUMENT: Final = """<s:shop xmlns:s="urn:shop">
<s:item colour="red"><s:name>chair</s:name><s:price cur="CAD">12.50</s:price></s:item>
<s:item><s:name>table</s:name><s:price>80</s:price></s:item></s:shop>"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A peer whose schema is an XSD, with a document."""
    folder = tmp_path_factory.mktemp("shops")
    (folder / "shop.xsd").write_text(SHOP)
    (folder / "stock.dtd").write_text(STOCK)
    PeerFolder.create(folder / "shop", folder / "shop.xsd")
    with document_loading(folder / "shop") as loader:
        loader.load("shop.xml", DOCUMENT.encode())
    with daemon(folder / "shop") as running:
        yield running


def begun(page: Page, target: Path) -> Mouse:
    """A new mapping between the peer's own schema and a file."""
    hand = Mouse(page)
    hand.press(page.get_by_role("button", name="New mapping"))
    page.locator("#file-target").set_input_files(target)
    expect(page.get_by_role("group", name="The target schema")).to_contain_text(target.stem)
    hand.press(page.get_by_role("button", name="Begin"))
    expect(row(page, "target", "")).to_be_visible()
    return hand


def test_trees_have_prefixes_types_values_and_what_the_schema_says(shop: Daemon, console: Opening) -> None:
    with console(shop.folder) as page:
        begun(page, shop.folder.parent / "stock.dtd")
        expect(row(page, "source", "item")).to_contain_text("anything")
        expect(row(page, "source", "item/@colour")).to_contain_text("(red | blue)")
        expect(row(page, "source", "item/price")).to_contain_text("decimal")
        expect(row(page, "target", "k:thing/@x:note")).to_be_visible()
        row(page, "source", "item").click()
        expect(page.locator(".about")).to_contain_text("What is sold.")


def test_arrows_between_namespaces_are_a_mapping_that_loads(shop: Daemon, console: Opening) -> None:
    with console(shop.folder) as page:
        hand = begun(page, shop.folder.parent / "stock.dtd")
        verdict(page, "fault")
        # a text may give a prefix of the schema to another namespace: what is drawn declares one of its own
        editor = page.get_by_label("The text of the mapping")
        editor.click()
        page.keyboard.press("Control+End")
        page.keyboard.insert_text('target namespace x = "urn:other"\n')
        expect(page.locator(".mapping-verdict")).not_to_have_attribute("data-state", "checking")
        hand.arrow("item/name", "k:thing/k:label")
        hand.arrow("item/price", "k:thing/k:cost")  # a value, though it has an attribute
        hand.arrow("item/@colour", "k:thing/@x:note")
        verdict(page, "no faults, 1 rule")
        expect(arrows(page)).to_have_count(3)
        text = lines(page)
        assert [line for line in text if "namespace" in line] == [
            'target namespace x = "urn:other"',
            'target namespace ns1 = "urn:x"',
        ]
        assert [line for line in text if "->" in line] == [
            "item/name -> k:thing/k:label",
            "item/price -> k:thing/k:cost",
            "item/@colour -> k:thing/@ns1:note",
        ]
        hand.choose(page.get_by_role("tablist", name="Beside the drawing"), "Example")
        expect(page.get_by_role("region", name="What exchange makes of it")).to_contain_text("k:label")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_role("toolbar", name="The mapping")).to_contain_text("saved", use_inner_text=True)
        kept = shop.folder / "drawings" / "shop-stock" / "shop-stock.arrows"
        expect(page.get_by_role("status").last).to_contain_text("is saved")
    assert len(load_mapping(kept).rules) == 1


def test_queries_with_prefixes_are_completed_and_their_answers_shown(shop: Daemon, console: Opening) -> None:
    with console(shop.folder, "Ask") as page:
        box = page.get_by_role("textbox", name="Query")
        box.click()
        box.press_sequentially('declare namespace z = "urn:shop"; //z:item/', delay=20)
        expect(page.locator(".cm-tooltip-autocomplete")).to_contain_text("price")
        page.keyboard.press("Escape")
        page.keyboard.press("Control+a")
        page.keyboard.insert_text('declare namespace z = "urn:shop"; //z:item[@colour = "red"]')
        page.keyboard.press("Control+Enter")
        expect(page.locator(".outcome")).to_contain_text("The answer is complete: 1 item")
        table = page.get_by_role("table").first
        expect(table).to_contain_text("price/@cur")
        expect(table).to_contain_text("12.50")
        expect(table).not_to_contain_text("xmlns")


def test_ubl_is_opened_searched_and_drawn_on(tmp_path: Path, console: Opening) -> None:
    PeerFolder.create(tmp_path / "ubl", DATA / "invoices" / "ubl" / "maindoc" / "UBL-Invoice-2.1.xsd")
    with daemon(tmp_path / "ubl") as running, console(running.folder) as page:
        hand = begun(page, DATA / "invoices" / "xr" / "xrechnung-semantic-model.xsd")
        hand.arrow("cbc:ID", "xr:Invoice_number")
        verdict(page, "no faults, 1 rule")
        assert "cbc:ID -> xr:Invoice_number" in lines(page)
        search = page.get_by_label("Search the source schema")
        search.fill("TaxableAmount")
        search.press("Enter")
        expect(row(page, "source", "cac:TaxTotal/cac:TaxSubtotal/cbc:TaxableAmount")).to_be_visible()

"""Peers under public schemas in one network: DocBook (a DTD of modules), UBL and MARC (XSDs), asked in their own words.

Saxon judges by the documents as they were loaded. Where there are arrows, to the semantic model of invoices and to
Dublin Core, it evaluates the query in the words of the other side, written by hand, on the other peer's document.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.etree.ElementTree import canonicalize

import pytest
from lxml import etree

from heptox.peer import PeerFolder, add_acquaintance, document_loading, propose
from tests.peer.daemons import Daemon, ask, daemons, wait_until
from tests.support.saxon import evaluate
from tests.support.shared import DATA

MARC_SLIM: Final = "http://www.loc.gov/MARC21/slim"
CORE: Final = "http://purl.org/dc/elements/1.1/"
UBL: Final = "urn:oasis:names:specification:ubl:schema:xsd:"
MODEL: Final = "urn:ce.eu:en16931:2017:xoev-de:kosit:standard:xrechnung-1"
ARTICLE: Final = """<article id="a1" lang="en"><title>On <emphasis role="bold">peers</emphasis></title>
<articleinfo><author><firstname>Ada</firstname><surname>Poe</surname></author>
<author><firstname>Bo</firstname><surname>Lee</surname></author><pubdate>2003-05-01</pubdate></articleinfo>
<sect1 id="s1"><title>First</title><para>See <xref linkend="s2"/>, <!-- a remark --> and
<ulink url="x"/>.</para></sect1>
<sect1 id="s2" role="late"><title>Second</title><itemizedlist><listitem><para>one</para></listitem><listitem>
<para>two</para></listitem></itemizedlist></sect1></article>"""


@dataclass(frozen=True)
class Kind:
    """A peer's schema, its root, and the prolog by which Saxon reads what the peer reads without one."""

    schema: str
    root: str | None
    prolog: str


def declared(default: str = "", **prefixes: str) -> str:
    """The declarations of namespaces of a query."""
    lines = [f'declare default element namespace "{default}";\n'] if default else []
    return "".join([*lines, *(f'declare namespace {one} = "{namespace}";\n' for one, namespace in prefixes.items())])


KINDS: Final = {
    "docbook": Kind("schemas/docbook-4.5/docbookx.dtd", "article", ""),
    "ubl": Kind(
        "invoices/ubl/maindoc/UBL-Invoice-2.1.xsd",
        None,
        declared(f"{UBL}Invoice-2", cac=f"{UBL}CommonAggregateComponents-2", cbc=f"{UBL}CommonBasicComponents-2"),
    ),
    "marc": Kind("library/xsd/MARC21slim.xsd", "collection", declared(MARC_SLIM)),
    "model": Kind("invoices/xr/xrechnung-semantic-model.xsd", "invoice", declared(xr=MODEL)),
    "core": Kind("library/xsd/oai_dc.xsd", None, declared("http://www.openarchives.org/OAI/2.0/oai_dc/", dc=CORE)),
}
ARROWS: Final = {
    ("ubl", "model"): """each cac:InvoiceLine -> xr:INVOICE_LINE
cbc:ID -> xr:Invoice_number
cbc:IssueDate -> xr:Invoice_issue_date
cac:InvoiceLine/cbc:ID -> xr:INVOICE_LINE/xr:Invoice_line_identifier
cac:InvoiceLine/cac:Item/cbc:Name -> xr:INVOICE_LINE/xr:ITEM_INFORMATION/xr:Item_name
""",
    ("marc", "core"): """record/controlfield -> dc:identifier
record/datafield/subfield -> dc:title
""",
}


def documents() -> dict[str, str]:
    """A small document for each peer, as somebody else wrote it; the article is of this test."""
    invoice, judged = "invoices/pairs/01.02a-INVOICE_ubl.xml", "invoices/judged/01.03a-INVOICE_ubl.xml"
    return {
        "docbook": ARTICLE,
        "ubl": _text(DATA / invoice),
        "marc": _first(DATA / "library/marc/loc_general.xml", 3),
        "model": _text(DATA / judged),
        "core": _only(DATA / "library/judged/loc_general.dc.xml"),
    }


def _text(file: Path) -> str:
    return etree.tostring(etree.parse(file), encoding="unicode")


def _first(file: Path, count: int) -> str:
    root = etree.parse(file).getroot()
    for child in list(root)[count:]:
        root.remove(child)
    return etree.tostring(root, encoding="unicode")


def _only(file: Path) -> str:
    """The first of some records, as a document."""
    return etree.tostring(etree.parse(file).getroot()[0], encoding="unicode", with_tail=False)


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Daemon]]:
    """The peers, as processes over libp2p, each with its document."""
    folder = tmp_path_factory.mktemp("public")
    for name, text in documents().items():
        kind = KINDS[name]
        PeerFolder.create(folder / name, DATA / kind.schema, root=kind.root)
        with document_loading(folder / name) as loader:
            loader.load(f"{name}.xml", text.encode())
    with daemons(*(folder / name for name in KINDS)) as running:
        peers = dict(zip(KINDS, running, strict=True))
        for (source, target), arrows in ARROWS.items():
            file = folder / f"{source}-{target}.arrows"
            sides = (("source", KINDS[source]), ("target", KINDS[target]))
            schemas = [
                f'{side} "{DATA / kind.schema}"{f" root {kind.root}" if kind.root else ""}\n' for side, kind in sides
            ]
            file.write_text("".join(schemas) + arrows)
            for here, there in ((source, target), (target, source)):
                add_acquaintance(peers[here].folder, propose(peers[there].address, file, name=there))
        for source, _ in ARROWS:
            with peers[source].client() as client:
                wait_until(lambda: client.status().acquaintances[0].standing == "agreed")
        yield peers


OWN: Final = {
    "docbook": [
        "/article/title",
        "/article/title/emphasis",
        "/article/sect1[@role = 'late']/title",
        "/article/articleinfo/author/surname",
        "for $a in /article/articleinfo/author where $a/firstname = 'Ada' return <who>{data($a/surname)}</who>",
        "/article/sect1/@id",
        "/article/sect1/para/xref/@linkend",
        "for $x in /article/sect1/para/xref, $s in /article/sect1[@id = $x/@linkend] return $s/title",
        "/article/sect1/itemizedlist/listitem/para",
        "/article/sect1[title = 'First']/para",
    ],
    "ubl": [
        "/Invoice/cbc:ID",
        "/Invoice/cbc:IssueDate",
        "/Invoice/cac:InvoiceLine",
        "/Invoice/cac:InvoiceLine/cbc:InvoicedQuantity/@unitCode",
        "/Invoice/cac:InvoiceLine[cbc:LineExtensionAmount > 10]/cbc:ID",
        "/Invoice/cac:InvoiceLine/cac:Price/cbc:PriceAmount",
        "for $l in /Invoice/cac:InvoiceLine return <line>{data($l/cac:Item/cbc:Name)}</line>",
        "/Invoice/*/cac:Party/cac:PostalAddress/cbc:CityName",
        "/Invoice/cac:AccountingSupplierParty/cac:Party/cac:PostalAddress/*:CityName",
        "/Invoice/cac:TaxTotal/cac:TaxSubtotal[cac:TaxCategory/cbc:ID = 'S']/cbc:TaxableAmount/@currencyID",
    ],
    "marc": [
        "//leader",
        "/collection/record/controlfield",
        "//controlfield[@tag = '001']",
        "//datafield[@tag = '245']/subfield[@code = 'a']",
        "//datafield[@tag = '245']",
        "//datafield/@ind1",
        "for $r in //record where $r/controlfield/@tag = '001' return <leader>{data($r/leader)}</leader>",
        "//*:subfield[@code = 'c']",
        f"//Q{{{MARC_SLIM}}}record/leader",
        "for $d in //datafield where $d/@tag = '650' and $d/subfield/@code = 'a' return $d/subfield",
    ],
}


def canonical(item: str) -> str:
    """An item so written that prefixes do not matter."""
    return canonicalize(item, rewrite_prefixes=True) if item.startswith("<") else item


def judged(name: str, query: str) -> set[str]:
    """What Saxon answers on the document of a peer."""
    return set(map(canonical, evaluate(f"{KINDS[name].prolog}{query}", documents()[name])))


@pytest.mark.parametrize("name", OWN)
def test_each_peer_answers_in_its_own_words_as_saxon_does(network: dict[str, Daemon], name: str) -> None:
    for query in OWN[name]:
        items, receipt = ask(network[name].folder, query, hops=0)
        assert receipt.complete, (query, receipt)
        found = {canonical(one.item) for one in items}
        assert found == judged(name, query), query
        assert found, query


ACROSS: Final = (
    ("ubl", "/Invoice/cbc:ID/text()", "model", "//xr:Invoice_number/text()"),
    ("ubl", "for $d in /Invoice/cbc:IssueDate return <on>{data($d)}</on>", "model",
     "for $d in //xr:Invoice_issue_date return <on>{data($d)}</on>"),
    ("ubl", "for $l in /Invoice/cac:InvoiceLine return <l>{data($l/cac:Item/cbc:Name)}</l>", "model",
     "for $l in //xr:INVOICE_LINE return <l>{data($l/xr:ITEM_INFORMATION/xr:Item_name)}</l>"),
    ("model", "for $l in //xr:INVOICE_LINE return <l>{data($l/xr:Invoice_line_identifier)}</l>", "ubl",
     "for $l in //cac:InvoiceLine return <l>{data($l/cbc:ID)}</l>"),
    ("core", "for $t in //dc:title return <t>{data($t)}</t>", "marc",
     "for $t in //*:subfield return <t>{data($t)}</t>"),
    ("marc", "for $t in //controlfield return <c>{data($t)}</c>", "core",
     "for $t in //dc:identifier return <c>{data($t)}</c>"),
)  # fmt: skip


@pytest.mark.parametrize(("asker", "query", "other", "there"), ACROSS)
def test_arrows_carry_questions_between_schemas(
    network: dict[str, Daemon], asker: str, query: str, other: str, there: str
) -> None:
    items, receipt = ask(network[asker].folder, query)
    assert receipt.complete, receipt
    own, far = ({canonical(one.item) for one in items if (len(one.origin.path) > 1) == away} for away in (False, True))
    assert own == judged(asker, query)
    # what the asker constructs is in the namespace that the asker's words are in
    prefixes = [line for line in KINDS[other].prolog.splitlines(keepends=True) if "default" not in line]
    prolog = KINDS[asker].prolog + "".join(prefixes)
    assert far == set(map(canonical, evaluate(prolog + there, documents()[other])))
    assert far

"""The W3C's use cases XMP, asked over mappings: their answers are those of ``Q(mu(D))``, order aside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pytest

from heptox.errors import GrammarError
from heptox.mapping import Mapping, exchange
from heptox.shell import split
from heptox.store import evaluate
from heptox.translate import Direction, translate
from heptox.xml import parse_document, write_document
from tests.mapping.building import mapping
from tests.store.test_use_cases import FOLDER, plain, use_cases
from tests.support import shells
from tests.support.saxon import evaluate_module

QUERIES: Final = {case.name.removeprefix("xmp Q"): case.query.text for case in use_cases() if "xmp" in case.name}
OF_BOOKS: Final = ("1", "2", "3", "4", "6", "7", "8", "11", "12")

BIB: Final = """
<!ELEMENT bib (book*)> <!ELEMENT book (title, (author+ | editor+), publisher, price)>
<!ATTLIST book year CDATA #REQUIRED>
<!ELEMENT author (last, first)> <!ELEMENT editor (last, first, affiliation)>
<!ELEMENT title (#PCDATA)> <!ELEMENT last (#PCDATA)> <!ELEMENT first (#PCDATA)> <!ELEMENT affiliation (#PCDATA)>
<!ELEMENT publisher (#PCDATA)> <!ELEMENT price (#PCDATA)>
"""
CATALOGUE: Final = """
<!ELEMENT catalogue (work*)> <!ELEMENT work (name, year, cost, house, (writer | compiler)*)>
<!ELEMENT writer EMPTY> <!ATTLIST writer surname CDATA #REQUIRED given CDATA #REQUIRED>
<!ELEMENT compiler (at)> <!ATTLIST compiler surname CDATA #REQUIRED given CDATA #REQUIRED>
<!ELEMENT at (#PCDATA)> <!ELEMENT name (#PCDATA)> <!ELEMENT year (#PCDATA)> <!ELEMENT cost (#PCDATA)>
<!ELEMENT house (#PCDATA)>
"""
CATALOGUE_BIB: Final = """
each work               -> book
work/name               -> book/title
work/year               -> book/@year
work/cost               -> book/price
work/house              -> book/publisher
each work/writer        -> book/author
work/writer/@surname    -> book/author/last
work/writer/@given      -> book/author/first
each work/compiler      -> book/editor
work/compiler/@surname  -> book/editor/last
work/compiler/@given    -> book/editor/first
work/compiler/at        -> book/editor/affiliation
"""
WORKS: Final = """
<catalogue>
  <work><name>TCP/IP Illustrated</name><year>1994</year><cost>65.95</cost><house>Addison-Wesley</house
    ><writer surname="Stevens" given="W."/></work>
  <work><name>Advanced Programming</name><year>1992</year><cost>65.95</cost><house>Addison-Wesley</house
    ><writer surname="Stevens" given="W."/></work>
  <work><name>Data on the Web</name><year>2000</year><cost>39.95</cost><house>Morgan Kaufmann</house
    ><writer surname="Abiteboul" given="Serge"/><writer surname="Buneman" given="Peter"
    /><writer surname="Suciu" given="Dan"/></work>
  <work><name>Digital TV</name><year>1999</year><cost>129.95</cost><house>Kluwer</house
    ><compiler surname="Gerbarg" given="Darcy"><at>CITI</at></compiler></work>
</catalogue>
"""
HOUSES: Final = """
<!ELEMENT houses (house*)> <!ELEMENT house (volume*)> <!ATTLIST house called CDATA #REQUIRED>
<!ELEMENT volume (by*, edited*)>
<!ATTLIST volume name CDATA #REQUIRED year CDATA #REQUIRED price CDATA #REQUIRED>
<!ELEMENT by (first, last)> <!ELEMENT edited (first, last, for)>
<!ELEMENT first (#PCDATA)> <!ELEMENT last (#PCDATA)> <!ELEMENT for (#PCDATA)>
"""
BIB_HOUSES: Final = """
each book                -> house/volume
book/publisher           -> house/@called
book/title               -> house/volume/@name
book/@year               -> house/volume/@year
book/price               -> house/volume/@price
each book/author         -> house/volume/by
book/author/last         -> house/volume/by/last
book/author/first        -> house/volume/by/first
each book/editor         -> house/volume/edited
book/editor/last         -> house/volume/edited/last
book/editor/first        -> house/volume/edited/first
book/editor/affiliation  -> house/volume/edited/for
"""
VOLUMES: Final = write_document(
    exchange(mapping(BIB, HOUSES, BIB_HOUSES), parse_document((FOLDER / "bib.xml").read_text())).root
)

REVIEWED: Final = """
<!ELEMENT data (book*, entry*)> <!ELEMENT book (title, price)> <!ELEMENT entry (title, price, review)>
<!ELEMENT title (#PCDATA)> <!ELEMENT price (#PCDATA)> <!ELEMENT review (#PCDATA)>
"""
SHOPS: Final = """
<!ELEMENT shops (one*, two*)> <!ELEMENT one EMPTY> <!ATTLIST one t CDATA #REQUIRED p CDATA #REQUIRED>
<!ELEMENT two EMPTY> <!ATTLIST two t CDATA #REQUIRED p CDATA #REQUIRED r CDATA #REQUIRED>
"""
SHOPS_REVIEWED: Final = """
each one -> book
one/@t   -> book/title
one/@p   -> book/price
each two -> entry
two/@t   -> entry/title
two/@p   -> entry/price
two/@r   -> entry/review
"""
SOLD_TWICE: Final = """
<shops><one t="TCP/IP" p="65.95"/><one t="Data" p="39.95"/><one t="Other" p="3"/>
  <two t="Data" p="34.95" r="good"/><two t="TCP/IP" p="65.95" r="best"/><two t="Unknown" p="1" r="no"/></shops>
"""

PRICES: Final = """
<!ELEMENT prices (book*)> <!ELEMENT book (title, source, price)>
<!ELEMENT title (#PCDATA)> <!ELEMENT source (#PCDATA)> <!ELEMENT price (#PCDATA)>
"""
OFFERS: Final = """
<!ELEMENT offers (shop*)> <!ELEMENT shop (offer*)> <!ATTLIST shop name CDATA #REQUIRED>
<!ELEMENT offer (#PCDATA)> <!ATTLIST offer of CDATA #REQUIRED>
"""
OFFERS_PRICES: Final = """
each shop/offer -> book
shop/offer/@of  -> book/title
shop/offer      -> book/price
shop/@name      -> book/source
"""
OFFERED: Final = """
<offers><shop name="a"><offer of="X">65.95</offer><offer of="Y">3</offer></shop
  ><shop name="b"><offer of="X">64.95</offer><offer of="Z">11</offer></shop></offers>
"""

CHAPTER: Final = """
<!ELEMENT chapter (title, section*)> <!ELEMENT section (title, section*)> <!ELEMENT title (#PCDATA)>
"""
KAPITEL: Final = """
<!ELEMENT kapitel (titel, abschnitt*)> <!ELEMENT abschnitt (titel, abschnitt*)> <!ELEMENT titel (#PCDATA)>
"""
KAPITEL_CHAPTER: Final = """
titel           -> title
each abschnitt  -> section
abschnitt/titel -> section/title
"""
CHAPTERS: Final = """
<kapitel><titel>Data Model</titel><abschnitt><titel>Syntax</titel></abschnitt><abschnitt><titel>XML</titel></abschnitt
  ></kapitel>
"""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A document under another schema, and the mapping between that and the schema in whose words is asked."""

    mapping: Mapping
    to: Direction
    document: str

    def answers(self, query: str) -> list[str]:
        """What its peer answers in the asker's words."""
        known = parse_document(self.document)
        return shells.computed(
            split(query), {"peer": lambda core: evaluate(translate(self.mapping, core, self.to).query, [known])}
        )

    def image(self) -> str:
        over = self.mapping if self.to is Direction.SOURCE else self.mapping.mirrored()
        return write_document(exchange(over, parse_document(self.document)).root)


IN_CATALOGUE: Final = Elsewhere(mapping(CATALOGUE, BIB, CATALOGUE_BIB), Direction.SOURCE, WORKS)
IN_HOUSES: Final = Elsewhere(mapping(BIB, HOUSES, BIB_HOUSES), Direction.TARGET, VOLUMES)
IN_SHOPS: Final = Elsewhere(mapping(SHOPS, REVIEWED, SHOPS_REVIEWED), Direction.SOURCE, SOLD_TWICE)
IN_OFFERS: Final = Elsewhere(mapping(OFFERS, PRICES, OFFERS_PRICES), Direction.SOURCE, OFFERED)
IN_KAPITEL: Final = Elsewhere(mapping(KAPITEL, CHAPTER, KAPITEL_CHAPTER), Direction.SOURCE, CHAPTERS)

NOT_ASKED: Final = {"12": "HX3070"}
"""It compares places (``<<``), which say nothing over several peers."""


@pytest.mark.parametrize(
    ("number", "elsewhere"),
    [
        *(pytest.param(number, IN_CATALOGUE, id=f"Q{number} catalogue") for number in OF_BOOKS),
        *(pytest.param(number, IN_HOUSES, id=f"Q{number} houses") for number in OF_BOOKS),
        pytest.param("5", IN_SHOPS, id="Q5 shops"),
        pytest.param("9", IN_KAPITEL, id="Q9 kapitel"),
        pytest.param("10", IN_OFFERS, id="Q10 offers"),
    ],
)
def test_use_cases_are_asked_over_mappings(number: str, elsewhere: Elsewhere) -> None:
    query = QUERIES[number]
    if number in NOT_ASKED:
        with pytest.raises(GrammarError, match=NOT_ASKED[number]):
            elsewhere.answers(query)
        return
    answers = sorted(map(plain, elsewhere.answers(query)))
    # one document is the whole collection
    assert answers == sorted(map(plain, evaluate_module(query.replace("collection()", ""), elsewhere.image())))
    assert answers != []
    assert any("<" in answer[1:-1] for answer in answers)

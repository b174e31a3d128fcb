"""Identifiers that no arrow supplies (``semantics.md`` section 2, *Surrogates*)."""

from __future__ import annotations

import pytest

from heptox.grammar import parse_query
from heptox.mapping import Mapping
from heptox.translate import Direction, translate
from tests.mapping.building import image, mapping
from tests.support.definition import check_equal, pairs

NESTED = """<!ELEMENT s (a*)> <!ELEMENT a (b*)> <!ELEMENT b (title, maker, isbn)> <!ELEMENT title (#PCDATA)>
<!ELEMENT maker (#PCDATA)> <!ELEMENT isbn (#PCDATA)>"""
FLAT = """<!ELEMENT t (maker*, book*)> <!ELEMENT maker (name)> <!ATTLIST maker id ID #REQUIRED>
<!ELEMENT name (#PCDATA)>
<!ELEMENT book (title)> <!ATTLIST book id ID #REQUIRED of IDREF #IMPLIED> <!ELEMENT title (#PCDATA)>"""
DOCUMENT = """<s><a><b><title>One</title><maker>M</maker><isbn>1</isbn></b>
<b><title>Two</title><maker>N</maker><isbn>2</isbn></b></a><a><b><title>One</title><maker>M</maker><isbn>3</isbn></b></a></s>"""


@pytest.fixture(name="found")
def found_fixture() -> Mapping:
    arrows = """source key a/b/isbn
target reference book/@of -> maker/@id
each a/b -> book
a/b/title -> book/title
a/b/maker -> maker/name
"""
    return mapping(NESTED, FLAT, arrows)


def test_what_refers_and_what_it_refers_to_have_the_same(found: Mapping) -> None:
    assert image(found, DOCUMENT) == (
        '<t><maker id="M"><name>M</name></maker><maker id="N"><name>N</name></maker>'
        '<book id="1" of="M"><title>One</title></book><book id="2" of="N"><title>Two</title></book>'
        '<book id="3" of="M"><title>One</title></book></t>'
    )


@pytest.mark.parametrize(
    "query",
    [
        "for $b in //book, $m in //maker[@id = $b/@of] where $m/name = 'M' return $b/title",
        "for $b in //book, $c in //book where $b/@of = $c/@of and $b/@id != $c/@id return <r>{$b/title}{$c/title}</r>",
        "//book[@of]/title",
    ],
)
def test_they_are_joined_and_tested(found: Mapping, query: str) -> None:
    assert not check_equal(found, query, pairs(found, [DOCUMENT], Direction.SOURCE), Direction.SOURCE).losses


def test_one_that_is_returned_is_named_as_invented(found: Mapping) -> None:
    translation = translate(found, parse_query("//book/@id"), Direction.SOURCE)
    (loss,) = translation.losses
    assert loss.path == ("book", "@id")
    assert "invented" in loss.effect


def test_none_is_invented_where_nothing_identifies_a_node() -> None:
    flat = FLAT.replace("maker (name)", "maker (name, town?)") + "<!ELEMENT town (#PCDATA)>"
    nested = NESTED.replace("maker, isbn", "maker, town?, isbn") + "<!ELEMENT town (#PCDATA)>"
    plain = mapping(nested, flat, "a/b/maker -> maker/name\na/b/town -> maker/town\n")
    translation = translate(plain, parse_query("//maker/@id"), Direction.SOURCE)
    assert translation.empty
    assert {loss.path for loss in translation.losses} == {("maker", "@id")}

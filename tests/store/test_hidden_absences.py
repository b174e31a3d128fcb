"""Absence and hiding: what is hidden is absent, so conditions of absence tell nothing of it."""

from __future__ import annotations

from io import BytesIO
from typing import Final

import pytest

from heptox.grammar import parse_query
from heptox.schema import parse_dtd
from heptox.store import Hiding, evaluate
from heptox.xml import parse_document

LIBRARY: Final = parse_dtd(
    "<!ELEMENT lib (pub*, book*)> <!ELEMENT pub (city?)> <!ATTLIST pub id CDATA #REQUIRED> "
    "<!ELEMENT book (title, alias*)> <!ATTLIST book pub CDATA #IMPLIED lang CDATA #IMPLIED> "
    "<!ELEMENT title (#PCDATA)> <!ELEMENT alias (#PCDATA)> <!ELEMENT city (#PCDATA)>"
)
FULL: Final = (
    '<lib><pub id="1"><city>A</city></pub><book pub="1" lang="x"><title>B</title><alias>C</alias></book>'
    '<book pub="2"><title>D</title></book></lib>'
)
BARE: Final = '<lib><book pub="1"><title>B</title></book><book pub="2"><title>D</title></book></lib>'
"""The same without what is hidden in the tests."""


@pytest.mark.parametrize(
    ("query", "hidden"),
    [
        ("for $b in //book where empty(//pub[@id = $b/@pub]) return $b/title", "/lib/pub"),
        ("for $b in //book where empty(//pub[@id = $b/@pub][city]) return $b/title", "/lib/pub"),
        ("for $b in //book where empty($b/alias[. = 'C']) return $b/title", "book/alias"),
        ("for $b in //book where empty($b/alias[. = $b/@lang]) return $b/title", "book/@lang"),
        (
            "for $b in //book, $c in //book where deep-equal(data($b/@lang), data($c/@lang)) return $c/title",
            "book/@lang",
        ),
        ("for $b in //book where starts-with($b/@lang, 'x') return $b/title", "book/@lang"),
        ("for $b in //book, $c in //book where deep-equal($b/@lang, $c/@lang) return $c/title", "book/@lang"),
    ],
)
def test_an_absence_of_what_is_hidden_is_one_of_nothing(query: str, hidden: str) -> None:
    hiding = Hiding(LIBRARY, ["/lib/pub", "book/alias", "book/@lang"])
    expression = parse_query(query)
    assert hidden.removeprefix("//") in hiding.touched(expression)
    pruned = BytesIO()
    assert hiding.prune(BytesIO(FULL.encode()), pruned)
    assert pruned.getvalue().decode() == BARE
    shown = list(evaluate(expression, [parse_document(pruned.getvalue().decode())]))
    assert shown == list(evaluate(expression, [parse_document(BARE)]))

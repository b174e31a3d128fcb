"""Selections by whether there is a leaf that repeats: ``field[not(sub[@code = "t"])]``."""

from __future__ import annotations

from typing import Final

import pytest

from heptox.errors import HeptoxError
from heptox.grammar import parse_query
from heptox.mapping import exchange, print_rules
from heptox.translate import Direction, translate
from heptox.xml import parse_document, write_document
from tests.support.random_mappings import problem
from tests.support.saxon import answer_set

RECORDS: Final = """<!ELEMENT lib (rec*)> <!ELEMENT rec (id, field*)> <!ELEMENT id (#PCDATA)>
<!ELEMENT field (w?, sub*)> <!ATTLIST field tag CDATA #REQUIRED> <!ELEMENT w (n?)> <!ELEMENT n (#PCDATA)>
<!ELEMENT sub (#PCDATA)> <!ATTLIST sub code CDATA #REQUIRED>"""
BOOKS: Final = """<!ELEMENT out (book*)> <!ELEMENT book (id?, name*, work*)> <!ELEMENT id (#PCDATA)>
<!ELEMENT name (part*)> <!ELEMENT part (#PCDATA)> <!ELEMENT work (title?, by*)> <!ELEMENT title (#PCDATA)>
<!ELEMENT by (#PCDATA)>"""
ARROWS: Final = """each rec -> book
rec/id -> book/id
each rec/field[@tag = "7" and not(sub[@code = "t"])] -> book/name
rec/field[@tag = "7" and not(sub[@code = "t"])]/sub[@code = "a"] -> book/name/part
each rec/field[@tag = "7" and sub[@code = "t"]] -> book/work
string-join(rec/field[@tag = "7" and sub[@code = "t"]]/sub[@code = "t"], " ") -> book/work/title
rec/field[@tag = "7" and sub[@code = "t"]]/sub[@code = "a"] -> book/work/by
"""
RECORD: Final = (
    '<lib><rec><id>1</id><field tag="7"><sub code="a">A</sub></field><field tag="7"><sub code="a">B</sub>'
    '<sub code="t">T</sub></field><field tag="8"><sub code="a">C</sub></field></rec>'
    '<rec><id>2</id><field tag="7"/><field tag="7"><sub code="t"/></field></rec></lib>'
)


def test_a_field_is_a_work_where_it_has_a_title() -> None:
    mapping = problem(RECORDS, BOOKS, ARROWS).mapping
    image = exchange(mapping, parse_document(RECORD))
    assert write_document(image.root) == (
        "<out><book><id>1</id><name><part>A</part></name><work><title>T</title><by>B</by></work></book>"
        "<book><id>2</id><name/><work><title/></work></book></out>\n"
    )
    for query in (
        "for $b in /out/book, $p in $b/name/part return <p>{$b/id/text()}{$p/text()}</p>",
        'for $b in /out/book, $w in $b/work where $w/by = "B" return <p>{$w/title/text()}</p>',
        "for $b in /out/book, $w in $b/work return <p>{data($b/id)}</p>",
    ):
        text = translate(mapping, parse_query(query), Direction.SOURCE).text
        assert answer_set(text, RECORD) == answer_set(query, write_document(image.root)) != set()


def test_rules_say_it_too() -> None:
    mapping = problem(RECORDS, BOOKS, ARROWS).mapping
    printed = print_rules(mapping)
    assert '[@tag = "7" and not(sub[@code = "t"]/text())]' in printed


@pytest.mark.parametrize(
    ("condition", "code", "message"),
    [
        ('sub = "t"', "HX4038", "repeats below"),
        ('sub[@code = "t"] = "x"', "HX3001", "a condition inside a comparison"),
        ('not(w[n = "x"]/n)', "HX4038", "which does not repeat"),
        ("not(sub/x)", "HX4001", "there is no"),
        ('not(sub[@x = "t"])', "HX4001", "there is no"),
    ],
)
def test_what_no_node_is_chosen_by(condition: str, code: str, message: str) -> None:
    with pytest.raises(HeptoxError) as caught:
        problem(RECORDS, BOOKS, f"rec/id -> book/id\neach rec/field[{condition}] -> book/name")
    assert any(fault.code == code and message in fault.message for fault in caught.value.faults)

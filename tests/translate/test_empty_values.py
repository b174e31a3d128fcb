"""An empty element has the empty value, with attributes as without (``semantics.md`` sections 1 and 7)."""

from __future__ import annotations

from functools import cache
from typing import Final

import pytest

from heptox.errors import TranslationError
from heptox.grammar import parse_query
from heptox.mapping import Mapping
from heptox.translate import Direction, translate
from tests.mapping.building import image, mapping
from tests.support.definition import check_equal, making, pairs
from tests.support.saxon import answer_set

SHOP: Final = """<!ELEMENT shop (item*)> <!ELEMENT item (name, price?)> <!ELEMENT name (#PCDATA)>
<!ELEMENT price (#PCDATA)> <!ATTLIST price cur CDATA #IMPLIED>"""
LIST: Final = """<!ELEMENT list (entry*)> <!ELEMENT entry (title, cost?, amount?)> <!ELEMENT title (#PCDATA)>
<!ELEMENT cost (#PCDATA)> <!ATTLIST cost in CDATA #IMPLIED> <!ELEMENT amount (#PCDATA)>"""
NAMED: Final = "item/name -> entry/title\n"
ITEMS: Final = (
    '<shop><item><name>cur</name><price cur="CAD"/></item><item><name>empty</name><price/></item>'
    "<item><name>three</name><price>3</price></item><item><name>none</name></item></shop>"
)
ENTRIES: Final = (
    '<list><entry><title>in</title><cost in="CAD"/></entry><entry><title>empty</title><cost/><amount/></entry>'
    "<entry><title>three</title><cost>3</cost></entry><entry><title>none</title></entry>"
    "<entry><title>amount</title><amount/></entry></list>"
)
ALL: Final = "item/price -> entry/cost\nitem/price/@cur -> entry/cost/@in\n"
ATTRIBUTE: Final = "item/price/@cur -> entry/cost/@in\n"
AMOUNT: Final = "item/price -> entry/amount\n"


@cache
def given(arrows: str) -> Mapping:
    return mapping(SHOP, LIST, NAMED + arrows)


def titles(*found: str) -> set[str]:
    return {f"<title>{title}</title>" for title in found}


@pytest.mark.parametrize(
    ("arrows", "query", "expected"),
    [
        (ALL, "//cost", {'<cost in="CAD"/>', "<cost/>", "<cost>3</cost>"}),
        (ALL, "data(//cost)", {'""', '"3"'}),
        (ALL, "//cost/text()", {"3"}),
        (ALL, "//entry[cost]/title", titles("cur", "empty", "three")),
        (ALL, "//entry[cost = '']/title", titles("cur", "empty")),
        (ALL, "//entry[cost != '']/title", titles("three")),
        (ALL, "//entry[cost/text()]/title", titles("three")),
        (ALL, "//entry[empty(cost)]/title", titles("none")),
        (ALL, "//entry[empty(cost/text())]/title", titles("cur", "empty", "none")),
        (ALL, "//entry[empty(cost/@in)]/title", titles("empty", "three", "none")),
        (AMOUNT, "//amount", {"<amount/>", "<amount>3</amount>"}),
        (AMOUNT, "//entry[empty(amount)]/title", titles("none")),
        (ATTRIBUTE, "//cost", {'<cost in="CAD"/>'}),
        (ATTRIBUTE, "//entry[cost = '']/title", titles("cur")),
        (ATTRIBUTE, "//entry[empty(cost)]/title", titles("empty", "three", "none")),
    ],
)
def test_answers_of_documents_with_empty_elements(arrows: str, query: str, expected: set[str]) -> None:
    translation = check_equal(given(arrows), query, pairs(given(arrows), [ITEMS]), Direction.SOURCE)
    assert answer_set(translation.text, ITEMS) == expected


def test_images_have_the_empty_elements_in_both_directions() -> None:
    assert image(given(ALL + AMOUNT), ITEMS) == (
        '<list><entry><title>cur</title><cost in="CAD"/><amount/></entry>'
        "<entry><title>empty</title><cost/><amount/></entry>"
        "<entry><title>three</title><cost>3</cost><amount>3</amount></entry><entry><title>none</title></entry></list>"
    )
    assert image(making(given(ALL), Direction.TARGET), ENTRIES) == (
        '<shop><item><name>in</name><price cur="CAD"/></item><item><name>empty</name><price/></item>'
        "<item><name>three</name><price>3</price></item><item><name>none</name></item>"
        "<item><name>amount</name></item></shop>"
    )


ASKED: Final = (
    "//{e}",
    "data(//{e})",
    "//{e}/text()",
    "for $x in //{e} return text {{data($x)}}",
    "for $x in //{e} return <r v='{{$x}}'/>",
    "//{p}[{e} = '']/{n}",
    "//{p}[{e} < 'x']/{n}",
    "//{p}[{e}/text()]/{n}",
    "//{p}[empty({e})]/{n}",
    "//{p}[empty({e}/text())]/{n}",
    "//{p}[empty({e}/@{a})]/{n}",
    "//{p}[{e} = {e}/@{a}]/{n}",
    "//{p}[{e} != {n}]/{n}",
    "for $x in //{p} return <r>{{$x/{n}}}{{data($x/{e})}}</r>",
    "for $x in //{p} return <r>{{for $v in $x/{e} return <v>{{data($v)}}</v>}}</r>",
    "for $x in //{p}, $y in //{p} where $x/{e} = $y/{e} return <r>{{$x/{n}}}{{$y/{n}}}</r>",
    "for $x in //{p}, $y in //{p} where deep-equal(data($x/{e}), data($y/{e})) return <r>{{$x/{n}}}{{$y/{n}}}</r>",
    "for $x in //{p}, $y in //{p} where deep-equal($x/{e}, $y/{e}) return <r>{{$x/{n}}}{{$y/{n}}}</r>",
    "for $x in //{p} where empty(//{p}[{e} = '3']) return $x/{n}",
    "for $x in //{p} where empty(//{p}[{e}]) return $x/{n}",
)
WORDS: Final = {
    Direction.SOURCE: {"p": "entry", "n": "title", "e": "cost", "a": "in"},
    Direction.TARGET: {"p": "item", "n": "name", "e": "price", "a": "cur"},
}


@pytest.mark.parametrize("to", Direction)
@pytest.mark.parametrize("arrows", [ALL, ATTRIBUTE, AMOUNT, ALL + AMOUNT, "item/price -> entry/cost\n"])
@pytest.mark.parametrize("query", ASKED)
def test_definition_1(query: str, arrows: str, to: Direction) -> None:
    documents = [ITEMS if to is Direction.SOURCE else ENTRIES]
    check_equal(given(arrows), query.format(**WORDS[to]), pairs(given(arrows), documents, to), to)


@pytest.mark.parametrize("value", ["''", "$x/title"])
def test_that_nowhere_is_an_empty_value_is_refused_where_rules_supply_none(value: str) -> None:
    query = parse_query(f"for $x in //entry where empty(//entry[cost = {value}]) return $x/title")
    with pytest.raises(TranslationError, match="there is no entry/cost/text") as caught:
        translate(given(ATTRIBUTE), query, Direction.SOURCE)
    assert caught.value.faults[0].code == "HX5008"


def test_what_no_arrow_supplies_is_told_where_it_is_taken_to_be_absent_or_empty() -> None:
    def told(arrows: str, query: str) -> set[tuple[str, str]]:
        losses = translate(given(arrows), parse_query(query), Direction.SOURCE).losses
        return {("/".join(loss.path), loss.effect) for loss in losses}

    absent, empty = (f"no arrow supplies it: it is taken to be {word} everywhere" for word in ("absent", "empty"))
    assert told(AMOUNT, "//entry[empty(cost)]/title") == {("entry/cost", absent)}
    assert told(ATTRIBUTE, "//entry[empty(cost)]/title") == set()
    assert told(ATTRIBUTE, "//entry[cost = '']/title") == {("entry/cost/text()", empty)}

"""Documents filtered: the same as each filter on the whole document, in the order that was asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from io import BytesIO

import pytest

from heptox.errors import DisseminationError, InputError
from heptox.filtering import DocumentFilter, Failure, FilterSet, Result, Version
from heptox.schema import parse_dtd, read_dtd
from tests.support.filtering.judging import whole
from tests.support.fixtures import FIXTURES

NEWS = read_dtd(FIXTURES / "chunking" / "news.dtd", "news")
DOCUMENT = (
    b"<news><head><title>x</title><by>Ann</by></head>\n"
    b"<item id='i1'><title>1</title><by role='r'>Ann</by><body>2<b>3</b>"
    b"<item id='i2'><title>x</title></item></body></item>"
    b"<part><title>6</title><item id='i3'><title>7</title><body><b/><b>8</b></body></item></part>\n"
    b"<item id='i4' lang='en'><title>5</title><by>Bo</by></item><part><title>9</title></part></news>"
)
DECLARED = b"<!DOCTYPE news [<!ATTLIST item id ID #REQUIRED>]>" + DOCUMENT
TEXTS = (
    "//title",
    "/news/*/title",
    "//item[2]",
    "/news/item[by = 'Ann']/title",
    "/news/item[@lang = 'en']/@id",
    "/news/item[../head/by = by]/body/b",
    "//b/text()",
    "//b/..",
    "(//by)[2]",
    "(//by | //b)/parent::*",
    "count(//item)",
    "//by = 'Bo'",
    "id('i2')/title",
    "/news/item/title | /news/part/title",
    "/news/zz",
)


def filters(texts: Iterable[str]) -> FilterSet:
    made = FilterSet(NEWS)
    for number, text in enumerate(texts):
        made.add(number, text)
    return made


def answers(filtering: DocumentFilter, document: bytes) -> list[tuple[int, list[str]]]:
    return [(result.number, fragments(result)) for result in filtering.results(BytesIO(document), "news.xml")]


def fragments(result: Result) -> list[str]:
    return [result.found.reason] if isinstance(result.found, Failure) else [str(each) for each in result.found]


@pytest.mark.parametrize("degree", [None, 1, 2, 3, 7])
@pytest.mark.parametrize("sharing", [True, False])
@pytest.mark.parametrize("size", [1, 60, 1 << 20])
def test_results_are_those_of_the_whole_document(degree: int | None, sharing: bool, size: int) -> None:
    plan = replace(filters(TEXTS).plan(degree), sharing=sharing, size=size)
    found: dict[int, list[tuple[str, str, str]]] = {number: [] for number in range(len(TEXTS))}
    for result in DocumentFilter(plan).results(BytesIO(DECLARED)):
        assert not isinstance(result.found, Failure)
        found[result.number] += [(str(each.kind), each.name, each.text) for each in result.found]
    expected = whole([*TEXTS], DECLARED)
    assert [tuple(each) for each in found.values()] == expected
    assert sum(map(bool, expected)) == len(TEXTS) - 1


def test_results_from_several_chunks_come_in_document_order() -> None:
    given = filters(("/news/*/title", "/news/head/title", "/news/item/title", "/news/part/title"))
    plan = given.plan(3)
    assert len(plan.parts()) > 1
    assert dict(answers(DocumentFilter(plan), DOCUMENT))[0] == [
        "<title>x</title>",
        "<title>1</title>",
        "<title>6</title>",
        "<title>5</title>",
        "<title>9</title>",
    ]


def test_an_element_is_selected_once_though_it_is_on_several_branches() -> None:
    found = answers(DocumentFilter(filters(["//part | /news/part[title]"]).plan(2)), DOCUMENT)
    assert [len(each) for _, each in found] == [2]


# -- order ---------------------------------------------------------------------------------------------------------


def test_filters_of_higher_priority_are_answered_first() -> None:
    given = FilterSet(NEWS)
    for number, (text, priority) in enumerate(
        [
            ("/news/head/title", 0),
            ("/news/item/title", 2),
            ("/news/part/title", 1),
            ("/news/item/by", 9),
            ("count(//b)", 5),
        ]
    ):
        given.add(number, text, priority=priority)
    plan = given.plan(7)
    assert len(plan.parts()) == 5
    order = [number for number, _ in answers(DocumentFilter(plan), DOCUMENT)]
    assert order == [3, 4, 1, 2, 0]


# -- documents outside their schema --------------------------------------------------------------------------------

OUTSIDE = b"<news><head><title>x</title></head><box><title>y</title><b>1</b></box><item><title>z</title></item></news>"


@pytest.mark.parametrize("degree", [None, 1, 3])
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_a_document_outside_its_schema_is_filtered_exactly_and_noted(degree: int | None, size: int) -> None:
    texts = ("//title", "/news/item/title", "/news/*[b]", "/news/box/b", "count(//title)")
    filtering = DocumentFilter(replace(filters(texts).plan(degree), size=size))
    expected = [[text for _, _, text in each] for each in whole(texts, OUTSIDE)]
    assert all(expected)
    assert sorted(answers(filtering, OUTSIDE)) == [*enumerate(expected)]
    assert filtering.outside is not None
    assert str(filtering.outside) == "news.xml:1:36: HX9204 the schema has no box below news"
    answers(filtering, DOCUMENT)
    assert filtering.outside is None


def test_it_is_not_noted_where_it_does_not_matter() -> None:
    filtering = DocumentFilter(filters(["/news/item/title"]).plan(1))
    assert answers(filtering, OUTSIDE) == [(0, ["<title>z</title>"])]
    assert filtering.outside is None


# -- what has no result --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", [None, 2])
@pytest.mark.parametrize(("text", "reason"), [("count('x')", "Invalid type"), ("sum(1)", "Invalid type")])
def test_a_filter_without_a_value_does_not_stop_others(degree: int | None, text: str, reason: str) -> None:
    found = dict(answers(DocumentFilter(filters([text, "/news/head/title"]).plan(degree)), DOCUMENT))
    assert found == {0: [reason], 1: ["<title>x</title>"]}


def test_filters_that_select_nothing_are_not_told() -> None:
    texts = ("/news/zz", "/news/head/body", "/news/item[by = 'Cy']", "//item[9]")
    assert answers(DocumentFilter(filters(texts).plan(2)), DOCUMENT) == []
    assert answers(DocumentFilter(filters([]).plan(2)), DOCUMENT) == []


@pytest.mark.parametrize("degree", [None, 2])
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_what_is_no_document_is_refused(degree: int | None, size: int) -> None:
    filtering = DocumentFilter(replace(filters(["//title", "/news/head"]).plan(degree), size=size))
    for document in (b"<news><head></news>", b"", b"<news>&e;</news>"):
        with pytest.raises(InputError) as caught:
            answers(filtering, document)
        position = caught.value.faults[0].position
        assert position is not None and position.file == "news.xml"


def test_a_document_that_is_too_large_for_a_filter_is_refused() -> None:
    plan = replace(filters(["/news/item/title", "id('i1')", "id('i2')"]).plan(1), most_held=300)
    with pytest.raises(DisseminationError) as caught:
        answers(DocumentFilter(plan), DOCUMENT)
    assert str(caught.value) == (
        "news.xml: HX9201 more than 300 bytes would be held for filters on the whole document: 1, 2"
        " (let more be held, or leave out filters that look at much of a document at once)"
    )


def test_attributes_texts_and_values_are_written_as_xml() -> None:
    given = FilterSet(parse_dtd("<!ELEMENT a (#PCDATA)> <!ATTLIST a x CDATA #IMPLIED>"))
    texts = ("/a", "/a/@x", "/a/text()", "string(/a)", "1 div 4", "1 = 1", "/a/@*")
    for number, text in enumerate(texts):
        given.add(number, text)
    found = [each for _, (each,) in answers(DocumentFilter(given.plan(1)), b"<a x='&lt;\"'>1 &lt; 2</a>")]
    assert sorted(found) == sorted(
        ['<a x="&lt;&quot;">1 &lt; 2</a>', '&lt;"', "1 &lt; 2", "1 &lt; 2", "0.25", "true", '&lt;"']
    )


def test_filters_of_xpath_3_are_evaluated() -> None:
    given = FilterSet(NEWS, Version.THREE)
    for number, text in enumerate(["/news/item/title", "for $t in /news/part/title return string($t)"]):
        given.add(number, text)
    for degree in (None, 1, 2):
        found = dict(answers(DocumentFilter(given.plan(degree)), DOCUMENT))
        assert found == {0: ["<title>1</title>", "<title>5</title>"], 1: ["6", "9"]}

"""The four ways find the same: the subscriptions that the exchanged document matches.

``python -m tests.fuzz --of rewriting-ways`` judges random cases for as long as one likes.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import pytest

from heptox.errors import DisseminationError, GrammarError
from heptox.grammar import parse_subscription
from heptox.mapping import exchange
from heptox.matching import MemoryMatcher
from heptox.rewriting import DomainMatcher, Publisher, Strategy
from heptox.xml import Document, parse_document, write_element
from tests.examples import courses
from tests.fuzz.trial import Size, trial
from tests.rewriting.building import dtd_of
from tests.rewriting.test_translated import REED
from tests.support.random_mappings import Problem, problem

STEP: Final = 9
"""Of so many courses of a catalogue one is a document."""

NESTED = dtd_of("r: b*; b: t, a*; t; a: n?, m?; n; m")
FLAT = dtd_of("s: e*; e: u, k?; u; k")


def found(given: Problem, document: str, *subscriptions: str) -> list[int]:
    """The numbers of those that a document matches, in all ways."""
    matcher, publisher = DomainMatcher(given.mapping.target), Publisher(given.mapping)
    for number, text in enumerate(subscriptions):
        matcher.add(number, text)
    parsed = parse_document(document)
    ways = [list(map(int, matcher.match(publisher, parsed, way))) for way in Strategy]
    assert ways == [ways[0]] * len(Strategy)
    assert matcher.match_rewritten(publisher, parsed, publisher.rewritten(parsed)).tolist() == ways[0]
    assert ways[0] == _by_exchange(given, parsed, subscriptions)
    return ways[0]


def _by_exchange(given: Problem, document: Document, subscriptions: tuple[str, ...]) -> list[int]:
    matcher = MemoryMatcher()
    for number, text in enumerate(subscriptions):
        matcher.add(number, parse_subscription(text))
    return list(map(int, matcher.match(exchange(given.mapping, document))))


@pytest.mark.parametrize("number", range(40))
def test_random_cases(number: int) -> None:
    outcome = trial(number, Size(8, 4, "rewriting-ways"))
    assert not outcome.broken, "\n\n".join(outcome.broken)


def test_the_random_cases_are_of_all_kinds() -> None:
    counts: Counter[str] = Counter()
    for number in range(24):
        counts += trial(number, Size(4, 3, "rewriting-ways")).counts
    assert min(counts[kind] for kind in ("programs", "exact programs", "maps of tag paths", "matched", "refused")) > 0
    assert counts["programs"] < counts["mappings"] and counts["matched"] < counts["cases"]


@pytest.mark.parametrize("name", [name for name in courses.MAPPINGS if name.endswith("-reed")])
def test_subscriptions_of_reed_get_courses_of_others(name: str) -> None:
    mapping = courses.mapping(name)
    matcher, publisher, judge = DomainMatcher(mapping.target), Publisher(mapping), MemoryMatcher()
    for number, text in enumerate(REED):
        matcher.add(number, text)
        judge.add(number, parse_subscription(text))
    root = courses.catalogue(name.split("-")[0]).root
    matched = 0
    for course in list(root)[::STEP]:
        document = parse_document(f"<{root.tag!s}>{write_element(course)}</{root.tag!s}>")
        expected = judge.match(exchange(mapping, document)).tolist()
        assert all(matcher.match(publisher, document, way).tolist() == expected for way in Strategy)
        matched += len(expected)
    assert matched > 100


def test_what_an_exchange_drops_is_not_met() -> None:
    given = problem(NESTED, FLAT, "b/t -> e/u\nb/a/n -> e/k")
    assert found(given, "<r><b><t>1</t></b></r>", "//u", "//e", "/s") == [2]
    assert found(given, "<r><b><t>1</t><a><n>2</n></a></b></r>", "//u", "//e[u = 1]/k = 2", "//u = 2") == [0, 1]
    assert found(given, "<r><b><t>1</t><a><m>2</m></a></b></r>", "//u = '1'", "//k") == [0]


def test_subscriptions_that_branch_see_that_nodes_are_one() -> None:
    target = dtd_of("s: c*; c: v, w*; v; w: p?, q?; p; q")
    given = problem(NESTED, target, "b/t -> c/v\nb/a/n -> c/w/p\nb/a/m -> c/w/q")
    twice = "<r><b><t>1</t><a><n>x</n></a></b><b><t>1</t><a><m>y</m></a></b></r>"
    assert found(given, twice, "//c[w/p][w/q]", "//c[v = 1]/w/p", "//w[p][q]", "//c[.//p][.//q]") == [0, 1, 3]
    other = "<r><b><t>1</t><a><n>x</n></a></b><b><t>2</t><a><m>y</m></a></b></r>"
    assert found(given, other, "//c[w/p][w/q]", "//*[.//p][.//q]", "//c[v = 1][v = 2]") == [1]


def test_attributes_of_elements_without_text_stand_for_them() -> None:
    source = dtd_of("r: b*; b: t? @x CDATA #IMPLIED; t")
    target = dtd_of("s: c*; c @y CDATA #IMPLIED")
    given = problem(source, target, "b/@x -> c/@y")
    assert found(given, "<r><b x='1'/></r>", "//c[. = '']", "//c/@y = 1", "//c[text()]", "//c != ''") == [0, 1]
    assert found(given, "<r><b/></r>", "//c", "/s") == [1]


def test_subtrees_that_come_whole_are_met_as_they_are() -> None:
    source = dtd_of("r: b*; b: z?; z: n*; n @k CDATA #IMPLIED")
    target = dtd_of("s: c*; c: y?; y: n*; n @k CDATA #IMPLIED")
    given = problem(source, target, "b/z => c/y")
    document = "<r><b><z><n k='1'>u</n><n>v</n></z></b></r>"
    assert found(given, document, "//y/n = 'v'", "//n[@k = 1]/text() = 'u'", "//z", "//y[n = 'u'][n = 'v']") == [
        0,
        1,
        3,
    ]


def test_subscriptions_come_and_go() -> None:
    publisher = Publisher(courses.mapping("wsu-reed"))
    matcher = DomainMatcher(publisher.mapping.target)
    document = parse_document("<root><course><prefix>MATH</prefix><title>t</title></course></root>")
    assert all(matcher.match(publisher, document, way).tolist() == [] for way in Strategy)
    matcher.add(7, "//subj = 'MATH'")
    matcher.add(3, "//course[subj][title]")
    assert all(matcher.match(publisher, document, way).tolist() == [3, 7] for way in Strategy)
    matcher.remove(3)
    assert all(matcher.match(publisher, document, way).tolist() == [7] for way in Strategy) and len(matcher) == 1
    with pytest.raises(KeyError):
        matcher.remove(3)


def test_what_is_no_subscription_in_these_words_is_refused() -> None:
    matcher = DomainMatcher(courses.mapping("wsu-reed").target)
    with pytest.raises(DisseminationError, match="HX9068"):
        matcher.add(1, "//time = '9'")
    with pytest.raises(GrammarError):
        matcher.add(1, "//time[")
    assert len(matcher) == 0
    matcher.add(1, "//time")


def test_the_way_is_told_with_its_reason() -> None:
    assert str(Publisher(courses.mapping("wsu-reed")).chosen).startswith("iddr: operators express the mapping")


def test_what_has_been_rewritten_for_long_is_translated() -> None:
    publisher = Publisher(courses.mapping("uwm-wsu"))
    matcher = DomainMatcher(publisher.mapping.target)
    for number in range(3):
        matcher.add(number, f"//course[title = 'Flow'][sect = '{number}']")
    course = "<course_listing><title>Flow</title>{}</course_listing>"
    sections = "".join(f"<section_listing><section>{number}</section></section_listing>" for number in range(200))
    document = parse_document(f"<root>{course.format(sections)}</root>")
    ways = []
    for _ in range(6):
        ways.append(matcher.chosen(publisher))
        assert matcher.match(publisher, document).tolist() == [0, 1, 2]
    assert ways[0].way is Strategy.IDDR and ways[-1].way is Strategy.QRA
    assert "3 subscriptions" in ways[-1].reason
    matcher.forget(publisher)
    assert matcher.chosen(publisher).way is Strategy.IDDR

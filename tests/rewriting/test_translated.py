"""Subscriptions in a publisher's words match what they match on the exchanged document.

``python -m tests.fuzz --of rewriting-translated`` judges random ones for as long as one likes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from random import Random
from typing import Final

import pytest
from hypothesis import given, settings, strategies as st

from heptox.errors import DisseminationError, GrammarError, HeptoxError, Position, TranslationError
from heptox.grammar import parse_subscription
from heptox.mapping import Mapping, exchange
from heptox.matching import MemoryMatcher
from heptox.pattern import PatternNode, TreePattern
from heptox.rewriting import TranslatedSubscription, translate_subscription
from heptox.translate import Direction, Hop
from heptox.xml import Document, parse_document, write_element
from tests.examples.courses import catalogue
from tests.fuzz.trial import Size, trial
from tests.rewriting.translations import Example, examples, mapping, shown
from tests.support.budget import tries
from tests.support.checking import Outcome
from tests.support.fixtures import name_of
from tests.support.matching.conditions import printed
from tests.support.matching.embedding import document_node, matches
from tests.support.matching.judging import Judge, Judged
from tests.support.matching.making import random_condition, random_schema, random_text
from tests.support.namespaced_mappings import namespaced
from tests.support.random_mappings import problem
from tests.support.rewriting import translated as checking

QUICK: Final = Size(6, 5, "rewriting-translated")
CATALOGUES: Final = ("uwm-reed", "wsu-reed", "reed-uwm", "wsu-uwm", "uwm-wsu", "reed-wsu")
STEP: Final = 9
"""Of so many courses of a catalogue one is a document."""

REED: Final = (
    "//course[title and place/room > 100]",
    "//course[days = 'MWF'][time/start_time < '12']",
    "//course[instructor != ''][units = 3 or units = '3-4']",
    "/root/course[units >= 4]/place[building = 'ENG']",
    "//course[days = 'TTh' and not_there]",
    "//place/*[. = 'ENG'] and //time",
    "/root[course/days = 'MW'][course/units = 3]",
    "//course[crse = 101 or sect > 10]//end_time",
    "//building/text() > 'M'",
    "//*/room = 150",
)


def to_source(name: str) -> Hop:
    return Hop(mapping(name), Direction.SOURCE, name)


def to_target(name: str) -> Hop:
    return Hop(mapping(name), Direction.TARGET, name)


def matching(patterns: tuple[TreePattern, ...], document: Document) -> bool:
    """Whether the matcher finds one of the patterns."""
    if not patterns:
        return False
    matcher = MemoryMatcher()
    matcher.add(0, patterns)
    return bool(len(matcher.match(document)))


# -- examples ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("example", examples(), ids=lambda example: name_of(example.given))
def test_examples(example: Example) -> None:
    assert shown(example) == example.expected


@pytest.mark.parametrize("example", examples(), ids=lambda example: name_of(example.given))
def test_the_text_is_the_patterns(example: Example) -> None:
    try:
        found = example.translated()
    except HeptoxError:
        assert example.expected.startswith("refused")
        return
    assert (parse_subscription(found.text) if found.text else ()) == found.patterns


def test_without_hops_it_is_the_subscription_itself() -> None:
    text = '//a[b = "x" or c > 5]/@* and //d[. != "y"]'
    found = translate_subscription((), text)
    assert (found.patterns, found.exact, found.losses) == (parse_subscription(text), True, ())
    assert found.matches(parse_document("<a k=''><b>x</b><d><e>z</e></d></a>"))
    assert not found.matches(parse_document("<a k=''><b>z</b><c>five</c><d>z</d></a>"))


@given(st.integers(min_value=0))
def test_without_hops_it_matches_as_xpath_says(seed: int) -> None:
    random = Random(seed)
    document = parse_document(random_text(random, random_schema(random)))
    condition = random_condition(random, [document_node(document)])
    text = printed(condition)
    assert translate_subscription((), text).matches(document) == Judge(condition, text).decide(Judged(document))


def test_a_join_is_checked_where_patterns_cannot_say_it() -> None:
    found = translate_subscription([to_source("hospital/montreal-boston")], '//Progress[Treatment/Date = "1"]')
    document = "<MonGenHosp><Patient ID='a'><Name/><Hist/><Treat><Date>1</Date><Desc/></Treat></Patient>{}</MonGenHosp>"
    other = "<Patient ID='b'><Name/><Hist/></Patient><Admission PatRef='{}'><Problem/><AdmDate/></Admission>"
    joined, apart = (parse_document(document.format(other.format(patient))) for patient in "ab")
    assert not found.exact
    assert [matching(found.patterns, one) for one in (joined, apart)] == [True, True]
    assert [found.matches(one) for one in (joined, apart)] == [True, False]


# -- values of elements --------------------------------------------------------------------------------------------


@cache
def priced() -> Mapping:
    source = "<!ELEMENT s (a*)> <!ELEMENT a EMPTY> <!ATTLIST a k CDATA #IMPLIED v CDATA #IMPLIED w CDATA #IMPLIED>"
    target = (
        "<!ELEMENT t (p*)> <!ELEMENT p (price?, net?)> <!ELEMENT price (#PCDATA)> <!ELEMENT net (#PCDATA)>"
        " <!ATTLIST price currency CDATA #IMPLIED>"
    )
    return problem(source, target, "a/@k -> p/price/@currency\na/@v -> p/price/text()\na/@w -> p/net\n").mapping


@pytest.mark.parametrize(
    "text",
    [
        "//price = 5",
        "//price[. > 5][. < 7]",
        "//price = ''",
        "//price != '5'",
        "//price[@currency = 'EUR'] != '5'",
        "//price/text()",
        "//p[price < 'x' and net]",
        "//p/*[. = '5']",
        "//p/*[. > 1]",
        "//p/* = ''",
    ],
)
@pytest.mark.parametrize(
    "values", ["", "k='EUR'", "v='5'", "k='EUR' v='5'", "k='USD' v='6' w='5'", "w=''", "k='' v='x' w='x'"]
)
def test_the_value_of_an_element_with_attributes_is_its_text(text: str, values: str) -> None:
    document = parse_document(f"<s><a {values}/></s>")
    found = translate_subscription([Hop(priced(), Direction.SOURCE)], text)
    assert found.matches(document) == matching(parse_subscription(text), exchange(priced(), document))


def test_what_is_wrong_is_shown_in_the_subscription() -> None:
    with pytest.raises(DisseminationError) as caught:
        translate_subscription([to_source("courses/uwm-reed")], "//course/crse\n  and //time = '8'")
    fault = caught.value.faults[0]
    assert (fault.code, fault.position) == ("HX9068", Position(2, 9))
    assert fault.excerpt == "  and //time = '8'\n        ^"
    assert fault.hint == "compare a leaf below it: start_time, end_time"


def test_a_step_that_stands_twice_has_no_place() -> None:
    with pytest.raises(DisseminationError) as caught:
        translate_subscription([to_source("courses/uwm-reed")], "//time[. = '8'] or //time[. = '9']")
    assert caught.value.faults[0].position is None


def test_what_queries_do_not_have_is_refused_with_its_place() -> None:
    with pytest.raises(GrammarError) as caught:
        translate_subscription([to_source("copy-subtree")], "//paper/text//*")
    fault = caught.value.faults[0]
    assert (fault.code, fault.position, fault.excerpt) == (
        "HX2010",
        Position(1, 15),
        "//paper/text//*\n              ^",
    )


def test_hops_that_do_not_fit_are_refused() -> None:
    with pytest.raises(TranslationError) as caught:
        translate_subscription([to_source("courses/uwm-reed"), to_source("courses/wsu-reed")], "//course")
    assert [fault.code for fault in caught.value.faults] == ["HX5010"]


def test_a_translation_can_be_stopped() -> None:
    class StoppedError(Exception):
        pass

    def check() -> None:
        raise StoppedError

    with pytest.raises(StoppedError):
        translate_subscription([to_source("courses/uwm-reed")], "//course[title = 'x']", check)


# -- what patterns cannot say --------------------------------------------------------------------------------------


def test_many_tags_of_boxes_are_said_shorter() -> None:
    """Three boxes of eight members each would be 512 patterns."""
    members = " | ".join("abcdefgh")
    leaves = "".join(f"<!ELEMENT {name} EMPTY> <!ATTLIST {name} k CDATA #REQUIRED>" for name in "abcdefgh")
    source = "<!ELEMENT s (u, v, w)> " + "".join(f"<!ELEMENT {name} (z?, ({members})*)>" for name in "uvw")
    target = "<!ELEMENT t (p*, q*, r*)>" + "".join(
        f"<!ELEMENT {name} EMPTY> <!ATTLIST {name} n CDATA #REQUIRED k CDATA #REQUIRED>" for name in "pqr"
    )
    boxes = "".join(f"source box B{name} = {name}/({members})\n" for name in "uvw")
    arrows = "".join(
        f"[B{box}] -> {name}/@n\n[B{box}]/@k -> {name}/@k\n" for box, name in zip("uvw", "pqr", strict=True)
    )
    made = problem(source + leaves + "<!ELEMENT z EMPTY>", target, boxes + arrows).mapping
    found = translate_subscription([Hop(made, Direction.SOURCE)], "/t[p/@k = '1'][q/@k = '1'][r/@k = '1']")
    assert found.text == '/s[u[*[@k[. = "1"]]]][v[*[@k[. = "1"]]]][w[*[@k[. = "1"]]]]'
    assert not found.exact
    document = parse_document("<s><u><a k='1'/></u><v><h k='1'/></v><w><z/></w></s>")
    assert not found.matches(document)
    one = translate_subscription([Hop(made, Direction.SOURCE)], "/t/p[@k = '1'][@n > 'c'][@n != 'g']")
    assert one.exact
    assert [pattern.children[0].children[0].children[0].test for pattern in one.patterns] == ["d", "e", "f", "h"]


def test_more_alternatives_than_a_subscription_may_have_are_said_with_less() -> None:
    text = " or ".join(f"//player[instrument = '{number}'][language = '{number}']" for number in range(150))
    found = translate_subscription([to_source("split-by-nesting")], text)
    assert 0 < len(found.patterns) <= 256
    assert parse_subscription(found.text) == found.patterns
    assert not found.exact
    offers = "<offer><player>a</player><town>b</town><instrument>{}</instrument><language>{}</language></offer>"
    for instrument, language in ((7, 7), (7, 8)):
        document = parse_document(f"<agency>{offers.format(instrument, 0)}{offers.format(1, language)}</agency>")
        assert found.matches(document) == (instrument == language)
        assert matching(found.patterns, document) >= found.matches(document)


# -- laws ----------------------------------------------------------------------------------------------------------


@cache
def quick_trial(number: int) -> Outcome:
    return trial(number, QUICK)


@pytest.mark.parametrize("number", range(40))
def test_random_mappings(number: int) -> None:
    assert quick_trial(number).broken == []


def test_random_cases_are_of_all_kinds() -> None:
    counts = sum((quick_trial(number).counts for number in range(40)), Counter[str]())
    assert counts["matched"] > 0.1 * counts["cases"] > 100
    assert counts["decisions of lxml"] > 0.2 * counts["cases"]
    assert counts["exact"] > 0.5 * counts["translated"] > 0.3 * counts["subscriptions"]
    assert 100 < counts["cases along the arrows"] < counts["cases"] - 100
    assert counts["refused"] < 0.5 * counts["subscriptions"]


@settings(max_examples=tries(25))
@given(st.integers(min_value=1_000_000))
def test_translated_subscriptions_match_as_on_the_image(seed: int) -> None:
    outcome = Outcome()
    checking.check_translated(Random(seed), seed, 3, 3, outcome)
    assert outcome.broken == []


def _everything(found: TranslatedSubscription) -> TranslatedSubscription:
    root = found.patterns[0].children[0].test if found.patterns else "s"
    return replace(found, patterns=(TreePattern((PatternNode("/", root),)),), exact=True)


def _nothing(found: TranslatedSubscription) -> TranslatedSubscription:
    return replace(found, patterns=(), losses=found.losses or ("lost",))  # type: ignore[arg-type]


def _other(found: TranslatedSubscription) -> TranslatedSubscription:
    return replace(found, query=translate_subscription((), "/*").query)


@pytest.mark.parametrize(
    ("wrong", "kind"), [(_everything, "patterns false"), (_nothing, "patterns missed"), (_other, "false")]
)
def test_a_wrong_translation_is_noticed(
    wrong: Callable[[TranslatedSubscription], TranslatedSubscription], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "translate_subscription", lambda *given: wrong(translate_subscription(*given)))
    broken = [told for number in range(6) for told in trial(number, QUICK).broken]
    assert any(told.startswith(f"{kind}\n") for told in broken)


# -- real documents ------------------------------------------------------------------------------------------------


@cache
def courses(name: str) -> tuple[tuple[Document, Document], ...]:
    """Single courses of the catalogue that a mapping starts from, each with its image."""
    root = catalogue(name.split("-")[0]).root
    texts = (f"<{root.tag}>{write_element(course)}</{root.tag}>" for course in list(root)[::STEP])
    documents = map(parse_document, texts)
    return tuple((document, exchange(mapping(f"courses/{name}"), document)) for document in documents)


def check_courses(name: str, texts: list[str]) -> Counter[str]:
    """What each document of one course matches is what its image matches; how often that was."""
    found: dict[str, TranslatedSubscription] = {}
    for text in dict.fromkeys(texts):
        try:
            found[text] = translate_subscription([to_source(f"courses/{name}")], text)
        except DisseminationError:
            continue
    asked, told, counts = MemoryMatcher(), MemoryMatcher(), Counter[str]()
    for number, (text, one) in enumerate(found.items()):
        asked.add(number, parse_subscription(text))
        if one.patterns:
            told.add(number, one.patterns)
    for document, image in courses(name):
        wanted, said = (frozenset(map(int, each.match(to))) for each, to in ((asked, image), (told, document)))
        matched = frozenset(number for number, one in enumerate(found.values()) if one.matches(document))
        assert matched == wanted
        assert matched <= said
        assert {number for number, one in enumerate(found.values()) if one.exact} & (said - matched) == set()
        counts["matched"] += len(matched)
        counts["decided"] += len(found)
    return counts


@pytest.mark.parametrize(("name", "least"), [("uwm-reed", 300), ("wsu-reed", 300)])
def test_in_reeds_words_the_courses_of_others_come(name: str, least: int) -> None:
    counts = check_courses(name, list(REED))
    assert least < counts["matched"] < counts["decided"]


@pytest.mark.parametrize("name", CATALOGUES)
def test_random_subscriptions_on_courses(name: str) -> None:
    random = Random(name)
    images = [document_node(image) for _, image in courses(name)]
    texts = [printed(random_condition(random, [random.choice(images)])) for _ in range(30)]
    counts = check_courses(name, texts)
    assert 0.05 * counts["decided"] < counts["matched"] < 0.95 * counts["decided"]


@pytest.mark.parametrize("name", ["uwm-reed", "wsu-reed"])
def test_whole_catalogues(name: str) -> None:
    document = catalogue(name.split("-")[0])
    image = exchange(mapping(f"courses/{name}"), document)
    for text in (REED[0], REED[4], REED[7], "//course[room]"):
        found = translate_subscription([to_source(f"courses/{name}")], text)
        wanted = matching(parse_subscription(text), image)
        assert found.matches(document) == wanted == matching(found.patterns, document)


@pytest.mark.parametrize("seed", range(6))
def test_tags_of_boxes_are_asked_for_by_their_values_in_namespaces(seed: int) -> None:
    attributes = "".join(f"<!ELEMENT {name} EMPTY> <!ATTLIST {name} k CDATA #REQUIRED>" for name in "xy")
    source, target = f"<!ELEMENT s (x | y)*> {attributes}", "<!ELEMENT t (b*)> <!ELEMENT b EMPTY>"
    target += "<!ATTLIST b v CDATA #REQUIRED k CDATA #REQUIRED>"
    given = problem(source, target, "source box B = (x | y)\n[B] -> b/@v\n[B]/@k -> b/@k\n")
    named = namespaced(Random(seed), given)
    for asked, tag in (("//*[@* = 'x']", "x"), ("//*[@* >= 'y'][@* = '1']", "y")):
        found = translate_subscription([Hop(named.problem.mapping, Direction.SOURCE)], asked)
        texts = ("<s><x k='1'/></s>", "<s><y k='1'/></s>")
        nodes = [document_node(parse_document(named.document(text, Direction.SOURCE))) for text in texts]
        assert [matches(found.patterns, node) for node in nodes] == [tag == "x", tag == "y"], (asked, found.patterns)

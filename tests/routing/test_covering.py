"""Covering of linear paths over any document, advertised paths, and advertised documents."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from benchmarks.routing.advertised_documents import DocumentCoverings
from benchmarks.routing.content import beside
from benchmarks.routing.counterexamples import shortest_counterexample
from benchmarks.routing.covering import Covering, Coverings
from heptox.matching import LinearPath
from heptox.routing import (
    advertised,
    covers_any_document,
    gap_form,
    patience,
)
from heptox.schema import Cardinality, Particle, parse_dtd
from tests.support.budget import tries
from tests.support.checking import Outcome
from tests.support.routing.checking import check_advertised, check_covering, coverings_over
from tests.support.routing.making import loosened, parsed, random_path
from tests.support.routing.schemas import schema_of

seeds = st.integers(0, 1 << 32)


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/a/b", "0 a, 0 b, 0+"),
        ("/a/*//b", "0 a, 1+ b, 0+"),
        ("/a//*/b", "0 a, 1+ b, 0+"),
        ("/*/*//a//*", "2+ a, 1+"),
        ("/*/a/*/*", "1 a, 2+"),
        ("//*/@x", "1+ @x, 0+"),
        ("//@x", "1+ @x, 0+"),
        ("/*//*", "2+"),
    ],
)
def test_labels_and_gaps(path: str, form: str) -> None:
    assert str(gap_form(parsed(path))) == form


@pytest.mark.parametrize(
    ("general", "special", "counterexample"),
    [
        ("/*", "//a", None),
        ("//a", "/*", "/z"),
        ("/a/*//b", "/a//*/b", None),
        ("/a//*/b", "/a/*//b", None),
        ("//a/b", "//a//b", "/a/z/b"),
        ("//a//b", "//a/b", None),
        ("//a/*/a", "/a//a/a//a", "/a/z/z/a/a/z/z/a"),
        ("/a", "/a/@x", None),
        ("/a/*", "/a/@x", "/a/@x"),
        ("/*", "//@x", None),
        ("//@x", "//*/@x", None),
        ("//*/@x", "//@x", None),
        ("//@*", "//a/@x", None),
        ("//@*", "//a/@*", None),
        ("//@x", "//a/@*", "/a/@z"),
        ("//a/@*", "//a/text()", "/a/text()"),
        ("//text()", "/a//b/text()", None),
        ("//*/*", "//a/text()", "/a/text()"),
        ("/b", "/@x", None),
        ("//z", "//*", "/z1"),
        ("//text()", "//@x", "/z/@x"),
        ("//a//*/b", "//a/a//b", None),
        ("/*/*/*", "//a//b", "/a/b"),
    ],
)
def test_any_document(general: str, special: str, counterexample: str | None) -> None:
    found = Coverings().path(parsed(general), parsed(special))
    assert found == Covering(counterexample is None, counterexample)
    assert covers_any_document(parsed(general), parsed(special)) is found.covers


TABLES = """
    <!ELEMENT doc (head, body)> <!ELEMENT head (title?)> <!ELEMENT title (#PCDATA)> <!ELEMENT body (p | table)*>
    <!ELEMENT p (#PCDATA)> <!ELEMENT table (caption?, ((thead, tbody+) | tr+))> <!ELEMENT caption EMPTY>
    <!ELEMENT thead (tr+)> <!ELEMENT tbody (tr+)> <!ELEMENT tr (td+)> <!ELEMENT td (p*, table?)>
    <!ATTLIST table id CDATA #REQUIRED border CDATA #IMPLIED>
"""
TABLE, END = '<doc><head/><body><table id="">', "</table></body></doc>"


@pytest.mark.parametrize(
    ("general", "special", "over_paths", "over_documents"),
    [
        ("//tr", "//tbody", None, None),
        ("//tbody", "//tr", "/doc/body/table/tr/td", f"{TABLE}<tr><td/></tr>{END}"),
        ("//body", "//head/title", "/doc/head/title", None),
        ("//title", "//body", "/doc/body", "<doc><head/><body/></doc>"),
        ("//thead", "//tbody", "/doc/body/table/tbody/tr/td", None),
        ("//@id", "//td", None, None),
        ("//@border", "//table", "/doc/body/table/caption", f"{TABLE}<tr><td/></tr>{END}"),
        ("//table//table", "//td//td", None, None),
        (
            "//caption",
            "//table/@border",
            "/doc/body/table[@border]/tr/td",
            '<doc><head/><body><table border="" id=""><tr><td/></tr></table></body></doc>',
        ),
        ("//td", "//tr/text()", None, None),
        ("//p", "//td/text()", "/doc/body/table/tr/td/text()", f"{TABLE}<tr><td> </td></tr>{END}"),
    ],
)
def test_what_is_advertised(general: str, special: str, over_paths: str | None, over_documents: str | None) -> None:
    advertisement = advertised(parse_dtd(TABLES, "doc"))
    paths = Coverings(advertisement).path(parsed(general), parsed(special))
    assert paths == Covering(over_paths is None, over_paths)
    documents = DocumentCoverings(advertisement).path(parsed(general), parsed(special))
    assert documents == Covering(over_documents is None, over_documents)


def test_automata_decide_the_same() -> None:
    outcome = Outcome()
    for seed in range(4):
        check_covering(Random(seed), 15, 250, outcome)
    assert not outcome.broken
    assert outcome.counts["covered"] > 1000


def test_enumeration_decides_the_same() -> None:
    outcome = Outcome()
    for seed in range(12):
        check_advertised(Random(seed), 3, 6, outcome)
    assert not outcome.broken
    assert outcome.counts["covered over advertised paths"]


@given(seeds)
def test_a_path_covers_itself(seed: int) -> None:
    path = random_path(Random(seed))
    assert covers_any_document(path, path)


@given(seeds)
def test_covering_is_transitive(seed: int) -> None:
    random = Random(seed)
    special = random_path(random)
    middle = loosened(random, special)
    general = loosened(random, middle)
    if covers_any_document(general, middle) and covers_any_document(middle, special):
        assert covers_any_document(general, special)


@settings(max_examples=tries(50), deadline=None)
@given(seeds)
def test_covering_over_what_is_advertised_is_transitive(seed: int) -> None:
    random = Random(seed)
    advertisement = advertised(schema_of(random))
    special = random_path(random, 4)
    middle = loosened(random, special)
    general = loosened(random, middle)
    for coverings in coverings_over(advertisement):
        if coverings.path(general, middle) and coverings.path(middle, special):
            assert coverings.path(general, special)


def test_hostile_paths_are_not_searched_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "MOST_STEPS", 500)
    general, special = parsed("//a" + "/*" * 60 + "/b"), parsed("//a" * 30 + "//b")
    found = Coverings().path(general, special)
    assert not found.covers and found.counterexample is None and found.reason is not None


def test_what_a_child_needs_beside_it() -> None:
    a, b, c = (Particle("name", Cardinality.ONE, name) for name in "abc")
    content = Particle("sequence", Cardinality.ONE, members=(a, Particle("choice", Cardinality.ONE, members=(b, c))))
    assert beside(content, {"a": 5, "b": 2, "c": 7}.__getitem__) == {"a": 2, "b": 5, "c": 5}


def test_a_counterexample_too_large_to_be_written() -> None:
    names = "abcdefghij"
    dtd = "".join(f"<!ELEMENT {name} ({below}, {below})>" for name, below in pairwise(names))
    coverings = DocumentCoverings(advertised(parse_dtd(dtd + "<!ELEMENT j EMPTY><!ATTLIST j x CDATA #IMPLIED>", "a")))
    found = coverings.path(parsed("//@x"), parsed("//j"))
    assert not found.covers and found.counterexample is None
    assert found.reason == "the smallest document has 1023 elements, more than 200"


def test_no_counterexample_where_there_is_none() -> None:
    assert shortest_counterexample(LinearPath(parsed("/a").steps), parsed("/a/b")) is None

"""Filters cleaned against a schema: the samples of the paper as they should be, and others."""

from __future__ import annotations

from random import Random

import pytest

from heptox.filtering import CleanedFilter, SchemaSteps, Version, clean, read_filter
from heptox.schema import parse_dtd, read_dtd
from tests.support.budget import tries, usually
from tests.support.checking import Outcome
from tests.support.filtering.checking import check_cleaning, check_filtering
from tests.support.filtering.judging import whole
from tests.support.fixtures import FIXTURES, cases, name_of
from tests.support.shared import DATA

NITF = DATA / "nitf" / "nitf-2-5.dtd"
ROOTS = {"figure_4": "a", "news": "news"}
SCHEMAS = {name: SchemaSteps(read_dtd(FIXTURES / "chunking" / f"{name}.dtd", root)) for name, root in ROOTS.items()}


def cleaned(text: str, schema: SchemaSteps) -> CleanedFilter:
    return clean(text, read_filter(text), schema)


@pytest.mark.parametrize(
    ("schema", "given", "expected"),
    [
        pytest.param(SCHEMAS[name], given, expected, id=f"{name} {name_of(given)} {given.splitlines()[-1]}")
        for name in ROOTS
        for given, expected in cases(f"chunking/{name}.txt")
    ],
)
def test_filters_are_cleaned(schema: SchemaSteps, given: str, expected: str) -> None:
    found = cleaned(given.splitlines()[-1], schema)
    assert told(found) == expected
    assert found.is_empty == (expected == "nothing")


def told(found: CleanedFilter) -> str:
    if found.branches is None:
        return "as it stands"
    return "\n".join(map(str, found.branches)) or "nothing"


NAMES = [f"e{number}" for number in range(8)]
ALL_IN_ALL = SchemaSteps(parse_dtd("".join(f"<!ELEMENT {name} ({' | '.join(NAMES)})*>" for name in NAMES), "e0"))
"""Eight element types that may all stand in each other: they have 109,601 tag paths up to where a tag comes again."""


def test_a_filter_of_very_many_tag_paths_is_resolved_to_less_depth() -> None:
    found = cleaned("//e3", ALL_IN_ALL)
    assert found.branches is not None and 50 < len(found.branches) <= 200
    assert {len(branch.path) for branch in found.branches} <= {2, 3, 4}


def test_a_filter_that_has_too_many_branches_is_evaluated_as_it_stands() -> None:
    found = cleaned("//e3//e4//e5", ALL_IN_ALL)
    assert (found.branches, str(found)) == (None, "//e3//e4//e5")
    found = cleaned(f"/e0{'/e1/..' * 60}", ALL_IN_ALL)
    assert found.branches is None


@pytest.mark.parametrize("most", [2, 5, 9, 20])
def test_what_is_resolved_to_less_depth_selects_the_same(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heptox.filtering.schema_steps.MOST_REACHED", most)
    random, outcome = Random(most), Outcome()
    for _ in range(tries(15)):
        check_cleaning(random, 12, 6, outcome)
        check_filtering(random, 8, 3, outcome)
    assert outcome.broken == []
    assert outcome.counts["cases"] > usually(300, 1000)


def test_what_needs_no_schema_does_not_rely_on_it() -> None:
    schema = SCHEMAS["figure_4"]
    sure = ("/a/b/k/d", "/a/b[k]/l/c", "/a/b/k/../m", "/a/b/m/a/b/m/a", "/a/b/l/c[2]", "/a/..")
    unsure = ("//d", "/a/*", "/a/d", "/a/b/*[d]", "count(//d)", "/a/b[.//d]", "string(/)", "/descendant::node()")
    assert [text for text in sure if cleaned(text, schema).relies_on_schema] == []
    assert [text for text in unsure if not cleaned(text, schema).relies_on_schema] == []


def test_equal_branches_are_one() -> None:
    found = cleaned("/a/b/k | //k | /a/b/k", SCHEMAS["figure_4"])
    assert str(found) == "/a/b/k | /a/b/m/a//k"


def test_filters_of_later_versions_are_not_looked_into() -> None:
    text = "for $d in //d return $d"
    found = clean(text, read_filter(text, Version.THREE), SCHEMAS["figure_4"])
    assert (found.branches, found.required, str(found)) == (None, None, text)


@pytest.mark.parametrize(
    "text",
    [
        "//item[2]/title",
        "/news/item/body//b/../..",
        "//item[by = 'Ann' or @lang = 'en']/@id",
        "//part//item[last()]",
        "/news/part/*[2]/title",
        "//by[../title = 'x']",
        "//item/ancestor::part/title",
        "//b | //title | //by",
        "//item//title",
        "//body/node()",
    ],
)
def test_branches_select_what_the_filter_selects(text: str) -> None:
    document = (
        b"<news><head><title>x</title></head><item id='i1'><title>1</title><by>Ann</by><body>2<b>3</b><item id='i2' "
        b"lang='en'><title>x</title><by>Bo</by></item>4</body></item><item id='i3'><title>5</title></item><part><title>"
        b"6</title><item id='i4'><title>7</title><body><b/><b>8</b></body></item><part><title>9</title></part></part>"
        b"</news>"
    )
    found, expected = whole([str(cleaned(text, SCHEMAS["news"])), text], document)
    assert found == expected != ()


def test_a_schema_of_very_many_tag_paths_is_resolved_as_far_as_is_worth_while() -> None:
    schema = SchemaSteps(read_dtd(NITF, "nitf"))
    found = clean("//p", read_filter("//p"), schema)
    assert found.branches is not None and 20 < len(found.branches) <= 200
    assert all(branch.path[-1] == "p" or branch.rest for branch in found.branches)
    paths = {branch.path for branch in found.branches if branch.rest}
    # nothing is told twice: of two branches none is in a subtree that the other has whole
    assert not any(path[:depth] in paths for path in paths for depth in range(len(path)))

"""Filters cleaned against a schema: the samples of the paper as they should be, and others."""

from __future__ import annotations

import pytest

from heptox.dissemination.chunking import CleanedFilter, SchemaSteps, Version, clean, read_filter
from heptox.schema import parse_dtd, read_dtd
from tests.support.chunking.judging import whole
from tests.support.fixtures import FIXTURES, cases, name_of

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


def test_a_filter_that_has_too_many_branches_is_evaluated_as_it_stands() -> None:
    """Of eight element types that may all stand in each other 109,601 tag paths are found."""
    names = [f"e{number}" for number in range(8)]
    dtd = "".join(f"<!ELEMENT {name} ({' | '.join(names)})*>" for name in names)
    found = cleaned("//e3", SchemaSteps(parse_dtd(dtd, "e0")))
    assert found.branches is None
    assert found.required is None
    assert str(found) == "//e3"


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

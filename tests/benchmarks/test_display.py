"""Advertisements as people read them."""

from __future__ import annotations

import re
from itertools import pairwise, product
from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from benchmarks.routing.display import shown
from heptox.routing import advertised
from heptox.schema import parse_dtd
from tests.support.budget import tries
from tests.support.routing.schemas import schema_of

seeds = st.integers(0, 1 << 32)


@pytest.mark.parametrize(
    ("dtd", "expected"),
    [
        ("<!ELEMENT a (b, c?)> <!ELEMENT b EMPTY> <!ELEMENT c (#PCDATA)>", ["/a/b", "/a/c"]),
        ("<!ELEMENT a (b | c)> <!ELEMENT b (b | c)> <!ELEMENT c EMPTY>", ["/a(/b)+/c", "/a/c"]),
        ("<!ELEMENT a (b)> <!ELEMENT b (b | c)> <!ELEMENT c (c?, d)> <!ELEMENT d EMPTY>", ["/a(/b)+(/c)+/d"]),
        (
            "<!ELEMENT a (b)> <!ELEMENT b (c)> <!ELEMENT c (b | c | d)> <!ELEMENT d EMPTY>",
            ["/a/b(/c)+/d", "/a(/b(/c)+)+/b(/c)+/d"],
        ),
        ("<!ELEMENT a (a | b)*> <!ELEMENT b (a)>", ["/a", "(/a | /a/b)+/a"]),
    ],
)
def test_recursive_parts_are_written_once(dtd: str, expected: list[str]) -> None:
    assert list(shown(advertised(parse_dtd(dtd, "a")))) == expected


@settings(max_examples=tries(50), deadline=None)
@given(seeds)
def test_what_is_shown_is_what_is_advertised(seed: int) -> None:
    schema = schema_of(Random(seed))
    advertisement = advertised(schema)
    paths = shown(advertisement, 10_000)
    if paths[-1] == "... and more":
        return
    expressions = [re.compile(path.replace(" ", "").replace("/", "")) for path in paths]
    for length in range(1, 6):
        for word in map("".join, product(sorted(advertisement.elements), repeat=length)):
            expected = word[0] == schema.root and advertisement.elements[word[-1]].ends
            expected &= all(child in advertisement.children(name) for name, child in pairwise(word))
            assert any(each.fullmatch(word) for each in expressions) == expected, (word, paths)


def test_a_list_that_is_not_whole_says_so() -> None:
    names = "abcdefghijkl"
    dtd = "".join(f"<!ELEMENT {name} ({'|'.join(names)})*>" for name in names)
    advertisement = advertised(parse_dtd(dtd, "a"))
    assert shown(advertisement, 2)[-1] == "... and more"
    assert len(shown(advertisement, 2)) <= 3

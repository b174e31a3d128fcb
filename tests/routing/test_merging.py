"""Mergers: what they match and how much of it is too much, against paths that are written out one by one."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from heptox.matching import LinearPath
from heptox.routing import (
    Advertisement,
    ElementType,
    MergedPath,
    NamesStep,
    Rule,
    advertised,
    counted,
    covers_any_document,
    imperfect_mergers,
    merged,
    union_of_names,
)
from heptox.schema import parse_dtd
from tests.support.budget import tries
from tests.support.routing.judging import accepts
from tests.support.routing.making import loosened, parsed, random_path, random_paths
from tests.support.routing.schemas import schema_of

seeds = st.integers(0, 1 << 32)

LONGEST = 5


def meets(path: LinearPath, word: tuple[str, ...]) -> bool:
    """Whether a path ends somewhere on a word."""
    return any(accepts(path, word[:length]) for length in range(1, len(word) + 1))


def advertised_words(advertisement: Advertisement, name: str, left: int) -> Iterator[tuple[str, ...]]:
    """The paths down from an element, to ends, attributes and text."""
    element = advertisement.elements[name]
    if element.ends:
        yield (name,)
    for leaf in advertisement.leaves(name):
        yield name, leaf
    for child in advertisement.children(name) if left > 1 else ():
        for word in advertised_words(advertisement, child, left - 1):
            yield name, *word


def read(path: MergedPath, word: tuple[str, ...]) -> bool:
    reader, positions = path.reader(), 1
    for label in word:
        if label == "text()" or label[0] == "@":
            return reader.leaf(positions, label)
        positions = reader.element(positions, label)
    return bool(positions & reader.accepting)


@given(seeds)
@settings(max_examples=tries(60), deadline=None)
def test_a_union_of_names_matches_what_the_paths_match(seed: int) -> None:
    random = Random(seed)
    paths = random_paths(random, 12, 3)
    unions = union_of_names(paths)
    assert sorted(str(member) for union in unions for member in union.members()) == sorted(map(str, paths))
    words = [
        (*word, *leaf) for n in range(1, 4) for word in product("abc", repeat=n) for leaf in ((), ("@x",), ("text()",))
    ]
    for word in words:
        assert any(read(union, word) for union in unions) == any(accepts(path, word) for path in paths), word


@pytest.mark.parametrize(
    ("paths", "unions"),
    [
        ("/a/b/d /a/c/d", "/a/(b|c)/d"),
        ("/a//b /a//c /a/d", "/a//(b|c) /a/d"),
        ("/a/b/c /a/b/d /a/e/c /a/e/d", "/a/(b|e)/(c|d)"),
        ("/a/b /b/b /b/a", "/(a|b)/b /b/a"),
        ("/a/b/c/x /a/b/d/x /b/c/c", "/a/b/(c|d)/x /b/c/c"),
        ("/a/@x /b/@x /b/@y", "/(a|b)/@x /b/@y"),
        ("/a/* /a/b /a/text()", "/a/* /a/b /a/text()"),
        ("/a/b /a/b", "/a/b"),
    ],
)
def test_unions_of_names(paths: str, unions: str) -> None:
    assert " ".join(map(str, union_of_names(map(parsed, paths.split())))) == unions


@given(seeds)
@settings(max_examples=tries(60), deadline=None)
def test_a_union_covers_what_a_member_covers(seed: int) -> None:
    random = Random(seed)
    paths = random_paths(random, 10, 4)
    for union in union_of_names(paths):
        for path in (*paths, random_path(random, 5)):
            assert union.covers(path) == any(covers_any_document(member, path) for member in union.members())


@pytest.mark.parametrize(
    ("first", "second", "rule", "merger"),
    [
        ("/a/*/c/d", "/a/*/c/e", Rule.ONE_NAME, "/a/*/c/*"),
        ("/a/c/*/*", "/a//c/*/c", Rule.NAME_AND_AXIS, "/a//c/*/*"),
        ("/a/b/c/d", "/a/e//f/d", Rule.COMMON_ENDS, "/a//d"),
        ("/a/@x", "/a/@y", Rule.ONE_NAME, "/a/@*"),
    ],
)
def test_the_rules_of_the_paper(first: str, second: str, rule: Rule, merger: str) -> None:
    assert (rule, parsed(merger)) in list(imperfect_mergers(parsed(first), parsed(second)))


@given(seeds)
@settings(max_examples=tries(150), deadline=None)
def test_imperfect_mergers_cover_both(seed: int) -> None:
    random = Random(seed)
    first = random_path(random, 5)
    second = loosened(random, loosened(random, first))
    for _, merger in imperfect_mergers(first, second):
        assert covers_any_document(merger, first), merger
        assert covers_any_document(merger, second), merger


def test_the_degree_of_the_paper() -> None:
    """With five elements at the fourth place, two of which are asked for, three fifths are false positives."""
    names = "abcde"
    leaves = "".join(f"<!ELEMENT {name} EMPTY>" for name in names)
    schema = parse_dtd(f"<!ELEMENT r (x)> <!ELEMENT x (y)> <!ELEMENT y ({' | '.join(names)})> {leaves}", "r")
    with_text = advertised(schema)
    elements = {name: ElementType(each.content) for name, each in with_text.elements.items()}
    members = [parsed("/r/*/y/d"), parsed("/r/*/y/e")]
    found = counted(Advertisement("r", elements), MergedPath.of(parsed("/r/*/y/*")), members)
    assert (found.merger, found.members, found.degree) == (5, 2, Fraction(3, 5))


@given(seeds)
@settings(max_examples=tries(60), deadline=None)
def test_what_is_counted_is_what_is_written_out(seed: int) -> None:
    random = Random(seed)
    advertisement = advertised(schema_of(random))
    words = list(advertised_words(advertisement, advertisement.root, LONGEST))
    paths = random_paths(random, 3, 4)
    found = counted(advertisement, MergedPath.of(paths[0]), paths[1:], LONGEST)
    assert found.merger == sum(meets(paths[0], word) for word in words)
    assert found.members == sum(any(meets(path, word) for path in paths[1:]) for word in words)


@given(seeds, st.fractions(0, Fraction(9, 10)))
@settings(max_examples=tries(40), deadline=None)
def test_merging_loses_nothing_and_keeps_to_the_bound(seed: int, bound: Fraction) -> None:
    random = Random(seed)
    advertisement = advertised(schema_of(random))
    paths = random_paths(random, 6, 4)
    mergers = merged(paths, advertisement, bound, LONGEST)
    words = list(advertised_words(advertisement, advertisement.root, LONGEST))
    assert {member for merger in mergers for member in merger.members} == set(paths)
    for merger in mergers:
        reached = [word for word in words if any(meets(each, word) for each in merger.path.members())]
        asked = [word for word in words if any(meets(each, word) for each in merger.members)]
        assert set(asked) <= set(reached)
        assert merger.degree == Fraction(len(reached) - len(asked), max(len(reached), 1))
        assert merger.degree <= bound


def test_without_a_bound_mergers_are_perfect() -> None:
    (merger,) = merged(map(parsed, ("/a/b", "/a/c")))
    assert (str(merger.path), merger.degree) == ("/a/(b|c)", Fraction(0))
    with pytest.raises(ValueError, match="need an advertisement"):
        merged([parsed("/a")], most_imperfect=Fraction(1, 2))
    with pytest.raises(ValueError, match="below 1"):
        merged([parsed("/a")], most_imperfect=Fraction(1))


def test_only_names_stand_for_each_other() -> None:
    with pytest.raises(ValueError, match="names of elements"):
        MergedPath((NamesStep("/", frozenset(("a", "*"))),))

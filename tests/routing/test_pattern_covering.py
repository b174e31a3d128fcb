"""Covering of tree patterns and subscriptions: yes is always right."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from benchmarks.routing.covering import Coverings
from heptox.grammar import parse_subscription
from heptox.pattern import Number, PatternNode, Sign, Text, TreePattern, ValueTest, holds, is_leaf_test
from heptox.routing import (
    ValueConstraints,
    advertised,
    covers_any_document,
    homomorphism,
    patience,
)
from heptox.schema import parse_dtd, random_document
from heptox.xml import parse_document
from tests.support.budget import tries
from tests.support.matching.conditions import printed
from tests.support.matching.embedding import document_node, matches
from tests.support.matching.making import NUMBERS, OPERATORS, VALUES, random_condition, random_schema
from tests.support.routing.checking import coverings_over
from tests.support.routing.making import loosened, random_path

seeds = st.integers(0, 1 << 32)


def covers(general: str, special: str) -> bool:
    found = Coverings().subscription(parse_subscription(general), parse_subscription(special))
    return found.covers


@pytest.mark.parametrize(
    ("general", "special"),
    [
        ("//a[b]", "/a[b][c]"),
        ("//a[b][c]", "/a[c and b/d]"),
        ("/a[.//b]", "/a[c/b = 5]"),
        ("/a[b > 3]", "/a[b > 4]"),
        ("/a[b > 3 and b < 9]", "/a/b[. = 5]"),
        ("/a[b != 3]", "/a/b[. > 3]"),
        ("/a[b != 'x']", "/a/b[. = 'y']"),
        ("/a[b >= 'm']", "/a/b[. = 'y']"),
        ("/a[b > 3]", "/a/b[. = '5']"),
        ("/a[b > 3]", "/a/b[. > 2 and . != 3 and . >= 3]"),
        ("/a[b = 'q']", "/a/b[. > 5 and . < 4]"),
        ("/a/*//b[c][d]", "/a//*/b[c][d]"),
        ("/a/*[b]", "/a/*/b"),
        ("/a/*[b][b/c]", "/a/*/b/c"),
        ("//*/*", "/a[b/c]"),
        ("/a[*/*]", "/a[b/c][d]"),
        ("//@*", "/a[@x = 1]"),
        ("/a or /b", "/b[c]"),
        ("//b", "/b[c] or /a/b"),
        ("/a and //b", "/a/b[c]"),
        ("//a//b[. = 1]", "//a[c]/a//b[. = 1.0]"),
        ("//a[text()]", "//a[text() = 'x'][b]"),
    ],
)
def test_what_covers(general: str, special: str) -> None:
    assert covers(general, special)


@pytest.mark.parametrize(
    ("general", "special"),
    [
        ("/a[b][c]", "/a[b]"),
        ("/a[b/c]", "/a[b][.//c]"),
        ("/a[b > 3]", "/a/b"),
        ("/a[b > 3]", "/a/b[. >= 3]"),
        ("/a/b[. > 3 and . < 5]", "/a[b > 3 and b < 5]"),
        ("/a[b != 5]", "/a/b[. != '5']"),
        ("/a[b = '5']", "/a/b[. = 5]"),
        ("/a[b < 'x']", "/a/b[. < 5]"),
        ("/a[b <= 5]", "/a/b[. != 6]"),
        ("/a[*/*]", "/a[b/@c]"),
        ("/a/*/b[c][d]", "/a/b[c][d]"),
        ("/a/*/b[c][d]", "/a//*/b[c][d]"),
        ("/a//*/b[c][d]", "/a/b[c][d]"),
        ("//a[@x]", "//a[@*]"),
        ("/a", "/a or /b"),
        ("/a[b]//c", "/a[b] and //c"),
    ],
)
def test_what_does_not_cover(general: str, special: str) -> None:
    assert not covers(general, special)


ORDERS = parse_dtd(
    "<!ELEMENT orders (order+)> <!ELEMENT order (customer, line+)> <!ELEMENT customer (#PCDATA)>"
    "<!ELEMENT line (item)> <!ELEMENT item (#PCDATA)>"
)


@pytest.mark.parametrize(
    ("general", "special", "over_paths", "over_documents"),
    [
        ("//item", "//line[. = 'x']", True, True),
        ("//item and /orders", "//line[item = 'x']", True, True),
        ("//customer", "//line[item = 'x'] or //line/item", False, True),
        ("//customer[. = 'y']", "//line[item = 'x']", False, False),
        ("//order[customer]", "//order[line = 'x']", False, True),
        ("//order[customer][line/item]", "//order[line = 'x']", False, False),
    ],
)
def test_linear_parts_over_what_is_advertised(
    general: str, special: str, over_paths: bool, over_documents: bool
) -> None:
    one, other = parse_subscription(general), parse_subscription(special)
    found = [each.subscription(one, other).covers for each in coverings_over(advertised(ORDERS))]
    assert found == [False, over_paths, over_documents]


def test_a_no_says_whether_it_is_certain() -> None:
    coverings = Coverings()
    certain = coverings.subscription(parse_subscription("/a"), parse_subscription("/a or /b"))
    assert (certain.counterexample, certain.reason) == ("/b", None)
    for general, special in (("/a[b][c]", "/a[b]"), ("/a/b or /a/c", "/a/*")):
        found = coverings.subscription(parse_subscription(general), parse_subscription(special))
        assert found.counterexample is None and found.reason


@settings(max_examples=tries(60), deadline=None)
@given(seeds)
def test_what_is_covered_matches_no_more(seed: int) -> None:
    random = Random(seed)
    schema = random_schema(random)
    nodes = [document_node(parse_document(random_document(schema, random, elements=8, pool=VALUES))) for _ in range(4)]
    coverings = coverings_over(advertised(schema))
    subscriptions = [parse_subscription(printed(random_condition(random, nodes))) for _ in range(8)]
    found = [[matches(patterns, node) for node in nodes] for patterns in subscriptions]
    for (one, general), (other, special) in product(enumerate(subscriptions), repeat=2):
        answers = [bool(each.subscription(general, special)) for each in coverings]
        assert answers == sorted(answers)
        assert all(answers) or one != other
        if answers[-1]:
            assert all(mine or not theirs for mine, theirs in zip(found[one], found[other], strict=True))


@settings(max_examples=tries(60), deadline=None)
@given(seeds)
def test_the_homomorphism_of_patterns_decides_paths_as_that_of_paths(seed: int) -> None:
    random = Random(seed)
    paths = [random_path(random, 4) for _ in range(6)]
    paths += [loosened(random, path) for path in paths]
    for general, special in product(paths, repeat=2):
        if any(is_leaf_test(path.steps[0].test) for path in (general, special)):
            continue  # what asks for a leaf of any root element is left to paths
        (one,), (other,) = (parse_subscription(str(path)) for path in (general, special))
        assert homomorphism(one, other) == covers_any_document(general, special), (general, special)


tests = st.builds(
    ValueTest,
    st.sampled_from(OPERATORS),
    st.one_of(st.sampled_from(VALUES).map(Text), st.sampled_from(NUMBERS).map(Number)),
)


@settings(max_examples=tries(400))
@given(st.lists(tests, max_size=3), tests)
def test_implication_is_sound(known: list[ValueTest], wanted: ValueTest) -> None:
    if ValueConstraints(known).implies(wanted):
        for value in (*VALUES, *NUMBERS, "NaN", "7", "-7", "zz"):
            if all(holds(value, test.operator, test.constant) for test in known):
                assert holds(value, wanted.operator, wanted.constant)


@settings(max_examples=tries(400))
@given(st.lists(st.tuples(st.sampled_from(OPERATORS), st.integers(0, 4)), max_size=3), st.sampled_from(OPERATORS))
def test_implication_of_numbers_misses_nothing(known: list[tuple[Sign, int]], operator: Sign) -> None:
    wanted = ValueTest(operator, Number("2"))
    given_tests = [ValueTest(each, Number(str(2 * number))) for each, number in known]
    values = [str(half / 4) for half in range(-4, 40)] + ["NaN", "x", "INF", "-INF"]
    left = [value for value in values if all(holds(value, test.operator, test.constant) for test in given_tests)]
    assert ValueConstraints(given_tests).implies(wanted) == all(
        holds(value, operator, wanted.constant) for value in left
    )


def test_hostile_patterns_are_not_searched_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "MOST_STEPS", 1000)
    many = "".join(f"[b[c{number}]]" for number in range(100))
    general, special = parse_subscription(f"/a{many}"), parse_subscription(f"/a{many}[d]")
    found = Coverings().subscription(general, special)
    assert not found.covers and found.reason and "not decided" in found.reason


def test_what_is_shared_between_patterns_is_not_confused() -> None:
    leaf = PatternNode("/", "c")
    general = TreePattern((PatternNode("/", "a", (), (PatternNode("/", "b", (), (leaf,)), leaf)),))
    assert not homomorphism(general, parse_subscription("/a/b/c")[0])
    assert homomorphism(general, parse_subscription("/a[b/c][c]")[0])

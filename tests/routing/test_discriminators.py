"""What covers a pattern is found by each of its discriminators."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from benchmarks.routing.advertised_index import discriminators_over_advertised
from benchmarks.routing.covering import Coverings
from heptox.grammar import parse_subscription
from heptox.pattern import TreePattern
from heptox.routing import advertised, homomorphism
from heptox.routing.discriminators import discriminators, evidence
from heptox.schema import parse_dtd
from tests.support.budget import tries
from tests.support.routing.making import compared, random_subscription

seeds = st.integers(0, 1 << 32)


def revalued(random: Random, pattern: TreePattern, share: float) -> TreePattern:
    return TreePattern(tuple(compared(random, node, share) for node in pattern.children))


@given(seeds, st.booleans())
@settings(max_examples=tries(300), deadline=None)
def test_there_is_evidence_of_all_that_a_pattern_asks_which_covers_another(seed: int, over_advertised: bool) -> None:
    asked = discriminators_over_advertised if over_advertised else discriminators
    random = Random(seed)
    (first, *_) = random_subscription(random)
    for _ in range(10):
        general, special = revalued(random, first, 0.4), revalued(random, first, 0.8)
        if homomorphism(general, special):
            found = evidence(special)
            assert all(found.has(each) for each in asked(general))


@pytest.mark.parametrize(
    ("general", "special", "missing"),
    [
        ("/a[. = '5']", "/a[. = '5']", 0),
        ("/a[. = '5.0']", "/a[. = '5']", 1),
        ("/a[. = 5.0]", "/a[. = '5']", 0),
        ("/a[. = '5']", "/a[. = 5]", 1),
        ("/a[. = 5]", "/a[. >= 5.0 and . <= 5]", 0),
        ("/a[. = 'b']", "/a[. >= 'b' and . <= 'b']", 0),
        ("/a[. = 5]", "/a[. >= 5 and . <= 6]", 1),
        ("/a[. = 5]", "/a[. > 7 and . < 6]", 0),
        ("/a[. != 'b']", "/a[. != 'b']", 0),
        ("/a[. != 5]", "/a[. != 5.0]", 0),
        ("/a[. != 'b']", "/a[. != 'c']", 1),
        ("/a[. != 5]", "/a[. != '5']", 1),
        ("/a[. != 5]", "/a[. < 5]", 0),
        ("/a[. != 'b']", "/a[. = 'c']", 0),
        ("/a[b][c]", "/a[b][d]", 1),
        ("/a[@*][*]", "/a[@x]/b", 0),
    ],
)
def test_of_what_there_is_evidence(general: str, special: str, missing: int) -> None:
    (one,), (other,) = parse_subscription(general), parse_subscription(special)
    found = evidence(other)
    assert sum(not found.has(each) for each in discriminators(one)) == missing
    assert not (missing and homomorphism(one, other))


def test_a_path_may_cover_other_names_over_what_is_advertised() -> None:
    coverings = Coverings(advertised(parse_dtd("<!ELEMENT a (b)> <!ELEMENT b (c)> <!ELEMENT c (#PCDATA)>", "a")))
    (general,), (special,) = map(parse_subscription, ("//b and //c", "/a//c[. = '5']"))
    assert coverings.pattern(general, special)
    assert not evidence(special).has(discriminators(parse_subscription("//b")[0])[0])
    assert not discriminators_over_advertised(general)

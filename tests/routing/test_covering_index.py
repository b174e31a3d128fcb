"""The covering index equals trying all pairs, and says its changes in the order that loses nothing."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from benchmarks.routing.covering import Coverings
from heptox.grammar import parse_subscription
from heptox.pattern import TreePattern
from heptox.routing import Advertisement, Change, CoveringIndex
from tests.support.budget import tries
from tests.support.routing.making import pattern_of, random_path, random_paths, random_subscription

Patterns = tuple[TreePattern, ...]

seeds = st.integers(0, 1 << 32)
NUMBER = 100
TEXTS = (
    "/books/book[. = '{}']",
    "//book[isbn = {}]",
    "//book[isbn = '{}'][price < {}]",
    "//book[lang = 'en'][isbn = '{}'] or //book[isbn = '-{}']",
    "//book[isbn != '{}']",
    "//book[isbn][a{}]",
    "//book[isbn < {}]",
)
"""Subscriptions that differ in a constant or a name."""


class Pairs:
    """Covering by trying, over any document or over several advertisements."""

    def __init__(self, advertisements: Iterable[Advertisement] = ()) -> None:
        self._coverings = [Coverings(each) for each in advertisements]

    def covers(self, general: Patterns, special: Patterns) -> bool:
        if Coverings().subscription(general, special):
            return True
        found = [each.subscription(general, special) for each in self._coverings]
        return bool(found) and all(found)


class Churn(RuleBasedStateMachine):
    """Subscriptions come and go on a link."""

    def __init__(self) -> None:
        super().__init__()
        self.index = self.new_index()
        self.wanted: dict[int, Patterns] = {}
        self.forwarded: set[int] = set()
        self.pairs = Pairs()
        self.next = 0

    def new_index(self) -> CoveringIndex[int]:
        return CoveringIndex()

    @initialize(seed=seeds)
    def begin(self, seed: int) -> None:
        self.random = Random(seed)
        self.linear = self.random.random() < 0.3
        self.valued = self.random.choice((0, 0.2, 0.6))

    def drawn(self) -> tuple[int, Patterns]:
        self.next += 1
        again = self.wanted and self.random.random() < 0.15
        if again:
            patterns = self.random.choice(list(self.wanted.values()))
        else:
            patterns = (
                pattern_of(random_path(self.random, 5))
                if self.linear
                else random_subscription(self.random, self.valued)
            )
        self.wanted[self.next] = patterns
        return self.next, patterns

    def replay(self, change: Change[int]) -> None:
        assert not self.forwarded & set(change.exposed)
        self.forwarded |= set(change.exposed)
        self.everything_is_covered(self.forwarded)  # what is forwarded suffices between both halves of a change
        assert set(change.withdrawn) <= self.forwarded
        self.forwarded -= set(change.withdrawn)

    def everything_is_covered(self, by: set[int]) -> None:
        """Each is covered by one of those, or by what they cover: covering at several strengths is not always found at
        once."""
        covering = [number for number in by if number in self.wanted]
        uncovered = self.wanted.keys() - by
        while covering and uncovered:
            general = self.wanted[covering.pop()]
            found = {number for number in uncovered if self.pairs.covers(general, self.wanted[number])}
            uncovered -= found
            covering += found
        assert not uncovered, (uncovered, by)

    @rule()
    def add(self) -> None:
        self.replay(self.index.add(*self.drawn()))

    @rule(number=st.integers(0, 6))
    def add_many(self, number: int) -> None:
        self.replay(self.index.add_many([self.drawn() for _ in range(number)]))

    @rule()
    def remove(self) -> None:
        if self.wanted:
            chosen = self.random.choice(list(self.wanted))
            del self.wanted[chosen]
            self.replay(self.index.remove(chosen))

    @invariant()
    def roots_are_what_was_forwarded(self) -> None:
        assert set(self.index.roots) == self.forwarded
        assert len(self.index) == len(self.wanted)

    @invariant()
    def no_root_covers_another(self) -> None:
        roots = [self.wanted[root] for root in self.index.roots]
        for general in roots:
            assert sum(self.pairs.covers(general, special) for special in roots) == 1, general

    @invariant()
    def parents_cover(self) -> None:
        for number, patterns in self.wanted.items():
            parent = self.index.parent(number)
            assert (parent is None) == (number in self.forwarded)
            if parent is not None:
                assert self.pairs.covers(self.wanted[parent], patterns)


TestChurn = Churn.TestCase
TestChurn.settings = settings(max_examples=tries(80), stateful_step_count=16, deadline=None)


@given(seeds)
@settings(max_examples=tries(25), deadline=None)
def test_many_at_once_are_the_roots_that_one_by_one_are(seed: int) -> None:
    """Both leave the most general ones, one of those that are equal."""
    subscriptions = list(enumerate(pattern_of(path) for path in random_paths(Random(seed), 60, 7)))
    at_once, one_by_one = CoveringIndex[int](), CoveringIndex[int]()
    at_once.add_many(subscriptions)
    for number, patterns in subscriptions:
        one_by_one.add(number, patterns)
    pairs = Pairs()
    assert len(at_once.roots) == len(one_by_one.roots)
    assert len(at_once.roots) == len(
        {
            min(number for number, other in subscriptions if pairs.covers(other, each) and pairs.covers(each, other))
            for _, each in subscriptions
            if all(pairs.covers(each, other) for _, other in subscriptions if pairs.covers(other, each))
        }
    )


def add(index: CoveringIndex[str], text: str) -> Change[str]:
    return index.add(text, parse_subscription(text))


def test_the_new_cover_comes_before_what_it_covers() -> None:
    index = CoveringIndex[str]()
    for text in ("/a/b", "/a/*/c", "/a/b/c"):
        add(index, text)
    assert index.roots == ("/a/b", "/a/*/c")
    assert add(index, "/a") == Change(("/a",), ("/a/b", "/a/*/c"))
    assert index.remove("/a") == Change(("/a/b", "/a/*/c"), ("/a",))
    assert index.remove("/a/b") == Change((), ("/a/b",))  # the other one covers what it covered


def test_of_equal_ones_another_takes_the_place() -> None:
    index = CoveringIndex[int]()
    assert index.add(1, parse_subscription("//a")) == Change((1,))
    assert not index.add(2, parse_subscription("//a"))
    assert not index.add(3, parse_subscription("//a"))
    assert index.parent(2) == index.parent(3) == 1
    assert not index.remove(2)
    assert index.remove(1) == Change((3,), (1,))


@pytest.mark.parametrize("patterns", [(), None])
def test_bad_subscriptions_are_refused(patterns: Patterns | None) -> None:
    index = CoveringIndex[int]()
    index.add(1, parse_subscription("/a"))
    with pytest.raises(ValueError, match="known" if patterns is None else "needs a pattern"):
        index.add_many([(2, parse_subscription("/b")), (1 if patterns is None else 3, patterns or ())])
    assert len(index) == 1
    with pytest.raises(KeyError):
        index.remove(2)


@pytest.mark.parametrize("text", TEXTS)
def test_what_differs_in_a_constant_or_a_name_is_not_compared_one_by_one(text: str) -> None:
    compared_with_few(CoveringIndex[int](), text)


def compared_with_few(index: CoveringIndex[int], text: str) -> None:
    for each in range(NUMBER):
        index.add(each, parse_subscription(text.replace("{}", str(each))))
    for each in range(0, NUMBER, 2):
        index.remove(each)
    assert index.decided <= 6 * NUMBER


def test_any_attribute_covers_each() -> None:
    index = CoveringIndex[str]()
    add(index, "/a/@x")
    assert add(index, "//@*") == Change(("//@*",), ("/a/@x",))

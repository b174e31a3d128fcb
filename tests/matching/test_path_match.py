"""Linear paths and tag paths, which come and go in any order, against a regular expression for each pair."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from heptox.errors import DisseminationError
from heptox.matching import LinearPath, PathMatch, Step, TagPaths
from heptox.pattern import Axis

NAMES = st.sampled_from(("a", "b", "c"))
AXES: st.SearchStrategy[Axis] = st.sampled_from(("/", "//"))
ELEMENT_STEPS = st.builds(Step, AXES, st.one_of(NAMES, st.just("*")))
LEAF_STEPS = st.builds(Step, AXES, st.sampled_from(("@x", "@y", "@*", "text()")))
LEAF_LABELS = st.sampled_from(("@x", "@y", "text()"))


@st.composite
def linear_paths(draw: st.DrawFn) -> LinearPath:
    steps = draw(st.lists(ELEMENT_STEPS, max_size=5)) + draw(st.lists(LEAF_STEPS, max_size=1))
    return LinearPath(tuple(steps or [draw(ELEMENT_STEPS)]))


@st.composite
def labels(draw: st.DrawFn) -> list[str]:
    return draw(st.lists(NAMES, min_size=1, max_size=6)) + draw(st.lists(LEAF_LABELS, max_size=1))


TESTS = {"*": "[a-z]+", "@*": "@[a-z]+"}


def expected(path: LinearPath, tag_path: str) -> bool:
    """Whether a linear path matches, as a regular expression says."""
    steps = (("(?:/[a-z]+)*/" if axis == "//" else "/") + TESTS.get(test, re.escape(test)) for axis, test in path.steps)
    return re.fullmatch("".join(steps), tag_path) is not None


@given(st.lists(linear_paths(), max_size=30), st.lists(labels(), max_size=30))
def test_linear_paths_first(paths: list[LinearPath], tag_paths: list[list[str]]) -> None:
    tree = TagPaths()
    match = PathMatch(tree)
    numbers = [match.add(path) for path in paths]
    for tag_path in tag_paths:
        number = tree.add(tag_path)
        found = {numbers[at] for at, path in enumerate(paths) if expected(path, tree.text(number))}
        assert match.matches(number).tolist() == sorted(found)


class Coming(RuleBasedStateMachine):
    """Linear paths are added and removed, tag paths added and forgotten, and both sides asked, in any order."""

    @initialize()
    def begin(self) -> None:
        self.tree = TagPaths()
        self.match = PathMatch(self.tree)
        self.numbers: dict[LinearPath, int] = {}
        self.uses: Counter[LinearPath] = Counter()

    @rule(path=linear_paths())
    def add(self, path: LinearPath) -> None:
        number = self.match.add(path)
        assert self.numbers.setdefault(path, number) == number
        self.uses[path] += 1

    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        if self.numbers:
            path = data.draw(st.sampled_from(sorted(self.numbers, key=str)))
            self.match.remove(self.numbers[path])
            self.uses[path] -= 1
            if not self.uses[path]:
                del self.numbers[path]

    @rule(tag_path=labels())
    def ask(self, tag_path: list[str]) -> None:
        self.check(self.tree.add(tag_path))

    @rule(tag_path=labels())
    def grow(self, tag_path: list[str]) -> None:
        self.tree.add(tag_path)

    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        kept = data.draw(st.lists(st.integers(0, len(self.tree) - 1), max_size=5))
        texts = {self.tree.text(number) for number in kept}
        self.tree.keep(kept)
        assert texts <= {self.tree.text(number) for number in range(len(self.tree))}

    @rule()
    def ask_all(self) -> None:
        for number in range(len(self.tree)):
            self.check(number)

    @rule(data=st.data())
    def ask_the_other_side(self, data: st.DataObject) -> None:
        if self.numbers:
            path = data.draw(st.sampled_from(sorted(self.numbers, key=str)))
            found = [number for number in range(len(self.tree)) if expected(path, self.tree.text(number))]
            assert self.match.tag_paths_of(self.numbers[path]).tolist() == found

    @invariant()
    def counts(self) -> None:
        assert len(self.match) == len(self.numbers)
        assert all(self.match.path(number) == path for path, number in self.numbers.items())

    def check(self, number: int) -> None:
        found = {known for path, known in self.numbers.items() if expected(path, self.tree.text(number))}
        assert self.match.matches(number).tolist() == sorted(found)


TestComing = Coming.TestCase


def test_many_paths_come_and_go() -> None:
    """The trie is made anew when most of it is dead, and what is left goes on matching."""
    tree = TagPaths()
    match = PathMatch(tree)
    places = [tree.add([f"a{at % 50}", "b", f"c{at}"]) for at in range(3000)]
    paths = [LinearPath((Step("//", f"c{at}"),)) for at in range(3000)]
    for round_ in range(3):
        numbers = [match.add(path) for path in paths]
        kept = match.add(
            LinearPath(
                (
                    Step("/", "a7"),
                    Step("//", f"c{57 + round_}"),
                )
            )
        )
        assert [match.matches(place).tolist() for place in places[:3]] == [[number] for number in numbers[:3]]
        for number in numbers:
            match.remove(number)
        assert match.tag_paths_of(kept).tolist() == [
            place for place in places if tree.text(place) == f"/a7/b/c{57 + round_}"
        ]
        assert not any(match.matches(place).size for place in places[:3])


@pytest.mark.parametrize(
    ("path", "tag_path", "ways"),
    [
        ("/a/b", "/a/b", [(1, 2)]),
        ("/a/b", "/a/c", []),
        ("//a//a", "/a/a/a", [(1, 3), (2, 3)]),
        ("//*/@x", "/a/b/@x", [(2, 3)]),
        ("//b/text()", "/a/b/text()", [(2, 3)]),
    ],
)
def test_positions(path: str, tag_path: str, ways: list[tuple[int, ...]]) -> None:
    match = PathMatch(TagPaths())
    number = match.add(read(path))
    assert match.positions(number, match.tag_paths.add(tag_path[1:].split("/"))) == tuple(ways)


def test_positions_of_some_steps_do_not_explode() -> None:
    match = PathMatch(TagPaths())
    number = match.add(LinearPath((Step("//", "a"),) * 100))
    deep = match.tag_paths.add(["a"] * 200)
    assert match.positions(number, deep, (0,)) == tuple((depth,) for depth in range(1, 102))
    with pytest.raises(DisseminationError, match="HX9022 a path of 200 elements"):
        match.positions(number, deep)


def read(text: str) -> LinearPath:
    found = re.findall(r"(//?)([^/]+)", text)
    return LinearPath(tuple(Step("//" if axis == "//" else "/", test) for axis, test in found))


@given(linear_paths(), labels())
def test_positions_are_all_ways(path: LinearPath, tag_path: list[str]) -> None:
    match = PathMatch(TagPaths())
    number = match.add(path)
    place = match.tag_paths.add(tag_path)
    ways = match.positions(number, place)
    assert bool(ways) == expected(path, match.tag_paths.text(place))
    some = tuple(range(0, len(path.steps), 2))
    assert match.positions(number, place, some) == tuple(sorted({tuple(way[at] for at in some) for way in ways}))
    for way in ways:
        for step, depth, above in zip(path.steps, way, (0, *way), strict=False):
            assert depth == above + 1 if step.axis == "/" else depth > above
            assert expected(
                LinearPath((Step("//", step.test),)), match.tag_paths.text(place_at(match.tag_paths, place, depth))
            )


def place_at(tree: TagPaths, place: int, depth: int) -> int:
    above = [place]
    while above[-1]:
        above.append(tree.parent(above[-1]))
    return above[-1 - depth]


@pytest.mark.parametrize("number", [-1, 0, 1, 5])
def test_unknown_numbers(number: int) -> None:
    match = PathMatch(TagPaths())
    match.remove(match.add(read("/a")))
    for ask in (match.remove, match.path, match.tag_paths_of):
        with pytest.raises(KeyError):
            ask(number)

"""Mergers: one path in the place of several, with sets of names in steps (``routing.md``, Merging)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from heptox.matching import LinearPath, Step
from heptox.pattern import ANY_ATTRIBUTE, ANY_ELEMENT, Axis, is_leaf_test
from heptox.routing.path_homomorphism import covers_any_document, path_shape
from heptox.routing.reading import Reader


class NamesStep(NamedTuple):
    """A step that takes one of several names of elements, or has one node test of any kind."""

    axis: Axis
    tests: frozenset[str]

    @property
    def text(self) -> str:
        """The tests in order, in parentheses where they are several."""
        return next(iter(self.tests)) if len(self.tests) == 1 else f"({'|'.join(sorted(self.tests))})"


@dataclass(frozen=True, slots=True)
class MergedPath:
    """A path that matches what one of its members matches: a step with a set of names stands for each of them.

    >>> path = MergedPath((NamesStep("/", frozenset("a")), NamesStep("//", frozenset("bc"))))
    >>> print(path, *path.members())
    /a//(b|c) /a//b /a//c
    """

    steps: tuple[NamesStep, ...]

    def __post_init__(self) -> None:
        if not self.steps or not all(step.tests for step in self.steps):
            raise ValueError("a merged path needs a step, and each step a test")
        if any(len(step.tests) > 1 and not all(map(_is_name, step.tests)) for step in self.steps):
            raise ValueError("only names of elements stand for each other")

    @classmethod
    def of(cls, path: LinearPath) -> MergedPath:
        """The merged path with one member."""
        return cls(tuple(NamesStep(axis, frozenset((test,))) for axis, test in path.steps))

    def __str__(self) -> str:
        return "".join(step.axis + step.text for step in self.steps)

    def members(self) -> Iterator[LinearPath]:
        """The paths it stands for, in order: the product of its sets."""
        for tests in product(*(sorted(step.tests) for step in self.steps)):
            yield LinearPath(tuple(map(Step, (step.axis for step in self.steps), tests)))

    def covers(self, path: LinearPath) -> bool:
        """Whether one of the members covers a path over any document.

        Only names that the path has can be placed on it, so few members are looked at.
        """
        if path_shape(path).impossible:
            return True
        named = {step.test for step in path.steps} | {ANY_ELEMENT, ANY_ATTRIBUTE}
        sets = [step.tests & named for step in self.steps]
        if not all(sets):
            return False
        narrowed = MergedPath(tuple(map(NamesStep, (step.axis for step in self.steps), sets)))
        return any(covers_any_document(member, path) for member in narrowed.members())

    def reader(self) -> Reader:
        """The automaton that reads labels for all members at once."""
        return _MergedReader(self)


class _MergedReader(Reader):
    """The reader of a path whose sets are names of their own, each read as any of its members."""

    __slots__ = ()

    def __init__(self, path: MergedPath) -> None:
        super().__init__(LinearPath(tuple(Step(step.axis, step.text) for step in path.steps)))
        for step in path.steps:
            if len(step.tests) > 1 and step.text in self._tests:
                positions = self._tests.pop(step.text)
                for test in step.tests:
                    self._tests[test] = self._tests.get(test, 0) | positions


def union_of_names(paths: Iterable[LinearPath]) -> tuple[MergedPath, ...]:
    """Perfect mergers of paths: those that differ in one step's name alone become one, again and again.

    What they match is what the paths match, no more and no less. Largest groups are merged first.

    >>> from heptox.grammar import parse_subscription
    >>> from heptox.routing.linear import linear_path
    >>> texts = "/a/b/c", "/a/b/d", "/a/e/c", "/a/e/d", "/a//c"
    >>> print(*union_of_names(linear_path(pattern) for text in texts for pattern in parse_subscription(text)))
    /a/(b|e)/(c|d) /a//c
    """
    found = dict.fromkeys(map(MergedPath.of, paths))
    while groups := _groups(found):
        for place, members in groups:
            left = [member for member in members if member in found]
            if len(left) > 1:
                for member in left:
                    del found[member]
                found[_united(left, place)] = None
    return tuple(sorted(found, key=str))


_Hole = tuple[int, tuple[NamesStep, ...], Axis, tuple[NamesStep, ...]]


def _groups(paths: Iterable[MergedPath]) -> list[tuple[int, list[MergedPath]]]:
    """The groups of paths that differ in the names of one step, with its place; the largest first."""
    found: dict[_Hole, list[MergedPath]] = {}
    for path in paths:
        for place, step in enumerate(path.steps):
            if all(_is_name(test) for test in step.tests):
                hole = place, path.steps[:place], step.axis, path.steps[place + 1 :]
                found.setdefault(hole, []).append(path)
    groups = [(hole[0], members) for hole, members in found.items() if len(members) > 1]
    return sorted(groups, key=lambda group: (-len(group[1]), group[0], str(group[1][0])))


def _united(paths: list[MergedPath], place: int) -> MergedPath:
    steps = list(paths[0].steps)
    tests = frozenset[str]().union(*(path.steps[place].tests for path in paths))
    steps[place] = NamesStep(steps[place].axis, tests)
    return MergedPath(tuple(steps))


def _is_name(test: str) -> bool:
    """Whether a test is the name of an element: it may stand where others do."""
    return test != ANY_ELEMENT and not is_leaf_test(test)

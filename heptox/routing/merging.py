"""Merging: fewer paths are forwarded, and it is counted how much too much they match (``routing.md``, Merging).

Source: section 5.2 of Hou, Li and Jacobsen, "Routing of XML and XPath queries in data dissemination networks". What a
merger matches and no member does is a false positive: it is filtered at the subscriber's own peer, which matches by the
subscriptions themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from functools import cache
from typing import Final, TypeAlias

from heptox.matching import LinearPath, Step
from heptox.pattern import ANY_ATTRIBUTE, ANY_ELEMENT, TEXT, is_leaf_test
from heptox.routing.advertisement import Advertisement
from heptox.routing.merger import MergedPath, union_of_names
from heptox.routing.reading import START, Positions, Reader

LONGEST_COUNTED: Final = 10
"""How many elements the advertised paths have at most that are counted: recursion has no end, documents have. The paper
generates documents of ten levels."""

PERFECT: Final = Fraction(0)


class Rule(IntEnum):
    """The paper's three rules for imperfect mergers."""

    ONE_NAME = 1
    """The paths differ in one name, which becomes ``*``."""
    NAME_AND_AXIS = 2
    """They differ in one name and one axis, which become ``*`` and ``//``."""
    COMMON_ENDS = 3
    """What they do not have in common at their beginnings and ends becomes ``//``."""


def imperfect_mergers(first: LinearPath, second: LinearPath) -> Iterator[tuple[Rule, LinearPath]]:
    """The mergers of two paths by the paper's rules, each covering both.

    >>> from heptox.grammar import parse_subscription
    >>> from heptox.routing.linear import linear_path
    >>> texts = "/a/c/*/*", "/a//c/*/c"
    >>> first, second = (linear_path(pattern) for text in texts for pattern in parse_subscription(text))
    >>> for rule, merger in imperfect_mergers(first, second): print(rule.name, merger)
    NAME_AND_AXIS /a//c/*/*
    """
    if len(first.steps) == len(second.steps):
        pairs = list(zip(first.steps, second.steps, strict=True))
        names = sum(one.test != other.test for one, other in pairs)
        axes = sum(one.axis != other.axis for one, other in pairs)
        steps = [_step(one, other) for one, other in pairs]
        if names == 1 and axes <= 1 and None not in steps:
            rule = Rule.NAME_AND_AXIS if axes else Rule.ONE_NAME
            yield rule, LinearPath(tuple(step for step in steps if step is not None))
    merger = _common_ends(first.steps, second.steps)
    if merger is not None:
        yield Rule.COMMON_ENDS, merger


def _step(one: Step, other: Step) -> Step | None:
    """The step that takes what either takes; ``None`` where one is for elements and the other is not."""
    axis = one.axis if one.axis == other.axis else "//"
    if one.test == other.test:
        return Step(axis, one.test)
    if TEXT in (one.test, other.test) or is_leaf_test(one.test) != is_leaf_test(other.test):
        return None
    return Step(axis, ANY_ATTRIBUTE if is_leaf_test(one.test) else ANY_ELEMENT)


def _common_ends(first: Sequence[Step], second: Sequence[Step]) -> LinearPath | None:
    """A common beginning, ``//``, and a common end; both have a step, and one path has something between them."""
    shortest = min(len(first), len(second))
    begin = 0
    while begin < shortest - 1 and first[begin] == second[begin]:
        begin += 1
    end = 0
    while end < shortest - begin and first[-1 - end] == second[-1 - end]:
        end += 1
    if not begin or not end:
        return None
    merger = (*first[:begin], Step("//", first[-end].test), *first[len(first) - end + 1 :])
    return None if merger in (tuple(first), tuple(second)) else LinearPath(merger)


# -- the imperfect degree ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Counted:
    """How many advertised paths a merger matches, and how many of them its members match."""

    merger: int
    members: int

    @property
    def degree(self) -> Fraction:
        """The imperfect degree: the share of false positives among what the merger matches."""
        return Fraction(self.merger - self.members, self.merger) if self.merger else PERFECT


_States: TypeAlias = tuple[Positions, ...] | None
"""The positions of some readers; ``None`` once one of them has matched."""


def counted(
    advertisement: Advertisement, merger: MergedPath, members: Iterable[LinearPath], longest: int = LONGEST_COUNTED
) -> Counted:
    """Count the advertised paths of at most ``longest`` elements that a merger and its members match.

    The paths go from the root to an element that may be without children, to an attribute or to text. They are counted
    by element type and positions, level by level, so millions take no longer than a few.
    """
    return _Counting(advertisement, [merger.reader()], list(map(Reader, members))).paths(longest)


class _Counting:
    def __init__(self, advertisement: Advertisement, merger: list[Reader], members: list[Reader]) -> None:
        self._advertisement = advertisement
        self._readers = merger, members
        self._all = cache(self._below)

    def paths(self, longest: int) -> Counted:
        """Both counts. Paths that one has matched are counted without being walked."""
        return Counted(*(self._matched(readers, longest) for readers in self._readers))

    def _matched(self, readers: list[Reader], longest: int) -> int:
        found = 0
        level = _entered({}, readers, self._advertisement.root, tuple(START for _ in readers), 1)
        for left in range(longest - 1, -1, -1):
            below: dict[tuple[str, _States], int] = {}
            for (name, states), ways in level.items():
                if states is None:
                    found += ways * self._all(name, left)
                    continue
                leaves = self._advertisement.leaves(name)
                found += ways * sum(_ends(readers, states, label) for label in leaves)
                for child in self._advertisement.children(name) if left else ():
                    _entered(below, readers, child, states, ways)
            level = below
        return found

    def _below(self, name: str, left: int) -> int:
        """How many paths end at an element, at its leaves, or at most so many elements below."""
        here = self._advertisement.elements[name].ends + len(self._advertisement.leaves(name))
        children = self._advertisement.children(name) if left else ()
        return here + sum(self._all(child, left - 1) for child in children)


def _entered(
    level: dict[tuple[str, _States], int], readers: list[Reader], name: str, states: tuple[Positions, ...], ways: int
) -> dict[tuple[str, _States], int]:
    """Add the ways that lead to an element."""
    after = tuple(reader.element(positions, name) for reader, positions in zip(readers, states, strict=True))
    met = any(positions & reader.accepting for reader, positions in zip(readers, after, strict=True))
    if met or any(after):
        key = name, None if met else after
        level[key] = level.get(key, 0) + ways
    return level


def _ends(readers: list[Reader], states: tuple[Positions, ...], label: str) -> bool:
    return any(reader.leaf(positions, label) for reader, positions in zip(readers, states, strict=True))


# -- merging -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Merger:
    """A path that is forwarded in the place of its members, and its imperfect degree, 0 for a perfect one."""

    path: MergedPath
    members: tuple[LinearPath, ...]
    degree: Fraction = PERFECT


def merged(
    paths: Iterable[LinearPath],
    advertisement: Advertisement | None = None,
    most_imperfect: Fraction = PERFECT,
    longest: int = LONGEST_COUNTED,
) -> tuple[Merger, ...]:
    """Mergers that together match all that some paths match; the members of all mergers are the paths.

    Sets of names come first. Where imperfect mergers are allowed, of a degree up to ``most_imperfect`` over the
    advertised paths (:func:`counted`), pairs of paths are merged by the paper's rules first, the least imperfect merger
    of each; all pairs are looked at, so this is for the few hundred roots that covering leaves.

    Raises ``ValueError`` where imperfect mergers are allowed and nothing is advertised, or the bound is not below 1.
    """
    if not 0 <= most_imperfect < 1:
        raise ValueError("an imperfect degree is at least 0 and below 1")
    groups: dict[LinearPath, tuple[LinearPath, ...]] = {path: (path,) for path in paths}
    if most_imperfect:
        if advertisement is None:
            raise ValueError("imperfect degrees need an advertisement")
        groups = _Merging(advertisement, most_imperfect, longest).groups(groups)
    return tuple(_merger(path, groups, advertisement, longest) for path in union_of_names(groups))


def _merger(
    path: MergedPath,
    groups: dict[LinearPath, tuple[LinearPath, ...]],
    advertisement: Advertisement | None,
    longest: int,
) -> Merger:
    members = tuple(dict.fromkeys(member for each in path.members() for member in groups[each]))
    if advertisement is None or set(members) == set(path.members()):
        return Merger(path, members)
    return Merger(path, members, counted(advertisement, path, members, longest).degree)


class _Merging:
    """Merges pairs of paths while a merger stays within the bound; each remembers the paths that it began with."""

    def __init__(self, advertisement: Advertisement, most_imperfect: Fraction, longest: int) -> None:
        self._advertisement = advertisement
        self._most_imperfect = most_imperfect
        self._longest = longest

    def groups(self, groups: dict[LinearPath, tuple[LinearPath, ...]]) -> dict[LinearPath, tuple[LinearPath, ...]]:
        """The mergers with their members, those of one member too."""
        done: dict[LinearPath, tuple[LinearPath, ...]] = {}
        waiting = dict(groups)
        while waiting:
            path, members = waiting.popitem()
            found = self._best(path, members, done)
            if found is None:
                done[path] = _joined(done.get(path, ()), members)
            else:
                other, merger = found
                waiting[merger] = _joined(waiting.get(merger, ()), _joined(members, done.pop(other)))
        return done

    def _best(
        self, path: LinearPath, members: tuple[LinearPath, ...], others: dict[LinearPath, tuple[LinearPath, ...]]
    ) -> tuple[LinearPath, LinearPath] | None:
        """With which other path to merge, and the merger: the least imperfect one that is allowed."""
        found: list[tuple[Fraction, str, LinearPath, LinearPath]] = []
        for other, also in others.items():
            for _, merger in imperfect_mergers(path, other) if other != path else ():
                degree = self._degree(merger, _joined(members, also))
                if degree <= self._most_imperfect:
                    found.append((degree, str(other), other, merger))
        if not found:
            return None
        _, _, other, merger = min(found, key=lambda each: each[:2])
        return other, merger

    def _degree(self, merger: LinearPath, members: tuple[LinearPath, ...]) -> Fraction:
        return counted(self._advertisement, MergedPath.of(merger), members, self._longest).degree


def _joined(first: tuple[LinearPath, ...], second: tuple[LinearPath, ...]) -> tuple[LinearPath, ...]:
    return tuple(dict.fromkeys((*first, *second)))

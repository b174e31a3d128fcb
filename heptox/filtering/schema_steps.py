"""Where steps may lead in the valid documents of a schema."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterator
from functools import cache
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

from heptox.filtering.expression import ANY_ELEMENT, ANY_NODE, Axis, Step, is_name
from heptox.schema import SchemaGraph, by_name

TagPath: TypeAlias = tuple[str, ...]
"""The tags from the root to an element, both included; the empty one stands for the document."""

MOST_REACHED: Final = 200
"""About how many tag paths ``//`` becomes, at most."""

MOST_LOOKED_AT: Final = 20_000
"""How many tag paths are looked at, at most, to find what one filter selects or needs."""

MOST_PATHS: Final = 1000
"""How many tag paths are looked at, at most, to find where one expression may lead: those of a schema in which all may
stand below all are too many."""


class TooManyPathsError(Exception):
    """An expression may lead to more tag paths than are looked at."""


class Budget:
    """How many tag paths may still be looked at."""

    def __init__(self, left: int = MOST_LOOKED_AT) -> None:
        self._left = left

    def spend(self) -> None:
        """One more. Raises :class:`TooManyPathsError` where that is too many."""
        self._left -= 1
        if self._left < 0:
            raise TooManyPathsError


class Reached(NamedTuple):
    """An element below another one: at ``path``, or, where the search has ended ``early``, somewhere in the subtree of
    that: a tag of its path had come before."""

    path: TagPath
    early: bool


class SchemaSteps:
    """The element types below which others may stand, as steps ask for them."""

    def __init__(self, graph: SchemaGraph) -> None:
        self.is_open = any(element.open for element in graph.elements.values())
        """Whether anything may stand somewhere, so that the schema does not say where elements are."""
        graph = by_name(graph)
        self._root = graph.root
        self._children = {
            name: tuple(child.name for child in element.children) for name, element in graph.elements.items()
        }
        self._leads = cache(self._can_lead)
        self._below = cache(self._reachable)

    def children(self, path: TagPath) -> tuple[str, ...]:
        """The tags that may stand below an element, or the document."""
        return self._children[path[-1]] if path else (self._root,)

    def allows(self, tag: str | None, child: str) -> bool:
        """Whether an element may stand below one with a tag, or below the document."""
        return child in self._children.get(tag, ()) if tag is not None else child == self._root

    def descend(self, path: TagPath, steps: tuple[Step, ...]) -> list[Reached]:
        """The elements in the subtree of one, itself included, from which ``steps`` may lead on.

        Where a tag comes again on the way, the search stops: those in the subtree of that element are not listed one by
        one (``chunking.md``, cleaning, corrected). Where there are more than :data:`MOST_REACHED`, it stops at less
        depth, so that there are about as many.
        """
        leading = {tag for tag in self._children if self.can_lead(steps, tag)}
        idle = {tag for tag in self._children if self._below(tag).isdisjoint(leading)}
        found = list(islice(self._search(path, idle), MOST_REACHED + 1))
        return found if len(found) <= MOST_REACHED else list(self._search_broadly(path, idle))

    def _search(self, path: TagPath, idle: Container[str]) -> Iterator[Reached]:
        waiting = [path]
        while waiting:
            here = waiting.pop()
            yield Reached(here, early=False)
            for child in reversed(self.children(here)):
                if child in idle:
                    continue
                if child in here[max(len(path) - 1, 0) :]:
                    yield Reached((*here, child), early=True)
                else:
                    waiting.append((*here, child))

    def _search_broadly(self, path: TagPath, idle: Container[str]) -> Iterator[Reached]:
        """The highest elements one by one, and below them whole subtrees."""
        waiting, counted = deque([path]), 0
        while waiting and counted + len(waiting) < MOST_REACHED // 2:
            here = waiting.popleft()
            counted += 1
            yield Reached(here, early=False)
            for child in self.children(here):
                if child in idle:
                    continue
                if child in here[max(len(path) - 1, 0) :]:
                    yield Reached((*here, child), early=True)
                else:
                    waiting.append((*here, child))
        yield from (Reached(here, early=True) for here in waiting)

    def can_lead(self, steps: tuple[Step, ...], tag: str | None) -> bool:
        """Whether steps may lead anywhere from an element, whatever their predicates; yes where that is unknown.

        No ``tag`` stands for the document.
        """
        return self._leads(tuple((step.axis, step.test) for step in steps), tag)

    def _reachable(self, tag: str) -> frozenset[str]:
        """The tags in the subtree of an element, its own included."""
        found, waiting = {tag}, [tag]
        while waiting:
            new = set(self._children[waiting.pop()]) - found
            found |= new
            waiting += new
        return frozenset(found)

    def _can_lead(self, steps: tuple[tuple[Axis, str], ...], tag: str | None) -> bool:
        tags: frozenset[str | None] = frozenset({tag})
        for axis, test in steps:
            is_named = is_name(test)
            if axis not in _FOLLOWED or not (is_named or test in {ANY_ELEMENT, ANY_NODE}):
                return True
            if test == ANY_NODE and axis not in {Axis.SELF, Axis.DESCENDANT_OR_SELF}:
                return True
            tags = frozenset(each for each in self._led(axis, tags) if not is_named or each == test)
            if not tags:
                return False
        return True

    def _led(self, axis: Axis, tags: frozenset[str | None]) -> Iterator[str | None]:
        for tag in tags:
            if axis in {Axis.SELF, Axis.DESCENDANT_OR_SELF}:
                yield tag
            if axis is not Axis.SELF:
                for child in self._children[tag] if tag is not None else (self._root,):
                    yield from (child,) if axis is Axis.CHILD else self._below(child)


_FOLLOWED: Final = {Axis.CHILD, Axis.DESCENDANT, Axis.DESCENDANT_OR_SELF, Axis.SELF}

"""Where steps may lead in the valid documents of a schema."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple, TypeAlias

from heptox.dissemination.chunking.expression import ANY_ELEMENT, ANY_NODE, Axis, Step
from heptox.schema import SchemaGraph

TagPath: TypeAlias = tuple[str, ...]
"""The tags from the root to an element, both included; the empty one stands for the document."""

MOST_PATHS: Final = 1000
"""How many tag paths are looked at, at most, to find where one expression may lead: those of a schema in which all may
stand below all are too many."""


class TooManyPathsError(Exception):
    """An expression may lead to more tag paths than are looked at."""


class Reached(NamedTuple):
    """An element below another one: at ``path``, or, where the search has ended ``early``, somewhere in the subtree of
    that: a tag of its path had come before."""

    path: TagPath
    early: bool


class SchemaSteps:
    """The element types below which others may stand, as steps ask for them."""

    def __init__(self, graph: SchemaGraph) -> None:
        self._root = graph.root
        self._children = {
            name: tuple(child.name for child in element.children) for name, element in graph.elements.items()
        }
        self.can_lead = cache(self._can_lead)
        self._below = cache(self._reachable)

    def children(self, path: TagPath) -> tuple[str, ...]:
        """The tags that may stand below an element, or the document."""
        return self._children[path[-1]] if path else (self._root,)

    def allows(self, tag: str | None, child: str) -> bool:
        """Whether an element may stand below one with a tag, or below the document."""
        return child in self._children.get(tag, ()) if tag is not None else child == self._root

    def descend(self, path: TagPath, steps: tuple[Step, ...]) -> Iterator[Reached]:
        """The elements in the subtree of one, itself included, from which ``steps`` may lead on.

        Where a tag comes again on the way, the search stops: those in the subtree of that element are not told one by
        one (``chunking.md``, cleaning, corrected).
        """
        waiting = [(path, frozenset(path[-1:]))]
        while waiting:
            here, seen = waiting.pop()
            yield Reached(here, early=False)
            for child in reversed(self.children(here)):
                if not any(self.can_lead(steps, tag) for tag in self._below(child)):
                    continue
                if child in seen:
                    yield Reached((*here, child), early=True)
                else:
                    waiting.append(((*here, child), seen | {child}))

    def _reachable(self, tag: str) -> frozenset[str]:
        """The tags in the subtree of an element, its own included."""
        found, waiting = {tag}, [tag]
        while waiting:
            new = set(self._children[waiting.pop()]) - found
            found |= new
            waiting += new
        return frozenset(found)

    def _can_lead(self, steps: tuple[Step, ...], tag: str | None) -> bool:
        """Whether steps may lead anywhere from an element, whatever their predicates; yes where that is unknown."""
        tags: frozenset[str | None] = frozenset({tag})
        for step in steps:
            if step.axis not in _FOLLOWED or (step.test not in {ANY_ELEMENT, ANY_NODE} and not step.is_named):
                return True
            if step.axis is not Axis.SELF and step.test == ANY_NODE and step.axis is not Axis.DESCENDANT_OR_SELF:
                return True
            tags = frozenset(each for each in self._led(step.axis, tags) if not step.is_named or each == step.test)
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

"""Content models as what they allow: which children a word of one may have, and how little it needs beside them.

Element types have sizes: how many elements the smallest tree has that may stand there. A content model that repeats
needs no automaton for this: a word that has to hold one given child is smallest with that child once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from math import inf
from typing import Final, TypeAlias

from heptox.schema import Cardinality, Element, Particle

Size: TypeAlias = float
"""A number of elements; ``inf`` where there is no finite tree."""

SizeOf: TypeAlias = Callable[[str], Size]

EMPTY: Final = Particle("sequence", Cardinality.ONE)
"""The content model without children."""


def content_of(element: Element) -> Particle:
    """The content model of an element type; where it is not known, its children in sequence, as often as they may
    stand.

    >>> content_of(Element("a")) == EMPTY
    True
    """
    if element.content is not None:
        return element.content
    members = (Particle("name", child.cardinality, child.name) for child in element.children)
    return replace(EMPTY, members=tuple(members))


def names(particle: Particle) -> frozenset[str]:
    """The element types that a content model mentions."""
    if particle.kind == "name":
        return frozenset((particle.name,))
    return frozenset().union(*map(names, particle.members))


def weight(particle: Particle) -> int:
    """How many parts a content model has: how long it takes to look at it."""
    return 1 + sum(map(weight, particle.members))


def restricted(particle: Particle, allowed: frozenset[str]) -> Particle | None:
    """The content model with these element types only; ``None`` where it has no word without others.

    Each name that is left stands in some word.
    """
    if particle.kind == "name":
        kept = particle if particle.name in allowed else None
    else:
        members = [restricted(member, allowed) for member in particle.members]
        rest = tuple(member for member in members if member is not None)
        whole = len(rest) == len(members) or (particle.kind == "choice" and bool(rest))
        kept = replace(particle, members=rest) if whole else None
    if kept is None and not particle.occurrence.required:
        return EMPTY
    return kept


class _Need:
    """A part of a content model that waits for some of its members, all in a sequence, to have finite trees."""

    __slots__ = ("above", "missing")

    def __init__(self, missing: int, above: _Need | str) -> None:
        self.missing = missing
        self.above = above


def productive(contents: Mapping[str, Particle]) -> frozenset[str]:
    """The element types that have finite valid trees, in time that is linear in the size of the content models.

    >>> a, b = (Particle("name", Cardinality.ONE, name) for name in "ab")
    >>> sorted(productive({"a": a, "b": EMPTY, "c": Particle("choice", Cardinality.ONE, members=(a, b))}))
    ['b', 'c']
    """
    waiting: dict[str, list[_Need | str]] = {}
    met: list[_Need | str] = []
    for name, content in contents.items():
        _await(content, name, waiting, met)
    found: set[str] = set()
    while met:
        part = met.pop()
        if isinstance(part, str):
            if part not in found:
                found.add(part)
                met += waiting.get(part, ())
            continue
        part.missing -= 1
        if part.missing == 0:
            met.append(part.above)
    return frozenset(found)


def _await(
    particle: Particle, above: _Need | str, waiting: dict[str, list[_Need | str]], met: list[_Need | str]
) -> None:
    """Note what a part of a content model waits for, on behalf of the part or element type above it."""
    if not particle.occurrence.required or (particle.kind == "sequence" and not particle.members):
        met.append(above)
    elif particle.kind == "name":
        waiting.setdefault(particle.name, []).append(above)
    else:
        need = _Need(len(particle.members) if particle.kind == "sequence" else 1, above)
        for member in particle.members:
            _await(member, need, waiting, met)


def smallest(particle: Particle, size_of: SizeOf) -> Size:
    """How many elements the children of the smallest word have, with all below them; zero where it may be empty."""
    if not particle.occurrence.required:
        return 0
    if particle.kind == "name":
        return size_of(particle.name)
    sizes = (smallest(member, size_of) for member in particle.members)
    return sum(sizes) if particle.kind == "sequence" else min(sizes, default=inf)


def beside(particle: Particle, size_of: SizeOf) -> dict[str, Size]:
    """For each child that may stand in a word, how many elements its siblings need at least, with all below them.

    >>> a, b, c = (Particle("name", Cardinality.ONE, name) for name in "abc")
    >>> beside(Particle("sequence", Cardinality.ONE, members=(a, Particle("choice", Cardinality.ONE, members=(b, c)))),
    ...        {"a": 5, "b": 2, "c": 7}.__getitem__)
    {'a': 2, 'b': 5, 'c': 5}
    """
    if particle.kind == "name":
        return {particle.name: 0}
    found: dict[str, Size] = {}
    for member, others in zip(particle.members, _others(particle, size_of), strict=True):
        if others < inf:
            for name, size in beside(member, size_of).items():
                found[name] = min(found.get(name, inf), size + others)
    return found


def smallest_word(particle: Particle, size_of: SizeOf) -> tuple[str, ...]:
    """A word of :func:`smallest` size, which is finite."""
    if not particle.occurrence.required:
        return ()
    if particle.kind == "name":
        return (particle.name,)
    if particle.kind == "choice":
        return smallest_word(min(particle.members, key=lambda member: smallest(member, size_of)), size_of)
    return _joined(smallest_word(member, size_of) for member in particle.members)


def smallest_word_with(particle: Particle, child: str, size_of: SizeOf) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A smallest word that holds a given child: what stands before it, and what after it (:func:`beside`)."""
    if particle.kind == "name":
        return (), ()
    sizes = [beside(member, size_of).get(child, inf) for member in particle.members]
    _, number = min(
        (size + others, number)
        for number, (size, others) in enumerate(zip(sizes, _others(particle, size_of), strict=True))
    )
    before, after = smallest_word_with(particle.members[number], child, size_of)
    if particle.kind == "choice":
        return before, after
    left = _joined(smallest_word(member, size_of) for member in particle.members[:number])
    right = _joined(smallest_word(member, size_of) for member in particle.members[number + 1 :])
    return left + before, after + right


def _others(particle: Particle, size_of: SizeOf) -> list[Size]:
    """For each member what the others of a sequence need beside it; in a choice there are none."""
    if particle.kind == "choice":
        return [0] * len(particle.members)
    sizes = [smallest(member, size_of) for member in particle.members]
    finite = sum(size for size in sizes if size < inf)
    infinite = sizes.count(inf)
    return [inf if infinite > (size == inf) else finite - (size if size < inf else 0) for size in sizes]


def _joined(words: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(name for word in words for name in word)

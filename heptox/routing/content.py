"""Content models as what they allow: which children a word of one may have, and how little it needs.

Element types have sizes: how many elements the smallest tree has that may stand there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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

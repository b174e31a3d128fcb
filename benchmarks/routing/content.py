"""The smallest words of content models that have a given child, and what stands beside it.

A content model that repeats needs no automaton for this: a word that has to hold one given child is smallest with that
child once.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from heptox.routing.content import Size, SizeOf, smallest
from heptox.schema import Particle


def beside(particle: Particle, size_of: SizeOf) -> dict[str, Size]:
    """For each child that may stand in a word, how many elements its siblings need at least, with all below them."""
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

"""Whether content models are deterministic (XML 1.0, section 3.2.1 and appendix E).

Deterministic is a model whose Glushkov automaton is. A. Brüggemann-Klein, *Regular expressions into finite automata*,
shows that it is enough to look at the first names of the parts, once no repeated part holds a repetition of its own
that the outer one makes anyway (its star normal form). So this takes time linear in the model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from heptox.schema.model import Particle


class _ConflictError(Exception):
    """Two places in a content model that some names could mean: these."""

    def __init__(self, names: int) -> None:
        super().__init__(names)
        self.names = names


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a content model; sets of names are numbers, of which each bit is a name.

    ``first`` may begin it, ``following`` may follow what ends it, inside it; ``inside`` may follow that where the part
    is repeated, without what the repetition itself lets follow.
    """

    is_nullable: bool
    first: int
    following: int
    inside: int


_EMPTY = _Part(True, 0, 0, 0)


def ambiguous_name(content: Particle) -> str | None:
    """A name that can mean two places of a content model at once, ``None`` where it is deterministic.

    >>> from heptox.schema.model import Cardinality
    >>> some_a, a, b = (Particle("name", Cardinality(sign), name) for sign, name in ("*a", "1a", "1b"))
    >>> for members in (some_a, a), (some_a, b):
    ...     print(ambiguous_name(Particle("sequence", Cardinality.ONE, members=members)))
    a
    None
    """
    counts = Counter(_names(content))
    repeated = [name for name, count in counts.items() if count > 1]
    if not repeated:
        return None
    try:
        _part(content, {name: 1 << number for number, name in enumerate(repeated)})
    except _ConflictError as conflict:
        return repeated[(conflict.names & -conflict.names).bit_length() - 1]
    return None


def _names(particle: Particle) -> Iterator[str]:
    if particle.kind == "name":
        yield particle.name
    for member in particle.members:
        yield from _names(member)


def _part(particle: Particle, bits: dict[str, int]) -> _Part:
    if particle.kind == "name":
        found = _Part(False, bits.get(particle.name, 0), 0, 0)
    else:
        members = [_part(member, bits) for member in particle.members]
        found = _sequence(members) if particle.kind == "sequence" else _choice(members)
    if particle.occurrence.repeats:
        _disjoint(found.inside, found.first)
        found = replace(found, following=found.inside | found.first)
    return found if particle.occurrence.required else replace(found, is_nullable=True)


def _sequence(members: list[_Part]) -> _Part:
    found = _EMPTY
    for number, member in enumerate(members):
        found = _behind(found, member) if number else member
    return found


def _behind(one: _Part, other: _Part) -> _Part:
    """A part, and another behind it."""
    _disjoint(one.following, other.first)
    if one.is_nullable:
        _disjoint(one.first, other.first)
    first = one.first | (other.first if one.is_nullable else 0)
    following = other.following | (one.following | other.first if other.is_nullable else 0)
    if one.is_nullable:
        inside = other.inside | (one.inside if other.is_nullable else 0)
    else:
        inside = other.following | (one.inside | other.first if other.is_nullable else 0)
    return _Part(one.is_nullable and other.is_nullable, first, following, inside)


def _choice(members: list[_Part]) -> _Part:
    first = following = inside = 0
    for member in members:
        _disjoint(first, member.first)
        first |= member.first
        following |= member.following
        inside |= member.inside
    return _Part(any(member.is_nullable for member in members), first, following, inside)


def _disjoint(one: int, other: int) -> None:
    if one & other:
        raise _ConflictError(one & other)

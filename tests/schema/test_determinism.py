"""Determinism of content models, against Glushkov's automaton, drawn in full, and against libxml2."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from itertools import combinations, count
from typing import Any

from hypothesis import given, strategies as st
from lxml import etree

from heptox.schema import Cardinality, Particle
from heptox.schema.determinism import ambiguous_name

SIGNS = st.sampled_from(Cardinality)
PARTICLES = st.recursive(
    st.builds(lambda letter, sign: Particle("name", sign, letter), st.sampled_from("abcd"), SIGNS),
    lambda inner: st.builds(
        lambda kind, sign, members: Particle(kind, sign, members=tuple(members)),
        st.sampled_from(["sequence", "choice"]),
        SIGNS,
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=7,
)


@dataclass(frozen=True)
class Automaton:
    """Positions of a model: each a number with its name; those that begin, end and follow each other."""

    nullable: bool
    first: frozenset[tuple[int, str]]
    last: frozenset[tuple[int, str]]
    follow: frozenset[tuple[tuple[int, str], tuple[int, str]]]


def automaton(particle: Particle, numbers: Iterator[int]) -> Automaton:
    if particle.kind == "name":
        position = frozenset({(next(numbers), particle.name)})
        found = Automaton(False, position, position, frozenset())
    else:
        found = Automaton(particle.kind == "sequence", frozenset(), frozenset(), frozenset())
        for member in particle.members:
            found = joined(found, automaton(member, numbers), particle.kind == "sequence")
    if particle.occurrence.repeats:
        again = frozenset((one, other) for one in found.last for other in found.first)
        found = Automaton(found.nullable, found.first, found.last, found.follow | again)
    nullable = found.nullable or not particle.occurrence.required
    return Automaton(nullable, found.first, found.last, found.follow)


def joined(one: Automaton, other: Automaton, sequence: bool) -> Automaton:
    if not sequence:
        first, last, follow = one.first | other.first, one.last | other.last, one.follow | other.follow
        return Automaton(one.nullable or other.nullable, first, last, follow)
    between = frozenset((before, after) for before in one.last for after in other.first)
    return Automaton(
        one.nullable and other.nullable,
        one.first | (other.first if one.nullable else frozenset()),
        other.last | (one.last if other.nullable else frozenset()),
        one.follow | other.follow | between,
    )


def is_deterministic(particle: Particle) -> bool:
    found = automaton(particle, count())
    positions = {position for pair in found.follow for position in pair} | found.first
    followers = [found.first, *({b for a, b in found.follow if a == position} for position in positions)]
    return not any(one[1] == other[1] for several in followers for one, other in combinations(several, 2))


def spelt(particle: Particle) -> str:
    sign = particle.occurrence.value.removeprefix("1")
    if particle.kind == "name":
        return particle.name + sign
    return f"({(' | ' if particle.kind == 'choice' else ', ').join(map(spelt, particle.members))}){sign}"


@given(PARTICLES)
def test_ambiguous_is_what_glushkovs_automaton_is(particle: Particle) -> None:
    name = ambiguous_name(particle)
    assert (name is None) == is_deterministic(particle)
    assert name is None or spelt(particle).count(name) > 1


@given(PARTICLES)
def test_what_libxml2_refuses_is_ambiguous(particle: Particle) -> None:
    declared = "".join(f"<!ELEMENT {name} EMPTY>" for name in "abcd")
    dtd = etree.DTD(StringIO(f"<!ELEMENT r ({spelt(particle)})>{declared}"))
    dtd.validate(etree.Element("r"))
    log: Any = dtd.error_log
    refused = any(entry.type_name == "DTD_CONTENT_NOT_DETERMINIST" for entry in log)
    # libxml2 takes some that are not, such as (a?, a*): which of the two is meant makes no difference to it
    assert not refused or ambiguous_name(particle) is not None

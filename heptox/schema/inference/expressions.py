"""Content models from child sequences: chain regular expressions, by the algorithm CRX.

A chain regular expression (CHARE) is a sequence of factors ``(a | b | ...)`` with ``1``, ``?``, ``*`` or ``+`` in
which each
name stands once: it is always deterministic (Unique Particle Attribution), and so are models of XML 1.0. Bex, Neven,
Schwentick, Vansummeren, *Inference of concise regular expressions and DTDs*, ACM TODS 35 (2010), section 7.

What CRX needs of the sequences is no more than which name follows which, and how often the names of a factor stand in
one
of them. A content model says both of its whole language, so that one can be extended as if it were a sample: the
result then holds all its words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Final, Protocol

from heptox.schema.components import strong_components
from heptox.schema.model import Cardinality, Particle
from heptox.xml import NO_PREFIXES, Prefixes

Bounds = tuple[int, int]
"""How often something stands in a sequence at least and at most, both counted up to two."""

_SEVERAL: Final = 2


class Sample(Protocol):
    """A set of child sequences."""

    def names(self) -> Iterable[str]:
        """The names in it, in the order in which they first stand."""

    def pairs(self) -> Iterable[tuple[str, str]]:
        """Each name with one that may follow it at once."""

    def bounds(self, factors: Sequence[frozenset[str]]) -> list[Bounds]:
        """How often names of each factor stand in one sequence."""


@dataclass(slots=True)
class Sequences:
    """The child sequences of elements, by what CRX needs of them; memory is bounded by how many kinds there are.

    >>> sequences = Sequences()
    >>> for word in ("ab", "abb", "b"):
    ...     sequences.add(tuple(word))
    >>> sequences.bounds([frozenset("a"), frozenset("b")])
    [(0, 1), (1, 2)]
    """

    order: dict[str, None] = field(default_factory=dict)
    following: set[tuple[str, str]] = field(default_factory=set)
    profiles: set[frozenset[tuple[str, int]]] = field(default_factory=set)

    def add(self, word: Sequence[str]) -> None:
        """Take a child sequence into account."""
        counts: dict[str, int] = {}
        for name in word:
            counts[name] = min(counts.get(name, 0) + 1, _SEVERAL)
        self.profiles.add(frozenset(counts.items()))
        self.order.update(dict.fromkeys(counts))
        self.following.update(pairwise(word))

    def merge(self, other: Sequences) -> None:
        """Take other child sequences into account."""
        self.order.update(other.order)
        self.following |= other.following
        self.profiles |= other.profiles

    def names(self) -> Iterable[str]:
        return self.order

    def pairs(self) -> Iterable[tuple[str, str]]:
        return self.following

    def bounds(self, factors: Sequence[frozenset[str]]) -> list[Bounds]:
        of = {name: number for number, factor in enumerate(factors) for name in factor}
        least, most, present = [_SEVERAL] * len(factors), [0] * len(factors), [0] * len(factors)
        for profile in self.profiles:
            counts: dict[int, int] = {}
            for name, count in profile:
                counts[of[name]] = counts.get(of[name], 0) + count
            for number, count in counts.items():
                present[number] += 1
                least[number] = min(least[number], count)
                most[number] = max(most[number], min(count, _SEVERAL))
        total = len(self.profiles)
        return [(least[number] if present[number] == total else 0, most[number]) for number in range(len(factors))]


EMPTY: Final = Sequences(profiles={frozenset()})
"""The sample that is the empty sequence."""


@dataclass(frozen=True, slots=True)
class Language:
    """All child sequences that a content model allows."""

    model: Particle

    def names(self) -> Iterable[str]:
        return dict.fromkeys(_names(self.model))

    def pairs(self) -> Iterable[tuple[str, str]]:
        found: set[tuple[str, str]] = set()
        _ends(self.model, found)
        return found

    def bounds(self, factors: Sequence[frozenset[str]]) -> list[Bounds]:
        return [_bounds(self.model, factor) for factor in factors]


def _names(model: Particle) -> Iterator[str]:
    if model.kind == "name":
        yield model.name
    for member in model.members:
        yield from _names(member)


_Ends = tuple[frozenset[str], frozenset[str], bool]
"""The names that a model may begin and end with, and whether it may be empty."""


def _ends(model: Particle, pairs: set[tuple[str, str]]) -> _Ends:
    """The ends of a model; which name may follow which is added to ``pairs``."""
    if model.kind == "name":
        first = last = frozenset((model.name,))
        empty = False
    elif model.kind == "choice":
        members = [_ends(member, pairs) for member in model.members]
        first = frozenset().union(*(each[0] for each in members))
        last = frozenset().union(*(each[1] for each in members))
        empty = any(each[2] for each in members)
    else:
        first, last, empty = frozenset(), frozenset(), True
        for member in model.members:
            begin, end, nothing = _ends(member, pairs)
            pairs.update((before, after) for before in last for after in begin)
            first = first | begin if empty else first
            last = last | end if nothing else end
            empty = empty and nothing
    if model.occurrence.repeats:
        pairs.update((before, after) for before in last for after in first)
    return first, last, empty or not model.occurrence.required


def _bounds(model: Particle, factor: frozenset[str]) -> Bounds:
    if model.kind == "name":
        least = most = int(model.name in factor)
    else:
        inner = [_bounds(member, factor) for member in model.members]
        if model.kind == "sequence":
            least, most = sum(each[0] for each in inner), sum(each[1] for each in inner)
        else:
            least, most = min(each[0] for each in inner), max(each[1] for each in inner)
    least = least if model.occurrence.required else 0
    most = most * _SEVERAL if model.occurrence.repeats else most
    return min(least, _SEVERAL), min(most, _SEVERAL)


MOST_ORDERED: Final = 1000
"""Names in one content model of which an order is said: what reads an XSD takes ever longer for each more."""


def chain_expression(samples: Sequence[Sample]) -> Particle | None:
    """The chain regular expression of some samples together: a sequence of factors that has every child sequence of
    theirs
    among its words; ``None`` where no sequence has a child. Of more than :data:`MOST_ORDERED` names no order is said.

    >>> sequences = Sequences()
    >>> for word in ("abd", "bcd", "bbd", "ad"):
    ...     sequences.add(tuple(word))
    >>> shown(chain_expression([sequences]))
    'a?, b*, c?, d'
    """
    order = list(dict.fromkeys(name for sample in samples for name in sample.names()))
    if not order:
        return None
    if len(order) > MOST_ORDERED:
        return any_order(order)
    pairs = {pair for sample in samples for pair in sample.pairs()}
    factors = _factors(order, pairs)
    of_each = [sample.bounds(factors) for sample in samples]
    members = []
    for factor, *bounds in zip(factors, *of_each, strict=True):
        least, most = min(each[0] for each in bounds), max(each[1] for each in bounds)
        names = sorted(factor, key=order.index) if len(factor) > 1 else list(factor)
        members.append(_factor(names, Cardinality.of(least > 0, most > 1)))
    return Particle("sequence", Cardinality.ONE, members=tuple(members))


def any_order(names: Iterable[str]) -> Particle | None:
    """The model ``(a | b | ...)*``; ``None`` without a name.

    >>> shown(any_order("ab"))
    '(a | b)*'
    """
    found = list(names)
    return Particle("sequence", Cardinality.ONE, members=(_factor(found, Cardinality.MANY),)) if found else None


def _factor(names: Sequence[str], occurrence: Cardinality) -> Particle:
    if len(names) == 1:
        return Particle("name", occurrence, names[0])
    members = tuple(Particle("name", Cardinality.ONE, name) for name in names)
    return Particle("choice", occurrence, members=members)


def shown(model: Particle | None, prefixes: Prefixes = NO_PREFIXES) -> str:
    """A model as people write it."""
    if model is None:
        return "nothing"
    sign = "" if model.occurrence is Cardinality.ONE else model.occurrence.value
    if model.kind == "name":
        return f"{prefixes.written(model.name)}{sign}"
    inner = (", " if model.kind == "sequence" else " | ").join(shown(member, prefixes) for member in model.members)
    return f"({inner}){sign}" if model.kind == "choice" or sign else inner


# -- the order of factors ----------------------------------------------------------------------------------------


def _factors(order: Sequence[str], pairs: set[tuple[str, str]]) -> list[frozenset[str]]:
    """The factors of the chain, in an order in which every sequence has them.

    Names that may stand before and behind each other are one factor; so are single names of which no sequence has
    two, and
    that stand between the same others.
    """
    successors: dict[str, list[str]] = {name: [] for name in order}
    for before, after in sorted(pairs):
        successors[before].append(after)
    components = strong_components(order, successors)  # each behind those that it leads to
    of = {name: number for number, component in enumerate(components) for name in component}
    behind = [
        {of[after] for name in component for after in successors[name]} - {number}
        for number, component in enumerate(components)
    ]
    direct = _reduced(behind)
    groups = _alike(components, direct)
    place = {name: number for number, name in enumerate(order)}
    return [frozenset(group) for group in _topological(groups, behind, components, place)]


def _reduced(behind: Sequence[set[int]]) -> list[frozenset[int]]:
    """The edges of the Hasse diagram: those that are not implied by others. Components lead to earlier ones only."""
    reach: list[int] = []
    direct = []
    for number, successors in enumerate(behind):
        covered, kept = 0, []
        for one in sorted(successors, reverse=True):
            if not covered >> one & 1:
                kept.append(one)
            covered |= reach[one]
        reach.append(covered | 1 << number)
        direct.append(frozenset(kept))
    return direct


def _alike(components: Sequence[Sequence[str]], direct: Sequence[frozenset[int]]) -> list[list[int]]:
    """The components, single names with the same neighbours in the diagram together."""
    before: list[set[int]] = [set() for _ in components]
    for number, successors in enumerate(direct):
        for one in successors:
            before[one].add(number)
    groups: dict[object, list[int]] = {}
    for number, component in enumerate(components):
        key: object = number if len(component) > 1 else (frozenset(before[number]), direct[number])
        groups.setdefault(key, []).append(number)
    return list(groups.values())


def _topological(
    groups: Sequence[Sequence[int]],
    behind: Sequence[set[int]],
    components: Sequence[Sequence[str]],
    place: Mapping[str, int],
) -> Iterator[list[str]]:
    """The names of the groups, each before those that it leads to; of several that may come next, the one seen
    first."""
    group_of = {number: index for index, group in enumerate(groups) for number in group}
    after = [
        {group_of[one] for number in group for one in behind[number]} - {index} for index, group in enumerate(groups)
    ]
    waiting = [0] * len(groups)
    for successors in after:
        for one in successors:
            waiting[one] += 1
    names = [[name for number in group for name in components[number]] for group in groups]
    first = [min(place[name] for name in group) for group in names]
    ready = [(first[index], index) for index, count in enumerate(waiting) if not count]
    heapify(ready)
    while ready:
        _, index = heappop(ready)
        yield names[index]
        for one in after[index]:
            waiting[one] -= 1
            if not waiting[one]:
                heappush(ready, (first[one], one))

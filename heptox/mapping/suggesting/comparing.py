"""How much speaks for an arrow between two leaves: weights of evidence, which grow from their surroundings.

Each source of evidence says how much likelier an arrow makes what is seen, as the logarithm of a ratio (Good:
Probability and the Weighing of Evidence, 1950), so that what is not known adds nothing, and all that is known is added
up. What stands around a leaf is compared as in Cupid (Madhavan, Bernstein, Rahm: Generic Schema Matching with Cupid,
VLDB 2001): two types are alike when their names are, and when many of the leaves below them have a partner below the
other. As in similarity flooding (Melnik, Garcia-Molina, Rahm, ICDE 2002) that is repeated, since partners make their
neighbours likelier, and a pair counts by how near it comes to the best pair of either end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from math import exp, sqrt
from typing import Final

from heptox.mapping.content import content_difference
from heptox.mapping.suggesting.names import Names
from heptox.mapping.suggesting.outline import LISTS, REFERENCES, Entry, Outline
from heptox.mapping.suggesting.samples import Samples

PRIOR: Final = -2.5
"""The weight of evidence before anything is seen: of thirteen pairs of leaves, one has an arrow."""

ROUNDS: Final = 3
_MANY: Final = 250_000
"""What is divided by the square of the number of types, to have with how many others one is compared."""

_FEWEST: Final = 8
"""With how many others a type is compared at least."""
_RIVALRY: Final = 0.6
"""How fast the confidence in a pair falls with its distance from the best pair of one of its ends."""

_SURE: Final = 4.0
"""The weight of evidence for a pair that is drawn, at least; no more, for a leaf may have more than one arrow."""

_LEAST: Final = 0.05


@dataclass(frozen=True, slots=True)
class Evidence:
    """The weights of evidence for a pair of entries."""

    names: float = 0.0
    types: float = 0.0
    values: float = 0.0
    structure: float = 0.0
    drawn: float = 0.0

    @property
    def total(self) -> float:
        return PRIOR + self.names + self.types + self.values + self.structure + self.drawn


def sigmoid(weight: float) -> float:
    """The probability that a weight of evidence stands for."""
    return 1 / (1 + exp(-weight)) if weight > -700 else 0.0


def relative(
    scores: Mapping[tuple[int, int], float], drawn: Collection[tuple[int, int]] = ()
) -> dict[tuple[int, int], float]:
    """The probability of each pair, less where one of its ends has a better partner that is free itself.

    A pair that is drawn is no rival of others: whether there is one more arrow is another question.
    """
    open_pairs = {pair: score for pair, score in scores.items() if pair not in drawn} if drawn else scores
    rivals = _best(open_pairs)
    free = {pair: 2 * score - max(rivals[0][pair[0]], rivals[1][pair[1]]) for pair, score in open_pairs.items()}
    best = _best(free)
    shares = {
        pair: sigmoid(score) * exp(_RIVALRY * min(0.0, score - max(best[0][pair[0]], best[1][pair[1]])))
        for pair, score in open_pairs.items()
    }
    return shares | {pair: sigmoid(scores[pair]) for pair in drawn if pair in scores}


def _best(scores: Mapping[tuple[int, int], float]) -> tuple[dict[int, float], dict[int, float]]:
    """The best score of each end."""
    rows: dict[int, float] = {}
    columns: dict[int, float] = {}
    for (row, column), score in scores.items():
        rows[row] = max(rows.get(row, score), score)
        columns[column] = max(columns.get(column, score), score)
    return rows, columns


def _shares(alike: Mapping[tuple[int, int], float]) -> dict[tuple[int, int], float]:
    """How alike types are, less where one of them is more alike to another that is free itself."""
    rivals = _best(alike)
    free = {pair: each * each / (max(rivals[0][pair[0]], rivals[1][pair[1]]) or 1) for pair, each in alike.items()}
    best = _best(free)
    return {
        pair: each * min(1.0, each / (max(best[0][pair[0]], best[1][pair[1]]) or 1)) for pair, each in alike.items()
    }


class Comparison:
    """Two outlines compared: the evidence for each pair of entries, and how alike types are."""

    def __init__(
        self, source: Outline, target: Outline, samples: Samples, drawn: frozenset[tuple[int, int]] = frozenset()
    ) -> None:
        self.source, self.target, self.samples, self.drawn = source, target, samples, drawn
        every = [entry.name for side in (source, target) for entry in side.entries]
        self.names = Names([*every, *(each.name for side in (source, target) for each in side.types)])
        self.type_names = {
            (one, other): self.names.similarity(source.types[one].name, target.types[other].name)
            for one in range(len(source.types))
            for other in range(len(target.types))
        }
        self.pruned = False
        self.alike: dict[tuple[int, int], float] = dict.fromkeys(self._candidates(), 0.0)
        self.evidence = {pair: found for pair in self._pairs() if (found := self._first(*pair)) is not None}
        for _ in range(ROUNDS):
            self._spread()

    # -- what is compared --------------------------------------------------------------------------------------------

    def _candidates(self) -> Iterable[tuple[int, int]]:
        """The pairs of types that are compared leaf by leaf: for each those whose names are most alike."""
        sizes = len(self.source.types), len(self.target.types)
        most = max(_FEWEST, _MANY // max(*sizes, 1) ** 2)
        if most >= max(sizes):
            return list(self.type_names)
        self.pruned = True
        held = [[{side.entries[e].name for e in each.entries} for each in side.types] for side in self._sides]
        scores: dict[tuple[int, int], float] = {}
        for (one, other), similarity in self.type_names.items():
            first, second = held[0][one], held[1][other]
            scores[one, other] = similarity + len(first & second) / (len(first | second) or 1)
        chosen = {(self.source.entries[a].owner, self.target.entries[b].owner) for a, b in self.drawn}
        for end, size in enumerate(sizes):
            ranked: list[list[tuple[float, tuple[int, int]]]] = [[] for _ in range(size)]
            for pair, score in scores.items():
                ranked[pair[end]].append((score, pair))
            for pairs in ranked:
                chosen.update(pair for _, pair in sorted(pairs, reverse=True)[:most])
        return sorted(chosen)

    @property
    def _sides(self) -> tuple[Outline, Outline]:
        return self.source, self.target

    def _pairs(self) -> Iterable[tuple[int, int]]:
        for one, other in self.alike:
            for first in self.source.types[one].entries:
                for second in self.target.types[other].entries:
                    yield first, second

    # -- evidence that stays -----------------------------------------------------------------------------------------

    def _first(self, first: int, second: int) -> Evidence | None:
        """What speaks for a pair whatever is around it; ``None`` where no arrow can be."""
        one, other = self.source.entries[first], self.target.entries[second]
        types = self._types(one, other)
        if types is None:
            return None
        owners = self.source.types[one.owner].name, self.target.types[other.owner].name
        similarity = self.names.with_owners(one.name, owners[0], other.name, owners[1])
        found = Evidence(names_weight(similarity), types, self._values(first, second))
        if (first, second) in self.drawn:
            return replace(found, drawn=max(0.0, _SURE - found.total))
        return None if self.pruned and found.total < PRIOR else found

    def _types(self, one: Entry, other: Entry) -> float | None:
        if one.copies or other.copies:
            return 1.5 if one.copies and other.copies and self._same_content(one, other) else None
        repeated = -0.5 if one.repeats != other.repeats else 0.0
        return types_weight(one.type, other.type) + repeated

    def _same_content(self, one: Entry, other: Entry) -> bool:
        return content_difference(self.source.tree.graph, one.element, self.target.tree.graph, other.element) is None

    def _values(self, first: int, second: int) -> float:
        share, both, least = self.samples.overlap(first, second)
        alike, trust, _ = self.samples.likeness(first, second)
        if not trust:
            return 0.0
        few = 0.5 if self.source.entries[first].values or self.target.entries[second].values else 2.0
        shared = 5.0 * sqrt(share) * both / (both + few) * least / (least + few)
        again = self.samples.distinctness(first, second)
        looks = (2.6 * alike - 1.8 + 0.8 * (again - 0.75)) * trust
        return shared + (max(looks, 0.0) if shared > 1 else looks)

    # -- evidence that spreads ---------------------------------------------------------------------------------------

    def _spread(self) -> None:
        partners = relative({pair: found.total for pair, found in self.evidence.items()}, self.drawn)
        rows: dict[int, dict[int, float]] = {}
        for (first, second), share in partners.items():
            if share >= _LEAST:
                rows.setdefault(first, {})[second] = share
        before = self.alike
        self.alike = {(one, other): self._alike(one, other, rows, before) for one, other in before}
        shares = _shares(self.alike)
        self.evidence = {
            (first, second): replace(found, structure=self._around(first, second, shares))
            for (first, second), found in self.evidence.items()
        }
        self.shares = shares

    def _alike(
        self, one: int, other: int, rows: Mapping[int, Mapping[int, float]], before: Mapping[tuple[int, int], float]
    ) -> float:
        """How alike two types are: their names, what they hold, and the types below them."""
        parts = [(0.25, self.type_names[one, other])]
        groups = self.source.groups[one], self.target.groups[other]
        if groups[0] and groups[1]:
            parts.append((0.6, _covered(*groups, rows)))
        elif groups[0] or groups[1]:
            parts.append((0.3, 0.0))
        below = self.source.types[one].children, self.target.types[other].children
        if below[0] and below[1]:
            parts.append((0.15, _matched(below[0], below[1], before)))
        elif bool(below[0]) != bool(below[1]):
            parts.append((0.05, 0.0))
        return sum(weight * part for weight, part in parts) / sum(weight for weight, _ in parts)

    def _around(self, first: int, second: int, shares: Mapping[tuple[int, int], float]) -> float:
        owners = self.source.entries[first].owner, self.target.entries[second].owner
        near = shares.get(owners, 0.0)
        wide = max(
            (
                shares.get((one, other), 0.0)
                for one in self.source.holders[first]
                for other in self.target.holders[second]
            ),
            default=0.0,
        )
        return structure_weight((near + wide) / 2)


def names_weight(similarity: float) -> float:
    return -1.2 + 5.4 * similarity * sqrt(similarity)


def structure_weight(share: float) -> float:
    return 4.0 * share - 0.8


def types_weight(one: str, other: str) -> float:
    """What two types of leaves say, by their names in a DTD; ``text`` and ``tag`` besides."""
    pair = {one, other}
    if pair <= REFERENCES:
        return 0.8 if len(pair) == 1 else -0.3
    if pair == {"ID"}:
        return 1.2
    if "ID" in pair:
        return -2.0 if pair & REFERENCES else -0.8
    if pair & REFERENCES:
        return -0.8
    if pair == {"tag"}:
        return 1.0
    if "tag" in pair:
        return 0.0
    if pair & LISTS and len(pair) > 1:
        return -0.5
    return 0.2 if len(pair) == 1 else 0.0


def _covered(one: Iterable[int], other: tuple[int, ...], rows: Mapping[int, Mapping[int, float]]) -> float:
    """How much of what two types hold has a partner in the other: of both together, and of the smaller one."""
    inside = frozenset(other)
    first: list[float] = []
    best: dict[int, float] = {}
    for entry in one:
        row = rows.get(entry, {})
        here = 0.0
        for partner, share in row.items():
            if partner in inside:
                here = max(here, share)
                best[partner] = max(best.get(partner, 0.0), share)
        first.append(here)
    sums = sum(sorted(first)), sum(sorted(best.values()))
    sizes = len(first), len(other)
    dice = (sums[0] + sums[1]) / (sizes[0] + sizes[1])
    contained = min(sums) / min(sizes)
    return (dice + contained) / 2


def _matched(one: Iterable[int], other: Iterable[int], alike: Mapping[tuple[int, int], float]) -> float:
    others = tuple(other)
    best = [max(alike.get((a, b), 0.0) for b in others) for a in one]
    other_best: list[float] = [max(alike.get((a, b), 0.0) for a in one) for b in others]
    return sum(sorted((*best, *other_best))) / (len(best) + len(other_best))

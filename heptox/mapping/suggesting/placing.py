"""From pairs of types to pairs of paths: of all places of alike leaves, those whose ways agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Final

from heptox.mapping.suggesting.choosing import Choice
from heptox.mapping.suggesting.comparing import Comparison, relative
from heptox.mapping.suggesting.outline import Outline
from heptox.schema import Path

_PARTNERS: Final = 6
"""With how many others an entry is tried; more where they are equally good."""

_LEAST_TOTAL: Final = -2.0
_MOST_PLACES: Final = 300
"""How many pairs of places of two types are all compared; of more, only those whose ways look alike."""

_LIKELY: Final = 0.4
"""How likely entries with very many places must be to be looked for there."""

_NEAR_PLACES: Final = 2
_SUFFIXES: Final = (3, 2, 1, 0)
_ABOVE: Final = 0.45
"""How much the way above counts against the node itself."""

_WEIGHT: Final = 1.5
_MIDDLE: Final = 0.4


class Placing:
    """Pairs of paths with their scores: of nodes that can be copied whole, or of all others.

    ``drawn`` are the owners of the ends of arrows that are drawn: these places surely correspond. What lies in a
    subtree that ``choice`` copies already is left out.
    """

    def __init__(
        self, comparison: Comparison, drawn: frozenset[tuple[Path, Path]], choice: Choice, *, copies: bool
    ) -> None:
        self.comparison, self.drawn, self.copies = comparison, drawn, copies
        self.places = tuple(
            [[place for place in each.places if not choice.covers(side, place)] for each in outline.types]
            for side, outline in enumerate((comparison.source, comparison.target))
        )
        self.source, self.target = comparison.source, comparison.target
        self._rooted: tuple[dict[Path, bool], dict[Path, bool]] = ({}, {})
        self._ways: dict[tuple[Path, Path], float] = {}
        self._indexes: tuple[dict[tuple[int, ...], list[Path]], ...] | None = None
        self._images = (_best_partners(comparison.shares, 0), _best_partners(comparison.shares, 1))

    def scores(self) -> dict[tuple[Path, Path], tuple[float, tuple[int, int]]]:
        """For pairs of absolute paths the weight of all evidence, and the entries that they are places of."""
        likely = relative(
            {pair: found.total for pair, found in self.comparison.evidence.items()}, self.comparison.drawn
        )
        by_types: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for first, second in self._chosen():
            owners = self.source.entries[first].owner, self.target.entries[second].owner
            by_types.setdefault(owners, []).append((first, second))
        found: dict[tuple[Path, Path], tuple[float, tuple[int, int]]] = {}
        for (one, other), every in by_types.items():
            pairs = every
            if self._are_many(one, other):
                pairs = [pair for pair in every if likely[pair] >= _LIKELY]
                if not pairs:
                    continue
            for here, there in self._places(one, other):
                way = _WEIGHT * (self.way(here, there) - _MIDDLE)
                for first, second in pairs:
                    if self._is_owned_by_root(1, second, there) and not self._is_owned_by_root(0, first, here):
                        continue  # it stands once, and does not take what repeats (HX4013)
                    ends = _end(self.source, first, here), _end(self.target, second, there)
                    found[ends] = self.comparison.evidence[first, second].total + way, (first, second)
        return found

    def _is_owned_by_root(self, side: int, entry: int, place: Path) -> bool:
        known = self._rooted[side]
        if place not in known:
            known[place] = not (self.source, self.target)[side].tree.stop(place)
        return known[place] and not (self.source, self.target)[side].entries[entry].repeats

    def _chosen(self) -> Iterator[tuple[int, int]]:
        """The pairs of entries of which one end has few better partners."""
        totals = {
            pair: found.total
            for pair, found in self.comparison.evidence.items()
            if found.total > _LEAST_TOTAL and self.source.entries[pair[0]].copies == self.copies
        }
        limits: list[dict[int, float]] = []
        for end in (0, 1):
            ranked: dict[int, list[float]] = {}
            for pair, total in totals.items():
                ranked.setdefault(pair[end], []).append(total)
            limits.append({entry: sorted(each)[-_PARTNERS:][0] for entry, each in ranked.items()})
        for pair, total in totals.items():
            if total >= limits[0][pair[0]] or total >= limits[1][pair[1]]:
                yield pair

    # -- ways from the root ------------------------------------------------------------------------------------------

    def way(self, here: Path, there: Path) -> float:
        """How well the ways to two inner nodes agree, from 0 to 1; levels that only one of them has are passed over."""
        pair = here, there
        known = self._ways.get(pair)
        if known is None:
            known = self._ways[pair] = 1.0 if pair in self.drawn else self._way(here, there)
        return known

    def _way(self, here: Path, there: Path) -> float:
        alike = self._share(here, there)
        if not here and not there:
            return 0.5 + alike / 2
        if not here or not there:
            return (1 - _ABOVE) * alike + 0.8 * _ABOVE * self.way(here[:-1], there[:-1])
        both, left, right = (here[:-1], there[:-1]), (here[:-1], there), (here, there[:-1])
        shares = self._share(*both), self._share(*left), self._share(*right)
        if shares[1] > max(shares[0], shares[2]):
            above = 0.9 * self.way(*left)
        elif shares[2] > max(shares[0], shares[1]):
            above = 0.9 * self.way(*right)
        else:
            above = self.way(*both)
        return (1 - _ABOVE) * alike + _ABOVE * above

    def _share(self, here: Path, there: Path) -> float:
        return self.comparison.shares.get((self.source.type_at(here), self.target.type_at(there)), 0.0)

    # -- which places are compared -----------------------------------------------------------------------------------

    def _are_many(self, one: int, other: int) -> bool:
        return len(self.places[0][one]) * len(self.places[1][other]) > _MOST_PLACES

    def _places(self, one: int, other: int) -> Iterable[tuple[Path, Path]]:
        places = self.places[0][one], self.places[1][other]
        if not self._are_many(one, other):
            return product(*places)
        if self._indexes is None:
            self._indexes = _index(self.source, self.places[0]), _index(self.target, self.places[1])
        found: dict[tuple[Path, Path], None] = {}
        for here in places[0]:
            for there in self._near(here, self.source, self._images[0], self._indexes[1], other):
                found[here, there] = None
        for there in places[1]:
            for here in self._near(there, self.target, self._images[1], self._indexes[0], one):
                found[here, there] = None
        return found

    def _near(
        self, path: Path, side: Outline, images: dict[int, int], index: dict[tuple[int, ...], list[Path]], other: int
    ) -> list[Path]:
        """The places of a type of the other side that a way leads to by the partners of the types on it."""
        way = tuple(images.get(number, -1) for number in side.way(path)[:-1])
        for key in ((other, -2, *way), *((other, *way[max(0, len(way) - length) :]) for length in _SUFFIXES)):
            if key in index:
                return index[key][:_NEAR_PLACES]
        return []


def _end(side: Outline, entry: int, place: Path) -> Path:
    owned = side.entries[entry]
    return place if owned.type == "tag" else (*place, owned.step)


def _best_partners(shares: dict[tuple[int, int], float], end: int) -> dict[int, int]:
    best: dict[int, tuple[float, int]] = {}
    for pair, share in shares.items():
        best[pair[end]] = max(best.get(pair[end], (0.0, -1)), (share, pair[1 - end]))
    return {number: partner for number, (_, partner) in best.items()}


def _index(side: Outline, places: Sequence[Sequence[Path]]) -> dict[tuple[int, ...], list[Path]]:
    """The places of a side by their type and the types above: all of them, marked by -2, or the last few."""
    found: dict[tuple[int, ...], list[Path]] = {}
    for number, each in enumerate(places):
        for place in sorted(each, key=lambda path: (len(path), path)):
            way = side.way(place)[:-1]
            keys = {(number, -2, *way), *((number, *way[max(0, len(way) - length) :]) for length in _SUFFIXES)}
            for key in keys:
                found.setdefault(key, []).append(place)
    return found

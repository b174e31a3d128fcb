"""Keys, and references to them, among the leaves of documents: unique values, and inclusions of values.

Both are looked for within one document at a time, as identifiers are. A key needs values that could have collided; a
reference needs several different values that are no small numbers, for these are everywhere among others. Values of
each leaf are held for one document only: of all documents, what is kept of a leaf that may refer is the sets of
keys that one of its values was found in (De Marchi, Lopes, Petit, *Unary and n-ary inclusion dependency discovery in
relational databases*, JIIS 32 (2009), with keys in the place of all attributes).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from heptox.schema.inference.model import Key, Leaf, Reference
from heptox.schema.inference.values import is_name

LEAST_COMPARED: Final = 5
"""How many values of a key have to differ from an earlier one of their document."""

LEAST_REFERRING: Final = 3
"""How many different values of a reference there have to be."""

_LONGEST: Final = 200
_SMALL_DIGITS: Final = 2


@dataclass(slots=True)
class _LeafStatistics:
    """What all documents say about a leaf."""

    values: int = 0
    different: int = 0
    documents: int = 0
    is_key: bool = True
    is_reference: bool = True
    is_list: bool = False
    names: bool = True
    small: bool = True
    found_in: set[frozenset[Leaf]] = field(default_factory=set)


@dataclass(slots=True)
class LeavesOfDocument:
    """The values of a document by their leaves, and how many elements of each type it has."""

    values: dict[Leaf, list[str]] = field(default_factory=dict)
    elements: Counter[str] = field(default_factory=Counter)
    repeated: set[Leaf] = field(default_factory=set)


@dataclass(slots=True)
class Leaves:
    """The leaves of all documents.

    >>> leaves, document = Leaves(), LeavesOfDocument()
    >>> document.elements.update(a=9, b=4)
    >>> document.values = {Leaf("a", "@k"): list("pqrstuvwx"), Leaf("b", "@r"): list("prrs")}
    >>> leaves.add(document)
    >>> [key.leaf.step for key in leaves.keys()], [reference.target for reference in leaves.references(leaves.keys())]
    (['@k'], [Leaf(element='a', step='@k')])
    """

    elements: Counter[str] = field(default_factory=Counter)
    _leaves: dict[Leaf, _LeafStatistics] = field(default_factory=dict)
    _collisions: set[tuple[Leaf, Leaf]] = field(default_factory=set)

    def add(self, document: LeavesOfDocument) -> None:
        """Take the leaves of a document into account."""
        self.elements.update(document.elements)
        holders: dict[str, list[Leaf]] = {}
        for leaf, values in document.values.items():
            for value in self._added(leaf, values, document):
                holders.setdefault(value, []).append(leaf)
        found = {value: frozenset(leaves) for value, leaves in holders.items()}
        for leaves in {leaves for leaves in found.values() if len(leaves) > 1}:
            attributes = sorted(leaf for leaf in leaves if leaf.is_attribute)
            self._collisions.update((one, other) for one in attributes for other in attributes if one < other)
        for leaf, values in document.values.items():
            _look_up(self._leaves[leaf], leaf, values, found)

    def _added(self, leaf: Leaf, values: list[str], document: LeavesOfDocument) -> Iterable[str]:
        """The values of a leaf, if it may still be a key."""
        statistics = self._leaves.setdefault(leaf, _LeafStatistics())
        statistics.values += len(values)
        statistics.documents += 1
        different = set(values)
        statistics.different += len(different)
        if not statistics.is_key:
            return ()
        statistics.is_key = (
            len(different) == len(values) and leaf not in document.repeated and all(map(_is_identifying, different))
        )
        statistics.names = statistics.is_key and statistics.names and all(map(is_name, different))
        return different if statistics.is_key else ()

    def known(self) -> frozenset[Leaf]:
        """All leaves that documents have."""
        return frozenset(self._leaves)

    def keys(self) -> tuple[Key, ...]:
        """The leaves that are keys, as far as there is evidence: many values, which are there in all elements, or
        leaves
        that refer to them and to no other. Those that refer to another key are none, unless others refer to them."""
        unique = {leaf: found for leaf, found in sorted(self._leaves.items()) if found.is_key}
        strong = frozenset(leaf for leaf, found in unique.items() if self._is_strong(leaf, found))
        sets = [one for _, found in self._referring() if not found.is_key for one in found.found_in]
        needed = {leaf for one in sets if not one & strong for leaf in one if leaf.is_attribute}
        found = {
            leaf: Key(leaf, statistics.values, self.elements[leaf.element], statistics.documents)
            for leaf, statistics in unique.items()
            if leaf in strong or (leaf in needed and statistics.values > statistics.documents)
        }
        referring = {one.leaf for one in self.references(found.values())}
        own = found.keys() - referring
        wanted = {leaf for one in sets if not one & own for leaf in one & strong}
        return tuple(key for leaf, key in found.items() if leaf not in referring or leaf in wanted)

    def _is_strong(self, leaf: Leaf, found: _LeafStatistics) -> bool:
        """Whether a leaf with different values is a key, whatever refers to it."""
        return found.values == self.elements[leaf.element] and found.values - found.documents >= LEAST_COMPARED

    def references(self, keys: Iterable[Key]) -> tuple[Reference, ...]:
        """The leaves that refer to one of the keys: to that of the fewest values, where there are several."""
        sizes = {key.leaf: key.values for key in keys}
        found = []
        for leaf, statistics in self._referring():
            if statistics.is_list:
                continue
            targets = frozenset.intersection(*statistics.found_in) & sizes.keys()
            if targets:
                target = min(targets, key=lambda one: (sizes[one], one))
                found.append(Reference(leaf, target, statistics.values, statistics.different))
        return tuple(found)

    def identifiers(self, keys: Iterable[Key]) -> frozenset[Leaf]:
        """The attributes that can be the ``ID`` of a DTD together: keys whose values are names, one of each element
        type
        at most, no value of one among those of another. Those to which most refers are taken first."""
        wanted: Counter[Leaf] = Counter()
        for _, statistics in self._referring():
            wanted.update({leaf for leaves in statistics.found_in for leaf in leaves})
        candidates = [key for key in keys if key.leaf.is_attribute and self._leaves[key.leaf].names]
        candidates.sort(key=lambda key: (-wanted[key.leaf], -key.values, key.leaf))
        chosen: dict[str, Leaf] = {}
        for key in candidates:
            leaf = key.leaf
            apart = all((min(leaf, one), max(leaf, one)) not in self._collisions for one in chosen.values())
            if leaf.element not in chosen and apart:
                chosen[leaf.element] = leaf
        return frozenset(chosen.values())

    def references_to(self, identifiers: frozenset[Leaf]) -> Iterator[Reference]:
        """The attributes whose values, or the names in them, are all identifiers."""
        for leaf, statistics in self._referring():
            if leaf.is_attribute and leaf not in identifiers and all(one & identifiers for one in statistics.found_in):
                common = frozenset.intersection(*statistics.found_in) & identifiers
                target = min(common, default=None)
                yield Reference(leaf, target, statistics.values, statistics.different, statistics.is_list)

    def _referring(self) -> Iterator[tuple[Leaf, _LeafStatistics]]:
        for leaf, found in sorted(self._leaves.items()):
            if found.is_reference and found.found_in and not found.small and found.different >= LEAST_REFERRING:
                yield leaf, found


_FRACTION: Final = re.compile(r"[+-]?[0-9]*[.,][0-9]+")


def _is_identifying(value: str) -> bool:
    """Whether a value may be that of a key: measures are not, and neither are texts of several words."""
    return 0 < len(value) <= _LONGEST and not any(map(str.isspace, value)) and not _FRACTION.fullmatch(value)


def _look_up(statistics: _LeafStatistics, leaf: Leaf, values: list[str], found: Mapping[str, frozenset[Leaf]]) -> None:
    """Look in which keys the values of a leaf are found; none of it is a reference when one is found in none."""
    if not statistics.is_reference:
        return
    for value in dict.fromkeys(values):
        tokens = value.split()
        statistics.is_list = statistics.is_list or len(tokens) > 1
        for token in tokens:
            holders = found.get(token, frozenset()) - {leaf}
            if not holders:
                statistics.is_reference = False
                statistics.found_in.clear()
                return
            statistics.found_in.add(holders)
            statistics.small = statistics.small and token.isdigit() and len(token) <= _SMALL_DIGITS
        if not tokens or (len(tokens) == 1 and tokens[0] != value):
            statistics.is_reference = False
            statistics.found_in.clear()
            return

"""An inverted index from labels to very many sets of paths: which of them may a path cover? (``routing.md``, The index)

A path that covers another has its labels there, each at least as often, and at the same depth where the depth is exact.
Whoever shares all labels of a path is a candidate, to be decided by covering. The posting list of a label is an integer
with a bit for each set of paths, so very many are intersected at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from typing import Final, Generic, TypeAlias, TypeVar

from heptox.dissemination.linear_path import LinearPath
from heptox.dissemination.routing.path_homomorphism import gap_form, placeable

Item = TypeVar("Item", bound=Hashable)

_Trait: TypeAlias = tuple[str, str, int]
"""``often``, a label and how often it is there at least; ``deep``, a label and the exact depth at which it is."""

_WORD_BYTES: Final = 8


class LabelIndex(Generic[Item]):
    """Items with paths, at least one each.

    >>> from heptox.dissemination.linear_path import Step
    >>> index = LabelIndex[str]()
    >>> index.add("both", [LinearPath((Step("/", "a"), Step("/", "b"), Step("//", "c")))])
    >>> index.add("one", [LinearPath((Step("//", "b"),))])
    >>> list(index.candidates([LinearPath((Step("//", "c"),))]))
    ['both']
    """

    def __init__(self) -> None:
        self._items: list[Item | None] = []
        self._numbers: dict[Item, int] = {}
        self._traits: dict[Item, frozenset[_Trait]] = {}
        self._free: list[int] = []
        self._postings: dict[_Trait, int] = {}
        self._all = 0

    def add(self, item: Item, paths: Iterable[LinearPath]) -> None:
        """Keep an item that is not kept."""
        traits = frozenset(trait for path in paths for trait in _traits(path, widened=True))
        if self._free:
            number = self._free.pop()
            self._items[number] = item
        else:
            number = len(self._items)
            self._items.append(item)
        self._numbers[item], self._traits[item] = number, traits
        bit = 1 << number
        self._all |= bit
        for trait in traits:
            self._postings[trait] = self._postings.get(trait, 0) | bit

    def remove(self, item: Item) -> None:
        """Keep it no longer. Raises ``KeyError``."""
        number = self._numbers.pop(item)
        bit = 1 << number
        self._all ^= bit
        for trait in self._traits.pop(item):
            self._postings[trait] ^= bit
            if not self._postings[trait]:
                del self._postings[trait]
        self._items[number] = None
        self._free.append(number)

    def candidates(self, paths: Iterable[LinearPath]) -> Iterator[Item]:
        """The items that have what all these paths ask: among them are those, in each of which each of these paths
        covers one of the paths.
        """
        found = self._all
        for trait in {trait for path in paths for trait in _traits(path, widened=False)}:
            found &= self._postings.get(trait, 0)
            if not found:
                return
        for number in _numbers(found):
            item = self._items[number]
            if item is not None:
                yield item


def _traits(path: LinearPath, *, widened: bool) -> Iterator[_Trait]:
    """What a path asks of one that it covers; ``widened`` to all that may be asked of it."""
    counted: Counter[str] = Counter()
    depth, anchored = 0, True
    for gap, exact, label in gap_form(path).labels:
        depth += gap + 1
        anchored = anchored and exact
        for test in placeable(label) if widened else (label,):
            counted[test] += 1
            yield "often", test, counted[test]
            if anchored:
                yield "deep", test, depth


def _numbers(bits: int) -> Iterator[int]:
    """The numbers of the bits that are set, ascending; word by word, for a change of one bit copies them all."""
    size = -(-bits.bit_length() // (8 * _WORD_BYTES)) * _WORD_BYTES
    for place, word in enumerate(memoryview(bits.to_bytes(size, "little")).cast("Q")):
        while word:
            lowest = word & -word
            yield place * 8 * _WORD_BYTES + lowest.bit_length() - 1
            word ^= lowest

"""An inverted index from labels to very many sets of paths: which of them may a path cover? (``routing.md``, The index)

A path that covers another has its labels there, each at least as often, and at the same depth where the depth is exact.
A pattern that shares all labels of a path is a candidate, to be decided by covering. The posting list of a label is an
integer with a bit for each set of paths, so very many are intersected at once.

Discriminators by constants are too many for that: by each, the few items that have it are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator
from typing import Final, Generic, TypeAlias, TypeVar

from heptox.matching import LinearPath
from heptox.routing.discriminators import NOTHING, Discriminator, Evidence, Kind
from heptox.routing.path_homomorphism import gap_form, placeable

Item = TypeVar("Item", bound=Hashable)

_Trait: TypeAlias = tuple[str, str, int]
"""``often``, a label and how often it is there at least; ``deep``, a label and the exact depth at which it is."""

_Posting: TypeAlias = int | tuple[int, ...]
"""The numbers of the items that have a trait: a bit for each, or while they are few, themselves."""

_FEW: Final = 16
"""How many numbers stand for themselves: a bit of one alone is as long as all before it."""

_WORD_BYTES: Final = 8


class LabelIndex(Generic[Item]):
    """Items with paths, at least one each.

    >>> from heptox.matching.linear_path import Step
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
        self._evidence: dict[Item, Evidence] = {}
        self._having: dict[Discriminator, dict[Item, None]] = {}
        self._open: dict[Kind, dict[Item, None]] = {}
        self._free: list[int] = []
        self._postings: dict[_Trait, _Posting] = {}
        self._all = 0

    def add(self, item: Item, paths: Iterable[LinearPath], evidence: Evidence = NOTHING) -> None:
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
            posting = self._postings.get(trait, ())
            if isinstance(posting, tuple) and len(posting) < _FEW:
                self._postings[trait] = (*posting, number)
            else:
                self._postings[trait] = _bits(posting) | bit
        self._add_evidence(item, evidence)

    def _add_evidence(self, item: Item, evidence: Evidence) -> None:
        """Keep what distinguishes constants; names are among the labels."""
        constants = frozenset(each for each in evidence.found if each.kind != "name")
        if constants or evidence.open:
            self._evidence[item] = Evidence(constants, evidence.open)
        for each in constants:
            self._having.setdefault(each, {})[item] = None
        for kind in evidence.open:
            self._open.setdefault(kind, {})[item] = None

    def remove(self, item: Item) -> None:
        """Keep it no longer. Raises ``KeyError``."""
        number = self._numbers.pop(item)
        bit = 1 << number
        self._all ^= bit
        for trait in self._traits.pop(item):
            posting = self._postings[trait]
            left = tuple(each for each in posting if each != number) if isinstance(posting, tuple) else posting ^ bit
            if left:
                self._postings[trait] = left
            else:
                del self._postings[trait]
        self._items[number] = None
        self._free.append(number)
        self._remove_evidence(item)

    def _remove_evidence(self, item: Item) -> None:
        evidence = self._evidence.pop(item, NOTHING)
        for each in evidence.found:
            del self._having[each][item]
            if not self._having[each]:
                del self._having[each]
        for kind in evidence.open:
            del self._open[kind][item]

    def candidates(self, paths: Iterable[LinearPath], discriminators: Collection[Discriminator] = ()) -> Iterator[Item]:
        """The items that have what all these paths ask: among them are those, in each of which each of these paths
        covers one of the paths. Only those of which the evidence has all ``discriminators``, names aside.
        """
        traits = {trait for path in paths for trait in _traits(path, widened=False)}
        found = self._all
        for trait in traits:
            found &= _bits(self._postings.get(trait, 0))
            if not found:
                return
        constants = [each for each in discriminators if each.kind != "name"]
        if not constants:
            yield from self._numbered(found)
            return
        rarest = min(constants, key=self._count)
        few = self._count(rarest) < found.bit_count()
        for item in self._having_one(rarest) if few else self._numbered(found):
            evidence = self._evidence.get(item, NOTHING)
            if all(map(evidence.has, constants)) and (not few or traits <= self._traits[item]):
                yield item

    def _count(self, discriminator: Discriminator) -> int:
        """How many items have a discriminator, at most."""
        return len(self._having.get(discriminator, ())) + len(self._open.get(discriminator.kind, ()))

    def _having_one(self, discriminator: Discriminator) -> Iterator[Item]:
        having = self._having.get(discriminator, {})
        yield from having
        yield from (item for item in self._open.get(discriminator.kind, ()) if item not in having)

    def _numbered(self, found: int) -> Iterator[Item]:
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


def _bits(posting: _Posting) -> int:
    return posting if isinstance(posting, int) else sum(1 << number for number in posting)


def _numbers(bits: int) -> Iterator[int]:
    """The numbers of the bits that are set, ascending; word by word, for a change of one bit copies them all."""
    size = -(-bits.bit_length() // (8 * _WORD_BYTES)) * _WORD_BYTES
    for place, word in enumerate(memoryview(bits.to_bytes(size, "little")).cast("Q")):
        while word:
            lowest = word & -word
            yield place * 8 * _WORD_BYTES + lowest.bit_length() - 1
            word ^= lowest

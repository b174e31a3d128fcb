"""A trie of very many linear paths that finds those that cover another (``routing.md``, The index).

The paths are kept by their labels and gaps. The trie is walked with the set of places, in the path that is to be
covered, on which the last label so far can lie: that is the homomorphism of
:func:`~heptox.routing.path_homomorphism.covers_any_document`, looked for in all paths at once.

Very many patterns may be kept under one path. They are distinguished by their discriminators.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from sys import maxsize
from typing import Final, Generic, TypeAlias, TypeVar

from heptox.matching import LinearPath
from heptox.pattern import is_leaf_test
from heptox.routing.discriminators import NOTHING, Discriminator, Evidence, Kind
from heptox.routing.path_homomorphism import GapForm, Labelled, gap_form, placeable

Item = TypeVar("Item")
_Of = TypeVar("_Of")

_Places: TypeAlias = int
"""A set of places: bit 0 is the document node, bit ``n`` the ``n``-th label."""

_DOCUMENT: Final[_Places] = 1

_Key: TypeAlias = tuple[int, bool, str]
"""A gap, whether it is exact, and the label behind it: a :class:`Labelled` equals it."""

_Moves: TypeAlias = dict[_Key, _Places]


_Bucket: TypeAlias = dict[Discriminator, dict[Item, None]]
"""Items by one discriminator of each; all are of one kind."""


class _Node(Generic[Item]):
    """A prefix of labels and gaps. ``fewest`` bounds from below how many labels the paths have that begin with it."""

    __slots__ = ("apart", "children", "ends", "fewest")

    def __init__(self) -> None:
        self.children: dict[_Key, _Node[Item]] = {}
        self.ends: dict[int, dict[Item, None]] = {}
        """What ends here, by the trailing gap."""
        self.apart: dict[tuple[int, Kind], _Bucket[Item]] | None = None
        """What ends here and has discriminators; mostly nothing."""
        self.fewest = maxsize

    def add(self, trailing: int, item: Item, discriminators: Sequence[Discriminator]) -> Discriminator | None:
        """Keep what ends here under the discriminator that the fewest others are kept under."""
        if not discriminators:
            self.ends.setdefault(trailing, {})[item] = None
            return None
        if self.apart is None:
            self.apart = {}
        apart = self.apart
        chosen = min(discriminators, key=lambda each: len(apart.get((trailing, each.kind), {}).get(each, ())))
        apart.setdefault((trailing, chosen.kind), {}).setdefault(chosen, {})[item] = None
        return chosen

    def remove(self, trailing: int, item: Item, chosen: Discriminator | None) -> None:
        if chosen is None:
            _remove(self.ends, trailing, item)
            return
        if self.apart is None:
            raise KeyError(chosen)
        bucket = self.apart[trailing, chosen.kind]
        _remove(bucket, chosen, item)
        if not bucket:
            del self.apart[trailing, chosen.kind]
            self.apart = self.apart or None

    def items(self, room: int, evidence: Evidence) -> Iterator[Item]:
        """What ends here with at most so many elements behind."""
        for trailing, items in self.ends.items():
            if trailing <= room:
                yield from items
        for (trailing, kind), bucket in (self.apart or {}).items():
            if trailing <= room:
                for key in bucket if kind in evidence.open else bucket.keys() & evidence.found:
                    yield from bucket[key]


def _remove(items: dict[_Of, dict[Item, None]], key: _Of, item: Item) -> None:
    del items[key][item]
    if not items[key]:
        del items[key]


class CoverTrie(Generic[Item]):
    """Linear paths, each with the items that it stands for; an item may have several paths.

    >>> from heptox.matching.linear_path import Step
    >>> trie = CoverTrie[int]()
    >>> trie.add(LinearPath((Step("/", "a"), Step("/", "*"))), 1)
    >>> trie.add(LinearPath((Step("//", "b"),)), 2)
    >>> sorted(trie.covering(LinearPath((Step("/", "a"), Step("/", "b")))))
    [1, 2]
    """

    def __init__(self) -> None:
        self._root: _Node[Item] = _Node()
        self.discriminates = False
        """Whether anything was ever kept under a discriminator."""

    def add(self, path: LinearPath, item: Item, discriminators: Sequence[Discriminator] = ()) -> Discriminator | None:
        """Keep an item under a path, and under one of its discriminators, if it has any: the one that is returned."""
        form = gap_form(path)
        labels = len(form.labels)
        self.discriminates = self.discriminates or bool(discriminators)
        node = self._root
        node.fewest = min(node.fewest, labels)
        for key in form.labels:
            child = node.children.get(key)
            if child is None:
                child = node.children[key] = _Node()
            child.fewest = min(child.fewest, labels)
            node = child
        return node.add(form.trailing, item, discriminators)

    def remove(self, path: LinearPath, item: Item, chosen: Discriminator | None = None) -> None:
        """Keep it no longer under a path and what :meth:`add` returned. Raises ``KeyError`` where it is not."""
        form = gap_form(path)
        way: list[tuple[_Node[Item], Labelled]] = []
        node = self._root
        for key in form.labels:
            way.append((node, key))
            node = node.children[key]
        node.remove(form.trailing, item, chosen)
        for above, key in reversed(way):
            if node.children or node.ends or node.apart:
                break
            del above.children[key]
            node = above

    def covering(self, path: LinearPath, evidence: Evidence = NOTHING) -> Iterator[Item]:
        """The items with a path that covers this one over any document, once for each such path.

        What is kept under a discriminator only where the ``evidence`` has it.
        """
        form = gap_form(path)
        labels = len(form.labels)
        if labels < self._root.fewest:
            return
        image = _Image(form, labels - self._root.fewest)
        waiting = [(self._root, _DOCUMENT, 0)]
        while waiting:
            node, places, length = waiting.pop()
            if node.ends or node.apart:
                yield from node.items(image.room(places), evidence)
            if not node.children:
                continue
            moves = image.moves(places)
            for key in node.children.keys() & moves.keys():
                child, reached = node.children[key], moves[key]
                skipped = (reached & -reached).bit_length() - 2 - length
                if child.fewest + skipped <= labels:
                    waiting.append((child, reached, length + 1))


class _Image:
    """A path on which others are placed: each label at its least depth, and how many gaps before it are open.

    Labels with equally many open gaps before them are at exact distances. No path is placed on it that passes over more
    than ``spare`` of its labels.
    """

    __slots__ = ("_elements", "_moves", "_opened", "_places", "_spare")

    def __init__(self, form: GapForm, spare: int) -> None:
        self._spare = spare
        self._places: list[tuple[int, int, tuple[str, ...]]] = [(0, 0, ())]
        depth = opened = 0
        for gap, exact, label in form.labels:
            depth += gap + 1
            opened += not exact
            self._places.append((depth, opened, placeable(label)))
        in_leaf = bool(form.labels) and is_leaf_test(form.labels[-1].label)
        self._elements = depth - in_leaf + form.trailing
        self._moves: dict[_Places, _Moves] = {}
        self._opened: dict[int, _Moves] = {}

    def room(self, places: _Places) -> int:
        """How many elements there surely are below the first of some places."""
        return max(0, self._elements - self._places[_first(places)][0])

    def moves(self, places: _Places) -> _Moves:
        """Where a label behind a gap can lie, from places where the label before it can."""
        found = self._moves.get(places)
        if found is None:
            found = self._moves[places] = self._open(_first(places)).copy()
            for number in range(_first(places), places.bit_length()):
                if places >> number & 1:
                    self._exact(number, found)
        return found

    def _open(self, first: int) -> _Moves:
        found = self._opened.get(first)
        if found is None:
            found = self._opened[first] = {}
            above = self._places[first][0]
            for number in self._after(first):
                depth, _, tests = self._places[number]
                for test in tests:
                    for gap in range(depth - above):
                        key = gap, False, test
                        found[key] = found.get(key, 0) | 1 << number
        return found

    def _exact(self, number: int, found: _Moves) -> None:
        above, opened, _ = self._places[number]
        for further in self._after(number):
            depth, others, tests = self._places[further]
            if others != opened:
                break
            for test in tests:
                key = depth - above - 1, True, test
                found[key] = found.get(key, 0) | 1 << further

    def _after(self, number: int) -> range:
        return range(number + 1, min(len(self._places), number + self._spare + 2))


def _first(places: _Places) -> int:
    return (places & -places).bit_length() - 1

"""Covering over advertised documents, siblings included: the search for a valid document (``routing.md``, (c)).

A document is a counterexample where the special path leads to a node of it and the general one to none. Whether the
general path can be avoided below an element depends on the element type and on the positions of the path there; the
least fixpoint over content models tells, with the size of the smallest tree. From the root to the node, one child after
the other continues, and all its siblings avoid.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count, islice
from math import inf
from typing import Final

from benchmarks.routing.advertised_paths import Pair, is_met
from benchmarks.routing.automata import reader
from benchmarks.routing.content import beside, smallest_word, smallest_word_with
from benchmarks.routing.covering import Covering, Coverings
from heptox.matching import LinearPath
from heptox.pattern import TEXT
from heptox.routing.advertisement import Advertisement
from heptox.routing.content import Size, smallest
from heptox.routing.patience import MOST_STEPS, Patience
from heptox.routing.reading import START, Positions

MOST_ELEMENTS: Final = 200
"""How many elements a counterexample may have to be written out."""

MOST_AVOIDANCES: Final = 1024
"""For how many general paths it is kept where they can be avoided."""


class DocumentCoverings(Coverings):
    """Decides covering over advertised documents: what must stand beside a path counts.

    It is wrong where documents are routed path by path. A counterexample is the smallest document, as XML text.
    """

    def __init__(self, advertisement: Advertisement) -> None:
        super().__init__(advertisement)
        self._avoidances: OrderedDict[LinearPath, Avoidance] = OrderedDict()

    def _search(self, general: LinearPath, special: LinearPath) -> Covering:
        document = uncovered_document(self._avoidance(general), special)
        if document is None:
            return Covering(True)
        if document.text is not None:
            return Covering(False, document.text)
        return Covering(False, reason=f"the smallest document has {document.size} elements, more than {MOST_ELEMENTS}")

    def _avoidance(self, general: LinearPath) -> Avoidance:
        found = self._avoidances.get(general)
        if found is None:
            assert self.advertisement is not None
            found = self._avoidances[general] = Avoidance(self.advertisement, general)
            if len(self._avoidances) > MOST_AVOIDANCES:
                self._avoidances.popitem(last=False)
        else:
            self._avoidances.move_to_end(general)
        return found


class Avoidance:
    """Where a path can be avoided, and by how small a tree. What was found is kept for the next special path."""

    def __init__(self, advertisement: Advertisement, general: LinearPath) -> None:
        self.advertisement = advertisement
        self.general = general
        self._reader = reader(general)
        self._forget()

    def _forget(self) -> None:
        self.patience = Patience()
        self._sizes: dict[tuple[str, Positions], Size] = {}
        self._beside: dict[tuple[str, Positions], dict[str, Size]] = {}

    def begin(self) -> Patience:
        """The patience for the next decision; what is kept is bounded."""
        if len(self._sizes) + len(self._beside) > MOST_STEPS:
            self._forget()
        self.patience = Patience()
        return self.patience

    def after(self, positions: Positions, name: str) -> Positions:
        """The positions of the general path after an element."""
        return self._reader.element(positions, name)

    def size(self, name: str, positions: Positions) -> Size:
        """How many elements the smallest valid tree has in which the general path matches nothing; ``inf``: none.

        ``positions`` are those after the element at its top.
        """
        if (name, positions) not in self._sizes:
            self._settle((name, positions))
        return self._sizes[name, positions]

    def child_size(self, positions: Positions, child: str) -> Size:
        """The same for a child of an element that is left at ``positions``."""
        return self.size(child, self.after(positions, child))

    def beside(self, name: str, positions: Positions) -> dict[str, Size]:
        """For each child that may stand below an element whether, and with how many elements, its siblings avoid."""
        found = self._beside.get((name, positions))
        if found is None:
            self.patience.spend(self.advertisement.weight(name))
            content = self.advertisement.elements[name].content
            found = beside(content, lambda child: self.child_size(positions, child))
            self._beside[name, positions] = found
        return found

    def _settle(self, asked: tuple[str, Positions]) -> None:
        """The least fixpoint for what was asked and all that it depends on: sizes only fall.

        What is asked for last is looked at first, for what was asked before depends on it.
        """
        found: dict[tuple[str, Positions], Size] = {asked: inf}
        order = [asked]
        for key in order:  # which grows
            known = len(found)
            found[key] = self._tree(key, found)
            order += islice(found, known, None)
        settled = False
        while not settled:
            settled = True
            for key in reversed(order):
                size = self._tree(key, found)
                settled = settled and size == found[key]
                found[key] = size
        self._sizes |= found

    def _tree(self, key: tuple[str, Positions], found: dict[tuple[str, Positions], Size]) -> Size:
        """The size of a tree by the sizes that are known so far; those that are asked for first are infinite."""
        name, positions = key
        self.patience.spend(self.advertisement.weight(name))
        if is_met(self.advertisement, name, self._reader, positions):
            return inf

        def size_of(child: str) -> Size:
            below = child, self.after(positions, child)
            known = self._sizes.get(below)
            return found.setdefault(below, inf) if known is None else known

        return 1 + smallest(self.advertisement.elements[name].content, size_of)


@dataclass(frozen=True, slots=True)
class _Chain:
    """The way from the root to a node: elements with the positions of the general path, and the leaf if it is one."""

    elements: tuple[tuple[str, Positions], ...]
    leaf: str | None


@dataclass(frozen=True, slots=True)
class ValidDocument:
    """A document as text, without DOCTYPE, and how many elements it has; no text where there are too many.

    Attributes have empty values, texts are a space: documents are valid but for the types of attributes.
    """

    size: int
    text: str | None


def uncovered_document(avoidance: Avoidance, special: LinearPath) -> ValidDocument | None:
    """The smallest advertised document that ``special`` matches and the general path does not; ``None`` where the
    general path covers ``special`` on all of them.

    Raises :class:`UndecidedError`.
    """
    found = _cheapest(avoidance, Pair(avoidance.advertisement, avoidance.general, special))
    if found is None:
        return None
    size, chain = found
    return ValidDocument(int(size), _Writer(avoidance, chain).document() if size <= MOST_ELEMENTS else None)


def _cheapest(avoidance: Avoidance, pair: Pair) -> tuple[Size, _Chain] | None:
    """Dijkstra's search over element types and the positions of both paths, the siblings being the cost."""
    root, patience = pair.advertisement.root, avoidance.begin()
    start = avoidance.after(START, root)
    order = count()
    waiting: list[tuple[Size, int, tuple[tuple[str, Positions], ...], Positions, _Chain | None]] = []
    heappush(waiting, (0, next(order), ((root, start),), pair.wanted.element(START, root), None))
    seen: set[tuple[str, Positions, Positions]] = set()
    while waiting:
        cost, _, chain, wanted, done = heappop(waiting)
        if done:
            return cost, done
        name, positions = chain[-1]
        if (name, positions, wanted) in seen or is_met(pair.advertisement, name, pair.avoided, positions):
            continue
        seen.add((name, positions, wanted))
        patience.spend(1 + len(pair.advertisement.children(name)))
        if match := pair.matched(name, wanted, positions):
            size = avoidance.size(name, positions)
            if size < inf:
                heappush(waiting, (cost + size, next(order), chain, wanted, _Chain(chain, *match)))
        for child, siblings in avoidance.beside(name, positions).items():
            if after := pair.wanted.element(wanted, child):
                below = (*chain, (child, avoidance.after(positions, child)))
                heappush(waiting, (cost + 1 + siblings, next(order), below, after, None))
    return None


class _Writer:
    """Writes the smallest document along a chain."""

    def __init__(self, avoidance: Avoidance, chain: _Chain) -> None:
        self._avoidance = avoidance
        self._chain = chain

    def document(self) -> str:
        return self._along(0)

    def _along(self, place: int) -> str:
        name, positions = self._chain.elements[place]
        if place + 1 == len(self._chain.elements):
            return self._tree(name, positions, self._chain.leaf)
        child, _ = self._chain.elements[place + 1]
        content = self._avoidance.advertisement.elements[name].content
        before, after = smallest_word_with(content, child, lambda each: self._avoidance.child_size(positions, each))
        return self._element(
            name, self._trees(positions, before) + self._along(place + 1) + self._trees(positions, after)
        )

    def _tree(self, name: str, positions: Positions, leaf: str | None = None) -> str:
        content = self._avoidance.advertisement.elements[name].content
        word = smallest_word(content, lambda each: self._avoidance.child_size(positions, each))
        return self._element(name, self._trees(positions, word), leaf)

    def _trees(self, positions: Positions, names: tuple[str, ...]) -> str:
        return "".join(self._tree(name, self._avoidance.after(positions, name)) for name in names)

    def _element(self, name: str, content: str, leaf: str | None = None) -> str:
        attributes = set(self._avoidance.advertisement.elements[name].required)
        if leaf == TEXT:
            content = " " + content
        elif leaf:
            attributes.add(leaf[1:])
        start = " ".join((name, *(f'{attribute}=""' for attribute in sorted(attributes))))
        return f"<{start}>{content}</{name}>" if content else f"<{start}/>"

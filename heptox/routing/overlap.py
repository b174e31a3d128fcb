"""Overlap: does a subscription ask for something that is advertised? (``routing.md``, Overlap)

Source: section 4 of Hou, Li and Jacobsen, "Routing of XML and XPath queries in data dissemination networks", whose
algorithms 2, 3 and 6 to 8 err; sets of element types that a path can have reached replace them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from weakref import WeakSet

from heptox.matching import LinearPath, Step
from heptox.pattern import ANY_ATTRIBUTE, ANY_ELEMENT, PatternNode, TreePattern, is_leaf_test
from heptox.routing.advertisement import Advertisement

MOST_KEPT: Final = 1 << 16
"""How many steps are remembered before all are forgotten, of all advertisements that share a memory."""


class Remembered:
    """How many steps are remembered of all advertisements that share this memory."""

    def __init__(self) -> None:
        self.steps = 0
        self._all: WeakSet[Overlaps] = WeakSet()

    def share(self, overlaps: Overlaps) -> None:
        """Let one more advertisement share it."""
        self._all.add(overlaps)

    def bound(self) -> None:
        """Forget all steps, if they are too many."""
        if self.steps > MOST_KEPT:
            self.steps = 0
            for overlaps in self._all:
                overlaps.forget()


class _State:
    """What a path can have reached: element types, a bit for each, and where steps lead from them, once known."""

    __slots__ = ("elements", "moves")

    def __init__(self, elements: int) -> None:
        self.elements = elements
        self.moves: dict[Step, _State] = {}


class Overlaps:
    """Which subscriptions overlap an advertisement. What was found for one is kept for the next.

    A step leads from a set of element types to another; where it leads is looked up after the first time.

    >>> from heptox.routing.advertisement import advertised
    >>> from heptox.grammar import parse_subscription
    >>> from heptox.schema import parse_dtd
    >>> overlaps = Overlaps(advertised(parse_dtd("<!ELEMENT a (b)> <!ELEMENT b (a | c)> <!ELEMENT c EMPTY>", "a")))
    >>> [overlaps.subscription(parse_subscription(text)) for text in ("/a/b/a/*/c", "//c/b", "/b or //b[c]")]
    [True, False, True]
    """

    def __init__(self, advertisement: Advertisement) -> None:
        self.advertisement = advertisement
        self.remember_in(Remembered())
        self._names = tuple(advertisement.elements)
        self._bits = {name: 1 << place for place, name in enumerate(self._names)}
        self._children = {bit: self._set(advertisement.children(name)) for name, bit in self._bits.items()}
        self._descendants = _closure(self._children)
        self._holders = self._by_leaf()
        self.forget()

    def _set(self, names: Iterable[str]) -> int:
        return sum(self._bits[name] for name in names)

    def _by_leaf(self) -> dict[str, int]:
        """The element types that may hold an attribute or text, by the node test that asks for it."""
        found: dict[str, int] = {}
        for name, bit in self._bits.items():
            labels = tuple(self.advertisement.leaves(name))
            tests = {*labels, ANY_ATTRIBUTE} if any(label[0] == "@" for label in labels) else labels
            for test in tests:
                found[test] = found.get(test, 0) | bit
        return found

    def remember_in(self, remembered: Remembered) -> None:
        """Share a memory with others; nothing is remembered yet."""
        self.remembered = remembered
        remembered.share(self)

    def forget(self) -> None:
        """Remember no step."""
        self._nowhere, self._document, self._leaf = _State(0), _State(0), _State(0)
        self._states: dict[int, _State] = {0: self._nowhere}

    # subscriptions

    def subscription(self, patterns: Iterable[TreePattern]) -> bool:
        """Whether one of its patterns overlaps (:meth:`pattern`)."""
        return any(map(self.pattern, patterns))

    def pattern(self, pattern: TreePattern) -> bool:
        """Whether a tree pattern may match an advertised document.

        No is certain, yes is not: what content models say of siblings, and conditions on values, are not looked at. For
        a linear path yes is certain too.
        """
        self.remembered.bound()
        known: dict[tuple[int, int], _State] = {}
        return all(self._places(node, self._document, known) is not self._nowhere for node in pattern.children)

    def path(self, path: LinearPath) -> bool:
        """Whether a linear path ends at a node of some advertised document; exact."""
        self.remembered.bound()
        reached = self._document
        for step in path.steps:
            known = reached.moves.get(step)
            reached = self._move(reached, step) if known is None else known
        return reached is not self._nowhere

    # steps

    def _places(self, node: PatternNode, above: _State, known: dict[tuple[int, int], _State]) -> _State:
        """What a node of a pattern can be, from what the node above can be; looked at once for both."""
        key = id(node), id(above)
        if key not in known:
            known[key] = self._fitting(node, above, known)
        return known[key]

    def _fitting(self, node: PatternNode, above: _State, known: dict[tuple[int, int], _State]) -> _State:
        reached = self._move(above, Step(node.axis, node.test))
        if not node.children:
            return reached
        fitting = 0
        for bit in _bits(reached.elements):
            here = self._state(bit)
            if all(self._places(child, here, known) is not self._nowhere for child in node.children):
                fitting |= bit
        return self._state(fitting)

    def _move(self, state: _State, step: Step) -> _State:
        found = state.moves.get(step)
        if found is None:
            found = state.moves[step] = self._after(state, step)
            self.remembered.steps += 1
        return found

    def _after(self, state: _State, step: Step) -> _State:
        axis, test = step
        if is_leaf_test(test):
            holders = state.elements | self._below(state) if axis == "//" else state.elements
            return self._leaf if holders & self._holders.get(test, 0) else self._nowhere
        reached = self._below(state) if axis == "//" else self._next(state)
        return self._state(reached if test == ANY_ELEMENT else reached & self._bits.get(test, 0))

    def _next(self, state: _State) -> int:
        if state is self._document:
            return self._bits[self.advertisement.root]
        return self._united(self._children, state.elements)

    def _below(self, state: _State) -> int:
        if state is self._document:
            return (1 << len(self._names)) - 1
        return self._united(self._descendants, state.elements)

    def _united(self, sets: dict[int, int], elements: int) -> int:
        found = 0
        for bit in _bits(elements):
            found |= sets[bit]
        return found

    def _state(self, elements: int) -> _State:
        return self._states.setdefault(elements, _State(elements))


def _bits(elements: int) -> Iterator[int]:
    while elements:
        bit = elements & -elements
        yield bit
        elements ^= bit


def _closure(below: Mapping[int, int]) -> dict[int, int]:
    """For each bit those that it leads to, in one step or more; ``below`` has those that it leads to in one.

    Bits that lead to each other lead to the same, and share it; each step is looked at once. Source: Tarjan,
    "Depth-first search and linear graph algorithms" (1972).
    """
    found: dict[int, int] = {}
    numbers: dict[int, int] = {}
    lowest: dict[int, int] = {}
    stack: list[int] = []
    waiting: list[tuple[int, Iterator[int]]] = []

    def enter(bit: int) -> None:
        numbers[bit] = lowest[bit] = len(numbers)
        stack.append(bit)
        waiting.append((bit, _bits(below[bit])))

    for root in below:
        if root not in numbers:
            enter(root)
        while waiting:
            bit, left = waiting[-1]
            child = next((each for each in left if each not in found), None)
            if child is None:
                waiting.pop()
                if waiting:
                    above = waiting[-1][0]
                    lowest[above] = min(lowest[above], lowest[bit])
                if lowest[bit] == numbers[bit]:
                    _take_component(stack, stack.index(bit), below, found)
            elif child in numbers:
                lowest[bit] = min(lowest[bit], numbers[child])
            else:
                enter(child)
    return found


def _take_component(stack: list[int], begin: int, below: Mapping[int, int], found: dict[int, int]) -> None:
    """Tell what all lead to from a place of the stack on, which lead to each other."""
    component = stack[begin:]
    del stack[begin:]
    reached = 0
    for bit in component:
        reached |= below[bit]
    for child in _bits(reached & ~sum(component)):
        reached |= found[child]
    for bit in component:
        found[bit] = reached

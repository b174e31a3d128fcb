"""Patterns as rows of shared nodes: equal nodes, with equal ones below them, are one, whatever pattern they are of.

Each node has at most two below it; where a pattern asks more of one place, nodes at the same place hold the rest.
"""

from __future__ import annotations

from array import array
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from heptox.matching.postings import Places
from heptox.matching.tag_paths import Ids
from heptox.pattern import Number, PatternNode, Sign, TreePattern, ValueTest, is_leaf_test, literal

Flags: TypeAlias = NDArray[np.bool_]

# How the places above which a node can be placed follow from those where it can be.
HERE: Final = 0
ABOVE: Final = 1
ANYWHERE_ABOVE: Final = 2
HERE_OR_ABOVE: Final = 3
"""Of attributes and texts the place is the element that has them."""
_RELATIONS: Final = 4

ANYTHING: Final = 0
"""The node that can be placed below whatever there is."""


class Comparison(NamedTuple):
    """A value test; ``number`` is what values are compared with as numbers, ``text`` is for all others."""

    operator: Sign
    text: str
    number: float | None


class Condition(NamedTuple):
    """What is asked of one node: its test, and what its value is compared with."""

    test: str
    comparisons: tuple[Comparison, ...]


NO_CONDITION: Final = Condition("", ())


class Needed(NamedTuple):
    """The nodes that some patterns need, after all that are below them: the first is :data:`ANYTHING`.

    ``left``, ``right`` and, for each pattern, ``roots`` are places in this order. ``groups`` are relations with the
    places where theirs end: no node of a group is below another.
    """

    conditions: Ids
    left: Ids
    right: Ids
    groups: list[tuple[int, int]]
    roots: Ids


class SharedNodes:
    """The nodes of patterns, and which of them each pattern has.

    >>> node = PatternNode("/", "b", (), (PatternNode("/", "@x"), PatternNode("//", "c")))
    >>> shared = SharedNodes()
    >>> shared.add(TreePattern((node,))), shared.add(TreePattern((PatternNode("//", "a", (), (node,)),)))
    (0, 1)
    >>> len(shared)
    5
    """

    def __init__(self) -> None:
        self.conditions: list[Condition] = []
        """What nodes ask for, by the number that nodes have of it."""
        self._clear()

    def _clear(self) -> None:
        self._condition_numbers: dict[Condition, int] = {}
        self.conditions.clear()
        self._comparisons = array("i")
        self._numbers: dict[tuple[int, int, int, int], int] = {}
        self._kinds = array("h")  # the height of each node, and its relation
        self._asked = array("i")
        self._left = array("i")
        self._right = array("i")
        self._roots = array("i")
        self._sizes = array("i")
        self._is_reached: Flags = np.zeros(64, np.bool_)
        self._place: Ids = np.zeros(64, np.int32)
        self._node(HERE, NO_CONDITION, ANYTHING, ANYTHING, 0)

    def __len__(self) -> int:
        """How many nodes there are."""
        return len(self._asked)

    def add(self, pattern: TreePattern) -> int:
        """The number of a pattern, the next one; its nodes are shared."""
        below = [self._shared(node) for node in pattern.children]
        self._roots.append(below[0] if len(below) == 1 else self._joined(HERE, NO_CONDITION, below))
        self._sizes.append(sum(map(_size, pattern.children)))
        return len(self._roots) - 1

    def sizes(self, patterns: Ids) -> Ids:
        """How many nodes and comparisons some patterns have, each by itself."""
        return np.frombuffer(self._sizes, np.int32)[patterns]

    def size(self, needed: Needed) -> int:
        """How many nodes and comparisons some patterns have together."""
        comparisons = np.frombuffer(self._comparisons, np.int32)
        return len(needed.conditions) + int(comparisons[needed.conditions].sum())

    def _shared(self, node: PatternNode) -> int:
        below = [self._shared(child) for child in node.children]
        descends = node.axis == "//"
        if is_leaf_test(node.test):
            relation = HERE_OR_ABOVE if descends else HERE
        else:
            relation = ANYWHERE_ABOVE if descends else ABOVE
        return self._joined(relation, Condition(node.test, tuple(map(_comparison, node.values))), below)

    def _joined(self, relation: int, condition: Condition, below: list[int]) -> int:
        below = sorted(set(below))
        while len(below) > 2:
            right, left = below.pop(), below.pop()
            below.insert(0, self._joined(HERE, NO_CONDITION, [left, right]))
        left, right = (*below, ANYTHING, ANYTHING)[:2]
        height = 1 + max(self._kinds[left], self._kinds[right]) // _RELATIONS
        return self._node(relation, condition, left, right, height)

    def _node(self, relation: int, condition: Condition, left: int, right: int, height: int) -> int:
        asked = self._condition_numbers.setdefault(condition, len(self.conditions))
        if asked == len(self.conditions):
            self.conditions.append(condition)
            self._comparisons.append(len(condition.comparisons))
        key = relation, asked, left, right
        node = self._numbers.setdefault(key, len(self._asked))
        if node == len(self._asked):
            self._kinds.append(height * _RELATIONS + relation)
            self._asked.append(asked)
            self._left.append(left)
            self._right.append(right)
        return node

    def needed(self, patterns: Ids) -> Needed:
        """The nodes of some patterns, at least one."""
        roots = np.frombuffer(self._roots, np.int32)[patterns].astype(np.intp)
        nodes = self._reached(roots)
        kinds = np.frombuffer(self._kinds, np.int16)[nodes]
        order = np.argsort(kinds, kind="stable")
        nodes, kinds = nodes[order], kinds[order]
        self._place[nodes] = np.arange(nodes.size, dtype=np.int32)
        last = np.append(np.flatnonzero(kinds[1:] != kinds[:-1]), nodes.size - 1)
        return Needed(
            conditions=np.frombuffer(self._asked, np.int32)[nodes],
            left=self._place[np.frombuffer(self._left, np.int32)[nodes].astype(np.intp)],
            right=self._place[np.frombuffer(self._right, np.int32)[nodes].astype(np.intp)],
            groups=[
                (kind % _RELATIONS, end + 1) for kind, end in zip(kinds[last].tolist(), last.tolist(), strict=True)
            ],
            roots=self._place[roots],
        )

    def _reached(self, nodes: Places) -> Places:
        """Nodes and all that are below them, each once."""
        if self._is_reached.size < len(self):
            self._is_reached = np.zeros(2 * len(self), np.bool_)
            self._place = np.zeros(2 * len(self), np.int32)
        left, right = np.frombuffer(self._left, np.int32), np.frombuffer(self._right, np.int32)
        self._is_reached[ANYTHING] = True
        found = [np.array([ANYTHING])]
        while nodes.size:
            # of equal nodes the last has its place noted
            places = np.arange(nodes.size, dtype=np.int32)
            self._place[nodes] = places
            nodes = nodes[self._place[nodes] == places]
            self._is_reached[nodes] = True
            found.append(nodes)
            below = np.concatenate([left[nodes], right[nodes]]).astype(np.intp)
            nodes = below[~self._is_reached[below]]
        reached = np.concatenate(found)
        self._is_reached[reached] = False
        return reached

    def keep(self, patterns: Ids) -> None:
        """Forget all patterns but these, which are numbered anew in this order, and the nodes that no other has."""
        old = tuple(map(list, (self._kinds, self._asked, self._left, self._right)))
        conditions = list(self.conditions)
        roots = np.frombuffer(self._roots, np.int32)[patterns].astype(np.intp)
        sizes = self.sizes(patterns).tolist()
        reached = self._reached(roots)
        reached.sort()  # a node has a greater number than those below it
        self._clear()
        new = {ANYTHING: ANYTHING}
        for node in reached[1:].tolist():
            kind, asked, left, right = (column[node] for column in old)
            height, relation = divmod(kind, _RELATIONS)
            new[node] = self._node(relation, conditions[asked], new[left], new[right], height)
        self._roots.extend(new[root] for root in roots.tolist())
        self._sizes.extend(sizes)


def _size(node: PatternNode) -> int:
    return 1 + len(node.values) + sum(map(_size, node.children))


def _comparison(value: ValueTest) -> Comparison:
    constant = value.constant
    if isinstance(constant, Number):
        return Comparison(value.operator, "", float(literal(constant.lexical)))
    return Comparison(value.operator, constant.value, None)

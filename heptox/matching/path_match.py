"""Which linear paths match which tag paths, kept as both come and go: the paper's ``PathMatch``.

All linear paths form a trie, run as one automaton over the tree of tag paths: the state at a tag path is the set of
nodes of the trie that it reaches, and follows from the state of the tag path above and from all nodes with ``//`` below
them that were reached on the way. States are computed when they are asked for, and kept. What a new linear path adds to
them is found from its side, on the tree of tag paths (``matching.md``).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from heptox.errors import DisseminationError, Fault
from heptox.matching.linear_path import LinearPath, Step
from heptox.matching.postings import ranges
from heptox.matching.tag_paths import DOCUMENT, NO_IDS, Ids, TagPaths, fitting_tests
from heptox.pattern import ANY_ATTRIBUTE, ANY_ELEMENT, Axis

_Flags: TypeAlias = NDArray[np.bool_]

MOST_PLACEMENTS: Final = 20_000
"""In how many ways the branching points of a linear path may be placed on a tag path."""
_LONGEST_TOLD: Final = 100

_ROOT: Final = 0
"""The node of the trie that the document node reaches."""
_NONE: Final = -1

_FEW: Final = 24
"""How many reached nodes are looked up one by one rather than at once."""
_FEW_PENDING: Final = 64
_PENDING_SHARE: Final = 1
"""How many changes a state is worth: computing it anew takes about as long as following one of them."""
_KEPT_BYTES: Final = 1 << 24
_KEPT_STATES: Final = 256
_LEAST_DEAD: Final = 1024


class PathMatch:
    """The linear paths that are in use, numbered, and the tag paths of a tree that they match.

    The number of a linear path that has been removed may be given to another.

    >>> tag_paths = TagPaths()
    >>> match = PathMatch(tag_paths)
    >>> number = match.add(LinearPath((Step("//", "b"), Step("/", "*"))))
    >>> match.matches(tag_paths.add(["a", "b", "c"])).tolist(), match.tag_paths_of(number).tolist()
    ([0], [3])
    """

    def __init__(self, tag_paths: TagPaths) -> None:
        self.tag_paths = tag_paths
        self._uses = array("i")  # how often each linear path is used
        self._ends = array("i")  # where each ends in the trie
        self._free: list[int] = []
        self._trie = _Trie()
        self._generation = tag_paths.generation
        self._pending: list[tuple[int, bool]] = []
        self._rows = _Rows(self._trie, tag_paths)
        self._forget()

    def __len__(self) -> int:
        """How many linear paths are in use."""
        return len(self._uses) - len(self._free)

    @property
    def capacity(self) -> int:
        """All numbers of linear paths are below this."""
        return len(self._uses)

    # linear paths

    def add(self, path: LinearPath) -> int:
        """The number of a linear path, used once more from now on."""
        trie = self._trie
        node, created = trie.insert(path.steps)
        number = trie.linear[node]
        if number != _NONE:
            self._uses[number] += 1
            return number
        if self._free:
            number = self._free.pop()
            self._uses[number], self._ends[number] = 1, node
        else:
            number = len(self._uses)
            self._uses.append(1)
            self._ends.append(node)
        trie.linear[node] = number
        for new in created:
            self._note(new, is_new=True)
        if not created:
            self._note(node, is_new=False)
        return number

    def remove(self, number: int) -> None:
        """Use a linear path once less; one that is used no more matches nothing. Raises ``KeyError``."""
        node = self._end(number)
        self._uses[number] -= 1
        if self._uses[number]:
            return
        self._free.append(number)
        self._trie.linear[node] = _NONE
        self._note(node, is_new=False)
        self._trie.prune(node)
        if self._trie.dead > max(_LEAST_DEAD, len(self._trie) // 2):
            self._rebuild()

    def path(self, number: int) -> LinearPath:
        """The linear path of a number. Raises ``KeyError`` where none has it."""
        return LinearPath(self._trie.steps_to(self._end(number)))

    def _end(self, number: int) -> int:
        if not 0 <= number < len(self._uses) or not self._uses[number]:
            raise KeyError(number)
        return self._ends[number]

    def asks_for(self, label: str) -> bool:
        """Whether a step of a linear path names this label; all others are alike to it, but for elements and
        attributes."""
        return label in self._trie.codes

    def _rebuild(self) -> None:
        """Make the trie of the linear paths that are left; the states are computed anew when they are asked for."""
        old, self._trie = self._trie, _Trie()
        self._rows = _Rows(self._trie, self.tag_paths)
        for number, uses in enumerate(self._uses):
            if uses:
                node, _ = self._trie.insert(old.steps_to(self._ends[number]))
                self._trie.linear[node] = number
                self._ends[number] = node
        self._forget()

    # matches

    def matches(self, tag_path: int) -> Ids:
        """The linear paths that match a tag path, ascending. The same array as long as nothing changes."""
        if self._pending or self._generation != self.tag_paths.generation:
            self._settle()
        found = self._matches.get(tag_path)
        if found is None:
            reached = np.frombuffer(self._trie.linear, np.int32)[self._reached(tag_path).astype(np.intp)]
            found = reached[reached >= 0]
            found.sort()
            found.flags.writeable = False
            self._matches[tag_path] = found
        return found

    def tag_paths_of(self, number: int) -> Ids:
        """The tag paths that a linear path matches, ascending. Raises ``KeyError`` where none has the number."""
        return self._rows.of(self._end(number))

    def positions(self, number: int, tag_path: int, steps: Sequence[int] | None = None) -> tuple[tuple[int, ...], ...]:
        """All ways to place steps of a linear path on a tag path: the depth of each, that of the root element being 1.

        ``steps`` are the numbers, ascending, of those that are asked for (all of them when ``None``): those of
        branching points, say, for a path of many ``//`` can be placed in very many ways. The ways are in order.
        Raises ``KeyError`` where no linear path has the number, :class:`DisseminationError` (HX9022) where there are
        more than :data:`MOST_PLACEMENTS` ways: with names that recur they multiply.
        """
        path = self.path(number)
        wanted = tuple(range(len(path.steps))) if steps is None else tuple(steps)
        return _placements(path.steps, self.tag_paths.path(tag_path), wanted)

    def _note(self, node: int, *, is_new: bool) -> None:
        """Keep in mind that a node is new, or that a linear path begins or ceases to end there."""
        if len(self._states) > 1:
            self._pending.append((node, is_new))
            if len(self._pending) > _FEW_PENDING + _PENDING_SHARE * len(self._states):
                self._forget()

    def _settle(self) -> None:
        """Bring what is kept up to date with the linear paths and the tag paths."""
        if self._generation != self.tag_paths.generation:
            self._forget()
            return
        for node, is_new in self._pending:
            for tag_path in self._rows.of(node).tolist():
                if tag_path in self._states:
                    self._matches.pop(tag_path, None)
                    if is_new:
                        self._later.setdefault(tag_path, []).append(node)
        self._pending.clear()

    def _forget(self) -> None:
        self._generation = self.tag_paths.generation
        self._pending.clear()
        self._states: dict[int, Ids] = {DOCUMENT: np.array([_ROOT], np.int32)}
        self._later: dict[int, list[int]] = {}  # nodes made after the state, which belong to it
        self._matches: dict[int, Ids] = {}
        self._open: dict[int, _Flags] = {}
        self._open_at = _NONE

    # the automaton

    def _reached(self, tag_path: int) -> Ids:
        """The nodes of the trie that a tag path reaches."""
        chain = []
        while tag_path not in self._states:
            chain.append(tag_path)
            tag_path = self.tag_paths.parent(tag_path)
        state = self._state(tag_path)
        for below in reversed(chain):
            state = self._states[below] = self._step(tag_path, state, self.tag_paths.labels[below])
            tag_path = below
        return state

    def _state(self, tag_path: int) -> Ids:
        """A state that is kept, with all that came later."""
        if later := self._later.pop(tag_path, None):
            self._states[tag_path] = np.concatenate([self._states[tag_path], np.array(later, np.int32)])
        return self._states[tag_path]

    def _step(self, above: int, state: Ids, label: str) -> Ids:
        found = [*self._trie.children(state, label), *self._trie.descendants(self._opened(above), label)]
        return np.concatenate(found) if found else NO_IDS

    def _opened(self, tag_path: int) -> _Flags:
        """Of the nodes with ``//`` below them, those that a tag path or one above it reaches."""
        if self._open_at != self._trie.version or len(self._open) > _KEPT_STATES:
            self._open = {DOCUMENT: self._trie.opened(None, self._states[DOCUMENT])}
            self._open_at = self._trie.version
        chain = []
        while tag_path not in self._open:
            chain.append(tag_path)
            tag_path = self.tag_paths.parent(tag_path)
        opened = self._open[tag_path]
        for below in reversed(chain):
            opened = self._open[below] = self._trie.opened(opened, self._state(below))
        return opened


class _Trie:
    """The steps of the linear paths; nodes are numbered from above, and numbers not used again."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}  # of node tests
        self._tests: list[str] = []  # by their codes
        self._children: dict[int, int] = {}  # by the number of the node above and the code of the step
        # of a code the nodes, and those above them: of // by their numbers among those with // below them
        self._nodes: dict[int, tuple[array[int], array[int]]] = {}
        # of /* or /@* the node below each node: there is one at most, and so many have one
        self._wildcards: dict[int, array[int]] = {}
        for test in (ANY_ELEMENT, ANY_ATTRIBUTE):
            self._wildcards[self.codes.setdefault(test, len(self.codes)) << 1] = array("i", [_NONE])
        self.parents = array("i", [_NONE])
        self.steps = array("i", [_NONE])
        self.linear = array("i", [_NONE])  # the linear path that ends at a node
        self._below = array("i", [0])  # how many nodes are below a node
        self._descents = array("i", [_NONE])  # the number of a node among those that have had // below them
        self._descending = 0
        self._flags: _Flags = np.zeros(1024, np.bool_)
        self.version = 0
        self.dead = 0

    def __len__(self) -> int:
        return len(self.parents)

    def insert(self, steps: Sequence[Step]) -> tuple[int, list[int]]:
        """The node where a path ends, and those that were made for it."""
        node, created = _ROOT, []
        for axis, test in steps:
            code = self.codes.setdefault(test, len(self.codes)) << 1 | (axis == "//")
            key = node << 32 | code
            found = self._children.get(key)
            if found is None:
                found = self._children[key] = self._create(node, code)
                created.append(found)
            node = found
        return node, created

    def _create(self, parent: int, code: int) -> int:
        node = len(self.parents)
        self.parents.append(parent)
        self.steps.append(code)
        self.linear.append(_NONE)
        self._below.append(0)
        self._below[parent] += 1
        self._descents.append(_NONE)
        if code & 1 and self._descents[parent] == _NONE:
            self._descents[parent] = self._descending
            self._descending += 1
        for below in self._wildcards.values():
            below.append(_NONE)
        if code in self._wildcards:
            self._wildcards[code][parent] = node
        else:
            nodes, above = self._nodes.setdefault(code, (array("i"), array("q")))
            nodes.append(node)
            above.append(self._descents[parent] if code & 1 else parent)
        self.version += 1
        return node

    def prune(self, node: int) -> None:
        """Cut off a node, and what is above it, where nothing ends or goes on."""
        while node != _ROOT and not self._below[node] and self.linear[node] == _NONE:
            parent = self.parents[node]
            code = self.steps[node]
            del self._children[parent << 32 | code]
            if code in self._wildcards:
                self._wildcards[code][parent] = _NONE
            self._below[parent] -= 1
            self.dead += 1
            node = parent

    def step(self, node: int) -> Step:
        """The step of a node."""
        code = self.steps[node]
        if code >> 1 >= len(self._tests):
            self._tests = list(self.codes)
        return Step("//" if code & 1 else "/", self._tests[code >> 1])

    def steps_to(self, node: int) -> tuple[Step, ...]:
        """The path that ends at a node."""
        found = []
        while node != _ROOT:
            found.append(self.step(node))
            node = self.parents[node]
        return tuple(reversed(found))

    def children(self, parents: Ids, label: str) -> list[Ids]:
        """The nodes below ``parents`` by ``/`` and a test that a label passes, one array for each test."""
        if not parents.size:
            return []
        codes = self._fitting(label, "/")
        if parents.size <= _FEW:
            keys = [parent << 32 | code for parent in parents.tolist() for code in codes]
            few = [node for key in keys if (node := self._children.get(key)) is not None]
            return [np.array(few, np.int32)] if few else []
        places = parents.astype(np.intp)
        found = []
        for code in codes:
            if code in self._wildcards:
                below = np.frombuffer(self._wildcards[code], np.int32)[places]
                found.append(below[below != _NONE])
            elif code in self._nodes:
                flags = self._scratch()
                flags[places] = True
                found.append(self._below_flagged(code, flags))
                flags[places] = False
        return found

    def opened(self, above: _Flags | None, nodes: Ids) -> _Flags:
        """Which nodes with ``//`` below them, by their numbers, are among ``nodes`` or in ``above``; the last is of
        all that have none."""
        flags = np.zeros(self._descending + 1, np.bool_) if above is None else above.copy()
        flags[np.frombuffer(self._descents, np.int32)[nodes.astype(np.intp)]] = True
        return flags

    def descendants(self, opened: _Flags, label: str) -> list[Ids]:
        """The nodes below the ``opened`` ones by ``//`` and a test that a label passes, one array for each test."""
        return [self._below_flagged(code, opened) for code in self._fitting(label, "//") if code in self._nodes]

    def _fitting(self, label: str, axis: Axis) -> list[int]:
        """The codes of the steps of this axis with a test that a label passes."""
        tests = fitting_tests(label)
        return [code << 1 | (axis == "//") for test in tests if (code := self.codes.get(test)) is not None]

    def _below_flagged(self, code: int, flags: _Flags) -> Ids:
        nodes, above = self._nodes[code]
        found: Ids = np.frombuffer(nodes, np.int32)[flags[np.frombuffer(above, np.int64)]]
        return found

    def _scratch(self) -> _Flags:
        if self._flags.size < len(self.parents):
            self._flags = np.zeros(2 * len(self.parents), np.bool_)
        return self._flags


class _Rows:
    """The tag paths that reach a node of the trie, found on the tree of tag paths; kept for the nodes above others.

    Tag paths are numbered in pre-order here, so that those below one are an interval.
    """

    def __init__(self, trie: _Trie, tag_paths: TagPaths) -> None:
        self._trie = trie
        self._tag_paths = tag_paths
        self._state = (-1, -1)
        self._kept: dict[int, Ids] = {}
        self._kept_bytes = 0

    def of(self, node: int) -> Ids:
        """The tag paths that reach a node, ascending."""
        state = self._tag_paths.generation, len(self._tag_paths)
        if state != self._state:
            self._state = state
            self._number()
        chain = [node]
        while chain[-1] not in self._kept:
            chain.append(self._trie.parents[chain[-1]])
        found = self._kept[chain.pop()]
        for below in reversed(chain):
            found = self._step(found, self._trie.step(below))
            if below != node:
                self._keep(below, found)
        rows: Ids = self._ids[found]
        rows.sort()
        return rows

    def _keep(self, node: int, places: Ids) -> None:
        if self._kept_bytes > _KEPT_BYTES:
            self._kept = {_ROOT: self._kept[_ROOT]}
            self._kept_bytes = 0
        self._kept[node] = places
        self._kept_bytes += places.nbytes

    def _step(self, above: Ids, step: Step) -> Ids:
        """The places of the tag paths that one step leads to, ascending."""
        places, parents = self._fitting_places(step.test)
        if not above.size or not places.size:
            return NO_IDS
        if step.axis == "/":
            flags = self._flags
            flags[above] = True
            found = places[flags[parents]]
            flags[above] = False
            return found
        lasts = self._lasts[above]
        outer = np.ones(above.size, np.bool_)
        outer[1:] = above[1:] > np.maximum.accumulate(lasts[:-1])
        first = np.searchsorted(places, above[outer], "right")
        return places[ranges(first, np.searchsorted(places, lasts[outer], "right"))]

    def _fitting_places(self, test: str) -> tuple[Ids, Ids]:
        found = self._fitting.get(test)
        if found is None:
            places = self._places[self._tag_paths.fitting(test)]
            places.sort()
            found = self._fitting[test] = places, self._parents[places]
        return found

    def _number(self) -> None:
        """Number the tag paths in pre-order: those one step below another get consecutive intervals, level by level."""
        parents, depths = self._tag_paths.parents, self._tag_paths.depths
        order = np.lexsort((parents, depths))
        bounds = np.searchsorted(depths[order], np.arange(int(depths.max()) + 2))
        levels = [order[first:last] for first, last in pairwise(bounds.tolist())]
        sizes = np.ones(parents.size, np.int32)
        for level in reversed(levels[1:]):
            np.add.at(sizes, parents[level], sizes[level])
        places = np.zeros(parents.size, np.int32)
        for level in levels[1:]:
            before = np.cumsum(sizes[level]) - sizes[level]
            first = np.ones(level.size, np.bool_)
            first[1:] = parents[level][1:] != parents[level][:-1]
            before -= np.maximum.accumulate(np.where(first, before, 0))
            places[level] = places[parents[level]] + 1 + before
        self._places = places
        self._ids = np.empty_like(places)
        self._ids[places] = np.arange(places.size, dtype=np.int32)
        self._parents = places[parents[self._ids]]
        self._lasts = np.arange(places.size, dtype=np.int32) + sizes[self._ids] - 1
        self._flags: _Flags = np.zeros(places.size, np.bool_)
        self._fitting: dict[str, tuple[Ids, Ids]] = {}
        self._kept = {_ROOT: np.array([DOCUMENT], np.int32)}
        self._kept_bytes = 0


def _placements(steps: Sequence[Step], labels: Sequence[str], wanted: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    asked = frozenset(wanted)
    ways: dict[int, set[tuple[int, ...]]] = {
        0: {()}
    }  # the depth of the last step so far: how those before it are placed
    for number, (axis, test) in enumerate(steps):
        further: dict[int, set[tuple[int, ...]]] = {}
        for depth in _fitting_depths(test, labels):
            for above in _depths_above(axis, depth, ways):
                placed = further.setdefault(depth, set())
                placed.update((*way, depth) for way in ways[above]) if number in asked else placed.update(ways[above])
        ways = further
        if sum(map(len, ways.values())) > MOST_PLACEMENTS:
            message = (
                f"a path of {len(labels)} elements takes the branching points of {_printed(steps)} in too many ways"
            )
            raise DisseminationError(Fault("HX9022", message, hint=f"at most {MOST_PLACEMENTS:,}; match in memory"))
    return tuple(sorted(ways.get(len(labels), ())))


def _printed(steps: Sequence[Step]) -> str:
    text = str(LinearPath(tuple(steps)))
    return text if len(text) <= _LONGEST_TOLD else f"{text[:_LONGEST_TOLD]}..."


def _fitting_depths(test: str, labels: Sequence[str]) -> Iterator[int]:
    return (depth for depth, label in enumerate(labels, start=1) if test in fitting_tests(label))


def _depths_above(axis: Axis, depth: int, ways: dict[int, set[tuple[int, ...]]]) -> Iterator[int]:
    return (above for above in ways if (above == depth - 1 if axis == "/" else above < depth))

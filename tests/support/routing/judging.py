"""Linear paths judged as automata: positions in sets, subsets by numbers, and the product of two.

Nothing is shared with what is judged. Many pairs of one general path cost little: the special paths are a trie, and
what the general path can have reached at a node of the trie follows from what it can have reached above.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from heptox.matching import LinearPath, Step

SPARE = "#"
"""A name that no path has; ``@#`` is an attribute that none has."""

ELEMENTS = ("a", "b", SPARE)
LEAVES = ("@x", "@y", "@" + SPARE, "text()")


def passes(label: str, test: str) -> bool:
    """Whether a label passes a node test."""
    if test == "*":
        return label in ELEMENTS or label.isalpha()
    return label[0] == "@" if test == "@*" else label == test


def accepts(path: LinearPath, word: Sequence[str]) -> bool:
    """Whether a path ends exactly at the end of a word, by trying where each step may go."""

    @cache
    def rest(step: int, place: int) -> bool:
        if step == len(path.steps):
            return place == len(word)
        if place == len(word):
            return False
        axis, test = path.steps[step]
        here = passes(word[place], test) and rest(step + 1, place + 1)
        return here or (axis == "//" and not _is_leaf(word[place]) and rest(step, place + 1))

    return rest(0, 0)


def _is_leaf(label: str) -> bool:
    return label[0] == "@" or label == "text()"


class General:
    """A general path as a deterministic automaton over all labels; a state that has matched stays so.

    The first state is that of the document node, which has an element below it and nothing else.
    """

    MATCHED = -1
    DOCUMENT = 0

    def __init__(self, path: LinearPath) -> None:
        self.path = path
        self._numbers: dict[frozenset[int], int] = {}
        self._sets: list[frozenset[int]] = [frozenset({0})]
        self._after: dict[tuple[int, str], int] = {}
        self.begin = frozenset({self.DOCUMENT})
        self._step = cache(self._read_all)

    def _number(self, positions: frozenset[int]) -> int:
        if len(self.path.steps) in positions:
            return self.MATCHED
        if positions not in self._numbers:
            self._numbers[positions] = len(self._sets)
            self._sets.append(positions)
        return self._numbers[positions]

    def _read(self, state: int, label: str) -> int:
        if state == self.MATCHED:
            return state
        key = state, label
        if key not in self._after:
            after = set()
            for position in self._sets[state]:
                axis, test = self.path.steps[position]
                if passes(label, test):
                    after.add(position + 1)
                if axis == "//" and not _is_leaf(label):
                    after.add(position)
            self._after[key] = self._number(frozenset(after))
        return self._after[key]

    def _read_all(self, states: frozenset[int], axis: str, test: str) -> frozenset[int]:
        if axis == "//":
            waiting = list(states)
            while waiting:
                found = {self._read(waiting[-1], label) for label in ELEMENTS} - states
                waiting.pop()
                states |= found
                waiting.extend(found)
        return frozenset(
            self._read(state, label)
            for state in states
            for label in _labels(test)
            if state != self.DOCUMENT or not _is_leaf(label)
        )

    def after(self, states: frozenset[int], step: Step) -> frozenset[int]:
        """All states after all words that one more step of a special path allows."""
        return self._step(states, step.axis, step.test)

    def covers(self, states: frozenset[int]) -> bool:
        """Whether the general path has matched in each of the states."""
        return states <= {self.MATCHED}


@cache
def _labels(test: str) -> tuple[str, ...]:
    return tuple(label for label in (*ELEMENTS, *LEAVES) if passes(label, test))


@dataclass(slots=True)
class Trie:
    """Special paths that share their beginnings."""

    path: LinearPath | None = None
    below: dict[Step, Trie] = field(default_factory=dict)

    @classmethod
    def of(cls, paths: Sequence[LinearPath]) -> Trie:
        root = cls()
        for path in paths:
            node = root
            for step in path.steps:
                node = node.below.setdefault(step, cls())
            node.path = path
        return root


def judged(general: LinearPath, specials: Trie) -> Iterator[tuple[LinearPath, bool]]:
    """Each special path with whether the general one covers it over all documents."""
    automaton = General(general)
    waiting = [(specials, automaton.begin)]
    while waiting:
        node, states = waiting.pop()
        if node.path is not None:
            yield node.path, automaton.covers(states)
        for step, below in node.below.items():
            waiting.append((below, automaton.after(states, step)))


def overlap_judge(
    root: str, children: dict[str, set[str]], leaves: dict[str, set[str]]
) -> Callable[[LinearPath], bool]:
    """Whether a path ends at a node of the paths of a graph, decided from the end of the path to its beginning."""
    below = {name: set(each) for name, each in children.items()}
    grown = True
    while grown:
        grown = False
        for name in below:
            more = set().union(*(below[child] for child in below[name])) - below[name]
            below[name] |= more
            grown = grown or bool(more)

    @cache
    def starts(steps: tuple[Step, ...]) -> frozenset[str]:
        """The elements below which the steps lead somewhere; ``""`` is the document node."""
        (axis, test), rest = steps[0], steps[1:]
        near = {"": {root}, **children}
        far = {"": {root} | below[root], **below}
        if _is_leaf(test):
            holding = {name for name, labels in leaves.items() if any(passes(label, test) for label in labels)}
            found = {name for name in far if name in holding or (axis == "//" and far[name] & holding)}
            return frozenset(found) if not rest else frozenset()
        good = {name for name in children if passes(name, test)}
        if rest:
            good &= starts(rest)
        return frozenset(name for name, each in (near if axis == "/" else far).items() if each & good)

    return lambda path: "" in starts(path.steps)

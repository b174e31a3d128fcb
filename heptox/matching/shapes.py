"""Subscriptions as columns: constants cut out, each shape split into branches once.

Subscriptions that differ in their constants only have one shape. What is known of a shape is written down once, and the
rows of all subscriptions are made of it by numpy; nothing is done in Python for each predicate (``matching.md``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from heptox.errors import GrammarError
from heptox.grammar import parse_subscription
from heptox.matching.branching import Branch, BranchingPoint, branches
from heptox.matching.linear_path import LinearPath
from heptox.pattern import Number, PatternNode, TreePattern, literal, printed_constant

Integers: TypeAlias = NDArray[np.int64]
Points: TypeAlias = tuple[BranchingPoint, ...]

OPERATORS: Final = ("=", "!=", "<", "<=", ">", ">=", "exists")
"""The operators by their codes in the relations."""
EQUAL: Final = 0
EXISTS: Final = 6

_CONSTANT: Final = re.compile(
    r"""([=<>][ ]?)("(?:[^"]|"")*"|'(?:[^']|'')*'|-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.]))"""
)
"""An operator, or its end, and the constant after it. What else constants may be is read by the grammar."""
_MARK: Final = "\ue000"


class Point(NamedTuple):
    """A branching point of a structure: its number, the next one above (0: none), how many are above it with itself,
    and how many parts have to be found there: branches that end below it, and branching points next below.
    """

    number: int
    parent: int
    level: int
    parts: int


Structure: TypeAlias = tuple[Point, ...]


def structure(found: Iterable[Branch]) -> Structure:
    """The branching points of a conjunction, by their numbers."""
    parents: dict[int, tuple[int, int]] = {}
    parts: dict[int, int] = {}
    for branch in found:
        above = 0
        for level, (number, _) in enumerate(branch.points, 1):
            if number not in parents:
                parents[number] = above, level
                if above:
                    parts[above] = parts.get(above, 0) + 1
            above = number
        if above:
            parts[above] = parts.get(above, 0) + 1
    return tuple(Point(number, *parents[number], parts[number]) for number in sorted(parents))


@dataclass(slots=True)
class Dictionary:
    """The linear paths, branching information and structures that are known, by their ids; new ones are added."""

    linear_paths: dict[LinearPath, int] = field(default_factory=dict)
    branchings: dict[tuple[int, Points], int] = field(default_factory=dict)
    structures: dict[Structure, int] = field(default_factory=dict)
    following: list[int] = field(default_factory=lambda: [1, 1, 1])

    def linear_path(self, path: LinearPath) -> int:
        return _known(self.linear_paths, path, self.following, 0)

    def branching(self, linear_path: int, points: Points) -> int:
        return _known(self.branchings, (linear_path, points), self.following, 1) if points else 0

    def structure(self, found: Structure) -> int:
        return _known(self.structures, found, self.following, 2) if found else 0


def _known(ids: dict[Any, int], key: object, following: list[int], which: int) -> int:
    number = ids.get(key)
    if number is None:
        number = ids[key] = following[which]
        following[which] += 1
    return number


@dataclass(frozen=True, slots=True)
class Columns:
    """Rows of subscriptions. ``conjunctions``: number, structure (0: none) and count of predicates of each alternative.

    ``predicates``: conjunction (its place among ``conjunctions``), place, linear_path, operator, text, number,
    branching (0: none). A comparison has a text or a number.
    """

    conjunctions: pa.Table
    predicates: pa.Table


class Collector:
    """Collects subscriptions for :meth:`columns`."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self.numbers: list[int] = []
        self._shapes: list[int] = []
        self._constants: list[str] = []
        self._known: dict[object, int] = {}
        self._skeletons: dict[object, _Skeleton | None] = {}
        self._templates = _Templates()

    def __len__(self) -> int:
        return len(self.numbers)

    def add(self, number: int, patterns: Iterable[TreePattern]) -> None:
        """A subscription by its alternatives."""
        patterns = tuple(patterns)
        key = tuple(tuple(_cut(node, self._constants.append) for node in pattern.children) for pattern in patterns)
        shape = self._known.get(key)
        if shape is None:
            shape = self._known[key] = self._compiled(patterns)
        self.numbers.append(number)
        self._shapes.append(shape)

    def add_text(self, number: int, text: str) -> None:
        """A subscription by its text. Raises :class:`GrammarError` as :func:`heptox.grammar.parse_subscription`."""
        parts = _CONSTANT.split(text)
        constants = parts[2::3]
        key = "\0".join(parts[::3]), "".join(parts[1::3]), tuple([constant[0] in "'\"" for constant in constants])
        if key not in self._skeletons:
            self._skeletons[key] = self._skeleton(parts, constants)
        skeleton = self._skeletons[key]
        if skeleton is None or not text.isprintable():
            self.add(number, parse_subscription(text))
            return
        self._constants.extend(constants if skeleton.slots is None else [constants[each] for each in skeleton.slots])
        self.numbers.append(number)
        self._shapes.append(skeleton.shape)

    def _skeleton(self, parts: list[str], constants: list[str]) -> _Skeleton | None:
        """What the texts mean that are equal but for their constants; nothing where that cannot be said."""
        marks = [
            f'"{_MARK}{place}"' if constant[0] in "'\"" else f"{place + 1}.5"
            for place, constant in enumerate(constants)
        ]
        if any(mark.strip('"') in piece for mark in marks for piece in parts[::3]):
            return None  # a constant that was not cut out looks like a mark
        pieces = list(parts)
        pieces[2::3] = marks
        try:
            patterns = parse_subscription("".join(pieces))
        except GrammarError:
            return None
        found: list[str] = []
        key = tuple(tuple(_cut(node, found.append) for node in pattern.children) for pattern in patterns)
        if set(found) != set(marks):
            return None
        slots = tuple(map(marks.index, found))
        shape = self._known.get(key)
        if shape is None:
            shape = self._known[key] = self._compiled(patterns)
        return _Skeleton(shape, None if slots == tuple(range(len(marks))) else slots)

    def _compiled(self, patterns: Iterable[TreePattern]) -> int:
        """The id of the shape of these patterns, its rows written down."""
        dictionary, templates = self._dictionary, self._templates
        slot = 0
        for alternative, pattern in enumerate(patterns):
            found = branches(pattern)
            templates.structures.append(dictionary.structure(structure(found)))
            templates.predicates.append(len(found))
            for place, branch in enumerate(found):
                path = dictionary.linear_path(branch.path)
                branching = dictionary.branching(path, branch.points)
                has_constant = branch.constant is not None
                operator = OPERATORS.index(branch.operator) if branch.operator else EXISTS
                kind = isinstance(branch.constant, Number)
                templates.rows.append(
                    (alternative, place, path, operator, slot if has_constant else -1, kind, branching)
                )
                slot += has_constant
        return templates.end(slot)

    def columns(self) -> Columns:
        """The rows of all that was collected."""
        shapes = np.array(self._shapes, np.int64)
        templates = self._templates.arrays()
        alternatives = np.diff(templates.conjunction_starts)[shapes]
        rows = _ranges(templates.conjunction_starts, shapes)
        conjunctions = pa.table(
            {
                "number": np.repeat(np.array(self.numbers, np.int64), alternatives),
                "structure": templates.structures[rows].astype(np.int32),
                "predicates": templates.predicates[rows].astype(np.int32),
            }
        )
        return Columns(conjunctions, self._predicates(shapes, alternatives, templates))

    def _predicates(self, shapes: Integers, alternatives: Integers, templates: _TemplateArrays) -> pa.Table:
        rows = _ranges(templates.row_starts, shapes)
        counts = np.diff(templates.row_starts)[shapes]
        alternative, place, path, operator, slot, is_number, branching = templates.rows[rows].T
        first = np.cumsum(alternatives) - alternatives
        constants = np.cumsum(templates.slots[shapes]) - templates.slots[shapes]
        where = np.repeat(constants, counts) + slot
        texts, numbers = self._values(where, slot >= 0, is_number.astype(bool))
        return pa.table(
            {
                "conjunction": np.repeat(first, counts) + alternative,
                "place": place.astype(np.int16),
                "linear_path": path.astype(np.int32),
                "operator": operator.astype(np.int8),
                "text": texts,
                "number": numbers,
                "branching": branching.astype(np.int32),
            }
        )

    def _values(self, where: Integers, present: NDArray[np.bool_], is_number: NDArray[np.bool_]) -> tuple[Any, Any]:
        constants = pa.array(self._constants, pa.string())
        texts = constants.take(pa.array(where, mask=~present | is_number)).dictionary_encode()
        distinct = pa.array([_unquoted(each) for each in texts.dictionary.to_pylist()], pa.string())
        numbers = _doubles(constants.take(pa.array(where, mask=~present | ~is_number)))
        return distinct.take(texts.indices), numbers


@dataclass(frozen=True, slots=True)
class _Skeleton:
    """The shape of texts, and for each slot which of a text's constants stands there, unless they are in order."""

    shape: int
    slots: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class _TemplateArrays:
    rows: Integers
    row_starts: Integers
    structures: Integers
    predicates: Integers
    conjunction_starts: Integers
    slots: Integers


@dataclass(slots=True)
class _Templates:
    """The rows of shapes, one shape after the other."""

    rows: list[tuple[int, ...]] = field(default_factory=list)
    row_starts: list[int] = field(default_factory=lambda: [0])
    structures: list[int] = field(default_factory=list)
    predicates: list[int] = field(default_factory=list)
    conjunction_starts: list[int] = field(default_factory=lambda: [0])
    slots: list[int] = field(default_factory=list)

    def end(self, slots: int) -> int:
        """End a shape, which has so many constants; its id."""
        self.row_starts.append(len(self.rows))
        self.conjunction_starts.append(len(self.structures))
        self.slots.append(slots)
        return len(self.slots) - 1

    def arrays(self) -> _TemplateArrays:
        return _TemplateArrays(
            np.array(self.rows, np.int64).reshape(-1, 7),
            *(
                np.array(each, np.int64)
                for each in (self.row_starts, self.structures, self.predicates, self.conjunction_starts, self.slots)
            ),
        )


def _ranges(starts: Integers, which: Integers) -> Integers:
    """The numbers of the rows of each of the shapes ``which``, one after the other.

    >>> print(_ranges(np.array([0, 2, 5]), np.array([1, 0, 1])))
    [2 3 4 0 1 2 3 4]
    """
    counts = np.diff(starts)[which]
    ends = np.cumsum(counts)
    found: Integers = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts[which] - (ends - counts), counts)
    return found


def _cut(node: PatternNode, constant: Callable[[str], object]) -> object:
    """What a node has in common with others of its shape; its constants are given in the order of :func:`branches`."""
    tests = []
    for operator, value in ((value.operator, value.constant) for value in node.values):
        constant(printed_constant(value))
        tests.append((operator, type(value)))
    return node.axis, node.test, tuple(tests), tuple([_cut(child, constant) for child in node.children])


def _unquoted(constant: str) -> str:
    return constant[1:-1].replace(constant[0] * 2, constant[0])


def _doubles(lexical: Any) -> Any:
    """Numeric literals, some null, as ``xs:double``."""
    try:
        return pc.add(lexical.cast(pa.float64()), 0.0)
    except pa.ArrowInvalid:  # too great for one, or spelled in a way that Arrow does not know
        return pa.array(
            [None if each is None else float(literal(each)) + 0.0 for each in lexical.to_pylist()], pa.float64()
        )

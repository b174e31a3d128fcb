"""What proposers see of sample pairs, and what they propose: nodes that correspond, with a target leaf to be filled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import log2
from typing import Final, NamedTuple, Protocol, TypeAlias

from heptox.mapping.paths import path_text
from heptox.mapping.suggesting.model import Kind
from heptox.mapping.suggesting.records import Record, Selections
from heptox.pattern import TAG
from heptox.schema import TEXT, Path, SchemaTree, quoted, selection_step, split_selection

Values: TypeAlias = tuple[str | None, ...]
"""A value of each row, ``None`` where there is none."""

MOST_ROWS: Final = 400
"""How many pairs of records are looked at for one target leaf."""


class Row(NamedTuple):
    """A source record and the target record that corresponds to it, if there is one, in the pair of a number."""

    pair: int
    source: Record
    target: Record | None


@dataclass(frozen=True, slots=True)
class Nodes:
    """A source and a target node that correspond, which may be selections, with their records in the sample pairs.

    ``is_entity`` says that each source record makes a target record of its own.
    """

    source: Path
    target: Path
    rows: Sequence[Row]
    is_entity: bool

    @property
    def ends(self) -> tuple[Path, Path]:
        """Both nodes."""
        return self.source, self.target


class SourceLeaves:
    """What source leaves have in the rows of two nodes: those of the record, of those above, and of those below."""

    def __init__(self, tree: SchemaTree, nodes: Nodes, selections: Selections) -> None:
        self.tree, self.nodes = tree, nodes
        found: dict[Path, dict[int, list[str]]] = {}
        for number, row in enumerate(nodes.rows):
            for path, value in _known(nodes.source, row.source, selections):
                found.setdefault(path, {}).setdefault(number, []).append(value)
        self.several: dict[Path, tuple[tuple[str, ...], ...]] = {}
        self.single: dict[Path, Values] = {}
        self.repeating = frozenset(path for path in found if not self._is_on_the_way(path))
        for path, rows in found.items():
            if self._says_no_more(path, found):
                continue
            every = range(len(nodes.rows))
            if any(len(values) > 1 for values in rows.values()):
                self.several[path] = tuple(tuple(rows.get(number, ())) for number in every)
            else:
                self.single[path] = tuple(rows[number][0] if number in rows else None for number in every)

    def _is_on_the_way(self, path: Path) -> bool:
        """Whether the record, or one above it, owns a leaf, so that it is there once."""
        stop = self.tree.stop(path[:-1] if path[-1:] == (TAG,) else path)
        return self.nodes.source[: len(stop)] == stop

    def _says_no_more(self, path: Path, found: Mapping[Path, Mapping[int, list[str]]]) -> bool:
        """Whether a selection below the node has the values that the same without one of its conditions has, or is of
        the very value that it selects by.
        """
        for place in range(len(self.nodes.source), len(path)):
            name, tests = split_selection(path[place])
            if tests and found.get((*path[:place], name, *path[place + 1 :])) == found[path]:
                return True
            if any(test.path == path[place + 1 :] for test in tests):
                return True
        return False

    @cached_property
    def by_values(self) -> Mapping[Values, Sequence[Path]]:
        """The leaves that have some values."""
        found: dict[Values, list[Path]] = {}
        for path, values in self.single.items():
            found.setdefault(values, []).append(path)
        return found

    def present(self, wanted: Values) -> Sequence[tuple[Path, Values]]:
        """The leaves that have a value where there is a wanted one, and nowhere else."""
        return self._by_presence.get(_presence(wanted), ())

    @cached_property
    def _by_presence(self) -> Mapping[tuple[bool, ...], Sequence[tuple[Path, Values]]]:
        found: dict[tuple[bool, ...], list[tuple[Path, Values]]] = {}
        for path, values in self.single.items():
            found.setdefault(_presence(values), []).append((path, values))
        return found

    def term(self, path: Path, separator: str = "") -> str:
        """A leaf as a function of the node has it: one that repeats is gathered."""
        written = leaf_text(self.tree, path)
        return f"string-join({written}, {quoted(separator)})" if path in self.repeating else written

    def bits(self, wanted: Values) -> float:
        """How surprising it is, in bits, that some leaf has the wanted values: each value counts once in each pair."""
        found: dict[tuple[int, str], float] = {}
        for number, value in enumerate(wanted):
            if value is not None:
                counts = self._counts[number]
                total = sum(counts.values())
                found[self.sample(number), value] = log2(max(total, 2) / max(1, counts.get(value, 0)))
        return sum(found.values())

    def sample(self, row: int) -> int:
        """The number of the sample that a row is of: of the pair, or of the record where there is one pair only."""
        return self.nodes.rows[row].pair if self._has_several_pairs else row

    @cached_property
    def _has_several_pairs(self) -> bool:
        return len({row.pair for row in self.nodes.rows}) > 1

    @cached_property
    def _counts(self) -> Sequence[Mapping[str, int]]:
        """How many leaves have each value, row by row."""
        counts: list[dict[str, int]] = [{} for _ in self.nodes.rows]
        for path, values in self.single.items():
            if not any("[" in step for step in path):
                for number, value in enumerate(values):
                    if value is not None:
                        counts[number][value] = counts[number].get(value, 0) + 1
        return counts


def _presence(values: Values) -> tuple[bool, ...]:
    return tuple(value is not None for value in values)


def _known(source: Path, record: Record, selections: Selections) -> Iterator[tuple[Path, str]]:
    """The values that can be had from a record, with the paths of their leaves."""
    chain = record.chain
    for one, inner in zip(chain, (*chain[1:], None), strict=True):
        at = source[: len(one.node)]
        for leaf, value in one.values.items():
            yield (*at, *leaf), value
        for way, records in selections.places(one).items():
            if inner is None or records[0].node[: len(inner.node)] != inner.node:  # those come with the inner one
                for below in records:
                    for leaf, value in below.values.items():
                        yield (*at, *way, *leaf), value


@dataclass(frozen=True, slots=True)
class Slot:
    """A target leaf with the values that it has in the rows of two nodes that correspond.

    It ``is_optional`` where its element, or one around that, may be absent from the node. ``alike`` are the values that
    leaves and elements of these names have anywhere, if there are two samples of them.
    """

    leaf: Path
    wanted: Values
    leaves: SourceLeaves
    is_optional: bool = False
    alike: frozenset[str] = frozenset()

    def samples(self, values: Values) -> frozenset[int]:
        """The numbers of the samples in which there is a value."""
        return frozenset(self.leaves.sample(row) for row, value in enumerate(values) if value is not None)

    @property
    def distinct(self) -> int:
        """How many values the leaf has."""
        return len({value for value in self.wanted if value is not None})

    def is_refuted(self, values: Values) -> bool:
        """Whether some values are others than those that the leaf has, or are there where it is not."""
        return any(made not in (None, value) for made, value in zip(values, self.wanted, strict=True))


@dataclass(frozen=True, slots=True)
class Proposal:
    """An expression for a target leaf, the source leaves that it speaks of, and the values that it has in each row.

    ``cost`` says how much must speak for it besides, ``inverses`` how the leaves are had from the target leaf. A table
    of codes has ``codes``, and ``{table}`` in the expression stands for the name of its file.
    """

    kind: Kind
    expression: str
    sources: tuple[Path, ...]
    values: Values
    cost: float = 0.0
    inverses: tuple[str, ...] = ()
    codes: tuple[tuple[str, str], ...] = ()


class Proposer(Protocol):
    """Proposes expressions for target leaves; others leave out what the rows refute, and what exchange makes otherwise.

    >>> class Nothing:
    ...     def propose(self, slot: Slot) -> Iterator[Proposal]:
    ...         yield from ()
    >>> proposer: Proposer = Nothing()
    """

    def propose(self, slot: Slot) -> Iterator[Proposal]:
        """What may fill a leaf."""
        ...


def leaf_text(tree: SchemaTree, path: Path) -> str:
    """A leaf or node as it is written: without the steps to texts that elements have once."""
    return path_text(tree, tuple(map(_without_texts, _without_text(path))))


def _without_texts(step: str) -> str:
    name, tests = split_selection(step)
    return selection_step(name, tuple(replace(test, path=_without_text(test.path)) for test in tests))


def _without_text(path: Path) -> Path:
    return path[:-1] if len(path) > 1 and path[-1] == TEXT else path

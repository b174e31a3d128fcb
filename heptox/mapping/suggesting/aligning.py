"""Which source nodes correspond to which target nodes in pairs of sample documents.

The roots of a pair correspond. Below records that do, a target node corresponds to the source node, or selection, that
has as many records in every pair, and whose leaves have most of its values; or to the same record, where it is there
once at most. The records of both are paired in their order, or by a leaf whose values say which is which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

from heptox.mapping.suggesting.records import Record, Selections
from heptox.mapping.suggesting.slots import MOST_ROWS, Nodes, Proposal, Row, Slot, SourceLeaves
from heptox.schema import Path, SchemaTree, is_selection, plain, split_selection

LEAST_BITS: Final = 4.0
"""How surprising the values must be that two nodes share."""

_OWN: Final = 1.0
"""What speaks for a source node of its own beside the same record, in bits."""

_OWNED: Final = 0.3
"""What speaks besides for a node that owns a leaf, not what stands below it, in bits."""

_ELSEWHERE: Final = 0.5
"""How much the values count that a node has not itself, but gathers from others or has from those above."""

_CONDITION: Final = 0.5
"""What speaks against a condition, in bits."""


Groups: TypeAlias = Sequence[Sequence[Record]]
"""The records of a node in each of some rows."""


@dataclass(frozen=True, slots=True)
class Sides:
    """The two sides of sample pairs: their schemas, the roots of each pair, and what selects records."""

    trees: tuple[SchemaTree, SchemaTree]
    roots: Sequence[tuple[Record, Record]]
    selections: tuple[Selections, Selections]


@dataclass(frozen=True, slots=True)
class AlignedNodes:
    """Nodes that may correspond, which of its target leaves that explains, and how much speaks for it."""

    nodes: Nodes
    leaves: SourceLeaves
    explained: frozenset[Path]
    of: frozenset[Path]
    bits: float


class Alignment:
    """Finds the nodes that correspond, from the roots down; ``fillings`` gives what a slot can be filled by."""

    def __init__(self, sides: Sides, fillings: Callable[[Slot], Iterable[Proposal]]) -> None:
        self.sides, self._fillings = sides, fillings

    def found(self) -> Iterator[AlignedNodes]:
        """The nodes that correspond, outer ones first."""
        rows = [Row(number, *pair) for number, pair in enumerate(self.sides.roots)]
        waiting = [self._tried(Nodes((), (), rows, is_entity=False))]
        while waiting:
            found = waiting.pop(0)
            yield found
            waiting.extend(self._below(found.nodes))

    def _below(self, nodes: Nodes) -> Iterator[AlignedNodes]:
        """The nodes that correspond right below two others."""
        rows = [row for row in nodes.rows if row.target is not None][:MOST_ROWS]
        below = {
            node: None for row in rows if row.target is not None for node in (one.node for one in row.target.below)
        }
        for node in below:
            best = self._best(nodes, rows, node[len(nodes.target) :])
            kinds: list[AlignedNodes] = []
            if best is None or best.explained < best.of:
                every = (self._by_kind(nodes, rows, node, leaf) for leaf in self.sides.selections[1].kinds(node))
                kinds = max(every, key=lambda each: len(_explained(each)), default=[])
            if best is None or _explained(kinds) > best.explained:
                yield from kinds
            else:
                yield best

    def _by_kind(self, nodes: Nodes, rows: Sequence[Row], node: Path, leaf: Path) -> list[AlignedNodes]:
        """What corresponds to each kind of record, by the value of a leaf."""
        steps = {
            step: None
            for row in rows
            if row.target is not None
            for one in row.target.below
            if one.node == node
            for step in self.sides.selections[1].steps(one)
            if any(test.path == leaf for test in split_selection(step)[1])
        }
        found = [self._best(nodes, rows, (*node[len(nodes.target) : -1], step)) for step in steps]
        known = [one for one in found if one is not None]
        here = sum(one.node == node for row in rows if row.target is not None for one in row.target.below)
        selected = sum(row.target is not None for one in known for row in one.nodes.rows)
        return known if selected == here else []

    def _best(self, nodes: Nodes, rows: Sequence[Row], way: Path) -> AlignedNodes | None:
        """What corresponds best to the target records on a way."""
        places = (self.sides.selections[1].places(row.target) if row.target is not None else {} for row in rows)
        groups = [found.get(way, ()) for found in places]
        tried = map(self._tried, self._candidates(nodes, rows, (*nodes.target, *way), groups))
        return max((one for one in tried if one.bits >= LEAST_BITS), key=lambda one: one.bits, default=None)

    def _candidates(self, nodes: Nodes, rows: Sequence[Row], target: Path, groups: Groups) -> Iterator[Nodes]:
        """The source nodes that may correspond to a target node, of which there are groups of records in some rows."""
        if all(len(records) <= 1 for records in groups):
            same = [Row(row.pair, row.source, next(iter(of), None)) for row, of in zip(rows, groups, strict=True)]
            yield Nodes(nodes.source, target, same, is_entity=False)
        places = [self.sides.selections[0].places(row.source) for row in rows]
        for way in dict.fromkeys(way for found in places for way in found):
            sources = [found.get(way, ()) for found in places]
            if all(len(one) == len(other) for one, other in zip(sources, groups, strict=True)):
                pairs = [
                    Row(row.pair, *pair)
                    for row, ones, others in zip(rows, _in_order(sources, groups), groups, strict=True)
                    for pair in zip(ones, others, strict=True)
                ]
                yield Nodes((*nodes.source, *way), target, pairs[:MOST_ROWS], is_entity=True)

    def _tried(self, nodes: Nodes) -> AlignedNodes:
        leaves = SourceLeaves(self.sides.trees[0], nodes, self.sides.selections[0])
        tree = self.sides.trees[1]
        slots = list(wanted_slots(tree, nodes, leaves, deep=True))
        explained: set[Path] = set()
        near = bits = 0.0
        for slot in slots:
            proposals = list(self._fillings(slot))
            speaking = {path for one in proposals if _says(one) for path in one.sources}
            if proposals:
                explained.add(plain(slot.leaf))
            if speaking:
                surprise, own = leaves.bits(slot.wanted), {path for path in speaking if _is_own(nodes, path)}
                near += surprise if own else 0.0
                # what stands below on both sides is gathered only as long as nothing below corresponds
                is_below = nodes.is_entity and tree.stop(plain(slot.leaf)[:-1]) != plain(nodes.target)
                bits += surprise + _OWNED if (own if is_below else own - leaves.repeating) else _ELSEWHERE * surprise
        bits += _OWN * nodes.is_entity - _CONDITION * sum(map(is_selection, nodes.source))
        of = frozenset(plain(slot.leaf) for slot in slots)
        return AlignedNodes(nodes, leaves, frozenset(explained), of, bits if near >= LEAST_BITS else 0.0)


def _in_order(sources: Groups, targets: Groups) -> Groups:
    """Groups of source records in the order of the target records, as far as leaves of both say which is which."""
    ours, theirs = _shared(sources), _shared(targets)
    keys = [
        (one, other)
        for other, wanted in theirs.items()
        for one in islice((leaf for leaf, values in ours.items() if _sorted(values) == _sorted(wanted)), 1)
    ]
    found: list[list[Record]] = []
    for group, others in zip(sources, targets, strict=True):
        by_keys = sorted(group, key=lambda record: [record.values[one] for one, _ in keys])
        places = sorted(range(len(others)), key=lambda place: [others[place].values[other] for _, other in keys])
        known = dict(zip(places, by_keys, strict=True))
        found.append([known[place] for place in range(len(others))])
    agree, after = (sum(_shared(each)[one] == theirs[other] for one, other in keys) for each in (sources, found))
    return found if after > agree else sources


def _shared(groups: Groups) -> dict[Path, list[list[str]]]:
    """The values of the leaves that all records have, group by group."""
    every = [record for group in groups for record in group]
    leaves = [leaf for leaf in every[0].values if all(leaf in one.values for one in every)] if every else []
    return {leaf: [[one.values[leaf] for one in group] for group in groups] for leaf in leaves}


def _sorted(groups: Sequence[Sequence[str]]) -> list[list[str]]:
    return [sorted(group) for group in groups]


def _says(proposal: Proposal) -> bool:
    """Whether a proposal takes its values from a source leaf: that says which nodes correspond."""
    return proposal.kind not in ("constant", "table")


def _is_own(nodes: Nodes, path: Path) -> bool:
    """Whether a source node has a leaf itself, or below it; one that is no node of its own has those above, too."""
    return not nodes.is_entity or path[: len(nodes.source)] == nodes.source


def _explained(found: Sequence[AlignedNodes]) -> frozenset[Path]:
    """The leaves that are explained in all kinds of a node that have them, and those that say which kind it is."""
    missing = {leaf for one in found for leaf in one.of - one.explained}
    said = (
        plain((*one.nodes.target, *test.path)) for one in found for test in split_selection(one.nodes.target[-1])[1]
    )
    return frozenset({*(leaf for one in found for leaf in one.explained), *said} - missing)


def wanted_slots(tree: SchemaTree, nodes: Nodes, leaves: SourceLeaves, *, deep: bool = False) -> Iterator[Slot]:
    """The target leaves of a node with their values; if ``deep``, what stands below it once, too.

    What the condition of a selection says itself is left out.
    """
    said = {test.path for test in split_selection(nodes.target[-1])[1]} if nodes.target else set()
    found: dict[Path, list[str | None]] = {}
    repeating: set[Path] = set()
    for number, row in enumerate(nodes.rows):
        for record in (row.target.every() if deep else (row.target,)) if row.target is not None else ():
            for leaf, value in record.values.items():
                path = (*record.node[len(nodes.target) :], *leaf)
                if path in said:
                    continue
                values = found.setdefault(path, [None] * len(nodes.rows))
                if values[number] is not None:
                    repeating.add(path)
                values[number] = value
    node = plain(nodes.target)
    for path, wanted in found.items():
        if path not in repeating:
            holder = plain((*nodes.target, *path))[:-1] if path else node
            is_optional = len(holder) > len(node) and not tree.required(holder, node)
            yield Slot((*nodes.target, *path), tuple(wanted), leaves, is_optional)

"""The one statement of a query's loops, and the order of its rows: a sorted outer union.

Every member of every block gives a select; the rows of a match come right after the row of the match that it belongs
to (Shanmugasundaram and others, *Efficiently publishing relational data as XML documents*, 2001).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from heptox.store import sql
from heptox.store.joins import NotCompiledError
from heptox.store.plan import Block, LeafSlot, Member

MOST_SOURCES: Final = 100
"""Relations that a select joins: DuckDB plans 100 in a second, 200 in ten."""
MOST_COLUMNS: Final = 2_000
"""Columns of a select: DuckDB plans 2,000 in half a second, 20,000 in a minute."""
MOST_VALUES: Final = 25_000
"""Columns of all selects together."""

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Branch:
    """A member with the members that its matches belong to, outermost first.

    ``block`` says where its block stands: the turns and members that lead to it. ``turn`` is the last of these: which
    part of the member above it belongs to; at the top, which of the query's loops.
    """

    member: Member
    block: tuple[int, ...]
    above: tuple[Branch, ...]

    @property
    def turn(self) -> int:
        return self.block[-1]

    @property
    def lineage(self) -> tuple[Branch, ...]:
        return (*self.above, self)


@dataclass(frozen=True, slots=True)
class Plan:
    """A statement whose rows are: the number of a branch, of a document, the texts and the offsets of its member."""

    branches: tuple[Branch, ...]
    statement: sql.Statement
    texts: int
    offsets: int

    @property
    def reads_texts(self) -> bool:
        """Whether some items are elements as they stand in the texts of documents."""
        return self.offsets > 0

    @property
    def leaves(self) -> frozenset[str]:
        """The names of the elements that are given back by their texts."""
        parts = (part for branch in self.branches for part in branch.member.parts)
        return frozenset(part.name for part in parts if isinstance(part, LeafSlot))


def planned(blocks: Sequence[Block]) -> Plan:
    """The plan of the loops of a query.

    Raises :class:`NotCompiledError` where its statement would be too large: it is planned in a step that nothing ends.
    """
    branches = tuple(branch for turn, block in enumerate(blocks) for branch in _branches(block, (turn,), ()))
    if any(len(branch.member.sources) > MOST_SOURCES for branch in branches):
        raise NotCompiledError(f"its statement joins over {MOST_SOURCES} relations")
    texts = max((len(branch.member.texts) for branch in branches), default=0)
    offsets = max((len(branch.member.offsets) for branch in branches), default=0)
    keys = _Keys(branches, several=len(blocks) > 1)
    columns = texts + offsets + len(keys.descending)
    if columns > MOST_COLUMNS or columns * len(branches) > MOST_VALUES:
        raise NotCompiledError(
            f"its statement has over {MOST_COLUMNS:,} columns, or over {MOST_VALUES:,} in all selects"
        )
    selects = tuple(
        sql.Select(
            (
                sql.Integer(number),
                branch.member.document,
                *_padded(branch.member.texts, texts, sql.String(None)),
                *_padded(branch.member.offsets, offsets, sql.Integer(None)),
                *keys.of(branch),
            ),
            branch.member.sources,
            sql.All(branch.member.where),
        )
        for number, branch in enumerate(branches)
    )
    first = 2 + texts + offsets
    order = (sql.Key(1), *(sql.Key(first + place, descending) for place, descending in enumerate(keys.descending)))
    return Plan(branches, sql.Statement(selects, order), texts, offsets)


def _branches(block: Block, at: tuple[int, ...], above: tuple[Branch, ...]) -> Iterator[Branch]:
    for number, member in enumerate(block.members):
        branch = Branch(member, at, above)
        yield branch
        for turn, inner in member.blocks:
            yield from _branches(inner, (*at, number, turn), branch.lineage)


def _padded(values: Sequence[sql.Expression], length: int, empty: sql.Expression) -> Iterator[sql.Expression]:
    yield from values
    yield from [empty] * (length - len(values))


class _Keys:
    """The columns that put rows in order, level by level: whose turn it is, then ``order by``, then the nodes."""

    def __init__(self, branches: Sequence[Branch], *, several: bool) -> None:
        self._several = several
        self._levels = max((len(branch.above) for branch in branches), default=0) + 1
        self._blocks = [
            list({branch.block: branch for branch in branches if len(branch.above) == level}.values())
            for level in range(self._levels)
        ]
        self._nodes = [
            max((len(branch.member.keys) for branch in branches if len(branch.above) == level), default=0)
            for level in range(self._levels)
        ]
        self.descending: list[bool] = []
        for level in range(self._levels):
            self.descending += [False] * self._has_turns(level)
            for branch in self._blocks[level]:
                self.descending += [order.descending for order in branch.member.order]
            self.descending += [False] * self._nodes[level]

    def _has_turns(self, level: int) -> bool:
        return level > 0 or self._several

    def of(self, branch: Branch) -> Iterator[sql.Expression]:
        lineage = branch.lineage
        for level in range(self._levels):
            here = lineage[level] if level < len(lineage) else None
            if self._has_turns(level):
                yield sql.Integer(-1 if here is None else here.turn)
            for other in self._blocks[level]:
                mine = here is not None and other.block == here.block
                for place in range(len(other.member.order)):
                    yield here.member.order[place].value if mine and here else sql.String(None)
            yield from _padded(() if here is None else here.member.keys, self._nodes[level], sql.Integer(None))

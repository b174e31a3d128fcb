"""The one statement of a query's loops, and the order of its rows: a sorted outer union.

Every member of every block gives a select; the rows of a match come right after the row of the match that it belongs
to (Shanmugasundaram and others, *Efficiently publishing relational data as XML documents*, 2001).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import TypeVar

from heptox.store import sql
from heptox.store.plan import Block, Member

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Branch:
    """A member with the members that its matches belong to, outermost first, each with its place in its block's."""

    member: Member
    block: Block
    above: tuple[Branch, ...]
    turn: int
    """Which block of the member above it belongs to; at the top, which of the query's loops."""

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

    def __reduce__(self) -> tuple[Callable[..., Plan], tuple[object, ...]]:
        """A plan can be sent to another process, where the expressions of its query have other identities."""
        expressions = {id(part): part for branch in self.branches for part in _parts(branch.block.result)}
        return _received, (expressions, self.branches, self.statement, self.texts, self.offsets)


def _parts(expression: object) -> Iterator[object]:
    """An expression and all that it is made of."""
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting.extend(part)
        elif is_dataclass(part):
            yield part
            waiting.extend(getattr(part, each.name) for each in fields(part))


def _received(
    expressions: Mapping[int, object],
    branches: tuple[Branch, ...],
    statement: sql.Statement,
    texts: int,
    offsets: int,
) -> Plan:
    """A plan whose members speak of expressions by the identities that they had where it was made."""

    def by_identity(values: Mapping[int, _Value]) -> dict[int, _Value]:
        return {id(expressions[number]): value for number, value in values.items() if number in expressions}

    for member in {id(branch.member): branch.member for branch in branches}.values():
        member.slots = by_identity(member.slots)
        member.tags = by_identity(member.tags)
        member.blocks = by_identity(member.blocks)
    return Plan(branches, statement, texts, offsets)


def planned(blocks: Sequence[Block]) -> Plan:
    """The plan of the loops of a query."""
    branches = tuple(branch for turn, block in enumerate(blocks) for branch in _branches(block, (), turn))
    texts = max((len(branch.member.texts) for branch in branches), default=0)
    offsets = max((len(branch.member.offsets) for branch in branches), default=0)
    keys = _Keys(branches, several=len(blocks) > 1)
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


def _branches(block: Block, above: tuple[Branch, ...], turn: int) -> Iterator[Branch]:
    for member in block.members:
        branch = Branch(member, block, above, turn)
        yield branch
        for inner_turn, inner in enumerate(member.blocks.values(), start=1):
            yield from _branches(inner, branch.lineage, inner_turn)


def _padded(values: Sequence[sql.Expression], length: int, empty: sql.Expression) -> Iterator[sql.Expression]:
    yield from values
    yield from [empty] * (length - len(values))


class _Keys:
    """The columns that put rows in order, level by level: whose turn it is, then ``order by``, then the nodes."""

    def __init__(self, branches: Sequence[Branch], *, several: bool) -> None:
        self._several = several
        self._levels = max((len(branch.above) for branch in branches), default=0) + 1
        self._blocks = [
            list({id(branch.block): branch for branch in branches if len(branch.above) == level}.values())
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
                yield sql.Integer(0 if here is None else here.turn)
            for other in self._blocks[level]:
                mine = here is not None and other.block is here.block
                for place in range(len(other.member.order)):
                    yield here.member.order[place].value if mine and here else sql.String(None)
            yield from _padded(() if here is None else here.member.keys, self._nodes[level], sql.Integer(None))

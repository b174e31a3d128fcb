"""What a query becomes over the relations of a schema: one statement, and how its rows are put together to items.

A **block** is a loop of the query: an expression whose value is made of the matches of some variables. Its **members**
are the joins that together give the matches, one for each way in which its paths lead through the schema. A member
has slots, the values that its own match holds, and inner blocks, whose matches belong to one of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias

from heptox.grammar import syntax
from heptox.store.sql import Condition, Expression, Integer, Source


@dataclass(frozen=True, slots=True)
class LeafSlot:
    """An element that holds nothing but text: ``name`` and the place of its text among the texts of its member."""

    name: str
    text: int


@dataclass(frozen=True, slots=True)
class RangeSlot:
    """An element as it stands in its document: the places of its ends among the offsets of its member, and that of the
    document's number where that is not the one of the member.
    """

    node: int
    stop: int
    document: int | None = None


@dataclass(frozen=True, slots=True)
class AttributeSlot:
    name: str
    value: int


@dataclass(frozen=True, slots=True)
class TextSlot:
    """A text node, which is there when its text is not empty."""

    value: int


@dataclass(frozen=True, slots=True)
class EmptySlot:
    """Nothing: no path of the schema leads there."""


Slot: TypeAlias = LeafSlot | RangeSlot | AttributeSlot | TextSlot | EmptySlot


@dataclass(frozen=True, slots=True)
class OrderBy:
    value: Expression
    descending: bool


_NO_DOCUMENT: Final = Integer(None)


@dataclass(slots=True)
class Member:
    """A join: what puts its matches in order, its sources and condition, the document's number, and the values."""

    keys: tuple[Expression, ...]
    order: tuple[OrderBy, ...]
    sources: tuple[Source, ...] = ()
    where: tuple[Condition, ...] = ()
    document: Expression = _NO_DOCUMENT
    texts: list[Expression] = field(default_factory=list)
    offsets: list[Expression] = field(default_factory=list)
    slots: dict[int, Slot] = field(default_factory=dict)
    """By the identity of the expression in the query."""
    tags: dict[int, str] = field(default_factory=dict)
    """The values of tags that expressions ask for, by the identity of the expression."""
    blocks: dict[int, Block] = field(default_factory=dict)


@dataclass(slots=True)
class Block:
    """The loop of an expression: for each match of a member, in order, the items of ``result``."""

    result: syntax.Expression
    members: list[Member] = field(default_factory=list)

    @property
    def item(self) -> syntax.Expression:
        """What each match gives."""
        return self.result.result if isinstance(self.result, syntax.Flwor) else self.result

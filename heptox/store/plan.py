"""What a query becomes over the relations of a schema: one statement, and how its rows are put together to items.

A **block** is a loop of the query: an expression whose value is made of the matches of some variables. Its **members**
are the joins that together give the matches, one for each way in which its paths lead through the schema. A member
has a template, in whose places stand slots, the values that its own match holds, and inner blocks, whose matches belong
to one of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from heptox.grammar import syntax
from heptox.store.sql import Condition, Expression, Source

_PLACE: Final = "#"
NOTHING: Final = syntax.Sequence()


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


Slot: TypeAlias = LeafSlot | RangeSlot | AttributeSlot | TextSlot


@dataclass(frozen=True, slots=True)
class OrderBy:
    value: Expression
    descending: bool


@dataclass(frozen=True, slots=True)
class Member:
    """A join: what puts its matches in order, its sources and condition, the document's number, the values, and the
    template of the items of each match, whose :func:`places <place>` stand for the ``parts``.
    """

    keys: tuple[Expression, ...]
    order: tuple[OrderBy, ...]
    sources: tuple[Source, ...]
    where: tuple[Condition, ...]
    document: Expression
    texts: tuple[Expression, ...]
    offsets: tuple[Expression, ...]
    template: syntax.Expression
    parts: tuple[Slot | Block, ...]

    @property
    def blocks(self) -> tuple[tuple[int, Block], ...]:
        """The inner blocks, each with the number of its place."""
        return tuple((number, part) for number, part in enumerate(self.parts) if isinstance(part, Block))

    def part(self, path: syntax.PathExpression) -> tuple[int, Slot | Block]:
        """What stands in a place of the template, and its number."""
        number = int(path.start.removeprefix(_PLACE))
        return number, self.parts[number]


@dataclass(frozen=True, slots=True)
class Block:
    """A loop: each match of a member, in order, gives the items of its template."""

    members: tuple[Member, ...]


def place(number: int, path: syntax.Node) -> syntax.PathExpression:
    """What a template says where a part of its member stands: a path that no query has."""
    return syntax.PathExpression(f"{_PLACE}{number}", position=path.position)

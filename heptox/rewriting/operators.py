"""The operators that rewrite documents of one schema into another (section 2.3.1 of Ni and Chan, "Dissemination of
heterogeneous XML data in publish/subscribe systems"; ``rewriting.md``).

An operator names nodes of a :class:`~heptox.rewriting.working_tree.WorkingTree`: nodes of the source
schema by their paths there, wherever they stand by now, and nodes that an insert has made by the path of the element in
which it made them and ``+name``.

Beyond the paper are :class:`ToAttribute`, which undoes :class:`ToElement`, and those that mappings need which do not
carry everything: :class:`Dissolve`, :class:`Drop`, :class:`Prune` and :class:`Arrange`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from heptox.schema import Path

NodeId: TypeAlias = Path


def lowest_above(nodes: Iterable[NodeId]) -> NodeId:
    """The lowest node that some nodes all stand in by their ids, or are; the root without any.

    >>> lowest_above([("a", "b", "c"), ("a", "b", "d"), ("a", "b")])
    ('a', 'b')
    """
    known = list(nodes)
    if not known:
        return ()
    first, last = min(known), max(known)
    length = next((place for place, step in enumerate(first) if last[place : place + 1] != (step,)), len(first))
    return first[:length]


@dataclass(frozen=True, slots=True)
class Rename:
    """Elements, or attributes, get another name."""

    node: NodeId
    name: str


@dataclass(frozen=True, slots=True)
class ToElement:
    """An attribute becomes the first child of its element, before any text, of the same name."""

    attribute: NodeId


@dataclass(frozen=True, slots=True)
class ToAttribute:
    """A leaf that stands once becomes an attribute of the element that it stands in, of the same name."""

    leaf: NodeId


@dataclass(frozen=True, slots=True)
class Insert:
    """A path of new elements is made at the end of each ``element``, and ``children`` of it move to its end; all of
    them, Insert+, where that is ``None``. Nothing is made where nothing would go in."""

    element: NodeId
    names: tuple[str, ...]
    children: tuple[NodeId, ...] | None = None

    @property
    def made(self) -> tuple[NodeId, ...]:
        """The new nodes, the outermost first."""
        return tuple((*self.element, *(f"+{name}" for name in self.names[:length])) for length in self._lengths)

    @property
    def _lengths(self) -> range:
        return range(1, len(self.names) + 1)


@dataclass(frozen=True, slots=True)
class Upgrade:
    """``children`` of an element become its next siblings, before any text behind it; all of them, Upgrade+, where that
    is ``None``."""

    element: NodeId
    children: tuple[NodeId, ...] | None = None


@dataclass(frozen=True, slots=True)
class Downgrade:
    """``children`` of an element are copied into each of its children ``into``, at the end.

    Where there is none, they stay where they are; with ``or_drop`` they go.
    """

    element: NodeId
    children: tuple[NodeId, ...]
    into: NodeId
    or_drop: bool = False


@dataclass(frozen=True, slots=True)
class Swap:
    """Each ``child`` takes the place of its ``element``, and a copy of that, without any ``child``, becomes its last
    child.

    Where there is no child, the element stays; with ``or_drop`` it goes.
    """

    element: NodeId
    child: NodeId
    or_drop: bool = False


@dataclass(frozen=True, slots=True)
class Dissolve:
    """The children of an element take its place; its own text and attributes go."""

    element: NodeId


@dataclass(frozen=True, slots=True)
class Drop:
    """A node goes with all below it: an element, an attribute, or the text of an element (``text()``)."""

    node: NodeId


@dataclass(frozen=True, slots=True)
class Prune:
    """Elements with nothing in them go: no element, no attribute, and no text."""

    element: NodeId


@dataclass(frozen=True, slots=True)
class Arrange:
    """The children of an element come in the order of ``children``; those of one kind keep theirs."""

    element: NodeId
    children: tuple[NodeId, ...]


Operator: TypeAlias = (
    Rename | ToElement | ToAttribute | Insert | Upgrade | Downgrade | Swap | Dissolve | Drop | Prune | Arrange
)

"""Arrows into and out of one member of a box: which of them can be chosen depends on the tags of box nodes.

The tags are told apart as far as arrows do: for each box the members that have arrows of their own, and ``None`` for
all other tags.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Literal, TypeAlias

from heptox.grammar import Side
from heptox.mapping.correspondences import Correspondence
from heptox.mapping.paths import Leaf
from heptox.schema import Path

BoxSide: TypeAlias = tuple[Side, Path]
"""A box: its side and its path."""

Tags: TypeAlias = Mapping[BoxSide, str | None]
"""The tag of a node of each box; ``None`` is any that no arrow names."""

TagCondition: TypeAlias = tuple[Leaf, Literal["=", "!="], str]
"""What the value of a source leaf, which is the tag, must be or must not be."""


def needed(correspondence: Correspondence) -> dict[BoxSide, str]:
    """The tag that an arrow needs of a node of each box that it leads out of or into one member of."""
    out_of: dict[BoxSide, str] = {("source", box): member for box, member in correspondence.out_of}
    return out_of | {("target", box): member for box, member in correspondence.into}


def own_members(found: Iterable[Correspondence]) -> dict[BoxSide, tuple[str, ...]]:
    """For each box the members that have arrows of their own, in the order of the arrows."""
    members: dict[BoxSide, dict[str, None]] = {}
    for correspondence in found:
        for place, member in sorted(needed(correspondence).items()):
            members.setdefault(place, {})[member] = None
    return {place: tuple(names) for place, names in members.items()}


def all_tags(members: Mapping[BoxSide, Sequence[str]]) -> Iterator[Tags]:
    """Every choice of a tag for each box."""
    for chosen in product(*((*names, None) for names in members.values())):
        yield dict(zip(members, chosen, strict=True))


def available(correspondence: Correspondence, tags: Tags) -> bool:
    """Whether an arrow can be chosen for nodes with such tags."""
    return all(tags[place] == member for place, member in needed(correspondence).items())


def tag_conditions(
    members: Mapping[Leaf, Sequence[str]], holds: Callable[[Mapping[Leaf, str | None]], bool]
) -> tuple[tuple[TagCondition, ...], ...]:
    """Conjunctions on the values of leaves, each pair contradictory, that together say when ``holds`` does.

    ``members`` are the values of each leaf that it distinguishes.

    >>> kind = Leaf(("a",), ("kind",))
    >>> tag_conditions({kind: ("x", "y")}, lambda values: values[kind] != "x")
    (((Leaf(stop=('a',), path=('kind',)), '!=', 'x'),),)
    """
    leaves = tuple(members)
    chosen = product(*((*members[leaf], None) for leaf in leaves))
    where = frozenset(values for values in chosen if holds(dict(zip(leaves, values, strict=True))))
    return tuple(_told_apart(leaves, members, where))


def _told_apart(
    leaves: Sequence[Leaf], members: Mapping[Leaf, Sequence[str]], where: frozenset[tuple[str | None, ...]]
) -> Iterator[tuple[TagCondition, ...]]:
    if not leaves:
        if where:
            yield ()
        return
    first, *others = leaves

    def rest(value: str | None) -> frozenset[tuple[str | None, ...]]:
        return frozenset(values[1:] for values in where if values[0] == value)

    # Of the values that allow the same as any other tag does, nothing needs saying.
    special = [value for value in members[first] if rest(value) != rest(None)]
    for value in special:
        for conditions in _told_apart(others, members, rest(value)):
            yield (first, "=", value), *conditions
    for conditions in _told_apart(others, members, rest(None)):
        yield *((first, "!=", value) for value in special), *conditions

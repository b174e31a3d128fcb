"""Identifiers that no arrow supplies (``semantics.md`` section 2, *Surrogates*)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from heptox.mapping.correspondences import Correspondence, Entity
from heptox.mapping.declarations import DeclaredSide
from heptox.mapping.model import Reference
from heptox.mapping.paths import Leaf, is_sure, leaf_at, schema_order
from heptox.pattern import NODE
from heptox.schema import Path, SchemaTree, id_paths


@dataclass(frozen=True, slots=True)
class Made:
    """The arrows with those that supply ``surrogates``, and the target leaves whose values are invented."""

    arrows: tuple[Correspondence, ...]
    surrogates: frozenset[Correspondence]
    invented: frozenset[Path]


def with_surrogates(
    arrows: Sequence[Correspondence], entities: Sequence[Entity], source: DeclaredSide, target: DeclaredSide
) -> Made:
    """The arrows, and others into identifiers that take none.

    An identifier takes what its node is identified by, where that is one value: the source node that it stands for, or
    a key of that; or its only leaf. A leaf that refers to a key takes what the key does, where what makes its node
    makes the node that it refers to as well; of several that do, those that ``target.joins`` says to connect by.
    """
    found = list(arrows)
    taken = {c.target for c in found}
    invented: dict[Path, None] = {}
    for path in _identifiers(target):
        leaf = leaf_at(target.tree, path)
        for value in () if leaf in taken else _identity(leaf.stop, arrows, entities, source):
            found.append(Correspondence(value, leaf))
            invented[path] = None
    for reference in target.references:
        holder = leaf_at(target.tree, reference.source)
        if holder not in taken and _connects(reference, target):
            found += _followed(holder, reference.target, arrows, found, source.tree)
            if reference.target in invented:
                invented[reference.source] = None
    return Made(tuple(dict.fromkeys(found)), frozenset(found) - frozenset(arrows), frozenset(invented))


def _identifiers(target: DeclaredSide) -> list[Path]:
    """The leaves that identify elements, in schema order."""
    keys = {*id_paths(target.tree), *(reference.target for reference in target.references)}
    return sorted((key for key in keys if target.tree.stop(key)), key=lambda key: schema_order(target.tree, key))


def _identity(
    stop: Path, arrows: Sequence[Correspondence], entities: Sequence[Entity], source: DeclaredSide
) -> list[Leaf]:
    """The leaves of the source whose values are as good as the identity of a target node: one, or one for each source
    node that it may stand for. A key of one kind of nodes says nothing of another kind, so several are themselves.
    """
    tree = source.tree
    stands_for = list(dict.fromkeys(entity.source for entity in entities if entity.target == stop))
    if stands_for:
        keys = [leaf for leaf in (leaf_at(tree, key) for key in source.keys) if [leaf.stop] == stands_for]
        sure = [leaf for leaf in keys if is_sure(tree, leaf)]
        if sure:
            return [min(sure, key=lambda leaf: schema_order(tree, leaf.absolute))]
        return [Leaf(node, (NODE,)) for node in stands_for]
    own = [c for c in arrows if c.target.stop == stop]
    if len(own) != 1 or own[0].copied or own[0].into or own[0].out_of or not own[0].source.stop:
        return []
    leaf = own[0].source
    is_alone = not any(c.target.stop[: len(stop)] == stop != c.target.stop for c in arrows)  # the node is there by it
    return [leaf] if leaf.absolute in tree and (is_alone or is_sure(tree, leaf)) else []


def _connects(reference: Reference, side: DeclaredSide) -> bool:
    """Whether a reference is the one that connects its two nodes: what connects them says nothing of the others."""
    stop = side.tree.stop(reference.source)
    rivals = [one for one in side.references if (side.tree.stop(one.source), one.target) == (stop, reference.target)]
    return len(rivals) == 1 or reference in side.joins


def _followed(
    holder: Leaf, key: Path, arrows: Sequence[Correspondence], found: Sequence[Correspondence], source: SchemaTree
) -> list[Correspondence]:
    """Arrows into a leaf that refers to a key, from what the key takes, if what makes its node makes that one too."""
    stops = {c.source.stop for c in arrows if c.target.stop == holder.stop}
    return [
        Correspondence(c.source, holder, out_of=c.out_of)
        for c in found
        if c.target.absolute == key and c.source.stop and not c.copied
        if any(c.source.stop in source.stops(stop) for stop in stops)
    ]

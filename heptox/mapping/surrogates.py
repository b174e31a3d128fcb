"""Identifiers that no arrow supplies (``semantics.md`` section 2, *Surrogates*)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from heptox.mapping.correspondences import Correspondence, Entity
from heptox.mapping.declarations import DeclaredSide
from heptox.mapping.paths import Leaf, leaf_at, schema_order
from heptox.schema import Path, SchemaTree, id_paths


@dataclass(frozen=True, slots=True)
class Made:
    """The arrows with those that supply surrogates, and the target leaves whose values are invented."""

    arrows: tuple[Correspondence, ...]
    invented: frozenset[Path]


def with_surrogates(
    arrows: Sequence[Correspondence], entities: Sequence[Entity], source: DeclaredSide, target: DeclaredSide
) -> Made:
    """The arrows, with one into each identifier that takes none, where the identity of its node is one value: a key of
    the source node that it stands for, or its only leaf; and with one into each leaf that refers to a key and takes
    none, where what makes the node makes the node that it refers to as well.
    """
    found = list(arrows)
    taken = {c.target for c in found}
    invented: dict[Path, None] = {}
    for path in _identifiers(target):
        leaf = leaf_at(target.tree, path)
        value = None if leaf in taken else _identity(leaf.stop, arrows, entities, source)
        if value is not None:
            found.append(Correspondence(value, leaf))
            invented[path] = None
    for reference in target.references:
        holder = leaf_at(target.tree, reference.source)
        if holder not in taken:
            found += _followed(holder, reference.target, arrows, found, source.tree)
            if reference.target in invented:
                invented[reference.source] = None
    return Made(tuple(dict.fromkeys(found)), frozenset(invented))


def _identifiers(target: DeclaredSide) -> list[Path]:
    """The leaves that identify elements, in schema order."""
    keys = {*id_paths(target.tree), *(reference.target for reference in target.references)}
    return sorted((key for key in keys if target.tree.stop(key)), key=lambda key: schema_order(target.tree, key))


def _identity(
    stop: Path, arrows: Sequence[Correspondence], entities: Sequence[Entity], source: DeclaredSide
) -> Leaf | None:
    """The leaf of the source whose value is as good as the identity of a target node; ``None`` where there is none."""
    tree = source.tree
    lines = [entity for entity in entities if entity.target == stop]
    if lines:
        keys = [key for key in source.keys if len(lines) == 1 and tree.stop(key) == lines[0].source]
        sure = [key for key in keys if tree.required(key, below=lines[0].source)]
        return leaf_at(tree, min(sure, key=lambda key: schema_order(tree, key))) if sure else None
    own = [c for c in arrows if c.target.stop == stop]
    if len(own) != 1 or own[0].copied or own[0].into or own[0].out_of or not own[0].source.stop:
        return None
    leaf = own[0].source
    return leaf if leaf.absolute in tree and tree.required(leaf.absolute, below=leaf.stop) else None


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

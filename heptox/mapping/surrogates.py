"""Identifiers that no arrow supplies (``semantics.md`` section 2, *Surrogates*)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from heptox.mapping.correspondences import Correspondence, Entity, is_selected_by
from heptox.mapping.declarations import DeclaredSide
from heptox.mapping.model import Reference
from heptox.mapping.paths import Leaf, is_sure, leaf_at, schema_order
from heptox.pattern import NODE
from heptox.schema import Path, SchemaTree, is_identifier


@dataclass(frozen=True, slots=True)
class ArrowSet:
    """The arrows with those that supply ``surrogates``, and the target leaves whose values are invented.

    An ``identified`` leaf takes what its stop node is identified by, a ``referring`` one what a node at another stop
    node is: each rule that makes the node knows of what leaves.
    """

    arrows: tuple[Correspondence, ...]
    surrogates: frozenset[Correspondence]
    invented: frozenset[Path]
    identified: tuple[Leaf, ...] = ()
    referring: tuple[tuple[Leaf, Path], ...] = ()


def with_surrogates(
    arrows: Sequence[Correspondence], entities: Sequence[Entity], source: DeclaredSide, target: DeclaredSide
) -> ArrowSet:
    """The arrows, and others into identifiers that take none.

    An identifier takes what its node is identified by. Where that is one value, an arrow says it: the source node that
    it stands for, or a key of that; or its only leaf, if no node that it stands below or refers to distinguishes it. A
    leaf that refers to a key takes what the key does, where what makes its node makes the node that it refers to as
    well; of several that do, those that ``target.joins`` says to connect by. That a node refers to itself is not said.
    """
    found = list(arrows)
    taken = {c.target for c in found}
    invented: dict[Path, None] = {}
    identified: list[Leaf] = []
    references = [
        (reference, leaf_at(target.tree, reference.source), leaf_at(target.tree, reference.target))
        for reference in target.references
        if _connects(reference, target)
    ]
    references = [
        one for one in references if one[1] not in taken and one[1].stop != one[2].stop and not is_selected_by(one[1])
    ]
    refers = {holder.stop for _, holder, _ in references}
    for path in _identifiers(target):
        leaf = leaf_at(target.tree, path)
        if is_selected_by(leaf):
            continue  # it has the value that its selection says
        values = [] if leaf in taken else _identity(leaf.stop, arrows, entities, (source, target), refers)
        for value in values:
            found.append(Correspondence(value, leaf))
            invented[path] = None
        if not values and leaf not in taken and _is_identified(leaf.stop, arrows, source, target.tree):
            identified.append(leaf)
    referring: list[tuple[Leaf, Path]] = []
    for reference, holder, key in references:
        found += _followed(holder, reference.target, arrows, found, source.tree)
        if reference.target in invented:
            invented[reference.source] = None
        if key in identified and holder.stop:
            referring.append((holder, key.stop))
    identified, referring = _without_cycles(identified, referring, target.tree)
    invented |= dict.fromkeys(leaf.absolute for leaf in (*identified, *(holder for holder, _ in referring)))
    return ArrowSet(
        tuple(dict.fromkeys(found)),
        frozenset(found) - frozenset(arrows),
        frozenset(invented),
        tuple(identified),
        tuple(referring),
    )


def _identifiers(target: DeclaredSide) -> list[Path]:
    """The leaves that identify stop nodes, and those that are referred to, in schema order.

    Of two elements that are there together one alone has an identifier of its own, and none is there for that alone.
    """
    tree = target.tree
    own = {key for key in target.keys if is_identifier(tree, key) and key[:-1] == tree.stop(key)}
    referred = {reference.target for reference in target.references}
    found = (key for key in own | referred if (stop := tree.stop(key)) and tree.required(key[:-1], below=stop))
    return sorted(found, key=lambda key: schema_order(tree, key))


def _identity(
    stop: Path,
    arrows: Sequence[Correspondence],
    entities: Sequence[Entity],
    sides: tuple[DeclaredSide, DeclaredSide],
    refers: Collection[Path],
) -> list[Leaf]:
    """The leaves of the source whose values are as good as the identity of a target node: one, or one for each source
    node that it may stand for. A key of one kind of nodes says nothing of another kind, so several are themselves.
    What a node at one of ``refers`` refers to distinguishes it as well.
    """
    source, target = sides
    tree, above = source.tree, target.tree.stops(stop)[1:-1]
    stands_for = list(dict.fromkeys(entity.source for entity in entities if entity.target == stop))
    if stands_for:
        keys = [leaf for leaf in (leaf_at(tree, key) for key in source.keys) if [leaf.stop] == stands_for]
        sure = [leaf for leaf in keys if is_sure(tree, leaf)]
        if sure:
            return [min(sure, key=lambda leaf: schema_order(tree, leaf.absolute))]
        return [Leaf(node, (NODE,)) for node in stands_for]
    own = [c for c in arrows if c.target.stop == stop]
    if (
        stop in refers
        or any(c.target.stop in above for c in arrows)
        or any(entity.target in above for entity in entities)
    ):
        return []  # what is above distinguishes its nodes as well
    if len(own) != 1 or own[0].copied or own[0].into or own[0].out_of or not own[0].source.stop:
        return []
    leaf = own[0].source
    return [leaf] if leaf.absolute in tree and _shows(stop, own, arrows, tree) else []


def _shows(stop: Path, own: Sequence[Correspondence], arrows: Sequence[Correspondence], source: SchemaTree) -> bool:
    """Whether a target node that is there has a value at one of its ``own`` arrows."""
    is_alone = not any(c.target.stop[: len(stop)] == stop != c.target.stop for c in arrows)
    return is_alone or any(is_sure(source, c.source) for c in own)


def _is_identified(stop: Path, arrows: Sequence[Correspondence], source: DeclaredSide, target: SchemaTree) -> bool:
    """Whether values of leaves identify a target node, those of the nodes above it among them."""
    own = [c for c in arrows if c.target.stop == stop]
    is_copied = any(c.copied for c in arrows if c.target.stop in target.stops(stop))
    return bool(stop and own) and not is_copied and _shows(stop, own, arrows, source.tree)


def _without_cycles(
    identified: Sequence[Leaf], referring: Sequence[tuple[Leaf, Path]], target: SchemaTree
) -> tuple[list[Leaf], list[tuple[Leaf, Path]]]:
    """The identifiers without those of nodes that are identified by what they refer to, if that is identified by what
    stands above it or by what it refers to itself; and the leaves that refer to the others.
    """
    leaves, references = list(identified), list(referring)
    while True:
        refers = {holder.stop for holder, _ in references}
        deep = {holder.stop for holder, node in references if len(target.stops(node)) > 2 or node in refers}
        kept = [leaf for leaf in leaves if deep.isdisjoint(target.stops(leaf.stop))]
        if kept == leaves:
            return leaves, references
        nodes = {leaf.stop for leaf in kept}
        leaves, references = kept, [(holder, node) for holder, node in references if node in nodes]


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

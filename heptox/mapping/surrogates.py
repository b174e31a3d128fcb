"""Identifiers that no arrow supplies (``semantics.md`` section 2, *Surrogates*)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from heptox.mapping.correspondences import Correspondence, Entity
from heptox.mapping.declarations import DeclaredSide
from heptox.mapping.model import Reference
from heptox.mapping.paths import Leaf, is_sure, leaf_at, schema_order
from heptox.pattern import NODE
from heptox.remembering import remembered
from heptox.schema import Path, SchemaTree, is_identifier, split_selection
from heptox.xml import XSI_TYPE


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


@dataclass(frozen=True, slots=True)
class _Drawn:
    """What leads to target stop nodes: arrows, and the source nodes that one stands for; and the nodes above any to
    which arrows lead.
    """

    arrows: Mapping[Path, Sequence[Correspondence]]
    stands_for: Mapping[Path, Sequence[Path]]
    above: frozenset[Path]

    @classmethod
    def of(cls, arrows: Sequence[Correspondence], entities: Sequence[Entity]) -> _Drawn:
        by_stop: dict[Path, list[Correspondence]] = {}
        for arrow in arrows:
            by_stop.setdefault(arrow.target.stop, []).append(arrow)
        stands_for: dict[Path, list[Path]] = {}
        for entity in entities:
            stands_for.setdefault(entity.target, []).append(entity.source)
        above = frozenset(stop[:length] for stop in by_stop for length in range(len(stop)))
        return cls(by_stop, stands_for, above)


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
    drawn = _Drawn.of(arrows, entities)
    taken = {c.target for c in found}
    invented: dict[Path, None] = {}
    identified: list[Leaf] = []
    references = [
        (reference, leaf_at(target.tree, reference.source), leaf_at(target.tree, reference.target))
        for reference in target.references
        if _connects(reference, target)
    ]
    references = [
        one for one in references if one[1] not in taken and one[1].stop != one[2].stop and not _is_said(one[1])
    ]
    refers = {holder.stop for _, holder, _ in references}
    for path in _identifiers(target, drawn):
        leaf = leaf_at(target.tree, path)
        if _is_said(leaf):
            continue  # it has the value that its selection says, or none
        values = [] if leaf in taken else _identity(leaf.stop, drawn, (source, target), refers)
        for value in values:
            found.append(Correspondence(value, leaf))
            invented[path] = None
        if not values and leaf not in taken and _is_identified(leaf.stop, drawn, source.tree, target.tree):
            identified.append(leaf)
    referring: list[tuple[Leaf, Path]] = []
    for reference, holder, key in references:
        found += _followed(holder, reference.target, drawn, found, source.tree)
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


def _is_said(leaf: Leaf) -> bool:
    """Whether a selection says of a leaf by which values it selects, or that it is not there."""
    tests = split_selection(leaf.stop[-1])[1] if leaf.stop else ()
    return any(test.test in ("=", "not") and test.path == leaf.path for test in tests)


def _identifiers(target: DeclaredSide, drawn: _Drawn) -> list[Path]:
    """The leaves that identify stop nodes that are made, and those that are referred to, in schema order.

    Of two elements that are there together one alone has an identifier of its own, and none is there for that alone.
    """
    tree = target.tree
    keys = _keys_by_stop(tree, target.keys)
    made = (leaf for stop in drawn.arrows.keys() | drawn.stands_for.keys() for leaf in keys.get(stop, ()))
    # one that may be of a derived type alone is none of every node
    own = {
        leaf.absolute
        for leaf in made
        if len(leaf.path) == 1
        and is_identifier(tree, leaf.absolute)
        and (tree.edge(leaf.absolute).required or (*leaf.stop, f"@{XSI_TYPE}") not in tree)
    }
    referred = {reference.target for reference in target.references}
    found = (key for key in own | referred if (stop := tree.stop(key)) and tree.required(key[:-1], below=stop))
    return sorted(found, key=lambda key: schema_order(tree, key))


def _identity(
    stop: Path, drawn: _Drawn, sides: tuple[DeclaredSide, DeclaredSide], refers: Collection[Path]
) -> list[Leaf]:
    """The leaves of the source whose values are as good as the identity of a target node: one, or one for each source
    node that it may stand for. A key of one kind of nodes says nothing of another kind, so several are themselves.
    What a node at one of ``refers`` refers to distinguishes it as well.
    """
    tree, above = sides[0].tree, sides[1].tree.stops(stop)[1:-1]
    stands_for = list(dict.fromkeys(drawn.stands_for.get(stop, ())))
    if stands_for:
        keys = _keys_by_stop(tree, sides[0].keys).get(stands_for[0], ()) if len(stands_for) == 1 else ()
        sure = [leaf for leaf in keys if is_sure(tree, leaf)]
        if sure:
            return [min(sure, key=lambda leaf: schema_order(tree, leaf.absolute))]
        return [Leaf(node, (NODE,)) for node in stands_for]
    if stop in refers or any(node in drawn.arrows or node in drawn.stands_for for node in above):
        return []  # what is above distinguishes its nodes as well
    own = drawn.arrows.get(stop, ())
    if len(own) != 1 or own[0].copied or own[0].into or own[0].out_of or not own[0].source.stop:
        return []
    leaf = own[0].source
    return [leaf] if leaf.absolute in tree and _shows(stop, drawn, tree) else []


@remembered(8)
def _keys_by_stop(tree: SchemaTree, keys: frozenset[Path]) -> Mapping[Path, Sequence[Leaf]]:
    """The keys by the stop nodes that own them; lines are tried again and again on the same."""
    found: dict[Path, list[Leaf]] = {}
    for key in keys:
        leaf = leaf_at(tree, key)
        found.setdefault(leaf.stop, []).append(leaf)
    return found


def _shows(stop: Path, drawn: _Drawn, source: SchemaTree) -> bool:
    """Whether a target node that is there has a value at one of its own arrows."""
    return stop not in drawn.above or any(is_sure(source, c.source) for c in drawn.arrows.get(stop, ()))


def _is_identified(stop: Path, drawn: _Drawn, source: SchemaTree, target: SchemaTree) -> bool:
    """Whether values of leaves identify a target node, those of the nodes above it among them."""
    is_copied = any(c.copied for node in target.stops(stop) for c in drawn.arrows.get(node, ()))
    return bool(stop and stop in drawn.arrows) and not is_copied and _shows(stop, drawn, source)


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
    holder: Leaf, key: Path, drawn: _Drawn, found: Sequence[Correspondence], source: SchemaTree
) -> list[Correspondence]:
    """Arrows into a leaf that refers to a key, from what the key takes, if what makes its node makes that one too."""
    stops = {c.source.stop for c in drawn.arrows.get(holder.stop, ())}
    return [
        Correspondence(c.source, holder, out_of=c.out_of)
        for c in found
        if c.target.absolute == key and c.source.stop and not c.copied
        if any(c.source.stop in source.stops(stop) for stop in stops)
    ]

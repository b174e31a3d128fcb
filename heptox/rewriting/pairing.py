"""Which nodes of two schemas correspond to each other by the rules of a mapping (``rewriting.md``, Inference).

Arrows relate leaves. A target stop node corresponds to the deepest source stop node that owns one of its leaves; an
inner node to the lowest source node that has all that its leaves come from, and nothing else that is carried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from heptox.mapping import HeadNode, Mapping, Rule, selects_or_computes
from heptox.pattern import NODE, TAG, printed_test
from heptox.rewriting.inference import TargetNode
from heptox.rewriting.operators import lowest_above
from heptox.schema import ANYWHERE, TEXT, Path, SchemaTree


@dataclass(frozen=True, slots=True)
class Paired:
    """The target schema tree as far as a mapping makes it, and why operators cannot make exactly that."""

    target: TargetNode
    reasons: tuple[str, ...]
    nodes: dict[Path, Path]
    """For each node of the target that corresponds to one of the source, that one."""
    each: frozenset[Path] = frozenset()
    """The target stop nodes of which there is one for each source node that they correspond to, with values or not."""


def pair(mapping: Mapping) -> Paired:
    """The target tree of a mapping, with the source nodes that its nodes correspond to.

    What has no place in it, for operators carry each source leaf to one place and each target leaf from one, is named
    among the reasons.
    """
    pairing = _Pairing(mapping)
    pairing.read()
    pairing.stops()
    target = pairing.tree(())
    return Paired(target, tuple(dict.fromkeys(pairing.reasons)), pairing.pairs, frozenset(pairing.each))


@dataclass(slots=True)
class _Pairing:
    mapping: Mapping
    reasons: list[str] = field(default_factory=list)
    leaves: dict[Path, Path] = field(default_factory=dict)
    """The source leaf of each target leaf."""
    copied: set[Path] = field(default_factory=set)
    pairs: dict[Path, Path] = field(default_factory=lambda: {(): ()})
    taken: dict[Path, Path] = field(default_factory=lambda: {(): ()})
    each: dict[Path, Path] = field(default_factory=dict)
    """For each target stop node that is one for each source node of a kind, that kind."""

    @property
    def source(self) -> SchemaTree:
        return self.mapping.source

    @property
    def into(self) -> SchemaTree:
        return self.mapping.target

    # leaves

    def read(self) -> None:
        """The arrows, as the rules have them."""
        supplied: dict[Path, frozenset[Path]] = {}
        for rule in self.mapping.rules:
            if rule.conditions or rule.optional:
                self.reasons.append("a rule has conditions: a reference, a box, a constant, or arrows that compete")
            if selects_or_computes(rule):
                self.reasons.append("a rule selects nodes, or computes values")
                continue
            for node in rule.head:
                self._identity(rule, node)
                if node.leaves and supplied.setdefault(node.node, _paths(node.leaves)) != _paths(node.leaves):
                    self.reasons.append(f"{text(node.node)} is made in several ways")
                for path, _ in node.surrogates:
                    self.reasons.append(f"{text(node.node + path)} takes what identifies its node")
                for path, term in node.leaves:
                    self._leaf(node.node + path, rule.node(term.variable) + term.path, path in node.copied)

    def _identity(self, rule: Rule, node: HeadNode) -> None:
        """What distinguishes the nodes of a rule, other than their values (``semantics.md`` section 4)."""
        each = rule.node(node.each) if node.each is not None else None
        if each is not None and self.each.setdefault(node.node, each) != each:
            self.reasons.append(f"{text(node.node)} is one for each of several nodes")
        key = node.term(node.key) if node.key is not None else None
        if key is not None:
            leaf = (*rule.node(key.variable), *key.path)
            if not identifies(self.mapping, rule.node(key.variable), leaf):
                self.reasons.append(f"{text(node.node)} is one for each value of {text(leaf)}, which may come again")
            self.each.setdefault(node.node, rule.node(key.variable))

    def _leaf(self, target: Path, source: Path, copied: bool) -> None:
        if source[-1:] == (NODE,):
            self.reasons.append(f"{text(target)} takes what identifies its node")
            return
        if any(step.startswith(("[", ANYWHERE)) or step == TAG for step in (*source, *target)):
            self.reasons.append(f"{text(source)} -> {text(target)} has to do with a box, or with recursion")
            return
        if self.leaves.setdefault(target, source) != source:
            self.reasons.append(f"{text(target)} has several arrows")
            return
        if any(_is_mixed(tree, path) for tree, path in ((self.source, source), (self.into, target))):
            self.reasons.append(f"{text(source)} -> {text(target)} carries text from between elements")
        if copied:
            self.copied.add(target)
        self._pair(_node(target), _node(source))

    def _pair(self, target: Path, source: Path) -> None:
        if self.pairs.setdefault(target, source) != source:
            self.reasons.append(f"{text(target)} would be both {text(self.pairs[target])} and {text(source)}")
        elif self.taken.setdefault(source, target) != target:
            places = f"{text(self.taken[source])}, {text(target)}"
            self.reasons.append(f"{text(source)} would have to be in several places: {places}")
            del self.pairs[target]

    # stop nodes

    def stops(self) -> None:
        """Pair the target stop nodes, outer ones first."""
        stops = {stop for leaf in self.leaves for stop in self.into.stops(leaf)}
        for stop in sorted(self.each.keys() - stops):
            self.reasons.append(f"{text(stop)} is made without any leaf")
        for stop in sorted(stops, key=len):
            if stop and stop not in self.leaves:
                self._stop(stop)
            if stop in self.each:
                self._stands_for(stop, self.each[stop])

    def _stands_for(self, stop: Path, each: Path) -> None:
        """Check that there is one target node for each source node at ``each``, as operators would have it."""
        made = self.pairs.get(stop)
        if made != each and not (made is not None and stop in self.leaves and self.source.stop(made) == each):
            other = f"each {text(made)}" if made is not None else "each node above it"
            self.reasons.append(f"{text(stop)} is one for each {text(each)}, operators would make one for {other}")

    def _stop(self, stop: Path) -> None:
        owned = [source for leaf, source in self.leaves.items() if self.into.stop(leaf) == stop]
        above = self.pairs_above(stop)
        each = {self.each[stop]} if stop in self.each else set()
        found = sorted(each.union(map(self.source.stop, owned)), key=len)
        deepest = found[-1] if found else ()
        if any(deepest[: len(each)] != each for each in found):
            self.reasons.append(f"{text(stop)} is made of {' and '.join(map(text, found))}, which repeat independently")
        if deepest and deepest not in above:
            self._pair(stop, deepest)

    def pairs_above(self, target: Path) -> set[Path]:
        """The source nodes of the nodes above a target node."""
        return {self.pairs[target[:length]] for length in range(len(target)) if target[:length] in self.pairs}

    # the tree

    def tree(self, path: Path) -> TargetNode:
        """A target node with all below it that the mapping makes."""
        if path not in self.pairs and not self.into.is_stop(path):
            self._inner(path)
        source = self.pairs.get(path)
        whole = path in self.copied
        children = () if whole else tuple(map(self.tree, self._children(path)))
        return TargetNode(path[-1] if path else self.into.root, source, children, self._has_text(path), whole)

    def _children(self, path: Path) -> Iterator[Path]:
        if not self.into.is_element(path):
            return
        for child in self.into.children(path):
            if child[-1] != TEXT and any(leaf[: len(child)] == child for leaf in self.leaves):
                yield child

    def _has_text(self, path: Path) -> bool:
        return path in self.leaves or (*path, TEXT) in self.leaves

    def _inner(self, path: Path) -> None:
        """Pair an inner node that stands once, if there is a source node that has just what it has."""
        below = [source for leaf, source in self.leaves.items() if leaf[: len(path)] == path]
        common = lowest_above([_node(source)[:-1] for source in below])
        stop = self.pairs.get(self.into.stop(path))
        if (
            stop is not None
            and len(common) > len(stop)
            and common[: len(stop)] == stop
            and self.source.stop(common) == stop
            and common not in self.taken
            and sum(source[: len(common)] == common for source in self.leaves.values()) == len(below)
        ):
            self._pair(path, common)


def identifies(mapping: Mapping, node: Path, leaf: Path) -> bool:
    """Whether a leaf of a source stop node distinguishes its nodes in every document: a key that is always there."""
    return leaf in mapping.source_keys and mapping.source.stop(leaf) == node and mapping.source.required(leaf, node)


def _paths(leaves: Iterable[tuple[Path, object]]) -> frozenset[Path]:
    return frozenset(path for path, _ in leaves)


def _node(leaf: Path) -> Path:
    """The node that carries a leaf: of text, its element."""
    return leaf[:-1] if leaf[-1:] == (TEXT,) else leaf


def _is_mixed(tree: SchemaTree, leaf: Path) -> bool:
    return leaf[-1:] == (TEXT,) and tree.element(leaf[:-1]).mixed


def text(path: Path) -> str:
    """A path as it is written."""
    return "/".join(map(printed_test, path)) or "the root"

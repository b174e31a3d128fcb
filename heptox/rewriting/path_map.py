"""The map of tag paths of a program: what a document's leaves are in the other words (``rewriting.md``, IDDR)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from heptox.matching import Labels, MappedElement, MappedLeaf
from heptox.rewriting.inference import TargetNode
from heptox.rewriting.mapping_program import MappingProgram
from heptox.rewriting.operators import Downgrade, NodeId, Operator, Swap
from heptox.rewriting.working_tree import WorkingTree, shown
from heptox.schema import SchemaTree


@dataclass(frozen=True, slots=True)
class PathMap:
    """A map of tag paths, from the root element of documents on; or the ``reason`` why there is none."""

    root: MappedElement | None
    reason: str = ""


def path_map(made: MappingProgram) -> PathMap:
    """The map of the tag paths of the leaves that a mapping's program carries.

    In the other words a document has those leaves and the elements above them, and no others: what has no leaf at or
    below it is no node of the image. That a swap or a downgrade copies a leaf makes no difference to its tag path;
    that it drops what has no place makes a condition of the leaf.
    """
    if made.program is None or made.target is None:
        return PathMap(None, made.reasons[0])
    wholes = frozenset(node.source for node in made.target.walk() if node.whole and node.source is not None)
    building = _Building(made.program.source, wholes)
    building.follow(made.program.operators)
    building.carry(made.target, (made.target.name,))
    if all(child.name.startswith("@") for child in made.target.children):
        return PathMap(None, "the root is a leaf")
    if building.reason:
        return PathMap(None, building.reason)
    return PathMap(replace(building.element(()), shell=(made.target.name,)))


@dataclass(slots=True)
class _Building:
    source: SchemaTree
    wholes: frozenset[NodeId]
    reason: str = ""
    conditions: list[tuple[NodeId, NodeId]] = field(default_factory=list)
    needs: dict[NodeId, set[int]] = field(default_factory=dict)
    """For each node what it needs, with all that stood in it by then."""
    attributes: dict[NodeId, list[tuple[str, MappedLeaf]]] = field(default_factory=dict)
    leaves: dict[NodeId, tuple[bool, MappedLeaf]] = field(default_factory=dict)
    """For each element that is carried whether it comes whole, and where."""

    # conditions

    def follow(self, operators: tuple[Operator, ...]) -> None:
        """Note what operators drop where there is no place for it."""
        tree = WorkingTree(self.source)
        for operator in operators:
            match operator:
                case Downgrade(element, children, into):
                    self._condition(tree, element, into, children)
                case Swap(element, child):
                    beside = tuple(each for each in tree.children(element) if each != child)
                    self._condition(tree, element, child, (element, *beside), alone=element)
            tree.apply(operator)

    def _condition(
        self,
        tree: WorkingTree,
        element: NodeId,
        needed: NodeId,
        nodes: tuple[NodeId, ...],
        alone: NodeId | None = None,
    ) -> None:
        below = [each for node in nodes for each in ((node,) if node == alone else self._walk(tree, node))]
        if needed in self.needs or any(each[: len(element)] != element for each in (needed, *below)):
            self.reason = f"whether there is a {shown(needed)} is not seen from {shown(element)}"
            return
        self.conditions.append((element, needed))
        for each in below:
            self.needs.setdefault(each, set()).add(len(self.conditions) - 1)

    def _walk(self, tree: WorkingTree, node: NodeId) -> Iterator[NodeId]:
        """A node and all below it, but not what stands in subtrees that come whole."""
        yield node
        for child in tree.children(node) if node not in self.wholes else ():
            yield from self._walk(tree, child)

    # leaves

    def carry(self, target: TargetNode, labels: Labels) -> None:
        """Note where the leaves at and below a target node come from."""
        inner = [child for child in target.children if not child.name.startswith("@")]
        attributes = [child for child in target.children if child.name.startswith("@")]
        source = target.source
        if source and source[-1].startswith("@"):
            self._attribute(source, labels, alone=False)
        elif source is not None and (target.whole or target.text) and not inner:
            self.leaves[source] = target.whole, self._leaf(source, labels)
        alone = not target.text and not inner
        for child in attributes:
            if child.source is not None:
                self._attribute(child.source, (*labels, child.name), alone)
        for child in inner:
            self.carry(child, (*labels, child.name))

    def _leaf(self, source: NodeId, labels: Labels, *, alone: bool = False) -> MappedLeaf:
        return MappedLeaf(labels, frozenset(self.needs.get(source, ())), alone)

    def _attribute(self, source: NodeId, labels: Labels, alone: bool) -> None:
        """Note where an attribute of the target comes from."""
        if source[-1].startswith("@"):
            self.attributes.setdefault(source[:-1], []).append(
                (source[-1][1:], self._leaf(source, labels, alone=alone))
            )
        else:
            self.leaves[source] = False, self._leaf(source, labels, alone=alone)

    # the map

    def element(self, path: NodeId) -> MappedElement:
        """The map from the elements at a path on."""
        below = {node[len(path)] for node in (*self.leaves, *self.attributes) if node[: len(path)] == path != node}
        whole, leaf = self.leaves.get(path, (False, None))
        return MappedElement(
            {name: self.element((*path, name)) for name in sorted(below)},
            tuple(self.attributes.get(path, ())),
            None if whole else leaf,
            leaf if whole else None,
            conditions=tuple(
                (number, needed[len(element) :])
                for number, (element, needed) in enumerate(self.conditions)
                if element == path
            ),
        )

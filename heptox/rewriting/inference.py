"""Which operators make one schema tree of another (section 2.3.2 of Ni and Chan, as corrected in ``rewriting.md``).

The paper's six rules look at a node and its parent; where operators interact they depend on their order, and miss many
targets. Here the target is visited from its root down, and each node is brought to its place before those below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from heptox.rewriting.operators import (
    Dissolve,
    Downgrade,
    Drop,
    Insert,
    NodeId,
    Operator,
    Rename,
    Swap,
    ToAttribute,
    ToElement,
    Upgrade,
)
from heptox.rewriting.working_tree import WorkingTree
from heptox.schema import TEXT, SchemaTree


@dataclass(frozen=True, slots=True)
class TargetNode:
    """A node of the target schema tree, and the node of the source that it corresponds to, if there is one.

    ``name`` is ``@name`` for an attribute. ``text``: the text that stands beside children or attributes comes with the
    source node; ``whole``: all that stands in it does, as it is.
    """

    name: str
    source: NodeId | None
    children: tuple[TargetNode, ...] = ()
    text: bool = True
    whole: bool = False

    def walk(self) -> Iterator[TargetNode]:
        """The node and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def __str__(self) -> str:
        below = ", ".join(map(str, self.children))
        return self.name + (f"({below})" if below else "")


@dataclass(frozen=True, slots=True)
class Inferred:
    """Operators that bring all to its place, and those that then give it its name."""

    structure: tuple[Operator, ...]
    names: tuple[Operator, ...]


def infer_operators(
    source: SchemaTree, target: TargetNode, *, keeping: bool = False, or_drop: bool = True
) -> tuple[Operator, ...]:
    """The operators that make ``target`` of the source schema tree, in the order in which they are to be applied.

    The root of the target corresponds to that of the source, and no two nodes of it to one. Source nodes that no target
    node corresponds to stay where they are when ``keeping``; else they go: inner ones with correspondences below are
    dissolved, all others dropped. ``or_drop`` is what the operators say of children without a place
    (:class:`Downgrade`, :class:`Swap`).

    >>> from heptox.schema import parse_dtd
    >>> schema = SchemaTree(parse_dtd("<!ELEMENT r (a)><!ELEMENT a (b)><!ELEMENT b (#PCDATA)>"))
    >>> wrapped = TargetNode("w", None, (TargetNode("a", ("a",)),))
    >>> for operator in infer_operators(schema, TargetNode("r", (), (TargetNode("b", ("a", "b"), (wrapped,)),))):
    ...     print(operator)
    Swap(element=('a',), child=('a', 'b'), or_drop=True)
    Insert(element=('a', 'b'), names=('w',), children=(('a',),))
    """
    inferred = infer(source, target, keeping=keeping, or_drop=or_drop)
    return inferred.structure + inferred.names


def infer(source: SchemaTree, target: TargetNode, *, keeping: bool = False, or_drop: bool = True) -> Inferred:
    """As :func:`infer_operators`, in two parts."""
    inference = _Inference(WorkingTree(source), target, or_drop)
    if not keeping:
        inference.leave_out(())
    inference.carry()
    if not keeping:
        inference.leave_shells()
    structure = tuple(inference.operators)
    inference.give_names()
    return Inferred(structure, tuple(inference.operators[len(structure) :]))


class _Inference:
    def __init__(self, tree: WorkingTree, target: TargetNode, or_drop: bool) -> None:
        if target.source != ():
            raise ValueError("the root of the target corresponds to that of the source")
        self.operators: list[Operator] = []
        self._tree = tree
        self._target = target
        self._or_drop = or_drop
        self._placed: set[NodeId] = set()
        self._carried = {node.source: node for node in target.walk() if node.source is not None}
        self._above = {source[:length] for source in self._carried for length in range(len(source))}
        self._below: dict[NodeId, frozenset[NodeId]] = {}
        """For each node that is carried, those that are to stand below it."""
        self._note(target)
        if missing := [source for source in self._carried if source not in tree]:
            raise ValueError(f"{missing[0]} is not in the source")

    def _note(self, node: TargetNode) -> frozenset[NodeId]:
        below = frozenset[NodeId]().union(*map(self._note, node.children))
        if node.source is None:
            return below
        if node.source in self._below:
            raise ValueError(f"{node.source} corresponds to several nodes")
        self._below[node.source] = below
        return below | {node.source}

    def carry(self) -> None:
        """Bring all to its place."""
        self._place(self._target, ())
        self._insert(self._target, ())

    def give_names(self) -> None:
        """Give all its name."""
        self._name(self._target, ())

    def _apply(self, operator: Operator) -> None:
        self._tree.apply(operator)
        self.operators.append(operator)

    # what is not carried

    def leave_out(self, node: NodeId) -> None:
        """Let go what nothing corresponds to, at a node that is carried, or has something below it that is."""
        carried = self._carried.get(node)
        if carried is not None and carried.whole:
            return
        for child in tuple(self._tree.children(node)):
            if child in self._carried or child in self._above:
                if self._tree.is_element(child):
                    self.leave_out(child)
            elif carried is None or child[-1] != TEXT or not carried.text:
                self._apply(Drop(child))
        if carried is None and not self._tree.schema.is_stop(node):
            self._attributes_to_elements(self._tree.children(node))
            self._apply(Dissolve(node))

    def leave_shells(self) -> None:
        """Let go what nothing corresponds to and all that was in it has left: nodes that repeat, which to dissolve
        would have mixed what was in them."""
        for node in sorted(self._above - self._carried.keys()):
            if node in self._tree:
                self._apply(Drop(node))

    # bringing each node to its place

    def _place(self, target: TargetNode, above: NodeId) -> None:
        """Bring the source of a target node below that of its nearest ancestor which has one, and so on below."""
        source = target.source
        if source is not None:
            if source:
                self._bring(source, above)
            self._placed.add(source)
            above = source
        for child in target.children:
            self._place(child, above)

    def _bring(self, node: NodeId, above: NodeId) -> None:
        tree = self._tree
        if not tree.is_element(node) and (tree.parent(node) != above or self._below[node]):
            self._apply(ToElement(node))
        while (parent := tree.parent(node)) not in self._placed:
            if self._goes_below(parent, node):
                self._lift_others(parent, node)
                self._apply(Swap(parent, node, self._or_drop))
            else:
                self._apply(Upgrade(parent, (node,)))
        way = tree.chain(above)
        while (parent := tree.parent(node)) not in way:
            self._apply(Upgrade(parent, (node,)))
        for into in way[way.index(parent) + 1 :]:
            self._apply(Downgrade(tree.parent(node), (node,), into, self._or_drop))

    def _goes_below(self, parent: NodeId, node: NodeId) -> bool:
        """Whether a node that is not placed yet is to stand below one of its children; or, where nothing corresponds to
        it, something that stands beside that child in it."""
        if parent in self._carried:
            return parent in self._below[node]
        return any(each in self._below[node] for each in self._beside(parent, node))

    def _lift_others(self, parent: NodeId, node: NodeId) -> None:
        """Take out of a node what is not to stand below one of its children: to swap the two would copy it."""
        for each in self._beside(parent, node):
            if each not in self._below[node] and parent in self._tree.chain(each):
                self._attributes_to_elements((each,))
                while parent in self._tree.chain(each)[:-1]:
                    self._apply(Upgrade(self._tree.parent(each), (each,)))

    def _beside(self, parent: NodeId, node: NodeId) -> list[NodeId]:
        """What is carried and stands in an element beside one of its children, outer ones first."""
        chains = {each: self._tree.chain(each) for each in self._carried if each != parent and each in self._tree}
        beside = [each for each, chain in chains.items() if parent in chain and node not in chain]
        return sorted(beside, key=lambda each: len(chains[each]))

    # new elements, and names

    def _insert(self, target: TargetNode, here: NodeId) -> None:
        """Make the new elements below a target node, which is ``here``, and so on below."""
        for child in target.children:
            if child.source is not None:
                self._insert(child, child.source)
                continue
            names, inner = [child.name], child
            while len(inner.children) == 1 and inner.children[0].source is None:
                inner = inner.children[0]
                names.append(inner.name)
            moved = tuple(node for node in self._nearest(inner) if node)
            if not moved:
                continue
            self._attributes_to_elements(moved)
            insert = Insert(here, tuple(names), moved)
            self._apply(insert)
            self._insert(inner, insert.made[-1])

    def _nearest(self, target: TargetNode) -> Iterator[NodeId]:
        """The sources of the nearest nodes below a target node that have one."""
        for child in target.children:
            if child.source is None:
                yield from self._nearest(child)
            else:
                yield child.source

    def _attributes_to_elements(self, nodes: Sequence[NodeId]) -> None:
        for node in tuple(nodes):
            if self._tree.name(node).startswith("@"):
                self._apply(ToElement(node))

    def _name(self, target: TargetNode, here: NodeId) -> None:
        """Make elements and attributes of what is to be one, and give all their names."""
        if target.source is not None:
            is_attribute = target.name.startswith("@")
            if self._tree.is_element(here) == is_attribute:
                self._apply(ToAttribute(here) if is_attribute else ToElement(here))
            if self._tree.name(here) != target.name:
                self._apply(Rename(here, target.name))
        for child in target.children:
            self._name(child, (*here, f"+{child.name}") if child.source is None else child.source)

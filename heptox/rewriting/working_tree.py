"""A schema tree while operators change it: what stands where after each of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from heptox.errors import DisseminationError, Fault
from heptox.pattern import printed_test
from heptox.rewriting.operators import (
    Arrange,
    Dissolve,
    Downgrade,
    Drop,
    Insert,
    NodeId,
    Operator,
    Prune,
    Rename,
    Swap,
    ToAttribute,
    ToElement,
    Upgrade,
)
from heptox.schema import TEXT, SchemaTree


class WorkingTree:
    """The source schema tree, unfolded where it is looked at, as the operators applied so far have made it.

    A node keeps its id wherever it moves. The text of elements stays with them; only mixed content, or the text beside
    attributes, is a node, which can be dropped.

    >>> from heptox.schema import parse_dtd
    >>> tree = WorkingTree(SchemaTree(parse_dtd("<!ELEMENT r (a)><!ELEMENT a (b)><!ELEMENT b EMPTY>")))
    >>> tree.apply(Upgrade(("a",), (("a", "b"),)))
    >>> print(tree)
    r(a, b)
    """

    def __init__(self, schema: SchemaTree) -> None:
        self.schema = schema
        self._children: dict[NodeId, list[NodeId]] = {}
        self._parents: dict[NodeId, NodeId] = {}
        self._names: dict[NodeId, str] = {(): schema.root}

    def __str__(self) -> str:
        return self._printed(())

    def _printed(self, node: NodeId) -> str:
        below = ", ".join(self._printed(child) for child in self.children(node) if child[-1] != TEXT)
        return self.name(node) + (f"({below})" if below else "")

    # what stands where

    def __contains__(self, node: object) -> bool:
        if not isinstance(node, tuple):
            return False
        self._unfold(node)
        if node not in self._names:
            return False
        while node and node in self.children(self._parents[node]):
            node = self._parents[node]
        return not node

    def _unfold(self, node: NodeId) -> None:
        """See to it that a node of the source is known, if it is one."""
        for length in range(0 if node in self._names else len(node)):
            if node[:length] in self._names and self.is_element(node[:length]):
                self.children(node[:length])

    def children(self, node: NodeId) -> Sequence[NodeId]:
        """The nodes below a node, in their order: attributes, text and elements."""
        self._unfold(node)
        found = self._children.get(node)
        if found is None:
            found = self._children[node] = []
            for child in self.schema.children(node) if self.is_element(node) and not self._is_made(node) else ():
                found.append(child)
                self._parents[child] = node
                self._names[child] = child[-1]
        return found

    def elements(self, node: NodeId) -> tuple[NodeId, ...]:
        """The elements below a node."""
        return tuple(child for child in self.children(node) if self.is_element(child))

    def parent(self, node: NodeId) -> NodeId:
        """The node above one that is not the root."""
        self._unfold(node)
        return self._parents[node]

    def chain(self, node: NodeId) -> list[NodeId]:
        """The nodes from the root down to one, both included."""
        found = [node]
        while found[-1]:
            found.append(self.parent(found[-1]))
        return found[::-1]

    def name(self, node: NodeId) -> str:
        """What a node is called by now: ``@name`` for an attribute."""
        self._unfold(node)
        return self._names[node]

    def is_element(self, node: NodeId) -> bool:
        """Whether a node is an element by now."""
        name = self.name(node)
        return name[0] != "@" and name != TEXT

    def walk(self, node: NodeId = ()) -> Iterator[NodeId]:
        """A node and all below it, parents first; without end where the schema is recursive."""
        yield node
        for child in tuple(self.children(node)):
            yield from self.walk(child)

    @staticmethod
    def _is_made(node: NodeId) -> bool:
        return bool(node) and node[-1].startswith("+")

    # operators

    def apply(self, operator: Operator) -> None:
        """What an operator makes of the tree.

        Raises :class:`DisseminationError` (HX9102), and changes nothing, where it cannot be applied here.
        """
        if isinstance(operator, Insert | Upgrade | Downgrade | Arrange) and operator.children == ():
            raise _fault(f"no child of {shown(operator.element)} is named")
        match operator:
            case Rename(node, name):
                self._rename(node, name)
            case ToElement(attribute):
                self._to_element(attribute)
            case ToAttribute(leaf):
                self._to_attribute(leaf)
            case Insert():
                self._insert(operator)
            case Upgrade(element, children):
                self._upgrade(element, children)
            case Downgrade(element, children, into):
                self._downgrade(element, children, into)
            case Swap(element, child):
                self._swap(element, child)
            case Dissolve(element):
                self._dissolve(element)
            case Drop(node):
                self._check_below_root(node, "drop")
                self._detach(node)
            case Prune(element):
                self._check_element(element)
                self._check_below_root(element, "prune")
            case Arrange(element, children):
                self._check_element(element)
                self._check_children(element, children)

    def moved(self, operator: Insert | Upgrade | Downgrade) -> tuple[NodeId, ...]:
        """The children that an operator moves: all elements where it names none."""
        return self.elements(operator.element) if operator.children is None else operator.children

    def _rename(self, node: NodeId, name: str) -> None:
        self._check_there(node)
        is_attribute = self._names[node].startswith("@")
        if is_attribute != name.startswith("@") or name == TEXT or self._names[node] == TEXT:
            raise _fault(f"{shown(node)} cannot be called {name}", "to element and to attribute make one of the other")
        if name == "@xmlns":
            raise _fault("an attribute cannot be called xmlns", "that would declare a namespace")
        self._names[node] = name

    def _to_element(self, attribute: NodeId) -> None:
        self._check_there(attribute)
        if not self._names[attribute].startswith("@"):
            raise _fault(f"{shown(attribute)} is no attribute")
        self._names[attribute] = self._names[attribute][1:]
        self._children[attribute] = []

    def _to_attribute(self, leaf: NodeId) -> None:
        self._check_element(leaf)
        self._check_below_root(leaf, "to attribute")
        if any(child[-1] != TEXT for child in self.children(leaf)):
            raise _fault(f"{shown(leaf)} is no leaf", "only what holds nothing but text becomes an attribute")
        self._names[leaf] = f"@{self._names[leaf]}"

    def _insert(self, insert: Insert) -> None:
        self._check_element(insert.element)
        moved = self.moved(insert)
        self._check_children(insert.element, moved)
        made = insert.made
        if taken := [node for node in made if node in self._names]:
            raise _fault(f"{shown(taken[0])} has been made already", "one insert makes all below an element of a name")
        for parent, node, name in zip((insert.element, *made), made, insert.names, strict=False):
            self._names[node] = name
            self._children[node] = []
            self._attach(node, parent)
        for node in moved:
            self._detach(node)
            self._attach(node, made[-1])

    def _upgrade(self, element: NodeId, children: tuple[NodeId, ...] | None) -> None:
        self._check_element(element)
        self._check_below_root(element, "upgrade")
        moved = self.elements(element) if children is None else children
        self._check_children(element, moved)
        parent = self._parents[element]
        for node in reversed(moved):
            self._detach(node)
            self._attach(node, parent, self._children[parent].index(element) + 1)

    def _downgrade(self, element: NodeId, children: tuple[NodeId, ...], into: NodeId) -> None:
        self._check_element(element)
        self._check_children(element, (*children, into))
        if into in children:
            raise _fault(f"{shown(into)} cannot go into itself")
        for node in children:
            self._detach(node)
            self._attach(node, into)

    def _swap(self, element: NodeId, child: NodeId) -> None:
        self._check_element(element)
        self._check_below_root(element, "swap")
        self._check_children(element, (child,))
        parent = self._parents[element]
        place = self._children[parent].index(element)
        self._detach(child)
        self._detach(element)
        self._attach(child, parent, place)
        self._attach(element, child)

    def _dissolve(self, element: NodeId) -> None:
        self._check_element(element)
        self._check_below_root(element, "dissolve")
        parent, below = self._parents[element], self.elements(element)
        place = self._children[parent].index(element)
        self._detach(element)
        for node in reversed(below):
            self._detach(node)
            self._attach(node, parent, place)

    def _attach(self, node: NodeId, parent: NodeId, place: int | None = None) -> None:
        self.children(parent)
        siblings = self._children[parent]
        siblings.insert(len(siblings) if place is None else place, node)
        self._parents[node] = parent

    def _detach(self, node: NodeId) -> None:
        self._children[self._parents[node]].remove(node)

    # checks

    def _check_there(self, node: NodeId) -> None:
        if node not in self:
            raise _fault(f"{shown(node)} is not there", "nodes are named by their paths in the source schema")

    def _check_element(self, node: NodeId) -> None:
        self._check_there(node)
        if not self.is_element(node):
            raise _fault(f"{shown(node)} is no element")

    def _check_below_root(self, node: NodeId, operator: str) -> None:
        self._check_there(node)
        if not node:
            raise _fault(f"{operator} cannot be applied to the root", "a document has one root")

    def _check_children(self, element: NodeId, children: Collection[NodeId]) -> None:
        if len(set(children)) < len(children):
            raise _fault(f"a child of {shown(element)} is named twice")
        for child in children:
            self._check_element(child)
            if not child or self._parents[child] != element:
                raise _fault(f"{shown(child)} is not a child of {shown(element)} here")


def shown(node: NodeId) -> str:
    """A node as it is written: its path, ``.`` for the root."""
    return "/".join(map(printed_test, node)) or "."


def _fault(message: str, hint: str | None = None) -> DisseminationError:
    return DisseminationError(Fault("HX9102", message, hint=hint))

"""The schema tree: one node for each path from the root, unfolded on demand, with boxes drawn over siblings.

A node is named by its path with the root left out. A box is a node of its own: ``[Illness]`` below ``Admission``
stands for all its members, whose shared substructure hangs below it; the members themselves are no nodes then.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Final, Literal, TypeAlias

from heptox.errors import Fault, SchemaError
from heptox.schema.element_types import TEXT, types_of
from heptox.schema.merging import by_name
from heptox.schema.model import Attribute, Cardinality, Element, SchemaGraph
from heptox.schema.selections import COMPUTED, Path as Path, is_selection, plain, split_selection, written_step
from heptox.xml import expanded_name, name_spellings, split_name, unescaped_name

Axis: TypeAlias = Literal["child", "descendant", "attribute", "descendant-attribute"]

ANYWHERE: Final = "//"
"""What a step begins with that stands for the elements of one type at any depth below the node before it."""
MAXIMUM_NODES: Final = 200_000
"""How many nodes a walk over a schema tree meets at most."""
MAXIMUM_DEPTH: Final = 2000
"""How deep they are at most: documents are read up to a depth of 256, but what can stand below each other, each type
once, may be deeper."""


@dataclass(frozen=True, slots=True)
class Box:
    """A box drawn around the ``members`` below ``parent``; its name stands in brackets in paths."""

    name: str
    parent: Path
    members: tuple[str, ...]

    @property
    def step(self) -> str:
        return f"[{self.name}]"

    @property
    def path(self) -> Path:
        return (*self.parent, self.step)

    @property
    def values(self) -> tuple[str, ...]:
        """The values behind the tags of the members: their local names, without escapes."""
        return tuple(unescaped_name(split_name(member)[1]) for member in self.members)

    @property
    def namespace(self) -> str:
        """The namespace of tags that are no members': that of all members, ``""`` where they are in several."""
        found = {split_name(member)[0] for member in self.members}
        return found.pop() if len(found) == 1 else ""


@dataclass(frozen=True, slots=True)
class Match:
    """A schema node that a step can stand for; ``tag`` is the tag that a box node must have for it."""

    path: Path
    tag: str | None = None


class SchemaTree:
    """The tree of a schema graph, seen with the boxes of one side of a mapping, and what it takes whole.

    Paths given to the methods start below the root; unknown ones raise ``KeyError``. A step ``//name`` stands for the
    elements of that type at any depth, where unfolding the steps between would never end, or is of no use: below the
    nodes of ``whole``, which a mapping takes as wholes, and which count as leaves of the stop nodes that own them; if
    it is said which recursive elements are ``entered``, all other recursive ones are wholes, too.

    Beside each element stand the virtual nodes of selections (:mod:`heptox.schema.selections`), of which each repeats,
    and below it computed leaves, which may be absent; they are there when they are asked for, and never listed.

    Where ``drawn`` says which paths there are, ``//name`` looks at no others; ``passed`` is what might be there.
    """

    def __init__(
        self,
        graph: SchemaGraph,
        boxes: tuple[Box, ...] = (),
        whole: frozenset[Path] = frozenset(),
        entered: frozenset[Path] | None = None,
        drawn: Container[Path] | None = None,
    ) -> None:
        self.graph = graph
        self.types = types_of(graph)
        self.boxes = boxes
        self.whole = whole
        self.entered = entered
        self.drawn = drawn
        self.passed: dict[Path, None] = {}
        self._boxes = {box.path: box for box in boxes}
        self._box_at: dict[Path, Box | None] = {}
        self._boxed = {(*box.parent, member): box for box in boxes for member in box.members}
        self._edges: dict[Path, Cardinality] = {}
        self._elements: dict[Path, Element] = {(): graph.elements[graph.root]}
        self._children: dict[Path, tuple[Path, ...]] = {}
        self._wholes: dict[Path, Path | None] = {}
        self._own_leaves: dict[Path, tuple[Path, ...]] = {}
        self._child_stops: dict[Path, tuple[Path, ...]] = {}
        self._stops: dict[Path, tuple[Path, ...]] = {}
        self._cyclic: dict[Path, bool] = {}
        # What steps can stand for, as far as it is known (steps.py).
        self.known_matches: dict[tuple[Path, Axis, str], tuple[Match, ...]] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SchemaTree) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash((self.graph.root, self.boxes, self.whole))

    @property
    def _identity(self) -> tuple[SchemaGraph, tuple[Box, ...], frozenset[Path], frozenset[Path] | None]:
        return self.graph, self.boxes, self.whole, self.entered

    @property
    def root(self) -> str:
        """What the root element is called."""
        return self._elements[()].name

    def is_recursive(self, path: Path) -> bool:
        """Whether elements of the type at ``path`` can stand below each other."""
        return self.element(path).key in self._tree_of(path).types.recursive

    @cached_property
    def members(self) -> dict[str, tuple[str, ...]]:
        """What the elements in boxes are called, by the steps that stand for these."""
        return {box.path[-1]: box.members for box in self.boxes}

    @cached_property
    def types_by_name(self) -> SchemaTree:
        """The tree in which all element types of one name are one, of which what stands anywhere is."""
        graph = by_name(self.graph)
        return self if graph is self.graph else SchemaTree(graph)

    def _tree_of(self, path: Path) -> SchemaTree:
        """The tree of whose types what stands below ``path`` is."""
        other = self.types_by_name
        return other if other is not self and any(step.startswith(ANYWHERE) for step in path) else self

    def names_below(self, path: Path) -> frozenset[str]:
        """What the elements are called that can stand below the element at ``path``, at any depth."""
        return self._tree_of(path).types.names_below(self.element(path).key)

    # -- single nodes --------------------------------------------------------------------------------------------

    def __contains__(self, path: object) -> bool:
        if not isinstance(path, tuple):
            return False
        try:
            self.edge(path)
        except KeyError:
            return False
        return True

    def box(self, path: Path) -> Box | None:
        """The box at ``path``, ``None`` where the node is no box."""
        if not self._boxes:
            return None
        if path not in self._box_at:
            self._box_at[path] = self._boxes.get(plain(path))
        return self._box_at[path]

    def element(self, path: Path) -> Element:
        """The element type at ``path``; of a box, that of its first member (their content is the same)."""
        if path not in self._elements:
            parent, step = path[:-1], path[-1]
            if step.startswith(ANYWHERE):
                if step.removeprefix(ANYWHERE) not in self.names_below(parent):
                    raise KeyError(path)
                self._elements[path] = self.types_by_name.graph.elements[step.removeprefix(ANYWHERE)]
                return self._elements[path]
            box = self.box(path)
            name = box.members[0] if box else split_selection(step)[0]
            tree = self._tree_of(parent)
            child = tree.types.children[self.element(parent).key].get(name)
            if child is None or (box is None and plain((*parent, name)) in self._boxed):
                raise KeyError(path)
            self._elements[path] = tree.graph.elements[child.key]
        return self._elements[path]

    def attribute(self, path: Path) -> Attribute:
        """The attribute at ``path``, whose last step is ``@name``."""
        for attribute in self.element(path[:-1]).attributes if path else ():
            if path[-1] == f"@{attribute.name}":
                return attribute
        raise KeyError(path)

    def edge(self, path: Path) -> Cardinality:
        """The cardinality of the edge that ends at ``path``; the root's is ``1``, a box always repeats.

        An element without child elements has one text, which may be empty; in mixed content texts repeat.
        """
        if path not in self._edges:
            self._edges[path] = self._edge(path)
        return self._edges[path]

    def _edge(self, path: Path) -> Cardinality:
        if not path:
            return Cardinality.ONE
        if path[-1].startswith("@"):
            return self.attribute(path).cardinality
        if path[-1].startswith(COMPUTED):
            self.element(path[:-1])
            return Cardinality.OPTIONAL
        if path[-1] == TEXT:
            element = self.element(path[:-1])
            if not element.text or (element.text_only and self.box(path[:-1]) is None):
                raise KeyError(path)
            return Cardinality.MANY if element.mixed else Cardinality.ONE
        self.element(path)
        if self.box(path) or path[-1].startswith(ANYWHERE) or is_selection(path[-1]):
            return Cardinality.MANY
        return self._tree_of(path[:-1]).types.children[self.element(path[:-1]).key][path[-1]].cardinality

    def is_element(self, path: Path) -> bool:
        """Whether the node is an element (or a box of elements), not an attribute or text."""
        return not path or not (path[-1].startswith(("@", COMPUTED)) or path[-1] == TEXT)

    def may_hold_anything(self, path: Path | None, *, deep: bool) -> bool:
        """Whether open content stands at an element, or, if ``deep``, anywhere below it; ``None`` is the document."""
        if not self.types.open_names or (path is not None and not self.is_element(path)):
            return False
        if path is None and not deep:
            return False
        names = {self.element(path or ()).name, *(self.names_below(path or ()) if deep else ())}
        return not self.types.open_names.isdisjoint(names)

    def is_leaf(self, path: Path) -> bool:
        """Whether the node is an attribute, text, or an element that holds only text."""
        return not self.is_element(path) or (self.box(path) is None and self.element(path).text_only)

    def whole_at(self, path: Path) -> Path | None:
        """The outermost whole at or above ``path``, ``None`` where there is none."""
        if not self.whole and self.entered is None:
            return None
        if path not in self._wholes:
            above = (path[:length] for length in range(len(path) + 1))
            self._wholes[path] = next(filter(self._is_taken_whole, above), None)
        return self._wholes[path]

    def is_whole(self, path: Path) -> bool:
        """Whether the node is taken whole, and none above it is."""
        return self.whole_at(path) == path

    def _is_taken_whole(self, path: Path) -> bool:
        if path in self.whole:
            return True
        if self.entered is None or path in self.entered or not self.is_element(path) or path not in self:
            return False
        return self.is_recursive(path) and not self.is_cyclic(path)

    def is_stop(self, path: Path) -> bool:
        """Whether the node is the root, a box, or the end of a ``*`` or ``+`` edge."""
        return not path or self.edge(path).repeats

    def stop(self, path: Path) -> Path:
        """The nearest stop node at or above ``path``."""
        while not self.is_stop(path):
            path = path[:-1]
        return path

    def stops(self, path: Path) -> tuple[Path, ...]:
        """All stop nodes at or above ``path``, the root first."""
        if path not in self._stops:
            above = (path[:length] for length in range(len(path) + 1))
            self._stops[path] = tuple(node for node in above if self.is_stop(node))
        return self._stops[path]

    def required(self, path: Path, below: Path = ()) -> bool:
        """Whether validity guarantees the node ``path`` wherever its ancestor ``below`` stands."""
        return all(self.edge(path[:length]).required for length in range(len(below) + 1, len(path) + 1))

    # -- neighbourhoods ------------------------------------------------------------------------------------------

    def children(self, path: Path) -> tuple[Path, ...]:
        """The nodes directly below: attributes, then text, then elements and boxes, in the order of the schema."""
        if path not in self._children:
            self._children[path] = self._unfolded(path) if self.is_element(path) else ()
        return self._children[path]

    def _unfolded(self, path: Path) -> tuple[Path, ...]:
        element = self.element(path)
        found: dict[Path, None] = {(*path, f"@{attribute.name}"): None for attribute in element.attributes}
        if element.text and (not element.text_only or self.box(path)):
            found[(*path, TEXT)] = None
        for child in element.children:
            box = self._boxed.get((*plain(path), child.name)) if self._boxed else None
            found[(*path, box.step if box else child.name)] = None
        return tuple(found)

    def is_cyclic(self, path: Path) -> bool:
        """Whether an element type occurs twice on the way to ``path``: unfolding further would never end.

        After a step ``//name`` counting begins anew.
        """
        if path not in self._cyclic:
            known = len(path) if path[:-1] in self._cyclic else 0
            for length in range(known, len(path) + 1):  # from above: deep schemas would exhaust the stack
                self._cyclic[path[:length]] = self._repeats_a_type(path[:length])
        return self._cyclic[path]

    def _repeats_a_type(self, path: Path) -> bool:
        """Whether an element type occurs twice on the way to ``path``, when that is known of the node above it."""
        if not path or path[-1].startswith(ANYWHERE):
            return False
        if self._cyclic[path[:-1]] or not self.is_element(path):
            return self._cyclic[path[:-1]]
        key = self.element(path).key
        return self.is_recursive(path) and any(self.element(above).key == key for above in _nearest_above(path))

    def walk(self, path: Path = (), only: Container[str] | None = None) -> Iterator[Path]:
        """``path`` and all nodes below it in schema order, if ``only`` some element types are wanted without others and
        what is in these.

        Where a recursion is entered, each of its element types is unfolded once, the first time that it comes, and
        left out when it comes again. So the walk ends, and meets every element type and attribute that can stand below.

        Raises :class:`SchemaError` (HX2012) beyond :data:`MAXIMUM_NODES` nodes: sharing element types can make a tree
        exponentially larger than its graph; and below :data:`MAXIMUM_DEPTH`.
        """
        return _walked(self, path, only)

    def nodes(self) -> tuple[Path, ...]:
        """All nodes, as :meth:`walk`; a tree that is too large is refused before it is unfolded."""
        if not self.boxes and self.types.least_sizes[self.graph.root] > MAXIMUM_NODES:
            raise too_large(self.graph)
        return tuple(self.walk())

    def own_leaves(self, stop: Path) -> tuple[Path, ...]:
        """The leaves that a stop node owns, relative to it: those reached by single-valued edges; itself is ``()``."""
        if stop not in self._own_leaves:
            self._own_leaves[stop] = tuple(leaf[len(stop) :] for leaf in _owned(self, stop))
        return self._own_leaves[stop]

    def child_stops(self, stop: Path) -> tuple[Path, ...]:
        """The next stop nodes below a stop node, in schema order."""
        if stop not in self._child_stops:
            self._child_stops[stop] = tuple(_next_stops(self, stop))
        return self._child_stops[stop]

    # -- tags in boxes -------------------------------------------------------------------------------------------

    def tag_of_value(self, box: Path, value: str) -> str:
        """The tag that a value becomes in the box at ``box`` (``semantics.md`` section 2); injective.

        Of a member it is the local name; what is no member's is in the namespace of the members. A value that would
        become another declared name has its first character escaped, or more of them where the schema declares that
        spelling as well.

        Raises :class:`SchemaError` (HX2011) when the schema declares every spelling of the value.
        """
        found = self._boxes[plain(box)]
        if value in found.values:
            return found.members[found.values.index(value)]
        for local in name_spellings(value):
            name = expanded_name(found.namespace, local)
            if name not in self.types.names:
                return name
        raise SchemaError(Fault("HX2011", f"the schema declares every name that could stand for the value {value!r}"))

    def value_of_tag(self, box: Path, tag: str) -> str | None:
        """The value behind a tag in the box at ``box``; ``None`` for a tag that no value becomes."""
        found = self._boxes[plain(box)]
        namespace, local = split_name(tag)
        value = unescaped_name(local)
        if tag in found.members:
            return value
        if tag in self.types.names or namespace != found.namespace:
            return None
        return value if self.tag_of_value(box, value) == tag else None

    # -- texts -----------------------------------------------------------------------------------------------------

    def written(self, path: Path) -> str:
        """A path as a text has it: its names with the prefixes of the schema."""
        return "/".join(written_step(step, self.graph.prefixes.step) for step in path)


def _walked(tree: SchemaTree, path: Path, only: Container[str] | None) -> Iterator[Path]:
    """As :meth:`SchemaTree.walk`."""
    met = 0
    waiting: list[tuple[Path, set[str]]] = [(path, set())]
    while waiting:
        node, unfolded = waiting.pop()
        key = tree.element(node).key if tree.is_element(node) else None
        if key in unfolded or (only is not None and key is not None and key not in only):
            continue
        met += 1
        if met > MAXIMUM_NODES or len(node) > MAXIMUM_DEPTH:
            raise too_large(tree.graph)
        yield node
        if key is not None:
            recursive = tree.is_recursive(node)
            if recursive:
                unfolded.add(key)
            children = reversed(tree.children(node))
            waiting.extend((child, unfolded if recursive else set(unfolded)) for child in children)


def _owned(tree: SchemaTree, path: Path) -> Iterator[Path]:
    """The leaves at a node and below it that are reached by single-valued edges."""
    if tree.is_leaf(path) or tree.is_whole(path):
        yield path
    elif not tree.is_cyclic(path):
        for child in tree.children(path):
            if not tree.is_stop(child):
                yield from _owned(tree, child)


def _next_stops(tree: SchemaTree, path: Path) -> Iterator[Path]:
    """The next stop nodes below a node."""
    if not tree.is_cyclic(path) and not tree.is_whole(path):
        for child in tree.children(path):
            if tree.is_stop(child):
                yield child
            else:
                yield from _next_stops(tree, child)


def nodes_up_to(tree: SchemaTree, most: int) -> list[Path] | None:
    """All nodes of a tree, ``None`` where there are more than so many; no more are looked at."""
    found = list(islice(tree.walk(), most + 1))
    return found if len(found) <= most else None


def too_large(graph: SchemaGraph) -> SchemaError:
    """The fault of a walk that meets too many nodes."""
    return SchemaError(
        Fault(
            "HX2012",
            f"the schema tree has more than {MAXIMUM_NODES} nodes, or is deeper than {MAXIMUM_DEPTH}",
            file=graph.file,
        )
    )


def _nearest_above(path: Path) -> Iterator[Path]:
    """The nodes above ``path``, the nearest first, up to a step ``//name``."""
    for length in range(len(path) - 1, -1, -1):
        yield path[:length]
        if length and path[length - 1].startswith(ANYWHERE):
            return

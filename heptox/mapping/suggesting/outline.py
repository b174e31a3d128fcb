"""A schema as it is compared: each element type once, however often the tree has it.

The tree of a schema can be very much larger than its graph, so types and their leaves are compared first, and paths
only where these are alike.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Final

from heptox.pattern import TAG
from heptox.schema import TEXT, AttributeType, Path, SchemaTree, nodes_up_to
from heptox.xml import split_name

_DEEPEST_GROUP: Final = 4


@dataclass(frozen=True, slots=True)
class Entry:
    """What can be an end of an arrow, by the number of the type that owns it and the step from there.

    ``type`` is that of an attribute, and ``text`` for other leaves, ``tag`` for the tag of a box, ``copy`` for an inner
    node that can only be carried whole; ``values`` are those that the schema allows, none where it allows any.
    """

    owner: int
    step: str
    name: str
    type: str
    repeats: bool = False
    values: tuple[str, ...] = ()
    element: str = ""

    @property
    def copies(self) -> bool:
        return self.type == "copy"


@dataclass(slots=True)
class Type:
    """An element type, or a box: its name, where it stands, what it owns, and the types below it."""

    name: str
    places: list[Path] = field(default_factory=list)
    entries: list[int] = field(default_factory=list)
    children: dict[int, bool] = field(default_factory=dict)


MOST_WALKED: Final = 50_000
"""Nodes of a tree that is looked at whole, at most."""
NEAREST: Final = 300
"""Elements of a larger tree that are looked at: those that stand nearest to the root."""


def _looked_at(tree: SchemaTree, drawn: Iterable[Path]) -> Iterable[Path]:
    nodes = nodes_up_to(tree, MOST_WALKED)
    if nodes is not None:
        return nodes
    above = {path[:length] for path in drawn for length in range(len(path) + 1)}
    inner = (path for path in sorted(above) if path in tree and tree.is_element(path))
    return dict.fromkeys((*islice(_nearest(tree), NEAREST), *inner))


def _nearest(tree: SchemaTree) -> Iterator[Path]:
    """The elements of a tree, those first that stand nearest to the root."""
    waiting: deque[Path] = deque([()])
    while waiting:
        path = waiting.popleft()
        yield path
        if not tree.is_cyclic(path):
            waiting.extend(child for child in tree.children(path) if tree.is_element(child))


class Outline:
    """The types of a schema tree and their entries, numbered in the order in which the tree has them.

    A box, and what is above it, is distinguished from elements of the same type elsewhere.
    """

    def __init__(self, tree: SchemaTree, drawn: Iterable[Path] = ()) -> None:
        self.tree = tree
        self.types: list[Type] = []
        self.entries: list[Entry] = []
        self._at: dict[Path, int] = {}
        self._numbers: dict[str | Path, int] = {}
        self._special = frozenset(box.path[:length] for box in tree.boxes for length in range(len(box.path) + 1))
        self._known: dict[tuple[int, str], int] = {}
        for path in _looked_at(tree, drawn):
            if not tree.is_leaf(path):
                self._add(path)
        for number in range(len(self.types)):
            self._fill(number)

    def _key(self, path: Path) -> str | Path:
        return path if path in self._special else self.tree.element(path).key

    def type_at(self, path: Path) -> int:
        """The number of the type at a path of an inner node; -1 where it is none of those that are looked at."""
        if path not in self._at:
            self._at[path] = self._numbers.get(self._key(path), -1)
        return self._at[path]

    def way(self, path: Path) -> tuple[int, ...]:
        """The numbers of the types on the way to an inner node, the root first."""
        return tuple(self.type_at(path[:length]) for length in range(len(path) + 1))

    def _add(self, path: Path) -> None:
        key = self._key(path)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.types)
            box = self.tree.box(path)
            self.types.append(Type(box.name if box else split_name(path[-1] if path else self.tree.root)[1]))
        self.types[number].places.append(path)

    def _fill(self, number: int) -> None:
        """Find what a type owns, where it stands first."""
        path = self.types[number].places[0]
        box = self.tree.box(path)
        if box:
            self._own(Entry(number, TAG, box.name, "tag", values=box.values))
        for child in self.tree.children(path):
            repeats = self.tree.is_stop(child)
            if not self.tree.is_leaf(child):
                below = self._numbers.get(self._key(child))
                if below is not None:
                    self.types[number].children[below] = repeats
                if self._is_topmost_whole(path, child):
                    element = self.tree.element(child)
                    name = split_name(element.name)[1]
                    self._own(Entry(number, child[-1], name, "copy", repeats, element=element.key))
            elif child[-1] != TEXT or not repeats:
                self._own(self._leaf(number, child, repeats))

    def _leaf(self, number: int, path: Path, repeats: bool) -> Entry:
        step = path[-1]
        if step == TEXT:
            return Entry(number, step, self.types[number].name, "text", repeats)
        if not step.startswith("@"):
            return Entry(number, step, split_name(step)[1], "text", repeats)
        attribute = self.tree.attribute(path)
        return Entry(number, step, split_name(attribute.name)[1], attribute.type.value, repeats, attribute.values)

    def _own(self, entry: Entry) -> None:
        self._known[entry.owner, entry.step] = len(self.entries)
        self.types[entry.owner].entries.append(len(self.entries))
        self.entries.append(entry)

    def entry_at(self, path: Path) -> int | None:
        """The number of the entry at an absolute path, a box standing for its tag; ``None`` where there is none."""
        if path not in self.tree or not path:
            return None
        if self.tree.box(path):
            return self._known.get((self.type_at(path), TAG))
        return self.entry_below(path[:-1], path[-1])

    def entry_below(self, path: Path, step: str) -> int | None:
        """The number of the entry of a step from an inner node; ``None`` where there is none."""
        if self.tree.is_leaf(path):
            return None
        number = self._numbers.get(self._key(path))
        return None if number is None else self._known.get((number, step))

    def places(self, entry: int) -> Iterator[Path]:
        """The paths of an entry."""
        owned = self.entries[entry]
        for place in self.types[owned.owner].places:
            yield place if owned.type == "tag" else (*place, owned.step)

    # -- what can only be carried whole ------------------------------------------------------------------------------

    @cached_property
    def _whole(self) -> frozenset[str]:
        """The element types that hold text between elements, or themselves, and those that hold only such ones."""
        elements = self.tree.graph.elements
        found = {key for key, element in elements.items() if element.mixed or element.open} | self.tree.types.recursive
        grew = True
        while grew:
            more = {
                key
                for key, element in elements.items()
                if element.children
                and not element.attributes
                and not element.text
                and all(child.key in found for child in element.children)
            }
            grew = not more <= found
            found |= more
        return frozenset(found)

    def _is_topmost_whole(self, parent: Path, child: Path) -> bool:
        if self.tree.box(child) or self.tree.element(child).key not in self._whole:
            return False
        return not parent or self.tree.element(parent).key not in self._whole

    # -- neighbourhoods ----------------------------------------------------------------------------------------------

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """For each type its entries, and those below it that belong to it because they stand there once."""

        def gathered(number: int, depth: int, seen: set[int]) -> Iterator[int]:
            yield from self.types[number].entries
            for child, repeats in self.types[number].children.items():
                if not repeats and child not in seen and depth:
                    seen.add(child)
                    yield from gathered(child, depth - 1, seen)

        return tuple(tuple(gathered(number, _DEEPEST_GROUP, {number})) for number in range(len(self.types)))

    @cached_property
    def holders(self) -> tuple[tuple[int, ...], ...]:
        """For each entry the types that have it in their group."""
        found: list[list[int]] = [[] for _ in self.entries]
        for number, group in enumerate(self.groups):
            for entry in group:
                found[entry].append(number)
        return tuple(tuple(numbers) for numbers in found)


REFERENCES: Final = frozenset((AttributeType.IDREF.value, AttributeType.IDREFS.value))
LISTS: Final = frozenset((AttributeType.IDREFS.value, AttributeType.NMTOKENS.value, AttributeType.ENTITIES.value))

"""Groups: schema nodes that can be bound together without multiplying each other (``semantics.md`` section 3).

The report's Figure 3, repaired: every stop node that owns a leaf makes a group, and so does the root.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from heptox.schema.element_types import TEXT
from heptox.schema.tree import Box, Path, SchemaTree


@dataclass(frozen=True, slots=True)
class Group:
    """A stop node, what it owns, and the way to it.

    ``nodes`` are the paths from the root (which is ``()``) down to the stop node, then the nodes that it reaches by
    single-valued edges, in schema order, inner nodes without a leaf below them left out. ``leaves`` are its own leaves;
    a repeating leaf is its own leaf, and a box has one that is no node, its tag. ``names`` are what people call the
    nodes: each the shortest end of its path that no other node of the schema has; a box by its members.
    """

    stop: Path
    nodes: tuple[Path, ...]
    leaves: tuple[Path, ...]
    names: tuple[str, ...]


def groups(tree: SchemaTree) -> tuple[Group, ...]:
    """The groups of a schema: stop nodes without others below them first, then inner before outer, the root's last.

    A recursion is unfolded as ``tree.walk`` does.

    >>> from heptox.schema.dtd import parse_dtd
    >>> dtd = ("<!ELEMENT bib (book*)> <!ELEMENT book (title, author{}, pub)> <!ELEMENT title (#PCDATA)>"
    ...        "<!ELEMENT author (name)> <!ELEMENT pub (name)> <!ELEMENT name (#PCDATA)>")
    >>> for sign in "", "*":
    ...     print([", ".join(group.names) for group in groups(SchemaTree(parse_dtd(dtd.format(sign))))])
    ['bib, book, title, author, author/name, pub, pub/name']
    ['bib, book, author, author/name', 'bib, book, title, pub, pub/name']
    """
    paths = tree.nodes()
    stops = {path for path in paths if tree.is_stop(path)}
    above = {stop[:length] for stop in stops for length in range(len(stop))}
    naming = _Naming(tree, paths)
    lowest = [path for path in paths if path in stops and path not in above]
    found = []
    for stop in (*lowest, *_inner_first(paths, stops & above)):
        leaves = tuple((*stop, *leaf) for leaf in tree.own_leaves(stop))
        if leaves or tree.box(stop):
            nodes = _nodes(tree, stop, leaves)
            found.append(Group(stop, nodes, leaves, tuple(name for node in nodes for name in naming.of(node))))
    return tuple(found)


def _inner_first(paths: Iterable[Path], chosen: set[Path]) -> Iterator[Path]:
    """The chosen paths, each after those below it, otherwise in order."""
    open_paths: list[Path] = []
    for path in (path for path in paths if path in chosen):
        while open_paths and path[: len(open_paths[-1])] != open_paths[-1]:
            yield open_paths.pop()
        open_paths.append(path)
    yield from reversed(open_paths)


def _nodes(tree: SchemaTree, stop: Path, leaves: tuple[Path, ...]) -> tuple[Path, ...]:
    kept = {leaf[:length] for leaf in leaves for length in range(len(stop) + 1, len(leaf) + 1)}

    def below(path: Path) -> Iterator[Path]:
        for child in tree.children(path):
            if child in kept:
                yield child
                yield from below(child)

    return (*(stop[:length] for length in range(len(stop) + 1)), *below(stop))


class _Naming:
    """Names for the nodes of a tree: the shortest end of a path that is unique."""

    def __init__(self, tree: SchemaTree, paths: Iterable[Path]) -> None:
        self.tree = tree
        self.ends = Counter(end for path in paths for end in _ends((tree.root, *path)))

    def of(self, node: Path) -> tuple[str, ...]:
        """The name of a node; of a box, the names of its members."""
        box = self.tree.box(node)
        if box is not None:
            return tuple(self._name((*node[:-1], member)) for member in box.members)
        return (self._name(node),)

    def _name(self, node: Path) -> str:
        whole = (self.tree.root, *node)
        end = next((end for end in _ends(whole) if self.ends[end] <= 1 and end != (TEXT,)), whole)
        shown = len(whole) - len(end)
        return "/".join(self._step(whole, place) for place in range(shown, len(whole)))

    def _step(self, whole: Path, place: int) -> str:
        box = self.tree.box(whole[1 : place + 1])
        written = self.tree.graph.prefixes.step
        return f"({' | '.join(map(written, box.members))})" if box else written(whole[place])


def _ends(path: Path) -> Iterator[Path]:
    return (path[-length:] for length in range(1, len(path) + 1))


def alike_boxes(tree: SchemaTree) -> tuple[Box, ...]:
    """Boxes around siblings that all repeat and hold exactly the same: attributes, children, text, in the same order.

    They show what a box would make of a schema before any mapping has drawn one. Siblings that hold nothing but text
    have no structure to share and stay apart. The boxes of ``tree`` come first, and nothing in them is boxed again.

    >>> from heptox.schema.dtd import parse_dtd
    >>> tree = SchemaTree(parse_dtd("<!ELEMENT a (b*, c*)> <!ELEMENT b (d)> <!ELEMENT c (d)> <!ELEMENT d (#PCDATA)>"))
    >>> [(box.parent, box.members) for box in alike_boxes(tree)]
    [((), ('b', 'c'))]
    """
    found = list(tree.boxes)
    for path in tree.nodes():
        if tree.is_element(path):
            found.extend(_alike_below(tree, path))
    return tuple(found)


def _alike_below(tree: SchemaTree, path: Path) -> Iterator[Box]:
    alike: dict[object, list[str]] = {}
    for child in tree.children(path):
        if tree.is_element(child) and not tree.box(child) and tree.is_stop(child) and not tree.is_leaf(child):
            element = replace(tree.element(child), name="")
            alike.setdefault((element, element.content), []).append(child[-1])
    for members in alike.values():
        if len(members) > 1:
            yield Box(" | ".join(members), path, tuple(members))

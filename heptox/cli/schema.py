"""``heptox schema show``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from heptox.cli.inputs import CatalogueFiles, Json
from heptox.cli.output import on_terminal, print_json, print_note, print_result
from heptox.schema import (
    TEXT,
    AttributeType,
    Cardinality,
    Path,
    SchemaTree,
    ValueType,
    alike_boxes,
    constrained_leaves,
    document_dtd,
    groups as groups_of,
    only_identifier,
    read_schema,
)
from heptox.xml import read_document

MOST_SHOWN: Final = 200_000
"""Nodes of a tree that are shown at most: of a larger one, as many levels as that are."""
DEEPEST_SHOWN: Final = 200
"""Levels of a tree that are shown at most."""


def show(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="FILE.dtd, FILE.xsd, FILE.xml that holds its DTD, or - for a schema.")
    ],
    root: Annotated[str | None, typer.Option(metavar="NAME", help="The root element type.")] = None,
    groups: Annotated[bool, typer.Option("--groups", help="Show the groups instead of the tree.")] = False,
    depth: Annotated[
        int | None, typer.Option("--depth", metavar="N", min=0, help="Show N levels below the root, and no more.")
    ] = None,
    catalogues: CatalogueFiles = None,
    json: Json = False,
) -> None:
    """Show the tree of a schema, or its groups.

    A document, FILE.xml, is shown by the DTD that it holds in its DOCTYPE. Names have the prefixes that the schema
    declares.

    The tree names each element and attribute with its cardinality (none: one; ? at most one; * any number; + at least
    one) and its kind; a recursive element type is unfolded once. A group is a unit of information: what can be bound
    together without multiplying each other. Repeating siblings of the same content share a group, as if in a box.

    A schema may be of several files: those that lie beside it are read, and those that catalogues name: --catalog, and
    catalog.xml beside it or in a folder just below. Nothing is fetched. Remarks, on stderr, say what of a DTD no valid
    document can have.
    """
    if groups and depth is not None:
        raise typer.BadParameter("--depth cuts the tree, not the groups")
    xml = file.endswith(".xml")
    graph = document_dtd(read_document(file), root) if xml else read_schema(file, root, catalogues or ())
    for remark in graph.remarks:
        print_note(str(remark))
    tree = SchemaTree(graph)
    if groups:
        _show_groups(tree, json)
    else:
        _show_tree(tree, depth, json)


def _show_groups(tree: SchemaTree, json: bool) -> None:
    found = groups_of(SchemaTree(tree.graph, alike_boxes(tree)))
    if json:
        print_json([list(group.names) for group in found])
    else:
        for group in found:
            print_result(f"{{{', '.join(group.names)}}}")


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the tree as it is shown."""

    name: str
    cardinality: str
    notes: tuple[str, ...]
    children: tuple[Node, ...] = ()


def _show_tree(tree: SchemaTree, depth: int | None, json: bool) -> None:
    node = _unfolded(tree, depth)
    if json:
        print_json(asdict(node))
    elif on_terminal():
        _print_rich_tree(node)
    else:
        for line in _lines(node):
            print_result(line)


def _unfolded(tree: SchemaTree, depth: int | None) -> Node:
    """The tree to a depth, and to less, which is noted, where that is too large to be shown."""
    known_to_be_large = depth is None and tree.types.least_sizes[tree.graph.root] > MOST_SHOWN
    node = None if known_to_be_large else _Unfolding(tree, depth).whole()
    if node is not None:
        return node
    found, levels = _Unfolding(tree, 0).whole(), 0
    assert found is not None  # the root alone
    while (deeper := _Unfolding(tree, levels + 1).whole()) is not None:
        found, levels = deeper, levels + 1
    too_many = f"has over {MOST_SHOWN:,} nodes" if levels < DEEPEST_SHOWN else f"is over {DEEPEST_SHOWN} levels deep"
    print_note(f"the tree {too_many}: this is what --depth {levels} shows of it")
    return found


class _Notes:
    """What is said about a node beside its name and cardinality."""

    def __init__(self, tree: SchemaTree) -> None:
        self.tree = tree
        self.target = only_identifier(tree.graph)
        self.keys, self.references = constrained_leaves(tree)

    def of(self, path: Path, unfolded: bool) -> Iterator[str]:
        yield from (found := tuple(self._of_node(path, unfolded)))
        if path in self.keys and "key" not in found:
            yield "key"
        for target in dict.fromkeys(one.target for one in self.references if one.source == path):
            yield f"refers to {self.tree.graph.prefixes.path(target)}"

    def _of_node(self, path: Path, unfolded: bool) -> Iterator[str]:
        if not self.tree.is_element(path):
            yield from self._of_attribute(path) if path[-1] != TEXT else ()
            return
        element = self.tree.element(path)
        if self.tree.is_recursive(path):
            yield "recursive" if unfolded else "recursive, as above"
        if element.mixed and not element.open:
            yield "mixed"
        elif element.text and not element.open:
            yield "text" if element.value_type is ValueType.STRING else element.value_type.value
        elif not element.children and not element.open:
            yield "empty"
        if element.values:
            yield _enumerated(element.values)
        if element.open:
            yield "open"

    def _of_attribute(self, path: Path) -> Iterator[str]:
        attribute = self.tree.attribute(path)
        if attribute.type is AttributeType.ENUMERATION and attribute.value_type is ValueType.STRING:
            yield _enumerated(attribute.values)
        elif attribute.type in (AttributeType.CDATA, AttributeType.ENUMERATION):
            yield "CDATA" if attribute.value_type is ValueType.STRING else attribute.value_type.value
        else:
            yield attribute.type.value
        if attribute.default is not None:
            yield f'{"fixed" if attribute.fixed else "default"} "{attribute.default}"'
        if attribute.type is AttributeType.ID:
            yield "key"
        if attribute.type is AttributeType.IDREF and self.target is not None:
            yield f"refers to {self.tree.graph.prefixes.path(self.target)}"


_MOST_VALUES: Final = 6


def _enumerated(values: tuple[str, ...]) -> str:
    """The values of an enumeration, of very many the first."""
    more = len(values) - _MOST_VALUES
    return " | ".join(values) if more <= 1 else f"{' | '.join(values[:_MOST_VALUES])} | {more} others"


class _Unfolding:
    """Unfolds a tree to a depth; recursive element types are unfolded where they come first, and so stay finite."""

    def __init__(self, tree: SchemaTree, depth: int | None) -> None:
        self.tree = tree
        self.depth = depth
        self.notes = _Notes(tree)
        self.unfolded: set[str] = set()
        self.count = 0

    def whole(self) -> Node | None:
        """The root with all below it, ``None`` where these are more than :data:`MOST_SHOWN`."""
        try:
            return self.node(())
        except OverflowError:
            return None

    def node(self, path: Path) -> Node:
        """The node at ``path``, with those below it; raises ``OverflowError`` beyond :data:`MOST_SHOWN`."""
        self.count += 1
        if self.count > MOST_SHOWN or len(path) > DEEPEST_SHOWN:
            raise OverflowError
        again, cut = False, False
        if self.tree.is_element(path):
            key = self.tree.element(path).key
            again, cut = key in self.unfolded, len(path) == self.depth
            if not cut and self.tree.is_recursive(path):
                self.unfolded.add(key)
        has_more = cut and self._has_children(path)  # which are as many again: they are not unfolded
        children = () if again or cut else self.tree.children(path)
        prefixes = self.tree.graph.prefixes
        return Node(
            name=prefixes.step(path[-1]) if path else prefixes.written(self.tree.root),
            cardinality=self.tree.edge(path).value,
            notes=(*self.notes.of(path, not again), *(["more below"] if has_more and not again else [])),
            children=tuple(map(self.node, children)),
        )

    def _has_children(self, path: Path) -> bool:
        element = self.tree.element(path)
        return bool(element.attributes or element.children) or element.mixed


def _label(node: Node) -> tuple[str, str]:
    mark = "" if node.cardinality == Cardinality.ONE else node.cardinality
    return f"{node.name}{mark}", ", ".join(node.notes)


def _lines(node: Node, depth: int = 0) -> Iterator[str]:
    name, notes = _label(node)
    yield f"{'  ' * depth}{name}{'  ' if notes else ''}{notes}"
    for child in node.children:
        yield from _lines(child, depth + 1)


def _print_rich_tree(node: Node) -> None:
    def grown(node: Node) -> Tree:
        name, notes = _label(node)
        tree = Tree(Text.assemble((name, "bold" if node.children else ""), "  ", (notes, "dim")))
        tree.children.extend(grown(child) for child in node.children)
        return tree

    Console().print(grown(node))

"""``heptox schema show``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from heptox.cli.inputs import Json
from heptox.cli.output import on_terminal, print_json, print_result
from heptox.errors import Fault, SchemaError
from heptox.schema import (
    TEXT,
    AttributeType,
    Cardinality,
    Path,
    SchemaTree,
    ValueType,
    alike_boxes,
    document_dtd,
    groups as groups_of,
    inferred_references,
    read_schema,
)
from heptox.xml import read_document


def show(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="FILE.dtd, FILE.xsd, FILE.xml that holds its DTD, or - for a schema.")
    ],
    root: Annotated[str | None, typer.Option(metavar="NAME", help="The root element type.")] = None,
    groups: Annotated[bool, typer.Option("--groups", help="Show the groups instead of the tree.")] = False,
    depth: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Levels below the root that are shown; else all.")
    ] = None,
    json: Json = False,
) -> None:
    """Show the tree of a schema, or its groups.

    A document, FILE.xml, is shown by the DTD that it holds in its DOCTYPE. What an XSD imports is read beside it, and
    names have the prefixes that it declares.

    The tree names each element and attribute with its cardinality (none: one; ? at most one; * any number; + at least
    one) and its kind; a recursive element type is unfolded once. Of a large schema, --depth shows the first levels. A
    group is a unit of information: what can be bound together without multiplying each other. Repeating siblings of the
    same content share a group, as if in a box.
    """
    graph = document_dtd(read_document(file), root) if file.endswith(".xml") else read_schema(file, root)
    tree = SchemaTree(graph)
    if groups:
        _show_groups(tree, json)
    else:
        try:
            _show_tree(tree, depth, json)
        except SchemaError as error:
            raise SchemaError(map(_advised, error.faults)) from None


def _advised(fault: Fault) -> Fault:
    """A fault with what to do about it: a tree that is too large can be shown in part."""
    return replace(fault, hint="show its first levels, as with --depth 3") if fault.code == "HX2012" else fault


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
    node = _node(tree, (), _Notes(tree, whole=depth is None), set(), depth)
    if json:
        print_json(asdict(node))
    elif on_terminal():
        _print_rich_tree(node)
    else:
        for line in _lines(node):
            print_result(line)


class _Notes:
    """What is said about a node beside its name and cardinality."""

    def __init__(self, tree: SchemaTree, *, whole: bool) -> None:
        """What an ``IDREF`` refers to is known only where the ``whole`` tree may be looked at."""
        self.tree = tree
        self.references = {found.source: found.target for found in inferred_references(tree)} if whole else {}

    def of(self, path: Path, unfolded: bool) -> Iterator[str]:
        if not self.tree.is_element(path):
            yield from self._of_attribute(path) if path[-1] != TEXT else ()
            return
        element = self.tree.element(path)
        if self.tree.is_recursive(path):
            yield "recursive" if unfolded else "recursive, as above"
        if element.mixed:
            yield "mixed"
        elif element.text:
            yield element.value_type.value if element.value_type is not ValueType.STRING else "text"
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
        if path in self.references:
            yield f"refers to {self.tree.graph.prefixes.path(self.references[path])}"


_MOST_VALUES: Final = 6


def _enumerated(values: tuple[str, ...]) -> str:
    """The values of an enumeration, of very many the first."""
    more = len(values) - _MOST_VALUES
    return " | ".join(values) if more <= 1 else f"{' | '.join(values[:_MOST_VALUES])} | {more} others"


def _node(tree: SchemaTree, path: Path, notes: _Notes, unfolded: set[str], depth: int | None) -> Node:
    """The node at ``path`` with ``depth`` levels below it; recursive element types are unfolded where they come first,
    and so stay finite."""
    element = tree.element(path) if tree.is_element(path) else None
    again = element is not None and element.key in unfolded
    if element is not None and tree.is_recursive(path):
        unfolded.add(element.key)
    cardinality = tree.edge(path)
    below = () if again or depth == 0 else tree.children(path)
    deeper = None if depth is None else depth - 1
    return Node(
        name=tree.graph.prefixes.step(path[-1] if path else tree.root),
        cardinality=cardinality.value,
        notes=tuple(notes.of(path, not again)),
        children=tuple(_node(tree, child, notes, unfolded, deeper) for child in below),
    )


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

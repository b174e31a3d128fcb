"""What a program makes of a document, slowly: one operator after the other rebuilds all of a tree of tuples."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from heptox.rewriting import (
    Arrange,
    Dissolve,
    Downgrade,
    Drop,
    Insert,
    NodeId,
    Operator,
    Program,
    Prune,
    Rename,
    Swap,
    ToAttribute,
    ToElement,
    Upgrade,
    WorkingTree,
)
from heptox.schema import TEXT, SchemaTree
from heptox.xml import XmlElement

Attribute: TypeAlias = tuple[NodeId | None, str, str]
"""The node of an attribute, its name with ``@``, and its value."""


@dataclass(frozen=True, slots=True)
class Element:
    """An element; ``node`` is that of the working tree, ``None`` for one that the schema does not know."""

    node: NodeId | None
    name: str
    attributes: tuple[Attribute, ...] = ()
    text: str = ""
    children: tuple[Element, ...] = ()


@dataclass(frozen=True, slots=True)
class Content:
    """An element without the order of attributes, of children, and of texts between children."""

    name: str
    attributes: tuple[tuple[str, str], ...]
    text: str
    children: tuple[Content, ...]


def slowly_rewritten(program: Program, root: XmlElement) -> Content | None:
    """What the program makes of a document; ``None`` where an attribute would have several values."""
    tree, found = WorkingTree(program.source), _read(program.source, root, ())
    for operator in program.operators:
        (found,) = _everywhere(found, _step(tree, operator))
        tree.apply(operator)
    return None if _clashes(found) else _content(found)


def content(element: XmlElement) -> Content:
    """An element of a document."""
    attributes = sorted((f"@{name}", value) for name, value in _attributes(element))
    return Content(str(element.tag), tuple(attributes), _text(element), _sorted(map(content, element)))


def _content(element: Element) -> Content:
    attributes = tuple(sorted((name, value) for _, name, value in element.attributes))
    return Content(element.name, attributes, element.text, _sorted(map(_content, element.children)))


def _sorted(children: map[Content]) -> tuple[Content, ...]:
    return tuple(sorted(children, key=repr))


def _attributes(element: XmlElement) -> list[tuple[str, str]]:
    return [(str(name), str(value)) for name, value in element.attrib.items()]


def _text(element: XmlElement) -> str:
    return "".join([element.text or "", *(child.tail or "" for child in element)])


def _clashes(element: Element) -> bool:
    names = [name for _, name, _ in element.attributes]
    return len(set(names)) < len(names) or any(map(_clashes, element.children))


def _read(schema: SchemaTree, element: XmlElement, node: NodeId | None) -> Element:
    known = {child[-1]: child for child in schema.children(node)} if node is not None else {}
    attributes = tuple((known.get(f"@{name}"), f"@{name}", value) for name, value in _attributes(element))
    children = tuple(_read(schema, child, known.get(str(child.tag))) for child in element)
    holds_text = node is None or schema.element(node).text
    return Element(node, str(element.tag), attributes, _text(element) if holds_text else "", children)


_Step: TypeAlias = Callable[[Element], Sequence[Element]]


def _everywhere(element: Element, step: _Step) -> Sequence[Element]:
    """What a step makes of each element, children first; what it makes of one takes its place."""
    children = tuple(each for child in element.children for each in _everywhere(child, step))
    return step(replace(element, children=children))


def _parted(element: Element, nodes: Collection[NodeId]) -> tuple[tuple[Element, ...], tuple[Element, ...]]:
    """The children of these nodes, and the others."""
    among = tuple(child for child in element.children if child.node in nodes)
    return among, tuple(child for child in element.children if child.node not in nodes)


def _step(tree: WorkingTree, operator: Operator) -> _Step:
    match operator:
        case Rename(node, name):
            return lambda element: [_renamed(element, node, name)]
        case ToElement(attribute):
            return lambda element: [_to_element(element, attribute)]
        case ToAttribute(leaf):
            return lambda element: [_to_attribute(element, leaf)]
        case Drop(node):
            return lambda element: _dropped(element, node)
        case _:
            at = operator.element
            step = _step_at(tree, operator)
            return lambda element: step(element) if element.node == at else [element]


_Structural: TypeAlias = Insert | Upgrade | Downgrade | Swap | Dissolve | Prune | Arrange


def _step_at(tree: WorkingTree, operator: _Structural) -> _Step:
    """What an operator makes of an element of its node."""
    match operator:
        case Insert():
            made = tuple(zip(operator.made, operator.names, strict=True))[::-1]
            moved = set(tree.moved(operator))
            return lambda element: [_wrapped(element, made, moved)]
        case Upgrade():
            moved = set(tree.moved(operator))
            return lambda element: _upgraded(element, moved)
        case Downgrade():
            return lambda element: [_downgraded(element, operator)]
        case Swap():
            return lambda element: _swapped(element, operator)
        case Dissolve(node):
            below = set(tree.elements(node))
            return lambda element: _parted(element, below)[0]
        case Prune():
            return lambda element: [element] if element.children or element.attributes or element.text else []
        case Arrange(_, order):
            places = {node: place for place, node in enumerate(order)}
            return lambda element: [replace(element, children=_arranged(element, places))]


def _renamed(element: Element, node: NodeId, name: str) -> Element:
    if element.node == node:
        return replace(element, name=name)
    attributes = tuple((each, name if each == node else old, value) for each, old, value in element.attributes)
    return replace(element, attributes=attributes)


def _to_element(element: Element, attribute: NodeId) -> Element:
    hit = [each for each in element.attributes if each[0] == attribute]
    rest = tuple(each for each in element.attributes if each[0] != attribute)
    made = tuple(Element(node, name[1:], (), value) for node, name, value in hit)
    return replace(element, attributes=rest, children=(*made, *element.children))


def _to_attribute(element: Element, leaf: NodeId) -> Element:
    hit, rest = _parted(element, {leaf})
    made = tuple((leaf, f"@{each.name}", each.text) for each in hit)
    return replace(element, attributes=(*element.attributes, *made), children=rest)


def _dropped(element: Element, node: NodeId) -> Sequence[Element]:
    if element.node == node:
        return []
    text = "" if node[-1] == TEXT and element.node == node[:-1] else element.text
    return [replace(element, text=text, attributes=tuple(each for each in element.attributes if each[0] != node))]


def _wrapped(element: Element, made: Sequence[tuple[NodeId, str]], moved: Collection[NodeId]) -> Element:
    inside, rest = _parted(element, moved)
    if not inside:
        return element
    for node, name in made:
        inside = (Element(node, name, children=inside),)
    return replace(element, children=rest + inside)


def _upgraded(element: Element, moved: Collection[NodeId]) -> Sequence[Element]:
    outside, rest = _parted(element, moved)
    return [replace(element, children=rest), *outside]


def _downgraded(element: Element, operator: Downgrade) -> Element:
    moved, rest = _parted(element, operator.children)
    if not any(child.node == operator.into for child in rest):
        return replace(element, children=rest) if operator.or_drop else element
    children = (
        replace(child, children=child.children + moved) if child.node == operator.into else child for child in rest
    )
    return replace(element, children=tuple(children))


def _swapped(element: Element, operator: Swap) -> Sequence[Element]:
    outside, rest = _parted(element, {operator.child})
    if not outside:
        return [] if operator.or_drop else [element]
    inside = replace(element, children=rest)
    return [replace(child, children=(*child.children, inside)) for child in outside]


def _arranged(element: Element, places: dict[NodeId, int]) -> tuple[Element, ...]:
    def place(child: Element) -> int:
        return len(places) if child.node is None else places.get(child.node, len(places))

    return tuple(sorted(element.children, key=place))

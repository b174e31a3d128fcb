"""The document that exchange makes: its nodes while they are glued, then its elements (``semantics.md`` section 5)."""

from __future__ import annotations

import copy
from collections.abc import Container, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import uuid4

from heptox.mapping.image_names import image_prefixes, with_value_prefixes
from heptox.mapping.instance import Subtree, Value
from heptox.pattern import TAG
from heptox.schema import TEXT, Box, Path, SchemaTree, is_selection, plain, split_selection
from heptox.xml import (
    Document,
    XmlElement,
    declarations,
    escaped_value,
    parse_document,
    value_namespaces,
    write_element,
)

if TYPE_CHECKING:
    from heptox.mapping.tracing import Trace


@dataclass(slots=True, eq=False)
class ImageNode:
    """A stop node of the image: the leaves that have values, and the nodes below by schema path and identity.

    Where bindings may disagree, ``firsts`` says for each leaf where in the source its value stands.
    """

    node: Path
    values: dict[Path, Value] = field(default_factory=dict)
    below: dict[Path, dict[Hashable, ImageNode]] = field(default_factory=dict)
    firsts: dict[Path, tuple[int, int]] = field(default_factory=dict)


def write_image(tree: SchemaTree, image: ImageNode, trace: Trace | None = None) -> Document:
    """The document of an image whose root is ``image``; ``trace`` records where its values stand.

    Inner elements stand where something below them does. Children come in the order of the target schema; those in a
    box by their tags, undeclared ones after all declared ones.
    """
    meant: dict[str, set[str]] = {}
    for element in _copied_elements(image):
        for prefix, uri in value_namespaces(element).items():
            meant.setdefault(prefix, set()).add(uri)
    prefixes = with_value_prefixes(image_prefixes(tree), meant)
    start = f"<{prefixes.written(tree.root)}{declarations(prefixes.bound)}/>"
    root = parse_document(start).root
    # lxml drops what declares a namespace again under another prefix, so others stand for these meanwhile
    several = {one: uris for one, uris in meant.items() if len(uris) > 1} if trace is None else {}
    stand_ins = {(one, uri): f"urn:uuid:{uuid4()}" for one, uris in several.items() for uri in uris}
    _Writing(tree, root, trace, stand_ins).write(root, image)
    if not stand_ins:
        return Document(root)
    text = write_element(root)
    for (_, uri), stand_in in stand_ins.items():
        text = text.replace(f'="{stand_in}"', f'="{escaped_value(uri)}"')
    return parse_document(text)


class _Held:
    """What a node of an image holds: ``stops`` are the nodes below it by the path of their elements, those of
    selections before others, and ``steps`` what follows the paths at which something stands.
    """

    def __init__(self, node: ImageNode) -> None:
        self.node = node
        self.stops: dict[Path, list[ImageNode]] = {}
        for path in sorted(node.below, key=lambda path: (not is_selection(path[-1]), path)):
            steps = path[len(node.node) :]
            beside = (*steps[:-1], split_selection(steps[-1])[0])
            self.stops.setdefault(beside, []).extend(node.below[path].values())
        self.steps: dict[Path, set[str]] = {}
        for path in (*node.values, *self.stops):
            for length, step in enumerate(path):
                self.steps.setdefault(path[:length], set()).add(step)


class _Writing:
    """Makes elements; ``maker`` is any element, which makes others."""

    def __init__(
        self, tree: SchemaTree, maker: XmlElement, trace: Trace | None, stand_ins: Mapping[tuple[str, str], str]
    ) -> None:
        self._stand_ins = stand_ins
        self._tree, self._maker, self._trace = tree, maker, trace
        self._boxed = {(*box.parent, member): box for box in tree.boxes for member in box.members}
        self._tags: dict[tuple[Path, str], str] = {}

    def write(self, element: XmlElement, node: ImageNode) -> None:
        """Write what a node holds into its element."""
        self._fill(element, _Held(node), ())

    def _fill(self, element: XmlElement, held: _Held, below: Path) -> None:
        """Write what stands at the path ``below`` of a node into its element."""
        node, steps = held.node, held.steps.get(below, set())
        path = node.node + below
        for attribute in self._tree.element(path).attributes:
            if (step := f"@{attribute.name}") not in steps:
                continue
            value = node.values.get((*below, step))
            if isinstance(value, str):
                element.set(attribute.name, value)
                self._tell(node, (*below, step), element)
        leaf = (*below, TEXT) if TEXT in steps else ()
        text = node.values.get(leaf)
        if isinstance(text, str):
            element.text = text or None
            self._tell(node, leaf, element)
        if steps:
            for child in self._children(held, path, below, steps):
                element.append(child)

    def _children(self, held: _Held, path: Path, below: Path, steps: Container[str]) -> Iterator[XmlElement]:
        by_tag: dict[Box, dict[str, list[XmlElement]]] = {}
        declared = [child.name for child in self._tree.element(path).children]
        for name in declared:
            box = self._boxed.get((*plain(path), name)) if self._boxed else None
            if box is None:
                if name in steps:
                    yield from self._child(held, (*path, name), (*below, name))
                continue
            if box not in by_tag:
                by_tag[box] = self._by_tag(held.node, (*path, box.step))
            elements = by_tag[box]
            yield from elements.pop(name, ())
            if not any(member in declared[declared.index(name) + 1 :] for member in box.members):
                for others in elements.values():
                    yield from others

    def _child(self, held: _Held, path: Path, below: Path) -> Iterator[XmlElement]:
        if below in held.stops:
            for node in held.stops[below]:
                yield self._stop(path[-1], node)
        elif below in held.node.values:
            element = self._leaf(path[-1], held.node.values[below])
            self._tell(held.node, below, element)
            yield element
        else:
            element = self._new(path[-1])
            self._fill(element, held, below)
            yield element

    def _by_tag(self, node: ImageNode, box: Path) -> dict[str, list[XmlElement]]:
        """The elements in a box by their tags."""
        found: dict[str, list[XmlElement]] = {}
        for each in node.below.get(box, {}).values():
            tag = self._tag(box, each.values[(TAG,)])
            found.setdefault(tag, []).append(self._stop(tag, each))
        return found

    def _tag(self, box: Path, value: Value) -> str:
        if not isinstance(value, str):
            raise TypeError("the tag of a box node is a string")
        if (box, value) not in self._tags:
            self._tags[box, value] = self._tree.tag_of_value(box, value)
        return self._tags[box, value]

    def _stop(self, name: str, node: ImageNode) -> XmlElement:
        if isinstance(copied := node.values.get(()), Subtree):
            element = self._leaf(name, copied)
            self._tell(node, (), element)
            return element
        element = self._new(name)
        self.write(element, node)
        if (TAG,) in node.values:
            self._tell(node, (TAG,), element)
        return element

    def _tell(self, node: ImageNode, leaf: Path, element: XmlElement) -> None:
        if self._trace is not None:
            self._trace.wrote(node, leaf, element)

    def _leaf(self, name: str, value: Value) -> XmlElement:
        """An element that a leaf's value fills: its text, or the copied content."""
        if isinstance(value, Subtree):
            return copied(value.element, name, self._maker, self._stand_ins)
        element = self._new(name)
        if isinstance(value, str):
            element.text = value or None
        return element

    def _new(self, name: str) -> XmlElement:
        return self._maker.makeelement(name)


def _copied_elements(image: ImageNode) -> Iterator[XmlElement]:
    """The elements that are copied, and all in them."""
    waiting = [image]
    while waiting:
        node = waiting.pop()
        for value in node.values.values():
            if isinstance(value, Subtree):
                yield from value.element.iter()
        waiting += (each for nodes in node.below.values() for each in nodes.values())


def copied(element: XmlElement, name: str, maker: XmlElement, stand_ins: Mapping[tuple[str, str], str]) -> XmlElement:
    """A subtree under a name; where there are namespaces, without the prefixes that it has, for those of where it goes,
    but with those that its values use, for whose namespaces others may stand in.

    ``maker`` is any element that has these.
    """
    if not maker.nsmap and not any(each.nsmap for each in element.iter()):
        found = copy.deepcopy(element)
        found.tag, found.tail = name, None
        return found
    known = maker.nsmap

    def made_new(tag: str, each: XmlElement) -> XmlElement:
        used = value_namespaces(each)
        return maker.makeelement(
            tag, nsmap={one: stand_ins.get((one, uri), uri) for one, uri in used.items() if one not in known}
        )

    made = {element: made_new(name, element)}
    for each in element.iter():
        if each is not element:
            made[each] = made_new(str(each.tag), each)
            made[each].tail = each.tail
            above = each.getparent()
            assert above is not None  # it stands in what is copied
            made[above].append(made[each])
        made[each].text = each.text
        for attribute, value in each.attrib.items():
            made[each].set(attribute, value)
    return made[element]

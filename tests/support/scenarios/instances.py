"""Documents of scenarios: rows that keep whatever they are made from, read from XML and written with equal ones glued.

A row is one way to bind start nodes, so rows are never glued on the way: what several transformations make of them is
what one mapping from start to end says. Gluing is the last thing that happens (``semantics.md`` section 5).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import TypeAlias
from xml.etree import ElementTree

from tests.support.scenarios.model import MEMBERS, ROOT, Entity, Holder, Inner, Leaf, children, holders, own_leaves


@dataclass(frozen=True, slots=True)
class Null:
    """What stands for a value that is not there: it belongs to a node of the document and a leaf of its schema."""

    node: int
    leaf: str


@dataclass(frozen=True, slots=True)
class Row:
    """Values by the key of their leaf, and rows below by the number of their entity. No value: nothing supplies it."""

    values: dict[str, str | Null] = field(default_factory=dict)
    below: dict[int, list[Row]] = field(default_factory=dict)


Change: TypeAlias = Callable[[Row], Row]


def everywhere(row: Row, number: int, change: Change, here: int = ROOT) -> Row:
    """The rows with ``change`` made of each row of the entity ``number``."""
    below = {entity: [everywhere(each, number, change, entity) for each in rows] for entity, rows in row.below.items()}
    whole = Row(row.values, below)
    return change(whole) if here == number else whole


# -- reading -------------------------------------------------------------------------------------------------------


def read(root: Entity, document: str) -> Row:
    """The rows of a document of the start schema ``root``."""
    return _Reader(frozenset(declared_names(root)), count()).row(ElementTree.fromstring(document), root)


@dataclass(frozen=True, slots=True)
class _Reader:
    declared: frozenset[str]
    numbers: Iterator[int]

    def row(self, element: ElementTree.Element, entity: Entity) -> Row:
        number = next(self.numbers)
        found = Row()
        self.fill(found, element, entity)
        for leaf in own_leaves(entity):
            if leaf.key is not None:
                found.values.setdefault(leaf.key, Null(number, leaf.key))
        return found

    def fill(self, row: Row, element: ElementTree.Element, holder: Holder) -> None:
        for part in holder.parts:
            match part:
                case Leaf():
                    value = self.value(part, element, holder)
                    if value is not None and part.key is not None:
                        row.values[part.key] = value
                case Inner():
                    for found in element.findall(part.name):
                        self.fill(row, found, part)
                case Entity():
                    below = row.below.setdefault(part.number, [])
                    below += [self.row(found, part) for found in element if self.belongs(found.tag, part)]

    def belongs(self, tag: str, entity: Entity) -> bool:
        return tag in entity.names or (entity.tag is not None and tag not in self.declared)

    def value(self, leaf: Leaf, element: ElementTree.Element, holder: Holder) -> str | None:
        match leaf.form:
            case "tag":
                return value_of(element.tag)
            case "attribute":
                return element.get(leaf.name)
            case "text":
                return element.text or ("" if holder.parts == (leaf,) else None)
            case "element":
                found = element.find(leaf.name)
                return None if found is None else found.text or ""


# -- writing -------------------------------------------------------------------------------------------------------


def write(root: Entity, row: Row, seen: Counter[str]) -> str:
    """The image of the rows in the end schema ``root``; ``seen`` counts what happens on the way."""
    element = _Writer(frozenset(declared_names(root)), seen).element(root, [row])
    if element is None:
        raise ValueError("the root always stands")
    return ElementTree.tostring(element, encoding="unicode", short_empty_elements=False)


@dataclass(frozen=True, slots=True)
class _Writer:
    declared: frozenset[str]
    seen: Counter[str]

    def element(self, entity: Entity, equal: list[Row]) -> ElementTree.Element | None:
        """The node that rows with equal leaves are; ``None`` when there is no value at or below it."""
        values = equal[0].values
        name = entity.name
        if entity.tag is not None:
            tag = values.get(entity.tag.key or "")
            if not isinstance(tag, str):
                self.seen["box nodes without a tag"] += 1
                return None
            name = tag_of(tag, self.declared)
            self.seen["escaped tags"] += name != tag
        element = ElementTree.Element(name)
        stands = self.fill(element, entity, equal)
        if entity.number == ROOT:
            return element
        self.seen["nodes without a value"] += not stands
        self.seen["glued"] += len(equal) - 1 if stands else 0
        return element if stands or entity.tag is not None else None

    def fill(self, element: ElementTree.Element, holder: Holder, equal: list[Row]) -> bool:
        """Write what a node holds; whether there was anything."""
        stands = False
        for part in holder.parts:
            match part:
                case Leaf(form="tag"):
                    stands = True
                case Leaf():
                    stands |= self.leaf(element, part, equal[0].values.get(part.key or ""))
                case Inner():
                    inner = ElementTree.Element(part.name)
                    if self.fill(inner, part, equal):
                        element.append(inner)
                        stands = True
                case Entity():
                    below = self.elements(part, [row for each in equal for row in each.below.get(part.number, ())])
                    self.seen["several"] += len(below) > 1
                    element.extend(below)
                    stands |= bool(below)
        return stands

    def elements(self, entity: Entity, rows: Iterable[Row]) -> list[ElementTree.Element]:
        """The nodes that rows below one node are: equal ones, nulls and what nothing supplies included, are one."""
        keys = [leaf.key or "" for leaf in own_leaves(entity)]
        groups: dict[tuple[object, ...], list[Row]] = {}
        for row in rows:
            groups.setdefault(tuple(row.values.get(key) for key in keys), []).append(row)
        found = (self.element(entity, equal) for equal in groups.values())
        return [element for element in found if element is not None]

    def leaf(self, element: ElementTree.Element, leaf: Leaf, value: str | Null | None) -> bool:
        self.seen["nulls"] += isinstance(value, Null)
        self.seen["not supplied"] += value is None and leaf.key is not None
        if not isinstance(value, str):
            return False
        match leaf.form:
            case "attribute":
                element.set(leaf.name, value)
            case "text":
                element.text = value
            case _:
                ElementTree.SubElement(element, leaf.name).text = value
        return True


# -- tags ----------------------------------------------------------------------------------------------------------


def declared_names(root: Entity) -> Iterator[str]:
    """The names of all element types of a schema."""
    for holder in holders(root):
        yield from holder.names if isinstance(holder, Entity) else (holder.name,)
        yield from (part.name for part in holder.parts if isinstance(part, Leaf) and part.form == "element")


def tag_of(value: str, declared: Iterable[str]) -> str:
    """The tag that a value becomes: itself where it may, else with what a name cannot hold escaped.

    Enough for letters, digits, dots, and blanks.
    """
    if value in MEMBERS:
        return value
    if not value:
        return "_x0000_"
    first = value[0] if value[0].isalpha() and value not in declared else _escaped(value[0])
    return first + "".join(c if c.isalnum() or c == "." else _escaped(c) for c in value[1:])


def _escaped(character: str) -> str:
    return f"_x{ord(character):04X}_"


def value_of(tag: str) -> str:
    """The value that became a tag."""
    return "" if tag == "_x0000_" else re.sub("_x([0-9A-F]{4})_", lambda match: chr(int(match[1], 16)), tag)


def keys_hold(root: Entity, row: Row) -> bool:
    """Whether no two rows have the same key, for all keys of a start schema."""

    def rows(entity: Entity, here: Row) -> Iterator[tuple[Entity, Row]]:
        yield entity, here
        for child in children(entity):
            for each in here.below.get(child.number, ()):
                yield from rows(child, each)

    found: Counter[tuple[str, str]] = Counter()
    for entity, each in rows(root, row):
        for leaf in own_leaves(entity):
            value = each.values.get(leaf.key or "")
            if leaf.is_key and isinstance(value, str):
                found[leaf.name, value] += 1
    return all(number == 1 for number in found.values())

"""Documents of scenarios: rows that keep whatever they are made from, read from XML and written with equal ones glued.

A row is one way to bind start nodes, so rows are never glued on the way: what several transformations make of them is
what one mapping from start to end says. Gluing is the last thing that happens (``semantics.md`` section 5).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias
from xml.etree import ElementTree

from tests.support.scenarios.model import MEMBERS, ROOT, Entity, Holder, Inner, Leaf, holders, own_leaves


class ConflictError(Exception):
    """Rows that a key makes one have two values for a leaf."""


@dataclass(frozen=True, slots=True)
class Row:
    """Values by the key of their leaf, and rows below by the number of their entity. No value: the leaf is missing."""

    values: dict[str, str] = field(default_factory=dict)
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
    return _Reader(frozenset(declared_names(root))).row(ElementTree.fromstring(document), root)


@dataclass(frozen=True, slots=True)
class _Reader:
    declared: frozenset[str]

    def row(self, element: ElementTree.Element, entity: Entity) -> Row:
        found = Row()
        self.fill(found, element, entity)
        return found

    def fill(self, row: Row, element: ElementTree.Element, holder: Holder) -> None:
        for part in holder.parts:
            match part:
                case Leaf():
                    value = self.value(part, element)
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

    def value(self, leaf: Leaf, element: ElementTree.Element) -> str | None:
        match leaf.form:
            case "tag":
                return value_of(element.tag)
            case "attribute":
                return element.get(leaf.name)
            case "text":
                return element.text or ""
            case "element":
                found = element.find(leaf.name)
                return None if found is None else found.text or ""


# -- writing -------------------------------------------------------------------------------------------------------


def write(root: Entity, row: Row, seen: Counter[str]) -> str:
    """The image of the rows in the end schema ``root``; ``seen`` counts what happens on the way.

    Raises :class:`ConflictError` where the rows break a key of the end schema.
    """
    element = _Writer(frozenset(declared_names(root)), seen).element(root, [row])
    if element is None:
        raise ValueError("the root always stands")
    return ElementTree.tostring(element, encoding="unicode", short_empty_elements=False)


@dataclass(frozen=True, slots=True)
class _Writer:
    declared: frozenset[str]
    seen: Counter[str]

    def element(self, entity: Entity, equal: list[Row]) -> ElementTree.Element | None:
        """The node that rows are; ``None`` when there is no value at or below it."""
        values = self.united(entity, equal)
        name = entity.name
        if entity.tag is not None:
            tag = values.get(entity.tag.key or "")
            if tag is None:
                self.seen["box nodes without a tag"] += 1
                return None
            name = tag_of(tag, self.declared)
            self.seen["escaped tags"] += name != tag
        element = ElementTree.Element(name)
        stands = self.fill(element, entity, values, equal)
        if entity.number == ROOT:
            return element
        self.seen["nodes without a value"] += not stands
        self.seen["glued"] += len(equal) - 1 if stands else 0
        return element if stands or entity.tag is not None else None

    def united(self, entity: Entity, equal: list[Row]) -> dict[str, str]:
        """The leaves of the node that rows are."""
        found: dict[str, str] = {}
        for leaf in own_leaves(entity):
            values = {row.values[leaf.key] for row in equal if leaf.key in row.values} if leaf.key else set()
            if len(values) > 1:
                raise ConflictError
            found |= {str(leaf.key): value for value in values}
        return found

    def fill(self, element: ElementTree.Element, holder: Holder, values: dict[str, str], equal: list[Row]) -> bool:
        """Write what a node holds; whether there was anything."""
        stands = False
        for part in holder.parts:
            match part:
                case Leaf(form="tag"):
                    stands = True
                case Leaf():
                    stands |= self.leaf(element, part, values.get(part.key or ""))
                case Inner():
                    inner = ElementTree.Element(part.name)
                    if self.fill(inner, part, values, equal):
                        element.append(inner)
                        stands = True
                case Entity():
                    below = self.elements(part, [row for each in equal for row in each.below.get(part.number, ())])
                    self.seen["several"] += len(below) > 1
                    element.extend(below)
                    stands |= bool(below)
        return stands

    def elements(self, entity: Entity, rows: Iterable[Row]) -> list[ElementTree.Element]:
        """The nodes that rows below one node are: those with equal keys are one, else those with the same leaves."""
        leaves = list(own_leaves(entity))
        declared = [leaf.key or "" for leaf in leaves if leaf.is_key and leaf.type != "ID"]
        tag = entity.tag.key or "" if entity.tag else ""
        groups: dict[tuple[object, ...], list[Row]] = {}
        for row in rows:
            by_key = [row.values[key] for key in declared if key in row.values]
            same = (
                (row.values.get(tag), by_key[0]) if by_key else tuple(row.values.get(leaf.key or "") for leaf in leaves)
            )
            groups.setdefault((bool(by_key), *same), []).append(row)
            self.seen["keyed"] += bool(by_key)
        found = (self.element(entity, equal) for equal in groups.values())
        return [element for element in found if element is not None]

    def leaf(self, element: ElementTree.Element, leaf: Leaf, value: str | None) -> bool:
        self.seen["missing"] += value is None and leaf.key is not None
        if value is None:
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

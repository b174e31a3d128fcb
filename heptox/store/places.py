"""Where elements go: what is to be done with each element of a document, worked out once for a schema."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias

from heptox.schema import AttributeType, Element, Path
from heptox.store.relations import Catalogue, Part, Relation

Cell: TypeAlias = int | str | None
Row: TypeAlias = list[Cell]
"""The cells of a row without its document: ``node``, ``stop``, ``parent``, ``path``, the columns of its relation."""

NODE, STOP, PARENT, PATH, COLUMNS = range(5)

# What is done with text in an element, unless it goes to a column.
KEPT: Final = -1
WHITE_SPACE: Final = -2
NOTHING: Final = -3

# What is to be done besides: a flag each.
ROW: Final = 1
ONCE: Final = 2
HAS_ONCE: Final = 4


@dataclass(slots=True, eq=False)
class Place:
    """What to do with an element: one for each schema path as far as elements have rows and columns.

    Inside opaque elements there is one for each element type, and another where it stands once (``ONCE``).
    ``node``, ``stop``, ``text`` and the values of ``attributes`` say where in the row something goes, 0 nowhere.
    ``attributes`` are ``None``, and the place lenient, where the schema has no place for the element.
    """

    name: str
    flags: int
    opening: str
    unclosed: str
    closing: str
    extent: int
    defaults: tuple[tuple[str, str], ...]
    tokenised: frozenset[str]
    node: int = 0
    stop: int = 0
    text: int = KEPT
    attributes: dict[str, int] | None = None
    children: dict[str, Place] = field(default_factory=dict)
    relation: int = 0
    template: tuple[Cell, ...] = ()

    @property
    def lenient(self) -> bool:
        return self.attributes is None


class Plan:
    """What to do with each element of a document of a schema, worked out once for all documents."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self._elements = catalogue.graph.elements
        self._inside: dict[tuple[str, int], Place] = {}
        self._strange: dict[str, Place] = {}
        self._order = {relation.table: number for number, relation in enumerate(catalogue.relations)}
        self._slots = {relation.table: _slots(relation) for relation in catalogue.relations}
        self.document = Place("", 0, "", "", "", 0, (), frozenset(), text=WHITE_SPACE, attributes={})
        self.document.children[catalogue.graph.root] = self._outside()

    def _outside(self) -> Place:
        """The place of the root, with all below it down to opaque elements."""
        catalogue = self.catalogue
        root = self._place((), catalogue.root, ())
        waiting: list[tuple[Place, Path, Relation, Path]] = [(root, (), catalogue.root, ())]
        while waiting:
            place, path, relation, relative = waiting.pop()
            for child in self._elements[place.name].children:
                if catalogue.is_opaque(place.name):
                    place.children[child.name] = self._within(child.name, 0 if child.cardinality.repeats else ONCE)
                    continue
                below = (*path, child.name)
                row = catalogue.has_rows(below)
                owner, inner = (catalogue.relation(below), ()) if row else (relation, (*relative, child.name))
                place.children[child.name] = self._place(below, owner, inner)
                waiting.append((place.children[child.name], below, owner, inner))
        return root

    def _place(self, path: Path, relation: Relation, relative: Path) -> Place:
        element = self._elements[path[-1] if path else self.catalogue.graph.root]
        slots = self._slots[relation.table]
        flags = _has_once(element) if self.catalogue.is_opaque(element.name) else 0
        place = self._blank(element.name, flags if relative else flags | ROW)
        place.text = slots.get((relative, Part.TEXT), _text(element))
        place.attributes = {
            attribute.name: slots.get(((*relative, f"@{attribute.name}"), Part.TEXT), 0)
            for attribute in element.attributes
        }
        if relative:
            place.node = slots[relative, Part.NODE]
            place.stop = slots.get((relative, Part.STOP), 0)
        else:
            place.stop = STOP
            place.relation = self._order[relation.table]
            cells: Row = [None] * (COLUMNS + len(relation.columns))
            cells[PATH] = self.catalogue.code(path)
            place.template = tuple(cells)
        return place

    def _within(self, name: str, once: int) -> Place:
        """The place of an element type inside opaque elements."""
        waiting: list[Place] = []

        def found(name: str, once: int) -> Place:
            if (name, once) not in self._inside:
                self._inside[name, once] = self._blank(name, once | _has_once(self._elements[name]))
                waiting.append(self._inside[name, once])
            return self._inside[name, once]

        first = found(name, once)
        while waiting:
            place = waiting.pop()
            element = self._elements[place.name]
            place.text = _text(element)
            place.attributes = {attribute.name: 0 for attribute in element.attributes}
            place.children = {
                child.name: found(child.name, 0 if child.cardinality.repeats else ONCE) for child in element.children
            }
        return first

    def strange(self, name: str) -> Place:
        """The place of an element for which the schema has none there."""
        if name not in self._elements:
            return self._blank(name, 0)
        if name not in self._strange:
            self._strange[name] = self._blank(name, 0)
        return self._strange[name]

    def _blank(self, name: str, flags: int) -> Place:
        declared = self._elements[name].attributes if name in self._elements else ()
        tokenised = frozenset(each.name for each in declared if each.type != AttributeType.CDATA)
        defaults = tuple(
            (each.name, tokens(each.default) if each.name in tokenised else each.default)
            for each in declared
            if each.default is not None
        )
        return Place(name, flags, f"<{name}>", f"<{name}", f"</{name}>", len(name) + 2, defaults, tokenised)


def _text(element: Element) -> int:
    return KEPT if element.text else WHITE_SPACE if element.children else NOTHING


def _has_once(element: Element) -> int:
    return 0 if all(child.cardinality.repeats for child in element.children) else HAS_ONCE


def _slots(relation: Relation) -> dict[tuple[Path, Part], int]:
    return {(column.path, column.part): slot for slot, column in enumerate(relation.columns, COLUMNS)}


def tokens(value: str) -> str:
    """The value of an attribute that is no ``CDATA``, without surplus white space."""
    return " ".join(part for part in value.split(" ") if part)

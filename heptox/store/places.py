"""Where elements go: the rows and columns of each element and attribute, computed once for a schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from heptox.schema import Element, Path
from heptox.store.relations import Catalogue, Part, Relation

Numbers: TypeAlias = npt.NDArray[np.int64]

DOCUMENT: Final = 0
"""The place above the root."""
NOWHERE: Final = -1

# What an element may hold of text.
TEXT: Final = 0
WHITE_SPACE: Final = 1
NOTHING: Final = 2


class Table:
    """A function from pairs of numbers to a number, for arrays of them; :data:`NOWHERE` where it has no value.

    >>> import numpy as np
    >>> Table({(0, 1): 5, (3, 0): 7}, 2)(np.array([0, 3, 3]), np.array([1, 0, 1])).tolist()
    [5, 7, -1]
    """

    def __init__(self, values: dict[tuple[int, int], int], width: int) -> None:
        self._width = width
        pairs = sorted((first * width + second, value) for (first, second), value in values.items())
        self._keys = np.array([key for key, _ in pairs] + [np.iinfo(np.int64).max], np.int64)
        self._values = np.array([value for _, value in pairs] + [NOWHERE], np.int64)

    def __call__(self, first: Numbers, second: Numbers) -> Numbers:
        keys = first * self._width + second
        found = np.searchsorted(self._keys, keys)
        values = self._values[found]
        values[(self._keys[found] != keys) | (second < 0)] = NOWHERE
        return values


@dataclass(frozen=True, slots=True)
class Source:
    """Where the cells of a column come from: a part of the elements at some places, or an attribute of theirs."""

    part: Part
    places: tuple[int, ...]
    attribute: int | None = None


@dataclass(slots=True)
class _Drawn:
    """The places of a schema while they are numbered."""

    text: list[int] = field(default_factory=list)
    row: list[int] = field(default_factory=list)
    code: list[int] = field(default_factory=list)
    edges: dict[tuple[int, int], int] = field(default_factory=dict)
    once: dict[tuple[int, int], int] = field(default_factory=dict)
    cells: dict[tuple[str, Path, Part], list[int]] = field(default_factory=dict)
    opaque: list[tuple[int, Element]] = field(default_factory=list)
    open: set[int] = field(default_factory=set)

    def add(self, text: int, row: int = NOWHERE, code: int = NOWHERE) -> int:
        self.text.append(text)
        self.row.append(row)
        self.code.append(code)
        return len(self.text) - 1


class Places:
    """The places of a schema's elements, as tables of numbers.

    There is one place above the root, one for each schema path as far as elements have rows and columns, one for each
    element type, for its elements inside opaque ones, and one, ``anything``, for elements of no type in open content.
    ``types`` and ``attributes`` number names. For each place: ``text`` says what text it may hold, ``open`` whether
    anything may stand there, ``row`` the number of the relation in which its elements have rows, or :data:`NOWHERE`,
    ``code`` that of its schema path. ``children`` leads from a place and a type to a place, ``once``
    has a value where there it can be one child only of an opaque element, or of one inside. ``declared`` has a value
    for each attribute of a type, and ``instance`` are those that any element may have besides. ``sources`` are those of
    each relation's columns. Elements have different places only as far down as ``depth`` says.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        elements = catalogue.graph.elements
        self.types = {name: number for number, name in enumerate(elements)}
        names = {attribute.name for element in elements.values() for attribute in element.attributes}
        self.attributes = {name: number for number, name in enumerate(sorted(names | catalogue.instance))}
        self.instance = np.array(sorted(self.attributes[name] for name in catalogue.instance), np.int64)
        self._relations = {relation.table: number for number, relation in enumerate(catalogue.relations)}
        drawn = _Drawn()
        drawn.add(WHITE_SPACE)
        self.depth = self._draw_outside(drawn)
        self.inside = self._draw_inside(drawn)
        self.anything = drawn.add(TEXT)
        drawn.open.add(self.anything)
        width = len(self.types)
        self.children = Table(drawn.edges, width)
        self.once = Table(drawn.once, width)
        self.text = np.array(drawn.text, np.int64)
        self.row = np.array(drawn.row, np.int64)
        self.code = np.array(drawn.code, np.int64)
        self.open = np.isin(np.arange(len(drawn.text)), list(drawn.open))
        self.declared = Table(
            {
                (self.types[element.name], self.attributes[attribute.name]): 0
                for element in elements.values()
                for attribute in element.attributes
            },
            max(1, len(self.attributes)),
        )
        self.sources = tuple(tuple(self._sources(relation, drawn)) for relation in catalogue.relations)

    def _draw_outside(self, drawn: _Drawn) -> int:
        """The places of the root and of all below it down to opaque elements, and how deep these stand."""
        catalogue = self.catalogue
        deepest = 0
        above: list[tuple[int, Path, Relation, Path]] = []

        def add(parent: int, path: Path, relation: Relation, relative: Path) -> None:
            element = catalogue.graph.elements[path[-1] if path else catalogue.graph.root]
            row, code = (NOWHERE, NOWHERE) if relative else (self._relations[relation.table], catalogue.code(path))
            place = drawn.add(_text(element), row, code)
            drawn.edges[parent, self.types[element.name]] = place
            for part in Part:
                drawn.cells.setdefault((relation.table, relative, part), []).append(place)
            above.append((place, path, relation, relative))

        add(DOCUMENT, (), catalogue.root, ())
        while above:
            place, path, relation, relative = above.pop()
            deepest = max(deepest, len(path) + 1)
            element = catalogue.graph.elements[path[-1] if path else catalogue.graph.root]
            if catalogue.is_opaque(element.name):
                drawn.opaque.append((place, element))
                continue
            for child in element.children:
                below = (*path, child.name)
                if catalogue.has_rows(below):
                    add(place, below, catalogue.relation(below), ())
                else:
                    add(place, below, relation, (*relative, child.name))
        return deepest

    def _draw_inside(self, drawn: _Drawn) -> int:
        """The places inside opaque elements, in the order of their types, and the number of the first."""
        first = len(drawn.text)
        inside = [(drawn.add(_text(element)), element) for element in self.catalogue.graph.elements.values()]
        for place, element in [*drawn.opaque, *inside]:
            if element.open:
                drawn.open.add(place)
            for child in element.children:
                pair = (place, self.types[child.name])
                drawn.edges[pair] = first + self.types[child.name]
                if not child.cardinality.repeats:
                    drawn.once[pair] = 0
        return first

    def within_open(self, types: Numbers) -> Numbers:
        """The places of elements in open content, by their types."""
        return np.where(types == NOWHERE, self.anything, self.inside + types)

    def _sources(self, relation: Relation, drawn: _Drawn) -> Iterator[Source]:
        for column in relation.columns:
            attribute = None
            path = column.path
            if path and path[-1].startswith("@"):
                path, attribute = path[:-1], self.attributes[path[-1].removeprefix("@")]
            yield Source(column.part, tuple(drawn.cells[relation.table, path, column.part]), attribute)


def _text(element: Element) -> int:
    return TEXT if element.text else WHITE_SPACE if element.children else NOTHING

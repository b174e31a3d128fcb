"""Documents become rows while they are read: what is kept of a document at rest.

Every document is written anew in **one form**, that in which answers are written: ``<a x="1">text</a>``, ``<a/>`` where
nothing is inside, attributes as they come and then those that the schema gives a default; no comments, instructions,
CDATA sections, declarations. Places are counted in the characters of that text, so an element is a slice of it.

A document **fits** when all of its elements, attributes and texts have a place in the relations of its schema. One that
does not fit is written in the same form, and has no rows; what does not fit is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from heptox.errors import Fault, InputError
from heptox.schema import AttributeType, Element, Path
from heptox.store.relations import Catalogue, Part, Relation
from heptox.store.text import escaped_attribute, escaped_text
from heptox.xmlio import XmlReader

MOST_MISFITS: Final = 20
"""How many misfits of a document are told; all are counted."""
MAXIMUM_DEPTH: Final = 1_000_000
"""How deep elements may be nested."""

Cell: TypeAlias = int | str | None
Row: TypeAlias = list[Cell]
"""The cells of a row without its document: ``node``, ``stop``, ``parent``, ``path``, the columns of its relation."""

_NODE, _STOP, _PARENT, _PATH, _COLUMNS = range(5)

# What is done with text in an element, unless it goes to a column.
_KEPT: Final = -1
_WHITE_SPACE: Final = -2
_NOTHING: Final = -3

# What is to be done besides: a flag each.
_ROW: Final = 1
_ONCE: Final = 2
_HAS_ONCE: Final = 4


@dataclass(slots=True, eq=False)
class _Place:
    """What to do with an element: one for each schema path as far as elements have rows and columns.

    Inside opaque elements there is one for each element type, and another where it stands once (``_ONCE``).
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
    text: int = _KEPT
    attributes: dict[str, int] | None = None
    children: dict[str, _Place] = field(default_factory=dict)
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
        self._inside: dict[tuple[str, int], _Place] = {}
        self._strange: dict[str, _Place] = {}
        self._order = {relation.table: number for number, relation in enumerate(catalogue.relations)}
        self._slots = {relation.table: _slots(relation) for relation in catalogue.relations}
        self.document = _Place("", 0, "", "", "", 0, (), frozenset(), text=_WHITE_SPACE, attributes={})
        self.document.children[catalogue.graph.root] = self._outside()

    def _outside(self) -> _Place:
        """The place of the root, with all below it down to opaque elements."""
        catalogue = self.catalogue
        root = self._place((), catalogue.root, ())
        waiting: list[tuple[_Place, Path, Relation, Path]] = [(root, (), catalogue.root, ())]
        while waiting:
            place, path, relation, relative = waiting.pop()
            for child in self._elements[place.name].children:
                if catalogue.is_opaque(place.name):
                    place.children[child.name] = self._within(child.name, 0 if child.cardinality.repeats else _ONCE)
                    continue
                below = (*path, child.name)
                row = catalogue.has_rows(below)
                owner, inner = (catalogue.relation(below), ()) if row else (relation, (*relative, child.name))
                place.children[child.name] = self._place(below, owner, inner)
                waiting.append((place.children[child.name], below, owner, inner))
        return root

    def _place(self, path: Path, relation: Relation, relative: Path) -> _Place:
        element = self._elements[path[-1] if path else self.catalogue.graph.root]
        slots = self._slots[relation.table]
        flags = _has_once(element) if self.catalogue.is_opaque(element.name) else 0
        place = self._blank(element.name, flags if relative else flags | _ROW)
        place.text = slots.get((relative, Part.TEXT), _text(element))
        place.attributes = {
            attribute.name: slots.get(((*relative, f"@{attribute.name}"), Part.TEXT), 0)
            for attribute in element.attributes
        }
        if relative:
            place.node = slots[relative, Part.NODE]
            place.stop = slots.get((relative, Part.STOP), 0)
        else:
            place.stop = _STOP
            place.relation = self._order[relation.table]
            cells: Row = [None] * (_COLUMNS + len(relation.columns))
            cells[_PATH] = self.catalogue.code(path)
            place.template = tuple(cells)
        return place

    def _within(self, name: str, once: int) -> _Place:
        """The place of an element type inside opaque elements."""
        waiting: list[_Place] = []

        def found(name: str, once: int) -> _Place:
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
                child.name: found(child.name, 0 if child.cardinality.repeats else _ONCE) for child in element.children
            }
        return first

    def strange(self, name: str) -> _Place:
        """The place of an element for which the schema has none there."""
        if name not in self._elements:
            return self._blank(name, 0)
        if name not in self._strange:
            self._strange[name] = self._blank(name, 0)
        return self._strange[name]

    def _blank(self, name: str, flags: int) -> _Place:
        declared = self._elements[name].attributes if name in self._elements else ()
        tokenised = frozenset(each.name for each in declared if each.type != AttributeType.CDATA)
        defaults = tuple(
            (each.name, _tokens(each.default) if each.name in tokenised else each.default)
            for each in declared
            if each.default is not None
        )
        return _Place(name, flags, f"<{name}>", f"<{name}", f"</{name}>", len(name) + 2, defaults, tokenised)


def _text(element: Element) -> int:
    return _KEPT if element.text else _WHITE_SPACE if element.children else _NOTHING


def _has_once(element: Element) -> int:
    return 0 if all(child.cardinality.repeats for child in element.children) else _HAS_ONCE


def _slots(relation: Relation) -> dict[tuple[Path, Part], int]:
    return {(column.path, column.part): slot for slot, column in enumerate(relation.columns, _COLUMNS)}


def _tokens(value: str) -> str:
    """The value of an attribute that is no ``CDATA``, without surplus white space."""
    return " ".join(part for part in value.split(" ") if part)


# -- reading -----------------------------------------------------------------------------------------------------

_XML_SPACE: Final = " \t\n\r"
_MOST_NAMES: Final = 16
"""How many names of the path to a misfit are told, the last ones."""


class Shredder:
    """Reads one document; what it makes of it is to be taken away after each block, see :meth:`blocks`.

    ``rows`` holds, for each relation of the catalogue, its rows that are complete; who takes them clears the lists.
    They mean nothing once ``misfits`` are found. ``characters`` is the length of the text so far.
    """

    def __init__(self, plan: Plan, reader: XmlReader) -> None:
        self.rows: list[list[Row]] = [[] for _ in plan.catalogue.relations]
        self.misfits: list[Fault] = []
        self.misfit_count = 0
        self.characters = 0
        self._plan = plan
        self._reader = reader

    def blocks(self) -> Iterator[tuple[int, str]]:
        """Read on, block by block: how many bytes have been read, and the text that comes next.

        Raises :class:`InputError` as :meth:`XmlReader.read`, and HX1006 when elements are nested deeper than
        :data:`MAXIMUM_DEPTH`.
        """
        pieces: list[str] = []
        places: list[_Place] = []
        for read in self._reader.read(*self._handlers(pieces, places)):
            if len(places) > MAXIMUM_DEPTH:
                message = f"elements are nested more than {MAXIMUM_DEPTH} deep"
                raise InputError(Fault("HX1006", message, self._reader.position))
            text = "".join(pieces[:-1])  # the last may be a tag that turns out to be that of an empty element
            del pieces[:-1]
            self.characters += len(text)
            yield read, text
        self.characters += len("".join(pieces))
        yield read, "".join(pieces)

    def _handlers(
        self, pieces: list[str], places: list[_Place]
    ) -> tuple[Callable[[str, list[str]], None], Callable[[str], None], Callable[[str], None]]:
        """What is done at each tag and text. One function, as they share what they know, and run millions of times."""
        place = self._plan.document
        row: Row = []
        rows_above: list[Row] = []
        singles: list[set[str]] = []
        at = 0
        empty = False
        rows, strange = self.rows, self._plan.strange
        write, above, below = pieces.append, places.append, places.pop

        def start(name: str, attributes: list[str]) -> None:
            nonlocal place, row, at, empty
            try:
                entry = place.children[name]
            except KeyError:
                entry = stray(name)
            above(place)
            place = entry
            node = entry.node
            if node:
                if row[node] is not None:
                    misfit(f"{name} stands twice")
                row[node] = at
                if entry.text > 0:
                    row[entry.text] = ""
            if entry.flags:
                enter(entry)
            if attributes or entry.defaults:
                opening = tag(entry, attributes)
                write(opening)
                at += len(opening)
            else:
                write(entry.opening)
                at += entry.extent
            empty = True

        def enter(entry: _Place) -> None:
            nonlocal row
            if entry.flags & _ROW:
                parent = row[_NODE] if row else -1
                rows_above.append(row)
                row = [*entry.template]
                row[_NODE] = at
                row[_PARENT] = parent
                if entry.text > 0:
                    row[entry.text] = ""
            if entry.flags & _ONCE:
                if entry.name in singles[-1]:
                    misfit(f"{entry.name} stands twice")
                singles[-1].add(entry.name)
            if entry.flags & _HAS_ONCE:
                singles.append(set())

        def tag(entry: _Place, attributes: list[str]) -> str:
            known = entry.attributes
            written = entry.unclosed
            pairs = iter(attributes)
            for name in pairs:
                value = next(pairs)
                slot = known.get(name) if known is not None else None
                if slot is None and foreign(name, value):
                    continue
                if " " in value and name in entry.tokenised:
                    value = _tokens(value)
                if slot:
                    row[slot] = value
                if "&" in value or not value.isprintable() or "<" in value or ">" in value or '"' in value:
                    value = escaped_attribute(value)
                written = f'{written} {name}="{value}"'
            for name, value in entry.defaults:
                if name not in attributes[::2]:
                    if known and known[name]:
                        row[known[name]] = value
                    written = f'{written} {name}="{escaped_attribute(value)}"'
            return written + ">"

        def text(part: str) -> None:
            nonlocal at, empty
            empty = False
            slot = place.text
            if slot > 0:
                row[slot] += part  # type: ignore[operator]  # a cell of text
            elif slot != _KEPT and (slot == _NOTHING or part.strip(_XML_SPACE)):
                misfit(f"{place.name} holds text")
            # a search for all of these in one is slower
            if "&" in part or "<" in part or ">" in part or "\r" in part or "\x7f" in part or not part.isascii():
                part = escaped_text(part)
            write(part)
            at += len(part)

        def end(_name: str) -> None:
            nonlocal place, row, at, empty
            if empty:
                pieces[-1] = pieces[-1][:-1] + "/>"
                at += 1
                empty = False
            else:
                write(place.closing)
                at += place.extent + 1
            if place.stop:
                row[place.stop] = at
            if place.flags:
                leave(place)
            place = below()

        def leave(left: _Place) -> None:
            nonlocal row
            if left.flags & _ROW:
                rows[left.relation].append(row)
                row = rows_above.pop()
            if left.flags & _HAS_ONCE:
                singles.pop()

        def stray(name: str) -> _Place:
            """Where an element goes for which there is no place."""
            self._reader.refuse_namespace(name)
            if not place.lenient:
                inside = f"in {place.name}" if place.name else "as the root"
                misfit(f"{name} cannot stand {inside}")
            return strange(name)

        def foreign(name: str, value: str) -> bool:
            """Whether an attribute that is not known is none: it declares a namespace that nothing belongs to."""
            if name.startswith("xmlns:") or (name == "xmlns" and not value):
                return True
            self._reader.refuse_namespace(name)
            if not place.lenient:
                misfit(f"{place.name} has no attribute {name}")
            return False

        def misfit(message: str) -> None:
            self.misfit_count += 1
            if self.misfit_count <= MOST_MISFITS:
                names = [each.name for each in [*places[-_MOST_NAMES:], place]]
                path = "/".join(["..."] * (len(places) > _MOST_NAMES) + names)
                self.misfits.append(Fault("HX6020", f"{path or '/'}: {message}", self._reader.position))

        return start, end, text

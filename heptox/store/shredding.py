"""Documents become rows while they are read, many elements at a time: what is kept of a document at rest.

A block of a document's text (see :mod:`canonical <heptox.store.canonical>`) is looked at through its markup: every step
is done for all elements of the block at once, on arrays of numbers that have one entry for each element. Elements that
are open where a block ends come first in the arrays of the next.

A document **fits** when all of its elements, attributes and texts have a place in the relations of its schema. Of one
that does not, only the text is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heptox.store.markup import Markup, slices_between
from heptox.store.places import DOCUMENT, NOTHING, NOWHERE, WHITE_SPACE, Numbers, Places, Source
from heptox.store.relations import Part
from heptox.store.structure import Structure, structure
from heptox.store.text import text_of

Cell: TypeAlias = int | str | None

_STOP: Final = 1
_COLUMNS: Final = 4
_FIRST_TYPES: Final = (pa.int64(), pa.int64(), pa.int64(), pa.int32())
_WHITE: Final = " \t\n\r"


class MisfitError(Exception):
    """The document does not fit its schema: :class:`heptox.schema.EdgeValidator` says where. It reads tag by tag, which
    takes longer than to look for misfits here, on arrays, in all elements of a block at once."""


@dataclass(slots=True)
class _Open:
    """The elements that are open where a block begins, outermost first, after the document itself.

    ``rows`` has the cells of those that have rows, ``once`` the pairs of an open element and a type that can be its
    child once and was, as one number.
    """

    types: Numbers
    places: Numbers
    starts: Numbers
    owners: Numbers
    rows: dict[int, list[Cell]]
    once: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class _Elements:
    """The elements of a block, as they are numbered in its structure: an entry for each in all arrays.

    ``owners`` are elements: the nearest one, itself or above, that has a row. ``stops`` are :data:`NOWHERE` for those
    that stay open.
    """

    types: Numbers
    starts: Numbers
    stops: Numbers
    places: Numbers
    owners: Numbers


class Shredder:
    """Makes rows of the blocks of one document.

    ``columns`` are the numbers of the columns that are wanted of each relation, all of them unless given.
    ``white`` says whether white space was found among elements where there is no other text, ``white_places`` where in
    the last block. ``instance`` are the numbers of the types of elements that have attributes besides those of the
    schema, which any element may have.

    Documents that stand in one block may follow each other, root after root. What is true of each is then true of all.
    """

    def __init__(self, places: Places, columns: Sequence[Sequence[int]] | None = None) -> None:
        self.white = False
        self.instance: set[int] = set()
        self.white_places = np.zeros(0, np.int64)
        self._places = places
        self._columns = [range(len(sources)) for sources in places.sources] if columns is None else columns
        self._at = 0
        nothing = np.zeros(0, np.int64)
        document = np.array([NOWHERE])
        self._open = _Open(document, np.array([DOCUMENT]), document, np.zeros(1, np.int64), {}, nothing)

    def rows(self, markup: Markup) -> list[tuple[int, pa.RecordBatch]]:
        """The rows that end in the next block, each time with the number of their relation.

        Columns are ``node``, ``stop``, ``parent``, ``path`` and those of the relation. Raises :class:`MisfitError`.
        """
        block = _Block(self._places, self._open, markup, self._at)
        made = block.rows(self._columns)
        self.white_places = block.white
        self.white = self.white or len(block.white) > 0
        self.instance.update(block.instance.tolist())
        self._open = block.left_open()
        self._at += len(markup.text)
        return made


class _Block:
    """One block of a document, with what was open before."""

    def __init__(self, places: Places, opened: _Open, markup: Markup, at: int) -> None:
        self._places = places
        self._opened = opened
        self._markup = markup
        self._structure = structure(markup, len(opened.types))
        self._once = opened.once
        self.white = np.zeros(0, np.int64)
        self.instance = np.zeros(0, np.int64)
        self._elements = self._found(at)

    def rows(self, columns: Sequence[Sequence[int]]) -> list[tuple[int, pa.RecordBatch]]:
        """The rows that end in the block; raises :class:`MisfitError`."""
        self._check_texts()
        self._check_attributes()
        cells = _Cells(self._places, self._structure, self._elements, self._opened.rows, columns)
        self._rows = cells
        for relation in cells.relations:
            for column in columns[relation]:
                source = self._places.sources[relation][column]
                if source.attribute is not None:
                    cells.add_texts(relation, column, *self._attribute_values(source))
                elif source.part is Part.TEXT:
                    elements = cells.begun(source.places)
                    texts = self._structure.leaf_texts(elements)
                    cells.add_texts(relation, column, elements, self._structure.between, texts)
                else:
                    cells.add_numbers(relation, column, source)
        return cells.made()

    def left_open(self) -> _Open:
        """What is open at the end of the block, once its rows are made."""
        elements, opened = self._elements, self._structure.open
        numbers = np.full(len(elements.types), NOWHERE)
        numbers[opened] = np.arange(len(opened))
        rows = {int(numbers[row]): cells for row, cells in self._rows.single.items() if numbers[row] != NOWHERE}
        parents, types = np.divmod(self._once, len(self._places.types))
        kept = numbers[parents] != NOWHERE
        return _Open(
            elements.types[opened],
            elements.places[opened],
            elements.starts[opened],
            numbers[elements.owners[opened]],
            rows,
            numbers[parents[kept]] * len(self._places.types) + types[kept],
        )

    # -- elements ----------------------------------------------------------------------------------------------------

    def _found(self, at: int) -> _Elements:
        found, opened = self._structure, self._opened
        stops = np.where(found.closing != NOWHERE, at + found.ends[found.closing] + 1, NOWHERE)
        starts = at + found.begins[found.tags]
        starts[: found.before] = opened.starts
        types = np.concatenate([opened.types, self._markup.types])[found.tags]
        return _Elements(types, starts, stops, *self._placed(types))

    def _placed(self, types: Numbers) -> tuple[Numbers, Numbers]:
        """The places of elements, and their owners: level by level, as far down as the schema distinguishes levels.

        Raises :class:`MisfitError` where an element has no place.
        """
        model, found = self._places, self._structure
        parents = found.parents
        places = model.within_open(types)
        owners = np.zeros(len(types), np.int64)
        places[: found.before], owners[: found.before] = self._opened.places, self._opened.owners
        new = found.by_depth >= found.before
        by_depth, depths = found.by_depth[new], found.depths[new]
        levels = np.searchsorted(depths, np.arange(model.depth + 2))
        for begin, end in pairwise(levels.tolist()):
            level = by_depth[begin:end]
            reached = model.children(places[parents[level]], types[level])
            misplaced = reached == NOWHERE
            if misplaced.any():
                if not model.open[places[parents[level]][misplaced]].all():
                    raise MisfitError
                reached[misplaced] = model.within_open(types[level][misplaced])
            places[level] = reached
            owners[level] = np.where(model.row[reached] != NOWHERE, level, owners[parents[level]])
        deep = by_depth[levels[-1] :]
        misplaced = model.children(places[parents[deep]], types[deep]) != places[deep]
        if not model.open[places[parents[deep]][misplaced]].all():
            raise MisfitError
        once = by_depth[model.once(places[parents[by_depth]], types[by_depth]) != NOWHERE]
        self._once = np.concatenate([self._once, parents[once] * len(model.types) + types[once]])
        if len(np.unique(self._once)) != len(self._once):
            raise MisfitError
        return places, owners

    # -- texts and attributes ----------------------------------------------------------------------------------------

    def _check_texts(self) -> None:
        """Refuse text where there is no place for it."""
        texts, around = self._structure.texts()
        allowed = self._places.text[self._elements.places[around]]
        white = texts[allowed == WHITE_SPACE]
        if (allowed == NOTHING).any() or not is_white(self._structure, white):
            raise MisfitError
        self.white = self._structure.ends[white]

    def _check_attributes(self) -> None:
        """Refuse attributes that are not declared; put the others in the order of their places and names."""
        found, width = self._markup.attributes, max(1, len(self._places.attributes))
        elements = self._structure.numbers[self._structure.before + found.tags]
        undeclared = self._places.declared(self._elements.types[elements], found.names) == NOWHERE
        if undeclared.any():
            misplaced = undeclared & ~self._places.open[self._elements.places[elements]]
            if not np.isin(found.names[misplaced], self._places.instance).all():
                raise MisfitError
            self.instance = np.unique(self._elements.types[elements[misplaced]])
        keys = np.where(undeclared, NOWHERE, self._elements.places[elements] * width + found.names)
        self._attribute_order = np.argsort(keys, kind="stable")
        self._attribute_keys = keys[self._attribute_order]
        self._attribute_elements = elements
        self._attribute_slices = slices_between(self._markup.text, found.begins, found.ends)

    def _attribute_values(self, source: Source) -> tuple[Numbers, pa.Array, Numbers]:
        """The elements that have an attribute, and where its values are among slices."""
        assert source.attribute is not None
        keys = np.array(source.places) * max(1, len(self._places.attributes)) + source.attribute
        bounds = np.searchsorted(self._attribute_keys, np.stack([keys, keys + 1]))
        found = np.concatenate([self._attribute_order[begin:end] for begin, end in bounds.T])
        return self._attribute_elements[found], self._attribute_slices, found * 2


class _Cells:
    """The cells of a block's rows. Those of rows that begin and end in it are filled column by column.

    ``single`` has the cells of the other rows, by the numbers of their elements.
    """

    def __init__(
        self,
        places: Places,
        structure: Structure,
        elements: _Elements,
        single: dict[int, list[Cell]],
        wanted: Sequence[Sequence[int]],
    ) -> None:
        self.single = single
        self._places = places
        self._parents = structure.parents
        self._count = structure.before
        self._elements = elements
        self._wanted = wanted
        self._order = np.argsort(elements.places.astype(np.int32), kind="stable")
        self._bounds = np.searchsorted(elements.places[self._order], np.arange(len(places.text) + 1))
        relations = places.row[elements.places]
        new = np.arange(len(relations)) >= self._count
        whole = new & (elements.stops != NOWHERE)
        self._members = [np.flatnonzero((relations == number) & whole) for number in range(len(places.sources))]
        self._numbers = np.full(len(relations), NOWHERE)
        for members in self._members:
            self._numbers[members] = np.arange(len(members))
        self._columns: list[list[pa.Array]] = [[] for _ in places.sources]
        incomplete = new & ~whole & (relations != NOWHERE)
        self.relations = sorted(
            {*np.unique(relations[new & (relations != NOWHERE)]).tolist(), *map(self._relation, single)}
        )
        """The numbers of the relations that have rows, or parts of rows, in the block."""
        for row in np.flatnonzero(incomplete).tolist():
            parent, path = elements.starts[elements.owners[self._parents[row]]], places.code[elements.places[row]]
            columns = len(places.sources[relations[row]])
            self.single[row] = [int(elements.starts[row]), None, int(parent), int(path), *[None] * columns]

    def begun(self, places: Sequence[int]) -> Numbers:
        """The elements at some places that begin in the block."""
        found = self._at(places)
        return found[found >= self._count]

    def add_numbers(self, relation: int, column: int, source: Source) -> None:
        """Fill a column of places in the text."""
        if source.part is Part.NODE:
            elements, values = self.begun(source.places), self._elements.starts
        else:
            elements, values = self._at(source.places), self._elements.stops
            elements = elements[values[elements] != NOWHERE]
        rows, singles = self._split(elements)
        cells = np.full(len(self._members[relation]), NOWHERE)
        cells[self._numbers[self._elements.owners[rows]]] = values[rows]
        empty = cells == NOWHERE
        if len(cells) - np.count_nonzero(empty) != len(rows):
            raise MisfitError  # two of what can be there once
        self._columns[relation].append(pa.array(cells, mask=empty))
        for element in singles.tolist():
            self._fill(element, column, int(values[element]))

    def add_texts(self, relation: int, column: int, elements: Numbers, slices: pa.Array, found: Numbers) -> None:
        """Fill a column of texts: those of ``elements``, which are ``found`` among slices."""
        rows = self._numbers[self._elements.owners[elements]]
        inner = rows != NOWHERE
        cells = np.full(len(self._members[relation]), NOWHERE)
        cells[rows[inner]] = found[inner]
        self._columns[relation].append(_unescaped(slices.take(pa.array(cells, mask=cells == NOWHERE))))
        values = _unescaped(slices.take(found[~inner])).to_pylist()
        for element, value in zip(elements[~inner].tolist(), values, strict=True):
            self._fill(element, column, value)

    def made(self) -> list[tuple[int, pa.RecordBatch]]:
        """The rows that are complete, with the numbers of their relations."""
        elements, places = self._elements, self._places
        found = []
        for relation in self.relations:
            members, wanted = self._members[relation], self._wanted[relation]
            ended = [row for row in self.single if elements.stops[row] != NOWHERE and self._relation(row) == relation]
            if len(members):
                parents = elements.starts[elements.owners[self._parents[members]]]
                numbers = elements.starts[members], elements.stops[members], parents
                codes = places.code[elements.places[members]].astype(np.int32)
                columns = [*map(pa.array, numbers), pa.array(codes), *self._columns[relation]]
                found.append((relation, _batch(columns)))
            if ended:
                rows = [self.single[row] for row in ended]
                for number, row in zip(ended, rows, strict=True):
                    row[_STOP] = int(elements.stops[number])
                kept = [*range(_COLUMNS), *(_COLUMNS + column for column in wanted)]
                types = row_schema(places.sources[relation], wanted).types
                cells = zip(*([row[column] for column in kept] for row in rows), strict=True)
                columns = [pa.array(column, kind) for column, kind in zip(cells, types, strict=True)]
                found.append((relation, _batch(columns)))
        return found

    def _relation(self, row: int) -> int:
        return int(self._places.row[self._elements.places[row]])

    def _at(self, places: Sequence[int]) -> Numbers:
        return np.concatenate([self._order[self._bounds[place] : self._bounds[place + 1]] for place in places])

    def _split(self, elements: Numbers) -> tuple[Numbers, Numbers]:
        """Those that belong to rows that are filled column by column, and the others."""
        inner = self._numbers[self._elements.owners[elements]] != NOWHERE
        return elements[inner], elements[~inner]

    def _fill(self, element: int, column: int, value: Cell) -> None:
        cells = self.single[int(self._elements.owners[element])]
        if cells[_COLUMNS + column] is not None:
            raise MisfitError
        cells[_COLUMNS + column] = value


def is_white(structure: Structure, texts: Numbers) -> bool:
    """Whether the texts after some tags are white space."""
    different = pc.unique(structure.between.take(texts * 2)).to_pylist()
    return not any(text_of(text).strip(_WHITE) for text in different)


def _unescaped(values: pa.Array) -> pa.Array:
    """Texts without references."""
    if not pc.any(pc.match_substring(values, "&")).as_py():
        return values
    if pc.any(pc.match_substring(values, "&#")).as_py():
        return pa.array([None if value is None else text_of(value) for value in values.to_pylist()], values.type)
    for reference, character in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        values = pc.replace_substring(values, reference, character)
    return values


def row_schema(sources: Sequence[Source], wanted: Sequence[int]) -> pa.Schema:
    """The schema of a relation's rows, of whose columns some are wanted."""
    texts = [sources[column].part is Part.TEXT for column in wanted]
    types = [*_FIRST_TYPES, *(pa.large_string() if text else pa.int64() for text in texts)]
    return pa.schema([(f"b{number}", kind) for number, kind in enumerate(types)])


def _batch(columns: Sequence[pa.Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(columns), [f"b{number}" for number in range(len(columns))])

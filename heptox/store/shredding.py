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
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heptox.store.markup import EMPTY, END, START, Markup
from heptox.store.places import DOCUMENT, NOTHING, NOWHERE, WHITE_SPACE, Numbers, Places, Source
from heptox.store.relations import Part
from heptox.store.text import text_of

Truths: TypeAlias = npt.NDArray[np.bool_]
Cell: TypeAlias = int | str | None

_NODE, _STOP, _PARENT, _PATH, _COLUMNS = range(5)
_FIRST_TYPES: Final = (pa.int64(), pa.int64(), pa.int64(), pa.int32())
_WHITE: Final = " \t\n\r"


class MisfitError(Exception):
    """The document does not fit its schema."""


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
    """The elements of a block, in order, those that were open first: an entry for each in all arrays.

    ``tags`` are the numbers of their tags, ``parents`` and ``owners`` elements: the owner is the nearest one, itself or
    above, that has a row. ``stops`` are :data:`NOWHERE` for those that stay open.
    """

    tags: Numbers
    types: Numbers
    parents: Numbers
    starts: Numbers
    stops: Numbers
    places: Numbers
    owners: Numbers


class Shredder:
    """Makes rows of the blocks of one document. ``depth`` is how many elements are open."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._at = 0
        nothing = np.zeros(0, np.int64)
        document = np.array([NOWHERE])
        self._open = _Open(document, np.array([DOCUMENT]), document, np.zeros(1, np.int64), {}, nothing)

    @property
    def depth(self) -> int:
        return len(self._open.types) - 1

    def rows(self, markup: Markup) -> list[tuple[int, pa.RecordBatch]]:
        """The rows that end in the next block, each time with the number of their relation.

        Columns are ``node``, ``stop``, ``parent``, ``path`` and those of the relation. Raises :class:`MisfitError`.
        """
        block = _Block(self._places, self._open, markup, self._at)
        made = block.rows()
        self._open = block.left_open()
        self._at += len(markup.text)
        return made


class _Block:
    """One block of a document, with what was open before."""

    def __init__(self, places: Places, opened: _Open, markup: Markup, at: int) -> None:
        self._places = places
        self._opened = opened
        self._markup = markup
        self._at = at
        self._count = len(opened.types)
        before = np.zeros(self._count, np.int64)
        self._begins = np.concatenate([before, markup.begins])
        self._ends = np.concatenate([before - 1, markup.ends])
        self._kinds = np.concatenate([np.full(self._count, START, np.int8), markup.kinds])
        self._numbers = np.cumsum(self._kinds >= EMPTY) - 1
        self._once = opened.once
        self._elements = self._found()
        self._slices = _between(markup.text, self._ends[:-1] + 1, self._begins[1:])

    def rows(self) -> list[tuple[int, pa.RecordBatch]]:
        """The rows that end in the block; raises :class:`MisfitError`."""
        self._check_texts()
        self._check_attributes()
        cells = _Cells(self._places, self._elements, self._count, self._opened.rows)
        self._rows = cells
        for number, sources in enumerate(self._places.sources):
            for column, source in enumerate(sources, _COLUMNS):
                if source.attribute is not None:
                    cells.add_texts(number, column, *self._attribute_values(source))
                elif source.part is Part.TEXT:
                    elements = cells.begun(source.places)
                    cells.add_texts(number, column, elements, self._slices, self._text_slices(elements))
                else:
                    cells.add_numbers(number, column, source)
        return cells.made()

    def left_open(self) -> _Open:
        """What is open at the end of the block."""
        elements = self._elements
        opened = np.flatnonzero(elements.stops == NOWHERE)
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

    def _found(self) -> _Elements:
        kinds, numbers = self._kinds, self._numbers
        depths = np.cumsum(kinds, dtype=np.int64) - (kinds == START)
        # a stable sort of short numbers is a radix sort
        order = np.argsort(depths.astype(np.int16) if depths.max() < 1 << 15 else depths, kind="stable")
        tags = np.flatnonzero(kinds >= EMPTY)
        by_depth = order[kinds[order] >= EMPTY]
        parents = self._parents(by_depth)
        closing = np.where(kinds[tags] == EMPTY, tags, self._closing(order)[tags])
        closed = closing != NOWHERE
        numbers[closing[closed]] = np.flatnonzero(closed)
        stops = np.where(closed, self._at + self._ends[closing] + 1, NOWHERE)
        starts = self._at + self._begins[tags]
        starts[: self._count] = self._opened.starts
        types = np.concatenate([self._opened.types, self._markup.types])[tags]
        places, owners = self._placed(types, parents, numbers[by_depth], depths[by_depth])
        return _Elements(tags, types, parents, starts, stops, places, owners)

    def _parents(self, by_depth: Numbers) -> Numbers:
        """The parents of elements, whose tags are given in the order of their depth.

        The tag before that of a first child is its parent's, and in this order the other children follow the first.
        """
        is_first = self._kinds[by_depth - 1] == START
        is_first[0] = True
        first = np.maximum.accumulate(np.where(is_first, np.arange(len(by_depth)), 0))
        parents = np.empty(len(by_depth), np.int64)
        parents[self._numbers[by_depth]] = self._numbers[by_depth[first] - 1]
        parents[0] = NOWHERE
        return parents

    def _closing(self, order: Numbers) -> Numbers:
        """For each tag that opens an element the one that closes it, which follows in the order by depth."""
        closing = np.full(len(order), NOWHERE)
        closed = self._kinds[order[1:]] == END
        closing[order[:-1][closed]] = order[1:][closed]
        return closing

    def _placed(self, types: Numbers, parents: Numbers, by_depth: Numbers, depths: Numbers) -> tuple[Numbers, Numbers]:
        """The places of elements, and their owners: level by level, as far down as the schema tells levels apart.

        Raises :class:`MisfitError` where an element has no place.
        """
        model = self._places
        places = np.where(types == NOWHERE, NOWHERE, model.inside + types)
        owners = np.zeros(len(types), np.int64)
        places[: self._count], owners[: self._count] = self._opened.places, self._opened.owners
        new = by_depth >= self._count
        by_depth, depths = by_depth[new], depths[new]
        levels = np.searchsorted(depths, np.arange(model.depth + 2))
        for begin, end in pairwise(levels.tolist()):
            level = by_depth[begin:end]
            found = model.children(places[parents[level]], types[level])
            places[level] = found
            owners[level] = np.where(model.row[found] != NOWHERE, level, owners[parents[level]])
        deep = by_depth[levels[-1] :]
        if (model.children(places[parents[deep]], types[deep]) != places[deep]).any() or (places == NOWHERE).any():
            raise MisfitError
        once = by_depth[model.once(places[parents[by_depth]], types[by_depth]) != NOWHERE]
        self._once = np.concatenate([self._once, parents[once] * len(model.types) + types[once]])
        if len(np.unique(self._once)) != len(self._once):
            raise MisfitError
        return places, owners

    # -- texts and attributes ----------------------------------------------------------------------------------------

    def _check_texts(self) -> None:
        """Refuse text where there is no place for it."""
        elements = self._elements
        texts = np.flatnonzero(self._begins[1:] > self._ends[:-1] + 1)
        numbers = self._numbers[texts]
        around = np.where(self._kinds[texts] == START, numbers, elements.parents[numbers])
        allowed = self._places.text[elements.places[around]]
        if (allowed == NOTHING).any():
            raise MisfitError
        white = texts[allowed == WHITE_SPACE]
        if len(white) and any(
            text_of(text).strip(_WHITE) for text in pc.unique(self._slices.take(white * 2)).to_pylist()
        ):
            raise MisfitError

    def _text_slices(self, elements: Numbers) -> Numbers:
        """Where the texts of leaves are among the slices between tags; the last slice is empty."""
        tags = self._elements.tags[elements]
        return np.where(self._kinds[tags] == EMPTY, len(self._slices) - 1, tags * 2)

    def _check_attributes(self) -> None:
        """Refuse attributes that are not declared; put the others in the order of their places and names."""
        found, width = self._markup.attributes, max(1, len(self._places.attributes))
        elements = self._numbers[self._count + found.tags]
        if (self._places.declared(self._elements.types[elements], found.names) == NOWHERE).any():
            raise MisfitError
        keys = self._elements.places[elements] * width + found.names
        self._attribute_order = np.argsort(keys, kind="stable")
        self._attribute_keys = keys[self._attribute_order]
        self._attribute_elements = elements
        self._attribute_slices = _between(self._markup.text, found.begins, found.ends)

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

    def __init__(self, places: Places, elements: _Elements, count: int, single: dict[int, list[Cell]]) -> None:
        self.single = single
        self._places = places
        self._elements = elements
        self._count = count
        self._order = np.argsort(elements.places.astype(np.int32), kind="stable")
        self._bounds = np.searchsorted(elements.places[self._order], np.arange(len(places.text) + 1))
        relations = places.row[elements.places]
        new = np.arange(len(relations)) >= count
        whole = new & (elements.stops != NOWHERE)
        self._members = [np.flatnonzero((relations == number) & whole) for number in range(len(places.sources))]
        self._numbers = np.full(len(relations), NOWHERE)
        for members in self._members:
            self._numbers[members] = np.arange(len(members))
        self._columns: list[list[pa.Array]] = [[] for _ in places.sources]
        for row in np.flatnonzero(new & ~whole & (relations != NOWHERE)).tolist():
            parent, path = elements.starts[elements.owners[elements.parents[row]]], places.code[elements.places[row]]
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
        for relation, members in enumerate(self._members):
            ended = [row for row in self.single if elements.stops[row] != NOWHERE and self._relation(row) == relation]
            if len(members):
                parents = elements.starts[elements.owners[elements.parents[members]]]
                numbers = elements.starts[members], elements.stops[members], parents
                codes = places.code[elements.places[members]].astype(np.int32)
                columns = [*map(pa.array, numbers), pa.array(codes), *self._columns[relation]]
                found.append((relation, _batch(columns)))
            if ended:
                rows = [self.single[row] for row in ended]
                for row, cells in zip(ended, rows, strict=True):
                    cells[_STOP] = int(elements.stops[row])
                types = [*_FIRST_TYPES, *map(_type, places.sources[relation])]
                columns = [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), types, strict=True)]
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
        if cells[column] is not None:
            raise MisfitError
        cells[column] = value


def _between(text: bytes, begins: Numbers, ends: Numbers) -> pa.Array:
    """An array of Arrow whose even entries are slices of a text, and whose last entry is empty."""
    bounds = np.empty(2 * len(begins) + 2, np.int64)
    bounds[0:-2:2], bounds[1:-2:2], bounds[-2:] = begins, ends, len(text)
    return pa.Array.from_buffers(pa.large_string(), len(bounds) - 1, [None, pa.py_buffer(bounds), pa.py_buffer(text)])


def _unescaped(values: pa.Array) -> pa.Array:
    """Texts without references."""
    if not pc.any(pc.match_substring(values, "&")).as_py():
        return values
    if pc.any(pc.match_substring(values, "&#")).as_py():
        return pa.array([None if value is None else text_of(value) for value in values.to_pylist()], values.type)
    for reference, character in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        values = pc.replace_substring(values, reference, character)
    return values


def _type(source: Source) -> pa.DataType:
    return pa.large_string() if source.part is Part.TEXT else pa.int64()


def _batch(columns: Sequence[pa.Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(columns), [f"b{number}" for number in range(len(columns))])

"""Items put together column by column: what the rows of a statement hold, for thousands of matches at once.

This is what :class:`heptox.store.items.Construction` does for one match after the other. It is done where each
expression has a fixed number of items in every match, each of which is there or not, and where what inner loops make is
content alone; of that, a query can be looked at without any match.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heptox.grammar import syntax
from heptox.pattern import literal
from heptox.store.places import Numbers
from heptox.store.plan import AttributeSlot, Block, LeafSlot, Member, RangeSlot, Slot, TextSlot
from heptox.store.statement import Branch, Plan
from heptox.store.text import (
    IN_ATTRIBUTE,
    IN_ITEM,
    IN_TEXT,
    Escapes,
    number_item,
    number_string,
)
from heptox.store.written_names import shown_name

Truths: TypeAlias = npt.NDArray[np.bool_]
Texts: TypeAlias = pa.Array
"""Strings, one for each match; null where there is none."""

Read: TypeAlias = Callable[[int, int, int], str]
"""Reads the text of a document, by its number, from one place to before another."""

MOST_READ: Final = 1 << 24
"""How many bytes of documents are read, and of items made, at once, about."""
FEW: Final = 64
"""Rows that take less time one after the other than column by column."""
_STRING: Final = pa.large_string()
_DELETE: Final = 0x7F


class NotColumnarError(Exception):
    """The items of a query are not put together column by column."""


class Kind(Enum):
    """What the items of a column are."""

    ELEMENT = auto()
    ATTRIBUTE = auto()
    TEXT = auto()
    ATOM = auto()
    NUMBER = auto()
    CONTENT = auto()
    """Any number of elements and texts, as content of an element."""


@dataclass(frozen=True, slots=True)
class Items:
    """An item for each match, null where there is none.

    ``values`` are string values, ``xml`` the elements as XML text, ``name`` is that of attributes; of a number
    ``written`` is how it is written as an item.
    """

    kind: Kind
    values: Texts | None
    xml: Texts | None = None
    name: str = ""
    written: str = ""

    def string(self) -> Texts:
        """The string values; raises :class:`NotColumnarError` for constructed elements, whose are not looked for."""
        if self.values is None:
            raise NotColumnarError
        return self.values


@dataclass(frozen=True, slots=True)
class Portion:
    """Some items of an answer, serialised, and for each the number of its document."""

    documents: Sequence[int]
    items: Sequence[str]


class Columns:
    """Puts the rows of a plan together to items: first those of inner loops, which follow the rows they belong to.

    ``most`` is how many bytes an item may have. Raises :class:`NotColumnarError` for plans that are not so.
    """

    def __init__(self, plan: Plan, read: Read, most: int) -> None:
        self._plan = plan
        self._read = read
        self._most = most
        self._levels = np.array([len(branch.above) for branch in plan.branches], np.int64)
        self._above = [_place_of(branch.above[-1], plan.branches) if branch.above else -1 for branch in plan.branches]
        types = [pa.int64(), pa.int32(), *[_STRING] * plan.texts, *[pa.int64()] * plan.offsets]
        self._width = max((len(items) for _, items in self._serialised(_batch(types))), default=0)
        templates = [branch.member.template for branch in plan.branches]
        self._constant = max(map(_constant_characters, templates), default=0)
        self._copies = max(map(_copies, templates), default=0)

    def parts(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of whole matches, fewer at a time where their items are long."""
        for rows in self._whole(batches):
            waiting = [rows]
            while waiting:
                part = waiting.pop()
                half = self._middle(part)
                if half < FEW or self._made(part) <= MOST_READ:
                    yield part
                else:
                    waiting += [part.slice(half), part.slice(0, half)]

    def _whole(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of batches, cut where matches at the top begin."""
        if not self._levels.any():
            yield from batches
            return
        begun: list[pa.RecordBatch] = []  # the rows of a match that may go on
        for batch in batches:
            tops = self._tops(batch)
            if not len(tops):
                begun.append(batch)
                continue
            ended = _one_batch([*begun, batch.slice(0, tops[-1])])
            begun = [batch.slice(tops[-1])]
            if len(ended):
                yield ended
        if begun:
            yield _one_batch(begun)

    def _tops(self, rows: pa.RecordBatch) -> Numbers:
        """Where matches at the top begin."""
        return np.flatnonzero(self._levels[_numbers(rows.column(0))] == 0)

    def _middle(self, rows: pa.RecordBatch) -> int:
        """Where rows may be cut in two; 0 where they are of one match."""
        half = len(rows) // 2
        if not self._levels.any():
            return half
        tops = self._tops(rows)
        return int(tops[np.searchsorted(tops, half, side="right") - 1])

    def _made(self, rows: pa.RecordBatch) -> int:
        """How many bytes the items of rows have, about; elements that are read in documents aside."""
        return len(rows) * self._constant + int(rows.nbytes) * self._copies

    def answers(self, rows: pa.RecordBatch) -> Portion:
        """The serialised items of rows, in order.

        Raises :class:`NotColumnarError` when an item is too long, or too much is to be made or read for these rows.
        """
        if self._made(rows) > MOST_READ:
            raise NotColumnarError
        found: list[Texts] = []
        keys = []
        for at, serialised in self._serialised(rows):
            for turn, items in enumerate(serialised):
                found.append(items.drop_null())
                keys.append(at[_present(items)] * self._width + turn)
        if len(found) == 1:
            (items,), (key,) = found, keys
        else:
            key = np.concatenate([np.zeros(0, np.int64), *keys])
            order = np.argsort(key)
            items, key = pa.concat_arrays([pa.nulls(0, _STRING), *found]).take(pa.array(order)), key[order]
        if len(items) and pc.max(pc.binary_length(items)).as_py() > self._most:
            raise NotColumnarError
        return Portion(_numbers(rows.column(1))[key // max(1, self._width)].tolist(), items.to_pylist())

    def _serialised(self, rows: pa.RecordBatch) -> list[tuple[Numbers, list[Texts]]]:
        """For each branch at the top which rows are its matches, and their items, serialised."""
        branches = _numbers(rows.column(0))
        levels = self._levels[branches]
        inner: list[_Inner] = []
        for level in range(int(self._levels.max(initial=0)), 0, -1):
            above = np.maximum.accumulate(np.where(levels == level - 1, np.arange(len(branches)), -1))
            made: list[_Inner] = []
            for number in np.flatnonzero(self._levels == level).tolist():
                at, match = self._matches(rows, branches, number, inner)
                items = match.content(self._plan.branches[number].member.template)
                made.append(_Inner(number, at, above[at], items))
            inner = made
        tops = [self._matches(rows, branches, number, inner) for number in np.flatnonzero(self._levels == 0).tolist()]
        templates = [branch.member.template for branch in self._plan.branches if not branch.above]
        return [
            (at, [match.serialised(items) for items in match.items(template)])
            for (at, match), template in zip(tops, templates, strict=True)
        ]

    def _matches(
        self, rows: pa.RecordBatch, branches: Numbers, number: int, inner: Sequence[_Inner]
    ) -> tuple[Numbers, _Matches]:
        at = np.flatnonzero(branches == number)
        found = rows if len(at) == len(branches) else rows.take(pa.array(at))
        member = self._plan.branches[number].member
        mine = [one for one in inner if self._above[one.branch] == number]
        turns = {
            turn: [one for one in mine if self._plan.branches[one.branch].turn == turn] for turn, _ in member.blocks
        }
        blocks = {turn: _gathered(at, several) for turn, several in turns.items()}
        return at, _Matches(member, found, self._plan.texts, self._read, blocks)


@dataclass(frozen=True, slots=True)
class _Inner:
    """What the matches of a ``branch`` make in one place of those ``above`` them, by rows: ``at`` these they stand."""

    branch: int
    at: Numbers
    above: Numbers
    items: Items


def _place_of(branch: Branch, branches: Sequence[Branch]) -> int:
    return next(number for number, other in enumerate(branches) if other is branch or other == branch)


def _gathered(at: Numbers, several: Sequence[_Inner]) -> Items:
    """For each of the rows ``at`` what stands in one place of it: what all rows below make, one after the other."""
    kinds = {(one.items.kind, one.items.name) for one in several}
    if len(kinds) > 1:
        raise NotColumnarError
    rows = np.concatenate([np.zeros(0, np.int64), *(one.at for one in several)])
    above = np.concatenate([np.zeros(0, np.int64), *(one.above for one in several)])
    order = np.argsort(rows)
    places = np.searchsorted(at, above[order])
    made = [one.items.values if one.items.xml is None else one.items.xml for one in several]
    texts = pa.concat_arrays([pa.nulls(0, _STRING), *made]).take(pa.array(order))
    counts = np.bincount(places, minlength=len(at))
    if any(kind is Kind.ATTRIBUTE for kind, _ in kinds):
        if counts.max(initial=0) > 1:
            raise NotColumnarError  # an error, of which is said where it is
        of_row = np.full(len(at), -1)
        of_row[places] = np.arange(len(places))
        values = texts.take(pa.array(of_row, mask=of_row < 0))
        return Items(Kind.ATTRIBUTE, values, name=several[0].items.name)
    return Items(Kind.CONTENT, None, _joined(texts, counts))


def _joined(texts: Texts, counts: Numbers) -> Texts:
    """So many texts each, one after the other."""
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    offsets = np.frombuffer(texts.buffers()[1] or bytes(8), np.int64, len(texts) + 1, texts.offset * 8)
    # Texts of neighbouring rows are neighbours in memory: only the places are left out where one ends.
    data = texts.buffers()[2] or pa.py_buffer(b"")
    return pa.LargeStringArray.from_buffers(len(counts), pa.py_buffer(offsets[ends]), data)


class _Matches:
    """The matches of a member: rows, of whose columns so many are texts, with the content that inner loops make."""

    def __init__(
        self, member: Member, rows: pa.RecordBatch, texts: int, read: Read, blocks: Mapping[int, Items]
    ) -> None:
        self._member = member
        self._blocks = blocks
        self._documents = rows.column(1)
        self._texts = rows.columns[2 : 2 + texts]
        self._offsets = rows.columns[2 + texts :]
        self._count = len(rows)
        self._read = read

    def items(self, expression: syntax.Expression) -> list[Items]:
        """The items of an expression, those of each match in the order of the list."""
        match expression:
            case syntax.Sequence(parts):
                return [items for part in parts for items in self.items(part)]
            case syntax.ElementConstructor():
                return [self._element(expression)]
            case syntax.AttributeConstructor(name, value):
                return [Items(Kind.ATTRIBUTE, self._joined(value).fill_null(""), name=name)]
            case syntax.TextConstructor(value):
                return [Items(Kind.TEXT, self._joined(value))]
            case syntax.NumberLiteral(lexical):
                number = literal(lexical)
                return [Items(Kind.NUMBER, self._constant(number_string(number)), written=number_item(number))]
            case syntax.StringLiteral(value):
                return [Items(Kind.ATOM, self._constant(value))]
            case syntax.Data(argument):
                return [Items(Kind.ATOM, items.string()) for items in self.items(argument)]
            case syntax.PathExpression():
                number, part = self._member.part(expression)
                if isinstance(part, Block):
                    return [self._blocks[number]]
                return self._slot(part)
            case _:
                raise NotColumnarError

    def _slot(self, slot: Slot) -> list[Items]:
        match slot:
            case LeafSlot(name, place):
                values = self._texts[place]
                content = _escaped(values, IN_TEXT)
                return [Items(Kind.ELEMENT, values, _element(f"<{name}", content, name))]
            case AttributeSlot(name, place):
                return [Items(Kind.ATTRIBUTE, self._texts[place], name=name)]
            case TextSlot(place):
                values = self._texts[place]
                return [Items(Kind.TEXT, pc.if_else(pc.equal(values, ""), pa.scalar(None, _STRING), values))]
            case RangeSlot(node, stop, document):
                documents = self._documents if document is None else self._offsets[document]
                return [Items(Kind.ELEMENT, None, self._ranges(documents, self._offsets[node], self._offsets[stop]))]

    def _ranges(self, documents: pa.Array, nodes: pa.Array, stops: pa.Array) -> Texts:
        """Elements as they stand in their documents."""
        if (pc.sum(pc.subtract(stops, nodes)).as_py() or 0) > MOST_READ:
            raise NotColumnarError
        places = zip(documents.to_pylist(), nodes.to_pylist(), stops.to_pylist(), strict=True)
        return pa.array([None if node is None else self._read(doc, node, stop) for doc, node, stop in places], _STRING)

    def content(self, expression: syntax.Expression) -> Items:
        """The items of an expression as one: content of an element, or an attribute."""
        items = self.items(expression)
        if len(items) == 1 and items[0].kind is Kind.ATTRIBUTE:
            return items[0]
        if any(each.kind not in (Kind.ELEMENT, Kind.TEXT, Kind.CONTENT) for each in items):
            raise NotColumnarError  # spaces may have to stand between them and others, or they are no content
        return Items(Kind.CONTENT, None, _concatenated(self._constant(""), *self._content(items)))

    # -- constructors ----------------------------------------------------------------------------------------------

    def _element(self, element: syntax.ElementConstructor) -> Items:
        start: list[Texts | str] = [f"<{element.name}"]
        for attribute in element.attributes:
            start += [f' {attribute.name}="', *map(self._part, attribute.parts), '"']
        names = {attribute.name for attribute in element.attributes}
        content: list[Texts | str] = []
        for part in element.content:
            if isinstance(part, str):
                content.append(IN_TEXT.escaped(part))
                continue
            inside: list[Items] = []
            for items in self.items(part):
                if items.kind is not Kind.ATTRIBUTE:
                    inside.append(items)
                    continue
                if content or inside or items.name in names:
                    raise NotColumnarError  # after content, or twice: an error, but only where both are there
                names.add(items.name)
                start.append(self._attribute(items).fill_null(""))
            content += self._content(inside)
        opening = _concatenated(self._constant(""), *start)
        return Items(Kind.ELEMENT, None, _element(opening, _concatenated(self._constant(""), *content), element.name))

    def _attribute(self, items: Items) -> Texts:
        return _concatenated(f' {items.name}="', _escaped(items.string(), IN_ATTRIBUTE), '"')

    def _content(self, items: Sequence[Items]) -> list[Texts]:
        """The items of one enclosed expression as content: a space is put between neighbouring atomic values."""
        atoms = [each for each in items if each.kind in (Kind.ATOM, Kind.NUMBER)]
        if len(atoms) > 1:
            if len(atoms) < len(items):
                raise NotColumnarError
            return [_escaped(_spaced([each.string() for each in items]), IN_TEXT).fill_null("")]
        written = (_escaped(each.string(), IN_TEXT) if each.xml is None else each.xml for each in items)
        return [each.fill_null("") for each in written]

    def _part(self, part: str | syntax.Expression) -> Texts | str:
        """A part of the value of an attribute."""
        if isinstance(part, str):
            return IN_ATTRIBUTE.escaped(part)
        return _escaped(self._joined(part).fill_null(""), IN_ATTRIBUTE)

    def _joined(self, expression: syntax.Expression) -> Texts:
        """The string values of the items of an expression, joined by spaces; null where there is no item."""
        values = [items.string() for items in self.items(expression)]
        return _spaced(values) if values else pa.nulls(self._count, _STRING)

    def serialised(self, items: Items) -> Texts:
        """Items by the ``adaptive`` method."""
        match items.kind:
            case Kind.CONTENT:
                raise NotColumnarError  # items of their own
            case Kind.ATTRIBUTE:
                return _concatenated(f'{shown_name(items.name)}="', _escaped(items.string(), IN_ITEM), '"')
            case Kind.ATOM:
                return _concatenated('"', pc.replace_substring(items.string(), '"', '""'), '"')
            case Kind.NUMBER:
                return self._constant(items.written)
            case _:
                return _escaped(items.string(), IN_TEXT) if items.xml is None else items.xml

    def _constant(self, value: str) -> Texts:
        return pa.repeat(pa.scalar(value, _STRING), self._count)


def _constant_characters(template: syntax.Expression) -> int:
    """Characters that a template adds to each of its items, at most."""
    count = 0
    for node in syntax.nodes(template):
        names: tuple[str, ...] = type(node).__match_args__
        for value in (getattr(node, name) for name in names):
            parts = value if isinstance(value, tuple) else (value,)
            count += sum(len(part) for part in parts if isinstance(part, str))
    return 2 * count  # the name of an element is written twice


def _copies(template: syntax.Expression) -> int:
    """How often a template may have the value of each column."""
    return sum(isinstance(node, syntax.PathExpression) for node in syntax.nodes(template))


# -- texts ---------------------------------------------------------------------------------------------------------


def _batch(types: Sequence[pa.DataType]) -> pa.RecordBatch:
    """No rows, of columns of some types."""
    return pa.RecordBatch.from_arrays([pa.nulls(0, each) for each in types], [f"k{n}" for n in range(len(types))])


def _one_batch(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """The rows of batches of one kind."""
    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0] if any(map(len, batches)) else batches[0]


def _element(opening: Texts | str, content: Texts, name: str) -> Texts:
    """Elements, null where the content is null."""
    full = _concatenated(opening, ">", content, f"</{name}>")
    if not len(content) or pc.min(pc.binary_length(content)).as_py() != 0:
        return full
    empty = pc.equal(content, "")
    return pc.if_else(empty, _concatenated(opening, "/>", content), full)


def _concatenated(*parts: Texts | str) -> Texts:
    """Texts one after the other, null where one is null."""
    texts = [pa.scalar(part, _STRING) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*texts, pa.scalar("", _STRING))


def _spaced(values: Sequence[Texts]) -> Texts:
    """Texts one after the other with a space between those that are there, null where none is."""
    if len(values) == 1:
        return values[0]
    joined = pc.binary_join_element_wise(*values, pa.scalar(" ", _STRING), null_handling="skip")
    present = np.any([_present(each) for each in values], axis=0)
    return pc.if_else(pa.array(present), joined, pa.scalar(None, _STRING))


def _escaped(values: Texts, form: Escapes) -> Texts:
    """Values with references for what cannot stand there; few have any."""
    characters = np.frombuffer(values.buffers()[2] or b"", np.uint8)
    for character, reference in form.references.items():
        if (characters == ord(character)).any():
            values = pc.replace_substring(values, character, reference)
    if not form.rare or not (characters >= _DELETE).any():
        return values
    rare = pc.match_substring_regex(values, r"[\x{7f}-\x{9f}\x{2028}]").fill_null(False)
    written = pa.array([value.translate(form.rare) for value in values.filter(rare).to_pylist()], _STRING)
    return pc.replace_with_mask(values, rare, written)


def _numbers(column: pa.Array) -> Numbers:
    """The numbers of a column without nulls. Arrow's own way looks for pandas each time."""
    kind = np.dtype(np.int32 if column.type == pa.int32() else np.int64)
    return np.frombuffer(column.buffers()[1], kind, len(column), column.offset * kind.itemsize).astype(np.int64)


def _present(column: Texts) -> Truths:
    """Which entries of a column are no nulls."""
    if not column.null_count:
        return np.ones(len(column), np.bool_)
    return np.fromiter(column.is_valid().to_pylist(), np.bool_, len(column))

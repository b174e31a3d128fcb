"""Answers from a store: the rows of a query's statement, put together to items."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeAlias

import pyarrow as pa

from heptox.grammar import syntax
from heptox.store.allowance import MemoryUse
from heptox.store.asides import Asides
from heptox.store.columnar import FEW, Columns, NotColumnarError, Portion, Read
from heptox.store.items import AttributeItem, Constructed, Construction, Found, Item, TextItem, string_value
from heptox.store.plan import AttributeSlot, Block, LeafSlot, Member, RangeSlot, Slot, TextSlot
from heptox.store.statement import Plan
from heptox.store.text import escaped_text, text_of

Row: TypeAlias = tuple[Any, ...]
AsidesOf: TypeAlias = Callable[[int], Asides | None]
"""What a document has besides its text, by its number."""


def no_asides(_doc: int) -> None:
    """Documents have nothing besides their texts."""


@dataclass(frozen=True, slots=True)
class _Range:
    """An element as it stands in a document."""

    read: Read
    asides: Asides | None
    doc: int
    node: int
    stop: int

    @property
    def xml(self) -> str:
        written = self.read(self.doc, self.node, self.stop)
        return written if self.asides is None else self.asides.element(written, self.node)

    @property
    def text(self) -> str:
        return text_of(self.read(self.doc, self.node, self.stop))


@dataclass(slots=True)
class _Match:
    """A match of a member, with the matches of the blocks inside it by the numbers of their places."""

    member: Member
    doc: int
    texts: Row
    offsets: Row
    inner: dict[int, list[_Match]] = field(default_factory=dict)


class Assembly(Construction[_Match]):
    """Puts the rows of a plan together to items."""

    def __init__(self, plan: Plan, read: Read, held: MemoryUse, asides: AsidesOf = no_asides) -> None:
        super().__init__(held)
        self._plan = plan
        self._read = read
        self._asides = asides

    def answers(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Portion]:
        """The items of an answer, in order, as rows come in order."""
        first = next(batches, None)
        if first is None:
            return
        batches = chain([first], batches)
        try:
            if len(first) < FEW or self._asides is not no_asides:
                raise NotColumnarError
            columns = Columns(self._plan, self._read, self._held.allowance.characters)
        except NotColumnarError:
            yield from self._one_by_one(row for batch in batches for row in _rows(batch))
            return
        for part in columns.parts(batches):
            try:
                yield columns.answers(part)
            except NotColumnarError:
                yield from self._one_by_one(_rows(part))

    def _one_by_one(self, rows: Iterator[Row]) -> Iterator[Portion]:
        for match in self._matches(rows):
            for item in self.items(match.member.template, match):
                yield Portion((match.doc,), (self.serialised(item),))

    def _matches(self, rows: Iterator[Row]) -> Iterator[_Match]:
        """The matches of the loops at the top, each once all that belongs to it is known."""
        lineage: list[_Match] = []
        texts = 2 + self._plan.texts
        offsets = texts + self._plan.offsets
        for row in rows:
            branch = self._plan.branches[row[0]]
            level = len(branch.above)
            match = _Match(branch.member, row[1], row[2:texts], row[texts:offsets])
            if level:
                lineage[level - 1].inner.setdefault(branch.turn, []).append(match)
            elif lineage:
                yield lineage[0]
            lineage[level:] = [match]
        if lineage:
            yield lineage[0]

    def found(self, expression: Found, environment: _Match) -> Iterator[Item]:
        match expression:
            case syntax.Data(argument):
                yield from map(string_value, self.found(argument, environment))
            case syntax.PathExpression():
                number, part = environment.member.part(expression)
                if not isinstance(part, Block):
                    yield from self._item(part, environment)
                for inner in environment.inner.get(number, ()):
                    yield from self.items(inner.member.template, inner)
            case _:
                raise ValueError("a template has no loops")

    def _item(self, slot: Slot, match: _Match) -> Iterator[Item]:
        match slot:
            case LeafSlot(name, place) if match.texts[place] is not None:
                value = match.texts[place]
                written = f"<{name}>{escaped_text(value)}</{name}>" if value else f"<{name}/>"
                asides = self._asides(match.doc)
                yield Constructed(written if asides is None else asides.leaf(written), value)
            case RangeSlot(node, stop, document) if match.offsets[node] is not None:
                doc = match.doc if document is None else match.offsets[document]
                yield _Range(self._read, self._asides(doc), doc, match.offsets[node], match.offsets[stop])
            case AttributeSlot(name, place) if match.texts[place] is not None:
                yield AttributeItem(name, match.texts[place])
            case TextSlot(place) if match.texts[place]:
                yield TextItem(match.texts[place])
            case _:
                return


def _rows(batch: pa.RecordBatch) -> Iterator[Row]:
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)

"""Very many documents of one schema: as rows of one wide table, for engines of many machines, and back to items.

Arrays of numbers pay off by the thousand, so small documents are made to rows many at a time, their texts one after the
other. A large document is read block by block, and what it gives waits in a file until it is known to fit its schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from itertools import groupby, pairwise
from tempfile import SpooledTemporaryFile
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import zstandard

from heptox.errors import Fault, HeptoxError, InputError, StoreError
from heptox.store.allowance import Allowance, MemoryUse
from heptox.store.answering import Assembly
from heptox.store.canonical import CanonicalReader, Form
from heptox.store.chunks import ChunkWriter, cut_out
from heptox.store.database import MOST_IN_MEMORY
from heptox.store.evaluation import evaluate_indexed
from heptox.store.index import DocumentIndex
from heptox.store.markup import Names, markup
from heptox.store.places import Numbers, Places
from heptox.store.querying import QueryPlan
from heptox.store.relations import Catalogue, Part, Relation
from heptox.store.shredding import MisfitError, Shredder
from heptox.store.statement import Plan
from heptox.store.written_names import WrittenNames
from heptox.xml import XmlReader

SMALL: Final = 1 << 17
"""Up to how many bytes a document is made to rows together with others."""
TOGETHER: Final = 1 << 22
"""How many bytes of documents are made to rows at a time."""

_SPOOLED: Final = 1 << 24
_FIRST: Final = (
    ("relation", pa.int32()),
    ("doc", pa.int64()),
    ("node", pa.int64()),
    ("stop", pa.int64()),
    ("parent", pa.int64()),
    ("path", pa.int32()),
)
_LEVEL: Final = 1
_DECLARATION: Final = re.compile(r"<\?xml\s[^>]*\?>")

# -- rows ----------------------------------------------------------------------------------------------------------


class WideForm:
    """The columns of one table for the rows of all relations of a schema.

    ``relation`` is the number of a relation, then come ``doc``, ``node``, ``stop``, ``parent`` and ``path``; ``t0``,
    ``t1`` and so on are the texts, ``n0``, ``n1`` and so on the numbers among the columns of the relation in their
    order, null where it has no more of them. ``data`` is null.

    Two sorts of rows are of no relation. One of :attr:`TEXT` is a piece of a document's text, compressed by Zstandard
    as ``data``: the bytes from ``node`` to before ``stop``; ``parent`` is the length of the document, and ``path`` is
    :attr:`IRREGULAR` when it does not fit the schema, and has no other rows, :attr:`WHITE` when white space stands
    among its elements where the schema has no text, else 0. The first piece has the ``node`` 0, and every document has
    one. One of :attr:`UNREADABLE` has as ``data`` why it is no document.
    """

    TEXT: Final = -1
    UNREADABLE: Final = -2
    IRREGULAR: Final = 1
    WHITE: Final = 2

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        counts = [[column.part is Part.TEXT for column in relation.columns] for relation in catalogue.relations]
        self.texts = max(map(sum, counts))
        self.numbers = max(len(each) - sum(each) for each in counts)

    @cached_property
    def schema(self) -> pa.Schema:
        texts = [(f"t{number}", pa.string()) for number in range(self.texts)]
        numbers = [(f"n{number}", pa.int64()) for number in range(self.numbers)]
        return pa.schema([*_FIRST, *texts, *numbers, ("data", pa.binary())])

    def columns(self, relation: Relation) -> dict[str, str]:
        """The names of a relation's columns, and their names here."""
        texts = [column.name for column in relation.columns if column.part is Part.TEXT]
        numbers = [column.name for column in relation.columns if column.part is not Part.TEXT]
        return {name: f"t{place}" for place, name in enumerate(texts)} | {
            name: f"n{place}" for place, name in enumerate(numbers)
        }

    def rows(self, number: int, documents: Numbers, starts: Numbers, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of a relation, each with the number of its document and the place where that begins."""
        relation = self.catalogue.relations[number]
        begins = pa.array(starts)
        parents = rows.column(2)
        parents = pc.if_else(pc.less(parents, 0), parents, pc.subtract(parents, begins))
        texts: list[pa.Array] = []
        numbers: list[pa.Array] = []
        for column, cells in zip(relation.columns, rows.columns[4:], strict=True):
            if column.part is Part.TEXT:
                texts.append(cells.cast(pa.string()))
            else:
                numbers.append(pc.subtract(cells, begins))
        texts += [pa.nulls(len(rows), pa.string())] * (self.texts - len(texts))
        numbers += [pa.nulls(len(rows), pa.int64())] * (self.numbers - len(numbers))
        places = [pc.subtract(column, begins) for column in rows.columns[:2]]
        relations = pa.repeat(pa.scalar(number, pa.int32()), len(rows))
        columns = [relations, pa.array(documents), *places, parents, rows.column(3), *texts, *numbers]
        return pa.RecordBatch.from_arrays([*columns, pa.nulls(len(rows), pa.binary())], schema=self.schema)

    def others(self, relation: int, rows: Sequence[tuple[int, int, int, int, int, bytes]]) -> pa.RecordBatch:
        """Rows of no relation, each ``doc``, ``node``, ``stop``, ``parent``, ``path``, ``data``."""
        *first, data = zip(*rows, strict=True)
        types = [kind for _, kind in _FIRST[1:]]
        columns = [pa.array(column, kind) for column, kind in zip(first, types, strict=True)]
        nothing = [pa.nulls(len(rows), kind) for kind in self.schema.types[len(_FIRST) : -1]]
        relations = pa.repeat(pa.scalar(relation, pa.int32()), len(rows))
        return pa.RecordBatch.from_arrays(
            [relations, *columns, *nothing, pa.array(data, pa.binary())], schema=self.schema
        )


@dataclass(frozen=True, slots=True)
class _Small:
    doc: int
    text: bytes


class WideRows:
    """Makes rows of documents in the wide form."""

    def __init__(self, form: WideForm) -> None:
        self.form = form
        self._places = Places(form.catalogue)
        # a document with such attributes is interpreted, whatever is asked
        self._places.instance = np.zeros(0, np.int64)
        self._names = Names(self._places.types, self._places.attributes)
        self._form = Form.of(form.catalogue, self._names)
        self._compress = zstandard.ZstdCompressor(level=_LEVEL).compress

    def batches(self, documents: Iterable[tuple[int, bytes | str]]) -> Iterator[pa.RecordBatch]:
        """The rows of documents, each given by its number and its text, in batches of some megabytes.

        The rows of a document come in the order of its relations or blocks, its text last. Documents that do not fit
        the schema have their text only; what is no document has a row that says why.
        """
        waiting: list[_Small] = []
        size = 0
        for doc, given in documents:
            text = _as_bytes(given)
            try:
                if len(text) > SMALL:
                    yield from self._large(doc, text)
                    continue
                found = _Small(doc, CanonicalReader(self._form, XmlReader(BytesIO(text))).whole())
            except InputError as error:
                yield self.form.others(WideForm.UNREADABLE, [(doc, 0, 0, -1, 0, str(error).encode())])
                continue
            waiting.append(found)
            size += len(found.text)
            if size >= TOGETHER:
                yield from self._together(waiting)
                waiting, size = [], 0
        yield from self._together(waiting)

    # -- small documents ---------------------------------------------------------------------------------------------

    def _together(self, documents: Sequence[_Small]) -> Iterator[pa.RecordBatch]:
        if not documents:
            return
        flags = [0] * len(documents)
        yield from self._fitting(documents, 0, flags)
        pieces = [
            (each.doc, start, start + len(piece), len(each.text), flag, self._compress(piece))
            for each, flag in zip(documents, flags, strict=True)
            for start, piece in _pieces([each.text])
        ]
        yield self.form.others(WideForm.TEXT, pieces)

    def _fitting(self, documents: Sequence[_Small], first: int, flags: list[int]) -> Iterator[pa.RecordBatch]:
        """The rows of the documents that fit; what is to be said of each goes to ``flags``, from ``first`` on.

        Where one does not, the halves are looked at one after the other.
        """
        found = markup(b"".join(each.text for each in documents), self._names)
        assert found is not None  # this is the form that was written
        shredder = Shredder(self._places)
        try:
            made = shredder.rows(found)
        except MisfitError:
            if len(documents) == 1:
                flags[first] = WideForm.IRREGULAR
                return
            half = len(documents) // 2
            yield from self._fitting(documents[:half], first, flags)
            yield from self._fitting(documents[half:], first + half, flags)
            return
        starts = np.cumsum([0, *(len(each.text) for each in documents[:-1])])
        for place in np.unique(np.searchsorted(starts, shredder.white_places, side="right") - 1).tolist():
            flags[first + place] = WideForm.WHITE
        numbers = np.array([each.doc for each in documents], np.int64)
        for relation, rows in made:
            at = np.searchsorted(starts, rows.column(0).to_numpy(), side="right") - 1
            yield self.form.rows(relation, numbers[at], starts[at], rows)

    # -- large documents ---------------------------------------------------------------------------------------------

    def _large(self, doc: int, text: bytes) -> Iterator[pa.RecordBatch]:
        """The rows of one document, which wait until all of it is read."""
        shredder: Shredder | None = Shredder(self._places)
        white = False
        length = 0
        writer = ChunkWriter()
        with _Waiting(self.form.schema) as rows, _Waiting(self.form.schema) as pieces:

            def keep(found: Iterable[tuple[int, bytes]]) -> None:
                for start, piece in found:
                    row = doc, start, start + len(piece), 0, 0, self._compress(piece)
                    pieces.add(self.form.others(WideForm.TEXT, [row]))

            for block in CanonicalReader(self._form, XmlReader(BytesIO(text))).blocks():
                length += len(block.text)
                keep(writer.add(block.text))
                if shredder is not None:
                    try:
                        for relation, made in shredder.rows(block):
                            documents = np.full(len(made), doc, np.int64)
                            rows.add(self.form.rows(relation, documents, np.zeros(len(made), np.int64), made))
                        white = shredder.white
                    except MisfitError:
                        shredder = None
            keep(writer.end())
            flag = WideForm.IRREGULAR if shredder is None else WideForm.WHITE if white else 0
            if shredder is not None:
                yield from rows.batches()
            for batch in pieces.batches():
                numbers = pa.array([length] * len(batch), pa.int64()), pa.array([flag] * len(batch), pa.int32())
                columns = [*batch.columns[:4], *numbers, *batch.columns[len(_FIRST) :]]
                yield pa.RecordBatch.from_arrays(columns, schema=self.form.schema)


class _Waiting:
    """Batches that wait, in a file when they are many."""

    def __init__(self, schema: pa.Schema) -> None:
        self._file = SpooledTemporaryFile(max_size=_SPOOLED)  # noqa: SIM115  # closed with this context manager
        self._writer = pa.ipc.new_stream(self._file, schema)

    def __enter__(self) -> _Waiting:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The batches in order; no more can be added."""
        self._writer.close()
        self._file.seek(0)
        yield from pa.ipc.open_stream(self._file)


def _as_bytes(text: bytes | str) -> bytes:
    """A document as bytes. What one that was decoded says of its encoding is true no more; its places stay the same."""
    if isinstance(text, bytes):
        return text
    if declared := _DECLARATION.match(text):
        blank = re.sub(r"[^\n]", " ", declared[0])
        text = blank + text[declared.end() :]
    return text.encode("utf-8", "surrogatepass")


def _pieces(texts: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    writer = ChunkWriter()
    for text in texts:
        yield from writer.add(text)
    yield from writer.end()


# -- answers -------------------------------------------------------------------------------------------------------

Piece: TypeAlias = tuple[int, bytes]
"""Where a piece of a text begins, and the piece, compressed."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The items of a query's answer on a document, or why there is none."""

    doc: int
    items: Sequence[str]
    fault: str | None = None


def whole_documents(batches: Iterable[pa.RecordBatch], keys: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Rows cut anew so that those of a document, which come one after the other, are in one batch.

    ``keys`` are the columns of integers by which documents are told apart.
    """
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if not len(batch):
            continue
        changes = np.zeros(len(batch), np.bool_)
        for key in keys:
            column = batch.column(key).to_numpy()
            before = held[-1].column(key)[-1].as_py() if held else column[0]
            changes |= column != np.concatenate([[before], column[:-1]])
        cuts = np.flatnonzero(changes)
        if not len(cuts):
            held.append(batch)
            continue
        held.append(batch.slice(0, int(cuts[-1])))
        yield _joined(held)
        held = [batch.slice(int(cuts[-1]))]
    if held:
        yield _joined(held)


def _joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    full = [batch for batch in batches if len(batch)]
    return full[0] if len(full) == 1 else pa.concat_batches(full)


class Answers:
    """Puts the rows of a plan's statement together to items, for each document on its own."""

    def __init__(self, plan: Plan, names: WrittenNames, allowance: Allowance | None = None) -> None:
        self._plan = plan
        self._names = names
        self._allowance = allowance or Allowance()

    def of(self, rows: pa.RecordBatch, texts: dict[int, list[Piece]]) -> Iterator[Answer]:
        """The answers on the documents whose rows these are: all rows of each, document by document, in order.

        Columns are those of :class:`heptox.store.statement.Plan`. ``texts`` are the pieces of the documents' texts, not
        needed for a plan that reads none. A document on which the query is an error has that as its answer.
        """
        columns = [
            column.cast(pa.large_string()) if pa.types.is_string(column.type) else column for column in rows.columns
        ]
        yield from self._answers(pa.RecordBatch.from_arrays(columns, rows.schema.names), _Texts(texts))

    def _answers(self, rows: pa.RecordBatch, texts: _Texts) -> Iterator[Answer]:
        try:
            found = list(self._found(rows, texts))
        except HeptoxError as error:
            documents = rows.column(1).to_numpy()
            if len(rows) and documents[0] == documents[-1]:
                yield Answer(int(documents[0]), (), str(error))
                return
            cuts = [0, *(np.flatnonzero(documents[1:] != documents[:-1]) + 1).tolist(), len(rows)]
            for begin, end in pairwise(cuts):
                yield from self._answers(rows.slice(begin, end - begin), texts)
            return
        yield from found

    def _found(self, rows: pa.RecordBatch, texts: _Texts) -> Iterator[Answer]:
        assembly = Assembly(self._plan, texts.read, MemoryUse(self._allowance))
        pairs = (
            pair
            for portion in assembly.answers(iter([rows]))
            for pair in zip(portion.documents, portion.items, strict=True)
        )
        for doc, found in groupby(pairs, key=lambda pair: pair[0]):
            yield Answer(doc, list(self._names.items(item for _, item in found)))


class _Texts:
    """Cuts out of the texts of documents. One piece is at hand at a time."""

    def __init__(self, pieces: dict[int, list[Piece]]) -> None:
        self._pieces = {doc: sorted(found) for doc, found in pieces.items()}
        self._starts = {doc: [start for start, _ in found] for doc, found in self._pieces.items()}
        self._decompress = zstandard.ZstdDecompressor().decompress
        self._at_hand: tuple[int, int] | None = None
        self._piece = b""

    def read(self, doc: int, node: int, stop: int) -> str:
        return cut_out(self._starts[doc], lambda number: self._read(doc, number), node, stop).decode()

    def _read(self, doc: int, number: int) -> bytes:
        if self._at_hand != (doc, number):
            self._piece = self._decompress(self._pieces[doc][number][1])
            self._at_hand = doc, number
        return self._piece


def interpreted(
    doc: int, pieces: Iterable[Piece], plans: Sequence[QueryPlan], allowance: Allowance | None = None
) -> list[Answer]:
    """The answers of the interpreter to some queries on a document, whose text comes in pieces in order."""
    decompress = zstandard.ZstdDecompressor().decompress
    try:
        text = bytearray()
        for _, piece in pieces:
            text += decompress(piece)
            if len(text) > MOST_IN_MEMORY:
                raise StoreError(Fault("HX6008", f"the query reads over {MOST_IN_MEMORY:,} bytes of document {doc}"))
        index = DocumentIndex()
        index.read(bytes(text))
    except HeptoxError as error:
        return [Answer(doc, (), str(error)) for _ in plans]
    found = []
    for plan in plans:
        try:
            items = evaluate_indexed(plan.written, [index], None, allowance)
            found.append(Answer(doc, list(plan.names.items(items))))
        except HeptoxError as error:
            found.append(Answer(doc, (), str(error)))
    return found

"""Exchange on a store: the target document as statements, written as one stream (``semantics.md`` section 5).

What rules bind to are tables of arguments; nodes with equal identity are glued by grouping, level by level; the number
of a node of the image says where it appeared first. DuckDB keeps on disk what is more than it may hold in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path as FilePath
from tempfile import TemporaryDirectory
from typing import Any, Final

from heptox.errors import Fault, StoreError
from heptox.mapping.exchange import exchange
from heptox.mapping.exchange_plan import ExchangePlan
from heptox.mapping.image import copied
from heptox.mapping.image_text import ImageText
from heptox.mapping.model import Mapping
from heptox.mapping.node_tables import NodeTables
from heptox.mapping.receipts import ExchangeReceipt
from heptox.schema import stream_faults
from heptox.store import Cursor, NotCompiledError, Store, database_faults, statements as sql
from heptox.xml import (
    Prefixes,
    XmlElement,
    declarations,
    parse_document,
    value_namespaces,
    write_document,
    write_element,
)

_COPIES: Final = 1_000


def exchange_at_rest(
    mapping: Mapping, source: FilePath | bytes, name: str, receipt: ExchangeReceipt | None = None
) -> Generator[str, None, None]:
    """What :func:`exchange_stored` gives for a valid document, by way of a store that is gone afterwards.

    Nothing where the document is not valid, or does not fit the relations of its schema: it is to be exchanged
    in memory then.

    Raises :class:`InputError` and ``OSError`` for what cannot be read, :class:`StoreError` as :meth:`Store.load` and
    :func:`exchange_stored`.
    """
    with source.open("rb") if isinstance(source, FilePath) else BytesIO(source) as opened:
        if stream_faults(opened, mapping.source.graph, name, most=1):
            return
    with TemporaryDirectory() as folder, Store.open(FilePath(folder, "document.store"), mapping.source.graph) as held:
        if held.load(name, source).document.regular:
            yield from exchange_stored(mapping, held, name, receipt=receipt)


def exchange_stored(
    mapping: Mapping,
    store: Store,
    name: str,
    report: Callable[[str], None] | None = None,
    receipt: ExchangeReceipt | None = None,
) -> Iterator[str]:
    """The text of the target document for a document at rest, piece by piece: that of :func:`exchange`, written.

    Where the relations of the store do not give what the rules ask for, or the document does not fit them, the document
    is read into memory and exchanged there; ``report`` then says why. ``receipt`` as :func:`exchange`.

    Raises :class:`StoreError`: HX6012 for a store of another schema than the mapping's source, HX6015 when no document
    of that name is held, HX6008 for one that is too large to be read into memory, HX6016 when the disk or the memory is
    full; and as :func:`exchange`.
    """
    if store.catalogue.schema != mapping.source.graph:
        raise StoreError(Fault("HX6012", "the store keeps documents of another schema than the mapping's source"))
    with _reading(store) as cursor:
        found = cursor.execute("SELECT doc, length, regular FROM documents WHERE name = ?", [name]).fetchall()
        if not found:
            raise StoreError(Fault("HX6015", f"no document {name} is held"))
        ((doc, length, regular),) = found
        try:
            if not regular:
                raise NotCompiledError("the document does not fit its schema")
            plan = ExchangePlan(mapping, store, doc, length)
            copies = _Copies(store, cursor, doc, plan.prefixes)
            if any(rule.body.stops for rule in plan.rules):
                copies.read(plan)
        except NotCompiledError as reason:
            if report is not None:
                report(str(reason))
            text = store.whole(doc, name, length, cursor, reader="its exchange", reason=str(reason))
            whole = store.asides.read(cursor, doc).document(text.decode(), splitting=False)
            written = store.catalogue.names.item(whole)
            document = parse_document(written, name)
            yield write_document(exchange(mapping, document, receipt=receipt).root)
            return
        NodeTables(plan, copies.run).make(receipt)
        yield from ImageText(plan, store, cursor).pieces()
        yield "\n"


@contextmanager
def _reading(store: Store) -> Iterator[Cursor]:
    """A cursor that sees the store as it is now; what it makes goes with it."""
    cursor = store.cursor()
    try:
        with database_faults("HX6016", "the exchange cannot be made", streamed=True):
            cursor.execute("BEGIN")
            yield cursor
    finally:
        cursor.close()


class _Copies:
    """The subtrees of one document that rules copy, in a table ``copies``: their content to compare, and their text
    without their name.
    """

    def __init__(self, store: Store, cursor: Cursor, doc: int, prefixes: Prefixes) -> None:
        self._store, self._cursor, self._doc, self._prefixes = store, cursor, doc, prefixes

    def read(self, plan: ExchangePlan) -> None:
        """Make the table; raise :class:`NotCompiledError` where values in it use prefixes, which the root declares."""
        self.run("CREATE TEMP TABLE copies (node BIGINT, content VARCHAR, body VARCHAR, named BOOLEAN)")
        for each in plan.rules:
            body = sql.DerivedTable(each.body.statement, "b")
            for term, stop in each.body.stops.items():
                node = sql.Column("b", each.body.terms[term])
                known = sql.Among(node, sql.Column("c", "node"), sql.Source("copies", "c"))
                asked = sql.All((sql.NotNull(node), sql.Fails(known)))
                places = sql.Select((node, sql.Column("b", stop)), (body,), asked, distinct=True)
                self.run(sql.print_table("places", sql.Statement((places,))))
                last = -1
                while found := self.run("SELECT * FROM places WHERE k0 > ? ORDER BY k0 LIMIT ?", [last, _COPIES]):
                    columns = [list(column) for column in zip(*(self._copy(*row) for row in found), strict=True)]
                    self.run("INSERT INTO copies SELECT unnest(?), unnest(?), unnest(?), unnest(?)", columns)
                    last = found[-1][0]
                self.run("DROP TABLE places")

    def _copy(self, node: int, stop: int) -> tuple[int, str, str, bool]:
        text = self._store.text(self._doc, node, stop, self._cursor)
        text = self._store.asides.read(self._cursor, self._doc).element(text, node)
        element = parse_document(self._store.catalogue.names.item(text)).root
        if any(map(value_namespaces, element.iter())):
            raise NotCompiledError("values in what is copied use prefixes")
        content = hashlib.sha256(repr(_content(element)).encode("utf-8", "surrogatepass")).hexdigest()
        start = f"<_{declarations(self._prefixes.bound)}>"
        root = parse_document(f"{start}</_>").root
        root.append(copied(element, "_", root, {}))
        text = write_element(root).removeprefix(start).removesuffix("</_>").removeprefix("<_")
        return node, content, text.removesuffix("_>"), text.endswith("_>")

    def run(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self._cursor.execute(statement, values).fetchall()


def _content(element: XmlElement) -> object:
    """What ``deep-equal`` compares of an element but its name, in one form."""
    children = [(str(child.tag), _content(child), child.tail or "") for child in element]
    return sorted((str(name), str(value)) for name, value in element.items()), element.text or "", children

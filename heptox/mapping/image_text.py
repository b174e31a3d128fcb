"""The text of an image on a store, from the tables of its nodes: the pieces of their templates in order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import compress
from typing import Any, Final

from heptox.mapping.exchange_plan import ExchangePlan
from heptox.mapping.templates import Slot
from heptox.schema import Path
from heptox.store import Cursor, Store, statements as sql

ROWS: Final = 1 << 14
"""How many pieces of text are put together at a time."""


class ImageText:
    """Writes the image whose tables are made."""

    def __init__(self, plan: ExchangePlan, store: Store, cursor: Cursor) -> None:
        self._plan = plan
        self._store = store
        self._cursor = cursor

    def pieces(self) -> Iterator[str]:
        """The root's pieces, and in its slots the nodes that stand there."""
        for place, token in enumerate(self._plan.templates[()]):
            if isinstance(token, Slot):
                yield from self._streamed(self._standing(token, place))
            else:
                statement = sql.Statement((sql.Select((token,), (self._nodes(()),), sql.TRUE),))
                yield from (text for (text,) in self._cursor.execute(sql.print_statement(statement)).fetchall())

    def _streamed(self, statement: sql.Statement) -> Iterator[str]:
        for batch in self._store.batches(self._cursor, sql.print_statement(statement), ROWS):
            yield _joined_text(batch.column(0))

    def _standing(self, slot: Slot, place: int) -> sql.Statement:
        """The pieces of the nodes in a slot of the root, with all below them, in order."""
        top = slot.node
        nodes = [node for node in self._plan.shapes if node[: len(top)] == top and node]
        width = 3 * max(len(self._plan.tree.stops(node)) for node in nodes) - 1
        boxed = self._plan.shapes[top].is_boxed
        where = sql.Compare("=", sql.Column("n", "q1_slot"), sql.Integer(place)) if boxed else sql.TRUE
        pieces = [
            (token, [*self._keys(node), sql.Integer(number), *[sql.Integer(0)] * width][:width], self._nodes(node))
            for node in nodes
            for number, token in enumerate(self._plan.templates[node])
            if not isinstance(token, Slot)
        ]
        columns = zip(*(keys for _, keys, _ in pieces), strict=True)
        varying = [not isinstance(column[0], sql.Integer) or len({*column}) > 1 for column in columns]
        selects = [sql.Select((token, *compress(keys, varying)), (source,), where) for token, keys, source in pieces]
        whole = sql.DerivedTable(sql.Statement(tuple(selects)), "u")
        order = tuple(map(sql.Key, range(1, sum(varying) + 1)))
        return sql.Statement((sql.Select((sql.Column("u", "k0"),), (whole,), sql.TRUE),), order)

    def _keys(self, node: Path) -> Iterator[sql.Expression]:
        """The columns by which the pieces of nodes are ordered: for each node above and this one, from the top on.

        Of the first one ``lead`` and ``id``, of the others the slot before these.
        """
        for level, above in enumerate(self._plan.tree.stops(node)[1:], 1):
            boxed = self._plan.shapes[above].is_boxed
            if level > 1:
                slot = sql.Integer(self._plan.slots(above)[0][0])
                yield sql.Column("n", f"q{level}_slot") if boxed else slot
            yield sql.Column("n", f"q{level}_lead") if boxed else sql.Integer(0)
            yield sql.Column("n", f"q{level}_id")

    def _nodes(self, node: Path) -> sql.DerivedTable:
        """The nodes of a shape with what their template asks for, and with the keys of those above them."""
        shape, levels = self._plan.shapes[node], self._plan.tree.stops(node)
        deepest = len(levels) - 1
        here = f"n{deepest}"
        names = ["id", *(f"v{leaf}" for leaf in range(len(shape.leaves))), *["name"] * shape.is_boxed]
        columns = [sql.Named(sql.Column(here, name), name) for name in names]
        for number, below in enumerate(self._plan.below[node]):
            has = sql.Compare("=", sql.Column("m", "parent"), sql.Column(here, "id"))
            columns.append(sql.Named(sql.Exists((self._table(below, "m"),), has), f"h{number}"))
        joins: list[sql.LeftJoin] = []
        for leaf, path in enumerate(shape.leaves):
            if path in shape.copied:
                same = sql.Compare("=", sql.Column(f"c{leaf}", "node"), sql.Column(here, f"s{leaf}"))
                joins.append(sql.LeftJoin(sql.Source("copies", f"c{leaf}"), same))
                columns.append(sql.Named(sql.Column(f"c{leaf}", "body"), f"b{leaf}"))
                columns.append(sql.Named(sql.Column(f"c{leaf}", "named"), f"w{leaf}"))
        sources, above = [self._table(node, here)], sql.Column(here, "id")
        conditions: list[sql.Condition] = []
        for level in range(deepest, 0, -1):
            boxed = self._plan.shapes[levels[level]].is_boxed
            if level < deepest and (level > 1 or boxed):
                sources.insert(0, self._table(levels[level], f"n{level}"))  # what is joined stands beside the last
                conditions.append(sql.Compare("=", sql.Column(f"n{level}", "id"), above))
            columns.append(sql.Named(above, f"q{level}_id"))
            if boxed:
                columns += [sql.Named(sql.Column(f"n{level}", name), f"q{level}_{name}") for name in ("slot", "lead")]
            above = sql.Column(f"n{level}", "parent")
        select = sql.Select(tuple(columns), tuple(sources), sql.All(tuple(conditions)), tuple(joins))
        return sql.DerivedTable(sql.Statement((select,)), "n")

    def _table(self, node: Path, alias: str) -> sql.Source:
        return sql.Source(f"nodes{self._plan.numbers[node]}", alias)


def _joined_text(pieces: Any) -> str:
    """The strings of an Arrow array one after the other; they stand so in its memory."""
    _, offsets, data = pieces.buffers()
    starts = memoryview(offsets).cast("q")
    return bytes(memoryview(data)[starts[pieces.offset] : starts[pieces.offset + len(pieces)]]).decode()

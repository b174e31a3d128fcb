"""The text of an image on a store, from the tables of its nodes: the pieces of their templates in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from heptox.mapping.exchange_plan import ExchangePlan
from heptox.mapping.templates import Slot
from heptox.schema import Path
from heptox.store import Cursor, Store

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
                yield from (
                    text for (text,) in self._cursor.execute(f"SELECT {token} FROM {self._nodes(())}").fetchall()
                )

    def _streamed(self, statement: str) -> Iterator[str]:
        for batch in self._store.batches(self._cursor, statement, ROWS):
            yield _joined_text(batch.column(0))

    def _standing(self, slot: Slot, place: int) -> str:
        """The pieces of the nodes in a slot of the root, with all below them, in order."""
        top = slot.node
        nodes = [node for node in self._plan.shapes if node[: len(top)] == top and node]
        deepest = max(len(self._plan.tree.stops(node)) for node in nodes) - 1
        selects: list[tuple[list[str], str]] = []
        for node in nodes:
            where = f" WHERE q1_slot = {place}" if self._plan.shapes[top].is_boxed else ""
            for number, token in enumerate(self._plan.templates[node]):
                if not isinstance(token, Slot):
                    keys = [*self._keys(node), str(number), "0", "0"] + ["0"] * (3 * deepest)
                    selects.append((keys[: 3 * deepest + 2], f"{token} AS piece FROM {self._nodes(node)}{where}"))
        varying = [
            column
            for column in range(3 * deepest + 2)
            if len({keys[column] for keys, _ in selects}) > 1 or not selects[0][0][column].isdigit()
        ]
        texts = [
            f"SELECT {', '.join(f'{keys[column]} AS o{column}' for column in varying)}, {rest}"
            for keys, rest in selects
        ]
        order = ", ".join(f"o{column}" for column in varying)
        return f"SELECT piece FROM ({' UNION ALL '.join(texts)}) AS u ORDER BY {order}"

    def _keys(self, node: Path) -> Iterator[str]:
        """The columns by which the pieces of nodes are ordered: for each node above and this one, from the top on.

        Of the first one ``lead`` and ``id``, of the others the slot before these.
        """
        for level, above in enumerate(self._plan.tree.stops(node)[1:], 1):
            boxed = self._plan.shapes[above].is_boxed
            if level > 1:
                yield f"q{level}_slot" if boxed else str(self._plan.slots(above)[0][0])
            yield f"q{level}_lead" if boxed else "0"
            yield f"q{level}_id"

    def _nodes(self, node: Path) -> str:
        """The nodes of a shape with what their template asks for, and with the keys of those above them."""
        shape, levels = self._plan.shapes[node], self._plan.tree.stops(node)
        deepest = len(levels) - 1
        columns = [f"n{deepest}.*"]
        joins = f"nodes{self._plan.numbers[node]} AS n{deepest}"
        columns += [
            f"n{deepest}.id IN (SELECT parent FROM nodes{self._plan.numbers[below]}) AS h{number}"
            for number, below in enumerate(self._plan.below[node])
        ]
        for leaf, path in enumerate(shape.leaves):
            if path in shape.copied:
                joins += f" LEFT JOIN copies AS c{leaf} ON c{leaf}.node = n{deepest}.s{leaf}"
                columns += [f"c{leaf}.body AS b{leaf}", f"c{leaf}.named AS w{leaf}"]
        for level in range(deepest, 0, -1):
            boxed = self._plan.shapes[levels[level]].is_boxed
            if level < deepest and (level > 1 or boxed):
                table = f"nodes{self._plan.numbers[levels[level]]}"
                joins += f" JOIN {table} AS n{level} ON n{level}.id = n{level + 1}.parent"
                columns.append(f"n{level}.id AS q{level}_id")
            elif level < deepest:
                columns.append(f"n{level + 1}.parent AS q{level}_id")
            else:
                columns.append(f"n{level}.id AS q{level}_id")
            if boxed:
                columns += [f"n{level}.slot AS q{level}_slot", f"n{level}.lead AS q{level}_lead"]
        return f"(SELECT {', '.join(columns)} FROM {joins}) AS n"


def _joined_text(pieces: Any) -> str:
    """The strings of an Arrow array one after the other; they stand so in its memory."""
    _, offsets, data = pieces.buffers()
    starts = memoryview(offsets).cast("q")
    return bytes(memoryview(data)[starts[pieces.offset] : starts[pieces.offset + len(pieces)]]).decode()

"""Exchange on a store: the target document as statements, written as one stream (``semantics.md`` section 5).

What rules bind to are tables of arguments; nodes with equal identity are glued by grouping, level by level; the number
of a node of the image says where it appeared first. DuckDB keeps on disk what is more than it may hold in memory.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path as FilePath
from tempfile import TemporaryDirectory
from typing import Any, Final

from heptox.errors import Fault, StoreError
from heptox.mapping.bodies import Body, NotStatedError, copied_terms, rule_body
from heptox.mapping.exchange import applied, exchange
from heptox.mapping.identity import DIGITS, headed_arguments, surrogate_name
from heptox.mapping.model import HeadNode, Mapping, Rule, Surrogate
from heptox.mapping.templates import Columns, Shape, Slot, shapes, tokens
from heptox.pattern import TAG, Absence, Presence, Term, atom_terms
from heptox.schema import Path, surely_valid
from heptox.store import Cursor, Store, database_faults, statements as sql
from heptox.xml import XmlElement, parse_document, write_document, write_element

ROWS: Final = 1 << 14
"""How many pieces of text are put together at a time."""
_NUMBER_BITS: Final = 62
_ROW_BITS: Final = 48
_COPIES: Final = 1_000


def exchange_at_rest(
    mapping: Mapping, source: FilePath | bytes, name: str, conflicts: Counter[Path] | None = None
) -> Generator[str, None, None]:
    """What :func:`exchange_stored` gives for a valid document, by way of a store that is gone afterwards.

    Nothing where the document is not surely valid, or does not fit the relations of its schema: it is to be exchanged
    in memory then.

    Raises :class:`InputError` and ``OSError`` for what cannot be read, :class:`StoreError` as :meth:`Store.load` and
    :func:`exchange_stored`.
    """
    with source.open("rb") if isinstance(source, FilePath) else BytesIO(source) as opened:
        if not surely_valid(opened, mapping.source.graph, name):
            return
    with TemporaryDirectory() as folder, Store.open(FilePath(folder, "document.store"), mapping.source.graph) as held:
        if held.load(name, source).document.regular:
            yield from exchange_stored(mapping, held, name, conflicts=conflicts)


def exchange_stored(
    mapping: Mapping,
    store: Store,
    name: str,
    told: Callable[[str], None] | None = None,
    conflicts: Counter[Path] | None = None,
) -> Iterator[str]:
    """The text of the target document for a document at rest, piece by piece: that of :func:`exchange`, written.

    Where the relations of the store do not give what the rules ask for, or the document does not fit them, the document
    is read into memory and exchanged there; ``told`` is then told why. ``conflicts`` counts as :func:`exchange`.

    Raises :class:`StoreError`: HX6012 for a store of another schema than the mapping's source, HX6015 when no document
    of that name is held, HX6008 for one that is too large to be read into memory, HX6016 when the disk or the memory is
    full; and as :func:`exchange`.
    """
    if store.catalogue.graph != mapping.source.graph:
        raise StoreError(Fault("HX6012", "the store keeps documents of another schema than the mapping's source"))
    with _reading(store) as cursor:
        found = cursor.execute("SELECT doc, length, regular FROM documents WHERE name = ?", [name]).fetchall()
        if not found:
            raise StoreError(Fault("HX6015", f"no document {name} is held"))
        ((doc, length, regular),) = found
        try:
            if not regular:
                raise NotStatedError("the document does not fit its schema")
            work = _Work(mapping, store, cursor, doc, length)
        except NotStatedError as reason:
            if told is not None:
                told(str(reason))
            whole = store.whole(doc, name, length, cursor, reader="its exchange", reason=str(reason))
            yield write_document(exchange(mapping, whole, conflicts=conflicts).root)
            return
        yield from work.document(conflicts)


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


# -- the statements ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Stated:
    """A rule with its body; its bindings are the rows of ``table``, numbered from where ``rank`` says."""

    rule: Rule
    body: Body
    table: str
    rank: int


class _Work:
    """The exchange of one document.

    Tables: ``bindings0`` and so on for the rules: the number ``first`` of a binding, for each leaf of each node of the
    head its value, where its subtree stands, and where in the source it was found (``v1_0``, ``s1_0``, ``o1_0``: of
    node and leaf), and for each node that stands for a source node where that stands (``e1``); ``nodes0`` and so on for
    the stop nodes of the target, of which see :meth:`_glue`; ``copies`` for subtrees.

    Raises :class:`NotStatedError` when it is made, before anything is done.
    """

    def __init__(self, mapping: Mapping, store: Store, cursor: Cursor, doc: int, length: int) -> None:
        self._mapping, self._store, self._cursor, self._doc = mapping, store, cursor, doc
        self._tree = mapping.target
        rules = applied(mapping.rules)
        self._shapes = shapes(rules)
        self._numbers = {node: number for number, node in enumerate(self._shapes)}
        self._below = {
            node: [each for each in self._shapes if each and self._parent(each) == node] for node in self._shapes
        }
        self._rules = [
            _Stated(rule, rule_body(rule, mapping.source, store.catalogue, doc), f"bindings{rank}", rank)
            for rank, rule in enumerate(rules)
        ]
        self._bits = length.bit_length()
        for rule in rules:
            if tuple(node.node for node in rule.head) != self._tree.stops(rule.head[-1].node):
                raise NotStatedError("the head of a rule leaves out a stop node")
        for shape in self._shapes.values():
            if any(path in shape.leaves and path not in shape.copied for path in self._partly_copied(shape)):
                raise NotStatedError("a leaf takes copied subtrees and values")
        _check_copies(rules)
        self._templates = {
            node: tokens(self._tree, self._shapes, Columns(shape, self._below[node]))
            for node, shape in self._shapes.items()
        }

    def _parent(self, node: Path) -> Path:
        return self._tree.stops(node)[-2]

    def _partly_copied(self, shape: Shape) -> set[Path]:
        heads = self._heads(shape)
        return {path for head in heads for path, _ in head.leaves if (path in shape.copied) != (path in head.copied)}

    def _heads(self, shape: Shape) -> Iterator[HeadNode]:
        return (head for each in self._rules for head in each.rule.head if head.node == shape.node)

    def _is_united(self, shape: Shape) -> bool:
        return any(map(_is_united, self._heads(shape)))

    def document(self, conflicts: Counter[Path] | None) -> Iterator[str]:
        if any(each.body.stops for each in self._rules):
            self._read_copies()
        for stated in self._rules:
            self._bind(stated)
        for shape in self._shapes.values():
            self._glue(shape, conflicts)
            if shape.is_boxed:
                self._place(shape)
        yield from self._written()
        yield "\n"

    def _run(self, statement: str, values: Sequence[Sequence[object]] = ()) -> list[tuple[Any, ...]]:
        return self._cursor.execute(statement, values).fetchall()

    # what rules bind

    def _bind(self, stated: _Stated) -> None:
        columns = [self._first(stated)]
        joins = ""
        for level, node in enumerate(stated.rule.head):
            shape = self._shapes[node.node]
            if node.each is not None:
                columns.append(f"b.{stated.body.nodes[node.each]} AS e{level}")
            for path, term in node.leaves:
                at = f"{level}_{shape.leaves.index(path)}"
                value = f"b.{stated.body.terms[term]}"
                if path in node.copied:
                    joins += f" LEFT JOIN copies AS c{at} ON c{at}.node = {value}"
                    columns.append(f"{value} AS s{at}")
                    value = f"c{at}.content"
                columns.append(f"{value} AS v{at}")
                if _is_united(node):
                    place = f"b.{stated.body.nodes[term.variable]} * {len(self._rules)} + {stated.rank}"
                    columns.append(f"CASE WHEN {value} IS NOT NULL THEN {place} END AS o{at}")
            for path, surrogate in node.surrogates:
                at = f"{level}_{shape.leaves.index(path)}"
                value = _surrogate(surrogate, stated.body)
                columns.append(f"{value} AS v{at}")
                if _is_united(node):
                    nodes = [f"b.{stated.body.nodes[each.term.variable]}" for each in surrogate.own]
                    place = f"coalesce({', '.join(nodes)}) * {len(self._rules)} + {stated.rank}"
                    columns.append(f"CASE WHEN {value} IS NOT NULL THEN {place} END AS o{at}")
        self._run(
            f"CREATE TEMP TABLE {stated.table} AS SELECT {', '.join(columns)} FROM ({stated.body.text}) AS b{joins}"
        )

    def _first(self, stated: _Stated) -> str:
        """The number of a binding: those of a rule come in their order, after those of the rules before."""
        keys = [f"b.{key}" for key in stated.body.keys]
        width = max(len(each.body.keys) for each in self._rules)
        if len(self._rules).bit_length() + width * self._bits <= _NUMBER_BITS:
            parts = [f"{stated.rank << (width * self._bits)}::BIGINT"]
            parts += [f"{key} * {1 << ((width - place) * self._bits)}" for place, key in enumerate(keys, 1)]
            return f"{' + '.join(parts)} AS first"
        numbered = f"row_number() OVER (ORDER BY {', '.join(keys)})" if keys else "0"
        return f"{stated.rank << _ROW_BITS}::BIGINT + {numbered} AS first"

    # nodes

    def _glue(self, shape: Shape, conflicts: Counter[Path] | None) -> None:
        """Make the nodes of a shape.

        Columns: ``id``, the number of the first binding that makes it; ``parent``, the one above; values of its leaves;
        where its subtrees stand; where not all nodes are one by their values, ``kind``, ``each`` and ``key``, by which
        they are (see :meth:`_identity`). These have of each leaf the value that stands first in the source.
        """
        table = f"nodes{self._numbers[shape.node]}"
        if not shape.node:
            self._make_root(table, shape)
            return
        leaves = range(len(shape.leaves))
        made = " UNION ALL ".join(self._made(shape))
        united = self._is_united(shape)
        values = [f"v{leaf}" for leaf in leaves]
        if united:
            group = ["parent", "kind", "each", "key", *(f"i{leaf}" for leaf in leaves)]
            columns = ["parent", "kind", "each", "key"]
            columns += [f"arg_min({value}, o{leaf}) AS {value}" for leaf, value in enumerate(values)]
            columns += [f"coalesce(min({value}) < max({value}), FALSE) AS c{leaf}" for leaf, value in enumerate(values)]
        else:
            group = ["parent", *values]
            columns = [*group]
        columns.append("min(first) AS id")
        order = "o{}" if united else "first"
        copied = [leaf for leaf in leaves if shape.leaves[leaf] in shape.copied]
        columns += [f"arg_min(s{leaf}, {order.format(leaf)}) AS s{leaf}" for leaf in copied]
        self._run(
            f"CREATE TEMP TABLE {table} AS SELECT {', '.join(columns)} FROM ({made}) AS m GROUP BY {', '.join(group)}"
        )
        if united and leaves and conflicts is not None:
            (counts,) = self._run(f"SELECT {', '.join(f'count_if(c{leaf})' for leaf in leaves)} FROM {table}")
            found = zip(shape.leaves, counts, strict=True)
            conflicts.update({shape.node + path: count for path, count in found if count})

    def _make_root(self, table: str, shape: Shape) -> None:
        """The root, which has of each of its leaves the last value that a binding gives it."""
        columns = ["0 AS id"]
        for leaf, path in enumerate(shape.leaves):
            wanted = [("v", "VARCHAR"), *([("s", "BIGINT")] if path in shape.copied else [])]
            for letter, kind in wanted:
                found = [
                    f"SELECT arg_max({letter}0_{leaf}, first) AS value, max(first) AS first FROM {each.table} "
                    f"WHERE v0_{leaf} IS NOT NULL"
                    for each in self._rules
                    if path in dict(each.rule.head[0].leaves)
                ]
                all_found = " UNION ALL ".join(found)
                columns.append(f"(SELECT arg_max(value, first) FROM ({all_found}) AS f)::{kind} AS {letter}{leaf}")
        self._run(f"CREATE TEMP TABLE {table} AS SELECT {', '.join(columns)}")

    def _made(self, shape: Shape) -> Iterator[str]:
        """What each rule makes of a shape, for each of its bindings.

        Beside the columns of :meth:`_glue` there are, where some rule unites nodes, ``o``: where a value was found, and
        ``i``: the value where it is a part of the identity.
        """
        united = self._is_united(shape)
        for each in self._rules:
            head = each.rule.head
            level = next((level for level, node in enumerate(head) if node.node == shape.node), None)
            if level is None:
                continue
            node = head[level]
            joins = "".join(self._joined(each, above) for above in range(1, level))
            supplied = {shape.leaves.index(path) for path in node.paths}
            columns = [f"n{level - 1}.id AS parent" if level > 1 else "0::BIGINT AS parent"]
            if united:
                columns += [f"{value} AS {name}" for name, value in self._identity(each, level).items()]
            for leaf, path in enumerate(shape.leaves):
                value = f"b.v{level}_{leaf}" if leaf in supplied else "NULL::VARCHAR"
                columns.append(f"{value} AS v{leaf}")
                if united:
                    place = f"b.o{level}_{leaf}" if _is_united(node) else "b.first"
                    columns.append(f"{place if leaf in supplied else 'NULL::BIGINT'} AS o{leaf}")
                    counts = not _is_united(node) or path == (TAG,)
                    columns.append(f"{value if counts else 'NULL::VARCHAR'} AS i{leaf}")
                if path in shape.copied:
                    columns.append(f"{f'b.s{level}_{leaf}' if leaf in supplied else 'NULL::BIGINT'} AS s{leaf}")
            yield (
                f"SELECT {', '.join(columns)}, b.first AS first FROM {each.table} AS b{joins} "
                f"WHERE {self._exists(each.rule, level)}"
            )

    def _identity(self, stated: _Stated, level: int) -> dict[str, str]:
        """By what nodes are one: ``kind`` 0 by their values, 1 for ``each`` source node, others for values of a key."""
        node = stated.rule.head[level]
        if node.each is not None:
            return {"kind": "1", "each": f"b.e{level}", "key": "NULL::VARCHAR"}
        if node.key is not None:
            leaf = self._shapes[node.node].leaves.index(node.key)
            return {"kind": str(2 + leaf), "each": "NULL::BIGINT", "key": f"b.v{level}_{leaf}"}
        return {"kind": "0", "each": "NULL::BIGINT", "key": "NULL::VARCHAR"}

    def _joined(self, stated: _Stated, level: int) -> str:
        """The join of a rule's bindings with the nodes that they make at a level."""
        node = stated.rule.head[level]
        shape = self._shapes[node.node]
        identity = self._identity(stated, level).items() if self._is_united(shape) else ()
        conditions = [f"n{level}.{name} = {value}" for name, value in identity if not value.startswith("NULL")]
        if level > 1 or not conditions:
            conditions.append(f"n{level}.parent = {f'n{level - 1}.id' if level > 1 else '0'}")
        supplied = set(node.paths)
        for leaf, path in enumerate(shape.leaves):
            if not _is_united(node) and path not in supplied:
                conditions.append(f"n{level}.v{leaf} IS NULL")
            elif not _is_united(node):
                conditions.append(f"n{level}.v{leaf} IS NOT DISTINCT FROM b.v{level}_{leaf}")
            elif path == (TAG,):
                conditions.append(f"n{level}.v{leaf} = b.v{level}_{leaf}")
        return f" JOIN nodes{self._numbers[node.node]} AS n{level} ON {' AND '.join(conditions)}"

    def _exists(self, rule: Rule, level: int) -> str:
        """Whether a binding makes the node at a level: what is one down to it is there, and something has a value."""
        needed = []
        for above in range(1, level + 1):
            needed += self._needed(rule, above)
        deeper = "FALSE"
        for below in range(len(rule.head) - 1, level - 1, -1):
            shape = self._shapes[rule.head[below].node]
            values = [f"b.v{below}_{shape.leaves.index(path)} IS NOT NULL" for path in rule.head[below].paths]
            if rule.head[below].each is not None:
                values = [f"b.e{below} IS NOT NULL"]
            here = " OR ".join([*values, deeper] if deeper != "FALSE" else values) or "FALSE"
            own = self._needed(rule, below) if below > level else []
            deeper = f"({' AND '.join([*own, f'({here})'])})"
        return " AND ".join([*needed, deeper])

    def _needed(self, rule: Rule, level: int) -> list[str]:
        """What has to be there for a node to be: its tag in a box, and what it stands for."""
        node = rule.head[level]
        leaves = self._shapes[node.node].leaves
        paths = [path for path in ((TAG,), node.key) if path is not None and path in dict(node.leaves)]
        found = [f"b.v{level}_{leaves.index(path)} IS NOT NULL" for path in paths]
        return found if node.each is None else [*found, f"b.e{level} IS NOT NULL"]

    def _place(self, shape: Shape) -> None:
        """Add to the nodes in a box the ``name`` of their tag, the ``slot`` where they stand, and ``lead``.

        Of tags that the schema does not declare, those that appear first come first: ``lead`` says when one did.
        """
        number, tag = self._numbers[shape.node], f"v{shape.leaves.index((TAG,))}"
        values = [value for (value,) in self._run(f"SELECT DISTINCT {tag} FROM nodes{number}")]
        slots = {slot.member: place for place, slot in self._slots(shape.node)}
        names = [self._tree.tag_of_value(shape.node, value) for value in values]
        self._run(f"CREATE TEMP TABLE tags{number} (value VARCHAR, name VARCHAR, slot INTEGER, other BOOLEAN)")
        self._run(
            f"INSERT INTO tags{number} SELECT unnest(?), unnest(?), unnest(?), unnest(?)",
            [values, names, [slots.get(name, slots[None]) for name in names], [name not in slots for name in names]],
        )
        lead, joins = "0::BIGINT", f"JOIN tags{number} AS t ON n.{tag} = t.value"
        if any(name not in slots for name in names):
            lead = "CASE WHEN t.other THEN f.id ELSE 0 END"
            firsts = f"SELECT parent, {tag} AS value, min(id) AS id FROM nodes{number} GROUP BY parent, {tag}"
            joins += f" JOIN ({firsts}) AS f ON f.parent = n.parent AND f.value = n.{tag}"
        self._run(
            f"CREATE TEMP TABLE placed AS SELECT n.*, t.name AS name, t.slot AS slot, {lead} AS lead "
            f"FROM nodes{number} AS n {joins}"
        )
        self._run(f"DROP TABLE nodes{number}")
        self._run(f"ALTER TABLE placed RENAME TO nodes{number}")

    def _slots(self, node: Path) -> list[tuple[int, Slot]]:
        """The slots of a stop node in the template of the one above, each with its place there."""
        template = self._templates[self._parent(node)]
        return [
            (place, token) for place, token in enumerate(template) if isinstance(token, Slot) and token.node == node
        ]

    # subtrees

    def _read_copies(self) -> None:
        """Read the subtrees that are copied: their content to compare, and their text without their name."""
        self._run("CREATE TEMP TABLE copies (node BIGINT, content VARCHAR, body VARCHAR, named BOOLEAN)")
        for each in self._rules:
            body = each.body.text
            for term, stop in each.body.stops.items():
                node = each.body.terms[term]
                asked = f"SELECT DISTINCT {node} AS node, {stop} AS stop FROM ({body}) AS b WHERE {node} IS NOT NULL"
                self._run(f"CREATE TEMP TABLE places AS {asked} AND {node} NOT IN (SELECT node FROM copies)")
                last = -1
                while found := self._run(f"SELECT * FROM places WHERE node > {last} ORDER BY node LIMIT {_COPIES}"):
                    columns = [list(column) for column in zip(*(self._copy(*row) for row in found), strict=True)]
                    self._run("INSERT INTO copies SELECT unnest(?), unnest(?), unnest(?), unnest(?)", columns)
                    last = found[-1][0]
                self._run("DROP TABLE places")

    def _copy(self, node: int, stop: int) -> tuple[int, str, str, bool]:
        element = parse_document(self._store.text(self._doc, node, stop, self._cursor)).root
        content = hashlib.sha256(repr(_content(element)).encode("utf-8", "surrogatepass")).hexdigest()
        element.tag = "_"
        text = write_element(element).removeprefix("<_")
        return node, content, text.removesuffix("_>"), text.endswith("_>")

    # text

    def _written(self) -> Iterator[str]:
        """The root's pieces, and in its slots the nodes that stand there."""
        for place, token in enumerate(self._templates[()]):
            if isinstance(token, Slot):
                yield from self._streamed(self._standing(token, place))
            else:
                yield from (text for (text,) in self._run(f"SELECT {token} FROM {self._nodes(())}"))

    def _streamed(self, statement: str) -> Iterator[str]:
        for batch in self._store.batches(self._cursor, statement, ROWS):
            yield _joined_text(batch.column(0))

    def _standing(self, slot: Slot, place: int) -> str:
        """The pieces of the nodes in a slot of the root, with all below them, in order."""
        top = slot.node
        nodes = [node for node in self._shapes if node[: len(top)] == top and node]
        deepest = max(len(self._tree.stops(node)) for node in nodes) - 1
        selects: list[tuple[list[str], str]] = []
        for node in nodes:
            where = f" WHERE q1_slot = {place}" if self._shapes[top].is_boxed else ""
            for number, token in enumerate(self._templates[node]):
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
        for level, above in enumerate(self._tree.stops(node)[1:], 1):
            boxed = self._shapes[above].is_boxed
            if level > 1:
                yield f"q{level}_slot" if boxed else str(self._slots(above)[0][0])
            yield f"q{level}_lead" if boxed else "0"
            yield f"q{level}_id"

    def _nodes(self, node: Path) -> str:
        """The nodes of a shape with what their template asks for, and with the keys of those above them."""
        shape, levels = self._shapes[node], self._tree.stops(node)
        deepest = len(levels) - 1
        columns = [f"n{deepest}.*"]
        joins = f"nodes{self._numbers[node]} AS n{deepest}"
        columns += [
            f"n{deepest}.id IN (SELECT parent FROM nodes{self._numbers[below]}) AS h{number}"
            for number, below in enumerate(self._below[node])
        ]
        for leaf, path in enumerate(shape.leaves):
            if path in shape.copied:
                joins += f" LEFT JOIN copies AS c{leaf} ON c{leaf}.node = n{deepest}.s{leaf}"
                columns += [f"c{leaf}.body AS b{leaf}", f"c{leaf}.named AS w{leaf}"]
        for level in range(deepest, 0, -1):
            boxed = self._shapes[levels[level]].is_boxed
            if level < deepest and (level > 1 or boxed):
                table = f"nodes{self._numbers[levels[level]]}"
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


def _content(element: XmlElement) -> object:
    """What ``deep-equal`` compares of an element but its name, in one form."""
    children = [(str(child.tag), _content(child), child.tail or "") for child in element]
    return sorted((str(name), str(value)) for name, value in element.items()), element.text or "", children


def _surrogate(surrogate: Surrogate, body: Body) -> str:
    """The expression of SQL for the value of a surrogate: that of :func:`~heptox.mapping.identity.surrogate_value`."""
    parts = []
    for argument, heading in headed_arguments(surrogate):
        value = f"b.{body.terms[argument.term]}"
        text = f"concat({sql.print_string(heading)}, length({value}), ':', {value}, ';')"
        parts.append(f"CASE WHEN {value} IS NOT NULL THEN {text} ELSE '' END")
    there = " OR ".join(f"b.{body.terms[argument.term]} IS NOT NULL" for argument in surrogate.own)
    begin = sql.print_string(surrogate_name(surrogate))
    return f"CASE WHEN {there} THEN concat({begin}, left(sha256(concat({', '.join(parts)})), {DIGITS})) END"


def _is_united(node: HeadNode) -> bool:
    """Whether several bindings can add to one node, because it is not one by its values."""
    return node.each is not None or node.key is not None


def _check_copies(rules: Sequence[Rule]) -> None:
    """Refuse a subtree that one rule copies and another one takes for a value."""
    copied, others = set[Path](), set[Path]()
    for rule in rules:
        whole = copied_terms(rule)
        for term in _values(rule):
            (copied if term in whole else others).add((*rule.node(term.variable), *term.path))
    if not copied.isdisjoint(others):
        raise NotStatedError("a subtree that is copied is taken for a value too")


def _values(rule: Rule) -> Iterator[Term]:
    """The terms whose values a rule takes or compares."""
    yield from (term for node in rule.head for term in node.terms)
    for condition in (*rule.conditions, *(link for part in rule.optional for link in part.conditions)):
        if not isinstance(condition, Presence | Absence):
            yield from atom_terms(condition)

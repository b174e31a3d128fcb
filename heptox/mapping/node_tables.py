"""The tables of an exchange on a store: what rules bind to, and the nodes of the image, glued by their identity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from heptox.mapping.bodies import Body
from heptox.mapping.exchange_plan import ExchangePlan, StoredRule, is_united
from heptox.mapping.identity import DIGITS, headed_arguments, surrogate_name
from heptox.mapping.model import Rule, Surrogate
from heptox.mapping.templates import Shape
from heptox.pattern import TAG
from heptox.schema import Path
from heptox.store import statements as sql

_NUMBER_BITS: Final = 62
_ROW_BITS: Final = 48
Run: TypeAlias = Callable[..., list[tuple[Any, ...]]]
"""Runs a statement with its values, and gives its rows."""


class NodeTables:
    """Makes the tables.

    Tables: ``bindings0`` and so on for the rules: the number ``first`` of a binding, for each leaf of each node of the
    head its value, where its subtree stands, and where in the source it was found (``v1_0``, ``s1_0``, ``o1_0``: of
    node and leaf), and for each node that stands for a source node where that stands (``e1``); ``nodes0`` and so on for
    the stop nodes of the target, of which see :meth:`_glue`.
    """

    def __init__(self, plan: ExchangePlan, run: Run) -> None:
        self._plan = plan
        self._run = run

    def make(self, conflicts: Counter[Path] | None = None) -> None:
        """Make all tables, from the document and the table ``copies`` of its subtrees; ``conflicts`` counts as
        :func:`~heptox.mapping.exchange.exchange`."""
        for rule in self._plan.rules:
            self._bind(rule)
        for shape in self._plan.shapes.values():
            self._glue(shape, conflicts)
            if shape.is_boxed:
                self._place(shape)

    def _bind(self, stated: StoredRule) -> None:
        columns = [self._first(stated)]
        joins = ""
        for level, node in enumerate(stated.rule.head):
            shape = self._plan.shapes[node.node]
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
                if is_united(node):
                    place = f"b.{stated.body.nodes[term.variable]} * {len(self._plan.rules)} + {stated.rank}"
                    columns.append(f"CASE WHEN {value} IS NOT NULL THEN {place} END AS o{at}")
            for path, surrogate in node.surrogates:
                at = f"{level}_{shape.leaves.index(path)}"
                value = _surrogate(surrogate, stated.body)
                columns.append(f"{value} AS v{at}")
                if is_united(node):
                    nodes = [f"b.{stated.body.nodes[each.term.variable]}" for each in surrogate.own]
                    place = f"coalesce({', '.join(nodes)}) * {len(self._plan.rules)} + {stated.rank}"
                    columns.append(f"CASE WHEN {value} IS NOT NULL THEN {place} END AS o{at}")
        body = sql.print_statement(stated.body.statement)
        self._run(f"CREATE TEMP TABLE {stated.table} AS SELECT {', '.join(columns)} FROM ({body}) AS b{joins}")

    def _first(self, stated: StoredRule) -> str:
        """The number of a binding: those of a rule come in their order, after those of the rules before."""
        keys = [f"b.{key}" for key in stated.body.keys]
        width = max(len(each.body.keys) for each in self._plan.rules)
        if len(self._plan.rules).bit_length() + width * self._plan.bits <= _NUMBER_BITS:
            parts = [f"{stated.rank << (width * self._plan.bits)}::BIGINT"]
            parts += [f"{key} * {1 << ((width - place) * self._plan.bits)}" for place, key in enumerate(keys, 1)]
            return f"{' + '.join(parts)} AS first"
        numbered = f"row_number() OVER (ORDER BY {', '.join(keys)})" if keys else "0"
        return f"{stated.rank << _ROW_BITS}::BIGINT + {numbered} AS first"

    def _glue(self, shape: Shape, conflicts: Counter[Path] | None) -> None:
        """Make the nodes of a shape.

        Columns: ``id``, the number of the first binding that makes it; ``parent``, the one above; values of its leaves;
        where its subtrees stand; where not all nodes are one by their values, ``kind``, ``each`` and ``key``, by which
        they are (see :meth:`_identity`). These have of each leaf the value that stands first in the source.
        """
        table = f"nodes{self._plan.numbers[shape.node]}"
        if not shape.node:
            self._make_root(table, shape)
            return
        leaves = range(len(shape.leaves))
        made = " UNION ALL ".join(self._made(shape))
        united = self._plan.is_united(shape)
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
        if united and shape.leaves and conflicts is not None:
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
                    for each in self._plan.rules
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
        united = self._plan.is_united(shape)
        for each in self._plan.rules:
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
                    place = f"b.o{level}_{leaf}" if is_united(node) else "b.first"
                    columns.append(f"{place if leaf in supplied else 'NULL::BIGINT'} AS o{leaf}")
                    counts = not is_united(node) or path == (TAG,)
                    columns.append(f"{value if counts else 'NULL::VARCHAR'} AS i{leaf}")
                if path in shape.copied:
                    columns.append(f"{f'b.s{level}_{leaf}' if leaf in supplied else 'NULL::BIGINT'} AS s{leaf}")
            yield (
                f"SELECT {', '.join(columns)}, b.first AS first FROM {each.table} AS b{joins} "
                f"WHERE {self._exists(each.rule, level)}"
            )

    def _identity(self, stated: StoredRule, level: int) -> dict[str, str]:
        """By what nodes are one: ``kind`` 0 by their values, 1 for ``each`` source node, others for values of a key."""
        node = stated.rule.head[level]
        if node.each is not None:
            return {"kind": "1", "each": f"b.e{level}", "key": "NULL::VARCHAR"}
        if node.key is not None:
            leaf = self._plan.shapes[node.node].leaves.index(node.key)
            return {"kind": str(2 + leaf), "each": "NULL::BIGINT", "key": f"b.v{level}_{leaf}"}
        return {"kind": "0", "each": "NULL::BIGINT", "key": "NULL::VARCHAR"}

    def _joined(self, stated: StoredRule, level: int) -> str:
        """The join of a rule's bindings with the nodes that they make at a level."""
        node = stated.rule.head[level]
        shape = self._plan.shapes[node.node]
        identity = self._identity(stated, level).items() if self._plan.is_united(shape) else ()
        conditions = [f"n{level}.{name} = {value}" for name, value in identity if not value.startswith("NULL")]
        if level > 1 or not conditions:
            conditions.append(f"n{level}.parent = {f'n{level - 1}.id' if level > 1 else '0'}")
        supplied = set(node.paths)
        for leaf, path in enumerate(shape.leaves):
            if not is_united(node) and path not in supplied:
                conditions.append(f"n{level}.v{leaf} IS NULL")
            elif not is_united(node):
                conditions.append(f"n{level}.v{leaf} IS NOT DISTINCT FROM b.v{level}_{leaf}")
            elif path == (TAG,):
                conditions.append(f"n{level}.v{leaf} = b.v{level}_{leaf}")
        return f" JOIN nodes{self._plan.numbers[node.node]} AS n{level} ON {' AND '.join(conditions)}"

    def _exists(self, rule: Rule, level: int) -> str:
        """Whether a binding makes the node at a level: what is one down to it is there, and something has a value."""
        needed = []
        for above in range(1, level + 1):
            needed += self._needed(rule, above)
        deeper = "FALSE"
        for below in range(len(rule.head) - 1, level - 1, -1):
            shape = self._plan.shapes[rule.head[below].node]
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
        leaves = self._plan.shapes[node.node].leaves
        paths = [path for path in ((TAG,), node.key) if path is not None and path in dict(node.leaves)]
        found = [f"b.v{level}_{leaves.index(path)} IS NOT NULL" for path in paths]
        return found if node.each is None else [*found, f"b.e{level} IS NOT NULL"]

    def _place(self, shape: Shape) -> None:
        """Add to the nodes in a box the ``name`` of their tag, the ``slot`` where they stand, and ``lead``.

        Of tags that the schema does not declare, those that appear first come first: ``lead`` says when one did.
        """
        number, tag = self._plan.numbers[shape.node], f"v{shape.leaves.index((TAG,))}"
        values = [value for (value,) in self._run(f"SELECT DISTINCT {tag} FROM nodes{number}")]
        slots = {slot.member: place for place, slot in self._plan.slots(shape.node)}
        names = [self._plan.tree.tag_of_value(shape.node, value) for value in values]
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

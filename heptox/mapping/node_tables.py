"""The tables of an exchange on a store: what rules bind to, and the nodes of the image, glued by their identity."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from heptox.mapping.bodies import Body
from heptox.mapping.exchange_plan import ExchangePlan, StoredRule, is_united
from heptox.mapping.identity import DIGITS, surrogate_name
from heptox.mapping.model import Rule, Surrogate
from heptox.mapping.receipts import ExchangeReceipt, looked_up
from heptox.mapping.templates import Shape
from heptox.pattern import TAG, Term, is_constant
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

    def make(self, receipt: ExchangeReceipt | None = None) -> None:
        """Make all tables, from the document and the table ``copies`` of its subtrees; ``receipt`` as
        :func:`~heptox.mapping.exchange.exchange`."""
        for rule in self._plan.rules:
            self._bind(rule)
            if receipt is not None:
                receipt.unknown_codes.update(self._unknown_codes(rule))
        for shape in self._plan.shapes.values():
            self._glue(shape, receipt)

    def _bind(self, stated: StoredRule) -> None:
        columns: dict[str, sql.Expression] = {"first": self._first(stated)}
        joins: list[sql.LeftJoin] = []
        for level, node in enumerate(stated.rule.head):
            shape = self._plan.shapes[node.node]
            if node.each is not None:
                columns[f"e{level}"] = _binding(stated.body.nodes[node.each])
            made: tuple[tuple[Path, Term | Surrogate], ...] = (*node.leaves, *node.surrogates)
            for path, what in made:
                at = f"{level}_{shape.leaves.index(path)}"
                value = (
                    _binding(stated.body.terms[what])
                    if isinstance(what, Term)
                    else _surrogate(what, stated.body, self._plan)
                )
                if is_united(node):
                    terms = [what] if isinstance(what, Term) else [each.term for each in what.own]
                    columns[f"o{at}"] = self._found_at(stated, value, terms)
                if path in node.copied:
                    copy = sql.Source("copies", f"c{at}")
                    joins.append(sql.LeftJoin(copy, sql.Compare("=", sql.Column(copy.alias, "node"), value)))
                    columns[f"s{at}"], value = value, sql.Column(copy.alias, "content")
                columns[f"v{at}"] = value
        for number, (code, _) in enumerate(looked_up(stated.rule)):
            columns[f"l{number}"] = _binding(stated.body.terms[code])
        body = sql.DerivedTable(stated.body.statement, "b")
        self._make(stated.table, sql.Select(_named(columns), (body,), sql.TRUE, tuple(joins)))

    def _unknown_codes(self, stated: StoredRule) -> Iterator[tuple[str, str]]:
        """The codes in the bindings of a rule that its tables do not have, each after the file of its table."""
        for number, (_, lookup) in enumerate(looked_up(stated.rule)):
            code = sql.Column("r", f"l{number}")
            there, known = sql.NotNull(code), dict(lookup.codes)
            select = sql.Select((code,), (sql.Source(stated.table, "r"),), there, distinct=True)
            yield from ((lookup.table, found) for (found,) in self._rows(select) if found not in known)

    def _make(self, table: str, select: sql.Select) -> None:
        self._run(sql.print_table(table, sql.Statement((select,))))

    def _rows(self, select: sql.Select) -> list[tuple[Any, ...]]:
        return self._run(sql.print_statement(sql.Statement((select,))))

    def _first(self, stated: StoredRule) -> sql.Expression:
        """The number of a binding: those of a rule come in their order, after those of the rules before."""
        keys = tuple(map(_binding, stated.body.keys))
        width = max(len(each.body.keys) for each in self._plan.rules)
        if len(self._plan.rules).bit_length() + width * self._plan.bits > _NUMBER_BITS:
            numbered = sql.RowNumber(keys) if keys else sql.Integer(0)
            return sql.Call("add", (sql.Integer(stated.rank << _ROW_BITS), numbered))
        first: sql.Expression = sql.Integer(stated.rank << (width * self._plan.bits))
        for place, key in enumerate(keys, 1):
            weight = sql.Integer(1 << ((width - place) * self._plan.bits))
            first = sql.Call("add", (first, sql.Call("multiply", (key, weight))))
        return first

    def _found_at(self, stated: StoredRule, value: sql.Expression, terms: Iterable[Term]) -> sql.Expression:
        """Where in the source a value stands, with that of two rules first that comes first."""
        node = sql.Coalesce(tuple(_binding(stated.body.nodes[term.variable]) for term in terms))
        place = sql.Call("multiply", (node, sql.Integer(len(self._plan.rules))))
        return sql.Case(sql.NotNull(value), sql.Call("add", (place, sql.Integer(stated.rank))))

    def _glue(self, shape: Shape, receipt: ExchangeReceipt | None) -> None:
        """Make the nodes of a shape.

        Columns: ``id``, the number of the first binding that makes it; ``parent``, the one above; values of its leaves;
        where its subtrees stand; where not all nodes are one by their values, ``kind``, ``each`` and ``key``, by which
        they are (see :meth:`_identity`). These have of each leaf the value that stands first in the source. The root,
        which is one, has the last value that a binding gives it.
        """
        table = f"nodes{self._plan.numbers[shape.node]}"
        leaves = range(len(shape.leaves))
        united = self._plan.is_united(shape)
        columns: dict[str, _Value] = {"id": sql.Call("min", (_made("first"),)) if shape.node else sql.Integer(0)}
        group = ["parent"] if shape.node else []
        if united:
            group += ["kind", "each", "key", *(f"i{leaf}" for leaf in leaves)]
        elif shape.node:
            group += [f"v{leaf}" for leaf in leaves]
        columns |= {name: _made(name) for name in group if not name.startswith("i")}
        for leaf, path in enumerate(shape.leaves):
            for name in (f"v{leaf}", *[f"s{leaf}"] * (path in shape.copied)):
                if name not in group:
                    order = _made(f"o{leaf}" if united else "first")
                    columns[name] = sql.Call("arg_min" if shape.node else "arg_max", (_made(name), order))
            if united:
                columns[f"c{leaf}"] = sql.Compare("<", *(sql.Call(end, (_made(f"v{leaf}"),)) for end in ("min", "max")))
        made = (sql.DerivedTable(sql.Statement(tuple(self._made(shape))), "m"),) if shape.node or shape.leaves else ()
        select = sql.Select(_named(columns), made, sql.TRUE, group=tuple(map(_made, group)))
        self._make("glued" if shape.is_boxed else table, select)
        if shape.is_boxed:
            self._place(shape, table, columns)
        if united and shape.leaves and receipt is not None:
            counts = tuple(sql.Call("count_if", (sql.Column("n", f"c{leaf}"),)) for leaf in leaves)
            (found,) = self._rows(sql.Select(counts, (sql.Source(table, "n"),), sql.TRUE))
            receipt.conflicts.update(
                {
                    self._plan.first_path(shape.node + path): many
                    for path, many in zip(shape.leaves, found, strict=True)
                    if many
                }
            )

    def _made(self, shape: Shape) -> Iterator[sql.Select]:
        """What each rule makes of a shape, for each of its bindings.

        Beside the columns of :meth:`_glue` there are, where some rule unites nodes, ``o``: where a value was found, and
        ``i``: the value where it is a part of the identity.
        """
        united = self._plan.is_united(shape)
        for each in self._plan.rules:
            head = each.rule.head
            level = next((level for level, node in enumerate(head) if node.node == shape.node), None)
            if level is None or not (level or head[0].paths):
                continue
            node = head[level]
            columns: dict[str, sql.Expression] = {"first": _binding("first"), "parent": _parent(level)}
            if united:
                columns |= self._identity(each, level)
            for leaf, path in enumerate(shape.leaves):
                at, is_supplied = f"{level}_{leaf}", path in node.paths
                value = _binding(f"v{at}") if is_supplied else sql.String(None)
                columns[f"v{leaf}"] = value
                if united:
                    place = _binding(f"o{at}" if is_united(node) else "first")
                    columns[f"o{leaf}"] = place if is_supplied else sql.Integer(None)
                    counts = not is_united(node) or path == (TAG,)
                    columns[f"i{leaf}"] = value if counts else sql.String(None)
                if path in shape.copied:
                    columns[f"s{leaf}"] = _binding(f"s{at}") if is_supplied else sql.Integer(None)
            sources = [sql.Source(each.table, "b")]
            conditions = [self._exists(each.rule, level)] if level else []
            for above in range(1, level):
                sources.append(sql.Source(f"nodes{self._plan.numbers[head[above].node]}", f"n{above}"))
                conditions += self._joined(each, above)
            yield sql.Select(_named(columns), tuple(sources), sql.All(tuple(conditions)))

    def _identity(self, stated: StoredRule, level: int) -> dict[str, sql.Expression]:
        """By what nodes are one: ``kind`` 0 by their values, 1 for ``each`` source node, others for values of a key."""
        node = stated.rule.head[level]
        if node.each is not None:
            return {"kind": sql.Integer(1), "each": _binding(f"e{level}"), "key": sql.String(None)}
        if node.key is not None:
            leaf = self._plan.shapes[node.node].leaves.index(node.key)
            return {"kind": sql.Integer(2 + leaf), "each": sql.Integer(None), "key": _binding(f"v{level}_{leaf}")}
        return {"kind": sql.Integer(0), "each": sql.Integer(None), "key": sql.String(None)}

    def _joined(self, stated: StoredRule, level: int) -> Iterator[sql.Condition]:
        """On what a rule's bindings are joined with the nodes that they make at a level."""
        node = stated.rule.head[level]
        shape = self._plan.shapes[node.node]
        identity = self._identity(stated, level) if self._plan.is_united(shape) else {}
        for name, value in identity.items():
            if value not in (sql.Integer(None), sql.String(None)):
                yield sql.Compare("=", sql.Column(f"n{level}", name), value)
        if level > 1 or not identity:
            yield sql.Compare("=", sql.Column(f"n{level}", "parent"), _parent(level))
        for leaf, path in enumerate(shape.leaves):
            held, value = sql.Column(f"n{level}", f"v{leaf}"), _binding(f"v{level}_{leaf}")
            if not is_united(node):
                yield sql.Same(held, value if path in node.paths else sql.String(None))
            elif path == (TAG,):
                yield sql.Compare("=", held, value)

    def _exists(self, rule: Rule, level: int) -> sql.Condition:
        """Whether a binding makes the node at a level: what is one down to it is there, and something has a value."""
        needed = [condition for above in range(1, level + 1) for condition in self._needed(rule, above)]
        deeper: sql.Condition = sql.Some()
        for below in range(len(rule.head) - 1, level - 1, -1):
            here = sql.Some((*self._made_by(rule, below), deeper))
            deeper = sql.All((*(self._needed(rule, below) if below > level else ()), here))
        return sql.All((*needed, sql.Some((deeper, self._follows(rule, level)))))

    def _made_by(self, rule: Rule, level: int) -> list[sql.Condition]:
        """The conditions of which one holds where a node is there by what it has: a constant makes none."""
        node = rule.head[level]
        leaves = self._plan.shapes[node.node].leaves
        constant = {path for path, term in node.leaves if is_constant(term.path)}
        values = [f"v{level}_{leaves.index(path)}" for path in node.paths if path not in constant]
        names = values if node.each is None else [f"e{level}"]
        return [sql.NotNull(_binding(name)) for name in names]

    def _follows(self, rule: Rule, level: int) -> sql.Condition:
        """Whether a node that is there with the one above it is there: that one is by what it has, or follows, too."""
        if not level:
            return sql.TRUE
        if not rule.head[level].follows:
            return sql.Some()
        return sql.TRUE if level == 1 else sql.Some((*self._made_by(rule, level - 1), self._follows(rule, level - 1)))

    def _needed(self, rule: Rule, level: int) -> list[sql.Condition]:
        """What has to be there for a node to be: its tag in a box, and what it stands for."""
        node = rule.head[level]
        leaves = self._plan.shapes[node.node].leaves
        paths = [path for path in ((TAG,), node.key) if path is not None and path in dict(node.leaves)]
        names = [f"v{level}_{leaves.index(path)}" for path in paths] + [f"e{level}"] * (node.each is not None)
        return [sql.NotNull(_binding(name)) for name in names]

    def _place(self, shape: Shape, table: str, columns: Iterable[str]) -> None:
        """Make the nodes in a box: those glued, with ``name``, their tag, ``slot``, where they stand, and ``lead``.

        Of tags that the schema does not declare, those that appear first come first: ``lead`` says when one did.
        """
        glued, parent = sql.Source("glued", "n"), sql.Column("n", "parent")
        tag = sql.Column("n", f"v{shape.leaves.index((TAG,))}")
        values = [value for (value,) in self._rows(sql.Select((tag,), (glued,), sql.TRUE, distinct=True))]
        slots = {slot.member: place for place, slot in self._plan.slots(shape.node)}
        names = [self._plan.tree.tag_of_value(shape.node, value) for value in values]
        self._run("CREATE TEMP TABLE tags (value VARCHAR, name VARCHAR, slot INTEGER, other BOOLEAN)")
        self._run(
            "INSERT INTO tags SELECT unnest(?), unnest(?), unnest(?), unnest(?)",
            [values, names, [slots.get(name, slots[None]) for name in names], [name not in slots for name in names]],
        )
        sources: list[sql.Source | sql.DerivedTable] = [glued, sql.Source("tags", "t")]
        conditions = [sql.Compare("=", tag, sql.Column("t", "value"))]
        lead: sql.Expression = sql.Integer(0)
        if any(name not in slots for name in names):
            least = sql.Call("min", (sql.Column("n", "id"),))
            firsts = sql.Select((parent, tag, least), (glued,), sql.TRUE, group=(parent, tag))
            sources.append(sql.DerivedTable(sql.Statement((firsts,)), "f"))
            conditions += (sql.Compare("=", sql.Column("f", f"k{at}"), key) for at, key in enumerate((parent, tag)))
            lead = sql.Case(sql.Column("t", "other"), sql.Column("f", "k2"), lead)
        placed: dict[str, _Value] = {name: sql.Column("n", name) for name in columns}
        placed |= {"name": sql.Column("t", "name"), "slot": sql.Column("t", "slot"), "lead": lead}
        self._make(table, sql.Select(_named(placed), tuple(sources), sql.All(tuple(conditions))))
        self._run("DROP TABLE glued")
        self._run("DROP TABLE tags")


_Value: TypeAlias = sql.Expression | sql.Condition


def _named(columns: Mapping[str, _Value]) -> tuple[sql.Named, ...]:
    return tuple(sql.Named(value, name) for name, value in columns.items())


def _binding(name: str) -> sql.Column:
    return sql.Column("b", name)


def _made(name: str) -> sql.Column:
    return sql.Column("m", name)


def _parent(level: int) -> sql.Expression:
    """The number of the node above that at a level of a head; above the first is the root."""
    return sql.Column(f"n{level - 1}", "id") if level > 1 else sql.Integer(0)


def _surrogate(surrogate: Surrogate, body: Body, plan: ExchangePlan) -> sql.Expression:
    """The value of a surrogate: that of :func:`~heptox.mapping.identity.surrogate_value`."""
    parts = []
    for term, heading in plan.headed_terms(surrogate):
        value = _binding(body.terms[term])
        size = sql.Call("length", (value,))
        text = sql.Call("concat", (sql.String(heading), size, sql.String(":"), value, sql.String(";")))
        parts.append(sql.Case(sql.NotNull(value), text))
    there = sql.Some(tuple(sql.NotNull(_binding(body.terms[argument.term])) for argument in surrogate.own))
    digest = sql.Call("sha256", (sql.Call("concat", tuple(parts)),))
    name = sql.String(surrogate_name(plan.first_surrogate(surrogate)))
    return sql.Case(there, sql.Call("concat", (name, sql.Call("left", (digest, sql.Integer(DIGITS))))))

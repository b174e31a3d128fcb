"""Evaluation of the query fragment on documents, with XQuery's semantics (``semantics.md`` section 7).

An interpreter of the syntax tree, which follows the plans of ``analysis.py`` and evaluates a path that depends on no
variable once for a document, or for the collection.

One deviation, on purpose: an untyped value that is no number, compared with a number, makes the comparison false where
XQuery raises FORG0001.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from heapq import merge
from itertools import islice
from math import nan
from typing import Any, Final, TypeAlias, TypeVar

from heptox.checks import Check
from heptox.grammar import syntax, type_of
from heptox.pattern import OPERATORS, ComparisonOperator, Numeric, Type, double, flipped, literal
from heptox.store.allowance import NODE_BYTES, VALUE_BYTES, Allowance, MemoryUse, Share
from heptox.store.analysis import Analysis, PlannedClause, PlannedStep
from heptox.store.computing import chosen_case, computation, only_value
from heptox.store.index import ATTRIBUTE, TEXT, DocumentIndex, index_of, indexed
from heptox.store.items import AttributeItem, Construction, Found, Item, TextItem, computed, error
from heptox.store.text import number_string
from heptox.store.written_names import local_name
from heptox.xml import Document, unescaped_name

Node: TypeAlias = int
"""A node of the document, by its number in the index."""

SORTED_AT_ONCE: Final = 8_192
"""Rows that take some milliseconds to sort."""
_BEFORE_TEXT: Final = "\0"
"""No text begins with it."""

Bindings: TypeAlias = Mapping[str, list[Node]]

_Result = TypeVar("_Result")
_Row = TypeVar("_Row")

# -- evaluation ----------------------------------------------------------------------------------------------------


def evaluate(
    expression: syntax.Expression,
    documents: Iterable[Document],
    check: Check | None = None,
    allowance: Allowance | None = None,
) -> Iterator[str]:
    """The items of a query's answer, each serialised with XQuery 3.1's ``adaptive`` method (``semantics.md`` 6 and 7).

    Each document is the context of an evaluation of its own, in the order given; items come as they are found. Where
    the query says ``collection()``, the documents are read first, and it means all of them; what has no other path from
    a document is evaluated once.
    ``check`` is called again and again meanwhile, and may raise an error of its own to stop the evaluation.
    ``allowance`` is what may be held at a time: :class:`Allowance` unless given. A document must not be changed once it
    was evaluated on.

    An untyped value that is no number, compared with a number, makes the comparison false; XQuery raises FORG0001.

    Raises :class:`StoreError`, with the position of the construct in the query: HX6003 a string compared with a number,
    HX6004 several values for a key of ``order by``, a tag or ``number()``, HX6005 an attribute after content or twice,
    HX6006 more tuples to put in order, or nodes to keep, than allowed, HX6007 a longer item.

    >>> from heptox.grammar import parse_query
    >>> from heptox.xml import parse_document
    >>> hospital = parse_document('<h><p id="1"><n>Ann</n></p><p id="2"><n>Bob</n></p></h>')
    >>> list(evaluate(parse_query("for $p in //p where $p/n = 'Bob' return ($p/@id, <r>{$p/n}</r>)"), [hospital]))
    ['id="2"', '<r><n>Bob</n></r>']
    """
    together = any(syntax.collections(expression))
    for index in [indexed(list(documents))] if together else map(index_of, documents):
        items = evaluate_indexed(index.names.query(expression), [index], check, allowance)
        yield from index.names.items(items)


def evaluate_indexed(
    expression: syntax.Expression,
    indexes: Iterable[DocumentIndex],
    check: Check | None = None,
    allowance: Allowance | None = None,
) -> Iterator[str]:
    """As :func:`evaluate`, on the index of each document, or of all those that ``collection()`` means."""
    analysis, allowance = Analysis(), allowance or Allowance()
    together = any(syntax.collections(expression))
    parts = expression.items if together and isinstance(expression, syntax.Sequence) else (expression,)
    for index in indexes:
        for part in parts:
            for context in index.documents if not together or syntax.has_context(part) else [0]:
                with MemoryUse(allowance) as held:
                    yield from _Evaluation(analysis, index, check, held, context).answers(part)


@dataclass(frozen=True, slots=True)
class _Copied:
    """An element of the document."""

    index: DocumentIndex
    node: Node

    @property
    def xml(self) -> str:
        return self.index.write(self.node)

    @property
    def text(self) -> str:
        return self.index.value(self.node)


class _Evaluation(Construction[Bindings]):
    """The evaluation of one query on the document ``context``; ``check`` is called every few nodes."""

    def __init__(
        self,
        analysis: Analysis,
        index: DocumentIndex,
        check: Check | None,
        held: MemoryUse,
        context: Node = 0,
    ) -> None:
        super().__init__(held)
        self._analysis = analysis
        self._index = index
        self._documents = {"/": [context], syntax.COLLECTION: index.documents}
        self._check = check
        self._ticks = 0
        self._kept: dict[tuple[str, int], object] = {}

    def answers(self, expression: syntax.Expression) -> Iterator[str]:
        """The items of the answer, each serialised with the ``adaptive`` method."""
        for item in self.items(expression, {}):
            yield self.serialised(item)

    def _tick(self) -> None:
        self._ticks += 1
        if self._check is not None and not self._ticks & 63:
            self._check()

    def _ticking(self, rows: Iterable[_Row]) -> Iterator[_Row]:
        for row in rows:
            self._tick()
            yield row

    def _keep(self, what: str, part: object, make: Callable[[], _Result]) -> _Result:
        """What ``make`` makes of a part of the query, made once."""
        key = (what, id(part))
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]  # type: ignore[return-value]

    # -- expressions -------------------------------------------------------------------------------------------

    def found(self, expression: Found, environment: Bindings) -> Iterator[Item]:
        match expression:
            case syntax.Flwor():
                yield from self._flwor(expression, environment)
            case syntax.PathExpression():
                yield from map(self._item, self._nodes(expression, environment))
            case syntax.Conditional(condition, value, otherwise):
                chosen = value if self._holds(condition, environment, None) else otherwise
                yield from () if chosen is None else self.items(chosen, environment)
            case syntax.FunctionCall():
                kind = type_of(expression) or Type.STRING
                yield from (computed(value, kind) for value in self._values(expression, environment))
            case syntax.Switch():
                chosen = chosen_case(expression, self._values(expression.argument, environment))
                yield from () if chosen is None else self.items(chosen, environment)
            case syntax.NodeIdentity(argument):
                yield from map(self._index.identity, self._nodes(argument, environment))
            case _:
                yield from self._values(expression, environment)

    def _item(self, node: Node) -> Item:
        kind = self._index.kind(node)
        if kind == ATTRIBUTE:
            return AttributeItem(self._index.name(node), self._index.value(node))
        return TextItem(self._index.value(node)) if kind == TEXT else _Copied(self._index, node)

    def _flwor(self, flwor: syntax.Flwor, bindings: Bindings) -> Iterator[Item]:
        plan = self._analysis.plan(flwor)
        tuples = self._tuples(plan.clauses, bindings)
        with self._held.share(flwor) as share:
            if plan.order or flwor.order:
                tuples = _holding(tuples, share)
            if plan.order:
                tuples = _sorted(tuples, lambda bound: [bound[variable] for variable in plan.order])
            if flwor.order:
                tuples = self._ordered(flwor.order, tuples, share)
            for bound in tuples:
                yield from self.items(flwor.result, bound)

    def _tuples(self, clauses: tuple[PlannedClause, ...], bindings: Bindings) -> Iterator[Bindings]:
        """The bindings that pass ``where``; a stack of iterators, for a query may have many clauses."""
        open_clauses = [self._bound(clauses[0], bindings)]
        while open_clauses:
            bound = next(open_clauses[-1], None)
            if bound is None:
                open_clauses.pop()
            elif len(open_clauses) == len(clauses):
                yield bound
            else:
                open_clauses.append(self._bound(clauses[len(open_clauses)], bound))

    def _bound(self, planned: PlannedClause, bindings: Bindings) -> Iterator[Bindings]:
        clause = planned.clause
        nodes = self._nodes(clause.source, bindings)
        for values in [nodes] if isinstance(clause, syntax.Let) else ([node] for node in nodes):
            self._tick()
            bound = {**bindings, clause.variable: values}
            if all(self._holds(condition, bound, None) for condition in planned.conditions):
                yield bound

    def _ordered(
        self, keys: tuple[syntax.OrderKey, ...], tuples: Iterable[Bindings], share: Share
    ) -> Iterator[Bindings]:
        """Stable, by code points, an absent key first."""
        rows: Iterator[tuple[Bindings, list[str]]] = (
            (bound, [self._order_value(key, bound, share) for key in keys]) for bound in tuples
        )
        for place, key in reversed(list(enumerate(keys))):
            rows = self._ticking(_sorted(rows, _key_at(place), descending=key.descending))
        return (bound for bound, _ in rows)

    def _order_value(self, key: syntax.OrderKey, bindings: Bindings, share: Share) -> str:
        """The value of a key, which is before every other where there is none."""
        values = list(self._values(key.key, bindings))
        if len(values) > 1:
            raise error("HX6004", "a key of order by has several values", key, "order by a path with one value")
        share.hold(1)
        return _BEFORE_TEXT + share.write(values[0]) if values else ""

    # -- conditions --------------------------------------------------------------------------------------------

    def _holds(self, condition: syntax.Condition, bindings: Bindings, context: Node | None) -> bool:
        self._tick()
        match condition:
            case syntax.Comparison():
                return self._compared(condition, bindings, context)
            case syntax.Exists(argument):
                return bool(self._nodes(argument, bindings, context))
            case syntax.Empty(argument):
                return not self._nodes(argument, bindings, context)
            case syntax.DeepEqual(syntax.PathExpression() as left, syntax.PathExpression() as right):
                firsts = self._nodes(left, bindings, context)
                seconds = self._nodes(right, bindings, context)
                return len(firsts) == len(seconds) and all(map(self._index.deep_equal, firsts, seconds))
            case syntax.DeepEqual(left, right):
                return list(self._values(left, bindings, context)) == list(self._values(right, bindings, context))
            case syntax.And(conditions):
                return all(self._holds(member, bindings, context) for member in conditions)
            case syntax.Or(conditions):
                return any(self._holds(member, bindings, context) for member in conditions)
            case syntax.FunctionCall():
                return "true" in self._values(condition, bindings, context)

    def _compared(self, comparison: syntax.Comparison, bindings: Bindings, context: Node | None) -> bool:
        sign, left, right = comparison.operator, comparison.left, comparison.right
        if isinstance(left, syntax.NumberLiteral):
            sign, left, right = flipped(sign), right, left
        operator = OPERATORS[sign]
        if operator.is_function:
            value = only_value(self._values(left, bindings, context), sign, comparison, f'{sign}(., "text")')
            return value is not None and any(operator.holds(value, each) for each in self._values(right, bindings))
        if not isinstance(right, syntax.NumberLiteral):
            return operator.holds_for_some(
                self._compared_values(left, bindings, context), self._compared_values(right, bindings, context)
            )
        number = literal(right.lexical)
        if isinstance(left, syntax.StringLiteral):
            raise error("HX6003", "a string is compared with a number", comparison)
        if isinstance(left, syntax.NumberLiteral):
            return _numbers_compare(operator, literal(left.lexical), number)
        if isinstance(left, syntax.NumberValue):
            return operator.holds(self._number(left, bindings, context), float(number))
        if isinstance(left, syntax.FunctionCall) and isinstance(number, Decimal):
            return any(operator.holds(Decimal(value), number) for value in self._values(left, bindings, context))
        values = (double(value) for value in self._values(left, bindings, context))
        return any(value is not None and operator.holds(value, float(number)) for value in values)

    def _number(self, operand: syntax.NumberValue, bindings: Bindings, context: Node | None) -> float:
        """The number behind ``number()``; NaN where there is none."""
        value = only_value(self._values(operand.argument, bindings, context), "number", operand, "number(.) <= 5")
        number = None if value is None else double(value)
        return nan if number is None else number

    # -- values ------------------------------------------------------------------------------------------------

    def _compared_values(self, operand: syntax.Operand, bindings: Bindings, context: Node | None) -> Collection[str]:
        """The values of an operand for a comparison; a set, made once, if they are the same everywhere in the query."""
        if self._analysis.fixed(operand):
            return self._keep("values", operand, lambda: self._fixed_values(operand))
        return self._values(operand, bindings, context)

    def _fixed_values(self, operand: syntax.Operand) -> frozenset[str]:
        """The values of an operand, which are held from now on."""
        values, share = frozenset(self._values(operand, {}, None)), self._held.share(operand)
        for value in values:
            share.write(value)
        return values

    def _values(
        self, operand: syntax.Operand | syntax.Expression, bindings: Bindings, context: Node | None = None
    ) -> Collection[str]:
        """The atomic values of an operand that is no number, in order."""
        match operand:
            case syntax.StringLiteral(value):
                return (value,)
            case syntax.NumberLiteral(lexical):
                return (number_string(literal(lexical)),)
            case syntax.NumberValue():
                raise ValueError("a number has no string to compare")
            case syntax.TagValue(argument):
                return (_tag_value(operand, self._nodes(argument, bindings, context), self._index),)
            case syntax.Data(argument):
                return self._values(argument, bindings, context)
            case syntax.PathExpression():
                return [self._index.value(node) for node in self._nodes(operand, bindings, context)]
            case syntax.FunctionCall():
                made = self._keep("computation", operand, lambda: computation(operand))
                return made.values(lambda part: self._values(part, bindings, context))
            case syntax.Conditional(condition, value, otherwise):
                chosen = value if self._holds(condition, bindings, context) else otherwise
                return () if chosen is None else self._values(chosen, bindings, context)
            case syntax.Switch():
                chosen = chosen_case(operand, self._values(operand.argument, bindings, context))
                return () if chosen is None else self._values(chosen, bindings, context)
        raise ValueError("what is made is no value of an operand")

    # -- paths -------------------------------------------------------------------------------------------------

    def _nodes(self, path: syntax.PathExpression, bindings: Bindings, context: Node | None = None) -> list[Node]:
        """The nodes of a path, in document order, each once."""
        steps = self._analysis.steps(path)
        documents = self._documents.get(path.start)
        if documents is None:
            nodes = bindings[path.start] if path.start != "." else [] if context is None else [context]
            return self._walk(nodes, steps, bindings)
        first = next((place for place, step in enumerate(steps) if step.depends), len(steps))
        if first == len(steps):
            return self._keep("path", path, lambda: self._listed(self._walk(documents, steps, {}), path))
        depending = steps[first]
        candidates = self._keep(
            "candidates",
            depending,
            lambda: self._listed(self._matched(self._walk(documents, steps[:first], {}), depending), path),
        )
        return self._walk(self._filtered(candidates, depending, bindings, kept=True), steps[first + 1 :], bindings)

    def _listed(self, nodes: list[Node], part: syntax.Node) -> list[Node]:
        """Nodes that are held from now on."""
        self._held.share(part).hold(len(nodes) * NODE_BYTES // VALUE_BYTES)
        return nodes

    def _walk(self, nodes: list[Node], steps: tuple[PlannedStep, ...], bindings: Bindings) -> list[Node]:
        for step in steps:
            if not nodes:
                break
            nodes = self._filtered(self._matched(nodes, step), step, bindings)
        return nodes

    def _matched(self, nodes: list[Node], step: PlannedStep) -> list[Node]:
        """The nodes that a step reaches and that pass its fixed predicates."""
        found = self._reached(nodes, step.step)
        for predicate in step.fixed:
            found = [node for node in found if self._holds(predicate, {}, node)]
        return found

    def _reached(self, nodes: list[Node], step: syntax.Step) -> list[Node]:
        self._tick()
        index, names = self._index, step.names
        match step.axis:
            case "child":
                found = index.child_texts(nodes) if names == ("text()",) else index.children(nodes, names)
                return [node for node in found if index.name(node) not in step.excluded] if step.excluded else found
            case "descendant":
                return index.descendant_texts(nodes) if names == ("text()",) else index.descendants(nodes, names)
            case "attribute":
                return index.attributes(nodes, names)
            case "descendant-attribute":
                return index.descendant_attributes(nodes, names)

    def _filtered(self, nodes: list[Node], step: PlannedStep, bindings: Bindings, *, kept: bool = False) -> list[Node]:
        """The nodes that pass the predicates with variables; ``kept`` candidates have a hash index."""
        if step.lookup is not None:
            below, other = step.lookup.below, step.lookup.other
            wanted = self._compared_values(other, bindings, None)
            if kept:
                table = self._keep("table", step, lambda: self._table(nodes, below, step.step))
                nodes = sorted({node for value in set(wanted) for node in table.get(value, ())})
            else:
                nodes = [node for node in nodes if OPERATORS["="].holds_for_some(self._values(below, {}, node), wanted)]
        for predicate in step.varying:
            nodes = [node for node in nodes if self._holds(predicate, bindings, node)]
        return nodes

    def _table(self, nodes: list[Node], below: syntax.Operand, part: syntax.Node) -> dict[str, list[Node]]:
        """The nodes by their values, which are held from now on."""
        table: dict[str, list[Node]] = {}
        share = self._held.share(part)
        for node in nodes:
            self._tick()
            for value in self._values(below, {}, node):
                if value not in table:
                    table[share.write(value)] = []
                    share.hold(1)
                table[value].append(node)
        return table


def _holding(tuples: Iterable[Bindings], share: Share) -> Iterator[Bindings]:
    """The tuples, each held; values that a tuple has in common with the one before are there once."""
    before: Bindings = {}
    for bound in tuples:
        share.hold(sum(1 if before.get(name) is values else len(values) or 1 for name, values in bound.items()))
        yield bound
        before = bound


def _key_at(place: int) -> Callable[[tuple[Bindings, list[str]]], str]:
    return lambda row: row[1][place]


def _sorted(rows: Iterable[_Row], key: Callable[[_Row], Any], *, descending: bool = False) -> Iterator[_Row]:
    """Rows in order, stable: to sort very many at once would keep the interpreter's lock for seconds."""
    rows = iter(rows)
    runs = iter(lambda: sorted(islice(rows, SORTED_AT_ONCE), key=key, reverse=descending), [])
    return merge(*runs, key=key, reverse=descending)


def _tag_value(tag: syntax.TagValue, nodes: list[Node], index: DocumentIndex) -> str:
    if len(nodes) > 1:
        raise error("HX6004", "the tag of several nodes is asked for", tag, "bind the node with for")
    return unescaped_name(local_name(index.name(nodes[0]))) if nodes else ""


def _numbers_compare(operator: ComparisonOperator, left: Numeric, right: Numeric) -> bool:
    if isinstance(left, float) or isinstance(right, float):
        return operator.holds(float(left), float(right))
    return operator.holds(left, right)

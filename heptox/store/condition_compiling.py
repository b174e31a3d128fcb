"""From the conditions of a query to conditions over the relations of a schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from heptox.grammar import syntax, type_of
from heptox.pattern import (
    OPERATORS,
    Call,
    Constant,
    Operator,
    SqlParts,
    StringJoin,
    Type,
    expression_in_sql,
    flipped,
    literal,
)
from heptox.schema import TEXT, Path
from heptox.store import sql
from heptox.store.computing import Computation, computation
from heptox.store.joins import Join, NodeSet, NotCompiledError, is_attribute
from heptox.store.path_compiling import PathCompiler
from heptox.store.row_joins import RowJoins
from heptox.store.text import number_string
from heptox.store.written_names import local_name
from heptox.xml import unescaped_name

MOST_WAYS: Final = 100
"""Ways in which the paths of all conditions of a query may lead through the schema to other rows, by subqueries."""

_NULL: Final = sql.String(None)


class ConditionCompiler:
    """Compiles the conditions of one query, and the paths in them."""

    def __init__(self, rows: RowJoins) -> None:
        self.rows = rows
        self._subqueries = 0
        self.paths = PathCompiler(rows, self.condition)

    def condition(self, condition: syntax.Condition, join: Join, context: NodeSet | None) -> sql.Condition:
        """A condition on the matches of a join that has a document."""
        match condition:
            case syntax.And(conditions):
                return sql.All(tuple(self.condition(part, join, context) for part in conditions))
            case syntax.Or(conditions):
                return sql.Some(tuple(self.condition(part, join, context) for part in conditions))
            case syntax.Exists(argument):
                return self._existence(argument, join, context)
            case syntax.Empty(argument):
                return sql.Fails(self._existence(argument, join, context))
            case syntax.Comparison(operator, left, right):
                return self._comparison(operator, left, right, join, context)
            case syntax.FunctionCall():
                after, holds = self._applied(computation(condition), join.inside(), context)
                return self._some_match([after.having(holds)])
            case syntax.DeepEqual(syntax.PathExpression()):
                raise NotCompiledError("deep-equal() compares subtrees")
            case syntax.DeepEqual(left, right):
                return self._same(left, right, join, context)

    def _existence(self, path: syntax.PathExpression, join: Join, context: NodeSet | None) -> sql.Condition:
        found = self.paths.path(path, join.inside(), context)
        return self._some_match([self.rows.present(after, nodes) for after, nodes in found])

    def _comparison(
        self,
        operator: Operator,
        left: syntax.Operand,
        right: syntax.Operand,
        join: Join,
        context: NodeSet | None,
    ) -> sql.Condition:
        if isinstance(left, syntax.NumberLiteral):
            operator, left, right = flipped(operator), right, left
        if isinstance(left, syntax.NumberLiteral) or (
            isinstance(left, syntax.StringLiteral) and isinstance(right, syntax.NumberLiteral)
        ):
            raise NotCompiledError("two literals are compared")
        if isinstance(left, syntax.NumberValue):
            if operator == "!=":
                raise NotCompiledError("what is no number is unlike every number")
            left = self._only(left.argument, "number()", join, context)
        elif isinstance(left, syntax.FunctionCall) and isinstance(right, syntax.NumberLiteral):
            return self._number_compared(operator, left, right, join, context)
        elif OPERATORS[operator].is_function:
            left = self._only(left, f"{operator}()", join, context)
        joins: list[Join] = []
        for before, first in self._operand(left, join.inside(), context):
            if isinstance(right, syntax.NumberLiteral):
                number = sql.Double(float(literal(right.lexical)))
                holds: sql.Condition = sql.Compare(operator, sql.AsDouble(first), number)
                if operator == "!=":  # NaN is unlike every number
                    holds = sql.Some((holds, sql.IsNaN(first)))
                joins.append(before.having(holds))
                continue
            for after, second in self._operand(right, before, context):
                joins.append(after.having(sql.Compare(operator, first, second)))
        return self._some_match(joins)

    def _number_compared(
        self,
        operator: Operator,
        call: syntax.FunctionCall,
        number: syntax.NumberLiteral,
        join: Join,
        context: NodeSet | None,
    ) -> sql.Condition:
        """A computed number compared with a literal: decimals are exact."""
        made = computation(call)
        if made.expression is None or isinstance(made.expression, str):
            raise NotCompiledError("a constant is compared with a number")
        compared = Call(operator, (made.expression, Call("xs:decimal", (Constant(number.lexical),))))
        after, holds = self._applied(replace(made, expression=compared), join.inside(), context)
        return self._some_match([after.having(holds)])

    def computed(self, value: syntax.Argument, join: Join, context: NodeSet | None) -> tuple[Join, sql.Expression]:
        """The one value that an argument may have as a string, null where it has none."""
        match value:
            case syntax.FunctionCall():
                made = computation(value)
                if made.type is Type.BOOLEAN:
                    join, holds = self._applied(made, join, context)
                    return join, sql.Case(holds, sql.String("true"), sql.String("false"))
                return self._applied(made, join, context)
            case syntax.Conditional(condition, then, otherwise):
                holds = self.condition(condition, self.rows.grounded(join), context)
                join, first = self.computed(_argument(then), join, context)
                join, second = (join, None) if otherwise is None else self.computed(_argument(otherwise), join, context)
                return join, sql.Case(holds, first, second)
            case syntax.Switch(argument, cases, otherwise):
                join, found = self.computed(argument, join, context)
                join, other = (join, _NULL) if otherwise is None else self.computed(otherwise, join, context)
                for case in reversed(dict.fromkeys(cases)):
                    other = sql.Case(sql.Compare("=", found, sql.String(case.code)), sql.String(case.value), other)
                return join, other
            case syntax.StringLiteral(text):
                return join, sql.String(text)
            case syntax.NumberLiteral(lexical):
                return join, sql.String(number_string(literal(lexical)))
            case _:
                return self._value_or_null(value, join, context)

    def _applied(self, made: Computation, join: Join, context: NodeSet | None) -> tuple[Join, Any]:
        """A function over the values of its parts: a string, or null; or a condition."""

        def leaf(path: Path) -> sql.Expression:
            nonlocal join
            join, value = self.computed(made.part(path), join, context)
            return value

        def joined(_: StringJoin) -> sql.Expression:
            raise NotCompiledError("string-join() gathers values in their order")

        if made.expression is None or isinstance(made.expression, str):
            value: sql.Expression = sql.String(made.expression)
            return join, sql.Compare("=", value, sql.String("true")) if made.type is Type.BOOLEAN else value
        found = expression_in_sql(made.expression, SqlParts(leaf, joined, sql.String, sql.Template))
        return join, found

    def _same(self, left: syntax.Operand, right: syntax.Operand, join: Join, context: NodeSet | None) -> sql.Condition:
        """Whether two values, each of which may be absent, are the same."""
        after, first = self._value_or_null(left, join.inside(), context)
        after, second = self._value_or_null(right, after, context)
        return self._some_match([after.having(sql.Same(first, second))])

    def _value_or_null(
        self, operand: syntax.Operand, join: Join, context: NodeSet | None
    ) -> tuple[Join, sql.Expression]:
        """The one value that an operand may have, null where it has none."""
        if isinstance(operand, syntax.TagValue):
            return next(self._operand(operand, join, context))
        path = operand.argument if isinstance(operand, syntax.Data) else operand
        assert isinstance(path, syntax.PathExpression)  # what else has a value that may be absent is computed
        found = self.paths.path(path, join.inside(), context)
        if not found:
            return join, sql.String(None)
        (after, nodes), *others = found
        if others or after.sources or after.where:
            raise NotCompiledError("a value is asked for of which there may be several")
        if nodes.path[-1:] == (TEXT,) or not (is_attribute(nodes) or self.rows.element(nodes).text):
            raise NotCompiledError("a value is asked of a text or of an element without one, which may be absent")
        return self.rows.value(join, nodes)

    def _only(self, operand: syntax.Operand, function: str, join: Join, context: NodeSet | None) -> syntax.Operand:
        """An operand that has one value at most, as a function asks."""
        operands = list(self._operand(operand, join.inside(), context))
        if len(operands) > 1 or any(extended.sources for extended, _ in operands):
            raise NotCompiledError(f"{function} may be asked of several values")
        return operand

    def _operand(
        self, operand: syntax.Operand, join: Join, context: NodeSet | None
    ) -> Iterator[tuple[Join, sql.Expression]]:
        match operand:
            case syntax.StringLiteral(value):
                yield join, sql.String(value)
            case syntax.NumberLiteral() | syntax.NumberValue():
                raise NotCompiledError("a number stands where a string does")
            case syntax.FunctionCall() | syntax.Conditional() | syntax.Switch():
                yield self.computed(operand, join, context)
            case syntax.Data(argument):
                yield from self._operand(argument, join, context)
            case syntax.TagValue(argument):
                if argument.start == "." and context is not None:
                    raise NotCompiledError("the tag of the context node is asked for")
                yield join, sql.String(self.tag(argument, join))
            case syntax.PathExpression():
                for after, nodes in self.paths.path(operand, join, context):
                    yield self.rows.value(self.rows.present(after, nodes), nodes)

    def tag(self, argument: syntax.PathExpression, join: Join) -> str:
        """The tag of the node of a variable."""
        found = self.paths.path(argument, join.inside())
        if len(found) != 1 or argument.steps or found[0][0].sources:
            raise NotCompiledError("the tag of what is no variable of for is asked for")
        name = self.rows.name(found[0][1])
        return "" if name == TEXT else unescaped_name(local_name(name.removeprefix("@")))

    def _some_match(self, joins: list[Join]) -> sql.Condition:
        """Whether one of several inner joins has a match."""
        if any(join == join.inside() for join in joins):
            return sql.TRUE
        self._subqueries += sum(bool(join.sources) for join in joins)
        if self._subqueries > MOST_WAYS:
            raise NotCompiledError(f"its conditions lead through the schema in over {MOST_WAYS} ways")
        conditions = tuple(
            sql.Exists(join.sources, sql.All(join.where)) if join.sources else sql.All(join.where) for join in joins
        )
        return conditions[0] if len(conditions) == 1 else sql.Some(conditions)


def _argument(value: syntax.Expression) -> syntax.Argument:
    """A value of ``if`` where values stand."""
    if not isinstance(value, syntax.Argument):
        raise NotCompiledError("if decides between other than values")
    return value


def is_atomic(function: syntax.Function) -> bool:
    """Whether the value of a function is an item, and not a node, or what is made around a value."""
    if isinstance(function, syntax.FunctionCall):
        return True
    _, *results = syntax.values(function)
    return all(
        isinstance(result, syntax.Argument)
        and not isinstance(result, syntax.PathExpression)
        and (not isinstance(result, syntax.Function) or is_atomic(result))
        for result in results
    )


def atomic(function: syntax.Function) -> syntax.Function:
    """A function whose value is an item."""
    if not is_atomic(function):
        raise NotCompiledError("switch decides between nodes")
    return function


def refuse_typed(item: syntax.Expression) -> None:
    """Refuse an item whose type is seen in how it is written."""
    for part in item.items if isinstance(item, syntax.Sequence) else (item,):
        if isinstance(part, syntax.Function) and type_of(part) not in (None, Type.STRING):
            raise NotCompiledError("an item is a computed number or a condition")

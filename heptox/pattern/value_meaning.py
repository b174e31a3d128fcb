"""What function terms mean: their values in Python, their form in SQL, and whether they surely have a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Generic, TypeAlias, TypeVar

from heptox.pattern.value_expression import Call, Constant, Leaf, Lookup, StringJoin, ValueExpression
from heptox.pattern.value_patterns import read_pattern, replacement_for_java, replacement_for_re2
from heptox.pattern.value_types import CASTS, Type, Value, ValueFunction
from heptox.pattern.value_typing import argument_types, form_of_call, result_type
from heptox.schema import Path

_Sql = TypeVar("_Sql")
_LeafValue: TypeAlias = Callable[[Path], str | None]
_LeafValues: TypeAlias = Callable[[Path], Sequence[str]]


def evaluate_expression(expression: ValueExpression, leaf: _LeafValue, leaves: _LeafValues) -> str | None:
    """The value of an expression in which :func:`expression_faults` finds no fault; ``None`` where it has none.

    ``leaf`` gives the value of a leaf, ``leaves`` those of one that repeats, in document order. The value of a
    condition is ``true`` or ``false``.

    >>> name = Call("concat", (Leaf(("first",)), Constant(" "), Leaf(("last",))))
    >>> evaluate_expression(name, {("first",): "Ann", ("last",): "Lee"}.get, {}.__getitem__)
    'Ann Lee'
    >>> evaluate_expression(name, {("first",): "Ann"}.get, {}.__getitem__) is None
    True
    """
    return evaluator(expression)(leaf, leaves)


@lru_cache(maxsize=1024)
def evaluator(expression: ValueExpression) -> Callable[[_LeafValue, _LeafValues], str | None]:
    """What :func:`evaluate_expression` does for one expression, made ready for many nodes."""
    evaluated, given = _evaluator(expression), result_type(expression)
    return lambda leaf, leaves: _string(evaluated(leaf, leaves), given)


def _evaluator(expression: ValueExpression) -> Callable[[_LeafValue, _LeafValues], Value | None]:
    match expression:
        case Leaf(path):
            return lambda leaf, _: leaf(path)
        case Constant(value):
            return lambda *_: value
        case StringJoin(path, separator):
            return lambda _, leaves: separator.join(values) if (values := leaves(path)) else None
        case Lookup():
            return _lookup_evaluator(expression)
        case Call():
            form = known_form(expression)
            wanted = argument_types(expression, form)
            kinds = tuple(map(result_type, expression.arguments))
            evaluators = tuple(map(_evaluator, expression.arguments))

            def value_of(leaf: _LeafValue, leaves: _LeafValues) -> Value | None:
                values = (each(leaf, leaves) for each in evaluators)
                return _applied(form, list(map(_converted, values, kinds, wanted)))

            return value_of


def _lookup_evaluator(lookup: Lookup) -> Callable[[_LeafValue, _LeafValues], str | None]:
    code, codes = evaluator(lookup.argument), dict(lookup.codes)
    other = None if lookup.other is None else evaluator(lookup.other)

    def value_of(leaf: _LeafValue, leaves: _LeafValues) -> str | None:
        found = code(leaf, leaves)
        if found is None or found in codes or other is None:
            return None if found is None else codes.get(found)
        return other(leaf, leaves)

    return value_of


def known_form(call: Call) -> ValueFunction:
    """The form of the function that is called; raises ``LookupError`` where :func:`expression_faults` finds a fault."""
    form = form_of_call(call)
    if form is None:
        raise LookupError(f"no function {call.function} of {len(call.arguments)} arguments")
    return form


def _applied(form: ValueFunction, arguments: list[Value | None]) -> Value | None:
    if form.is_strict and None in arguments:
        return False if form.result is Type.BOOLEAN else None
    return reduce(form.meaning, arguments) if form.repeats else form.meaning(*arguments)


def _converted(value: Value | None, given: Type, wanted: Type) -> Value | None:
    """A value of one type as one of another."""
    if value is None or wanted is given or wanted not in (*CASTS, Type.STRING):
        return value
    if wanted is Type.DECIMAL and given is Type.INTEGER:
        return value
    text = _string(value, given)
    return text if text is None or wanted is Type.STRING else CASTS[wanted].read(text)


def _string(value: Value | None, given: Type) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return CASTS[given].string(value)


# -- SQL ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SqlParts(Generic[_Sql]):
    """How parts of SQL are made: of a leaf, of joined values, of a string, and of a template with its arguments, with
    another one for Spark where there is one.
    """

    leaf: Callable[[Path], _Sql]
    joined: Callable[[StringJoin], _Sql]
    string: Callable[[str], _Sql]
    template: Callable[[str, tuple[_Sql, ...], str | None], _Sql]


def expression_in_sql(expression: ValueExpression, of: SqlParts[_Sql]) -> _Sql:
    """The expression in SQL: a string or ``NULL``; for a condition a boolean, which is never ``NULL``."""
    given = result_type(expression)
    if given is Type.BOOLEAN:
        return _in_sql(expression, of)
    return _sql_converted(_in_sql(expression, of), given, Type.STRING, of)


def _in_sql(expression: ValueExpression, of: SqlParts[_Sql]) -> _Sql:
    match expression:
        case Leaf(path):
            return of.leaf(path)
        case Constant(value):
            return of.string(value)
        case StringJoin():
            return of.joined(expression)
        case Lookup():
            return _sql_lookup(expression, of)
        case Call():
            form = known_form(expression)
            arguments = [
                _sql_argument(argument, wanted, of)
                for argument, wanted in zip(expression.arguments, argument_types(expression, form), strict=True)
            ]
            if not form.repeats:
                return of.template(form.sql, tuple(arguments), form.spark)
            return reduce(lambda left, right: of.template(form.sql, (left, right), form.spark), arguments)


def _sql_argument(argument: ValueExpression, wanted: Type, of: SqlParts[_Sql]) -> _Sql:
    match argument:
        case Constant(value) if wanted is Type.PATTERN:
            return of.string(read_pattern(value).shared)
        case Constant(value) if wanted is Type.REPLACEMENT:
            forms = (of.string(replacement_for_re2(value)), of.string(replacement_for_java(value)))
            return of.template("{0}", forms, "{1}")
        case Call("xs:decimal" | "xs:integer", (Constant() as written,)) if wanted in CASTS:  # a literal
            argument = written
    if isinstance(argument, Constant) and wanted in CASTS:
        cast = CASTS[wanted]
        constant = cast.read(argument.value)
        if constant is None:
            raise LookupError(f"{argument.value} is no {wanted.value}")
        return of.template(f"CAST({{0}} AS {cast.sql_type})", (of.string(cast.string(constant)),), None)
    return _sql_converted(_in_sql(argument, of), result_type(argument), wanted, of)


def _sql_converted(value: _Sql, given: Type, wanted: Type, of: SqlParts[_Sql]) -> _Sql:
    if wanted is given or wanted not in (*CASTS, Type.STRING) or (wanted, given) == (Type.DECIMAL, Type.INTEGER):
        return value
    text = value if given is Type.STRING else of.template(CASTS[given].written, (value,), None)
    return text if wanted is Type.STRING else of.template(CASTS[wanted].template, (text,), None)


def _sql_lookup(lookup: Lookup, of: SqlParts[_Sql]) -> _Sql:
    code, codes = expression_in_sql(lookup.argument, of), dict(lookup.codes)
    found = of.template("CAST(NULL AS STRING)", (), None)
    if codes:
        texts = tuple(map(of.string, (*codes, *codes.values())))
        keys, values = (
            ", ".join(f"{{{place}}}" for place in range(start, start + len(codes))) for start in (1, 1 + len(codes))
        )
        duckdb = f"([{values}])[list_position([{keys}], {{0}})]"
        found = of.template(
            duckdb, (code, *texts), f"element_at(map_from_arrays(array({keys}), array({values})), {{0}})"
        )
    if lookup.other is None:
        return found
    other = expression_in_sql(lookup.other, of)
    return of.template("coalesce({0}, CASE WHEN {1} IS NOT NULL THEN {2} END)", (found, code, other), None)


# -- certainty ---------------------------------------------------------------------------------------------------


def is_total(expression: ValueExpression, is_sure: Callable[[Path], bool]) -> bool:
    """Whether an expression surely has a value where the leaves of which ``is_sure`` says so have one."""
    match expression:
        case Leaf(path) | StringJoin(path):
            return is_sure(path)
        case Constant():
            return True
        case Lookup(argument, _, other):
            return other is not None and is_total(argument, is_sure) and is_total(other, is_sure)
        case Call("if", (condition, value, other)):
            known = implied_leaves(condition)
            return is_total(value, lambda path: path in known or is_sure(path)) and is_total(other, is_sure)
        case Call():
            form = known_form(expression)
            if form.result is Type.BOOLEAN:
                return True
            wanted = argument_types(expression, form)
            return form.is_total and all(
                is_total(argument, is_sure) and not _may_fail(argument, one)
                for argument, one in zip(expression.arguments, wanted, strict=True)
            )


def _may_fail(argument: ValueExpression, wanted: Type) -> bool:
    """Whether an argument may be a string that does not stand for a value of the type that is wanted."""
    return wanted in CASTS and result_type(argument) is Type.STRING and not isinstance(argument, Constant)


def implied_leaves(condition: ValueExpression) -> frozenset[Path]:
    """The leaves that have a value wherever a condition holds.

    >>> sorted(implied_leaves(Call("and", (Call("exists", (Leaf(("a",)),)), Call("=", (Leaf(("b",)), Constant("1")))))))
    [('a',), ('b',)]
    """
    match condition:
        case Call("and", arguments):
            return frozenset().union(*map(implied_leaves, arguments))
        case Call("not" | "or"):
            return frozenset()
        case Call(_, arguments) if result_type(condition) is Type.BOOLEAN:
            return frozenset().union(*map(needed_leaves, arguments))
    return frozenset()


def needed_leaves(expression: ValueExpression) -> frozenset[Path]:
    """The leaves without which an expression has no value.

    >>> sorted(needed_leaves(Call("if", (Call("exists", (Leaf(("a",)),)), Leaf(("b",))))))
    [('a',), ('b',)]
    """
    match expression:
        case Leaf(path) | StringJoin(path):
            return frozenset({path})
        case Lookup(argument):
            return needed_leaves(argument)
        case Call("if", (condition, value)):
            return implied_leaves(condition) | needed_leaves(value)
        case Call("if", (condition, value, other)):
            return (implied_leaves(condition) | needed_leaves(value)) & needed_leaves(other)
        case Call(_, arguments) if result_type(expression) is not Type.BOOLEAN:
            return frozenset().union(*map(needed_leaves, arguments))
    return frozenset()

"""From function terms to the functions of a query.

A function term is absent where a leaf that it needs is absent, and XQuery's functions of strings take an absent value
for ``""``: where a leaf may be absent, a condition stands around the function that it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from heptox.errors import Fault, GrammarError
from heptox.grammar import query as syntax
from heptox.pattern import (
    CASTS,
    SIGNS,
    TAG,
    Absence,
    Atom,
    Call,
    Comparison,
    Constant,
    Leaf,
    Lookup,
    Number,
    Operator,
    Presence,
    SameValue,
    StringJoin,
    Term,
    Text,
    Type,
    ValueExpression,
    argument_types,
    double,
    flipped,
    form_of_call,
    implied_leaves,
    is_cast,
    is_own,
    is_total,
    needed_leaves,
    or_empty,
    result_type,
    value_expression,
    within_or_empty,
)
from heptox.schema import Path

_ToPath: TypeAlias = Callable[[Path], syntax.PathExpression]
_NUMBERS: Final = (Type.DECIMAL, Type.INTEGER, Type.DOUBLE)
_MOMENTS: Final = (Type.DATE, Type.DATE_TIME, Type.TIME)
_NEVER_EMPTY: Final = (*_MOMENTS, Type.DECIMAL, Type.INTEGER)
"""The types of which no value is the empty string when it is written."""


@dataclass(frozen=True, slots=True)
class FunctionRendering:
    """Renders expressions over the leaves of one node, to each of which ``path`` leads; some ``known`` to be there."""

    path: _ToPath
    known: Callable[[Path], bool]

    def guards(self, expression: ValueExpression) -> tuple[syntax.Condition, ...]:
        """The conditions under which XQuery's value of an expression is that of the function term."""
        return (*self._existing(_unguarded(expression)), *map(self._has_value, _partial_strings(expression)))

    def _has_value(self, expression: ValueExpression) -> syntax.Condition:
        """The condition that an expression has a value where the leaves that it needs are there."""
        value, kind = self.value(expression), result_type(expression)
        if kind in _NUMBERS:
            zero = syntax.NumberLiteral("0")
            return syntax.Or((syntax.Comparison(">=", value, zero), syntax.Comparison("<", value, zero)))
        if kind in _MOMENTS:  # the string of one is not empty, that of nothing is
            return syntax.Comparison("!=", syntax.FunctionCall("string", (value,)), syntax.StringLiteral(""))
        if kind is not Type.STRING:
            raise _unsaid(expression)
        return syntax.Comparison("=", value, value)

    def _existing(self, leaves: frozenset[Path]) -> tuple[syntax.Condition, ...]:
        wanted = sorted(path for path in leaves if not is_own(path) and not self.known(path))
        return tuple(syntax.Exists(self.path(path), spelled_out=False) for path in wanted)

    def presence(self, expression: ValueExpression) -> tuple[syntax.Condition, ...]:
        """The conditions that an expression has a value."""
        match expression:
            case Call("if", (condition, value)):
                there = implied_leaves(condition)
                inside = FunctionRendering(self.path, lambda path: path in there or self.known(path))
                holds = self.condition(condition)
                asked = holds.conditions if isinstance(holds, syntax.And) else (holds,)
                return (*asked, *inside.presence(value))
        asked = (*self._existing(needed_leaves(expression)), *map(self._has_value, _partial_strings(expression)))
        return (*asked, self._has_value(expression)) if _may_fail(expression) else asked

    def guarded(self, expression: ValueExpression) -> syntax.Argument:
        """An expression, with a condition around it where leaves may be absent."""
        return self._branch(expression, result_type(expression))

    def string(self, expression: ValueExpression) -> syntax.Argument:
        """An expression as a string, with a condition around it where leaves may be absent."""
        return self._branch(expression, Type.STRING)

    def slot(self, term: Term, make: Callable[[syntax.Argument], syntax.Expression]) -> syntax.Expression:
        """What is made of the value of a term, where it has one."""
        expression = _expression(term)
        inner = expression
        while isinstance(inner, Call) and inner.function == "if" and len(inner.arguments) == 2:
            inner = inner.arguments[1]
        conditions, made = self.presence(expression), make(_atomised(self.value(inner)))
        return syntax.Conditional(_all(conditions), made) if conditions else made

    def as_string(self, expression: ValueExpression) -> syntax.Argument:
        """An expression as a string."""
        return self._as(expression, Type.STRING)

    def value(self, expression: ValueExpression) -> syntax.Argument:
        """An expression, of its own type."""
        inner = within_or_empty(expression)
        if isinstance(inner, StringJoin):
            return self.value(inner)
        if inner is not None:
            return syntax.FunctionCall(
                "string", (self.value(inner) if not self.guards(inner) else self.guarded(inner),)
            )
        match expression:
            case Leaf(path) if path[-1:] == (TAG,):
                raise _unsaid(expression)
            case Leaf(path):
                return self.path(path)
            case Constant(value):
                return syntax.StringLiteral(value)
            case StringJoin(path, separator):
                return syntax.FunctionCall("string-join", (self.path(path), syntax.StringLiteral(separator)))
            case Lookup(argument, codes, other):
                cases = tuple(syntax.Case(*pair) for pair in codes)
                if not cases:
                    raise _unsaid(expression)
                otherwise = None if other is None else self._branch(other, Type.STRING)
                if all(case.code for case in cases):
                    argument = within_or_empty(argument) or argument
                return syntax.Switch(self._as(argument, Type.STRING), cases, otherwise)
            case Call("if", (condition, value, *others)):
                there = implied_leaves(condition)
                inside = FunctionRendering(self.path, lambda path: path in there or self.known(path))
                kind = result_type(expression)
                otherwise = self._branch(others[0], kind) if others else None
                return syntax.Conditional(self.condition(condition), inside._branch(value, kind), otherwise)
            case Call("xs:decimal" | "xs:integer", (Constant(value),)):
                return syntax.NumberLiteral(value.strip())
            case Call() if result_type(expression) is Type.BOOLEAN:
                holds = self.condition(expression)
                if isinstance(holds, syntax.FunctionCall):
                    return holds
                return syntax.Conditional(holds, syntax.StringLiteral("true"), syntax.StringLiteral("false"))
            case Call("div", (_, divisor)) if not isinstance(divisor, Constant) or not _is_said(expression):
                raise _unsaid(expression)
            case Call(function, arguments):
                return self._call(expression, function, arguments)

    def _branch(self, expression: ValueExpression, wanted: Type) -> syntax.Argument:
        is_written = wanted is Type.STRING and result_type(expression) is not Type.STRING
        guards = self.presence(expression) if is_written else self.guards(expression)
        value = _atomised(self._as(expression, wanted))
        return syntax.Conditional(_all(guards), value) if guards else value

    def _call(self, call: Call, function: str, arguments: tuple[ValueExpression, ...]) -> syntax.FunctionCall:
        form = form_of_call(call)
        if form is None:
            raise _unsaid(call)
        if form.takes_any or function in _CAST_NAMES:
            return syntax.FunctionCall(function, tuple(map(self._of_any_type, arguments)))
        wanted = argument_types(call, form)
        return syntax.FunctionCall(function, tuple(map(self._argument, arguments, wanted)))

    def _of_any_type(self, expression: ValueExpression) -> syntax.Argument:
        inner = within_or_empty(expression)
        return self.value(expression) if inner is None else self._or_empty(inner)

    def _or_empty(self, inner: ValueExpression) -> syntax.Argument:
        """A value for which XQuery takes the empty string where it is absent."""
        if isinstance(inner, StringJoin):
            return self.value(inner)
        if result_type(inner) is not Type.STRING:
            return self.value(or_empty(inner))
        return self.value(inner) if not self.guards(inner) else self.guarded(inner)

    def _argument(self, expression: ValueExpression, wanted: Type) -> syntax.Argument:
        """An expression as the argument of a function, which takes an absent string for the empty one."""
        inner = within_or_empty(expression)
        return self._as(expression, wanted) if inner is None or wanted is not Type.STRING else self._or_empty(inner)

    def _as(self, expression: ValueExpression, wanted: Type) -> syntax.Argument:
        """An expression as a value of a type."""
        given = result_type(expression)
        if isinstance(expression, Constant):
            return _literal(expression, wanted)
        if wanted is Type.STRING:
            value = self.value(expression)
            return value if given is Type.STRING else syntax.FunctionCall("string", (value,))
        if wanted in CASTS and given is Type.STRING:
            return syntax.FunctionCall(CASTS[wanted].name, (self.value(expression),))
        return self.value(expression)

    # -- conditions ----------------------------------------------------------------------------------------------

    def condition(self, expression: ValueExpression) -> syntax.Condition:
        """An expression that is true or false as a condition."""
        match expression:
            case Call("and" | "or", arguments):
                return _joined(expression.function, [self.condition(argument) for argument in arguments])
            case Call("exists", (Leaf(path) | StringJoin(path),)):
                return syntax.Exists(self.path(path), spelled_out=False)
            case Call("exists", (inner,)):
                return _all(self.presence(inner)) if self.presence(inner) else _ALWAYS
            case Call("not", (Call("exists", (Leaf(path) | StringJoin(path),)),)):
                return syntax.Empty(self.path(path))
            case Call("not", (Call("starts-with", (_, Constant(text))) as inner,)) if text:
                return syntax.FunctionCall("not", (self._tested(inner),))
            case Call("not", (inner,)):
                condition = self.condition(inner)
                if not isinstance(condition, syntax.FunctionCall):
                    raise _unsaid(expression)
                return syntax.FunctionCall("not", (condition,))
            case Call(sign, (left, right)) if sign in SIGNS:
                return self._compared(expression, left, right)
            case Call("starts-with", (left, Constant(text))) if text:
                comparison = syntax.Comparison("starts-with", self.as_string(left), syntax.StringLiteral(text))
                return _all((*self.guards(left), comparison))
            case Call():
                return _all((*self.guards(expression), self._tested(expression)))
        raise _unsaid(expression)

    def _tested(self, call: Call) -> syntax.FunctionCall:
        """A function that is true or false, of what its arguments are without guards."""
        form = form_of_call(call)
        if form is None:
            raise _unsaid(call)
        arguments = map(self._argument, call.arguments, argument_types(call, form))
        return syntax.FunctionCall(call.function, tuple(arguments))

    def _compared(self, call: Call, left: ValueExpression, right: ValueExpression) -> syntax.Condition:
        operator = call.function
        assert operator in SIGNS
        sides = tuple(map(self._number, (left, right)))
        computed = [one for one in (left, right) if result_type(one) in _NUMBERS and not _is_number(one)]
        if operator == "!=" and any(isinstance(one, Call) and one.function == "number" for one in (left, right)):
            raise _unsaid(call)
        moments = {result_type(one) for one in (left, right)} - {Type.STRING, *_NUMBERS}
        if moments or (computed and not any(map(_is_number, (left, right)))):
            raise _unsaid(call)
        comparison: syntax.Condition = syntax.Comparison(operator, *sides)
        if isinstance(sides[1], syntax.NumberLiteral) and result_type(left) is Type.STRING:
            comparison = compared_as_number(operator, sides[0], sides[1])
        elif isinstance(sides[0], syntax.NumberLiteral) and result_type(right) is Type.STRING:
            comparison = compared_as_number(flipped(operator), sides[1], sides[0])
        return _all((*self.guards(left), *self.guards(right), comparison))

    def _number(self, expression: ValueExpression) -> syntax.Operand:
        """A side of a comparison, which may be ``number()`` of a value."""
        match expression:
            case Call("number", (inner,)) if not isinstance(inner, Constant):
                value = self.value(inner)
                assert not isinstance(value, syntax.StringLiteral | syntax.NumberLiteral)
                return syntax.NumberValue(value)
        return self.value(expression)


_ALWAYS: Final = syntax.Comparison("=", syntax.StringLiteral(""), syntax.StringLiteral(""))
"""What holds of everything."""
_CAST_NAMES: Final = frozenset(cast.name for cast in CASTS.values())


def _is_said(quotient: Call) -> bool:
    """Whether a quotient is XQuery's, and not rounded."""
    form = form_of_call(quotient)
    return form is not None and form.parameters[1] is Type.DIVISOR


def _is_number(expression: ValueExpression) -> bool:
    match expression:
        case Call("xs:decimal" | "xs:integer", (Constant(),)):
            return True
    return False


def _atomised(value: syntax.Argument) -> syntax.Argument:
    """A value where a path would stand for its node."""
    return syntax.Data(value) if isinstance(value, syntax.PathExpression) else value


def _literal(constant: Constant, wanted: Type) -> syntax.Argument:
    if wanted in (*_NUMBERS, Type.DIGITS, Type.DIVISOR) and double(constant.value) is not None:
        return syntax.NumberLiteral(constant.value.strip())
    string = syntax.StringLiteral(constant.value)
    return syntax.FunctionCall(CASTS[wanted].name, (string,)) if wanted in CASTS else string


def _unguarded(expression: ValueExpression) -> frozenset[Path]:
    match expression:
        case StringJoin(path):
            return frozenset({path})
        case Lookup(argument, _, other):
            return _unguarded(argument) | (frozenset() if other is None else needed_leaves(argument))
        case Call("if" | "exists" | "and" | "or" | "not"):
            return frozenset()
        case Call(_, arguments) if (form := form_of_call(expression)) is not None:
            inner = frozenset[Path]().union(*map(_unguarded, arguments))
            is_sure = form.result is Type.BOOLEAN and isinstance(arguments[-1], Constant) and arguments[-1].value
            if form.propagates or is_sure:
                return inner
            return inner.union(*map(needed_leaves, arguments))
    return frozenset()


def _partial_strings(expression: ValueExpression) -> Iterator[ValueExpression]:
    """The arguments that may have no value where functions of strings take that for the empty string."""
    match expression:
        case Lookup(argument, _, other):
            yield from _partial_strings(argument)
            if other is not None and _is_partial(argument):
                yield argument
        case Call("if" | "exists" | "and" | "or" | "not"):
            return
        case Call(_, arguments) if (form := form_of_call(expression)) is not None:
            for argument in arguments:
                yield from _partial_strings(argument)
                if not form.propagates and _is_partial(argument):
                    yield argument


def _may_fail(expression: ValueExpression) -> bool:
    """Whether an expression may have no value where all that functions of strings take in it has one."""
    if not _is_partial(expression) or not isinstance(expression, Call) or expression.function == "if":
        return _is_partial(expression)
    form = form_of_call(expression)
    if form is None or not form.is_total:
        return True
    wanted = argument_types(expression, form)
    casts = any(is_cast(argument, one) for argument, one in zip(expression.arguments, wanted, strict=True))
    return casts or (form.propagates and any(map(_may_fail, expression.arguments)))


def _is_never_empty(expression: ValueExpression) -> bool:
    """Whether the string of a value that an expression has is never the empty one."""
    match expression:
        case Constant(value):
            return bool(value)
        case Lookup(_, codes, other):
            return all(value for _, value in codes) and (other is None or _is_never_empty(other))
        case Call("if", (_, *branches)):
            return all(map(_is_never_empty, branches))
    return result_type(expression) in _NEVER_EMPTY


def _is_partial(expression: ValueExpression) -> bool:
    """Whether an expression may have no value where the leaves that it needs are there."""
    wanted = needed_leaves(expression)
    return not is_total(expression, lambda path: path in wanted or is_own(path))


def computed_condition(
    atom: Atom, of: Callable[[Term], FunctionRendering], plain: Callable[[Term | Text | Number], syntax.Operand]
) -> syntax.Condition:
    """What an atom says of function terms; ``of`` renders those of a term's node, ``plain`` what is no function."""
    match atom:
        case Comparison("=", left, Text("true" | "false" as wanted)) if _type(left) is Type.BOOLEAN:
            expression = _expression(left)
            return of(left).condition(expression if wanted == "true" else Call("not", (expression,)))
        case Comparison(operator, left, Number() as number) if value_expression(left.path) is not None:
            rendering, expression = of(left), _expression(left)
            literal = syntax.NumberLiteral(number.lexical)
            value = rendering.value(expression)
            if _type(left) is Type.STRING:
                return _all((*rendering.guards(expression), compared_as_number(operator, value, literal)))
            return _all((*rendering.guards(expression), syntax.Comparison(operator, value, literal)))
        case Comparison(operator, left, right):
            guards: list[syntax.Condition] = []
            sides: list[syntax.Operand] = []
            for side in (left, right):
                if not isinstance(side, Term) or value_expression(side.path) is None:
                    sides.append(plain(side))
                    continue
                is_string = _type(side) is Type.STRING
                guards += of(side).guards(_expression(side)) if is_string else of(side).presence(_expression(side))
                sides.append(of(side).as_string(_expression(side)))
            return _all((*guards, syntax.Comparison(operator, *sides)))
        case Presence(term):
            return _all(of(term).presence(_expression(term)))
        case Absence(term):
            return _absence(_expression(term), of(term))
        case SameValue(left, right):
            return _same_value(left, right, of, plain)
    raise GrammarError(Fault("HX3068", "what is asked of a computed value cannot be said in a query here"))


def _absence(expression: ValueExpression, rendering: FunctionRendering) -> syntax.Condition:
    """That an expression has no value: a leaf that it needs is absent, or a part of it has none."""
    if _is_partial(expression) and _is_never_empty(expression):
        string = syntax.FunctionCall("string", (rendering.guarded(expression),))
        return syntax.Comparison("=", string, syntax.StringLiteral(""))
    needed = sorted(path for path in needed_leaves(expression) if not is_own(path))
    absences: list[syntax.Condition] = [syntax.Empty(rendering.path(path)) for path in needed]
    absences += [_absence(part, rendering) for part in _partial_strings(expression)]
    if _may_fail(expression) or not absences:
        raise _unsaid(expression)
    return _joined("or", absences)


def _same_value(
    left: Term,
    right: Term,
    of: Callable[[Term], FunctionRendering],
    plain: Callable[[Term | Text | Number], syntax.Operand],
) -> syntax.Condition:
    """That both terms have the same value, or none has one."""
    there = [condition for term in (left, right) for condition in of(term).presence(_expression(term))]
    equal = computed_condition(Comparison("=", left, right), of, plain)
    if any(not of(term).presence(_expression(term)) for term in (left, right)):
        return _all((*there, equal))  # one is always there
    return _joined(
        "or", [_all((*there, equal)), _all([_absence(_expression(term), of(term)) for term in (left, right)])]
    )


def compared_as_number(operator: Operator, value: syntax.Operand, literal: syntax.NumberLiteral) -> syntax.Condition:
    """``number(value) operator literal``, which is false, and no error, where the value is no number.

    NaN differs from every number, so what is unequal is said to be less or greater, or the value ``NaN`` itself.
    """
    assert not isinstance(value, syntax.NumberValue | syntax.StringLiteral | syntax.NumberLiteral)
    number = syntax.NumberValue(value)
    if operator != "!=":
        return syntax.Comparison(operator, number, literal)
    return syntax.Or(
        (
            syntax.Comparison("<", number, literal),
            syntax.Comparison(">", number, literal),
            syntax.Comparison("=", value, syntax.StringLiteral("NaN")),
        )
    )


def _expression(term: Term) -> ValueExpression:
    return value_expression(term.path) or Leaf(term.path)


def _type(term: Term) -> Type:
    return result_type(_expression(term))


def _all(conditions: Iterable[syntax.Condition]) -> syntax.Condition:
    return _joined("and", list(conditions))


def _joined(name: str, conditions: list[syntax.Condition]) -> syntax.Condition:
    kind = syntax.And if name == "and" else syntax.Or
    flat: list[syntax.Condition] = []
    for condition in conditions:
        flat += condition.conditions if isinstance(condition, kind) else (condition,)
    flat = list(dict.fromkeys(flat))
    return flat[0] if len(flat) == 1 else kind(tuple(flat))


def _unsaid(expression: ValueExpression) -> GrammarError:
    name = expression.function if isinstance(expression, Call) else type(expression).__name__.lower()
    message = f"a value computed by {name} cannot be said in a query here"
    return GrammarError(Fault("HX3068", message, hint="ask for the leaves that it is computed of"))


def conjuncts(condition: syntax.Condition) -> tuple[syntax.Condition, ...]:
    """The conditions that all hold where one does."""
    return condition.conditions if isinstance(condition, syntax.And) else (condition,)

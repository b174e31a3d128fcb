"""The functions of a query: calls, operators, ``if`` and ``switch`` over values."""

from __future__ import annotations

from typing import Final, Protocol

from lark import Token, Tree

from heptox.grammar.function_kinds import OPERATORS, decimal_literal, form_in_query, type_of
from heptox.grammar.query import (
    Argument,
    Case,
    Condition,
    Conditional,
    Data,
    Expression,
    FunctionCall,
    NumberLiteral,
    PathExpression,
    Sequence,
    StringLiteral,
    Switch,
)
from heptox.grammar.query_parts import Part, function_name, without_test
from heptox.grammar.query_refusals import Refusals, RefusedError, Scope
from heptox.pattern import (
    CASTS,
    VALUE_FUNCTIONS,
    Call,
    Constant,
    Leaf,
    Type,
    ValueExpression,
    ValueFunction,
    expression_faults,
)

_PRECEDENCE: Final = (("||",), ("+", "-"), ("*", "div", "idiv", "mod"))
"""The operators, those that bind least first."""

_VALUES: Final = "arguments are paths with one value, literals, and functions"
_CASES: Final = "between other expressions: (q, q), each with its case in where"
_SAME: Final = "write string(value)"


class _Expressions(Protocol):
    """What functions are made of."""

    def expression(self, part: Part, scope: Scope) -> Expression: ...

    def condition(self, part: Part, scope: Scope) -> Condition: ...


class FunctionBuilder:
    """Makes functions over the expressions that ``expressions`` reads."""

    def __init__(self, refusals: Refusals, expressions: _Expressions) -> None:
        self.refusals = refusals
        self._expressions = expressions

    def call(self, tree: Tree[Token], scope: Scope) -> FunctionCall:
        """A function of the table, applied."""
        name = function_name(tree)
        arguments = self._arguments([without_test(part, name) for part in tree.children[1:]], scope)
        return self._applied(tree, name, arguments)

    def is_operation(self, tree: Tree[Token]) -> bool:
        """Whether all operators of a tree compute."""
        return all(str(each) in OPERATORS or each == "||" for each in tree.children[1::2])

    def operation(self, tree: Tree[Token], scope: Scope) -> Argument:
        """Operators with their operands, as they bind."""
        operands = self._arguments(tree.children[::2], scope)
        return self._grouped(tree, list(operands), [str(each) for each in tree.children[1::2]], 0)

    def _grouped(self, tree: Tree[Token], operands: list[Argument], operators: list[str], level: int) -> Argument:
        if not operators:
            return operands[0]
        cuts = [place for place, operator in enumerate(operators) if operator in _PRECEDENCE[level]]
        if not cuts:
            return self._grouped(tree, operands, operators, level + 1)
        place = cuts[-1]
        left = self._grouped(tree, operands[: place + 1], operators[:place], level)
        right = self._grouped(tree, operands[place + 1 :], operators[place + 1 :], level + 1)
        name = operators[place]
        if name != "||":
            return self._applied(tree, name, (left, right))
        before = left.arguments if isinstance(left, FunctionCall) and left.function == "concat" else (left,)
        return self._applied(tree, "concat", (*before, right))

    def conditional(self, tree: Tree[Token], scope: Scope) -> Conditional:
        """``if (condition) then value else otherwise``."""
        _, asked, _, then, _, other = tree.children
        condition = self.refusals.attempt(self._expressions.condition, asked, scope)
        value = self.refusals.attempt(self._expressions.expression, then, scope)
        otherwise = self.refusals.attempt(self._expressions.expression, other, scope)
        if condition is None or value is None or otherwise is None:
            raise RefusedError
        position = self.refusals.position(tree)
        if otherwise == Sequence():
            return Conditional(condition, value, None, position=position)
        for part, each in ((then, value), (other, otherwise)):
            if not isinstance(each, Argument):
                raise self.refusals.refused(part, "if ... then ... else between other than values", _CASES)
        conditional = Conditional(condition, value, otherwise, position=position)
        if type_of(conditional) is Type.ANY:
            raise self.refusals.refused(tree, "if ... then ... else between values of several types", _SAME)
        return conditional

    def switch(self, tree: Tree[Token], scope: Scope) -> Switch:
        """``switch`` from strings to strings."""
        cases: list[Case] = []
        *before, _ = [child for child in tree.children if isinstance(child, Tree)]
        argument = self._argument(before[0], scope)
        if type_of(argument) not in (None, Type.STRING):
            raise self.refusals.refused(before[0], "switch over other than a text", "switch (string(value))")
        for each in before[1:]:
            *codes, value = [child for child in each.children if not _is_keyword(child)]
            found = [self._expressions.expression(part, scope) for part in (*codes, value)]
            texts = [part.value for part in found if isinstance(part, StringLiteral)]
            if len(texts) < len(found):
                raise self.refusals.refused(each, "a case that is no string", 'write case "a" return "b"')
            cases += [Case(code, texts[-1], position=self.refusals.position(each)) for code in texts[:-1]]
        other = self._expressions.expression(tree.children[-1], scope)
        otherwise = None if other == Sequence() else self._as_argument(tree.children[-1], other)
        if otherwise is not None and type_of(otherwise) not in (None, Type.STRING):
            raise self.refusals.refused(tree.children[-1], "a default that is no text", "write string(value)")
        return Switch(argument, tuple(cases), otherwise, position=self.refusals.position(tree))

    def _arguments(self, parts: list[Part], scope: Scope) -> tuple[Argument, ...]:
        found = [self.refusals.attempt(self._argument, part, scope) for part in parts]
        kept = tuple(argument for argument in found if argument is not None)
        if len(kept) < len(found):
            raise RefusedError
        return kept

    def _argument(self, part: Part, scope: Scope) -> Argument:
        return self._as_argument(part, self._expressions.expression(part, scope))

    def _as_argument(self, part: Part, value: Expression) -> Argument:
        if isinstance(value, Conditional) and not isinstance(value.value, Argument):
            raise self.refusals.refused(part, "an element as an argument", _VALUES)
        if not isinstance(value, Argument):
            raise self.refusals.refused(part, "an argument that is no value", _VALUES)
        return value

    def _applied(self, tree: Tree[Token], name: str, arguments: tuple[Argument, ...]) -> FunctionCall:
        """A function with its arguments, refused where they are too few, too many, or of another kind."""
        if name == "string-join":
            fits = len(arguments) == 2 and isinstance(arguments[0], PathExpression | Data)
            if not fits or not isinstance(arguments[1], StringLiteral):
                raise self.refusals.refused(
                    tree, "string-join() of other than a path and a string", 'write string-join(path, ", ")'
                )
            return FunctionCall(name, arguments, position=self.refusals.position(tree))
        if name == "string" and len(arguments) == 1:
            return FunctionCall(name, arguments, position=self.refusals.position(tree))
        for argument in arguments:
            if isinstance(argument, NumberLiteral) and decimal_literal(argument.lexical) is None:
                raise self.refusals.refused(
                    tree, f"{name}() of {argument.lexical}", "write fewer digits, and no exponent"
                )
        types = tuple(map(type_of, arguments))
        if form_in_query(name, types, arguments) is None:
            raise self._refused(tree, name, types)
        call = Call(name, tuple(map(_written, arguments)))
        for fault in expression_faults(call):
            raise self.refusals.refused(tree, fault.message, fault.hint)
        return FunctionCall(name, arguments, position=self.refusals.position(tree))

    def _refused(self, tree: Tree[Token], name: str, types: tuple[Type | None, ...]) -> RefusedError:
        """Refuse a function that does not take so many arguments, or not of these types."""
        what = f"operator '{name}'" if name in OPERATORS else f"{name}()"
        forms = [form for form in VALUE_FUNCTIONS.get(name, ()) if form.takes(len(types))]
        if not forms:
            return self.refusals.refused(tree, f"{what} of {len(types)} arguments", _VALUES)
        wanted = " and ".join(dict.fromkeys(each.value for each in forms[-1].parameters))
        given = " and ".join("untyped value" if one is None else one.value for one in types)
        return self.refusals.refused(tree, f"{what} of {given}", f"it takes {wanted}: write {_cast(forms)}(value)")


def _cast(forms: list[ValueFunction]) -> str:
    """The name of the function that makes of any value what a function takes."""
    cast = CASTS.get(forms[-1].parameters[0])
    return "string" if cast is None else cast.name


def _written(argument: Argument) -> ValueExpression:
    """An argument as far as the table asks what it is: a literal, or any value."""
    match argument:
        case StringLiteral(value) | NumberLiteral(value):
            return Constant(value)
        case _:
            cast = CASTS.get(type_of(argument) or Type.STRING)
            return Leaf(()) if cast is None else Call(cast.name, (Leaf(()),))


def _is_keyword(part: Part) -> bool:
    return isinstance(part, Token) and part.type in ("CASE_KEYWORD", "RETURN_KEYWORD")

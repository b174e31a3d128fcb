"""The conditions of a query: comparisons, existence, ``deep-equal``, ``and`` and ``or``."""

from __future__ import annotations

from typing import Final, Protocol, cast

from lark import Token, Tree

from heptox.grammar.function_kinds import CALLED, decimal_literal, type_of
from heptox.grammar.query import (
    And,
    Comparison,
    Condition,
    Data,
    DeepEqual,
    Empty,
    Exists,
    Expression,
    Function,
    FunctionCall,
    NumberLiteral,
    NumberValue,
    Operand,
    Or,
    PathExpression,
    Sequence,
    StringLiteral,
    TagValue,
)
from heptox.grammar.query_parts import (
    EXISTENCE,
    Part,
    alternatives,
    function_name,
    is_call,
    is_path,
    is_rule,
    primary_of,
    single_step,
    tree_of,
)
from heptox.grammar.query_refusals import Refusals, RefusedError, Scope
from heptox.pattern import FUNCTIONS, ComparisonOperator, Operator, Type

UNCOMPARED: Final = "number() that is compared with no number literal"


class _Expressions(Protocol):
    """What conditions are made of."""

    def expression(self, part: Part, scope: Scope) -> Expression: ...

    def path(self, part: Part, scope: Scope, user: str) -> PathExpression: ...

    def path_value(self, tree: Tree[Token], scope: Scope) -> Expression: ...

    def refused_operation(self, tree: Tree[Token], scope: Scope) -> RefusedError: ...


class ConditionBuilder:
    """Makes conditions over the expressions that ``expressions`` reads."""

    def __init__(self, refusals: Refusals, expressions: _Expressions) -> None:
        self.refusals = refusals
        self._expressions = expressions

    def condition(self, part: Part, scope: Scope) -> Condition:
        """The condition that a part is."""
        tree = tree_of(part)
        match tree.data:
            case "expressions" if len(tree.children) == 1:
                return self.condition(tree.children[0], scope)
            case "disjunction" | "conjunction":
                return self._connected(tree, scope)
            case "comparison":
                return self._comparison(tree, scope)
            case "path":
                return self._path_condition(tree, scope)
            case "signed":
                self._expressions.expression(tree, scope)
                raise self.refusals.refused(tree, "a number as a condition", "predicates hold conditions")
            case "expressions":
                raise self.refusals.refused(tree, "a sequence as a condition", "join conditions with and or or")
            case "flwor":
                raise self.refusals.refused(tree, "for ... return as a condition", "use exists(path[condition])")
            case _:
                raise self._expressions.refused_operation(tree, scope)

    def _connected(self, tree: Tree[Token], scope: Scope) -> And | Or:
        kind = And if tree.data == "conjunction" else Or
        members: list[Condition] = []
        found = [
            self.refusals.attempt(self.condition, child, scope) for child in tree.children if isinstance(child, Tree)
        ]
        self.refusals.all_of([*found])
        for condition in found:
            if isinstance(condition, kind):
                members.extend(condition.conditions)
            elif condition is not None:
                members.append(condition)
        return kind(tuple(members), position=self.refusals.position(tree))

    def _comparison(self, tree: Tree[Token], scope: Scope) -> Comparison:
        left = self.refusals.attempt(self._operand, tree.children[0], scope)
        right = self.refusals.attempt(self._operand, tree.children[2], scope)
        if left is None or right is None:
            raise RefusedError
        operator = cast(Operator, str(tree.children[1]))
        self._check_numbers(operator, left, right)
        self._check_kinds(tree, left, right)
        return Comparison(operator, left, right, position=self.refusals.position(tree))

    def _check_kinds(self, tree: Tree[Token], left: Operand, right: Operand) -> None:
        """Refuse a comparison with a function that XQuery has none for, or that compares numbers with other values."""
        for one, other in ((left, right), (right, left)):
            if not isinstance(one, Function):
                continue
            kind, other_kind = type_of(one), type_of(other)
            if kind is Type.BOOLEAN:
                raise self.refusals.refused(tree, "a comparison with a condition", "write it, or not() of it, alone")
            literal = isinstance(other, NumberLiteral) and decimal_literal(other.lexical) is not None
            if kind is not None and kind.is_numeric and not literal:
                raise self.refusals.refused(
                    tree,
                    "a computed number that is compared with no decimal",
                    "compare it with a number, or string() of it with a text",
                )
            if kind not in (None, Type.STRING) and not kind.is_numeric:
                raise self.refusals.refused(tree, f"a computed {kind.value} that is compared", "write string() of it")
            if kind is Type.STRING and other_kind not in (None, Type.STRING):
                raise self.refusals.refused(tree, "a text that is compared with a number", "write number(value)")

    def _check_numbers(self, operator: Operator, left: Operand, right: Operand) -> None:
        """Refuse ``number()`` where it is compared with anything but a number, and where NaN would be found."""
        for number, other in ((left, right), (right, left)):
            if not isinstance(number, NumberValue):
                continue
            if not isinstance(other, NumberLiteral):
                construct, hint = UNCOMPARED, "write number($x/a) <= 5"
            elif operator == "!=":
                construct = "!= after number(), which is true of what is no number,"
                hint = "write (number($x/a) < 5 or number($x/a) > 5)"
            else:
                continue
            self.refusals.record("HX3002", f"{construct} is outside the query fragment", number.position, hint)
            raise RefusedError

    def _number_value(self, call: Tree[Token], scope: Scope) -> NumberValue:
        """``number(path)``; in a predicate ``number()`` is ``number(.)``."""
        position = self.refusals.position(call)
        if len(call.children) == 1:
            self.refusals.check_context(call, scope, "number() without an argument")
            return NumberValue(PathExpression(".", position=position), position=position)
        if len(call.children) > 2:
            raise self.refusals.refused(
                call, f"number() of {len(call.children) - 1} arguments", "number() takes one path"
            )
        argument = self._expressions.expression(call.children[1], scope)
        if not isinstance(argument, PathExpression | Data | TagValue | Function) or type_of(argument) not in (
            None,
            Type.STRING,
        ):
            raise self.refusals.refused(call.children[1], "number() over an expression that is no path")
        return NumberValue(argument, position=position)

    def _operand(self, part: Part, scope: Scope) -> Operand:
        primary = primary_of(part)
        if is_call(primary, "number"):
            return self._number_value(primary, scope)
        value = self._expressions.expression(part, scope)
        if isinstance(value, PathExpression | Data | TagValue | StringLiteral | NumberLiteral | Function):
            return value
        if isinstance(value, Sequence):
            raise self.refusals.refused(
                part, "a sequence as an operand", "write one comparison for each item, joined with or"
            )
        raise self.refusals.refused(part, "a constructor or for ... return as an operand", "compare paths and literals")

    def _path_condition(self, tree: Tree[Token], scope: Scope) -> Condition:
        single = single_step(tree)
        if isinstance(single, Tree) and single.data == "call":
            name = function_name(single)
            if name in EXISTENCE:
                return self._existence(single, name, scope)
            if name == "deep-equal":
                return self._deep_equality(single, scope)
            if name in FUNCTIONS and _is_string(single.children[-1]):
                return self._function(single, FUNCTIONS[name], scope)
        if isinstance(single, Tree) and single.data == "parenthesised" and single.children and not alternatives(single):
            return self.condition(single.children[0], scope)
        if isinstance(single, Token) and single.type == "NUMBER":
            raise self.refusals.refused(
                tree, "a positional predicate or a number as a condition", "predicates hold conditions"
            )
        value = self._expressions.path_value(tree, scope)
        if isinstance(value, FunctionCall) and type_of(value) is Type.BOOLEAN:
            return value
        if isinstance(value, PathExpression):
            return Exists(value, spelled_out=False, position=self.refusals.position(tree))
        raise self.refusals.refused(
            tree, "a condition that is no comparison and no path", "compare it, or ask exists(path)"
        )

    def _existence(self, call: Tree[Token], name: str, scope: Scope) -> Condition:
        arguments = call.children[1:]
        if len(arguments) != 1:
            raise self.refusals.refused(call, f"{name}() of {len(arguments)} arguments", f"{name}() takes one path")
        negated = primary_of(arguments[0])
        if name == "not" and is_rule(negated, "call") and function_name(negated) in CALLED:
            argument = self._expressions.expression(arguments[0], scope)
            if isinstance(argument, FunctionCall) and type_of(argument) is Type.BOOLEAN:
                return FunctionCall("not", (argument,), position=self.refusals.position(call))
        if name == "not" and not is_path(arguments[0]):
            hint = _negation_hint(self.refusals.attempt(self.condition, arguments[0], scope))
            raise self.refusals.refused(call, "not() over a condition that is no path", hint)
        path = self._expressions.path(arguments[0], scope, f"{name}()")
        position = self.refusals.position(call)
        return Exists(path, position=position) if name == "exists" else Empty(path, position=position)

    def _deep_equality(self, call: Tree[Token], scope: Scope) -> DeepEqual:
        arguments = call.children[1:]
        if len(arguments) != 2:
            raise self.refusals.refused(
                call, f"deep-equal() of {len(arguments)} arguments", "deep-equal() takes two paths"
            )
        left, right = (self._deep_equal_operand(argument, scope) for argument in arguments)
        if isinstance(left, PathExpression) != isinstance(right, PathExpression):
            raise self.refusals.refused(
                call, "deep-equal() of a node and a value", "write data() around both paths, or neither"
            )
        return DeepEqual(left, right, position=self.refusals.position(call))

    def _function(self, call: Tree[Token], function: ComparisonOperator, scope: Scope) -> Comparison:
        """A comparison that is written as a function of a path and a string."""
        name = function.name
        usual = f'write {name}(path, "text")'
        arguments = call.children[1:]
        if len(arguments) != 2:
            raise self.refusals.refused(call, f"{name}() of {len(arguments)} arguments", usual)
        left, right = (self.refusals.attempt(self._operand, argument, scope) for argument in arguments)
        if left is None or right is None:
            raise RefusedError
        if (
            not isinstance(left, PathExpression | Data | TagValue | Function)
            or type_of(left) not in (None, Type.STRING)
            or not isinstance(right, StringLiteral)
        ):
            raise self.refusals.refused(call, f"{name}() of other than a path and a string", usual)
        if function.holds("", right.value):  # as XQuery takes what is absent
            raise self.refusals.refused(call, f"{name}() that is true of what is absent", "leave it out")
        return Comparison(name, left, right, position=self.refusals.position(call))

    def _deep_equal_operand(self, part: Part, scope: Scope) -> PathExpression | Data | TagValue:
        value = self._expressions.expression(part, scope)
        if not isinstance(value, PathExpression | Data | TagValue):
            raise self.refusals.refused(
                part, "deep-equal() over an expression that is no path", "compare a literal with ="
            )
        return value


def _is_string(part: Part) -> bool:
    """Whether an argument is a string literal."""
    primary = primary_of(part)
    return isinstance(primary, Token) and primary.type == "STRING"


def _negation_hint(condition: Condition | None) -> str | None:
    """What to write instead of ``not()`` over a condition. The opposite of a comparison is another condition: a
    comparison asks whether some value meets it, its negation whether none does, also where there is no value."""
    match condition:
        case Exists():
            return "write empty(path)"
        case Empty():
            return "write exists(path)"
        case And() | Or():
            joined = "or" if isinstance(condition, And) else "and"
            return f"join the negations of its parts with {joined}, as far as the fragment can say them"
        case Comparison("=", PathExpression() | Data(), StringLiteral()):
            return (
                "it cannot be said in the fragment, but where the path is there exactly once: != asks for some other "
                "value, not for none that is equal"
            )
    return None

"""Text of the query fragment -> syntax tree (``semantics.md`` section 7; ``query.lark`` is the grammar).

The grammar reads more than the fragment; what it read is sorted here. A construct outside the fragment is refused by
its name and position, all of them in one run.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, TypeAlias, TypeGuard, cast

from lark import Token, Tree

from heptox.errors import Fault, GrammarError, Position
from heptox.grammar.parsing import fault_at, offset_position, parse_text, position_of
from heptox.grammar.query import (
    COLLECTION,
    And,
    AttributeConstructor,
    Comparison,
    Condition,
    Data,
    DeepEqual,
    DirectAttribute,
    ElementConstructor,
    Empty,
    Exists,
    Expression,
    Flwor,
    For,
    Let,
    NumberLiteral,
    NumberValue,
    Operand,
    Or,
    OrderKey,
    PathExpression,
    Sequence,
    Step,
    StringLiteral,
    TagValue,
    TextConstructor,
)
from heptox.grammar.query_literals import NO_CHARACTER, literal_value
from heptox.grammar.query_outside import ARITHMETIC, NOTHING, function_hint, is_infix, outside_name
from heptox.grammar.tag_value import tag_value_argument
from heptox.pattern import Operator

Part: TypeAlias = Tree[Token] | Token

_KIND_TESTS: Final = frozenset(("node", "comment", "element", "attribute", "processing-instruction", "document-node"))
_EXISTENCE: Final = frozenset({"exists", "empty", "not"})
_CONDITIONS: Final = _EXISTENCE | {"deep-equal"}
"""The functions that are conditions."""
_UNCOMPARED: Final = "number() that is compared with no number literal"
_START: Final = {COLLECTION: COLLECTION, ".": "the context item"}
_AXES: Final = {"child", "attribute", "descendant"}


@dataclass(frozen=True, slots=True)
class _Scope:
    """What an expression can refer to: the variables that are bound, and whether there is a context node."""

    variables: frozenset[str] = frozenset()
    in_predicate: bool = False

    def bind(self, variable: str) -> _Scope:
        return replace(self, variables=self.variables | {variable})


class _RefusedError(Exception):
    """A fault was recorded; the construct around it goes on without this part."""


def parse_query(text: str, file: str | None = None) -> Expression:
    """The syntax tree of a query. ``file`` says where the text comes from, for messages.

    Raises :class:`GrammarError` with all faults that could be found: HX3001 text that does not follow the grammar,
    HX3002 a construct outside the fragment (its name, position and what to write instead), HX3003 nested too deeply,
    HX3004 a variable that is not bound, HX3005 a malformed reference, HX3006 tags or attributes that do not fit.

    >>> parse_query("//Patient[@ID = 'p1']/Name").steps[0].names
    ('Patient',)
    """
    return _remembered(text, file) if len(text) <= _SHORT else _parsed(text, file)


def _parsed(text: str, file: str | None) -> Expression:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if found := NO_CHARACTER.search(text):
        position = offset_position(text, found.start(), file)
        raise GrammarError(fault_at("HX3001", f"U+{ord(found[0]):04X} is no XML character", text, position))
    builder = _Builder(text, file)
    tree = parse_text("query.lark", text, file, outside=builder.outside_fault)
    return builder.build(tree)


_SHORT: Final = 10_000
"""How long a text may be whose syntax tree is kept for the next time that it is asked."""
_remembered: Final = lru_cache(maxsize=64)(_parsed)


class _Builder:
    """Sorts what the grammar read. Faults are collected; a method whose part is refused raises ``_RefusedError``."""

    def __init__(self, text: str, file: str | None) -> None:
        self.text = text
        self.file = file
        self.faults: list[Fault] = []

    def build(self, tree: Tree[Token]) -> Expression:
        expression = self.try_expression(tree.children[0], _Scope())
        if expression is None or self.faults:
            raise GrammarError(sorted(dict.fromkeys(self.faults), key=lambda fault: fault.position or Position(0, 0)))
        return expression

    # -- faults ------------------------------------------------------------------------------------------------

    def position(self, part: Part) -> Position | None:
        return position_of(part, self.file)

    def record(self, code: str, message: str, position: Position | None, hint: str | None = None) -> None:
        self.faults.append(fault_at(code, message, self.text, position, hint))

    def refused(self, part: Part, construct: str, hint: str | None = None) -> _RefusedError:
        """Record that ``construct`` is outside the fragment; to be raised."""
        self.record("HX3002", f"{construct} is outside the query fragment", self.position(part), hint or NOTHING)
        return _RefusedError()

    def outside_fault(self, token: Token) -> Fault:
        """The fault of an ``OUTSIDE_`` token."""
        construct, hint = outside_name(token)
        message = f"{construct} is outside the query fragment"
        return fault_at("HX3002", message, self.text, self.position(token), hint or NOTHING)

    def refused_token(self, token: Token) -> _RefusedError:
        self.faults.append(self.outside_fault(token))
        return _RefusedError()

    def all_of(self, results: Collection[object]) -> None:
        """Go on only if nothing among ``results`` was refused (``None``)."""
        if any(result is None for result in results):
            raise _RefusedError

    # -- expressions -------------------------------------------------------------------------------------------

    def expression(self, part: Part, scope: _Scope) -> Expression:
        tree = _tree(part)
        match tree.data:
            case "expressions":
                return self.sequence(tree, scope)
            case "flwor":
                return self.flwor(tree, scope)
            case "path":
                return self.path_value(tree, scope)
            case "signed":
                return self.signed(tree, scope)
            case "disjunction" | "conjunction" | "comparison":
                self.try_condition(tree, scope)
                raise self.refused(tree, "a condition as a value", "conditions stand in where and in predicates")
            case _:
                raise self.refused_operation(tree, scope)

    def try_expression(self, part: Part, scope: _Scope) -> Expression | None:
        try:
            return self.expression(part, scope)
        except _RefusedError:
            return None

    def sequence(self, tree: Tree[Token], scope: _Scope) -> Expression:
        items = [self.try_expression(child, scope) for child in tree.children]
        kept = tuple(item for item in items if item is not None)
        if len(kept) < len(items):
            raise _RefusedError
        return kept[0] if len(kept) == 1 else Sequence(kept, position=self.position(tree))

    def enclosed(self, tree: Tree[Token], scope: _Scope) -> Expression:
        """``{ expressions }``; nothing between the braces is ``()``."""
        found = [child for child in tree.children if isinstance(child, Tree)]
        return self.expression(found[0], scope) if found else Sequence(position=self.position(tree))

    def refused_operation(self, tree: Tree[Token], scope: _Scope) -> _RefusedError:
        """Refuse a union or an operator that the fragment does not have, and whatever is refused in its operands."""
        for child in tree.children:
            if isinstance(child, Tree):
                self.try_expression(child, scope)
            elif child.type.startswith("OUTSIDE"):
                self.faults.append(self.outside_fault(child))
                if not is_infix(child):
                    break
        if tree.data == "union":
            return self.refused(tree, "a union of paths", "write (a | b) as a step, or (q, q)")
        return _RefusedError()

    # -- for, let, where, order by, return -----------------------------------------------------------------------

    def flwor(self, tree: Tree[Token], scope: _Scope) -> Flwor:
        clauses: list[For | Let | None] = []
        where: list[Condition | None] = []
        order: list[OrderKey | None] = []
        for clause in tree.children[:-2]:
            clause = _tree(clause)
            if clause.data == "outside_clause":
                self.faults.append(self.outside_fault(cast(Token, clause.children[0])))
                clauses.append(None)
            elif clause.data == "where_clause":
                self.check_order(clause, [*where, *order], "where after where or order by", "join conditions with and")
                where.append(self.try_condition(clause.children[1], scope))
            elif clause.data == "order_clause":
                self.check_order(clause, order, "a second order by", "write order by key, key")
                order += [self.order_key(_tree(key), scope) for key in clause.children[1:]]
            else:
                self.check_order(clause, [*where, *order], "a clause after where or order by", "bind variables first")
                for binding in clause.children[1:]:
                    scope = self.binding(_tree(binding), clause.data == "for_clause", scope, clauses)
        result = self.expression(tree.children[-1], scope)
        self.all_of([*clauses, *where, *order])
        return Flwor(
            tuple(clause for clause in clauses if clause is not None),
            where[0] if where else None,
            result,
            tuple(key for key in order if key is not None),
            position=self.position(tree),
        )

    def check_order(self, clause: Tree[Token], before: Collection[object], construct: str, hint: str) -> None:
        if before:
            self.record("HX3002", f"{construct} is outside the query fragment", self.position(clause), hint)

    def binding(self, tree: Tree[Token], is_for: bool, scope: _Scope, clauses: list[For | Let | None]) -> _Scope:
        """Add the clause of one variable (``None`` where it is refused); the scope after it."""
        variable = _token(tree.children[0])
        for child in tree.children:
            if isinstance(child, Token) and child.type == "OUTSIDE_BINDING":
                self.faults.append(self.outside_fault(child))
        clause: For | Let | None = None
        try:
            self.check_name(variable, variable.lstrip("$"))
            source = self.path(tree.children[-1], scope, "for" if is_for else "let")
            position = self.position(variable)
            name = str(variable)
            clause = For(name, source, position=position) if is_for else Let(name, source, position=position)
        except _RefusedError:
            pass
        clauses.append(clause)
        return scope.bind(str(variable))

    def order_key(self, tree: Tree[Token], scope: _Scope) -> OrderKey | None:
        modifiers = [child for child in tree.children[1:] if isinstance(child, Token)]
        try:
            if modifiers and modifiers[0].type == "OUTSIDE_ORDER":
                raise self.refused_token(modifiers[0])
            key = self.expression(tree.children[0], scope)
            if not isinstance(key, PathExpression | Data):
                raise self.refused(tree, "an order by key that is no path", "order by takes paths")
        except _RefusedError:
            return None
        descending = bool(modifiers) and modifiers[0].type == "DESCENDING_KEYWORD"
        return OrderKey(key, descending, position=self.position(tree))

    # -- conditions --------------------------------------------------------------------------------------------

    def try_condition(self, part: Part, scope: _Scope) -> Condition | None:
        try:
            return self.condition(part, scope)
        except _RefusedError:
            return None

    def condition(self, part: Part, scope: _Scope) -> Condition:
        tree = _tree(part)
        match tree.data:
            case "expressions" if len(tree.children) == 1:
                return self.condition(tree.children[0], scope)
            case "disjunction" | "conjunction":
                return self.connected(tree, scope)
            case "comparison":
                return self.comparison(tree, scope)
            case "path":
                return self.path_condition(tree, scope)
            case "signed":
                self.signed(tree, scope)
                raise self.refused(tree, "a number as a condition", "predicates hold conditions")
            case "expressions":
                raise self.refused(tree, "a sequence as a condition", "join conditions with and or or")
            case "flwor":
                raise self.refused(tree, "for ... return as a condition", "use exists(path[condition])")
            case _:
                raise self.refused_operation(tree, scope)

    def connected(self, tree: Tree[Token], scope: _Scope) -> And | Or:
        kind = And if tree.data == "conjunction" else Or
        members: list[Condition] = []
        found = [self.try_condition(child, scope) for child in tree.children if isinstance(child, Tree)]
        self.all_of([*found])
        for condition in found:
            if isinstance(condition, kind):
                members.extend(condition.conditions)
            elif condition is not None:
                members.append(condition)
        return kind(tuple(members), position=self.position(tree))

    def comparison(self, tree: Tree[Token], scope: _Scope) -> Comparison:
        left = self.try_operand(tree.children[0], scope)
        right = self.try_operand(tree.children[2], scope)
        if left is None or right is None:
            raise _RefusedError
        operator = cast(Operator, str(tree.children[1]))
        self.check_numbers(operator, left, right)
        return Comparison(operator, left, right, position=self.position(tree))

    def check_numbers(self, operator: Operator, left: Operand, right: Operand) -> None:
        """Refuse ``number()`` where it is compared with anything but a number, and where NaN would be found."""
        for number, other in ((left, right), (right, left)):
            if not isinstance(number, NumberValue):
                continue
            if not isinstance(other, NumberLiteral):
                construct, hint = _UNCOMPARED, "write number($x/a) <= 5"
            elif operator == "!=":
                construct = "!= after number(), which is true of what is no number,"
                hint = "write (number($x/a) < 5 or number($x/a) > 5)"
            else:
                continue
            self.record("HX3002", f"{construct} is outside the query fragment", number.position, hint)
            raise _RefusedError

    def number_value(self, call: Tree[Token], scope: _Scope) -> NumberValue:
        """``number(path)``; in a predicate ``number()`` is ``number(.)``."""
        position = self.position(call)
        if len(call.children) == 1:
            self.check_context(call, scope, "number() without an argument")
            return NumberValue(PathExpression(".", position=position), position=position)
        if len(call.children) > 2:
            raise self.refused(call, f"number() of {len(call.children) - 1} arguments", "number() takes one path")
        argument = self.expression(call.children[1], scope)
        if not isinstance(argument, PathExpression | Data | TagValue):
            raise self.refused(call.children[1], "number() over an expression that is no path")
        return NumberValue(argument, position=position)

    def try_operand(self, part: Part, scope: _Scope) -> Operand | None:
        try:
            primary = _primary(part)
            if _is_call(primary, "number"):
                return self.number_value(primary, scope)
            value = self.expression(part, scope)
            if isinstance(value, PathExpression | Data | TagValue | StringLiteral | NumberLiteral):
                return value
            if isinstance(value, Sequence):
                raise self.refused(
                    part, "a sequence as an operand", "write one comparison for each item, joined with or"
                )
            raise self.refused(part, "a constructor or for ... return as an operand", "compare paths and literals")
        except _RefusedError:
            return None

    def path_condition(self, tree: Tree[Token], scope: _Scope) -> Condition:
        single = _single(tree)
        if isinstance(single, Tree) and single.data == "call":
            name = _function_name(single)
            if name in _EXISTENCE:
                return self.existence(single, name, scope)
            if name == "deep-equal":
                return self.deep_equality(single, scope)
        if isinstance(single, Tree) and single.data == "parenthesised" and single.children and not _choice(single):
            return self.condition(single.children[0], scope)
        if isinstance(single, Token) and single.type == "NUMBER":
            raise self.refused(tree, "a positional predicate or a number as a condition", "predicates hold conditions")
        value = self.path_value(tree, scope)
        if isinstance(value, PathExpression):
            return Exists(value, spelled_out=False, position=self.position(tree))
        raise self.refused(tree, "a condition that is no comparison and no path", "compare it, or ask exists(path)")

    def existence(self, call: Tree[Token], name: str, scope: _Scope) -> Condition:
        arguments = call.children[1:]
        if len(arguments) != 1:
            raise self.refused(call, f"{name}() of {len(arguments)} arguments", f"{name}() takes one path")
        if name == "not" and not _is_path(arguments[0]):
            hint = _negation_hint(self.try_condition(arguments[0], scope))
            raise self.refused(call, "not() over a condition that is no path", hint)
        path = self.path(arguments[0], scope, f"{name}()")
        position = self.position(call)
        return Exists(path, position=position) if name == "exists" else Empty(path, position=position)

    def deep_equality(self, call: Tree[Token], scope: _Scope) -> DeepEqual:
        arguments = call.children[1:]
        if len(arguments) != 2:
            raise self.refused(call, f"deep-equal() of {len(arguments)} arguments", "deep-equal() takes two paths")
        left, right = (self.deep_equal_operand(argument, scope) for argument in arguments)
        if isinstance(left, PathExpression) != isinstance(right, PathExpression):
            raise self.refused(call, "deep-equal() of a node and a value", "write data() around both paths, or neither")
        return DeepEqual(left, right, position=self.position(call))

    def deep_equal_operand(self, part: Part, scope: _Scope) -> PathExpression | Data | TagValue:
        value = self.expression(part, scope)
        if not isinstance(value, PathExpression | Data | TagValue):
            raise self.refused(part, "deep-equal() over an expression that is no path", "compare a literal with =")
        return value

    # -- paths -------------------------------------------------------------------------------------------------

    def path(self, part: Part, scope: _Scope, user: str) -> PathExpression:
        """A path where ``user`` needs one."""
        value = self.expression(part, scope)
        if not isinstance(value, PathExpression):
            raise self.refused(
                part,
                f"{user} over an expression that is no path",
                f"{user} takes a path; write the rest where it is used",
            )
        return value

    def path_value(self, tree: Tree[Token], scope: _Scope) -> Expression:
        """A path, or what else the grammar reads as a path of one step."""
        single = _single(tree)
        if isinstance(single, Token) and single.type in ("STRING", "NUMBER", "TAG_VALUE"):
            return self.literal(single, scope)
        if isinstance(single, Tree) and not _starts_path(single):
            return self.primary(single, scope)
        position = self.position(tree)
        start, rest = self.path_start(tree, scope)
        groups = _grouped(rest)
        is_data = bool(groups) and _is_call(groups[-1][1], "data") and len(groups[-1][1].children) == 1
        steps = [self.try_step(slash, primary, predicates, scope)
                 for slash, primary, predicates in (groups[:-1] if is_data else groups)]  # fmt: skip
        kept = tuple(step for step in steps if step is not None)
        if len(kept) < len(steps):
            raise _RefusedError
        if is_data and groups[-1][2]:
            raise self.refused(groups[-1][2][0], "a predicate on data()", "write path[condition]/data()")
        if start == "/" and not kept:
            raise self.refused(tree, "the document node alone", "begin with /name or //name")
        path = PathExpression(start, kept, position=position)
        return Data(path, position=position) if is_data else path

    def path_start(self, tree: Tree[Token], scope: _Scope) -> tuple[str, list[Part]]:
        """Where a path starts, and the rest of it, each step after its slash."""
        children: list[Part] = list(tree.children)
        first = children[0]
        if isinstance(first, Token) and first.type in ("SLASH", "DOUBLE_SLASH"):
            return "/", children
        if isinstance(first, Token) and first.type == "VARIABLE":
            self.check_variable(first, scope)
            start, rest = str(first), children[1:]
        elif _is_call(first, "collection") and len(first.children) == 1:
            start, rest = COLLECTION, children[1:]
        elif isinstance(first, Token) and first.type == "CONTEXT_ITEM":
            self.check_context(first, scope, "the context item .")
            start, rest = ".", children[1:]
        else:
            start, rest = ".", [Token("SLASH", "/"), *children]
            if isinstance(first, Tree) and not _starts_path(first):
                self.primary(first, scope)
            is_path = isinstance(first, Tree) and _starts_path(first)
            if not is_path or not scope.in_predicate:
                # It is refused, with what is wrong in its predicates; else these are read with their step.
                for predicate in rest:
                    if _is(predicate, "predicate"):
                        self.try_condition(predicate.children[0], replace(scope, in_predicate=True))
            if not is_path:
                raise self.refused(
                    first, "an expression as the beginning of a path", "bind it with for, and start there"
                )
            self.step(Token("SLASH", "/"), first)  # an axis outside the fragment says more than where the path stands
            self.check_context(first, scope, "a relative path outside a predicate")
        if rest and _is(rest[0], "predicate"):
            raise self.refused(rest[0], f"a predicate on {_START.get(start, 'a variable')}", "use where, or and")
        return start, rest

    def check_variable(self, token: Token, scope: _Scope) -> None:
        if str(token) not in scope.variables:
            known = ", ".join(sorted(scope.variables))
            hint = f"bound here: {known}" if known else "bind it with for"
            self.record("HX3004", f"variable {token} is not bound", self.position(token), hint)
            raise _RefusedError

    def check_context(self, part: Part, scope: _Scope, construct: str) -> None:
        if not scope.in_predicate:
            raise self.refused(part, construct, "begin the path with /, // or a variable")

    def try_step(self, slash: Token, primary: Part, predicates: list[Tree[Token]], scope: _Scope) -> Step | None:
        try:
            step = self.step(slash, primary)
        except _RefusedError:
            step = None
        inside = replace(scope, in_predicate=True)
        conditions = [self.try_condition(predicate.children[0], inside) for predicate in predicates]
        if step is None or any(condition is None for condition in conditions):
            return None
        return replace(step, predicates=tuple(condition for condition in conditions if condition is not None))

    def step(self, slash: Token, part: Part) -> Step:
        deep = slash.type == "DOUBLE_SLASH"
        position = self.position(part)
        if _is(part, "axis_step"):
            axis = str(part.children[0]).removesuffix("::").rstrip()
            test = part.children[1]
            if axis not in _AXES or not (_is(test, "name_test") or _is_call(test, "text")):
                raise self.refused(part, f"axis {axis}::", "steps go down: a, //a, @a")
            if axis == "attribute":
                part = Tree("attribute_test", [test], part.meta)
            else:
                deep, part = deep or axis == "descendant", test
        choice = _choice(part)
        if _is(part, "exception"):
            return self.exception(part, position, deep=deep)
        if choice:
            names = tuple(self.name_of(member) for member in choice)
            if len({member.data for member in choice}) > 1 or (len(names) > 1 and "*" in names):
                raise self.refused(
                    part, "a step that mixes names with attributes or wildcards", "write (a | b) or (@a | @b)"
                )
            attribute = choice[0].data == "attribute_test"
        elif _is_call(part, "text") and len(part.children) == 1:
            names, attribute = ("text()",), False
        else:
            raise self.refused_step(part)
        if attribute:
            return Step("descendant-attribute" if deep else "attribute", names, position=position)
        return Step("descendant" if deep else "child", names, position=position)

    def exception(self, part: Tree[Token], position: Position | None, *, deep: bool) -> Step:
        """A step to all children but those of some names."""
        if deep:
            raise self.refused(part, "(* except ...) after //", "only children can be excepted: $v/(* except (a | b))")
        names = [child for child in part.children if isinstance(child, Token) and child.type == "NAME"]
        for name in names:
            self.check_name(name, str(name))
        return Step("child", ("*",), excluded=tuple(map(str, names)), position=position)

    def refused_step(self, part: Part) -> _RefusedError:
        if isinstance(part, Token):
            what = {"CONTEXT_ITEM": "the step .", "VARIABLE": "a variable as a step"}.get(
                part.type, "a literal as a step"
            )
            return self.refused(part, what, "leave the step out" if part.type == "CONTEXT_ITEM" else None)
        if part.data == "call":
            return self.refused_call(part)
        if part.data == "outside_construct":
            return self.refused_token(cast(Token, part.children[0]))
        if part.data == "parenthesised":
            return self.refused(part, "a parenthesised expression as a step", "only names can be alternatives: (a | b)")
        return self.refused(part, "a constructor as a step")

    def name_of(self, test: Tree[Token]) -> str:
        """The name of a ``name_test`` or ``attribute_test``."""
        inner = test.children[0] if test.data == "attribute_test" else test
        token = cast(Token, cast("Tree[Token]", inner).children[0])
        self.check_name(token, str(token))
        return str(token)

    def check_name(self, part: Part, name: str) -> None:
        if ":" in name:
            raise self.refused(part, f"prefixed name {name}", "documents have no namespaces here")

    # -- literals, functions and constructors --------------------------------------------------------------------

    def literal(self, token: Token, scope: _Scope) -> Expression:
        position = self.position(token)
        if token.type == "NUMBER":
            return NumberLiteral(str(token), position=position)
        if token.type == "STRING":
            quote = token[0]
            value = self.resolved(token, 1, token[1:-1], quote)
            return StringLiteral(value, position=position)
        argument = tag_value_argument(token)
        if argument is None:
            raise self.refused(token, "function parse-xml-fragment()", "a tag's value is read in its printed form only")
        if argument == ".":
            self.check_context(token, scope, "the context item .")
        elif argument not in scope.variables:
            self.check_variable(Token.new_borrow_pos("VARIABLE", argument, token), scope)
        return TagValue(PathExpression(argument, position=position), position=position)

    def signed(self, tree: Tree[Token], scope: _Scope) -> NumberLiteral:
        """A number with one sign; other signs are arithmetic."""
        value = self.expression(tree.children[-1], scope)
        number = _single(_tree(tree.children[-1]))
        if not isinstance(value, NumberLiteral) or len(tree.children) > 2 or not isinstance(number, Token):
            raise self.refused(tree, f"arithmetic operator '{tree.children[0]}'", ARITHMETIC)
        return NumberLiteral(f"{tree.children[0]}{number}", position=self.position(tree))

    def primary(self, tree: Tree[Token], scope: _Scope) -> Expression:
        position = self.position(tree)
        match tree.data:
            case "parenthesised":
                return self.expression(tree.children[0], scope) if tree.children else Sequence(position=position)
            case "call":
                return self.call(tree, scope)
            case "attribute_constructor":
                name = _token(tree.children[1])
                self.check_name(name, str(name))
                if name == "xmlns":
                    raise self.refused(name, "namespace declaration", "documents have no namespaces here")
                return AttributeConstructor(str(name), self.enclosed(tree, scope), position=position)
            case "text_constructor":
                return TextConstructor(self.enclosed(tree, scope), position=position)
            case "element" | "inner_element":
                return self.element(tree, scope)
            case _:
                raise self.refused_step(tree)

    def call(self, tree: Tree[Token], scope: _Scope) -> Expression:
        name = _function_name(tree)
        if name == "data" and len(tree.children) == 1:
            self.check_context(tree, scope, "data() without an argument")
            return Data(PathExpression(".", position=self.position(tree)), position=self.position(tree))
        if name == "data" and len(tree.children) == 2:
            return Data(self.path(tree.children[1], scope, "data()"), position=self.position(tree))
        if name == "number":
            raise self.refused(tree, _UNCOMPARED, "write number($x/a) <= 5")
        if name in _CONDITIONS:
            self.try_condition(Tree("path", [tree], tree.meta), scope)
            raise self.refused(tree, f"{name}() as a value", "conditions stand in where and in predicates")
        raise self.refused_call(tree)

    def refused_call(self, tree: Tree[Token]) -> _RefusedError:
        name = _function_name(tree)
        if name in _KIND_TESTS:
            return self.refused(tree, f"node test {name}()", "use a name, *, @* or text()")
        return self.refused(tree, f"function {name}()", function_hint(name))

    def element(self, tree: Tree[Token], scope: _Scope) -> ElementConstructor:
        children = tree.children
        name = _token(children[1])
        names = [child for child in children if isinstance(child, Token) and child.type == "NAME"]
        if len(names) == 2 and names[0] != names[1]:
            message = f"the end tag </{names[1]}> does not close <{names[0]}>"
            self.record("HX3006", message, self.position(names[1]), f"write </{names[0]}>")
        results: list[object] = []
        try:
            self.check_name(name, str(name))
        except _RefusedError:
            results.append(None)
        attributes = [self.attribute(child, scope) for child in children if _is(child, "direct_attribute")]
        self.check_attributes([child for child in children if _is(child, "direct_attribute")])
        content = self.content(children, scope)
        self.all_of([*results, *attributes, *content])
        return ElementConstructor(
            str(name),
            tuple(attribute for attribute in attributes if attribute is not None),
            tuple(part for part in content if part is not None),
            position=self.position(tree),
        )

    def check_attributes(self, attributes: list[Tree[Token]]) -> None:
        seen: set[str] = set()
        for attribute in attributes:
            name = _token(attribute.children[0])
            if name in seen:
                self.record("HX3006", f"attribute {name} stands twice", self.position(name))
            seen.add(str(name))

    def attribute(self, tree: Tree[Token], scope: _Scope) -> DirectAttribute | None:
        name, quote = _token(tree.children[0]), _token(tree.children[1])
        results: list[str | Expression | None] = []
        try:
            if name == "xmlns" or name.startswith("xmlns:"):
                raise self.refused(name, "namespace declaration", "documents have no namespaces here")
            self.check_name(name, str(name))
        except _RefusedError:
            results.append(None)
        for part in tree.children[2:-1]:
            if isinstance(part, Tree):
                results.append(self.try_enclosed(part, scope))
            else:
                # XML turns line ends and tabs in an attribute into spaces; references to them stay.
                raw = re.sub(r"[\t\n]", " ", part)
                results.append(self.try_resolved(part, raw, f"{quote}{{}}"))
        parts = tuple(part for part in results if part is not None)
        if len(parts) < len(results):
            return None
        return DirectAttribute(str(name), parts, position=self.position(name))

    def content(self, children: list[Part], scope: _Scope) -> list[str | Expression | None]:
        """Literal text, expressions and nested elements; ``None`` for what is refused."""
        content: list[str | Expression | None] = []
        run: list[Token] = []
        for child in [*children, None]:
            if isinstance(child, Token) and child.type in ("ELEMENT_TEXT", "CDATA_SECTION"):
                run.append(child)
                continue
            content.extend(self.literal_text(run))
            run = []
            if _is(child, "content_expression"):
                content.append(self.try_enclosed(child, scope))
            elif _is(child, "inner_element"):
                content.append(self.try_element(child, scope))
            elif isinstance(child, Token) and child.type == "OUTSIDE_CONTENT":
                self.faults.append(self.outside_fault(child))
                content.append(None)
        return content

    def literal_text(self, run: list[Token]) -> list[str | None]:
        """The text of a run of literal content, nothing where it is boundary whitespace."""
        if all(token.type == "ELEMENT_TEXT" and not token.strip(" \t\n") for token in run):
            return []
        texts = [
            token[len("<![CDATA[") : -len("]]>")]
            if token.type == "CDATA_SECTION"
            else self.try_resolved(token, str(token), "{}")
            for token in run
        ]
        if any(text is None for text in texts):
            return [None]
        joined = "".join(text for text in texts if text is not None)
        return [joined] if joined else []

    def try_enclosed(self, tree: Tree[Token], scope: _Scope) -> Expression | None:
        try:
            return self.enclosed(tree, scope)
        except _RefusedError:
            return None

    def try_element(self, tree: Tree[Token], scope: _Scope) -> ElementConstructor | None:
        try:
            return self.element(tree, scope)
        except _RefusedError:
            return None

    def try_resolved(self, token: Token, raw: str, doubled: str) -> str | None:
        try:
            return self.resolved(token, 0, raw, doubled)
        except _RefusedError:
            return None

    def resolved(self, token: Token, offset: int, raw: str, doubled: str) -> str:
        """The value of literal text that stands ``offset`` characters after the beginning of its token."""
        value, malformed = literal_value(raw, doubled)
        for place in malformed:
            position = offset_position(self.text, (token.start_pos or 0) + offset + place, self.file)
            self.record("HX3005", "malformed or unknown reference", position, "write &amp; for the character &")
        if malformed:
            raise _RefusedError
        return value


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


# -- looking at what the grammar read ------------------------------------------------------------------------------


def _tree(part: Part) -> Tree[Token]:
    return part if isinstance(part, Tree) else Tree("path", [part])


def _token(part: Part) -> Token:
    return cast(Token, part)


def _is(part: Part | None, *rules: str) -> TypeGuard[Tree[Token]]:
    return isinstance(part, Tree) and part.data in rules


def _function_name(call: Tree[Token]) -> str:
    return str(call.children[0]).removeprefix("fn:")


def _is_call(part: Part | None, name: str) -> TypeGuard[Tree[Token]]:
    return _is(part, "call") and _function_name(part) == name


def _single(tree: Tree[Token]) -> Part | None:
    """The only step of a path, when it has neither slashes nor predicates."""
    return tree.children[0] if len(tree.children) == 1 else None


def _primary(part: Part) -> Part | None:
    """What an expression of one step is, out of the parentheses around it."""
    tree = _tree(part)
    if tree.data == "expressions" and len(tree.children) == 1:
        return _primary(tree.children[0])
    single = _single(tree) if tree.data == "path" else None
    return _primary(single.children[0]) if _is(single, "parenthesised") and single.children else single


def _choice(part: Part) -> list[Tree[Token]]:
    """The alternatives of a step: those of ``(a | b)`` or ``(@a | @b)``, or the one of a plain test; none else."""
    if _is(part, "name_test", "attribute_test"):
        return [part]
    if not _is(part, "parenthesised") or not part.children:
        return []
    inner = _tree(part.children[0])
    if len(inner.children) != 1:
        return []
    only = inner.children[0]
    members = [_single(_tree(child)) for child in only.children] if _is(only, "union") else [_single(_tree(only))]
    tests = [member for member in members if _is(member, "name_test", "attribute_test")]
    return tests if len(tests) == len(members) else []


def _starts_path(tree: Tree[Token]) -> bool:
    """Whether a primary is a step, so that a relative path may start with it."""
    return bool(_choice(tree)) or tree.data in ("axis_step", "exception") or _is_call(tree, "text")


def _is_path(part: Part) -> bool:
    """Whether an argument is written as a path (or a primary), not as a condition."""
    tree = _tree(part)
    if tree.data == "expressions" and len(tree.children) == 1:
        return _is_path(tree.children[0])
    single = _single(tree)
    if _is(single, "parenthesised") and single.children and not _choice(single):
        return _is_path(single.children[0])
    return tree.data == "path" and not (_is(single, "call") and _function_name(single) in _CONDITIONS)


def _grouped(rest: list[Part]) -> list[tuple[Token, Part, list[Tree[Token]]]]:
    """Slash, primary and predicates of each step."""
    groups: list[tuple[Token, Part, list[Tree[Token]]]] = []
    parts = iter(rest)
    for part in parts:
        if _is(part, "predicate"):
            groups[-1][2].append(part)
        else:
            groups.append((cast(Token, part), next(parts), []))
    return groups

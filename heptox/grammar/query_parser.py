"""Text of the query fragment -> syntax tree (``semantics.md`` section 7; ``query.lark`` is the grammar).

The grammar reads more than the fragment; what it read is sorted here. A construct outside the fragment is refused by
its name and position, all of them in one run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, TypeVar

from lark import Token, Tree

from heptox.checks import Check, no_check
from heptox.errors import Fault, GrammarError
from heptox.grammar.function_kinds import CALLED
from heptox.grammar.name_table import NO_NAMES, NameTable
from heptox.grammar.parsing import fault_at, offset_position, parse_text, position_of
from heptox.grammar.query import (
    COLLECTION,
    AttributeConstructor,
    Condition,
    Data,
    Expression,
    Flwor,
    For,
    Let,
    NodeIdentity,
    NumberLiteral,
    OrderKey,
    PathExpression,
    Sequence,
    Step,
    StringLiteral,
    TagValue,
    TextConstructor,
    absolute_elsewhere,
)
from heptox.grammar.query_conditions import UNCOMPARED, ConditionBuilder
from heptox.grammar.query_elements import IN_PROLOG, ElementBuilder
from heptox.grammar.query_functions import FunctionBuilder
from heptox.grammar.query_outside import ARITHMETIC, is_infix
from heptox.grammar.query_parts import (
    CONDITIONS,
    Part,
    declared_variable,
    function_name,
    grouped_steps,
    is_call,
    is_rule,
    outside_token,
    single_step,
    starts_path,
    token_of,
    tree_of,
)
from heptox.grammar.query_prolog import PrologError, declared_namespaces
from heptox.grammar.query_refusals import Refusals, RefusedError, Scope
from heptox.grammar.query_steps import StepBuilder
from heptox.grammar.tag_value import tag_value_argument
from heptox.xml import NO_CHARACTER

_Built = TypeVar("_Built")
_START: Final = {COLLECTION: COLLECTION, ".": "the context item"}


def parse_query(text: str, file: str | None = None, check: Check = no_check, names: NameTable = NO_NAMES) -> Expression:
    """The syntax tree of a query. ``file`` says where the text comes from, for messages; ``check`` is called again and
    again while a long text is read; ``names`` says what prefixes stand for that the text does not declare itself.

    Raises :class:`GrammarError` with all faults that could be found, a hundred at most: HX3001 text that does not
    follow the grammar, HX3002 a construct outside the fragment (its name, position and what to write instead), HX3003
    nested too deeply, HX3004 a variable that is not bound, HX3005 a malformed reference, HX3006 tags or attributes that
    do not fit, HX3066 a prefix that is not bound.

    >>> parse_query("//Patient[@ID = 'p1']/Name").steps[0].names
    ('Patient',)
    """
    return _remembered(text, file, names) if len(text) <= _SHORT else _parsed(text, file, names, check)


@dataclass(frozen=True, slots=True)
class QueryText:
    """A text that the grammar reads, parts of which may be in the fragment; ``tree`` has its declarations but for those
    of namespaces, and then its expressions.
    """

    text: str
    file: str | None
    names: NameTable
    tree: Tree[Token]
    check: Check = no_check

    @classmethod
    def read(cls, text: str, file: str | None, names: NameTable, check: Check = no_check) -> QueryText:
        """Raises :class:`GrammarError` where the grammar does not read the text (HX3001, HX3003), or what it reads ends
        at a construct that only has a name here (HX3002).
        """
        text, body, names = _prepared(text, file, names)
        refusals = Refusals(text, file, check, names)
        tree = parse_text("query.lark", body, file, outside=refusals.outside_fault, check=check)
        return cls(text, file, names, tree, check)

    def expression(self, part: Part, variables: Collection[str]) -> Expression | GrammarError:
        """The expression that a part is in which these variables are bound; why it is none of the fragment."""
        builder = self._builder()
        return _built(builder, builder.expression, part, Scope(frozenset(variables)))

    def condition(self, part: Part, variables: Collection[str]) -> Condition | GrammarError:
        """As :meth:`expression`, of a condition."""
        builder = self._builder()
        return _built(builder, builder.condition, part, Scope(frozenset(variables)))

    def step(self, slash: Token, part: Part) -> Step | None:
        """The step after a slash, ``None`` where the fragment has none like it."""
        builder = self._builder()
        return builder.refusals.attempt(builder.step, slash, part)

    def fault(self, code: str, message: str, part: Part, hint: str | None = None) -> Fault:
        """A fault at a part of the text."""
        return fault_at(code, message, self.text, position_of(part, self.file), hint)

    def _builder(self) -> _ExpressionBuilder:
        return _ExpressionBuilder(Refusals(self.text, self.file, self.check, self.names))


def _built(
    builder: _ExpressionBuilder, build: Callable[[Part, Scope], _Built], part: Part, scope: Scope
) -> _Built | GrammarError:
    try:
        built = builder.refusals.attempt(build, part, scope)
    except GrammarError as error:  # of more faults than are looked for
        return error
    return builder.refusals.error() if built is None or builder.refusals.faults else built


def _parsed(text: str, file: str | None, names: NameTable, check: Check = no_check) -> Expression:
    text, body, names = _prepared(text, file, names)
    builder = _ExpressionBuilder(Refusals(text, file, check, names))
    tree = parse_text("query.lark", body, file, outside=builder.refusals.outside_fault, check=check)
    return builder.build(tree)


def _prepared(text: str, file: str | None, names: NameTable) -> tuple[str, str, NameTable]:
    """The text with plain line ends, what of it the grammar reads, and the names that it may use."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if found := NO_CHARACTER.search(text):
        position = offset_position(text, found.start(), file)
        raise GrammarError(fault_at("HX3001", f"U+{ord(found[0]):04X} is no XML character", text, position))
    try:
        declared, body = declared_namespaces(text)
    except PrologError as error:
        message, offset = error.args
        raise GrammarError(fault_at("HX3001", message, text, offset_position(text, offset, file))) from None
    if declared:
        names = replace(names, prefixes=names.prefixes.with_more(declared))
    return text, body, names


_SHORT: Final = 10_000
"""How long a text may be whose syntax tree is kept for the next time that it is asked."""
_remembered: Final = lru_cache(maxsize=64)(_parsed)


class _ExpressionBuilder:
    """Sorts what the grammar read. Faults are collected; a method whose part is refused raises ``RefusedError``."""

    def __init__(self, refusals: Refusals) -> None:
        self.refusals = refusals
        self._conditions = ConditionBuilder(refusals, self)
        self._functions = FunctionBuilder(refusals, self)
        self._steps = StepBuilder(refusals)
        self._elements = ElementBuilder(refusals, self.enclosed)

    def build(self, tree: Tree[Token]) -> Expression:
        """The expression of a whole query, or all its faults (:class:`GrammarError`)."""
        *declarations, body = tree.children
        scope = Scope()
        for declaration in declarations:
            self.refusals.record_outside(outside_token(declaration))
            scope = scope.bind(declared_variable(declaration))
        expression = self.refusals.attempt(self.expression, body, scope)
        for path in absolute_elsewhere(expression) if expression is not None else ():
            self.refusals.record(
                "HX3002",
                "an absolute path in a predicate beside collection() is outside the query fragment",
                path.position,
                "for $d in collection()/name, and begin at $d",
            )
        if expression is None or self.refusals.faults:
            raise self.refusals.error()
        return expression

    def expression(self, part: Part, scope: Scope) -> Expression:
        """The expression that a part is."""
        tree = tree_of(part)
        match tree.data:
            case "expressions":
                return self._sequence(tree, scope)
            case "flwor":
                return self._flwor(tree, scope)
            case "path":
                return self.path_value(tree, scope)
            case "signed":
                return self._signed(tree, scope)
            case "disjunction" | "conjunction" | "comparison":
                self.refusals.attempt(self._conditions.condition, tree, scope)
                raise self.refusals.refused(
                    tree, "a condition as a value", "conditions stand in where and in predicates"
                )
            case "conditional":
                return self._functions.conditional(tree, scope)
            case "switch":
                return self._functions.switch(tree, scope)
            case "operation" if self._functions.is_operation(tree):
                return self._functions.operation(tree, scope)
            case _:
                raise self.refused_operation(tree, scope)

    def condition(self, part: Part, scope: Scope) -> Condition:
        """The condition that a part is."""
        return self._conditions.condition(part, scope)

    def step(self, slash: Token, part: Part) -> Step:
        """The step after a slash."""
        return self._steps.step(slash, part)

    def _sequence(self, tree: Tree[Token], scope: Scope) -> Expression:
        items = [self.refusals.attempt(self.expression, child, scope) for child in tree.children]
        kept = tuple(item for item in items if item is not None)
        if len(kept) < len(items):
            raise RefusedError
        return kept[0] if len(kept) == 1 else Sequence(kept, position=self.refusals.position(tree))

    def enclosed(self, tree: Tree[Token], scope: Scope) -> Expression:
        """``{ expressions }``; nothing between the braces is ``()``."""
        found = [child for child in tree.children if isinstance(child, Tree)]
        return self.expression(found[0], scope) if found else Sequence(position=self.refusals.position(tree))

    def refused_operation(self, tree: Tree[Token], scope: Scope) -> RefusedError:
        """Refuse a union or an operator that the fragment does not have, and whatever is refused in its operands."""
        for child in tree.children:
            if isinstance(child, Tree):
                self.refusals.attempt(self.expression, child, scope)
            elif child.type.startswith("OUTSIDE"):
                self.refusals.record_outside(child)
                if not is_infix(child):
                    break
        if tree.data == "union":
            return self.refusals.refused(tree, "a union of paths", "write (a | b) as a step, or (q, q)")
        return RefusedError()

    def _flwor(self, tree: Tree[Token], scope: Scope) -> Flwor:
        clauses: list[For | Let | None] = []
        where: list[Condition | None] = []
        order: list[OrderKey | None] = []
        for clause in tree.children[:-2]:
            clause = tree_of(clause)
            if clause.data in ("outside_clause", "group_clause", "count_clause"):
                self.refusals.record_outside(outside_token(clause))
                for variable in clause.scan_values(lambda token: isinstance(token, Token) and token.type == "VARIABLE"):
                    scope = scope.bind(str(variable))
                clauses.append(None)
            elif clause.data == "where_clause":
                self._check_order(clause, [*where, *order], "where after where or order by", "join conditions with and")
                where.append(self.refusals.attempt(self._conditions.condition, clause.children[1], scope))
            elif clause.data == "order_clause":
                self._check_order(clause, order, "a second order by", "write order by key, key")
                order += [self.refusals.attempt(self._order_key, tree_of(key), scope) for key in clause.children[1:]]
            else:
                self._check_order(clause, [*where, *order], "a clause after where or order by", "bind variables first")
                for binding in clause.children[1:]:
                    scope = self._binding(tree_of(binding), clause.data == "for_clause", scope, clauses)
        result = self.expression(tree.children[-1], scope)
        self.refusals.all_of([*clauses, *where, *order])
        return Flwor(
            tuple(clause for clause in clauses if clause is not None),
            where[0] if where else None,
            result,
            tuple(key for key in order if key is not None),
            position=self.refusals.position(tree),
        )

    def _check_order(self, clause: Tree[Token], before: Collection[object], construct: str, hint: str) -> None:
        if before:
            self.refusals.refused(clause, construct, hint)  # recorded; the clauses around it go on

    def _binding(self, tree: Tree[Token], is_for: bool, scope: Scope, clauses: list[For | Let | None]) -> Scope:
        """Add the clause of one variable (``None`` where it is refused); the scope after it."""
        variable = token_of(tree.children[0])
        for child in tree.children:
            if isinstance(child, Token) and child.type == "OUTSIDE_BINDING":
                self.refusals.record_outside(child)
        clauses.append(self.refusals.attempt(self._clause, variable, tree.children[-1], is_for, scope))
        return scope.bind(str(variable))

    def _clause(self, variable: Token, source: Part, is_for: bool, scope: Scope) -> For | Let:
        self.refusals.plain_name(variable, variable.lstrip("$"))
        path = self.path(source, scope, "for" if is_for else "let")
        return (For if is_for else Let)(str(variable), path, position=self.refusals.position(variable))

    def _order_key(self, tree: Tree[Token], scope: Scope) -> OrderKey:
        modifiers = [child for child in tree.children[1:] if isinstance(child, Token)]
        if modifiers and modifiers[-1].type == "OUTSIDE_ORDER":
            raise self.refusals.refused_token(modifiers[-1])
        key = self.expression(tree.children[0], scope)
        if not isinstance(key, PathExpression | Data):
            raise self.refusals.refused(tree, "an order by key that is no path", "order by takes paths")
        descending = bool(modifiers) and modifiers[0].type == "DESCENDING_KEYWORD"
        return OrderKey(key, descending, position=self.refusals.position(tree))

    def path(self, part: Part, scope: Scope, user: str) -> PathExpression:
        """A path where ``user`` needs one."""
        value = self.expression(part, scope)
        if not isinstance(value, PathExpression):
            raise self.refusals.refused(
                part,
                f"{user} over an expression that is no path",
                f"{user} takes a path; write the rest where it is used",
            )
        return value

    def path_value(self, tree: Tree[Token], scope: Scope) -> Expression:
        """A path, or what else the grammar reads as a path of one step."""
        for child in tree.children:
            if isinstance(child, Token) and child.type.startswith("OUTSIDE"):
                raise self.refusals.refused_token(child)
        single = single_step(tree)
        if isinstance(single, Token) and single.type in ("STRING", "NUMBER", "TAG_VALUE"):
            return self._literal(single, scope)
        if isinstance(single, Tree) and not starts_path(single):
            return self._primary(single, scope)
        position = self.refusals.position(tree)
        start, rest = self._path_start(tree, scope)
        groups = grouped_steps(rest)
        is_data = bool(groups) and is_call(groups[-1][1], "data") and len(groups[-1][1].children) == 1
        steps = [self._filtered_step(slash, primary, predicates, scope)
                 for slash, primary, predicates in (groups[:-1] if is_data else groups)]  # fmt: skip
        kept = tuple(step for step in steps if step is not None)
        if len(kept) < len(steps):
            raise RefusedError
        if is_data and groups[-1][2]:
            raise self.refusals.refused(groups[-1][2][0], "a predicate on data()", "write path[condition]/data()")
        if start == "/" and not kept:
            raise self.refusals.refused(tree, "the document node alone", "begin with /name or //name")
        path = PathExpression(start, kept, position=position)
        return Data(path, position=position) if is_data else path

    def _path_start(self, tree: Tree[Token], scope: Scope) -> tuple[str, list[Part]]:
        """Where a path starts, and the rest of it, each step after its slash."""
        children: list[Part] = list(tree.children)
        first = children[0]
        if isinstance(first, Token) and first.type in ("SLASH", "DOUBLE_SLASH"):
            return "/", children
        if isinstance(first, Token) and first.type == "VARIABLE":
            self.refusals.check_variable(first, scope)
            start, rest = str(first), children[1:]
        elif is_call(first, "collection") and len(first.children) == 1:
            start, rest = COLLECTION, children[1:]
        elif isinstance(first, Token) and first.type == "CONTEXT_ITEM":
            self.refusals.check_context(first, scope, "the context item .")
            start, rest = ".", children[1:]
        else:
            start, rest = ".", [Token("SLASH", "/"), *children]
            if isinstance(first, Tree) and not starts_path(first):
                self._primary(first, scope)
            is_path = isinstance(first, Tree) and starts_path(first)
            if not is_path or not scope.in_predicate:
                # It is refused, with what is wrong in its predicates; else these are read with their step.
                for predicate in rest:
                    if is_rule(predicate, "predicate"):
                        self.refusals.attempt(
                            self._conditions.condition, predicate.children[0], replace(scope, in_predicate=True)
                        )
            if not is_path:
                raise self.refusals.refused(
                    first, "an expression as the beginning of a path", "bind it with for, and start there"
                )
            self._steps.step(
                Token("SLASH", "/"), first
            )  # an axis outside the fragment says more than where the path stands
            self.refusals.check_context(first, scope, "a relative path outside a predicate")
        if rest and is_rule(rest[0], "predicate"):
            raise self.refusals.refused(
                rest[0], f"a predicate on {_START.get(start, 'a variable')}", "use where, or and"
            )
        return start, rest

    def _filtered_step(self, slash: Token, primary: Part, predicates: list[Tree[Token]], scope: Scope) -> Step | None:
        step = self.refusals.attempt(self._steps.step, slash, primary)
        inside = replace(scope, in_predicate=True)
        conditions = [
            self.refusals.attempt(self._conditions.condition, predicate.children[0], inside) for predicate in predicates
        ]
        if step is None or any(condition is None for condition in conditions):
            return None
        return replace(step, predicates=tuple(condition for condition in conditions if condition is not None))

    def _literal(self, token: Token, scope: Scope) -> Expression:
        position = self.refusals.position(token)
        if token.type == "NUMBER":
            return NumberLiteral(str(token), position=position)
        if token.type == "STRING":
            quote = token[0]
            value = self.refusals.resolved(token, 1, token[1:-1], quote)
            return StringLiteral(value, position=position)
        argument = tag_value_argument(token)
        if argument is None:
            raise self.refusals.refused(
                token, "function parse-xml-fragment()", "a tag's value is read in its printed form only"
            )
        if argument == ".":
            self.refusals.check_context(token, scope, "the context item .")
        elif argument not in scope.variables:
            self.refusals.check_variable(Token.new_borrow_pos("VARIABLE", argument, token), scope)
        return TagValue(PathExpression(argument, position=position), position=position)

    def _signed(self, tree: Tree[Token], scope: Scope) -> NumberLiteral:
        """A number with one sign; other signs are arithmetic."""
        value = self.expression(tree.children[-1], scope)
        number = single_step(tree_of(tree.children[-1]))
        if not isinstance(value, NumberLiteral) or len(tree.children) > 2 or not isinstance(number, Token):
            raise self.refusals.refused(tree, f"arithmetic operator '{tree.children[0]}'", ARITHMETIC)
        return NumberLiteral(f"{tree.children[0]}{number}", position=self.refusals.position(tree))

    def _primary(self, tree: Tree[Token], scope: Scope) -> Expression:
        position = self.refusals.position(tree)
        match tree.data:
            case "parenthesised":
                return self.expression(tree.children[0], scope) if tree.children else Sequence(position=position)
            case "call":
                return self._call(tree, scope)
            case "attribute_constructor":
                name = token_of(tree.children[1])
                if name == "xmlns":
                    raise self.refusals.refused(name, "namespace declaration in a constructor", IN_PROLOG)
                expanded = self.refusals.name(name, str(name), attribute=True)
                return AttributeConstructor(expanded, self.enclosed(tree, scope), position=position)
            case "text_constructor":
                return TextConstructor(self.enclosed(tree, scope), position=position)
            case "element" | "inner_element":
                return self._elements.element(tree, scope)
            case _:
                raise self._steps.refused_step(tree)

    def _call(self, tree: Tree[Token], scope: Scope) -> Expression:
        name, position = function_name(tree), self.refusals.position(tree)
        if name == "data" and len(tree.children) == 1:
            self.refusals.check_context(tree, scope, "data() without an argument")
            return Data(PathExpression(".", position=position), position=position)
        if name == "data" and len(tree.children) == 2:
            return Data(self.path(tree.children[1], scope, "data()"), position=position)
        if name == "generate-id" and len(tree.children) == 2:
            return NodeIdentity(self.path(tree.children[1], scope, "generate-id()"), position=position)
        if name == "number":
            raise self.refusals.refused(tree, UNCOMPARED, "write number($x/a) <= 5")
        if name in CALLED:
            return self._functions.call(tree, scope)
        if name in CONDITIONS:
            self.refusals.attempt(self._conditions.condition, Tree("path", [tree], tree.meta), scope)
            raise self.refusals.refused(tree, f"{name}() as a value", "conditions stand in where and in predicates")
        raise self._steps.refused_call(tree)

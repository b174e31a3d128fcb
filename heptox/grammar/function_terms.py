"""From the functions of a query to the function terms of a pattern.

In XQuery the functions of texts take an absent value for ``""``; a function term is absent where a leaf that it needs
is. So a leaf that may be absent becomes ``string`` of it in a term, which needs no leaf; where a condition around the
function says that the leaf is there, the term needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NoReturn, TypeAlias

from heptox.grammar import query as syntax
from heptox.grammar.branches import DOCUMENT, Branch
from heptox.grammar.function_kinds import decimal_literal, form_in_query, type_of
from heptox.grammar.locations import Location, holds_elements, refuse, require_value, value_of
from heptox.grammar.path_resolution import PathResolver
from heptox.pattern import (
    CASTS,
    Call,
    Constant,
    Leaf,
    Lookup,
    StringJoin,
    Term,
    Text,
    Type,
    ValueExpression,
    computed_step,
    evaluate_expression,
    implied_leaves,
    may_be_absent,
    needed_leaves,
    or_empty,
    result_type,
    within_or_empty,
)
from heptox.schema import TEXT, Path, SelectionTest, selection_step

_ONE_NODE: Final = "a function takes leaves of one node: bind it with for"


@dataclass(frozen=True, slots=True)
class FoundTerm:
    """A part of a function: its expression, and the variable whose leaves it speaks of, if any."""

    expression: ValueExpression
    variable: str | None = None


Leaves: TypeAlias = Callable[[syntax.Argument, bool, bool], "tuple[str, Path] | None"]
"""Where a path leads: to a leaf of a variable's node, or nowhere. The other arguments say whether it may repeat, and
whether an absent text may be taken for the empty value of its element."""


Holders: TypeAlias = Callable[[syntax.Argument], "tuple[str, Path] | None"]
"""Where a path leads that leads to one element which holds others; ``None`` for all others."""


class FunctionTerms:
    """The terms of functions over the leaves that ``leaves`` finds, and over all text in what ``holders`` finds."""

    def __init__(self, leaves: Leaves, holders: Holders) -> None:
        self._leaves, self._holders = leaves, holders

    def term(self, function: syntax.Function | syntax.Condition) -> Term | Text | None:
        """The value of a function, or whether a condition holds; ``None`` where a function never has a value."""
        if isinstance(function, syntax.Function):
            found = self._value(function, frozenset())
        else:
            found = self._condition(function, frozenset())
        if found is None:
            return None
        match found.expression:
            case Leaf(path) if found.variable is not None:
                return Term(found.variable, path)
            case Constant(value):
                return Text(value)
        if found.variable is None:
            constant = evaluate_expression(found.expression, _no_leaf, _no_leaves)
            return None if constant is None else Text(constant)
        return Term(found.variable, (computed_step(found.expression),))

    def conditional(self, given: syntax.Conditional, known: frozenset[Term]) -> FoundTerm | None:
        """``if``: where it only asks for leaves that its value needs, and has no other, it is the value itself."""
        condition = self._condition(given.condition, known)
        there = known | {
            Term(condition.variable, path) for path in implied_leaves(condition.expression) if condition.variable
        }
        value = self._value(_content(given.value), there)
        other = None if given.otherwise is None else self._value(given.otherwise, known)
        if condition.expression in (_TRUE, _FALSE):
            return value if condition.expression == _TRUE else other
        parts = [part for part in (condition, value, other) if part is not None]
        variable = _variable(parts, given)
        if value is None:
            value = FoundTerm(Call("if", (_FALSE, Constant(""))))
        if other is not None:
            arguments = condition.expression, value.expression, other.expression
            return FoundTerm(Call("if", arguments), variable)
        if _asked(condition.expression) <= needed_leaves(value.expression):
            return FoundTerm(value.expression, variable)
        return FoundTerm(Call("if", (condition.expression, value.expression)), variable)

    def _condition(self, condition: syntax.Condition, known: frozenset[Term]) -> FoundTerm:
        """A condition as a function term, which is true or false."""
        match condition:
            case syntax.And(conditions) | syntax.Or(conditions):
                parts = [self._condition(part, known) for part in conditions]
                name = "and" if isinstance(condition, syntax.And) else "or"
                return FoundTerm(Call(name, tuple(part.expression for part in parts)), _variable(parts, condition))
            case syntax.Exists(path) | syntax.Empty(path):
                holder = self._holders(path)
                found = FoundTerm(Leaf(holder[1]), holder[0]) if holder else self._leaf(path, repeating=True)
                there: ValueExpression = _FALSE
                if found is not None:
                    always = not may_be_absent(found.expression)
                    there = _TRUE if always else Call("exists", (found.expression,))
                variable = None if found is None else found.variable
                return FoundTerm(there if isinstance(condition, syntax.Exists) else _negated(there), variable)
            case syntax.FunctionCall("not", (syntax.FunctionCall() as call,)):
                found = self._applied(call, known)
                assert found is not None  # a condition is never absent
                return FoundTerm(_negated(found.expression), found.variable)
            case syntax.FunctionCall():
                found = self._applied(condition, known)
                assert found is not None
                return found
            case syntax.Comparison():
                return self._compared(condition, known)
        refuse("HX3045", "this condition in if ... is outside the query fragment", condition.position)

    def _compared(self, comparison: syntax.Comparison, known: frozenset[Term]) -> FoundTerm:
        parts: list[FoundTerm] = []
        for side in (comparison.left, comparison.right):
            if isinstance(side, syntax.NumberLiteral):
                parts.append(FoundTerm(_number(side)))
                continue
            if isinstance(side, syntax.NumberValue):
                side = side.argument
            if isinstance(side, syntax.TagValue):
                refuse("HX3045", "a tag in if ... is outside the query fragment", side.position)
            found = self._value(side, known)
            if found is None:
                return FoundTerm(_FALSE)
            parts.append(found)
        left, right = (part.expression for part in parts)
        return FoundTerm(Call(comparison.operator, (left, right)), _variable(parts, comparison))

    def _value(
        self, value: syntax.Expression | syntax.Operand, known: frozenset[Term], *, texts: bool = False
    ) -> FoundTerm | None:
        match value:
            case syntax.StringLiteral(text):
                return FoundTerm(Constant(text))
            case syntax.NumberLiteral():
                return FoundTerm(_number(value).arguments[0])
            case syntax.Data(path):
                return self._leaf(path, texts=texts)
            case syntax.PathExpression():
                return self._leaf(value, texts=texts)
            case syntax.FunctionCall("string-join", (path, syntax.StringLiteral(separator))):
                return self._joined(path, separator, known)
            case syntax.FunctionCall("string", (argument,)) if (holder := self._holders(argument)) is not None:
                return _or_empty(FoundTerm(Call("string", (Leaf(holder[1]),)), holder[0]), known)
            case syntax.FunctionCall("string", (argument,)):
                inner = self._value(argument, known, texts=True)
                return FoundTerm(Constant("")) if inner is None else _or_empty(inner, known)
            case syntax.FunctionCall():
                return self._applied(value, known)
            case syntax.Switch():
                return self.looked_up(value, known)
            case syntax.Conditional():
                return self.conditional(value, known)
        refuse("HX3045", "only values can stand in a function", value.position)

    def _leaf(self, path: syntax.Argument, *, repeating: bool = False, texts: bool = False) -> FoundTerm | None:
        """A leaf as it stands for itself."""
        found = self._leaves(path, repeating, texts)
        return None if found is None else FoundTerm(Leaf(found[1]), found[0])

    def _joined(
        self,
        path: syntax.Argument,
        separator: str,
        known: frozenset[Term],
    ) -> FoundTerm | None:
        path = path.argument if isinstance(path, syntax.Data) else path
        assert isinstance(path, syntax.PathExpression)  # as it is read
        found = self._leaf(path, repeating=True)
        if found is None:
            return FoundTerm(Constant(""))
        assert isinstance(found.expression, Leaf) and found.variable is not None
        joined = StringJoin(found.expression.path, separator)
        return _or_empty(FoundTerm(joined, found.variable), known)

    def _applied(self, call: syntax.FunctionCall, known: frozenset[Term]) -> FoundTerm | None:
        types = tuple(map(type_of, call.arguments))
        form = form_in_query(call.function, types, call.arguments)
        assert form is not None  # as it is read
        parts: list[FoundTerm] = []
        for place, argument in enumerate(call.arguments):
            wanted = form.parameter(place)
            part = self._value(argument, known, texts=wanted is Type.STRING)
            if part is None and wanted is not Type.STRING:
                return None
            part = part or FoundTerm(Constant(""))
            parts.append(_or_empty(part, known) if wanted is Type.STRING else _uncast(part, wanted))
        if form.result is Type.BOOLEAN and isinstance(parts[-1].expression, Constant) and parts[-1].expression.value:
            parts = [FoundTerm(within_or_empty(part.expression) or part.expression, part.variable) for part in parts]
        return FoundTerm(Call(call.function, tuple(part.expression for part in parts)), _variable(parts, call))

    def looked_up(self, switch: syntax.Switch, known: frozenset[Term]) -> FoundTerm | None:
        codes = tuple((case.code, case.value) for case in reversed(switch.cases))
        codes = tuple(reversed(dict(codes).items()))
        found = self._value(switch.argument, known)
        other = None if switch.otherwise is None else self._value(switch.otherwise, known)
        if found is None:
            return other
        if other is not None:
            found = _or_empty(found, known)
            if any(code == "" for code, _ in codes) and found.expression != Constant(""):
                refuse("HX3045", 'case "" beside a default is outside the query fragment', switch.position)
        expression = Lookup(found.expression, codes, None if other is None else other.expression)
        return FoundTerm(expression, _variable([part for part in (found, other) if part is not None], switch))


_FALSE: Final = Call("=", (Constant("false"), Constant("true")))
_TRUE: Final = Call("not", (_FALSE,))


def require_atomic(value: syntax.Expression | None) -> None:
    """Refuse (HX3045) a node as what ``if`` or ``switch`` gives, where its value is not the same."""
    match value:
        case syntax.PathExpression():
            refuse("HX3045", "a node in if or switch is outside the query fragment", value.position, "write data(path)")
        case syntax.Conditional(_, inner, other):
            require_atomic(inner)
            require_atomic(other)
        case syntax.Switch(_, _, other):
            require_atomic(other)


def _variable(parts: Iterable[FoundTerm], of: syntax.Node) -> str | None:
    """The variable whose leaves the parts of a function speak of."""
    variables = {part.variable for part in parts} - {None}
    if len(variables) > 1:
        refuse("HX3046", "a function over leaves of several nodes is not translated yet", of.position, _ONE_NODE)
    return next(iter(variables), None)


def _negated(condition: ValueExpression) -> ValueExpression:
    match condition:
        case Call("not", (inner,)):
            return inner
    return Call("not", (condition,))


def _asked(condition: ValueExpression) -> frozenset[Path | None]:
    """The leaves of which a condition only asks whether all of them are there; with ``None`` where it asks for more."""
    match condition:
        case Call("exists", (Leaf(path) | StringJoin(path),)):
            return frozenset({path})
        case Call("and", conditions):
            return frozenset().union(*map(_asked, conditions))
    return frozenset({None})


def _content(value: syntax.Expression) -> syntax.Expression:
    """What an element or attribute is made around, as a value."""
    match value:
        case syntax.ElementConstructor(_, (), (syntax.Node() as inner,)):
            return inner
        case syntax.AttributeConstructor(_, inner):
            return inner
    return value


def _or_empty(found: FoundTerm, known: frozenset[Term]) -> FoundTerm:
    """The value, or ``""`` where it is absent."""
    there = frozenset(term.path for term in known if term.variable == found.variable)
    return FoundTerm(or_empty(found.expression), found.variable) if may_be_absent(found.expression, there) else found


def _number(literal: syntax.NumberLiteral) -> Call:
    """A number as a decimal."""
    number = decimal_literal(literal.lexical)
    if number is None:
        refuse("HX3045", f"the number {literal.lexical} is not computed with", literal.position)
    return number


def _uncast(found: FoundTerm, wanted: Type) -> FoundTerm:
    """What a function casts itself, as its own parameter."""
    match found.expression:
        case Call(cast, (inner,)) if (
            wanted in CASTS and cast == CASTS[wanted].name and result_type(inner) is Type.STRING
        ):
            return FoundTerm(inner, found.variable)
    return found


def _no_leaf(path: Path) -> str | None:
    raise ValueError(f"a constant expression has no leaf {path}")


def _no_leaves(path: Path) -> Sequence[str]:
    raise ValueError(f"a constant expression has no leaves {path}")


class FunctionLowering:
    """The functions of one query over a schema tree."""

    def __init__(self, paths: PathResolver) -> None:
        self._paths = paths

    def term(
        self, function: syntax.Function | syntax.Condition, branch: Branch, context: Location = DOCUMENT
    ) -> Term | Text | None:
        """The value of a function, ``None`` where it never has one."""

        def leaves(path: syntax.Argument, repeating: bool, texts: bool) -> tuple[str, Path] | None:
            assert isinstance(path, syntax.PathExpression)
            if not texts and path.steps and path.steps[-1].names == (TEXT,):
                refuse("HX3045", "a text() here is outside the query fragment", path.position, "name its element")
            return self._leaf(path, repeating, branch, context)

        return FunctionTerms(leaves, lambda path: self._holder(path, branch, context)).term(function)

    def _holder(self, path: syntax.Argument, branch: Branch, context: Location) -> tuple[str, Path] | None:
        if not isinstance(path, syntax.PathExpression) or any(step.predicates for step in path.steps):
            return None
        found = self._paths.resolve(path, branch, context)
        if len(found) != 1 or found[0][0] != branch:
            return None
        location = found[0][1]
        if location.document or location.text or not holds_elements(self._paths.tree, location.absolute):
            return None
        return location.variable, location.path

    def _leaf(
        self, path: syntax.PathExpression, repeating: bool, branch: Branch, context: Location
    ) -> tuple[str, Path] | None:
        """The leaf that a path leads to, below its variable's node; where it may repeat, below that it begins at."""
        if any(step.predicates for step in path.steps):
            return self._selected(path, repeating, branch, context)
        found = self._paths.resolve(path, branch, context)
        if not found:
            return None
        (after, location), *others = found
        if others or (not repeating and after.variables != branch.variables) or after.leaves(branch):
            hint = 'write path[function(.) = "text"], or bind the path with for'
            refuse("HX3046", "a function of what may be more than one value is not translated", path.position, hint)
        if after.atoms != branch.atoms and not location.text:
            refuse("HX3046", "a tag in a function's path is not translated exactly yet", path.position)
        require_value(self._paths.tree, location, path.position)
        variable = after.known_above(location.variable, branch)
        value = value_of(self._paths.tree, location)
        return variable, (*location.node[len(branch.node(variable)) :], *value.path)

    def _selected(
        self, path: syntax.PathExpression, repeating: bool, branch: Branch, context: Location
    ) -> tuple[str, Path] | None:
        """As :meth:`_leaf`, of a path with predicates: they are the conditions of selections."""
        plain = tuple(replace(step, predicates=()) for step in path.steps)
        found = self._leaf(replace(path, steps=plain), repeating, branch, context)
        if found is None:
            return None
        name, below = found
        named = [step for step in below if step != TEXT]
        above, steps = branch.node(name), list(below)
        is_known = True
        for number, step in enumerate(reversed(path.steps), start=1):
            place = len(named) - number
            if step.predicates and (place < 0 or not is_known):
                refuse("HX3046", "a predicate in this path of a function is not translated exactly yet", path.position)
            is_known = is_known and step.axis in ("child", "attribute")  # how deep it is
            if not step.predicates:
                continue
            node = (*above, *below[: place + 1])
            tests = [test for predicate in step.predicates for test in self._tests(predicate, node)]
            steps[place] = selection_step(below[place], tuple(tests))
        return name, tuple(steps)

    def _tests(self, predicate: syntax.Condition, node: Path) -> Iterator[SelectionTest]:
        """A predicate as conditions of a selection of ``node``."""
        match predicate:
            case syntax.And(conditions):
                for condition in conditions:
                    yield from self._tests(condition, node)
            case syntax.Exists(path):
                yield SelectionTest("exists", self._tested(path, node))
            case syntax.Empty(path):
                yield SelectionTest("not", self._tested(path, node))
            case syntax.Comparison(
                "=" | "!=" as operator, syntax.PathExpression() as path, syntax.StringLiteral(value)
            ):
                yield SelectionTest(operator, self._tested(path, node), (value,))
            case syntax.Or(conditions):
                tests = [test for condition in conditions for test in self._tests(condition, node)]
                if len({(test.test, test.path) for test in tests}) != 1 or tests[0].test != "=":
                    _refuse_predicate(predicate)
                yield SelectionTest("=", tests[0].path, tuple(value for test in tests for value in test.values))
            case _:
                _refuse_predicate(predicate)

    def _tested(self, path: syntax.PathExpression, node: Path) -> Path:
        """The leaf, relative to a node, that a condition speaks of."""
        steps = tuple(
            f"@{step.names[0]}" if step.axis == "attribute" else step.names[0]
            for step in path.steps
            if step.axis in ("child", "attribute") and len(step.names) == 1 and not step.predicates
        )
        tree, leaf = self._paths.tree, (*node, *steps)
        if path.start != "." or len(steps) < len(path.steps) or leaf not in tree:
            _refuse_predicate(path)
        if not tree.is_leaf(leaf) and not tree.element(leaf).children and (*leaf, TEXT) in tree:
            leaf = (*leaf, TEXT)
        if any(tree.edge(leaf[:length]).repeats for length in range(len(node) + 1, len(leaf) + 1)):
            _refuse_predicate(path)
        return leaf[len(node) :]


def _refuse_predicate(at: syntax.Node) -> NoReturn:
    hint = "conditions there compare leaves with strings by = or !=, or ask whether they are there"
    refuse("HX3046", "this predicate in a function's path is not translated exactly yet", at.position, hint)

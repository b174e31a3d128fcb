"""From the conditions of a query to the branches in which they hold."""

from __future__ import annotations

from collections.abc import Iterator

from heptox.checks import Check
from heptox.grammar import query as syntax
from heptox.grammar.branches import DOCUMENT, Branch, few
from heptox.grammar.deep_equality import deep_equal_branches
from heptox.grammar.function_kinds import type_of
from heptox.grammar.function_terms import FunctionLowering
from heptox.grammar.locations import Location, refuse, require_value, tag_of, value_of
from heptox.grammar.negation import absent_alternatives
from heptox.grammar.path_resolution import PathResolver
from heptox.pattern import OPERATORS, Comparison, Number, Operand, Presence, Term, Text, flipped, holds
from heptox.schema import SchemaTree


class ConditionLowering:
    """The conditions of one query, and the paths in them, over a schema tree."""

    def __init__(self, tree: SchemaTree, *, valid: bool, check: Check) -> None:
        self._tree = tree
        self.paths = PathResolver(tree, self.branches, valid=valid, check=check)
        self.functions = FunctionLowering(self.paths)

    def branches(self, condition: syntax.Condition, branch: Branch, context: Location = DOCUMENT) -> Iterator[Branch]:
        """The branches in which a condition holds."""
        match condition:
            case syntax.And(conditions):
                branches = [branch]
                for part in conditions:
                    branches = few(after for before in branches for after in self.branches(part, before, context))
                yield from branches
            case syntax.Or(conditions):
                for part in conditions:
                    yield from self.branches(part, branch, context)
            case syntax.Exists(argument):
                for found, location in self.paths.resolve(argument, branch, context):
                    yield existing(found, location)
            case syntax.Empty(argument):
                yield from self._empty(argument, branch, context)
            case syntax.Comparison():
                yield from self._comparison(condition, branch, context)
            case syntax.FunctionCall("not", (syntax.FunctionCall() as call,)):
                yield from self._truth(call, branch, context, "false")
            case syntax.FunctionCall():
                yield from self._truth(condition, branch, context, "true")
            case syntax.DeepEqual():
                yield from deep_equal_branches(self.paths, condition, branch, context)

    def _empty(self, argument: syntax.PathExpression, branch: Branch, context: Location) -> Iterator[Branch]:
        """The branches in which a path leads to no node, whichever of its schema paths it takes."""
        branches = [branch]
        for found, location in self.paths.resolve(argument, branch, context):
            alternatives = absent_alternatives(self._tree, found, location, branch, argument.position)
            branches = few(before.having(atom) for before in branches for atom in alternatives)
        yield from branches

    def _truth(self, call: syntax.FunctionCall, branch: Branch, context: Location, wanted: str) -> Iterator[Branch]:
        """The branches in which a function that is a condition is true, or false."""
        term = self.functions.term(call, branch, context)
        if isinstance(term, Term):
            yield branch.having(Comparison("=", term, Text(wanted)))
        elif term is not None and term.value == wanted:
            yield branch

    def _comparison(self, comparison: syntax.Comparison, branch: Branch, context: Location) -> Iterator[Branch]:
        if OPERATORS[comparison.operator].is_function:
            self._require_one_value(comparison, branch, context)
        for before, left in self._operand(comparison.left, branch, context):
            for after, right in self._operand(comparison.right, before, context):
                if isinstance(left, Term):
                    yield after.having(Comparison(comparison.operator, left, right))
                elif isinstance(right, Term):
                    yield after.having(Comparison(flipped(comparison.operator), right, left))
                elif _constants_hold(comparison, left, right):
                    yield after

    def _require_one_value(self, comparison: syntax.Comparison, branch: Branch, context: Location) -> None:
        """Refuse (HX3046) a function of what may have several values, where XQuery raises a type error."""
        found = list(self._operand(comparison.left, branch, context))
        if len(found) > 1 or any(after.variables != branch.variables for after, _ in found):
            name = comparison.operator
            message = f"{name}() of what may be more than one value is not translated"
            refuse("HX3046", message, comparison.position, f'write path[{name}(., "text")]')

    def _operand(self, operand: syntax.Operand, branch: Branch, context: Location) -> Iterator[tuple[Branch, Operand]]:
        match operand:
            case syntax.StringLiteral(value):
                yield branch, Text(value)
            case syntax.NumberLiteral(lexical):
                yield branch, Number(lexical)
            case syntax.Data(argument) | syntax.NumberValue(argument):
                yield from self._operand(argument, branch, context)
            case syntax.TagValue(argument):
                for found, location in self.paths.resolve(argument, branch, context):
                    yield found, tag_of(self._tree, location)
            case syntax.FunctionCall() | syntax.Switch() | syntax.Conditional():
                term = self.functions.term(operand, branch, context)
                kind = type_of(operand)
                if isinstance(term, Text) and kind is not None and kind.is_numeric:
                    yield branch, Number(term.value)
                elif term is not None:
                    yield branch, term
            case syntax.PathExpression():
                for found, location in self.paths.resolve(operand, branch, context):
                    require_value(self._tree, location, operand.position)
                    yield found, value_of(self._tree, location)


def existing(branch: Branch, location: Location) -> Branch:
    """The branch in which the node at a location is there."""
    return branch.having(Presence(location.term)) if location.path else branch


def _constants_hold(comparison: syntax.Comparison, left: Text | Number, right: Text | Number) -> bool:
    """Whether a comparison of literals and tags holds."""
    if isinstance(comparison.left, syntax.NumberValue) and isinstance(left, Text):
        return holds(left.value, comparison.operator, right)
    if isinstance(comparison.right, syntax.NumberValue) and isinstance(right, Text):
        return holds(right.value, flipped(comparison.operator), left)
    if type(left) is not type(right):
        refuse("HX3043", "a string is compared with a number", comparison.position, "XQuery raises a type error here")
    text = left.value if isinstance(left, Text) else left.lexical
    return holds(text, comparison.operator, right)

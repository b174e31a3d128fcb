"""The conditions of a rule, from their text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from heptox.grammar import (
    ComputedValue,
    ConditionText,
    Constant,
    LeafCondition,
    Node,
    NodeAbsence,
    NodeTest,
    RuleCondition,
)
from heptox.mapping.model import Condition, OptionalPart
from heptox.mapping.rule_scope import RuleScope
from heptox.pattern import TAG, Absence, Comparison, NoNode, Presence, Term, Text, Variable, atom_terms, is_constant
from heptox.schema import Path


@dataclass(frozen=True, slots=True)
class ConditionReader:
    """Reads the conditions of a rule whose body is bound."""

    scope: RuleScope

    def condition(self, condition: ConditionText) -> Condition | None:
        """What a condition means; ``None`` for ``=?``, and where something is wrong with it."""
        match condition:
            case RuleCondition(written, Constant(value), "=" | "!=" as operator):
                left = self.scope.value(written, condition)
                return Comparison(operator, left, Text(value)) if left else None
            case RuleCondition():
                return self._comparison(condition) if condition.operator == "=" else None
            case LeafCondition():
                return self._presence(condition)
            case NodeAbsence():
                return self._no_node(condition)

    def link(self, condition: ConditionText) -> Comparison | None:
        """What ``=?`` compares; ``None`` for other conditions, and where something is wrong with it."""
        is_link = isinstance(condition, RuleCondition) and condition.operator == "=?"
        return self._comparison(condition) if is_link and isinstance(condition, RuleCondition) else None

    def _comparison(self, condition: RuleCondition) -> Comparison | None:
        assert not isinstance(condition.right, Constant)
        left, right = self.scope.value(condition.left, condition), self.scope.value(condition.right, condition)
        return Comparison("=", left, right) if left and right else None

    def _presence(self, condition: LeafCondition) -> Presence | Absence | None:
        spoken = condition.variable
        # What is there or not may be an inner node, which is no value.
        is_value = isinstance(spoken, ComputedValue)
        term = self.scope.value(spoken, condition) if is_value else self.scope.term(str(spoken), condition)
        if term is None:
            return None
        if is_constant(term.path):
            self.scope.report("HX4009", f"{spoken} is always there", condition, "name a leaf, or a function of leaves")
            return None
        if condition.present:
            return Presence(term)
        if not term.path:
            hint = "write it with the path from the variable above it: absent $variable/path"
            self.scope.report("HX4009", f"{condition.variable} stands for a node that is there", condition, hint)
            return None
        return Absence(term)

    def _no_node(self, absence: NodeAbsence) -> NoNode | None:
        name = absence.variable or f"${self.scope.variables[0].name}"
        above = self.scope.term(name, absence)
        if above is None:
            return None
        if above.path:
            hint = f"write the path from ${above.variable}"
            path = self.scope.source_text(self.scope.source_path(above))
            message = f"{name} stands for {path}, which stands once"
            self.scope.report("HX4009", message, absence, hint)
            return None
        node = self.scope.walk(self.scope.source_path(above), absence.path)
        if node is None:
            return None
        if not self.scope.source.tree.is_stop(node):
            hint = "bind it in the body with ->, and write absent with its variable"
            self.scope.report("HX4009", f"{self.scope.source_text(node)} stands once", absence.path, hint)
            return None
        tests = [self._test(node, test) for test in absence.tests]
        found = tuple(test for test in tests if test is not None)
        return NoNode(above.variable, node, found) if len(found) == len(tests) else None

    def _test(self, node: Path, test: NodeTest) -> tuple[Path, Term | Text | None] | None:
        path = self._tested(node, test)
        if path is None:
            return None
        match test.right:
            case None:
                return path, None
            case Constant(value):
                return path, Text(value)
            case name:
                term = self.scope.value(name, test)
                return (path, term) if term else None

    def _tested(self, node: Path, test: NodeTest) -> Path | None:
        """The path of a test, relative to its node."""
        tree = self.scope.source.tree
        if isinstance(test.path, ComputedValue):
            return self.scope.computed_below(node, test.path)
        if test.path.steps == (TAG,):
            if tree.box(node):
                return (TAG,)
            self.scope.report(
                "HX4001",
                f"{self.scope.source_text(node)} is no box",
                test,
                "only a node in a box has a tag to test",
            )
            return None
        end = node if test.path.steps == (".",) else self.scope.walk(node, test.path)
        if end is None:
            return None
        if tree.stop(end) != node:
            hint = "test what stands once, or write the path of what repeats before the brackets"
            self.scope.report(
                "HX4009",
                f"{self.scope.source_text(end)} repeats below {self.scope.source_text(node)}",
                test,
                hint,
            )
            return None
        if test.right is not None and not tree.is_leaf(end):
            self.scope.report(
                "HX4009",
                f"{self.scope.source_text(end)} is no leaf",
                test,
                "only a leaf has a value to compare",
            )
            return None
        return end[len(node) :]

    def of_required(
        self, said: Iterable[tuple[Condition, Node]], variables: Iterable[Variable], parts: Iterable[OptionalPart]
    ) -> tuple[Condition, ...]:
        """The conditions besides those that connect optional parts. One of an optional variable is reported."""
        behind = {name for part in parts for name in part.variables}
        inner = {condition for part in parts for condition in part.conditions}
        kept = []
        for condition, at in said:
            if isinstance(condition, Comparison) and condition in inner:
                continue
            kept.append(condition)
            named = {term.variable for term in atom_terms(condition)}
            named |= {condition.variable} if isinstance(condition, NoNode) else set()
            if optional := next((v.name for v in variables if v.name in named & behind), None):
                hint = "conditions speak of what is always there: bind it with -> and =, in a rule of its own"
                self.scope.report("HX4035", f"${optional} is optional: it cannot be required of", at, hint)
        return tuple(kept)

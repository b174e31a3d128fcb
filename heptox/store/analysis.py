"""What can be said of a query before it meets a document: what its parts depend on, and where conditions are decided.

A clause that is joined to those before it is evaluated before one that only multiplies them, and a condition of
``where`` is decided as soon as its variables are bound. An equality between a path from a variable of
``for`` and something bound before becomes a predicate of the path that the variable ranges over; a predicate of that
form on a path from the root is answered by a hash index.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from heptox.grammar import syntax

_Syntax: TypeAlias = syntax.Condition | syntax.Operand | syntax.Expression
_Clauses: TypeAlias = tuple[syntax.For | syntax.Let, ...]


@dataclass(frozen=True, slots=True)
class Lookup:
    """A predicate ``below = other`` that a hash index on the values of ``below`` answers."""

    below: syntax.Operand
    other: syntax.Operand


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step with its predicates sorted: those that depend on no variable, at most one lookup, the others."""

    step: syntax.Step
    fixed: tuple[syntax.Condition, ...]
    lookup: Lookup | None
    varying: tuple[syntax.Condition, ...]

    @property
    def depends(self) -> bool:
        return self.lookup is not None or bool(self.varying)


@dataclass(frozen=True, slots=True)
class PlannedClause:
    """A ``for`` or ``let`` with the conditions that can be decided once it has bound its variable."""

    clause: syntax.For | syntax.Let
    conditions: tuple[syntax.Condition, ...]


@dataclass(frozen=True, slots=True)
class PlannedFlwor:
    """Clauses in the order to evaluate them.

    ``order`` is empty where that is the written order; else it lists the variables of ``for`` as written: sorted by
    their nodes, the bindings come as if nothing had been moved.
    """

    clauses: tuple[PlannedClause, ...]
    order: tuple[str, ...] = ()


@dataclass(slots=True)
class Analysis:
    """The plans of the parts of one query, remembered by identity, together with the part so that it stays alive."""

    _variables: dict[int, tuple[_Syntax, frozenset[str]]] = field(default_factory=dict)
    _steps: dict[int, tuple[syntax.PathExpression, tuple[PlannedStep, ...]]] = field(default_factory=dict)
    _plans: dict[int, tuple[syntax.Flwor, PlannedFlwor]] = field(default_factory=dict)

    def variables(self, part: _Syntax) -> frozenset[str]:
        """The variables that a condition or an operand depends on."""
        known = self._variables.get(id(part))
        if known is None:
            known = self._variables[id(part)] = part, frozenset(self._free(part))
        return known[1]

    def _free(self, part: _Syntax) -> Iterator[str]:
        match part:
            case syntax.PathExpression(start, steps):
                if start.startswith("$"):
                    yield start
                for step in steps:
                    for predicate in step.predicates:
                        yield from self.variables(predicate)
            case syntax.Comparison(_, left, right) | syntax.DeepEqual(left, right):
                yield from self.variables(left) | self.variables(right)
            case syntax.And(conditions) | syntax.Or(conditions):
                for condition in conditions:
                    yield from self.variables(condition)
            case syntax.Exists(argument) | syntax.Empty(argument):
                yield from self.variables(argument)
            case syntax.Data(argument) | syntax.TagValue(argument) | syntax.NumberValue(argument):
                yield from self.variables(argument)
            case syntax.FunctionCall() | syntax.Conditional() | syntax.Switch():
                for value in syntax.values(part):
                    yield from self.variables(value)
            case _:
                pass

    def fixed(self, part: _Syntax) -> bool:
        """Whether a path or operand is the same wherever it stands in the query."""
        match part:
            case syntax.PathExpression(start):
                return start in ("/", syntax.COLLECTION) and not self.variables(part)
            case syntax.Data(argument) | syntax.TagValue(argument):
                return self.fixed(argument)
            case _:
                return False

    def steps(self, path: syntax.PathExpression) -> tuple[PlannedStep, ...]:
        known = self._steps.get(id(path))
        if known is None:
            known = self._steps[id(path)] = path, tuple(self._step(step) for step in path.steps)
        return known[1]

    def _step(self, step: syntax.Step) -> PlannedStep:
        fixed = tuple(predicate for predicate in step.predicates if not self.variables(predicate))
        varying = [predicate for predicate in step.predicates if self.variables(predicate)]
        for predicate in varying:
            lookup = self._lookup(predicate)
            if lookup:
                varying.remove(predicate)
                return PlannedStep(step, fixed, lookup, tuple(varying))
        return PlannedStep(step, fixed, None, tuple(varying))

    def _lookup(self, predicate: syntax.Condition) -> Lookup | None:
        if not isinstance(predicate, syntax.Comparison) or predicate.operator != "=":
            return None
        for below, other in ((predicate.left, predicate.right), (predicate.right, predicate.left)):
            if _start(below) == "." and not self.variables(below) and _start(other) not in (None, "."):
                return Lookup(below, other)
        return None

    def plan(self, flwor: syntax.Flwor) -> PlannedFlwor:
        """The clauses of an expression in the order to evaluate them, each with its part of ``where``."""
        known = self._plans.get(id(flwor))
        if known is None:
            known = self._plans[id(flwor)] = flwor, self._planned(flwor)
        return known[1]

    def _planned(self, flwor: syntax.Flwor) -> PlannedFlwor:
        waiting = list(_conjuncts(flwor.where))
        clauses = self._arranged(flwor.clauses, waiting)
        place = {clause.variable: number for number, clause in enumerate(clauses)}
        decided: list[list[syntax.Condition]] = [[] for _ in clauses]
        for condition in waiting:
            decided[max((place.get(name, 0) for name in self.variables(condition)), default=0)].append(condition)
        planned = tuple(self._pushed(clause, here) for clause, here in zip(clauses, decided, strict=True))
        if clauses == flwor.clauses:
            return PlannedFlwor(planned)
        return PlannedFlwor(
            planned, tuple(clause.variable for clause in flwor.clauses if isinstance(clause, syntax.For))
        )

    def _arranged(self, clauses: _Clauses, conditions: list[syntax.Condition]) -> _Clauses:
        """The clauses so that one which is joined to those before comes before one that only multiplies them."""
        names = [clause.variable for clause in clauses]
        if any(self.variables(clause.source) & set(names[place:]) for place, clause in enumerate(clauses)):
            return clauses  # a name stands for two variables
        if len(set(names)) < len(names):
            return clauses
        remaining, arranged = list(clauses), list[syntax.For | syntax.Let]()
        while remaining:
            bound = set(names) - {clause.variable for clause in remaining}
            later = set(names) - bound
            ready = [clause for clause in remaining if not self.variables(clause.source) & later]
            joined = [clause for clause in ready if bound and self._is_joined(clause, conditions, bound, later)]
            arranged.append((joined or ready)[0])
            remaining.remove(arranged[-1])
        return tuple(arranged)

    def _is_joined(
        self,
        clause: syntax.For | syntax.Let,
        conditions: list[syntax.Condition],
        bound: set[str],
        later: set[str],
    ) -> bool:
        """Whether a clause ranges over few nodes for each binding of the variables in ``bound``."""
        if isinstance(clause, syntax.Let) or self.variables(clause.source):
            return True
        return any(
            self.variables(condition) & bound
            and self.variables(condition) & later == {clause.variable}
            and self._as_predicate(condition, clause.variable)
            for condition in conditions
        )

    def _pushed(self, clause: syntax.For | syntax.Let, conditions: list[syntax.Condition]) -> PlannedClause:
        if isinstance(clause, syntax.Let) or not clause.source.steps:
            return PlannedClause(clause, tuple(conditions))
        inside = {id(condition): self._as_predicate(condition, clause.variable) for condition in conditions}
        predicates = (predicate for predicate in inside.values() if predicate is not None)
        moved = replace(clause, source=syntax.with_predicates(clause.source, predicates))
        return PlannedClause(moved, tuple(condition for condition in conditions if inside[id(condition)] is None))

    def _as_predicate(self, condition: syntax.Condition, variable: str) -> syntax.Condition | None:
        """``$v/path = other`` as the predicate ``path = other`` on what ``$v`` is bound to; ``None`` for others."""
        if not isinstance(condition, syntax.Comparison) or condition.operator != "=":
            return None
        for below, other in ((condition.left, condition.right), (condition.right, condition.left)):
            inner = _relative(below, variable)
            if inner and not self.variables(inner) and variable not in self.variables(other):
                return syntax.Comparison("=", inner, other)
        return None


def _conjuncts(condition: syntax.Condition | None) -> tuple[syntax.Condition, ...]:
    if condition is None:
        return ()
    return condition.conditions if isinstance(condition, syntax.And) else (condition,)


def _start(operand: syntax.Operand) -> str | None:
    """Where the path of an operand starts, ``None`` for a literal."""
    match operand:
        case syntax.PathExpression(start):
            return start
        case syntax.Data(argument) | syntax.TagValue(argument):
            return argument.start
        case _:
            return None


def _relative(operand: syntax.Operand, variable: str) -> syntax.Operand | None:
    """An operand that starts at ``variable`` as one that starts at the context node, ``None`` for others."""
    if _start(operand) != variable:
        return None
    match operand:
        case syntax.PathExpression():
            return replace(operand, start=".")
        case syntax.Data(argument) | syntax.TagValue(argument):
            return replace(operand, argument=replace(argument, start="."))
        case _:
            return None

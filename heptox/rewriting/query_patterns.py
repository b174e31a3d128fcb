"""Queries as subscriptions: the tree patterns that say as much of a query as tree patterns can.

A variable becomes a branch, and everything single-valued below it is one node: paths share their steps. What tree
patterns cannot say is left out: what is computed, comparisons of two values, absence, of nodes too, and deep equality.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product
from typing import Final, NamedTuple, TypeAlias

from heptox.checks import Check
from heptox.errors import SchemaError
from heptox.pattern import (
    ANY_ELEMENT,
    OPERATORS,
    TAG,
    Absence,
    Atom,
    Axis,
    Comparison,
    Constraints,
    DeepEqual,
    Member,
    NoNode,
    Number,
    PatternNode,
    Presence,
    Query,
    SameValue,
    Term,
    Text,
    TreePattern,
    ValueTest,
    Variable,
    atom_terms,
    holds,
    is_sign,
    present_terms,
    value_expression,
)
from heptox.routing import UndecidedError, homomorphism
from heptox.schema import ANYWHERE, TEXT, WILDCARD, Match, Path, axis_matches

MOST_PATTERNS: Final = 256
"""How many patterns a subscription may stand for; a query that needs more is said with less in each."""

_Step: TypeAlias = tuple[Axis, str]


class QueryPatterns(NamedTuple):
    """Patterns one of which matches every document on which a query has an answer; ``exact`` if no others match."""

    patterns: tuple[TreePattern, ...]
    exact: bool


def query_patterns(query: Query, constraints: Constraints, check: Check) -> QueryPatterns:
    """The patterns of a query over documents that obey the constraints; none where nothing can match.

    ``check`` is called again and again meanwhile, and may raise an error of its own. Patterns that
    others cover are left out.
    """
    found: dict[TreePattern, bool] = {}
    for member in query.members:
        check()
        for pattern, exact in _Saying(member, constraints).patterns():
            found[pattern] = found.get(pattern, False) or exact
    found = _few(found, constraints.tree.root)
    kept = _uncovered(found, check)
    return QueryPatterns(tuple(kept), all(found[pattern] for pattern in kept))


def _few(found: dict[TreePattern, bool], root: str) -> dict[TreePattern, bool]:
    """The patterns, or as many as there may be that ask for less."""
    if len(found) <= MOST_PATTERNS:
        return found
    fewer = dict.fromkeys((TreePattern(tuple(map(_without_values, one.children))) for one in found), False)
    if len(fewer) <= MOST_PATTERNS:
        return fewer
    return {TreePattern((PatternNode("/", root),)): False}


def _without_values(node: PatternNode) -> PatternNode:
    return replace(node, values=(), children=_distinct(map(_without_values, node.children)))


def _uncovered(found: dict[TreePattern, bool], check: Check) -> list[TreePattern]:
    """The patterns that no other covers; of two that cover each other the one that is exact, or else the first."""
    kept: list[TreePattern] = []
    for pattern in sorted(found, key=found.__getitem__, reverse=True):
        check()
        if not any(_covers(other, pattern) for other in kept):
            kept = [other for other in kept if not _covers(pattern, other)]
            kept.append(pattern)
    order = {pattern: place for place, pattern in enumerate(found)}
    return sorted(kept, key=order.__getitem__)


def _covers(general: TreePattern, special: TreePattern) -> bool:
    try:
        return homomorphism(general, special)
    except UndecidedError:
        return False


# -- one member ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _PatternDraft:
    """A node of a pattern in the making: what is tested there, single-valued steps below, and variables below."""

    values: dict[ValueTest, None] = field(default_factory=dict)
    single: dict[_Step, _PatternDraft] = field(default_factory=dict)
    variables: list[str] = field(default_factory=list)

    def at(self, steps: Iterable[_Step]) -> _PatternDraft:
        """The place that single-valued steps lead to."""
        place = self
        for step in steps:
            place = place.single.setdefault(step, _PatternDraft())
        return place


class _Saying:
    """Says a member in patterns: several where a box has several tags."""

    def __init__(self, member: Member, constraints: Constraints) -> None:
        self._constraints = constraints
        self._tree = constraints.tree
        self._variables = {variable.name: variable for variable in member.variables}
        self._places = {name: _PatternDraft() for name in self._variables}
        self._tags: dict[str, list[Comparison]] = {}
        self._exact = True
        self._possible = True
        for variable in member.variables:
            self._hang(variable)
        for atom in member.atoms:
            match atom:
                case _ if any(value_expression(term.path) is not None for term in atom_terms(atom)):
                    self._compute(atom)
                case Comparison():
                    self._compare(atom)
                case Presence(term):
                    self._place(term)
                case DeepEqual() | SameValue() | Absence() | NoNode():
                    self._exact = False

    def patterns(self) -> Iterator[tuple[TreePattern, bool]]:
        """The patterns, each with whether it says all that the member says."""
        if not self._possible:
            return
        boxes = [variable for variable in self._variables.values() if self._tree.box(variable.node) is not None]
        choices: list[Sequence[str]] = [self._names(variable) for variable in boxes]
        names = [variable.name for variable in boxes]
        found = list(islice(product(*choices), MOST_PATTERNS + 1))
        if len(found) > MOST_PATTERNS:
            self._exact = False
            found = [(ANY_ELEMENT,) * len(boxes)]
        for chosen in found:
            yield self._pattern(dict(zip(names, chosen, strict=True))), self._exact

    # -- what the member says --------------------------------------------------------------------------------------

    def _hang(self, variable: Variable) -> None:
        if variable.parent is not None:
            above = self._variables[variable.parent].node
            between = variable.node[len(above) : -1]
            self._places[variable.parent].at(map(_step, between)).variables.append(variable.name)

    def _place(self, term: Term) -> _PatternDraft:
        """The node that has the value of a term: of a text beside attributes its element, of a tag the tagged one."""
        return self._places[term.variable].at(_step(part) for part in term.path if part not in (TAG, TEXT))

    def _compare(self, atom: Comparison) -> None:
        match atom:
            case Comparison(_, Term(variable, path), Text() | Number()) if path == (TAG,):
                self._tags.setdefault(variable, []).append(atom)
            case Comparison(operator, left, Text() | Number() as constant) if is_sign(operator):
                self._place(left).values[ValueTest(operator, constant)] = None
            case Comparison(operator, left, right) if left == right:
                self._place(left)
                self._possible = self._possible and OPERATORS[operator].is_reflexive
            case _:
                for term in atom_terms(atom):
                    self._present(term)
                self._exact = False

    def _compute(self, atom: Atom) -> None:
        """Of what is computed a pattern says only that the leaves are there."""
        for term in present_terms(atom):
            if value_expression(term.path) is None:
                self._present(term)
        self._exact = False

    def _present(self, term: Term) -> None:
        if not self._constraints.required(self._variables[term.variable].node, term.path):
            self._place(term)

    # -- boxes -----------------------------------------------------------------------------------------------------

    def _names(self, variable: Variable) -> tuple[str, ...]:
        """What the elements of a box variable may be called; ``*`` where there is no end of it, or it is shorter."""
        tests, box = self._tags.get(variable.name, []), self._tree.box(variable.node)
        assert box is not None  # asked for boxes only
        equal = next(
            (test.right.value for test in tests if test.operator == "=" and isinstance(test.right, Text)), None
        )
        if equal is not None and (not _all_hold(equal, tests) or (self._constraints.valid and equal not in box.values)):
            return ()
        if equal is not None:
            return self._named(variable.node, equal)
        alone = set(axis_matches(self._tree, variable.node[:-1], "child", WILDCARD)) == {Match(variable.node)}
        if alone and not tests:
            return (ANY_ELEMENT,)
        if self._constraints.valid:
            return tuple(tag for tag, value in zip(box.members, box.values, strict=True) if _all_hold(value, tests))
        self._exact = False
        return (ANY_ELEMENT,)

    def _named(self, path: Path, value: str) -> tuple[str, ...]:
        try:
            return (self._tree.tag_of_value(path, value),)
        except SchemaError:
            return ()  # there is no such tag, and so no such element

    # -- the pattern -----------------------------------------------------------------------------------------------

    def _pattern(self, names: dict[str, str]) -> TreePattern:
        root = next(iter(self._variables))
        return TreePattern((self._node(("/", self._tree.root), self._places[root], names),))

    def _node(self, step: _Step, place: _PatternDraft, names: dict[str, str]) -> PatternNode:
        below = [self._node(single, under, names) for single, under in place.single.items()]
        for name in place.variables:
            axis, test = _step(self._variables[name].node[-1])
            below.append(self._node((axis, names.get(name, test)), self._places[name], names))
        return PatternNode(*step, tuple(sorted(place.values, key=str)), _needed(below))


def _all_hold(value: str, tests: Iterable[Comparison]) -> bool:
    return all(holds(value, test.operator, test.right) for test in tests if isinstance(test.right, Text | Number))


def _step(part: str) -> _Step:
    return ("//", part.removeprefix(ANYWHERE)) if part.startswith(ANYWHERE) else ("/", part)


def _needed(nodes: Iterable[PatternNode]) -> tuple[PatternNode, ...]:
    """The nodes, in a fixed order, without those that are there wherever another one is."""
    kept: list[PatternNode] = []
    for node in sorted(_distinct(nodes), key=lambda node: (len(str(node)), str(node)), reverse=True):
        if not any(_covers(TreePattern((node,)), TreePattern((other,))) for other in kept):
            kept.append(node)
    return tuple(sorted(kept, key=str))


def _distinct(nodes: Iterable[PatternNode]) -> tuple[PatternNode, ...]:
    return tuple(dict.fromkeys(nodes))

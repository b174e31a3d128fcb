"""What a peer tells of paths that are for counts only: aggregates of groups that are large enough."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from heptox.errors import Fault, PeerError
from heptox.grammar import ITEM, Expression, syntax
from heptox.peer.wire.messages import PeerId
from heptox.shell import EACH, FOLDS, asks_for_extremes, brings_rows, is_key, with_sources

MOST_COUNTS: Final = 100
"""Different questions for counts that one neighbour gets answered in a day."""
_DAY: Final = 86_400.0
_MOST_ASKERS: Final = 1000


class CountsOnly:
    """The paths of which only counts are told, and the ``least`` group of each; and what neighbours have asked of them.

    ``now`` is a clock that never goes back, in seconds.
    """

    def __init__(self, least: Mapping[str, int] | None = None, now: Callable[[], float] = time.monotonic) -> None:
        self.least = least or {}
        self._now = now
        self._asked: OrderedDict[PeerId, dict[bytes, float]] = OrderedDict()

    @property
    def group(self) -> int:
        """How many are in a group at least, whichever of the paths a query asks for: one may be in another."""
        return max(self.least.values(), default=0)

    def check(self, asker: PeerId, key: bytes, query: Expression) -> None:
        """Raise :class:`PeerError` where a query for counts is not answered: HX7108 as :func:`counted_by_source`, and
        for one that asks for the least or greatest of values; HX7109 where a neighbour asks more than
        :data:`MOST_COUNTS` in a day, for what two answers differ by may be one node.
        """
        counted_by_source(query)
        if asks_for_extremes(query):
            message = "of what is for counts only, no least or greatest value is told"
            raise PeerError(Fault("HX7108", message, hint="ask for count, sum or avg"))
        now = self._now()
        asked = self._asked.setdefault(asker, {})
        self._asked.move_to_end(asker)
        for old in [each for each, at in asked.items() if at < now - _DAY]:
            del asked[old]
        if key not in asked and len(asked) >= MOST_COUNTS:
            message = f"{MOST_COUNTS} different questions of what is for counts only are answered in a day"
            raise PeerError(Fault("HX7109", message, hint="ask the same again, or tomorrow"))
        asked[key] = now
        while len(self._asked) > _MOST_ASKERS:
            self._asked.popitem(last=False)


def counted_by_source(query: Expression) -> Expression:
    """A query for rows, of whose items each says of which node of the documents it is.

    Only what takes plain leaves of the nodes of one loop is taken, with conditions that all have to hold: whatever else
    a query may say can be about one of them. Raises :class:`PeerError` (HX7108).
    """
    if isinstance(query, syntax.Flwor) and len(query.clauses) == 1 and not query.order:
        (loop,) = query.clauses
        is_of_each = isinstance(loop, syntax.For) and _is_of_each_node(loop, query.where)
        if is_of_each and _is_row(query.result, loop.variable):
            return with_sources(query, loop.variable)
    message = "of what is for counts only, it asks for more than counts of one kind of node"
    hint = "for $p in //a where $p/b = ... and ... group by $g := $p/c return ... count($p) ... sum($p/d)"
    raise PeerError(Fault("HX7108", message, hint=hint))


def identity_of(query: Expression) -> Expression:
    """What identifies the nodes that a query counts: it must not be what is for counts only."""
    assert isinstance(query, syntax.Flwor) and isinstance(query.result, syntax.ElementConstructor)
    (loop,), nodes = query.clauses, query.result.content[-1]
    assert isinstance(nodes, syntax.ElementConstructor)
    path = replace(loop.source, steps=tuple(replace(step, predicates=()) for step in loop.source.steps))
    told = tuple(part for part in nodes.content if not is_key(part))  # keys are not told
    return syntax.Flwor((syntax.For(loop.variable, path),), None, replace(nodes, content=told))


def _is_of_each_node(loop: syntax.For, where: syntax.Condition | None) -> bool:
    """Whether a loop is over nodes of all documents, and conditions are on what is in each of them."""
    *above, last = loop.source.steps
    if loop.source.start != "/" or any(step.predicates for step in above):
        return False
    tests = [(test, ".") for predicate in last.predicates for test in _conjuncts(predicate)]
    tests += [(test, loop.variable) for test in _conjuncts(where)]
    return all(_is_test(*test) for test in tests)


def _conjuncts(condition: syntax.Condition | None) -> tuple[syntax.Condition, ...]:
    if isinstance(condition, syntax.And):
        return condition.conditions
    return () if condition is None else (condition,)


def _is_test(condition: syntax.Condition, start: str) -> bool:
    """Whether a condition says of a leaf that it is there, or how it compares with a value."""
    match condition:
        case syntax.Exists(path):
            return _is_plain(path, start)
        case syntax.Comparison("=" | "<" | "<=" | ">" | ">=", left, right):
            sides = [side.argument if isinstance(side, syntax.Data) else side for side in (left, right)]
            literals = (syntax.StringLiteral, syntax.NumberLiteral)
            return any(
                isinstance(one, syntax.PathExpression) and _is_plain(one, start) and isinstance(other, literals)
                for one, other in (sides, sides[::-1])
            )
        case _:
            return False


def _is_plain(path: syntax.Expression, start: str) -> bool:
    """Whether a path goes down from a variable without conditions."""
    return (
        isinstance(path, syntax.PathExpression)
        and path.start == start
        and not any(step.predicates or step.axis.startswith("descendant") for step in path.steps)
    )


def _is_row(item: Expression, variable: str) -> bool:
    """Whether an item is a row of plain leaves below a variable's node, and says which node it is of."""
    match item:
        case syntax.ElementConstructor(_, (), (made, syntax.ElementConstructor())) if brings_rows(item):
            return isinstance(made, syntax.ElementConstructor) and _is_content(made, variable)
        case _:
            return False


def _is_values(part: str | Expression, variable: str) -> bool:
    """Whether what is folded is values of plain leaves, each for itself, and nothing besides."""
    match part:
        case syntax.Flwor((syntax.For(inner, source),), None, result, ()):
            return _is_plain(source, variable) and _is_values(result, inner)
        case syntax.ElementConstructor(name, (), (value, syntax.ElementConstructor())) if name == ITEM:
            return _is_content(part, variable) and _is_values(value, variable)
        case syntax.ElementConstructor(name, (), (value,)) if name == EACH and not isinstance(value, str):
            return _is_content(value, variable)
        case _:
            return False


def _is_content(part: str | Expression, variable: str) -> bool:
    """Whether what stands in a constructor is plain leaves, loops over what repeats, and elements around these."""
    match part:
        case str():
            return True
        case syntax.ElementConstructor(name, (), content) if name in FOLDS:
            return len(content) == 1 and _is_values(content[0], variable)
        case syntax.ElementConstructor(_, (), content):
            return all(_is_content(each, variable) for each in content)
        case syntax.PathExpression() | syntax.Data(syntax.PathExpression()):
            return _is_plain(part.argument if isinstance(part, syntax.Data) else part, variable)
        case syntax.NodeIdentity(path):
            return _is_plain(path, variable)
        case syntax.Flwor((syntax.For(inner, source),), None, result, ()):
            return _is_plain(source, variable) and _is_content(result, inner)
        case _:
            return False

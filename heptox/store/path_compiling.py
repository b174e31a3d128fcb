"""From the paths of a query to joins over the relations of a schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from heptox.errors import SchemaError
from heptox.grammar import step_matches, syntax
from heptox.schema import ANYWHERE, TEXT, Path
from heptox.store import sql
from heptox.store.joins import Join, Let, NodeSet, NotCompiledError, Reached, is_attribute
from heptox.store.row_joins import RowJoins

MOST_MEMBERS: Final = 100
"""Ways in which the paths of one loop may lead through the schema; a query that has more is interpreted."""
MOST_READINGS: Final = 5_000
"""How often paths may be read for one query: what ``let`` binds is read again where it is used."""
_STARTS: Final = {"/": NodeSet(None, frozenset()), syntax.COLLECTION: NodeSet(None, frozenset(), collected=True)}

_Condition: TypeAlias = Callable[[syntax.Condition, Join, NodeSet | None], sql.Condition]


def refuse_many(found: Sized) -> None:
    """Refuse what stands for too many alternatives."""
    if len(found) > MOST_MEMBERS:
        raise NotCompiledError(f"its paths lead through the schema in over {MOST_MEMBERS} ways")


class PathCompiler:
    """Compiles paths; ``condition`` compiles their predicates. It ``ignores_white`` as :class:`CompiledQuery` says."""

    def __init__(self, rows: RowJoins, condition: _Condition) -> None:
        self.rows = rows
        self.ignores_white = False
        self._readings = 0
        self._condition = condition
        self._catalogue = rows.catalogue
        self._tree = rows.catalogue.tree

    def path(self, path: syntax.PathExpression, join: Join, context: NodeSet | None = None) -> list[Reached]:
        """The places that a path leads to, each with the join that it is reached by."""
        self._readings += 1
        if self._readings > MOST_READINGS:
            raise NotCompiledError(f"its paths are read over {MOST_READINGS:,} times")
        found: list[Reached] = []
        if path.start.startswith("$"):
            binding = join.bindings[path.start]
            if isinstance(binding, Let):
                inner = self.path(binding.source, replace(join, bindings=binding.bindings), context)
                found = [(replace(after, bindings=join.bindings), nodes) for after, nodes in inner]
            else:
                found = [(join, binding)]
        else:
            start = _STARTS.get(path.start, context)
            if start is None:
                raise NotCompiledError("a path has no context")
            found = [(join, start)]
        for step in path.steps:
            found = [reached for before, nodes in found for reached in self._step(step, before, nodes)]
            refuse_many(found)
        self._refuse_twice(found)
        return found

    def _refuse_twice(self, found: list[Reached]) -> None:
        """A node that a path reaches in several ways is one node, of one match."""
        reached: set[tuple[Path, Path]] = set()
        for _, nodes in found:
            for stop in nodes.stops:
                if (stop, nodes.path) in reached:
                    raise NotCompiledError("a path reaches one node in several ways")
                reached.add((stop, nodes.path))

    def refuse_ties(self, found: list[Reached]) -> None:
        """Attributes of one element stand in an order that the relations do not hold."""
        owners = [(stop, nodes.path[:-1]) for _, nodes in found if is_attribute(nodes) for stop in nodes.stops]
        if len(set(owners)) < len(owners):
            raise NotCompiledError("several attributes of one element are asked for in one path")

    def _step(self, step: syntax.Step, join: Join, nodes: NodeSet) -> Iterator[Reached]:
        if is_attribute(nodes) or nodes.path[-1:] == (TEXT,):
            return
        self._refuse_open(step, nodes)
        if step.names == (TEXT,):
            self.ignores_white = self.ignores_white or self._may_be_white(step, nodes)
        for route in self._routes(step, nodes):
            after, reached = self._followed(route, join, nodes)
            for predicate in step.predicates:
                after = self.rows.grounded(after)
                after = after.having(self._condition(predicate, after, reached))
            yield after, reached

    def _refuse_open(self, step: syntax.Step, nodes: NodeSet) -> None:
        """What stands in open content has no place in the relations."""
        contexts: list[Path | None] = [(*stop, *nodes.path) for stop in nodes.stops] or [None]
        if any(self._tree.may_hold_anything(context, deep="descendant" in step.axis) for context in contexts):
            raise NotCompiledError("it looks into open content")

    def _may_be_white(self, step: syntax.Step, nodes: NodeSet) -> bool:
        """Whether a step to texts leads to elements that hold elements only."""
        elements = [*self._catalogue.graph.elements.values()]
        if step.axis == "child":
            elements = [self.rows.element(nodes)] if nodes.stops else []
        return any(element.children and not element.text for element in elements)

    def _routes(self, step: syntax.Step, nodes: NodeSet) -> list[_Route]:
        """The routes of a step from a node set, with the schema paths that each stands for."""
        routes: dict[tuple[tuple[str, ...], Path], _Route] = {}
        stops: list[Path | None] = [*sorted(nodes.stops)] if nodes.stops else [None]
        for stop in stops:
            context = None if stop is None else (*stop, *nodes.path)
            try:
                matches = tuple(step_matches(self._tree, step, context))
            except SchemaError as error:
                raise NotCompiledError(str(error)) from None
            for match in matches:
                chain, rest = self._chain(match.path, 0 if stop is None else len(stop) + 1)
                if nodes.alias is None:
                    chain = chain[-1:]  # all rows of a document are below its root
                key = tuple(self._catalogue.relation(path).table for path in chain), rest
                route = routes.setdefault(key, _Route(rest, [set() for _ in chain]))
                if stop is not None:
                    route.starts.add(stop)
                for level, path in zip(route.levels, chain, strict=True):
                    level.add(path)
        return list(routes.values())

    def _chain(self, path: Path, start: int) -> tuple[list[Path], Path]:
        """The schema paths with rows on the path to a node, from a length on, and the rest of its path."""
        if any(step.startswith(ANYWHERE) for step in path):
            raise NotCompiledError("it looks into recursive content")
        graph, last = self._catalogue.graph, 0
        chain: list[Path] = []
        for length in range(len(path) + 1):
            here = path[:length]
            if self._catalogue.has_rows(here):
                last = length
                if length >= start:
                    chain.append(here)
            name = here[-1] if here else graph.root
            below = path[length : length + 1]
            if below and not below[0].startswith("@") and self._catalogue.is_opaque(name):
                raise NotCompiledError(f"it looks into the mixed or recursive content of {name}")
        return chain, path[last:]

    def _followed(self, route: _Route, join: Join, nodes: NodeSet) -> Reached:
        if not route.levels:
            narrowed = frozenset(route.starts)
            if narrowed != nodes.stops and nodes.alias is not None:
                join = join.having(self.rows.standing_at(nodes.alias, narrowed))
            return join, replace(nodes, stops=narrowed, path=route.rest)
        if nodes.alias is None:
            stops = frozenset(route.levels[-1])
            if stops == {()} and not nodes.collected:
                return join, NodeSet(None, stops, route.rest)
            join, alias = self.rows.joined(join, stops, None, collected=nodes.collected)
            return join, NodeSet(alias, stops, route.rest, nodes.collected)
        above = nodes.alias
        for level in route.levels:
            stops = frozenset(level)
            join, above = self.rows.joined(join, stops, above, collected=nodes.collected)
        if frozenset(route.starts) != nodes.stops:
            join = join.having(self.rows.standing_at(nodes.alias, frozenset(route.starts)))
        return join, NodeSet(above, stops, route.rest, nodes.collected)


@dataclass(slots=True)
class _Route:
    """A route from the rows at ``starts`` through rows level by level to a node at ``rest`` below the last."""

    rest: Path
    levels: list[set[Path]]
    starts: set[Path] = field(default_factory=set)

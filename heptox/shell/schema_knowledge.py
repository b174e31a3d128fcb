"""What a schema says of counted items: the keys by which nodes of several peers are one (``semantics.md`` section 7),
and what is there once at most, and needs no counting.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from heptox.errors import SchemaError
from heptox.grammar import NODES, step_matches, steps_of, syntax, uncounted
from heptox.schema import Path, SchemaTree

_Reached: TypeAlias = frozenset[Path | None]
"""The schema paths of nodes; ``None`` is the document."""


def with_schema(counted: syntax.Expression, tree: SchemaTree, keys: frozenset[Path]) -> syntax.Expression:
    """The query whose items have the keys of the nodes that they are of, where these have one, and in which only what
    may repeat is counted: ``keys`` are absolute paths of leaves, each of which identifies its node.
    """
    return _Known(tree, keys, bool(tree.types.recursive)).expression(counted, {})


@dataclass(frozen=True, slots=True)
class _Known:
    tree: SchemaTree
    keys: frozenset[Path]
    is_recursive: bool
    """Where elements stand in themselves ``//name`` may be anywhere, and is not looked for."""

    def expression(self, part: syntax.Expression, scope: Mapping[str, _Reached]) -> syntax.Expression:
        """A part in which variables stand for nodes of the scope."""
        match part:
            case syntax.Flwor():
                inner = dict(scope)
                for clause in part.clauses:
                    inner[clause.variable] = self._reached(clause.source, inner)
                return replace(part, result=self.expression(part.result, inner))
            case syntax.Sequence(items):
                return replace(part, items=tuple(self.expression(item, scope) for item in items))
            case syntax.Conditional(_, value, None):
                return replace(part, value=self.expression(value, scope))
            case syntax.ElementConstructor(name, _, content):
                inside = tuple(each if isinstance(each, str) else self._inside(each, scope) for each in content)
                return replace(part, content=(*inside, *(self._keys(content, scope) if name == NODES else ())))
            case _:
                return part

    def _inside(self, part: syntax.Expression, scope: Mapping[str, _Reached]) -> syntax.Expression:
        """A part of a constructor: a loop over what is there once at most needs no counting."""
        match self.expression(part, scope):
            case syntax.Flwor((syntax.For(variable, source),), None, result) as loop if self._is_single(source, scope):
                item = uncounted(result)
                return source if item == syntax.PathExpression(variable) else replace(loop, result=item)
            case known:
                return known

    def _is_single(self, path: syntax.PathExpression, scope: Mapping[str, _Reached]) -> bool:
        """Whether a path leads from a node to one other at most."""
        starts, ends = scope.get(path.start, frozenset()), self._reached(path, scope)
        if len(starts) != 1 or len(ends) != 1 or any(step.predicates for step in path.steps):
            return False
        (start,), (end,) = starts, ends
        if start is None or end is None or not path.steps:
            return False
        return not any(self.tree.is_stop(end[:length]) for length in range(len(start) + 1, len(end) + 1))

    def _keys(
        self, content: tuple[str | syntax.Expression, ...], scope: Mapping[str, _Reached]
    ) -> tuple[syntax.ElementConstructor, ...]:
        """The keys of the nodes that an item is of, if all have one."""
        found: list[syntax.ElementConstructor] = []
        for part in content:
            if isinstance(part, syntax.ElementConstructor):
                node = cast(syntax.NodeIdentity, part.content[0]).argument
                key = self._key(scope[node.start])
                if key is None:
                    return ()
                value = syntax.Data(syntax.PathExpression(node.start, tuple(steps_of(key))))
                found.append(syntax.ElementConstructor(f"k{len(found)}", (), (value,)))
        return tuple(found)

    def _key(self, nodes: _Reached) -> Path | None:
        """The path to the key of nodes, where all have the same."""
        found = {key[len(node) :] for node in nodes if node is not None for key in self.keys if self._is_of(key, node)}
        has_all = all(node is not None and any(self._is_of(key, node) for key in self.keys) for node in nodes)
        return found.pop() if len(found) == 1 and has_all else None

    def _is_of(self, key: Path, node: Path) -> bool:
        return key[: len(node)] == node and self.tree.is_stop(node) and key[len(node) :] in self.tree.own_leaves(node)

    def _reached(self, path: syntax.PathExpression, scope: Mapping[str, _Reached]) -> _Reached:
        if self.is_recursive and any(step.axis.startswith("descendant") for step in path.steps):
            return frozenset()
        reached = scope.get(path.start, frozenset[Path | None]({None}))
        try:
            for step in path.steps:
                reached = frozenset(match.path for node in reached for match in step_matches(self.tree, step, node))
        except SchemaError:  # more than is looked at
            return frozenset()
        return reached

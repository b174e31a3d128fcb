"""How groups that repeat side by side below the root are connected: by references (``semantics.md`` section 4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from heptox.mapping.model import Reference
from heptox.mapping.paths import Leaf, component, leaf_at
from heptox.schema import Path, SchemaTree

Component: TypeAlias = Path
"""The topmost stop node below the root: everything below it shares its variable."""

_MOST_CONNECTIONS: Final = 2000


@dataclass(frozen=True, slots=True)
class Link:
    """A reference between two components."""

    reference: Reference
    source: Leaf
    target: Leaf
    ends: tuple[Component, Component]


Connection: TypeAlias = tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class NotConnected:
    """Components that no references connect."""

    components: tuple[Component, ...]


@dataclass(frozen=True, slots=True)
class Tie:
    """Connections that are equally short; ``complete`` unless there are too many to list."""

    connections: tuple[Connection, ...]
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Network:
    """The links between the components of a schema tree, and those that ``join`` lines prefer."""

    links: tuple[Link, ...]
    preferred: frozenset[Reference] = field(default_factory=frozenset)

    def classes(self, components: Iterable[Component]) -> tuple[frozenset[Component], ...]:
        """The components sorted into those that can be connected with each other, in order of appearance."""
        found: dict[frozenset[Component], list[Component]] = {}
        for each in dict.fromkeys(components):
            found.setdefault(self._reachable(each), []).append(each)
        return tuple(frozenset(members) for members in found.values())

    def connect(
        self, components: Sequence[Component], so_far: Connection = (), joined: Sequence[Component] = ()
    ) -> Connection | NotConnected | Tie:
        """The shortest way to connect ``components``, prolonging the connection ``so_far`` of those ``joined`` already.

        Of several that are equally short, the one with most links that ``join`` lines prefer.
        """
        needed = [*dict.fromkeys((*joined, *components))]
        if len(self.classes(needed)) > 1:
            return NotConnected(tuple(sorted(needed)))
        if not needed:
            return ()
        begin = frozenset((needed[0], *joined, *(end for link in so_far for end in link.ends)))
        found = self._shortest(begin, frozenset(needed))
        if found is None:
            return Tie((), complete=False)
        most = max(self._preference(connection) for connection in found)
        best = [connection for connection in found if self._preference(connection) == most]
        return so_far + best[0] if len(best) == 1 else Tie(tuple(so_far + connection for connection in best))

    def _preference(self, connection: Connection) -> int:
        return sum(link.reference in self.preferred for link in connection)

    def _shortest(self, begin: frozenset[Component], needed: frozenset[Component]) -> list[Connection] | None:
        """All shortest sets of links that reach ``needed`` from ``begin``; ``None`` when there are too many."""
        level: dict[frozenset[Link], frozenset[Component]] = {frozenset(): begin}
        while True:
            reached = [links for links, ends in level.items() if needed <= ends]
            if reached:
                return [tuple(link for link in self.links if link in links) for links in reached]
            longer = {}
            for links, ends in level.items():
                for link in self.links:
                    if (link.ends[0] in ends) != (link.ends[1] in ends):
                        longer[links | {link}] = ends.union(link.ends)
            if len(longer) > _MOST_CONNECTIONS:
                return None
            level = longer

    def _reachable(self, begin: Component) -> frozenset[Component]:
        reached, waiting = {begin}, [begin]
        while waiting:
            here = waiting.pop()
            for link in self.links:
                if here in link.ends:
                    there = link.ends[0] if link.ends[1] == here else link.ends[1]
                    if there not in reached:
                        reached.add(there)
                        waiting.append(there)
        return frozenset(reached)


def network(tree: SchemaTree, references: Iterable[Reference], joins: Iterable[Reference] = ()) -> Network:
    """The links of a schema tree: references from one component to another."""
    links = []
    for reference in references:
        source, target = leaf_at(tree, reference.source), leaf_at(tree, reference.target)
        ends = component(tree, source.stop), component(tree, target.stop)
        if ends[0] is not None and ends[1] is not None and ends[0] != ends[1]:
            links.append(Link(reference, source, target, (ends[0], ends[1])))
    return Network(tuple(links), frozenset(joins))

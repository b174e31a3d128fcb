"""One choice of arrows for the leaves of a target group and of those around it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace

from heptox.mapping.connections import Connection
from heptox.mapping.correspondences import Correspondence, Entity
from heptox.mapping.paths import Leaf, schema_order
from heptox.schema import Path, SchemaTree


@dataclass(frozen=True, slots=True)
class Alternative:
    """A maximal choice of at most one correspondence for each leaf of a chain, in the order of the target schema.

    ``entities`` say which nodes of the chain stand for a source node each. Where several arrows competed, the leaf of
    the chosen one is ``present``, or no leaf of the ``withheld`` ones is there; a body binds the node of one that did
    not compete, for a key, all the same. It was chosen among the ``offered`` arrows, and those of other entities.
    """

    chosen: tuple[Correspondence, ...]
    entities: tuple[Entity, ...] = ()
    present: frozenset[Correspondence] = frozenset()
    withheld: tuple[Correspondence, ...] = ()
    offered: frozenset[Correspondence] = frozenset()

    @property
    def bound(self) -> tuple[Correspondence, ...]:
        """The arrows whose source nodes a body binds."""
        several = Counter(c.target for c in self.withheld)
        return (*self.chosen, *(c for c in self.withheld if several[c.target] == 1))

    def without(self, left: Collection[Correspondence]) -> Alternative:
        """The same without some of the arrows."""
        return replace(self, chosen=tuple(c for c in self.chosen if c not in left))

    @property
    def targets(self) -> frozenset[Leaf]:
        """The leaves that it supplies."""
        return frozenset(c.target for c in self.chosen)


def is_less(one: Alternative, other: Alternative) -> bool:
    """Whether an alternative is a part of another, though nothing says that what it lacks is absent."""
    return not one.withheld and one.entities == other.entities and set(one.chosen) < set(other.chosen)


def used_stops(tree: SchemaTree, alternative: Alternative, connection: Connection) -> tuple[Path, ...]:
    """The stop nodes that a body needs, closed under those above, in the order of the schema."""
    used = [c.source.stop for c in alternative.bound] + [entity.source for entity in alternative.entities]
    used += [leaf.stop for link in connection for leaf in (link.source, link.target)]
    above = {stop for end in [(), *used] for stop in tree.stops(end)}
    return tuple(sorted(above, key=lambda stop: schema_order(tree, stop)))

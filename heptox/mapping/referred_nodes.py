"""What target leaves refer to that take what other nodes are identified by (``semantics.md`` section 2, surrogates)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from heptox.mapping.alternative import Alternative
from heptox.mapping.identity import declared_key
from heptox.mapping.paths import Leaf, is_at_or_below, is_sure
from heptox.mapping.rule_input import RuleInput
from heptox.pattern import NODE
from heptox.schema import Path, plain

Identified: TypeAlias = tuple[Path, tuple[tuple[Leaf, Leaf], ...]]
"""A target stop node, and the target leaves that identify a node there, each with the source leaf it comes from."""

Referring: TypeAlias = Mapping[Leaf, Identified]
"""What target leaves refer to."""


@dataclass(frozen=True, slots=True)
class ReferredNodes:
    """Finds the nodes that the leaves of one alternative refer to."""

    input: RuleInput
    alternative: Alternative

    def referring(self, chain: Sequence[Path]) -> Referring:
        """What the leaves of a chain refer to that take what other nodes are identified by: where what makes their node
        makes that one, too, and it is the only one.
        """
        found: dict[Leaf, list[Identified]] = {}
        for holder, node in self.input.arrow_set.referring:
            if holder.stop in chain and holder not in self.alternative.targets:
                stops = self._reached(holder.stop)
                leaves = self._identifying(node, stops)
                found.setdefault(holder, []).extend([] if leaves is None else [(node, leaves)])
        return {holder: several[0] for holder, several in found.items() if len(several) == 1}

    def _reached(self, stop: Path) -> frozenset[Path]:
        """The stop nodes of the source of which there is one for each node at a target stop: of what its leaves come
        from; of what it stands for, or what its key identifies, where it may get its leaves from several.
        """
        tree = self.input.source.tree
        ends = [entity.source for entity in self.alternative.entities if entity.target == stop]
        own = [c for c in self.alternative.chosen if c.target.stop == stop and c not in self.input.arrow_set.surrogates]
        keys = [c.source for c in own if plain(c.target.absolute) in self.input.target.declared_keys]
        if not ends and keys:
            ends = [leaf.stop for leaf in keys[:1] if plain(leaf.absolute) in self.input.source.keys]
        elif not ends:
            ends = [c.source.stop for c in own]
        return frozenset(above for end in ends for above in tree.stops(end))

    def _identifying(self, node: Path, stops: frozenset[Path]) -> tuple[tuple[Leaf, Leaf], ...] | None:
        """The target leaves that identify a node, with those above it, each with the source leaf that it comes from at
        one of some stop nodes; ``None`` where others may supply them as well.
        """
        found: list[tuple[Leaf, Leaf]] = []
        for stop in self.input.target.tree.stops(node)[1:]:
            lines = [entity for entity in self.input.entities if entity.target == stop]
            if self.input.target.tree.box(stop) or len(lines) > 1:
                return None
            if lines:
                found.append((Leaf(stop, (NODE,)), Leaf(lines[0].source, (NODE,))))
                continue
            own = self._values(stop, stops)
            if own is None:
                return None
            found += own
            for holder, other in self.input.arrow_set.referring if not self._key(stop, own) else ():
                if holder.stop == stop:
                    inner = self._identifying(other, stops)
                    if inner is None:
                        return None
                    found += [(Leaf((), holder.absolute + at.absolute), leaf) for at, leaf in inner]
        ends = {leaf.stop for _, leaf in found}
        lowest = max(ends, key=len, default=())
        is_there = ends <= stops and all(is_at_or_below(lowest, end) for end in ends)
        proper = [leaf for at, leaf in found if at.stop == node]
        is_distinct = len(proper) == len(found) or any(is_sure(self.input.source.tree, leaf) for leaf in proper)
        return tuple(found) if is_there and proper and is_distinct else None

    def _values(self, stop: Path, stops: frozenset[Path]) -> list[tuple[Leaf, Leaf]] | None:
        """The leaves of a target stop node that identify it by value, or its key."""
        arrows = [c for c in self.input.arrow_set.arrows if c.target.stop == stop]
        near = [c for c in arrows if c.source.stop in stops]
        others = (c for c in arrows if c not in near and self.input.is_connectable((*self.alternative.chosen, c)))
        is_plain = not any(c.copied or c.into or c.out_of for c in near)
        if any(others) or not is_plain or len({c.target for c in near}) < len(near):
            return None
        found = [(c.target, c.source) for c in near]
        key = self._key(stop, found)
        if key is None:
            return found
        own = [(at, leaf) for at, leaf in found if at.path == key]
        return own if all(is_sure(self.input.source.tree, leaf) for _, leaf in own) else None

    def _key(self, stop: Path, found: Iterable[tuple[Leaf, Leaf]]) -> Path | None:
        return declared_key(self.input.target.tree, self.input.target.declared_keys, stop, [at.path for at, _ in found])

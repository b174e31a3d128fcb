"""What a rule's body requires, and what it binds only where it can (``semantics.md`` section 4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from heptox.mapping.connections import Component, Connection, Link
from heptox.mapping.paths import Leaf, component, schema_order
from heptox.schema import Path, SchemaTree

Equality: TypeAlias = tuple[Leaf, Leaf]


@dataclass(frozen=True, slots=True)
class Anchors:
    """The source nodes that stand for nodes of the target, and the stop nodes that have to be bound besides."""

    entities: tuple[Path, ...]
    must: frozenset[Path]


@dataclass(slots=True)
class Part:
    """Stop nodes that are bound where they can be, parents first, and what connects them; the link comes first."""

    stops: list[Path] = field(default_factory=list)
    equal: list[Equality] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RuleBody:
    """The stop nodes of a body in the order of the schema, those that are required, the equalities between these, and
    the optional parts in the order in which they are bound.
    """

    stops: tuple[Path, ...]
    required: frozenset[Path]
    equal: tuple[Equality, ...]
    parts: tuple[Part, ...]


def rule_bodies(
    tree: SchemaTree,
    used: Sequence[Path],
    connection: Connection,
    anchors: Anchors,
    first: Component | None,
) -> list[RuleBody]:
    """The bodies over the stop nodes ``used``, which are closed under those above, in schema order.

    With entities all that they do not need is optional, in either direction of a reference. Else an optional reference
    (one that validity does not guarantee) is optional for the node that has it: the body starts where no such reference
    leads to. Where they lead there from several places there is a body for each of these; ``first`` is the component to
    start with where nothing else decides.
    """
    work = _Assembling(tree, used, connection, anchors)
    if anchors.entities:
        return [work.anchored()]
    return [work.started(start) for start in work.starts(first)]


@dataclass(frozen=True, slots=True)
class _Assembling:
    tree: SchemaTree
    used: Sequence[Path]
    connection: Connection
    anchors: Anchors

    # -- components ----------------------------------------------------------------------------------------------

    def stops_of(self, part: Component) -> list[Path]:
        return [stop for stop in self.used if stop and component(self.tree, stop) == part]

    def is_optional(self, link: Link) -> bool:
        """Whether validity does not imply that the reference is there and leads to a node."""
        holder = link.source
        sure = self.tree.required(holder.absolute, below=holder.stop)
        return not (sure and link.reference.inferred)

    def beyond(self, link: Link, here: Component) -> set[Component]:
        """The components that hang from ``here`` by a link."""
        there = link.ends[1] if link.ends[0] == here else link.ends[0]
        found, waiting = {there}, [there]
        while waiting:
            place = waiting.pop()
            for other in self.connection:
                if other is not link and place in other.ends:
                    found_there = other.ends[0] if other.ends[1] == place else other.ends[1]
                    if found_there not in found:
                        found.add(found_there)
                        waiting.append(found_there)
        return found

    def is_needed_beyond(self, link: Link, here: Component) -> bool:
        there = self.beyond(link, here)
        return any(component(self.tree, stop) in there for stop in self.anchors.must)

    def starts(self, first: Component | None) -> list[Component | None]:
        """Components such that each optional reference is followed from its holder's side for one of them."""
        optional = [link for link in self.connection if self.is_optional(link)]
        if not optional:
            return [first]
        parts = list(dict.fromkeys((*([first] if first else []), *(end for link in optional for end in link.ends))))
        behind = {part: {link for link in optional if part in self.beyond(link, link.ends[0])} for part in parts}
        free = [part for part in parts if not behind[part]]
        if free:
            return [free[0]]
        found: list[Component | None] = []
        covered: set[Link] = set()
        for link in optional:
            if link not in covered:
                found.append(link.ends[0])
                covered |= set(optional) - behind[link.ends[0]]
        return found

    # -- bodies --------------------------------------------------------------------------------------------------

    def started(self, start: Component | None) -> RuleBody:
        """The body that starts at a component: what its optional references lead to is optional."""
        required: set[Path] = {()}
        equal: list[Equality] = []
        parts: list[Part] = []
        if start is not None:
            required |= set(self.stops_of(start))
            waiting: list[tuple[Component, Part | None]] = [(start, None)]
            seen = {start}
            while waiting:
                here, within = waiting.pop(0)
                for link in self.connection:
                    if here not in link.ends or set(link.ends) <= seen:
                        continue
                    forth = link.ends[0] == here
                    there = link.ends[1] if forth else link.ends[0]
                    pair = (link.source, link.target) if forth else (link.target, link.source)
                    enters = forth and self.is_optional(link) and not self.is_needed_beyond(link, here)
                    part = Part() if enters else within
                    if enters and part is not None:
                        parts.append(part)
                    if part is None:
                        required |= set(self.stops_of(there))
                        equal.append((link.source, link.target))
                    else:
                        part.stops += self.stops_of(there)
                        part.equal.append(pair)
                    seen.add(there)
                    waiting.append((there, part))
        return self.body(required, equal, parts)

    def anchored(self) -> RuleBody:
        """The body around entities: they, what is above them, and what must be bound are required, nothing else."""
        anchors = [*self.anchors.entities, *self.anchors.must]
        required: set[Path] = {()} | {stop for anchor in anchors for stop in self.tree.stops(anchor)}
        needed = {component(self.tree, stop) for stop in required if stop}
        begin = next(iter(component(self.tree, stop) for stop in self.anchors.entities if stop), None)
        equal: list[Equality] = []
        parts: list[Part] = []
        bound = set(required)
        if begin is None:
            return self.body(required, equal, parts)
        self._children(begin, bound, parts)
        waiting, seen = [begin], {begin}
        while waiting:
            here = waiting.pop(0)
            for link in self.connection:
                if here not in link.ends or set(link.ends) <= seen:
                    continue
                forth = link.ends[0] == here
                near, far = (link.source, link.target) if forth else (link.target, link.source)
                there = link.ends[1] if forth else link.ends[0]
                if self.beyond(link, here) & needed:
                    both = {stop for leaf in (near, far) for stop in self.tree.stops(leaf.stop)}
                    required |= both
                    bound |= both
                    equal.append((link.source, link.target))
                else:
                    entered = [stop for stop in self.tree.stops(far.stop)[1:] if stop not in bound]
                    parts.append(Part(entered, [(near, far)]))
                    bound |= set(entered)
                self._children(there, bound, parts)
                seen.add(there)
                waiting.append(there)
        # What a link made required may stand in a part that was begun before.
        kept = [Part([stop for stop in part.stops if stop not in required], part.equal) for part in parts]
        return self.body(required, equal, [part for part in kept if part.stops])

    def _children(self, part: Component, bound: set[Path], parts: list[Part]) -> None:
        """A part for each used stop node of a component that is not bound yet: a chain below one that is."""
        for stop in self.stops_of(part):
            if stop not in bound:
                chain = [above for above in self.tree.stops(stop) if above not in bound]
                parts.append(Part(chain))
                bound |= set(chain)

    def body(self, required: set[Path], equal: Iterable[Equality], parts: Sequence[Part]) -> RuleBody:
        stops = required | {stop for part in parts for stop in part.stops}
        ordered = sorted(stops, key=lambda stop: schema_order(self.tree, stop))
        for part in parts:
            part.stops.sort(key=ordered.index)
        return RuleBody(tuple(ordered), frozenset(required), tuple(equal), tuple(parts))

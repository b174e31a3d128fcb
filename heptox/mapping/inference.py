"""From correspondences to rules (``semantics.md`` section 4; section 3 and Figure 5 of the report)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from math import prod
from typing import Final, TypeAlias

from heptox.mapping.connections import Component, Connection, Network, NotConnected, Tie, network
from heptox.mapping.correspondences import Correspondence, Entity
from heptox.mapping.declarations import DeclaredSide
from heptox.mapping.findings import Findings
from heptox.mapping.identity import declared_key, identity_arguments
from heptox.mapping.members import Place, TagCondition, all_tags, available, needed, own_members, tag_conditions
from heptox.mapping.model import Argument, Condition, HeadNode, OptionalPart, Rule, Surrogate
from heptox.mapping.naming import variable_names
from heptox.mapping.optional import ordered_parts
from heptox.mapping.paths import Leaf, component, is_sure, path_text, schema_order
from heptox.mapping.rule_bodies import Anchors, RuleBody, rule_bodies
from heptox.mapping.surrogates import Made
from heptox.pattern import NODE, TAG, Absence, Comparison, NoNode, Presence, Term, Text, Variable
from heptox.schema import Path, SchemaTree, idref_paths

MOST_ALTERNATIVES: Final = 256
"""How many alternatives a target group may have; more would make as many rules."""


_AFTER: Final = 1 << 60


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


def infer_rules(
    made: Made,
    entities: Sequence[Entity],
    sides: tuple[DeclaredSide, DeclaredSide],
    findings: Findings,
    *,
    mirrored: bool = False,
) -> tuple[Rule, ...]:
    """One rule for each target group that arrows or ``each`` lines reach, and each alternative; inner groups before
    those around them. ``sides`` are the one that documents are of, and the one that they are made for.

    What is wrong goes to ``findings``: groups that cannot be connected (HX4016), ties (HX4017), a box without its tag
    (HX4020), too many alternatives (HX4021), an arrow between members that no node belongs to both of (HX4018). In the
    ``mirrored`` reading a group that cannot be connected with another makes its rules alone, where it supplies more of
    a node than the other.
    """
    source, target = sides
    found = made.arrows
    links = network(source.tree, source.references, source.joins)
    inference = _Inference(source, target, links, findings, mirrored, made, tuple(entities))
    order = {c.target: schema_order(target.tree, c.target.absolute) for c in found}
    ordered = sorted(found, key=lambda c: order[c.target])
    rules: dict[Rule, None] = {}
    stops = {c.target.stop for c in found} | {entity.target for entity in entities}
    for stop in _inside_out(target.tree, stops):
        chain = target.tree.stops(stop)
        candidates = [c for c in ordered if c.target.stop in chain]
        lines = [entity for entity in entities if entity.target in chain]
        rules.update(dict.fromkeys(inference.rules(chain, candidates, lines)))
    if not findings:
        inference.report_unused(found)
    return tuple(rules)


def _inside_out(tree: SchemaTree, stops: Iterable[Path]) -> list[Path]:
    """Stop nodes in the order of the schema, but inner ones before those around them, as in Figure 2."""
    return sorted(stops, key=lambda stop: (*schema_order(tree, stop), _AFTER))


Identified: TypeAlias = tuple[Path, tuple[tuple[Leaf, Leaf], ...]]
"""A target stop node, and the target leaves that identify a node there, each with the source leaf it comes from."""

Referring: TypeAlias = Mapping[Leaf, Identified]
"""What target leaves refer to."""

_Option: TypeAlias = tuple[Correspondence | None, bool]
"""An arrow for a leaf, or none, and whether several competed for it."""


@dataclass(frozen=True, slots=True)
class _Inference:
    source: DeclaredSide
    target: DeclaredSide
    network: Network
    findings: Findings
    mirrored: bool
    made: Made
    entities: tuple[Entity, ...]
    used: set[Correspondence] = field(default_factory=set)

    def rules(
        self, chain: Sequence[Path], candidates: Sequence[Correspondence], lines: Sequence[Entity]
    ) -> Iterator[Rule]:
        """The rules of the group of the last stop node of ``chain``; ``candidates`` are the arrows into the chain."""
        last = chain[-1]
        for alternative in self._alternatives(chain, candidates, lines):
            makes = any(c.target.stop == last for c in alternative.chosen)
            makes = makes or (self._is_inner(last) and any(e.target == last for e in alternative.entities))
            if makes and self._has_tags(chain, alternative, candidates):
                connection = self._connection(chain, alternative)
                if connection is None:
                    continue
                used = self._used_stops(alternative, connection)
                referring = self._referring(chain, alternative)
                for tags in self._tag_conditions(alternative, candidates, used):
                    self.used.update(alternative.chosen)
                    for body in self._bodies(chain, alternative, connection, tags):
                        withheld = self._withheld(alternative, body)
                        if withheld is None:
                            continue
                        for made, there, kept in self._existing(last, alternative, body, referring):
                            yield self._rule(chain, made, body, dict.fromkeys((*withheld, *there)), tags, kept)

    def _is_inner(self, stop: Path) -> bool:
        """Whether a node at a target stop can be there without a value of its own."""
        return () not in self.target.tree.own_leaves(stop)

    def report_unused(self, found: Iterable[Correspondence]) -> None:
        """Report arrows that no rule uses: the tag of what they lead out of is not that of what they lead into."""
        for correspondence in found:
            if (correspondence.out_of or correspondence.into) and correspondence not in self.used:
                message = f"no node is of the members that {correspondence.arrow} names on both sides"
                hint = "the tags on both sides are the same value, so the members must be, too"
                self.findings.add("HX4018", message, correspondence.arrow, hint)

    # -- alternatives --------------------------------------------------------------------------------------------

    def _alternatives(
        self, chain: Sequence[Path], candidates: Sequence[Correspondence], lines: Sequence[Entity]
    ) -> list[Alternative]:
        """The maximal choices for some tags of the boxes whose members have arrows of their own."""
        stop = chain[-1]
        members = own_members(candidates)
        found: dict[Alternative, None] = {}
        if prod(len(names) + 1 for names in members.values()) > MOST_ALTERNATIVES:
            self._report_too_many(stop, candidates)
            return []
        for tags in all_tags(members):
            there = [c for c in candidates if available(c, tags)]
            alternatives = self._choices(chain, there, lines)
            if not self._come_together(alternatives, there):
                alternatives = self._at_home(chain, alternatives) if self.mirrored else []
            found.update(dict.fromkeys(alternatives))
        if len(found) > MOST_ALTERNATIVES:
            self._report_too_many(stop, candidates)
            return []
        return list(found)

    def _tag_conditions(
        self, alternative: Alternative, candidates: Sequence[Correspondence], stops: Sequence[Path]
    ) -> tuple[tuple[TagCondition, ...], ...]:
        """For which tags an alternative can be chosen and nothing added to it; ``stops`` are the nodes of its body.

        The tag in a target box is the value that the alternative supplies. An arrow out of a member of a source box
        that the body does not have can be added whatever the tags are: it would bind one more node.
        """
        own = own_members(candidates)
        supplied = {c.target: c.source for c in alternative.chosen}
        tags = {place: _tag_of(place, supplied, stops) for place in own}
        members: dict[Leaf, dict[str, None]] = {}
        for place, leaf in tags.items():
            if leaf is not None:
                members.setdefault(leaf, {}).update(dict.fromkeys(own[place]))

        def is_there(correspondence: Correspondence, values: Mapping[Leaf, str | None]) -> bool:
            pairs = ((tags[place], member) for place, member in needed(correspondence).items())
            return all(leaf is None or values[leaf] == member for leaf, member in pairs)

        others = [
            c for c in candidates if c not in alternative.offered and self._is_connectable((*alternative.chosen, c))
        ]

        competed = {c.target for c in alternative.present}
        rivals = [c for c in alternative.offered if c.target in competed]

        def holds(values: Mapping[Leaf, str | None]) -> bool:
            chosen = all(is_there(c, values) for c in (*alternative.chosen, *alternative.withheld, *rivals))
            return chosen and not any(is_there(c, values) for c in others)

        return tag_conditions({leaf: tuple(names) for leaf, names in members.items()}, holds)

    def _is_connectable(self, chosen: Iterable[Correspondence]) -> bool:
        return len(self.network.classes(self._components(chosen))) <= 1

    def _report_too_many(self, stop: Path, candidates: Sequence[Correspondence]) -> None:
        message = f"the arrows into {path_text(stop)} make more than {MOST_ALTERNATIVES} alternatives"
        self.findings.add("HX4021", message, candidates[0].arrow, "draw fewer arrows into one leaf")

    def _choices(
        self, chain: Sequence[Path], candidates: Sequence[Correspondence], lines: Sequence[Entity]
    ) -> list[Alternative]:
        """The maximal choices of at most one arrow for each leaf whose source groups can be connected.

        What can be connected falls into classes, so a choice takes what one class offers; what the source's root owns
        goes with every class.
        """
        anchors = [part for line in lines if (part := component(self.source.tree, line.source)) is not None]
        classes: Sequence[frozenset[Component]] = self.network.classes((*self._components(candidates), *anchors))
        found: dict[Alternative, None] = {}
        for members in classes or [frozenset()]:
            there = [
                c for c in candidates if (part := component(self.source.tree, c.source.stop)) is None or part in members
            ]
            for entities in self._entities(chain, lines, members):
                for choice in self._combined(chain[-1], there, entities, lines):
                    found[choice] = None
        return [choice for choice in found if not any(_is_less(choice, other) for other in found)]

    def _entities(
        self, chain: Sequence[Path], lines: Sequence[Entity], members: frozenset[Component]
    ) -> Iterator[tuple[Entity, ...]]:
        """The choices of an ``each`` line for each node of a chain that has some which lead out of a class."""
        options: list[list[Entity]] = []
        for stop in chain:
            fitting = [e for e in lines if e.target == stop and component(self.source.tree, e.source) in members]
            if fitting:
                options.append(fitting)
        return iter(product(*options))

    def _combined(
        self, stop: Path, there: Sequence[Correspondence], entities: tuple[Entity, ...], lines: Sequence[Entity]
    ) -> list[Alternative]:
        foreign = frozenset(c for c in there if any(self._is_foreign(c, entity, lines) for entity in entities))
        offers: dict[Leaf, list[Correspondence]] = {}
        for correspondence in there:
            if correspondence not in foreign:
                offers.setdefault(correspondence.target, []).append(correspondence)
        offers = {leaf: self._without_referring(several, there) for leaf, several in offers.items()}
        options = [self._options(leaf, several, entities) for leaf, several in offers.items()]
        if prod(map(len, options)) > MOST_ALTERNATIVES:  # before anything is made of them
            self._report_too_many(stop, there)
            return []
        found = []
        for choice in product(*options):
            chosen = tuple(c for c, _ in choice if c is not None)
            present = frozenset(c for c, competed in choice if c is not None and competed)
            left = zip(offers.values(), choice, strict=True)
            withheld = tuple(c for several, (taken, _) in left if taken is None for c in several)
            found.append(Alternative(chosen, entities, present, withheld, frozenset(there)))
        return found

    def _options(self, leaf: Leaf, offers: Sequence[Correspondence], entities: Sequence[Entity]) -> list[_Option]:
        """What can be chosen for a leaf. A key by which nodes are told apart is there or is not, as if it competed; the
        value of a node that is a leaf itself is there, or there is no node.
        """
        is_entity = any(entity.target == leaf.stop for entity in entities)
        if is_entity and not leaf.path:
            return [(offer, True) for offer in offers]
        is_key = not is_entity and leaf.absolute in self.target.declared_keys
        if len(offers) == 1 and not is_key:
            return [(offers[0], False)]
        return [*((offer, True) for offer in offers), (None, True)]

    def _without_referring(
        self, offers: Sequence[Correspondence], there: Sequence[Correspondence]
    ) -> list[Correspondence]:
        """The offers for a leaf without those that refer to the key that another one is: their values are its values,
        and where they are connected they make the same nodes.
        """
        keys = {c.source.absolute for c in offers}
        dropped = set()
        for reference in self.source.references:
            if reference.source in keys and reference.target in keys:
                part = component(self.source.tree, self.source.tree.stop(reference.target))
                others = (c for c in there if c not in offers and component(self.source.tree, c.source.stop) == part)
                if reference.inferred or any(others):
                    dropped.add(reference.source)
        return [c for c in offers if c.source.absolute not in dropped]

    def _is_foreign(self, correspondence: Correspondence, entity: Entity, lines: Sequence[Entity]) -> bool:
        """Whether an arrow into an entity's node, or below it, leads out of another entity that makes such nodes."""
        stop, tree = correspondence.source.stop, self.source.tree
        if correspondence.target.stop[: len(entity.target)] != entity.target or _is_at_or_below(stop, entity.source):
            return False
        others = [other.source for other in lines if other.target == entity.target and other != entity]
        own = component(tree, entity.source)
        return any(
            _is_at_or_below(stop, other) or component(tree, stop) == component(tree, other) != own for other in others
        )

    def _components(self, chosen: Iterable[Correspondence]) -> list[Component]:
        parts = (component(self.source.tree, c.source.stop) for c in chosen)
        return [part for part in dict.fromkeys(parts) if part is not None]

    def _come_together(self, alternatives: Sequence[Alternative], candidates: Sequence[Correspondence]) -> bool:
        """Whether no two leaves lack a connection; what does is reported.

        A leaf with several arrows that stands with both says that the arrows come from different places; without one, a
        connection is missing, and leaving it out would silently lose what belongs together.
        """
        beside: dict[Leaf, set[Leaf]] = {}
        for choice in dict.fromkeys(alternative.targets for alternative in alternatives):
            for leaf in choice:
                beside.setdefault(leaf, set()).update(choice)
        first = {c.target: c for c in reversed(candidates)}
        several = {leaf for leaf, count in Counter(c.target for c in candidates).items() if count > 1}
        for one, other in combinations(dict.fromkeys(c.target for c in candidates), 2):
            if one not in beside or other not in beside or one in beside[other]:
                continue
            if not several & beside[one] & beside[other]:
                parts = tuple(sorted(self._components((first[one], first[other]))))
                self._report_not_connected(parts, first[other])
                return False
        return True

    def _at_home(self, chain: Sequence[Path], alternatives: Sequence[Alternative]) -> list[Alternative]:
        """The alternatives that supply of each node of the chain at least as many leaves as others do."""
        kept = list(alternatives)
        for stop in chain:
            owned = {a: sum(c.target.stop == stop and bool(c.source.stop) for c in a.chosen + a.withheld) for a in kept}
            if owned and (most := max(owned.values())):
                home = next(self._class_of(a) for a in kept if owned[a] == most)
                kept = [a for a in kept if self._class_of(a) == home]
        needed = {stop for stop in chain if any(c.target.stop == stop for a in alternatives for c in a.chosen)}
        return [a for a in kept if needed <= {c.target.stop for c in a.chosen + a.withheld}]

    def _class_of(self, alternative: Alternative) -> frozenset[Component]:
        return next(iter(self.network.classes(self._components(alternative.chosen))), frozenset())

    def _has_tags(self, chain: Sequence[Path], alternative: Alternative, candidates: Sequence[Correspondence]) -> bool:
        """Whether each box of the chain has its tag; a tag that no arrow supplies at all is reported elsewhere."""
        leaves = alternative.targets
        withheld = {c.target for c in alternative.withheld}
        for stop in chain:
            tag = Leaf(stop, (TAG,))
            if self.target.tree.box(stop) and tag not in leaves:
                could = any(c.target == tag for c in candidates) and tag not in withheld
                if could and alternative.chosen and self._is_real(alternative, candidates):
                    self._report_no_tag(stop, alternative)
                return False
        return True

    def _is_real(self, alternative: Alternative, candidates: Sequence[Correspondence]) -> bool:
        """Whether a valid document can have nodes for which the alternative is chosen: its boxes have no other tags."""
        stops = self._used_stops(alternative, ())
        for conditions in self._tag_conditions(alternative, candidates, stops):
            excluded: dict[Path, set[str]] = {}
            for leaf, operator, member in conditions:
                if operator == "!=" and leaf.path == (TAG,):
                    excluded.setdefault(leaf.stop, set()).add(member)
            boxes = {box.path: set(box.members) for box in self.source.tree.boxes}
            if not any(boxes[path] <= members for path, members in excluded.items()):
                return True
        return False

    # -- connections ---------------------------------------------------------------------------------------------

    def _connection(self, chain: Sequence[Path], alternative: Alternative) -> Connection | None:
        """Connect the groups of the outermost node first: a group keeps the connection of the one around it."""
        connection: Connection = ()
        joined: list[Component] = []
        for stop in chain:
            needed = self._components(c for c in alternative.bound if c.target.stop == stop)
            anchors = (component(self.source.tree, e.source) for e in alternative.entities if e.target == stop)
            needed = [*dict.fromkeys((*(part for part in anchors if part is not None), *needed))]
            result = self.network.connect(needed, connection, joined)
            if isinstance(result, NotConnected | Tie):
                self._report_connection(result, alternative)
                return None
            connection = result
            joined += [part for part in needed if part not in joined]
        return connection

    def _report_connection(self, result: NotConnected | Tie, alternative: Alternative) -> None:
        last = alternative.chosen[-1]
        if isinstance(result, NotConnected):
            self._report_not_connected(result.components, alternative.chosen[0])
            return
        if not result.complete:
            message = f"too many ways connect the groups that {last.target} needs"
            self.findings.add("HX4017", message, last.arrow, "declare fewer references")
            return
        common = frozenset.intersection(*(frozenset(connection) for connection in result.connections))
        texts = [
            " and ".join(
                _reference_text(link.reference.source, link.reference.target)
                for link in connection
                if link not in common
            )
            for connection in result.connections
        ]
        parts = sorted({end for connection in result.connections for link in connection for end in link.ends})
        message = f"{_list(parts)} are connected in several ways: {'; '.join(texts)}"
        self.findings.add("HX4017", message, last.arrow, f"choose one: {self.source.name} join {texts[0]}")

    def _report_not_connected(self, parts: Sequence[Component], where: Correspondence) -> None:
        message = f"no reference connects {_list(parts)}, which {where.target} needs together"
        self.findings.add("HX4016", message, where.arrow, self._reference_hint(parts))

    def _reference_hint(self, parts: Sequence[Component]) -> str:
        """What could be declared: a reference that the schema hints at, else the form of one."""
        tree, side = self.source.tree, self.source.name
        known = {reference.source for reference in self.source.references}
        for leaf in idref_paths(tree):
            begin = component(tree, tree.stop(leaf))
            for key in sorted(self.source.keys):
                end = component(tree, tree.stop(key))
                if leaf not in known and begin != end and {begin, end} <= set(parts):
                    return f"declare it: {side} reference {_reference_text(leaf, key)}"
        return f"declare one: {side} reference LEAF -> KEY, between {_list(parts)}"

    def _report_no_tag(self, stop: Path, alternative: Alternative) -> None:
        leaf = next((c for c in alternative.chosen if c.target.stop[: len(stop)] == stop), alternative.chosen[0])
        message = f"{leaf.target} takes {leaf.source}, but the tag in {path_text(stop)} comes with other groups"
        self.findings.add("HX4020", message, leaf.arrow, f"draw an arrow to {path_text(stop)} that goes with it")

    # -- rules ---------------------------------------------------------------------------------------------------

    def _used_stops(self, alternative: Alternative, connection: Connection) -> tuple[Path, ...]:
        """The stop nodes that a body needs, closed under those above, in the order of the schema."""
        tree = self.source.tree
        used = [c.source.stop for c in alternative.bound] + [entity.source for entity in alternative.entities]
        used += [leaf.stop for link in connection for leaf in (link.source, link.target)]
        above = {stop for end in [(), *used] for stop in tree.stops(end)}
        return tuple(sorted(above, key=lambda stop: schema_order(tree, stop)))

    def _bodies(
        self, chain: Sequence[Path], alternative: Alternative, connection: Connection, tags: Iterable[TagCondition]
    ) -> list[RuleBody]:
        """The bodies of an alternative: one, unless optional references come from several places."""
        last_is_entity = any(entity.target == chain[-1] for entity in alternative.entities)
        must = [c.source.stop for c in alternative.present] + [leaf.stop for leaf, _, _ in tags]
        must += [c.source.stop for c in alternative.chosen if c.target.path == (TAG,)]  # no box node is without its tag
        if alternative.entities and not last_is_entity:
            must += [c.source.stop for c in alternative.chosen if c.target.stop == chain[-1]]
        anchors = Anchors(tuple(entity.source for entity in alternative.entities), frozenset(must))
        first = next((part for part in self._components(alternative.bound)), None)
        return rule_bodies(self.source.tree, self._used_stops(alternative, connection), connection, anchors, first)

    def _withheld(self, alternative: Alternative, body: RuleBody) -> list[Condition] | None:
        """That no leaf of the withheld arrows is there, and those of the chosen ones that competed are; ``None`` where
        that is never so in a valid document."""
        names = variable_names(self.source.tree, body.stops)
        found: list[Condition] = []
        for correspondence in alternative.withheld:
            absent = self._absent(correspondence, body, names)
            if absent is None:
                return None
            found.append(absent)
        there = (
            c.source for c in alternative.chosen if c in alternative.present and not is_sure(self.source.tree, c.source)
        )
        found += [Presence(Term(names[leaf.stop], leaf.path)) for leaf in there]
        return list(dict.fromkeys(found))

    def _existing(
        self, stop: Path, alternative: Alternative, body: RuleBody, referring: Referring
    ) -> list[tuple[Alternative, tuple[Condition, ...], Referring]]:
        """An alternative with conditions under which a node is there not only by its surrogates: for each other leaf
        that it may have, that this is there, and those before are not (``semantics.md`` section 2).

        Where a leaf is of an optional part, of which conditions do not speak, the node goes without surrogates.
        """
        own = [c for c in alternative.chosen if c.target.stop == stop]
        drawn = [c for c in own if c not in self.made.surrogates]
        values = {c.source for c in drawn}
        surrogates = [c for c in own if c in self.made.surrogates and c.source not in values]
        others = [
            holder
            for holder, (node, leaves) in referring.items()
            if holder.stop == stop and any(at.stop == node and leaf not in values for at, leaf in leaves)
        ]
        is_entity = any(entity.target == stop for entity in alternative.entities)
        is_keyed = any(c.target.absolute in self.target.declared_keys for c in drawn)
        sure = (c for c in drawn if c.source.stop in body.required and is_sure(self.source.tree, c.source))
        if is_entity or is_keyed or any(sure) or not alternative.present.isdisjoint(drawn):
            return [(alternative, (), referring)]
        if not surrogates and not others:
            return [(alternative, (), referring)]
        if not all(c.source.stop in body.required for c in drawn):
            left = {holder: made for holder, made in referring.items() if holder not in others}
            return [(alternative.without(surrogates), (), left)]
        names = variable_names(self.source.tree, body.stops)
        terms = [Term(names[c.source.stop], c.source.path) for c in drawn]
        return [
            (alternative.without(drawn[:number]), (*map(Absence, terms[:number]), Presence(term)), referring)
            for number, term in enumerate(terms)
        ]

    def _referring(self, chain: Sequence[Path], alternative: Alternative) -> Referring:
        """What the leaves of a chain refer to that take what other nodes are identified by: where what makes their node
        makes that one, too, and it is the only one.
        """
        found: dict[Leaf, list[Identified]] = {}
        for holder, node in self.made.referring:
            if holder.stop in chain and holder not in alternative.targets:
                stops = self._reached(holder.stop, alternative)
                leaves = self._identifying(node, stops, alternative)
                found.setdefault(holder, []).extend([] if leaves is None else [(node, leaves)])
        return {holder: several[0] for holder, several in found.items() if len(several) == 1}

    def _reached(self, stop: Path, alternative: Alternative) -> frozenset[Path]:
        """The stop nodes of the source of which there is one for each node at a target stop: of what its leaves come
        from; of what it stands for, or what its key identifies, where it may get its leaves from several.
        """
        tree = self.source.tree
        ends = [entity.source for entity in alternative.entities if entity.target == stop]
        own = [c for c in alternative.chosen if c.target.stop == stop and c not in self.made.surrogates]
        keys = [c.source for c in own if c.target.absolute in self.target.declared_keys]
        if not ends and keys:
            ends = [leaf.stop for leaf in keys[:1] if leaf.absolute in self.source.keys]
        elif not ends:
            ends = [c.source.stop for c in own]
        return frozenset(above for end in ends for above in tree.stops(end))

    def _identifying(
        self, node: Path, stops: frozenset[Path], alternative: Alternative
    ) -> tuple[tuple[Leaf, Leaf], ...] | None:
        """The target leaves that identify a node, with those above it, each with the source leaf that it comes from at
        one of some stop nodes; ``None`` where others may supply them as well.
        """
        found: list[tuple[Leaf, Leaf]] = []
        for stop in self.target.tree.stops(node)[1:]:
            lines = [entity for entity in self.entities if entity.target == stop]
            if self.target.tree.box(stop) or len(lines) > 1:
                return None
            if lines:
                found.append((Leaf(stop, (NODE,)), Leaf(lines[0].source, (NODE,))))
                continue
            own = self._values(stop, stops, alternative)
            if own is None:
                return None
            found += own
            for holder, other in self.made.referring if not self._key(stop, own) else ():
                if holder.stop == stop:
                    inner = self._identifying(other, stops, alternative)
                    if inner is None:
                        return None
                    found += [(Leaf((), holder.absolute + at.absolute), leaf) for at, leaf in inner]
        ends = {leaf.stop for _, leaf in found}
        lowest = max(ends, key=len, default=())
        is_there = ends <= stops and all(_is_at_or_below(lowest, end) for end in ends)
        proper = [leaf for at, leaf in found if at.stop == node]
        tells = len(proper) == len(found) or any(is_sure(self.source.tree, leaf) for leaf in proper)
        return tuple(found) if is_there and proper and tells else None

    def _values(self, stop: Path, stops: frozenset[Path], alternative: Alternative) -> list[tuple[Leaf, Leaf]] | None:
        """The leaves of a target stop node that identify it by value, or its key."""
        arrows = [c for c in self.made.arrows if c.target.stop == stop]
        near = [c for c in arrows if c.source.stop in stops]
        others = (c for c in arrows if c not in near and self._is_connectable((*alternative.chosen, c)))
        is_plain = not any(c.copied or c.into or c.out_of for c in near)
        if any(others) or not is_plain or len({c.target for c in near}) < len(near):
            return None
        found = [(c.target, c.source) for c in near]
        key = self._key(stop, found)
        if key is None:
            return found
        own = [(at, leaf) for at, leaf in found if at.path == key]
        return own if all(is_sure(self.source.tree, leaf) for _, leaf in own) else None

    def _key(self, stop: Path, found: Iterable[tuple[Leaf, Leaf]]) -> Path | None:
        return declared_key(self.target.tree, self.target.declared_keys, stop, [at.path for at, _ in found])

    def _ordered(self, made: Mapping[Leaf, Surrogate]) -> tuple[tuple[Path, Surrogate], ...]:
        ordered = sorted(made, key=lambda leaf: schema_order(self.target.tree, leaf.absolute))
        return tuple((leaf.path, made[leaf]) for leaf in ordered)

    def _absent(self, withheld: Correspondence, body: RuleBody, names: Mapping[Path, str]) -> Condition | None:
        leaf, tree = withheld.source, self.source.tree
        if leaf.stop in body.required:
            return None if is_sure(tree, leaf) else Absence(Term(names[leaf.stop], leaf.path))
        test = () if is_sure(tree, leaf) else ((leaf.path, None),)
        above = max((stop for stop in tree.stops(leaf.stop) if stop in body.required), key=len)
        there = component(tree, leaf.stop)
        own = {part for stop in body.required if (part := component(tree, stop)) is not None}
        if there is None or there in own or not own:
            return NoNode(names[above], leaf.stop, test)
        found = self.network.connect([there], (), sorted(own))
        if not isinstance(found, NotConnected | Tie) and len(found) == 1:
            (link,) = found
            near, far = (link.source, link.target) if link.ends[1] == there else (link.target, link.source)
            if far.stop == leaf.stop and near.stop in body.required:
                return NoNode(names[()], leaf.stop, ((far.path, Term(names[near.stop], near.path)), *test))
        self._report_far(withheld)
        return None

    def _report_far(self, withheld: Correspondence) -> None:
        message = (
            f"{withheld.target} takes several arrows, and {withheld.source} is too far from the others to be absent"
        )
        self.findings.add("HX4021", message, withheld.arrow, "draw one arrow into the leaf, or write the rules")

    def _rule(
        self,
        chain: Sequence[Path],
        alternative: Alternative,
        body: RuleBody,
        conditions: Iterable[Condition],
        tags: Iterable[TagCondition],
        referring: Referring,
    ) -> Rule:
        tree = self.source.tree
        names = variable_names(tree, body.stops)

        def term(leaf: Leaf) -> Term:
            return Term(names[leaf.stop], leaf.path)

        def equal(pair: tuple[Leaf, Leaf]) -> Comparison:
            return Comparison("=", term(pair[0]), term(pair[1]))

        each = {entity.target: names[entity.source] for entity in alternative.entities}
        head: list[HeadNode] = []
        for stop in chain:
            own = [c for c in alternative.chosen if c.target.stop == stop]
            leaves = tuple((c.target.path, term(c.source)) for c in own)
            copied = frozenset(c.target.path for c in own if c.copied)
            values = [c.target.path for c in own if not c.copied]
            key = declared_key(self.target.tree, self.target.declared_keys, stop, values)
            made = {
                holder: Surrogate(node, tuple(Argument(at.stop, at.path, term(leaf)) for at, leaf in several))
                for holder, (node, several) in referring.items()
                if holder.stop == stop
            }
            node = HeadNode(stop, leaves, copied, each.get(stop), None if stop in each else key, self._ordered(made))
            arguments = tuple(identity_arguments((*head, node)))
            if any(argument.stop == stop for argument in arguments):
                there = (leaf for leaf in self.made.identified if leaf.stop == stop and leaf.path not in dict(leaves))
                made |= {leaf: Surrogate(stop, arguments) for leaf in there}
            head.append(replace(node, surrogates=self._ordered(made)))
        variables = tuple(Variable(names[s], s, names[tree.stops(s)[-2]] if s else None) for s in body.stops)
        parts = (
            OptionalPart(tuple(names[s] for s in part.stops), tuple(map(equal, part.equal))) for part in body.parts
        )
        told_apart = (Comparison(operator, term(leaf), Text(member)) for leaf, operator, member in tags)
        return Rule(
            tuple(head), variables, (*map(equal, body.equal), *conditions, *told_apart), ordered_parts(variables, parts)
        )


def _is_less(one: Alternative, other: Alternative) -> bool:
    """Whether an alternative is a part of another, though nothing says that what it lacks is absent."""
    return not one.withheld and one.entities == other.entities and set(one.chosen) < set(other.chosen)


def _is_at_or_below(stop: Path, above: Path) -> bool:
    return stop[: len(above)] == above


def _tag_of(place: Place, supplied: Mapping[Leaf, Leaf], stops: Sequence[Path]) -> Leaf | None:
    """The source leaf whose value is the tag in a box; ``None`` where an alternative has none."""
    side, box = place
    tag = Leaf(box, (TAG,))
    if side == "target":
        return supplied.get(tag)
    return tag if box in stops else None


def _reference_text(source: Path, target: Path) -> str:
    return f"{path_text(source)} -> {path_text(target)}"


def _list(parts: Sequence[Component]) -> str:
    texts = [path_text(part) for part in parts]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"

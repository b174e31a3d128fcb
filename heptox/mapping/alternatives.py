"""The alternatives of a target group: the maximal choices of arrows whose source groups can be connected
(``semantics.md`` section 4).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import prod
from typing import Final, TypeAlias

from heptox.mapping.alternative import Alternative, is_less, used_stops
from heptox.mapping.connections import Component
from heptox.mapping.correspondences import Correspondence, Entity
from heptox.mapping.group_connector import GroupConnector
from heptox.mapping.members import BoxSide, TagCondition, all_tags, available, needed, own_members, tag_conditions
from heptox.mapping.paths import Leaf, component, is_at_or_below, leaf_text, path_text
from heptox.mapping.rule_input import RuleInput
from heptox.pattern import TAG
from heptox.schema import Path, plain

MOST_ALTERNATIVES: Final = 256
"""How many alternatives a target group may have; more would make as many rules."""

_Option: TypeAlias = tuple[Correspondence | None, bool]
"""An arrow for a leaf, or none, and whether several competed for it."""


@dataclass(frozen=True, slots=True)
class AlternativeChoice:
    """Chooses the alternatives of the group of the last stop node of ``chain``: ``candidates`` are the arrows into the
    chain, ``lines`` the ``each`` lines of its nodes.
    """

    input: RuleInput
    connector: GroupConnector
    chain: Sequence[Path]
    candidates: Sequence[Correspondence]
    lines: Sequence[Entity]

    def alternatives(self) -> list[Alternative]:
        """The maximal choices for some tags of the boxes whose members have arrows of their own."""
        members = own_members(self.candidates)
        found: dict[Alternative, None] = {}
        if prod(len(names) + 1 for names in members.values()) > MOST_ALTERNATIVES:
            self._report_too_many(self.candidates)
            return []
        for tags in all_tags(members):
            there = [c for c in self.candidates if available(c, tags)]
            alternatives = self._choices(there)
            if not self._come_together(alternatives, there):
                alternatives = self._at_home(alternatives) if self.input.mirrored else []
            found.update(dict.fromkeys(alternatives))
        if len(found) > MOST_ALTERNATIVES:
            self._report_too_many(self.candidates)
            return []
        return list(found)

    def tag_conditions(self, alternative: Alternative, stops: Sequence[Path]) -> tuple[tuple[TagCondition, ...], ...]:
        """For which tags an alternative can be chosen and nothing added to it; ``stops`` are the nodes of its body.

        The tag in a target box is the value that the alternative supplies. An arrow out of a member of a source box
        that the body does not have can be added whatever the tags are: it would bind one more node.
        """
        own = own_members(self.candidates)
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
            c
            for c in self.candidates
            if c not in alternative.offered
            and self.input.is_connectable((*alternative.chosen, c), alternative.entities)
        ]

        competed = {c.target for c in alternative.present}
        rivals = [c for c in alternative.offered if c.target in competed]

        def holds(values: Mapping[Leaf, str | None]) -> bool:
            chosen = all(is_there(c, values) for c in (*alternative.chosen, *alternative.withheld, *rivals))
            return chosen and not any(is_there(c, values) for c in others)

        return tag_conditions({leaf: tuple(names) for leaf, names in members.items()}, holds)

    def _report_too_many(self, candidates: Sequence[Correspondence]) -> None:
        into = path_text(self.input.target.tree, self.chain[-1])
        message = f"the arrows into {into} make more than {MOST_ALTERNATIVES} alternatives"
        self.input.findings.add("HX4021", message, candidates[0].arrow, "draw fewer arrows into one leaf")

    def _choices(self, candidates: Sequence[Correspondence]) -> list[Alternative]:
        """The maximal choices of at most one arrow for each leaf whose source groups can be connected.

        What can be connected falls into classes, so a choice takes what one class offers; what the source's root owns
        goes with every class.
        """
        anchors = [part for line in self.lines if (part := component(self.input.source.tree, line.source)) is not None]
        classes: Sequence[frozenset[Component]] = self.input.network.classes(
            (*self.input.components(candidates), *anchors)
        )
        found: dict[Alternative, None] = {}
        for members in classes or [frozenset()]:
            there = [
                c
                for c in candidates
                if (part := component(self.input.source.tree, c.source.stop)) is None or part in members
            ]
            for entities in self._entities(members):
                for choice in self._combined(there, entities):
                    found[choice] = None
        return [choice for choice in found if not any(is_less(choice, other) for other in found)]

    def _entities(self, members: frozenset[Component]) -> Iterator[tuple[Entity, ...]]:
        """The choices of an ``each`` line for each node of a chain that has some which lead out of a class."""
        options: list[list[Entity]] = []
        for stop in self.chain:
            fitting = [
                e for e in self.lines if e.target == stop and component(self.input.source.tree, e.source) in members
            ]
            if fitting:
                options.append(fitting)
        return iter(product(*options))

    def _combined(self, there: Sequence[Correspondence], entities: tuple[Entity, ...]) -> list[Alternative]:
        foreign = frozenset(c for entity in entities for c in self._foreign(there, entity))
        offers: dict[Leaf, list[Correspondence]] = {}
        for correspondence in there:
            if correspondence not in foreign:
                offers.setdefault(correspondence.target, []).append(correspondence)
        offers = {leaf: self._without_referring(several, there) for leaf, several in offers.items()}
        options = [self._options(leaf, several, entities) for leaf, several in offers.items()]
        if prod(map(len, options)) > MOST_ALTERNATIVES:  # before anything is made of them
            self._report_too_many(there)
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
        is_key = not is_entity and plain(leaf.absolute) in self.input.target.declared_keys
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
        for reference in self.input.source.references:
            if reference.source in keys and reference.target in keys:
                part = component(self.input.source.tree, self.input.source.tree.stop(reference.target))
                others = (
                    c for c in there if c not in offers and component(self.input.source.tree, c.source.stop) == part
                )
                if reference.inferred or any(others):
                    dropped.add(reference.source)
        return [c for c in offers if c.source.absolute not in dropped]

    def _foreign(self, there: Sequence[Correspondence], entity: Entity) -> Iterator[Correspondence]:
        """The arrows into an entity's node, or below it, that lead out of another entity which makes such nodes."""
        tree = self.input.source.tree
        others = [other.source for other in self.lines if other.target == entity.target and other != entity]
        own = component(tree, entity.source)
        elsewhere = {part for other in others if (part := component(tree, other)) != own}
        for c in there if others else ():
            stop = c.source.stop
            is_other = component(tree, stop) in elsewhere or any(is_at_or_below(stop, other) for other in others)
            if is_other and is_at_or_below(c.target.stop, entity.target) and not is_at_or_below(stop, entity.source):
                yield c

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
                parts = tuple(sorted(self.input.components((first[one], first[other]))))
                self.connector.report_not_connected(parts, first[other])
                return False
        return True

    def _at_home(self, alternatives: Sequence[Alternative]) -> list[Alternative]:
        """The alternatives that supply of each node of the chain at least as many leaves as others do."""
        kept = list(alternatives)
        for stop in self.chain:
            owned = {a: sum(c.target.stop == stop and bool(c.source.stop) for c in a.chosen + a.withheld) for a in kept}
            if owned and (most := max(owned.values())):
                home = next(self._class_of(a) for a in kept if owned[a] == most)
                kept = [a for a in kept if self._class_of(a) == home]
        needed = {stop for stop in self.chain if any(c.target.stop == stop for a in alternatives for c in a.chosen)}
        return [a for a in kept if needed <= {c.target.stop for c in a.chosen + a.withheld}]

    def _class_of(self, alternative: Alternative) -> frozenset[Component]:
        return next(iter(self.input.network.classes(self.input.components(alternative.chosen))), frozenset())

    def has_tags(self, alternative: Alternative) -> bool:
        """Whether each box of the chain has its tag; a tag that no arrow supplies at all is reported elsewhere."""
        leaves = alternative.targets
        withheld = {c.target for c in alternative.withheld}
        for stop in self.chain:
            tag = Leaf(stop, (TAG,))
            if self.input.target.tree.box(stop) and tag not in leaves:
                could = any(c.target == tag for c in self.candidates) and tag not in withheld
                if could and alternative.chosen and self._is_real(alternative):
                    self._report_no_tag(stop, alternative)
                return False
        return True

    def _is_real(self, alternative: Alternative) -> bool:
        """Whether a valid document can have nodes for which the alternative is chosen: its boxes have no other tags."""
        stops = used_stops(self.input.source.tree, alternative, ())
        for conditions in self.tag_conditions(alternative, stops):
            excluded: dict[Path, set[str]] = {}
            for leaf, operator, member in conditions:
                if operator == "!=" and leaf.path == (TAG,):
                    excluded.setdefault(leaf.stop, set()).add(member)
            boxes = {box.path: set(box.values) for box in self.input.source.tree.boxes}
            if not any(boxes[path] <= members for path, members in excluded.items()):
                return True
        return False

    def _report_no_tag(self, stop: Path, alternative: Alternative) -> None:
        leaf = next((c for c in alternative.chosen if c.target.stop[: len(stop)] == stop), alternative.chosen[0])
        source, target = self.input.source.tree, self.input.target.tree
        takes = f"{leaf_text(target, leaf.target)} takes {leaf_text(source, leaf.source)}"
        box = path_text(target, stop)
        message = f"{takes}, but the tag in {box} comes with other groups"
        self.input.findings.add("HX4020", message, leaf.arrow, f"draw an arrow to {box} that goes with it")


def _tag_of(place: BoxSide, supplied: Mapping[Leaf, Leaf], stops: Sequence[Path]) -> Leaf | None:
    """The source leaf whose value is the tag in a box; ``None`` where an alternative has none."""
    side, box = place
    tag = Leaf(box, (TAG,))
    if side == "target":
        return supplied.get(tag)
    return tag if box in stops else None

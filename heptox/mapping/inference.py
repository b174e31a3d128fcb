"""From correspondences to rules (``semantics.md`` section 4; section 3 and Figure 5 of the report)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from math import prod
from typing import Final, TypeAlias

from heptox.mapping.connections import Component, Connection, Network, NotConnected, Tie, network
from heptox.mapping.correspondences import Correspondence
from heptox.mapping.declarations import Declared, DeclaredSide
from heptox.mapping.findings import Findings
from heptox.mapping.members import Place, TagCondition, all_tags, available, needed, own_members, tag_conditions
from heptox.mapping.model import HeadNode, Rule
from heptox.mapping.naming import variable_names
from heptox.mapping.paths import Leaf, component, path_text, schema_order
from heptox.pattern import TAG, Comparison, Term, Text, Variable
from heptox.schema import Path, SchemaTree, idref_paths

Alternative: TypeAlias = tuple[Correspondence, ...]
"""At most one correspondence for each target leaf of a chain, in the order of the target schema."""

MOST_ALTERNATIVES: Final = 256
"""How many alternatives a target group may have; more would make as many rules."""


_AFTER: Final = 1 << 60


def infer_rules(found: Sequence[Correspondence], declared: Declared, findings: Findings) -> tuple[Rule, ...]:
    """One rule for each target group that arrows reach, and each alternative; inner groups before those around them.

    What is wrong goes to ``findings``: groups that cannot be connected (HX4016), ties (HX4017), a box without its tag
    (HX4020), too many alternatives (HX4021), an arrow between members that no node belongs to both of (HX4018).
    """
    source, target = declared.source, declared.target
    if source is None or target is None:
        return ()
    inference = _Inference(source, target.tree, network(source.tree, source.references, declared.joins), findings)
    order = {c.target: schema_order(target.tree, c.target.absolute) for c in found}
    ordered = sorted(found, key=lambda c: order[c.target])
    rules: dict[Rule, None] = {}
    for stop in _inside_out(target.tree, {c.target.stop for c in found}):
        chain = target.tree.stops(stop)
        rules.update(dict.fromkeys(inference.rules(chain, [c for c in ordered if c.target.stop in chain])))
    if not findings:
        inference.tell_unused(found)
    return tuple(rules)


def _inside_out(tree: SchemaTree, stops: Iterable[Path]) -> list[Path]:
    """Stop nodes in the order of the schema, but inner ones before those around them, as in Figure 2."""
    return sorted(stops, key=lambda stop: (*schema_order(tree, stop), _AFTER))


@dataclass(frozen=True, slots=True)
class _Inference:
    source: DeclaredSide
    target: SchemaTree
    network: Network
    findings: Findings
    used: set[Correspondence] = field(default_factory=set)

    def rules(self, chain: Sequence[Path], candidates: Sequence[Correspondence]) -> Iterator[Rule]:
        """The rules of the group of the last stop node of ``chain``; ``candidates`` are the arrows into the chain."""
        for alternative in self._alternatives(chain[-1], candidates):
            if any(c.target.stop == chain[-1] for c in alternative) and self._has_tags(chain, alternative, candidates):
                connection = self._connection(chain, alternative)
                if connection is None:
                    continue
                stops = self._stops(alternative, connection)
                for conditions in self._conditions(alternative, candidates, stops):
                    self.used.update(alternative)
                    yield self._rule(chain, alternative, stops, connection, conditions)

    def tell_unused(self, found: Iterable[Correspondence]) -> None:
        """Tell arrows that no rule uses: the tag of what they lead out of is not that of what they lead into."""
        for correspondence in found:
            if (correspondence.out_of or correspondence.into) and correspondence not in self.used:
                message = f"no node is of the members that {correspondence.arrow} names on both sides"
                hint = "the tags on both sides are the same value, so the members must be, too"
                self.findings.add("HX4018", message, correspondence.arrow, hint)

    # -- alternatives --------------------------------------------------------------------------------------------

    def _alternatives(self, stop: Path, candidates: Sequence[Correspondence]) -> list[Alternative]:
        """The maximal choices for some tags of the boxes whose members have arrows of their own."""
        members = own_members(candidates)
        found: dict[Alternative, None] = {}
        if prod(len(names) + 1 for names in members.values()) > MOST_ALTERNATIVES:
            self._tell_too_many(stop, candidates)
            return []
        for tags in all_tags(members):
            there = [c for c in candidates if available(c, tags)]
            alternatives = self._choices(stop, there)
            self._check_together(alternatives, there)
            found.update(dict.fromkeys(alternatives))
        if len(found) > MOST_ALTERNATIVES:
            self._tell_too_many(stop, candidates)
            return []
        return list(found)

    def _conditions(
        self, alternative: Alternative, candidates: Sequence[Correspondence], stops: Sequence[Path]
    ) -> tuple[tuple[TagCondition, ...], ...]:
        """For which tags an alternative can be chosen and nothing added to it; ``stops`` are the nodes of its body.

        The tag in a target box is the value that the alternative supplies. An arrow out of a member of a source box
        that the body does not have can be added whatever the tags are: it would bind one more node.
        """
        own = own_members(candidates)
        supplied = {c.target: c.source for c in alternative}
        tags = {place: _tag_of(place, supplied, stops) for place in own}
        members: dict[Leaf, dict[str, None]] = {}
        for place, leaf in tags.items():
            if leaf is not None:
                members.setdefault(leaf, {}).update(dict.fromkeys(own[place]))

        def is_there(correspondence: Correspondence, values: Mapping[Leaf, str | None]) -> bool:
            pairs = ((tags[place], member) for place, member in needed(correspondence).items())
            return all(leaf is None or values[leaf] == member for leaf, member in pairs)

        others = [c for c in candidates if c.target not in supplied and self._is_connectable((*alternative, c))]

        def holds(values: Mapping[Leaf, str | None]) -> bool:
            chosen = all(is_there(c, values) for c in alternative)
            return chosen and not any(is_there(c, values) for c in others)

        return tag_conditions({leaf: tuple(names) for leaf, names in members.items()}, holds)

    def _is_connectable(self, chosen: Iterable[Correspondence]) -> bool:
        return len(self.network.classes(self._components(chosen))) <= 1

    def _tell_too_many(self, stop: Path, candidates: Sequence[Correspondence]) -> None:
        message = f"the arrows into {path_text(stop)} make more than {MOST_ALTERNATIVES} alternatives"
        self.findings.add("HX4021", message, candidates[0].arrow, "draw fewer arrows into one leaf")

    def _choices(self, stop: Path, candidates: Sequence[Correspondence]) -> list[Alternative]:
        """The maximal choices of at most one arrow for each leaf whose source groups can be connected.

        What can be connected falls into classes, so a choice takes what one class offers; what the source's root owns
        goes with every class.
        """
        classes: Sequence[frozenset[Component]] = self.network.classes(self._components(candidates)) or [frozenset()]
        found: dict[Alternative, None] = {}
        for members in classes:
            offers: dict[Leaf, list[Correspondence]] = {}
            for correspondence in candidates:
                part = component(self.source.tree, correspondence.source.stop)
                if part is None or part in members:
                    offers.setdefault(correspondence.target, []).append(correspondence)
            if prod(map(len, offers.values())) > MOST_ALTERNATIVES:
                self._tell_too_many(stop, candidates)
                return []
            found.update(dict.fromkeys(product(*offers.values())))
        return [choice for choice in found if not any(set(choice) < set(other) for other in found)]

    def _components(self, chosen: Iterable[Correspondence]) -> list[Component]:
        parts = (component(self.source.tree, c.source.stop) for c in chosen)
        return [part for part in dict.fromkeys(parts) if part is not None]

    def _check_together(self, alternatives: Sequence[Alternative], candidates: Sequence[Correspondence]) -> None:
        """Tell leaves that no alternative supplies together, unless a leaf with several arrows stands with both.

        Such a leaf says that the arrows come from different places; without one, a connection is missing, and leaving
        it out would silently lose what belongs together.
        """
        choices = [frozenset(c.target for c in alternative) for alternative in alternatives]
        first = {c.target: c for c in reversed(candidates)}
        several = {leaf for leaf in first if sum(c.target == leaf for c in candidates) > 1}
        for one, other in combinations(dict.fromkeys(c.target for c in candidates), 2):
            beside_one = {leaf for choice in choices if one in choice for leaf in choice}
            beside_other = {leaf for choice in choices if other in choice for leaf in choice}
            if choices and one not in beside_other and not several & beside_one & beside_other:
                parts = tuple(sorted(self._components((first[one], first[other]))))
                self._tell_not_connected(parts, first[other])
                return

    def _has_tags(self, chain: Sequence[Path], alternative: Alternative, candidates: Sequence[Correspondence]) -> bool:
        """Whether each box of the chain has its tag; a tag that no arrow supplies at all is told elsewhere."""
        leaves = {c.target for c in alternative}
        for stop in chain:
            tag = Leaf(stop, (TAG,))
            if self.target.box(stop) and tag not in leaves:
                if any(c.target == tag for c in candidates) and self._is_real(alternative, candidates):
                    self._tell_no_tag(stop, alternative)
                return False
        return True

    def _is_real(self, alternative: Alternative, candidates: Sequence[Correspondence]) -> bool:
        """Whether a valid document can have nodes for which the alternative is chosen: its boxes have no other tags."""
        for conditions in self._conditions(alternative, candidates, self._stops(alternative, ())):
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
            needed = self._components(c for c in alternative if c.target.stop == stop)
            result = self.network.connect(needed, connection, joined)
            if isinstance(result, NotConnected | Tie):
                self._tell_connection(result, alternative)
                return None
            connection = result
            joined += [part for part in needed if part not in joined]
        return connection

    def _tell_connection(self, result: NotConnected | Tie, alternative: Alternative) -> None:
        if isinstance(result, NotConnected):
            self._tell_not_connected(result.components, alternative[0])
            return
        if not result.complete:
            message = f"too many ways connect the groups that {alternative[-1].target} needs"
            self.findings.add("HX4017", message, alternative[-1].arrow, "declare fewer references")
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
        self.findings.add("HX4017", message, alternative[-1].arrow, f"choose one: source join {texts[0]}")

    def _tell_not_connected(self, parts: Sequence[Component], where: Correspondence) -> None:
        message = f"no reference connects {_list(parts)}, which {where.target} needs together"
        self.findings.add("HX4016", message, where.arrow, self._reference_hint(parts))

    def _reference_hint(self, parts: Sequence[Component]) -> str:
        """What could be declared: a reference that the schema hints at, else the form of one."""
        tree = self.source.tree
        known = {reference.source for reference in self.source.references}
        for leaf in idref_paths(tree):
            begin = component(tree, tree.stop(leaf))
            for key in sorted(self.source.keys):
                end = component(tree, tree.stop(key))
                if leaf not in known and begin != end and {begin, end} <= set(parts):
                    return f"declare it: source reference {_reference_text(leaf, key)}"
        return f"declare one: source reference LEAF -> KEY, between {_list(parts)}"

    def _tell_no_tag(self, stop: Path, alternative: Alternative) -> None:
        leaf = next(c for c in alternative if c.target.stop[: len(stop)] == stop)
        message = f"{leaf.target} takes {leaf.source}, but the tag in {path_text(stop)} comes with other groups"
        self.findings.add("HX4020", message, leaf.arrow, f"draw an arrow to {path_text(stop)} that goes with it")

    # -- rules ---------------------------------------------------------------------------------------------------

    def _stops(self, alternative: Alternative, connection: Connection) -> list[Path]:
        """The stop nodes of a body, in the order of the schema."""
        tree = self.source.tree
        used = [c.source.stop for c in alternative]
        used += [leaf.stop for link in connection for leaf in (link.source, link.target)]
        above = {stop for end in [(), *used] for stop in tree.stops(end)}
        return sorted(above, key=lambda stop: schema_order(tree, stop))

    def _rule(
        self,
        chain: Sequence[Path],
        alternative: Alternative,
        stops: Sequence[Path],
        connection: Connection,
        tags: Iterable[TagCondition],
    ) -> Rule:
        tree = self.source.tree
        names = variable_names(tree, stops)

        def term(leaf: Leaf) -> Term:
            return Term(names[leaf.stop], leaf.path)

        head = tuple(
            HeadNode(
                stop,
                tuple((c.target.path, term(c.source)) for c in alternative if c.target.stop == stop),
                frozenset(c.target.path for c in alternative if c.target.stop == stop and c.copied),
            )
            for stop in chain
        )
        variables = tuple(Variable(names[s], s, names[tree.stops(s)[-2]] if s else None) for s in stops)
        conditions = [Comparison("=", term(link.source), term(link.target)) for link in connection]
        conditions += [Comparison(operator, term(leaf), Text(member)) for leaf, operator, member in tags]
        return Rule(head, variables, tuple(conditions))


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

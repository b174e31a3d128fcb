"""From correspondences to rules (``semantics.md`` section 4; section 3 and Figure 5 of the report)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from heptox.mapping.alternative import Alternative, used_stops
from heptox.mapping.alternatives import AlternativeChoice
from heptox.mapping.connections import Connection, NotConnected, Tie, network
from heptox.mapping.correspondences import Correspondence, Entity
from heptox.mapping.declarations import DeclaredSide
from heptox.mapping.findings import Findings
from heptox.mapping.group_connector import GroupConnector
from heptox.mapping.identity import declared_key, identity_arguments
from heptox.mapping.members import TagCondition
from heptox.mapping.model import Argument, Condition, HeadNode, OptionalPart, Rule, Surrogate
from heptox.mapping.naming import variable_names
from heptox.mapping.nil_values import NIL_HINT, NilFault, without_nil
from heptox.mapping.optional import ordered_parts
from heptox.mapping.paths import Leaf, component, is_at_or_below, is_sure, leaf_text, path_text, schema_order
from heptox.mapping.referred_nodes import ReferredNodes, Referring
from heptox.mapping.rule_bodies import Anchors, RuleBody, rule_bodies
from heptox.mapping.rule_input import RuleInput
from heptox.mapping.selected_nodes import MOST_BY_VALUES, TooManyRulesError, by_values
from heptox.mapping.surrogates import ArrowSet
from heptox.pattern import TAG, Absence, Comparison, NoNode, Presence, Term, Text, Variable, constant_step
from heptox.schema import Path, SchemaTree, plain, split_selection

_AFTER: Final = (1 << 60, "")


def infer_rules(
    arrow_set: ArrowSet,
    entities: Sequence[Entity],
    sides: tuple[DeclaredSide, DeclaredSide],
    findings: Findings,
    *,
    mirrored: bool = False,
    below: Path = (),
) -> tuple[Rule, ...]:
    """One rule for each target group at or ``below`` a node that arrows or ``each`` lines reach, and each alternative;
    inner groups before those around them. ``sides`` are the one that documents are of, and the one that they are made
    for.

    What is wrong goes to ``findings``: groups that cannot be connected (HX4016), ties (HX4017), a box without its tag
    (HX4020), too many alternatives (HX4021), an arrow between members that no node belongs to both of (HX4018). In the
    ``mirrored`` reading a group that cannot be connected with another makes its rules alone, where it supplies more of
    a node than the other.
    """
    source, target = sides
    found = arrow_set.arrows
    links = network(source.tree, source.references, source.joins)
    inference = _Inference(RuleInput(source, target, links, findings, mirrored, arrow_set, tuple(entities)))
    order = {c.target: schema_order(target.tree, c.target.absolute) for c in found}
    ordered = sorted(found, key=lambda c: order[c.target])
    rules: dict[Rule, None] = {}
    stops = {c.target.stop for c in found} | {entity.target for entity in entities}
    for stop in _inside_out(target.tree, (stop for stop in stops if is_at_or_below(stop, below))):
        chain = target.tree.stops(stop)
        candidates = [c for c in ordered if c.target.stop in chain]
        lines = [entity for entity in entities if entity.target in chain]
        try:
            made = [one for rule in inference.rules(chain, candidates, lines) for one in by_values(rule)]
        except TooManyRulesError:
            message = f"the conditions of what makes {path_text(target.tree, stop)} have too many values together"
            arrow = next((c.arrow for c in candidates if c.arrow), None)
            findings.add("HX4021", message, arrow, f"at most {MOST_BY_VALUES} rules are made of them")
            continue
        rules.update(dict.fromkeys(made))
    if not findings:
        inference.report_unused(found)
    unsaid: dict[Path, str] = {}

    def note(_: Rule, fault: NilFault) -> None:
        unsaid.update(dict.fromkeys(fault.leaves, fault.reason))

    said = tuple(without_nil(rules, source.tree, note))
    left = tuple(c for c in found if c.copied or c.source.absolute not in unsaid)
    _report_nil(unsaid, found, source.tree, findings)
    if mirrored and len(left) < len(found):
        return infer_rules(replace(arrow_set, arrows=left), entities, sides, findings, mirrored=True, below=below)
    return said


def _constants(stop: Path, leaves: Sequence[tuple[Path, Term]], root: str) -> Iterator[tuple[Path, Term]]:
    """The leaves that make a node one of a selection, which are not drawn, nor in what is copied whole."""
    for test in split_selection(stop[-1])[1] if stop else ():
        is_drawn = any(is_at_or_below(test.path, path) for path, _ in leaves)
        if test.test == "=" and len(test.values) == 1 and not is_drawn:
            yield test.path, Term(root, (constant_step(test.values[0]),))


def _report_nil(
    unsaid: Mapping[Path, str], found: Sequence[Correspondence], tree: SchemaTree, findings: Findings
) -> None:
    for path, reason in unsaid.items():
        arrow = next((c.arrow for c in found if c.source.absolute == path and c.arrow), None)
        findings.add("HX4037", f"{path_text(tree, path)} is not taken: {reason}", arrow, NIL_HINT)


def _inside_out(tree: SchemaTree, stops: Iterable[Path]) -> list[Path]:
    """Stop nodes in the order of the schema, but inner ones before those around them, as in Figure 2."""
    return sorted(stops, key=lambda stop: (*schema_order(tree, stop), _AFTER))


@dataclass(frozen=True, slots=True)
class _Inference:
    input: RuleInput
    used: set[Correspondence] = field(default_factory=set)

    def rules(
        self, chain: Sequence[Path], candidates: Sequence[Correspondence], lines: Sequence[Entity]
    ) -> Iterator[Rule]:
        """The rules of the group of the last stop node of ``chain``; ``candidates`` are the arrows into the chain."""
        last = chain[-1]
        connector = GroupConnector(self.input)
        choice = AlternativeChoice(self.input, connector, chain, candidates, lines)
        for alternative in choice.alternatives():
            makes = any(c.target.stop == last for c in alternative.chosen)
            makes = makes or (self._is_inner(last) and any(e.target == last for e in alternative.entities))
            if makes and choice.has_tags(alternative):
                connection = connector.connection(chain, alternative)
                if connection is None:
                    continue
                used = used_stops(self.input.source.tree, alternative, connection)
                referring = ReferredNodes(self.input, alternative).referring(chain)
                for tags in choice.tag_conditions(alternative, used):
                    self.used.update(alternative.chosen)
                    for body in self._bodies(chain, alternative, connection, tags):
                        withheld = self._withheld(alternative, body)
                        if withheld is None:
                            continue
                        for made, there, kept in self._existing(last, alternative, body, referring):
                            yield self._rule(chain, made, body, dict.fromkeys((*withheld, *there)), tags, kept)

    def _is_inner(self, stop: Path) -> bool:
        """Whether a node at a target stop can be there without a value of its own."""
        return not (self.input.target.tree.is_leaf(stop) or self.input.target.tree.is_whole(stop))

    def report_unused(self, found: Iterable[Correspondence]) -> None:
        """Report arrows that no rule uses: the tag of what they lead out of is not that of what they lead into."""
        for correspondence in found:
            if (correspondence.out_of or correspondence.into) and correspondence not in self.used:
                message = f"no node is of the members that {correspondence.arrow} names on both sides"
                hint = "the tags on both sides are the same value, so the members must be, too"
                self.input.findings.add("HX4018", message, correspondence.arrow, hint)

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
        first = next((part for part in self.input.components(alternative.bound)), None)
        return rule_bodies(
            self.input.source.tree,
            used_stops(self.input.source.tree, alternative, connection),
            connection,
            anchors,
            first,
        )

    def _withheld(self, alternative: Alternative, body: RuleBody) -> list[Condition] | None:
        """That no leaf of the withheld arrows is there, and those of the chosen ones that competed are; ``None`` where
        that is never so in a valid document."""
        names = variable_names(self.input.source.tree, body.stops)
        found: list[Condition] = []
        for correspondence in alternative.withheld:
            absent = self._absent(correspondence, body, names)
            if absent is None:
                return None
            found.append(absent)
        there = (
            c.source
            for c in alternative.chosen
            if c in alternative.present and not is_sure(self.input.source.tree, c.source)
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
        drawn = [c for c in own if c not in self.input.arrow_set.surrogates]
        values = {c.source for c in drawn}
        surrogates = [c for c in own if c in self.input.arrow_set.surrogates and c.source not in values]
        others = [
            holder
            for holder, (node, leaves) in referring.items()
            if holder.stop == stop and any(at.stop == node and leaf not in values for at, leaf in leaves)
        ]
        is_entity = any(entity.target == stop for entity in alternative.entities)
        is_keyed = any(plain(c.target.absolute) in self.input.target.declared_keys for c in drawn)
        sure = (c for c in drawn if c.source.stop in body.required and is_sure(self.input.source.tree, c.source))
        if is_entity or is_keyed or any(sure) or not alternative.present.isdisjoint(drawn):
            return [(alternative, (), referring)]
        if not surrogates and not others:
            return [(alternative, (), referring)]
        if not all(c.source.stop in body.required for c in drawn):
            left = {holder: made for holder, made in referring.items() if holder not in others}
            return [(alternative.without(surrogates), (), left)]
        names = variable_names(self.input.source.tree, body.stops)
        terms = [Term(names[c.source.stop], c.source.path) for c in drawn]
        return [
            (alternative.without(drawn[:number]), (*map(Absence, terms[:number]), Presence(term)), referring)
            for number, term in enumerate(terms)
        ]

    def _ordered(self, made: Mapping[Leaf, Surrogate]) -> tuple[tuple[Path, Surrogate], ...]:
        ordered = sorted(made, key=lambda leaf: schema_order(self.input.target.tree, leaf.absolute))
        return tuple((leaf.path, made[leaf]) for leaf in ordered)

    def _in_order(self, stop: Path, leaves: Iterable[tuple[Path, Term]]) -> tuple[tuple[Path, Term], ...]:
        tree = self.input.target.tree
        return tuple(sorted(leaves, key=lambda leaf: schema_order(tree, (*stop, *leaf[0]))))

    def _absent(self, withheld: Correspondence, body: RuleBody, names: Mapping[Path, str]) -> Condition | None:
        leaf, tree = withheld.source, self.input.source.tree
        if leaf.stop in body.required:
            return None if is_sure(tree, leaf) else Absence(Term(names[leaf.stop], leaf.path))
        test = () if is_sure(tree, leaf) else ((leaf.path, None),)
        above = max((stop for stop in tree.stops(leaf.stop) if stop in body.required), key=len)
        there = component(tree, leaf.stop)
        own = {part for stop in body.required if (part := component(tree, stop)) is not None}
        if there is None or there in own or not own:
            return NoNode(names[above], leaf.stop, test)
        found = self.input.network.connect([there], (), sorted(own))
        if not isinstance(found, NotConnected | Tie) and len(found) == 1:
            (link,) = found
            near, far = (link.source, link.target) if link.ends[1] == there else (link.target, link.source)
            if far.stop == leaf.stop and near.stop in body.required:
                return NoNode(names[()], leaf.stop, ((far.path, Term(names[near.stop], near.path)), *test))
        self._report_far(withheld)
        return None

    def _report_far(self, withheld: Correspondence) -> None:
        target = leaf_text(self.input.target.tree, withheld.target)
        source = leaf_text(self.input.source.tree, withheld.source)
        message = f"{target} takes several arrows, and {source} is too far from the others to be absent"
        self.input.findings.add("HX4021", message, withheld.arrow, "draw one arrow into the leaf, or write the rules")

    def _rule(
        self,
        chain: Sequence[Path],
        alternative: Alternative,
        body: RuleBody,
        conditions: Iterable[Condition],
        tags: Iterable[TagCondition],
        referring: Referring,
    ) -> Rule:
        tree = self.input.source.tree
        names = variable_names(tree, body.stops)

        def term(leaf: Leaf) -> Term:
            return Term(names[leaf.stop], leaf.path)

        def equal(pair: tuple[Leaf, Leaf]) -> Comparison:
            return Comparison("=", term(pair[0]), term(pair[1]))

        each = {entity.target: names[entity.source] for entity in alternative.entities}
        head: list[HeadNode] = []
        for stop in chain:
            own = [c for c in alternative.chosen if c.target.stop == stop]
            drawn = tuple((c.target.path, term(c.source)) for c in own)
            leaves = self._in_order(stop, (*drawn, *_constants(stop, drawn, names[()])))
            copied = frozenset(c.target.path for c in own if c.copied)
            values = [c.target.path for c in own if not c.copied]
            key = declared_key(self.input.target.tree, self.input.target.declared_keys, stop, values)
            made = {
                holder: Surrogate(node, tuple(Argument(at.stop, at.path, term(leaf)) for at, leaf in several))
                for holder, (node, several) in referring.items()
                if holder.stop == stop and holder.path not in dict(leaves)  # as a selection says which value it has
            }
            node = HeadNode(stop, leaves, copied, each.get(stop), None if stop in each else key, self._ordered(made))
            arguments = tuple(identity_arguments((*head, node)))
            if any(argument.stop == stop for argument in arguments):
                there = (
                    leaf
                    for leaf in self.input.arrow_set.identified
                    if leaf.stop == stop and leaf.path not in dict(leaves)
                )
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

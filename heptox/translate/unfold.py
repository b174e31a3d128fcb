"""Step 2: a query over the schema that rules make documents of becomes one over the schema of the documents that they
are made of (``semantics.md`` section 8).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping as Table, Sequence
from functools import cached_property
from itertools import product
from math import prod
from typing import Final, TypeAlias

from heptox.checks import Check, go_on, no_check
from heptox.errors import Fault, TranslationError
from heptox.mapping import Mapping, Rule
from heptox.pattern import (
    Member,
    NoNode,
    NormalForm,
    NormalForms,
    Term,
    Variable,
    contains_all,
    nested_items,
    normalise,
    ordered,
)
from heptox.remembering import remembered
from heptox.translate.absent_nodes import AbsentNodes
from heptox.translate.copies import Copy, glued, tags_present
from heptox.translate.demand import Demand, lowest_variables
from heptox.translate.draft import Draft
from heptox.translate.existence import Existence, identifiers
from heptox.translate.identities import with_identities
from heptox.translate.image import Image, Losses
from heptox.translate.knowledge import makers, source_constraints
from heptox.translate.model import Direction, Loss, Origin
from heptox.translate.nested_parts import Assembly, NestedParts
from heptox.translate.rule_copies import RuleCopies
from heptox.translate.texts import with_texts
from heptox.translate.unfolding_input import UnfoldingInput

MOST_MEMBERS: Final = 5_000
"""Members of one unfolding; a query that becomes more is refused by name, not answered in part."""


MOST_COMPARED: Final = 256
"""Choices of rules for what stands below one node that are compared with each other; more are all tried."""


Unfolded: TypeAlias = tuple[Member, Origin]
"""A member over the documents, and what it was made of."""
_NOTHING: Final[frozenset[str]] = frozenset()


def unfold(draft: Draft) -> Draft:
    """The unfolding of a query over the mapping's target: ``Q(mu(D)) = Q'(D)`` for every valid D (Definition 1).

    Raises :class:`TranslationError`: HX5002 where a leaf of the target's root depends on more than the source's root,
    HX5005 where the union grows beyond :data:`MOST_MEMBERS`, HX5007 where copies would be compared without their names,
    HX5008 where rules do not decide an absence, or a leaf, node by node; and what the draft's ``check`` raises.
    """
    unfolding = Unfolding(draft.mapping, draft.check, draft.to)
    members: list[Unfolded] = []
    losses: set[Loss] = set()
    for member in draft.members:
        met = Losses()
        found = list(unfolding.of(member, met, len(members)))
        members.extend(found)
        lost = met.fatal and all(normalise(unfolded, unfolding.input.sources) is None for unfolded, _ in found)
        losses |= met.fatal if lost else met.slots
    return draft.become(((member, (origin,)) for member, origin in members), sorted(losses))


class Unfolding:
    """The unfolding of members over one mapping: what the rules make is looked up once.

    ``prefix`` begins the names of the variables that it makes: those of nested parts are others.
    """

    def __init__(
        self, mapping: Mapping, check: Check = no_check, to: Direction = Direction.SOURCE, prefix: str = ""
    ) -> None:
        self.input = UnfoldingInput(mapping, source_constraints(mapping), check, to)
        self._existence = Existence(self.input)
        self.rules = RuleCopies(self.input, prefix)
        self._absent_nodes = AbsentNodes(self.input, self._existence, self.rules)
        self._prefix = prefix

    @cached_property
    def _nested(self) -> NestedParts:
        given = self.input
        inner = Unfolding(given.mapping, given.check, given.to, f"{self._prefix}p")
        return NestedParts(given, inner.assemblies, inner.whole)

    def of(self, member: Member, losses: Losses, before: int) -> Iterator[Unfolded]:
        """What one member becomes, with the losses met; ``before`` members there are already.

        Raises as :func:`unfold`.
        """
        for number, (assembly, origin) in enumerate(self._member(member, losses, _NOTHING), start=before + 1):
            self.input.check()
            if number > MOST_MEMBERS:
                raise TranslationError(Fault("HX5005", f"the query becomes a union of over {MOST_MEMBERS} members"))
            yield self.whole(assembly, losses), origin

    def assemblies(self, member: Member, losses: Losses, bound: frozenset[str]) -> Iterator[Assembly]:
        """What a member of a nested part becomes, of which variables are ``bound`` to nodes of the match around it."""
        return (assembly for assembly, _ in self._member(member, losses, bound))

    def whole(self, assembly: Assembly, losses: Losses) -> Member:
        """The member of an assembly, with its nested parts."""
        if not any(nested_items(assembly.member.template)):
            return assembly.merged
        return self._nested.added(assembly, losses)

    def _member(self, member: Member, losses: Losses, bound: frozenset[str]) -> Iterator[tuple[Assembly, Origin]]:
        losses.slots |= self._existence.never_filled(member)
        for certain in with_texts(self._existence.without_unmade(member), self.input.mapping):
            for said in identifiers(self.input.mapping, losses).members(self._existence.without_inner(certain)):
                plain, negated = self._split(said)
                # What a nested part is bound to is there already.
                for explicit in self._existence.members(plain, frozenset(map(Term, bound))):
                    yield from self._explicit(explicit, negated, losses, bound)

    def _split(self, member: Member) -> tuple[Member, tuple[NoNode, ...]]:
        """The member without what says that no node stands somewhere, and that."""
        nowhere = {atom for atom in member.atoms if isinstance(atom, NoNode)}
        return Member(member.variables, member.atoms - nowhere, member.template), tuple(sorted(nowhere, key=repr))

    def _explicit(
        self, member: Member, negated: tuple[NoNode, ...], losses: Losses, bound: frozenset[str]
    ) -> Iterator[tuple[Assembly, Origin]]:
        lowest = lowest_variables(self.input.mapping.target, member)
        rules = [makers(self.input.mapping, variable.node) for variable in lowest]
        for variable, several in zip(lowest, rules, strict=True):
            if not several:
                losses.fatal.add(Loss(variable.node, "no arrow reaches it or anything below it"))
        for chosen in product(*rules) if negated else self._choices(member, lowest, rules, bound):
            self.input.check()
            named = dict(zip((variable.name for variable in lowest), chosen, strict=True))
            origin = Origin(member, tuple(named.items()))
            for assembly in self.by(named, member, losses, negated, bound):
                yield assembly, origin

    def by(
        self,
        rules: Table[str, Rule],
        member: Member,
        losses: Losses,
        negated: tuple[NoNode, ...] = (),
        bound: frozenset[str] = _NOTHING,
    ) -> Iterator[Assembly]:
        """What a member whose nodes are explicit becomes by a choice of rules."""
        for shown in self._existence.shown(member, rules, bound):
            for decided, missing in self.rules.decided(shown, rules):
                demand = Demand.of(decided, self.input.mapping, negated, missing, bound)
                for copies, providers in self.rules.copies(demand, rules):
                    yield from self._combined(demand, copies, providers, losses)

    def _choices(
        self,
        member: Member,
        lowest: Sequence[Variable],
        rules: Sequence[tuple[Rule, ...]],
        bound: frozenset[str],
    ) -> Iterator[tuple[Rule, ...]]:
        """The choices of a rule for each of the lowest variables, without those whose members others contain.

        What stands below one node is chosen together, for the copies of rules meet in that node.
        """
        if all(len(several) < 2 for several in rules):
            yield from product(*rules)
            return
        demand = Demand.of(member, self.input.mapping, bound=bound)
        together: dict[str, list[int]] = {}
        for index, variable in enumerate(lowest):
            together.setdefault(demand.chain(variable.name)[-1], []).append(index)
        options = []
        for indices in together.values():
            part = demand.part({above for index in indices for above in demand.chain(lowest[index].name)})
            several = tuple(rules[index] for index in indices)
            few = 1 < prod(map(len, several)) <= MOST_COMPARED
            options.append(_informative(self.input.mapping, *part) if few else tuple(product(*several)))
        places = [index for indices in together.values() for index in indices]
        for choice in product(*options):
            chosen = dict(zip(places, (rule for several in choice for rule in several), strict=True))
            yield tuple(chosen[index] for index in range(len(lowest)))

    def _combined(
        self, demand: Demand, copies: dict[str, Copy], providers: dict[Term, Copy], losses: Losses
    ) -> Iterator[Assembly]:
        member = demand.member
        by_variable: dict[str, list[Copy]] = {variable.name: [] for variable in member.variables}
        for name, copy in (*copies.items(), *((term.variable, copy) for term, copy in providers.items())):
            for above in demand.chain(name):
                by_variable[above].append(copy)
        image = Image(self.input.mapping, member, by_variable, providers)
        inside = image.inside(losses)
        choices = None if inside is None else image.atoms(member.atoms, losses)
        template = image.template
        losses.slots |= image.lost.slots
        losses.fatal |= image.lost.fatal
        glue = None if inside is None else glued(self.input.mapping.target, self.input.sources, member, by_variable)
        if inside is None or choices is None or template is None or glue is None:
            return
        template = with_identities(template, demand, by_variable, self.input.mapping)
        every = [*copies.values(), *providers.values()]
        variables = {v.name: v for v in member.variables if v.parent is None}
        variables |= {v.name: v for copy in every for v in copy.variables}
        whole = ordered([*variables.values(), *inside])
        body = [atom for copy in every for atom in copy.conditions]
        body += [tag for name, copy in copies.items() for tag in tags_present(copy, member.node(name))]
        for conditions in choices:
            plain = Member(whole, frozenset((*body, *conditions, *glue.atoms)), template)
            for negated in self._absent_nodes.negations(demand, by_variable, image, plain, glue):
                yield Assembly(Member(whole, plain.atoms | negated, template), glue.same, member, by_variable)


@remembered(512)
def _informative(mapping: Mapping, member: Member, bound: frozenset[str]) -> tuple[tuple[Rule, ...], ...]:
    """The choices of rules for a member's lowest variables whose members no other contains; all of them where they have
    none, or other rules complete what they make. Nodes that are ``bound`` are there.
    """
    unfolding, forms = Unfolding(mapping, go_on), NormalForms(source_constraints(mapping), go_on)
    lowest = lowest_variables(mapping.target, member)
    names = [variable.name for variable in lowest]
    choices = tuple(product(*(makers(mapping, variable.node) for variable in lowest)))
    kept: dict[tuple[Rule, ...], list[NormalForm]] = {}
    for chosen in choices:
        rules = dict(zip(names, chosen, strict=True))
        if not unfolding.rules.decides(rules, member):
            return choices
        try:
            said = forms.of_all(assembly.merged for assembly in unfolding.by(rules, member, Losses(), bound=bound))
        except TranslationError:
            return choices
        if said and not any(contains_all(other, said) for other in kept.values()):
            for known in [known for known, other in kept.items() if contains_all(said, other)]:
                del kept[known]
            kept[chosen] = said
    return tuple(kept) or choices

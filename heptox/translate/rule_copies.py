"""The copies of rules that make the nodes of a member, and those that complete them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping as Table
from dataclasses import dataclass
from itertools import product
from typing import NoReturn

from heptox.errors import Fault, TranslationError
from heptox.mapping import Rule
from heptox.pattern import (
    TAG,
    Absence,
    Atom,
    DeepEqual,
    Member,
    NoNode,
    Presence,
    SameValue,
    Term,
    atom_terms,
    map_template,
)
from heptox.translate.copies import Copy, Needs, all_modes, copy_rule, is_decided, open_branch
from heptox.translate.demand import Demand, MissingLeaf
from heptox.translate.image import is_inside
from heptox.translate.knowledge import completers, supplied, without_weaker
from heptox.translate.surrogates import is_argument
from heptox.translate.unfolding_input import UnfoldingInput


@dataclass(frozen=True, slots=True)
class RuleCopies:
    """Copies the rules that are chosen for the lowest variables of a member. The names of their variables begin with
    ``prefix``.
    """

    input: UnfoldingInput
    prefix: str = ""

    def decides(self, rules: Table[str, Rule], member: Member) -> bool:
        """Whether a choice of rules decides all that is asked: no other rule completes the nodes that they make."""
        demand = Demand.of(member, self.input.mapping)
        return not any(self._missing(demand, rules, term) for term in demand.terms)

    def decided(
        self, member: Member, rules: Table[str, Rule], missing: tuple[MissingLeaf, ...] = ()
    ) -> Iterator[tuple[Member, tuple[MissingLeaf, ...]]]:
        """Members that know of each leaf which several bindings, or rules, may give a node whether one of them does."""
        self.input.check()
        demand = Demand.of(member, self.input.mapping)
        known = {gone.term for gone in missing}
        for term in sorted(demand.terms - demand.present - known):
            found = self._missing(demand, rules, term)
            if found is None:
                continue
            if Absence(term) not in member.atoms:
                there = Member(member.variables, member.atoms | {Presence(term)}, member.template)
                yield from self.decided(there, rules, missing)
            template = map_template(member.template, _but(term))
            assert template is not None  # a leaf that is the whole item is there
            atoms = frozenset(less for atom in member.atoms for less in _without(atom, term))
            chosen = self._chosen(demand, rules, term)
            if chosen not in found.rules:
                atoms |= {Absence(term)}
            yield from self.decided(Member(member.variables, atoms, template), rules, (*missing, found))
            return
        yield member, missing

    def _missing(self, demand: Demand, rules: Table[str, Rule], term: Term) -> MissingLeaf | None:
        """The other rules that may supply a leaf, where one binding of the chosen rule does not decide whether it is
        missing.
        """
        rule = self._chosen(demand, rules, term)
        if rule is None:
            return None
        node = demand.member.node(term.variable)
        head = rule.at(node)
        origin = supplied(head, term.path)
        several = completers(self.input.mapping, rule, node, term.path)
        if origin is not None and rule not in several and not is_decided(rule, head, origin, self.input.sources):
            several = without_weaker(self.input.mapping, (rule, *several), node, term.path)
        if several and is_argument(term.path):
            _refuse_parts(demand.tree.written(demand.path(term)))
        return MissingLeaf(term, several) if several else None

    def copies(self, demand: Demand, rules: Table[str, Rule]) -> Iterator[tuple[dict[str, Copy], dict[Term, Copy]]]:
        """Copies of the rules for the lowest variables, and of those that complete nodes, in all modes that matter."""
        for completing in self._completions(demand, rules):
            owners: list[tuple[str, Rule, Term | None]] = [(name, rule, None) for name, rule in rules.items()]
            owners += [(term.variable, rule, term) for term, rule in completing.items()]
            met: dict[str, int] = {}
            for name, _, _ in owners:
                for above in demand.chain(name):
                    met[above] = met.get(above, 0) + 1
            starts = [atom.variable for atom in demand.negated]
            for start in (*starts, *(gone.term.variable for gone in demand.missing), *demand.shared):
                for above in demand.chain(start):
                    met[above] = met.get(above, 0) + 1
            seen: set[str] = set()
            options: list[list[Copy]] = []
            for number, (name, rule, term) in enumerate(owners, start=1):
                needs = self.needs(demand, rule, name, term, seen, met)
                root = demand.member.roots[name]
                name_of_copy = f"{self.prefix}{number}"
                options.append([copy_rule(rule, name_of_copy, modes, root) for modes in all_modes(rule, needs)])
                if term is None:
                    seen.update(demand.chain(name))
            for copies in product(*options):
                pairs = list(zip(owners, copies, strict=True))
                yield (
                    {name: copy for (name, _, term), copy in pairs if term is None},
                    {term: copy for (_, _, term), copy in pairs if term is not None},
                )

    def needs(
        self, demand: Demand, rule: Rule, name: str, completed: Term | None, seen: set[str], met: Table[str, int]
    ) -> Needs:
        """The terms of a rule's body that its copy for a variable is asked for."""
        needs = Needs()
        heads = {head.node: head for head in rule.head}
        for above in demand.chain(name):
            head = heads[demand.member.node(above)]
            if (tag := head.term((TAG,))) is not None:
                needs.present.add(tag)
            wanted = [term for term in demand.terms if term.variable == above and above not in seen]
            if completed is not None:
                wanted = [completed] if completed.variable == above else []
            for term in wanted:
                found = supplied(head, term.path)
                if found is not None:
                    origin = Term(found.variable, found.path)
                    needs.asked.add(origin)
                    if term in demand.present:
                        needs.present.add(origin)
            if met[above] > 1 and head.each is None:
                needs.asked.update(term for leaf, term in head.leaves if head.key in (None, leaf))
        return needs

    def _completions(self, demand: Demand, rules: Table[str, Rule]) -> Iterator[dict[Term, Rule]]:
        """The choices of another rule for leaves that have to be there, of nodes that several rules may complete."""
        options: dict[Term, list[Rule | None]] = {}
        bound: set[tuple[str, str]] = set()
        for term in sorted(demand.present):
            rule = self._chosen(demand, rules, term)
            if rule is None:
                continue
            head = rule.at(demand.member.node(term.variable))
            origin = supplied(head, term.path)
            others = completers(self.input.mapping, rule, head.node, term.path)
            own: list[Rule | None] = [] if origin is None else [None]
            branch = None if origin is None or rule in others else open_branch(rule, head, origin, self.input.sources)
            if branch is not None and (term.variable, branch) in bound:
                own = [rule]  # what brings this leaf to the node need not be what brings the one before
            elif branch is not None:
                bound.add((term.variable, branch))
            if (others or own == [rule]) and is_argument(term.path):
                _refuse_parts(demand.tree.written(demand.path(term)))
            if others or own == [rule]:
                options[term] = [*own, *others]
        for choice in product(*options.values()):
            yield {term: rule for term, rule in zip(options, choice, strict=True) if rule is not None}

    def _chosen(self, demand: Demand, rules: Table[str, Rule], term: Term) -> Rule | None:
        """The rule whose copy decides a leaf of a node that a source node or a key identifies; else ``None``."""
        node = demand.member.node(term.variable)
        if not node or is_inside(self.input.mapping.target, node) or term.path == (TAG,):
            return None
        rule = next(rule for name, rule in rules.items() if term.variable in demand.chain(name))
        head = rule.at(node)
        return None if head.each is None and head.key in (None, term.path) else rule


def _refuse_parts(leaf: str) -> NoReturn:
    """Refuse to put an identifier together of what several rules supply to one node."""
    message = f"{leaf} is invented, and several rules, or nodes of the documents, may supply it"
    raise TranslationError(Fault("HX5008", message, hint="draw an arrow into it"))


def _but(gone: Term) -> Callable[[Term], Term | None]:
    """Terms as they are, but for one that is absent."""
    return lambda term: None if term == gone else term


def _without(atom: Atom, gone: Term) -> Iterator[Atom]:
    """What an atom says where a term is absent that it does not need."""
    match atom:
        case Absence(term) if term == gone:
            pass
        case SameValue(left, right) | DeepEqual(left, right) if gone in (left, right):
            yield from (Absence(term) for term in {left, right} - {gone})
        case NoNode() if gone in atom_terms(atom):
            pass  # what is absent equals nothing
        case _:
            yield atom

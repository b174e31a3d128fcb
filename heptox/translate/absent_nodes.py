"""What says over the documents that nodes, and leaves, of the image are nowhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping as Table, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

from heptox.errors import TranslationError
from heptox.mapping import Rule, test_atoms
from heptox.pattern import (
    Absence,
    Atom,
    Comparison,
    LeafItem,
    Member,
    NoNode,
    Presence,
    SameValue,
    Term,
    Text,
    Variable,
    merge,
    normalise,
    ordered,
)
from heptox.schema import Path, plain as plain_path, split_selection
from heptox.translate.arrows import each_line
from heptox.translate.copies import Copy, Glue, Needs, all_modes, copy_rule, glued, refuse_absence, tags_present
from heptox.translate.demand import Demand, MissingLeaf, lowest_variables
from heptox.translate.existence import Existence
from heptox.translate.image import Image, Losses
from heptox.translate.knowledge import makers, supplied
from heptox.translate.negation import negation
from heptox.translate.rule_copies import RuleCopies
from heptox.translate.surrogates import is_argument
from heptox.translate.unfolding_input import UnfoldingInput

_Extended: TypeAlias = tuple[Member, tuple[tuple[str, str], ...]]
"""A member with what must not be there, and the pairs of variables in it that are the same node."""


@dataclass(frozen=True, slots=True)
class AbsentNodes:
    """Translates what a member says is nowhere, once the rest of it is unfolded."""

    input: UnfoldingInput
    existence: Existence
    rules: RuleCopies

    def negations(
        self, demand: Demand, by_variable: Table[str, list[Copy]], image: Image, plain: Member, glue: Glue
    ) -> Iterator[frozenset[Atom]]:
        """What says over the documents that no node of the target is where the member wants none: one conjunction, or
        none where there always is such a node.
        """
        if not demand.negated and not demand.missing:
            yield frozenset()
            return
        found: set[Atom] = set()
        positive = merge(plain, *glue.same)
        extended = [
            (n.node, n.variable, e)
            for n in demand.negated
            for e in self._with_node(demand, n, by_variable, image, plain)
        ]
        for gone in demand.missing:
            path, name = demand.path(gone.term), gone.term.variable
            extended += [(path, name, e) for e in self._with_leaf(demand, gone, by_variable, plain)]
        refused: list[tuple[Member, Path, str]] = []
        for path, name, (more, same) in extended:
            self.input.check()
            whole = merge(more, *glue.same, *same)
            try:
                atoms = negation(positive, whole, self.input.sources, self.input.mapping.target.written(path))
            except TranslationError:
                refused.append((whole, path, name))
                continue
            if atoms is None:
                return
            found |= atoms
        for whole, path, name in refused:
            # What one rule has made impossible another need not, under conditions of its own.
            if normalise(Member(whole.variables, whole.atoms | found, whole.template), self.input.sources) is not None:
                refuse_absence(
                    self.input.mapping.target.written(path),
                    self._advice(demand.member.node(name), path, by_variable[name]),
                )
        yield frozenset(found)

    def _advice(self, node: Path, wanted: Path, copies: Sequence[Copy]) -> str:
        """What to write, or to ask, where rules do not decide an absence for each node at ``node``."""
        line = each_line(self.input.mapping, self.input.to, node, wanted) if node else None
        if line is None or any(copy.node(node).each is not None for copy in copies):
            return f"ask for all, and for those with {wanted[-1]}, and take these away"
        return f"write {line}, so that each is its own"

    def _with_node(
        self, demand: Demand, wanted: NoNode, by_variable: Table[str, list[Copy]], image: Image, plain: Member
    ) -> Iterator[_Extended]:
        """The member with a node that must not be there, from each choice of rules that make it."""
        variables = [v for v in demand.member.variables if v.name in demand.chain(wanted.variable) or v.parent is None]
        name = wanted.variable
        tests: set[Atom] = set()
        for stop in self.input.mapping.target.stops(wanted.node):
            if len(stop) > len(demand.member.node(wanted.variable)):
                variables.append(Variable(f"nowhere{len(variables)}", plain_path(stop), name))
                name = variables[-1].name
                tests.update(self._selected(name, stop))
        outer: dict[Term, Term | None] = {}
        for path, value in wanted.tests:
            if value is None:
                tests.add(Presence(Term(name, path)))
            elif isinstance(value, Term) and is_argument(path):
                outer[Term(name, path)] = image.term(value)
            elif isinstance(value, Term):
                origin = image.term(value)
                if origin is None:
                    return  # what is absent equals nothing
                outer[Term(name, path)] = origin
                tests.add(Presence(Term(name, path)))
            else:
                tests.add(Comparison("=", Term(name, path), value))
        inner = Member(tuple(variables), frozenset(tests), LeafItem("value", "", Text("")))
        for explicit in self.existence.members(inner):
            yield from self._by_makers(explicit, outer, by_variable, plain)

    def _selected(self, name: str, stop: Path) -> Iterator[Atom]:
        """What the selection of a node says of a variable for the node that it stands beside."""
        for test in split_selection(stop[-1])[1]:
            atoms = test_atoms(name, test)
            if not atoms:
                refuse_absence(self.input.mapping.target.written(stop))
            yield from atoms

    def _with_leaf(
        self, demand: Demand, gone: MissingLeaf, by_variable: Table[str, list[Copy]], plain: Member
    ) -> Iterator[_Extended]:
        """The member with a leaf that must not be there, from each of the rules that may supply it."""
        variables = [
            v for v in demand.member.variables if v.name in demand.chain(gone.term.variable) or v.parent is None
        ]
        shown = Member(tuple(variables), frozenset((Presence(gone.term),)), LeafItem("value", "", Text("")))
        for rule in gone.rules:
            yield from self._by_rules(shown, {gone.term.variable: rule}, {}, by_variable, plain)

    def _by_makers(
        self, explicit: Member, outer: Table[Term, Term | None], by_variable: Table[str, list[Copy]], plain: Member
    ) -> Iterator[_Extended]:
        lowest = [
            variable
            for variable in lowest_variables(self.input.mapping.target, explicit)
            if variable.name not in by_variable
        ]
        for chosen in product(*(makers(self.input.mapping, variable.node) for variable in lowest)):
            named = dict(zip((variable.name for variable in lowest), chosen, strict=True))
            for shown in self.existence.shown(explicit, named):
                yield from self._by_rules(shown, named, outer, by_variable, plain)

    def _by_rules(
        self,
        shown: Member,
        rules: Table[str, Rule],
        outer: Table[Term, Term | None],
        by_variable: Table[str, list[Copy]],
        plain: Member,
    ) -> Iterator[_Extended]:
        demand = Demand.of(shown, self.input.mapping)
        met = {variable.name: 1 + (variable.name in by_variable) for variable in shown.variables}
        options = [
            [copy_rule(rule, f"n{number}", modes, shown.roots[name]) for modes in all_modes(rule, needs)]
            for number, (name, rule) in enumerate(rules.items(), start=1)
            for needs in [self._needs(demand, name, rule, outer, met)]
        ]
        for copies in product(*options):
            meeting = {v.name: [*by_variable.get(v.name, ())[:1]] for v in shown.variables}
            for name, copy in zip(rules, copies, strict=True):
                for above in demand.chain(name):
                    meeting[above].append(copy)
            new = {name: [c for c in found if c in copies] or found for name, found in meeting.items()}
            image = Image(self.input.mapping, shown, new, {})
            choices, inside = image.atoms(shown.atoms, Losses()), image.inside(Losses())
            glue = glued(self.input.mapping.target, self.input.sources, shown, meeting)
            if choices is None or inside is None or glue is None:
                continue
            here = {v.name: v for v in plain.variables}
            made = {v.name: v for v in (*inside, *(v for c in copies for v in c.variables))}
            variables = ordered((here | made | here).values())
            body = [atom for copy in copies for atom in copy.conditions]
            body += [
                tag for name, copy in zip(rules, copies, strict=True) for tag in tags_present(copy, shown.node(name))
            ]
            nodes = {v.name: v.node for v in variables}
            body += [atom for term, value in outer.items() for atom in self._same(image.term(term), value, nodes)]
            for conditions in choices:
                atoms = plain.atoms | frozenset((*body, *conditions, *glue.atoms))
                yield Member(variables, atoms, plain.template), glue.same

    def _needs(
        self, demand: Demand, name: str, rule: Rule, outer: Table[Term, Term | None], met: Table[str, int]
    ) -> Needs:
        """What is asked of a rule: also what is only compared with the outside."""
        needs = self.rules.needs(demand, rule, name, None, set(), met)
        for term in outer:
            if term.variable in demand.chain(name):
                origin = supplied(rule.at(demand.member.node(term.variable)), term.path)
                needs.asked.update((origin,) if origin is not None else ())
        return needs

    def _same(self, inner: Term | None, outer: Term | None, nodes: Table[str, Path]) -> Iterator[Atom]:
        """That two terms have the same value, or both have none: equality, where they always have one."""
        if inner is None or outer is None:
            yield from (Absence(term) for term in (inner, outer) if term is not None)
        elif all(self.input.sources.required(nodes[term.variable], term.path) for term in (inner, outer)):
            yield Comparison("=", inner, outer)
        else:
            yield SameValue(inner, outer)

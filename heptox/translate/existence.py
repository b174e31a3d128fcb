"""Nodes of the image exist because of their leaves: members in which some leaf of every node has a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping as Table
from functools import partial
from itertools import product

from heptox.mapping import Mapping, Rule
from heptox.pattern import (
    TAG,
    Absence,
    Member,
    NoNode,
    Presence,
    Term,
    Variable,
    atom_terms,
    computes,
    fresh_name,
    is_constant,
    template_terms,
    value_expression,
)
from heptox.schema import Path, plain
from heptox.translate.demand import computed_of, spoken_variables
from heptox.translate.image import Losses, is_inside
from heptox.translate.knowledge import is_always_made, is_filled, made_paths, makers, shows_itself
from heptox.translate.model import Loss
from heptox.translate.surrogates import Identifiers, is_argument, is_own_argument
from heptox.translate.texts import asked_texts
from heptox.translate.unfolding_input import UnfoldingInput


def identifiers(mapping: Mapping, losses: Losses) -> Identifiers:
    """The identifiers that rules make up; what is lost goes to ``losses``."""

    def report(loss: Loss, is_whole: bool) -> None:
        (losses.fatal if is_whole else losses.slots).add(loss)

    return Identifiers(mapping, partial(is_always_made, mapping), report)


class Existence:
    """What makes the nodes of a member exist, under the rules of one mapping."""

    def __init__(self, given: UnfoldingInput) -> None:
        self.input = given
        self._bare: dict[Path, bool] = {}
        self._made: dict[tuple[Path, Path], bool] = {}

    def members(self, member: Member, shown: frozenset[Term] = frozenset()) -> Iterator[Member]:
        """Members in which every node is there because of a leaf: a head node exists when some leaf below has a value.

        ``shown`` are the nodes for which that is decided.
        """
        self.input.check()
        for atom in member.atoms:
            if isinstance(atom, Presence) and atom.term not in shown and self._is_inner(member, atom.term):
                rest = Member(member.variables, member.atoms - {atom}, member.template)
                for explicit, leaf in self._some_leaf(rest, atom.term.variable, atom.term.path):
                    for said in identifiers(self.input.mapping, Losses()).members(explicit):
                        yield from self.members(said, shown | leaf)
                return
        spoken = spoken_variables(member, self.input.mapping)
        for variable in member.variables:
            silent = variable.name not in spoken and Term(variable.name) not in shown
            if silent and self._may_be_bare(variable.node):
                # It shows itself by a leaf of its own, or it is there for what hangs below it.
                yield from self.members(member, shown | {Term(variable.name)})
                for child in self.input.mapping.target.child_stops(variable.node):
                    yield from self.members(_with_child(member, variable.name, child), shown)
                return
        yield member

    def shown(self, member: Member, rules: Table[str, Rule], there: frozenset[str] = frozenset()) -> Iterator[Member]:
        """For every lowest node that nothing speaks of, one of its leaves that has a value; not for those that are
        ``there`` already.
        """
        choices: list[list[Presence]] = []
        spoken = spoken_variables(member, self.input.mapping)
        for name, rule in rules.items():
            node = member.node(name)
            if (
                name in spoken
                or name in there
                or self.input.mapping.target.box(node) is not None
                or shows_itself(rule, node, self.input.sources)
            ):
                continue
            shown = name
            if rule.at(node).follows:
                shown = next(str(variable.parent) for variable in member.variables if variable.name == name)
            leaves = (
                leaf
                for leaf, term in rule.at(member.node(shown)).leaves
                if not is_constant(term.path) and (not is_argument(leaf) or is_own_argument(leaf))
            )
            choices.append([Presence(Term(shown, leaf)) for leaf in leaves])
        for choice in product(*choices):
            yield Member(member.variables, member.atoms | frozenset(choice), member.template) if choice else member

    def without_inner(self, member: Member) -> Member:
        """The member without absences of inner elements: one is absent where all its leaves are, and no node stands
        below it.
        """
        atoms = set(member.atoms)
        for atom in member.atoms:
            if isinstance(atom, Absence) and self._is_inner(member, atom.term):
                (name, path), node = atom.term, member.node(atom.term.variable)
                below = (leaf for leaf in self.input.mapping.target.own_leaves(node) if leaf[: len(path)] == path)
                atoms = (atoms - {atom}) | {Absence(Term(name, leaf)) for leaf in below}
                stops = (
                    child
                    for child in self.input.mapping.target.child_stops(node)
                    if child[len(node) :][: len(path)] == path
                )
                atoms |= {NoNode(name, child) for child in stops}
        return Member(member.variables, frozenset(atoms), member.template)

    def never_filled(self, member: Member) -> set[Loss]:
        """What is said of nodes that no rule makes, and a member asks to be absent, and of leaves that no rule supplies
        and that it asks to have a value.
        """
        taken = [(member.node(term.variable), term.path, "empty") for term in asked_texts(member)]
        for atom in member.atoms:
            if isinstance(atom, Absence):
                taken.append((member.node(atom.term.variable), atom.term.path, "absent"))
            elif isinstance(atom, NoNode):
                asked = tuple(path for path, _ in atom.tests) if self._may_be_made(plain(atom.node)) else ((),)
                taken += [(plain(atom.node), path, "absent") for path in asked]
        terms = {*template_terms(member.template), *(term for atom in member.atoms for term in atom_terms(atom))}
        for term in terms if computes(member) else ():
            if value_expression(term.path) is not None:
                taken += [(member.node(term.variable), leaf.path, "absent") for leaf in computed_of(term)]
        return {
            Loss((*node, *path), f"no arrow supplies it: it is taken to be {word} everywhere")
            for node, path, word in taken
            if not self._may_be_made(node, path)
        }

    def without_unmade(self, member: Member) -> Member:
        """The member without what says that nodes are nowhere which no rule makes: they never are anywhere."""
        unmade = {atom for atom in member.atoms if isinstance(atom, NoNode) and not self._may_be_made(plain(atom.node))}
        return Member(member.variables, member.atoms - unmade, member.template) if unmade else member

    def _may_be_made(self, node: Path, path: Path = ()) -> bool:
        """Whether some rule makes the nodes at ``node``, or what is at ``path`` there, or anything below."""
        if (node, path) not in self._made:
            inside = is_inside(self.input.mapping.target, node)
            self._made[node, path] = inside or is_filled(self.input.mapping, node, path, or_below=True)
        return self._made[node, path]

    def _is_inner(self, member: Member, term: Term) -> bool:
        path = member.path(term)
        if term.path == (TAG,) or is_argument(term.path):
            return False
        return not self.input.mapping.target.is_leaf(path) and self.input.mapping.target.whole_at(path) is None

    def _some_leaf(self, member: Member, name: str, path: Path) -> Iterator[tuple[Member, frozenset[Term]]]:
        """The ways in which the inner node at ``path`` below a variable can exist, each with what it decides: by what
        rules make, if they make any of it, else by all that is lost.
        """
        node, tree = member.node(name), self.input.mapping.target
        leaves = [leaf for leaf in tree.own_leaves(node) if leaf[: len(path)] == path]
        children = [child for child in tree.child_stops(node) if child[len(node) :][: len(path)] == path]
        anywhere = made_paths(self.input.mapping)
        made = [leaf for leaf in leaves if (*node, *leaf) in anywhere and self._may_be_made(node, leaf)]
        stops = [child for child in children if child in anywhere and self._may_be_made(child)]
        for leaf in made if made or stops else leaves:
            there = Term(name, leaf)
            yield Member(member.variables, member.atoms | {Presence(there)}, member.template), frozenset((there,))
        for child in stops if made or stops else children:
            yield _with_child(member, name, child), frozenset()

    def _may_be_bare(self, node: Path) -> bool:
        """Whether a node, where nothing says that a leaf is there, may exist only because of what hangs below it."""
        if node not in self._bare:
            is_made = (
                node != ()
                and self.input.mapping.target.box(node) is None
                and not is_inside(self.input.mapping.target, node)
            )
            rules = makers(self.input.mapping, node)
            self._bare[node] = is_made and not all(shows_itself(rule, node, self.input.sources) for rule in rules)
        return self._bare[node]


def _with_child(member: Member, name: str, child: Path) -> Member:
    added = Variable(fresh_name(member, "below"), child, name)
    return Member((*member.variables, added), member.atoms, member.template)

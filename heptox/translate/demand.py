"""What a member asks of the documents that rules make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping as Table
from dataclasses import dataclass

from heptox.mapping import Mapping, Rule
from heptox.pattern import (
    NODE,
    TAG,
    Comparison,
    ElementItem,
    LeafItem,
    Member,
    NoNode,
    Presence,
    Term,
    Variable,
    atom_terms,
    is_computed,
    leaf_paths,
    needed_terms,
    node_identity,
    template_terms,
    value_expression,
)
from heptox.schema import Path, SchemaTree
from heptox.translate.image import is_inside
from heptox.translate.knowledge import may_be_constant
from heptox.translate.surrogates import named


@dataclass(frozen=True, slots=True)
class MissingLeaf:
    """A leaf that a node lacks: no other binding, of these rules, supplies it."""

    term: Term
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Demand:
    """What a member asks: its terms, those that have to be there, and the atoms that say what is nowhere."""

    tree: SchemaTree
    member: Member
    chains: Table[str, tuple[str, ...]]
    terms: frozenset[Term]
    present: frozenset[Term]
    negated: tuple[NoNode, ...]
    missing: tuple[MissingLeaf, ...]
    shared: frozenset[str]
    """The variables whose nodes are those of other members: of nested parts, and of the match around this one."""
    bound: frozenset[str]
    """Those of them whose nodes are of the match around this one."""

    @classmethod
    def of(
        cls,
        member: Member,
        mapping: Mapping,
        negated: tuple[NoNode, ...] = (),
        missing: tuple[MissingLeaf, ...] = (),
        bound: frozenset[str] = frozenset(),
    ) -> Demand:
        terms = set(template_terms(member.template))
        shared = bound.union(term.variable for term in terms if term.path == (NODE,))
        terms = {term for term in terms if term.path != (NODE,)}
        present = {member.template.term} if isinstance(member.template, LeafItem) else set()
        for atom in member.atoms:
            terms.update(atom_terms(atom))
            if isinstance(atom, Comparison | Presence):
                present.update(atom_terms(atom))
        if any(is_computed(term.path) for term in terms):
            terms = {leaf for term in terms for leaf in computed_of(term)}
            present = {leaf for term in present if isinstance(term, Term) for leaf in needed(term)}
        for variable in member.variables:
            whole = mapping.target.whole_at(variable.node)
            if whole is not None and variable.parent is not None and is_inside(mapping.target, variable.node):
                above = member.node(variable.parent)
                if not is_inside(mapping.target, above):
                    present.add(Term(variable.parent, whole[len(above) :]))
        for atom in negated:
            terms.update(atom_terms(atom))
        here = {term for term in present if isinstance(term, Term)}
        chains: dict[str, tuple[str, ...]] = {}
        for variable in member.variables:
            chains[variable.name] = () if variable.parent is None else (variable.name, *chains[variable.parent])
        return cls(
            mapping.target, member, chains, frozenset(terms | here), frozenset(here), negated, missing, shared, bound
        )

    def path(self, term: Term) -> Path:
        """The leaf of the target that a term stands for."""
        return named(self.member.path(term))

    def chain(self, name: str) -> tuple[str, ...]:
        """A variable and those above it, without the root."""
        return self.chains[name]

    def part(self, names: set[str]) -> tuple[Member, frozenset[str]]:
        """What is asked of some variables of one document as an item, with what has to be there, and the nodes that are
        those of other members; the names of the variables are their places. And which of them are bound.
        """
        roots = dict.fromkeys(self.member.roots.values(), "root")
        variables = [variable for variable in self.member.variables if variable.name in names]
        number = {variable.name: f"v{place}" for place, variable in enumerate(variables)} | roots
        terms = {
            Term(number[term.variable], term.path): term in self.present
            for term in self.terms
            if term.variable in names
        }
        nodes = {number[variable.name]: variable.node for variable in variables}
        slots = tuple(
            LeafItem(
                "copy" if self.tree.whole_at((*nodes[term.variable], *term.path)) else "element",
                f"{term.variable}/{'/'.join(term.path)}",
                term,
            )
            for term in sorted(terms)
        )
        slots += tuple(
            node_identity(f"n{place}", number[name]) for place, name in enumerate(sorted(self.shared & names))
        )
        part = Member(
            (Variable("root", ()), *(Variable(number[v.name], v.node, number[str(v.parent)]) for v in variables)),
            frozenset(Presence(term) for term, present in terms.items() if present),
            ElementItem("asked", (), slots),
        )
        return part, frozenset(number[name] for name in self.bound & names)


def computed_of(term: Term) -> Iterator[Term]:
    """The leaves that a term is computed of; itself, if it is one."""
    expression = value_expression(term.path)
    for path in (term.path,) if expression is None else leaf_paths(expression):
        yield Term(term.variable, path)


def needed(term: Term) -> Iterable[Term]:
    """The leaves that have to be there for a term to be."""
    return needed_terms(term) if is_computed(term.path) else (term,)


def lowest_variables(tree: SchemaTree, member: Member) -> list[Variable]:
    """The variables below which no other stands, but for the root and what is inside copied subtrees."""
    outside = [variable for variable in member.variables if not is_inside(tree, variable.node)]
    parents = {variable.parent for variable in outside}
    return [variable for variable in outside if variable.name not in parents and variable.parent is not None]


def spoken_variables(member: Member, mapping: Mapping) -> set[str]:
    """The variables of which some leaf is known to have a value, and those with others below them; a leaf that may be a
    constant shows nothing.
    """
    spoken = {variable.parent for variable in member.variables if variable.parent is not None}
    for atom in member.atoms:
        if isinstance(atom, Comparison | Presence):
            spoken.update(
                term.variable
                for computed in atom_terms(atom)
                for term in needed(computed)
                if term.path != (TAG,) and not may_be_constant(mapping, member.node(term.variable), term.path)
            )
    return spoken

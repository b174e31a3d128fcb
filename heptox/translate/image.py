"""A member's terms, atoms and item taken from what rules make to the documents that they make it of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping as Table, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import NoReturn

from heptox.errors import Fault, TranslationError
from heptox.grammar import holds_elements
from heptox.mapping import Mapping
from heptox.pattern import (
    NO_VALUE,
    NODE,
    Absence,
    Atom,
    Comparison,
    Constant,
    DeepEqual,
    Leaf,
    LeafItem,
    Member,
    Number,
    Presence,
    SameValue,
    StringJoin,
    Template,
    Term,
    Text,
    ValueExpression,
    Variable,
    atom_terms,
    computed_step,
    constant_step,
    evaluate_expression,
    leaf_paths,
    map_atom,
    map_template,
    substituted,
    template_terms,
    value_expression,
    without_absent,
)
from heptox.schema import TEXT, Path, SchemaTree
from heptox.translate.copies import Copy, element_name, refuse_names
from heptox.translate.knowledge import is_filled, source_constraints, supplied, supplied_to_root
from heptox.translate.model import INVENTED, NO_SLOT, Loss
from heptox.translate.surrogates import named, refuse_comparison


@dataclass
class Losses:
    """The losses met on the way: what made members fail counts only if the whole member fails."""

    slots: set[Loss] = field(default_factory=set)
    fatal: set[Loss] = field(default_factory=set)


class Image:
    """A member over the target: ``copies`` are those that meet in each of its variables, ``providers`` supply leaves of
    nodes which several source nodes complete.
    """

    def __init__(
        self, mapping: Mapping, member: Member, copies: Table[str, Sequence[Copy]], providers: Table[Term, Copy]
    ) -> None:
        self.mapping = mapping
        self.member = member
        self.copies = copies
        self.providers = providers
        self.lost = Losses()
        self._terms: dict[Term, Term | None] = {}

    def term(self, term: Term) -> Term | None:
        """The term that has the value of a term of the member, ``None`` where it is always absent."""
        if term not in self._terms:
            self._terms[term] = self._term(term)
        return self._terms[term]

    def _term(self, term: Term) -> Term | None:
        expression = value_expression(term.path)
        if expression is not None:
            return self._computed(term, expression)
        node = self.member.node(term.variable)
        if is_inside(self.mapping.target, node):
            return Term(inside_name(term.variable), term.path)
        if not node:
            return self._root_term(term)
        copy = self.providers.get(term) or next(iter(self.copies[term.variable]), None)
        return None if copy is None else supplied(copy.node(node), term.path)

    def _computed(self, term: Term, expression: ValueExpression) -> Term | None:
        """A function of leaves as one of what they take their values from.

        Raises :class:`TranslationError` (HX5017) where these are of several nodes.
        """
        variables: set[str] = set()

        def image(leaf: Leaf | StringJoin) -> ValueExpression:
            if isinstance(leaf, StringJoin):
                self._refuse_function(term, "gathers values of nodes that rules make")
            if holds_elements(self.mapping.target, (*self.member.node(term.variable), *leaf.path)):
                self._refuse_function(term, "takes all text in an element that rules make")
            origin = self.term(Term(term.variable, leaf.path))
            if leaf.path[-1:] == (TEXT,) and not self._is_sure(term.variable, origin):
                self._refuse_function(
                    term, "speaks of a text that is empty where its element is there for other leaves"
                )
            if origin is None:
                return NO_VALUE
            if origin.path == (NODE,):
                self._refuse_function(term, "computes with an invented identifier")
            computed = value_expression(origin.path)
            if isinstance(computed, Constant):
                return computed
            variables.add(origin.variable)
            return Leaf(origin.path) if computed is None else computed

        found = without_absent(substituted(expression, image))
        if len(variables) > 1:
            self._refuse_function(term, "speaks of leaves that come from several nodes")
        if not leaf_paths(found):
            value = evaluate_expression(found, lambda _: None, lambda _: ())
            return None if value is None else Term(self.member.roots[term.variable], (constant_step(value),))
        variable = next(iter(variables), self.member.roots[term.variable])
        return Term(variable, found.path if isinstance(found, Leaf) else (computed_step(found),))

    def _is_sure(self, name: str, origin: Term | None) -> bool:
        """Whether what a leaf of a variable takes is always there."""
        if origin is None:
            return False
        return source_constraints(self.mapping).required(self._nodes(name)[origin.variable], origin.path)

    def _refuse_function(self, term: Term, reason: str) -> NoReturn:
        shown = self.mapping.target.written(term.path)
        hint = "ask for the leaves, and compute with the answer"
        raise TranslationError(Fault("HX5017", f"{shown} {reason}: it is not translated yet", hint=hint))

    def inside(self, losses: Losses) -> list[Variable] | None:
        """The variables inside copied subtrees, which stand at the same place inside the originals.

        ``None`` where no arrow copies the subtree that one of them stands in.
        """
        found: list[Variable] = []
        for variable in self.member.variables:
            whole = self.mapping.target.whole_at(variable.node)
            if whole is None or variable.parent is None or not is_inside(self.mapping.target, variable.node):
                continue
            above = self.member.node(variable.parent)
            rest = variable.node[max(len(whole), len(above)) :]
            if is_inside(self.mapping.target, above):
                parent = next(other for other in found if other.name == inside_name(variable.parent or ""))
                found.append(Variable(inside_name(variable.name), (*parent.node, *rest), parent.name))
                continue
            origin = self.term(Term(variable.parent, whole[len(above) :]))
            if origin is None:
                if not self._is_filled(Term(variable.parent, whole[len(above) :])):
                    losses.fatal.add(Loss(whole, "no arrow copies it, and the query looks inside"))
                return None
            node = (*self._nodes(variable.parent)[origin.variable], *origin.path, *rest)
            found.append(Variable(inside_name(variable.name), node, origin.variable))
        return found

    def _nodes(self, name: str) -> Table[str, Path]:
        """The source nodes of what the terms of a variable become."""
        found: dict[str, Path] = dict.fromkeys(self.member.roots.values(), ())
        for copy in (*self.copies.get(name, ()), *self.providers.values()):
            found.update(copy.nodes)
        return found

    def _root_term(self, term: Term) -> Term | None:
        """A leaf of the target's root: the root is one node whichever rules make it."""
        root, path = term
        if (origin := supplied_to_root(self.mapping, path)) is not None:
            return Term(root, origin.path)
        if is_filled(self.mapping, (), path):
            name = self.mapping.target.written((self.mapping.target.root, *path))
            hint = "write a rule that makes it of the source's root alone"
            raise TranslationError(Fault("HX5002", f"{name} is made only where more than the root is bound", hint=hint))
        return None

    def _path(self, term: Term) -> Path:
        return named(self.member.path(term))

    # -- atoms ---------------------------------------------------------------------------------------------------

    def atoms(self, atoms: Iterable[Atom], losses: Losses) -> list[tuple[Atom, ...]] | None:
        """Atoms over the documents, a choice of conjunctions; ``None`` where one of them cannot hold."""
        ways: list[list[tuple[Atom, ...]]] = []
        for atom in sorted(atoms, key=repr):
            found = self._mapped(atom)
            if not found:
                effect = "no arrow supplies it, and the query needs it"
                lost = [term for term in atom_terms(atom) if self.term(term) is None and not self._is_filled(term)]
                losses.fatal.update(Loss(self._path(term), effect) for term in lost)
                return None
            ways.append(found)
        return [tuple(atom for way in choice for atom in way) for choice in product(*ways)]

    def _is_filled(self, term: Term) -> bool:
        """Whether some rule fills a leaf, though another is chosen: then nothing is lost that an image has."""
        return is_filled(self.mapping, self.member.node(term.variable), term.path)

    def _mapped(self, atom: Atom) -> list[tuple[Atom, ...]]:
        """The ways in which an atom can hold, each a conjunction; none where it cannot."""
        match atom:
            case Absence(term):
                return [self._absence(term)]
            case SameValue(left, right) | DeepEqual(left, right):
                return self._same(atom, left, right)
        images = {term: self.term(term) for term in atom_terms(atom)}
        if None in images.values():
            return []
        if isinstance(atom, Comparison) and not all(map(self._told, images)):
            return self._of_nodes(atom)
        return [(map_atom(atom, lambda term: images[term] or term),)]

    def _of_nodes(self, atom: Comparison) -> list[tuple[Atom, ...]]:
        """A comparison with what identifies a node: it equals that of the same node, and no value of a document.

        Raises :class:`TranslationError` (HX5016) where it would have to be known.
        """
        images = {term: image for term in atom_terms(atom) if (image := self.term(term))}
        if isinstance(atom.right, Number):
            return []  # it is none
        values = [image for image in images.values() if image.path != (NODE,)]
        alone = bool(values) or isinstance(atom.right, Text)
        if atom.operator == "=":
            return [] if alone else [(map_atom(atom, lambda term: images[term]),)]
        if atom.operator == "!=" and (alone or self._are_of_several_kinds(images)):
            return [tuple(map(Presence, values))]
        invented = [term for term, image in images.items() if image.path == (NODE,)]
        refuse_comparison((self.mapping.target.written(self._path(term)) for term in invented), atom.operator)

    def _are_of_several_kinds(self, images: dict[Term, Term]) -> bool:
        """Whether terms that stand for nodes stand for those of several paths."""
        return len({self._nodes(term.variable)[image.variable] for term, image in images.items()}) > 1

    def _absence(self, term: Term) -> tuple[Atom, ...]:
        image = self.term(term)
        return () if image is None else (Absence(image),)

    def _same(self, atom: SameValue | DeepEqual, left: Term, right: Term) -> list[tuple[Atom, ...]]:
        """Both absent, or both there and the same.

        Raises :class:`TranslationError` (HX5015) for elements that rules put together of several leaves.
        """
        for term in (left, right):
            if isinstance(atom, DeepEqual) and not self._is_one_value(term):
                tree = self.mapping.target
                name = tree.written(self._path(term) or (tree.root,))
                message = f"{name} is put together of what several arrows carry: deep-equal of it is not translated yet"
                raise TranslationError(Fault("HX5015", message, hint="compare its leaves one by one"))
        first, second = self.term(left), self.term(right)
        if first is None or second is None:
            return [(*self._absence(left), *self._absence(right))]
        if isinstance(atom, SameValue) or not self._is_copied(left):
            return [(SameValue(first, second),)]
        refuse_names({self._copied_name(left, first), self._copied_name(right, second)})
        return [(DeepEqual(first, second),)]

    def _is_one_value(self, term: Term) -> bool:
        """Whether a term stands for a leaf, or for a subtree that is copied whole."""
        return self.mapping.target.is_leaf(self._path(term)) or self._is_copied(term)

    def _is_copied(self, term: Term) -> bool:
        return self.mapping.target.whole_at(self._path(term)) is not None

    def _copied_name(self, term: Term, image: Term) -> str:
        inside = {variable.name: variable.node for variable in self.inside(Losses()) or ()}
        return element_name(image, {**self._nodes(term.variable), **inside})

    # -- items ---------------------------------------------------------------------------------------------------

    @cached_property
    def template(self) -> Template | None:
        """The item over the documents; what it has lost is in ``lost``."""
        whole = isinstance(self.member.template, LeafItem)
        for term in template_terms(self.member.template):
            if term.path == (NODE,):
                continue
            if self.term(term) is None and not self._is_filled(term):
                loss = Loss(
                    self._path(term),
                    "no arrow supplies it" if whole else NO_SLOT,
                )
                (self.lost.fatal if whole else self.lost.slots).add(loss)
            elif self._told(term) is None and self.term(term) is not None:
                (self.lost.fatal if whole else self.lost.slots).add(Loss(self._path(term), INVENTED))
            elif self._path(term) in self.mapping.invented_target:
                effect = "no arrow supplies it: its value is invented, and only tells nodes apart"
                self.lost.slots.add(Loss(self._path(term), effect))
        return map_template(self.member.template, self._told)

    def _told(self, term: Term) -> Term | None:
        """The term whose value stands for a term in an item: what identifies a node is no value. What a nested part is
        bound to stays until its own members are taken from what rules make.
        """
        if term.path == (NODE,):
            return term
        image = self.term(term)
        return None if image is not None and image.path == (NODE,) else image


def is_inside(tree: SchemaTree, node: Path) -> bool:
    """Whether a node stands strictly inside a subtree that is taken whole."""
    return bool(node) and tree.whole_at(node[:-1]) is not None


def inside_name(name: str) -> str:
    """What a variable inside a copied subtree is called over the documents."""
    return f"inside.{name}"

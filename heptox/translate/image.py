"""A member's terms, atoms and item taken from what rules make to the documents that they make it of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping as Table, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

from heptox.errors import Fault, TranslationError
from heptox.mapping import Mapping, Rule
from heptox.pattern import (
    Absence,
    Atom,
    Comparison,
    Content,
    DeepEqual,
    ElementItem,
    LeafItem,
    Member,
    Presence,
    SameValue,
    Template,
    Term,
    Text,
    Variable,
    atom_terms,
    map_atom,
    map_template,
    template_terms,
)
from heptox.schema import TEXT, Path, SchemaTree
from heptox.translate.copies import ROOT, Copy, element_name, refuse_names
from heptox.translate.knowledge import is_filled, supplied
from heptox.translate.model import Loss


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
        node = self.member.node(term.variable)
        if is_inside(self.mapping.target, node):
            return Term(_inside_name(term.variable), term.path)
        if not node:
            return self._root_term(term.path)
        provider = self.providers.get(term)
        copy = self.copies[term.variable][0] if provider is None else provider
        return supplied(copy.node(node), term.path)

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
                parent = next(other for other in found if other.name == _inside_name(variable.parent or ""))
                found.append(Variable(_inside_name(variable.name), (*parent.node, *rest), parent.name))
                continue
            origin = self.term(Term(variable.parent, whole[len(above) :]))
            if origin is None:
                if not self._is_filled(Term(variable.parent, whole[len(above) :])):
                    losses.fatal.add(Loss(whole, "no arrow copies it, and the query looks inside"))
                return None
            node = (*self._nodes(variable.parent)[origin.variable], *origin.path, *rest)
            found.append(Variable(_inside_name(variable.name), node, origin.variable))
        return found

    def _nodes(self, name: str) -> Table[str, Path]:
        """The source nodes of what the terms of a variable become."""
        found: dict[str, Path] = {ROOT: ()}
        for copy in (*self.copies.get(name, ()), *self.providers.values()):
            found.update(copy.nodes)
        return found

    def _root_term(self, path: Path) -> Term | None:
        """A leaf of the target's root: the root is one node whichever rules make it."""
        for rule in self._of_the_root_alone:
            if (origin := supplied(rule.head[0], path)) is not None:
                return Term(ROOT, origin.path)
        if any(supplied(rule.head[0], path) is not None for rule in self.mapping.rules):
            name = "/".join((self.mapping.target.root, *path))
            hint = "write a rule that makes it of the source's root alone"
            raise TranslationError(Fault("HX5002", f"{name} is made only where more than the root is bound", hint=hint))
        return None

    @property
    def _of_the_root_alone(self) -> Iterator[Rule]:
        return (rule for rule in self.mapping.rules if len(rule.variables) == 1 and not rule.conditions)

    def _path(self, term: Term) -> Path:
        return (*self.member.node(term.variable), *term.path)

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
                return self._absence(term)
            case Presence(term) if self.term(term) is None:
                # An element is there by its text, also where that is empty.
                text = self.term(Term(term.variable, (*term.path, TEXT)))
                return [] if text is None else [(Presence(text),)]
            case SameValue(left, right) | DeepEqual(left, right):
                return self._same(atom, left, right)
        images = {term: self.term(term) for term in atom_terms(atom)}
        if None in images.values():
            return []
        mapped = map_atom(atom, lambda term: images[term] or term)
        filled = [
            Comparison("!=", image, Text("")) for term, image in images.items() if image and _emptiable(term, image)
        ]
        return [(mapped, *filled)]

    def _absence(self, term: Term) -> list[tuple[Atom, ...]]:
        image = self.term(term)
        if image is None:
            # An element is there by its text, also where that is empty.
            text = self.term(Term(term.variable, (*term.path, TEXT)))
            return [()] if text is None else [(Absence(text),)]
        absent: list[tuple[Atom, ...]] = [(Absence(image),)]
        if _emptiable(term, image):
            absent.append((Comparison("=", image, Text("")),))
        return absent

    def _same(self, atom: SameValue | DeepEqual, left: Term, right: Term) -> list[tuple[Atom, ...]]:
        """Both absent, or both there and the same: one by one where an empty value is no text node.

        Raises :class:`TranslationError` (HX5015) for elements that rules put together of several leaves.
        """
        for term in (left, right):
            if isinstance(atom, DeepEqual) and not self._is_one_value(term):
                name = "/".join(self._path(term)) or self.mapping.target.root
                message = f"{name} is put together of what several arrows carry: deep-equal of it is not translated yet"
                raise TranslationError(Fault("HX5015", message, hint="compare its leaves one by one"))
        first, second = self.term(left), self.term(right)
        if first is None or second is None:
            return [(*one, *other) for one in self._absence(left) for other in self._absence(right)]
        if _emptiable(left, first) or _emptiable(right, second):
            there = [(Comparison("=", first, second), Comparison("!=", first, Text("")))]
            return [*there, *((*one, *other) for one in self._absence(left) for other in self._absence(right))]
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
            if self.term(term) is None and not self._is_filled(term):
                loss = Loss(
                    self._path(term),
                    "no arrow supplies it" + ("" if whole else ": its place in the answer stays empty"),
                )
                (self.lost.fatal if whole else self.lost.slots).add(loss)
            elif self._path(term) in self.mapping.invented_target:
                effect = "no arrow supplies it: its value is invented, and only tells nodes apart"
                self.lost.slots.add(Loss(self._path(term), effect))
        return map_template(self.member.template, self.term)


def text_slots(template: Template | Content) -> Iterator[Term]:
    """The text nodes in whose place a constructor holds an element or attribute."""
    for item in template.content if isinstance(template, ElementItem) else ():
        match item:
            case LeafItem(shape="element" | "attribute", term=Term() as term) if term.path[-1:] == (TEXT,):
                yield term
            case ElementItem():
                yield from text_slots(item)
            case _:
                pass


def is_inside(tree: SchemaTree, node: Path) -> bool:
    """Whether a node stands strictly inside a subtree that is taken whole."""
    return bool(node) and tree.whole_at(node[:-1]) is not None


def _inside_name(name: str) -> str:
    return f"inside.{name}"


def _emptiable(term: Term, image: Term) -> bool:
    """A text node with no characters is none: a target text needs a value that is not empty."""
    return bool(term.path) and term.path[-1] == TEXT and image.path[-1:] != (TEXT,)

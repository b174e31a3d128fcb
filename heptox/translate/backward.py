"""Against the rules: a query over the target schema becomes one over the source schema (``semantics.md`` section 8,
step 2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Final

from heptox.errors import Fault, TranslationError
from heptox.mapping import HeadNode, Mapping, Rule
from heptox.pattern import (
    TAG,
    Absence,
    Atom,
    Comparison,
    Constraints,
    Content,
    DeepEqual,
    ElementItem,
    LeafItem,
    Member,
    Presence,
    Query,
    Template,
    Term,
    Text,
    Variable,
    atom_terms,
    fresh_name,
    map_atom,
    map_template,
    merge,
    normalise,
    ordered,
    template_terms,
)
from heptox.schema import TEXT, Path, SchemaTree
from heptox.translate.knowledge import guaranteed, makers, source_constraints, supplied
from heptox.translate.model import Check, Loss, no_check


@dataclass
class Losses:
    """The losses met on the way: what made members fail counts only if the whole member fails."""

    slots: set[Loss] = field(default_factory=set)
    fatal: set[Loss] = field(default_factory=set)


MOST_MEMBERS: Final = 5_000
"""Members of one unfolding; a query that becomes more is refused by name, not answered in part."""


def backward(query: Query, mapping: Mapping, check: Check = no_check) -> tuple[Query, tuple[Loss, ...]]:
    """The unfolding of a target query: ``Q(D1) = Q2(mu(D1))`` for every valid D1 (Definition 1).

    Raises :class:`TranslationError`: HX5002 where a leaf of the target's root depends on more than the source's root,
    HX5005 where the union grows beyond :data:`MOST_MEMBERS`; and what ``check`` raises, which is called again and
    again.
    """
    return Unfolding(mapping, check).query(query)


@dataclass(frozen=True, slots=True, eq=False)
class _Copy:
    """A rule with fresh variables: its body and its head over them. All copies share the source root."""

    rule: Rule
    variables: tuple[Variable, ...]
    conditions: tuple[Atom, ...]
    head: tuple[HeadNode, ...]

    def node(self, path: Path) -> HeadNode:
        return next(head for head in self.head if head.node == path)


@dataclass(frozen=True, slots=True)
class _Glue:
    """One way in which two copies make one node: atoms that hold, source variables that are one."""

    atoms: tuple[Atom, ...] = ()
    same: tuple[tuple[str, str], ...] = ()

    def __add__(self, other: _Glue) -> _Glue:
        return _Glue(self.atoms + other.atoms, self.same + other.same)


@dataclass(slots=True)
class _Frame:
    """What members with the same variables and the same item, unfolded by the same copies, have in common.

    They are many: a candidate is tried again and again with one atom less, or one more.
    """

    image: _Image
    inside: list[Variable] | None
    fatal: set[Loss]
    variables: tuple[Variable, ...]
    body: tuple[Atom, ...]
    glue: tuple[_Glue, ...] | None = None


MOST_FRAMES: Final = 200
"""Frames that are kept; a large union has no use for them."""

_ROOT = "root"


class Unfolding:
    """The unfolding of queries over one mapping: what the rules make is looked up once."""

    def __init__(self, mapping: Mapping, check: Check = no_check) -> None:
        self._mapping = mapping
        self._check = check
        self._tree = mapping.target
        self._sources: Constraints = source_constraints(mapping)
        self._makers: dict[Path, tuple[Rule, ...]] = {}
        self._copies: dict[tuple[Path, int], tuple[_Copy, ...]] = {}
        self._bare: dict[Path, bool] = {}
        self._frames: dict[tuple[tuple[Variable, ...], Template, tuple[_Copy, ...]], _Frame] = {}

    def query(self, query: Query) -> tuple[Query, tuple[Loss, ...]]:
        """As :func:`backward`."""
        members: list[Member] = []
        losses: set[Loss] = set()
        for member in query.members:
            met = Losses()
            found = list(self._checked(member, met, len(members)))
            members.extend(found)
            lost = met.fatal and all(normalise(unfolded, self._sources) is None for unfolded in found)
            losses |= met.slots | met.fatal if lost else met.slots
        return Query(tuple(dict.fromkeys(members))), tuple(sorted(losses))

    def members(self, query: Query) -> Iterator[Member]:
        """The members alone, made when they are asked for: one can be enough to know."""
        for member in query.members:
            yield from self._checked(member, Losses())

    def _checked(self, member: Member, losses: Losses, before: int = 0) -> Iterator[Member]:
        for number, unfolded in enumerate(self.member(member, losses), start=before + 1):
            self._check()
            if number > MOST_MEMBERS:
                raise TranslationError(Fault("HX5005", f"the query becomes a union of over {MOST_MEMBERS} members"))
            yield unfolded

    def makers(self, node: Path) -> tuple[Rule, ...]:
        """The rules that make the nodes at ``node``, as :func:`heptox.translate.knowledge.makers`."""
        if node not in self._makers:
            self._makers[node] = makers(self._mapping, node)
        return self._makers[node]

    # -- existence -----------------------------------------------------------------------------------------------

    def member(self, member: Member, losses: Losses) -> Iterator[Member]:
        """The members over the source schema that one member over the target schema becomes."""
        for certain in self._with_texts(member):
            for explicit in self._with_existence(certain):
                yield from self._unfold(explicit, losses)

    def _with_texts(self, member: Member) -> Iterator[Member]:
        """Members that know of each slot over a text node whether it is there: an empty value makes none."""
        slot = next((slot for slot in _text_slots(member.template) if Presence(slot) not in member.atoms), None)
        if slot is None:
            yield member
            return
        present = Member(member.variables, member.atoms | {Presence(slot)}, member.template)
        yield from self._with_texts(present)
        without = map_template(member.template, lambda term: None if term == slot else term)
        assert without is not None  # the slot is only a part of it
        yield from self._with_texts(Member(member.variables, member.atoms | {Absence(slot)}, without))

    def _with_existence(self, member: Member, shown: frozenset[Term] = frozenset()) -> Iterator[Member]:
        """Members in which every node is there because of a leaf: a head node exists when some leaf below has a value.

        ``shown`` are the nodes for which that is decided.
        """
        for atom in member.atoms:
            if isinstance(atom, Presence) and atom.term not in shown and self._is_inner(member, atom.term):
                rest = Member(member.variables, member.atoms - {atom}, member.template)
                for explicit, leaf in self._some_leaf(rest, atom.term.variable, atom.term.path):
                    yield from self._with_existence(explicit, shown | leaf)
                return
        spoken = _spoken_of(member)
        for variable in member.variables:
            silent = variable.name not in spoken and Term(variable.name) not in shown
            if silent and self._may_be_bare(variable.node):
                # It shows itself by a leaf of its own, or it is there for what hangs below it.
                yield from self._with_existence(member, shown | {Term(variable.name)})
                for child in self._tree.child_stops(variable.node):
                    yield from self._with_existence(_with_child(member, variable.name, child), shown)
                return
        yield member

    def _is_inner(self, member: Member, term: Term) -> bool:
        path = (*member.node(term.variable), *term.path)
        return term.path != (TAG,) and not self._tree.is_leaf(path) and self._tree.whole_at(path) is None

    def _some_leaf(self, member: Member, name: str, path: Path) -> Iterator[tuple[Member, frozenset[Term]]]:
        """The ways in which the inner node at ``path`` below a variable can exist, each with what it decides.

        A text with no characters is no node, but the element that it was for exists by it.
        """
        node = member.node(name)
        for leaf in self._tree.own_leaves(node):
            if leaf[: len(path)] == path:
                there = Term(name, leaf[:-1] if leaf[-1] == TEXT else leaf)
                yield Member(member.variables, member.atoms | {Presence(there)}, member.template), frozenset((there,))
        for child in self._tree.child_stops(node):
            if child[len(node) :][: len(path)] == path:
                yield _with_child(member, name, child), frozenset()

    def _may_be_bare(self, node: Path) -> bool:
        """Whether a node, where nothing tells of a leaf, may exist only because of what hangs below it."""
        if node not in self._bare:
            plain = node != () and self._tree.box(node) is None and not is_inside(self._tree, node)
            self._bare[node] = plain and not all(self._shows_itself(rule, node) for rule in self.makers(node))
        return self._bare[node]

    def _shows_itself(self, rule: Rule, node: Path) -> bool:
        head = next(head for head in rule.head if head.node == node)
        return any(guaranteed(rule, term, self._sources) for _, term in head.leaves)

    # -- unfolding -----------------------------------------------------------------------------------------------

    def _unfold(self, member: Member, losses: Losses) -> Iterator[Member]:
        outside = [variable for variable in member.variables if not is_inside(self._tree, variable.node)]
        parents = {variable.parent for variable in outside}
        lowest = [variable for variable in outside if variable.name not in parents and variable.parent is not None]
        for variable in lowest:
            if not self.makers(variable.node):
                losses.fatal.add(Loss(variable.node, "no arrow reaches it or anything below it"))
        fresh = [self._fresh_copies(variable.node, number) for number, variable in enumerate(lowest, start=1)]
        for copies in product(*fresh):
            named = {variable.name: copy for variable, copy in zip(lowest, copies, strict=True)}
            yield from self._combine(member, named, losses)

    def _fresh_copies(self, node: Path, number: int) -> tuple[_Copy, ...]:
        """The rules that make the nodes at ``node``, with variables that only copies of this number have."""
        if (node, number) not in self._copies:
            self._copies[node, number] = tuple(_copy(rule, str(number)) for rule in self.makers(node))
        return self._copies[node, number]

    def _combine(self, member: Member, copies: dict[str, _Copy], losses: Losses) -> Iterator[Member]:
        frame = self._frame(member, copies)
        losses.fatal |= frame.fatal
        atoms = frame.image.atoms(member.atoms, losses)
        if frame.inside is None or atoms is None:
            return
        template = frame.image.template
        losses.slots |= frame.image.lost.slots
        losses.fatal |= frame.image.lost.fatal
        if template is None:
            return
        if frame.glue is None:
            frame.glue = tuple(self._glued(member, frame.image.copies))
        for glue in frame.glue:
            for shown in self._shown(member, copies):
                for conditions in atoms:
                    joined = frozenset((*frame.body, *conditions, *glue.atoms, *shown))
                    yield merge(Member(frame.variables, joined, template), *glue.same)

    def _frame(self, member: Member, copies: dict[str, _Copy]) -> _Frame:
        key = member.variables, member.template, tuple(copies.values())
        if key not in self._frames:
            if len(self._frames) >= MOST_FRAMES:
                self._frames.clear()
            self._frames[key] = self._new_frame(member, copies)
        return self._frames[key]

    def _new_frame(self, member: Member, copies: dict[str, _Copy]) -> _Frame:
        image = _Image(self._mapping, member, _copies_by_variable(member, copies))
        variables: dict[str, Variable] = {_ROOT: Variable(_ROOT, ())}
        body: list[Atom] = []
        for name, copy in copies.items():
            variables.update((variable.name, variable) for variable in copy.variables)
            body.extend(copy.conditions)
            body.extend(self._tags(copy, member.node(name)))
        losses = Losses()
        inside = image.inside(losses)
        whole = ordered([*variables.values(), *(inside or ())])
        return _Frame(image, inside, losses.fatal, whole, tuple(body))

    def _tags(self, copy: _Copy, node: Path) -> Iterator[Presence]:
        """A box node needs its tag; boxes below the node that is asked for do not count."""
        for head in copy.head:
            tag = head.term((TAG,))
            if tag is not None and len(head.node) <= len(node):
                yield Presence(tag)

    def _shown(self, member: Member, copies: dict[str, _Copy]) -> Iterator[tuple[Atom, ...]]:
        """For every lowest node that nothing speaks of, one of its leaves that has a value."""
        choices: list[list[Presence]] = []
        spoken = _spoken_of(member)
        for name, copy in copies.items():
            if name in spoken:
                continue
            node = member.node(name)
            if self._tree.box(node) is None and not self._shows_itself(copy.rule, node):
                choices.append([Presence(term) for _, term in copy.node(node).leaves])
        return iter(product(*choices))

    def _glued(self, member: Member, by_variable: dict[str, list[_Copy]]) -> Iterator[_Glue]:
        """The ways in which all copies that meet in a variable make its node, and its ancestors, the same."""
        options: list[list[_Glue]] = []
        for variable in member.variables:
            if variable.parent is not None:
                copies = by_variable[variable.name]
                options.extend(self._same_node(copies[0], other, variable.node) for other in copies[1:])
        for choice in product(*options):
            yield sum(choice, _Glue())

    def _same_node(self, first: _Copy, second: _Copy, node: Path) -> list[_Glue]:
        """The ways in which two copies have equal Skolem arguments at ``node`` (its ancestors are variables of their
        own).
        """
        pairs: dict[tuple[str, str], list[tuple[Term, Term]]] = {}
        for leaf in ((TAG,), *self._tree.own_leaves(node)):
            left, right = first.node(node).term(leaf), second.node(node).term(leaf)
            if (left is None) != (right is None):
                return []  # a leaf that is not supplied equals no value and no null
            if left is not None and right is not None:
                pairs.setdefault((left.variable, right.variable), []).append((left, right))
        ways = [self._equal_arguments(first, second, names, terms) for names, terms in pairs.items()]
        return [sum(choice, _Glue()) for choice in product(*ways)]

    def _equal_arguments(
        self, first: _Copy, second: _Copy, names: tuple[str, str], terms: list[tuple[Term, Term]]
    ) -> list[_Glue]:
        """All arguments from one pair of source nodes are present and equal, or the two are one node (section 5)."""

        def equal(left: Term, right: Term) -> tuple[Atom, ...]:
            copied = self._is_copied(first, left) or self._is_copied(second, right)
            return self._deep_equal(first, second, left, right) if copied else (Comparison("=", left, right),)

        differing = tuple(atom for left, right in terms if left.path != right.path for atom in equal(left, right))
        if names[0] == names[1]:
            return [_Glue(differing)]
        by_value = _Glue(tuple(atom for left, right in terms for atom in equal(left, right)))
        present = all(self._required(first, left) and self._required(second, right) for left, right in terms)
        nodes = {variable.name: variable.node for variable in (*first.variables, *second.variables)}
        if present or nodes[names[0]] != nodes[names[1]]:
            return [by_value]
        return [by_value, _Glue(differing, (names,))]

    def _deep_equal(self, first: _Copy, second: _Copy, left: Term, right: Term) -> tuple[Atom, ...]:
        names = {copy_name(term, copy.variables) for term, copy in ((left, first), (right, second))}
        refuse_names(names)
        return DeepEqual(left, right), Presence(left), Presence(right)

    def _is_copied(self, copy: _Copy, term: Term) -> bool:
        return any(supplied == term and leaf in head.copied for head in copy.head for leaf, supplied in head.leaves)

    def _required(self, copy: _Copy, term: Term) -> bool:
        node = next(variable.node for variable in copy.variables if variable.name == term.variable)
        return self._sources.required(node, term.path)


class _Image:
    """A member's terms taken to the source schema."""

    def __init__(self, mapping: Mapping, member: Member, copies: dict[str, list[_Copy]]) -> None:
        self.mapping = mapping
        self.member = member
        self.copies = copies
        self.lost = Losses()
        self._terms: dict[Term, Term | None] = {}
        self._orders: dict[Atom, str] = {}
        self._ways: dict[Atom, list[tuple[Atom, ...]]] = {}

    def term(self, term: Term) -> Term | None:
        if term not in self._terms:
            self._terms[term] = self._term(term)
        return self._terms[term]

    def _term(self, term: Term) -> Term | None:
        node = self.member.node(term.variable)
        if is_inside(self.mapping.target, node):
            return Term(_inside_name(term.variable), term.path)
        if not node:
            return self._root_term(term.path)
        return supplied(self.copies[term.variable][0].node(node), term.path)

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
                losses.fatal.add(Loss(whole, "no arrow copies it, and the query looks inside"))
                return None
            node = (*self._source_node(variable.parent, origin.variable), *origin.path, *rest)
            found.append(Variable(_inside_name(variable.name), node, origin.variable))
        return found

    def _source_node(self, name: str, origin: str) -> Path:
        if origin == _ROOT:
            return ()
        return next(variable.node for variable in self.copies[name][0].variables if variable.name == origin)

    def _root_term(self, path: Path) -> Term | None:
        """A leaf of the target's root: the root is one node whichever rules make it."""
        for rule in self._of_the_root_alone:
            if (origin := supplied(rule.head[0], path)) is not None:
                return Term(_ROOT, origin.path)
        if any(supplied(rule.head[0], path) is not None for rule in self.mapping.rules):
            name = "/".join((self.mapping.target.root, *path))
            hint = "write a rule that makes it of the source's root alone"
            raise TranslationError(Fault("HX5002", f"{name} is made only where more than the root is bound", hint=hint))
        return None

    @property
    def _of_the_root_alone(self) -> Iterator[Rule]:
        return (rule for rule in self.mapping.rules if len(rule.variables) == 1 and not rule.conditions)

    def _copied_name(self, term: Term, image: Term) -> str:
        copies = self.copies.get(term.variable, [])
        variables = [variable for copy in copies[:1] for variable in copy.variables]
        return copy_name(image, (*variables, Variable(_ROOT, ()), *(self.inside(Losses()) or ())))

    def _text_of(self, term: Term) -> Term | None:
        """What fills the text of an element that is tested for existence."""
        return self.term(Term(term.variable, (*term.path, TEXT)))

    def _path(self, term: Term) -> Path:
        return (*self.member.node(term.variable), *term.path)

    def atoms(self, atoms: Iterable[Atom], losses: Losses) -> list[tuple[Atom, ...]] | None:
        """Atoms over the source, a choice of conjunctions; ``None`` where one of them cannot hold."""
        ways: list[list[tuple[Atom, ...]]] = []
        for atom in sorted(atoms, key=self._order):
            found = self._ways_of(atom)
            if not found:
                effect = "no arrow supplies it, and the query needs it"
                losses.fatal.update(Loss(self._path(term), effect) for term in self._lost(atom))
                return None
            ways.append(found)
        return [tuple(atom for way in choice for atom in way) for choice in product(*ways)]

    def _order(self, atom: Atom) -> str:
        if atom not in self._orders:
            self._orders[atom] = repr(atom)
        return self._orders[atom]

    def _lost(self, atom: Atom) -> list[Term]:
        return [term for term in atom_terms(atom) if self.term(term) is None]

    def _is_filled(self, term: Term) -> bool:
        """Whether some rule fills a leaf, though another is chosen: then nothing is lost that the image has."""
        node = self.member.node(term.variable)
        heads = (head for rule in self.mapping.rules for head in rule.head if head.node == node)
        return any(supplied(head, term.path) is not None for head in heads)

    def _ways_of(self, atom: Atom) -> list[tuple[Atom, ...]]:
        """The ways in which an atom can hold, each a conjunction."""
        if atom not in self._ways:
            self._ways[atom] = self._mapped(atom)
        return self._ways[atom]

    def _mapped(self, atom: Atom) -> list[tuple[Atom, ...]]:
        images = {term: self.term(term) for term in atom_terms(atom)}
        if isinstance(atom, DeepEqual):
            refuse_names({self._copied_name(term, image) for term, image in images.items() if image is not None})
        if isinstance(atom, Presence) and images[atom.term] is None and (text := self._text_of(atom.term)):
            return [(Presence(text),)]
        lost = self._lost(atom)
        if isinstance(atom, Absence):
            return [()] if lost else self._absence(atom.term, images[atom.term])
        if lost:
            return []
        mapped = map_atom(atom, lambda term: self.term(term) or term)
        filled = [
            Comparison("!=", image, Text("")) for term, image in images.items() if image and _emptiable(term, image)
        ]
        return [(mapped, *filled)]

    def _absence(self, term: Term, image: Term | None) -> list[tuple[Atom, ...]]:
        assert image is not None
        absent: list[tuple[Atom, ...]] = [(Absence(image),)]
        if _emptiable(term, image):
            absent.append((Comparison("=", image, Text("")),))
        return absent

    @cached_property
    def template(self) -> Template | None:
        """The item over the source; what it has lost is in ``lost``."""
        whole = isinstance(self.member.template, LeafItem)
        for term in template_terms(self.member.template):
            if self.term(term) is None and (whole or not self._is_filled(term)):
                loss = Loss(
                    self._path(term),
                    "no arrow supplies it" + ("" if whole else ": its place in the answer stays empty"),
                )
                (self.lost.fatal if whole else self.lost.slots).add(loss)
        return map_template(self.member.template, self.term)


def _text_slots(template: Template | Content) -> Iterator[Term]:
    """The text nodes in whose place a constructor holds an element or attribute."""
    for item in template.content if isinstance(template, ElementItem) else ():
        match item:
            case LeafItem(shape="element" | "attribute", term=Term() as term) if term.path[-1:] == (TEXT,):
                yield term
            case ElementItem():
                yield from _text_slots(item)
            case _:
                pass


def copy_name(term: Term, variables: Iterable[Variable]) -> str:
    """The name of the element at a term over the source."""
    node = next(variable.node for variable in variables if variable.name == term.variable)
    return (*node, *term.path)[-1]


def refuse_names(names: set[str]) -> None:
    """Refuse to compare copies of elements with different names: the copies may be deep-equal, these never are."""
    if len(names) > 1:
        listed = " and ".join(sorted(names))
        raise TranslationError(Fault("HX5007", f"copies of {listed} would have to be compared without their names"))


def is_inside(tree: SchemaTree, node: Path) -> bool:
    """Whether a node stands strictly inside a subtree that is taken whole."""
    return bool(node) and tree.whole_at(node[:-1]) is not None


def _inside_name(name: str) -> str:
    return f"inside.{name}"


def _emptiable(term: Term, image: Term) -> bool:
    """A text node with no characters is none: a target text needs a value that is not empty."""
    return bool(term.path) and term.path[-1] == TEXT and image.path[-1:] != (TEXT,)


def _spoken_of(member: Member) -> set[str]:
    """The variables of which some leaf is known to have a value, and those with others below them."""
    spoken = {variable.parent for variable in member.variables if variable.parent is not None}
    for atom in member.atoms:
        if not isinstance(atom, Absence):
            spoken.update(term.variable for term in atom_terms(atom) if term.path != (TAG,))
    return spoken


def _with_child(member: Member, name: str, child: Path) -> Member:
    added = Variable(fresh_name(member, "below"), child, name)
    return Member((*member.variables, added), member.atoms, member.template)


def _copy(rule: Rule, number: str) -> _Copy:
    root = rule.variables[0].name

    def name(old: str) -> str:
        return _ROOT if old == root else f"{number}.{old}"

    def image(term: Term) -> Term:
        return Term(name(term.variable), term.path)

    variables = tuple(
        Variable(name(variable.name), variable.node, None if variable.parent is None else name(variable.parent))
        for variable in rule.variables
    )
    head = tuple(
        HeadNode(node.node, tuple((leaf, image(term)) for leaf, term in node.leaves), node.copied) for node in rule.head
    )
    return _Copy(rule, variables, tuple(map_atom(atom, image) for atom in rule.conditions), head)


def _copies_by_variable(member: Member, copies: dict[str, _Copy]) -> dict[str, list[_Copy]]:
    """For every variable the copies of the lowest variables at or below it."""
    found: dict[str, list[_Copy]] = {variable.name: [] for variable in member.variables}
    by_name = {variable.name: variable for variable in member.variables}
    for name, copy in copies.items():
        current: str | None = name
        while current is not None:
            found[current].append(copy)
            current = by_name[current].parent
    return found

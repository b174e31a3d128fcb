"""Containment of queries by homomorphism, on documents that obey given constraints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count
from typing import Final

from heptox.checks import Check, no_check
from heptox.errors import Fault, TranslationError
from heptox.pattern.closure import Closure
from heptox.pattern.constraints import Constraints
from heptox.pattern.model import (
    Absence,
    Atom,
    Comparison,
    ElementItem,
    LeafItem,
    Member,
    NestedItem,
    Presence,
    Query,
    Term,
    Text,
    Variable,
)
from heptox.pattern.normalise import normalise
from heptox.pattern.rewrite import Content, atom_terms, atom_variables, map_atom, map_nested, rename
from heptox.schema import Path

MOST_STEPS: Final = 20_000
"""Steps of one search for a homomorphism; a member that needs more is not compared."""
STEPS_FOR_BREVITY: Final = 2_000
"""Steps of a search that only looks for what can be left out."""


class NormalForm:
    """A member in normal form, with what comparing it to others needs, each worked out once.

    Members are compared in great numbers: candidates with a query, each with what is known already.
    """

    def __init__(self, member: Member, constraints: Constraints) -> None:
        self.member = member
        self.constraints = constraints
        self._chased: dict[frozenset[Path], _Target] = {}

    def is_contained(self, general: NormalForm, most_steps: int = MOST_STEPS) -> bool:
        """Whether a homomorphism leads from ``general`` to the chase of this member, the template included.

        Raises :class:`TranslationError` (HX5006) for members that are too large to compare.
        """
        target = self._target(general._from_chase)
        return target.may_hold(general) and next(homomorphisms(general, target, most_steps), None) is not None

    def is_surely_contained(self, general: NormalForm) -> bool:
        """As :meth:`is_contained`, where a wrong no only costs brevity: no for what is too large to compare."""
        try:
            return self.is_contained(general, STEPS_FOR_BREVITY)
        except TranslationError:
            return False

    def _target(self, wanted: frozenset[Path]) -> _Target:
        if wanted not in self._chased:
            chased = chase(self.member, wanted, self.constraints)
            closure = self.closure if chased is self.member else Closure(chased, self.constraints)
            self._chased[wanted] = _Target(chased, closure)
        return self._chased[wanted]

    @cached_property
    def closure(self) -> Closure:
        """What the atoms imply together."""
        return Closure(self.member, self.constraints)

    @cached_property
    def nodes(self) -> frozenset[Path]:
        """The nodes of the variables."""
        return frozenset(variable.node for variable in self.member.variables)

    @cached_property
    def absences(self) -> frozenset[tuple[Path, Path]]:
        """The places that atoms say are absent, as node and path below it."""
        return _absences(self.member)

    @cached_property
    def presences(self) -> frozenset[tuple[Path, Path]]:
        """The places that atoms say are there, as node and path below it, but those that a schema requires."""
        atoms = (atom for atom in self.member.atoms if isinstance(atom, Presence | Comparison))
        terms = {term for atom in atoms for term in atom_terms(atom)}
        places = {(self.member.node(term.variable), term.path) for term in terms}
        required = self.constraints.required
        return frozenset(
            (node, path)
            for node, path in places
            if not any(required((*node, *path[:length]), path[length:]) for length in range(len(path) or 1))
        )

    @cached_property
    def constants(self) -> frozenset[str]:
        """The strings that terms must equal."""
        return frozenset(
            atom.right.value
            for atom in self.member.atoms
            if isinstance(atom, Comparison) and atom.operator == "=" and isinstance(atom.right, Text)
        )

    @cached_property
    def _from_chase(self) -> frozenset[Path]:
        """The nodes that another member may have by its chase alone."""
        return frozenset(node for node in self.nodes if self.constraints.may_be_implied(node))

    @cached_property
    def ordered(self) -> tuple[Variable, ...]:
        """The variables, parents first, the most constrained next: those of which, or below which, constants are known,
        then those that are joined to most of the ones before, then those with the fewest like them.
        """
        above = {variable.name: variable.parent for variable in self.member.variables}
        known: set[str | None] = set()
        for atom in self.member.atoms:
            if _holds_constant(atom):
                name: str | None = atom_variables(atom)[0]
                while name is not None and name not in known:
                    known.add(name)
                    name = above[name]
        alike = Counter(variable.node for variable in self.member.variables)
        joins = [frozenset(atom_variables(atom)) for atom in self.member.atoms]
        joins = [names for names in joins if len(names) > 1]
        waiting, found = list(self.member.variables), list[Variable]()
        placed: set[str | None] = {None}

        def freedom(variable: Variable) -> tuple[bool, int, int]:
            joined = sum(variable.name in names and names - {variable.name} <= placed for names in joins)
            return variable.name not in known, -joined, alike[variable.node]

        while waiting:
            following = min((variable for variable in waiting if variable.parent in placed), key=freedom)
            waiting.remove(following)
            found.append(following)
            placed.add(following.name)
        return tuple(found)

    @cached_property
    def alone(self) -> Mapping[str, tuple[Atom, ...]]:
        """For each variable the atoms that speak of no other; those with constants first."""
        alone: dict[str, list[Atom]] = {variable.name: [] for variable in self.member.variables}
        for atom in sorted(self.member.atoms, key=_holds_constant, reverse=True):
            names = set(atom_variables(atom))
            if len(names) == 1:
                alone[names.pop()].append(atom)
        return {name: tuple(atoms) for name, atoms in alone.items()}

    @cached_property
    def joined(self) -> tuple[tuple[Atom, ...], ...]:
        """For each variable of :attr:`ordered` the atoms that speak of it, and of others that do not come after it."""
        places = {variable.name: index for index, variable in enumerate(self.ordered)}
        joined: list[list[Atom]] = [[] for _ in places]
        for atom in self.member.atoms:
            names = set(atom_variables(atom))
            if len(names) > 1:
                joined[max(places[name] for name in names)].append(atom)
        return tuple(map(tuple, joined))


class NormalForms:
    """The normal forms of members on documents that obey constraints, each worked out once; ``check`` is called
    meanwhile."""

    def __init__(self, constraints: Constraints, check: Check = no_check) -> None:
        self.constraints = constraints
        self._check = check
        self._known: dict[Member, NormalForm | None] = {}

    def of(self, member: Member) -> NormalForm | None:
        """The normal form, ``None`` where the member has no match on any document that obeys the constraints."""
        if member not in self._known:
            normal = normalise(member, self.constraints, self._check)
            form = None if normal is None else NormalForm(normal, self.constraints)
            self._known[member] = form
            if form is not None:
                self._known.setdefault(form.member, form)
        return self._known[member]

    def of_all(self, members: Iterable[Member]) -> list[NormalForm]:
        """The normal forms of the members that have a match on some document."""
        return [form for member in members if (form := self.of(member))]


def contains_all(general: Sequence[NormalForm], specific: Iterable[NormalForm]) -> bool:
    """Whether each member is surely contained in a general one (:meth:`NormalForm.is_surely_contained`)."""
    return all(any(form.is_surely_contained(other) for other in general) for form in specific)


class _Target:
    """A chased member that homomorphisms lead to: what it implies, and where its variables are."""

    def __init__(self, member: Member, closure: Closure) -> None:
        self.template = member.template
        self.closure = closure
        self.nodes = frozenset(variable.node for variable in member.variables)
        self.places: dict[Path, list[str]] = {}
        self.parents = {variable.name: variable.parent for variable in member.variables}
        for variable in member.variables:
            self.places.setdefault(variable.node, []).append(variable.name)
        self._absences = _absences(member)
        self._presences = frozenset(closure.presences())

    def may_hold(self, general: NormalForm) -> bool:
        """Whether nothing speaks against a homomorphism at first sight: many that are looked for are not there."""
        return (
            general.nodes <= self.nodes
            and general.presences <= self._presences
            and general.constants <= self.closure.constants()
            and all(
                any(
                    node == other and (path[: len(gone)] == gone or gone[: len(path)] == path)
                    for other, gone in self._absences
                )
                for node, path in general.absences
            )
        )


def _absences(member: Member) -> frozenset[tuple[Path, Path]]:
    terms = [atom.term for atom in member.atoms if isinstance(atom, Absence)]
    nodes = {variable.name: variable.node for variable in member.variables} if terms else {}
    return frozenset((nodes[term.variable], term.path) for term in terms)


def contained(specific: Query, general: Query, constraints: Constraints) -> bool:
    """Whether every item of ``specific`` is an item of ``general`` on all documents that obey the constraints.

    Sound; where containment needs a case distinction over several members, or over orders of values, it says no.

    Raises :class:`TranslationError` (HX5006) for members that are too large to compare.
    """
    forms = NormalForms(constraints)
    high, low = forms.of_all(general.members), forms.of_all(specific.members)
    return all(any(form.is_contained(other) for other in high) for form in low)


def homomorphisms(general: NormalForm, specific: _Target, most_steps: int) -> Iterator[dict[str, str]]:
    """The maps of variables that carry ``general`` into ``specific``, searched most constrained first."""
    variables, closure = general.ordered, specific.closure
    domains = _domains(general, specific)
    steps = count()

    def extend(index: int, image: dict[str, str]) -> Iterator[dict[str, str]]:
        if next(steps) > most_steps:
            raise TranslationError(Fault("HX5006", "the query has too many variables that could stand for one another"))
        if index == len(variables):
            if same_template(general.member.template, specific.template, image, closure):
                yield image
            return
        variable = variables[index]
        parent = None if variable.parent is None else image[variable.parent]
        alike = [name for name in domains[variable.name] if specific.parents[name] == parent]
        # A member is often compared with a part of itself: a variable's own name is tried first.
        for candidate in sorted(alike, key=variable.name.__ne__) if len(alike) > 1 else alike:
            extended = {**image, variable.name: candidate}
            if all(closure.implies(_mapped(atom, extended)) for atom in general.joined[index]):
                yield from extend(index + 1, extended)

    if all(domains.values()):
        yield from extend(0, {})


def _domains(general: NormalForm, specific: _Target) -> dict[str, list[str]]:
    """Where each variable can go as far as is seen from what is said of it alone, and those below it can go along."""
    domains: dict[str, list[str]] = {}
    below: dict[str, set[str | None]] = {}
    for variable in reversed(general.ordered):
        name, places = variable.name, specific.places.get(variable.node, [])
        if name in below:
            places = [place for place in places if place in below[name]]
        for atom in general.alone[name]:
            places = [place for place in places if specific.closure.implies(_mapped(atom, {name: place}))]
        domains[name] = places
        if variable.parent is not None:
            above = {specific.parents[place] for place in places}
            below[variable.parent] = below.get(variable.parent, above) & above
    return domains


def _holds_constant(atom: Atom) -> bool:
    return isinstance(atom, Comparison) and atom.operator == "=" and isinstance(atom.right, Text)


def _mapped(atom: Atom, image: dict[str, str]) -> Atom:
    return map_atom(atom, lambda term: Term(image[term.variable], term.path))


def same_template(general: Content, specific: Content, image: dict[str, str], closure: Closure) -> bool:
    """Whether two normalised templates build the same item for every match, terms taken through ``image``."""

    def same_value(left: Term | Text | str, right: Term | Text | str) -> bool:
        if isinstance(left, Term):
            left = Term(image[left.variable], left.path)
            if isinstance(right, Term):
                return closure.alike(left, right)  # where neither is there, neither adds anything
            constant = closure.constant(left)
            return constant == (right.value if isinstance(right, Text) else right)
        if isinstance(right, Term):
            return closure.constant(right) == (left.value if isinstance(left, Text) else left)
        return left == right

    match general, specific:
        case LeafItem(shape="copy", term=Term(variable, path)), LeafItem(shape="copy"):
            return (general.name, Term(image[variable], path)) == (specific.name, specific.term)
        case LeafItem(), LeafItem():
            alike = (general.shape, general.name) == (specific.shape, specific.name)
            return alike and same_value(general.term, specific.term)
        case ElementItem(), ElementItem():
            content = _there(general, image, closure)
            if general.name != specific.name or len(content) != len(specific.content):
                return False
            if len(general.attributes) != len(specific.attributes):
                return False
            for left, right in zip(general.attributes, specific.attributes, strict=True):
                if left.name != right.name or len(left.parts) != len(right.parts):
                    return False
                if not all(map(same_value, left.parts, right.parts)):
                    return False
            pairs = zip(content, specific.content, strict=True)
            return all(same_template(low, high, image, closure) for low, high in pairs)
        case NestedItem(), NestedItem():
            alike = general.single == specific.single and _nodes(general) == _nodes(specific)
            return alike and _with_plain_names(general, image) == _with_plain_names(specific, {})
        case LeafItem(shape="value", term=term), str():
            return same_value(term, specific)
        case str(), LeafItem(shape="value", term=term):
            return same_value(general, term)
        case LeafItem(shape="element", term=Term(variable, path)), ElementItem():
            there = closure.present(Term(image[variable], path))
            return there and same_template(
                ElementItem(general.name, (), (LeafItem("value", "", general.term),)), specific, image, closure
            )
        case _:
            return general == specific


def _nodes(item: NestedItem) -> list[tuple[int, list[Path]]]:
    """What the members of a nested part have of everything: those of equal parts have the same."""
    return sorted((len(each.atoms), [variable.node for variable in each.variables]) for each in item.members)


def _with_plain_names(item: NestedItem, image: dict[str, str]) -> frozenset[Member]:
    """The members of a nested part, whose variables are called after the nodes of the match around it that they are,
    taken through ``image``, or else by their places.
    """
    bound = {name: f"outer {image.get(node.variable, node.variable)}" for name, node in item.bindings}
    members: set[Member] = set()
    for member in item.members:
        added = sorted((each for each in member.variables if each.name not in bound), key=lambda each: each.node)
        plain = rename(member, bound | {each.name: f"inner {place}" for place, each in enumerate(added)})
        template = plain.template
        if isinstance(template, ElementItem):
            template = map_nested(
                template, lambda part: NestedItem((), tuple(sorted(_with_plain_names(part, {}), key=repr)), part.single)
            )
        members.add(
            Member(tuple(sorted(plain.variables, key=lambda each: (len(each.node), each))), plain.atoms, template)
        )
    return frozenset(members)


def _there(general: ElementItem, image: dict[str, str], closure: Closure) -> list[Content]:
    """The content of a constructor without the slots that are empty wherever the specific member matches."""
    content: list[Content] = []
    for item in general.content:
        if isinstance(item, LeafItem) and isinstance(item.term, Term) and item.shape != "constructed":
            if closure.absent(Term(image[item.term.variable], item.term.path)):
                continue
        elif isinstance(item, str) and content and isinstance(content[-1], str):
            content[-1] += item
            continue
        content.append(item)
    return content


def chase(member: Member, wanted: frozenset[Path], constraints: Constraints) -> Member:
    """The member with the nodes that its documents must have beside it, for schema nodes in ``wanted``.

    Guaranteed references give their targets (``semantics.md`` section 1), required edges their ends; each once.
    """
    member = _chase_references(member, wanted, constraints)
    return _chase_required(member, wanted, constraints)


def _chase_references(member: Member, wanted: frozenset[Path], constraints: Constraints) -> Member:
    chased = member
    for holder, path, owner, key in constraints.relative_references:
        holders = [variable for variable in chased.variables if variable.node == holder]
        if owner not in wanted or not holders:
            continue
        closure = Closure(chased, constraints)
        for variable in holders:
            value, roots = Term(variable.name, path), chased.roots
            root = roots[variable.name]
            owners = (other.name for other in chased.variables if other.node == owner and roots[other.name] == root)
            if closure.present(value) and not any(closure.equal(value, Term(known, key)) for known in owners):
                chased, name = _with_node(chased, owner, root, constraints)
                found = Comparison("=", Term(name, key), value)
                chased = Member(chased.variables, chased.atoms | {found}, chased.template)
                closure = Closure(chased, constraints)
    return member if chased is member else normalise(chased, constraints) or chased


def _chase_required(member: Member, wanted: frozenset[Path], constraints: Constraints) -> Member:
    for node in sorted(wanted, key=len):
        if not node or not constraints.required_stop(node):
            continue
        above = constraints.above(node)
        for parent in [variable for variable in member.variables if variable.node == above]:
            if not any(variable.node == node and variable.parent == parent.name for variable in member.variables):
                added = Variable(fresh_name(member, "required"), node, parent.name)
                member = Member((*member.variables, added), member.atoms, member.template)
    return member


def _with_node(member: Member, node: Path, root: str, constraints: Constraints) -> tuple[Member, str]:
    """The member with a fresh variable for a stop node, and fresh ones for its ancestors below a root."""
    variables = list(member.variables)
    parent = root
    for stop in constraints.tree.stops(node)[1:]:
        name = fresh_name(Member(tuple(variables), member.atoms, member.template), "chased")
        variables.append(Variable(name, stop, parent))
        parent = name
    return Member(tuple(variables), member.atoms, member.template), parent


def fresh_name(member: Member, stem: str) -> str:
    """A variable name that the member does not use."""
    used = {variable.name for variable in member.variables}
    return next(name for name in (f"{stem}{number}" for number in count(1)) if name not in used)

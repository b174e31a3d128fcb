"""Unfolding: a query over the schema that rules make documents of becomes one over the schema of the documents that
they are made of (``semantics.md`` section 8, step 2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping as Table, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from math import prod
from typing import Final, NoReturn

from heptox.errors import Fault, TranslationError
from heptox.mapping import Mapping, Rule
from heptox.pattern import (
    TAG,
    Absence,
    Atom,
    Comparison,
    Constraints,
    DeepEqual,
    ElementItem,
    LeafItem,
    Member,
    NoNode,
    NormalForm,
    NormalForms,
    Presence,
    Query,
    SameValue,
    Term,
    Text,
    Variable,
    atom_terms,
    fresh_name,
    map_template,
    merge,
    normalise,
    ordered,
    template_terms,
)
from heptox.schema import Path, SchemaTree
from heptox.translate.arrows import each_line
from heptox.translate.copies import (
    Copy,
    Glue,
    Needs,
    all_modes,
    copy_rule,
    is_decided,
    open_branch,
    refuse_absence,
    same_node,
)
from heptox.translate.image import Image, Losses, is_inside
from heptox.translate.knowledge import (
    completers,
    is_always_made,
    is_filled,
    makers,
    shows_itself,
    source_constraints,
    supplied,
)
from heptox.translate.model import Check, Direction, Loss, no_check
from heptox.translate.negation import negation
from heptox.translate.surrogates import Identifiers, is_argument, is_own_argument, named
from heptox.translate.texts import asked_texts, with_texts

MOST_MEMBERS: Final = 5_000
"""Members of one unfolding; a query that becomes more is refused by name, not answered in part."""


MOST_COMPARED: Final = 256
"""Choices of rules for what stands below one node that are compared with each other; more are all tried."""


@dataclass(frozen=True, slots=True)
class Unfolded:
    """A member over the documents, the member that it was made of, with every node explicit, and the rule chosen for
    each of its lowest variables.
    """

    member: Member
    asked: Member
    rules: tuple[tuple[str, Rule], ...]


def unfold(
    query: Query, mapping: Mapping, check: Check = no_check, to: Direction = Direction.SOURCE
) -> tuple[Query, tuple[Loss, ...]]:
    """The unfolding of a query over the mapping's target: ``Q(mu(D)) = Q'(D)`` for every valid D (Definition 1).

    The mapping is read for the side ``to`` that answers, which hints tell.

    Raises :class:`TranslationError`: HX5002 where a leaf of the target's root depends on more than the source's root,
    HX5005 where the union grows beyond :data:`MOST_MEMBERS`, HX5007 where copies would be compared without their names,
    HX5008 where rules do not decide an absence, or a leaf, node by node; and what ``check`` raises, which is called
    again and again.
    """
    return Unfolding(mapping, check, to).query(query)


@dataclass(frozen=True, slots=True)
class _Missing:
    """A leaf that a node lacks: no other binding, of these rules, supplies it."""

    term: Term
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a member asks: its terms, those that have to be there, and the atoms that say what is nowhere."""

    tree: SchemaTree
    member: Member
    chains: Table[str, tuple[str, ...]]
    terms: frozenset[Term]
    present: frozenset[Term]
    negated: tuple[NoNode, ...]
    missing: tuple[_Missing, ...]

    @classmethod
    def of(
        cls,
        member: Member,
        mapping: Mapping,
        negated: tuple[NoNode, ...] = (),
        missing: tuple[_Missing, ...] = (),
    ) -> _Asked:
        terms = set(template_terms(member.template))
        present = {member.template.term} if isinstance(member.template, LeafItem) else set()
        for atom in member.atoms:
            terms.update(atom_terms(atom))
            if isinstance(atom, Comparison | Presence):
                present.update(atom_terms(atom))
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
        return cls(mapping.target, member, chains, frozenset(terms | here), frozenset(here), negated, missing)

    def path(self, term: Term) -> Path:
        """The leaf of the target that a term stands for."""
        return named((*self.member.node(term.variable), *term.path))

    def chain(self, name: str) -> tuple[str, ...]:
        """A variable and those above it, without the root."""
        return self.chains[name]


class Unfolding:
    """The unfolding of queries over one mapping: what the rules make is looked up once."""

    def __init__(self, mapping: Mapping, check: Check = no_check, to: Direction = Direction.SOURCE) -> None:
        self._mapping = mapping
        self._to = to
        self._check = check
        self._tree = mapping.target
        self._sources: Constraints = source_constraints(mapping)
        self._bare: dict[Path, bool] = {}

    def query(self, query: Query) -> tuple[Query, tuple[Loss, ...]]:
        """As :func:`unfold`."""
        members: list[Member] = []
        losses: set[Loss] = set()
        for member in query.members:
            met = Losses()
            found = [unfolded.member for unfolded in self._checked(member, met, len(members))]
            members.extend(found)
            lost = met.fatal and all(normalise(unfolded, self._sources) is None for unfolded in found)
            losses |= met.fatal if lost else met.slots
        return Query(tuple(dict.fromkeys(members))), tuple(sorted(losses))

    def unfolded(self, query: Query) -> Iterator[Unfolded]:
        """The members, each with where it comes from."""
        for member in query.members:
            yield from self._checked(member, Losses())

    def _checked(self, member: Member, losses: Losses, before: int = 0) -> Iterator[Unfolded]:
        for number, unfolded in enumerate(self._member(member, losses), start=before + 1):
            self._check()
            if number > MOST_MEMBERS:
                raise TranslationError(Fault("HX5005", f"the query becomes a union of over {MOST_MEMBERS} members"))
            yield unfolded

    # -- existence -----------------------------------------------------------------------------------------------

    def _member(self, member: Member, losses: Losses) -> Iterator[Unfolded]:
        """The members that one member becomes."""
        losses.slots |= self._never_filled(member)
        for certain in with_texts(member, self._mapping):
            for said in self._identifiers(losses).members(self._without_inner(certain)):
                plain, negated = self._split(said)
                for explicit in self._with_existence(plain):
                    yield from self._explicit(explicit, negated, losses)

    def _identifiers(self, losses: Losses) -> Identifiers:
        def told(loss: Loss, is_whole: bool) -> None:
            (losses.fatal if is_whole else losses.slots).add(loss)

        return Identifiers(self._mapping, partial(is_always_made, self._mapping), told)

    def _split(self, member: Member) -> tuple[Member, tuple[NoNode, ...]]:
        """The member without what says that no node stands somewhere, and that."""
        nowhere = {atom for atom in member.atoms if isinstance(atom, NoNode)}
        return Member(member.variables, member.atoms - nowhere, member.template), tuple(sorted(nowhere, key=repr))

    def _without_inner(self, member: Member) -> Member:
        """The member without absences of inner elements: one is absent where all its leaves are, and no node stands
        below it.
        """
        atoms = set(member.atoms)
        for atom in member.atoms:
            if isinstance(atom, Absence) and self._is_inner(member, atom.term):
                (name, path), node = atom.term, member.node(atom.term.variable)
                below = (leaf for leaf in self._tree.own_leaves(node) if leaf[: len(path)] == path)
                atoms = (atoms - {atom}) | {Absence(Term(name, leaf)) for leaf in below}
                stops = (child for child in self._tree.child_stops(node) if child[len(node) :][: len(path)] == path)
                atoms |= {NoNode(name, child) for child in stops}
        return Member(member.variables, frozenset(atoms), member.template)

    def _never_filled(self, member: Member) -> set[Loss]:
        """What is said of nodes that no rule makes, and a member asks to be absent, and of leaves that no rule supplies
        and that it asks to have a value.
        """
        taken = [(member.node(term.variable), term.path, "empty") for term in asked_texts(member)]
        for atom in member.atoms:
            if isinstance(atom, Absence):
                taken.append((member.node(atom.term.variable), atom.term.path, "absent"))
            elif isinstance(atom, NoNode):
                is_there = is_filled(self._mapping, atom.node, (), or_below=True)
                taken += [(atom.node, path, "absent") for path, _ in atom.tests] if is_there else []
                taken += [] if is_there else [(atom.node, (), "absent")]
        return {
            Loss((*node, *path), f"no arrow supplies it: it is taken to be {word} everywhere")
            for node, path, word in taken
            if not is_inside(self._tree, node) and not is_filled(self._mapping, node, path, or_below=True)
        }

    def _with_existence(self, member: Member, shown: frozenset[Term] = frozenset()) -> Iterator[Member]:
        """Members in which every node is there because of a leaf: a head node exists when some leaf below has a value.

        ``shown`` are the nodes for which that is decided.
        """
        self._check()
        for atom in member.atoms:
            if isinstance(atom, Presence) and atom.term not in shown and self._is_inner(member, atom.term):
                rest = Member(member.variables, member.atoms - {atom}, member.template)
                for explicit, leaf in self._some_leaf(rest, atom.term.variable, atom.term.path):
                    for said in self._identifiers(Losses()).members(explicit):
                        yield from self._with_existence(said, shown | leaf)
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
        if term.path == (TAG,) or is_argument(term.path):
            return False
        return not self._tree.is_leaf(path) and self._tree.whole_at(path) is None

    def _some_leaf(self, member: Member, name: str, path: Path) -> Iterator[tuple[Member, frozenset[Term]]]:
        """The ways in which the inner node at ``path`` below a variable can exist, each with what it decides."""
        node = member.node(name)
        for leaf in self._tree.own_leaves(node):
            if leaf[: len(path)] == path:
                there = Term(name, leaf)
                yield Member(member.variables, member.atoms | {Presence(there)}, member.template), frozenset((there,))
        for child in self._tree.child_stops(node):
            if child[len(node) :][: len(path)] == path:
                yield _with_child(member, name, child), frozenset()

    def _may_be_bare(self, node: Path) -> bool:
        """Whether a node, where nothing tells of a leaf, may exist only because of what hangs below it."""
        if node not in self._bare:
            plain = node != () and self._tree.box(node) is None and not is_inside(self._tree, node)
            rules = makers(self._mapping, node)
            self._bare[node] = plain and not all(shows_itself(rule, node, self._sources) for rule in rules)
        return self._bare[node]

    # -- choosing rules ------------------------------------------------------------------------------------------

    def _explicit(self, member: Member, negated: tuple[NoNode, ...], losses: Losses) -> Iterator[Unfolded]:
        lowest = self.lowest(member)
        rules = [makers(self._mapping, variable.node) for variable in lowest]
        for variable, several in zip(lowest, rules, strict=True):
            if not several:
                losses.fatal.add(Loss(variable.node, "no arrow reaches it or anything below it"))
        for chosen in product(*rules) if negated else self._choices(member, lowest, rules):
            self._check()
            named = dict(zip((variable.name for variable in lowest), chosen, strict=True))
            for unfolded in self.by(named, member, negated, losses):
                yield Unfolded(unfolded, member, tuple(named.items()))

    def by(
        self, rules: Table[str, Rule], member: Member, negated: tuple[NoNode, ...], losses: Losses
    ) -> Iterator[Member]:
        """The members that one whose nodes are explicit becomes by a choice of rules."""
        for shown in self._shown(member, rules):
            for decided, missing in self._decided(shown, rules):
                asked = _Asked.of(decided, self._mapping, negated, missing)
                for copies, providers in self._copied(asked, rules):
                    yield from self._combined(asked, copies, providers, losses)

    def _choices(
        self, member: Member, lowest: Sequence[Variable], rules: Sequence[tuple[Rule, ...]]
    ) -> Iterator[tuple[Rule, ...]]:
        """The choices of a rule for each of the lowest variables, without those of which others tell as much.

        What stands below one node is chosen together, for the copies of rules meet in that node.
        """
        if all(len(several) < 2 for several in rules):
            yield from product(*rules)
            return
        asked = _Asked.of(member, self._mapping)
        together: dict[str, list[int]] = {}
        for index, variable in enumerate(lowest):
            together.setdefault(asked.chain(variable.name)[-1], []).append(index)
        options = []
        for indices in together.values():
            part = _part(asked, {above for index in indices for above in asked.chain(lowest[index].name)})
            several = tuple(rules[index] for index in indices)
            few = 1 < prod(map(len, several)) <= MOST_COMPARED
            options.append(_telling(self._mapping, part) if few else tuple(product(*several)))
        places = [index for indices in together.values() for index in indices]
        for choice in product(*options):
            chosen = dict(zip(places, (rule for several in choice for rule in several), strict=True))
            yield tuple(chosen[index] for index in range(len(lowest)))

    def decides(self, rules: Table[str, Rule], member: Member) -> bool:
        """Whether a choice of rules decides all that is asked: no other rule completes the nodes that they make."""
        asked = _Asked.of(member, self._mapping)
        return not any(self._missing(asked, rules, term) for term in asked.terms)

    def lowest(self, member: Member) -> list[Variable]:
        """The variables below which no other stands, but for the root and what is inside copied subtrees."""
        outside = [variable for variable in member.variables if not is_inside(self._tree, variable.node)]
        parents = {variable.parent for variable in outside}
        return [variable for variable in outside if variable.name not in parents and variable.parent is not None]

    def _shown(self, member: Member, rules: Table[str, Rule]) -> Iterator[Member]:
        """For every lowest node that nothing speaks of, one of its leaves that has a value."""
        choices: list[list[Presence]] = []
        spoken = _spoken_of(member)
        for name, rule in rules.items():
            node = member.node(name)
            if name in spoken or self._tree.box(node) is not None or shows_itself(rule, node, self._sources):
                continue
            leaves = (leaf for leaf, _ in rule.at(node).leaves if not is_argument(leaf) or is_own_argument(leaf))
            choices.append([Presence(Term(name, leaf)) for leaf in leaves])
        for choice in product(*choices):
            yield Member(member.variables, member.atoms | frozenset(choice), member.template) if choice else member

    def _decided(
        self, member: Member, rules: Table[str, Rule], missing: tuple[_Missing, ...] = ()
    ) -> Iterator[tuple[Member, tuple[_Missing, ...]]]:
        """Members that know of each leaf which several bindings, or rules, may give a node whether one of them does."""
        self._check()
        asked = _Asked.of(member, self._mapping)
        known = {gone.term for gone in missing}
        for term in sorted(asked.terms - asked.present - known):
            found = self._missing(asked, rules, term)
            if found is None:
                continue
            if Absence(term) not in member.atoms:
                there = Member(member.variables, member.atoms | {Presence(term)}, member.template)
                yield from self._decided(there, rules, missing)
            template = map_template(member.template, _but(term))
            assert template is not None  # a leaf that is the whole item is there
            atoms = frozenset(less for atom in member.atoms for less in _without(atom, term))
            chosen = self._chosen(asked, rules, term)
            if chosen not in found.rules:
                atoms |= {Absence(term)}
            yield from self._decided(Member(member.variables, atoms, template), rules, (*missing, found))
            return
        yield member, missing

    def _missing(self, asked: _Asked, rules: Table[str, Rule], term: Term) -> _Missing | None:
        """Who else may supply a leaf, where one binding of the chosen rule does not decide whether it is missing."""
        rule = self._chosen(asked, rules, term)
        if rule is None:
            return None
        node = asked.member.node(term.variable)
        head = rule.at(node)
        origin = supplied(head, term.path)
        several = completers(self._mapping, rule, node, term.path)
        if origin is not None and rule not in several and not is_decided(rule, head, origin, self._sources):
            several = (rule, *several)
        if several and is_argument(term.path):
            self._refuse_parts(asked.path(term))
        return _Missing(term, several) if several else None

    def _refuse_parts(self, path: Path) -> NoReturn:
        """Refuse to put an identifier together of what several rules supply to one node."""
        message = f"{'/'.join(path)} is invented, and several rules, or nodes of the documents, may supply it"
        raise TranslationError(Fault("HX5008", message, hint="draw an arrow into it"))

    def _copied(self, asked: _Asked, rules: Table[str, Rule]) -> Iterator[tuple[dict[str, Copy], dict[Term, Copy]]]:
        """Copies of the rules for the lowest variables, and of those that complete nodes, in all modes that matter."""
        for completing in self._completions(asked, rules):
            owners: list[tuple[str, Rule, Term | None]] = [(name, rule, None) for name, rule in rules.items()]
            owners += [(term.variable, rule, term) for term, rule in completing.items()]
            met: dict[str, int] = {}
            for name, _, _ in owners:
                for above in asked.chain(name):
                    met[above] = met.get(above, 0) + 1
            starts = [atom.variable for atom in asked.negated]
            for start in (*starts, *(gone.term.variable for gone in asked.missing)):
                for above in asked.chain(start):
                    met[above] = met.get(above, 0) + 1
            seen: set[str] = set()
            options: list[list[Copy]] = []
            for number, (name, rule, term) in enumerate(owners, start=1):
                needs = self._needs(asked, rule, name, term, seen, met)
                root = asked.member.roots[name]
                options.append([copy_rule(rule, str(number), modes, root) for modes in all_modes(rule, needs)])
                if term is None:
                    seen.update(asked.chain(name))
            for copies in product(*options):
                pairs = list(zip(owners, copies, strict=True))
                yield (
                    {name: copy for (name, _, term), copy in pairs if term is None},
                    {term: copy for (_, _, term), copy in pairs if term is not None},
                )

    def _needs(
        self, asked: _Asked, rule: Rule, name: str, completed: Term | None, seen: set[str], met: Table[str, int]
    ) -> Needs:
        """The terms of a rule's body that its copy for a variable is asked for."""
        needs = Needs()
        heads = {head.node: head for head in rule.head}
        for above in asked.chain(name):
            head = heads[asked.member.node(above)]
            if (tag := head.term((TAG,))) is not None:
                needs.present.add(tag)
            wanted = [term for term in asked.terms if term.variable == above and above not in seen]
            if completed is not None:
                wanted = [completed] if completed.variable == above else []
            for term in wanted:
                found = supplied(head, term.path)
                if found is not None:
                    origin = Term(found.variable, found.path)
                    needs.asked.add(origin)
                    if term in asked.present:
                        needs.present.add(origin)
            if met[above] > 1 and head.each is None:
                needs.asked.update(term for leaf, term in head.leaves if head.key in (None, leaf))
        return needs

    def _completions(self, asked: _Asked, rules: Table[str, Rule]) -> Iterator[dict[Term, Rule]]:
        """The choices of another rule for leaves that have to be there, of nodes that several rules may complete."""
        options: dict[Term, list[Rule | None]] = {}
        bound: set[tuple[str, str]] = set()
        for term in sorted(asked.present):
            rule = self._chosen(asked, rules, term)
            if rule is None:
                continue
            head = rule.at(asked.member.node(term.variable))
            origin = supplied(head, term.path)
            others = completers(self._mapping, rule, head.node, term.path)
            own: list[Rule | None] = [] if origin is None else [None]
            branch = None if origin is None or rule in others else open_branch(rule, head, origin, self._sources)
            if branch is not None and (term.variable, branch) in bound:
                own = [rule]  # what brings this leaf to the node need not be what brings the one before
            elif branch is not None:
                bound.add((term.variable, branch))
            if (others or own == [rule]) and is_argument(term.path):
                self._refuse_parts(asked.path(term))
            if others or own == [rule]:
                options[term] = [*own, *others]
        for choice in product(*options.values()):
            yield {term: rule for term, rule in zip(options, choice, strict=True) if rule is not None}

    def _chosen(self, asked: _Asked, rules: Table[str, Rule], term: Term) -> Rule | None:
        """The rule whose copy decides a leaf of a node that a source node or a key identifies; else ``None``."""
        node = asked.member.node(term.variable)
        if not node or is_inside(self._tree, node) or term.path == (TAG,):
            return None
        rule = next(rule for name, rule in rules.items() if term.variable in asked.chain(name))
        head = rule.at(node)
        return None if head.each is None and head.key in (None, term.path) else rule

    # -- putting together ----------------------------------------------------------------------------------------

    def _combined(
        self, asked: _Asked, copies: dict[str, Copy], providers: dict[Term, Copy], losses: Losses
    ) -> Iterator[Member]:
        member = asked.member
        by_variable: dict[str, list[Copy]] = {variable.name: [] for variable in member.variables}
        for name, copy in (*copies.items(), *((term.variable, copy) for term, copy in providers.items())):
            for above in asked.chain(name):
                by_variable[above].append(copy)
        image = Image(self._mapping, member, by_variable, providers)
        inside = image.inside(losses)
        choices = None if inside is None else image.atoms(member.atoms, losses)
        template = image.template
        losses.slots |= image.lost.slots
        losses.fatal |= image.lost.fatal
        glue = None if inside is None else self._glued(member, by_variable)
        if inside is None or choices is None or template is None or glue is None:
            return
        every = [*copies.values(), *providers.values()]
        variables = {v.name: v for v in member.variables if v.parent is None}
        variables |= {v.name: v for copy in every for v in copy.variables}
        whole = ordered([*variables.values(), *inside])
        body = [atom for copy in every for atom in copy.conditions]
        body += [tag for name, copy in copies.items() for tag in self._tags(copy, member.node(name))]
        for conditions in choices:
            plain = Member(whole, frozenset((*body, *conditions, *glue.atoms)), template)
            for negated in self._negations(asked, by_variable, image, plain, glue):
                yield merge(Member(whole, plain.atoms | negated, template), *glue.same)

    def _tags(self, copy: Copy, node: Path) -> Iterator[Presence]:
        """A box node needs its tag; boxes below the node that is asked for do not count."""
        for head in copy.head:
            tag = head.term((TAG,))
            if tag is not None and len(head.node) <= len(node):
                yield Presence(tag)

    def _glued(self, member: Member, by_variable: Table[str, Sequence[Copy]]) -> Glue | None:
        """What makes the node of each variable in which copies meet the same; ``None`` where they are never one."""
        glue = Glue()
        for variable in member.variables:
            copies = by_variable[variable.name]
            for other in copies[1:]:
                same = same_node(copies[0], other, variable.node, self._tree, self._sources)
                if same is None:
                    return None
                glue += same
        return glue

    # -- what is nowhere -----------------------------------------------------------------------------------------

    def _negations(
        self, asked: _Asked, by_variable: Table[str, list[Copy]], image: Image, plain: Member, glue: Glue
    ) -> Iterator[frozenset[Atom]]:
        """What says over the documents that no node of the target is where the member wants none: one conjunction, or
        none where there always is such a node.
        """
        if not asked.negated and not asked.missing:
            yield frozenset()
            return
        found: set[Atom] = set()
        positive = merge(plain, *glue.same)
        extended = [
            (n.node, n.variable, e) for n in asked.negated for e in self._with_node(asked, n, by_variable, image, plain)
        ]
        for gone in asked.missing:
            path, name = asked.path(gone.term), gone.term.variable
            extended += [(path, name, e) for e in self._with_leaf(asked, gone, by_variable, plain)]
        refused: list[tuple[Member, Path, str]] = []
        for path, name, (more, same) in extended:
            self._check()
            whole = merge(more, *glue.same, *same)
            try:
                atoms = negation(positive, whole, self._sources, path)
            except TranslationError:
                refused.append((whole, path, name))
                continue
            if atoms is None:
                return
            found |= atoms
        for whole, path, name in refused:
            # What one rule has made impossible another need not, under conditions of its own.
            if normalise(Member(whole.variables, whole.atoms | found, whole.template), self._sources) is not None:
                refuse_absence(path, self._advice(asked.member.node(name), path, by_variable[name]))
        yield frozenset(found)

    def _advice(self, node: Path, wanted: Path, copies: Sequence[Copy]) -> str:
        """What to write, or to ask, where rules do not decide an absence for each node at ``node``."""
        line = each_line(self._mapping, self._to, node, wanted) if node else None
        if line is None or any(copy.node(node).each is not None for copy in copies):
            return f"ask for all, and for those with {wanted[-1]}, and take these away"
        return f"write {line}, so that each is its own"

    def _with_node(
        self, asked: _Asked, wanted: NoNode, by_variable: Table[str, list[Copy]], image: Image, plain: Member
    ) -> Iterator[tuple[Member, tuple[tuple[str, str], ...]]]:
        """The member with a node that must not be there, in each way in which rules make it."""
        variables = [v for v in asked.member.variables if v.name in asked.chain(wanted.variable) or v.parent is None]
        name = wanted.variable
        for stop in self._tree.stops(wanted.node):
            if len(stop) > len(asked.member.node(wanted.variable)):
                variables.append(Variable(f"nowhere{len(variables)}", stop, name))
                name = variables[-1].name
        tests: set[Atom] = set()
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
        for explicit in self._with_existence(inner):
            yield from self._each_way(explicit, outer, by_variable, plain)

    def _with_leaf(
        self, asked: _Asked, gone: _Missing, by_variable: Table[str, list[Copy]], plain: Member
    ) -> Iterator[tuple[Member, tuple[tuple[str, str], ...]]]:
        """The member with a leaf that must not be there, from each of the rules that may supply it."""
        variables = [v for v in asked.member.variables if v.name in asked.chain(gone.term.variable) or v.parent is None]
        shown = Member(tuple(variables), frozenset((Presence(gone.term),)), LeafItem("value", "", Text("")))
        for rule in gone.rules:
            yield from self._one_way(shown, {gone.term.variable: rule}, {}, by_variable, plain)

    def _each_way(
        self, explicit: Member, outer: Table[Term, Term | None], by_variable: Table[str, list[Copy]], plain: Member
    ) -> Iterator[tuple[Member, tuple[tuple[str, str], ...]]]:
        lowest = [variable for variable in self.lowest(explicit) if variable.name not in by_variable]
        for chosen in product(*(makers(self._mapping, variable.node) for variable in lowest)):
            named = dict(zip((variable.name for variable in lowest), chosen, strict=True))
            for shown in self._shown(explicit, named):
                yield from self._one_way(shown, named, outer, by_variable, plain)

    def _one_way(
        self,
        shown: Member,
        rules: Table[str, Rule],
        outer: Table[Term, Term | None],
        by_variable: Table[str, list[Copy]],
        plain: Member,
    ) -> Iterator[tuple[Member, tuple[tuple[str, str], ...]]]:
        asked = _Asked.of(shown, self._mapping)
        met = {variable.name: 1 + (variable.name in by_variable) for variable in shown.variables}
        options = [
            [
                copy_rule(rule, f"n{number}", modes, shown.roots[name])
                for modes in all_modes(rule, self._needs(asked, rule, name, None, set(), met))
            ]
            for number, (name, rule) in enumerate(rules.items(), start=1)
        ]
        for copies in product(*options):
            meeting = {v.name: [*by_variable.get(v.name, ())[:1]] for v in shown.variables}
            for name, copy in zip(rules, copies, strict=True):
                for above in asked.chain(name):
                    meeting[above].append(copy)
            new = {name: [c for c in found if c in copies] for name, found in meeting.items()}
            image = Image(self._mapping, shown, new, {})
            choices = image.atoms(shown.atoms, Losses())
            glue = self._glued(shown, meeting)
            if choices is None or glue is None:
                continue
            variables = ordered(
                {v.name: v for v in (*plain.variables, *(v for c in copies for v in c.variables))}.values()
            )
            body = [atom for copy in copies for atom in copy.conditions]
            body += [
                tag for name, copy in zip(rules, copies, strict=True) for tag in self._tags(copy, shown.node(name))
            ]
            nodes = {v.name: v.node for v in variables}
            body += [atom for term, value in outer.items() for atom in self._same(image.term(term), value, nodes)]
            for conditions in choices:
                atoms = plain.atoms | frozenset((*body, *conditions, *glue.atoms))
                yield Member(variables, atoms, plain.template), glue.same

    def _same(self, inner: Term | None, outer: Term | None, nodes: Table[str, Path]) -> Iterator[Atom]:
        """That two terms have the same value, or both have none: equality, where they always have one."""
        if inner is None or outer is None:
            yield from (Absence(term) for term in (inner, outer) if term is not None)
        elif all(self._sources.required(nodes[term.variable], term.path) for term in (inner, outer)):
            yield Comparison("=", inner, outer)
        else:
            yield SameValue(inner, outer)


def _part(asked: _Asked, names: set[str]) -> Member:
    """What is asked of some variables of one document as an item, with what has to be there; they are named by their
    places.
    """
    roots = dict.fromkeys(asked.member.roots.values(), "root")
    variables = [variable for variable in asked.member.variables if variable.name in names]
    number = {variable.name: f"v{place}" for place, variable in enumerate(variables)} | roots
    terms = {
        Term(number[term.variable], term.path): term in asked.present for term in asked.terms if term.variable in names
    }
    nodes = {number[variable.name]: variable.node for variable in variables}
    slots = tuple(
        LeafItem(
            "copy" if asked.tree.whole_at((*nodes[term.variable], *term.path)) else "element",
            f"{term.variable}/{'/'.join(term.path)}",
            term,
        )
        for term in sorted(terms)
    )
    return Member(
        (Variable("root", ()), *(Variable(number[v.name], v.node, number[str(v.parent)]) for v in variables)),
        frozenset(Presence(term) for term, present in terms.items() if present),
        ElementItem("asked", (), slots),
    )


@lru_cache(maxsize=512)
def _telling(mapping: Mapping, member: Member) -> tuple[tuple[Rule, ...], ...]:
    """The choices of rules for a member's lowest variables of which no other tells as much; all of them where nothing
    is told, or other rules complete what they make.
    """
    unfolding, forms = Unfolding(mapping), NormalForms(source_constraints(mapping))
    lowest = unfolding.lowest(member)
    names = [variable.name for variable in lowest]
    choices = tuple(product(*(makers(mapping, variable.node) for variable in lowest)))
    kept: dict[tuple[Rule, ...], list[NormalForm]] = {}
    for chosen in choices:
        rules = dict(zip(names, chosen, strict=True))
        if not unfolding.decides(rules, member):
            return choices
        try:
            asked = list(unfolding.by(rules, member, (), Losses()))
        except TranslationError:
            return choices
        said = [form for member in asked if (form := forms.of(member))]
        if said and not any(_tell(other, said) for other in kept.values()):
            kept = {known: other for known, other in kept.items() if not _tell(said, other)}
            kept[chosen] = said
    return tuple(kept) or choices


def _tell(general: Sequence[NormalForm], special: Sequence[NormalForm]) -> bool:
    return all(any(form.is_surely_contained(other) for other in general) for form in special)


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


def _spoken_of(member: Member) -> set[str]:
    """The variables of which some leaf is known to have a value, and those with others below them."""
    spoken = {variable.parent for variable in member.variables if variable.parent is not None}
    for atom in member.atoms:
        if isinstance(atom, Comparison | Presence):
            spoken.update(term.variable for term in atom_terms(atom) if term.path != (TAG,))
    return spoken


def _with_child(member: Member, name: str, child: Path) -> Member:
    added = Variable(fresh_name(member, "below"), child, name)
    return Member((*member.variables, added), member.atoms, member.template)

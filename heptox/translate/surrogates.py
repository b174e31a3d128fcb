"""Identifiers that are functions of several leaves, where a query speaks of them (``semantics.md`` section 2).

For translation each argument of a surrogate is a leaf of its own, an *argument leaf*, below the leaf that takes the
surrogate: rules supply it as any other, and what a query says of the identifier is said of argument leaves instead.
Only these have equality of identities, in which what is absent equals what is absent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final, NoReturn, TypeAlias

from heptox.errors import Fault, TranslationError
from heptox.mapping import HeadNode, Mapping, Rule, tested_paths
from heptox.pattern import (
    OPERATORS,
    Absence,
    Atom,
    Comparison,
    DeepEqual,
    Member,
    NoNode,
    Number,
    Operator,
    Presence,
    SameValue,
    Term,
    Text,
    atom_terms,
    leaf_paths,
    map_template,
    template_terms,
    value_expression,
)
from heptox.remembering import remembered
from heptox.schema import Path, plain, split_selection
from heptox.translate.model import INVENTED, Loss

_ARGUMENT: Final = "argument()"

_Test: TypeAlias = tuple[Path, Term | Text | None]


def is_argument(path: Path) -> bool:
    """Whether a path is that of an argument leaf."""
    return _ARGUMENT in path


def is_own_argument(path: Path) -> bool:
    """Whether an argument leaf stands for a leaf of the node itself that the surrogate identifies: where none of these
    has a value, there is no surrogate.
    """
    if _ARGUMENT not in path:
        return False
    node, stop, _ = _parsed(path[path.index(_ARGUMENT) + 1 :])
    return node == stop


def surrogates_of(leaves: Iterable[tuple[Path, Term]]) -> dict[tuple[Path, Path], dict[Path, Term]]:
    """The argument leaves among some leaves of a head node, with their terms, by the leaf that takes the surrogate and
    the node that it identifies.
    """
    found: dict[tuple[Path, Path], dict[Path, Term]] = {}
    for path, term in leaves:
        if is_argument(path):
            node, _, _ = _parsed(path[path.index(_ARGUMENT) + 1 :])
            found.setdefault((named(path), node), {})[path] = term
    return found


def stands_for(path: Path) -> tuple[Path, Path]:
    """The stop node and the path below it of the leaf that an argument leaf stands for."""
    _, stop, leaf = _parsed(path[path.index(_ARGUMENT) + 1 :])
    return stop, leaf


def named(path: Path) -> Path:
    """The leaf that takes the surrogate, of an argument leaf; any other path as it is."""
    return path[: path.index(_ARGUMENT)] if _ARGUMENT in path else path


def with_argument_leaves(rule: Rule) -> Rule:
    """The rule with an argument leaf for each argument of a surrogate."""
    if not any(node.surrogates for node in rule.head):
        return rule
    return replace(rule, head=tuple(map(_opened, rule.head)))


def _opened(node: HeadNode) -> HeadNode:
    leaves = (
        (_argument(leaf, surrogate.node, argument.stop, argument.path), argument.term)
        for leaf, surrogate in node.surrogates
        for argument in surrogate.arguments
    )
    return replace(node, leaves=(*node.leaves, *leaves), surrogates=())


def _argument(leaf: Path, node: Path, stop: Path, path: Path) -> Path:
    return (*leaf, _ARGUMENT, str(len(node)), *node, str(len(stop)), *stop, *path)


def _parsed(steps: Path) -> tuple[Path, Path, Path]:
    """The node that is identified, and the stop node and path of the argument, from the steps behind the mark."""
    end = 1 + int(steps[0])
    length = int(steps[end])
    return steps[1:end], steps[end + 1 : end + 1 + length], steps[end + 1 + length :]


@dataclass(frozen=True, slots=True)
class _Kinds:
    """What rules supply to a leaf: a value as it is, and surrogates, by the node that they identify the argument leaves
    of them, relative to the leaf.
    """

    is_plain: bool = True
    surrogates: tuple[tuple[Path, tuple[Path, ...]], ...] = ()

    def of(self, node: Path) -> tuple[Path, ...]:
        return dict(self.surrogates).get(node, ())


@remembered(512)
def _made(mapping: Mapping) -> dict[Path, _Kinds]:
    """The leaves of the target that take surrogates, of rules with argument leaves."""
    found: dict[Path, dict[Path, dict[Path, None]]] = {}
    valued: set[Path] = set()
    for head in (head for rule in mapping.rules for head in rule.head):
        for path, _ in head.leaves:
            leaf = (*head.node, *named(path))
            if is_argument(path):
                rest = path[len(named(path)) :]
                found.setdefault(leaf, {}).setdefault(_parsed(rest[1:])[0], {})[rest] = None
            else:
                valued.add(leaf)
    return {
        leaf: _Kinds(leaf in valued, tuple((node, tuple(sorted(rests))) for node, rests in made.items()))
        for leaf, made in found.items()
    }


@dataclass(frozen=True)
class Identifiers:
    """What a member says of identifiers, said of the leaves that identify nodes.

    ``is_sure`` says whether all rules that make a node always give it a leaf, ``report`` is called with what is left
    out, and whether that was the whole item.
    """

    mapping: Mapping
    is_sure: Callable[[Path, Path], bool]
    report: Callable[[Loss, bool], None]

    def members(self, member: Member) -> Iterator[Member]:
        """The members, whose union says the same, in which no atom speaks of a surrogate but by argument leaves.

        An identifier that is returned is left out, and reported.

        Raises :class:`TranslationError` (HX5016) for what would have to know its value.
        """
        made = _made(self.mapping)
        if not made:
            yield member
            return
        self._check_computed(member)
        kept = {atom for atom in member.atoms if not self._speaks(member, atom)}
        ways = [list(self._ways(member, atom)) for atom in sorted(member.atoms - kept, key=repr)]
        template = map_template(member.template, lambda term: self._reported(member, term))
        for term in template_terms(member.template):
            if self._kinds(member, term).surrogates:
                loss = Loss(member.path(term), INVENTED)
                self.report(loss, template is None)
        for choice in product(*ways) if template is not None else ():
            atoms = frozenset(kept.union(*choice))
            yield Member(member.variables, atoms, template or member.template)

    def _check_computed(self, member: Member) -> None:
        """Refuse to compute with an identifier, or to select by one on the way to nodes that are nowhere."""
        terms = {*template_terms(member.template), *(term for atom in member.atoms for term in atom_terms(atom))}
        leaves = [
            (*member.node(term.variable), *path)
            for term in terms
            if (expression := value_expression(term.path)) is not None
            for path in leaf_paths(expression)
        ]
        leaves += [path for atom in member.atoms if isinstance(atom, NoNode) for path in _selecting(atom)]
        made = _made(self.mapping)
        for leaf in leaves:
            if leaf in made and made[leaf].surrogates:
                name = self.mapping.target.written(leaf)
                message = f"{name} is invented: only whether two are the same can be asked of it"
                raise TranslationError(Fault("HX5016", message, hint="draw an arrow into it"))

    def _reported(self, member: Member, term: Term) -> Term | None:
        return term if self._kinds(member, term).is_plain else None

    def _kinds(self, member: Member, term: Term) -> _Kinds:
        return _made(self.mapping).get(member.path(term), _Kinds())

    def _speaks(self, member: Member, atom: Atom) -> bool:
        if any(self._kinds(member, term).surrogates for term in atom_terms(atom)):
            return True
        made = _made(self.mapping)
        return isinstance(atom, NoNode) and any(path in made for path in _tested(atom))

    # -- atoms ---------------------------------------------------------------------------------------------------

    def _ways(self, member: Member, atom: Atom) -> Iterator[tuple[Atom, ...]]:
        """Conjunctions of which one holds where an atom holds."""
        match atom:
            case Presence(term):
                yield from self._present(member, term)
            case Absence(term):
                yield self._absent(member, term)
            case SameValue(left, right) | DeepEqual(left, right):
                yield (*self._absent(member, left), *self._absent(member, right))
                yield from self._equal(member, left, right)
            case Comparison("=", left, Term() as right):
                yield from self._equal(member, left, right)
            case Comparison("!=", left, Term() as right):
                yield from self._different(member, left, right)
            case Comparison(operator, left, right):
                yield from self._compared(member, operator, left, right, atom)
            case NoNode():
                yield tuple(self._nowhere(member, atom))

    def _present(self, member: Member, term: Term) -> Iterator[tuple[Atom, ...]]:
        kinds = self._kinds(member, term)
        if kinds.is_plain:
            yield (Presence(term),)
        yield from ((there,) for there in self._made_up(member, term))

    def _absent(self, member: Member, term: Term) -> tuple[Atom, ...]:
        kinds = self._kinds(member, term)
        plain = (term,) if kinds.is_plain else ()
        own = (_below(term, rest) for _, rests in kinds.surrogates for rest in rests if is_own_argument(rest))
        return tuple(map(Absence, (*plain, *own)))

    def _own(self, member: Member, term: Term, node: Path) -> list[Term]:
        """The argument leaves one of which is there where a surrogate is: a single one where it always is."""
        rests = self._kinds(member, term).of(node)
        return [_below(term, rest) for rest in self._distinguishing(member.node(term.variable), term.path, rests)]

    def _distinguishing(self, stop: Path, leaf: Path, rests: Sequence[Path]) -> list[Path]:
        own = [rest for rest in rests if is_own_argument(rest)]
        sure = (rest for rest in own if self.is_sure(stop, (*leaf, *rest)))
        one = next(sure, None)
        return own if one is None else [one]

    def _equal(self, member: Member, left: Term, right: Term) -> Iterator[tuple[Atom, ...]]:
        one, other = self._kinds(member, left), self._kinds(member, right)
        if left == right:
            yield from self._present(member, left)
            return
        if one.is_plain and other.is_plain:
            yield (Comparison("=", left, right),)
        for node, _ in one.surrogates:
            rests = _all(one, other, node)
            for own in self._own(member, left, node) if other.of(node) else ():
                same = Term(right.variable, (*right.path, *own.path[len(left.path) :]))
                others = (rest for rest in rests if _below(left, rest) != own)
                alike = (SameValue(_below(left, rest), _below(right, rest)) for rest in others)
                yield (Comparison("=", own, same), *alike)

    def _different(self, member: Member, left: Term, right: Term) -> Iterator[tuple[Atom, ...]]:
        """That two are there and differ: they are of different kinds, or at one argument."""
        one, other = self._kinds(member, left), self._kinds(member, right)
        if one.is_plain and other.is_plain:
            yield (Comparison("!=", left, right),)
        if one.is_plain:
            yield from ((Presence(left), there) for there in self._made_up(member, right))
        if other.is_plain:
            yield from ((Presence(right), there) for there in self._made_up(member, left))
        for (node, _), (across, _) in product(one.surrogates, other.surrogates):
            unlike = self._unlike(left, right, _all(one, other, node)) if node == across else [()]
            pairs = product(self._own(member, left, node), self._own(member, right, across))
            both = ((Presence(first), Presence(second)) for first, second in pairs)
            yield from ((*there, *atoms) for there, atoms in product(both, unlike))

    def _made_up(self, member: Member, term: Term) -> Iterator[Presence]:
        """The ways in which a leaf takes a surrogate."""
        for node, _ in self._kinds(member, term).surrogates:
            yield from map(Presence, self._own(member, term, node))

    def _unlike(self, left: Term, right: Term, rests: Sequence[Path]) -> Iterator[tuple[Atom, ...]]:
        for rest in rests:
            first, second = _below(left, rest), _below(right, rest)
            yield (Comparison("!=", first, second),)
            yield Presence(first), Absence(second)
            yield Absence(first), Presence(second)

    def _compared(
        self, member: Member, operator: Operator, left: Term, right: Term | Text | Number, atom: Comparison
    ) -> Iterator[tuple[Atom, ...]]:
        """A comparison with a constant, which no surrogate equals and which is no number; or one by order."""
        kinds = self._kinds(member, left)
        if not isinstance(right, Number) and operator not in ("=", "!="):
            terms = [term for term in (left, right) if isinstance(term, Term) and self._kinds(member, term).surrogates]
            refuse_comparison([self.mapping.target.written(member.path(term)) for term in terms], operator)
        if kinds.is_plain:
            yield (atom,)
        if isinstance(right, Text) and operator == "!=":
            yield from ((there,) for there in self._made_up(member, left))

    # -- nodes that are nowhere ----------------------------------------------------------------------------------

    def _nowhere(self, member: Member, atom: NoNode) -> Iterator[Atom]:
        """That no node passes all tests, in whichever way it would pass them."""
        options = [list(self._tested(member, atom, path, value)) for path, value in atom.tests]
        for choice in product(*options):
            yield NoNode(atom.variable, atom.node, tuple(test for tests in choice for test in tests))

    def _tested(
        self, member: Member, atom: NoNode, path: Path, value: Term | Text | None
    ) -> Iterator[tuple[_Test, ...]]:
        """The ways in which a node passes a test. By argument leaves it also does where both sides are absent."""
        kinds = _made(self.mapping).get((*plain(atom.node), *path), _Kinds())
        other = self._kinds(member, value) if isinstance(value, Term) else _Kinds()
        if kinds.is_plain and other.is_plain:
            yield ((path, value),)
        for node, own_rests in kinds.surrogates:
            own = self._distinguishing(atom.node, path, own_rests)
            if value is None:
                yield from ((((*path, *rest), None),) for rest in own)
            elif isinstance(value, Term) and other.of(node):
                alike = tuple(((*path, *rest), _below(value, rest)) for rest in _all(kinds, other, node))
                yield from ((((*path, *rest), None), *alike) for rest in own)


def _all(one: _Kinds, other: _Kinds, node: Path) -> list[Path]:
    """The argument leaves of surrogates of one node that any of two leaves may take."""
    return sorted({*one.of(node), *other.of(node)})


def _below(term: Term, rest: Path) -> Term:
    return Term(term.variable, (*term.path, *rest))


def refuse_comparison(invented: Iterable[str], operator: Operator) -> NoReturn:
    """Raise :class:`TranslationError` (HX5016): more is asked of invented identifiers than whether they are the same.

    Which side of the query's comparison they were on is not known any more, so ``<`` and ``>`` are one.
    """
    names = list(dict.fromkeys(invented))
    said = "is invented, and tells" if len(names) == 1 else "are invented, and tell"
    how = "order" if OPERATORS[operator].is_order else operator
    message = f"{' and '.join(names)} {said} only whether nodes are the same: comparing by {how} is not translated"
    raise TranslationError(Fault("HX5016", message, hint="compare leaves that an arrow supplies"))


def _tested(atom: NoNode) -> Iterator[Path]:
    """The leaves that the tests of an atom speak of."""
    yield from ((*plain(atom.node), *path) for path, _ in atom.tests)


def _selecting(atom: NoNode) -> Iterator[Path]:
    """The leaves by which the nodes of an atom are selected, and those of which functions in its tests speak."""
    for path, _ in atom.tests:
        expression = value_expression(path)
        yield from () if expression is None else ((*plain(atom.node), *leaf) for leaf in leaf_paths(expression))
    for length, step in enumerate(atom.node, 1):
        for test in split_selection(step)[1]:
            yield from ((*plain(atom.node[:length]), *path) for path in tested_paths(test))

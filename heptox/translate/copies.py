"""Rules in fresh copies, and when two copies make one node (``semantics.md`` sections 4 and 8, step 2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NoReturn, TypeAlias

from heptox.errors import Fault, TranslationError
from heptox.mapping import HeadNode, OptionalPart, Rule, test_atoms
from heptox.pattern import (
    TAG,
    Absence,
    Atom,
    Comparison,
    Constraints,
    DeepEqual,
    Member,
    Presence,
    SameValue,
    Term,
    Variable,
    map_atom,
)
from heptox.remembering import remembered
from heptox.schema import Path, SchemaTree
from heptox.translate.surrogates import is_argument, is_own_argument, stands_for, surrogates_of
from heptox.xml import NO_PREFIXES

ROOT = "root"
"""The variable of the source's root where there is one document: all copies share it."""

Mode: TypeAlias = Literal["joined", "alone", "absent", "unused"]
"""What a copy does with an optional part: it joins it, or says that no node can enter it, or has already left out what
it hangs from; or nothing behind it is asked for, and then it says nothing."""


@dataclass(frozen=True, eq=False)
class Copy:
    """A rule with fresh variables, in some modes: its body and its head over them."""

    rule: Rule
    modes: tuple[Mode, ...]
    variables: tuple[Variable, ...]
    conditions: tuple[Atom, ...]
    head: tuple[HeadNode, ...]

    def node(self, path: Path) -> HeadNode:
        """The head node at a target path."""
        return next(head for head in self.head if head.node == path)

    @cached_property
    def nodes(self) -> dict[str, Path]:
        """The source nodes of the variables."""
        return {variable.name: variable.node for variable in self.variables}


@dataclass(frozen=True, slots=True)
class Glue:
    """What makes the nodes of two copies one: atoms that hold, source variables that are one."""

    atoms: tuple[Atom, ...] = ()
    same: tuple[tuple[str, str], ...] = ()

    def __add__(self, other: Glue) -> Glue:
        return Glue(self.atoms + other.atoms, self.same + other.same)


@remembered(4096)
def copy_rule(rule: Rule, number: str, modes: tuple[Mode, ...], document: str = ROOT) -> Copy:
    """A copy of a rule whose variables no other copy has, but for the root of the ``document``, which all its copies
    share: exchange makes one of each, so it has the name of the root that is asked of.

    It is remembered, for rules are values.
    """
    root = rule.variables[0].name

    def name(old: str) -> str:
        return document if old == root else f"{number}.{old}"

    def image(term: Term) -> Term:
        return Term(name(term.variable), term.path)

    left_out = {
        name for part, mode in zip(rule.optional, modes, strict=True) for name in part.variables if mode != "joined"
    }
    variables = tuple(
        Variable(name(variable.name), variable.node, None if variable.parent is None else name(variable.parent))
        for variable in rule.variables
        if variable.name not in left_out
    )
    conditions: list[Atom] = [*rule.conditions]
    for part, mode in zip(rule.optional, modes, strict=True):
        if mode == "joined":
            conditions += [*part.conditions, *_selecting(part)]
        elif mode == "alone":
            conditions.append(rule.unentered(part))
    head = tuple(
        HeadNode(
            node.node,
            leaves := tuple((leaf, image(term)) for leaf, term in node.leaves if term.variable not in left_out),
            node.copied & {leaf for leaf, _ in leaves},
            None if node.each is None else name(node.each),
            node.key,
            selected=node.selected,
        )
        for node in rule.head
    )
    return Copy(rule, modes, variables, tuple(map_atom(atom, image) for atom in conditions), head)


def _selecting(part: OptionalPart) -> Iterator[Atom]:
    """What the tests of an optional part say.

    Raises :class:`TranslationError` (HX5018) for one with several values.
    """
    for name, test in part.tests:
        atoms = test_atoms(name, test)
        if not atoms:
            message = f"a selection by one of {', '.join(test.values)} is of a part that need not be there"
            raise TranslationError(Fault("HX5018", message, hint="draw an arrow for each value"))
        yield from atoms


@dataclass
class Needs:
    """The terms of a rule's body that are asked for, and those of them that have to be there."""

    asked: set[Term] = field(default_factory=set)
    present: set[Term] = field(default_factory=set)


def all_modes(rule: Rule, needs: Needs) -> Iterator[tuple[Mode, ...]]:
    """The ways in which optional parts can be bound, as far as something behind them is asked for, or they may keep a
    binding from being one.
    """
    if not rule.optional:
        yield ()
        return
    behind = {name: index for index, part in enumerate(rule.optional) for name in part.variables}
    hangs = [behind.get(_anchor(rule, index)) for index in range(len(rule.optional))]
    asked = {behind[term.variable] for term in needs.asked | needs.present if term.variable in behind}
    asked |= {index for index, part in enumerate(rule.optional) if not rule.is_whole(part)}
    asked = _with_those_before(asked, hangs)
    present = _with_those_before({behind[term.variable] for term in needs.present if term.variable in behind}, hangs)

    def extended(modes: tuple[Mode, ...]) -> Iterator[tuple[Mode, ...]]:
        index = len(modes)
        if index == len(rule.optional):
            yield modes
            return
        before = hangs[index]
        if index not in asked:
            yield from extended((*modes, "unused"))
        elif before is not None and modes[before] != "joined":
            yield from extended((*modes, "absent"))
        else:
            yield from extended((*modes, "joined"))
            if index not in present:
                yield from extended((*modes, "alone"))

    yield from extended(())


def is_decided(rule: Rule, head: HeadNode, term: Term, sources: Constraints) -> bool:
    """Whether one binding of a rule decides if a head node lacks the leaf that ``term`` fills: no other binding, which
    adds to the same node, has another node for its variable.
    """
    decided = _decided(rule, head, sources)
    if decided is None or term.variable in decided:
        return True
    return _optional_part(rule, term.variable) is None and sources.required(rule.node(term.variable), term.path)


def open_branch(rule: Rule, head: HeadNode, term: Term, sources: Constraints) -> str | None:
    """What a head node takes a leaf from, where several nodes may add to it and need not have that leaf: the part of
    the body that other bindings bind otherwise, by its topmost variable. ``None`` where one binding has all.
    """
    decided = _decided(rule, head, sources)
    if decided is None or term.variable in decided:
        return None
    parents = {variable.name: variable.parent for variable in rule.variables}
    top = term.variable
    while True:
        index = _optional_part(rule, top)
        above = parents[top] if index is None else _anchor(rule, index)
        if above is None or above in decided:
            break
        top = above
    if top == term.variable and sources.required(rule.node(top), term.path):
        return None
    return top if index is None else rule.optional[index].variables[0]


def refuse_absence(wanted: str, hint: str | None = None) -> NoReturn:
    """Refuse to say that something is nowhere, where rules do not decide it node by node."""
    message = f"that there is no {wanted} is not decided by one leaf or one node of the documents"
    raise TranslationError(Fault("HX5008", message, hint=hint))


def _optional_part(rule: Rule, name: str) -> int | None:
    """The number of the optional part that a variable is of."""
    return next((index for index, part in enumerate(rule.optional) if name in part.variables), None)


def _decided(rule: Rule, head: HeadNode, sources: Constraints) -> set[str] | None:
    """The variables that have one node in all bindings that make one head node; ``None`` where one binding makes it."""
    if head.anchor is None:
        return None
    parents = {variable.name: variable.parent for variable in rule.variables}
    decided = {head.anchor}
    while True:
        more = {parent for known in decided if (parent := parents[known]) is not None}
        more |= {
            there.variable
            for pair in rule.equalities()
            for here, there in (pair, pair[::-1])
            if here.variable in decided and rule.path(there) in sources.keys
        }
        for index, part in enumerate(rule.optional):
            if _anchor(rule, index) in decided and _leads_to_one(rule, part, sources):
                more.update(part.variables)
        if more <= decided:
            return decided
        decided |= more


def _leads_to_one(rule: Rule, part: OptionalPart, sources: Constraints) -> bool:
    """Whether a part binds once at most: it is entered by a reference to a key."""
    if not part.conditions or not rule.is_whole(part):
        return False
    link = part.conditions[0].right
    return isinstance(link, Term) and rule.path(link) in sources.keys


def _anchor(rule: Rule, index: int) -> str:
    """The variable that an optional part hangs from."""
    part = rule.optional[index]
    if part.conditions:
        return part.conditions[0].left.variable
    return str(next(variable.parent for variable in rule.variables if variable.name == part.variables[0]))


def _with_those_before(found: set[int], hangs: Sequence[int | None]) -> set[int]:
    for index in sorted(found, reverse=True):
        before = hangs[index]
        while before is not None and before not in found:
            found.add(before)
            before = hangs[before]
    return found


def same_node(first: Copy, second: Copy, node: Path, tree: SchemaTree, sources: Constraints) -> Glue | None:
    """What makes the nodes at the target path ``node`` of two copies one, if their parents are; ``None`` where they
    never are (``semantics.md`` section 4).

    Raises :class:`TranslationError` (HX5007) where subtrees of different names would have to be compared.
    """
    one, other = first.node(node), second.node(node)
    if one.selected != other.selected and (one.selected or node) != (other.selected or node):
        return None
    tag = one.term((TAG,)), other.term((TAG,))
    tags = (Comparison("=", tag[0], tag[1]),) if tag[0] is not None and tag[1] is not None else ()
    if one.each is not None or other.each is not None:
        if one.each is None or other.each is None or first.nodes[one.each] != second.nodes[other.each]:
            return None
        return Glue(tags, ((one.each, other.each),))
    if one.key != other.key:
        return None
    if one.key is not None:
        return Glue((*tags, *_equal(first, second, one, other, one.key, sources)))
    atoms: list[Atom] = []
    for copy, head in ((first, one), (second, other)):
        _check_surrogates(tree, copy, head, sources)
    filled = dict.fromkeys(leaf for leaf, _ in (*one.leaves, *other.leaves))
    own = (leaf for leaf in tree.own_leaves(node) if leaf in filled)
    for leaf in ((TAG,), *own, *filter(is_argument, filled)):
        left, right = one.term(leaf), other.term(leaf)
        if left is None and right is None:
            continue
        if left is None or right is None:
            if leaf == (TAG,):
                return None  # a node in a box has a tag
            absent = left or right
            assert absent is not None
            atoms.append(Absence(absent))
        else:
            atoms += _equal(first, second, one, other, leaf, sources)
    return Glue(tuple(atoms))


def _check_surrogates(tree: SchemaTree, copy: Copy, head: HeadNode, sources: Constraints) -> None:
    """Refuse to compare surrogates argument by argument where one that is absent may have some: but that of the node
    itself, whose arguments are those by which the node is compared.
    """
    for (leaf, node), terms in surrogates_of(head.leaves).items():
        own = {path: term for path, term in terms.items() if is_own_argument(path)}
        sure = any(sources.required(copy.nodes[term.variable], term.path) for term in own.values())
        if len(own) < len(terms) and not sure and not _is_its_own(copy, head, node, terms):
            refuse_absence(tree.written((*head.node, *leaf)), "draw an arrow into it")


def _is_its_own(copy: Copy, head: HeadNode, node: Path, terms: dict[Path, Term]) -> bool:
    places = {stands_for(path): term for path, term in terms.items()}
    heads = {above.node: above for above in copy.head}
    known = (heads[stop].term(leaf) in (None, term) for (stop, leaf), term in places.items() if stop in heads and stop)
    return node == head.node and all(known)


def _equal(
    first: Copy, second: Copy, one: HeadNode, other: HeadNode, leaf: Path, sources: Constraints
) -> Iterator[Atom]:
    """That two nodes have the same at a leaf that both rules supply."""
    left, right = one.term(leaf), other.term(leaf)
    assert left is not None and right is not None
    if left == right:
        return
    if leaf in one.copied or leaf in other.copied:
        refuse_names({element_name(left, first.nodes), element_name(right, second.nodes)})
        yield DeepEqual(left, right)
    elif sources.required(first.nodes[left.variable], left.path) and sources.required(
        second.nodes[right.variable], right.path
    ):
        yield Comparison("=", left, right)
    else:
        yield SameValue(left, right)


def element_name(term: Term, nodes: dict[str, Path]) -> str:
    """The name of the element at a term over the source."""
    return (*nodes[term.variable], *term.path)[-1]


def refuse_names(names: set[str]) -> None:
    """Refuse to compare copies of elements with different names: the copies may be deep-equal, these never are."""
    if len(names) > 1:
        listed = " and ".join(sorted(map(NO_PREFIXES.written, names)))
        raise TranslationError(Fault("HX5007", f"copies of {listed} would have to be compared without their names"))


def tags_present(copy: Copy, node: Path) -> Iterator[Presence]:
    """A box node needs its tag; boxes below the node that is asked for do not count."""
    for head in copy.head:
        tag = head.term((TAG,))
        if tag is not None and len(head.node) <= len(node):
            yield Presence(tag)


def glued(
    tree: SchemaTree, sources: Constraints, member: Member, by_variable: Mapping[str, Sequence[Copy]]
) -> Glue | None:
    """What makes the node of each variable in which copies meet the same; ``None`` where they are never one."""
    glue = Glue()
    for variable in member.variables:
        copies = by_variable[variable.name]
        for other in copies[1:]:
            same = same_node(copies[0], other, variable.node, tree, sources)
            if same is None:
                return None
            glue += same
    return glue

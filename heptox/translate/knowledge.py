"""What a mapping says about documents: the constraints of its source, and what its images are sure to hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping as Table, Sequence
from dataclasses import replace
from typing import Final

from heptox.checks import go_on
from heptox.errors import Fault, TranslationError
from heptox.grammar import Expression, syntax
from heptox.mapping import HeadNode, Mapping, Rule, spoken_leaves, with_plain_nodes
from heptox.pattern import (
    NODE,
    TAG,
    Constraints,
    ElementItem,
    LeafItem,
    Member,
    NormalForm,
    NormalForms,
    Presence,
    Term,
    Variable,
    contains_all,
    is_constant,
)
from heptox.remembering import remembered
from heptox.schema import DrawnPaths, Path, SchemaTree, of_parts
from heptox.translate.copies import ROOT, Needs, all_modes, copy_rule
from heptox.translate.surrogates import is_argument, is_own_argument, with_argument_leaves

_remembered: Final = remembered(512)
"""What is known of a mapping is worked out once; mappings are values."""

_EVERYWHERE: Final[frozenset[Path]] = frozenset(((),))


@_remembered
def with_wholes(mapping: Mapping) -> Mapping:
    """The mapping over trees that take as wholes what it copies, and recursive subtrees that no arrow enters; its rules
    have argument leaves for their surrogates.

    Raises :class:`TranslationError` (HX5001) where an arrow leads out of a subtree that is copied as well.
    """
    mapping = replace(mapping, along=tuple(map(with_plain_nodes, mapping.rules)))
    copied = list(mapping.copies())
    sources = {source for source, _ in copied}
    used = {path for rule in mapping.rules for path in spoken_leaves(rule) if path[-1:] != (NODE,)}
    inside = sorted(path for path in used for whole in sources if path != whole and path[: len(whole)] == whole)
    if inside:
        raise TranslationError(
            Fault(
                "HX5001",
                f"{mapping.source.written(path)} has an arrow of its own, and is copied as part of a subtree as well",
            )
            for path in dict.fromkeys(inside)
        )
    filled = {(*head.node, *leaf) for rule in mapping.rules for head in rule.head for leaf, _ in head.leaves}
    bound = {variable.node for rule in mapping.rules for variable in rule.variables}
    made = {head.node for rule in mapping.rules for head in rule.head}
    return replace(
        mapping,
        along=tuple(map(with_argument_leaves, mapping.rules)),
        source=_taking_whole(mapping.source, sources, used, bound),
        target=_taking_whole(mapping.target, {target for _, target in copied}, filled, made),
    )


@_remembered
def made_paths(mapping: Mapping) -> DrawnPaths:
    """Where documents that the rules make can have anything."""
    heads = (head for rule in mapping.rules for head in rule.head)
    ends = ((*head.node, *leaf) for head in heads for leaf in ((), *head.paths))
    return DrawnPaths.of(ends, (target for _, target in mapping.copies()))


@_remembered
def answered_in_parts(mapping: Mapping) -> Mapping:
    """The mapping without what validity says must be there in the documents of its source, of which parts may be
    hidden. A node is not made without the key that identifies it, which its rules need not say of one that is required.
    """
    tree = mapping.source
    return replace(
        mapping,
        along=tuple(map(_with_keys, mapping.rules)),
        source=SchemaTree(of_parts(tree.graph), tree.boxes, tree.whole, tree.entered),
        source_references=tuple(replace(reference, inferred=False) for reference in mapping.source_references),
    )


def _with_keys(rule: Rule) -> Rule:
    keys = (head.term(head.key) for head in rule.head if head.key is not None)
    there = (Presence(key) for key in keys if key is not None)
    return replace(rule, conditions=tuple(dict.fromkeys((*rule.conditions, *there))))


def _taking_whole(tree: SchemaTree, copied: set[Path], leaves: set[Path], nodes: set[Path]) -> SchemaTree:
    entered = {leaf[:length] for leaf in leaves for length in range(len(leaf))}
    entered |= {node[:length] for node in nodes for length in range(len(node) + (node not in copied))}
    wholes = frozenset(path for path in copied if not any(path[:length] in copied for length in range(len(path))))
    return SchemaTree(tree.graph, tree.boxes, wholes, frozenset(filter(tree.is_element, entered)))


@_remembered
def source_constraints(mapping: Mapping) -> Constraints:
    """What every document that is valid for the source schema obeys: its keys and the references that validity
    guarantees.
    """
    references = frozenset((ref.source, ref.target) for ref in mapping.source_references if ref.inferred)
    varied = frozenset(_partly_carried(mapping))
    return Constraints(
        mapping.source, mapping.source_keys, references, valid=True, varied=varied, inverses=mapping.source_inverses
    )


def _partly_carried(mapping: Mapping) -> Iterator[Path]:
    """The source leaves of which a target leaf takes some values only, because the rule's body joins more than the leaf
    needs, or takes them under several tags: a query over the target does not ask for the others.
    """
    carried: dict[tuple[Path, Path], bool] = {}
    for rule in mapping.rules:
        for head in rule.head:
            for leaf, term in head.leaves:
                target, source = (*head.node, *leaf), rule.path(term)
                wholly = (
                    not rule.conditions
                    and not rule.optional
                    and len(_ancestry(rule, term.variable)) == len(rule.variables)
                )
                carried[target, source] = carried.get((target, source), False) or wholly
    for (target, source), wholly in carried.items():
        if not wholly or _boxed(mapping.target, target):
            yield source


MOST_MAKERS: Final = 150
"""Rules that make one node at most that are compared with each other."""
MOST_TYPES: Final = 100
"""Element types of a schema at most whose whole tree is looked at."""


def is_large(tree: SchemaTree) -> bool:
    """Whether only what arrows lead to is looked at of a schema: each other place of ``//name`` in a smaller one is a
    loss of its own, and arrows are proposed for it."""
    return len(tree.graph.elements) > MOST_TYPES


@_remembered
def image_constraints(mapping: Mapping) -> Constraints:
    """What target documents obey, images or not: images break keys and references, and miss what no rule supplies.

    A required node counts only where validity and every rule agree (``semantics.md`` section 8, step 3).
    """
    made = {(*stop, *path) for stop in making(mapping) if stop for path in _always_made(mapping, stop) if path}
    return Constraints(mapping.target, made=frozenset(made), varied=frozenset(_varied(mapping)))


def _varied(mapping: Mapping) -> Iterator[Path]:
    """The target leaves and tags that take the values of several source leaves, which members of a box are as well."""
    origins: dict[Path, set[Path]] = {}
    for rule in mapping.rules:
        for head in rule.head:
            for leaf, term in head.leaves:
                origins.setdefault((*head.node, *leaf), set()).add(rule.path(term))
    for target, sources in origins.items():
        if len(sources) > 1 or any(_boxed(mapping.source, source) for source in sources):
            yield target


def _boxed(tree: SchemaTree, path: Path) -> bool:
    return any(tree.box(path[:length]) is not None for length in range(1, len(path) + 1))


@_remembered
def as_asked(mapping: Mapping, numbers: bool) -> Constraints:
    """The constraints under which the pattern of a query is written as it was asked; ``numbers`` is whether it asks for
    these.
    """
    return replace(image_constraints(mapping), varied=_EVERYWHERE if numbers else frozenset())


@_remembered
def as_answered(mapping: Mapping, numbers: bool) -> Constraints:
    """The constraints under which the answer to a query is written. One with ``number()`` is no error where words are,
    so what is made of it must be none either.
    """
    constraints = source_constraints(mapping)
    return replace(constraints, varied=_EVERYWHERE) if numbers else constraints


def asks_for_numbers(expression: Expression) -> bool:
    """Whether a query has ``number()`` in it."""
    return any(isinstance(node, syntax.NumberValue) for node in syntax.nodes(expression))


def _ancestry(rule: Rule, name: str) -> set[str]:
    """A variable of a rule and those above it."""
    parents = {variable.name: variable.parent for variable in rule.variables}
    found: set[str] = set()
    current: str | None = name
    while current is not None:
        found.add(current)
        current = parents[current]
    return found


@_remembered
def making(mapping: Mapping) -> Table[Path, tuple[Rule, ...]]:
    """The rules that make nodes, by the nodes' target paths."""
    found: dict[Path, list[Rule]] = {}
    for rule in mapping.rules:
        for node in dict.fromkeys(head.node for head in rule.head):
            found.setdefault(node, []).append(rule)
    return {node: tuple(rules) for node, rules in found.items()}


def is_always_made(mapping: Mapping, stop: Path, path: Path) -> bool:
    """Whether every rule that makes the stop node gives it a leaf at, or below, the single-valued ``path``."""
    return bool(stop) and path in _always_made(mapping, stop)


@_remembered
def _always_made(mapping: Mapping, stop: Path) -> frozenset[Path]:
    sources = source_constraints(mapping)
    made = [frozenset(_surely_made(rule, stop, sources)) for rule in making(mapping).get(stop, ())]
    return frozenset.intersection(*made) if made else frozenset()


def _surely_made(rule: Rule, stop: Path, sources: Constraints) -> Iterator[Path]:
    """The paths of the leaves that a rule always gives a node, and of what is above these."""
    for leaf, term in _leaves(rule, stop):
        if guaranteed(rule, term, sources):
            yield from (path for path in (leaf[:length] for length in range(len(leaf) + 1)) if _is_at(leaf, path))


def _is_at(leaf: Path, path: Path) -> bool:
    """Whether a leaf stands at or below a path, and shows that something is there."""
    return leaf[: len(path)] == path and (leaf == path or not is_argument(leaf) or is_own_argument(leaf))


def _leaves(rule: Rule, node: Path) -> tuple[tuple[Path, Term], ...]:
    return next((head.leaves for head in rule.head if head.node == node), ())


def supplied(head: HeadNode, path: Path) -> Term | None:
    """The source term of a leaf of a head node, or of a node inside a subtree that it copies."""
    for leaf, term in head.leaves:
        if leaf == path or (leaf in head.copied and path[: len(leaf)] == leaf):
            return Term(term.variable, (*term.path, *path[len(leaf) :]))
    return None


@_remembered
def supplied_to_root(mapping: Mapping, path: Path) -> Term | None:
    """The source term of a leaf of the target's root, by a rule of which only the root is bound."""
    alone = (rule.head[0] for rule in mapping.rules if len(rule.variables) == 1 and not rule.conditions)
    return next((term for head in alone if (term := supplied(head, path)) is not None), None)


@_remembered
def is_filled(mapping: Mapping, node: Path, path: Path, *, or_below: bool = False) -> bool:
    """Whether some rule gives the nodes at ``node`` the leaf at ``path``; or makes, if that will do, anything below."""
    heads = [head for rule in mapping.rules for head in rule.head]
    if any(head.node == node and supplied(head, path) is not None for head in heads):
        return True
    here = (*node, *path)
    ends = ((*head.node, *leaf) for head in heads for leaf in ((), *dict(head.leaves)))
    return or_below and any(end[: len(here)] == here for end in ends)


def guaranteed(rule: Rule, term: Term, sources: Constraints) -> bool:
    """Whether a source term of a rule has a value whenever the body binds."""
    if any(term.variable in part.variables for part in rule.optional):
        return False
    return Presence(term) in rule.conditions or sources.required(rule.node(term.variable), term.path)


@_remembered
def has_several_origins(mapping: Mapping, node: Path) -> bool:
    """Whether several source nodes may complete one node of the target: it has a key, which identifies none of them, or
    identifies them in several places.
    """
    origins: set[Path] = set()
    for rule in making(mapping).get(node, ()):
        head = rule.at(node)
        if head.key is not None and (term := head.term(head.key)) is not None:
            origins.add(rule.path(term))
    return len(origins) > 1 or not origins <= mapping.source_keys


@_remembered
def completers(mapping: Mapping, rule: Rule, node: Path, path: Path) -> tuple[Rule, ...]:
    """The rules that may give a leaf to nodes that ``rule`` makes at ``node``, beside what it gives them itself.

    Only nodes that a source node or a key identifies get leaves from several rules; from one rule through several
    source nodes where their key identifies none of these.
    """
    own = rule.at(node)
    found: list[Rule] = []
    for other in making(mapping).get(node, ()):
        head = other.at(node)
        if _may_be_one(rule, own, other, head) and supplied(head, path) is not None:
            found.append(other)
    # What hangs below the node says nothing of its leaves that the rules of the node alone do not say.
    alone = [other for other in found if other.head[-1].node == node] or found
    if own.key is not None and has_several_origins(mapping, node):
        return tuple(alone)
    origin = _decided_origin(rule, own, path)
    return tuple(
        other
        for other in alone
        if other != rule and (origin is None or _decided_origin(other, other.at(node), path) != origin)
    )


def _may_be_one(rule: Rule, own: HeadNode, other: Rule, head: HeadNode) -> bool:
    if own.each is not None and head.each is not None:
        return rule.node(own.each) == other.node(head.each)
    return own.each is None and head.each is None and own.key is not None and own.key == head.key


def _decided_origin(rule: Rule, head: HeadNode, path: Path) -> tuple[Path, Path] | None:
    """Where a leaf comes from, if that is one place for each node that identifies the head node."""
    term = supplied(head, path)
    if term is None or head.anchor is None or term.variable not in _ancestry(rule, head.anchor):
        return None
    return rule.node(term.variable), term.path


@_remembered
def makers(mapping: Mapping, node: Path) -> tuple[Rule, ...]:
    """The rules that make nodes at ``node``, without those whose every node another of them makes as well; of more than
    :data:`MOST_MAKERS` all of them, which only costs brevity.
    """
    sources = source_constraints(mapping)
    rules = sorted(making(mapping).get(node, ()), key=lambda rule: len(rule.head))
    if len(rules) > MOST_MAKERS:
        return tuple(rules)
    forms = NormalForms(sources, go_on)
    kept, shown = list[Rule](), list[Sequence[NormalForm]]()
    for rule in rules:
        made = forms.of_all(_identities(mapping, rule, node))
        if not any(contains_all(other, made) for other in shown):
            kept.append(rule)
            shown += [made] if shows_itself(rule, node, sources) else []
    return tuple(kept)


def shows_itself(rule: Rule, node: Path, sources: Constraints) -> bool:
    """Whether a binding of the body always makes the node: it stands for a source node, or a leaf of its own is
    guaranteed.
    """
    head = rule.at(node)
    if head.follows:
        above = max((one.node for one in rule.head if len(one.node) < len(node)), key=len)
        return not above or shows_itself(rule, above, sources)
    leaves = ((leaf, term) for leaf, term in head.leaves if _is_at(leaf, ()) and not is_constant(term.path))
    return head.each is not None or any(guaranteed(rule, term, sources) for _, term in leaves)


@_remembered
def may_be_constant(mapping: Mapping, node: Path, path: Path) -> bool:
    """Whether some rule gives a leaf a constant, which makes no node."""
    terms = (supplied(rule.at(node), path) for rule in making(mapping).get(node, ()))
    return any(term is not None and is_constant(term.path) for term in terms)


@_remembered
def without_weaker(mapping: Mapping, rules: tuple[Rule, ...], node: Path, path: Path) -> tuple[Rule, ...]:
    """The rules without those that give a leaf to no node to which another of them does not give the same."""
    forms, kept = NormalForms(source_constraints(mapping), go_on), dict[Rule, Sequence[NormalForm]]()
    for rule in sorted(rules, key=lambda rule: len(rule.head)):
        made = forms.of_all(_identities(mapping, rule, node, path))
        if not any(contains_all(other, made) for other in kept.values()):
            kept[rule] = made
    return tuple(kept)


@_remembered
def _identities(mapping: Mapping, rule: Rule, node: Path, leaf: Path | None = None) -> tuple[Member, ...]:
    """The rule's body in each mode, with what identifies the node and its ancestors as an item; if one is asked for,
    with a leaf of the node.
    """
    found = []
    made = [head for head in rule.head if head.node and node[: len(head.node)] == head.node]
    needs = Needs({term for head in made for leaf, term in head.leaves if _identifies(head, leaf)})
    wanted = None if leaf is None else supplied(rule.at(node), leaf)
    if wanted is not None:
        needs.present.add(Term(wanted.variable, wanted.path))
    for modes in all_modes(rule, needs):
        copy = copy_rule(rule, "1", modes)
        content = tuple(
            ElementItem("/".join(head.selected or head.node), (), tuple(_identifying(mapping, head)))
            for head in copy.head
            if head.node and node[: len(head.node)] == head.node
        )
        variables = (Variable(ROOT, ()), *(variable for variable in copy.variables if variable.name != ROOT))
        conditions = frozenset(copy.conditions)
        if leaf is not None and (value := supplied(copy.node(node), leaf)) is not None:
            content = (*content, ElementItem("leaf", (), (LeafItem("element", "", value),)))
            conditions |= {Presence(value)}
        found.append(Member(variables, conditions, ElementItem("made", (), content)))
    return tuple(found)


def _identifying(mapping: Mapping, head: HeadNode) -> Iterator[LeafItem]:
    if head.each is not None:
        yield LeafItem("value", "", Term(head.each, (NODE,)))
    for leaf in ((TAG,), *mapping.target.own_leaves(head.node), *filter(is_argument, dict(head.leaves))):
        term = head.term(leaf)
        if term is not None and _identifies(head, leaf):
            yield LeafItem("element", "/".join(leaf) or ".", term)


def _identifies(head: HeadNode, leaf: Path) -> bool:
    return leaf == (TAG,) or (head.each is None and head.key in (None, leaf))

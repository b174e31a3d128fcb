"""What a mapping tells about documents: the constraints of its source, and what its images are sure to hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from heptox.mapping import Mapping, Rule
from heptox.pattern import TAG, Constraints, Dependency, ElementItem, LeafItem, Member, Term, member_contained
from heptox.schema import Path


def source_constraints(mapping: Mapping) -> Constraints:
    """What every document that is valid for the source schema obeys: its keys and the references that validity
    guarantees.
    """
    references = frozenset((ref.source, ref.target) for ref in mapping.source_references if ref.inferred)
    return Constraints(mapping.source, mapping.source_keys, references)


def image_constraints(mapping: Mapping) -> Constraints:
    """What target documents obey, images or not: images break keys and references, and miss what no rule supplies.

    A required node counts only where validity and every rule agree (``semantics.md`` section 8, step 3).
    """
    tree = mapping.target
    sources = source_constraints(mapping)
    unsure: set[Path] = set()
    for path in tree.walk():
        if not path:
            continue
        stop = tree.stop(path)
        if stop == path or not _always_made(mapping, sources, stop, path[len(stop) :]):
            unsure.add(path)
    return Constraints(tree, unsure=frozenset(unsure))


def contraction_constraints(mapping: Mapping) -> Constraints:
    """What may shorten a member over the target schema: also what the source's keys imply through the rules.

    Where every rule that makes a node fills one leaf from a key, and another from the element that the key identifies
    or one above it, the first decides the second: two admissions in Boston with one ``@ID`` are of one ``Patient``.
    """
    return replace(image_constraints(mapping), dependencies=frozenset(_dependencies(mapping)))


def _dependencies(mapping: Mapping) -> Iterator[Dependency]:
    for node in {head.node for rule in mapping.rules for head in rule.head}:
        rules = [rule for rule in mapping.rules if any(head.node == node for head in rule.head)]
        origins = [_origins(rule, node) for rule in rules]
        for determinant, key in origins[0].items():
            holder, path = key
            if (*holder, *path) not in mapping.source_keys:
                continue
            for determined, origin in origins[0].items():
                owner, _ = origin
                agreed = all(found.get(determinant) == key and found.get(determined) == origin for found in origins)
                if determined != determinant and holder[: len(owner)] == owner and agreed:
                    yield Dependency(node, determinant, determined)


def _origins(rule: Rule, node: Path) -> dict[Path, tuple[Path, Path]]:
    """For each leaf of a head node the source stop node and the path below it that fill it."""
    return {leaf: (rule.node(term.variable), term.path) for leaf, term in _leaves(rule, node)}


def _always_made(mapping: Mapping, sources: Constraints, stop: Path, path: Path) -> bool:
    """Whether every rule that makes the stop node gives it a leaf at, or below, the single-valued ``path``."""
    if not stop:
        return False
    makers = [rule for rule in mapping.rules if any(head.node == stop for head in rule.head)]
    return bool(makers) and all(
        any(leaf[: len(path)] == path and guaranteed(rule, term, sources) for leaf, term in _leaves(rule, stop))
        for rule in makers
    )


def _leaves(rule: Rule, node: Path) -> tuple[tuple[Path, Term], ...]:
    return next((head.leaves for head in rule.head if head.node == node), ())


def guaranteed(rule: Rule, term: Term, sources: Constraints) -> bool:
    """Whether a source term of a rule has a value whenever the body binds."""
    return sources.required(rule.node(term.variable), term.path)


def makers(mapping: Mapping, node: Path) -> tuple[Rule, ...]:
    """The rules that make nodes at ``node``, without those whose every node another of them makes as well."""
    sources = source_constraints(mapping)
    rules = [rule for rule in mapping.rules if any(head.node == node for head in rule.head)]
    rules.sort(key=lambda rule: len(rule.head))
    kept: list[Rule] = []
    for rule in rules:
        shown = _identity(mapping, rule, node)
        if not any(
            _surely_there(other, node, sources) and member_contained(shown, _identity(mapping, other, node), sources)
            for other in kept
        ):
            kept.append(rule)
    return tuple(kept)


def _surely_there(rule: Rule, node: Path, sources: Constraints) -> bool:
    """Whether a binding of the body always makes the node: some leaf of its own is guaranteed."""
    return any(guaranteed(rule, term, sources) for _, term in _leaves(rule, node))


def _identity(mapping: Mapping, rule: Rule, node: Path) -> Member:
    """The rule's body, with the arguments of the node and its ancestors as an item: what decides which node is made."""
    content: list[str | LeafItem] = []
    for head in rule.head:
        if head.node and node[: len(head.node)] == head.node:
            for leaf in ((TAG,), *mapping.target.own_leaves(head.node)):
                term = head.term(leaf)
                content.append("-" if term is None else LeafItem("element", "/".join(leaf), term))
    # Adjacent strings would merge; the node's path keeps the places of missing leaves apart.
    kept = tuple(item if isinstance(item, LeafItem) else f"{index}{item}" for index, item in enumerate(content))
    return Member(rule.variables, frozenset(rule.conditions), ElementItem("/".join(node) or "root", (), kept))

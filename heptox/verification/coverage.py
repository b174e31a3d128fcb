"""Which leaves of both sides one direction of a mapping speaks of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from heptox.mapping import Mapping, Rule, spoken_leaves, tested_values, with_plain_nodes
from heptox.pattern import TAG, Call, Leaf, computed_parts
from heptox.schema import TEXT, Path, SchemaTree, plain
from heptox.verification.round_trips import looked_at
from heptox.xml import XSI_NIL, XSI_TYPE


@dataclass(frozen=True, slots=True)
class Coverage:
    """The leaves of images that rules give values, and the others; the leaves of documents that they use, for values or
    conditions, and the others: whatever is selected. What is copied whole is one leaf.

    ``missing`` is what the schema requires in what is made, and no rule makes. Of a side whose schema is too large to
    be unfolded, the leaves are those right below nodes that the mapping speaks of.
    """

    reached: tuple[Path, ...]
    unreached: tuple[Path, ...]
    missing: tuple[Path, ...]
    used: tuple[Path, ...]
    unused: tuple[Path, ...]


def coverage(read: Mapping) -> Coverage:
    """What the rules of one direction reach and use."""
    made = {(*plain(head.node), *path) for rule in read.rules for head in rule.head for path in head.paths}
    nodes = {plain(head.node) for rule in read.rules for head in rule.head}
    spoken = {path for rule in read.rules for path in spoken_leaves(with_plain_nodes(rule))}
    spoken |= {path for rule in read.rules for path, _ in tested_values(rule)}
    texts = {path for rule in read.rules for path in _whole_texts(with_plain_nodes(rule))}
    spoken |= {leaf for leaf in looked_at(read.source, spoken) if _is_in(leaf, texts) and leaf[-1][0] != "@"}
    starts, ends = ({plain(pair[side]) for pair in read.copies()} for side in (0, 1))
    missing = tuple(_missing(read.target, made, nodes, ends))
    return Coverage(*_leaves(read.target, made, ends), missing, *_leaves(read.source, spoken, starts))


def _leaves(tree: SchemaTree, spoken: set[Path], wholes: set[Path]) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """The leaves of a schema of which rules speak, and the others."""
    found = {path: None for path in looked_at(tree, spoken) if path and tree.is_leaf(path)}
    leaves = [
        *(path for path in found if not _is_in(path, wholes) and path[-1] not in (f"@{XSI_NIL}", f"@{XSI_TYPE}")),
        *((*box.path, TAG) for box in tree.boxes),
        *sorted(wholes),
    ]
    return tuple(path for path in leaves if path in spoken), tuple(path for path in leaves if path not in spoken)


def _whole_texts(rule: Rule) -> Iterator[Path]:
    """The elements all text of which a rule takes."""
    for term in rule.terms():
        for part in computed_parts(term.path):
            match part:
                case Call("string", (Leaf(path),)):
                    yield (*rule.node(term.variable), *plain(path))


def _is_in(path: Path, wholes: Iterable[Path]) -> bool:
    return any(path[: len(whole)] == whole for whole in wholes)


def _missing(tree: SchemaTree, made: set[Path], nodes: set[Path], wholes: set[Path]) -> Iterator[Path]:
    """The leaves and elements that every valid document has in the elements which rules make, and images have not."""
    there = nodes | {leaf[:length] for leaf in made for length in range(len(leaf))}
    for path in sorted(there):
        if tree.is_leaf(path) or _is_in(path, wholes):
            continue
        for child in tree.children(path):
            default = tree.attribute(child).default if child[-1].startswith("@") else None
            if tree.edge(child).required and child[-1] != TEXT and default is None and child not in there | made:
                yield child

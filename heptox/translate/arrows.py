"""Which arrow would carry what a translation lost: the lost end is known, the other is looked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

# Not its names: rapidfuzz is loaded when two names are compared.
from heptox import mapping as mappings
from heptox.mapping import Mapping, owning_stop
from heptox.pattern import TAG, leaf_paths, value_expression
from heptox.schema import TEXT, AttributeType, Path, SchemaTree, plain
from heptox.translate.knowledge import is_large, makers, supplied
from heptox.translate.model import Direction
from heptox.xml import split_name

MOST_CANDIDATES: Final = 4
"""How many leaves are proposed for the other end of an arrow; of more than that, none is a proposal."""
LEAST_ALIKE: Final = 0.4
"""How alike the names of two leaves are, from 0 to 1, if an arrow between them is proposed."""
_IDENTIFIERS: Final = frozenset({AttributeType.ID, AttributeType.IDREF, AttributeType.IDREFS})
UNKNOWN: Final = "..."
"""What stands for the end of an arrow that only a person can name."""


def missing_arrow(mapping: Mapping, to: Direction, lost: Path) -> str | None:
    """The line of an ``.arrows`` file that would carry the lost leaf or node, as far as it is known.

    What is proposed for the other end is the leaf without an arrow that stands where the neighbours of the lost leaf
    are carried to: of several the one of the same name, and one with nothing in common by name is not proposed. What is
    not known is ``...``, with a comment. ``None`` where the lost node holds no leaf.
    """
    return _Proposal(mapping, to).line(lost)


def each_line(mapping: Mapping, to: Direction, node: Path, wanted: Path) -> str | None:
    """The line of an ``.arrows`` file after which a node of the other side stands for each of the asker's at ``node``:
    the one above what becomes the ``wanted`` node or leaf, or one that has leaves of the node. ``None`` without such.

    ``mapping`` is read for the side ``to`` that answers.
    """
    stop = mapping.target.stop(wanted)
    for rule in makers(mapping, stop):
        head = rule.at(stop)
        term = supplied(head, wanted[len(stop) :]) if stop != wanted else next((term for _, term in head.leaves), None)
        parents = {variable.name: variable.parent for variable in rule.variables}
        names = [] if term is None else [parents[term.variable]]
        names += [term.variable for _, term in rule.at(node).leaves]
        source = next((rule.node(name) for name in names if name is not None and rule.node(name)), None)
        if source is not None:
            ends = _written(mapping.source, source), _written(mapping.target, node)
            return "each " + " -> ".join(ends if to is Direction.SOURCE else ends[::-1])
    return None


def _computed_of(mapping: Mapping) -> Iterator[Path]:
    """The leaves of the source that functions take."""
    for rule in mapping.rules:
        for term in (term for head in rule.head for _, term in head.leaves):
            if (expression := value_expression(term.path)) is not None:
                yield from (plain((*rule.node(term.variable), *path)) for path in leaf_paths(expression))


class _Proposal:
    def __init__(self, mapping: Mapping, to: Direction) -> None:
        read = to.answered_by(mapping)
        self.backward = to is Direction.SOURCE
        self.tree, self.other = read.target, read.source
        pairs = list(dict.fromkeys((target, source) for source, target in read.carried()))
        self.pairs = pairs
        self.used = {other for _, other in pairs}
        mirrored = read.mirrored()
        self.one_way = dict(mirrored.carried())
        """The leaves that arrows carry to the other side only, with those that they are carried to."""
        self.computed_of = set(_computed_of(mirrored))

    def line(self, lost: Path) -> str | None:
        if lost[-1:] == (TAG,):
            lost = lost[:-1]
        elif lost[-1:] == (TEXT,) and lost[:-1] in self.tree and self.tree.element(lost[:-1]).mixed:
            return self.arrow(lost[:-1], UNKNOWN, "=>")  # the text repeats, between its children
        elif self.copied(lost):
            return self.arrow(lost, UNKNOWN, "=>")
        elif lost in self.tree and not self.tree.is_leaf(lost) and self.tree.box(lost) is None:
            # identifiers and references last, which need no arrow
            leaves = sorted((path for path in self.tree.walk(lost) if self.tree.is_leaf(path)), key=self.identifies)
            if not leaves:
                return None
            lost = next((leaf for leaf in leaves if self.meant(leaf) is not None), leaves[0])
        if (drawn := self.one_way.get(lost)) is not None and not self.identifies(lost):
            line = self.arrow(lost, _written(self.other, drawn))
            if lost in self.computed_of:
                return f"{line} inverse {UNKNOWN}   # behind the arrow that is drawn, which computes {line.split()[-1]}"
            return f"{line}   # it is drawn, for the other direction only"
        meant = self.meant(lost)
        if meant is not None:
            return self.arrow(lost, _written(self.other, meant))
        candidates = [_written(self.other, path) for path in self.candidates(lost)]
        owners = [_written(self.other, owner) for owner in self.neighbours(lost)]
        if 0 < len(candidates) <= MOST_CANDIDATES:
            return f"{self.arrow(lost, UNKNOWN)}   # free: {', '.join(candidates)}"
        if not candidates and owners:
            return f"{self.arrow(lost, UNKNOWN)}   # no leaf of {' or '.join(owners)} is free"
        return self.arrow(lost, UNKNOWN)

    def arrow(self, lost: Path, other: str, sign: str = "->") -> str:
        ends = (other, _written(self.tree, lost)) if self.backward else (_written(self.tree, lost), other)
        return f"{ends[0]} {sign} {ends[1]}"

    def copied(self, lost: Path) -> bool:
        """Whether only an arrow that copies the subtree can carry the node: its content has no bound."""
        inside = lost in self.tree and self.tree.is_element(lost) and not self.tree.is_leaf(lost)
        return inside and self.tree.box(lost) is None and self.tree.is_recursive(lost)

    def candidates(self, lost: Path) -> list[Path]:
        """The free leaves where the neighbours are carried to, of the same name if there are; or one such elsewhere.

        Of a large schema, none are looked for.
        """
        if is_large(self.other):
            return []
        free = [
            (*owner, *leaf)
            for owner in self.neighbours(lost)
            for leaf in self.other.own_leaves(owner)
            if (*owner, *leaf) not in self.used and not self.repeats((*owner, *leaf))
        ]
        named = [path for path in free if _name(path) == _name(lost)]
        if named or free:
            return named or free
        alike = [path for path in self.leaves() if path not in self.used and _name(path) == _name(lost)]
        return alike if len(alike) == 1 else []

    def meant(self, lost: Path) -> Path | None:
        """The leaf that is proposed for the other end, if there is just one."""
        found = self.candidates(lost)
        return found[0] if len(found) == 1 and self.alike(lost, found[0]) else None

    def identifies(self, leaf: Path) -> bool:
        """Whether a leaf is an identifier, or refers to one."""
        return leaf[-1].startswith("@") and self.tree.attribute(leaf).type in _IDENTIFIERS

    def alike(self, lost: Path, other: Path) -> bool:
        """Whether the names of two leaves have something in common, perhaps with those of their parents."""
        names = *_last_names(self.tree, lost), *_last_names(self.other, other)
        return mappings.Names(names).with_owners(*names) >= LEAST_ALIKE

    def repeats(self, leaf: Path) -> bool:
        """Whether a leaf of the other side is text among elements, which no arrow can fill."""
        return leaf[-1:] == (TEXT,) and self.other.element(leaf[:-1]).mixed

    def neighbours(self, lost: Path) -> list[Path]:
        """The stop nodes to which leaves of the lost one's stop node are carried, or else of the next above it, then
        with what repeats below them.
        """
        for stop in reversed([stop for stop in self.tree.stops(lost) if stop]):
            ends = [other for path, other in self.pairs if owning_stop(self.tree, path) == stop]
            owners = list(dict.fromkeys(owning_stop(self.other, end) for end in ends))
            if owners:
                below = (
                    []
                    if stop == owning_stop(self.tree, lost)
                    else [c for o in owners for c in self.other.child_stops(o)]
                )
                return list(dict.fromkeys(owner for owner in (*owners, *below) if owner))
        return []

    def leaves(self) -> Iterator[Path]:
        return (path for path in self.other.walk() if path and self.other.is_leaf(path))


def _name(path: Path) -> str:
    return _names(path)[-1].casefold()


def _names(path: Path) -> list[str]:
    """The names of the elements, boxes and attributes on the way to a leaf; never none."""
    return [split_name(step.strip("@[]"))[1] for step in path if step not in (TEXT, TAG)] or [""]


def _last_names(tree: SchemaTree, path: Path) -> tuple[str, str]:
    """The name of a leaf, and that of its parent."""
    names = [split_name(tree.root)[1], *_names(path)]
    return names[-1], names[-2]


def _written(tree: SchemaTree, path: Path) -> str:
    """A path as an ``.arrows`` file writes it: a box stands for the path to it."""
    box = next((length for length in range(len(path), 0, -1) if tree.box(path[:length]) is not None), None)
    return tree.written(path if box is None else path[box - 1 :])

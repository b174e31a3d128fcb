"""The arrows of a mapping, checked against both schemas (``semantics.md`` section 2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from heptox.grammar import Arrow, BoxDeclaration, ComputedValue, Entity as EntityLine, SchemaPath
from heptox.mapping.computed_leaves import computed_leaf, returned_leaves
from heptox.mapping.content import content_difference
from heptox.mapping.declarations import DeclaredSide, Members, resolve, resolve_member
from heptox.mapping.findings import Findings
from heptox.mapping.paths import Leaf, is_at_or_below, leaf_at, leaf_text, path_text
from heptox.pattern import (
    TAG,
    Inverse,
    Leaf as LeafValue,
    ValueExpression,
    substituted,
    value_expression,
)
from heptox.schema import TEXT, Path, SchemaTree, plain, split_selection

Membership: TypeAlias = tuple[Path, str]
"""A box and the value of one of its members: a node of the box whose tag is that member."""


@dataclass(frozen=True, slots=True)
class Correspondence:
    """An arrow between two leaves; when ``copied`` both are inner nodes, whose value is their subtree.

    It leads only out of nodes that are ``out_of`` members of source boxes, and only ``into`` such of target boxes; of
    the boxes that are not named there, all nodes are meant. Of a computed value, ``returned`` says for leaves of the
    source how they are had from the target.
    """

    source: Leaf
    target: Leaf
    copied: bool = False
    out_of: frozenset[Membership] = frozenset()
    into: frozenset[Membership] = frozenset()
    arrow: Arrow | None = field(default=None, compare=False, repr=False)
    returned: tuple[tuple[Leaf, Leaf], ...] = ()

    def mirrored(self) -> tuple[Correspondence, ...]:
        """The arrow read from its target to its source: one for each leaf that it supplies there."""
        ends = self.returned if value_expression(self.source.path) else ((self.source, self.target),)
        return tuple(
            Correspondence(value, leaf, self.copied, self.into, self.out_of, self.arrow) for leaf, value in ends
        )

    def is_part_of(self, other: Correspondence) -> bool:
        """Whether the other arrow carries all that this one does."""
        same = (self.source, self.target) == (other.source, other.target)
        return same and other.out_of <= self.out_of and other.into <= self.into


@dataclass(frozen=True, slots=True)
class Entity:
    """An ``each`` line: every node at the stop node ``source`` makes a node of its own at the stop node ``target``."""

    source: Path
    target: Path
    line: EntityLine | None = field(default=None, compare=False, repr=False)

    def mirrored(self) -> Entity:
        """The line read from its target to its source."""
        return Entity(self.target, self.source, self.line)


def entities(
    lines: Sequence[EntityLine], source: DeclaredSide, target: DeclaredSide, findings: Findings
) -> tuple[Entity, ...]:
    """The ``each`` lines that mean something, in the order of the file; what is wrong goes to ``findings`` (HX4025 for
    a node that does not repeat).
    """
    found: list[Entity] = []
    for line in lines:
        ends = [_repeating(side, written, findings) for side, written in ((source, line.source), (target, line.target))]
        if ends[0] is None or ends[1] is None:
            continue
        entity = Entity(ends[0], ends[1], line)
        if entity in found:
            findings.add("HX4004", f"the line {line} stands twice", line, "keep one of the lines")
        else:
            found.append(entity)
    return tuple(found)


def _repeating(side: DeclaredSide, written: SchemaPath, findings: Findings) -> Path | None:
    path = resolve(side, written, findings)
    if path is None or (path and side.tree.is_element(path) and side.tree.is_stop(path)):
        return path
    stop = side.tree.stop(path)
    hint = f"did you mean {path_text(side.tree, stop)}?" if stop else "name an element that repeats"
    findings.add("HX4025", f"{written} does not repeat: there is one for its parent", written, hint)
    return None


def correspondences(
    arrows: Sequence[Arrow], source: DeclaredSide, target: DeclaredSide, findings: Findings
) -> tuple[Correspondence, ...]:
    """The arrows that mean something, in the order of the file; what is wrong goes to ``findings``."""
    found: list[Correspondence] = []
    for arrow in arrows:
        correspondence = _correspondence(arrow, source, target, findings)
        if correspondence is None:
            continue
        same = [
            known for known in found if (known.source, known.target) == (correspondence.source, correspondence.target)
        ]
        if any(known == correspondence for known in same):
            findings.add("HX4004", f"the arrow {arrow} stands twice", arrow, "keep one of the lines")
        elif any(correspondence.is_part_of(known) or known.is_part_of(correspondence) for known in same):
            message = f"the arrow {arrow} stands twice, for a whole box and for one member of it"
            findings.add("HX4004", message, arrow, "keep one of the lines")
        else:
            found.append(correspondence)
    _check_overlaps(found, target.tree, findings)
    _check_root_leaves(found, source.tree, target.tree, findings)
    return tuple(found)


def declared_inverses(found: Iterable[Correspondence]) -> tuple[Inverse, ...]:
    """How leaves of the source are had from the values that arrows compute of them.

    That promises nothing of the mirrored reading, whose functions they are: they may give one value for several.
    """
    return tuple(
        Inverse(plain(c.source.stop), c.source.path[-1], leaf.path, _of_value(value))
        for c in found
        for leaf, value in c.returned
        if leaf.stop == c.source.stop and c.arrow and c.arrow.inverses
    )


def _of_value(leaf: Leaf) -> ValueExpression:
    """What a leaf takes as an expression over the value itself."""
    expression = value_expression(leaf.path)
    return LeafValue(()) if expression is None else substituted(expression, lambda _: LeafValue(()))


def lines_ends(found: Iterable[Correspondence], lines: Iterable[Entity]) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """The nodes and leaves of each side that lines speak of."""
    ends = [*((c.source.absolute, c.target.absolute) for c in found), *((e.source, e.target) for e in lines)]
    return tuple(source for source, _ in ends), tuple(target for _, target in ends)


def is_selected_by(leaf: Leaf) -> bool:
    """Whether a leaf is one by which its virtual node is selected: it has one value."""
    tests = split_selection(leaf.stop[-1])[1] if leaf.stop else ()
    return any(test.test == "=" and len(test.values) == 1 and test.path == leaf.path for test in tests)


def selecting_leaves(path: Path) -> Iterator[Path]:
    """The leaves that get a string where the nodes on a path are made: those of their selections."""
    for length, step in enumerate(path, 1):
        for test in split_selection(step)[1]:
            if test.test == "=":
                yield (*plain(path[:length]), *test.path)


def is_inside(leaf: Path, wholes: Iterable[Path]) -> bool:
    """Whether a leaf is one of some nodes, virtual ones or not, or lies in one."""
    return any(is_at_or_below(leaf, plain(whole)) for whole in wholes)


def check_boxes(
    boxes: Iterable[BoxDeclaration], found: Sequence[Correspondence], sides: Sequence[DeclaredSide], findings: Findings
) -> None:
    """Report each box whose tags no arrow relates to values."""
    ends = {side.name: {c.source if side.name == "source" else c.target for c in found} for side in sides}
    drawn = {(side.name, box.name): box for side in sides for box in side.tree.boxes}
    for declared in boxes:
        box = drawn.get((declared.side, declared.name))
        if box and Leaf(box.path, (TAG,)) not in ends[declared.side]:
            example = f"LEAF -> {box.step}" if declared.side == "target" else f"{box.step} -> LEAF"
            findings.add("HX4008", f"no arrow relates the tags in the box {box.name} to values", declared,
                         f"draw one: {example}")  # fmt: skip


def _correspondence(
    arrow: Arrow, source: DeclaredSide, target: DeclaredSide, findings: Findings
) -> Correspondence | None:
    if arrow.copies:
        return _copy(arrow, source, target, findings)
    end = _leaf(target, arrow.target, findings)
    if end and is_selected_by(end[0]) and arrow.reading != "against":
        message = f"{leaf_text(target.tree, end[0])} has the value that its selection compares it with"
        findings.add("HX4038", message, arrow.target, "leave the arrow out, or the condition")
        return None
    if isinstance(arrow.source, ComputedValue):
        value = end and computed_leaf(source, arrow.source, end[0], findings)
        if value is None or end is None:
            return None
        returned = returned_leaves(source, arrow, value, end[0], findings)
        found = Correspondence(value, end[0], into=end[1], arrow=arrow, returned=returned)
        return _allowed(found, source.tree, target.tree, findings)
    start = _leaf(source, arrow.source, findings)
    return _allowed(_between(start, end, arrow), source.tree, target.tree, findings) if start and end else None


def _between(start: _End, end: _End, arrow: Arrow) -> Correspondence:
    return Correspondence(start[0], end[0], arrow.copies, start[1], end[1], arrow)


def _allowed(
    correspondence: Correspondence, begin: SchemaTree, end: SchemaTree, findings: Findings
) -> Correspondence | None:
    source, target = correspondence.source, correspondence.target
    if target.stop or not source.stop or (correspondence.arrow and correspondence.arrow.reading == "against"):
        return correspondence
    taken = leaf_text(begin, source)
    message = f"{leaf_text(end, target)} stands once below the root and cannot take {taken}, which repeats"
    hint = "only a leaf that the source's root owns goes there"
    findings.add("HX4013", message, correspondence.arrow, hint)
    return None


_End: TypeAlias = tuple[Leaf, frozenset[Membership]]


def _end(side: DeclaredSide, path: Path, members: Members) -> _End:
    return leaf_at(side.tree, path), frozenset(
        (box.path, box.values[box.members.index(member)]) for box, member in members
    )


def _leaf(side: DeclaredSide, written: SchemaPath, findings: Findings) -> _End | None:
    found = resolve_member(side, written, findings)
    if found is None:
        return None
    path, members = found
    if side.tree.box(path) or side.tree.is_leaf(path):
        return _end(side, *found)
    text = (*path, TEXT)
    if not side.tree.element(path).children and text in side.tree and not side.tree.edge(text).repeats:
        return _end(side, text, members)  # it has attributes beside its value
    findings.add("HX4009", f"{path_text(side.tree, path)} is no leaf", written, _leaf_hint(side.tree, path))
    return None


def _leaf_hint(tree: SchemaTree, path: Path) -> str:
    leaves = [path_text(tree, path + leaf) for leaf in tree.own_leaves(path) if leaf]
    if (*path, TEXT) in tree and not tree.edge((*path, TEXT)).repeats:
        return f"did you mean {path_text(tree, (*path, TEXT))}?"
    copy = f"=> copies {path_text(tree, path)} whole"
    return f"leaves there: {', '.join(leaves[:12])}; {copy}" if leaves else copy


# -- copied subtrees ---------------------------------------------------------------------------------------------


def _copy(arrow: Arrow, source: DeclaredSide, target: DeclaredSide, findings: Findings) -> Correspondence | None:
    assert isinstance(arrow.source, SchemaPath)  # the grammar copies nothing else
    start = _inner(source, arrow.source, findings)
    end = _inner(target, arrow.target, findings)
    if start is None or end is None:
        return None
    begin, finish = start[0].absolute, end[0].absolute
    types = source.tree.element(begin).key, target.tree.element(finish).key
    if difference := content_difference(source.tree.graph, types[0], target.tree.graph, types[1]):
        ends = path_text(source.tree, begin), path_text(target.tree, finish)
        message = f"{ends[0]} cannot be copied to {ends[1]}: {difference}"
        findings.add("HX4012", message, arrow, "both ends must have the same content by their schemas")
        return None
    return _allowed(_between(start, end, arrow), source.tree, target.tree, findings)


def _inner(side: DeclaredSide, written: SchemaPath, findings: Findings) -> _End | None:
    found = resolve_member(side, written, findings)
    if found is None:
        return None
    path, _ = found
    if side.tree.box(path):
        message = f"the box {path_text(side.tree, path)} cannot be copied whole"
        findings.add("HX4012", message, written, "draw an arrow for its tags and one for each leaf below")
        return None
    if side.tree.is_leaf(path):
        findings.add("HX4012", f"{path_text(side.tree, path)} is a leaf", written, "a leaf takes ->")
        return None
    return _end(side, *found)


def _check_overlaps(found: Iterable[Correspondence], tree: SchemaTree, findings: Findings) -> None:
    targets = list(found)
    copies = {c.target.absolute for c in targets if c.copied}
    for correspondence in targets:
        path = correspondence.target.absolute
        above = next((path[:length] for length in range(1, len(path)) if path[:length] in copies), None)
        inside = next((leaf for leaf in selecting_leaves(path) if is_inside(leaf, copies)), None)
        if inside is not None and (correspondence.arrow is None or correspondence.arrow.reading != "against"):
            message = f"{path_text(tree, inside)} selects, and lies in what another arrow fills whole"
            findings.add("HX4022", message, correspondence.arrow, "keep either the copy or the condition")
        elif above is not None:
            target = leaf_text(tree, correspondence.target)
            message = f"{target} lies in {path_text(tree, above)}, which another arrow fills whole"
            findings.add("HX4022", message, correspondence.arrow, "keep either the copy or the arrows below it")


def _check_root_leaves(
    found: Iterable[Correspondence], source: SchemaTree, target: SchemaTree, findings: Findings
) -> None:
    """The root is one node whatever rule makes it, so alternatives for its leaf would be two values of one leaf."""
    taken: dict[Leaf, Leaf] = {}
    for correspondence in found:
        if correspondence.arrow and correspondence.arrow.reading == "against":
            continue
        first = taken.setdefault(correspondence.target, correspondence.source)
        if not correspondence.target.stop and first != correspondence.source:
            takes = leaf_text(target, correspondence.target)
            message = f"{takes} stands once below the root and takes {leaf_text(source, first)} already"
            findings.add("HX4019", message, correspondence.arrow, "a leaf that the root owns takes one arrow")

"""The lines of a mapping read from source to target, and from target to source (``semantics.md`` section 2, *Both
directions*).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from heptox.mapping.constants import ConstantLeaf, with_constants
from heptox.mapping.correspondences import (
    Correspondence,
    Entity,
    is_inside,
    is_selected_by,
    lines_ends,
    selecting_leaves,
)
from heptox.mapping.declarations import DeclaredSide, with_virtual_nodes
from heptox.mapping.findings import Findings
from heptox.mapping.inference import infer_rules
from heptox.mapping.model import Reference, Rule
from heptox.mapping.paths import Leaf, is_at_or_below, leaf_text, path_text
from heptox.mapping.surrogates import with_surrogates
from heptox.schema import AttributeType, Path, SchemaTree, plain, split_selection


@dataclass(frozen=True, slots=True)
class MappingLines:
    """The lines of a file of which rules are inferred, and its sides as they are declared."""

    arrows: tuple[Correspondence, ...]
    entities: tuple[Entity, ...]
    constants: tuple[ConstantLeaf, ...]
    source: DeclaredSide
    target: DeclaredSide


@dataclass(frozen=True)
class Reading:
    """The lines as they are read in one direction, and the sides that documents are of and are made for, with all that
    is known of their nodes then. What they make is what is at or ``below`` a node.
    """

    arrows: tuple[Correspondence, ...]
    entities: tuple[Entity, ...]
    source: DeclaredSide
    target: DeclaredSide
    mirrored: bool = False
    below: Path = ()

    def inferred(self, findings: Findings) -> tuple[tuple[Rule, ...], frozenset[Path]]:
        """The rules, and the leaves that they invent; what is wrong goes to ``findings``."""
        sides = self.source, self.target
        made = with_surrogates(self.arrows, self.entities, *sides)
        rules = infer_rules(made, self.entities, sides, findings, mirrored=self.mirrored, below=self.below)
        return rules, made.invented

    def near(self, node: Path) -> Reading:
        """The lines that decide on the rules for what is at and below a node that is made; all of a target with boxes,
        or references, by which they decide on each other's.
        """
        if self.target.references or self.target.tree.boxes:
            return self
        above = {node[:length] for length in range(len(node))}
        near = [
            *self._arrows_below.get(node, ()),
            *(number for stop in above for number in self._arrows_at.get(stop, ())),
        ]
        return replace(
            self,
            below=node,
            arrows=tuple(self.arrows[number] for number in sorted(near)),
            entities=tuple(e for e in self.entities if e.target in above or is_at_or_below(e.target, node)),
        )

    @cached_property
    def _arrows_at(self) -> Mapping[Path, Sequence[int]]:
        """The numbers of the arrows by the target stop node to which they lead."""
        found: dict[Path, list[int]] = {}
        for number, arrow in enumerate(self.arrows):
            found.setdefault(arrow.target.stop, []).append(number)
        return found

    @cached_property
    def _arrows_below(self) -> Mapping[Path, Sequence[int]]:
        """The same by all nodes at and above that one."""
        found: dict[Path, list[int]] = {}
        for stop, numbers in self._arrows_at.items():
            for length in range(len(stop) + 1):
                found.setdefault(stop[:length], []).extend(numbers)
        return found

    def drawn(self, node: Path) -> Path:
        """The source node of the lines that a rule's is one of: a rule has one value where selections have several."""
        if node in self._source_nodes:
            return node
        return next((one for one in self._source_nodes if _says_of_several(one, node)), node)

    @cached_property
    def _source_nodes(self) -> Mapping[Path, None]:
        ends = [c.source.stop for c in self.arrows] + [e.source for e in self.entities]
        return dict.fromkeys(end[:length] for end in ends for length in range(len(end) + 1))

    def with_each(self, entity: Entity) -> Reading:
        """The same with an ``each`` line more, between nodes of the rules as they are read."""
        return replace(self, entities=(*self.entities, entity))


def _says_of_several(several: Path, one: Path) -> bool:
    """Whether a node is another one, with one value where a condition of that has several."""
    if len(several) != len(one) or plain(several) != plain(one):
        return False
    pairs = zip(map(split_selection, several), map(split_selection, one), strict=True)
    return all(
        len(tests) == len(single)
        and all(
            (test.test, test.path) == (other.test, other.path) and set(other.values) <= set(test.values)
            for test, other in zip(sorted(tests), sorted(single), strict=True)
        )
        for (_, tests), (_, single) in pairs
    )


def read_along(lines: MappingLines) -> Reading:
    """The lines that are read from source to target."""
    arrows, entities = with_constants(
        lines.constants,
        tuple(c for c in lines.arrows if c.arrow is None or c.arrow.reading != "against"),
        tuple(e for e in lines.entities if e.line is None or e.line.reading != "against"),
        along=True,
    )
    return _reading(arrows, entities, (lines.source, lines.target))


def read_mirrored(lines: MappingLines, remarks: Findings) -> tuple[Reading, tuple[Reference, ...]]:
    """The lines that are read from target to source, and the references of the target that are known then.

    What cannot be mirrored goes to ``remarks``: it makes no rule (HX4026).
    """
    answering = _with_implied_references(lines.arrows, lines.target, remarks)
    found, entities = with_constants(lines.constants, lines.arrows, lines.entities, along=False)
    arrows = tuple(_mirrored(found, (lines.source, answering), remarks))
    mirrored = tuple(e.mirrored() for e in entities if e.line is None or e.line.reading != "along")
    return _reading(arrows, mirrored, (answering, lines.source), mirrored=True), answering.references


def _reading(
    arrows: tuple[Correspondence, ...],
    entities: tuple[Entity, ...],
    sides: tuple[DeclaredSide, DeclaredSide],
    *,
    mirrored: bool = False,
) -> Reading:
    ends = lines_ends(arrows, entities)
    seen = with_virtual_nodes(sides[0], ends[0]), with_virtual_nodes(sides[1], ends[1])
    return Reading(arrows, entities, *seen, mirrored)


def _mirrored(
    found: Sequence[Correspondence], sides: tuple[DeclaredSide, DeclaredSide], remarks: Findings
) -> Iterator[Correspondence]:
    """The arrows from target to source, without those that have no meaning there."""
    target = sides[1]
    trees = sides[0].tree, target.tree
    read = []
    for correspondence in found:
        if correspondence.arrow is None or correspondence.arrow.reading != "along":
            back = correspondence.mirrored()
            read += [replace(correspondence, source=one.target, target=one.source, returned=()) for one in back]
            if not back:
                message = f"no inverse says how leaves are had from {leaf_text(target.tree, correspondence.target)}"
                remarks.add("HX4026", message, correspondence.arrow, "write inverse EXPRESSION behind it, or oneway")
    valued = {c.source for c in read if not _is_identifier(target, c.target)}
    wholes = {c.source.absolute for c in read if c.copied}
    taken: dict[Leaf, Leaf] = {}
    for correspondence in read:
        source, leaf = correspondence.source, correspondence.target
        if _is_identifier(target, leaf) and source in valued:
            continue  # it carries identity; the value comes back from where another arrow has put it
        above = next(
            (path for path in wholes if path != source.absolute == (*path, *source.absolute[len(path) :])), None
        )
        if above is not None:
            message = f"{leaf_text(trees[0], source)} lies in {path_text(trees[0], above)}, which comes back whole"
            remarks.add("HX4026", message, correspondence.arrow, "write oneway behind the arrow")
        elif any(is_inside(leaf, wholes) for leaf in selecting_leaves(source.absolute)):
            message = f"{leaf_text(trees[0], source)} is selected by what lies in what comes back whole"
            remarks.add("HX4026", message, correspondence.arrow, "write oneway behind the arrow")
        elif is_selected_by(source):
            message = f"{leaf_text(trees[0], source)} has the value that its selection compares it with"
            remarks.add("HX4026", message, correspondence.arrow, "write oneway behind the arrow")
        elif not source.stop and leaf.stop:
            taker, taken_leaf = leaf_text(trees[0], source), leaf_text(trees[1], leaf)
            message = f"{taker} stands once below the root and cannot take {taken_leaf}, which repeats"
            remarks.add("HX4026", message, correspondence.arrow, "write oneway behind the arrow")
        elif not source.stop and taken.setdefault(source, leaf) != leaf:
            other = leaf_text(trees[1], taken[source])
            message = f"{leaf_text(trees[0], source)} stands once below the root and takes {other} already"
            remarks.add("HX4026", message, correspondence.arrow, "write oneway behind one of the arrows")
        else:
            yield from correspondence.mirrored()


def _is_identifier(side: DeclaredSide, leaf: Leaf) -> bool:
    """Whether a leaf identifies an element, or refers to one that another leaf identifies."""
    path = leaf.absolute
    ends = {end for reference in side.references for end in (reference.source, reference.target)}
    return path in ends or _attribute_type(side.tree, path) in (AttributeType.ID, AttributeType.IDREF)


def _attribute_type(tree: SchemaTree, path: Path) -> AttributeType | None:
    return tree.attribute(path).type if path and path[-1].startswith("@") else None


def _with_implied_references(found: Sequence[Correspondence], target: DeclaredSide, remarks: Findings) -> DeclaredSide:
    """The target with a reference from each ``IDREF`` to the one ``ID`` that takes the same leaf, where none is known:
    the two arrows say that one holds what the other does.
    """
    known = {reference.source for reference in target.references}
    implied: dict[Path, Reference] = {}
    for correspondence in found:
        path = correspondence.target.absolute
        if path in known or path in implied or _attribute_type(target.tree, path) is not AttributeType.IDREF:
            continue
        keys = {
            other.target.absolute
            for other in found
            if other.source == correspondence.source
            and _attribute_type(target.tree, other.target.absolute) is AttributeType.ID
        }
        if len(keys) == 1:
            reference = implied[path] = Reference(path, keys.pop())
            holder, key = path_text(target.tree, path), path_text(target.tree, reference.target)
            message = f"{holder} is taken to refer to {key}: both take the same leaf"
            hint = f"to be sure, declare it: target reference {holder} -> {key}"
            remarks.add("HX4027", message, correspondence.arrow, hint)
    return replace(target, references=(*target.references, *implied.values()))

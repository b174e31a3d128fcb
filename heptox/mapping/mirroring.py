"""The lines of a mapping read from target to source (``semantics.md`` section 2, *Both directions*)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

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
from heptox.mapping.paths import Leaf, leaf_text, path_text
from heptox.mapping.surrogates import with_surrogates
from heptox.schema import AttributeType, Path, SchemaTree

Lines = tuple[tuple[Correspondence, ...], tuple[Entity, ...]]


def read_along(found: Sequence[Correspondence], entities: Sequence[Entity], constants: Sequence[ConstantLeaf]) -> Lines:
    """The lines that are read from source to target."""
    return with_constants(
        constants,
        tuple(c for c in found if c.arrow is None or c.arrow.reading != "against"),
        tuple(e for e in entities if e.line is None or e.line.reading != "against"),
        along=True,
    )


@dataclass(frozen=True, slots=True)
class MirroredReading:
    """The rules of the mirrored reading, the target with the references that the arrows imply, and the leaves of the
    source that are invented.
    """

    rules: tuple[Rule, ...]
    target: DeclaredSide
    invented: frozenset[Path]


def infer_mirrored(
    found: Sequence[Correspondence],
    entities: Sequence[Entity],
    constants: Sequence[ConstantLeaf],
    sides: tuple[DeclaredSide, DeclaredSide],
    remarks: Findings,
) -> MirroredReading:
    """The rules of the mirrored reading.

    What cannot be mirrored, or connected, goes to ``remarks``: it makes no rule (HX4026, and as
    :func:`~heptox.mapping.inference.infer_rules`).
    """
    source, target = sides
    answering = _with_implied_references(found, target, remarks)
    found, entities = with_constants(constants, found, entities, along=False)
    arrows = tuple(_mirrored(found, (source, answering), remarks))
    lines = tuple(e.mirrored() for e in entities if e.line is None or e.line.reading != "along")
    ends = lines_ends(arrows, lines)
    seen = with_virtual_nodes(answering, ends[0]), with_virtual_nodes(source, ends[1])
    made = with_surrogates(arrows, lines, *seen)
    rules = infer_rules(made, lines, seen, remarks, mirrored=True)
    return MirroredReading(rules, answering, made.invented)


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

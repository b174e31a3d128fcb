"""Leaves that always have one value: ``"text" -> leaf`` (``semantics.md`` section 2).

A leaf of a node that repeats gets its constant as a selection does: all that is drawn into the node goes to the virtual
node whose leaf equals it. So the other reading has the constant for a condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from heptox.grammar import Arrow, ComputedValue
from heptox.mapping.correspondences import Correspondence, Entity
from heptox.mapping.declarations import DeclaredSide, resolve
from heptox.mapping.findings import Findings
from heptox.mapping.paths import Leaf, leaf_at, path_text
from heptox.mapping.selected_paths import value_path
from heptox.pattern import constant_step
from heptox.schema import Path, SelectionTest, selection_step, split_selection


@dataclass(frozen=True, slots=True)
class ConstantLeaf:
    """A target leaf with its constant, and the line that says it."""

    leaf: Leaf
    value: str
    arrow: Arrow


def constant_value(arrow: Arrow) -> str | None:
    """The string that an arrow leads out of, if it is one."""
    return arrow.source.constant if isinstance(arrow.source, ComputedValue) else None


def constant_leaves(
    arrows: Iterable[Arrow], target: DeclaredSide, findings: Findings, remarks: Findings
) -> tuple[ConstantLeaf, ...]:
    """The constants of a file; what is wrong goes to ``findings``, what the mirrored reading loses to ``remarks``."""
    found: dict[Leaf, ConstantLeaf] = {}
    for arrow in arrows:
        value = constant_value(arrow)
        path = None if value is None else resolve(target, arrow.target, findings)
        if value is None or path is None:
            continue
        place = value_path(target.tree, path)
        if place is None:
            findings.add(
                "HX4009", f"{path_text(target.tree, path)} is no leaf", arrow.target, "a constant fills a leaf"
            )
            continue
        leaf = leaf_at(target.tree, place)
        tested = {test.path for test in split_selection(leaf.stop[-1])[1]} if leaf.stop else set()
        if leaf in found or leaf.path in tested:
            message = f"{path_text(target.tree, path)} has a constant already"
            findings.add("HX4004", message, arrow, "keep one of the lines")
            continue
        found[leaf] = ConstantLeaf(leaf, value, arrow)
        if not _is_condition(leaf) and arrow.reading == "both":
            message = f"that {path_text(target.tree, path)} is {value!r} is no condition in the other direction"
            remarks.add("HX4026", message, arrow, "write oneway behind the line")
    return tuple(found.values())


def _is_condition(leaf: Leaf) -> bool:
    """Whether the constant can be a condition on the node that has the leaf."""
    return bool(leaf.stop and leaf.path) and not leaf.stop[-1].startswith("[")


def with_constants(
    constants: Sequence[ConstantLeaf], arrows: Sequence[Correspondence], lines: Sequence[Entity], *, along: bool
) -> tuple[tuple[Correspondence, ...], tuple[Entity, ...]]:
    """The lines of a reading, with the constants that it has in the nodes that they are drawn to."""
    read = [one for one in constants if one.arrow.reading in ("both", "along" if along else "against")]
    tests: dict[Path, list[SelectionTest]] = {}
    for one in read:
        if _is_condition(one.leaf):
            tests.setdefault(one.leaf.stop, []).append(SelectionTest("=", one.leaf.path, (one.value,)))

    def dressed(stop: Path) -> Path:
        for length in range(len(stop), 0, -1):
            if stop[:length] in tests:
                name, known = split_selection(stop[length - 1])
                step = selection_step(name, (*known, *tests[stop[:length]]))
                stop = (*stop[: length - 1], step, *stop[length:])
        return stop

    def at(leaf: Leaf) -> Leaf:
        return Leaf(dressed(leaf.stop), leaf.path)

    found = [
        replace(c, target=at(c.target), returned=tuple((leaf, at(value)) for leaf, value in c.returned)) for c in arrows
    ]
    given = {one.leaf for one in read}
    if along:
        found = [c for c, drawn in zip(found, arrows, strict=True) if drawn.target not in given]
        found += [
            Correspondence(Leaf((), (constant_step(one.value),)), at(one.leaf), arrow=one.arrow)
            for one in read
            if not _is_condition(one.leaf)
        ]
    return tuple(found), tuple(replace(line, target=dressed(line.target)) for line in lines)

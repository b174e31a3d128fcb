"""Covering of linear paths over all documents, by homomorphism (``docs/routing.md`` proves it exact).

A path is its labels other than ``*`` with a gap before each, exactly ``n`` elements or at least ``n``, and a trailing
gap, at least ``n``: ``/*//a`` and ``//*/a`` are one. One path covers another where its labels can be placed on equal
labels of the other so that the gaps between them allow all that the gaps of the other allow.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from heptox.matching import LinearPath
from heptox.pattern import ANY_ATTRIBUTE, ANY_ELEMENT, is_leaf_test


class Labelled(NamedTuple):
    """A label and the gap before it: how many elements, and whether it is exactly as many."""

    gap: int
    exact: bool
    label: str

    def __str__(self) -> str:
        return f"{self.gap}{'' if self.exact else '+'} {self.label}"


@dataclass(frozen=True, slots=True)
class GapForm:
    """A linear path by its labels and gaps; equal ones match the same documents.

    >>> from heptox.matching.linear_path import Step
    >>> print(gap_form(LinearPath((Step("/", "a"), Step("/", "*"), Step("//", "b"), Step("//", "*")))))
    0 a, 1+ b, 1+
    """

    labels: tuple[Labelled, ...]
    trailing: int

    def __str__(self) -> str:
        return ", ".join((*map(str, self.labels), f"{self.trailing}+"))


def gap_form(path: LinearPath) -> GapForm:
    """The labels and gaps of a path. Before an attribute or text there is an element: ``//@x`` is ``//*/@x``."""
    labels: list[Labelled] = []
    gap, exact = 0, True
    for axis, test in path.steps:
        exact = exact and axis == "/"
        if test == ANY_ELEMENT:
            gap += 1
        else:
            if not labels and not exact and is_leaf_test(test):
                gap = max(gap, 1)
            labels.append(Labelled(gap, exact, test))
            gap, exact = 0, True
    return GapForm(tuple(labels), gap)


_Block: TypeAlias = tuple[int, tuple[tuple[int, str], ...]]
"""Labels that are joined by exact gaps: the gap before the first, and each label with its distance from the first."""


@dataclass(frozen=True, slots=True)
class PathShape:
    """A path in both roles: what is to be placed, and where something can be placed.

    ``anchored`` are the labels at exact depths, the root element has depth 1; the blocks come after. ``places`` are the
    labels with their least depths and how many gaps before them are open: labels with equal numbers of open gaps are at
    exact distances. ``elements`` is how many elements a path needs, ``trailing`` how many of them are after the last
    label. A path that asks for an attribute or text of the document node is ``impossible``.
    """

    anchored: tuple[tuple[int, str], ...]
    blocks: tuple[_Block, ...]
    trailing: int
    places: dict[int, tuple[str, int]]
    elements: int
    impossible: bool

    def covers(self, special: PathShape) -> bool:
        """Whether every document that the special path matches is matched by this one.

        Blocks are placed one after the other, each as near to the root as it fits, which leaves the most room.
        """
        if special.impossible:
            return True
        places = special.places
        end = _placed(self.anchored, 0, 0, places)
        for gap, block in self.blocks:
            if end is None:
                return False
            end = _earliest(block, end + gap + 1, places)
        return end is not None and (not self.trailing or special.elements - end >= self.trailing)


@lru_cache(maxsize=1 << 11)
def path_shape(path: LinearPath) -> PathShape:
    """The shape of a path, kept for the next decision."""
    form = gap_form(path)
    runs: list[tuple[int, list[tuple[int, str]]]] = [(0, [])]
    places: dict[int, tuple[str, int]] = {}
    depth = opened = begin = 0
    for gap, exact, label in form.labels:
        depth += gap + 1
        if not exact:
            opened += 1
            begin = depth
            runs.append((gap, []))
        runs[-1][1].append((depth - begin, label))
        places[depth] = label, opened
    (_, anchored), *blocks = runs
    in_leaf = bool(form.labels) and is_leaf_test(form.labels[-1].label)
    return PathShape(
        anchored=tuple(anchored),
        blocks=tuple((gap, tuple(run)) for gap, run in blocks),
        trailing=form.trailing,
        places=places,
        elements=depth - in_leaf + form.trailing,
        impossible=in_leaf and depth == 1,
    )


def covers_any_document(general: LinearPath, special: LinearPath) -> bool:
    """Whether every document that one path matches is matched by the other, the general one; exact.

    Names are taken from no closed set: there is always one that neither path has. To compare paths with many others,
    keep their shapes.

    >>> from heptox.matching.linear_path import Step
    >>> covers_any_document(LinearPath((Step("/", "*"),)), LinearPath((Step("//", "a"),)))
    True
    """
    return path_shape(general).covers(path_shape(special))


def _earliest(block: tuple[tuple[int, str], ...], least: int, places: dict[int, tuple[str, int]]) -> int | None:
    """The depth at which a block ends that begins as early as it can, at ``least`` or below."""
    for depth, (_, opened) in places.items():
        if depth >= least:
            end = _placed(block, depth, opened, places)
            if end is not None:
                return end
    return None


def _placed(
    block: tuple[tuple[int, str], ...], depth: int, opened: int, places: dict[int, tuple[str, int]]
) -> int | None:
    """The depth at which a block ends that begins at a place, ``None`` where it does not fit there."""
    end = depth
    for distance, label in block:
        end = depth + distance
        place = places.get(end)
        if place is None or place[1] != opened or not (place[0] == label or _any_attribute(label, place[0])):
            return None
    return end


def placeable(label: str) -> tuple[str, ...]:
    """The labels of a general path that may be placed on a label."""
    return (label, ANY_ATTRIBUTE) if label[0] == "@" and label != ANY_ATTRIBUTE else (label,)


def _any_attribute(label: str, other: str) -> bool:
    return label == ANY_ATTRIBUTE and other[0] == "@"

"""Tree patterns as conjunctions of predicates, one for each branch, with their branching points.

Source: section 3.2 of Tian et al., "Implementing a scalable XML publish/subscribe system using relational database
systems" (SIGMOD 2004), Figures 3.2 to 3.4. Beside the paper's branches, which all end in a value, there are branches
that only ask for a node, and several value tests on one node.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from heptox.matching.linear_path import LinearPath, Step
from heptox.pattern import Number, PatternNode, Sign, Text, TreePattern, printed_constant


class BranchingPoint(NamedTuple):
    """A branching point on a linear path: its ``number`` in the pattern, and which step it is, from 1."""

    number: int
    step: int


@dataclass(frozen=True, slots=True)
class Branch:
    """A predicate: there is a node at the end of ``path`` whose value compares so with the constant.

    Without ``operator`` and ``constant`` any node will do. ``points`` are the branching points above or at that node,
    the uppermost first; branches with the same branching point need nodes below, or at, one node of the document.
    """

    path: LinearPath
    operator: Sign | None = None
    constant: Text | Number | None = None
    points: tuple[BranchingPoint, ...] = ()

    def __str__(self) -> str:
        at = {step: number for number, step in self.points}
        steps = "".join(
            f"{axis}{test}{{bp#{at[place]}}}" if place in at else f"{axis}{test}"
            for place, (axis, test) in enumerate(self.path.steps, 1)
        )
        return steps if self.constant is None else f"{steps} {self.operator} {printed_constant(self.constant)}"


def branches(pattern: TreePattern) -> tuple[Branch, ...]:
    """The branches of a pattern in the order of its nodes, the tests of a node before what lies below it.

    A node of the pattern is a branching point where two things or more are asked of it: tests of its value, nodes below
    it. The root element (``/a`` or ``/*`` at the beginning of a path) never is, nor the document node: a document has
    one. Branching points are numbered from 1, a node before those below it.

    >>> node = PatternNode("//", "b", (), (PatternNode("/", "@x"), PatternNode("//", "c")))
    >>> for branch in branches(TreePattern((PatternNode("/", "a", (), (node,)),))): print(branch)
    /a//b{bp#1}/@x
    /a//b{bp#1}//c
    """
    return tuple(_Walk().below(pattern.children, (), ()))


class _Walk:
    def __init__(self) -> None:
        self._numbers = 0

    def below(
        self, nodes: tuple[PatternNode, ...], steps: tuple[Step, ...], points: tuple[BranchingPoint, ...]
    ) -> Iterator[Branch]:
        for node in nodes:
            here = (*steps, Step(node.axis, node.test))
            path = LinearPath(here)
            known = points
            if len(node.values) + len(node.children) > 1 and not _is_root(here):
                self._numbers += 1
                known = (*points, BranchingPoint(self._numbers, len(here)))
            for value in node.values:
                yield Branch(path, value.operator, value.constant, known)
            yield from self.below(node.children, here, known)
            if not node.values and not node.children:
                yield Branch(path, points=known)


def _is_root(steps: tuple[Step, ...]) -> bool:
    return len(steps) == 1 and steps[0].axis == "/"

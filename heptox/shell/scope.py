"""What variables of an XQuery stand for while it is split: nodes that cores bring, paths, or what is the shell's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from lark import Token, Tree

from heptox.grammar import syntax
from heptox.shell.parts import Part, begins_at_documents
from heptox.shell.projection import Projection

ANSWERS: Final = "heptox-answers"
"""The element that holds what the cores have brought, each in an element of its own."""
SHARED: Final = "heptox-shared"
"""The elements in it that hold nodes to which tuples refer."""
TUPLE: Final = "heptox-tuple"
"""A match of a core of which the shell takes more than one item."""
EACH: Final = "heptox-each"
"""An item of a part of a tuple."""


@dataclass(slots=True)
class Frame:
    """A core that brings tuples: its clauses so far, and what stands in a tuple."""

    number: int
    around: Frame | None = None
    """The outermost of the frames around it: all are of one document."""
    clauses: list[syntax.For | syntax.Let] = field(default_factory=list)
    where: list[syntax.Condition] = field(default_factory=list)
    slots: list[Callable[[], syntax.Expression]] = field(default_factory=list)
    brings_rows: bool = False
    """Whether only aggregates of its tuples are left in the shell."""

    @property
    def has_loop(self) -> bool:
        """Whether there are matches: without a ``for`` there is no core."""
        return any(isinstance(clause, syntax.For) for clause in self.clauses)

    @property
    def variable(self) -> str:
        """The variable of the shell for a tuple."""
        return f"$heptox-tuple{self.number}"

    @property
    def shares(self) -> bool:
        """Whether several tuples may be of one node: each is there once then, and tuples refer to it."""
        loops = sum(isinstance(clause, syntax.For) for clause in self.clauses)
        return loops > 1 and not self.brings_rows

    def slot(self, content: Callable[[], syntax.Expression]) -> str:
        """A new place in the tuple; how the shell calls it."""
        self.slots.append(content)
        return f"{self.variable}/Q{{}}v{len(self.slots)}"

    def core(self) -> syntax.Expression:
        """The core: all that is needed of it has been looked at."""
        slots = tuple(
            syntax.ElementConstructor(f"v{number}", (), (content(),)) for number, content in enumerate(self.slots, 1)
        )
        return syntax.Flwor(
            tuple(self.clauses), syntax.conjunction(self.where), syntax.ElementConstructor(TUPLE, (), slots)
        )


@dataclass(slots=True)
class Node:
    """A variable that stands for a node, or nodes, that a core brings: of a ``frame``, whose clauses bind it, all items
    of a ``core``, or some below others.
    """

    projection: Projection
    frame: Frame | None = None
    is_core: bool = False


@dataclass(slots=True)
class Path:
    """A variable that ``let`` binds to a path in the clauses of a frame; the shell may need it, too."""

    frame: Frame
    path: syntax.PathExpression
    written: Part
    is_of_documents: bool
    used: bool = False


@dataclass(frozen=True, slots=True)
class Grouped:
    """A variable of a frame behind ``group by``, of whose nodes there are aggregates alone."""

    frame: Frame


@dataclass(frozen=True, slots=True)
class Other:
    """A variable that is the shell's own."""


Place: TypeAlias = Node | Path | Grouped | Other
Scope: TypeAlias = Mapping[str, Place]


def bound_by_cores(scope: Scope) -> list[str]:
    """The variables that expressions of cores may speak of."""
    return [
        name
        for name, place in scope.items()
        if isinstance(place, Path) or (isinstance(place, Node) and place.frame is not None)
    ]


def resolved(path: syntax.PathExpression, scope: Scope) -> syntax.PathExpression:
    """A path without variables that stand for paths."""
    place = scope.get(path.start)
    if not isinstance(place, Path):
        return path
    return resolved(replace(place.path, steps=(*place.path.steps, *path.steps)), scope)


def speaks_of_documents(tree: Tree[Token], scope: Scope) -> bool:
    """Whether something in a part begins at documents, also by way of a variable."""
    for inner in tree.iter_subtrees():
        if inner.data == "path" and inner.children:
            first = inner.children[0]
            place = scope.get(str(first)) if isinstance(first, Token) else None
            if begins_at_documents(inner.children):
                return True
            if isinstance(place, Path) and place.is_of_documents:
                return True
    return False


def is_of_cores(part: Part, scope: Scope) -> bool:
    """Whether a part is a path from documents, or from what a core brings as a whole."""
    if not isinstance(part, Tree) or part.data != "path":
        return False
    place = scope.get(str(part.children[0]))
    return begins_at_documents(part.children) or (isinstance(place, Node) and place.is_core)

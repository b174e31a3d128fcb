"""Where the parts of an arrow stand in its line, for those who show or change them one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from lark import Token, Tree

from heptox.grammar.arrows import line_tree
from heptox.grammar.parsing import subtrees

PartKind: TypeAlias = Literal["source", "condition", "value", "otherwise", "conditions", "table", "target", "inverse"]


@dataclass(frozen=True, slots=True)
class LinePart:
    """A part of a line, from the character ``begin`` up to ``end``; empty where something could stand there.

    ``source`` is all to the left of the arrow: where that is ``if (condition) then value else otherwise``, these are
    parts of it, else it is the ``value``. ``conditions`` are those of the step number ``depth`` of the path that begins
    at ``path``, with their brackets.
    """

    kind: PartKind
    begin: int
    end: int
    path: int = 0
    depth: int = 0


def line_parts(line: str) -> tuple[LinePart, ...]:
    """The parts of the line of an arrow, or of an ``each`` line; none of any other.

    >>> line = 'field[@tag = "245"] -> title'
    >>> [(one.kind, line[one.begin : one.end]) for one in line_parts(line) if one.kind != "source"]
    [('value', 'field[@tag = "245"]'), ('conditions', '[@tag = "245"]'), ('target', 'title'), ('conditions', '')]
    """
    tree = line_tree(line)
    statements = (
        [] if tree is None else [one for one in subtrees(tree) if one.data in ("arrow", "copy_arrow", "entity")]
    )
    return tuple(part for statement in statements for part in _parts(statement))


def _parts(statement: Tree[Token]) -> Iterator[LinePart]:
    source, target, *others = subtrees(statement)
    yield _part("source", source)
    if source.data == "conditional":
        kinds: tuple[PartKind, ...] = ("condition", "value", "otherwise")
        yield from map(_part, kinds, subtrees(source))
    else:
        yield _part("value", source)
    yield from _inside(source)
    yield _part("target", target)
    yield from _inside(target)
    for other in others:
        if other.data == "inverse":
            yield _part("inverse", next(subtrees(other)))


def _inside(tree: Tree[Token]) -> Iterator[LinePart]:
    """The conditions of steps, and the tables, in the order of the text."""
    if tree.data == "path":
        for depth, step in enumerate(subtrees(tree), 1):
            if step.data == "element_step":
                name, *predicates = subtrees(step)
                begin, end = name.meta.end_column - 1, (predicates or [name])[-1].meta.end_column - 1
                yield LinePart("conditions", begin, end, tree.meta.column - 1, depth)
        return
    parts = list(subtrees(tree))
    if tree.data == "call" and tree.children[0] in ("lookup", "code-of") and parts and parts[0].data == "string":
        yield _part("table", parts[0])
    for part in parts:
        yield from _inside(part)


def _part(kind: PartKind, tree: Tree[Token]) -> LinePart:
    """What a tree is read of, with the parentheses around it."""
    begin, end = getattr(tree.meta, "container_column", None), getattr(tree.meta, "container_end_column", None)
    return LinePart(kind, (begin or tree.meta.column) - 1, (end or tree.meta.end_column) - 1)

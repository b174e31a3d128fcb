"""The syntax of ``.arrows`` files (``semantics.md`` section 2). ``arrows.lark`` is its specification.

A statement reads as it is printed. A position is where a node was written; they take no part in comparisons.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal, TypeAlias, cast

from lark import Token, Tree

from heptox.errors import Fault, GrammarError, Position
from heptox.grammar.line_files import SchemaPath, read_lines, step_text
from heptox.grammar.parsing import parse_text, subtrees
from heptox.grammar.query import Node
from heptox.grammar.written_values import ComputedValue, ValueBuilder
from heptox.xml import XML_NAMESPACE

MOST_STEPS: Final = 200
"""Steps of a path; more are refused before anybody looks for them in a schema."""

Side: TypeAlias = Literal["source", "target"]
Reading: TypeAlias = Literal["both", "along", "against"]
"""Which rules a line says something of: those that make target documents (``along``), those that make source documents
(``against``), or both.
"""

_READINGS: Final[dict[str, Reading]] = {"oneway": "along", "mirrored": "against"}
_WORDS: Final[dict[Reading, str]] = {"both": "", "along": " oneway", "against": " mirrored"}


@dataclass(frozen=True, slots=True)
class Name(Node):
    """The name of an element, as it stands in a declaration; ``written`` is how it is written, where that differs."""

    text: str
    written: str = field(default="", compare=False, repr=False)

    def __str__(self) -> str:
        return self.written or self.text


@dataclass(frozen=True, slots=True)
class SchemaDeclaration(Node):
    """``source "FILE.dtd" root NAME``."""

    side: Side
    file: str
    root: str | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r'[^"\n]+', self.file):
            raise ValueError(f"a file name in a mapping holds no quotation mark and no line end: {self.file!r}")

    def __str__(self) -> str:
        return f'{self.side} "{self.file}"' + (f" root {self.root}" if self.root else "")


@dataclass(frozen=True, slots=True)
class NamespaceDeclaration(Node):
    """``namespace PREFIX = "NAMESPACE"``; ``source`` or ``target`` before it for the names of one side only."""

    side: Side | None
    prefix: str
    namespace: str

    def __post_init__(self) -> None:
        if not re.fullmatch(r'[^"\n]+', self.namespace):
            raise ValueError(f"a namespace in a mapping holds no quotation mark and no line end: {self.namespace!r}")

    def __str__(self) -> str:
        return f'{f"{self.side} " if self.side else ""}namespace {self.prefix} = "{self.namespace}"'


@dataclass(frozen=True, slots=True)
class ReferenceDeclaration(Node):
    """``source reference LEAF -> KEY``."""

    side: Side
    source: SchemaPath
    target: SchemaPath

    def __str__(self) -> str:
        return f"{self.side} reference {self.source} -> {self.target}"


@dataclass(frozen=True, slots=True)
class KeyDeclaration(Node):
    """``source key LEAF``."""

    side: Side
    path: SchemaPath

    def __str__(self) -> str:
        return f"{self.side} key {self.path}"


@dataclass(frozen=True, slots=True)
class JoinDeclaration(Node):
    """``source join LEAF -> KEY``: the reference to connect by where several would do."""

    side: Side
    source: SchemaPath
    target: SchemaPath

    def __str__(self) -> str:
        return f"{self.side} join {self.source} -> {self.target}"


@dataclass(frozen=True, slots=True)
class BoxDeclaration(Node):
    """``target box NAME = PARENT/(MEMBER | MEMBER)``; the root's children have the empty path as parent."""

    side: Side
    name: str
    parent: SchemaPath
    members: tuple[Name, ...]

    def __str__(self) -> str:
        parent = f"{self.parent}/" if self.parent.steps else ""
        return f"{self.side} box {self.name} = {parent}({' | '.join(str(member) for member in self.members)})"


@dataclass(frozen=True, slots=True)
class Arrow(Node):
    """``LEAF -> LEAF``, or, when ``copies``, ``INNER => INNER``; ``oneway`` or ``mirrored`` behind it.

    To the left of ``->`` may stand a value that is computed; ``inverses`` say how its leaves, in their order, are had
    from the leaf to the right.
    """

    source: SchemaPath | ComputedValue
    target: SchemaPath
    copies: bool = False
    reading: Reading = "both"
    inverses: tuple[ComputedValue, ...] = ()

    def __str__(self) -> str:
        inverses = "".join(f" inverse {inverse}" for inverse in self.inverses)
        return f"{self.source} {'=>' if self.copies else '->'} {self.target}{inverses}{_WORDS[self.reading]}"


@dataclass(frozen=True, slots=True)
class Entity(Node):
    """``each NODE -> NODE``: every node on the left makes a node of its own; ``oneway`` or ``mirrored`` behind it."""

    source: SchemaPath
    target: SchemaPath
    reading: Reading = "both"

    def __str__(self) -> str:
        return f"each {self.source} -> {self.target}{_WORDS[self.reading]}"


Declaration: TypeAlias = (
    SchemaDeclaration | NamespaceDeclaration | ReferenceDeclaration | KeyDeclaration | JoinDeclaration | BoxDeclaration
)
Statement: TypeAlias = Declaration | Entity | Arrow


def parse_arrow_lines(text: str, file: str | None = None) -> tuple[tuple[Statement, ...], tuple[Fault, ...]]:
    """The statements of all lines that can be read, and the faults (HX3001) of those that cannot.

    >>> (arrow,), () = parse_arrow_lines("Patient/Name -> [Illness]/Patient  # the tag is called Patient")
    >>> arrow.target.steps
    ('[Illness]', 'Patient')
    """
    return read_lines(text, file, _parse, _Builder)


def _parse(line: str, file: str | None, number: int) -> Tree[Token]:
    return line_tree(line) or parse_text("arrows.lark", line, file, first_line=number)


# All lines of a mapping that is drawn are read again whenever one of them changes.
@lru_cache(maxsize=4096)
def line_tree(line: str) -> Tree[Token] | None:
    """The tree of a line, wherever it stands; ``None`` where it has a fault, which is reported with its position."""
    try:
        return parse_text("arrows.lark", line)
    except GrammarError:
        return None


class _Builder(ValueBuilder[Statement]):
    def statement(self, tree: Tree[Token]) -> Statement:
        at = self._position(tree)
        parts = list(subtrees(tree))
        match tree.data:
            case "schema":
                root = self._name(parts[1]).text if len(parts) > 1 else None
                file = next(str(token) for token in tree.children if isinstance(token, Token) and token[0] == '"')
                return SchemaDeclaration(self._side(parts[0]), file[1:-1], root, position=at)
            case "namespace":
                return self._namespace(tree, at)
            case "reference":
                return ReferenceDeclaration(
                    self._side(parts[0]), self._path(parts[1]), self._path(parts[2]), position=at
                )
            case "key":
                return KeyDeclaration(self._side(parts[0]), self._path(parts[1]), position=at)
            case "join":
                return JoinDeclaration(self._side(parts[0]), self._path(parts[1]), self._path(parts[2]), position=at)
            case "box":
                return self._box(parts, at)
            case "entity":
                return Entity(self._path(parts[0]), self._path(parts[1]), self._reading(parts), position=at)
            case "copy_arrow":
                return Arrow(self._path(parts[0]), self._path(parts[1]), True, self._reading(parts), position=at)
            case _:
                inverses = tuple(self._computed(*subtrees(part)) for part in parts if part.data == "inverse")
                source = self._path(parts[0]) if parts[0].data == "path" else self._computed(parts[0])
                return Arrow(source, self._path(parts[1]), False, self._reading(parts), inverses, position=at)

    def _namespace(self, tree: Tree[Token], at: Position | None) -> NamespaceDeclaration:
        *sides, name = subtrees(tree)
        prefix, uri = self._name(name).text, str(tree.children[-1])[1:-1]
        if not re.fullmatch(r"[^\W\d][^:{}]*", prefix):
            self._refuse("HX3001", f"{prefix} is no prefix", name, "a prefix is a name without a colon")
        elif prefix in ("xml", "xmlns") or uri == XML_NAMESPACE:
            self._refuse("HX3001", "xml and xmlns are bound, and cannot be declared", name)
        return NamespaceDeclaration(self._side(sides[0]) if sides else None, prefix, uri, position=at)

    def _box(self, parts: list[Tree[Token]], at: Position | None) -> BoxDeclaration:
        side, name, *steps, members = parts
        begin = self._position(steps[0]) if steps else self._position(members)
        parent = SchemaPath(tuple(step_text(step) for step in steps), position=begin)
        names = tuple(self._name(member) for member in subtrees(members))
        return BoxDeclaration(self._side(side), self._name(name).text, parent, names, position=at)

    def _path(self, tree: Tree[Token]) -> SchemaPath:
        steps = list(subtrees(tree))
        if len(steps) > MOST_STEPS:
            message = f"a path of {len(steps):,} steps; no schema is deeper than {MOST_STEPS}"
            self._refuse("HX3003", message, tree)
            tree = Tree(tree.data, [*steps[:MOST_STEPS]], tree.meta)
        return super()._path(tree)

    def _reading(self, parts: list[Tree[Token]]) -> Reading:
        return _READINGS[str(parts[-1].children[0])] if parts[-1].data == "reading" else "both"

    def _side(self, tree: Tree[Token]) -> Side:
        return cast(Side, str(tree.children[0]))

    def _name(self, tree: Tree[Token]) -> Name:
        return Name(str(tree.children[0]), position=self._position(tree))

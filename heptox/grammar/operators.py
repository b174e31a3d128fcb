"""The syntax of ``.operators`` files: programs that rewrite documents. ``operators.lark`` is its specification.

A statement reads as it is printed. A position is where a node was written; they take no part in
comparisons.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from lark import Token, Tree

from heptox.errors import Fault
from heptox.grammar.arrows import SchemaDeclaration
from heptox.grammar.line_files import LineBuilder, SchemaPath, name_text, read_lines, step_text
from heptox.grammar.parsing import parse_text, subtrees
from heptox.grammar.query import Node

OperatorWord: TypeAlias = Literal[
    "rename",
    "to element",
    "to attribute",
    "insert",
    "upgrade",
    "downgrade",
    "swap",
    "dissolve",
    "drop",
    "prune",
    "arrange",
]
_WORDS: Final[dict[str, OperatorWord]] = {word.replace(" ", "_"): word for word in get_args(OperatorWord)}


@dataclass(frozen=True, slots=True)
class OperatorStatement(Node):
    """One operator: its word, the node that it is said of, and what else it names.

    ``names`` are new names, ``children`` the nodes that move, ``None`` for all that there are (``*``), and ``other``
    the node into which they go, or with which it is swapped. ``or_drop``: what finds no place goes.
    """

    word: OperatorWord
    node: SchemaPath
    names: tuple[str, ...] = ()
    children: tuple[SchemaPath, ...] | None = ()
    other: SchemaPath | None = None
    or_drop: bool = False

    def __str__(self) -> str:
        node, children = _written(self.node), self._children
        behind = " or drop" if self.or_drop else ""
        match self.word:
            case "rename":
                return f"rename {node} to {self.names[0]}"
            case "insert":
                return f"insert {'/'.join(self.names)} in {node} for {children}"
            case "upgrade":
                return f"upgrade {children} from {node}"
            case "downgrade" if self.other:
                return f"downgrade {children} of {node} into {_written(self.other)}{behind}"
            case "swap" if self.other:
                return f"swap {node} with {_written(self.other)}{behind}"
            case "arrange":
                return f"arrange {node}: {children}"
            case word:
                return f"{word} {node}"

    @property
    def _children(self) -> str:
        return "*" if self.children is None else ", ".join(map(_written, self.children))


def _written(path: SchemaPath) -> str:
    return str(path) or "."


def parse_operator_lines(
    text: str, file: str | None = None
) -> tuple[tuple[SchemaDeclaration | OperatorStatement, ...], tuple[Fault, ...]]:
    """The statements of all lines that can be read, and the faults (HX3001) of those that cannot."""
    return read_lines(text, file, _parse, _Builder)


def _parse(line: str, file: str | None, number: int) -> Tree[Token]:
    return parse_text("operators.lark", line, file, first_line=number)


def print_operators(statements: Iterable[SchemaDeclaration | OperatorStatement]) -> str:
    """Statements as the text of a file, a statement a line."""
    return "".join(f"{statement}\n" for statement in statements)


class _Builder(LineBuilder[SchemaDeclaration | OperatorStatement]):
    def statement(self, tree: Tree[Token]) -> SchemaDeclaration | OperatorStatement:
        at = self._position(tree)
        parts = list(subtrees(tree))
        if tree.data == "schema":
            file = next(str(token) for token in tree.children if isinstance(token, Token) and token[0] == '"')
            root = name_text(parts[0]) if parts else None
            return SchemaDeclaration("source", file[1:-1], root, position=at)
        or_drop = parts[-1].data == "or_drop"
        parts = parts[:-1] if or_drop else parts
        word = _WORDS[str(tree.data)]
        match word:
            case "rename":
                return OperatorStatement(word, self._path(parts[0]), (step_text(parts[1]),), position=at)
            case "insert":
                names = tuple(map(name_text, subtrees(parts[0])))
                return OperatorStatement(word, self._path(parts[1]), names, self._children(parts[2]), position=at)
            case "upgrade":
                children, element = parts
                return OperatorStatement(word, self._path(element), (), self._children(children), position=at)
            case "downgrade":
                children, element, into = parts
                moved = self._children(children)
                return OperatorStatement(word, self._path(element), (), moved, self._path(into), or_drop, position=at)
            case "swap":
                one, other = map(self._path, parts)
                return OperatorStatement(word, one, (), (), other, or_drop, position=at)
            case "arrange":
                return OperatorStatement(word, self._path(parts[0]), (), self._children(parts[1]), position=at)
            case _:
                return OperatorStatement(word, self._path(parts[0]), position=at)

    def _children(self, tree: Tree[Token]) -> tuple[SchemaPath, ...] | None:
        return None if tree.data == "all" else tuple(map(self._path, subtrees(tree)))

"""The syntax of ``.rules`` files (``semantics.md`` section 4). ``rules.lark`` is its specification.

``parse_rules(print_rules_file(file)) == file``. Positions say where a node was written; comparisons leave them out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Final, Literal, TypeAlias

from lark import Token, Tree

from heptox.errors import Fault, GrammarError, Position
from heptox.grammar.arrows import Arrow, Declaration, Entity, parse_arrow_lines
from heptox.grammar.parsing import parse_text, position_of
from heptox.grammar.query import Node

_WIDTH: Final = 110
_RULE_END: Final = re.compile(r'"(?:[^"]|"")*"|#[^\n]*|\.(?=[ \t]*(?:#[^\n]*)?(?:\n|\Z))')
_DECLARATION: Final = re.compile(r'\s*(source|target)\s*("|\s(reference|key|join|box)\s)')


@dataclass(frozen=True, slots=True)
class Label(Node):
    """What a node is: ``name``, ``@name``, ``text()`` or ``[Box]``; a box may have a variable for its tag."""

    name: str
    tag: str | None = None

    def __post_init__(self) -> None:
        if self.tag is not None and not self.name.startswith("["):
            raise ValueError("only a box has a variable for its tag")

    def __str__(self) -> str:
        return f"{self.name}:{self.tag}" if self.tag else self.name


@dataclass(frozen=True, slots=True)
class Identity(Node):
    """A Skolem term: a function and its arguments, which are variables with their ``$``."""

    function: str
    arguments: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.function}({', '.join(self.arguments)})"


@dataclass(frozen=True, slots=True)
class HeadLeaf(Node):
    """A leaf of a head, and the variable (with its ``$``) of its value or, when ``copied``, of its subtree."""

    label: Label
    variable: str
    copied: bool = False


@dataclass(frozen=True, slots=True)
class HeadTree(Node):
    """An inner node of a head."""

    label: Label
    identity: Identity
    parts: tuple[HeadTree | HeadLeaf, ...] = ()


@dataclass(frozen=True, slots=True)
class BodyTree(Node):
    """A node of a body with its variable (with its ``$``)."""

    label: Label
    variable: str
    parts: tuple[BodyTree, ...] = ()


@dataclass(frozen=True, slots=True)
class Constant(Node):
    """A string literal."""

    value: str

    def __str__(self) -> str:
        return '"' + self.value.replace('"', '""') + '"'


@dataclass(frozen=True, slots=True)
class RuleCondition(Node):
    """Two variables, or a variable and a constant, have the same value; with ``!=`` the value is not the constant."""

    left: str
    right: str | Constant
    operator: Literal["=", "!="] = "="

    def __post_init__(self) -> None:
        if self.operator == "!=" and not isinstance(self.right, Constant):
            raise ValueError("a variable differs from a constant only")

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


@dataclass(frozen=True, slots=True)
class RuleText(Node):
    """``head <- body, conditions.``"""

    head: HeadTree
    body: BodyTree
    conditions: tuple[RuleCondition, ...] = ()


@dataclass(frozen=True, slots=True)
class RulesFile:
    """A file: its declarations, then its rules."""

    declarations: tuple[Declaration, ...] = ()
    rules: tuple[RuleText, ...] = ()


def parse_rules(text: str, file: str | None = None) -> RulesFile:
    """Parse a whole file.

    Raises :class:`GrammarError` (HX3001) with a fault for each declaration and each rule that is wrong.

    >>> parse_rules('source "a.dtd"\\nlist -> f_list($l)[item -> $i] <- all -> $l[one -> $i].').rules[0].body.variable
    '$l'
    """
    parsed, faults = parse_rule_parts(text, file)
    if faults:
        raise GrammarError(faults)
    return parsed


def parse_rule_parts(text: str, file: str | None = None) -> tuple[RulesFile, tuple[Fault, ...]]:
    """The declarations and rules that can be read, and the faults (HX3001) of those that cannot."""
    lines = text.split("\n")
    first = next((number for number, line in enumerate(lines) if not _is_declaration(line)), len(lines))
    statements, faults = parse_arrow_lines("\n".join(lines[:first]), file)
    declarations = tuple(statement for statement in statements if not isinstance(statement, Arrow | Entity))
    rules: list[RuleText] = []
    found = list(faults)
    for begin, part in _rule_parts(lines[first:], first + 1):
        try:
            tree = parse_text("rules.lark", part, file, first_line=begin)
        except GrammarError as error:
            found.extend(error.faults)
        else:
            builder = _Builder(file, begin)
            rules.extend(builder.rule(child) for child in _trees(tree))
    return RulesFile(declarations, tuple(rules)), tuple(found)


def _is_declaration(line: str) -> bool:
    return bool(_DECLARATION.match(line)) or not line.strip() or line.lstrip().startswith("#")


def _rule_parts(lines: Sequence[str], first: int) -> Iterator[tuple[int, str]]:
    """The text cut after each full stop that ends a line, each part with the number of its first line.

    So a rule that is wrong does not hide what is wrong with the next one.
    """
    text, begin = "\n".join(lines), 0
    ends = [found.end() for found in _RULE_END.finditer(text) if found[0] == "."]
    for end in (*ends, len(text)):
        part = text[begin:end]
        if part.strip():
            yield first + text.count("\n", 0, begin), _from_line_start(text, begin, part)
        begin = end


def _from_line_start(text: str, begin: int, part: str) -> str:
    """A part with spaces before it, so that its columns count as in the whole text."""
    return " " * (begin - text.rfind("\n", 0, begin) - 1) + part


# -- printing ----------------------------------------------------------------------------------------------------


def print_rules_file(file: RulesFile) -> str:
    """The file as text: the declarations a line each, then the rules, with empty lines between."""
    declarations = "".join(f"{declaration}\n" for declaration in file.declarations)
    return "\n".join(([declarations] if declarations else []) + [print_rule(rule) + "\n" for rule in file.rules])


def print_rule(rule: RuleText) -> str:
    """A rule as text, laid out as in Figure 2 of the report."""
    body = ",\n".join([_print_tree(rule.body), *(str(condition) for condition in rule.conditions)])
    return f"{_print_tree(rule.head)}\n<-\n{body}."


PrintedNode: TypeAlias = HeadTree | HeadLeaf | BodyTree


def _print_tree(node: PrintedNode, depth: int = 0, *, closing: int = 2) -> str:
    """A node and what is below it; ``closing`` characters follow it on its line.

    What does not fit in a line is broken before each part that has parts; leaves before them stay beside the bracket.
    """
    begin, parts = _wrapped(_begin(node), depth), _parts(node)
    if not parts:
        return begin
    flat = _flat(node)
    if 2 * depth + len(flat) + closing <= _WIDTH:
        return flat
    text, indentation, breaks = f"{begin}[", "\n" + "  " * (depth + 1), "\n" in begin
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        line = len(text) - text.rfind("\n") - 1 + (2 * depth if "\n" not in text else 0)
        breaks = bool(_parts(part)) or (breaks and (number == 0 or bool(_parts(parts[number - 1]))))
        breaks = breaks or line + len(_begin(part)) + 2 > _WIDTH
        text += indentation if breaks else " " if number else ""
        text += _print_tree(part, depth + 1, closing=closing + 1 if last else 1)
        text += "]" if last else ","
    return text


def _wrapped(begin: str, depth: int) -> str:
    """The beginning of a node, the arguments of its identity on several lines when they do not fit in one."""
    width = _WIDTH - 2 * depth
    if len(begin) < width:
        return begin
    lines = wrap(begin, width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return ("\n" + "  " * depth).join(lines)


def _flat(node: PrintedNode) -> str:
    parts = _parts(node)
    return _begin(node) + (f"[{', '.join(_flat(part) for part in parts)}]" if parts else "")


def _begin(node: PrintedNode) -> str:
    if isinstance(node, HeadTree):
        return f"{node.label} -> {node.identity}"
    return f"{node.label} {'=>' if isinstance(node, HeadLeaf) and node.copied else '->'} {node.variable}"


def _parts(node: PrintedNode) -> Sequence[PrintedNode]:
    return () if isinstance(node, HeadLeaf) else node.parts


# -- building ----------------------------------------------------------------------------------------------------


class _Builder:
    """Makes the nodes of one part of a text."""

    def __init__(self, file: str | None, line: int) -> None:
        self._file, self._line = file, line

    def rule(self, tree: Tree[Token]) -> RuleText:
        head, body, *conditions = _trees(tree)
        built = tuple(self._condition(condition) for condition in conditions)
        return RuleText(self._head(head), self._body(body), built, position=self._position(tree))

    def _head(self, tree: Tree[Token]) -> HeadTree:
        label, identity, *parts = _trees(tree)
        return HeadTree(
            self._label(label),
            self._identity(identity),
            tuple(self._head(part) if part.data == "head_node" else self._leaf(part) for part in parts),
            position=self._position(tree),
        )

    def _leaf(self, tree: Tree[Token]) -> HeadLeaf:
        label = next(_trees(tree))
        return HeadLeaf(
            self._label(label), _last(tree), copied=tree.data == "copied_leaf", position=self._position(tree)
        )

    def _identity(self, tree: Tree[Token]) -> Identity:
        function, *arguments = (str(token) for token in tree.children)
        return Identity(function, tuple(arguments), position=self._position(tree))

    def _body(self, tree: Tree[Token]) -> BodyTree:
        label, *parts = _trees(tree)
        variable = next(str(child) for child in tree.children if isinstance(child, Token))
        return BodyTree(
            self._label(label), variable, tuple(self._body(part) for part in parts), position=self._position(tree)
        )

    def _condition(self, tree: Tree[Token]) -> RuleCondition:
        left, right = (str(token) for token in tree.children)
        value = Constant(right[1:-1].replace('""', '"')) if right.startswith('"') else right
        return RuleCondition(left, value, "!=" if tree.data == "difference" else "=", position=self._position(tree))

    def _label(self, tree: Tree[Token]) -> Label:
        tokens = [str(token) for token in tree.children]
        at = self._position(tree)
        match tree.data:
            case "attribute_label":
                return Label(f"@{tokens[0]}", position=at)
            case "box_label":
                return Label(f"[{tokens[0]}]", tokens[1] if len(tokens) > 1 else None, position=at)
            case _:
                return Label(tokens[0], position=at)

    def _position(self, tree: Tree[Token]) -> Position | None:
        return position_of(tree, self._file, self._line)


def _trees(tree: Tree[Token]) -> Iterator[Tree[Token]]:
    return (child for child in tree.children if isinstance(child, Tree))


def _last(tree: Tree[Token]) -> str:
    return str(tree.children[-1])

"""The syntax of ``.rules`` files (``semantics.md`` section 4). ``rules.lark`` is its specification.

A file reads as it is printed. Positions say where a node was written; comparisons leave them out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, cast

from lark import Token, Tree

from heptox.errors import Fault, GrammarError
from heptox.grammar.arrows import Arrow, Declaration, Entity, parse_arrow_lines
from heptox.grammar.line_files import SchemaPath
from heptox.grammar.parsing import fault_at, offset_position, parse_text, subtrees
from heptox.grammar.query import Node
from heptox.grammar.written_values import ComputedValue, ValueBuilder, is_operation
from heptox.schema import Path, is_selection, written_step

_WIDTH: Final = 110
_SKOLEM: Final = "f_"
"""What the name of a Skolem function begins with, and that of no function of values."""
_CHUNK: Final = re.compile(r'(?:"(?:[^"]|"")*"|[^\s"])+')
Section: TypeAlias = Literal["along", "against"]
"""Where the heads of rules are: ``along`` in the target schema, ``against`` in the source schema."""

_END: Final = r"(?=[ \t]*(?:#[^\n]*)?(?:\n|\Z))"
# A string, a namespace, a comment, a leaf that is the node itself; a full stop that ends a rule; a heading, which no
# arrow follows.
_BOUNDARY: Final = re.compile(
    r'"(?:[^"]|"")*"|Q\{[^{}\n]*\}|#[^\n]*|\[\s*\.'
    rf"|(?P<end>\.){_END}"
    rf"|(?:^|(?<=\n))[ \t]*(?P<section>along|against):{_END}(?!\s*[-=]>)"
)
_DECLARATION: Final = re.compile(
    r'\s*(source|target)\s*("|\s(reference|key|join|box|namespace)\s)|\s*namespace\s+[^\s=]+\s*=\s*"'
)


RuleValue: TypeAlias = str | ComputedValue
"""A variable with its ``$``, :func:`node_value`, or a string or function: its leaves have the variable for a path, and
what ``string-join`` gathers a path that begins with one.
"""


def _primary(value: RuleValue) -> str:
    """A value where an operator may follow, which must be none of its own."""
    is_open = isinstance(value, ComputedValue) and is_operation(value.expression)
    return f"({value})" if is_open else str(value)


@dataclass(frozen=True, slots=True)
class Label(Node):
    """What a node is: ``name``, ``@name``, ``text()``, ``[Box]`` or a selection; a box may have a value for its tag.

    ``text`` is how the name is written, where that differs.
    """

    name: str
    tag: RuleValue | None = None
    text: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.tag is not None and not self.name.startswith("["):
            raise ValueError("only a box has a variable for its tag")

    def __str__(self) -> str:
        return f"{self.name}:{_primary(self.tag)}" if self.tag else self.text or written_step(self.name, str)


def node_value(variable: str) -> str:
    """How it is written that a leaf takes what the node of a variable (with its ``$``) is itself."""
    return f"node {variable}"


@dataclass(frozen=True, slots=True)
class Identity(Node):
    """A Skolem term: a function, whose name begins with ``f_``, and its arguments.

    The first may be a node, ``each $item``, where the others are values.
    """

    function: str
    arguments: tuple[RuleValue, ...] = ()
    each: str | None = None

    def __str__(self) -> str:
        arguments = ([f"each {self.each}"] if self.each else []) + [*map(str, self.arguments)]
        return f"{self.function}({', '.join(arguments)})"


@dataclass(frozen=True, slots=True)
class SurrogateArgument(Node):
    """A leaf of the target, as a path from the root, and its value, or the node of a variable that the node at the path
    stands for, ``each $item``.
    """

    path: SchemaPath
    variable: RuleValue
    is_each: bool = False

    def __str__(self) -> str:
        return f"{self.path} = {'each ' if self.is_each else ''}{_primary(self.variable)}"


@dataclass(frozen=True, slots=True)
class SurrogateTerm(Node):
    """What a node is identified by as a value: its Skolem function, of leaves of the target."""

    function: str
    arguments: tuple[SurrogateArgument, ...]

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True, slots=True)
class HeadLeaf(Node):
    """A leaf of a head, and its value, what another node is identified by, or, when ``copied``, the variable of its
    subtree.

    The label ``.`` is the node above itself, when that is a leaf, or copied, and has an identity.
    """

    label: Label
    variable: RuleValue | SurrogateTerm
    copied: bool = False


@dataclass(frozen=True, slots=True)
class HeadTree(Node):
    """An inner node of a head."""

    label: Label
    identity: Identity
    parts: tuple[HeadTree | HeadLeaf, ...] = ()


@dataclass(frozen=True, slots=True)
class BodyTree(Node):
    """A node of a body with its variable (with its ``$``); an ``optional`` one need not be there."""

    label: Label
    variable: str
    parts: tuple[BodyTree, ...] = ()
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Constant(Node):
    """A string literal."""

    value: str

    def __str__(self) -> str:
        return '"' + self.value.replace('"', '""') + '"'


@dataclass(frozen=True, slots=True)
class RuleCondition(Node):
    """Two values, or a value and a constant, are the same; with ``!=`` the value is not the constant.

    With ``=?`` what the variable on the right belongs to is optional, and found by having the value of the left one.
    """

    left: RuleValue
    right: RuleValue | Constant
    operator: Literal["=", "!=", "=?"] = "="

    def __post_init__(self) -> None:
        if self.operator == "!=" and not isinstance(self.right, Constant):
            raise ValueError("a variable differs from a constant only")
        if self.operator == "=?" and isinstance(self.right, Constant):
            raise ValueError("what is optional is connected by a variable")

    def __str__(self) -> str:
        right = self.right if isinstance(self.right, Constant) else _primary(self.right)
        return f"{_primary(self.left)} {self.operator} {right}"


@dataclass(frozen=True, slots=True)
class LeafCondition(Node):
    """``present $x``: the leaf of the variable is there; ``absent $x``: it is not."""

    variable: RuleValue
    present: bool

    def __str__(self) -> str:
        return f"{'present' if self.present else 'absent'} {_primary(self.variable)}"


@dataclass(frozen=True, slots=True)
class NodeTest(Node):
    """What a node may be tested for: what stands at ``path`` below it, or a function of such leaves, equals a value or
    a constant, or is there.

    The path ``.`` is the node itself, ``name()`` the tag of one in a box.
    """

    path: SchemaPath | ComputedValue
    right: RuleValue | Constant | None = None

    def __str__(self) -> str:
        path = str(self.path) if isinstance(self.path, SchemaPath) else _primary(self.path)
        path = f"({path})" if path.startswith("not(") else path  # which would be a condition of a selection
        if self.right is None:
            return f"[{path}]"
        return f"[{path} = {self.right if isinstance(self.right, Constant) else _primary(self.right)}]"


def path_of_absence(steps: Path, name: Callable[[str], str] = str) -> str:
    """The path of a :class:`NodeAbsence` as it is written: behind it brackets hold tests, which no selection is."""
    written = [written_step(step, name) for step in steps]
    return "/".join((*written[:-1], f"({written[-1]})" if is_selection(steps[-1]) else written[-1]))


@dataclass(frozen=True, slots=True)
class NodeAbsence(Node):
    """``absent $item/alias[@lang]``: no node at ``path`` below the variable (or the root) passes all ``tests``."""

    variable: str | None
    path: SchemaPath
    tests: tuple[NodeTest, ...] = ()

    def __str__(self) -> str:
        path = self.path.text or path_of_absence(self.path.steps)
        return f"absent {self.variable or ''}/{path}{''.join(map(str, self.tests))}"


ConditionText: TypeAlias = RuleCondition | LeafCondition | NodeAbsence


@dataclass(frozen=True, slots=True)
class RuleText(Node):
    """``head <- body, conditions.``"""

    head: HeadTree
    body: BodyTree
    conditions: tuple[ConditionText, ...] = ()


@dataclass(frozen=True, slots=True)
class RulesFile:
    """A file: its declarations, then the rules of its sections; ``None`` for a section that the file does not have."""

    declarations: tuple[Declaration, ...] = ()
    along: tuple[RuleText, ...] | None = ()
    against: tuple[RuleText, ...] | None = None

    def __post_init__(self) -> None:
        if self.along is None and self.against is None:
            raise ValueError("a file of rules has a section")

    @property
    def sections(self) -> dict[Section, tuple[RuleText, ...]]:
        """The sections that the file has."""
        both: tuple[tuple[Section, tuple[RuleText, ...] | None], ...] = (
            ("along", self.along),
            ("against", self.against),
        )
        return {section: rules for section, rules in both if rules is not None}


def parse_rule_parts(text: str, file: str | None = None) -> tuple[RulesFile, tuple[Fault, ...]]:
    """The declarations and rules that can be read, and the faults (HX3001) of those that cannot."""
    lines = text.split("\n")
    first = next((number for number, line in enumerate(lines) if not _is_declaration(line)), len(lines))
    statements, faults = parse_arrow_lines("\n".join(lines[:first]), file)
    declarations = tuple(statement for statement in statements if not isinstance(statement, Arrow | Entity))
    found = list(faults)
    sections: dict[Section, list[RuleText]] = {}
    for section in _sections(lines[first:], first + 1, file, found):
        rules = sections.setdefault(section.name, [])
        for begin, part in section.parts:
            try:
                tree = parse_text("rules.lark", part, file, first_line=begin)
            except GrammarError as error:
                found.extend(error.faults)
            else:
                builder = _Builder(part, file, begin, found)
                rules.extend(builder.statement(child) for child in subtrees(tree))
    read = {name: tuple(rules) for name, rules in sections.items()}
    return RulesFile(declarations, read.get("along"), read.get("against")), tuple(found)


def _is_declaration(line: str) -> bool:
    return bool(_DECLARATION.match(line)) or not line.strip() or line.lstrip().startswith("#")


@dataclass(frozen=True, slots=True)
class _Section:
    """The rules below a heading as text, each with the number of its first line."""

    name: Section
    parts: list[tuple[int, str]]


def _sections(lines: Sequence[str], first: int, file: str | None, faults: list[Fault]) -> list[_Section]:
    """The text cut at the headings, and after each full stop that ends a line; faults of headings are reported.

    So a rule that is wrong does not hide what is wrong with the next one.
    """
    text, begin = "\n".join(lines), 0
    found = [_Section("along", [])]
    headings: list[str] = []

    def cut(end: int) -> None:
        part = text[begin:end]
        if part.strip():
            found[-1].parts.append((first + text.count("\n", 0, begin), _from_line_start(text, begin, part)))

    for boundary in _BOUNDARY.finditer(text):
        if boundary["end"]:
            cut(boundary.end())
        elif name := boundary["section"]:
            cut(boundary.start())
            position = offset_position(text, boundary.start("section"), file, first)
            if name in headings:
                message = f"the section {name}: begins again"
                faults.append(fault_at("HX3001", message, text, position, "write its rules below one heading", first))
            elif not headings and found[0].parts:
                message = "rules stand above the first heading"
                faults.append(fault_at("HX3001", message, text, position, "write along: or against: above them", first))
            headings.append(name)
            found.append(_Section(cast(Section, name), []))
        else:
            continue
        begin = boundary.end()
    cut(len(text))
    return found if not headings or found[0].parts else found[1:]


def _from_line_start(text: str, begin: int, part: str) -> str:
    """A part with spaces before it, so that its columns count as in the whole text."""
    return " " * (begin - text.rfind("\n", 0, begin) - 1) + part


# -- printing ----------------------------------------------------------------------------------------------------


def print_rules_file(file: RulesFile) -> str:
    """The file as text: the declarations a line each, then the sections, with empty lines between."""
    parts = ["".join(f"{declaration}\n" for declaration in file.declarations)] if file.declarations else []
    for section, rules in file.sections.items():
        parts += [f"{section}:\n", *(f"{print_rule(rule)}\n" for rule in rules)]
    return "\n".join(parts)


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
    width = max(_WIDTH - 2 * depth, _WIDTH // 3)
    if len(begin) < width:
        return begin
    return ("\n" + "  " * depth).join(_lines(begin, width))


def _lines(text: str, width: int) -> Iterator[str]:
    """The text cut at spaces, but not in strings, nor behind a full stop, where a rule would end."""
    line = ""
    for chunk in _CHUNK.findall(text):
        if not line or line.endswith(".") or len(line) + 1 + len(chunk) <= width:
            line += f" {chunk}" if line.strip() else chunk
        else:
            yield line
            line = f"    {chunk}"
    yield line


def _flat(node: PrintedNode) -> str:
    parts = _parts(node)
    return _begin(node) + (f"[{', '.join(_flat(part) for part in parts)}]" if parts else "")


def _begin(node: PrintedNode) -> str:
    if isinstance(node, HeadTree):
        return f"{node.label} -> {node.identity}"
    if isinstance(node, HeadLeaf):
        return f"{node.label} {'=>' if node.copied else '->'} {node.variable}"
    return f"{node.label} {'->?' if node.optional else '->'} {node.variable}"


def _parts(node: PrintedNode) -> Sequence[PrintedNode]:
    return () if isinstance(node, HeadLeaf) else node.parts


# -- building ----------------------------------------------------------------------------------------------------


class _Builder(ValueBuilder[RuleText]):
    """Makes the nodes of one part of a text."""

    def statement(self, tree: Tree[Token]) -> RuleText:
        head, body, *conditions = subtrees(tree)
        built = (self._condition(condition) for condition in conditions)
        said = tuple(condition for condition in built if condition is not None)
        return RuleText(self._head(head), self._body(body), said, position=self._position(tree))

    def _head(self, tree: Tree[Token]) -> HeadTree:
        label, identity, *parts = subtrees(tree)
        return HeadTree(
            self._label(label),
            self._identity(identity),
            tuple(self._head(part) if part.data == "head_node" else self._leaf(part) for part in parts),
            position=self._position(tree),
        )

    def _leaf(self, tree: Tree[Token]) -> HeadTree | HeadLeaf:
        label, *made = subtrees(tree)
        at = self._position(tree)
        if tree.data == "copied_leaf":
            return HeadLeaf(self._label(label), str(tree.children[-1]), copied=True, position=at)
        (value,) = made
        if value.data == "surrogate":
            return HeadLeaf(self._label(label), self._surrogate(value), position=at)
        if value.data == "call" and str(value.children[0]).startswith(_SKOLEM):
            return HeadTree(self._label(label), self._identity(value), position=at)
        return HeadLeaf(self._label(label), self._rule_value(value), position=at)

    def _surrogate(self, tree: Tree[Token]) -> SurrogateTerm:
        arguments = tuple(map(self._argument, subtrees(tree)))
        return SurrogateTerm(str(tree.children[0]), arguments, position=self._position(tree))

    def _argument(self, tree: Tree[Token]) -> SurrogateArgument:
        path, value = subtrees(tree)
        steps = SchemaPath(tuple(self._label(step).name for step in subtrees(path)), position=self._position(path))
        is_each = value.data == "each"
        given = str(value.children[-1]) if is_each else self._rule_value(value)
        return SurrogateArgument(steps, given, is_each, position=self._position(tree))

    def _identity(self, tree: Tree[Token]) -> Identity:
        each = next((str(part.children[-1]) for part in subtrees(tree) if part.data == "each"), None)
        arguments = tuple(self._rule_value(part) for part in subtrees(tree) if part.data != "each")
        return Identity(str(tree.children[0]), arguments, each, position=self._position(tree))

    def _body(self, tree: Tree[Token]) -> BodyTree:
        label, *parts = subtrees(tree)
        variable = next(str(child) for child in tree.children if isinstance(child, Token))
        below = tuple(self._body(part) for part in parts)
        optional = tree.data == "optional_node"
        return BodyTree(self._label(label), variable, below, optional, position=self._position(tree))

    def _condition(self, tree: Tree[Token]) -> ConditionText | None:
        at = self._position(tree)
        if tree.data == "no_node":
            return self._node_absence(tree)
        if tree.data in ("presence", "absence"):
            (spoken,) = subtrees(tree)
            return LeafCondition(self._rule_value(spoken), tree.data == "presence", position=at)
        left, right = subtrees(tree)
        sign = next(str(token) for token in tree.children if isinstance(token, Token))
        value = self._rule_value(left)
        match sign, self._operand(right):
            case ("=", operand):
                return RuleCondition(value, operand, position=at)
            case ("!=", Constant() as operand):
                return RuleCondition(value, operand, "!=", position=at)
            case ("=?", operand) if not isinstance(operand, Constant):
                return RuleCondition(value, operand, "=?", position=at)
        hint = '$a = $b, $a = "x", $a != "x", or $a =? $b for what is optional'
        self._refuse("HX3001", f"{sign} cannot stand between these two in a condition", tree, hint)
        return None

    def _node_absence(self, tree: Tree[Token]) -> NodeAbsence:
        parts = list(subtrees(tree))
        variable = str(parts[0].children[0]) if parts[0].data == "variable" else None
        nodes = parts[variable is not None :]
        steps = tuple(self._node_step(node, is_last=node is nodes[-1]) for node in nodes)
        path = SchemaPath(steps, position=self._position(nodes[0]))
        behind = subtrees(nodes[-1])
        if nodes[-1].data == "selected_step":
            next(behind)
        tests = (self._node_test(test) for predicate in behind for test in subtrees(predicate))
        said = tuple(test for test in tests if test is not None)
        return NodeAbsence(variable, path, said, position=self._position(tree))

    def _node_step(self, tree: Tree[Token], *, is_last: bool) -> str:
        """A step of an absent node: behind the last one brackets hold tests, but those in its parentheses."""
        name = f"[{tree.children[0]}]" if tree.data == "box_of_node" else str(tree.children[0])
        predicates = list(subtrees(tree))
        conditions = predicates[:1] if tree.data == "selected_step" else [] if is_last else predicates
        if tree.data == "box_of_node" and conditions:
            self._refuse("HX3001", "a box has no conditions on the way to a node", tree)
            return name
        return self._selected(name, conditions)

    def _node_test(self, tree: Tree[Token]) -> NodeTest | None:
        tested, *right = subtrees(tree)
        signs = [str(token) for token in tree.children if isinstance(token, Token)]
        if tree.data == "negated" or signs not in ([], ["="]):
            hint = 'a selection can say it, in parentheses: absent $x/(a[not(b) and c != "1"])'
            self._refuse("HX3001", "a test says that a leaf is there, or what it equals", tree, hint)
            return None
        operand = self._operand(right[0]) if right else None
        return NodeTest(self._tested(tested), operand, position=self._position(tree))

    def _tested(self, tree: Tree[Token]) -> SchemaPath | ComputedValue:
        parts = list(subtrees(tree))
        if not parts:
            return SchemaPath((".",), position=self._position(tree))
        (part,) = parts
        if part.data == "tag_label":
            return SchemaPath(("name()",), position=self._position(tree))
        return self._path(part) if part.data == "path" else self._computed(part)

    def _rule_value(self, tree: Tree[Token]) -> RuleValue:
        match tree.data:
            case "variable":
                return str(tree.children[0])
            case "node":
                return " ".join(str(tree.children[0]).split())
            case _:
                return self._computed(tree)

    def _operand(self, tree: Tree[Token]) -> RuleValue | Constant:
        return Constant(self._string(tree.children[0])) if tree.data == "string" else self._rule_value(tree)

    def _label(self, tree: Tree[Token]) -> Label:
        at = self._position(tree)
        match tree.data:
            case "own_label":
                return Label(".", position=at)
            case "tag_label":
                return Label("name()", position=at)
            case "box_label":
                tag = next((self._rule_value(part) for part in subtrees(tree)), None)
                return Label(f"[{tree.children[0]}]", tag, position=at)
            case _:
                return Label(self._step(tree), position=at)
